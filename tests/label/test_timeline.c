/* Phases as rows, from events: how they nest and merge, their numbers, what is there before a
 * recorder is killed. */
#include <string.h>

#include "phases.h"
#include "state_process.h"
#include "test.h"
#include "timeline.h"

static void check(const char *marks, bool flushes, const char *want)
{
    struct phases_feed feed;
    phases_begin(&feed);
    feed.flushes = flushes;
    phases_marks(&feed, marks);
    phases_end(&feed);
    CHECK_STR(phases_text(&feed.rows, 1), want);
    CHECK_INT(rows_lost(&feed.rows, "fact"), 0);
    phases_clear(&feed);
}

#define PHASES(marks, want)                                                                        \
    do {                                                                                           \
        check(marks, false, want);                                                                 \
        check(marks, true, want);                                                                  \
    } while (0)

TEST(nested_and_merged)
{
    PHASES("2{z f l b o}", ". 0: z . f l b a o 1: . z . f l b a o -: .");
    PHASES("z F1() F2() l B( F5() F6() ) o", ". 0: z . f l b( r r ) a o -: .");
    PHASES("O( z f l b z f l b )", ". 0: o( z f l b z f l b ) -: .");
    PHASES("z f l b S(O())", ". 0: z . f l b a o -: .");
    PHASES("F( B() ) l b o", ". 0: f( b ) l b a o -: .");
    PHASES("z F()! z f l B()! f", ". 0: z . f! . z . f l b! . f .");
}

TEST(phases_of_the_program)
{
    PHASES("2{U( z f l b o )}", ". 0: U( z f l b a o ) 1: . U( z f l b a o ) -: .");
    PHASES("U( 2{z f l b o} )", ". U( z f l b a o z f l b a o ) .");
    PHASES("z F( U() ) U( l ) b o", ". 0: z . f( U ) l U( l ) l b a o -: .");
    PHASES("z f l B( U( F5() ) ) O( U( f ) )", ". 0: z . f l b( U( r ) ) a o( U( f ) ) -: .");
}

TEST(marks_that_are_left_open)
{
    PHASES("z f l B( F5(", ". 0: z . f l b( r )");
}

/* begin_seq, end_seq and ordinals */
TEST(numbers)
{
    struct phases_feed feed;
    phases_begin(&feed);
    feed.bytes = 0;
    phases_marks(&feed, "z f z");
    /* The gaps had no events, but time passed: each has a number of its own. */
    phases_end(&feed);
    CHECK_STR(phases_text(&feed.rows, 1), ". 0: z . f . z");
    static const int64_t want[][3] = {{1, 1, 0}, {2, 3, 0}, {4, 4, 0},
                                      {5, 6, 0}, {7, 7, 1}, {8, 9, 1}};
    static const char *const names[] = {"other",   "zero_grad", "other",
                                        "forward", "other",     "zero_grad"};
    size_t nth[2] = {0};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        size_t *at = strcmp(names[i], "other") ? &nth[1] : &nth[0];
        bool forward = strcmp(names[i], "forward") == 0;
        const struct row *row = rows_phase(&feed.rows, names[i], forward ? 0 : (*at)++);
        REQUIRE(row != NULL);
        CHECK_INT(row->at[PHASE_BEGIN_SEQ], want[i][0]);
        CHECK_INT(row->at[PHASE_END_SEQ], want[i][1]);
        CHECK_INT(row->at[PHASE_ORDINAL], want[i][2]);
    }
    phases_clear(&feed);
}

/* How long after its begin the forward ends, and the run. */
static void check_ends(struct phases_feed *feed, int64_t forward, int64_t last)
{
    phases_end(feed);
    CHECK_STR(phases_text(&feed->rows, 1), ". 0: z . n .");
    const struct row *row = rows_phase(&feed->rows, "forward (no grad)", 0);
    const struct row *other = rows_phase(&feed->rows, "other", 2);
    REQUIRE(row && other);
    CHECK_INT(row->at[PHASE_END_NS] - row->at[PHASE_BEGIN_NS], forward);
    CHECK_STR(row->text[PHASE_ENDED], "end");
    CHECK_INT(other->at[PHASE_BEGIN_NS], row->at[PHASE_END_NS]);
    CHECK_INT(other->at[PHASE_END_NS] - row->at[PHASE_BEGIN_NS], last);
    CHECK_STR(other->text[PHASE_ENDED], "process end");
    CHECK_INT(other->at[PHASE_BEGIN_SEQ], row->at[PHASE_END_SEQ] + 1);
    phases_clear(feed);
}

