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
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "clock.h"
#include "drain_host.h"
#include "drain_mail.h"
#include "drain_ring.h"
#include "ensure.h"
#include "error.h"
#include "mem.h"
#include "meters.h"

#define SLEEP_MIN_NS (1 * NS_PER_MS)
#define SLEEP_MAX_NS (5 * NS_PER_MS)
#define SLEEP_NO_RING_NS (1000 * NS_PER_MS)
#define COMMIT_NS NS_PER_S
#define CLOCK_NS (10 * NS_PER_S)
#define BATCHES_A_ROUND 16            /* of one ring, before the others have their turn */
#define MUCH 1024                     /* events of a round after which the sleep is short */
#define HANG_UP_NS (1500 * NS_PER_MS) /* for holes of a process that we leave running */
#define THREADS_MAX 256

struct client { /* one process image that has not ended */
    uint64_t key, parent;
    int64_t id; /* process.id */
    pid_t pid;
    bool same_namespace;
    uint64_t begin_ns;
    struct state_process *process;
    struct drain_ring *ring; /* NULL: none */
    bool ending;
    bool lives; /* ending, and it may still publish */
    uint64_t end_ns, ask_ns;
    struct process_end end;
    struct drain_host host;
};

struct drain {
    pthread_t thread;
    struct drain_mail mail;

    /* The thread's own. */
    struct drain_options options;
    struct client **clients; /* in no order */
    size_t client_count, client_cap;
    struct map ids; /* key to process.id, of clients and of those that are a client's parent */
    uint64_t commit_ns, clock_ns, threads_ns;
    bool stopping;
    uint64_t unbeaten; /* events read since the last beat */
    bool dirty;        /* something came since the last commit */
    struct event buffer[DRAIN_TAKE];
    struct drain_stats stats;
    _Atomic bool failed;

    _Atomic bool asked; /* for the sums */
    pthread_mutex_t sums_lock;
    struct state_totals sums;
    _Atomic bool meters_asked;
    pthread_mutex_t meters_lock;
    struct meters meters;
};

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

/* ---- the thread: what happened to processes ---- */

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

static struct client *find_client(const struct drain *drain, uint64_t key)
{
    for (size_t i = 0; i < drain->client_count; i++)
        if (drain->clients[i]->key == key)
            return drain->clients[i];
    return NULL;
}

static struct state_process *begin_row(struct drain *drain, const struct drain_hello *hello)
{
    uint64_t parent = hello->parent ? map_get(&drain->ids, hello->parent) : MAP_NONE;
    struct state_hello row = {
        .pid = hello->pid,
        .parent = parent == MAP_NONE ? BATCH_NULL : (int64_t)parent,
        .origin = hello->origin,
        .at_ns = hello->at_ns,
        .rank = hello->rank,
        .local_rank = hello->local_rank,
        .world_size = hello->world_size,
        .host = hello->host,
        .argv = hello->argv,
        .why_not = hello->why_not,
    };
    return state_process_begin(drain->options.state, &row);
}

/* Without memory the process stays unknown: its ring, should it ask for one, is closed. */
static bool begin_client(struct drain *drain, const struct drain_hello *hello)
{
    if (!MEM_GROW(drain->clients, drain->client_cap, drain->client_count + 1))
        return false;
    struct client *client = mem_alloc(1, sizeof *client);
    if (!client)
        return false;
    client->process = begin_row(drain, hello);
    if (!client->process) {
        mem_free(client);
        return false;
    }
    client->key = hello->key;
    client->parent = hello->parent;
    client->id = state_process_id(client->process);
    client->pid = hello->pid;
    client->same_namespace = hello->same_namespace;
    client->begin_ns = hello->at_ns;
    drain->clients[drain->client_count++] = client;
    map_put(&drain->ids, client->key, (uint64_t)client->id, NULL);
    return true;
}

/* What the parent had at the fork is in its arena by now; its end is told to us after this ring. */
static void inherit(struct drain *drain, struct client *client, const struct drain_source *source)
{
    struct client *parent = source->first ? find_client(drain, source->from) : NULL;
    if (source->first == 0 || parent == client)
        return;
    if (parent && parent->ring)
        drain_ring_define(parent->ring);
    state_process_inherit(client->process, parent ? parent->process : NULL, source->first);
}

