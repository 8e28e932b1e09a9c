/* Ranges of NVTX in the recorder: beside a framework's marks, steps, threads, domains, bounds. */
#include "range.h"

#include <string.h>

#include "mem.h"
#include "phases.h"
#include "state_process.h"
#include "state_types.h"
#include "test.h"

static struct phases_feed feed;

static void begin(void)
{
    phases_begin(&feed);
    feed.feed.thread = 7;
}

static void end(void)
{
    REQUIRE(state_is_valid(feed.feed.state));
    phases_end(&feed);
}

static const char *text(void)
{
    return phases_of_thread(&feed.rows, 1, 0);
}

static void on(uint32_t thread)
{
    feed.feed.thread = thread;
}

/* `number` < 0: none. */
static void nvtx(enum event_kind kind, unsigned flags, const char *domain, const char *name,
                 int64_t number, uint64_t id)
{
    struct event event = {
        .kind = (uint8_t)kind,
        .flags = (uint8_t)(EVENT_F_DOMAIN | flags | (number >= 0 ? EVENT_F_NUMBER : 0)),
        .name = name ? feed_string(&feed.feed, name) : 0,
        .addr = domain ? feed_string(&feed.feed, domain) : 0,
        .size = number >= 0 ? (uint64_t)number : 0,
        .b = id,
    };
    feed_event(&feed.feed, event);
    REQUIRE(state_is_valid(feed.feed.state));
}

static void push(const char *name, int64_t number)
{
    nvtx(EVENT_PHASE_BEGIN, 0, NULL, name, number, 0);
}

static void pop(void)
{
    nvtx(EVENT_PHASE_END, 0, NULL, NULL, -1, 0);
}

static const struct row *phase(const char *name)
{
    const struct row *row = rows_phase(&feed.rows, name, 0);
    REQUIRE(row != NULL);
    return row;
}

static void check_phase(const char *name, const char *kind, int64_t step, const char *scope)
{
    const struct row *row = phase(name);
    CHECK_STR(row->text[PHASE_KIND], kind);
    CHECK_INT(row->at[PHASE_STEP], step);
    CHECK_STR(row->text[PHASE_SCOPE], scope);
}

/* ---- kinds ---- */

TEST(known_names_are_kinds)
{
    begin();
    push("Forward Pass", -1);
    push("layer ", 3);
    pop();
    pop();
    nvtx(EVENT_PHASE_BEGIN, 0, "cuDNN", "backward", -1, 0);
    nvtx(EVENT_PHASE_END, 0, "cuDNN", NULL, -1, 0);
    end();
    check_phase("Forward Pass", "forward", ROW_NULL, "process");
    check_phase("layer 3", "user", ROW_NULL, "process");
    check_phase("backward", "user", ROW_NULL, "thread"); /* a library's is a name and no more */
    CHECK_STR(phase("backward")->text[PHASE_DOMAIN], "cuDNN");
    CHECK(phase("layer 3")->text[PHASE_DOMAIN] == NULL);
    phases_clear(&feed);
}

TEST(marks_know_better)
{
    begin();
    push("forward", -1); /* its own kind, until the first mark comes inside of it */
    phases_marks(&feed, "f");
    pop();
    push("backward", -1);
    phases_marks(&feed, "l b");
    pop();
    phases_marks(&feed, "o");
    push("optimizer", -1);
    phases_marks(&feed, "o");
    pop();
    end();
    CHECK_STR(text(), ". 0: U( f l ) l U( l b a ) a o 1: . U( o )");
    const struct row *row;
    for (size_t i = 0; (row = rows_phase(&feed.rows, "forward", i)); i++)
        if (row->at[PHASE_PARENT] == ROW_NULL)
            CHECK_STR(row->text[PHASE_KIND], "user");
    CHECK_INT(rows_anomalies(&feed.rows, "phase unbalanced"), 0);
    phases_clear(&feed);
}

/* ---- steps ---- */

static void one_step(const char *name, int64_t number)
{
    push(name, number);
    push("fwd", -1);
    pop();
    pop();
}

static int64_t step_of(size_t nth)
{
    const struct row *row = rows_phase(&feed.rows, "fwd", nth);
    REQUIRE(row != NULL);
    return row->at[PHASE_STEP];
}

TEST(steps_never_go_back)
{
    static const int64_t said[] = {5, 6, 9, 0, 1, 0, 20}, want[] = {5, 6, 9, 10, 11, 12, 32};
    begin();
    for (size_t i = 0; i < 7; i++)
        one_step("iteration ", said[i]);
    end();
    for (size_t i = 0; i < 7; i++)
        CHECK_INT(step_of(i), want[i]);
    CHECK(rows_phase(&feed.rows, "iteration 5", 0) == NULL);
    phases_clear(&feed);
}

