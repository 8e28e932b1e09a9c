#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emit_parts.h"
#include "human.h"

#define MIB(n) ((int64_t)(n)*1048576)

TEST(bytes_keep_three_digits)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1, "1 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {102348, "99.9 KiB"},
        {102400, "100 KiB"},
        {1048575, "1024 KiB"},
        {MIB(1), "1.0 MiB"},
        {MIB(281), "281 MiB"},
        {MIB(4329), "4329 MiB"}, /* the figures of a training run stay what they are */
        {MIB(10240) - 1, "10240 MiB"},
        {MIB(10240), "10.0 GiB"},
        {MIB(24 * 1024), "24.0 GiB"},
        {INT64_C(10) << 40, "10.0 TiB"},
        {-MIB(2), "-2.0 MiB"},
        {INT64_MIN, "-8388608 TiB"},
        {INT64_MAX, "8388608 TiB"},
    };
    char text[HUMAN_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(human_bytes(text, cases[i].bytes), cases[i].text);
}

TEST(differences_show_their_sign)
{
    char text[HUMAN_MAX];
    CHECK_STR(human_delta(text, 0), "0 B");
    CHECK_STR(human_delta(text, MIB(458)), "+458 MiB");
    CHECK_STR(human_delta(text, -1), "-1 B");
}

TEST(times_keep_three_digits)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0 ns"},
        {999, "999 ns"},
        {1000, "1.00 us"},
        {9994, "9.99 us"},
        {9996, "10.0 us"},
        {999499, "999 us"},
        {999500, "1.00 ms"},
        {12345678, "12.3 ms"},
        {999499999, "999 ms"},
        {1000000000, "1.00 s"},
        {59949999999, "59.9 s"},
        {59950000000, "1m 00s"},
        {61000000000, "1m 01s"},
        {3599400000000, "59m 59s"},
        {3600000000000, "1h 00m"},
        {INT64_C(90061) * 1000000000, "25h 01m"},
        {-5, "-5 ns"},
    };
    char text[HUMAN_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(human_ns(text, cases[i].ns), cases[i].text);
}

TEST(counts_have_commas)
{
    char text[HUMAN_MAX];
    CHECK_STR(human_count(text, 0), "0");
    CHECK_STR(human_count(text, 999), "999");
    CHECK_STR(human_count(text, 1000), "1,000");
    CHECK_STR(human_count(text, -1234567), "-1,234,567");
    CHECK_STR(human_count(text, INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(shares_are_percent)
{
    char text[HUMAN_MAX];
    CHECK_STR(human_percent(text, 0.125), "12.5 %");
    CHECK_STR(human_percent(text, 1), "100.0 %");
    CHECK_STR(human_percent(text, NAN), "-");
}

TEST(calendar_says_its_zone)
{
    char text[HUMAN_MAX];
    setenv("TZ", "UTC", 1);
    CHECK_STR(human_calendar(text, INT64_C(1760000000123456789), true), "2025-10-09T08:53:20Z");
    CHECK_STR(human_calendar(text, INT64_C(1760000000123456789), false), "2025-10-09 08:53:20 UTC");
}

static const char *safe(const char *bytes, size_t count, unsigned *width)
{
    static struct buf out;
    out.count = 0;
    *width = emit_put_safe(&out, bytes, count);
    return buf_string(&out);
}

#define SAFE(bytes) safe(bytes, sizeof(bytes) - 1, &width)

TEST(text_cannot_steer_a_terminal)
{
    unsigned width;
    CHECK_STR(SAFE("plain"), "plain");
    CHECK_INT(width, 5);
    CHECK_STR(SAFE("a\033[31mb"), "a\\x1b[31mb");
    CHECK_STR(SAFE("a\nb\tc\r"), "a\\nb\\tc\\x0d");
    CHECK_STR(SAFE("a\0b"), "a\\x00b");
    CHECK_STR(SAFE("\177"), "\\x7f");
    CHECK_STR(SAFE("\302\233"), "\\u009b");     /* CSI in one character */
    CHECK_STR(SAFE("\342\200\256"), "\\u202e"); /* writes from right to left */
    CHECK_STR(SAFE("gr\303\266\303\237e"), "gr\303\266\303\237e");
    CHECK_INT(width, 5);
    CHECK_STR(SAFE("\346\265\213"), "\346\265\213");
    CHECK_INT(width, 2);
    CHECK_STR(SAFE("e\314\201"), "e\314\201"); /* an accent of its own takes no room */
    CHECK_INT(width, 1);
}

TEST(broken_utf8_is_shown_byte_by_byte)
{
    unsigned width;
    CHECK_STR(SAFE("\xff"), "\\xff");
    CHECK_STR(SAFE("\xc3"), "\\xc3");                   /* cut off */
    CHECK_STR(SAFE("\xc0\xaf"), "\\xc0\\xaf");          /* longer than needed */
    CHECK_STR(SAFE("\xed\xa0\x80"), "\\xed\\xa0\\x80"); /* half of a pair */
    CHECK_STR(SAFE("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
    CHECK_INT(width, 16);
}

TEST(fitting_never_splits_a_character)
{
    const char text[] = "ab\346\265\213c";
    CHECK_INT(emit_fit(text, sizeof text - 1, 2), 2);
    CHECK_INT(emit_fit(text, sizeof text - 1, 3), 2);
    CHECK_INT(emit_fit(text, sizeof text - 1, 4), 5);
    CHECK_INT(emit_fit(text, sizeof text - 1, 99), 6);
    CHECK_INT(emit_columns_of(text, sizeof text - 1), 5);
}

TEST(reals_read_back_as_themselves)
{
    uint64_t seed = 3;
    for (int i = 0; i < 2000; i++) {
        union {
            uint64_t bits;
            double value;
        } number = {.bits = test_random(&seed)};
        struct buf out = {0};
        if (!isfinite(number.value))
            continue;
        emit_put_real(&out, number.value);
        if (strtod(buf_string(&out), NULL) != number.value)
            CHECK_STR(buf_string(&out), "itself");
        buf_clear(&out);
    }
    struct buf out = {0};
    emit_put_real(&out, 3);
    CHECK_STR(buf_string(&out), "3.0");
    buf_clear(&out);
}

TEST_MAIN(TEST_CASE(bytes_keep_three_digits), TEST_CASE(differences_show_their_sign),
          TEST_CASE(times_keep_three_digits), TEST_CASE(counts_have_commas),
          TEST_CASE(shares_are_percent), TEST_CASE(calendar_says_its_zone),
          TEST_CASE(text_cannot_steer_a_terminal), TEST_CASE(broken_utf8_is_shown_byte_by_byte),
          TEST_CASE(fitting_never_splits_a_character), TEST_CASE(reals_read_back_as_themselves))
