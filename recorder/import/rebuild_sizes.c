/*
 * Forwards, by addresses alone: each alloc begins in a free range between two blocks (or an end of
 * its segment), and the rule for splitting says how much of it the block took.
 */
#include "error.h"
#include "mem.h"
#include "rebuild.h"

#define SMALL_REST ((uint64_t)ALLOC_MIN_BLOCK)
#define LARGE_REST ((uint64_t)ALLOC_SMALL_SIZE)

/* ---- the rules ---- */

static uint32_t divisions_of(const struct alloc_config *config, uint64_t requested)
{
    unsigned log = 63u - (unsigned)__builtin_clzll(requested);
    unsigned slot = log < 20 ? 0 : log - 20;
    return config->roundup[slot < ALLOC_ROUNDUP_SLOTS ? slot : ALLOC_ROUNDUP_SLOTS - 1];
}

uint64_t rebuild_rounded(const struct alloc_config *config, uint64_t requested)
{
    if (requested < ALLOC_MIN_BLOCK)
        return ALLOC_MIN_BLOCK;
    uint64_t divisions = divisions_of(config, requested);
    if (divisions > 1 && requested > ALLOC_MIN_BLOCK * divisions) {
        uint64_t power = UINT64_C(1) << (63 - __builtin_clzll(requested));
        uint64_t step = power / divisions;
        if (requested == power)
            return requested;
        return step ? (requested + step - 1) / step * step : 2 * power;
    }
    return (requested + ALLOC_MIN_BLOCK - 1) / ALLOC_MIN_BLOCK * ALLOC_MIN_BLOCK;
}

/* How much of a free range of `room` bytes a request takes that was rounded to `rounded`. */
static uint64_t taken(const struct alloc_config *config, bool expandable, uint64_t rounded,
                      uint64_t room)
{
    uint64_t rest = room - rounded;
    bool split = rounded <= ALLOC_SMALL_SIZE || expandable
                     ? rest >= SMALL_REST
                     : rounded < config->max_split_size && rest > LARGE_REST;
    return split ? rounded : room;
}

/* ---- blocks that lived before, of which only the request is known ---- */

static uint64_t end_of_room(const struct rebuild *rebuild, const struct rebuild_segment *segment,
                            uint64_t address)
{
    struct order_cursor cursor = order_seek(&rebuild->live, address + 1);
    const struct order_entry *next = order_next(&rebuild->live, &cursor);
    uint64_t end = segment->address + segment->size;
    return next && next->address < end ? next->address : end;
}

static void guess(struct rebuild *rebuild, struct rebuild_block *block)
{
    const struct alloc_config *config = &rebuild->snapshot->settings.config;
    const struct rebuild_segment *segment = rebuild_segment_of(rebuild, block->address);
    uint64_t rounded =
        rebuild->exact ? block->requested : rebuild_rounded(config, block->requested);
    block->size = rounded;
    if (!segment)
        return;
    block->place = segment->place;
    if (rebuild->exact)
        return;
    uint64_t room = end_of_room(rebuild, segment, block->address) - block->address;
    bool large = rounded > ALLOC_SMALL_SIZE && !segment->expandable;
    bool whole = large && rounded >= config->max_split_size; /* it never was split */
    if (room < rounded || whole || (large && room - rounded <= LARGE_REST))
        block->size = room;
    block->guessed = large && block->size < room;
}

static void guess_all(struct rebuild *rebuild)
{
    for (size_t i = 0; i < rebuild->first_block_count; i++) {
        struct rebuild_block *block = rebuild_block_at(rebuild, rebuild->first_blocks[i].address);
        if (!block->size)
            guess(rebuild, block);
        rebuild->first_blocks[i] = *block;
    }
}

/* ---- an alloc ---- */

/* Where the free range begins that the address lies in. A block before it whose size was guessed
 * reaches up to the address, if what is between is too little to be a free block of its own. */
static uint64_t begin_of_room(struct rebuild *rebuild, const struct rebuild_segment *segment,
                              uint64_t address)
{
    const struct order_entry *entry = address ? order_below(&rebuild->live, address - 1) : NULL;
    if (!entry || entry->address < segment->address)
        return segment->address;
    struct rebuild_block *before = &rebuild->block_at[entry->value];
    uint64_t end = before->address + before->size;
    if (end < address && before->guessed && before->first && address - end <= LARGE_REST) {
        before->size = end = address - before->address;
        end = address;
        rebuild->first_blocks[before->first - 1].size = before->size;
    }
    return end;
}

