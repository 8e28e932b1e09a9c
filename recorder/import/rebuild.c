/* The heap of the moment: segments, mapped ranges and blocks by address. */
#include "rebuild.h"

#include <string.h>

#include "error.h"
#include "mem.h"

/* ---- records ---- */

static bool take_index(struct rebuild_pool *pool, uint64_t *index)
{
    if (!pool->count)
        return false;
    *index = pool->at[--pool->count];
    return true;
}

/* Without memory the record is not used again; that is all. */
static void give_index(struct rebuild_pool *pool, uint64_t index)
{
    if (MEM_GROW(pool->at, pool->cap, pool->count + 1))
        pool->at[pool->count++] = (uint32_t)index;
}

/* The entry at exactly this address, or NULL. */
static const struct order_entry *exactly(const struct order *order, uint64_t address)
{
    const struct order_entry *entry = order_below(order, address);
    return entry && entry->address == address ? entry : NULL;
}

/* ---- segments ---- */

struct rebuild_segment *rebuild_segment_of(const struct rebuild *rebuild, uint64_t address)
{
    const struct order_entry *entry = order_below(&rebuild->segments, address);
    if (!entry)
        return NULL;
    struct rebuild_segment *segment = &rebuild->segment_at[entry->value];
    return address - segment->address < segment->size ? segment : NULL;
}

static bool overlaps(const struct rebuild *rebuild, uint64_t address, uint64_t size)
{
    struct order_cursor cursor = order_seek(&rebuild->segments, address);
    const struct order_entry *next = order_next(&rebuild->segments, &cursor);
    return rebuild_segment_of(rebuild, address) || (next && next->address - address < size);
}

static int put_segment(struct rebuild *rebuild, const struct rebuild_segment *segment)
{
    uint64_t index;
    if (!take_index(&rebuild->spare_segments, &index)) {
        index = rebuild->segment_count;
        if (index >= UINT32_MAX ||
            !MEM_GROW(rebuild->segment_at, rebuild->segment_cap, rebuild->segment_count + 1))
            return ERR_NOMEM;
        rebuild->segment_count++;
    }
    rebuild->segment_at[index] = *segment;
    return order_put(&rebuild->segments, segment->address, index) ? BASE_OK : ERR_NOMEM;
}

int rebuild_add_segment(struct rebuild *rebuild, const struct rebuild_segment *segment)
{
    if (!segment->size || overlaps(rebuild, segment->address, segment->size))
        return ERR_EXISTS;
    return put_segment(rebuild, segment);
}

int rebuild_drop_segment(struct rebuild *rebuild, uint64_t address)
{
    const struct order_entry *entry = exactly(&rebuild->segments, address);
    if (!entry)
        return ERR_NOTFOUND;
    give_index(&rebuild->spare_segments, entry->value);
    order_remove(&rebuild->segments, address);
    return BASE_OK;
}

/* Ranges of two streams can touch, and stay two. The pool is no sign: not every event names it. */
static bool is_same_stream(const struct rebuild *rebuild, uint32_t place, uint32_t other)
{
    return place == other || snapshot_place_at(rebuild->snapshot, place).stream ==
                                 snapshot_place_at(rebuild->snapshot, other).stream;
}

int rebuild_map(struct rebuild *rebuild, const struct rebuild_segment *range)
{
    struct rebuild_segment whole = *range;
    if (!range->size || overlaps(rebuild, range->address, range->size))
        return ERR_EXISTS;
    whole.expandable = true;
    const struct rebuild_segment *before =
        range->address ? rebuild_segment_of(rebuild, range->address - 1) : NULL;
    if (before && before->expandable && is_same_stream(rebuild, before->place, range->place)) {
        whole = *before;
        whole.size += range->size;
        rebuild_drop_segment(rebuild, whole.address);
    }
    const struct rebuild_segment *after = rebuild_segment_of(rebuild, range->address + range->size);
    if (after && after->expandable && is_same_stream(rebuild, after->place, range->place)) {
        uint64_t address = after->address;
        if (whole.address == range->address)
            whole.place = after->place;
        whole.size += after->size;
        rebuild_drop_segment(rebuild, address);
    }
    return put_segment(rebuild, &whole);
}

int rebuild_unmap(struct rebuild *rebuild, uint64_t address, uint64_t size)
{
    const struct rebuild_segment *segment = rebuild_segment_of(rebuild, address);
    if (!segment || !segment->expandable || !size ||
        size > segment->size - (address - segment->address))
        return ERR_NOTFOUND;
    struct rebuild_segment front = *segment, back = *segment;
    front.size = address - segment->address;
    back.address = address + size;
    back.size = segment->size - front.size - size;
    rebuild_drop_segment(rebuild, segment->address);
    int err = front.size ? put_segment(rebuild, &front) : BASE_OK;
    if (err == BASE_OK && back.size)
        err = put_segment(rebuild, &back);
    return err;
}

