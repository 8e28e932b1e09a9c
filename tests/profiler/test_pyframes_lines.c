/* The three forms of line table, by hand, and hostile bytes. */
#include "pyframes_lines.h"

#include <string.h>

#include "test.h"

#define LINE(form, table, first, at)                                                               \
    pyframes_line(                                                                                 \
        form, &(struct pyframes_line_table){(const uint8_t *)(table), sizeof(table) - 1, first},   \
        at)

TEST(lnotab_steps_when_the_address_is_passed)
{
    static const char table[] = "\x06\x01\x08\x02\xff\x00\x03\x7f\x02\xfe";
    CHECK_INT(LINE(LINES_LNOTAB, table, 10, 0), 10);
    CHECK_INT(LINE(LINES_LNOTAB, table, 10, 5), 10);
    CHECK_INT(LINE(LINES_LNOTAB, table, 10, 6), 11);
    CHECK_INT(LINE(LINES_LNOTAB, table, 10, 13), 11);
    CHECK_INT(LINE(LINES_LNOTAB, table, 10, 14), 13);
    CHECK_INT(LINE(LINES_LNOTAB, table, 10, 14 + 255), 13);
    CHECK_INT(LINE(LINES_LNOTAB, table, 10, 14 + 255 + 3), 13 + 127);
    CHECK_INT(LINE(LINES_LNOTAB, table, 10, 14 + 255 + 5), 13 + 127 - 2);
    CHECK_INT(LINE(LINES_LNOTAB, table, 10, 100000), 13 + 127 - 2);
    CHECK_INT(LINE(LINES_LNOTAB, table, 10, -1), 10);
}

TEST(ranges_step_before_they_cover)
{
    static const char table[] = "\x06\x00\x08\x01\x04\x80\x02\x03\x02\xff\x00\x05\x02\x01";
    CHECK_INT(LINE(LINES_RANGES, table, 10, 0), 10);
    CHECK_INT(LINE(LINES_RANGES, table, 10, 5), 10);
    CHECK_INT(LINE(LINES_RANGES, table, 10, 6), 11);
    CHECK_INT(LINE(LINES_RANGES, table, 10, 13), 11);
    CHECK_INT(LINE(LINES_RANGES, table, 10, 14), 0); /* these four bytes have no line */
    CHECK_INT(LINE(LINES_RANGES, table, 10, 17), 0);
    CHECK_INT(LINE(LINES_RANGES, table, 10, 18), 14); /* and did not move the count */
    CHECK_INT(LINE(LINES_RANGES, table, 10, 20), 13);
    CHECK_INT(LINE(LINES_RANGES, table, 10, 22), 19); /* a range of no bytes moved it */
    CHECK_INT(LINE(LINES_RANGES, table, 10, 24), 0);
    CHECK_INT(LINE(LINES_RANGES, table, 10, -1), 10);
}

/* The first byte of an entry of the location table. */
#define ENTRY(kind, units) (char)(0x80 | (kind) << 3 | ((units)-1))

TEST(locations_of_every_kind)
{
    static const char table[] = {ENTRY(0, 1),
                                 0x12, /* same line, short columns */
                                 ENTRY(10, 2),
                                 1,
                                 2, /* same line, columns */
                                 ENTRY(11, 1),
                                 1,
                                 2, /* next line */
                                 ENTRY(12, 1),
                                 1,
                                 2, /* the one after the next */
                                 ENTRY(13, 8),
                                 0x03,         /* one back */
                                 ENTRY(15, 2), /* no line; the count stays */
                                 ENTRY(14, 1),
                                 0x60,
                                 0x0f,
                                 0,
                                 1,
                                 1, /* a long form: 0x20 | 15 << 6 = 992, +496 */
                                 ENTRY(13, 1),
                                 0x41,
                                 0x10, /* 1 | 16 << 6 = 1025: 512 back */
                                 0};
    CHECK_INT(LINE(LINES_LOCATIONS, table, 100, 0), 100);
    CHECK_INT(LINE(LINES_LOCATIONS, table, 100, 2), 100);
    CHECK_INT(LINE(LINES_LOCATIONS, table, 100, 5), 100);
    CHECK_INT(LINE(LINES_LOCATIONS, table, 100, 6), 101);
    CHECK_INT(LINE(LINES_LOCATIONS, table, 100, 8), 103);
    CHECK_INT(LINE(LINES_LOCATIONS, table, 100, 10), 102);
    CHECK_INT(LINE(LINES_LOCATIONS, table, 100, 25), 102);
    CHECK_INT(LINE(LINES_LOCATIONS, table, 100, 26), 0);
    CHECK_INT(LINE(LINES_LOCATIONS, table, 100, 29), 0);
    CHECK_INT(LINE(LINES_LOCATIONS, table, 100, 30), 102 + 496);
    CHECK_INT(LINE(LINES_LOCATIONS, table, 100, 32), 102 + 496 - 512);
    CHECK_INT(LINE(LINES_LOCATIONS, table, 100, 34), 0); /* behind the end */
    CHECK_INT(LINE(LINES_LOCATIONS, table, 100, -2), 100);
}

TEST(a_line_below_one_is_none)
{
    static const char back[] = {ENTRY(13, 1), 0x4b, 0x06, 0};
    CHECK_INT(LINE(LINES_LOCATIONS, back, 3, 0), 0);
    CHECK_INT(LINE(LINES_LNOTAB, "\x00\x80", 3, 0), 0);
}

TEST(hostile_tables_end)
{
    uint8_t bytes[64];
    uint64_t seed = 7;
    for (int i = 0; i < 20000; i++) {
        size_t count = test_random(&seed) % (sizeof bytes + 1);
        for (size_t at = 0; at < count; at++)
            bytes[at] = (uint8_t)test_random(&seed);
        for (int form = LINES_LNOTAB; form <= LINES_LOCATIONS; form++) {
            /* A copy of the exact size: reading beyond it is seen by a sanitizer. */
            uint8_t exact[65];
            memcpy(exact + sizeof exact - 1 - count, bytes, count);
            struct pyframes_line_table table = {exact + sizeof exact - 1 - count, count, 5};
            uint32_t line = pyframes_line((enum pyframes_lines)form, &table,
                                          (int64_t)(test_random(&seed) % 600));
            CHECK(line <= INT32_MAX);
        }
    }
    CHECK_INT(LINE(LINES_LOCATIONS, "", 5, 0), 0);
    CHECK_INT(LINE(LINES_RANGES, "\x01", 5, 0), 0);
}

TEST_MAIN(TEST_CASE(lnotab_steps_when_the_address_is_passed),
          TEST_CASE(ranges_step_before_they_cover), TEST_CASE(locations_of_every_kind),
          TEST_CASE(a_line_below_one_is_none), TEST_CASE(hostile_tables_end))
