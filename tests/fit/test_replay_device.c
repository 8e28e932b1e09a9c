/*
 * The device below a replay: recorded addresses in their order and never one over another, an end
 * to its memory, and nothing that the allocator has to wait for.
 */
#include <string.h>

#include "replay_device.h"
#include "error.h"
#include "mem.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)

/* Segments of 2, 20, 2 and 30 MiB; the last lies over the first, which was gone by then. */
static struct replay_segment segments[] = {
    {.seq = 1, .first = 1, .free_seq = 9, .address = 500 * MIB, .size = 2 * MIB},
    {.seq = 2, .first = 2, .free_seq = INT64_MAX, .address = 100 * MIB, .size = 20 * MIB},
    {.seq = 3, .first = 3, .free_seq = INT64_MAX, .address = 300 * MIB, .size = 2 * MIB},
    {.seq = 12, .first = 12, .free_seq = INT64_MAX, .address = 490 * MIB, .size = 30 * MIB},
};
static struct replay_heap heaps[] = {{.id = 1, .stream = 7, .name = 7}};
static struct replay_mapping mappings[] = {
    {.seq = 4, .address = 2000 * MIB, .size = 40 * MIB, .mapped = true},
    {.seq = 5, .address = 2020 * MIB, .size = 20 * MIB, .mapped = false},
    {.seq = 6, .address = 2020 * MIB, .size = 20 * MIB, .mapped = true},
};
static struct replay_range ranges[] = {
    {.seq = 4, .address = 2000 * MIB, .end = 2040 * MIB},
};

static struct replay_trace trace(void)
{
    return (struct replay_trace){
        .segments = segments,
        .segment_count = 4,
        .heaps = heaps,
        .heap_count = 1,
        .mappings = mappings,
        .mapping_count = 3,
        .ranges = ranges,
        .range_count = 1,
    };
}

static uint64_t take(struct replay_device *device, uint64_t bytes)
{
    uint64_t address = 0;
    CHECK_INT(device->seam.take(device, bytes, 7, &address), BASE_OK);
    CHECK(replay_device_is_valid(device));
    return address;
}

static void give(struct replay_device *device, uint64_t address, uint64_t bytes)
{
    CHECK_INT(device->seam.give(device, address, bytes), BASE_OK);
    CHECK(replay_device_is_valid(device));
}

TEST(segments_are_where_they_were)
{
    struct replay_device device;
    const struct replay_trace of = trace();
    REQUIRE(replay_device_begin(&device, &of, true) == 0);
    CHECK_INT(take(&device, 20 * MIB), 100 * MIB); /* the first of that size */
    CHECK_INT(take(&device, 2 * MIB), 500 * MIB);
    CHECK_INT(take(&device, 2 * MIB), 300 * MIB);
    CHECK_INT(device.equal, 3);
    give(&device, 500 * MIB, 2 * MIB);
    CHECK_INT(take(&device, 30 * MIB), 490 * MIB);
    CHECK_INT(device.taken, 4);
    CHECK_INT(device.equal, 4);
    CHECK_INT(device.held, 52 * MIB);
    replay_device_end(&device);
}

/* The replay kept what the record gave back: the address cannot be had. */
TEST(never_one_over_another)
{
    struct replay_device device;
    const struct replay_trace of = trace();
    REQUIRE(replay_device_begin(&device, &of, true) == 0);
    CHECK_INT(take(&device, 2 * MIB), 500 * MIB);
    uint64_t other = take(&device, 30 * MIB);
    CHECK(other > 2040 * MIB);
    CHECK_INT(device.equal, 1);
    CHECK_INT(device.taken, 2);
    uint64_t size = take(&device, 6 * MIB); /* none of that size was recorded */
    CHECK(size >= other + 30 * MIB);
    CHECK_INT(replay_device_adopt(&device, 501 * MIB, 4 * MIB, false), ERR_EXISTS);
    CHECK_INT(replay_device_adopt(&device, 498 * MIB, 2 * MIB, false), 0);
    CHECK_INT(device.held, 40 * MIB);
    replay_device_leave(&device, 498 * MIB, 2 * MIB, false);
    CHECK_INT(device.held, 38 * MIB);
    CHECK(replay_device_is_valid(&device));
    replay_device_end(&device);
}

