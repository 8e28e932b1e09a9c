/*
 * A program that scribbles over its ring: the drain must not read or write outside of it, must not
 * loop for ever, and must go on with other rings. Run under ASan to mean the most.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "error.h"
#include "ring_support.h"

enum { BITS = 8, SLOTS = 1 << BITS };

TEST(a_head_from_nowhere_is_cut_to_the_ring)
{
    const uint64_t heads[] = {UINT64_MAX, 1ull << 40, SLOTS + 1, 0};
    for (int i = 0; i < 4; i++) {
        struct ring_shared *ring = new_ring(BITS);
        struct ring_reader reader;
        struct event out[SLOTS];
        struct ring_torn torn[SLOTS];
        size_t torn_n;
        ring_reader_init(&reader, ring);
        atomic_store(&ring->head, heads[i]);
        CHECK(ring_reader_backlog(&reader) <= SLOTS);
        CHECK_INT(take(&reader, out, SLOTS, true, torn, SLOTS, &torn_n), 0);
        CHECK(torn_n <= SLOTS);
        ring_reader_release(&reader);
        CHECK_INT(take(&reader, out, SLOTS, true, torn, SLOTS, &torn_n), 0);
        ring_destroy(ring, BITS, ARENA_BYTES);
    }
}

TEST(random_bytes_do_no_harm)
{
    uint64_t seed = 3;
    for (int round = 0; round < 200; round++) {
        struct ring_shared *ring = new_ring(BITS);
        struct ring_reader reader;
        struct arena_reader arena;
        struct arena_record record;
        const void *payload;
        struct event out[SLOTS];
        struct ring_torn torn[SLOTS];
        uint64_t lost[EVENT_KIND_SLOTS];
        size_t torn_n;
        ring_reader_init(&reader, ring);
        arena_reader_init(&arena, ring);
        uint64_t *words = (uint64_t *)(void *)ring;
        size_t count = ring_bytes(BITS, ARENA_BYTES) / 8;
        for (size_t i = 0; i < count; i++)
            if (test_random(&seed) % 4 == 0)
                words[i] = test_random(&seed) >> (test_random(&seed) % 64);
        for (int i = 0; i < 4; i++) {
            CHECK(take(&reader, out, SLOTS, i & 1, torn, SLOTS, &torn_n) <= SLOTS);
            ring_reader_release(&reader);
            ring_reader_losses(&reader, lost);
        }
        for (int i = 0; i < 100000 && arena_next(&arena, &record, &payload) == 1; i++)
            CHECK(record.bytes <= ARENA_MAX_PAYLOAD);
        ring_destroy(ring, BITS, ARENA_BYTES);
    }
}

TEST(a_lying_arena_is_corrupt_not_a_crash)
{
    struct ring_shared *ring = new_ring(BITS);
    struct arena_reader reader;
    struct arena_record record;
    const void *payload;
    REQUIRE(arena_define(ring, ARENA_STRING, "abc", 3) == 1);
    arena_reader_init(&reader, ring);
    atomic_store(&ring->arena_used, ring->arena_bytes + 8);
    CHECK_INT(arena_next(&reader, &record, &payload), ERR_CORRUPT);
    atomic_store(&ring->arena_used, 16);
    uint32_t huge = 0xfffffff0u;
    memcpy((char *)ring + ring->arena_offset, &huge, sizeof huge);
    CHECK_INT(arena_next(&reader, &record, &payload), ERR_CORRUPT);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

TEST(nobody_cuts_the_memory_short)
{
    struct ring_shared *ring = NULL;
    int fd = -1;
    REQUIRE(ring_create(&ring, BITS, ARENA_BYTES, &fd) == 0);
    off_t bytes = (off_t)ring_bytes(BITS, ARENA_BYTES);
    CHECK_INT(lseek(fd, 0, SEEK_END), bytes);
    CHECK_INT(ftruncate(fd, 0), -1);
    CHECK_INT(ftruncate(fd, 2 * bytes), -1);
    CHECK_INT(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    CHECK_INT(lseek(fd, 0, SEEK_END), bytes);
    struct ring_shared *attached = NULL;
    CHECK_INT(ring_attach(&attached, fd), 0);
    ring_detach(attached);
    close(fd);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

TEST(counters_that_cannot_be_are_no_losses)
{
    struct ring_shared *ring = new_ring(BITS);
    struct ring_reader reader;
    uint64_t lost[EVENT_KIND_SLOTS];
    ring_reader_init(&reader, ring);
    atomic_store(&ring->dropped[3], 10);
    CHECK_INT(ring_reader_losses(&reader, lost), 10);
    atomic_store(&ring->dropped[3], 4); /* backwards */
    CHECK_INT(ring_reader_losses(&reader, lost), 0);
    atomic_store(&ring->dropped[3], UINT64_MAX);
    CHECK_INT(ring_reader_losses(&reader, lost), 0);
    atomic_store(&ring->dropped[3], 12);
    CHECK_INT(ring_reader_losses(&reader, lost), 2);
    CHECK_INT(lost[3], 2);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

TEST_MAIN(TEST_CASE(nobody_cuts_the_memory_short), TEST_CASE(counters_that_cannot_be_are_no_losses),
          TEST_CASE(a_head_from_nowhere_is_cut_to_the_ring), TEST_CASE(random_bytes_do_no_harm),
          TEST_CASE(a_lying_arena_is_corrupt_not_a_crash))
