/* One ring, drained without the thread: holes and losses become facts, in their place; what a
 * program scribbles over its ring hurts itself alone. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "drain.h"
#include "drain_ring.h"
#include "error.h"
#include "marks.h"
#include "rows.h"
#include "test.h"

struct bench { /* a run of one process */
    struct state *state;
    struct state_process *process;
    struct ring_shared *shared;
    struct drain_ring ring;
    struct rows rows;
    struct event buffer[DRAIN_TAKE];
};

static struct bench *bench_new(unsigned bits)
{
    static struct bench bench;
    const struct state_options options = {.start_ns = 1000};
    const struct state_hello hello = {.pid = 7,
                                      .parent = BATCH_NULL,
                                      .origin = "root",
                                      .at_ns = 2000,
                                      .rank = BATCH_NULL,
                                      .local_rank = BATCH_NULL,
                                      .world_size = BATCH_NULL};
    REQUIRE(state_new(&bench.state, &options) == BASE_OK);
    bench.process = state_process_begin(bench.state, &hello);
    REQUIRE(bench.process != NULL);
    bench.shared = new_ring(bits);
    struct drain_source source;
    drain_source_init(&source, bench.shared);
    drain_ring_init(&bench.ring, bench.process, &source, 1000, 2000);
    return &bench;
}

static bool step(struct bench *bench, bool dead)
{
    bool more = drain_ring_step(&bench->ring, bench->buffer, dead, clock_now_ns());
    CHECK(drain_ring_is_valid(&bench->ring));
    return more;
}

static void look(struct bench *bench)
{
    struct batch *batch = state_flush(bench->state, clock_now_ns(), true);
    REQUIRE(batch != NULL);
    rows_apply(&bench->rows, batch);
    batch_free(batch);
}

TEST(holes_of_the_dead_are_facts_in_their_place)
{
    struct bench *bench = bench_new(6);
    push_marks(bench->shared, 3);
    leave_hole(bench->shared);
    leave_hole(bench->shared);
    push_marks(bench->shared, 2);
    leave_hole(bench->shared);
    step(bench, false);
    CHECK_INT(bench->ring.events, 3);
    step(bench, true);
    CHECK_INT(bench->ring.events, 5);
    CHECK(drain_ring_is_empty(&bench->ring));
    look(bench);
    const struct row_table *torn = &bench->rows.tables[SCH_TORN];
    REQUIRE(torn->count == 3);
    CHECK_INT(torn->rows[0].at[1], 4); /* the next event's seq */
    CHECK_INT(torn->rows[0].at[2], 3);
    CHECK_INT(torn->rows[1].at[1], 4);
    CHECK_INT(torn->rows[1].at[2], 4);
    CHECK_INT(torn->rows[2].at[1], 6);
    CHECK_INT(torn->rows[2].at[2], 7);
    CHECK_STR(torn->rows[0].text[4], "dead");
}

TEST(many_holes_take_several_steps)
{
    struct bench *bench = bench_new(9);
    for (int i = 0; i < 300; i++)
        leave_hole(bench->shared);
    push_marks(bench->shared, 1);
    int steps = 1;
    while (step(bench, true))
        steps++;
    CHECK_INT(bench->ring.events, 1);
    CHECK_INT(steps, 300 / DRAIN_TORN + 1);
    look(bench);
    CHECK_INT(bench->rows.tables[SCH_TORN].count, 300);
}

/* 64 fit; the next waits 100 ms for a drain that does not move, and is dropped. */
static void fill_and_drop(struct ring_shared *ring, int dropped)
{
    while (atomic_load(&ring->head) < atomic_load(&ring->limit))
        CHECK_INT(push_mark(ring), RING_PUSHED);
    for (int i = 0; i < dropped; i++)
        CHECK_INT(push_mark(ring), RING_DROPPED);
}

static void check_lost(const struct rows *rows, size_t at, int64_t first, int64_t last, int64_t n)
{
    const struct row_table *lost = &rows->tables[SCH_LOST];
    REQUIRE(lost->count > at);
    CHECK_INT(lost->rows[at].at[1], first);
    CHECK_INT(lost->rows[at].at[2], last);
    CHECK_STR(lost->rows[at].text[5], "mark");
    CHECK_INT(lost->rows[at].at[6], n);
    CHECK(lost->rows[at].at[3] <= lost->rows[at].at[4]);
}

