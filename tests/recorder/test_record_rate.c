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
    CHECK_INT(record_rate_day(INT64_MAX, 1), INT64_MAX);
}

static void check(int64_t bytes, uint64_t ns, const char *want)
{
    struct buf text = {0};
    bool said = record_rate_text(bytes, ns, &text);
    CHECK(said == (want != NULL));
    if (want)
        CHECK(strstr(buf_string(&text), want) != NULL);
    CHECK(said || text.count == 0);
    buf_clear(&text);
}

TEST(said_once_it_is_known_and_much)
{
    check(INT64_C(1) << 40, 59 * SECOND, NULL);            /* not known yet */
    check(700 << 10, 60 * SECOND, NULL);                   /* under a gigabyte a day */
    check(1 << 20, 60 * SECOND, "takes 1440 MiB on disk"); /* 1.4 GiB a day */
    check(INT64_C(70) << 20, 60 * SECOND, "takes 98.4 GiB on disk");
}

TEST_MAIN(TEST_CASE(a_day_at_that_rate), TEST_CASE(said_once_it_is_known_and_much))
