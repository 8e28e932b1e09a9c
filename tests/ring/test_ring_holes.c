/*
 * Holes: tickets that were taken and never published, because the producer was killed or stands
 * still between the two. The hole is made by hand: head is moved on without publishing.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring_support.h"

enum { BITS = 6, SLOTS = 1 << BITS };

/* A producer that stops after its reservation. Returns its ticket. */
static uint64_t reserve_only(struct ring_shared *ring)
{
    return atomic_fetch_add(&ring->head, 1);
}

/* And the same producer going on, as ring_try does after the reservation. */
static bool publish_late(struct ring_shared *ring, uint64_t ticket)
{
    struct event *slot = &ring_slots(ring)[ticket & (SLOTS - 1)];
    uint64_t free = ticket < SLOTS ? 0 : ticket + 1 - SLOTS;
    if (__atomic_compare_exchange_n(&slot->word, &free, ticket + 1, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED))
        return true;
    CHECK(ring_mark_late(ring, slot, ticket));
    return false;
}

static void push_number(struct ring_shared *ring, uint64_t number)
{
    struct event event = numbered(number);
    REQUIRE(push(ring, &event) == RING_PUSHED);
}

/* The producer that reserved the last ticket goes on in ring_try itself: it takes the ticket once
 * more, and then looks at its slot. */
static void go_on(struct ring_shared *ring, uint64_t ticket, uint64_t number)
{
    REQUIRE(atomic_load(&ring->head) == ticket + 1);
    atomic_store(&ring->head, ticket);
    push_number(ring, number);
}

