/*
 * The structures inside by themselves, against plain arrays: trees and bins of free blocks, and the
 * table from addresses to blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "blockmap.h"
#include "counters.h"
#include "freeset.h"
#include "mem.h"
#include "test.h"

enum { BLOCKS = 400, STEPS = 20000 };

static struct block blocks[BLOCKS];
static bool in_set[BLOCKS];
static struct freeset set;

static uint64_t some_size(uint64_t *seed)
{
    uint64_t r = test_random(seed);
    switch (r % 4) {
    case 0:
        return 512 * (1 + r / 4 % 6); /* many of the same size */
    case 1:
        return 512 * (1 + r / 4 % 300); /* on both sides of the exact bins */
    case 2:
        return 512 * (1 + r / 4 % (1 << 20));
    default:
        return UINT64_C(512) << r / 4 % 50;
    }
}

static bool is_less(const struct block *a, uint64_t size, uint64_t address)
{
    return a->size != size ? a->size < size : a->address < address;
}

/* The first not before, or the last before, by looking at all. */
static uint32_t look(uint64_t size, uint64_t address, bool before)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < BLOCKS; i++) {
        if (!in_set[i] || is_less(&blocks[i], size, address) != before)
            continue;
        if (!best || is_less(&blocks[i], blocks[best].size, blocks[best].address) != before)
            best = i;
    }
    return best;
}

static void check_set(uint64_t *seed)
{
    uint64_t size = some_size(seed), address = 512 * (test_random(seed) % BLOCKS), count;
    CHECK_INT(freeset_find(&set, blocks, size, address), look(size, address, false));
    CHECK_INT(freeset_find(&set, blocks, size, 0), look(size, 0, false));
    CHECK_INT(freeset_find_before(&set, blocks, size, address), look(size, address, true));
    CHECK_INT(freeset_find_before(&set, blocks, UINT64_MAX, 0), look(UINT64_MAX, 0, true));
    uint32_t some = 1 + (uint32_t)(test_random(seed) % (BLOCKS - 1));
    if (in_set[some])
        CHECK_INT(freeset_next(&set, blocks, some),
                  look(blocks[some].size, blocks[some].address + 1, false));
    REQUIRE(freeset_is_valid(&set, blocks, &count));
}

TEST(bins_find_what_a_search_finds)
{
    uint64_t seed = 3, count, members = 0;
    for (uint32_t i = 1; i < BLOCKS; i++)
        blocks[i].priority = (uint32_t)test_random(&seed) % 50; /* equal ones, too */
    for (int step = 0; step < STEPS; step++) {
        uint32_t id = 1 + (uint32_t)(test_random(&seed) % (BLOCKS - 1));
        if (in_set[id]) {
            freeset_remove(&set, blocks, id);
        } else {
            blocks[id].address = 512 * (uint64_t)id;
            blocks[id].size = some_size(&seed);
            freeset_insert(&set, blocks, id);
        }
        in_set[id] = !in_set[id];
        members += in_set[id] ? 1 : (uint64_t)-1;
        if (step % 40 == 0)
            check_set(&seed);
    }
    CHECK(freeset_is_valid(&set, blocks, &count));
    CHECK_INT(count, members);
    for (uint32_t i = 1; i < BLOCKS; i++) {
        if (in_set[i])
            freeset_remove(&set, blocks, i);
    }
    CHECK(freeset_is_valid(&set, blocks, &count));
    CHECK_INT(count, 0);
    CHECK_INT(set.summary, 0);
    CHECK_INT(freeset_find(&set, blocks, 0, 0), 0);
}

TEST(damage_is_seen)
{
    uint64_t count;
    for (uint32_t i = 1; i < 8; i++) {
        blocks[i] = (struct block){.address = 512 * i, .size = 512, .priority = i};
        freeset_insert(&set, blocks, i);
    }
    CHECK(freeset_is_valid(&set, blocks, &count));
    blocks[3].size = 1024;
    CHECK(!freeset_is_valid(&set, blocks, &count));
    blocks[3].size = 512;
    blocks[3].priority = 100;
    CHECK(!freeset_is_valid(&set, blocks, &count));
    blocks[3].priority = 3;
    blocks[3].parent = 6;
    CHECK(!freeset_is_valid(&set, blocks, &count));
    blocks[3].parent = 4;
    CHECK(freeset_is_valid(&set, blocks, &count));
    set.bins[1].first = 2;
    CHECK(!freeset_is_valid(&set, blocks, &count));
    set.bins[1].first = 1;
    CHECK(freeset_is_valid(&set, blocks, &count));
    set.summary = 0;
    CHECK(!freeset_is_valid(&set, blocks, &count));
    set.summary = 1;
    set.words[3] = 1;
    CHECK(!freeset_is_valid(&set, blocks, &count));
}

