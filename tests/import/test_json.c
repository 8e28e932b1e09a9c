/*
 * The reader of JSON: its tokens, what is wrong, and that it takes the same from a file's pieces.
 */
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "json.h"
#include "test.h"

/* The tokens as letters, with texts behind those that have one. */
static void tokens_of(const char *bytes, size_t count, struct buf *out)
{
    static const char letters[] = "!$o}a]knsTF0"; /* by enum json_token */
    static struct json json;
    struct pickle_input input;
    input_memory(&input, bytes, count);
    json_start(&json, &input);
    enum json_token token = JSON_NULL;
    while (token != JSON_END && token != JSON_WRONG) {
        token = json_next(&json);
        buf_print(out, "%c", letters[token]);
        if (token == JSON_KEY || token == JSON_STRING || token == JSON_NUMBER)
            buf_print(out, "<%s>", json.text);
    }
    if (token == JSON_WRONG)
        buf_print(out, "%s", json.trouble);
    CHECK(json_next(&json) == token);
}

static void check(const char *bytes, const char *tokens)
{
    struct buf out = {0};
    tokens_of(bytes, strlen(bytes), &out);
    CHECK_STR(buf_string(&out), tokens);
    buf_clear(&out);
}

TEST(tokens)
{
    check("{}", "o}$");
    check(" [ ] ", "a]$");
    check("[1, -2.5e+3,\"a\",true,false,null]", "as<1>s<-2.5e+3>n<a>TF0]$");
    check("{\"a\":{\"b\":[{}]},\"c\":1}", "ok<a>ok<b>ao}]}k<c>s<1>}$");
    check("[NaN,Infinity]", "a00]$");
    check("7 and more", "s<7>$");
}

TEST(strings)
{
    check("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "n<\"\\/\b\f\n\r\t>$");
    check("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"", "n<A\u00e9\u20ac\U0001f600>$");
    check("\"\\ud83d\\u0041\"", "n<?>$");
    check("\"\\ud83dx\\ud83d\\n\"", "n<?x?n>$");
    check("\"\\u00\"", "n<?>$");
    check("\"C:\\path\\q\"", "n<C:pathq>$");
    check("\"\\u0000\"", "n<?>$");
}

TEST(what_is_wrong)
{
    check("", "!it is cut off");
    check("{\"a\"", "o!it is cut off");
    check("[1", "as<1>!it is cut off");
    check("[1,", "as<1>!it is cut off");
    check("\"abc", "!it is cut off");
    check("[1 2]", "as<1>!it is not JSON");
    check("[1,]", "as<1>!it is not JSON");
    check("{1:2}", "o!it is not JSON");
    check("{\"a\" 1}", "o!it is not JSON");
    check("{]", "o!it is not JSON");
    check("[}", "a!it is not JSON");
    check("tru", "!it is cut off");
    check("truth", "!it is cut off");
    check("[truth]", "a!it is not JSON");
}

TEST(deep_ones)
{
    static char bytes[100000];
    struct buf out = {0};
    memset(bytes, '[', sizeof bytes);
    tokens_of(bytes, sizeof bytes, &out);
    CHECK_INT(strspn(buf_string(&out), "a"), JSON_DEPTH);
    CHECK_STR(buf_string(&out) + JSON_DEPTH, "!it nests too deep");
    buf_clear(&out);
}

/* Cut in front of a character that has no room, never within it. */
TEST(long_strings_are_cut)
{
    static struct json json;
    static char bytes[3 * JSON_TEXT_BYTES];
    struct pickle_input input;
    for (size_t shift = 0; shift < 4; shift++) {
        size_t at = 0;
        bytes[at++] = '"';
        for (size_t i = 0; i < shift; i++)
            bytes[at++] = 'x';
        while (at < 2 * JSON_TEXT_BYTES) {
            memcpy(bytes + at, "\u20ac", 3);
            at += 3;
        }
        bytes[at++] = '"';
        input_memory(&input, bytes, at);
        json_start(&json, &input);
        CHECK_INT(json_next(&json), JSON_STRING);
        CHECK(json.cut);
        CHECK_INT((json.count - shift) % 3, 0);
        CHECK(json.count < JSON_TEXT_BYTES && json.count + 6 > JSON_TEXT_BYTES);
        CHECK_INT(json_next(&json), JSON_END);
    }
}

TEST(values_are_skipped)
{
    static const char bytes[] = "[{\"a\":[1,{\"b\":2}],\"c\":\"]\"},7,\"x\"]";
    static struct json json;
    struct pickle_input input;
    input_memory(&input, bytes, sizeof bytes - 1);
    json_start(&json, &input);
    CHECK_INT(json_next(&json), JSON_ARRAY);
    CHECK(json_skip(&json, json_next(&json)));
    CHECK(json_skip(&json, json_next(&json)));
    CHECK_INT(json_next(&json), JSON_STRING);
    CHECK_STR(json.text, "x");
    input_memory(&input, bytes, 12);
    json_start(&json, &input);
    CHECK(!json_skip(&json, json_next(&json)));
    CHECK(json.ended);
}

TEST_MAIN(TEST_CASE(tokens), TEST_CASE(strings), TEST_CASE(what_is_wrong), TEST_CASE(deep_ones),
          TEST_CASE(long_strings_are_cut), TEST_CASE(values_are_skipped))
