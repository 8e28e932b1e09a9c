/* Numbers, texts and base64 as the page reads them. */
#include <string.h>

#include "json_cut.h"
#include "pack.h"
#include "test.h"

static void check(struct buf *out, const char *bytes, size_t count)
{
    CHECK_INT((int64_t)out->count, (int64_t)count);
    CHECK(out->count == count && memcmp(buf_string(out), bytes, count) == 0);
    buf_clear(out);
}

TEST(numbers_are_seven_bits_a_byte)
{
    struct buf out = {0};
    pack_number(&out, 0);
    pack_number(&out, 127);
    pack_number(&out, 128);
    pack_number(&out, 300);
    check(&out, "\x00\x7f\x80\x01\xac\x02", 6);
    pack_number(&out, UINT64_MAX);
    check(&out, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
}

TEST(signs_and_what_is_not_known)
{
    struct buf out = {0};
    pack_signed(&out, 0);
    pack_signed(&out, -1);
    pack_signed(&out, 1);
    pack_signed(&out, -64);
    check(&out, "\x00\x01\x02\x7f", 4);
    pack_signed(&out, INT64_MIN);
    check(&out, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
    pack_known(&out, PACK_NONE);
    pack_known(&out, 0);
    pack_known(&out, 126);
    check(&out, "\x00\x01\x7f", 3);
}

TEST(texts_are_cut_between_characters)
{
    char text[2 * PACK_TEXT_MOST + 2];
    for (size_t shift = 0; shift < 2; shift++) {
        struct buf out = {0};
        memset(text, 'a', sizeof text);
        for (size_t i = shift; i + 1 < sizeof text; i += 2)
            memcpy(text + i, "\xc3\xa9", 2);
        text[sizeof text - 1] = '\0';
        pack_text(&out, text);
        CHECK(out.count <= PACK_TEXT_MOST + 3 + 2);
        CHECK(memcmp(out.data + out.count - 3, "\xe2\x80\xa6", 3) == 0);
        CHECK((unsigned char)out.data[out.count - 4] == 0xa9);
        buf_clear(&out);
    }
}

TEST(controls_and_broken_bytes_are_visible)
{
    struct buf out = {0};
    pack_text(&out, "a\x1b\xff\xe2\x80\xa8");
    CHECK(!memchr(out.data, 0x1b, out.count) && !memchr(out.data, 0xff, out.count));
    buf_clear(&out);
    pack_text(&out, NULL);
    check(&out, "\x00", 1);
}

TEST(base64_of_any_length)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        pack_base64(&out, cases[i].bytes, strlen(cases[i].bytes));
        check(&out, cases[i].text, strlen(cases[i].text));
    }
    char long_one[3000] = {0};
    struct buf out = {0};
    pack_base64(&out, long_one, sizeof long_one);
    CHECK_INT((int64_t)out.count, 4000);
    buf_clear(&out);
}

TEST(json_is_cut_in_its_texts_only)
{
    static const struct {
        const char *json, *cut;
    } cases[] = {
        {"{\"ab\": [1234567, \"abc\"]}", "{\"ab\": [1234567, \"abc\"]}"},
        {"[\"abcdef\", \"x\"]", "[\"abcd\xe2\x80\xa6\", \"x\"]"},
        {"[\"abc\\\"def\"]", "[\"abc\xe2\x80\xa6\"]"},
        {"[\"a\\u2028b\"]", "[\"a\xe2\x80\xa6\"]"},
        {"[\"abc\xc3\xa9z\"]", "[\"abc\xe2\x80\xa6\"]"},
        {"[\"abcde", "[\"abcd\xe2\x80\xa6"},
        {"[\"\\", "[\"\\"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        json_cut(&out, cases[i].json, strlen(cases[i].json), 4);
        CHECK_STR(buf_string(&out), cases[i].cut);
        buf_clear(&out);
    }
}

TEST_MAIN(TEST_CASE(json_is_cut_in_its_texts_only), TEST_CASE(numbers_are_seven_bits_a_byte),
          TEST_CASE(signs_and_what_is_not_known), TEST_CASE(texts_are_cut_between_characters),
          TEST_CASE(controls_and_broken_bytes_are_visible), TEST_CASE(base64_of_any_length))
