/*
 * Growable strings, and the memory below them: limits, overflow, and every failure once.
 */
#include "buf.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "test.h"

/* Ends with its NUL, and has room for it; broken has no more than it had. */
static void check_valid(const struct buf *buf)
{
    CHECK(buf->count == 0 || buf->count < buf->cap);
    CHECK((buf->data != NULL) == (buf->cap > 0));
    if (buf->data && !buf->broken)
        CHECK_INT(buf->data[buf->count], 0);
}

TEST(an_empty_one_needs_no_memory)
{
    struct buf buf = {0};
    mem_fail_after(1);
    CHECK_STR(buf_string(&buf), "");
    buf_clear(&buf);
    CHECK_STR(buf_string(&buf), "");
    mem_fail_after(0);
    buf_text(&buf, "");
    CHECK_STR(buf_string(&buf), "");
    CHECK(!buf.broken);
    buf_clear(&buf);
}

/* Every length around the places where it grows, with every kind of addition. */
TEST(it_grows_by_every_length)
{
    static char plain[5000];
    uint64_t seed = 3;
    for (size_t length = 0; length < 600; length++) {
        struct buf buf = {0};
        size_t have = 0;
        while (have < length) {
            size_t more = 1 + test_random(&seed) % (length - have);
            char bytes[600];
            for (size_t i = 0; i < more; i++)
                bytes[i] = plain[have + i] = (char)('a' + test_random(&seed) % 26);
            bytes[more] = '\0';
            switch (test_random(&seed) % 3) {
            case 0:
                buf_add(&buf, bytes, more);
                break;
            case 1:
                buf_text(&buf, bytes);
                break;
            default:
                buf_print(&buf, "%s", bytes);
            }
            have += more;
            check_valid(&buf);
        }
        plain[length] = '\0';
        CHECK_INT(buf.count, length);
        CHECK_STR(buf_string(&buf), plain);
        buf_clear(&buf);
        CHECK(buf.data == NULL && buf.count == 0 && buf.cap == 0);
    }
}

TEST(bytes_may_be_zero)
{
    struct buf buf = {0};
    buf_add(&buf, "a\0b", 3);
    buf_text(&buf, "c");
    CHECK_INT(buf.count, 4);
    CHECK(memcmp(buf.data, "a\0bc", 5) == 0);
    buf_clear(&buf);
}

/* What was there stays; what fails is not there by halves; and nothing comes behind it. */
TEST(a_broken_one_stays_as_it_was)
{
    for (long failing = 1; failing <= 4; failing++) {
        struct buf buf = {0};
        char before[4096] = "";
        mem_fail_after(failing);
        for (int i = 0; i < 40; i++) {
            size_t count = buf.count;
            buf_print(&buf, "%03d and some more of it;", i);
            if (buf.broken) {
                CHECK_INT(buf.count, count);
                buf_text(&buf, "x");
                buf_add(&buf, "y", 1);
                buf_print(&buf, "%d", 1);
                CHECK_INT(buf.count, count);
                break;
            }
            memcpy(before, buf_string(&buf), buf.count + 1);
        }
        mem_fail_after(0);
        CHECK(buf.broken);
        CHECK_STR(buf_string(&buf), before);
        buf_text(&buf, "still broken");
        CHECK_STR(buf_string(&buf), before);
        buf_clear(&buf); /* and is as good as new */
        buf_text(&buf, "new");
        CHECK_STR(buf_string(&buf), "new");
        buf_clear(&buf);
    }
}

/* ---- memory ---- */

TEST(sizes_that_overflow_are_refused)
{
    void *array = NULL;
    size_t cap = 0;
    const size_t half = SIZE_MAX / 2 + 1;
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* which end the program */
    CHECK(mem_alloc(half, 2) == NULL);
    CHECK(mem_alloc(SIZE_MAX, SIZE_MAX) == NULL);
#endif
    CHECK(mem_resize(NULL, half, 2) == NULL);
    CHECK(mem_resize(NULL, SIZE_MAX / 8 + 1, 8) == NULL);
    CHECK(mem_copy("x", SIZE_MAX) == NULL);
    CHECK(!mem_grow(&array, &cap, SIZE_MAX, 1));
    CHECK(!mem_grow(&array, &cap, half + 1, 1));
    CHECK(!mem_grow(&array, &cap, SIZE_MAX / 16, 64));
    CHECK(array == NULL && cap == 0);
}

