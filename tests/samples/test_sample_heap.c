/* The sample's allocator: its rounding, its choice of blocks, and random traffic. */
#include "heap.h"
#include "test.h"

#include <stdlib.h>

static const uint64_t KIB = 1 << 10, MIB = 1 << 20;

static struct block *take(struct heap *heap, uint64_t bytes)
{
    return heap_allocate(heap, bytes, 0);
}

TEST(requests_are_rounded)
{
    const uint64_t cases[][2] = {
        {0, 512},
        {1, 512},
        {512, 512},
        {513, 1024},
        {MIB - 1, MIB},
        {MIB, MIB},
        {MIB + 1, MIB + 128 * KIB},
        {16000000, 123 * 128 * KIB},
        {(1ull << 40) + 1, (1ull << 40) + 128 * KIB},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_INT(heap_round(cases[i][0]), cases[i][1]);
}

TEST(small_blocks_share_a_segment)
{
    struct heap heap;
    heap_open(&heap, "test");
    struct block *first = take(&heap, 1000), *second = take(&heap, 2000);
    CHECK_INT(heap.reserved, MIB);
    CHECK_INT(heap.allocated, 1024 + 2048);
    CHECK_INT(second->address - first->address, 1024);
    struct block *whole = take(&heap, MIB);
    CHECK_INT(heap.reserved, 2 * MIB);
    CHECK_INT(heap.unsplit, 0);
    CHECK(heap_is_valid(&heap));
    heap_free(&heap, first);
    heap_free(&heap, whole);
    heap_free(&heap, second);
    CHECK_INT(heap.small.count, 2);
    CHECK_INT(heap.allocated, 0);
    CHECK_INT(heap.max_allocated, 1024 + 2048 + MIB);
    CHECK(heap_is_valid(&heap));
    heap_close(&heap);
}

/* More than 1 MiB too much is split off; up to 1 MiB stays with the block and counts. */
TEST(large_blocks_are_split_above_1_mib)
{
    struct heap heap;
    heap_open(&heap, "test");
    heap_free(&heap, take(&heap, 10 * MIB));
    struct block *block = take(&heap, 9 * MIB);
    CHECK_INT(block->bytes, 10 * MIB);
    CHECK_INT(heap.unsplit, MIB);
    CHECK_INT(heap.allocated, 10 * MIB);
    heap_free(&heap, block);
    CHECK_INT(heap.unsplit, 0);
    block = take(&heap, 9 * MIB - 128 * KIB);
    CHECK_INT(block->bytes, 9 * MIB - 128 * KIB);
    CHECK_INT(heap.unsplit, 0);
    CHECK_INT(heap.large.count, 1);
    CHECK_INT(heap.reserved, 10 * MIB);
    CHECK(heap_is_valid(&heap));
    heap_free(&heap, block);
    CHECK_INT(heap.large.count, 1);
    CHECK(heap_is_valid(&heap));
    heap_close(&heap);
}

TEST(the_smallest_that_fits_is_taken_then_the_lowest)
{
    struct heap heap;
    heap_open(&heap, "test");
    struct block *of_8 = take(&heap, 8 * MIB), *of_4 = take(&heap, 4 * MIB);
    struct block *of_4_too = take(&heap, 4 * MIB);
    uint64_t want = of_4->address, then = of_4_too->address;
    heap_free(&heap, of_4_too);
    heap_free(&heap, of_8);
    heap_free(&heap, of_4);
    struct block *first = take(&heap, 4 * MIB), *second = take(&heap, 4 * MIB);
    CHECK_INT(first->address, want);
    CHECK_INT(second->address, then);
    CHECK_INT(heap.reserved, 16 * MIB);
    heap_free(&heap, first);
    heap_free(&heap, second);
    CHECK(heap_is_valid(&heap));
    heap_close(&heap);
}

TEST(neighbours_are_merged_in_any_order)
{
    const unsigned orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct heap heap;
        heap_open(&heap, "test");
        heap_free(&heap, take(&heap, 12 * MIB));
        struct block *blocks[3];
        for (unsigned k = 0; k < 3; k++)
            blocks[k] = take(&heap, 4 * MIB);
        CHECK_INT(heap.reserved, 12 * MIB);
        for (unsigned k = 0; k < 3; k++) {
            heap_free(&heap, blocks[orders[i][k]]);
            CHECK(heap_is_valid(&heap));
        }
        REQUIRE(heap.large.count == 1);
        CHECK_INT(heap.large.blocks[0]->bytes, 12 * MIB);
        heap_close(&heap);
    }
}

enum { SLOTS = 200 };

TEST(random_traffic_keeps_the_heap_valid)
{
    struct heap heap;
    struct block *blocks[SLOTS] = {NULL};
    uint64_t seed = 7, allocated = 0, highest = 0, living = 0;
    heap_open(&heap, "test");
    for (int i = 0; i < 20000; i++) {
        uint64_t r = test_random(&seed);
        struct block **slot = &blocks[r % SLOTS];
        if (*slot) {
            allocated -= (*slot)->bytes;
            living--;
            heap_free(&heap, *slot);
            *slot = NULL;
        } else {
            uint64_t bytes = (r >> 32) % (1ull << ((r >> 16) % 26));
            *slot = take(&heap, bytes);
            CHECK((*slot)->bytes - heap_round(bytes) <= MIB);
            allocated += (*slot)->bytes;
            living++;
        }
        highest = allocated > highest ? allocated : highest;
        CHECK_INT(heap.allocated, allocated);
        CHECK_INT(heap.living, living);
        if (i % 64 == 0)
            REQUIRE(heap_is_valid(&heap));
    }
    CHECK_INT(heap.max_allocated, highest);
    for (int i = 0; i < SLOTS; i++)
        if (blocks[i])
            heap_free(&heap, blocks[i]);
    CHECK(heap_is_valid(&heap));
    CHECK_INT(heap.small.count + heap.large.count, heap.segment_count);
    heap_close(&heap);
}

TEST(damage_is_found)
{
    struct heap heap;
    heap_open(&heap, "test");
    struct block *block = take(&heap, 4 * MIB);
    heap.allocated++;
    CHECK(!heap_is_valid(&heap));
    heap.allocated--;
    block->bytes -= 512;
    CHECK(!heap_is_valid(&heap));
    block->bytes += 512;
    block->living = false;
    CHECK(!heap_is_valid(&heap));
    block->living = true;
    CHECK(heap_is_valid(&heap));
    heap_free(&heap, block);
    heap_close(&heap);
}

TEST_MAIN(TEST_CASE(requests_are_rounded), TEST_CASE(small_blocks_share_a_segment),
          TEST_CASE(large_blocks_are_split_above_1_mib),
          TEST_CASE(the_smallest_that_fits_is_taken_then_the_lowest),
          TEST_CASE(neighbours_are_merged_in_any_order),
          TEST_CASE(random_traffic_keeps_the_heap_valid), TEST_CASE(damage_is_found))