static int redo_alloc(struct rebuild *rebuild, struct trace_entry *entry)
{
    const struct alloc_config *config = &rebuild->snapshot->settings.config;
    struct rebuild_counts *counts = &rebuild->counts;
    const struct rebuild_segment *segment = rebuild_segment_of(rebuild, entry->addr);
    uint64_t rounded = rebuild->exact ? entry->size : rebuild_rounded(config, entry->size);
    uint64_t size = rounded, known = entry->block;
    bool placed = false;
    if (rebuild_drop_block(rebuild, entry->addr))
        counts->misplaced++;
    if (segment) {
        uint64_t begin = begin_of_room(rebuild, segment, entry->addr);
        uint64_t room = end_of_room(rebuild, segment, entry->addr) - entry->addr;
        entry->place = segment->place & 0xffffff;
        placed = begin == entry->addr && room >= rounded;
        if (placed && !rebuild->exact)
            size = taken(config, segment->expandable, rounded, room);
    }
    if (!placed)
        counts->misplaced += rebuild->has_segments;
    if (known && placed) {
        counts->sizes_checked++;
        counts->sizes_differ += known != size;
    }
    entry->block = known ? known : size;
    struct rebuild_block block = {.address = entry->addr,
                                  .size = entry->block,
                                  .requested = entry->size,
                                  .place = entry->place,
                                  .lost = entry->lost};
    return rebuild_add_block(rebuild, &block);
}

/* ---- all others ---- */

/* What does not fit to the block of the moment is left out, but for a completion whose request is
 * missing: that is the free. */
static void redo_free(struct rebuild *rebuild, struct trace_entry *entry)
{
    const struct rebuild_segment *segment = rebuild_segment_of(rebuild, entry->addr);
    struct rebuild_block *block = rebuild_block_at(rebuild, entry->addr);
    bool completed = entry->action == TRACE_FREE_COMPLETED;
    if (segment)
        entry->place = segment->place & 0xffffff;
    if (!block || (block->pending && !completed)) {
        entry->action = TRACE_NONE;
        rebuild->counts.frees_unmatched++;
        return;
    }
    if (completed)
        entry->lost = !block->pending;
    if (completed || entry->lost)
        rebuild_drop_block(rebuild, entry->addr);
    else
        block->pending = true;
}

static int redo_segment(struct rebuild *rebuild, struct trace_entry *entry)
{
    struct rebuild_segment segment = {
        .address = entry->addr, .size = entry->size, .place = entry->place, .site = entry->site};
    const struct rebuild_segment *known = rebuild_segment_of(rebuild, entry->addr);
    int err;
    if (known && entry->action != TRACE_SEGMENT_ALLOC)
        entry->place = known->place & 0xffffff;
    if (entry->action == TRACE_SEGMENT_ALLOC)
        err = rebuild_add_segment(rebuild, &segment);
    else if (entry->action == TRACE_SEGMENT_FREE)
        err = rebuild_drop_segment(rebuild, entry->addr);
    else if (entry->action == TRACE_SEGMENT_MAP)
        err = rebuild_map(rebuild, &segment);
    else
        err = rebuild_unmap(rebuild, entry->addr, entry->size);
    return err == ERR_NOMEM ? err : BASE_OK; /* what does not fit was counted on the way back */
}

static int redo(struct rebuild *rebuild, struct trace_entry *entry)
{
    switch ((enum trace_action)entry->action) {
    case TRACE_ALLOC:
        return redo_alloc(rebuild, entry);
    case TRACE_FREE_REQUESTED:
    case TRACE_FREE_COMPLETED:
        redo_free(rebuild, entry);
        return BASE_OK;
    case TRACE_SEGMENT_ALLOC:
    case TRACE_SEGMENT_FREE:
    case TRACE_SEGMENT_MAP:
    case TRACE_SEGMENT_UNMAP:
        return redo_segment(rebuild, entry);
    default:
        return BASE_OK;
    }
}

static bool put_living(const struct rebuild *rebuild, struct map *living)
{
    const struct snapshot *snapshot = rebuild->snapshot;
    for (size_t i = 0; i < snapshot->listed_count; i++) {
        const struct snapshot_segment *segment = &snapshot->segments[snapshot->listed_first + i];
        uint64_t at = segment->address;
        for (uint32_t k = 0; segment->device == rebuild->device && k < segment->block_count; k++) {
            const struct snapshot_block *block = &snapshot->blocks[segment->first_block + k];
            if (block->address)
                at = block->address;
            if (block->life == BLOCK_ACTIVE && !map_put(living, at, 1, NULL))
                return false;
            at += block->size;
        }
    }
    return true;
}

/* What lives now, and does not live in the snapshot: nothing says when it went. */
static int keep_gone(struct rebuild *rebuild)
{
    struct map living = {0};
    struct order_cursor cursor = order_seek(&rebuild->live, 0);
    const struct order_entry *entry;
    int err = put_living(rebuild, &living) ? BASE_OK : ERR_NOMEM;
    while (err == BASE_OK && (entry = order_next(&rebuild->live, &cursor))) {
        const struct rebuild_block *block = &rebuild->block_at[entry->value];
        if (block->pending || map_get(&living, block->address) != MAP_NONE)
            continue;
        if (!MEM_GROW(rebuild->gone, rebuild->gone_cap, rebuild->gone_count + 1))
            err = ERR_NOMEM;
        else
            rebuild->gone[rebuild->gone_count++] = *block;
        rebuild->counts.allocs_lost += !block->lost;
    }
    map_clear(&living);
    return err;
}

int rebuild_forward(struct rebuild *rebuild)
{
    int err = BASE_OK;
    guess_all(rebuild);
    for (size_t i = 0; err == BASE_OK && i < rebuild->entry_count; i++)
        err = redo(rebuild, &rebuild->entries[i]);
    return err || !rebuild->has_segments ? err : keep_gone(rebuild);
}
