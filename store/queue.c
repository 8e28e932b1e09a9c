#include "queue.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "clock.h"
#include "error.h"
#include "mem.h"

/* All fields under `lock`. first..last is a list linked by batch->next; last is meaningless while
 * first is NULL. `changed` is signalled by each push, pop and close. */
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct batch *first, *last;
    size_t bytes;
    size_t limit;
    bool closed;
    _Atomic uint64_t ticks; /* not under the lock */
};

static int init_locks(struct queue *queue)
{
    pthread_condattr_t attributes;
    int failed = pthread_condattr_init(&attributes);
    if (failed)
        return base_err_from_errno(failed);
    /* Steps of the calendar's clock must not stretch a wait. */
    failed = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (!failed)
        failed = pthread_cond_init(&queue->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (failed)
        return base_err_from_errno(failed);
    failed = pthread_mutex_init(&queue->lock, NULL);
    if (failed)
        pthread_cond_destroy(&queue->changed);
    return base_err_from_errno(failed);
}

int queue_new(struct queue **out, size_t limit_bytes)
{
    *out = NULL;
    struct queue *queue = mem_alloc(1, sizeof *queue);
    if (!queue)
        return ERR_NOMEM;
    int err = init_locks(queue);
    if (err < 0) {
        mem_free(queue);
        return err;
    }
    queue->limit = limit_bytes;
    *out = queue;
    return 0;
}

void queue_free(struct queue *queue)
{
    if (!queue)
        return;
    for (struct batch *batch = queue->first, *next; batch; batch = next) {
        next = batch->next;
        batch_free(batch);
    }
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    mem_free(queue);
}

static bool must_wait(const struct queue *queue)
{
    return queue->first && queue->bytes > queue->limit && !queue->closed;
}

bool queue_push(struct queue *queue, struct batch *batch)
{
    size_t bytes = batch_bytes(batch);
    assert(batch && bytes > 0);
    pthread_mutex_lock(&queue->lock);
    while (must_wait(queue))
        pthread_cond_wait(&queue->changed, &queue->lock);
    bool taken = !queue->closed;
    if (taken) {
        batch->next = NULL;
        if (queue->first)
            queue->last->next = batch;
        else
            queue->first = batch;
        queue->last = batch;
        queue->bytes += bytes;
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    if (!taken)
        batch_free(batch);
    return taken;
}

bool queue_has_room(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool room = !must_wait(queue);
    pthread_mutex_unlock(&queue->lock);
    return room;
}

struct batch *queue_pop(struct queue *queue, unsigned timeout_ms, bool *closed)
{
    uint64_t until = clock_now_ns() + timeout_ms * NS_PER_MS;
    struct timespec at = {.tv_sec = (time_t)(until / NS_PER_S),
                          .tv_nsec = (long)(until % NS_PER_S)};
    pthread_mutex_lock(&queue->lock);
    int waited = 0;
    while (!queue->first && !queue->closed && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&queue->changed, &queue->lock, &at);
    struct batch *batch = queue->first;
    *closed = queue->closed;
    if (batch) {
        queue->first = batch->next;
        batch->next = NULL;
        assert(queue->bytes >= batch_bytes(batch));
        queue->bytes -= batch_bytes(batch);
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return batch;
}

void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

size_t queue_bytes(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    size_t bytes = queue->bytes;
    pthread_mutex_unlock(&queue->lock);
    return bytes;
}

bool queue_is_valid(struct queue *queue)
{
    size_t bytes = 0;
    struct batch *last = NULL;
    pthread_mutex_lock(&queue->lock);
    for (struct batch *batch = queue->first; batch; batch = batch->next) {
        bytes += batch_bytes(batch);
        last = batch;
    }
    bool valid = bytes == queue->bytes && (!last || last == queue->last);
    pthread_mutex_unlock(&queue->lock);
    return valid;
}

void queue_tick(struct queue *queue)
{
    atomic_fetch_add_explicit(&queue->ticks, 1, memory_order_relaxed);
}

uint64_t queue_ticks(struct queue *queue)
{
    return atomic_load_explicit(&queue->ticks, memory_order_relaxed);
}
