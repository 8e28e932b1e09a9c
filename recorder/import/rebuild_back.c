/*
 * Backwards. The moment begins as the final segments say, and each event, the last one first, is
 * undone: an alloc takes its block away, a completed free brings it back as pending, a requested
 * free makes it living. What cannot be undone is counted and left as it is.
 */
#include "error.h"
#include "mem.h"
#include "rebuild.h"

/* ---- the end ---- */

static int put_final_block(struct rebuild *rebuild, const struct rebuild_segment *segment,
                           const struct snapshot_block *from, uint64_t address)
{
    if (from->life == BLOCK_INACTIVE)
        return BASE_OK;
    if (!from->size || address - segment->address >= segment->size ||
        from->size > segment->size - (address - segment->address) ||
        rebuild_block_at(rebuild, address)) {
        rebuild->counts.odd_blocks++;
        return BASE_OK;
    }
    struct rebuild_block block = {
        .address = address,
        .size = from->size,
        .requested = from->requested,
        .place = segment->place,
        .site = from->site,
        .pending = from->life == BLOCK_PENDING,
    };
    return rebuild_add_block(rebuild, &block);
}

static int put_final_segment(struct rebuild *rebuild, const struct snapshot_segment *from)
{
    const struct snapshot *snapshot = rebuild->snapshot;
    struct rebuild_segment segment = {
        .address = from->address,
        .size = from->size,
        .place = snapshot_place(rebuild->snapshot, rebuild->device, from->stream, from->pool),
        .site = from->site,
        .expandable = from->expandable,
    };
    if (!segment.place)
        return ERR_NOMEM;
    int err = segment.expandable ? rebuild_map(rebuild, &segment)
                                 : rebuild_add_segment(rebuild, &segment);
    if (err == ERR_EXISTS) {
        rebuild->counts.segments_unmatched++;
        return BASE_OK;
    }
    uint64_t at = from->address;
    for (uint32_t i = 0; err == BASE_OK && i < from->block_count; i++) {
        const struct snapshot_block *block = &snapshot->blocks[from->first_block + i];
        if (block->address)
            at = block->address;
        err = put_final_block(rebuild, &segment, block, at);
        at += block->size;
    }
    return err;
}

static int put_end(struct rebuild *rebuild)
{
    const struct snapshot *snapshot = rebuild->snapshot;
    int err = BASE_OK;
    for (size_t i = 0; err == BASE_OK && i < snapshot->listed_count; i++) {
        const struct snapshot_segment *segment = &snapshot->segments[snapshot->listed_first + i];
        if (segment->device == rebuild->device)
            err = put_final_segment(rebuild, segment);
    }
    return err;
}

/* ---- undoing ---- */

static void undo_alloc(struct rebuild *rebuild, struct trace_entry *entry)
{
    const struct rebuild_block *block = rebuild_block_at(rebuild, entry->addr);
    if (!block) {
        entry->lost = rebuild->has_segments;
        rebuild->counts.allocs_lost += entry->lost;
        return;
    }
    entry->block = block->size;
    if (!entry->site)
        entry->site = block->site;
    rebuild_drop_block(rebuild, entry->addr);
}

static int undo_free(struct rebuild *rebuild, struct trace_entry *entry, bool completed)
{
    struct rebuild_block *block = rebuild_block_at(rebuild, entry->addr);
    if (block && !completed && block->pending) {
        block->pending = false;
        return BASE_OK;
    }
    if (block) { /* it lives on, so this free is wrong, or the alloc after it is not there */
        rebuild->counts.frees_unmatched++;
        entry->action = TRACE_NONE;
        return BASE_OK;
    }
    entry->lost = !completed;
    struct rebuild_block back = {
        .address = entry->addr,
        .requested = entry->size,
        .place = entry->place,
        .pending = completed,
    };
    return rebuild_add_block(rebuild, &back);
}

