/*
 * Random marks: each stretch comes out once, in order, with a label that its innermost mark allows;
 * what is settled early is what would be settled at the end; a guess leaves no trace; and the
 * window stays as small as it was told to.
 */
#include <stdlib.h>
#include <string.h>

#include "marks.h"
#include "test.h"

enum { MAX_MARKS = 20000, DEPTH = 12 };

struct out { /* of one run */
    int64_t begins[MAX_MARKS * 2];
    int64_t steps[MAX_MARKS * 2];
    uint8_t labels[MAX_MARKS * 2];
    size_t count;
};

enum way { AT_THE_END, AT_EACH_MARK, WITH_GUESSES, SMALL_WINDOW };

static uint64_t seed;

static uint64_t pick(uint64_t n)
{
    return test_random(&seed) % n;
}

static void check_label(const struct labels *labels, const struct label_stretch *stretch)
{
    const struct label_node *node = label_node(labels, stretch->node);
    REQUIRE(stretch->label < LABEL_COUNT);
    if (!stretch->node || node->kind == LABEL_USER)
        return;
    if (node->kind == MARK_BACKWARD)
        CHECK_INT(stretch->label, LABEL_BACKWARD);
    if (node->kind == MARK_ZERO_GRAD)
        CHECK_INT(stretch->label, LABEL_ZERO_GRAD);
    if (node->kind == MARK_FORWARD && node->under_backward)
        CHECK_INT(stretch->label, LABEL_RECOMPUTE);
    if (node->kind == MARK_FORWARD && !node->under_backward && node->flags & MARK_F_GRAD)
        CHECK(stretch->label == LABEL_FORWARD || stretch->label == LABEL_LOSS ||
              stretch->label == LABEL_EVAL);
}

static void take(struct labels *labels, struct out *out)
{
    for (; labels->settled; label_pop(labels)) {
        const struct label_stretch *stretch = label_at(labels, 0);
        check_label(labels, stretch);
        REQUIRE(out->count < MAX_MARKS * 2);
        out->begins[out->count] = stretch->begin_seq;
        out->labels[out->count] = stretch->label;
        out->steps[out->count++] = stretch->step;
    }
}

/* What label_guess says goes behind what was taken out already. */
static void take_guess(struct labels *labels, struct out *out)
{
    label_guess(labels);
    for (size_t i = 0; i < labels->count; i++) {
        out->begins[out->count] = label_at(labels, i)->begin_seq;
        out->labels[out->count] = label_at(labels, i)->label;
        out->steps[out->count++] = label_at(labels, i)->step;
    }
}

static struct label_mark random_mark(void)
{
    static const uint8_t kinds[] = {MARK_FORWARD,   MARK_FORWARD,   MARK_FORWARD,
                                    MARK_FORWARD,   MARK_BACKWARD,  MARK_ZERO_GRAD,
                                    MARK_OPTIMIZER, MARK_OPTIMIZER, MARK_SCALER};
    struct label_mark mark = {.kind = kinds[pick(sizeof kinds)], .thread = 1};
    mark.identity = mark.kind == MARK_BACKWARD ? 0 : 1 + pick(3);
    if (mark.kind == MARK_FORWARD) {
        mark.flags = MARK_F_GRAD | MARK_F_TRAINING | MARK_F_PARAMETERS;
        for (int i = 0; i < 3; i++)
            mark.flags ^= pick(4) ? 0 : 1u << pick(4);
    }
    return mark;
}

struct run {
    struct labels labels;
    struct label_mark open[DEPTH];
    size_t open_count;
    uint64_t users[DEPTH];
    size_t user_count;
    int64_t seq;
    int64_t *boundaries; /* where stretches began */
    size_t boundary_count;
    bool calm; /* only what wrappers do */
};

static void made(struct run *run, int64_t seq, enum label_result result)
{
    if (result == LABEL_MADE)
        run->boundaries[run->boundary_count++] = seq;
}

static void random_exit(struct run *run)
{
    size_t at = run->calm || pick(10) ? run->open_count - 1 : pick(run->open_count);
    struct label_mark mark = run->open[at];
    memmove(&run->open[at], &run->open[at + 1], (--run->open_count - at) * sizeof mark);
    mark.exception = pick(12) == 0;
    mark.flags = pick(3) ? 0 : MARK_F_ONE_ELEMENT;
    made(run, run->seq + 1, label_exit(&run->labels, &mark, run->seq + 1, run->seq * 10));
}

static void random_user(struct run *run)
{
    int64_t ns = run->seq * 10;
    if (run->user_count < DEPTH && pick(2))
        made(run, run->seq,
             label_user_begin(&run->labels, 0, 1, run->seq, ns, &run->users[run->user_count++]));
    else if (run->user_count)
        made(run, run->seq + 1,
             label_user_end(&run->labels, run->users[--run->user_count], run->seq + 1, ns));
}

