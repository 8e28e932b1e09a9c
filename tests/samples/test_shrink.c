/*
 * One program under shrinking limits: the first epoch's peak shrinks with them, the second one's
 * stays; the least that it survives with is found here by running it.
 */
#include "rows.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Every segment is a multiple of this. */
static const int64_t STEP = 2 << 20;

static int try_limit(int64_t limit, const char *options, struct rows *rows)
{
    char command[512];
    snprintf(command, sizeof command, SHRINK " --csv --limit=%" PRId64 " %s 2>/dev/null", limit,
             options);
    return rows_run(command, rows);
}

static struct rows run(int64_t limit, const char *options)
{
    struct rows rows;
    REQUIRE(try_limit(limit, options, &rows) == 0);
    return rows;
}

static int64_t peak(const struct rows *rows, int64_t epoch)
{
    return rows_find(rows, epoch, "epoch")->max_reserved;
}

/* By bisection: survives at the result, dies 2 MiB below. */
static int64_t need_of(const char *options)
{
    struct rows rows = run(0, options);
    int64_t dies = 0, lives = peak(&rows, 0);
    while (lives - dies > STEP) {
        int64_t middle = (dies + lives) / 2 / STEP * STEP;
        if (try_limit(middle, options, &rows) == 0)
            lives = middle;
        else
            dies = middle;
    }
    return lives;
}

TEST(the_first_epoch_takes_what_there_is)
{
    struct rows rows = run(0, "");
    CHECK(peak(&rows, 0) > 3 * peak(&rows, 1) / 2);
    CHECK_INT(peak(&rows, 1), peak(&rows, 2));
}

TEST(the_first_peak_shrinks_with_the_limit)
{
    enum { LIMITS = 5 };
    struct rows rows = run(0, "");
    int64_t most = peak(&rows, 0), before = most, need = need_of("");
    for (int i = 1; i <= LIMITS; i++) {
        int64_t limit = (most - i * (most - need) / LIMITS) / STEP * STEP;
        rows = run(limit, "");
        CHECK(peak(&rows, 0) <= limit);
        CHECK(peak(&rows, 0) < before);
        CHECK(peak(&rows, 1) <= limit);
        before = peak(&rows, 0);
    }
    CHECK_INT(before, need);
}

/* And, as the thread's author saw, it takes a little less when there is no more. */
TEST(the_steady_peak_is_the_need)
{
    struct rows rows = run(0, "");
    int64_t steady = peak(&rows, 1), need = need_of("");
    CHECK_INT(need, steady);
    rows = run(need, "");
    CHECK_INT(peak(&rows, 0), need);
    CHECK(peak(&rows, 1) < need && peak(&rows, 1) > need - need / 10);
    CHECK_INT(try_limit(need - STEP, "", &rows), 1);
}

/* For any dimensions it is between what lives at the peak and what a later epoch takes. */
TEST(the_need_lies_between_the_blocks_and_the_steady_peak)
{
    static const char *const sizes[] = {"--batch=128", "--batch=512", "--channels=64"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rows rows = run(0, sizes[i]);
        int64_t need = need_of(sizes[i]);
        CHECK(need >= rows_find(&rows, 1, "epoch")->max_allocated);
        CHECK(need <= peak(&rows, 1) && peak(&rows, 1) < peak(&rows, 0));
    }
}

/* Emptying the cache between the epochs only shows it; and more steps need no more. */
TEST(the_need_is_the_same_when_the_cache_is_kept)
{
    int64_t need = need_of("");
    CHECK_INT(need_of("--keep-cache"), need);
    CHECK_INT(need_of("--steps=5"), need);
    CHECK_INT(need_of("--epochs=7"), need);
}

/* A smaller batch needs less, and starts from less. */
TEST(a_smaller_batch_needs_less)
{
    struct rows large = run(0, ""), small = run(0, "--batch=128");
    CHECK(peak(&small, 0) < peak(&large, 0));
    CHECK(need_of("--batch=128") < need_of(""));
}

/* README.md's table: "| 700 MiB | 646 | 434 |". */
TEST(the_table_of_the_readme_is_what_it_prints)
{
    FILE *readme = fopen(README, "r");
    char line[256];
    int64_t limit, first, last;
    int found = 0;
    REQUIRE(readme != NULL);
    while (fgets(line, sizeof line, readme)) {
        if (sscanf(line, "| %" SCNd64 " MiB | %" SCNd64 " | %" SCNd64 " |", &limit, &first,
                   &last) != 3)
            continue;
        struct rows rows = run(limit << 20, "");
        CHECK_INT(peak(&rows, 0), first << 20);
        CHECK_INT(peak(&rows, 2), last << 20);
        found++;
    }
    fclose(readme);
    CHECK_INT(found, 6);
}

TEST(it_dies_with_a_message)
{
    char line[512] = "";
    FILE *output = popen(SHRINK " --csv --limit=100MiB 2>&1 >/dev/null", "r");
    REQUIRE(output && fgets(line, sizeof line, output));
    CHECK_INT(pclose(output), 256);
    CHECK(strstr(line, "shrink: out of memory: tried to allocate ") == line);
    CHECK(strstr(line, "the limit is 100.0 MiB") != NULL);
}

TEST_MAIN(TEST_CASE(the_first_epoch_takes_what_there_is),
          TEST_CASE(the_first_peak_shrinks_with_the_limit), TEST_CASE(the_steady_peak_is_the_need),
          TEST_CASE(the_need_lies_between_the_blocks_and_the_steady_peak),
          TEST_CASE(the_need_is_the_same_when_the_cache_is_kept),
          TEST_CASE(the_table_of_the_readme_is_what_it_prints),
          TEST_CASE(a_smaller_batch_needs_less), TEST_CASE(it_dies_with_a_message))
