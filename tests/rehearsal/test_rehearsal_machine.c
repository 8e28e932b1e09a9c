/* The machine: bytes counted as a driver counts them, refusals, mappings, the host's memory. */
#include <string.h>

#include "error.h"
#include "machine.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static const struct machine_options small_card = {
    .devices = 2, .memory = GIB, .context = 256 * MIB, .addresses = 64 * GIB};

static uint64_t free_of(int32_t device)
{
    uint64_t free_bytes, total;
    machine_memory(device, &free_bytes, &total);
    return free_bytes;
}

static uint64_t take(uint64_t bytes)
{
    uint64_t address;
    return machine_take(0, bytes, &address) == BASE_OK ? address : 0;
}

TEST(the_first_piece_makes_the_context)
{
    REQUIRE(machine_start(&small_card) == BASE_OK);
    CHECK_INT(free_of(0), GIB);
    CHECK(!machine_is_touched(0));
    uint64_t address = take(2 * MIB);
    CHECK(address && address % (2 * MIB) == 0);
    CHECK(machine_is_touched(0) && !machine_is_touched(1));
    CHECK_INT(free_of(0), GIB - 256 * MIB - 2 * MIB);
    CHECK_INT(free_of(1), GIB);
    CHECK_INT(machine_give(address), BASE_OK);
    CHECK_INT(machine_give(address), ERR_NOTFOUND);
    CHECK_INT(free_of(0), GIB - 256 * MIB);
    CHECK_INT(machine_peak(0), 258 * MIB);
    CHECK(machine_is_valid());
    machine_stop();
}

TEST(a_full_card_refuses)
{
    uint64_t address;
    REQUIRE(machine_start(&small_card) == BASE_OK);
    CHECK_INT(machine_take(0, 768 * MIB + 1, &address), ERR_NOMEM);
    CHECK_INT(address, 0);
    CHECK_INT(machine_take(0, 768 * MIB, &address), BASE_OK);
    CHECK_INT(free_of(0), 0);
    CHECK_INT(machine_take(0, 1, &address), ERR_NOMEM);
    CHECK_INT(machine_take(1, 1, &address), BASE_OK);
    CHECK_INT(machine_take(2, 1, &address), ERR_ARG);
    CHECK_INT(machine_take(0, 0, &address), ERR_ARG);
    CHECK_INT(machine_take(0, UINT64_MAX, &address), ERR_NOMEM);
    CHECK(machine_is_valid());
    machine_stop();
}

TEST(small_pieces_share_a_page)
{
    uint64_t at[5000], before;
    REQUIRE(machine_start(&small_card) == BASE_OK && machine_touch(0) == BASE_OK);
    before = free_of(0);
    for (size_t i = 0; i < 5000; i++) {
        at[i] = take(1 + i % 512);
        CHECK(at[i] && at[i] % 512 == 0 && (i == 0 || at[i] != at[i - 1]));
    }
    CHECK_INT(before - free_of(0), 4 * MIB); /* 5,000 times 512 bytes */
    for (size_t i = 0; i < 5000; i++)
        CHECK_INT(machine_give(at[(i * 7) % 5000]), BASE_OK);
    CHECK_INT(free_of(0), before);
    CHECK(machine_is_valid());
    machine_stop();
}

TEST(sizes_around_the_limits_come_back_whole)
{
    static const uint64_t sizes[] = {511, 512,     513,         MIB - 513, MIB - 512,  MIB - 1,
                                     MIB, MIB + 1, 2 * MIB - 1, 2 * MIB,   2 * MIB + 1};
    REQUIRE(machine_start(&small_card) == BASE_OK && machine_touch(0) == BASE_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t before = free_of(0), address = take(sizes[i]);
        struct extent extent;
        CHECK(machine_look(address + sizes[i] - 1, &extent) && extent.base == address);
        CHECK(extent.bytes >= sizes[i] && before - free_of(0) >= sizes[i]);
        CHECK_INT(machine_give(address), BASE_OK);
        CHECK_INT(free_of(0), before);
        CHECK(machine_is_valid());
    }
    machine_stop();
}

TEST(memory_is_mapped_into_addresses)
{
    struct physical *physical, *other;
    struct extent extent;
    uint64_t range, before;
    REQUIRE(machine_start(&small_card) == BASE_OK && machine_touch(0) == BASE_OK);
    before = free_of(0);
    REQUIRE(machine_reserve(64 * GIB / 2, 0, 0, &range) == BASE_OK);
    CHECK_INT(free_of(0), before);
    REQUIRE(machine_create(0, 20 * MIB, &physical) == BASE_OK);
    REQUIRE(machine_create(0, 20 * MIB, &other) == BASE_OK);
    CHECK_INT(before - free_of(0), 40 * MIB);
    CHECK_INT(machine_map(range, 20 * MIB, physical), BASE_OK);
    CHECK_INT(machine_map(range + 10 * MIB, 20 * MIB, other), ERR_BUSY);
    CHECK_INT(machine_map(range + 20 * MIB, 20 * MIB, other), BASE_OK);
    CHECK(machine_look(range + 39 * MIB, &extent) && extent.of == other);
    machine_release(physical);
    machine_release(other);
    CHECK_INT(before - free_of(0), 40 * MIB); /* mapped memory stays */
    CHECK_INT(machine_unreserve(range, 64 * GIB / 2), ERR_BUSY);
    CHECK_INT(machine_unmap(range, 30 * MIB), ERR_ARG); /* a half */
    CHECK_INT(machine_unmap(range, 40 * MIB), BASE_OK);
    CHECK_INT(free_of(0), before);
    CHECK_INT(machine_unreserve(range, 64 * GIB / 2), BASE_OK);
    CHECK_INT(machine_unreserve(range, 64 * GIB / 2), ERR_NOTFOUND);
    CHECK(machine_is_valid());
    machine_stop();
}

