/* The drain between rings and a queue: everything arrives, once, in order; holes and losses become
 * facts; a closed queue closes the rings. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "drain.h"
#include "drain_ring.h"
#include "error.h"
#include "ring_fast.h"
#include "rows.h"
#include "test.h"

#define ARENA_BYTES 65536u

/* ---- one ring, without the thread ---- */

struct bench { /* a run of one process */
    struct state *state;
    struct state_process *process;
    struct ring_shared *shared;
    struct drain_ring ring;
    struct rows rows;
    struct event buffer[DRAIN_TAKE];
};

static struct ring_shared *new_ring(unsigned bits)
{
    struct ring_shared *ring = NULL;
    REQUIRE(ring_create(&ring, bits, ARENA_BYTES, RING_NO_FD) == BASE_OK);
    return ring;
}

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

static enum ring_push push_mark(struct ring_shared *ring)
{
    struct event event = {.kind = EVENT_MARK, .time_ns = clock_now_ns(), .thread = 1};
    struct ring writer;
    ring_use(&writer, ring);
    return ring_push(&writer, &event);
}

static void push_marks(struct ring_shared *ring, int count)
{
    for (int i = 0; i < count; i++)
        CHECK_INT(push_mark(ring), RING_PUSHED);
}

/* What a producer leaves that dies between taking a ticket and publishing. */
static void leave_hole(struct ring_shared *ring)
{
    atomic_fetch_add(&ring->head, 1);
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

/* ---- the thread ---- */

struct run {
    struct state *state;
    struct queue *queue;
    struct drain *drain;
    int wake_fd;
    struct rows rows;
    struct drain_stats stats;
};

static void run_begin(struct run *run)
{
    const struct state_options options = {.start_ns = clock_now_ns()};
    *run = (struct run){.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    REQUIRE(state_new(&run->state, &options) == BASE_OK);
    REQUIRE(queue_new(&run->queue, 256u << 20) == BASE_OK);
    const struct drain_options drain = {run->state, run->queue, options.start_ns, run->wake_fd};
    REQUIRE(drain_start(&run->drain, &drain) == BASE_OK);
}

static void run_end(struct run *run)
{
    bool closed = false;
    struct batch *batch;
    drain_stop(run->drain);
    queue_close(run->queue);
    while ((batch = queue_pop(run->queue, 0, &closed)) != NULL) {
        rows_apply(&run->rows, batch);
        batch_free(batch);
    }
}

static void run_free(struct run *run)
{
    drain_free(run->drain, &run->stats);
    queue_free(run->queue);
    state_free(run->state);
    rows_clear(&run->rows);
    close(run->wake_fd);
}

static void begin(struct run *run, uint64_t key, uint64_t parent)
{
    const struct drain_hello hello = {.key = key,
                                      .parent = parent,
                                      .pid = getpid(),
                                      .same_namespace = true,
                                      .origin = parent ? "spawn" : "root",
                                      .at_ns = clock_now_ns(),
                                      .rank = BATCH_NULL,
                                      .local_rank = BATCH_NULL,
                                      .world_size = BATCH_NULL,
                                      .argv = "program"};
    REQUIRE(drain_begin(run->drain, &hello));
}

static void end(struct run *run, uint64_t key, bool lives)
{
    const struct process_end how = {lives ? "left running" : "exit", lives ? BATCH_NULL : 0,
                                    BATCH_NULL};
    REQUIRE(drain_end(run->drain, key, &how, clock_now_ns(), lives));
}

static const struct row *process_row(const struct run *run, int64_t id)
{
    const struct row *row = rows_find(&run->rows, SCH_PROCESS, 1, &id);
    REQUIRE(row != NULL);
    return row;
}

struct producer {
    struct ring_shared *ring;
    int count;
};

static void *produce(void *argument)
{
    const struct producer *producer = argument;
    for (int i = 0; i < producer->count; i++)
        if (push_mark(producer->ring) != RING_PUSHED)
            return argument;
    return NULL;
}

TEST(all_that_many_threads_push_arrives)
{
    struct run run;
    pthread_t threads[4];
    void *failed;
    run_begin(&run);
    begin(&run, 1, 0);
    struct ring_shared *ring = new_ring(8);
    REQUIRE(drain_ring(run.drain, 1, ring));
    struct producer producer = {ring, 3000};
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], NULL, produce, &producer) == 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        CHECK(failed == NULL);
    }
    end(&run, 1, false);
    run_end(&run);
    CHECK(drain_returned(run.drain) == ring);
    CHECK(drain_returned(run.drain) == NULL);
    CHECK_INT(process_row(&run, 1)->at[PROCESS_EVENTS], 12000);
    CHECK_STR(process_row(&run, 1)->text[PROCESS_ENDED], "exit");
    CHECK_INT(run.rows.tables[SCH_MARK].count, 12000);
    CHECK_INT(run.rows.tables[SCH_LOST].count, 0);
    CHECK(run.rows.tables[SCH_CLOCK].count >= 2);
    ring_destroy(ring, 8, ARENA_BYTES);
    run_free(&run);
    CHECK_INT(run.stats.events, 12000);
}