static void connect_ring(struct drain *drain, uint64_t key, const struct drain_source *source)
{
    struct client *client = find_client(drain, key);
    if (drain_failed(drain) || !client || client->ring)
        goto refuse;
    client->ring = mem_alloc(1, sizeof *client->ring);
    drain->stats.forgotten += !client->ring;
    if (!client->ring)
        goto refuse;
    inherit(drain, client, source);
    drain_ring_init(client->ring, client->process, source, drain->options.start_ns,
                    client->begin_ns);
    return;
refuse:
    mail_return(&drain->mail, source->reader.ring);
}

/* Somebody who has the ring all the same, and uses it, is believed. */
static void refuse(struct drain *drain, uint64_t key, const char *why_not)
{
    struct client *client = find_client(drain, key);
    if (!client || (client->ring && client->ring->live))
        return;
    if (client->ring) {
        mail_return(&drain->mail, client->ring->reader.ring);
        mem_free(client->ring);
        client->ring = NULL;
    }
    state_process_live(client->process, NULL, why_not);
}

/* ---- the thread: what the kernel says of processes ---- */

static struct drain_host_row host_row(const struct drain *drain, const struct client *client)
{
    return (struct drain_host_row){.batch = state_batch(drain->options.state),
                                   .process = client->id,
                                   .pid = client->pid,
                                   .start_ns = drain->options.start_ns};
}

static void look_at_host(struct drain *drain, struct client *client, bool events)
{
    const struct drain_host_row row = host_row(drain, client);
    struct drain_moments moments = {.events = events};
    if (client->ending || drain_failed(drain))
        return;
    state_moments(client->process, &moments.moments, &moments.refusals);
    drain_host_look(&client->host, &moments, &row, clock_now_ns());
}

static void see_killed(struct drain *drain, struct client *client)
{
    const struct drain_host_row row = host_row(drain, client);
    if (client->end.signal != SIGKILL || drain_failed(drain) ||
        !drain_host_killed(&client->host, &row, clock_now_ns()))
        return;
    drain->stats.killed++;
    drain->stats.killed_limit = client->host.limit;
}

static void begin_end(struct client *client, const struct process_end *end, uint64_t at_ns,
                      bool lives)
{
    client->ending = true;
    client->lives = lives;
    client->end = *end;
    client->end_ns = at_ns;
    client->ask_ns = clock_now_ns();
    if (lives && client->ring)
        ring_close(client->ring->reader.ring);
}

static void hear_one(struct drain *drain, const struct message *message)
{
    struct client *client;
    if (message->kind == MESSAGE_BEGIN)
        drain->stats.forgotten += !begin_client(drain, &message->hello);
    else if (message->kind == MESSAGE_RING)
        connect_ring(drain, message->key, &message->source);
    else if (message->kind == MESSAGE_REFUSED)
        refuse(drain, message->key, message->hello.why_not);
    else if ((client = find_client(drain, message->key)) != NULL) {
        begin_end(client, &message->end, message->at_ns, message->lives);
        see_killed(drain, client);
    }
}

/* Whoever has not ended when we stop: we were not told, for want of memory. */
static void begin_last_ends(struct drain *drain)
{
    const struct process_end unknown = {"unknown", PROCESS_NOT_KNOWN, PROCESS_NOT_KNOWN};
    for (size_t i = 0; i < drain->client_count; i++)
        if (!drain->clients[i]->ending)
            begin_end(drain->clients[i], &unknown, clock_now_ns(), true);
}

static void hear_messages(struct drain *drain)
{
    bool stop;
    struct message *message = mail_take(&drain->mail, &stop);
    while (message) {
        struct message *next = message->next;
        drain->dirty = true;
        hear_one(drain, message);
        message_free(message);
        message = next;
    }
    if (stop && !drain->stopping) {
        drain->stopping = true;
        begin_last_ends(drain);
    }
}

/* ---- the thread: storing ---- */

/* Programs that wait for room in their rings are told that there is progress, though not in theirs:
 * they give up only on a recorder that does nothing at all. */
