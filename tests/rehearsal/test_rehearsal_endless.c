/* When a rehearsal is said to be one that may never end: once, and only while memory stands. */
#include <string.h>

#include "clock.h"
#include "endless.h"
#include "test.h"

#define MINUTE (60 * NS_PER_S)

static struct record_progress at(uint64_t minute, uint64_t peak, uint64_t steps)
{
    return (struct record_progress){.run_ns = minute * MINUTE,
                                    .totals = {.peak_allocated = peak, .steps = steps}};
}

static bool is_due(struct endless *endless, uint64_t minute, uint64_t peak)
{
    struct record_progress now = at(minute, peak, 0);
    return endless_is_due(endless, &now);
}

TEST(a_peak_that_grows_is_no_reason)
{
    struct endless endless = {0};
    for (uint64_t minute = 0; minute < 60; minute += 4)
        CHECK(!is_due(&endless, minute, 1000 + minute));
    CHECK(!is_due(&endless, 60, 1056));
    CHECK(is_due(&endless, 61, 1056));
    CHECK(!is_due(&endless, 200, 1056)); /* once */
}

TEST(before_any_block_nothing_is_said)
{
    struct endless endless = {0};
    for (uint64_t minute = 0; minute < 60; minute++)
        CHECK(!is_due(&endless, minute, 0));
    CHECK(!is_due(&endless, 60, 1));
    CHECK(is_due(&endless, 65, 1));
}

static const char *line_with(uint64_t steps)
{
    static char text[400];
    struct endless endless = {.peak = UINT64_C(3) << 30, .since_ns = 2 * MINUTE};
    struct record_progress now = at(9, UINT64_C(3) << 30, steps);
    struct buf line = {0};
    endless_line(&endless, &now, &line);
    REQUIRE(line.count < sizeof text);
    strcpy(text, buf_string(&line));
    buf_clear(&line);
    return text;
}

TEST(what_would_end_it_is_named)
{
    CHECK(strstr(line_with(0), "no new peak for 7m 00s (3072 MiB)"));
    CHECK(strstr(line_with(0), "max_new_tokens"));
    CHECK(!strstr(line_with(0), "--steps"));
    CHECK(strstr(line_with(5), "--steps 3"));
}

TEST_MAIN(TEST_CASE(a_peak_that_grows_is_no_reason), TEST_CASE(before_any_block_nothing_is_said),
          TEST_CASE(what_would_end_it_is_named))