/* Each event comes 10 ns after the one before. */
TEST(the_last_forward_is_over_behind_what_goes_at_once)
{
    struct phases_feed feed;
    for (int frees = 0; frees < 3; frees++) {
        phases_begin(&feed);
        feed.bytes = 0;
        for (uint64_t i = 1; i <= 2; i++)
            feed_alloc(&feed.feed, feed.heap, i << 20, 8);
        phases_marks(&feed, "z Fn()");
        for (int i = 1; i <= frees; i++) {
            feed.feed.now += (uint64_t)TIMELINE_AT_ONCE_NS - (i == 1 ? 10 : 0);
            feed_free(&feed.feed, feed.heap, (uint64_t)i << 20);
        }
        feed.feed.now += 5000;
        int64_t forward = 10 + (frees ? TIMELINE_AT_ONCE_NS : 0);
        check_ends(&feed, forward, forward + 5000 + (frees > 1 ? TIMELINE_AT_ONCE_NS + 10 : 0));
    }
}

TEST(own_steps_win)
{
    struct phases_feed feed;
    phases_begin(&feed);
    for (uint64_t step = 7; step < 9; step++) {
        feed_step(&feed.feed, step);
        phases_marks(&feed, "z f l b o");
        feed_event(&feed.feed, (struct event){.kind = EVENT_STEP_END});
    }
    phases_end(&feed);
    CHECK_STR(phases_text(&feed.rows, 1), ". 7: . z . f l b a o . -: . 8: . z . f l b a o .");
    phases_clear(&feed);
}

static void the_program_is_over(struct phases_feed *feed)
{
    feed_event(&feed->feed, (struct event){.kind = EVENT_STEP_END, .a = 1});
    for (uint64_t i = 0; i < 3; i++)
        feed_alloc(&feed->feed, feed->heap, (i + 1) << 30, 8);
}

static void check_over(const char *marks, const char *late, bool flushes, const char *want)
{
    struct phases_feed feed;
    phases_begin(&feed);
    feed.flushes = flushes;
    phases_marks(&feed, marks);
    the_program_is_over(&feed);
    phases_marks(&feed, late);
    phases_end(&feed);
    CHECK_STR(phases_text(&feed.rows, 1), want);
    CHECK_INT(rows_anomalies(&feed.rows, "step end without begin"), 0);
    CHECK_INT(rows_lost(&feed.rows, "fact"), 0);
    phases_clear(&feed);
}

/* What an interpreter lets go as it ends is no step's. */
TEST(no_step_goes_beyond_the_program)
{
    for (int flushes = 0; flushes < 2; flushes++) {
        check_over("z f l b o", "", flushes, ". 0: z . f l b a o -: .");
        check_over("z f l b o z", "", flushes, ". 0: z . f l b a o -: . z .");
        check_over("z f", "", flushes, ". 0: z . f . -: .");
        check_over("z f U(", ")", flushes, ". 0: z . f . U -: .");
        check_over("z f l b o", "z f l b o", flushes, ". 0: z . f l b a o -: . z . f l b a o .");
        check_over("", "", flushes, ".");
    }
}

TEST(the_own_step_ends_with_the_program)
{
    struct phases_feed feed;
    phases_begin(&feed);
    feed_step(&feed.feed, 7);
    phases_marks(&feed, "z f");
    the_program_is_over(&feed);
    feed_event(&feed.feed, (struct event){.kind = EVENT_STEP_END, .a = 1});
    phases_end(&feed);
    CHECK_STR(phases_text(&feed.rows, 1), ". 7: . z . f . -: .");
    CHECK_INT(rows_anomalies(&feed.rows, "step end without begin"), 0);
    phases_clear(&feed);
}

/* A recorder that is killed leaves what the last commit had. */
TEST(what_a_commit_leaves)
{
    struct phases_feed feed;
    phases_begin(&feed);
    phases_marks(&feed, "z f l b o Fen2() z F(");
    feed_flush(&feed.feed);
    CHECK_STR(phases_text(&feed.rows, 1), ". 0: z . f l b a o 1: . n . z . f*");
    phases_marks(&feed, ") l B(");
    feed_flush(&feed.feed);
    CHECK_STR(phases_text(&feed.rows, 1), ". 0: z . f l b a o 1: . n . z . f l b*");
    /* the module that was guessed to run without gradients only does not */
    phases_marks(&feed, ") o F2() l b o");
    feed_flush(&feed.feed);
    CHECK_STR(phases_text(&feed.rows, 1),
              ". 0: z . f l b a o -: . e 1: . z . f l b a o 2: . f l b a o -: .*");
    phases_end(&feed);
    phases_clear(&feed);
}

