/*
 * Pushing and draining when there is always room or the drain makes some: order, totals, clamped
 * times, attaching through a memfd.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "error.h"
#include "ring_support.h"

TEST(events_come_out_as_they_went_in)
{
    struct ring_shared *ring = new_ring(6);
    struct ring_reader reader;
    struct event out[64];
    ring_reader_init(&reader, ring);
    for (uint64_t lap = 0; lap < 5; lap++) {
        for (uint64_t i = 0; i < 64; i++) {
            struct event event = numbered(lap * 64 + i);
            event.addr = ~i;
            event.heap = 0xabcdef;
            event.thread = 0x123456;
            CHECK(push(ring, &event) == RING_PUSHED);
        }
        CHECK_INT(ring_reader_backlog(&reader), 64);
        REQUIRE(take_whole(&reader, out, 64) == 64);
        for (uint64_t i = 0; i < 64; i++) {
            CHECK_INT(out[i].a, lap * 64 + i);
            CHECK_INT(out[i].word, lap * 64 + i + 1);
            CHECK_INT(out[i].addr, ~i);
            CHECK_INT(out[i].heap, 0xabcdef);
            CHECK_INT(out[i].thread, 0x123456);
        }
        ring_reader_release(&reader);
        CHECK(ring_is_valid(ring));
    }
    ring_destroy(ring, 6, ARENA_BYTES);
}

TEST(times_never_run_backwards)
{
    struct ring_shared *ring = new_ring(6);
    struct ring_reader reader;
    struct event out[8];
    uint64_t now = clock_now_ns();
    const uint64_t times[] = {now - 500, now - 900, now - 100, now + 3600 * NS_PER_S, now - 50};
    ring_reader_init(&reader, ring);
    for (int i = 0; i < 5; i++) {
        struct event event = {.kind = EVENT_MARK, .time_ns = times[i]};
        push(ring, &event);
    }
    struct ring_torn torn[1];
    size_t torn_n;
    REQUIRE(ring_reader_take(&reader, out, 8, now, false, torn, 1, &torn_n) == 5);
    CHECK_INT(out[0].time_ns, now - 500);
    CHECK_INT(out[1].time_ns, now - 500); /* clamped to the one before */
    CHECK_INT(out[2].time_ns, now - 100);
    CHECK_INT(out[3].time_ns, now); /* an hour ahead cannot be */
    CHECK_INT(out[4].time_ns, now);
    ring_destroy(ring, 6, ARENA_BYTES);
}

TEST(a_small_batch_leaves_the_rest)
{
    struct ring_shared *ring = new_ring(6);
    struct ring_reader reader;
    struct event out[64];
    ring_reader_init(&reader, ring);
    for (uint64_t i = 0; i < 10; i++) {
        struct event event = numbered(i);
        push(ring, &event);
    }
    CHECK_INT(take_whole(&reader, out, 4), 4);
    CHECK_INT(ring_reader_backlog(&reader), 6);
    CHECK_INT(take_whole(&reader, out, 64), 6);
    CHECK_INT(out[0].a, 4);
    CHECK_INT(take_whole(&reader, out, 64), 0);
    ring_destroy(ring, 6, ARENA_BYTES);
}

TEST(a_memfd_carries_the_ring_to_another_mapping)
{
    struct ring_shared *ring = NULL;
    struct ring other;
    struct ring_reader reader;
    struct event out[4], event = numbered(42);
    int fd = -1;
    REQUIRE(ring_create(&ring, 8, ARENA_BYTES, &fd) == 0);
    REQUIRE(ring_attach(&other, fd) == 0);
    close(fd);
    CHECK(other.shared != ring);
    CHECK(arena_is_valid(&other.arena));
    ring_reader_init(&reader, ring);
    CHECK(ring_push(&other, &event) == RING_PUSHED);
    REQUIRE(take_whole(&reader, out, 4) == 1);
    CHECK_INT(out[0].a, 42);
    ring_detach(&other);
    ring_destroy(ring, 8, ARENA_BYTES);
}

