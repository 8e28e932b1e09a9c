/*
 * Where calls begin in a row of births: a text has a letter for each block's line, one for its
 * module, and a bar before each that begins a call.
 */
#include "test.h"

#include <string.h>

#include "levers_hand.h"
#include "levers_rows.h"

enum { MOST = 60 };

enum known { KNOWN, NOT_KNOWN }; /* which instance it is */

/* "aA bB|aA bB": two calls, of two blocks each. */
static const char *split(const char *blocks, enum known known, bool one)
{
    static char text[3 * MOST + 1];
    struct hand_block hand[MOST + 1] = {{0}};
    size_t places[MOST];
    bool begins[MOST];
    struct levers_step step;
    const size_t count = (strlen(blocks) + 1) / 3;
    REQUIRE(count <= MOST);
    for (size_t i = 0; i < count; i++) {
        hand[i] = (struct hand_block){HAND_FORWARD + (int)i, HAND_END, 1, blocks[3 * i + 1],
                                      blocks[3 * i]};
        places[i] = i;
    }
    hand_step(hand, &step);
    struct levers_row row = {
        .blocks = places, .count = count, .instance = known == KNOWN ? 0 : SIZE_MAX};
    REQUIRE(levers_row_calls(&step, &row, one, begins) == 0);
    CHECK(begins[0]);
    memcpy(text, blocks, 3 * count);
    text[3 * count - 1] = '\0';
    for (size_t i = 1; i < count; i++)
        text[3 * i - 1] = begins[i] ? '|' : ' ';
    levers_step_clear(&step);
    return text;
}

/* The calls that are marked are those that are found. */
static void check_calls(const char *blocks, enum known known)
{
    CHECK_STR(split(blocks, known, false), blocks);
}

TEST(a_row_that_repeats_is_as_many_calls)
{
    check_calls("aA", KNOWN);
    check_calls("aA bB cC", KNOWN);
    check_calls("aA|aA|aA", KNOWN);
    check_calls("aA bB|aA bB|aA bB", KNOWN);
    check_calls("aA bB aA cC|aA bB aA cC", KNOWN);
    check_calls("aA aA bB aA|aA aA bB aA", KNOWN); /* the end of one is like its beginning */
    CHECK_STR(split("aA bB aA bB", KNOWN, true), "aA bB aA bB");
}

/* Where instances are not known, the line alone says what is alike. */
TEST(other_modules_are_another_call_where_they_are_known)
{
    check_calls("aA bB|aC bD", NOT_KNOWN);
    check_calls("aA bB aC bD", KNOWN);
    check_calls("aA bB|aA cC|aA bB|aA cC|aA bB", NOT_KNOWN); /* it does not repeat to its end */
}

/* A weight is copied in the first call, or a call is cut short. */
TEST(calls_may_differ)
{
    check_calls("aA aA bB bB|aA bB|aA bB", KNOWN);
    check_calls("aA aA bB|aA bB", NOT_KNOWN);
    check_calls("aA bB cC|aA bB cC|aA", KNOWN);
    check_calls("aA bB cC|aA cC", KNOWN);
    check_calls("aA bB cC|aA cC bB", KNOWN);
    check_calls("aA aA bB", KNOWN);
}

/* A module that goes through a list, and makes something of its own before each. */
TEST(one_call_goes_through_a_list)
{
    check_calls("cM rR cM sS", KNOWN);
    check_calls("cM rR cM rS cM rT", KNOWN);
    check_calls("cM rR xX cM rS xX", KNOWN);
    check_calls("cM rR cM cM sS", KNOWN);
    check_calls("cM rR|cM rS", NOT_KNOWN);
    CHECK_STR(split("cM rR cM sS", KNOWN, true), "cM rR cM sS");
}

/* The same of one that is called several times, of which the first copies weights, too. */
TEST(an_instance_goes_through_its_list_in_each_call)
{
    check_calls("cM rR cM sS|cM rR cM sS", KNOWN);
    check_calls("cM rR rR cM sS sS|cM rR cM sS|cM rR cM sS", KNOWN);
    check_calls("cM cM rR cM sS|cM rR cM sS", KNOWN);
}

/* What runs first in the list may be what all parts of it have in common. */
TEST(parts_of_a_list_share_a_module)
{
    check_calls("cM nN rR cM nN sS", KNOWN);
    check_calls("cM nN rR rR cM nN sS|cM nN rR cM nN sS", KNOWN);
}

/* The first call leaves a part out. */
TEST(a_later_call_may_run_more)
{
    check_calls("aA bB|aA bB cC", KNOWN);
    check_calls("aA bB|aA bB cC|aA bB cC", KNOWN);
}

TEST_MAIN(TEST_CASE(a_row_that_repeats_is_as_many_calls),
          TEST_CASE(other_modules_are_another_call_where_they_are_known),
          TEST_CASE(calls_may_differ), TEST_CASE(one_call_goes_through_a_list),
          TEST_CASE(an_instance_goes_through_its_list_in_each_call),
          TEST_CASE(parts_of_a_list_share_a_module), TEST_CASE(a_later_call_may_run_more))