TEST(a_loss_stands_between_its_neighbours)
{
    struct bench *bench = bench_new(6);
    fill_and_drop(bench->shared, 5);
    step(bench, false);
    look(bench);
    CHECK_INT(bench->rows.tables[SCH_LOST].count, 0); /* its end is not known yet */
    push_marks(bench->shared, 3);
    step(bench, false);
    look(bench);
    CHECK_INT(bench->rows.tables[SCH_LOST].count, 1);
    check_lost(&bench->rows, 0, 64, 65, 5);
    CHECK_INT(bench->ring.events, 67);
}

/* The first event behind a loss may be the end of what began in it. */
TEST(a_loss_explains_what_comes_right_behind_it)
{
    struct event event = {.kind = EVENT_BLOCK_FREE, .thread = 1, .heap = 1, .addr = 64};
    const struct state_end end = {.at_ns = clock_now_ns()};
    struct bench *bench = bench_new(6);
    struct ring writer;
    fill_and_drop(bench->shared, 1);
    step(bench, false);
    ring_use(&writer, bench->shared);
    CHECK_INT(ring_push(&writer, &event), RING_PUSHED);
    step(bench, false);
    drain_ring_finish(&bench->ring, state_batch(bench->state), 1);
    state_process_end(bench->process, &end);
    look(bench);
    const struct row *row = rows_anomaly(&bench->rows, "free without allocation", 0);
    REQUIRE(row != NULL);
    CHECK_STR(row->text[ANOMALY_DETAIL], "1 after a loss of events");
}

/* Whoever drops an event counts it a moment later, maybe when what came behind it is stored. */
static void count_dropped(struct ring_shared *ring, uint64_t n)
{
    atomic_fetch_add(&ring->dropped[EVENT_MARK], n);
}

TEST(a_loss_that_is_counted_late_has_the_same_place)
{
    struct bench *bench = bench_new(6);
    fill_and_drop(bench->shared, 5);
    step(bench, false);
    push_marks(bench->shared, 1);
    step(bench, false);
    const uint64_t behind_ns = bench->ring.last_ns;
    push_marks(bench->shared, 1);
    step(bench, false);
    count_dropped(bench->shared, 2);
    step(bench, false);
    look(bench);
    CHECK_INT(bench->rows.tables[SCH_LOST].count, 2);
    check_lost(&bench->rows, 0, 64, 65, 5);
    check_lost(&bench->rows, 1, 64, 66, 2);
    const struct row *lost = bench->rows.tables[SCH_LOST].rows;
    CHECK_INT(lost[1].at[3], lost[0].at[3]);
    CHECK_INT(lost[0].at[4], behind_ns - 1000);
    CHECK_INT(lost[1].at[4], bench->ring.last_ns - 1000);
}

TEST(a_loss_is_counted_until_its_end_is_known)
{
    struct bench *bench = bench_new(6);
    fill_and_drop(bench->shared, 5);
    step(bench, false);
    count_dropped(bench->shared, 2);
    step(bench, false);
    look(bench);
    CHECK_INT(bench->rows.tables[SCH_LOST].count, 0);
    push_marks(bench->shared, 1);
    step(bench, false);
    look(bench);
    CHECK_INT(bench->rows.tables[SCH_LOST].count, 1);
    check_lost(&bench->rows, 0, 64, 65, 7);
}

/* Before the first event no ticket was given out. */
TEST(a_loss_before_the_first_event)
{
    struct bench *bench = bench_new(6);
    count_dropped(bench->shared, 3);
    step(bench, false);
    look(bench);
    CHECK_INT(bench->rows.tables[SCH_LOST].count, 0);
    push_marks(bench->shared, 2);
    step(bench, false);
    look(bench);
    CHECK_INT(bench->rows.tables[SCH_LOST].count, 1);
    check_lost(&bench->rows, 0, 0, 1, 3);
}

