/*
 * model_free.c - giving back, waiting for other streams, and what a completed free changes.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"

/* Choice: one net change for each completed free. */
static void count_split(struct alloc_stat three[ALLOC_CLASSES], bool small, int64_t change)
{
    if (change > 0)
        model_raise(three, small, (uint64_t)change);
    else if (change < 0)
        model_lower(three, small, (uint64_t)-change);
}

void model_complete_free(struct model *model, uint64_t address)
{
    struct model_spot spot = model_find(model, address);
    struct model_block block = *model_block_at(spot);
    bool small = spot.segment->small;
    uint64_t before, after;

    model_set_free(model, spot);
    spot = model_merge(spot, &before, &after);
    if (!spot.segment->expandable) {
        int64_t blocks = -(before != 0) - (after != 0);
        int64_t bytes = -(int64_t)before - (int64_t)after;
        if (spot.segment->count > 1) {
            blocks += 1;
            bytes += (int64_t)model_block_at(spot)->size;
        }
        count_split(model->stats.inactive_split, small, blocks);
        count_split(model->stats.inactive_split_bytes, small, bytes);
    }
    model_lower(model->stats.active, small, 1);
    model_lower(model->stats.active_bytes, small, block.size);
    model_lower(model->stats.requested_bytes, small, block.requested);
}

/* The same, told: a free that had to wait. */
static void complete_waiting(struct model *model, uint64_t address)
{
    struct model_spot spot = model_find(model, address);
    struct model_block block = *model_block_at(spot);
    struct model_segment of = *spot.segment;
    model_complete_free(model, address);
    model_tell(model, ALLOC_EVENT_IDLE, address, block.size, block.requested, &of, false);
}

/* One event on each stream that was recorded on the block. */
int model_record_events(struct model *model, uint64_t address)
{
    struct model_block *block = model_block_at(model_find(model, address));
    for (unsigned i = 0; i < block->users; i++) {
        struct model_event event = {.stream = block->used_by[i], .block = address};
        int err = model->device->event_record(model->device->self, event.stream, &event.event);
        if (err != BASE_OK)
            return err;
        if (!MEM_GROW(model->events, model->event_cap, model->event_count + 1))
            abort();
        model->events[model->event_count++] = event;
        block->events++;
    }
    block->users = 0;
    return BASE_OK;
}

static void drop_event(struct model *model, size_t at)
{
    struct model_event event = model->events[at];
    model->device->event_forget(model->device->self, event.event);
    memmove(model->events + at, model->events + at + 1,
            (model->event_count - at - 1) * sizeof *model->events);
    model->event_count--;
    struct model_block *block = model_block_at(model_find(model, event.block));
    if (--block->events == 0)
        complete_waiting(model, event.block);
}

/* The oldest outstanding event of the stream; event_count = none. */
static size_t front_of(const struct model *model, uint64_t stream)
{
    size_t i = 0;
    while (i < model->event_count && model->events[i].stream != stream)
        i++;
    return i;
}

/* The smallest handle from `from` on of a stream with outstanding events. */
static bool next_stream(const struct model *model, uint64_t from, uint64_t *stream)
{
    bool found = false;
    for (size_t i = 0; i < model->event_count; i++) {
        uint64_t candidate = model->events[i].stream;
        if (candidate >= from && (!found || candidate < *stream)) {
            *stream = candidate;
            found = true;
        }
    }
    return found;
}

static int process_stream(struct model *model, uint64_t stream, bool wait)
{
    const struct alloc_device *device = model->device;
    for (;;) {
        size_t at = front_of(model, stream);
        if (at == model->event_count)
            return BASE_OK;
        uint64_t event = model->events[at].event;
        int err = wait ? device->event_wait(device->self, event)
                       : device->event_query(device->self, event);
        if (err == ERR_BUSY)
            return BASE_OK;
        if (err != BASE_OK)
            return err;
        drop_event(model, at);
    }
}

