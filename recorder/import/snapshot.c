#include "snapshot.h"

#include <string.h>

#include "error.h"
#include "mem.h"

/* ---- the budget ---- */

static void hold(struct budget *budget, size_t more)
{
    budget->held += more;
    if (budget->held > budget->most)
        budget->most = budget->held;
}

bool budget_grow(struct budget *budget, void **array, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return true;
    size_t want = *cap ? *cap : 4;
    while (want < need && want <= SIZE_MAX / 4)
        want *= 2;
    if (want < need || want > SIZE_MAX / size)
        return false;
    size_t more = (want - *cap) * size;
    if (budget->held > budget->limit || more > budget->limit - budget->held) {
        budget->refused = true;
        return false;
    }
    void *grown = mem_resize(*array, want, size);
    if (!grown)
        return false;
    hold(budget, more);
    *array = grown;
    *cap = want;
    return true;
}

void budget_free(struct budget *budget, void *array, size_t cap, size_t size)
{
    mem_free(array);
    budget->held -= cap * size;
}

/* ---- names ---- */

static size_t intern_held(const struct intern *table)
{
    return table->item_cap * sizeof *table->items + table->byte_cap +
           (table->by_hash.capacity + table->by_hash.old_capacity) * sizeof(struct map_entry);
}

uint32_t budget_intern(struct budget *budget, struct intern *table, const void *bytes, size_t count)
{
    uint32_t id = intern_find(table, bytes, count);
    if (id)
        return id;
    size_t before = intern_held(table);
    if (budget->held > budget->limit) {
        budget->refused = true;
        return 0;
    }
    id = intern_add(table, bytes, count);
    hold(budget, intern_held(table) - before);
    return id;
}

uint32_t snapshot_intern(struct snapshot *snapshot, struct intern *table, const void *bytes,
                         size_t count)
{
    return budget_intern(&snapshot->budget, table, bytes, count);
}

const char *snapshot_text(const struct snapshot *snapshot, uint32_t string)
{
    return string ? intern_at(&snapshot->strings, string) : "";
}

uint32_t snapshot_place(struct snapshot *snapshot, uint32_t device, uint64_t stream, uint32_t pool)
{
    struct snapshot_place place = {stream, device, pool};
    uint32_t id = snapshot_intern(snapshot, &snapshot->places, &place, sizeof place);
    snapshot->too_many_places = id > IMPORT_MAX_PLACES;
    return snapshot->too_many_places ? 0 : id;
}

struct snapshot_place snapshot_place_at(const struct snapshot *snapshot, uint32_t place)
{
    struct snapshot_place out = {0};
    if (place)
        memcpy(&out, intern_at(&snapshot->places, place), sizeof out);
    return out;
}

struct snapshot_pair snapshot_pair_at(const struct snapshot *snapshot, uint32_t pair)
{
    struct snapshot_pair out = {0};
    if (pair)
        memcpy(&out, intern_at(&snapshot->pairs, pair), sizeof out);
    return out;
}

/* ---- the end, and the check ---- */

void snapshot_clear(struct snapshot *snapshot)
{
    intern_clear(&snapshot->strings);
    intern_clear(&snapshot->frames);
    intern_clear(&snapshot->sites);
    intern_clear(&snapshot->places);
    intern_clear(&snapshot->pairs);
    mem_free(snapshot->entries);
    mem_free(snapshot->blocks);
    mem_free(snapshot->segments);
    mem_free(snapshot->notes);
    mem_free(snapshot->traces);
    *snapshot = (struct snapshot){0};
}

static bool frames_are_valid(const struct snapshot *snapshot)
{
    for (uint32_t i = 1; i <= snapshot->frames.item_count; i++) {
        struct snapshot_frame frame;
        memcpy(&frame, intern_at(&snapshot->frames, i), sizeof frame);
        if (frame.function > snapshot->strings.item_count ||
            frame.file > snapshot->strings.item_count)
            return false;
    }
    for (uint32_t i = 1; i <= snapshot->sites.item_count; i++) {
        size_t depth = snapshot->sites.items[i - 1].count / sizeof(uint32_t);
        const char *bytes = intern_at(&snapshot->sites, i);
        for (size_t k = 0; k < depth; k++) {
            uint32_t frame;
            memcpy(&frame, bytes + k * sizeof frame, sizeof frame);
            if (!frame || frame > snapshot->frames.item_count)
                return false;
        }
    }
    return true;
}