static bool same_row(const struct row *a, const struct row *b)
{
    for (size_t i = 0; i < ROW_CELLS; i++) {
        bool text = a->text[i] && b->text[i];
        if (a->at[i] != b->at[i] || (!a->text[i]) != (!b->text[i]) ||
            (text && strcmp(a->text[i], b->text[i]) != 0))
            return false;
    }
    return true;
}

/* All rows of one are rows of the other. */
static void check_same(const struct rows *a, const struct rows *b, enum sch_statement table,
                       size_t keys)
{
    CHECK_INT(a->tables[table].count, b->tables[table].count);
    for (size_t i = 0; i < a->tables[table].count; i++) {
        const struct row *row = &a->tables[table].rows[i];
        const struct row *other = rows_find(b, table, keys, row->at);
        CHECK(other != NULL && same_row(row, other));
    }
}

/* Rows that are settled, and where they are, to their numbers. */
TEST(what_is_settled_does_not_tell_of_commits)
{
    static const char *const texts[] = {"2{z f l b o Fen2()} z F() F2(", "U( U() U( ) ) U()",
                                        "z F() l B( F() ) o O( z f l b )", ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        static struct phases_feed often, never;
        phases_begin(&often);
        phases_begin(&never);
        often.flushes = true;
        phases_marks(&often, texts[i]);
        phases_marks(&never, texts[i]);
        phases_end(&often);
        phases_end(&never);
        check_same(&often.rows, &never.rows, SCH_PHASE, 1);
        check_same(&often.rows, &never.rows, SCH_PHASE_DEVICE, 2);
        check_same(&often.rows, &never.rows, SCH_STRETCH, 2);
        phases_clear(&often);
        phases_clear(&never);
    }
}

/* A program without marks: each phase is settled as soon as something comes behind it. */
TEST(without_marks_nothing_waits)
{
    struct phases_feed feed;
    phases_begin(&feed);
    phases_marks(&feed, "U( U() U( )");
    feed_flush(&feed.feed);
    const struct row *outer = rows_phase(&feed.rows, "mine", 0);
    const struct row *first = rows_phase(&feed.rows, "mine", 1);
    const struct row *second = rows_phase(&feed.rows, "mine", 2);
    REQUIRE(outer && first && second);
    CHECK_INT(outer->at[PHASE_SETTLED], ROW_NULL);
    CHECK_INT(outer->at[PHASE_END_SEQ], ROW_NULL);
    CHECK(first->at[PHASE_SETTLED] != ROW_NULL && second->at[PHASE_SETTLED] != ROW_NULL);
    for (size_t i = 0; i < feed.rows.tables[SCH_PHASE].count; i++)
        CHECK(feed.rows.tables[SCH_PHASE].rows[i].at[0] < DB_LOOSE_PHASE);
    phases_end(&feed);
    CHECK(rows_phase(&feed.rows, "mine", 0)->at[PHASE_SETTLED] != ROW_NULL);
    phases_clear(&feed);
}

/* What may change has an id that nobody keeps. */
TEST(what_waits_for_a_mark_is_loose)
{
    struct phases_feed feed;
    phases_begin(&feed);
    phases_marks(&feed, "z f l b o f");
    feed_flush(&feed.feed);
    const struct row *forward = rows_phase(&feed.rows, "forward", 1);
    REQUIRE(forward && rows_phase(&feed.rows, "forward", 0));
    CHECK(rows_phase(&feed.rows, "forward", 0)->at[PHASE_SETTLED] != ROW_NULL);
    CHECK_INT(forward->at[PHASE_SETTLED], ROW_NULL);
    CHECK(forward->at[0] >= DB_LOOSE_PHASE);
    phases_marks(&feed, "l b o z f l b o");
    feed_flush(&feed.feed);
    CHECK(rows_phase(&feed.rows, "forward", 1)->at[0] < DB_LOOSE_PHASE);
    phases_end(&feed);
    for (size_t i = 0; i < feed.rows.tables[SCH_PHASE].count; i++)
        CHECK(feed.rows.tables[SCH_PHASE].rows[i].at[0] < DB_LOOSE_PHASE);
    phases_clear(&feed);
}

