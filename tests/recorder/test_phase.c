/* Phases: scopes, `other`, steps, what ends them, and their numbers. */
#include <string.h>

#include "feed.h"
#include "mem.h"
#include "phase.h"
#include "state_types.h"
#include "test.h"

static struct rows rows;
static struct feed feed;
static uint32_t heap, forward, backward, mine;

static void begin(void)
{
    feed_begin(&feed, NULL, &rows);
    forward = feed_string(&feed, "forward");
    backward = feed_string(&feed, "backward");
    mine = feed_string(&feed, "mine");
    heap = feed_heap(&feed, DEVICE_CUDA, 0, 0);
}

static const struct row *phase(const char *name, size_t nth)
{
    const struct row *row = rows_phase(&rows, name, nth);
    REQUIRE(row != NULL);
    return row;
}

static void check_range(const struct row *row, int64_t begin_seq, int64_t end_seq)
{
    CHECK_INT(row->at[PHASE_BEGIN_SEQ], begin_seq);
    CHECK_INT(row->at[PHASE_END_SEQ], end_seq);
}

/* The phase that `stretch` gives for a number. */
static int64_t stretch_at(int64_t seq)
{
    const struct row *best = NULL;
    for (size_t i = 0; i < rows.tables[SCH_STRETCH].count; i++) {
        const struct row *row = &rows.tables[SCH_STRETCH].rows[i];
        if (row->at[1] <= seq && (!best || row->at[1] > best->at[1]))
            best = row;
    }
    return best ? best->at[2] : 0;
}

TEST(kinds_go_by_name)
{
    static const char *const names[] = {"zero_grad", "forward", "loss",  "backward",
                                        "optimizer", "eval",    "other", "Forward"};
    begin();
    for (size_t i = 0; i < 8; i++) {
        uint32_t name = feed_string(&feed, names[i]);
        feed_phase(&feed, name);
        feed_phase_end(&feed, name);
    }
    feed_phase(&feed, 0);
    feed_end(&feed, true);
    for (size_t i = 0; i < 6; i++)
        CHECK_STR(phase(names[i], 0)->text[PHASE_KIND], names[i]);
    CHECK_STR(phase("Forward", 0)->text[PHASE_KIND], "user");
    CHECK_STR(phase("?", 0)->text[PHASE_KIND], "user");
    size_t users = 0;
    for (size_t i = 0; rows_phase(&rows, "other", i); i++)
        users += strcmp(phase("other", i)->text[PHASE_KIND], "user") == 0;
    CHECK_INT(users, 1);
}

TEST(numbers_and_times_are_divided_without_rest)
{
    begin();
    int64_t early = feed_alloc(&feed, heap, 1, 10);
    int64_t b1 = feed_phase(&feed, forward);
    int64_t inside = feed_alloc(&feed, heap, 2, 10);
    int64_t e1 = feed_phase_end(&feed, forward);
    int64_t b2 = feed_phase(&feed, backward);
    int64_t e2 = feed_phase_end(&feed, 0);
    int64_t late = feed_alloc(&feed, heap, 3, 10);
    feed.now += 5;
    feed_end(&feed, true);
    check_range(phase("other", 0), 1, early);
    check_range(phase("forward", 0), b1, e1);
    /* Time passed without an event: this `other` has a number of its own. */
    CHECK_INT(b2, e1 + 2);
    check_range(phase("other", 1), e1 + 1, e1 + 1);
    check_range(phase("backward", 0), b2, e2);
    check_range(phase("other", 2), late, late);
    CHECK_INT(phase("other", 0)->at[PHASE_BEGIN_NS], 0);
    CHECK_INT(phase("other", 1)->at[PHASE_BEGIN_NS], phase("forward", 0)->at[PHASE_END_NS]);
    CHECK_INT(phase("other", 1)->at[PHASE_END_NS], phase("backward", 0)->at[PHASE_BEGIN_NS]);
    CHECK_INT(phase("other", 2)->at[PHASE_END_NS], (int64_t)(feed.now - FEED_START));
    CHECK_INT(phase("other", 1)->at[PHASE_THREAD_ID], ROW_NULL);
    CHECK_STR(phase("other", 1)->text[PHASE_SCOPE], "process");
    CHECK_STR(phase("other", 2)->text[PHASE_ENDED], "process end");
    CHECK_INT(stretch_at(early), phase("other", 0)->at[0]);
    CHECK_INT(stretch_at(inside), phase("forward", 0)->at[0]);
    CHECK_INT(stretch_at(e1), phase("forward", 0)->at[0]);
    CHECK_INT(stretch_at(e1 + 1), phase("other", 1)->at[0]);
    CHECK_INT(stretch_at(late), phase("other", 2)->at[0]);
    CHECK_INT(rows.tables[SCH_PHASE].count, 5);
    CHECK_INT(phase("other", 0)->at[PHASE_ORDINAL], 0);
    CHECK_INT(phase("other", 2)->at[PHASE_ORDINAL], 2);
}