static bool records_are_valid(const struct snapshot *snapshot)
{
    size_t sites = snapshot->sites.item_count;
    for (size_t i = 0; i < snapshot->entry_count; i++) {
        const struct trace_entry *entry = &snapshot->entries[i];
        if (entry->site > sites || entry->place > snapshot->places.item_count ||
            entry->user > snapshot->strings.item_count ||
            entry->compiled > snapshot->strings.item_count || entry->action >= TRACE_ACTION_COUNT)
            return false;
    }
    for (size_t i = 0; i < snapshot->block_count; i++)
        if (snapshot->blocks[i].site > sites || snapshot->blocks[i].life > BLOCK_PENDING)
            return false;
    if (snapshot->listed_first > snapshot->segment_count ||
        snapshot->listed_count > snapshot->segment_count - snapshot->listed_first)
        return false;
    for (size_t i = 0; i < snapshot->segment_count; i++) {
        const struct snapshot_segment *segment = &snapshot->segments[i];
        if (segment->site > sites || segment->pool > snapshot->pairs.item_count ||
            segment->device >= IMPORT_MAX_DEVICES || segment->first_block > snapshot->block_count ||
            segment->block_count > snapshot->block_count - segment->first_block)
            return false;
    }
    return true;
}

bool snapshot_is_valid(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->trace_count; i++) {
        const struct snapshot_trace *trace = &snapshot->traces[i];
        if (trace->first > snapshot->entry_count ||
            trace->count > snapshot->entry_count - trace->first)
            return false;
    }
    for (size_t i = 0; i < snapshot->note_count; i++)
        if (snapshot->notes[i].name > snapshot->strings.item_count)
            return false;
    return intern_is_valid(&snapshot->strings) && intern_is_valid(&snapshot->frames) &&
           intern_is_valid(&snapshot->sites) && frames_are_valid(snapshot) &&
           records_are_valid(snapshot);
}

/* ---- the host's memory ---- */

size_t snapshot_devices(const struct snapshot *snapshot)
{
    size_t count = snapshot->trace_count;
    for (size_t i = 0; i < snapshot->listed_count; i++) {
        size_t device = snapshot->segments[snapshot->listed_first + i].device;
        if (device >= count)
            count = device + 1;
    }
    return count;
}

/* Those of the devices and those of the host, in a row: as copies behind all others. */
static int join_segments(struct snapshot *snapshot, uint32_t device)
{
    size_t first = snapshot->segment_count;
    size_t whole = snapshot->listed_count + snapshot->host_count;
    if (!BUDGET_GROW(&snapshot->budget, snapshot->segments, snapshot->segment_cap, first + whole))
        return snapshot->budget.refused ? ERR_LIMIT : ERR_NOMEM;
    for (size_t i = 0; i < whole; i++) {
        bool host = i >= snapshot->listed_count;
        size_t from =
            host ? snapshot->host_first + (i - snapshot->listed_count) : snapshot->listed_first + i;
        snapshot->segments[first + i] = snapshot->segments[from];
        if (host)
            snapshot->segments[first + i].device = device;
    }
    snapshot->segment_count += whole;
    snapshot->listed_first = first;
    snapshot->listed_count = whole;
    return BASE_OK;
}

int snapshot_join_host(struct snapshot *snapshot)
{
    size_t device = snapshot_devices(snapshot);
    if (!snapshot->host_count && !snapshot->host_trace.count)
        return BASE_OK;
    if (device >= IMPORT_MAX_DEVICES) {
        snapshot->left_host = true;
        return BASE_OK;
    }
    if (!BUDGET_GROW(&snapshot->budget, snapshot->traces, snapshot->trace_cap, device + 1))
        return snapshot->budget.refused ? ERR_LIMIT : ERR_NOMEM;
    while (snapshot->trace_count < device)
        snapshot->traces[snapshot->trace_count++] = (struct snapshot_trace){0};
    snapshot->traces[snapshot->trace_count++] = snapshot->host_trace;
    snapshot->host = (uint32_t)device + 1;
    return join_segments(snapshot, (uint32_t)device);
}