TEST(borrowed_memory_is_charged_elsewhere)
{
    struct physical *physical;
    uint64_t range, before;
    REQUIRE(machine_start(&small_card) == BASE_OK && machine_touch(0) == BASE_OK);
    before = free_of(0);
    REQUIRE(machine_reserve(2 * GIB, 0, 0, &range) == BASE_OK);
    REQUIRE(machine_borrow(0, 2 * GIB, &physical) == BASE_OK);
    CHECK_INT(machine_map(range, 2 * GIB, physical), BASE_OK);
    machine_release(physical);
    CHECK_INT(free_of(0), before);
    CHECK(machine_is_valid());
    CHECK_INT(machine_unmap(range, 2 * GIB), BASE_OK);
    CHECK_INT(free_of(0), before);
    CHECK_INT(machine_borrow(2, 2 * MIB, &physical), ERR_ARG);
    machine_stop();
}

TEST(a_reserved_range_has_the_address_that_is_wished_for)
{
    uint64_t a, b, c;
    REQUIRE(machine_start(&small_card) == BASE_OK);
    REQUIRE(machine_reserve(2 * GIB, 0, 0, &a) == BASE_OK);
    CHECK(machine_reserve(2 * GIB, 0, a + 4 * GIB, &b) == BASE_OK && b == a + 4 * GIB);
    CHECK(machine_reserve(2 * GIB, 0, a, &c) == BASE_OK && c != a); /* taken: another one */
    CHECK_INT(machine_reserve(GIB + 1, 0, 0, &c), ERR_ARG);
    CHECK_INT(machine_reserve(2 * GIB, 3, 0, &c), ERR_ARG);
    machine_stop();
}

TEST(the_hosts_memory_is_pinned_and_no_devices)
{
    uint64_t address, device;
    struct extent extent;
    char text[8] = "1234567";
    REQUIRE(machine_start(&small_card) == BASE_OK);
    REQUIRE(machine_pin(0, 100, &address) == BASE_OK);
    CHECK(machine_look(address + 50, &extent) && extent.kind == EXTENT_PINNED);
    memcpy((void *)(uintptr_t)address, text, sizeof text);
    CHECK_STR((const char *)(uintptr_t)address, "1234567");
    device = take(4 * MIB);
    CHECK(machine_is_on_device((const void *)(uintptr_t)device));
    CHECK(machine_is_on_device((const void *)(uintptr_t)(device + 4 * MIB - 1)));
    CHECK(!machine_is_on_device((const void *)(uintptr_t)address));
    CHECK(!machine_is_on_device(text));
    CHECK_INT(machine_unpin(address + 8), ERR_NOTFOUND);
    CHECK_INT(machine_unregister(address), ERR_NOTFOUND);
    CHECK_INT(machine_unpin(address), BASE_OK);
    CHECK_INT(machine_register(0, (uint64_t)(uintptr_t)text, sizeof text), BASE_OK);
    CHECK_INT(machine_register(0, (uint64_t)(uintptr_t)text, sizeof text), ERR_EXISTS);
    CHECK_INT(machine_unregister((uint64_t)(uintptr_t)text), BASE_OK);
    machine_stop();
}

TEST(random_calls_leave_it_valid_and_empty)
{
    uint64_t random = 7, at[64] = {0}, before;
    REQUIRE(machine_start(&small_card) == BASE_OK && machine_touch(0) == BASE_OK);
    before = free_of(0);
    for (int i = 0; i < 20000; i++) {
        size_t slot = test_random(&random) % 64;
        if (at[slot]) {
            CHECK_INT(machine_give(at[slot]), BASE_OK);
            at[slot] = 0;
        } else {
            uint64_t shift = test_random(&random) % 27;
            at[slot] = take(1 + test_random(&random) % (UINT64_C(1) << shift));
        }
        if (i % 100 == 0)
            CHECK(machine_is_valid());
    }
    for (size_t i = 0; i < 64; i++)
        CHECK(!at[i] || machine_give(at[i]) == BASE_OK);
    CHECK_INT(free_of(0), before);
    machine_stop();
}

TEST_MAIN(TEST_CASE(the_first_piece_makes_the_context), TEST_CASE(a_full_card_refuses),
          TEST_CASE(small_pieces_share_a_page), TEST_CASE(sizes_around_the_limits_come_back_whole),
          TEST_CASE(memory_is_mapped_into_addresses),
          TEST_CASE(borrowed_memory_is_charged_elsewhere),
          TEST_CASE(a_reserved_range_has_the_address_that_is_wished_for),
          TEST_CASE(the_hosts_memory_is_pinned_and_no_devices),
          TEST_CASE(random_calls_leave_it_valid_and_empty))
