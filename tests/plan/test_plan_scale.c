/*
 * Small recordings of one program at four values, scaled to others: each block's bytes, the highest
 * point wherever it moves to, what has no law, steps that only some recordings have; and every
 * allocation of ours failing in turn. plan_read on the same recordings.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "plan_read.h"
#include "plan_scale.h"
#include "script.h"

enum { CONSTANT = 1, LINE, PARABOLA, FALSE_FRIEND, STATE, OTHER };
enum { STEP = 100 }; /* numbers of events in one step */

static const int64_t numbers[SCALE_MOST] = {2, 3, 4, 6};

/* A step: forward takes a line and a parabola; backward a line twice as steep, beside the first;
 * the optimizer, in the first step, states as large as the parameters. */
static void add_step(struct script *script, int step, int64_t n, bool odd)
{
    int64_t at = 100 + step * STEP;
    script_phase(script, "forward", step, at, at + 29);
    script_block(script, at + 1, at + 60, MIB(3) * n, LINE);
    script_block(script, at + 2, at + 20, MIB(1) * n * n, PARABOLA);
    if (odd)
        script_block(script, at + 3, at + 60, MIB(n == 4 ? 9 : n), FALSE_FRIEND);
    for (int64_t i = 0; i < (odd ? n : 1); i++) /* as many as the value */
        script_block(script, at + 4 + i, at + 60, MIB(1), OTHER);
    script_phase(script, "backward", step, at + 30, at + 69);
    script_block(script, at + 40, at + 60, MIB(6) * n, LINE);
    script_phase(script, "optimizer", step, at + 70, at + 98);
    if (step == 0)
        script_block(script, at + 75, SCRIPT_LIVES, MIB(200), STATE);
}

/* Its path, for this case. `half`: a further step was begun. */
static const char *make(int64_t n, int steps, bool odd, bool half)
{
    static char paths[SCALE_MOST + 1][512];
    static size_t next;
    static struct script script;
    char name[32];
    script = (struct script){0};
    script_block(&script, 50, SCRIPT_LIVES, MIB(100), CONSTANT);
    script_phase(&script, "other", SCRIPT_OUTSIDE, 1, 99);
    for (int step = 0; step < steps; step++)
        add_step(&script, step, n, odd);
    if (half) {
        int64_t at = 100 + steps * STEP;
        script_phase(&script, "forward", steps, at, SCRIPT_LIVES);
        script_block(&script, at + 1, SCRIPT_LIVES, MIB(1000), LINE);
    }
    struct db *db = script_record(&script);
    REQUIRE(db_close_single(db));
    snprintf(name, sizeof name, "run%zu.db", next);
    char *path = paths[next++ % (SCALE_MOST + 1)];
    snprintf(path, sizeof paths[0], "%s", test_path(name));
    REQUIRE(rename(test_path("script"), path) == 0);
    return path;
}

static void make_all(struct scale_source sources[SCALE_MOST], bool odd)
{
    for (size_t i = 0; i < SCALE_MOST; i++)
        sources[i] = (struct scale_source){make(numbers[i], 2, odd, false), numbers[i], 1, 1};
}

TEST(bytes_at_any_number)
{
    struct scale_source sources[SCALE_MOST];
    struct scale scale;
    struct fit_need need;
    make_all(sources, false);
    REQUIRE(scale_load(sources, SCALE_MOST, 0, &scale) == 0);
    CHECK(scale_is_valid(&scale));
    /* By births: the parameters; of each step line, parabola, other, line of backward, states. */
    const enum scale_law laws[] = {SCALE_CONSTANT, SCALE_LINE,     SCALE_PARABOLA, SCALE_CONSTANT,
                                   SCALE_LINE,     SCALE_CONSTANT, SCALE_LINE,     SCALE_PARABOLA,
                                   SCALE_CONSTANT, SCALE_LINE};
    REQUIRE(scale.fit.trace.block_count == sizeof laws / sizeof *laws);
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        CHECK_INT(scale.blocks[i].law, laws[i]);
    CHECK_INT(scale_block_at(&scale, 1, 100), MIB(300));
    CHECK_INT(scale_block_at(&scale, 2, 100), MIB(10000));
    CHECK_INT(scale_block_at(&scale, 4, 1), MIB(6));

    /* Small: the peak is in backward of step 1; large: in its forward. */
    REQUIRE(scale_measure(&scale, 2, &need) == 0);
    CHECK_INT(need.peak_allocated, MIB(300 + 6 + 1 + 12));
    REQUIRE(scale_measure(&scale, 50, &need) == 0);
    CHECK_INT(need.peak_allocated, MIB(300 + 150 + 2500 + 1));
    CHECK(need.smallest >= need.peak_allocated && need.smallest <= need.peak_reserved);
    REQUIRE(scale_measure(&scale, 1, &need) == 0); /* less than any that was recorded */
    CHECK_INT(need.peak_allocated, MIB(300 + 3 + 1 + 6));
    scale_clear(&scale);
}