TEST(two_losses_are_two_facts)
{
    struct bench *bench = bench_new(6);
    fill_and_drop(bench->shared, 5);
    step(bench, false);
    fill_and_drop(bench->shared, 7);
    step(bench, false);
    push_marks(bench->shared, 1);
    step(bench, false);
    look(bench);
    CHECK_INT(bench->rows.tables[SCH_LOST].count, 2);
    check_lost(&bench->rows, 0, 64, 65, 5);
    check_lost(&bench->rows, 1, 128, 129, 7);
}

TEST(a_loss_at_the_end_is_stored_with_the_cost)
{
    struct bench *bench = bench_new(6);
    fill_and_drop(bench->shared, 2);
    step(bench, true);
    drain_ring_finish(&bench->ring, state_batch(bench->state), 1);
    look(bench);
    check_lost(&bench->rows, 0, 64, 64, 2);
    int64_t dropped = 0, waits = 0;
    for (size_t i = 0; i < bench->rows.tables[SCH_OVERHEAD].count; i++) {
        const struct row *row = &bench->rows.tables[SCH_OVERHEAD].rows[i];
        if (strcmp(row->text[1], "events dropped") == 0)
            dropped = row->at[2];
        if (strcmp(row->text[1], "ring waits") == 0)
            waits = row->at[2];
    }
    CHECK_INT(dropped, 2);
    CHECK_INT(waits, 1);
}

/* A dead program's header may hold anything. */
TEST(a_scribbled_head_does_not_lengthen_a_dead_ring)
{
    struct bench *bench = bench_new(6);
    push_marks(bench->shared, 10);
    atomic_store(&bench->shared->head, 1ull << 60);
    int steps = 1;
    while (step(bench, true) && steps < 100)
        steps++;
    CHECK(steps < 100);
    CHECK_INT(bench->ring.events, 10);
    CHECK(drain_ring_is_empty(&bench->ring));
}

/* The program may write as soon as it has the ring, the drain hears of it when it wakes up. */
TEST(a_header_is_read_before_the_program_has_the_ring)
{
    struct bench *bench = bench_new(6);
    struct drain_source source;
    drain_source_init(&source, bench->shared);
    struct ring_shared before = *bench->shared;
    bench->shared->slots_offset = 1ull << 40;
    bench->shared->arena_offset = 1ull << 41;
    bench->shared->arena_bytes = UINT64_MAX;
    bench->shared->slot_bits = 60;
    drain_ring_init(&bench->ring, bench->process, &source, 1000, 2000);
    CHECK(!step(bench, false));
    ring_lay_out(bench->shared, before.slot_bits, ARENA_BYTES);
    CHECK_INT(push_mark(bench->shared), RING_PUSHED);
    bench->shared->slots_offset = 1ull << 40;
    step(bench, true);
    look(bench);
    CHECK_INT(bench->rows.tables[SCH_MARK].count, 1);
}

/* Words of any kind, all over the mapping, until somebody ends it. */
static void scribble(struct ring_shared *ring, uint64_t seed)
{
    _Atomic uint64_t *words = (_Atomic uint64_t *)(void *)ring;
    size_t count = ring_bytes(6, ARENA_BYTES) / sizeof *words;
    for (;;) {
        size_t at = test_random(&seed) % count;
        uint64_t value = test_random(&seed) >> (test_random(&seed) % 64);
        bool small = test_random(&seed) % 2; /* lengths and kinds that may pass */
        atomic_store(&words[at], small ? value % 32 | (value % 5) << 32 : value);
        if (test_random(&seed) % 4 == 0)
            atomic_store(&ring->arena_used, test_random(&seed) % ARENA_BYTES);
        atomic_store(&ring->head, test_random(&seed) % 256);
    }
}

/* What was checked must be what is used: it may be another by then. */
TEST(a_program_that_writes_while_it_is_read)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct bench *bench = bench_new(6);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0)
            scribble(bench->shared, seed);
        for (int i = 0; i < 2000; i++) {
            step(bench, i % 64 == 63);
            if (i % 256 == 0)
                bench->ring.arena_damaged = false; /* read on, all the same */
        }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        drain_ring_finish(&bench->ring, state_batch(bench->state), 1);
        CHECK(state_is_valid(bench->state));
        state_free(bench->state);
        ring_destroy(bench->shared, 6, ARENA_BYTES);
    }
}