/* What goes on from the last one has an end: no number is more than what is stored. */
TEST(steps_go_on_as_far_as_numbers_do)
{
    const int64_t most = LEDGER_MOST / 4 - 1;
    begin();
    for (int i = 0; i < 5; i++) {
        one_step("iteration ", most);
        one_step("iteration ", 0);
    }
    end();
    CHECK_INT(step_of(0), most);
    CHECK_INT(step_of(1), most + 1);
    CHECK_INT(step_of(2), most + 1 + most);
    CHECK_INT(step_of(3), most + 1 + most + 1);
    CHECK_INT(step_of(4), ROW_NULL);
    CHECK(rows_phase(&feed.rows, "iteration 0", 0) != NULL); /* a phase, as any other name */
    phases_clear(&feed);
}

TEST(what_is_no_step)
{
    begin();
    one_step("layer ", 1);
    one_step("iteration", -1);
    push("Validation", -1);
    one_step("batch ", 4);
    pop();
    one_step("batch ", 7); /* this one is */
    on(8);
    one_step("step ", 100); /* of another thread */
    on(7);
    push("step ", 8);
    one_step("micro-step ", 3);
    one_step("step ", 2); /* in another step */
    pop();
    end();
    static const int64_t want[] = {ROW_NULL, ROW_NULL, ROW_NULL, 7, ROW_NULL, 8, 8};
    for (size_t i = 0; i < 7; i++)
        CHECK_INT(step_of(i), want[i]);
    check_phase("layer 1", "user", ROW_NULL, "process");
    check_phase("batch 4", "user", ROW_NULL, "process");
    check_phase("step 100", "user", ROW_NULL, "process");
    check_phase("step 2", "user", 8, "process");
    CHECK(rows_phase(&feed.rows, "batch 7", 0) == NULL);
    CHECK(rows_phase(&feed.rows, "step 8", 0) == NULL);
    phases_clear(&feed);
}

/* Else what is around it would have all that happens in it. */
TEST(a_step_in_a_phase_is_a_phase_too)
{
    begin();
    push("epoch ", 1);
    for (int i = 0; i < 3; i++) {
        push("step_", i);
        feed_alloc(&feed.feed, feed.heap, feed.address += 0x1000, 10);
        pop();
    }
    pop();
    end();
    for (size_t i = 0; i < 3; i++) {
        const struct row *row = rows_phase(&feed.rows, "step", i);
        REQUIRE(row != NULL);
        CHECK_INT(row->at[PHASE_STEP], (int64_t)i);
        CHECK_INT(row->at[PHASE_ORDINAL], 0);
        CHECK_INT(row->at[PHASE_PARENT], phase("epoch 1")->at[0]);
    }
    phases_clear(&feed);
}

TEST(the_programs_own_steps_win)
{
    begin();
    one_step("step ", 3);
    feed_step(&feed.feed, 40);
    one_step("step ", 4);
    feed_event(&feed.feed, (struct event){.kind = EVENT_STEP_END});
    one_step("step ", 5);
    end();
    CHECK_INT(step_of(0), 3);
    CHECK_INT(step_of(1), 40);
    CHECK_INT(step_of(2), ROW_NULL);
    CHECK(rows_phase(&feed.rows, "step 4", 0) == NULL);
    phases_clear(&feed);
}

/* They count from where the ranges were; the ranges are nothing then. */
TEST(marks_take_the_steps_over)
{
    begin();
    push("iteration ", 12);
    phases_marks(&feed, "z f l b o");
    pop();
    push("iteration ", 13);
    phases_marks(&feed, "z f l b o");
    pop();
    phases_marks(&feed, "z f l b o");
    end();
    CHECK_STR(text(), ". 12: . z . f l b a o 13: . z . f l b a o 14: . z . f l b a o -: .");
    phases_clear(&feed);

    begin();
    push("step ", 3);
    push("mine", -1);
    pop();
    pop(); /* it is over when they come */
    phases_marks(&feed, "z f l b o z f l b o");
    end();
    CHECK_STR(text(), ". 3: . U . -: . 4: z . f l b a o 5: . z . f l b a o -: .");
    phases_clear(&feed);
}

/* ---- threads and domains ---- */