TEST(nothing_is_something)
{
    void *none = mem_alloc(0, 0), *also = mem_alloc(0, 8), *size = mem_alloc(8, 0);
    CHECK(none && also && size); /* NULL means one thing only */
    none = mem_resize(none, 0, 0);
    CHECK(none != NULL);
    mem_free(none);
    mem_free(also);
    mem_free(size);
    mem_free(NULL);
    char *text = mem_copy("abc", 0);
    CHECK_STR(text, "");
    mem_free(text);
}

TEST(an_array_grows_by_doubling_and_keeps_what_it_had)
{
    uint64_t *array = NULL;
    size_t cap = 0, grown = 0;
    for (size_t i = 0; i < 3000; i++) {
        size_t before = cap;
        REQUIRE(MEM_GROW(array, cap, i + 1));
        CHECK(cap > i && (cap & (cap - 1)) == 0);
        grown += cap != before;
        array[i] = i * i;
    }
    CHECK_INT(grown, 9); /* 16, 32, ... 4096 */
    for (size_t i = 0; i < 3000; i++)
        CHECK_INT(array[i], i * i);
    REQUIRE(MEM_GROW(array, cap, 100000)); /* several doublings at once */
    CHECK_INT(cap, 131072);
    CHECK_INT(array[2999], 2999 * 2999);
    mem_free(array);
}

TEST(a_failed_growth_changes_nothing)
{
    uint32_t *array = NULL;
    size_t cap = 0;
    REQUIRE(MEM_GROW(array, cap, 16));
    for (uint32_t i = 0; i < 16; i++)
        array[i] = i;
    uint32_t *old = array;
    mem_fail_after(1);
    CHECK(MEM_GROW(array, cap, 16)); /* there is room: nothing is asked for */
    CHECK(!MEM_GROW(array, cap, 17));
    mem_fail_after(0);
    CHECK(array == old && cap == 16);
    CHECK_INT(array[15], 15);
    mem_free(array);
}

TEST(the_nth_call_fails_and_all_after_it)
{
    for (long n = 1; n <= 5; n++) {
        void *got[8];
        mem_fail_after(n);
        for (int i = 0; i < 8; i++) {
            got[i] = i % 2 ? mem_alloc(1, 1) : mem_copy("", 0);
            CHECK((got[i] != NULL) == (i + 1 < n));
        }
        mem_fail_after(0);
        for (int i = 0; i < 8; i++)
            mem_free(got[i]);
    }
    void *again = mem_alloc(1, 1);
    CHECK(again != NULL);
    mem_free(again);
}

TEST(memory_is_zeroed)
{
    for (int round = 0; round < 20; round++) {
        unsigned char *bytes = mem_alloc(100, 7);
        REQUIRE(bytes != NULL);
        for (int i = 0; i < 700; i++)
            CHECK_INT(bytes[i], 0);
        memset(bytes, 0xff, 700);
        mem_free(bytes);
    }
}

TEST_MAIN(TEST_CASE(an_empty_one_needs_no_memory), TEST_CASE(it_grows_by_every_length),
          TEST_CASE(bytes_may_be_zero), TEST_CASE(a_broken_one_stays_as_it_was),
          TEST_CASE(sizes_that_overflow_are_refused), TEST_CASE(nothing_is_something),
          TEST_CASE(an_array_grows_by_doubling_and_keeps_what_it_had),
          TEST_CASE(a_failed_growth_changes_nothing),
          TEST_CASE(the_nth_call_fails_and_all_after_it), TEST_CASE(memory_is_zeroed))
