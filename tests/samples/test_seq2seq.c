/*
 * The sample against two judges: the figures that the same loop printed on a GPU, within 3 %, and
 * the model's arithmetic, to the byte. The arithmetic here is written down from the formulas in
 * README.md, apart from the sample's own code. "net" is what a heap would hold that splits
 * everything off: allocated less unsplit.
 */
#include "rows.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const phases[] = {"zero_grad", "forward", "loss", "backward", "optimizer"};

/* ---- the figures of the GPU ---- */

static const struct {
    int64_t step;
    const char *phase;
    int allocated, max_allocated, reserved, max_reserved; /* MiB, cut off */
} gpu[] = {
    {-1, "beginning", 281, 281, 284, 284},    {0, "zero_grad", 281, 281, 284, 284},
    {0, "forward", 2108, 2154, 2178, 2178},   {0, "loss", 2566, 2566, 2635, 2635},
    {0, "backward", 1020, 3482, 3551, 3551},  {0, "optimizer", 1581, 3482, 3551, 3551},
    {1, "zero_grad", 1581, 3482, 3551, 3551}, {1, "forward", 2955, 3482, 3552, 3552},
    {1, "loss", 3413, 3482, 3552, 3552},      {1, "backward", 1581, 4329, 4468, 4468},
    {1, "optimizer", 1581, 4329, 4468, 4468}, {2, "zero_grad", 1581, 4329, 4468, 4468},
    {2, "forward", 2955, 4329, 4468, 4468},   {2, "loss", 3413, 4329, 4468, 4468},
    {2, "backward", 1581, 4329, 4468, 4468},  {2, "optimizer", 1581, 4329, 4468, 4468},
};

static void check_close(const char *what, size_t row, int64_t bytes, int mib)
{
    int64_t want = (int64_t)mib << 20, away = bytes > want ? bytes - want : want - bytes;
    if (100 * away > 3 * want)
        fprintf(stderr, "%s of step %" PRId64 ", %s: %" PRId64 " MiB, on the GPU %d\n", what,
                gpu[row].step, gpu[row].phase, bytes >> 20, mib);
    CHECK(100 * away <= 3 * want);
}

TEST(every_row_is_within_3_percent_of_the_gpu)
{
    struct rows rows;
    REQUIRE(rows_run(SEQ2SEQ " --csv", &rows) == 0);
    REQUIRE(rows.count == sizeof gpu / sizeof *gpu);
    for (size_t i = 0; i < rows.count; i++) {
        const struct row *row = &rows.row[i];
        CHECK_INT(row->step, gpu[i].step);
        CHECK_STR(row->phase, gpu[i].phase);
        check_close("allocated", i, row->allocated, gpu[i].allocated);
        check_close("max allocated", i, row->max_allocated, gpu[i].max_allocated);
        check_close("reserved", i, row->reserved, gpu[i].reserved);
        check_close("max reserved", i, row->max_reserved, gpu[i].max_reserved);
    }
}

/* A row of README's table: step, phase, then GPU and sample in turns. */
static bool parse_readme(char *line, int numbers[6])
{
    char *rest = line, *cell = strtok_r(line, "|", &rest);
    int cells = 0;
    for (; cell && cells < 8; cell = strtok_r(NULL, "|", &rest), cells++)
        if (cells >= 2 && sscanf(cell, "%d", &numbers[cells - 2]) != 1)
            return false;
    return cells == 8;
}

TEST(the_readme_shows_what_is_printed)
{
    struct rows rows;
    char line[512];
    size_t at = 0;
    REQUIRE(rows_run(SEQ2SEQ " --csv", &rows) == 0);
    FILE *readme = fopen(README, "r");
    REQUIRE(readme != NULL);
    while (fgets(line, sizeof line, readme)) {
        int numbers[6];
        if (*line != '|' || !parse_readme(line, numbers))
            continue;
        REQUIRE(at < rows.count);
        const struct row *row = &rows.row[at];
        const int64_t want[6] = {gpu[at].allocated,     row->allocated >> 20,
                                 gpu[at].max_allocated, row->max_allocated >> 20,
                                 gpu[at].max_reserved,  row->max_reserved >> 20};
        for (size_t i = 0; i < 6; i++)
            CHECK_INT(numbers[i], want[i]);
        at++;
    }
    fclose(readme);
    CHECK_INT(at, rows.count);
}

/* ---- the arithmetic ---- */

struct size {
    int64_t batch, length, vocab, input, hidden, attention;
};

static int64_t round_up(int64_t bytes)
{
    int64_t unit = bytes < 1 << 20 ? 512 : 128 << 10;
    return (bytes + unit - 1) / unit * unit;
}

static int64_t matrix(int64_t rows, int64_t columns)
{
    return round_up(4 * rows * columns);
}

static int64_t linear(int64_t in, int64_t out)
{
    return matrix(out, in) + matrix(out, 1);
}

