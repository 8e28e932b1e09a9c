/*
 * events.c - blocks that other streams use. While a block lives, those streams are a list of its
 * own. Given back, it gets an event on each of them, and the same records go to the ends of the
 * streams' queues; when the last event was reached, the free completes. A queue is looked at from
 * its front only: what stands behind an event that was not reached was not either.
 *
 * While a pool is begun no event is recorded: such blocks are deferred, and go on at the next
 * request or release after it. So does a block for which the device could not record one.
 */
#include <assert.h>
#include <string.h>

#include "engine.h"
#include "mem.h"
#include "search.h"

/* ---- records ---- */

static uint32_t use_new(struct alloc *alloc)
{
    uint32_t number = alloc->uses_spare;
    if (number) {
        alloc->uses_spare = alloc->uses[number].next;
        return number;
    }
    size_t first = alloc->use_count ? 0 : 1;
    if (alloc->use_count + first >= UINT32_MAX ||
        !MEM_GROW(alloc->uses, alloc->uses_cap, alloc->use_count + first + 1))
        return 0;
    alloc->use_count += first;
    return (uint32_t)alloc->use_count++;
}

static void use_recycle(struct alloc *alloc, uint32_t number)
{
    assert(number && number < alloc->use_count);
    alloc->uses[number] = (struct use){.next = alloc->uses_spare};
    alloc->uses_spare = number;
}

/* The queue of the stream, or where it would stand. */
static size_t queue_find(const struct alloc *alloc, uint64_t stream)
{
    size_t from;
    SEARCH_FIRST(from, 0, alloc->queue_count, alloc->queues[from].stream < stream);
    return from;
}

static bool queue_make(struct alloc *alloc, uint64_t stream)
{
    size_t at = queue_find(alloc, stream);
    if (at < alloc->queue_count && alloc->queues[at].stream == stream)
        return true;
    if (!MEM_GROW(alloc->queues, alloc->queues_cap, alloc->queue_count + 1))
        return false;
    memmove(&alloc->queues[at + 1], &alloc->queues[at],
            (alloc->queue_count - at) * sizeof *alloc->queues);
    alloc->queues[at] = (struct queue_of_stream){.stream = stream};
    alloc->queue_count++;
    return true;
}

int uses_add(struct alloc *alloc, uint32_t id, uint64_t stream)
{
    struct block *block = block_at(alloc, id);
    uint32_t last = 0;
    for (uint32_t at = block->uses; at; at = alloc->uses[at].next) {
        if (alloc->uses[at].stream == stream)
            return BASE_OK;
        last = at;
    }
    if (!queue_make(alloc, stream))
        return ERR_NOMEM;
    uint32_t number = use_new(alloc);
    if (!number)
        return ERR_NOMEM;
    alloc->uses[number] = (struct use){.stream = stream};
    if (last)
        alloc->uses[last].next = number;
    else
        block->uses = number;
    return BASE_OK;
}

/* ---- waiting ---- */

static void queue_push(struct alloc *alloc, uint32_t number)
{
    struct queue_of_stream *queue = &alloc->queues[queue_find(alloc, alloc->uses[number].stream)];
    if (queue->last)
        alloc->uses[queue->last].next = number;
    else
        queue->first = number;
    queue->last = number;
    alloc->waiting++;
}

void events_defer(struct alloc *alloc, uint32_t id)
{
    struct block *block = block_at(alloc, id);
    assert(block->state == BLOCK_AWAITING && !block->deferred);
    block->deferred = true;
    block->deferred_next = 0;
    if (alloc->deferred_last)
        block_at(alloc, alloc->deferred_last)->deferred_next = id;
    else
        alloc->deferred_first = id;
    alloc->deferred_last = id;
}

int events_insert(struct alloc *alloc, uint32_t id)
{
    struct block *block = block_at(alloc, id);
    while (block->uses) {
        uint32_t number = block->uses;
        struct use *use = &alloc->uses[number];
        int err = alloc->device->event_record(alloc->device->self, use->stream, &use->event);
        if (err != BASE_OK) {
            events_defer(alloc, id);
            return err;
        }
        block->uses = use->next;
        use->next = 0;
        use->block = id;
        block->events++;
        queue_push(alloc, number);
    }
    return BASE_OK;
}