TEST(an_other_without_time_and_events_is_dropped)
{
    begin();
    feed.now -= 10;
    int64_t b1 = feed_phase(&feed, forward);
    feed_flush(&feed);
    int64_t e1 = feed_phase_end(&feed, forward);
    feed_flush(&feed);
    feed.now -= 10;
    int64_t b2 = feed_phase(&feed, backward);
    CHECK_INT(b2, e1 + 1);
    feed_phase_end(&feed, backward);
    feed_end(&feed, true);
    CHECK(rows_phase(&rows, "other", 0) == NULL);
    CHECK_INT(rows.tables[SCH_PHASE].count, 2);
    CHECK_INT(stretch_at(b1), phase("forward", 0)->at[0]);
    CHECK_INT(stretch_at(b2), phase("backward", 0)->at[0]);
}

TEST(an_open_phase_is_written_as_it_stands)
{
    begin();
    feed_alloc(&feed, heap, 1, 10);
    feed_phase(&feed, forward);
    feed_phase(&feed, mine);
    feed_alloc(&feed, heap, 2, 90);
    feed_free(&feed, heap, 2);
    feed_flush(&feed);
    CHECK_INT(phase("forward", 0)->at[PHASE_END_SEQ], ROW_NULL);
    CHECK(phase("forward", 0)->text[PHASE_ENDED] == NULL);
    const struct row *part = rows_phase_device(&rows, phase("forward", 0)->at[0], 1);
    REQUIRE(part != NULL);
    CHECK_INT(part->at[PART_PEAK], 100);
    CHECK_INT(part->at[PART_ALLOCATED], 10);
    feed_alloc(&feed, heap, 3, 20);
    feed_phase_end(&feed, mine);
    int64_t end = feed_phase_end(&feed, forward);
    feed_flush(&feed);
    CHECK_INT(phase("forward", 0)->at[PHASE_END_SEQ], end);
    part = rows_phase_device(&rows, phase("forward", 0)->at[0], 1);
    CHECK_INT(part->at[PART_PEAK], 100);
    CHECK_INT(part->at[PART_ALLOCATED], 30);
    CHECK_INT(part->at[PART_ALLOCS], 2);
    CHECK_INT(part->at[PART_BEGIN_ALLOCATED], 10);
    feed_end(&feed, true);
}

TEST(a_killed_program_leaves_its_other)
{
    begin();
    feed_alloc(&feed, heap, 1, 10);
    feed_flush(&feed);
    CHECK_INT(phase("other", 0)->at[PHASE_END_SEQ], ROW_NULL);
    CHECK_INT(stretch_at(1), phase("other", 0)->at[0]);
    feed_end(&feed, true);
    CHECK_STR(phase("other", 0)->text[PHASE_ENDED], "process end");
}

TEST(a_peak_in_a_nested_phase_is_one_of_the_outer)
{
    begin();
    feed_phase(&feed, forward);
    feed_alloc(&feed, heap, 1, 50);
    feed_phase(&feed, mine);
    int64_t peak = feed_alloc(&feed, heap, 2, 100);
    feed_free(&feed, heap, 2);
    feed_phase_end(&feed, mine);
    feed_phase(&feed, mine);
    feed_phase_end(&feed, mine);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    const struct row *outer = rows_phase_device(&rows, phase("forward", 0)->at[0], 1);
    const struct row *inner = rows_phase_device(&rows, phase("mine", 0)->at[0], 1);
    const struct row *second = rows_phase_device(&rows, phase("mine", 1)->at[0], 1);
    REQUIRE(outer && inner && second);
    CHECK_INT(outer->at[PART_PEAK], 150);
    CHECK_INT(outer->at[PART_PEAK_SEQ], peak);
    CHECK_INT(outer->at[PART_PEAK_NS], rows_alloc(&rows, peak)->alloc_ns);
    CHECK_INT(inner->at[PART_PEAK], 150);
    CHECK_INT(second->at[PART_PEAK], 50);
    CHECK_INT(second->at[PART_PEAK_SEQ], ROW_NULL);
    CHECK_INT(second->at[PART_PEAK_NS], ROW_NULL);
    CHECK_INT(second->at[PART_MAX], 150);
    CHECK_INT(phase("mine", 0)->at[PHASE_PARENT], phase("forward", 0)->at[0]);
    CHECK_INT(phase("mine", 1)->at[PHASE_ORDINAL], 1);
}

