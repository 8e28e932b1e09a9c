/* Whether a run grows: what the ends and the peaks of its steps, or of its model's calls, say. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "db.h"
#include "growth.h"
#include "recording.h"
#include "test.h"
#include "why.h"

enum { PROCESS = 9 };
#define KIB(n) ((int64_t)(n)*1024)

static struct db *empty(void)
{
    struct db *db = recording("train");
    REQUIRE(db_exec(db, "INSERT INTO process(id, pid, origin, start_ns) VALUES(9, 9, 'root', 0)") ==
            0);
    return db;
}

/* One phase, which is all of its unit. */
static void put(struct db *db, const char *kind, int64_t step, int64_t at, int64_t peak,
                int64_t end)
{
    char sql[1024], number[24];
    snprintf(number, sizeof number, "%" PRId64, step);
    snprintf(sql, sizeof sql,
             "INSERT INTO phase(id, process, ordinal, kind, name, step, begin_seq, end_seq,"
             " begin_ns, end_ns, scope, ended) VALUES(%" PRId64 ", 9, 0, '%s', '%s', %s, %" PRId64
             ", %" PRId64 ", 0, 1, 'process', 'end');"
             "INSERT INTO phase_device(phase, device, begin_allocated, allocated, max_allocated,"
             " peak_allocated, allocs, frees, alloc_bytes)"
             " VALUES(%" PRId64 ", 1, 0, %" PRId64 ", 0, %" PRId64 ", 0, 0, 0)",
             900000 + at, kind, kind, step < 0 ? "NULL" : number, 900000 + 10 * at,
             900000 + 10 * at + 5, 900000 + at, end, peak);
    REQUIRE(db_exec(db, sql) == 0);
}

static struct growth read_growth(struct db *db)
{
    struct growth growth;
    REQUIRE(growth_read(db, PROCESS, 1, &growth) == 0);
    CHECK(growth_is_valid(&growth));
    return growth;
}

static void check_text(const struct growth *growth, const char *want)
{
    char text[GROWTH_TEXT];
    CHECK_STR(growth_text(text, growth, NULL), want);
}

TEST(a_leak_in_every_step)
{
    struct db *db = empty();
    for (int64_t i = 0; i < 20; i++)
        put(db, "backward", i, i, KIB(1000 + 32 * i), KIB(500 + 32 * i));
    const struct growth growth = read_growth(db);
    CHECK_INT(growth.kind, GROWTH_GROWING);
    CHECK_INT(growth.per_unit, KIB(32));
    CHECK_INT(growth.since, 1);
    check_text(&growth, "32.0 KiB per step, steps 1 to 19");
    db_close(db);
}

/* The ends of seven steps have four such pairs, three steps apart, and half of them two of the
 * blocks. */
TEST(a_leak_in_every_second_step)
{
    struct db *db = empty();
    for (int64_t i = 0; i < 8; i++)
        put(db, "backward", i, i, KIB(1000 + 64 * (i / 2)), KIB(500 + 64 * (i / 2)));
    struct growth growth = read_growth(db);
    CHECK_INT(growth.kind, GROWTH_GROWING);
    CHECK_INT(growth.per_unit, KIB(32));
    REQUIRE(db_exec(db, "UPDATE phase_device SET allocated = 2097152 WHERE phase = 900004") == 0);
    growth = read_growth(db); /* of a larger batch: it goes away */
    CHECK_INT(growth.kind, GROWTH_GROWING);
    CHECK_INT(growth.per_unit, KIB(32));
    db_close(db);
}

/* A larger batch keeps more as its step ends; that goes away with the next. */
TEST(lengths_that_vary_are_no_growth)
{
    static const int64_t lengths[] = {128, 100, 160, 90, 300, 120, 140, 80, 110, 150, 130, 95};
    struct db *db = empty();
    for (int64_t i = 0; i < 12; i++)
        put(db, "backward", i, i, KIB(1000 + 10 * lengths[i]), KIB(500 + lengths[i]));
    const struct growth growth = read_growth(db);
    CHECK_INT(growth.kind, GROWTH_VARYING);
    CHECK_INT(growth.highest_unit, 4);
    CHECK_INT(growth.lowest_unit, 7);
    db_close(db);
}

TEST(a_leak_under_lengths_that_vary)
{
    struct db *db = empty();
    for (int64_t i = 0; i < 40; i++)
        put(db, "backward", i, i, KIB(1000 + 64 * i + i * 37 % 90),
            KIB(500 + 64 * i + i * 37 % 90));
    const struct growth growth = read_growth(db);
    CHECK_INT(growth.kind, GROWTH_GROWING);
    CHECK(growth.per_unit > KIB(58) && growth.per_unit < KIB(70));
    db_close(db);
}

