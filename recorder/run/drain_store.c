/* drain_store.c - batches on their way to the writer. */
#include "drain_types.h"
#include "error.h"

/* Programs that wait for room in their rings are told that there is progress, though not in theirs:
 * they give up only on a recorder that does nothing at all. */
void drain_beat_all(void *context)
{
    const struct drain *drain = context;
    for (size_t i = 0; i < drain->client_count; i++)
        if (drain->clients[i]->ring)
            ring_reader_beat(&drain->clients[i]->ring->reader);
}

static void fail(struct drain *drain)
{
    atomic_store(&drain->failed, true);
    for (size_t i = 0; i < drain->client_count; i++)
        if (drain->clients[i]->ring)
            ring_close(drain->clients[i]->ring->reader.ring);
    mail_tell(&drain->mail);
}

/* Waits until the queue takes more. There is progress as long as the writer makes some: only a
 * writer that hangs lets programs lose events. */
static void wait_for_writer(struct drain *drain)
{
    const struct timespec pause = {.tv_nsec = (long)DRAIN_NAP_NS};
    struct queue *queue = drain->options.queue;
    uint64_t seen = queue_ticks(queue);
    while (!queue_has_room(queue)) {
        nanosleep(&pause, NULL);
        uint64_t ticks = queue_ticks(queue);
        if (ticks != seen)
            drain_beat_all(drain);
        seen = ticks;
    }
}

void drain_flush(struct drain *drain, uint64_t now_ns)
{
    bool commit = now_ns - drain->commit_ns >= DRAIN_COMMIT_NS || drain->stopping;
    struct batch *batch = state_flush(drain->options.state, now_ns, commit);
    if (!batch)
        return; /* no memory: what the old batch holds is tried again */
    uint64_t begin = clock_now_ns();
    wait_for_writer(drain);
    bool pushed = queue_push(drain->options.queue, batch);
    uint64_t took = clock_now_ns() - begin;
    size_t bytes = queue_bytes(drain->options.queue);
    drain->stats.batches++;
    if (took > drain->stats.longest_push_ns)
        drain->stats.longest_push_ns = took;
    if (bytes > drain->stats.queue_high)
        drain->stats.queue_high = bytes;
    if (commit) {
        drain->commit_ns = now_ns;
        drain->dirty = false;
    }
    if (!pushed && !drain_failed(drain))
        fail(drain);
}

void drain_put_clocks(struct drain *drain)
{
    uint64_t now = clock_now_ns();
    struct row_clock row = {
        .run_ns = (int64_t)(now - drain->options.start_ns),
        .monotonic_ns = (int64_t)now,
        .real_ns = (int64_t)clock_read_ns(CLOCK_REALTIME),
        .boot_ns = (int64_t)clock_read_ns(CLOCK_BOOTTIME),
    };
    batch_put_clock(state_batch(drain->options.state), &row);
    drain->clock_ns = now;
    drain->dirty = true;
}