static int64_t cell(int64_t in, int64_t hidden)
{
    return matrix(3 * hidden, in) + matrix(3 * hidden, hidden) + 2 * matrix(3 * hidden, 1);
}

/* All weights but the encoder's GRU. */
static int64_t other_weights(const struct size *n)
{
    return 2 * matrix(n->vocab, n->input) + cell(n->input, n->hidden) +
           cell(2 * n->hidden, n->hidden) + linear(n->hidden, n->attention) +
           linear(n->attention, 1) + linear(n->input + 3 * n->hidden, n->input) +
           linear(n->input, n->vocab) + linear(2 * n->hidden, n->attention) +
           linear(n->hidden, n->hidden);
}

/* In one flat buffer; Adam's states are one for each of its eight weights. */
static int64_t flat_gru(const struct size *n)
{
    return round_up(2 * 4 * 3 * n->hidden * (n->input + n->hidden + 2));
}

static int64_t single_gru(const struct size *n)
{
    return 2 * cell(n->input, n->hidden);
}

static int64_t logits(const struct size *n)
{
    return round_up(4 * n->batch * n->length * n->vocab);
}

/* What forward leaves for backward, logits included. */
static int64_t activations(const struct size *n)
{
    const int64_t b = n->batch, t = n->length, tokens = b * t, h = n->hidden;
    const int64_t state = round_up(4 * b * h), workspace = round_up(20 * b * h);
    int64_t encoder = round_up(4 * tokens * n->input) + 2 * round_up(8 * b * h) +
                      2 * round_up(8 * tokens * h) + round_up(48 * tokens * h);
    int64_t bridge = round_up(8 * tokens * h) + round_up(4 * tokens * n->attention) + state;
    int64_t step = round_up(4 * tokens * n->attention) + round_up(4 * tokens) +
                   round_up(8 * b * h) + 2 * workspace + 2 * state;
    /* The last state goes into the stack only, which copies it. */
    int64_t decoder =
        round_up(8 * b * (t + 1)) + round_up(4 * tokens * n->input) + t * step - state;
    int64_t generator = round_up(4 * tokens * (n->input + 3 * h)) + round_up(4 * tokens * n->input);
    return encoder + bridge + decoder + generator + logits(n);
}

static int64_t net(const struct rows *rows, int64_t step, const char *phase)
{
    const struct row *row = rows_find(rows, step, phase);
    return row->allocated - row->unsplit;
}

enum { NUMBER = 512 }; /* a tensor of one number: the loss, its total weight */

static void check_step(const struct rows *rows, const struct size *n, int64_t step)
{
    const int64_t gradients = other_weights(n) + flat_gru(n);
    const int64_t states = 2 * (other_weights(n) + single_gru(n));
    const int64_t start = net(rows, step, "zero_grad");
    const int64_t old = step ? logits(n) : 0, old_loss = step ? NUMBER : 0;
    CHECK_INT(net(rows, step, "forward"), start + activations(n) - old);
    CHECK_INT(net(rows, step, "loss") - net(rows, step, "forward"),
              logits(n) + 2 * NUMBER - old_loss);
    CHECK_INT(net(rows, step, "backward") - start,
              step ? 0 : gradients + logits(n) + NUMBER - old_loss);
    CHECK_INT(net(rows, step, "optimizer") - net(rows, step, "backward"), step ? 0 : states);
}

/* The two gradients of size L, on top of what loss left; total_weight is gone by then. Each of the
 * two may be unsplit by 1 MiB. */
static void check_peak(const struct rows *rows, const struct size *n, int64_t step)
{
    int64_t above = rows_find(rows, step, "backward")->max_allocated -
                    rows_find(rows, step, "loss")->allocated - 2 * logits(n) + NUMBER;
    CHECK(above >= 0 && above <= 2 << 20);
}

static void run_with(const struct size *n, int64_t steps, struct rows *rows)
{
    char command[512];
    snprintf(command, sizeof command,
             SEQ2SEQ " --csv --batch=%" PRId64 " --length=%" PRId64 " --vocab=%" PRId64
                     " --input=%" PRId64 " --hidden=%" PRId64 " --attention=%" PRId64
                     " --steps=%" PRId64,
             n->batch, n->length, n->vocab, n->input, n->hidden, n->attention, steps);
    REQUIRE(rows_run(command, rows) == 0);
    REQUIRE(rows->count == 1 + 5 * (size_t)steps);
}

static void check_rows(const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];
        CHECK(row->unsplit >= 0 && row->unsplit < row->allocated);
        CHECK(row->allocated <= row->max_allocated);
        CHECK(row->allocated <= row->reserved);
        CHECK(row->max_allocated <= row->max_reserved);
        CHECK_INT(row->reserved, row->max_reserved);
        if (i > 0) {
            CHECK_INT(row->step, (int64_t)(i - 1) / 5);
            CHECK_STR(row->phase, phases[(i - 1) % 5]);
            CHECK(row->max_allocated >= rows->row[i - 1].max_allocated);
        }
    }
}