static void undo_segment_alloc(struct rebuild *rebuild, struct trace_entry *entry)
{
    const struct rebuild_segment *segment = rebuild_segment_of(rebuild, entry->addr);
    if (!segment || segment->address != entry->addr || segment->size != entry->size) {
        rebuild->counts.segments_unmatched += rebuild->has_segments;
        return;
    }
    entry->place = segment->place & 0xffffff;
    if (!entry->site)
        entry->site = segment->site;
    rebuild_drop_segment(rebuild, entry->addr);
}

static int undo_segment(struct rebuild *rebuild, struct trace_entry *entry)
{
    struct rebuild_segment segment = {
        .address = entry->addr, .size = entry->size, .place = entry->place};
    const struct rebuild_segment *known;
    int err = BASE_OK;
    switch (entry->action) {
    case TRACE_SEGMENT_ALLOC:
        undo_segment_alloc(rebuild, entry);
        return BASE_OK;
    case TRACE_SEGMENT_FREE:
        err = rebuild_add_segment(rebuild, &segment);
        break;
    case TRACE_SEGMENT_UNMAP:
        err = rebuild_map(rebuild, &segment);
        break;
    default:
        known = rebuild_segment_of(rebuild, entry->addr);
        if (known)
            entry->place = known->place & 0xffffff;
        err = rebuild_unmap(rebuild, entry->addr, entry->size);
    }
    if (err != ERR_EXISTS && err != ERR_NOTFOUND)
        return err;
    rebuild->counts.segments_unmatched += rebuild->has_segments;
    return BASE_OK;
}

static int undo(struct rebuild *rebuild, struct trace_entry *entry)
{
    switch ((enum trace_action)entry->action) {
    case TRACE_ALLOC:
        undo_alloc(rebuild, entry);
        return BASE_OK;
    case TRACE_FREE_REQUESTED:
        return undo_free(rebuild, entry, false);
    case TRACE_FREE_COMPLETED:
        return undo_free(rebuild, entry, true);
    case TRACE_SEGMENT_ALLOC:
    case TRACE_SEGMENT_FREE:
    case TRACE_SEGMENT_MAP:
    case TRACE_SEGMENT_UNMAP:
        return undo_segment(rebuild, entry);
    case TRACE_NONE:
        rebuild->counts.unknown_actions++;
        return BASE_OK;
    default:
        return BASE_OK;
    }
}

/* ---- what was there first ---- */

static int keep_first(struct rebuild *rebuild)
{
    struct order_cursor cursor = order_seek(&rebuild->segments, 0);
    const struct order_entry *entry;
    while ((entry = order_next(&rebuild->segments, &cursor))) {
        if (!MEM_GROW(rebuild->first_segments, rebuild->first_segment_cap,
                      rebuild->first_segment_count + 1))
            return ERR_NOMEM;
        rebuild->first_segments[rebuild->first_segment_count++] = rebuild->segment_at[entry->value];
    }
    cursor = order_seek(&rebuild->live, 0);
    while ((entry = order_next(&rebuild->live, &cursor))) {
        struct rebuild_block *block = &rebuild->block_at[entry->value];
        if (!MEM_GROW(rebuild->first_blocks, rebuild->first_block_cap,
                      rebuild->first_block_count + 1))
            return ERR_NOMEM;
        block->first = (uint32_t)rebuild->first_block_count + 1;
        rebuild->first_blocks[rebuild->first_block_count++] = *block;
    }
    return BASE_OK;
}

/* The device of an event is known by its list only. */
static bool settle_place(struct rebuild *rebuild, struct trace_entry *entry)
{
    struct snapshot_place place = snapshot_place_at(rebuild->snapshot, entry->place);
    uint32_t id = snapshot_place(rebuild->snapshot, rebuild->device, place.stream, place.pool);
    entry->place = id & 0xffffff;
    return id != 0;
}

int rebuild_back(struct rebuild *rebuild)
{
    int err = put_end(rebuild);
    for (size_t i = rebuild->entry_count; err == BASE_OK && i-- > 0;) {
        struct trace_entry *entry = &rebuild->entries[i];
        err = settle_place(rebuild, entry) ? undo(rebuild, entry) : ERR_NOMEM;
    }
    return err ? err : keep_first(rebuild);
}
