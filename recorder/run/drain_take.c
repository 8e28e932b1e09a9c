/* drain_take.c - events out of the rings, until a process has ended and its ring is read. */
#include <signal.h>
#include <string.h>

#include "drain_types.h"
#include "ensure.h"
#include "mem.h"

#define BATCHES_A_ROUND 16            /* of one ring, before the others have their turn */
#define HANG_UP_NS (1500 * NS_PER_MS) /* for holes of a process that we leave running */
#define THREADS_MAX 256

/* The other rings may be many, and full, until their turn comes. */
static void count_read(struct drain *drain, uint64_t events)
{
    drain->unbeaten += events;
    if (drain->unbeaten < DRAIN_TAKE)
        return;
    drain->unbeaten = 0;
    drain_beat_all(drain);
}

/* Returns how many events came. Without a place to store them the rings are closed: nothing is fed.
 */
static uint64_t read_ring(struct drain *drain, struct drain_client *client)
{
    struct drain_ring *ring = client->ring;
    uint64_t before = ring->events;
    bool dead = client->ending && !client->lives;
    for (int i = 0; i < BATCHES_A_ROUND && !drain_failed(drain); i++) {
        uint64_t had = ring->events;
        bool more = drain_ring_step(ring, drain->buffer, dead, clock_now_ns());
        count_read(drain, ring->events - had);
        ENSURE_WHOLE(state_is_valid(drain->options.state));
        drain_ring_see_full(ring, state_batch(drain->options.state), client->id);
        if (state_wants_flush(drain->options.state))
            drain_flush(drain, clock_now_ns());
        if (!more)
            break;
    }
    return ring->events - before;
}

/* A hole of a process that lives on is waited for, but not for ever. */
static bool may_end(struct drain *drain, struct drain_client *client)
{
    if (!client->ending)
        return false;
    if (!client->ring || drain_failed(drain) || drain_ring_is_empty(client->ring))
        return true;
    if (client->lives && clock_now_ns() - client->ask_ns >= HANG_UP_NS)
        client->lives = false;
    return false;
}

/* A process outlives its parent, and when it becomes another image that one has the same parent:
 * its row is begun before the end of this one is told. */
static void forget_id(struct drain *drain, uint64_t key)
{
    if (!key || drain_find_client(drain, key))
        return;
    for (size_t i = 0; i < drain->client_count; i++)
        if (drain->clients[i]->parent == key)
            return;
    map_remove(&drain->ids, key);
}

/* It may have died before it could use its ring. SIGSYS is a sandbox that forbids to map it. */
static bool is_killed(const struct drain_client *client)
{
    return client->end.signal != PROCESS_NOT_KNOWN && client->end.signal != SIGSYS;
}

/* A program asks for its ring when it has an event. One that lives on may still be slow. */
static void see_unused(struct drain *drain, struct drain_client *client)
{
    if (client->lives || drain_failed(drain) || !drain_ring_is_unused(client->ring))
        return;
    if (is_killed(client))
        drain->stats.rings_killed++;
    else
        drain->stats.rings_unused++;
    state_process_live(client->process, NULL, DRAIN_RING_UNUSED);
}

static void end_client(struct drain *drain, size_t at)
{
    struct drain_client *client = drain->clients[at];
    struct state_end end = {.at_ns = client->end_ns,
                            .ended = client->end.ended,
                            .exit_code = client->end.exit_code,
                            .signal = client->end.signal};
    struct drain_ring *ring = client->ring;
    if (ring) {
        see_unused(drain, client);
        if (!drain_failed(drain))
            drain_ring_finish(ring, state_batch(drain->options.state), client->id);
        if (end.at_ns < ring->last_ns)
            end.at_ns = ring->last_ns;
        drain->stats.events += ring->events;
        drain->stats.definitions_refused += ring->refused_seen;
        mail_return(&drain->mail, ring->reader.ring);
        mem_free(ring);
    }
    state_process_end(client->process, &end);
    drain->clients[at] = drain->clients[--drain->client_count];
    forget_id(drain, client->key);
    forget_id(drain, client->parent);
    mem_free(client);
    drain->dirty = true;
}

/* ---- threads that are gone cannot end their phases ---- */

static void end_dead_threads(struct drain *drain, struct drain_client *client)
{
    uint32_t open[THREADS_MAX], dead[THREADS_MAX];
    struct proc_stat stat;
    size_t dead_count = 0;
    size_t count = state_open_threads(client->process, open, THREADS_MAX);
    for (size_t i = 0; i < count; i++)
        if (!proc_thread_exists(client->pid, open[i]))
            dead[dead_count++] = open[i];
    if (dead_count == 0 || !proc_stat_read(&stat, client->pid) || strchr("ZX?", stat.state))
        return;               /* the process as a whole has ended: we shall be told */
    read_ring(drain, client); /* what they published before they died */
    if (!drain_ring_is_empty(client->ring))
        return;
    count = state_open_threads(client->process, open, THREADS_MAX);
    for (size_t i = 0; i < dead_count; i++)
        for (size_t j = 0; j < count; j++)
            if (open[j] == dead[i])
                state_thread_end(client->process, dead[i], client->ring->last_ns);
}

/* ---- all of them ---- */

/* Returns how many events came; *rings: how many are open. Backwards: what ends is replaced by one
 * that had its turn. */
uint64_t drain_read_all(struct drain *drain, bool look_at_threads, size_t *rings)
{
    uint64_t events = 0;
    *rings = 0;
    for (size_t i = drain->client_count; i-- > 0;) {
        struct drain_client *client = drain->clients[i];
        uint64_t had = events;
        if (client->ring) {
            events += read_ring(drain, client);
            drain_look_at_host(drain, client, events > had);
        }
        if (client->ring && look_at_threads && client->same_namespace && !client->ending)
            end_dead_threads(drain, client);
        if (may_end(drain, client))
            end_client(drain, i);
        else
            *rings += client->ring != NULL;
    }
    return events;
}
