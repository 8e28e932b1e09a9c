/* What a day would take, and when that is worth a word. */
#include <string.h>

#include "record_rate.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)

TEST(a_day_at_that_rate)
{
    CHECK_INT(record_rate_day(1000, 86400 * SECOND), 1000);
    CHECK_INT(record_rate_day(1 << 20, 60 * SECOND), (int64_t)1440 << 20);
    CHECK_INT(record_rate_day(0, 60 * SECOND), 0);
    CHECK_INT(record_rate_day(5, 0), 0);
    CHECK_INT(record_rate_day(-5, 60 * SECOND), 0);
    CHECK_INT(record_rate_day(INT64_MAX, 1), INT64_MAX);
}

/* One look more. */
static void check(struct record_rate *rate, int64_t bytes, uint64_t ns, const char *want)
{
    struct buf text = {0};
    bool said = record_rate_text(rate, bytes, ns, &text);
    CHECK(said == (want != NULL));
    if (want)
        CHECK(strstr(buf_string(&text), want) != NULL);
    CHECK(said || text.count == 0);
    buf_clear(&text);
}

static void check_first(int64_t bytes, uint64_t ns, const char *want)
{
    struct record_rate rate = {0};
    check(&rate, bytes, ns, want);
}

TEST(said_once_it_is_known_and_much)
{
    check_first(INT64_C(1) << 40, 59 * SECOND, NULL);            /* not known yet */
    check_first(700 << 10, 60 * SECOND, NULL);                   /* under a gigabyte a day */
    check_first(1 << 20, 60 * SECOND, "takes 1440 MiB on disk"); /* 1.4 GiB a day */
    check_first(INT64_C(70) << 20, 60 * SECOND, "takes 98.4 GiB on disk");
}

/* A program that sleeps for two minutes and is busy then: its third minute tells. */
TEST(each_minute_is_judged_by_itself)
{
    struct record_rate rate = {0};
    check(&rate, 200 << 10, 60 * SECOND, NULL);
    CHECK(!rate.said);
    check(&rate, 70 << 20, 61 * SECOND, NULL); /* a second is no minute */
    check(&rate, 210 << 10, 120 * SECOND, NULL);
    CHECK(record_rate_due(&rate, 180 * SECOND));
    check(&rate, (210 << 10) + (INT64_C(70) << 20), 180 * SECOND, "takes 98.4 GiB on disk");
}

/* Ten hours at two gigabytes an hour, and then a quiet day: the average is no news. */
TEST(what_was_long_ago_does_not_count)
{
    struct record_rate rate = {.since_ns = 36000 * SECOND, .bytes = INT64_C(20) << 30};
    check(&rate, (INT64_C(20) << 30) + (100 << 10), 36060 * SECOND, NULL);
    check(&rate, INT64_C(19) << 30, 36120 * SECOND, NULL); /* it shrank: the log was cut */
    check(&rate, (INT64_C(19) << 30) + (1 << 20), 36180 * SECOND, "takes 1440 MiB on disk");
}

TEST(it_is_said_once)
{
    struct record_rate rate = {0};
    check(&rate, 1 << 20, 60 * SECOND, "of the last minute");
    CHECK(!record_rate_due(&rate, 120 * SECOND));
    check(&rate, INT64_C(1) << 40, 120 * SECOND, NULL);
    struct record_rate limited = {.said = true}; /* --max-size */
    check(&limited, INT64_C(1) << 40, 60 * SECOND, NULL);
}

TEST_MAIN(TEST_CASE(a_day_at_that_rate), TEST_CASE(said_once_it_is_known_and_much),
          TEST_CASE(each_minute_is_judged_by_itself), TEST_CASE(what_was_long_ago_does_not_count),
          TEST_CASE(it_is_said_once))