TEST(other_addresses_grow_and_are_never_the_same)
{
    struct replay_device device;
    const struct replay_trace of = trace();
    uint64_t last = 2040 * MIB;
    REQUIRE(replay_device_begin(&device, &of, false) == 0);
    for (int i = 0; i < 100; i++) {
        uint64_t bytes = (uint64_t)(i % 7 + 1) * 2 * MIB;
        uint64_t address = take(&device, bytes);
        CHECK(address > last); /* and does not touch what ends there */
        CHECK_INT(address % (2 * MIB), 0);
        last = address + bytes;
        if (i % 3 == 0)
            give(&device, address, bytes);
    }
    CHECK_INT(device.equal, 0);
    CHECK_INT(device.taken, 100);
    replay_device_end(&device);
}

TEST(its_memory_has_an_end)
{
    struct replay_device device;
    const struct replay_trace of = trace();
    uint64_t address, free_bytes, total;
    REQUIRE(replay_device_begin(&device, &of, false) == 0);
    device.memory = 24 * MIB;
    uint64_t first = take(&device, 20 * MIB);
    CHECK_INT(device.seam.take(&device, 6 * MIB, 0, &address), ERR_NOMEM);
    CHECK_INT(device.seam.take(&device, UINT64_MAX, 0, &address), ERR_NOMEM);
    take(&device, 4 * MIB);
    CHECK_INT(device.held, 24 * MIB);
    CHECK_INT(device.seam.map(&device, first, 2 * MIB), ERR_NOMEM);
    give(&device, first, 20 * MIB);
    CHECK_INT(device.seam.map(&device, first, 2 * MIB), BASE_OK);
    CHECK_INT(device.held, 6 * MIB);
    CHECK_INT(device.peak, 24 * MIB);
    CHECK_INT(device.seam.memory(&device, &free_bytes, &total), BASE_OK);
    CHECK(total >= 24 * MIB && free_bytes == total - 6 * MIB);
    replay_device_end(&device);
}

TEST(short_once)
{
    struct replay_device device;
    const struct replay_trace of = trace();
    uint64_t address;
    REQUIRE(replay_device_begin(&device, &of, true) == 0);
    device.short_once = true;
    CHECK_INT(device.seam.take(&device, 2 * MIB, 0, &address), ERR_NOMEM);
    CHECK_INT(take(&device, 2 * MIB), 500 * MIB);
    device.short_once = true;
    CHECK_INT(device.seam.map(&device, 2000 * MIB, 20 * MIB), ERR_NOMEM);
    CHECK_INT(device.seam.map(&device, 2000 * MIB, 20 * MIB), BASE_OK);
    replay_device_end(&device);
}

/* The record has 40 MiB in one piece, then twenty of them out and in again. */
TEST(pages_are_where_they_were)
{
    struct replay_device device;
    const struct replay_trace of = trace();
    uint64_t base, other;
    REQUIRE(replay_device_begin(&device, &of, true) == 0);
    CHECK_INT(device.seam.reserve(&device, 4096 * MIB, 7, &base), BASE_OK);
    CHECK_INT(base, 2000 * MIB);
    CHECK_INT(device.seam.reserve(&device, 4096 * MIB, 7, &other), BASE_OK);
    CHECK(other > 2040 * MIB); /* no other was recorded */
    CHECK_INT(device.seam.map(&device, base, 20 * MIB), BASE_OK);
    CHECK_INT(device.seam.map(&device, base + 20 * MIB, 20 * MIB), BASE_OK);
    CHECK_INT(device.equal, 2);
    CHECK_INT(device.seam.unmap(&device, base + 20 * MIB, 20 * MIB), BASE_OK);
    CHECK_INT(device.held, 20 * MIB);
    CHECK_INT(device.seam.map(&device, base + 20 * MIB, 20 * MIB), BASE_OK);
    CHECK_INT(device.equal, 3);
    CHECK_INT(device.seam.map(&device, base + 40 * MIB, 20 * MIB), BASE_OK);
    CHECK_INT(device.equal, 3); /* that was never recorded */
    CHECK_INT(device.taken, 4);
    CHECK_INT(device.seam.unreserve(&device, base, 4096 * MIB), BASE_OK);
    replay_device_end(&device);
}

