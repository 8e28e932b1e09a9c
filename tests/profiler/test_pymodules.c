/* The modules that the helper told, by their addresses. Frames: pyframes/check.py. */
#include "pymodules.h"

#include "test.h"

TEST(what_was_put_is_found_until_it_is_dropped)
{
    enum { OBJECTS = 5000 };
    for (uint64_t i = 1; i <= OBJECTS; i++)
        REQUIRE(pymodules_put(0x7f0000000000 + 48 * i, (uint32_t)i));
    CHECK_INT(pymodules_count(), OBJECTS);
    for (uint64_t i = 1; i <= OBJECTS; i += 2)
        pymodules_drop(0x7f0000000000 + 48 * i);
    for (uint64_t i = 1; i <= OBJECTS; i++)
        REQUIRE(pymodules_find(0x7f0000000000 + 48 * i) == (i % 2 ? 0 : i));
    CHECK_INT(pymodules_find(0x7f0000000000), 0);
    CHECK_INT(pymodules_count(), OBJECTS / 2);
}

TEST(an_address_that_is_used_again)
{
    const uint64_t object = 0x5555000;
    for (uint32_t round = 1; round <= 100000; round++) {
        REQUIRE(pymodules_put(object + 64 * (round % 100), round));
        REQUIRE(pymodules_find(object + 64 * (round % 100)) == round);
        pymodules_drop(object + 64 * (round % 100));
        REQUIRE(pymodules_find(object + 64 * (round % 100)) == 0);
    }
    CHECK_INT(pymodules_count(), 0);
}

TEST(another_number_for_the_same_object)
{
    REQUIRE(pymodules_put(64, 1) && pymodules_put(64, 2));
    CHECK_INT(pymodules_find(64), 2);
    CHECK_INT(pymodules_count(), 1);
    pymodules_drop(64);
    pymodules_drop(64);
    CHECK_INT(pymodules_find(64), 0);
    CHECK_INT(pymodules_count(), 0);
}

TEST(addresses_that_are_none)
{
    CHECK(!pymodules_put(0, 1));
    CHECK(!pymodules_put(1, 1));
    CHECK_INT(pymodules_find(0), 0);
    CHECK_INT(pymodules_find(1), 0);
}

TEST_MAIN(TEST_CASE(what_was_put_is_found_until_it_is_dropped),
          TEST_CASE(an_address_that_is_used_again), TEST_CASE(another_number_for_the_same_object),
          TEST_CASE(addresses_that_are_none))