/* The parent's definitions were not read yet when the child's ring came, and its end was told. */
TEST(a_child_comes_before_its_parents_names_are_read)
{
    struct run run;
    struct ring_shared *rings[2] = {new_ring(8), new_ring(8)};
    struct ring parent, child;
    ring_use(&parent, rings[0]);
    ring_use(&child, rings[1]);
    REQUIRE(arena_define(&parent.arena, ARENA_STRING, "of the parent", 13) == 1);
    arena_continue(&child.arena, &parent.arena);
    rings[1]->arena_from = 1;
    rings[1]->arena_first = 1;
    REQUIRE(arena_define(&child.arena, ARENA_STRING, "of the child", 12) == 2);
    for (uint32_t name = 1; name <= 2; name++) {
        struct event event = {.kind = EVENT_MARK, .time_ns = clock_now_ns(), .name = name};
        CHECK_INT(ring_push(&child, &event), RING_PUSHED);
    }
    run_begin(&run);
    begin(&run, 1, 0);
    REQUIRE(drain_ring(run.drain, 1, rings[0]));
    begin(&run, 2, 1);
    REQUIRE(drain_ring(run.drain, 2, rings[1]));
    end(&run, 1, false);
    end(&run, 2, false);
    run_end(&run);
    CHECK_INT(run.rows.tables[SCH_MARK].count, 2);
    CHECK_INT(run.rows.tables[SCH_ANOMALY].count, 0);
    REQUIRE(run.rows.tables[SCH_STRING].count == 2);
    CHECK_STR(run.rows.tables[SCH_STRING].rows[0].text[1], "of the parent");
    for (struct ring_shared *ring; (ring = drain_returned(run.drain)) != NULL;)
        ring_destroy(ring, 8, ARENA_BYTES);
    run_free(&run);
}

TEST(children_name_their_parents)
{
    struct run run;
    run_begin(&run);
    begin(&run, 1, 0);
    begin(&run, 5, 1);
    end(&run, 1, false);
    end(&run, 5, false);
    begin(&run, 9, 5); /* its parent has ended */
    end(&run, 9, false);
    run_end(&run);
    CHECK_INT(process_row(&run, 1)->at[2], BATCH_NULL);
    CHECK_INT(process_row(&run, 2)->at[2], 1);
    CHECK_INT(process_row(&run, 3)->at[2], 2);
    run_free(&run);
}

TEST(who_is_left_running_is_closed_and_read)
{
    struct run run;
    run_begin(&run);
    begin(&run, 1, 0);
    struct ring_shared *ring = new_ring(8);
    REQUIRE(drain_ring(run.drain, 1, ring));
    push_marks(ring, 100);
    end(&run, 1, true);
    run_end(&run);
    CHECK_INT(process_row(&run, 1)->at[PROCESS_EVENTS], 100);
    CHECK_STR(process_row(&run, 1)->text[PROCESS_ENDED], "left running");
    CHECK_INT(push_mark(ring), RING_OFF);
    ring_destroy(drain_returned(run.drain), 8, ARENA_BYTES);
    run_free(&run);
}

TEST(a_hole_of_the_living_does_not_hold_up_the_end)
{
    struct run run;
    run_begin(&run);
    begin(&run, 1, 0);
    struct ring_shared *ring = new_ring(8);
    REQUIRE(drain_ring(run.drain, 1, ring));
    leave_hole(ring);
    push_marks(ring, 4);
    end(&run, 1, true);
    run_end(&run);
    CHECK_INT(process_row(&run, 1)->at[PROCESS_EVENTS], 4);
    CHECK_INT(run.rows.tables[SCH_TORN].count, 1);
    ring_destroy(drain_returned(run.drain), 8, ARENA_BYTES);
    run_free(&run);
}

