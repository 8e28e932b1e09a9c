/*
 * test_torch_census.c - the blocks that live, kept while nobody records and told to who does.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_support.h"
#include "torch_census.h"

#define EVENTS (1u << 18)
#define PLACES 4096u
#define THREADS 4u
#define STEPS 20000u

static const struct arena_heap cpu = {.device_kind = DEVICE_CPU};
static const struct arena_heap stream = {
    .device_kind = DEVICE_CUDA, .device_index = 1, .stream = 9};

static void arm(void)
{
    guest_use_ring(NULL);
    guest.armed = true;
    REQUIRE(census_begin() && census_is_kept());
}

static struct own_recorder come(unsigned bits)
{
    struct own_recorder own = {0};
    REQUIRE(ring_create(&own.ring, bits, 1 << 20, RING_NO_FD) == 0);
    ring_reader_init(&own.reader, own.ring);
    guest_use_ring(own.ring);
    return own;
}

static uint64_t setting(const struct own_recorder *own, const struct event *event, const char *key)
{
    const char *text = string_of(own->ring, event->name);
    return event->kind == EVENT_MARK && (event->flags & EVENT_F_SETTING) &&
                   strncmp(text, key, strlen(key)) == 0
               ? strtoull(text + strlen(key), NULL, 10)
               : UINT64_MAX;
}

TEST(what_lives_is_told_with_its_heap)
{
    struct event events[16];
    struct arena_heap heap;
    size_t bytes;
    arm();
    CHECK(!census_note(0x1000, 64, &cpu));
    CHECK(!census_note(0x2000, 128, &stream));
    CHECK(!census_note(0x3000, 256, &cpu));
    CHECK(!census_note(0x1000, -64, &cpu));
    CHECK(!census_note(0x4000, -64, &cpu)); /* which nobody saw come */
    CHECK_INT(census_count(), 2);
    struct own_recorder own = come(6);
    census_tell();
    REQUIRE(drain(&own, events, 16) == 4);
    for (int i = 0; i < 2; i++) {
        bool first = events[i].addr == 0x2000;
        CHECK_INT(events[i].kind, EVENT_BLOCK_ALLOC);
        CHECK_INT(events[i].size, first ? 128 : 256);
        CHECK_INT(definition(own.ring, events[i].heap, &heap, sizeof heap, &bytes), ARENA_HEAP);
        CHECK(memcmp(&heap, first ? &stream : &cpu, sizeof heap) == 0);
        CHECK(events[i].site != 0);
    }
    CHECK_INT(setting(&own, &events[2], "earlier_blocks="), 2);
    CHECK_INT(setting(&own, &events[3], "earlier_bytes="), 384);
}

TEST(each_recording_has_what_lives_then)
{
    struct event events[16];
    arm();
    CHECK(!census_note(0x1000, 64, &cpu));
    struct own_recorder own = come(6);
    census_tell();
    CHECK_INT(drain(&own, events, 16), 3);
    CHECK(census_note(0x1000, -64, &cpu)); /* the caller's to send */
    CHECK(census_note(0x2000, 64, &cpu));
    CHECK_INT(drain(&own, events, 16), 0);
    guest_use_ring(NULL);
    CHECK(!census_note(0x3000, 64, &cpu));
    own = come(6);
    CHECK(census_note(0x4000, 64, &cpu)); /* who comes first tells its own part */
    census_tell();
    size_t n = drain(&own, events, 16);
    CHECK_INT(setting(&own, &events[n - 2], "earlier_blocks="), 2);
    guest_use_ring(NULL);
}

