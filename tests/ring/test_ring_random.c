/*
 * Rings under random weather: real threads and forked children push as fast as they can, some take
 * a ticket and never publish it or publish it late, while a drain takes batches of random sizes and
 * pauses. What every producer was told about each of its events must be what the drain saw: an
 * event that was pushed comes out once and in its thread's order; one that was dropped or fenced
 * does not, and is counted.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring_support.h"

enum { BITS = 6, SLOTS = 1 << BITS, MAX_PRODUCERS = 8, MAX_EVENTS = 20000 };

enum outcome { NOTHING, PUSHED, DROPPED, LATE, GIVEN_UP, ABANDONED };

/* One producer: a thread here, or a process that shares this by a mapping. */
struct producer {
    struct ring_shared *ring;
    uint64_t number, seed;
    uint64_t events;
    _Atomic uint64_t made; /* events with an outcome */
    unsigned odd;          /* one in so many is late or abandoned, 0 = none */
    unsigned char outcome[MAX_EVENTS];
};

struct drain {
    struct ring_reader reader;
    uint64_t seed;
    uint64_t next[MAX_PRODUCERS]; /* one more than the last event seen of each */
    unsigned char seen[MAX_PRODUCERS][MAX_EVENTS];
    uint64_t taken, torn, lost[EVENT_KIND_SLOTS], last_ticket, last_ns;
    uint64_t now_ns; /* a clock of its own */
    bool hurry;      /* it runs fast: holes grow old; else it stands, and none does */
};

static struct event event_of(const struct producer *self, uint64_t i)
{
    struct event event = numbered(i);
    event.thread = (self->number + 1) & 0xffffff;
    event.kind = (1 + i % (EVENT_KIND_COUNT - 1)) & 0xff;
    event.addr = ~i;
    event.size = self->number << 32 | i;
    event.b = i * 3;
    return event;
}

/* A producer that is interrupted stands still for some looks of the drain: where it stood between
 * its ticket and its publishing, that is long enough to be fenced. */
static _Atomic uint64_t looks;
static _Atomic bool drained;

static void stand_still(int number)
{
    uint64_t until = atomic_load(&looks) + 12;
    (void)number;
    while (atomic_load(&looks) < until && !atomic_load(&drained))
        sched_yield();
}

/* ---- producers ---- */

/* A ticket as ring_try takes it; false when the ring is full. */
static bool reserve(struct ring_shared *ring, uint64_t *ticket)
{
    *ticket = atomic_load(&ring->head);
    do {
        if (*ticket >= atomic_load(&ring->limit))
            return false;
    } while (!atomic_compare_exchange_weak(&ring->head, ticket, *ticket + 1));
    return true;
}

/* The word that its slot has now; is it one by which the slot is free for the ticket? */
static bool slot_is_free(struct ring_shared *ring, uint64_t ticket, uint64_t *word)
{
    const struct event *slot = &ring_slots(ring)[ticket & (SLOTS - 1)];
    *word = __atomic_load_n(&slot->word, __ATOMIC_ACQUIRE);
    return (*word & ~RING_FREED) == (ticket < SLOTS ? 0 : ticket + 1 - SLOTS);
}

