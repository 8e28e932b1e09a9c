/* The map against an array that is searched from end to end. */
#include "map.h"
#include "mem.h"
#include "test.h"

#include <string.h>

TEST(an_empty_map_has_nothing)
{
    struct map map = {0};
    size_t at = 0;
    CHECK(map_get(&map, 1) == MAP_NONE);
    CHECK(map_remove(&map, 1) == MAP_NONE);
    CHECK(map_next(&map, &at) == NULL);
    CHECK(map_is_valid(&map));
}

TEST(put_returns_what_was_there)
{
    struct map map = {0};
    uint64_t old;
    REQUIRE(map_put(&map, 7, 3, &old));
    CHECK(old == MAP_NONE);
    REQUIRE(map_put(&map, 7, 4, &old));
    CHECK_INT(old, 3);
    CHECK_INT(map.count, 1);
    CHECK_INT(map_remove(&map, 7), 4);
    CHECK_INT(map.count, 0);
    map_clear(&map);
}

enum { KEYS = 512 };

/* Keys in 4 KiB steps, as addresses are, and few enough that they come again and again. */
static uint64_t key_of(uint64_t number)
{
    return 0x7f0000000000ull + number * 4096;
}

TEST(random_traffic_equals_an_array)
{
    struct map map = {0};
    uint64_t model[KEYS];
    uint64_t seed = 1;
    size_t living = 0;
    memset(model, 0xff, sizeof model);
    for (int i = 0; i < 200000; i++) {
        uint64_t r = test_random(&seed);
        size_t k = r % KEYS;
        if (r >> 63) {
            uint64_t old;
            REQUIRE(map_put(&map, key_of(k), r >> 8, &old));
            CHECK(old == model[k]);
            living += model[k] == MAP_NONE;
            model[k] = r >> 8;
        } else {
            CHECK(map_remove(&map, key_of(k)) == model[k]);
            living -= model[k] != MAP_NONE;
            model[k] = MAP_NONE;
        }
        if (i % 1000 == 0)
            REQUIRE(map_is_valid(&map));
    }
    CHECK_INT(map.count, living);
    for (size_t k = 0; k < KEYS; k++)
        CHECK(map_get(&map, key_of(k)) == model[k]);
    size_t at = 0, walked = 0;
    while (map_next(&map, &at))
        walked++;
    CHECK_INT(walked, living);
    map_clear(&map);
}

TEST(without_memory_nothing_changes)
{
    struct map map = {0};
    for (uint64_t i = 0; i < 48; i++)
        REQUIRE(map_put(&map, i, i, NULL));
    mem_fail_after(1);
    CHECK(!map_put(&map, 1000, 1, NULL));
    mem_fail_after(0);
    CHECK_INT(map.count, 48);
    CHECK(map_is_valid(&map));
    map_clear(&map);
}

TEST_MAIN(TEST_CASE(an_empty_map_has_nothing), TEST_CASE(put_returns_what_was_there),
          TEST_CASE(random_traffic_equals_an_array), TEST_CASE(without_memory_nothing_changes))