/* Blocks of a stack with the function in which PyTorch makes a backward's first gradients. */
static int64_t first_gradients(struct phases_feed *feed, int count, const char *file)
{
    struct feed *to = &feed->feed;
    struct arena_frame frames[2] = {
        {.function = feed_string(to, "_make_grads"), .file = feed_string(to, file), .line = 51},
        {.function = feed_string(to, "train"), .file = feed_string(to, "train.py"), .line = 7}};
    uint32_t numbers[2];
    for (int i = 0; i < 2; i++)
        numbers[i] = feed_define(to, ARENA_FRAME, &frames[i], sizeof frames[i]);
    uint32_t site = feed_define(to, ARENA_SITE, numbers, sizeof numbers);
    int64_t first = 0;
    for (int i = 0; i < count; i++) {
        struct event event = {.kind = EVENT_BLOCK_ALLOC, .heap = feed->heap & EVENT_MAX_HEAP};
        event.addr = feed->address += 0x1000;
        event.size = 512;
        event.site = site;
        int64_t seq = feed_event(to, event);
        first = first ? first : seq;
    }
    return first;
}

/* The innermost phase at an event. */
static const struct row *phase_at(const struct rows *rows, int64_t seq)
{
    const struct row *found = NULL;
    for (size_t i = 0; i < rows->tables[SCH_PHASE].count; i++) {
        const struct row *row = &rows->tables[SCH_PHASE].rows[i];
        if (row->at[PHASE_BEGIN_SEQ] <= seq && seq <= row->at[PHASE_END_SEQ] &&
            (!found || row->at[PHASE_BEGIN_SEQ] >= found->at[PHASE_BEGIN_SEQ]))
            found = row;
    }
    return found;
}

static const char torch_file[] = "/x/site-packages/torch/autograd/__init__.py";

static void check_gradients(const char *before, int count, const char *file, const char *after,
                            bool flushes, const char *phase, const char *want)
{
    struct phases_feed feed;
    phases_begin(&feed);
    feed.flushes = flushes;
    phases_marks(&feed, before);
    int64_t first = first_gradients(&feed, count, file);
    phases_marks(&feed, after);
    phases_end(&feed);
    CHECK_STR(phases_text(&feed.rows, 1), want);
    for (int64_t seq = first; seq < first + count; seq++) {
        const struct row *row = phase_at(&feed.rows, seq);
        REQUIRE(row != NULL);
        CHECK_STR(row->text[PHASE_NAME], phase);
        CHECK(strcmp(phase, "backward") != 0 || row->at[PHASE_BEGIN_SEQ] == first);
    }
    phases_clear(&feed);
}

TEST(the_first_gradient_is_the_backwards)
{
    static const char usual[] = ". 0: z . f l b a o -: .";
    for (int flushes = 0; flushes < 2; flushes++) {
        for (int count = 1; count < 3; count++)
            check_gradients("z f l", count, torch_file, "b o", flushes, "backward", usual);
        check_gradients("z f", 1, torch_file, "b o", flushes, "backward", usual);
        check_gradients("z f l", 1, torch_file, "B(F5())! z", flushes, "backward",
                        ". 0: z . f l b!( r ) . z .");
        check_gradients("O( z f l", 1, torch_file, "b )", flushes, "backward",
                        ". 0: o( z f l b ) -: .");
        check_gradients("U( z f l", 1, torch_file, "b ) o", flushes, "backward",
                        ". 0: U( z f l b a ) a o -: .");
    }
}

TEST(what_no_backward_follows_stays_what_it_was)
{
    static const char usual[] = ". 0: z . f l b a o -: .";
    for (int flushes = 0; flushes < 2; flushes++) {
        check_gradients("z f l", 1, "train.py", "b o", flushes, "loss", usual);
        check_gradients("z f", 1, torch_file, "l b o", flushes, "loss", usual);
        check_gradients("z F(", 1, torch_file, "b ) l b o", flushes, "forward",
                        ". 0: z . f( b ) l b a o -: .");
        check_gradients("z f l", 1, torch_file, "", flushes, "other", ". 0: z . f l .");
    }
}