TEST(a_device_that_comes_inside_a_phase_began_with_nothing)
{
    begin();
    feed_phase(&feed, forward);
    uint32_t other = feed_heap(&feed, DEVICE_CUDA, 1, 0);
    feed_alloc(&feed, other, 1, 70);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    int64_t id = phase("forward", 0)->at[0];
    CHECK(rows_phase_device(&rows, id, 1) == NULL); /* had no blocks */
    const struct row *part = rows_phase_device(&rows, id, 2);
    REQUIRE(part != NULL);
    CHECK_INT(part->at[PART_BEGIN_ALLOCATED], 0);
    CHECK_INT(part->at[PART_PEAK], 70);
}

/* ---- threads ---- */

TEST(another_thread_has_phases_of_its_own)
{
    begin();
    feed_phase(&feed, forward);
    feed.thread = 200;
    feed_phase(&feed, mine);
    int64_t own = feed_alloc(&feed, heap, 1, 10);
    feed.thread = 300;
    int64_t shared = feed_alloc(&feed, heap, 2, 10);
    feed.thread = 100;
    feed_phase(&feed, backward);
    feed_phase_end(&feed, backward);
    feed_phase_end(&feed, forward);
    feed.thread = 200;
    int64_t outlives = feed_alloc(&feed, heap, 3, 10); /* now within `other` */
    feed_phase_end(&feed, mine);
    int64_t next = feed_phase(&feed, mine); /* nobody has the process */
    feed_end(&feed, true);
    CHECK_STR(phase("forward", 0)->text[PHASE_SCOPE], "process");
    CHECK_STR(phase("backward", 0)->text[PHASE_SCOPE], "process");
    CHECK_STR(phase("mine", 0)->text[PHASE_SCOPE], "thread");
    CHECK_STR(phase("mine", 1)->text[PHASE_SCOPE], "process");
    CHECK_INT(phase("mine", 0)->at[PHASE_PARENT], phase("forward", 0)->at[0]);
    CHECK_INT(phase("mine", 0)->at[PHASE_THREAD_ID], 200);
    CHECK_INT(phase("mine", 1)->at[PHASE_BEGIN_SEQ], next);
    CHECK_INT(phase("mine", 1)->at[PHASE_PARENT], ROW_NULL);
    CHECK_INT(rows.tables[SCH_ALLOCATION_PHASE].count, 2);
    CHECK(rows_find(&rows, SCH_ALLOCATION_PHASE, 2, (int64_t[]){own, phase("mine", 0)->at[0]}));
    CHECK(
        rows_find(&rows, SCH_ALLOCATION_PHASE, 2, (int64_t[]){outlives, phase("mine", 0)->at[0]}));
    CHECK_INT(stretch_at(shared), phase("forward", 0)->at[0]);
    CHECK_INT(stretch_at(own), phase("forward", 0)->at[0]);
    CHECK_STR(rows_find(&rows, SCH_PHASE, 1, (int64_t[]){stretch_at(outlives)})->text[PHASE_KIND],
              "other");
}