TEST(a_library_crosses_whom_it_likes)
{
    begin();
    push("outer", -1);
    nvtx(EVENT_PHASE_BEGIN, 0, "NCCL", "first", -1, 0);
    nvtx(EVENT_PHASE_BEGIN, 0, "NCCL", "second", -1, 0);
    nvtx(EVENT_PHASE_BEGIN, 0, "cuDNN", "conv", -1, 0);
    int64_t block = feed_alloc(&feed.feed, feed.heap, 0x500, 10);
    pop(); /* ends none of theirs */
    nvtx(EVENT_PHASE_END, 0, "NCCL", NULL, -1, 0);
    nvtx(EVENT_PHASE_END, 0, "NCCL", NULL, -1, 0);
    nvtx(EVENT_PHASE_END, 0, "cuDNN", NULL, -1, 0);
    nvtx(EVENT_PHASE_END, 0, "cuDNN", NULL, -1, 0); /* one too many */
    end();
    CHECK_INT(phase("second")->at[PHASE_PARENT], phase("first")->at[0]);
    CHECK_INT(phase("first")->at[PHASE_PARENT], phase("outer")->at[0]);
    CHECK_INT(phase("conv")->at[PHASE_PARENT], phase("outer")->at[0]);
    CHECK(phase("second")->at[PHASE_END_SEQ] < phase("first")->at[PHASE_END_SEQ]);
    CHECK_INT(rows_anomalies(&feed.rows, "phase unbalanced"), 0);
    CHECK_INT(rows_anomalies(&feed.rows, "phase end without begin"), 1);
    CHECK(rows_find(&feed.rows, SCH_ALLOCATION_PHASE, 1, &block) == NULL);
    const struct row *part = rows_phase_device(&feed.rows, phase("first")->at[0], 1);
    REQUIRE(part != NULL);
    CHECK_INT(part->at[PART_ALLOCS], 1);
    phases_clear(&feed);
}

/* A range of a thread that works for a backward does not take its blocks from it. */
TEST(blocks_of_other_threads_beside_marks)
{
    begin();
    on(9);
    push("mine", -1);
    pop();
    on(7);
    push("outer", -1);
    on(9);
    push("before", -1);
    int64_t early = feed_alloc(&feed.feed, feed.heap, 0x600, 10);
    pop();
    on(7);
    phases_marks(&feed, "f B(");
    on(9);
    push("hook", -1);
    int64_t late = feed_alloc(&feed.feed, feed.heap, 0x700, 10);
    pop();
    on(7);
    phases_marks(&feed, ")");
    pop();
    end();
    check_phase("hook", "user", ROW_NULL, "thread");
    CHECK(rows_find(&feed.rows, SCH_ALLOCATION_PHASE, 1, &early) != NULL);
    CHECK(rows_find(&feed.rows, SCH_ALLOCATION_PHASE, 1, &late) == NULL);
    phases_clear(&feed);
}

TEST(a_thread_that_dies_in_its_ranges)
{
    begin();
    push("step ", 1);
    push("fwd", -1);
    nvtx(EVENT_PHASE_BEGIN, 0, "NCCL", "gather", -1, 0);
    uint32_t threads[8];
    size_t count = state_open_threads(feed.feed.process, threads, 8);
    for (size_t i = 0; i < count; i++)
        CHECK_INT(threads[i], 7);
    CHECK(count > 0);
    state_thread_end(feed.feed.process, 7, feed.feed.now += 10);
    REQUIRE(state_is_valid(feed.feed.state));
    on(8);
    one_step("step ", 2); /* another may count then */
    end();
    CHECK_STR(phase("fwd")->text[PHASE_ENDED], "unbalanced");
    CHECK_STR(phase("gather")->text[PHASE_ENDED], "unbalanced");
    CHECK_INT(step_of(0), 1);
    CHECK_INT(step_of(1), 2);
    phases_clear(&feed);
}

TEST(ranges_and_calls_that_cross)
{
    uint32_t own;
    begin();
    own = feed_string(&feed.feed, "own");
    push("range", -1);
    feed_phase(&feed.feed, own);
    pop();
    feed_phase_end(&feed.feed, own);
    feed_phase(&feed.feed, own);
    push("inside", -1);
    feed_phase_end(&feed.feed, 0); /* the innermost of the program's calls */
    end();
    CHECK_STR(phase("range")->text[PHASE_ENDED], "end");
    CHECK_STR(rows_phase(&feed.rows, "own", 0)->text[PHASE_ENDED], "unbalanced");
    CHECK_STR(rows_phase(&feed.rows, "own", 1)->text[PHASE_ENDED], "end");
    CHECK_STR(phase("inside")->text[PHASE_ENDED], "unbalanced");
    CHECK_INT(rows_anomalies(&feed.rows, "phase end without begin"), 1);
    phases_clear(&feed);
}

/* ---- ranges that need not nest ---- */