/* The rest of ring_try, after a while: the event, the word, or what came of it. */
static enum outcome publish(struct ring_shared *ring, uint64_t ticket, const struct event *event)
{
    struct event *slot = &ring_slots(ring)[ticket & (SLOTS - 1)];
    uint64_t word;
    if (slot_is_free(ring, ticket, &word)) {
        memcpy((char *)slot + 8, (const char *)event + 8, sizeof *event - 8);
        if (__atomic_compare_exchange_n(&slot->word, &word, ticket + 1, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return PUSHED;
    }
    if (__atomic_load_n(&slot->word, __ATOMIC_RELAXED) == ticket + 1)
        return PUSHED;
    return ring_mark_late(ring, slot, ticket) ? LATE : GIVEN_UP;
}

/* Never to be published. Nobody's loss if an earlier ticket took the slot out of service; else the
 * drain tears it, and a drain in a hurry may have done so by now. */
static enum outcome abandon(struct ring_shared *ring, uint64_t ticket)
{
    uint64_t word;
    bool torn = slot_is_free(ring, ticket, &word) || word == (RING_FENCED | (ticket + 1));
    return torn ? ABANDONED : GIVEN_UP;
}

static enum outcome oddly(struct producer *self, const struct event *event)
{
    uint64_t ticket;
    if (!reserve(self->ring, &ticket))
        return NOTHING;
    if (test_random(&self->seed) % 3 == 0)
        return abandon(self->ring, ticket);
    for (uint64_t i = test_random(&self->seed) % 8; i > 0; i--)
        sched_yield();
    return publish(self->ring, ticket, event);
}

/* Often where the drain is about to free a slot: with a ticket whose producer stands still. */
static bool is_odd(struct producer *self)
{
    uint64_t ticket = atomic_load(&self->ring->head), word;
    if (self->odd == 0)
        return false;
    slot_is_free(self->ring, ticket, &word);
    return test_random(&self->seed) % (word & RING_LATE ? 2 : self->odd) == 0;
}

static void *produce(void *argument)
{
    struct producer *self = argument;
    for (uint64_t i = 0; i < self->events; i++) {
        struct event event = event_of(self, i);
        enum outcome outcome = NOTHING;
        if (is_odd(self))
            outcome = oddly(self, &event);
        if (outcome == NOTHING || outcome == GIVEN_UP) {
            enum ring_push pushed = push(self->ring, &event);
            REQUIRE(pushed != RING_OFF);
            outcome = pushed == RING_PUSHED ? PUSHED : DROPPED;
        }
        self->outcome[i] = (unsigned char)outcome;
        atomic_store_explicit(&self->made, i + 1, memory_order_release);
    }
    return NULL;
}

/* ---- the drain ---- */

static void see(struct drain *drain, const struct event *event)
{
    uint64_t who = event->thread - 1, i = event->a;
    REQUIRE(who < MAX_PRODUCERS && i < MAX_EVENTS);
    CHECK(event->word > drain->last_ticket); /* total order, nothing twice */
    CHECK(event->time_ns >= drain->last_ns);
    CHECK(i >= drain->next[who]); /* and that of the thread */
    CHECK_INT(event->addr, ~i);   /* nothing of two events in one */
    CHECK_INT(event->size, who << 32 | i);
    CHECK_INT(event->b, i * 3);
    CHECK_INT(event->kind, 1 + i % (EVENT_KIND_COUNT - 1));
    drain->last_ticket = event->word;
    drain->last_ns = event->time_ns;
    drain->next[who] = i + 1;
    drain->seen[who][i]++;
    drain->taken++;
}

/* One look of the drain. True when there was something. */
static bool look(struct drain *drain, bool dead)
{
    struct event out[SLOTS];
    struct ring_torn torn[4];
    uint64_t lost[EVENT_KIND_SLOTS];
    size_t torn_n;
    size_t max = 1 + test_random(&drain->seed) % SLOTS;
    size_t torn_max = 1 + test_random(&drain->seed) % 4;
    if (drain->hurry)
        drain->now_ns += test_random(&drain->seed) % (RING_HOLE_NS / 2);
    size_t taken =
        ring_reader_take(&drain->reader, out, max, drain->now_ns, dead, torn, torn_max, &torn_n);
    REQUIRE(taken <= max && torn_n <= torn_max);
    for (size_t i = 0; i < taken; i++)
        see(drain, &out[i]);
    for (size_t i = 0; i < torn_n; i++)
        CHECK_INT(torn[i].why, dead ? TORN_DEAD : TORN_TIMEOUT);
    drain->torn += torn_n;
    CHECK(ring_reader_backlog(&drain->reader) <= SLOTS);
    ring_reader_losses(&drain->reader, lost);
    for (int kind = 0; kind < EVENT_KIND_SLOTS; kind++)
        drain->lost[kind] += lost[kind];
    return taken + torn_n > 0;
}

/* Until all are done and nothing is left. Whoever waits for room is given some, or told that the
 * drain lives. */
static void drain_all(struct drain *drain, struct producer *const *producers, int count,
                      const pthread_t *threads)
{
    for (;;) {
        atomic_fetch_add(&looks, 1);
        if (threads && drain->hurry && test_random(&drain->seed) % 16 == 0)
            pthread_kill(threads[test_random(&drain->seed) % (uint64_t)count], SIGUSR1);
        bool done = true;
        for (int i = 0; i < count; i++)
            done &= atomic_load_explicit(&producers[i]->made, memory_order_acquire) ==
                    producers[i]->events;
        bool any = look(drain, false);
        if (test_random(&drain->seed) % 4)
            ring_reader_release(&drain->reader);
        else
            ring_reader_beat(&drain->reader);
        if (!any && done && ring_reader_backlog(&drain->reader) == 0)
            break;
        if (!any)
            sched_yield();
    }
    ring_reader_release(&drain->reader);
    atomic_store(&drained, true);
}

static struct drain *new_drain(struct ring_shared *ring, uint64_t seed, bool hurry)
{
    struct drain *drain = calloc(1, sizeof *drain);
    REQUIRE(drain != NULL);
    ring_reader_init(&drain->reader, ring);
    drain->seed = seed;
    drain->hurry = hurry;
    drain->now_ns = clock_now_ns();
    return drain;
}

static struct producer *shared_producers(void)
{
    struct producer *all = mmap(NULL, MAX_PRODUCERS * sizeof *all, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(all != MAP_FAILED);
    return all;
}

/* ---- the account ---- */

struct sums {
    uint64_t outcome[6], dropped[EVENT_KIND_SLOTS];
};

static void add_up(const struct drain *drain, const struct producer *producer, struct sums *sums)
{
    for (uint64_t i = 0; i < producer->events; i++) {
        unsigned char outcome = producer->outcome[i];
        if (drain->seen[producer->number][i] != (outcome == PUSHED)) {
            fprintf(stderr, "producer %d, event %d: outcome %d, seen %d times\n",
                    (int)producer->number, (int)i, outcome, drain->seen[producer->number][i]);
            CHECK(false);
        }
        sums->outcome[outcome]++;
        if (outcome == DROPPED)
            sums->dropped[1 + i % (EVENT_KIND_COUNT - 1)]++;
    }
}

/* Every ticket is one of four things; what its producer was told agrees. A normal push that was
 * fenced counts as dropped for its producer, and as late in the ring: `late` has both. */
static void check_account(const struct drain *drain, const struct sums *sums)
{
    const struct ring_shared *ring = drain->reader.ring;
    uint64_t late = atomic_load(&ring->late), dropped = 0, fenced;
    for (int kind = 0; kind < EVENT_KIND_SLOTS; kind++) {
        CHECK(drain->lost[kind] <= sums->dropped[kind]);
        dropped += drain->lost[kind];
    }
    fenced = sums->outcome[DROPPED] - dropped; /* by producers that were overtaken in ring_try */
    CHECK_INT(drain->taken, sums->outcome[PUSHED]);
    CHECK_INT(late, sums->outcome[LATE] + fenced);
    CHECK_INT(drain->torn, sums->outcome[ABANDONED] + late);
    CHECK_INT(drain->reader.torn_count, drain->torn);
    CHECK_INT(atomic_load(&ring->head), drain->taken + drain->torn + drain->reader.skipped);
    CHECK_INT(drain->reader.tail, atomic_load(&ring->head));
    CHECK(ring_is_valid(ring));
}

/* ---- cases ---- */

static uint64_t total_late; /* producers that were fenced inside of ring_push, in this case */

static void run_threads(uint64_t seed, int count, uint64_t events, unsigned odd)
{
    struct ring_shared *ring = new_ring(BITS);
    struct drain *drain = new_drain(ring, seed, odd > 0);
    struct producer *producers[MAX_PRODUCERS];
    struct sums sums = {0};
    pthread_t threads[MAX_PRODUCERS];
    atomic_store(&drained, false);
    signal(SIGUSR1, stand_still);
    for (int i = 0; i < count; i++) {
        producers[i] = calloc(1, sizeof *producers[i]);
        REQUIRE(producers[i] != NULL);
        producers[i]->ring = ring;
        producers[i]->number = (uint64_t)i;
        producers[i]->seed = seed * 100 + (uint64_t)i;
        producers[i]->events = events;
        producers[i]->odd = odd;
        REQUIRE(pthread_create(&threads[i], NULL, produce, producers[i]) == 0);
    }
    drain_all(drain, producers, count, threads);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < count; i++) {
        add_up(drain, producers[i], &sums);
        free(producers[i]);
    }
    check_account(drain, &sums);
    if (odd == 0)
        CHECK_INT(drain->reader.skipped + drain->torn, 0);
    total_late += atomic_load(&ring->late) - sums.outcome[LATE];
    free(drain);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

TEST(threads_that_behave)
{
    for (uint64_t seed = 1; seed <= 3; seed++)
        run_threads(seed, 4, 4000, 0);
}

/* Each abandoned ticket takes a slot out of service for good: at most half of them here. */
TEST(threads_that_are_late_or_never_publish)
{
    for (uint64_t seed = 11; seed <= 16; seed++)
        run_threads(seed, 4, 2500, 1200);
    printf("     %d fenced on their way\n", (int)total_late);
}

TEST(one_thread_that_is_often_late)
{
    run_threads(21, 1, 2000, 150);
}

TEST(more_threads_than_processors)
{
    run_threads(31, MAX_PRODUCERS, 1000, 800);
}

/* A drain that stands still until the producer gives up, then goes on. */
TEST(a_drain_that_stands_still_loses_what_it_counts)
{
    struct ring_shared *ring = new_ring(BITS);
    struct drain *drain = new_drain(ring, 5, false);
    struct producer *producer = calloc(1, sizeof *producer);
    struct sums sums = {0};
    REQUIRE(producer != NULL);
    producer->ring = ring;
    producer->seed = 5;
    for (int round = 0; round < 3; round++) {
        uint64_t from = producer->events;
        producer->events += 500;
        REQUIRE(producer->events <= MAX_EVENTS);
        for (uint64_t i = from; i < producer->events; i++) {
            struct event event = event_of(producer, i);
            producer->outcome[i] = push(ring, &event) == RING_PUSHED ? PUSHED : DROPPED;
        }
        CHECK_INT(atomic_load(&ring->drops_begun), round + 1);
        CHECK_INT(ring_reader_drop_ticket(&drain->reader), atomic_load(&ring->head));
        while (look(drain, false))
            continue;
        ring_reader_release(&drain->reader);
        CHECK_INT(atomic_load(&ring->mode), RING_OPEN);
    }
    atomic_store(&producer->made, producer->events);
    add_up(drain, producer, &sums);
    check_account(drain, &sums);
    CHECK_INT(sums.outcome[PUSHED], 3 * SLOTS);
    free(producer);
    free(drain);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

/* ---- processes ---- */

/* Children push into rings of their own while the parent pushes into its: nothing of one comes out
 * of another's. */
TEST(forked_children_have_their_own_rings)
{
    enum { CHILDREN = 4, EVENTS = 1500 };
    struct producer *all = shared_producers(), *parent = &all[0];
    struct ring_shared *rings[CHILDREN + 1];
    struct drain *drains[CHILDREN + 1];
    pid_t pids[CHILDREN + 1] = {0};
    for (int i = 0; i <= CHILDREN; i++) {
        rings[i] = new_ring(BITS);
        drains[i] = new_drain(rings[i], (uint64_t)i + 1, i % 2 == 0);
        all[i].ring = rings[i];
        all[i].number = (uint64_t)i;
        all[i].seed = (uint64_t)i + 77;
        all[i].events = EVENTS;
        all[i].odd = i % 2 ? 0 : 400;
    }
    for (int i = 1; i <= CHILDREN; i++) {
        pids[i] = fork();
        REQUIRE(pids[i] >= 0);
        if (pids[i] == 0) {
            produce(&all[i]);
            _exit(0);
        }
    }
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, produce, parent) == 0);
    for (int i = 0; i <= CHILDREN; i++) /* one after the other: the later ones wait for room */
        drain_all(drains[i], (struct producer *const[]){&all[i]}, 1, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i <= CHILDREN; i++) {
        struct sums sums = {0};
        if (i > 0)
            waitpid(pids[i], NULL, 0);
        add_up(drains[i], &all[i], &sums);
        check_account(drains[i], &sums);
        for (int other = 0; other <= CHILDREN; other++)
            CHECK(other == i || drains[i]->next[other] == 0);
        free(drains[i]);
        ring_destroy(rings[i], BITS, ARENA_BYTES);
    }
    munmap(all, MAX_PRODUCERS * sizeof *all);
}

/* A process of several threads is killed in the middle: what it had been told was pushed comes out,
 * at most one event more for each thread; and every hole is passed at once. */
static void *produce_forever(void *argument)
{
    struct producer *self = argument;
    for (uint64_t i = 0; i < MAX_EVENTS; i++) {
        struct event event = event_of(self, i);
        while (push(self->ring, &event) != RING_PUSHED)
            sched_yield();
        self->outcome[i] = PUSHED;
        atomic_store_explicit(&self->made, i + 1, memory_order_release);
    }
    for (;;)
        pause();
    return NULL;
}

static _Noreturn void be_several(struct producer *all, int count)
{
    pthread_t thread;
    for (int i = 1; i < count; i++)
        REQUIRE(pthread_create(&thread, NULL, produce_forever, &all[i]) == 0);
    produce_forever(&all[0]);
    _exit(0);
}

static void kill_one(uint64_t seed)
{
    enum { THREADS = 3 };
    struct producer *all = shared_producers();
    struct ring_shared *ring = new_ring(BITS);
    struct drain *drain = new_drain(ring, seed, false);
    uint64_t enough = 20 + test_random(&seed) % 3000;
    for (int i = 0; i < THREADS; i++) {
        all[i].ring = ring;
        all[i].number = (uint64_t)i;
    }
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0)
        be_several(all, THREADS);
    while (drain->taken < enough) {
        if (!look(drain, false))
            sched_yield();
        ring_reader_release(&drain->reader);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    while (look(drain, true))
        continue;
    CHECK_INT(ring_reader_backlog(&drain->reader), 0);
    CHECK(drain->torn <= THREADS);
    for (int i = 0; i < THREADS; i++) {
        uint64_t made = atomic_load(&all[i].made);
        CHECK(drain->next[i] == made || drain->next[i] == made + 1);
        for (uint64_t k = 0; k < made; k++)
            CHECK_INT(drain->seen[i][k], 1);
    }
    free(drain);
    ring_destroy(ring, BITS, ARENA_BYTES);
    munmap(all, MAX_PRODUCERS * sizeof *all);
}

TEST(killed_processes_of_several_threads)
{
    for (uint64_t seed = 1; seed <= 12; seed++)
        kill_one(seed);
}

TEST_MAIN(TEST_CASE(threads_that_behave), TEST_CASE(threads_that_are_late_or_never_publish),
          TEST_CASE(one_thread_that_is_often_late), TEST_CASE(more_threads_than_processors),
          TEST_CASE(a_drain_that_stands_still_loses_what_it_counts),
          TEST_CASE(forked_children_have_their_own_rings),
          TEST_CASE(killed_processes_of_several_threads))
