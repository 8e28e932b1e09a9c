/* What varies: names, values, combinations, and command lines with them. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "plan_vary.h"

static char why[256];

/* Names are separated by blanks. The result of the first that is wrong, or of settling. */
static int make(struct vary *vary, const char *text)
{
    char copy[512], *save = NULL;
    int err = 0;
    *vary = (struct vary){0};
    why[0] = '\0';
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &save); word && err == 0;
         word = strtok_r(NULL, " ", &save))
        err = vary_add(vary, word, why, sizeof why);
    err = err ? err : vary_settle(vary, why, sizeof why);
    CHECK(err || vary_is_valid(vary));
    return err;
}

static const char *all_of(const struct vary *vary, size_t place)
{
    static char text[512];
    struct buf out = {0};
    for (size_t i = 0; i < vary->names[place].count && i < 9; i++) {
        buf_text(&out, i ? " " : "");
        vary_put_value(&vary->names[place], i, &out);
    }
    snprintf(text, sizeof text, "%s", buf_string(&out));
    buf_clear(&out);
    return text;
}

TEST(ranges_and_lists_are_read)
{
    struct vary vary;
    REQUIRE(make(&vary, "B=1..512 T=128,256 dtype=fp32,bf16") == 0);
    CHECK_INT(vary.names[0].count, 512);
    CHECK_INT(vary_number(&vary.names[0], 511), 512);
    CHECK_STR(all_of(&vary, 1), "128 256");
    CHECK(vary.names[1].numbers && !vary.names[2].numbers);
    CHECK_INT(vary.searched, 0);
    CHECK_INT(vary.combinations, 4);
    vary_clear(&vary);
    REQUIRE(make(&vary, "B=8..50:8") == 0);
    CHECK_STR(all_of(&vary, 0), "8 16 24 32 40 48");
    vary_clear(&vary);
    REQUIRE(make(&vary, "B=16,2,8,2,1") == 0); /* ascending, each once */
    CHECK_STR(all_of(&vary, 0), "1 2 8 16");
    CHECK_INT(vary.searched, 0);
    vary_clear(&vary);
    REQUIRE(make(&vary, "m=b,a conf=../x,../y") == 0);
    CHECK_STR(all_of(&vary, 0), "b a");
    CHECK_STR(all_of(&vary, 1), "../x ../y");
    CHECK(vary.searched == VARY_NONE);
    CHECK_INT(vary.combinations, 4);
    vary_clear(&vary);
    REQUIRE(make(&vary, "T=1,2 B=1,2,4") == 0); /* the longest list is searched */
    CHECK_INT(vary.searched, 1);
    vary_clear(&vary);
    REQUIRE(make(&vary, "T=1,2,3 B=1..2") == 0); /* but a range before any list */
    CHECK_INT(vary.searched, 1);
    vary_clear(&vary);
}

static void is_wrong(const char *text, const char *what)
{
    struct vary vary;
    CHECK_INT(make(&vary, text), ERR_ARG);
    CHECK_STR(why, what);
    vary_clear(&vary);
}

TEST(mistakes_are_named)
{
    is_wrong("B", "'B' is not NAME=A..B or NAME=VALUE,VALUE");
    is_wrong("=1..2", "'=1..2' is not NAME=A..B or NAME=VALUE,VALUE");
    is_wrong("a-b=1..2", "'a-b=1..2' is not NAME=A..B or NAME=VALUE,VALUE");
    is_wrong("B=5..2", "'5..2' is not A..B or A..B:STEP, with A <= B");
    is_wrong("B=5..", "'5..' is not A..B or A..B:STEP, with A <= B");
    is_wrong("B=1..9:0", "'1..9:0' is not A..B or A..B:STEP, with A <= B");
    is_wrong("B=1..9:x", "'1..9:x' is not A..B or A..B:STEP, with A <= B");
    is_wrong("B=1..99999999999999", "'1..99999999999999' is too large");
    is_wrong("B=1,,2", "an empty value in '1,,2'");
    is_wrong("B=", "an empty value in ''");
    is_wrong("B=1..2 B=3,4", "B is passed twice");
    is_wrong("B=1..2 T=3..4", "B and T are both ranges; give one of them as a list of values");
    is_wrong("a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1", "at most 8 names can vary");
}

static const char *filled(const struct vary *vary, const struct vary_at *at, const char *text)
{
    static char out[256];
    struct buf buf = {0};
    vary_fill(vary, at, text, &buf);
    snprintf(out, sizeof out, "%s", buf_string(&buf));
    buf_clear(&buf);
    return out;
}

TEST(placeholders_are_filled_and_other_braces_stay)
{
    struct vary vary;
    REQUIRE(make(&vary, "B=4..9 type=x,y") == 0);
    struct vary_at at = {{3, 1}};
    CHECK_STR(filled(&vary, &at, "--batch={B}"), "--batch=7");
    CHECK_STR(filled(&vary, &at, "{B}{B}/{type}"), "77/y");
    CHECK_STR(filled(&vary, &at, "{\"B\": {B}, \"c\": {C}}"), "{\"B\": 7, \"c\": {C}}");
    CHECK_STR(filled(&vary, &at, "{B {B} B} {}"), "{B 7 B} {}");
    CHECK(vary_is_in(&vary.names[0], "a{B}"));
    CHECK(!vary_is_in(&vary.names[0], "a{Bx} B {type}"));
    struct buf text = {0};
    vary_put_text(&vary, &at, VARY_NONE, ", ", &text);
    CHECK_STR(buf_string(&text), "B=7, type=y");
    buf_clear(&text);
    vary_put_text(&vary, &at, 0, ", ", &text);
    CHECK_STR(buf_string(&text), "type=y");
    buf_clear(&text);
    vary_clear(&vary);
}

TEST(combinations_come_once_each_smaller_ones_first)
{
    struct vary vary;
    unsigned seen = 0;
    REQUIRE(make(&vary, "B=1..9 T=3,1,2 type=x,y") == 0);
    CHECK_INT(vary.combinations, 6);
    for (size_t i = 0; i < vary.combinations; i++) {
        struct vary_at at = vary_combination(&vary, i);
        CHECK_INT(at.of[0], 0);
        seen |= 1u << (at.of[1] * 2 + at.of[2]);
        for (size_t j = i + 1; j < vary.combinations; j++) {
            struct vary_at later = vary_combination(&vary, j);
            CHECK(!vary_is_less(&vary, &later, &at));
        }
    }
    CHECK_INT(seen, 63);
    struct vary_at small = {{0, 0, 1}}, large = {{5, 2, 1}}, other = {{0, 2, 0}};
    CHECK(vary_is_less(&vary, &small, &large) && !vary_is_less(&vary, &large, &small));
    CHECK(!vary_is_less(&vary, &small, &other) && !vary_is_less(&vary, &other, &small));
    vary_clear(&vary);
}

TEST_MAIN(TEST_CASE(ranges_and_lists_are_read), TEST_CASE(mistakes_are_named),
          TEST_CASE(placeholders_are_filled_and_other_braces_stay),
          TEST_CASE(combinations_come_once_each_smaller_ones_first))
