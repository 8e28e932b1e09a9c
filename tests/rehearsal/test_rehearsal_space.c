/* Addresses and what lies at them: first fit, joined neighbours, and a model of both. */
#include <string.h>

#include "extent.h"
#include "mem.h"
#include "space.h"
#include "test.h"

TEST(takes_the_lowest_that_fits)
{
    struct space space = {0};
    REQUIRE(space_give(&space, 0x1000, 0x1000));
    REQUIRE(space_give(&space, 0x4000, 0x4000));
    CHECK_INT(space_take(&space, 0x2000, 0x1000), 0x4000);
    CHECK_INT(space_take(&space, 0x800, 0x800), 0x1000);
    CHECK_INT(space_take(&space, 0x1000, 0x1000), 0x6000);
    CHECK_INT(space_take(&space, 0x1001, 0x100), 0);
    CHECK_INT(space_take(&space, 0, 0x100), 0);
    CHECK_INT(space_free_bytes(&space), 0x800 + 0x1000);
    CHECK(space_is_valid(&space));
    space_clear(&space);
}

TEST(an_alignment_leaves_both_ends_free)
{
    struct space space = {0};
    REQUIRE(space_give(&space, 0x1100, 0x4000));
    CHECK_INT(space_take(&space, 0x1000, 0x1000), 0x2000);
    CHECK_INT(space.count, 2);
    CHECK(space_take_at(&space, 0x1100, 0xf00));
    CHECK(!space_take_at(&space, 0x1100, 0x100));
    CHECK(!space_take_at(&space, 0x2f00, 0x200)); /* begins in what is taken */
    CHECK(!space_take_at(&space, 0x5000, 0x200)); /* ends behind it */
    CHECK(space_take_at(&space, 0x3000, 0x2100));
    CHECK_INT(space.count, 0);
    space_clear(&space);
}

TEST(what_comes_back_is_joined)
{
    struct space space = {0};
    REQUIRE(space_give(&space, 0x1000, 0x3000));
    REQUIRE(space_take_at(&space, 0x1000, 0x3000));
    CHECK(space_give(&space, 0x1000, 0x1000));
    CHECK(space_give(&space, 0x3000, 0x1000));
    CHECK_INT(space.count, 2);
    CHECK(!space_give(&space, 0x3000, 0x1000)); /* it is free already */
    CHECK(!space_give(&space, 0x2800, 0x1000));
    CHECK(!space_give(&space, UINT64_MAX - 5, 10));
    CHECK(space_give(&space, 0x2000, 0x1000));
    CHECK_INT(space.count, 1);
    CHECK_INT(space.holes[0].bytes, 0x3000);
    space_clear(&space);
}

/* Units of a space of 64, against a plain array. */
enum { UNITS = 64, UNIT = 0x1000, BASE = 0x10000 };

static bool model_is_free(const bool *taken, size_t at, size_t count)
{
    for (size_t i = at; i < at + count; i++)
        if (i >= UNITS || taken[i])
            return false;
    return true;
}

static uint64_t model_take(bool *taken, size_t count)
{
    for (size_t at = 0; at < UNITS; at++) {
        if (!model_is_free(taken, at, count))
            continue;
        memset(taken + at, true, count);
        return BASE + at * UNIT;
    }
    return 0;
}

TEST(does_as_a_plain_array_does)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct space space = {0};
        bool taken[UNITS] = {false};
        uint64_t random = seed;
        REQUIRE(space_give(&space, BASE, UNITS * UNIT));
        for (int i = 0; i < 400; i++) {
            size_t count = 1 + test_random(&random) % 6, at = test_random(&random) % UNITS;
            if (test_random(&random) % 2) {
                CHECK_INT(space_take(&space, count * UNIT, UNIT), model_take(taken, count));
            } else if (taken[at]) {
                CHECK(space_give(&space, BASE + at * UNIT, UNIT));
                taken[at] = false;
            } else {
                CHECK(!space_give(&space, BASE + at * UNIT, UNIT));
            }
            CHECK(space_is_valid(&space));
        }
        space_clear(&space);
    }
}

TEST(an_address_inside_finds_its_extent)
{
    struct extents extents = {0};
    struct extent out, a = {.base = 0x1000, .bytes = 0x1000, .kind = EXTENT_DEVICE},
                       b = {.base = 0x2000, .bytes = 0x1000, .kind = EXTENT_PINNED},
                       over = {.base = 0x1800, .bytes = 0x1000}, none = {.base = 0x9000};
    CHECK(extents_add(&extents, &b));
    CHECK(extents_add(&extents, &a));
    CHECK(!extents_add(&extents, &over));
    CHECK(!extents_add(&extents, &none));
    CHECK(extents_are_valid(&extents));
    CHECK(extents_at(&extents, 0xfff) == NULL);
    CHECK_INT(extents_at(&extents, 0x1fff)->base, 0x1000);
    CHECK_INT(extents_at(&extents, 0x2000)->kind, EXTENT_PINNED);
    CHECK(extents_at(&extents, 0x3000) == NULL);
    CHECK(!extents_remove(&extents, 0x1001, &out));
    CHECK(extents_remove(&extents, 0x1000, &out));
    CHECK_INT(out.kind, EXTENT_DEVICE);
    CHECK(extents_at(&extents, 0x1000) == NULL);
    extents_clear(&extents);
}

TEST(without_memory_nothing_changes)
{
    struct space space = {0};
    struct extents extents = {0};
    struct extent one = {.base = 0x1000, .bytes = 0x1000};
    mem_fail_after(1);
    CHECK(!space_give(&space, 0x1000, 0x1000));
    CHECK(!extents_add(&extents, &one));
    mem_fail_after(0);
    CHECK_INT(space.count, 0);
    CHECK_INT(extents.count, 0);
    space_clear(&space);
    extents_clear(&extents);
}

TEST_MAIN(TEST_CASE(takes_the_lowest_that_fits), TEST_CASE(an_alignment_leaves_both_ends_free),
          TEST_CASE(what_comes_back_is_joined), TEST_CASE(does_as_a_plain_array_does),
          TEST_CASE(an_address_inside_finds_its_extent), TEST_CASE(without_memory_nothing_changes))