TEST(what_is_no_ring_is_refused)
{
    struct ring_shared *ring = NULL;
    struct ring other = {0};
    int fd = -1;
    char zero[8192] = {0};
    int file = memfd_create("nothing", MFD_ALLOW_SEALING);
    REQUIRE(file >= 0 && write(file, zero, sizeof zero) == (ssize_t)sizeof zero);
    REQUIRE(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
    CHECK_INT(ring_attach(&other, file), ERR_CORRUPT);
    close(file);
    CHECK_INT(ring_create(&ring, RING_MIN_BITS - 1, ARENA_BYTES, &fd), ERR_ARG);
    CHECK_INT(ring_create(&ring, RING_MAX_BITS + 1, ARENA_BYTES, &fd), ERR_ARG);
    REQUIRE(ring_create(&ring, 8, ARENA_BYTES, &fd) == 0);
    ring->format = EVENT_FORMAT + 1; /* a recorder of another version */
    CHECK_INT(ring_attach(&other, fd), ERR_CORRUPT);
    ring->format = EVENT_FORMAT;
    file = memfd_create("cut", MFD_ALLOW_SEALING); /* smaller than its header says */
    REQUIRE(file >= 0 && write(file, ring, 4096) == 4096);
    REQUIRE(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
    CHECK_INT(ring_attach(&other, file), ERR_CORRUPT);
    CHECK(other.shared == NULL);
    close(file);
    close(fd);
    ring_destroy(ring, 8, ARENA_BYTES);
}

enum { THREADS = 8, EACH = 20000 };

struct producer {
    struct ring_shared *ring;
    uint64_t thread;
    uint64_t dropped;
};
static _Atomic int producing;

static void *produce(void *argument)
{
    struct producer *self = argument;
    for (uint64_t i = 0; i < EACH; i++) {
        struct event event = numbered(i);
        event.thread = self->thread & 0xffffff;
        self->dropped += push(self->ring, &event) != RING_PUSHED;
    }
    atomic_fetch_sub(&producing, 1);
    return NULL;
}

/* What was pushed arrives, however small the ring; each thread's events keep their order and all
 * have one. A producer drops, and counts, where the machine lets the drain stand still for longer
 * than it waits. */
TEST(many_producers_one_drain_nothing_lost)
{
    struct ring_shared *ring = new_ring(8);
    struct ring_reader reader;
    struct producer producers[THREADS];
    pthread_t threads[THREADS];
    uint64_t next[THREADS] = {0}, total = 0, last_ns = 0;
    bool over = false;
    ring_reader_init(&reader, ring);
    atomic_store(&producing, THREADS);
    for (uint64_t i = 0; i < THREADS; i++) {
        producers[i] = (struct producer){ring, i, 0};
        REQUIRE(pthread_create(&threads[i], NULL, produce, &producers[i]) == 0);
    }
    while (!over) {
        struct event out[64];
        bool last = atomic_load(&producing) == 0;
        size_t taken = take_whole(&reader, out, 64);
        over = last && taken == 0;
        for (size_t i = 0; i < taken; i++) {
            REQUIRE(out[i].thread < THREADS);
            REQUIRE(out[i].a >= next[out[i].thread]);
            next[out[i].thread] = out[i].a + 1;
            REQUIRE(out[i].time_ns >= last_ns);
            last_ns = out[i].time_ns;
        }
        total += taken;
        ring_reader_release(&reader);
        if (!taken)
            usleep(200);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        total += producers[i].dropped;
    }
    CHECK_INT(total, THREADS * EACH);
    CHECK_INT(ring_reader_backlog(&reader), 0);
    CHECK(ring_is_valid(ring));
    ring_destroy(ring, 8, ARENA_BYTES);
}

TEST_MAIN(TEST_CASE(events_come_out_as_they_went_in), TEST_CASE(times_never_run_backwards),
          TEST_CASE(a_small_batch_leaves_the_rest),
          TEST_CASE(a_memfd_carries_the_ring_to_another_mapping),
          TEST_CASE(what_is_no_ring_is_refused), TEST_CASE(many_producers_one_drain_nothing_lost))