/* A program numbers its steps as it likes. */
TEST(numbers_with_gaps)
{
    struct db *db = empty();
    for (int64_t i = 0; i < 20; i++)
        put(db, "backward", 10 * i, i, KIB(1000 + 320 * i), KIB(500 + 320 * i));
    struct growth growth = read_growth(db);
    CHECK_INT(growth.kind, GROWTH_GROWING);
    check_text(&growth, "32.0 KiB per step, steps 10 to 190");
    REQUIRE(db_exec(db, "INSERT INTO thinned VALUES(9, 1, 2, 'blocks', 100)") == 0);
    CHECK_INT(read_growth(db).kind, GROWTH_GROWING);
    REQUIRE(db_exec(db, "INSERT INTO thinned VALUES(9, 1, 2, 'phases', 100)") == 0);
    growth = read_growth(db);
    CHECK_INT(growth.kind, GROWTH_UNKNOWN);
    CHECK(growth.thinned);
    db_close(db);
}

TEST(the_first_step_makes_what_stays)
{
    struct db *db = empty();
    put(db, "backward", 0, 0, KIB(800), KIB(100));
    for (int64_t i = 1; i < 9; i++)
        put(db, "backward", i, i, KIB(1000), KIB(500));
    const struct growth growth = read_growth(db);
    CHECK_INT(growth.kind, GROWTH_STEADY);
    CHECK_INT(growth.since, 1);
    check_text(&growth, "none since step 1");
    db_close(db);
}

TEST(a_cache_that_fills_up_once_is_steady_afterwards)
{
    struct db *db = empty();
    for (int64_t i = 0; i < 20; i++)
        put(db, "backward", i, i, KIB(i < 4 ? 900 : 1400), KIB(i < 4 ? 500 : 1000));
    const struct growth growth = read_growth(db);
    CHECK_INT(growth.kind, GROWTH_STEADY);
    CHECK_INT(growth.since, 4);
    db_close(db);
}

TEST(calls_of_a_model_that_generates)
{
    struct db *db = empty();
    for (int64_t i = 0; i < 30; i++)
        put(db, "forward_no_grad", -1, i, KIB(900 + 4 * i), KIB(400 + 4 * i));
    const struct growth growth = read_growth(db);
    const struct growth_cause cause = {.bytes = 1,
                                       .shown = (char[]){"attend (model.py:7)"},
                                       .larger = true,
                                       .inference = true,
                                       .per_unit = KIB(4)};
    char text[GROWTH_TEXT];
    CHECK_INT(growth.kind, GROWTH_GROWING);
    CHECK(growth.calls);
    CHECK_INT(growth.per_unit, KIB(4));
    CHECK_STR(growth_text(text, &growth, &cause),
              "a cache that grows with the sequence (as a KV cache): +256 KiB per 64 tokens (calls "
              "of the model), attend (model.py:7)");
    db_close(db);
}

/* Two prompts, each with eleven calls for one token: the first call of each takes many tokens. */
TEST(calls_are_compared_with_those_of_their_sequence)
{
    struct db *db = empty();
    for (int64_t i = 0; i < 24; i++) {
        int64_t in = i % 12, end = 400 + 40 * in;
        put(db, "forward_no_grad", -1, i, KIB(in ? end + 20 : 1600), KIB(end));
    }
    REQUIRE(db_exec(db, "UPDATE phase_device SET begin_allocated = max(allocated - 40960, 204800)"
                        " WHERE phase >= 900000") == 0);
    const struct growth growth = read_growth(db);
    CHECK_INT(growth.kind, GROWTH_VARYING);
    CHECK_INT(growth.sequence.first, 1);
    CHECK_INT(growth.sequence.last, 11);
    CHECK_INT(growth.sequence.per_call, KIB(40));
    check_text(&growth,
               "40.0 KiB per call in calls 1 to 11 of the model, then freed; highest: prefill of a "
               "prompt, 1.6 MiB in call 12");
    db_close(db);
}

TEST(too_few_steps_say_nothing)
{
    struct db *db = empty();
    for (int64_t i = 0; i < GROWTH_LEAST; i++)
        put(db, "backward", i, i, KIB(1000 + 32 * i), KIB(500 + 32 * i));
    const struct growth growth = read_growth(db);
    CHECK_INT(growth.kind, GROWTH_UNKNOWN);
    check_text(&growth, "");
    db_close(db);
}