/* A batch that no room was left for, behind a zero_grad: that was a step. */
TEST(a_refusal_is_part_of_a_step)
{
    for (int refused = 0; refused < 2; refused++) {
        struct phases_feed feed;
        phases_begin(&feed);
        phases_marks(&feed, "z f l b o z");
        if (refused)
            feed_event(&feed.feed, (struct event){.kind = EVENT_OOM, .size = 1 << 20});
        feed_event(&feed.feed, (struct event){.kind = EVENT_STEP_END, .a = 1});
        phases_end(&feed);
        CHECK_STR(phases_text(&feed.rows, 1),
                  refused ? ". 0: z . f l b a o 1: . z ." : ". 0: z . f l b a o -: . z .");
        phases_clear(&feed);
    }
}

TEST(a_thread_beside)
{
    struct phases_feed feed;
    phases_begin(&feed);
    phases_marks(&feed, "z");
    feed.feed.thread = 200;
    feed_phase(&feed.feed, feed.name);
    int64_t seq = feed_alloc(&feed.feed, feed.heap, 0x10000, 8);
    feed.feed.thread = 100;
    phases_marks(&feed, "f l b o");
    feed.feed.thread = 200;
    feed_phase_end(&feed.feed, feed.name);
    phases_end(&feed);
    CHECK_STR(phases_text(&feed.rows, 1), ". 0: z . -: U 0: f l b a o -: .");
    const struct row *own = rows_phase(&feed.rows, "mine", 0);
    CHECK_STR(own->text[PHASE_SCOPE], "thread");
    const struct row *block = rows_find(&feed.rows, SCH_ALLOCATION_PHASE, 1, &seq);
    REQUIRE(block != NULL);
    CHECK_INT(block->at[1], own->at[0]);
    phases_clear(&feed);
}

TEST(phases_that_were_open_before)
{
    struct phases_feed feed;
    phases_begin(&feed);
    phases_marks(&feed, "U( U( z f ) l b o )");
    phases_end(&feed);
    CHECK_STR(phases_text(&feed.rows, 1), ". 0: U( U( z f l ) l b a o ) -: .");
    phases_clear(&feed);
}

TEST(a_thread_that_is_gone)
{
    struct phases_feed feed;
    uint32_t threads[4];
    phases_begin(&feed);
    phases_marks(&feed, "z f B( F5(");
    CHECK_INT(state_open_threads(feed.feed.process, threads, 4), 1);
    CHECK_INT(threads[0], 100);
    state_thread_end(feed.feed.process, 100, feed.feed.now);
    CHECK_INT(state_open_threads(feed.feed.process, threads, 4), 0);
    feed.sink.open_count = 0;
    phases_marks(&feed, "z f l b o");
    phases_end(&feed);
    CHECK_STR(phases_text(&feed.rows, 1), ". 0: z . f l b!( r ) . z . f l b a o -: .");
    CHECK_INT(rows_anomalies(&feed.rows, "mark end without begin"), 0);
    phases_clear(&feed);
}

TEST(marks_that_were_lost)
{
    struct phases_feed feed;
    phases_begin(&feed);
    phases_marks(&feed, "z F(");
    struct state_loss loss = {.first_ns = feed.feed.now, .last_ns = feed.feed.now};
    loss.by_kind[EVENT_EXIT] = 3;
    state_lost(feed.feed.process, &loss);
    feed.sink.open_count = 0;
    phases_marks(&feed, "z f l b o");
    feed_event(&feed.feed, (struct event){.kind = EVENT_EXIT, .size = MARK_FORWARD, .a = 1});
    phases_end(&feed);
    CHECK_STR(phases_text(&feed.rows, 1), ". 0: z . f! . z . f l b a o -: .");
    CHECK_INT(rows_anomalies(&feed.rows, "mark end without begin"), 1); /* how many, not which */
    phases_clear(&feed);
}

TEST(where_the_peak_was)
{
    struct phases_feed feed;
    struct state_totals totals;
    phases_begin(&feed);
    phases_marks(&feed, "z f l b o z F() U(");
    feed_alloc(&feed.feed, feed.heap, 0x100000, 1 << 20);
    feed_free(&feed.feed, feed.heap, 0x100000);
    phases_marks(&feed, ") F(");
    feed_alloc(&feed.feed, feed.heap, 0x100000, 2 << 20);
    feed_free(&feed.feed, feed.heap, 0x100000);
    phases_marks(&feed, ")1 b o");
    phases_end(&feed);
    state_totals(feed.feed.state, &totals);
    CHECK_STR(totals.peak_phase, "forward");
    CHECK_INT(totals.peak_step, 1);
    phases_clear(&feed);
}