/* ---- blocks ---- */

struct rebuild_block *rebuild_block_at(const struct rebuild *rebuild, uint64_t address)
{
    const struct order_entry *entry = exactly(&rebuild->live, address);
    return entry ? &rebuild->block_at[entry->value] : NULL;
}

int rebuild_add_block(struct rebuild *rebuild, const struct rebuild_block *block)
{
    uint64_t index;
    if (!take_index(&rebuild->spare_blocks, &index)) {
        index = rebuild->block_count;
        if (index >= UINT32_MAX ||
            !MEM_GROW(rebuild->block_at, rebuild->block_cap, rebuild->block_count + 1))
            return ERR_NOMEM;
        rebuild->block_count++;
    }
    rebuild->block_at[index] = *block;
    return order_put(&rebuild->live, block->address, index) ? BASE_OK : ERR_NOMEM;
}

bool rebuild_drop_block(struct rebuild *rebuild, uint64_t address)
{
    const struct order_entry *entry = exactly(&rebuild->live, address);
    if (!entry)
        return false;
    give_index(&rebuild->spare_blocks, entry->value);
    return order_remove(&rebuild->live, address);
}

/* ---- the whole ---- */

/* A list of segments in which this device has none, and no event of one: what was exported of a
 * source without segments, not an allocator that gave back all. */
static bool knows_segments(const struct rebuild *rebuild)
{
    const struct snapshot *snapshot = rebuild->snapshot;
    for (size_t i = 0; i < snapshot->listed_count; i++)
        if (snapshot->segments[snapshot->listed_first + i].device == rebuild->device)
            return true;
    for (size_t i = 0; i < rebuild->entry_count; i++) {
        enum trace_action action = (enum trace_action)rebuild->entries[i].action;
        if (action == TRACE_SEGMENT_ALLOC || action == TRACE_SEGMENT_FREE ||
            action == TRACE_SEGMENT_MAP || action == TRACE_SEGMENT_UNMAP)
            return true;
    }
    return false;
}

int rebuild_run(struct rebuild *rebuild, struct snapshot *snapshot, uint32_t device)
{
    *rebuild = (struct rebuild){.snapshot = snapshot,
                                .device = device,
                                .exact = snapshot->host == device + 1,
                                .has_segments = snapshot->has_segments};
    if (rebuild->exact)
        rebuild->has_segments = snapshot->has_host_segments;
    if (device < snapshot->trace_count && snapshot->traces[device].count) {
        rebuild->entries = snapshot->entries + snapshot->traces[device].first;
        rebuild->entry_count = snapshot->traces[device].count;
    }
    rebuild->has_segments = rebuild->has_segments && knows_segments(rebuild);
    int err = rebuild_back(rebuild);
    return err ? err : rebuild_forward(rebuild);
}

void rebuild_forget_moment(struct rebuild *rebuild)
{
    order_clear(&rebuild->segments);
    order_clear(&rebuild->live);
    mem_free(rebuild->segment_at);
    mem_free(rebuild->spare_segments.at);
    mem_free(rebuild->block_at);
    mem_free(rebuild->spare_blocks.at);
    rebuild->segment_at = NULL;
    rebuild->block_at = NULL;
    rebuild->segment_count = rebuild->segment_cap = rebuild->block_count = rebuild->block_cap = 0;
    rebuild->spare_segments = rebuild->spare_blocks = (struct rebuild_pool){0};
}

void rebuild_clear(struct rebuild *rebuild)
{
    rebuild_forget_moment(rebuild);
    mem_free(rebuild->first_segments);
    mem_free(rebuild->first_blocks);
    mem_free(rebuild->gone);
    *rebuild = (struct rebuild){0};
}

bool rebuild_is_valid(const struct rebuild *rebuild)
{
    struct order_cursor cursor = order_seek(&rebuild->segments, 0);
    const struct order_entry *entry;
    uint64_t end = 0;
    while ((entry = order_next(&rebuild->segments, &cursor))) {
        const struct rebuild_segment *segment = &rebuild->segment_at[entry->value];
        if (entry->value >= rebuild->segment_count || segment->address != entry->address ||
            segment->address < end)
            return false;
        end = segment->address + segment->size;
    }
    cursor = order_seek(&rebuild->live, 0);
    while ((entry = order_next(&rebuild->live, &cursor)))
        if (entry->value >= rebuild->block_count ||
            rebuild->block_at[entry->value].address != entry->address)
            return false;
    return order_is_valid(&rebuild->segments) && order_is_valid(&rebuild->live);
}