TEST(a_living_process_is_waited_for)
{
    struct ring_shared *ring = new_ring(BITS);
    struct ring_reader reader;
    struct event out[SLOTS];
    ring_reader_init(&reader, ring);
    push_number(ring, 1);
    uint64_t hole = reserve_only(ring);
    push_number(ring, 2);
    CHECK_INT(take_whole(&reader, out, SLOTS), 1);
    CHECK_INT(take_whole(&reader, out, SLOTS), 0);
    CHECK_INT(ring_reader_backlog(&reader), 2);
    CHECK(publish_late(ring, hole)); /* in time: nothing was torn */
    CHECK_INT(take_whole(&reader, out, SLOTS), 2);
    CHECK_INT(reader.torn_count, 0);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

TEST(a_dead_process_leaves_torn_events_and_nothing_behind_them_is_lost)
{
    struct ring_shared *ring = new_ring(BITS);
    struct ring_reader reader;
    struct event out[SLOTS];
    struct ring_torn torn[4];
    size_t torn_n;
    ring_reader_init(&reader, ring);
    reserve_only(ring);
    push_number(ring, 1);
    reserve_only(ring);
    reserve_only(ring);
    push_number(ring, 2);
    CHECK_INT(take(&reader, out, SLOTS, true, torn, 2, &torn_n), 1); /* torn[] was full */
    CHECK_INT(torn_n, 2);
    CHECK_INT(torn[0].ticket, 0);
    CHECK_INT(torn[0].why, TORN_DEAD);
    CHECK_INT(torn[1].ticket, 2);
    CHECK_INT(take(&reader, out, SLOTS, true, torn, 4, &torn_n), 1);
    CHECK_INT(out[0].a, 2);
    CHECK_INT(torn_n, 1);
    CHECK_INT(ring_reader_backlog(&reader), 0);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

/* One second of patience covers all the holes that were there when it began. */
TEST(old_holes_are_passed_together_new_ones_are_not)
{
    struct ring_shared *ring = new_ring(BITS);
    struct ring_reader reader;
    struct event out[SLOTS];
    struct ring_torn torn[8];
    size_t torn_n;
    uint64_t now = clock_now_ns();
    ring_reader_init(&reader, ring);
    reserve_only(ring);
    push_number(ring, 1);
    reserve_only(ring);
    push_number(ring, 2);
    CHECK_INT(ring_reader_take(&reader, out, SLOTS, now, false, torn, 8, &torn_n), 0);
    reserve_only(ring); /* after the first look */
    push_number(ring, 3);
    uint64_t later = now + RING_HOLE_NS;
    CHECK_INT(ring_reader_take(&reader, out, SLOTS, later, false, torn, 8, &torn_n), 2);
    CHECK_INT(torn_n, 2);
    CHECK_INT(torn[1].why, TORN_TIMEOUT);
    CHECK_INT(ring_reader_take(&reader, out, SLOTS, later + RING_HOLE_NS, false, torn, 8, &torn_n),
              1);
    CHECK_INT(torn_n, 1);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

/* The fenced slot stays out of service while its producer may still write into it: later tickets of
 * that slot are given up and nothing of theirs is lost; once the producer came, it serves again. */
TEST(a_late_publisher_counts_itself_and_harms_nobody)
{
    struct ring_shared *ring = new_ring(BITS);
    struct ring_reader reader;
    struct event out[SLOTS];
    struct ring_torn torn[1];
    size_t torn_n;
    ring_reader_init(&reader, ring);
    uint64_t hole = reserve_only(ring);
    uint64_t next = 0, seen = 0;
    REQUIRE(take(&reader, out, SLOTS, true, torn, 1, &torn_n) == 0 && torn_n == 1);
    for (int round = 0; round < 4 * SLOTS; round++) {
        if (round == 2 * SLOTS) {
            CHECK(!publish_late(ring, hole));
            CHECK_INT(atomic_load(&ring->late), 1);
        }
        push_number(ring, next++);
        size_t taken = take_whole(&reader, out, SLOTS);
        for (size_t i = 0; i < taken; i++)
            CHECK_INT(out[i].a, seen++);
        ring_reader_release(&reader);
    }
    CHECK_INT(seen, next);
    CHECK(reader.skipped >= 2); /* one ticket a lap while it was out of service */
    uint64_t skipped = reader.skipped;
    for (int round = 0; round < 2 * SLOTS; round++) {
        push_number(ring, next++);
        seen += take_whole(&reader, out, SLOTS);
        ring_reader_release(&reader);
    }
    CHECK_INT(reader.skipped, skipped); /* back in service */
    CHECK_INT(seen, next);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

/* The next ticket is fenced, and then its producer comes. Returns the ticket. */
static uint64_t come_late(struct ring_shared *ring, struct ring_reader *reader)
{
    struct event out[SLOTS];
    struct ring_torn torn[1];
    size_t torn_n;
    uint64_t ticket = reserve_only(ring);
    REQUIRE(take(reader, out, SLOTS, true, torn, 1, &torn_n) == 0 && torn_n == 1);
    CHECK_INT(torn[0].ticket, ticket);
    CHECK(!publish_late(ring, ticket));
    return ticket;
}

/* Events with these numbers are pushed and come out, one by one. */
static void check_pushes(struct ring_shared *ring, struct ring_reader *reader, uint64_t first,
                         uint64_t count)
{
    struct event out[SLOTS];
    for (uint64_t number = first; number < first + count; number++) {
        push_number(ring, number);
        REQUIRE(take_whole(reader, out, SLOTS) == 1);
        CHECK_INT(out[0].a, number);
        ring_reader_release(reader);
    }
}

/* The drain passes its ticket and frees the slot, both before the producer looks: the slot's word
 * must not look like that of its event. */
TEST(a_producer_that_looks_after_its_slot_was_freed_takes_another_ticket)
{
    struct ring_shared *ring = new_ring(BITS);
    struct ring_reader reader;
    struct event out[SLOTS];
    ring_reader_init(&reader, ring);
    come_late(ring, &reader);
    check_pushes(ring, &reader, 1, SLOTS - 1);
    uint64_t ticket = reserve_only(ring); /* of the same slot */
    CHECK_INT(take_whole(&reader, out, SLOTS), 0);
    CHECK_INT(reader.skipped, 1);
    ring_reader_release(&reader);
    go_on(ring, ticket, 1000);
    CHECK_INT(take_whole(&reader, out, SLOTS), 1);
    CHECK_INT(out[0].a, 1000);
    CHECK_INT(out[0].word, ticket + 2);
    check_pushes(ring, &reader, 1001, 2 * SLOTS); /* the slot serves again */
    CHECK_INT(reader.skipped, 1);
    CHECK_INT(reader.torn_count, 1);
    CHECK_INT(atomic_load(&ring->late), 1);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

TEST(a_slot_that_was_freed_can_be_fenced_again)
{
    struct ring_shared *ring = new_ring(BITS);
    struct ring_reader reader;
    ring_reader_init(&reader, ring);
    for (uint64_t lap = 0; lap < 6; lap += 2) {
        CHECK_INT(come_late(ring, &reader), lap * SLOTS);
        check_pushes(ring, &reader, 1, 2 * SLOTS - 2); /* one of them gives a ticket up */
        CHECK_INT(reader.skipped, lap / 2 + 1);
    }
    CHECK_INT(reader.torn_count, 3);
    CHECK_INT(atomic_load(&ring->late), 3);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

/* A handler that forks in the middle of a push: parent and child finish the same ticket with the
 * same event. The second one must not take another ticket for it. */
TEST(twins_publish_one_event)
{
    struct ring_shared *ring = new_ring(BITS);
    struct ring_reader reader;
    struct event out[SLOTS], event = numbered(1);
    ring_reader_init(&reader, ring);
    struct event *slot = &ring_slots(ring)[0];
    *slot = event;
    slot->word = 1; /* the twin was first */
    CHECK(push(ring, &event) == RING_PUSHED);
    CHECK_INT(atomic_load(&ring->head), 1);
    CHECK_INT(take_whole(&reader, out, SLOTS), 1);
    CHECK_INT(out[0].a, 1);
    CHECK_INT(atomic_load(&ring->late), 0);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

/* Real kills: a child pushes from several threads' worth of forks and dies at a random moment;
 * every event that it counted after publishing must come out. */
TEST(killed_children_lose_nothing_that_they_published)
{
    enum { ROUNDS = 20, BIG = 16 };
    uint64_t seed = (uint64_t)getpid();
    for (int round = 0; round < ROUNDS; round++) {
        struct ring_shared *ring = new_ring(BIG);
        struct ring_reader reader;
        static struct event out[1 << BIG];
        struct ring_torn torn[64];
        size_t torn_n, total = 0;
        _Atomic uint64_t *counted =
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        REQUIRE(counted != MAP_FAILED);
        ring_reader_init(&reader, ring);
        pid_t child = fork();
        if (child == 0) {
            for (uint64_t i = 0;; i++) {
                struct event event = numbered(i);
                if (push(ring, &event) == RING_PUSHED)
                    atomic_fetch_add(counted, 1);
            }
        }
        usleep((unsigned)(test_random(&seed) % 3000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        total += take(&reader, out, 1 << BIG, true, torn, 64, &torn_n);
        CHECK(total >= atomic_load(counted));
        CHECK(total <= atomic_load(counted) + 1);
        CHECK(torn_n <= 1);
        for (size_t i = 0; i < total; i++)
            CHECK_INT(out[i].a, i);
        ring_destroy(ring, BIG, ARENA_BYTES);
    }
}

TEST_MAIN(TEST_CASE(a_living_process_is_waited_for),
          TEST_CASE(a_dead_process_leaves_torn_events_and_nothing_behind_them_is_lost),
          TEST_CASE(old_holes_are_passed_together_new_ones_are_not),
          TEST_CASE(a_late_publisher_counts_itself_and_harms_nobody),
          TEST_CASE(a_producer_that_looks_after_its_slot_was_freed_takes_another_ticket),
          TEST_CASE(a_slot_that_was_freed_can_be_fenced_again), TEST_CASE(twins_publish_one_event),
          TEST_CASE(killed_children_lose_nothing_that_they_published))