/* Against a table as simple as can be. */
TEST(random_blocks_come_and_go)
{
    static uint64_t sizes[PLACES];
    uint64_t live = 0, sum = 0, told = 0;
    static struct event events[EVENTS];
    arm();
    srand(1);
    for (int i = 0; i < 200000; i++) {
        uint64_t at = (uint64_t)rand() % PLACES, size = (uint64_t)rand() % 1000 + 1;
        uint64_t addr = 0x7f0000000000 + at * 64;
        if (sizes[at])
            census_note(addr, -(int64_t)sizes[at], &cpu);
        else
            census_note(addr, (int64_t)size, &cpu);
        sizes[at] = sizes[at] ? 0 : size;
    }
    for (uint64_t i = 0; i < PLACES; i++) {
        live += sizes[i] > 0;
        sum += sizes[i];
    }
    CHECK_INT(census_count(), live);
    struct own_recorder own = come(18);
    census_tell();
    size_t n = drain(&own, events, EVENTS);
    REQUIRE(n == live + 2);
    for (size_t i = 0; i < live; i++) {
        uint64_t at = (events[i].addr - 0x7f0000000000) / 64;
        REQUIRE(at < PLACES && sizes[at] == events[i].size);
        told += events[i].size;
        sizes[at] = 0;
    }
    CHECK_INT(told, sum);
    guest_use_ring(NULL);
}

/* ---- threads that go on while a recording begins ---- */

static _Atomic uint32_t begun;

static void note_and_send(uint64_t addr, int64_t bytes, uint32_t heap)
{
    uint32_t recording = census_note(addr, bytes, &cpu);
    if (!recording)
        return;
    struct event event = {.word = recording,
                          .kind = bytes > 0 ? EVENT_BLOCK_ALLOC : EVENT_BLOCK_FREE,
                          .heap = heap & EVENT_MAX_HEAP,
                          .addr = addr,
                          .size = (uint64_t)llabs(bytes)};
    guest_emit(&event);
}

static void *work(void *argument)
{
    uint64_t base = 0x10000000 * ((uint64_t)(uintptr_t)argument + 1);
    unsigned seed = (unsigned)base;
    bool live[64] = {false};
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t at = (uint32_t)rand_r(&seed) % 64;
        note_and_send(base + at * 64, live[at] ? -64 : 64, 1);
        live[at] = !live[at];
        atomic_fetch_add(&begun, 1);
    }
    return NULL;
}

static void check_story(struct own_recorder *own)
{
    static struct event events[EVENTS];
    static bool live[THREADS + 1][64];
    uint64_t count = 0;
    size_t n = drain(own, events, EVENTS);
    for (size_t i = 0; i < n; i++) {
        if (events[i].kind == EVENT_MARK)
            continue;
        bool *one = &live[events[i].addr / 0x10000000][events[i].addr / 64 % 64];
        bool comes = events[i].kind == EVENT_BLOCK_ALLOC;
        REQUIRE(*one != comes); /* nothing comes twice, nothing goes that did not come */
        *one = comes;
        count += comes ? 1 : UINT64_MAX;
    }
    CHECK(n > 0);
    CHECK_INT(count, census_count());
}

TEST(a_recording_begins_among_threads)
{
    pthread_t threads[THREADS];
    arm();
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    while (atomic_load(&begun) < STEPS)
        ;
    struct own_recorder own = come(18);
    census_tell();
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    check_story(&own);
    guest_use_ring(NULL);
}