TEST(trees_by_address)
{
    uint32_t root = 0;
    uint64_t seed = 9, count;
    for (uint32_t i = 1; i < BLOCKS; i++) {
        blocks[i] = (struct block){.address = 512 * (uint64_t)(i * 7 % BLOCKS),
                                   .size = some_size(&seed),
                                   .priority = (uint32_t)test_random(&seed)};
        tree_insert(blocks, &root, i, TREE_BY_ADDRESS);
    }
    CHECK(tree_is_valid(blocks, root, TREE_BY_ADDRESS, &count));
    CHECK_INT(count, BLOCKS - 1);
    CHECK_INT(blocks[tree_first(blocks, root)].address, 512);
    CHECK_INT(blocks[tree_last(blocks, root)].address, 512 * (BLOCKS - 1));
    for (uint64_t at = 1; at < BLOCKS; at++) {
        uint32_t id = tree_find(blocks, root, 0, 512 * at - 1, TREE_BY_ADDRESS);
        CHECK_INT(blocks[id].address, 512 * at);
        tree_remove(blocks, &root, id);
        REQUIRE(tree_is_valid(blocks, root, TREE_BY_ADDRESS, &count));
        CHECK_INT(count, BLOCKS - 1 - at);
    }
    CHECK_INT(root, 0);
}

TEST(the_table_of_addresses)
{
    struct blockmap map = {0};
    static bool in_map[BLOCKS];
    uint64_t seed = 4;
    CHECK_INT(blockmap_get(&map, blocks, 512), 0);
    for (uint32_t i = 1; i < BLOCKS; i++)
        blocks[i].address = 512 * (test_random(&seed) % 64 + 64 * (uint64_t)i);
    for (int step = 0; step < STEPS; step++) {
        uint32_t id = 1 + (uint32_t)(test_random(&seed) % (BLOCKS - 1));
        if (in_map[id]) {
            blockmap_remove(&map, blocks[id].address, id);
        } else {
            REQUIRE(blockmap_reserve(&map, 1));
            blockmap_put(&map, blocks[id].address, id);
        }
        in_map[id] = !in_map[id];
        uint32_t other = 1 + (uint32_t)(test_random(&seed) % (BLOCKS - 1));
        CHECK_INT(blockmap_get(&map, blocks, blocks[other].address), in_map[other] ? other : 0);
        if (step % 50 == 0)
            REQUIRE(blockmap_is_valid(&map, blocks));
    }
    map.count++;
    CHECK(!blockmap_is_valid(&map, blocks));
    map.count--;
    mem_fail_after(1);
    CHECK(!blockmap_reserve(&map, 100000));
    mem_fail_after(0);
    CHECK(blockmap_is_valid(&map, blocks));
    CHECK(!blockmap_reserve(&map, UINT32_MAX));
    blockmap_clear(&map);
    CHECK(blockmap_is_valid(&map, blocks));
}

TEST(counters_derive_what_they_do_not_keep)
{
    static struct counters counters;
    static struct alloc_stat plain[ALLOC_CLASSES]; /* as the definition says */
    struct alloc_stats stats;
    uint64_t seed = 8;
    for (int i = 0; i < 5000; i++) {
        uint64_t r = test_random(&seed);
        bool small = r & 1;
        struct alloc_stat *half = &plain[small ? ALLOC_SMALL : ALLOC_LARGE];
        int64_t by = (int64_t)(r >> 8 & 0xfff);
        if (r & 2) {
            count_up(&counters, small, COUNT_ACTIVE_BYTES, by);
            stat_up(half, by);
            stat_up(&plain[ALLOC_ALL], by);
        } else if (half->current >= by) {
            count_change(&counters, small, COUNT_ACTIVE_BYTES, -by);
            stat_down(half, by);
            stat_down(&plain[ALLOC_ALL], by);
        }
        if (r >> 40 & 1 && i % 64 == 0) {
            counters_reset_accumulated(&counters);
            for (int class = 0; class < ALLOC_CLASSES; class ++)
                plain[class].allocated = plain[class].freed = 0;
        }
        if (r >> 41 & 1 && i % 64 == 1) {
            counters_reset_peaks(&counters);
            for (int class = 0; class < ALLOC_CLASSES; class ++)
                plain[class].peak = plain[class].current;
        }
        counters_read(&counters, &stats);
        REQUIRE(memcmp(stats.active_bytes, plain, sizeof plain) == 0);
        REQUIRE(counters_are_valid(&counters));
    }
    counters.half[0][COUNT_ACTIVE_BYTES].peak = -1;
    CHECK(!counters_are_valid(&counters));
}

TEST_MAIN(TEST_CASE(bins_find_what_a_search_finds), TEST_CASE(damage_is_seen),
          TEST_CASE(trees_by_address), TEST_CASE(the_table_of_addresses),
          TEST_CASE(counters_derive_what_they_do_not_keep))