TEST(free_ranges)
{
    begin();
    nvtx(EVENT_PHASE_BEGIN, EVENT_F_RANGE, NULL, "iteration ", 4, 11);
    nvtx(EVENT_PHASE_BEGIN, EVENT_F_RANGE, "copies", "forward", -1, 12);
    nvtx(EVENT_PHASE_BEGIN, EVENT_F_RANGE, NULL, "iteration ", 4, 13);
    on(8);
    nvtx(EVENT_PHASE_END, EVENT_F_RANGE, NULL, NULL, -1, 11);
    nvtx(EVENT_PHASE_END, EVENT_F_RANGE, NULL, NULL, -1, 11);
    nvtx(EVENT_PHASE_END, EVENT_F_RANGE, NULL, NULL, -1, 12);
    feed_flush(&feed.feed);
    CHECK(rows_phase(&feed.rows, "iteration 4", 1)->text[PHASE_ENDED] == NULL);
    end();
    check_phase("iteration 4", "user", ROW_NULL, "range");
    check_phase("forward", "user", ROW_NULL, "range");
    CHECK_INT(phase("iteration 4")->at[PHASE_THREAD_ID], 7);
    CHECK_STR(phase("iteration 4")->text[PHASE_ENDED], "end");
    CHECK_STR(rows_phase(&feed.rows, "iteration 4", 1)->text[PHASE_ENDED], "process end");
    CHECK_INT(rows_phase(&feed.rows, "iteration 4", 1)->at[PHASE_ORDINAL], 1);
    CHECK_INT(rows_anomalies(&feed.rows, "phase end without begin"), 1);
    CHECK(rows_phase_device(&feed.rows, phase("forward")->at[0], 1) == NULL);
    phases_clear(&feed);
}

/* ---- bounds, marks ---- */

TEST(names_are_put_together_up_to_a_bound)
{
    begin();
    uint32_t name = feed_string(&feed.feed, "request #");
    for (uint32_t i = 0; i <= RANGE_MAX_NUMBERED; i++) {
        struct event event = {.flags = EVENT_F_DOMAIN | EVENT_F_NUMBER, .name = name, .size = i};
        event.kind = EVENT_PHASE_BEGIN;
        feed_event(&feed.feed, event);
        feed_event(&feed.feed, (struct event){.kind = EVENT_PHASE_END, .flags = EVENT_F_DOMAIN});
    }
    end();
    CHECK(rows_phase(&feed.rows, "request #65535", 0) != NULL);
    CHECK(rows_phase(&feed.rows, "request #65536", 0) == NULL);
    CHECK(rows_phase(&feed.rows, "request", 0) != NULL);
    phases_clear(&feed);
}

TEST(marks_have_a_domain)
{
    begin();
    nvtx(EVENT_MARK, 0, "NCCL", "rank ", 3, 0);
    nvtx(EVENT_MARK, 0, NULL, NULL, -1, 0);
    end();
    const struct row_table *marks = &feed.rows.tables[SCH_MARK];
    REQUIRE(marks->count == 2);
    CHECK_STR(marks->rows[0].text[4], "rank 3");
    CHECK_STR(marks->rows[0].text[6], "NCCL");
    CHECK_STR(marks->rows[1].text[4], "?");
    CHECK(marks->rows[1].text[6] == NULL);
    phases_clear(&feed);
}

/* ---- anything, in any order, with and without memory ---- */

static void anything(uint64_t *seed, int events, bool with_marks)
{
    static const char *const names[] = {"step ", "forward", "eval", "layer ", "epoch ", "bwd"};
    static const char *const domains[] = {NULL, NULL, NULL, "NCCL", "cuDNN"};
    for (int i = 0; i < events; i++) {
        uint64_t dice = test_random(seed);
        const char *domain = domains[dice % 5];
        const char *name = names[dice / 5 % 6];
        int64_t number = dice / 30 % 2 ? (int64_t)(dice / 60 % 9) : -1;
        on(7 + (uint32_t)(dice / 1000 % 3));
        switch (dice / 5000 % 12) {
        case 0:
        case 1:
        case 2:
            nvtx(EVENT_PHASE_BEGIN, 0, domain, name, number, 0);
            break;
        case 3:
        case 4:
        case 5:
            nvtx(EVENT_PHASE_END, 0, domain, NULL, -1, 0);
            break;
        case 6:
            nvtx(EVENT_PHASE_BEGIN, EVENT_F_RANGE, domain, name, number, dice / 100000 % 20);
            break;
        case 7:
            nvtx(EVENT_PHASE_END, EVENT_F_RANGE, domain, NULL, -1, dice / 100000 % 20);
            break;
        case 8:
            feed_alloc(&feed.feed, feed.heap, feed.address += 0x1000, 100);
            break;
        case 9:
            if (dice / 100000 % 4 == 0)
                state_thread_end(feed.feed.process, 7 + (uint32_t)(dice / 400000 % 3),
                                 feed.feed.now);
            break;
        case 10:
            if (with_marks) {
                on(7);
                phases_marks(&feed, dice / 100000 % 2 ? "f l b" : "z o");
            }
            break;
        default:
            feed_flush(&feed.feed);
        }
        REQUIRE(state_is_valid(feed.feed.state));
    }
}