TEST(a_scribbled_counter_of_late_ones_is_none)
{
    struct bench *bench = bench_new(6);
    push_marks(bench->shared, 1);
    atomic_store(&bench->shared->late, UINT64_MAX);
    step(bench, false);
    look(bench);
    CHECK_INT(bench->rows.tables[SCH_LOST].count, 0);
    atomic_store(&bench->shared->late, 2);
    step(bench, false);
    look(bench);
    CHECK_INT(bench->rows.tables[SCH_LOST].count, 1);
}

TEST(late_ones_are_counted_once)
{
    struct bench *bench = bench_new(6);
    push_marks(bench->shared, 1);
    for (uint64_t late = 2; late <= 5; late += 3)
        for (int i = 0; i < 2; i++) {
            atomic_store(&bench->shared->late, late);
            step(bench, false);
        }
    look(bench);
    const struct row_table *lost = &bench->rows.tables[SCH_LOST];
    REQUIRE(lost->count == 2);
    CHECK_STR(lost->rows[0].text[5], "late");
    CHECK_INT(lost->rows[0].at[6], 2);
    CHECK_INT(lost->rows[1].at[6], 3);
}

TEST(damaged_definitions_are_an_anomaly)
{
    struct bench *bench = bench_new(6);
    push_marks(bench->shared, 1);
    atomic_store(&bench->shared->arena_used, 1ull << 50);
    step(bench, false);
    drain_ring_finish(&bench->ring, state_batch(bench->state), 1);
    look(bench);
    CHECK_INT(bench->ring.events, 1);
    CHECK_INT(rows_anomalies(&bench->rows, "definitions damaged"), 1);
}

TEST(definitions_that_found_no_room_are_counted)
{
    struct bench *bench = bench_new(6);
    push_marks(bench->shared, 1);
    step(bench, false);
    drain_ring_see_full(&bench->ring, state_batch(bench->state), 1);
    look(bench);
    CHECK_INT(rows_anomalies(&bench->rows, "definitions full"), 0);
    for (uint64_t full = 3; full < 6; full++) { /* the first time only */
        atomic_store(&bench->shared->arena_full, full);
        drain_ring_see_full(&bench->ring, state_batch(bench->state), 1);
    }
    look(bench);
    const struct row_table *anomalies = &bench->rows.tables[SCH_ANOMALY];
    REQUIRE(anomalies->count == 1);
    CHECK(strncmp(anomalies->rows[0].text[5], "3 names", 7) == 0);
    CHECK_INT(anomalies->rows[0].at[0], 1);
    drain_ring_finish(&bench->ring, state_batch(bench->state), 1);
    look(bench);
    REQUIRE(anomalies->count == 2);
    CHECK(strncmp(anomalies->rows[1].text[5], "5 names", 7) == 0);
}

TEST_MAIN(TEST_CASE(holes_of_the_dead_are_facts_in_their_place),
          TEST_CASE(many_holes_take_several_steps), TEST_CASE(a_loss_stands_between_its_neighbours),
          TEST_CASE(a_loss_explains_what_comes_right_behind_it),
          TEST_CASE(two_losses_are_two_facts),
          TEST_CASE(a_loss_that_is_counted_late_has_the_same_place),
          TEST_CASE(a_loss_is_counted_until_its_end_is_known),
          TEST_CASE(a_loss_before_the_first_event), TEST_CASE(late_ones_are_counted_once),
          TEST_CASE(a_loss_at_the_end_is_stored_with_the_cost),
          TEST_CASE(a_scribbled_head_does_not_lengthen_a_dead_ring),
          TEST_CASE(a_header_is_read_before_the_program_has_the_ring),
          TEST_CASE(a_program_that_writes_while_it_is_read),
          TEST_CASE(a_scribbled_counter_of_late_ones_is_none),
          TEST_CASE(damaged_definitions_are_an_anomaly),
          TEST_CASE(definitions_that_found_no_room_are_counted))