static void peak_is(struct scale *scale, int64_t number, const char *phase, int64_t bytes)
{
    struct scale_peak peak;
    REQUIRE(scale_look(scale, number, 8, &peak) == 0);
    CHECK_STR(peak.phase ? peak.phase : "none", phase);
    CHECK_INT(peak.step, 1);
    CHECK_INT(peak.bytes, bytes);
    int64_t sum = 0, of_sites = 0;
    for (int law = 0; law < SCALE_LAWS; law++)
        sum += peak.law[law];
    for (size_t i = 0; i < peak.sites.count; i++)
        of_sites += peak.sites.groups[i].bytes;
    CHECK_INT(sum, bytes);
    CHECK_INT(of_sites, bytes);
    CHECK(groups_is_valid(&peak.sites));
    scale_peak_clear(&peak);
}

TEST(the_peak_moves_to_another_phase)
{
    struct scale_source sources[SCALE_MOST];
    struct scale scale;
    make_all(sources, false);
    REQUIRE(scale_load(sources, SCALE_MOST, 2, &scale) == 0);
    peak_is(&scale, 3, "backward", MIB(300 + 9 + 1 + 18));
    peak_is(&scale, 50, "forward", MIB(300 + 150 + 2500 + 1));
    struct scale_peak peak;
    REQUIRE(scale_look(&scale, 50, 8, &peak) == 0);
    CHECK_INT(peak.law[SCALE_PARABOLA], MIB(2500));
    CHECK_INT(peak.law[SCALE_LINE], MIB(150));
    CHECK_INT(peak.law[SCALE_CONSTANT], MIB(301));
    CHECK_STR(peak.sites.groups[0].kind, "quadratic");
    CHECK_STR(peak.sites.groups[0].shown, "decode (model.py:30)");
    CHECK_INT(peak.sites_without_law, 0);
    scale_peak_clear(&peak);
    scale_clear(&scale);
}

TEST(what_has_no_law_is_told_apart)
{
    struct scale_source sources[SCALE_MOST];
    struct scale scale;
    struct scale_peak peak;
    make_all(sources, true);
    REQUIRE(scale_load(sources, SCALE_MOST, 2, &scale) == 0);
    REQUIRE(scale_look(&scale, 12, 8, &peak) == 0);
    /* 6 MiB at 6, and six blocks of 1 MiB at 6: twice as much at 12. */
    CHECK_INT(peak.law[SCALE_NONE], MIB(12 + 12));
    CHECK_INT(peak.sites_without_law, 2);
    CHECK_INT(peak.law[SCALE_CONSTANT], MIB(300));
    scale_peak_clear(&peak);
    scale_clear(&scale);
}

/* One came further than the others, and was ended in the midst of a step. */
TEST(only_steps_that_all_have_count)
{
    struct scale_source sources[SCALE_MOST];
    struct scale scale;
    for (size_t i = 0; i < SCALE_MOST; i++)
        sources[i] = (struct scale_source){make(numbers[i], i == 1 ? 3 : 2, false, i >= 2),
                                           numbers[i], 1, 1};
    REQUIRE(scale_load(sources, SCALE_MOST, 3, &scale) == 0);
    CHECK_INT(scale.fit.trace.block_count, 10);
    for (size_t i = 0; i < scale.fit.trace.block_count; i++)
        CHECK(scale.blocks[i].law != SCALE_NONE);
    scale_clear(&scale);
    REQUIRE(scale_load(sources, SCALE_MOST, 1, &scale) == 0);
    CHECK_INT(scale.fit.trace.block_count, 6);
    scale_clear(&scale);
}