static void beat_all(void *context)
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
    const struct timespec pause = {.tv_nsec = (long)SLEEP_MIN_NS};
    struct queue *queue = drain->options.queue;
    uint64_t seen = queue_ticks(queue);
    while (!queue_has_room(queue)) {
        nanosleep(&pause, NULL);
        uint64_t ticks = queue_ticks(queue);
        if (ticks != seen)
            beat_all(drain);
        seen = ticks;
    }
}

static void flush(struct drain *drain, uint64_t now_ns)
{
    bool commit = now_ns - drain->commit_ns >= COMMIT_NS || drain->stopping;
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

static void put_clocks(struct drain *drain)
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

/* ---- the thread: reading ---- */

/* The other rings may be many, and full, until their turn comes. */
static void count_read(struct drain *drain, uint64_t events)
{
    drain->unbeaten += events;
    if (drain->unbeaten < DRAIN_TAKE)
        return;
    drain->unbeaten = 0;
    beat_all(drain);
}

/* Returns how many events came. Without a place to store them the rings are closed: nothing is fed.
 */
static uint64_t read_ring(struct drain *drain, struct client *client)
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
            flush(drain, clock_now_ns());
        if (!more)
            break;
    }
    return ring->events - before;
}

/* A hole of a process that lives on is waited for, but not for ever. */
static bool may_end(struct drain *drain, struct client *client)
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
    if (!key || find_client(drain, key))
        return;
    for (size_t i = 0; i < drain->client_count; i++)
        if (drain->clients[i]->parent == key)
            return;
    map_remove(&drain->ids, key);
}

/* It may have died before it could use its ring. SIGSYS is a sandbox that forbids to map it. */
static bool is_killed(const struct client *client)
{
    return client->end.signal != PROCESS_NOT_KNOWN && client->end.signal != SIGSYS;
}

/* A program asks for its ring when it has an event. One that lives on may still be slow. */
static void see_unused(struct drain *drain, struct client *client)
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
    struct client *client = drain->clients[at];
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

static void end_dead_threads(struct drain *drain, struct client *client)
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

/* ---- the loop ---- */

/* Returns how many events came; *rings: how many are open. Backwards: what ends is replaced by one
 * that had its turn. */
static uint64_t read_all(struct drain *drain, bool look_at_threads, size_t *rings)
{
    uint64_t events = 0;
    *rings = 0;
    for (size_t i = drain->client_count; i-- > 0;) {
        struct client *client = drain->clients[i];
        uint64_t had = events;
        if (client->ring) {
            events += read_ring(drain, client);
            look_at_host(drain, client, events > had);
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

/* One round, of which the first commits what is known of the run so far; returns how long to sleep
 * after it. */
static uint64_t go_round(struct drain *drain, uint64_t slept_ns)
{
    size_t rings;
    hear_messages(drain);
    uint64_t now = clock_now_ns();
    bool second = now - drain->threads_ns >= NS_PER_S;
    if (second)
        drain->threads_ns = now;
    uint64_t events = read_all(drain, second, &rings);
    show_sums(drain);
    show_meters(drain);
    now = clock_now_ns();
    if (events > 0)
        drain->dirty = true;
    if (now - drain->clock_ns >= CLOCK_NS)
        put_clocks(drain);
    if (drain->dirty && now - drain->commit_ns >= COMMIT_NS)
        flush(drain, now);
    drain->stats.wakes++;
    if (events >= MUCH)
        return SLEEP_MIN_NS;
    if (rings == 0 && !drain->stopping)
        return SLEEP_NO_RING_NS;
    return slept_ns + NS_PER_MS < SLEEP_MAX_NS ? slept_ns + NS_PER_MS : SLEEP_MAX_NS;
}

static void *run(void *argument)
{
    struct drain *drain = argument;
    uint64_t sleep_ns = SLEEP_MAX_NS;
    state_beat(drain->options.state, beat_all, drain);
    put_clocks(drain);
    for (;;) {
        sleep_ns = go_round(drain, sleep_ns);
        if (drain->stopping && drain->client_count == 0)
            break;
        mail_wait(&drain->mail, sleep_ns, drain->stopping);
    }
    put_clocks(drain);
    flush(drain, clock_now_ns());
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
