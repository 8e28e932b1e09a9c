/*
 * A full ring: waiting while the drain moves, drop mode when it does not, opening again, and what a
 * dead or closed recorder means. Deadlines are checked in one direction only: that a wait ended.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring_support.h"

enum { BITS = 6, SLOTS = 1 << BITS };

static void fill(struct ring_shared *ring)
{
    for (uint64_t i = 0; i < SLOTS; i++) {
        struct event event = numbered(i);
        REQUIRE(push(ring, &event) == RING_PUSHED);
    }
}

TEST(without_progress_it_drops_and_counts_by_kind)
{
    struct ring_shared *ring = new_ring(BITS);
    struct ring_reader reader;
    uint64_t lost[EVENT_KIND_SLOTS];
    ring_reader_init(&reader, ring);
    fill(ring);
    struct event mark = numbered(99), freed = numbered(100);
    freed.kind = EVENT_BLOCK_FREE;
    CHECK(push(ring, &mark) == RING_DROPPED); /* after its patience */
    CHECK_INT(ring->mode, RING_DROPPING);
    CHECK(atomic_load(&ring->longest_wait_ns) >= RING_PATIENCE_MS * NS_PER_MS);
    uint64_t waits = atomic_load(&ring->waits);
    for (int i = 0; i < 10; i++)
        CHECK(push(ring, &freed) == RING_DROPPED);
    CHECK_INT(atomic_load(&ring->waits), waits); /* nobody waits again */
    CHECK_INT(ring_reader_losses(&reader, lost), 11);
    CHECK_INT(lost[EVENT_MARK], 1);
    CHECK_INT(lost[EVENT_BLOCK_FREE], 10);
    CHECK_INT(ring_reader_losses(&reader, lost), 0); /* reported once */
    CHECK_INT(ring_reader_drop_ticket(&reader), SLOTS);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