TEST(a_thread_that_is_gone_leaves_its_phases_open)
{
    begin();
    uint32_t threads[4] = {0};
    feed_phase(&feed, forward);
    feed.thread = 200;
    feed_phase(&feed, mine);
    feed_phase(&feed, backward);
    CHECK_INT(state_open_threads(feed.process, threads, 4), 2);
    CHECK(threads[0] + threads[1] == 300);
    CHECK_INT(state_open_threads(feed.process, threads, 1), 1);
    state_thread_end(feed.process, 200, feed.now + 100);
    state_thread_end(feed.process, 999, feed.now + 100);
    CHECK_INT(state_open_threads(feed.process, threads, 4), 1);
    state_thread_end(feed.process, 100, feed.now + 100);
    CHECK_INT(state_open_threads(feed.process, threads, 4), 0);
    int64_t after = feed_alloc(&feed, heap, 1, 10);
    feed_end(&feed, true);
    CHECK_STR(phase("mine", 0)->text[PHASE_ENDED], "unbalanced");
    CHECK_INT(phase("mine", 0)->at[PHASE_END_NS], phase("backward", 0)->at[PHASE_END_NS]);
    CHECK_STR(phase("forward", 0)->text[PHASE_ENDED], "unbalanced");
    CHECK_INT(rows_anomalies(&rows, "phase left open"), 3);
    CHECK_STR(rows_find(&rows, SCH_PHASE, 1, (int64_t[]){stretch_at(after)})->text[PHASE_KIND],
              "other");
}

/* ---- ends ---- */

TEST(an_end_by_name_ends_what_is_inside)
{
    begin();
    feed_phase(&feed, forward);
    feed_phase(&feed, mine);
    feed_phase(&feed, backward);
    int64_t end = feed_phase_end(&feed, feed_string(&feed, "forward")); /* another number */
    feed_end(&feed, true);
    CHECK_STR(phase("forward", 0)->text[PHASE_ENDED], "end");
    CHECK_STR(phase("mine", 0)->text[PHASE_ENDED], "unbalanced");
    CHECK_STR(phase("backward", 0)->text[PHASE_ENDED], "unbalanced");
    CHECK_INT(phase("backward", 0)->at[PHASE_END_SEQ], end);
    CHECK_INT(rows_anomalies(&rows, "phase unbalanced"), 2);
    CHECK_STR(rows_anomaly(&rows, "phase unbalanced", 0)->text[ANOMALY_DETAIL],
              "backward was open as forward ended");
}

TEST(an_end_without_begin_ends_nothing)
{
    begin();
    feed_phase_end(&feed, 0);
    feed_phase(&feed, forward);
    feed_phase_end(&feed, mine);
    feed.thread = 200;
    feed_phase_end(&feed, forward); /* another thread's */
    feed.thread = 100;
    int64_t end = feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    check_range(phase("forward", 0), 2, end);
    CHECK_INT(rows_anomalies(&rows, "phase end without begin"), 3);
}

TEST(an_exception_and_the_end_of_the_process)
{
    begin();
    feed_phase(&feed, forward);
    feed_event(&feed, (struct event){.kind = EVENT_PHASE_END, .flags = EVENT_F_EXCEPTION});
    feed_phase(&feed, backward);
    feed_phase(&feed, mine);
    feed.now += 1000;
    feed_end(&feed, true);
    CHECK_STR(phase("forward", 0)->text[PHASE_ENDED], "exception");
    CHECK_STR(phase("backward", 0)->text[PHASE_ENDED], "process end");
    CHECK_STR(phase("mine", 0)->text[PHASE_ENDED], "process end");
    CHECK_INT(phase("mine", 0)->at[PHASE_END_NS], (int64_t)(feed.now - FEED_START));
    CHECK_INT(rows_anomalies(&rows, "phase left open"), 2);
}

TEST(begun_without_end_for_ever)
{
    begin();
    for (int i = 0; i < PHASE_MAX_OPEN + 500; i++)
        feed_phase(&feed, i % 2 ? forward : mine);
    feed.thread = 200;
    feed_phase(&feed, backward);
    feed_phase_end(&feed, backward); /* it was not stored */
    feed.thread = 100;
    for (int i = 0; i < 500; i++)
        feed_phase_end(&feed, 0); /* of those that were not stored */
    feed_flush(&feed);
    CHECK_INT(phase("forward", PHASE_MAX_OPEN / 2 - 1)->at[PHASE_END_SEQ], ROW_NULL);
    CHECK(rows_phase(&rows, "forward", PHASE_MAX_OPEN / 2) == NULL);
    int64_t end = feed_phase_end(&feed, 0);
    feed_end(&feed, true);
    CHECK_INT(phase("forward", PHASE_MAX_OPEN / 2 - 1)->at[PHASE_END_SEQ], end);
    CHECK_INT(rows_anomalies(&rows, "too many open phases"), 501);
    CHECK_INT(rows_anomalies(&rows, "phase end without begin"), 1);
}