TEST(another_stream_has_another_range)
{
    struct replay_device device;
    const struct replay_trace of = trace();
    uint64_t base;
    REQUIRE(replay_device_begin(&device, &of, true) == 0);
    CHECK_INT(device.seam.reserve(&device, 64 * MIB, 8, &base), BASE_OK);
    CHECK(base > 2040 * MIB);
    replay_device_end(&device);
}

TEST(what_was_adopted_is_not_given_out)
{
    struct replay_device device;
    struct replay_trace of = trace();
    of.rebuilt_until = 2;
    of.adopted_segments = 2;
    REQUIRE(replay_device_begin(&device, &of, true) == 0);
    CHECK_INT(replay_device_adopt(&device, 500 * MIB, 2 * MIB, false), 0);
    CHECK_INT(replay_device_adopt(&device, 100 * MIB, 20 * MIB, false), 0);
    CHECK_INT(device.peak, 22 * MIB);
    CHECK_INT(device.peak_block, UINT32_MAX);
    device.block = 5;
    CHECK_INT(take(&device, 2 * MIB), 300 * MIB);
    CHECK_INT(device.peak_block, 5);
    CHECK(take(&device, 20 * MIB) > 2040 * MIB);
    give(&device, 500 * MIB, 2 * MIB);
    CHECK_INT(take(&device, 30 * MIB), 490 * MIB);
    replay_device_end(&device);
}

TEST(events_are_reached_at_once)
{
    struct replay_device device;
    const struct replay_trace of = trace();
    uint64_t event = 0, second = 0;
    REQUIRE(replay_device_begin(&device, &of, false) == 0);
    CHECK_INT(device.seam.event_record(&device, 1, &event), BASE_OK);
    CHECK_INT(device.seam.event_record(&device, 1, &second), BASE_OK);
    CHECK(event != second);
    CHECK_INT(device.seam.event_query(&device, event), BASE_OK);
    CHECK_INT(device.seam.event_wait(&device, second), BASE_OK);
    CHECK_INT(device.seam.stream_wait(&device, 1), BASE_OK);
    device.seam.event_forget(&device, event);
    replay_device_end(&device);
}

/* Our own memory is not the device's: that is told apart. */
TEST(without_memory)
{
    struct replay_device device;
    const struct replay_trace of = trace();
    uint64_t address;
    mem_fail_after(1);
    CHECK_INT(replay_device_begin(&device, &of, true), ERR_NOMEM);
    mem_fail_after(0);
    replay_device_end(&device);
    REQUIRE(replay_device_begin(&device, &of, true) == 0);
    mem_fail_after(1);
    CHECK_INT(device.seam.take(&device, 2 * MIB, 0, &address), ERR_INTERNAL);
    mem_fail_after(0);
    CHECK(device.starved);
    CHECK_INT(device.held, 0);
    replay_device_end(&device);
}

TEST(a_device_that_is_not_valid)
{
    struct replay_device device;
    const struct replay_trace of = trace();
    REQUIRE(replay_device_begin(&device, &of, true) == 0);
    take(&device, 2 * MIB);
    take(&device, 20 * MIB);
    device.held--;
    CHECK(!replay_device_is_valid(&device));
    device.held++;
    device.out[0].end = device.out[1].address + 1;
    CHECK(!replay_device_is_valid(&device));
    replay_device_end(&device);
}

TEST_MAIN(TEST_CASE(segments_are_where_they_were), TEST_CASE(never_one_over_another),
          TEST_CASE(other_addresses_grow_and_are_never_the_same), TEST_CASE(its_memory_has_an_end),
          TEST_CASE(short_once), TEST_CASE(pages_are_where_they_were),
          TEST_CASE(another_stream_has_another_range), TEST_CASE(what_was_adopted_is_not_given_out),
          TEST_CASE(events_are_reached_at_once), TEST_CASE(without_memory),
          TEST_CASE(a_device_that_is_not_valid))