static void check_size(const struct size *n, int64_t steps)
{
    struct rows rows;
    run_with(n, steps, &rows);
    check_rows(&rows);
    CHECK_INT(net(&rows, -1, "beginning"), other_weights(n) + flat_gru(n));
    CHECK_INT(net(&rows, 0, "zero_grad") - net(&rows, -1, "beginning"),
              2 * round_up(8 * n->batch * n->length));
    for (int64_t step = 0; step < steps; step++)
        check_step(&rows, n, step);
}

TEST(the_arithmetic_holds_at_the_default_size)
{
    const struct size n = {80, 50, 30000, 500, 1000, 1000};
    check_size(&n, 4);
}

TEST(the_arithmetic_holds_at_other_sizes)
{
    const struct size sizes[] = {
        {1, 1, 1, 1, 1, 1},
        {3, 4, 50, 6, 8, 5},
        {7, 1, 1000, 33, 129, 17},
        {128, 30, 8000, 256, 512, 256},
        {1, 200, 65536, 512, 768, 1024},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_size(&sizes[i], 3);
}

/* Where logits are the largest thing by far, backward peaks at their gradients. */
TEST(backward_peaks_two_logits_above_loss)
{
    const struct size sizes[] = {{80, 50, 30000, 500, 1000, 1000}, {16, 64, 50000, 128, 64, 64}};
    struct rows rows;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        run_with(&sizes[i], 2, &rows);
        check_peak(&rows, &sizes[i], 0);
        check_peak(&rows, &sizes[i], 1);
    }
}

TEST(from_the_second_step_on_nothing_grows)
{
    const struct size n = {12, 9, 2000, 64, 96, 48};
    struct rows rows;
    run_with(&n, 20, &rows);
    for (int64_t step = 3; step < 20; step++)
        for (size_t i = 0; i < 5; i++) {
            const struct row *row = rows_find(&rows, step, phases[i]);
            CHECK_INT(row->max_reserved, rows_find(&rows, 2, phases[i])->max_reserved);
            CHECK_INT(net(&rows, step, phases[i]), net(&rows, 2, phases[i]));
        }
}

/* ---- the command line ---- */

static const char *errors_path(void)
{
    static const char *path;
    if (!path)
        path = test_path("stderr");
    return path;
}

static int status_of(const char *arguments)
{
    char command[512];
    struct rows rows;
    snprintf(command, sizeof command, SEQ2SEQ " --csv %s 2>%s", arguments, errors_path());
    return rows_run(command, &rows);
}

/* The last line of stderr says where to look. */
static bool hint_was_printed(void)
{
    char line[256], last[256] = "";
    FILE *file = fopen(errors_path(), "r");
    REQUIRE(file != NULL);
    while (fgets(line, sizeof line, file))
        snprintf(last, sizeof last, "%s", line);
    fclose(file);
    return strcmp(last, "try 'seq2seq --help'\n") == 0;
}

TEST(wrong_usage_exits_2)
{
    const char *const wrong[] = {"--batch=0",
                                 "--batch=-1",
                                 "--batch=",
                                 "--batch=8x",
                                 "--batch=' 8'",
                                 "--vocab=16777217",
                                 "--steps=1e3",
                                 "--nonsense",
                                 "more",
                                 "--length",
                                 "--hidden=99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_INT(status_of(wrong[i]), 2);
        CHECK(hint_was_printed());
    }
}

TEST(the_largest_numbers_are_taken)
{
    CHECK_INT(status_of("--batch=16384 --length=2 --vocab=16777216 --input=65536 --hidden=65536 "
                        "--attention=65536 --steps=1"),
              0);
}

TEST(help_names_every_option)
{
    CHECK_INT(system(SEQ2SEQ " --help | grep -q -e --attention"), 0);
    CHECK_INT(system(SEQ2SEQ " --help | grep -q -e --csv"), 0);
}

TEST(a_full_disk_is_told)
{
    CHECK(system(SEQ2SEQ " --steps=1 >/dev/full 2>/dev/null") != 0);
}

TEST_MAIN(TEST_CASE(every_row_is_within_3_percent_of_the_gpu),
          TEST_CASE(the_readme_shows_what_is_printed),
          TEST_CASE(the_arithmetic_holds_at_the_default_size),
          TEST_CASE(the_arithmetic_holds_at_other_sizes),
          TEST_CASE(backward_peaks_two_logits_above_loss),
          TEST_CASE(from_the_second_step_on_nothing_grows), TEST_CASE(wrong_usage_exits_2),
          TEST_CASE(the_largest_numbers_are_taken), TEST_CASE(help_names_every_option),
          TEST_CASE(a_full_disk_is_told))