TEST(a_begin_without_memory_does_not_move_the_ends)
{
    begin();
    feed_phase(&feed, forward);
    mem_fail_after(1);
    for (int i = 0; i < 40; i++)
        feed_phase(&feed, mine); /* the first find spare rooms in the batch at most */
    mem_fail_after(0);
    feed_phase(&feed, mine);
    for (int i = 0; i < 41; i++)
        feed_phase_end(&feed, 0);
    feed_alloc(&feed, heap, 1, 10);
    int64_t end = feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(phase("forward", 0)->at[PHASE_END_SEQ], end);
    CHECK_STR(phase("forward", 0)->text[PHASE_ENDED], "end");
    CHECK(rows_lost(&rows, "phase_begin") > 0);
}

/* ---- steps ---- */

TEST(a_step_divides_other_and_numbers_the_phases)
{
    begin();
    int64_t before = feed_alloc(&feed, heap, 1, 10);
    int64_t s0 = feed_step(&feed, 7);
    feed_phase(&feed, forward);
    feed_phase_end(&feed, forward);
    feed_phase(&feed, forward);
    int64_t s1 = feed_step(&feed, 8); /* inside of a phase: for what begins later */
    feed_phase(&feed, forward);
    feed_phase_end(&feed, 0);
    feed_phase_end(&feed, 0);
    int64_t end = feed_event(&feed, (struct event){.kind = EVENT_STEP_END});
    feed_event(&feed, (struct event){.kind = EVENT_STEP_END});
    feed_phase(&feed, forward);
    feed_end(&feed, true);
    check_range(phase("other", 0), 1, before);
    CHECK_INT(phase("other", 0)->at[PHASE_STEP], ROW_NULL);
    check_range(phase("other", 1), s0, s0);
    CHECK_INT(phase("other", 1)->at[PHASE_STEP], 7);
    CHECK_INT(phase("forward", 0)->at[PHASE_STEP], 7);
    CHECK_INT(phase("forward", 1)->at[PHASE_STEP], 7);
    CHECK_INT(phase("forward", 1)->at[PHASE_ORDINAL], 1);
    CHECK_INT(phase("forward", 2)->at[PHASE_STEP], 8);
    CHECK_INT(phase("forward", 2)->at[PHASE_ORDINAL], 0);
    CHECK(s1 > phase("forward", 1)->at[PHASE_BEGIN_SEQ]);
    CHECK_INT(phase("other", 3)->at[PHASE_END_SEQ], end);
    CHECK_INT(phase("other", 3)->at[PHASE_STEP], 8);
    CHECK_INT(phase("other", 4)->at[PHASE_STEP], ROW_NULL);
    CHECK_INT(phase("other", 4)->at[PHASE_BEGIN_SEQ], end + 1);
    CHECK_INT(phase("forward", 3)->at[PHASE_STEP], ROW_NULL);
    CHECK_INT(rows_anomalies(&rows, "step end without begin"), 1);
}

static void lose(enum event_kind kind)
{
    struct state_loss loss = {.first_ns = feed.now, .last_ns = feed.now};
    loss.by_kind[kind] = 1;
    state_lost(feed.process, &loss);
}

/* What began in a step and should have ended there is not around the next ones for ever. */
TEST(a_lost_end_is_over_with_the_next_step)
{
    begin();
    feed_phase(&feed, mine); /* around all steps */
    feed_step(&feed, 0);
    feed_phase(&feed, forward);
    feed_phase_end(&feed, forward);
    feed_phase(&feed, backward);
    lose(EVENT_PHASE_END);
    int64_t next = feed_step(&feed, 1);
    feed_phase(&feed, forward);
    int64_t block = feed_alloc(&feed, heap, 1, 10);
    feed_phase_end(&feed, forward);
    feed_phase_end(&feed, mine);
    feed_end(&feed, true);
    check_range(phase("backward", 0), phase("backward", 0)->at[PHASE_BEGIN_SEQ], next - 1);
    CHECK_STR(phase("backward", 0)->text[PHASE_ENDED], "unbalanced");
    CHECK_INT(phase("forward", 1)->at[PHASE_PARENT], phase("mine", 0)->at[0]);
    CHECK_INT(stretch_at(next), phase("mine", 0)->at[0]);
    CHECK_INT(stretch_at(block), phase("forward", 1)->at[0]);
    CHECK_STR(phase("mine", 0)->text[PHASE_ENDED], "end");
    CHECK_INT(rows_anomalies(&rows, "phase unbalanced"), 1);
}