static void random_event(struct run *run)
{
    uint64_t what = pick(100);
    run->seq++;
    if (!run->calm && what == 0) {
        /* It may make several: count what came. */
        size_t before = run->labels.count;
        label_drop(&run->labels, 0, run->seq, run->seq * 10);
        for (; before < run->labels.count; before++)
            run->boundaries[run->boundary_count++] = run->seq;
        run->open_count = 0;
    } else if (what < 2) {
        uint32_t thread = 1 + (pick(8) == 0);
        made(run, run->seq, label_prepare(&run->labels, thread, run->seq, run->seq * 10));
    } else if (what < 4) {
        made(run, run->seq, label_cut(&run->labels, run->seq, run->seq * 10));
    } else if (what < 10) {
        random_user(run);
    } else if (run->open_count && (run->open_count == DEPTH || what < 57)) {
        random_exit(run);
    } else {
        struct label_mark mark = random_mark();
        run->open[run->open_count++] = mark;
        made(run, run->seq, label_enter(&run->labels, &mark, run->seq, run->seq * 10));
    }
}

static void random_run(uint64_t start, enum way way, size_t marks, struct out *out,
                       struct out *guess)
{
    static int64_t boundaries[MAX_MARKS * 2];
    struct run run = {.boundaries = boundaries, .calm = way != SMALL_WINDOW};
    seed = start;
    *out = (struct out){.count = 0};
    REQUIRE(label_start(&run.labels, 1, 0));
    run.labels.limit = way == SMALL_WINDOW ? 40 : MAX_MARKS * 2;
    run.labels.next_pass = way == AT_THE_END ? run.labels.limit : 1;
    boundaries[run.boundary_count++] = 1;
    for (size_t i = 0; i < marks; i++) {
        size_t before = run.boundary_count;
        random_event(&run);
        REQUIRE(run.boundary_count >= before);
        if (way == AT_EACH_MARK || way == WITH_GUESSES)
            label_settle(&run.labels, true);
        if (way == WITH_GUESSES)
            label_guess(&run.labels);
        if (i % 64 == 0)
            CHECK(label_is_valid(&run.labels));
        CHECK(run.labels.count - run.labels.settled <= run.labels.limit + DEPTH);
        take(&run.labels, out);
    }
    if (guess) {
        memcpy(guess, out, sizeof *guess);
        take_guess(&run.labels, guess);
    }
    label_end(&run.labels);
    take(&run.labels, out);
    CHECK(label_is_valid(&run.labels));
    CHECK_INT(run.labels.count, 0);
    CHECK_INT(out->count, run.boundary_count);
    CHECK(memcmp(out->begins, boundaries, run.boundary_count * sizeof *boundaries) == 0);
    label_clear(&run.labels);
}

static void same(const struct out *a, const struct out *b, uint64_t which)
{
    REQUIRE(a->count == b->count);
    for (size_t i = 0; i < a->count; i++) {
        if (a->labels[i] == b->labels[i] && a->steps[i] == b->steps[i])
            continue;
        CHECK_INT(which, -1);
        CHECK_INT(i, -1);
        CHECK_INT(a->labels[i], b->labels[i]);
        CHECK_INT(a->steps[i], b->steps[i]);
        return;
    }
}

TEST(early_is_as_at_the_end)
{
    static struct out late, early, guessing, guess;
    for (uint64_t i = 1; i <= 300; i++) {
        size_t marks = i % 20 ? 10 + i : 1000;
        random_run(i, AT_THE_END, marks, &late, &guess);
        random_run(i, AT_EACH_MARK, marks, &early, NULL);
        same(&late, &early, i);
        random_run(i, WITH_GUESSES, marks, &guessing, NULL);
        same(&late, &guessing, i);
        same(&late, &guess, i);
    }
}

TEST(a_small_window_holds_anything)
{
    static struct out out;
    for (uint64_t i = 1; i <= 100; i++)
        random_run(i, SMALL_WINDOW, 2000, &out, NULL);
}

/* Feeds a program over and over; returns the most stretches that waited. */
static size_t repeat(const char *marks, size_t times, int64_t *steps)
{
    struct labels labels;
    struct marks_at at;
    size_t most = 0;
    marks_begin(&at, &labels, NULL, false);
    for (size_t i = 0; i < times; i++) {
        marks_feed(&at, marks);
        most = labels.count > most ? labels.count : most;
    }
    CHECK(label_is_valid(&labels));
    CHECK(labels.node_count < LABEL_WINDOW);
    label_end(&labels);
    *steps = labels.steps.number;
    marks_take(&at);
    label_clear(&labels);
    return most;
}