TEST(it_opens_again_when_half_is_free)
{
    struct ring_shared *ring = new_ring(BITS);
    struct ring_reader reader;
    struct event out[SLOTS], event = numbered(7);
    ring_reader_init(&reader, ring);
    fill(ring);
    REQUIRE(push(ring, &event) == RING_DROPPED);
    REQUIRE(take_whole(&reader, out, SLOTS / 2 - 1) == SLOTS / 2 - 1);
    ring_reader_release(&reader); /* not half: still dropping */
    CHECK_INT(ring->mode, RING_DROPPING);
    CHECK(push(ring, &event) == RING_DROPPED);
    REQUIRE(take_whole(&reader, out, 1) == 1);
    ring_reader_release(&reader);
    CHECK_INT(ring->mode, RING_OPEN);
    CHECK(push(ring, &event) == RING_PUSHED);
    CHECK_INT(take_whole(&reader, out, SLOTS), SLOTS / 2 + 1);
    CHECK_INT(out[SLOTS / 2].a, 7);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

/* Pushes `count` events; the ring is full when it begins. */
struct waiter {
    struct ring_shared *ring;
    uint64_t count, pushed;
};

static void *push_all(void *argument)
{
    struct waiter *self = argument;
    for (uint64_t i = 0; i < self->count; i++) {
        struct event event = numbered(SLOTS + i);
        self->pushed += push(self->ring, &event) == RING_PUSHED;
    }
    return NULL;
}

/* Gives one slot at a time; returns the longest time without one. */
static uint64_t drain_slowly(struct ring_reader *reader, uint64_t count)
{
    struct event out[1];
    uint64_t longest = 0, last = clock_now_ns();
    for (uint64_t i = 0; i < count; i++) {
        usleep(15000);
        REQUIRE(take_whole(reader, out, 1) == 1);
        CHECK_INT(out[0].a, i);
        ring_reader_release(reader);
        uint64_t now = clock_now_ns();
        longest = now - last > longest ? now - last : longest;
        last = now;
    }
    return longest;
}

/* The drain is slower than the patience in all: no event is dropped, because there is progress.
 * False if the machine let it stand still for so long that there was none. */
static bool waits_while_it_moves(void)
{
    struct ring_shared *ring = new_ring(BITS);
    struct ring_reader reader;
    struct waiter waiter = {ring, 12, 0};
    pthread_t thread;
    ring_reader_init(&reader, ring);
    fill(ring);
    REQUIRE(pthread_create(&thread, NULL, push_all, &waiter) == 0);
    uint64_t longest = drain_slowly(&reader, waiter.count);
    pthread_join(thread, NULL);
    bool moved = longest < RING_PATIENCE_MS * NS_PER_MS / 2;
    if (moved) {
        CHECK_INT(waiter.pushed, waiter.count);
        CHECK(atomic_load(&ring->waits) > 0);
        CHECK_INT(atomic_load(&ring->drops_begun), 0);
    }
    ring_destroy(ring, BITS, ARENA_BYTES);
    return moved;
}

TEST(it_waits_as_long_as_the_drain_moves)
{
    int tries = 0;
    while (!waits_while_it_moves())
        REQUIRE(++tries < 1000);
}

TEST(a_closed_ring_is_off_at_once)
{
    struct ring_shared *ring = new_ring(BITS);
    struct event event = numbered(1);
    ring_close(ring);
    CHECK(push(ring, &event) == RING_OFF);
    CHECK_INT(atomic_load(&ring->waits), 0);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

TEST(closing_wakes_who_waits)
{
    struct ring_shared *ring = new_ring(BITS);
    struct waiter waiter = {ring, 1, 0};
    pthread_t thread;
    fill(ring);
    REQUIRE(pthread_create(&thread, NULL, push_all, &waiter) == 0);
    while (atomic_load(&ring->waiters) == 0 && atomic_load(&ring->mode) == RING_OPEN)
        usleep(100);
    ring_close(ring);
    pthread_join(thread, NULL);
    CHECK_INT(waiter.pushed, 0);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

/* The slot that it waits for is fenced for its very ticket: as if it had been interrupted for a
 * second between taking the ticket and publishing. */
TEST(who_waited_and_was_fenced_counts_as_late_and_not_as_dropped)
{
    struct ring_shared *ring = new_ring(BITS);
    struct ring_reader reader;
    struct waiter waiter = {ring, 1, 0};
    struct event out[SLOTS];
    uint64_t lost[EVENT_KIND_SLOTS];
    pthread_t thread;
    ring_reader_init(&reader, ring);
    fill(ring);
    REQUIRE(pthread_create(&thread, NULL, push_all, &waiter) == 0);
    while (atomic_load(&ring->waiters) == 0 && atomic_load(&ring->mode) == RING_OPEN)
        sched_yield();
    REQUIRE(take_whole(&reader, out, SLOTS) == SLOTS);
    __atomic_store_n(&ring_slots(ring)[0].word, RING_FENCED | (SLOTS + 1), __ATOMIC_RELEASE);
    ring_reader_release(&reader);
    pthread_join(thread, NULL);
    CHECK_INT(waiter.pushed, 0);
    CHECK_INT(atomic_load(&ring->late), 1);
    CHECK_INT(ring_reader_losses(&reader, lost), 0);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

/* Creates `count` rings, writes their descriptors' numbers into the pipe and waits to be killed. */
static void be_a_recorder(int tell, int count)
{
    for (int i = 0; i < count; i++) {
        struct ring_shared *ring = NULL;
        int fd = -1;
        REQUIRE(ring_create(&ring, BITS, ARENA_BYTES, &fd) == 0);
        REQUIRE(write(tell, &fd, sizeof fd) == (ssize_t)sizeof fd);
    }
    for (;;)
        pause();
}

static struct ring_shared *attach_to(pid_t recorder, int its_fd)
{
    char path[64];
    struct ring ring;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)recorder, its_fd);
    int fd = open(path, O_RDWR);
    REQUIRE(fd >= 0);
    REQUIRE(ring_attach(&ring, fd) == 0);
    close(fd);
    return ring.shared;
}

TEST(a_killed_recorder_turns_all_its_rings_off)
{
    enum { RINGS = 5 };
    struct ring_shared *rings[RINGS];
    int tell[2];
    REQUIRE(pipe(tell) == 0);
    pid_t recorder = fork();
    if (recorder == 0)
        be_a_recorder(tell[1], RINGS);
    for (int i = 0; i < RINGS; i++) {
        int fd;
        REQUIRE(read(tell[0], &fd, sizeof fd) == (ssize_t)sizeof fd);
        rings[i] = attach_to(recorder, fd);
        CHECK(!ring_recorder_died(rings[i]));
        fill(rings[i]);
    }
    kill(recorder, SIGKILL);
    waitpid(recorder, NULL, 0);
    for (int i = 0; i < RINGS; i++) {
        struct event event = numbered(1);
        CHECK(ring_recorder_died(rings[i]));
        CHECK(push(rings[i], &event) == RING_OFF);
        CHECK_INT(rings[i]->mode, RING_CLOSED);
        CHECK(push(rings[i], &event) == RING_OFF);
    }
}

/* A ring that was given up is no longer on the kernel's list; its neighbours are. */
static void *own_three_give_up_one(void *argument)
{
    struct ring_shared **rings = argument;
    for (int i = 0; i < 3; i++)
        REQUIRE(ring_create(&rings[i], BITS, ARENA_BYTES, RING_NO_FD) == 0);
    owner_give_up(&rings[1]->owner);
    return NULL;
}

TEST(a_ring_given_up_is_not_marked_when_its_thread_ends)
{
    struct ring_shared *rings[3];
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, own_three_give_up_one, rings) == 0);
    pthread_join(thread, NULL);
    CHECK(ring_recorder_died(rings[0]));
    CHECK(!ring_recorder_died(rings[1]));
    CHECK(ring_recorder_died(rings[2]));
}

TEST_MAIN(TEST_CASE(without_progress_it_drops_and_counts_by_kind),
          TEST_CASE(it_opens_again_when_half_is_free),
          TEST_CASE(it_waits_as_long_as_the_drain_moves), TEST_CASE(a_closed_ring_is_off_at_once),
          TEST_CASE(closing_wakes_who_waits),
          TEST_CASE(who_waited_and_was_fenced_counts_as_late_and_not_as_dropped),
          TEST_CASE(a_killed_recorder_turns_all_its_rings_off),
          TEST_CASE(a_ring_given_up_is_not_marked_when_its_thread_ends))