/* Phases of one stack nest, and each step has an end. */
static void check_rows(void)
{
    const struct row_table *table = &feed.rows.tables[SCH_PHASE];
    for (size_t i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];
        CHECK(row->text[PHASE_ENDED] != NULL);
        CHECK(row->at[PHASE_END_SEQ] >= row->at[PHASE_BEGIN_SEQ]);
        bool free = strcmp(row->text[PHASE_SCOPE], "range") == 0;
        CHECK(!free || (row->at[PHASE_STEP] == ROW_NULL && row->at[PHASE_PARENT] == ROW_NULL));
        CHECK(!free || rows_phase_device(&feed.rows, row->at[0], 1) == NULL);
        CHECK(!row->text[PHASE_DOMAIN] || free || strcmp(row->text[PHASE_SCOPE], "thread") == 0);
        if (row->at[PHASE_PARENT] == ROW_NULL)
            continue;
        const struct row *up = rows_find(&feed.rows, SCH_PHASE, 1, &row->at[PHASE_PARENT]);
        REQUIRE(up != NULL);
        CHECK(up->at[PHASE_BEGIN_SEQ] <= row->at[PHASE_BEGIN_SEQ]);
        const char *mine = row->text[PHASE_DOMAIN], *theirs = up->text[PHASE_DOMAIN];
        bool same = mine && theirs ? strcmp(mine, theirs) == 0 : mine == theirs;
        CHECK(!same || up->at[PHASE_THREAD_ID] != row->at[PHASE_THREAD_ID] ||
              up->at[PHASE_END_SEQ] >= row->at[PHASE_END_SEQ]);
    }
}

TEST(anything_in_any_order)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t dice = seed * 77;
        begin();
        anything(&dice, 400, seed % 2);
        end();
        check_rows();
        CHECK_INT(rows_lost(&feed.rows, "fact"), 0);
        phases_clear(&feed);
    }
}

TEST(without_memory)
{
    for (int after = 1; after < 400; after += 3) {
        uint64_t dice = (uint64_t)after;
        begin();
        anything(&dice, 60, after % 2);
        mem_fail_after(1 + after % 40);
        for (int i = 0; i < 30; i++) {
            unsigned flags = EVENT_F_DOMAIN | (i % 3 ? 0 : EVENT_F_RANGE);
            flags |= i % 5 ? EVENT_F_NUMBER : 0;
            struct event event = {
                .kind = i % 4 < 2 ? EVENT_PHASE_BEGIN : EVENT_PHASE_END,
                .flags = (uint8_t)flags,
            };
            event.name = feed.name;
            event.addr = i % 2 ? feed.name : 0;
            event.size = event.b = (uint64_t)(1000 + i);
            event.thread = (7 + (uint32_t)i % 5) & 0xffffff;
            event.time_ns = feed.feed.now += 10;
            state_event(feed.feed.process, &event);
            CHECK(range_is_valid(&feed.feed.process->phases));
        }
        mem_fail_after(0);
        CHECK(state_is_valid(feed.feed.state));
        end();
        phases_clear(&feed);
    }
}

TEST_MAIN(TEST_CASE(known_names_are_kinds), TEST_CASE(marks_know_better),
          TEST_CASE(steps_never_go_back), TEST_CASE(steps_go_on_as_far_as_numbers_do),
          TEST_CASE(what_is_no_step), TEST_CASE(a_step_in_a_phase_is_a_phase_too),
          TEST_CASE(the_programs_own_steps_win), TEST_CASE(marks_take_the_steps_over),
          TEST_CASE(a_library_crosses_whom_it_likes),
          TEST_CASE(blocks_of_other_threads_beside_marks),
          TEST_CASE(a_thread_that_dies_in_its_ranges), TEST_CASE(ranges_and_calls_that_cross),
          TEST_CASE(free_ranges), TEST_CASE(names_are_put_together_up_to_a_bound),
          TEST_CASE(marks_have_a_domain), TEST_CASE(anything_in_any_order),
          TEST_CASE(without_memory))
