/* The drain's thread between rings and a queue: everything arrives, once; rings come back, whoever
 * they were for; a closed queue closes the rings. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "drain.h"
#include "drain_ring.h"
#include "error.h"
#include "marks.h"
#include "rows.h"
#include "test.h"

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

/* A process is forgotten when its end is told and no child of it is there: its own row is begun
 * before that. */
TEST(children_name_their_parents)
{
    struct run run;
    run_begin(&run);
    begin(&run, 1, 0);
    begin(&run, 5, 1);
    end(&run, 1, false);
    begin(&run, 9, 5);
    end(&run, 5, false);
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

TEST_MAIN(TEST_CASE(all_that_many_threads_push_arrives), TEST_CASE(children_name_their_parents),
          TEST_CASE(a_child_comes_before_its_parents_names_are_read),
          TEST_CASE(who_is_left_running_is_closed_and_read),
          TEST_CASE(a_hole_of_the_living_does_not_hold_up_the_end),
          TEST_CASE(a_stop_ends_those_of_whom_nobody_told), TEST_CASE(rings_of_nobody_come_back),
          TEST_CASE(a_ring_of_one_that_was_killed), TEST_CASE(only_who_uses_its_ring_is_live),
          TEST_CASE(work_on_one_ring_is_progress_for_all),
          TEST_CASE(a_closed_queue_closes_the_rings))