static int insert_deferred(struct alloc *alloc)
{
    int err = BASE_OK;
    uint32_t id = alloc->deferred_first;
    alloc->deferred_first = alloc->deferred_last = 0;
    while (id) {
        struct block *block = block_at(alloc, id);
        uint32_t next = block->deferred_next;
        block->deferred = false;
        int result = events_insert(alloc, id); /* which defers it again, if it fails */
        err = err == BASE_OK ? result : err;
        id = next;
    }
    return err;
}

/* The event at the front was reached. */
static void queue_pop(struct alloc *alloc, struct queue_of_stream *queue)
{
    uint32_t number = queue->first;
    struct use use = alloc->uses[number];
    queue->first = use.next;
    if (!use.next)
        queue->last = 0;
    alloc->waiting--;
    alloc->device->event_forget(alloc->device->self, use.event);
    use_recycle(alloc, number);
    struct block *block = block_at(alloc, use.block);
    assert(block->events);
    if (--block->events == 0 && !block->uses)
        engine_complete_waited(alloc, use.block);
}

/* Takes what `ask` says was reached off the queues. */
static int queues_advance(struct alloc *alloc, int (*ask)(void *self, uint64_t event))
{
    for (size_t i = 0; i < alloc->queue_count && alloc->waiting; i++) {
        struct queue_of_stream *queue = &alloc->queues[i];
        while (queue->first) {
            int err = ask(alloc->device->self, alloc->uses[queue->first].event);
            if (err == ERR_BUSY)
                break;
            if (err != BASE_OK)
                return err;
            queue_pop(alloc, queue);
        }
    }
    return BASE_OK;
}

int events_process_slow(struct alloc *alloc)
{
    int err = insert_deferred(alloc);
    return err == BASE_OK ? queues_advance(alloc, alloc->device->event_query) : err;
}

int events_wait_all(struct alloc *alloc)
{
    alloc->counters.syncs++;
    int err = insert_deferred(alloc);
    return err == BASE_OK ? queues_advance(alloc, alloc->device->event_wait) : err;
}

/* ---- giving up ---- */

static void undefer(struct alloc *alloc, uint32_t id)
{
    uint32_t last = 0;
    for (uint32_t at = alloc->deferred_first; at != id; at = block_at(alloc, at)->deferred_next)
        last = at;
    uint32_t next = block_at(alloc, id)->deferred_next;
    if (last)
        block_at(alloc, last)->deferred_next = next;
    else
        alloc->deferred_first = next;
    if (alloc->deferred_last == id)
        alloc->deferred_last = last;
    block_at(alloc, id)->deferred = false;
}

/* Takes the uses of one block (0: of all) out of a queue. */
static void queue_drop(struct alloc *alloc, struct queue_of_stream *queue, uint32_t id)
{
    uint32_t last = 0, next;
    for (uint32_t at = queue->first; at; at = next) {
        struct use *use = &alloc->uses[at];
        next = use->next;
        if (id && use->block != id) {
            last = at;
            continue;
        }
        if (last)
            alloc->uses[last].next = next;
        else
            queue->first = next;
        if (queue->last == at)
            queue->last = last;
        alloc->waiting--;
        alloc->device->event_forget(alloc->device->self, use->event);
        block_at(alloc, use->block)->events--;
        use_recycle(alloc, at);
    }
}

void uses_drop(struct alloc *alloc, uint32_t id)
{
    struct block *block = block_at(alloc, id);
    if (block->deferred)
        undefer(alloc, id);
    while (block->uses) {
        uint32_t next = alloc->uses[block->uses].next;
        use_recycle(alloc, block->uses);
        block->uses = next;
    }
    for (size_t i = 0; i < alloc->queue_count && block->events; i++)
        queue_drop(alloc, &alloc->queues[i], id);
}

void uses_drop_all(struct alloc *alloc)
{
    for (size_t i = 0; i < alloc->queue_count; i++)
        queue_drop(alloc, &alloc->queues[i], 0);
}