TEST(a_stop_ends_those_of_whom_nobody_told)
{
    struct run run;
    run_begin(&run);
    begin(&run, 1, 0);
    struct ring_shared *ring = new_ring(8);
    REQUIRE(drain_ring(run.drain, 1, ring));
    push_marks(ring, 3);
    run_end(&run);
    CHECK_STR(process_row(&run, 1)->text[PROCESS_ENDED], "unknown");
    CHECK_INT(process_row(&run, 1)->at[PROCESS_EVENTS], 3);
    ring_destroy(drain_returned(run.drain), 8, ARENA_BYTES);
    run_free(&run);
}

TEST(rings_of_nobody_come_back)
{
    struct run run;
    run_begin(&run);
    struct ring_shared *stray = new_ring(8), *first = new_ring(8), *second = new_ring(8);
    REQUIRE(drain_ring(run.drain, 77, stray));
    begin(&run, 1, 0);
    REQUIRE(drain_ring(run.drain, 1, first));
    REQUIRE(drain_ring(run.drain, 1, second)); /* one is all that an image gets */
    end(&run, 1, false);
    run_end(&run);
    int back = 0;
    struct ring_shared *ring;
    while ((ring = drain_returned(run.drain)) != NULL) {
        CHECK(ring == stray || ring == first || ring == second);
        CHECK_INT(push_mark(ring), RING_OFF);
        ring_destroy(ring, 8, ARENA_BYTES);
        back++;
    }
    CHECK_INT(back, 3);
    run_free(&run);
}

TEST(a_closed_queue_closes_the_rings)
{
    struct run run;
    run_begin(&run);
    begin(&run, 1, 0);
    struct ring_shared *ring = new_ring(8), *late = new_ring(8);
    REQUIRE(drain_ring(run.drain, 1, ring));
    queue_close(run.queue);
    while (!drain_failed(run.drain)) {
        push_mark(ring);
        usleep(2000);
    }
    struct pollfd wake = {.fd = run.wake_fd, .events = POLLIN}; /* written after it has failed */
    CHECK_INT(poll(&wake, 1, 60 * 1000), 1);
    uint64_t woken = 0;
    CHECK_INT(read(run.wake_fd, &woken, sizeof woken), sizeof woken);
    CHECK_INT(push_mark(ring), RING_OFF);
    begin(&run, 2, 1);
    REQUIRE(drain_ring(run.drain, 2, late));
    end(&run, 2, false);
    end(&run, 1, false);
    run_end(&run);
    CHECK_INT(push_mark(late), RING_OFF);
    ring_destroy(drain_returned(run.drain), 8, ARENA_BYTES);
    ring_destroy(drain_returned(run.drain), 8, ARENA_BYTES);
    run_free(&run);
}

/* Cells 11 and 12 of a process: live, why_not. */
TEST(only_who_uses_its_ring_is_live)
{
    struct run run;
    struct ring_shared *rings[3] = {new_ring(8), new_ring(8), new_ring(8)};
    push_marks(rings[1], 1);
    push_marks(rings[2], 1);
    rings[0]->api = rings[1]->api = 1; /* ring 2: whatever comes is no call of the program's */
    run_begin(&run);
    for (uint64_t key = 1; key <= 4; key++)
        begin(&run, key, 0);
    REQUIRE(drain_ring(run.drain, 1, rings[0])); /* never used */
    REQUIRE(drain_ring(run.drain, 2, rings[1]));
    REQUIRE(drain_refused(run.drain, 3, "no ring: too many files"));
    struct ring_shared *lost = new_ring(8);
    REQUIRE(drain_ring(run.drain, 4, lost)); /* did not arrive, then another did */
    REQUIRE(drain_refused(run.drain, 4, "not handed over"));
    REQUIRE(drain_ring(run.drain, 4, rings[2]));
    for (uint64_t key = 1; key <= 4; key++)
        end(&run, key, false);
    run_end(&run);
    CHECK(!process_row(&run, 1)->text[11]);
    CHECK_STR(process_row(&run, 2)->text[11], "api");
    CHECK(!process_row(&run, 3)->text[11]);
    CHECK_STR(process_row(&run, 3)->text[12], "no ring: too many files");
    CHECK(!process_row(&run, 4)->text[11]);
    CHECK(!process_row(&run, 4)->text[12]);
    int back = 0;
    for (struct ring_shared *ring; (ring = drain_returned(run.drain)) != NULL; back++)
        ring_destroy(ring, 8, ARENA_BYTES);
    CHECK_INT(back, 4);
    run_free(&run);
}

