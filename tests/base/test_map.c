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

/* Removals and replacements of keys that stand in the old table, in both, in neither. */
TEST(random_traffic_while_it_grows_equals_an_array)
{
    enum { MANY = 1 << 15 };
    static uint64_t model[MANY];
    struct map map = {0};
    uint64_t seed = 5;
    size_t living = 0, checks = 0;
    memset(model, 0xff, sizeof model);
    for (int i = 0; i < 400000; i++) {
        uint64_t r = test_random(&seed), old = MAP_NONE;
        size_t k = r % (1 + (size_t)i * MANY / 400000);
        if (r >> 62) {
            REQUIRE(map_put(&map, k * 512, r >> 8, &old));
            living += model[k] == MAP_NONE;
            REQUIRE(old == model[k]);
            model[k] = r >> 8;
        } else {
            REQUIRE(map_remove(&map, k * 512) == model[k]);
            living -= model[k] != MAP_NONE;
            model[k] = MAP_NONE;
        }
        size_t other = (r >> 20) % MANY;
        REQUIRE(map_get(&map, other * 512) == model[other]);
        if (map.old && ++checks % 16 == 0)
            REQUIRE(map_is_valid(&map));
    }
    CHECK_INT(map.count, living);
    CHECK(checks > 100);
    map_clear(&map);
}

TEST(a_walk_while_it_grows_sees_each_entry_once)
{
    enum { MANY = 800 };
    struct map map = {0};
    size_t walks = 0;
    for (uint64_t i = 0; i < MANY; i++) {
        REQUIRE(map_put(&map, i, i, NULL));
        if (i % 3 == 2)
            REQUIRE(map_remove(&map, i - 1) == i - 1);
        if (!map.old)
            continue;
        unsigned char seen[MANY] = {0};
        const struct map_entry *entry;
        size_t at = 0, walked = 0;
        for (walks++; (entry = map_next(&map, &at)) != NULL; walked++) {
            CHECK(entry->key == entry->value);
            CHECK_INT(++seen[entry->key], 1);
        }
        CHECK_INT(walked, map.count);
    }
    CHECK(walks > 5);
    map_clear(&map);
}

/* The slots that one call takes over, seen from outside. */
static size_t slots_moved(const struct map *before, const struct map *after)
{
    if (!before->old)
        return after->moved;
    return after->old ? after->moved - before->moved : before->old_capacity - before->moved;
}

TEST(no_call_moves_many_of_millions)
{
    enum { MILLIONS = 8 << 20 };
    struct map map = {0};
    size_t most = 0, moved = 0, outgrown = 0;
    for (uint64_t i = 0; i < MILLIONS; i++) {
        struct map before = map;
        REQUIRE(map_put(&map, key_of(i), i, NULL));
        size_t now = slots_moved(&before, &map);
        most = now > most ? now : most;
        moved += now;
        outgrown += map.capacity != before.capacity ? before.capacity : 0;
    }
    CHECK_INT(map.count, MILLIONS);
    CHECK_INT(map.capacity, 2 * MILLIONS);
    CHECK(!map.old);
    CHECK_INT(moved, outgrown);
    CHECK_INT(most, MAP_STEP);
    for (uint64_t i = 0; i < MILLIONS; i += 997)
        CHECK(map_get(&map, key_of(i)) == i);
    map_clear(&map);
}

TEST(key_zero_is_a_key)
{
    struct map map = {0};
    uint64_t old;
    CHECK(map_get(&map, 0) == MAP_NONE);
    CHECK(map_remove(&map, 0) == MAP_NONE);
    REQUIRE(map_put(&map, 0, 5, &old));
    CHECK(old == MAP_NONE);
    REQUIRE(map_put(&map, 0, 0, &old));
    CHECK_INT(old, 5);
    CHECK_INT(map_get(&map, 0), 0);
    CHECK_INT(map.count, 1);
    CHECK(map_is_valid(&map));
    CHECK_INT(map_remove(&map, 0), 0);
    CHECK(map_get(&map, 0) == MAP_NONE);
    CHECK_INT(map.count, 0);
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
          TEST_CASE(random_traffic_equals_an_array),
          TEST_CASE(random_traffic_while_it_grows_equals_an_array),
          TEST_CASE(a_walk_while_it_grows_sees_each_entry_once),
          TEST_CASE(no_call_moves_many_of_millions), TEST_CASE(key_zero_is_a_key),
          TEST_CASE(without_memory_nothing_changes))