TEST(fewer_recordings_than_four)
{
    struct scale_source sources[SCALE_MOST];
    struct scale scale;
    struct fit_need need;
    make_all(sources, false);
    for (size_t count = 1; count < SCALE_MOST; count++) {
        REQUIRE(scale_load(sources, count, 0, &scale) == 0);
        REQUIRE(scale_measure(&scale, numbers[0], &need) == 0);
        CHECK_INT(need.peak_allocated, MIB(300 + 6 + 1 + 12));
        scale_clear(&scale);
    }
    sources[0].path = "not there";
    CHECK_INT(scale_load(sources, 2, 0, &scale), ERR_NOTFOUND);
    scale_clear(&scale);
}

TEST(what_a_recording_says)
{
    struct plan_seen less, more;
    struct plan_growth growth;
    bool fits;
    int64_t reserved;
    char small[512];
    snprintf(small, sizeof small, "%s", make(2, 2, false, false));
    const char *large = make(6, 2, false, false);
    REQUIRE(plan_read(small, 0, &less) == 0);
    REQUIRE(plan_read(large, 0, &more) == 0);
    CHECK(less.found && less.cuda);
    CHECK_INT(less.allocated, MIB(319));
    CHECK_INT(more.allocated, MIB(300 + 18 + 36 + 1)); /* both phases are as high: the first */
    CHECK_STR(less.phase ? less.phase : "none", "backward");
    CHECK_INT(less.step, 1);
    CHECK_INT(less.refusals, 0);
    REQUIRE(plan_read_growth(small, &less, large, &more, &growth) == 0);
    CHECK(growth.bytes > 0 && growth.category && growth.site);
    plan_growth_clear(&growth);
    REQUIRE(plan_read_growth(large, &more, small, &less, &growth) == 0);
    CHECK(growth.bytes >= 0);
    plan_growth_clear(&growth);
    REQUIRE(plan_read_fits(large, &more, more.need, &fits, &reserved) == 0);
    CHECK(fits && reserved == more.need);
    REQUIRE(plan_read_fits(large, &more, more.allocated - MIB(2), &fits, &reserved) == 0);
    CHECK(!fits);
    REQUIRE(plan_read_fits(large, &more, -1, &fits, &reserved) == 0);
    CHECK(!fits);
    plan_seen_clear(&less);
    plan_seen_clear(&more);
    CHECK_INT(plan_read("not there", 0, &less), ERR_NOTFOUND);
    plan_seen_clear(&less);
}

/* All of it with each allocation failing in turn: an error or the truth, and no leak (asan). */
static int everything(const struct scale_source *sources)
{
    struct scale scale = {0};
    struct scale_peak peak = {0};
    struct plan_seen seen = {0};
    struct plan_growth growth = {0};
    struct fit_need need = {0};
    int err = scale_load(sources, SCALE_MOST, 2, &scale);
    if (err >= 0)
        err = scale_measure(&scale, 50, &need);
    if (err >= 0)
        err = scale_look(&scale, 50, 8, &peak);
    if (err >= 0)
        err = plan_read(sources[0].path, 0, &seen);
    if (err >= 0)
        err = plan_read_growth(sources[0].path, &seen, sources[1].path, &seen, &growth);
    if (err >= 0) {
        CHECK_INT(need.peak_allocated, MIB(300 + 150 + 2500 + 1));
        CHECK_INT(peak.bytes, MIB(300 + 150 + 2500 + 1));
        CHECK_INT(seen.allocated, MIB(319));
    }
    plan_growth_clear(&growth);
    plan_seen_clear(&seen);
    scale_peak_clear(&peak);
    scale_clear(&scale);
    return err;
}

TEST(every_allocation_can_fail)
{
    struct scale_source sources[SCALE_MOST];
    make_all(sources, false);
    int err = ERR_NOMEM;
    long n = 1;
    for (; err < 0 && n < 100000; n = test_next_failure(n)) {
        mem_fail_after(n);
        err = everything(sources);
        mem_fail_after(0);
        CHECK(err >= 0 || err == ERR_NOMEM);
    }
    CHECK_INT(err, 0);
    CHECK(n > 50);
}

TEST_MAIN(TEST_CASE(bytes_at_any_number), TEST_CASE(the_peak_moves_to_another_phase),
          TEST_CASE(what_has_no_law_is_told_apart), TEST_CASE(only_steps_that_all_have_count),
          TEST_CASE(fewer_recordings_than_four), TEST_CASE(what_a_recording_says),
          TEST_CASE(every_allocation_can_fail))