/* Choice: streams by ascending handle; frees that a begun pool deferred come first. */
int model_process_events(struct model *model, bool wait)
{
    for (size_t i = 0; i < model->deferred_count; i++) {
        int err = model_record_events(model, model->deferred[i]);
        if (err != BASE_OK)
            return err;
    }
    model->deferred_count = 0;
    uint64_t stream = 0;
    while (next_stream(model, stream, &stream)) {
        int err = process_stream(model, stream, wait);
        if (err != BASE_OK)
            return err;
        if (stream++ == UINT64_MAX)
            break;
    }
    return BASE_OK;
}

/* ---- the caller's side ---- */

/* What every give does at once. False: not a living block. */
static bool begin_free(struct model *model, struct model_spot spot, bool waits)
{
    if (spot.segment == NULL || model_block_at(spot)->state != ALLOC_LIVING)
        return false;
    const struct model_block *block = model_block_at(spot);
    model_lower(model->stats.allocation, spot.segment->small, 1);
    model_lower(model->stats.allocated_bytes, spot.segment->small, block->size);
    if (block->size >= model->config.max_split_size)
        model_lower_one(&model->stats.oversize_allocations, 1);
    model_tell(model, ALLOC_EVENT_FREE, block->address, block->size, block->requested, spot.segment,
               waits);
    if (waits)
        model_block_at(spot)->state = ALLOC_AWAITING;
    return true;
}

int model_give(struct model *model, uint64_t address)
{
    struct model_spot spot = model_find(model, address);
    bool waits = spot.segment != NULL && model_block_at(spot)->users > 0;
    if (!begin_free(model, spot, waits))
        return ERR_NOTFOUND;
    if (!waits) {
        model_complete_free(model, address);
        return BASE_OK;
    }
    if (model->begun_count == 0)
        return model_record_events(model, address);
    if (!MEM_GROW(model->deferred, model->deferred_cap, model->deferred_count + 1))
        abort();
    model->deferred[model->deferred_count++] = address;
    return BASE_OK;
}

/* ---- replays ---- */

int model_give_awaiting(struct model *model, uint64_t address)
{
    struct model_spot spot = model_find(model, address);
    if (!begin_free(model, spot, true))
        return ERR_NOTFOUND;
    model_block_at(spot)->held = true;
    return BASE_OK;
}

/* Whatever the block waited for is forgotten. */
static void forget_waiting(struct model *model, uint64_t address)
{
    size_t kept = 0;
    for (size_t i = 0; i < model->event_count; i++)
        if (model->events[i].block == address)
            model->device->event_forget(model->device->self, model->events[i].event);
        else
            model->events[kept++] = model->events[i];
    model->event_count = kept;
    kept = 0;
    for (size_t i = 0; i < model->deferred_count; i++)
        if (model->deferred[i] != address)
            model->deferred[kept++] = model->deferred[i];
    model->deferred_count = kept;
}

int model_settle(struct model *model, uint64_t address)
{
    struct model_spot spot = model_find(model, address);
    if (spot.segment == NULL || model_block_at(spot)->state != ALLOC_AWAITING)
        return ERR_NOTFOUND;
    forget_waiting(model, address);
    model_block_at(spot)->held = false;
    model_block_at(spot)->users = model_block_at(spot)->events = 0;
    complete_waiting(model, address);
    return BASE_OK;
}

/* ---- other streams ---- */

int model_record_stream(struct model *model, uint64_t address, uint64_t stream)
{
    struct model_spot spot = model_find(model, address);
    if (spot.segment == NULL || model_block_at(spot)->state != ALLOC_LIVING)
        return ERR_NOTFOUND;
    struct model_block *block = model_block_at(spot);
    if (stream == spot.segment->stream)
        return BASE_OK;
    for (unsigned i = 0; i < block->users; i++)
        if (block->used_by[i] == stream)
            return BASE_OK;
    if (block->users == MODEL_USERS)
        abort();
    block->used_by[block->users++] = stream;
    return BASE_OK;
}