/* What no step has around it is the one that was open before; it has an `other` behind it. */
TEST(behind_a_lost_end_time_is_divided_without_rest)
{
    begin();
    feed_step(&feed, 0);
    feed_phase(&feed, backward);
    lose(EVENT_PHASE_END);
    int64_t next = feed_step(&feed, 1);
    int64_t block = feed_alloc(&feed, heap, 1, 10);
    int64_t begun = feed_phase(&feed, forward);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    const struct row *other = rows_find(&rows, SCH_PHASE, 1, (int64_t[]){stretch_at(block)});
    CHECK_STR(other->text[PHASE_KIND], "other");
    check_range(other, next, begun - 1);
    CHECK_INT(other->at[PHASE_BEGIN_NS], phase("backward", 0)->at[PHASE_END_NS]);
    CHECK_INT(phase("forward", 0)->at[PHASE_PARENT], ROW_NULL);
}

/* Open as a step began before the loss, of another thread, or begun after it; or nothing was lost.
 */
TEST(what_may_go_on_stays_open)
{
    begin();
    feed_step(&feed, 0);
    feed_phase(&feed, mine);
    feed_step(&feed, 1);
    lose(EVENT_PHASE_END);
    feed_step(&feed, 2);
    feed_phase_end(&feed, mine);
    feed_phase(&feed, forward);
    lose(EVENT_BLOCK_FREE);
    feed_step(&feed, 3);
    feed_phase_end(&feed, forward);
    lose(EVENT_PHASE_END);
    feed_phase(&feed, backward);
    feed_step(&feed, 4);
    feed_phase_end(&feed, backward);
    feed_step(&feed, 5);
    feed.thread = 200;
    feed_phase(&feed, mine);
    feed.thread = 100;
    lose(EVENT_PHASE_END);
    feed_step(&feed, 6);
    feed.thread = 200;
    feed_phase_end(&feed, mine);
    feed_end(&feed, true);
    CHECK_STR(phase("mine", 0)->text[PHASE_ENDED], "end");
    CHECK_STR(phase("forward", 0)->text[PHASE_ENDED], "end");
    CHECK_STR(phase("backward", 0)->text[PHASE_ENDED], "end");
    CHECK_STR(phase("mine", 1)->text[PHASE_ENDED], "end");
    CHECK_INT(rows_anomalies(&rows, "phase unbalanced"), 0);
}

TEST(step_numbers_of_any_size)
{
    begin();
    feed_step(&feed, UINT64_MAX);
    feed_phase(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(phase("forward", 0)->at[PHASE_STEP], LEDGER_MOST);
}

TEST_MAIN(TEST_CASE(kinds_go_by_name), TEST_CASE(numbers_and_times_are_divided_without_rest),
          TEST_CASE(an_other_without_time_and_events_is_dropped),
          TEST_CASE(an_open_phase_is_written_as_it_stands),
          TEST_CASE(a_killed_program_leaves_its_other),
          TEST_CASE(a_peak_in_a_nested_phase_is_one_of_the_outer),
          TEST_CASE(a_device_that_comes_inside_a_phase_began_with_nothing),
          TEST_CASE(another_thread_has_phases_of_its_own),
          TEST_CASE(a_thread_that_is_gone_leaves_its_phases_open),
          TEST_CASE(an_end_by_name_ends_what_is_inside),
          TEST_CASE(an_end_without_begin_ends_nothing),
          TEST_CASE(an_exception_and_the_end_of_the_process), TEST_CASE(begun_without_end_for_ever),
          TEST_CASE(a_begin_without_memory_does_not_move_the_ends),
          TEST_CASE(a_step_divides_other_and_numbers_the_phases),
          TEST_CASE(a_lost_end_is_over_with_the_next_step),
          TEST_CASE(behind_a_lost_end_time_is_divided_without_rest),
          TEST_CASE(what_may_go_on_stays_open), TEST_CASE(step_numbers_of_any_size))
