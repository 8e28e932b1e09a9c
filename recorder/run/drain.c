/*
 * drain.c - the thread's loop.
 *
 *     messages -> for each ring: definitions, events, limit -> ended processes -> flush -> sleep
 *
 * The sleep is 1 ms after a round that found much, and grows to 5 ms while little comes; without
 * any ring the thread sleeps until a message or the next second. Never shorter: a drain that chases
 * the producers makes each of their events dearer.
 */
#include "drain.h"

#include <assert.h>

#include "drain_types.h"
#include "error.h"
#include "mem.h"

#define SLEEP_MAX_NS (5 * NS_PER_MS)
#define SLEEP_NO_RING_NS (1000 * NS_PER_MS)
#define CLOCK_NS (10 * NS_PER_S)
#define MUCH 1024 /* events of a round after which the sleep is short */

/* ---- for the supervisor ---- */

bool drain_begin(struct drain *drain, const struct drain_hello *hello)
{
    return mail_begin(&drain->mail, hello);
}

bool drain_ring(struct drain *drain, uint64_t key, struct ring_shared *ring)
{
    return mail_ring(&drain->mail, key, ring);
}

bool drain_refused(struct drain *drain, uint64_t key, const char *why_not)
{
    return mail_refused(&drain->mail, key, why_not);
}

bool drain_end(struct drain *drain, uint64_t key, const struct process_end *end, uint64_t at_ns,
               bool lives)
{
    return mail_end(&drain->mail, key, end, at_ns, lives);
}

struct ring_shared *drain_returned(struct drain *drain)
{
    return mail_returned(&drain->mail);
}

bool drain_failed(const struct drain *drain)
{
    return atomic_load(&drain->failed);
}

void drain_totals(struct drain *drain, struct state_totals *out)
{
    pthread_mutex_lock(&drain->sums_lock);
    *out = drain->sums;
    pthread_mutex_unlock(&drain->sums_lock);
    atomic_store(&drain->asked, true);
}

void drain_meters(struct drain *drain, struct meters *out)
{
    pthread_mutex_lock(&drain->meters_lock);
    meters_copy(out, &drain->meters);
    pthread_mutex_unlock(&drain->meters_lock);
    atomic_store(&drain->meters_asked, true);
}

/* ---- what others look at ---- */

/* Whoever asks holds the lock to copy; if it is just then, it gets the older sums once more. */
static void show_sums(struct drain *drain)
{
    if (!atomic_load(&drain->asked) || pthread_mutex_trylock(&drain->sums_lock) != 0)
        return;
    state_totals(drain->options.state, &drain->sums);
    pthread_mutex_unlock(&drain->sums_lock);
    atomic_store(&drain->asked, false);
}

static void show_meters(struct drain *drain)
{
    if (!atomic_load(&drain->meters_asked) || pthread_mutex_trylock(&drain->meters_lock) != 0)
        return;
    state_meters(drain->options.state, &drain->meters);
    pthread_mutex_unlock(&drain->meters_lock);
    atomic_store(&drain->meters_asked, false);
}

/* ---- the loop ---- */

/* The rings of dead processes, too: nobody reads them. */
static void tell_ticks(struct drain *drain, uint64_t now_ns)
{
    if (!ticks_look(&drain->ticks, now_ns))
        return;
    for (size_t i = 0; i < drain->client_count; i++)
        if (drain->clients[i]->ring)
            ticks_tell(&drain->ticks, &drain->clients[i]->ring->reader.ring->clock);
    assert(ticks_is_valid(&drain->ticks));
}

/* One round, of which the first commits what is known of the run so far; returns how long to sleep
 * after it. */
static uint64_t go_round(struct drain *drain, uint64_t slept_ns)
{
    size_t rings;
    drain_hear(drain);
    uint64_t now = clock_now_ns();
    bool second = now - drain->threads_ns >= NS_PER_S;
    if (second)
        drain->threads_ns = now;
    tell_ticks(drain, now);
    uint64_t events = drain_read_all(drain, second, &rings);
    show_sums(drain);
    show_meters(drain);
    now = clock_now_ns();
    if (events > 0)
        drain->dirty = true;
    if (now - drain->clock_ns >= CLOCK_NS)
        drain_put_clocks(drain);
    if (drain->dirty && now - drain->commit_ns >= DRAIN_COMMIT_NS)
        drain_flush(drain, now);
    drain->stats.wakes++;
    if (events >= MUCH)
        return DRAIN_NAP_NS;
    if (rings == 0 && !drain->stopping)
        return SLEEP_NO_RING_NS;
    return slept_ns + NS_PER_MS < SLEEP_MAX_NS ? slept_ns + NS_PER_MS : SLEEP_MAX_NS;
}

static void *run(void *argument)
{
    struct drain *drain = argument;
    uint64_t sleep_ns = SLEEP_MAX_NS;
    ticks_begin(&drain->ticks);
    state_beat(drain->options.state, drain_beat_all, drain);
    drain_put_clocks(drain);
    for (;;) {
        sleep_ns = go_round(drain, sleep_ns);
        if (drain->stopping && drain->client_count == 0)
            break;
        mail_wait(&drain->mail, sleep_ns, drain->stopping);
    }
    drain_put_clocks(drain);
    drain_flush(drain, clock_now_ns());
    drain->stats.cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* ---- start and end ---- */

int drain_start(struct drain **out, const struct drain_options *options)
{
    struct drain *drain = mem_alloc(1, sizeof *drain);
    if (!drain)
        return ERR_NOMEM;
    drain->options = *options;
    pthread_mutex_init(&drain->sums_lock, NULL);
    pthread_mutex_init(&drain->meters_lock, NULL);
    int err = mail_init(&drain->mail, options->wake_fd);
    if (!err && pthread_create(&drain->thread, NULL, run, drain) != 0)
        err = ERR_NOMEM;
    if (err)
        mem_free(drain);
    else
        *out = drain;
    return err;
}

void drain_stop(struct drain *drain)
{
    mail_stop(&drain->mail);
    pthread_join(drain->thread, NULL);
}

void drain_free(struct drain *drain, struct drain_stats *stats)
{
    assert(drain->client_count == 0 && drain->ids.count == 0);
    *stats = drain->stats;
    mem_free(drain->clients);
    map_clear(&drain->ids);
    meters_clear(&drain->meters);
    mail_clear(&drain->mail);
    mem_free(drain);
}