TEST(a_child_begins_with_none)
{
    arm();
    census_note(0x1000, 64, &cpu);
    pid_t child = fork();
    if (child == 0) {
        bool empty = census_count() == 0;
        census_note(0x2000, 64, &cpu);
        _exit(empty && census_count() == 1 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_INT(status, 0);
    CHECK_INT(census_count(), 1);
}

/* A thread that stands between the two while one recording ends and another begins. */
TEST(an_event_is_for_the_recording_that_was_asked_about)
{
    struct event events[16];
    arm();
    struct own_recorder own = come(6);
    struct event event = {.kind = EVENT_BLOCK_ALLOC, .heap = 1, .addr = 0x1000, .size = 64};
    event.word = census_note(0x1000, 64, &cpu);
    REQUIRE(event.word != 0);
    guest_use_ring(NULL);
    own = come(6);
    census_tell(); /* with the block */
    guest_emit(&event);
    REQUIRE(drain(&own, events, 16) == 3);
    CHECK_INT(setting(&own, &events[1], "earlier_blocks="), 1);
    event.word = census_note(0x1000, -64, &cpu);
    event.kind = EVENT_BLOCK_FREE;
    guest_emit(&event);
    CHECK_INT(drain(&own, events, 16), 1);
    guest_use_ring(NULL);
}

/* ---- a lock that is left ---- */

static sigjmp_buf out_of_it;

static void jump(int number)
{
    siglongjmp(out_of_it, number);
}

/* Blocks of one part, so many that telling them fills the ring, in which nobody makes room: there
 * the handler finds it. */
static uint64_t fill_a_part(uint64_t *first, uint64_t *more)
{
    uint64_t count = 0;
    for (uint64_t addr = 0x10000; count < 100; addr += 16) {
        uint64_t hash = (addr >> 4) * 0x9e3779b97f4a7c15ull;
        if ((hash ^ hash >> 32) % CENSUS_PARTS != 7)
            continue;
        if (count++)
            census_note(*more, 64, &cpu);
        else
            *first = addr;
        *more = addr;
    }
    return count - 1;
}

static void *leave_it(void *more)
{
    struct itimerval soon = {.it_value = {.tv_usec = 20000}}, never = {0};
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    if (sigsetjmp(out_of_it, 1) == 0) {
        pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
        setitimer(ITIMER_REAL, &soon, NULL);
        census_note(*(uint64_t *)more, 64, &cpu);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    return NULL;
}

/* Blocks that come afterwards are known, and the next recording is told of them. */
static void go_on_after(uint64_t first, uint64_t more, uint64_t before)
{
    static struct event events[256];
    uint64_t known = census_count();
    bool left = known == 1; /* or not, on a machine with more to do */
    CHECK(left || known == before + 1);
    guest_use_ring(NULL);
    for (int i = 0; i < 1000; i++) {
        census_note(more, -64, &cpu);
        census_note(more, 64, &cpu);
    }
    CHECK_INT(census_count(), known);
    struct own_recorder own = come(8);
    census_tell();
    size_t n = drain(&own, events, 256);
    REQUIRE(n >= 3);
    CHECK_INT(setting(&own, &events[n - 2], "earlier_blocks="), known);
    CHECK(left == (census_note(first, -64, &cpu) == 0)); /* nobody was told that it came */
    CHECK(census_note(more, -64, &cpu) != 0);
    guest_use_ring(NULL);
}

static void leave_by(bool other_thread)
{
    uint64_t first = 0, more = 0;
    pthread_t thread;
    arm();
    signal(SIGALRM, jump);
    uint64_t before = fill_a_part(&first, &more);
    come(6);
    if (other_thread) {
        sigset_t alarm;
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        pthread_sigmask(SIG_BLOCK, &alarm, NULL);
        REQUIRE(pthread_create(&thread, NULL, leave_it, &more) == 0);
        pthread_join(thread, NULL);
    } else {
        leave_it(&more);
    }
    census_note(more, 64, &cpu); /* who waits, or sees that it need not, puts another part there */
    go_on_after(first, more, before);
}

TEST(a_jump_out_of_it_leaves_the_others_at_work)
{
    leave_by(false);
}

TEST(a_thread_that_is_gone_is_waited_for_once)
{
    leave_by(true);
}

TEST_MAIN(TEST_CASE(what_lives_is_told_with_its_heap),
          TEST_CASE(each_recording_has_what_lives_then), TEST_CASE(random_blocks_come_and_go),
          TEST_CASE(a_recording_begins_among_threads), TEST_CASE(a_child_begins_with_none),
          TEST_CASE(an_event_is_for_the_recording_that_was_asked_about),
          TEST_CASE(a_jump_out_of_it_leaves_the_others_at_work),
          TEST_CASE(a_thread_that_is_gone_is_waited_for_once))