/* Steps that are counted anew: the second one that is compared ended before the first. */
TEST(the_cause_where_steps_end_in_another_order)
{
    struct db *db = empty();
    struct growth growth = {.kind = GROWTH_GROWING, .first = 1, .last = 2};
    struct growth_cause cause;
    put(db, "backward", 2, 10, KIB(100), KIB(100));
    put(db, "backward", 1, 30, KIB(50), KIB(50));
    REQUIRE(db_exec(db, "INSERT INTO heap VALUES(77, 9, 1, 0, 0, NULL);"
                        "INSERT INTO allocation(seq, heap, address, size, alloc_ns, life_ns,"
                        " free_seq) VALUES(900050, 77, 4096, 8192, 0, 1, 900200),"
                        "(900060, 77, 65536, 512, 0, 1, 900400)") == 0);
    CHECK_INT(growth_cause_read(db, PROCESS, 1, &growth, &cause), 0);
    CHECK_INT(cause.bytes, 8192); /* the other one is live at both ends */
    CHECK_INT(cause.per_unit, 8192);
    growth_cause_clear(&cause);
    growth.first = 2;
    growth.last = 1;
    CHECK_INT(growth_cause_read(db, PROCESS, 1, &growth, &cause), 0);
    CHECK_INT(cause.bytes, 0); /* nothing grew that way */
    growth_cause_clear(&cause);
    db_close(db);
}

/* ---- the same blocks, larger ---- */

static struct why_group group(enum purpose purpose, int64_t before, int64_t after, int64_t blocks)
{
    return (struct why_group){.purpose = purpose,
                              .before_bytes = before,
                              .after_bytes = after,
                              .before_blocks = blocks,
                              .after_blocks = after ? blocks : 0};
}

TEST(the_input_is_larger)
{
    struct why_group groups[] = {group(PURPOSE_ACTIVATION, 400, 1200, 4),
                                 group(PURPOSE_INPUT, 100, 300, 1),
                                 group(PURPOSE_WORKSPACE, 50, 0, 1)};
    struct why why = {.groups = groups, .group_count = 3, .before_bytes = 550, .after_bytes = 1500};
    struct why_larger larger;
    char text[WHY_LARGER_TEXT];
    why.before.step = 3;
    why.after.step = 4;
    why_find_larger(&why, &larger);
    CHECK(larger.found);
    CHECK_INT(larger.bytes, 1000);
    CHECK_STR(why_larger_text(text, &why), "same blocks, larger: +1000 B; the input of step 4 is 3 "
                                           "times that of step 3");
    groups[0].after_blocks = 9; /* more of them: that is something else */
    why_find_larger(&why, &larger);
    CHECK(!larger.found);
    CHECK_STR(why_larger_text(text, &why), "");
}

TEST(a_ratio_of_nearly_one_is_no_figure)
{
    struct why_group groups[] = {group(PURPOSE_ACTIVATION, 100000, 100256, 4)};
    struct why why = {
        .groups = groups, .group_count = 1, .before_bytes = 100000, .after_bytes = 100256};
    char text[WHY_LARGER_TEXT];
    why.before.step = 2;
    why.after.step = 3;
    CHECK_STR(why_larger_text(text, &why), "same blocks, larger: +256 B");
    groups[0].after_bytes = why.after_bytes = 110000;
    CHECK_STR(why_larger_text(text, &why), "same blocks, larger: +9.8 KiB; these blocks of step 3 "
                                           "are 1.1 times those of step 2");
}

TEST(blocks_without_a_call_site_are_not_the_same_blocks)
{
    struct why_group groups[] = {group(PURPOSE_OTHER, 400, 1200, 4)};
    struct why why = {.groups = groups, .group_count = 1, .before_bytes = 400, .after_bytes = 1200};
    struct why_larger larger;
    why_find_larger(&why, &larger);
    CHECK(larger.found);
    groups[0].site = GROUP_NONE;
    why_find_larger(&why, &larger);
    CHECK(!larger.found);
}

TEST_MAIN(TEST_CASE(numbers_with_gaps), TEST_CASE(a_leak_in_every_step),
          TEST_CASE(a_leak_in_every_second_step), TEST_CASE(lengths_that_vary_are_no_growth),
          TEST_CASE(a_leak_under_lengths_that_vary), TEST_CASE(the_first_step_makes_what_stays),
          TEST_CASE(a_cache_that_fills_up_once_is_steady_afterwards),
          TEST_CASE(calls_of_a_model_that_generates),
          TEST_CASE(calls_are_compared_with_those_of_their_sequence),
          TEST_CASE(too_few_steps_say_nothing),
          TEST_CASE(the_cause_where_steps_end_in_another_order),
          TEST_CASE(blocks_without_a_call_site_are_not_the_same_blocks),
          TEST_CASE(the_input_is_larger), TEST_CASE(a_ratio_of_nearly_one_is_no_figure))