TEST(long_runs)
{
    int64_t steps;
    CHECK(repeat("z F() l b o", 100000, &steps) < 200);
    CHECK_INT(steps, 99999 + 1);
    CHECK(repeat("z f l b O1() z F2() l b O2()", 50000, &steps) < 200);
    CHECK_INT(steps, 49999 + 1);
    /* a teacher that never runs with gradients: waited for once */
    CHECK(repeat("Fen2() z f l b o", 50000, &steps) <= LABEL_WINDOW);
    CHECK_INT(steps, 49999 + 1);
    /* nothing is ever settled but by force */
    CHECK(repeat("Fen()", 100000, &steps) <= LABEL_WINDOW);
    CHECK_INT(steps, 0);
    CHECK(repeat("z f l b", 50000, &steps) <= LABEL_WINDOW);
    CHECK_INT(steps, 49999);
}

TEST(one_mark_around_everything)
{
    struct labels labels;
    struct marks_at at;
    marks_begin(&at, &labels, NULL, false);
    marks_feed(&at, "O(");
    for (int i = 0; i < 20000; i++)
        marks_feed(&at, "z f l b");
    CHECK(labels.count <= LABEL_WINDOW && label_is_valid(&labels));
    marks_feed(&at, ")");
    label_end(&labels);
    marks_take(&at);
    CHECK(label_is_valid(&labels));
    label_clear(&labels);
}

/* What the window was too small for is decided once, and kept to. */
TEST(a_module_that_was_given_up)
{
    struct labels labels;
    struct marks_at at;
    marks_begin(&at, &labels, NULL, false);
    labels.limit = 64;
    for (int i = 0; i < 40; i++)
        marks_feed(&at, "Fen2() z f l b o");
    label_settle(&labels, true);
    marks_take(&at);
    CHECK(labels.count < 24);
    marks_feed(&at, "z F2() l b o Fen2()");
    const char *text = marks_guess(&labels);
    CHECK_STR(text + strlen(text) - 1, "e");
    label_end(&labels);
    marks_take(&at);
    label_clear(&labels);
}

TEST(too_many_open)
{
    struct labels labels;
    struct label_mark mark = {.kind = MARK_BACKWARD, .thread = 1};
    int64_t seq = 1;
    REQUIRE(label_start(&labels, 1, 0));
    for (unsigned i = 0; i < LABEL_MAX_OPEN; i++, seq++)
        CHECK_INT(label_enter(&labels, &mark, seq, seq), LABEL_MADE);
    CHECK_INT(label_enter(&labels, &mark, seq, seq), LABEL_IGNORED);
    CHECK_INT(label_exit(&labels, &mark, seq, seq), LABEL_IGNORED);
    for (unsigned i = 0; i < LABEL_MAX_OPEN; i++, seq++)
        CHECK_INT(label_exit(&labels, &mark, seq, seq), LABEL_MADE);
    CHECK_INT(label_exit(&labels, &mark, seq, seq), LABEL_NOT_OPEN);
    mark.kind = 200;
    CHECK_INT(label_enter(&labels, &mark, seq, seq), LABEL_IGNORED);
    label_end(&labels);
    struct marks_at at = {.labels = &labels};
    marks_take(&at);
    CHECK(label_is_valid(&labels));
    label_clear(&labels);
}

TEST(threads_leave_in_any_order)
{
    struct labels labels;
    struct label_mark first = {.kind = MARK_FORWARD,
                               .flags = MARK_F_GRAD | MARK_F_PARAMETERS | MARK_F_TRAINING,
                               .identity = 1,
                               .thread = 1};
    struct label_mark second = {.kind = MARK_BACKWARD, .thread = 2};
    REQUIRE(label_start(&labels, 1, 0));
    CHECK_INT(label_enter(&labels, &first, 1, 10), LABEL_MADE);
    CHECK_INT(label_enter(&labels, &second, 2, 20), LABEL_MADE);
    CHECK_INT(label_exit(&labels, &first, 4, 30), LABEL_MADE);
    CHECK_INT(label_exit(&labels, &second, 6, 40), LABEL_MADE);
    label_end(&labels);
    static const uint8_t want[] = {LABEL_OTHER, LABEL_FORWARD, LABEL_BACKWARD, LABEL_BACKWARD};
    REQUIRE(labels.settled == 5);
    for (size_t i = 0; i < sizeof want; i++)
        CHECK_INT(label_at(&labels, i)->label, want[i]);
    struct marks_at at = {.labels = &labels};
    marks_take(&at);
    CHECK(label_is_valid(&labels));
    label_clear(&labels);
}

TEST_MAIN(TEST_CASE(early_is_as_at_the_end), TEST_CASE(a_small_window_holds_anything),
          TEST_CASE(long_runs), TEST_CASE(one_mark_around_everything),
          TEST_CASE(a_module_that_was_given_up), TEST_CASE(too_many_open),
          TEST_CASE(threads_leave_in_any_order))