/* Cell 12: why_not. Mapped, or with an end that explains it, an unused ring is no missing process.
 */
TEST(a_ring_of_one_that_was_killed)
{
    static const struct process_end ends[] = {{"exit", 0, BATCH_NULL},
                                              {"signal", BATCH_NULL, SIGKILL},
                                              {"signal", BATCH_NULL, SIGSYS},
                                              {"signal", BATCH_NULL, SIGKILL}};
    struct run run;
    struct ring_shared *rings[4];
    run_begin(&run);
    for (uint64_t key = 1; key <= 4; key++) {
        rings[key - 1] = new_ring(6);
        rings[key - 1]->attached = key == 4;
        begin(&run, key, 0);
        REQUIRE(drain_ring(run.drain, key, rings[key - 1]));
        REQUIRE(drain_end(run.drain, key, &ends[key - 1], clock_now_ns(), false));
    }
    run_end(&run);
    for (uint64_t key = 1; key <= 4; key++)
        CHECK((process_row(&run, (int64_t)key)->text[12] != NULL) == (key < 4));
    for (struct ring_shared *ring; (ring = drain_returned(run.drain)) != NULL;)
        ring_destroy(ring, 6, ARENA_BYTES);
    run_free(&run);
    CHECK_INT(run.stats.rings_unused, 2);
    CHECK_INT(run.stats.rings_killed, 1);
}

/* Whoever waits for room in a full ring must not give up because others have their turn first. */
TEST(work_on_one_ring_is_progress_for_all)
{
    struct run run;
    struct ring_shared *idle = new_ring(6), *busy = new_ring(15);
    push_marks(busy, 1 << 15);
    uint32_t before = atomic_load(&idle->progress);
    run_begin(&run);
    begin(&run, 1, 0);
    begin(&run, 2, 1);
    REQUIRE(drain_ring(run.drain, 1, idle));
    REQUIRE(drain_ring(run.drain, 2, busy));
    end(&run, 2, false);
    end(&run, 1, false);
    run_end(&run);
    CHECK(atomic_load(&idle->progress) - before >= (1 << 15) / DRAIN_TAKE);
    for (struct ring_shared *ring; (ring = drain_returned(run.drain)) != NULL;)
        ring_destroy(ring, ring == busy ? 15 : 6, ARENA_BYTES);
    run_free(&run);
}

TEST_MAIN(TEST_CASE(holes_of_the_dead_are_facts_in_their_place),
          TEST_CASE(many_holes_take_several_steps), TEST_CASE(a_loss_stands_between_its_neighbours),
          TEST_CASE(a_loss_explains_what_comes_right_behind_it),
          TEST_CASE(two_losses_are_two_facts), TEST_CASE(a_loss_at_the_end_is_stored_with_the_cost),
          TEST_CASE(a_scribbled_head_does_not_lengthen_a_dead_ring),
          TEST_CASE(a_header_is_read_before_the_program_has_the_ring),
          TEST_CASE(a_program_that_writes_while_it_is_read),
          TEST_CASE(a_scribbled_counter_of_late_ones_is_none),
          TEST_CASE(damaged_definitions_are_an_anomaly),
          TEST_CASE(definitions_that_found_no_room_are_counted),
          TEST_CASE(all_that_many_threads_push_arrives), TEST_CASE(children_name_their_parents),
          TEST_CASE(a_child_comes_before_its_parents_names_are_read),
          TEST_CASE(who_is_left_running_is_closed_and_read),
          TEST_CASE(a_hole_of_the_living_does_not_hold_up_the_end),
          TEST_CASE(a_stop_ends_those_of_whom_nobody_told), TEST_CASE(rings_of_nobody_come_back),
          TEST_CASE(a_ring_of_one_that_was_killed), TEST_CASE(only_who_uses_its_ring_is_live),
          TEST_CASE(work_on_one_ring_is_progress_for_all),
          TEST_CASE(a_closed_queue_closes_the_rings))