/* It is of no step, and named with the one it ran after. */
TEST(a_peak_in_an_evaluation)
{
    struct phases_feed feed;
    struct state_totals totals;
    phases_begin(&feed);
    phases_marks(&feed, "f l b o z f l b o Fen(");
    feed_alloc(&feed.feed, feed.heap, 0x100000, 1 << 20);
    feed_free(&feed.feed, feed.heap, 0x100000);
    phases_marks(&feed, ") z f l b o z");
    phases_end(&feed);
    state_totals(feed.feed.state, &totals);
    CHECK_STR(totals.peak_phase, "eval");
    CHECK_INT(totals.peak_step, 1);
    phases_clear(&feed);
}

TEST(ends_of_nothing)
{
    struct phases_feed feed;
    phases_begin(&feed);
    feed_event(&feed.feed, (struct event){.kind = EVENT_EXIT, .size = MARK_FORWARD});
    feed_event(&feed.feed, (struct event){.kind = EVENT_ENTER, .size = 77});
    feed_event(&feed.feed, (struct event){.kind = EVENT_EXIT, .size = 77});
    phases_marks(&feed, "z");
    phases_end(&feed);
    CHECK_STR(phases_text(&feed.rows, 1), ". 0: z .");
    CHECK_INT(rows_anomalies(&feed.rows, "unknown event"), 2);
    CHECK_INT(rows_anomalies(&feed.rows, "mark end without begin"), 1);
    phases_clear(&feed);
}

TEST(sources)
{
    struct phases_feed feed;
    phases_begin(&feed);
    uint32_t texts[] = {feed_string(&feed.feed, "torch"), feed_string(&feed.feed, "python stacks"),
                        feed_string(&feed.feed, "no CUDA"), feed_string(&feed.feed, "no history")};
    for (size_t i = 0; i < 8; i++)
        feed_event(&feed.feed, (struct event){.kind = EVENT_MARK,
                                              .flags = EVENT_F_SOURCE,
                                              .name = texts[i % 4],
                                              .a = i % 4 > 1});
    phases_end(&feed);
    const struct row *row = rows_find(&feed.rows, SCH_PROCESS, 1, (const int64_t[]){1});
    CHECK_STR(row->text[11], "python stacks, torch");
    CHECK_STR(row->text[12], "no CUDA; no history");
    CHECK_INT(feed.rows.tables[SCH_MARK].count, 0);
    phases_clear(&feed);
}

/* What `--steps` counts: updates by each optimizer, whatever came before the first of them. */
static void steps_are(const char *marks, uint64_t want)
{
    struct phases_feed feed;
    struct state_totals totals;
    phases_begin(&feed);
    phases_marks(&feed, marks);
    state_totals(feed.feed.state, &totals);
    CHECK_INT(totals.steps, want);
    phases_end(&feed);
    phases_clear(&feed);
}

TEST(steps_are_updates)
{
    steps_are("z f l b", 0);
    steps_are("z f l b o", 1);
    steps_are("f l z b o z f l b o", 2);
    steps_are("2{z f l b o} f l b", 2); /* the backward of a third */
    steps_are("3{z f l b o}", 3);
}

TEST_MAIN(TEST_CASE(steps_are_updates), TEST_CASE(nested_and_merged),
          TEST_CASE(phases_of_the_program), TEST_CASE(marks_that_are_left_open), TEST_CASE(numbers),
          TEST_CASE(the_last_forward_is_over_behind_what_goes_at_once), TEST_CASE(own_steps_win),
          TEST_CASE(what_is_settled_does_not_tell_of_commits),
          TEST_CASE(without_marks_nothing_waits), TEST_CASE(what_waits_for_a_mark_is_loose),
          TEST_CASE(no_step_goes_beyond_the_program), TEST_CASE(the_own_step_ends_with_the_program),
          TEST_CASE(what_a_commit_leaves), TEST_CASE(the_first_gradient_is_the_backwards),
          TEST_CASE(what_no_backward_follows_stays_what_it_was),
          TEST_CASE(a_refusal_is_part_of_a_step), TEST_CASE(a_thread_beside),
          TEST_CASE(phases_that_were_open_before), TEST_CASE(a_thread_that_is_gone),
          TEST_CASE(marks_that_were_lost), TEST_CASE(where_the_peak_was),
          TEST_CASE(a_peak_in_an_evaluation), TEST_CASE(ends_of_nothing), TEST_CASE(sources))
