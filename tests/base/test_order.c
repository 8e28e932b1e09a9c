/* The ordered set against an array that is searched from end to end. */
#include <string.h>

#include "order.h"
#include "mem.h"
#include "test.h"

enum { KEYS = 3000 };

static uint64_t key_of(uint64_t number)
{
    return 0x1000 + number * 16;
}

static void compare(const struct order *order, const uint64_t *model)
{
    REQUIRE(order_is_valid(order));
    struct order_cursor cursor = order_seek(order, 0);
    for (size_t k = 0; k < KEYS; k++) {
        if (!model[k])
            continue;
        const struct order_entry *entry = order_next(order, &cursor);
        REQUIRE(entry != NULL);
        CHECK_INT(entry->address, key_of(k));
        CHECK_INT(entry->value, model[k]);
    }
    CHECK(order_next(order, &cursor) == NULL);
}

static void compare_below(const struct order *order, const uint64_t *model, uint64_t address)
{
    const struct order_entry *entry = order_below(order, address);
    size_t k = KEYS;
    while (k > 0 && !(model[k - 1] && key_of(k - 1) <= address))
        k--;
    CHECK((entry != NULL) == (k > 0));
    if (entry && k)
        CHECK_INT(entry->address, key_of(k - 1));
}

TEST(random_traffic_equals_an_array)
{
    static uint64_t model[KEYS];
    struct order order = {0};
    uint64_t seed = 3;
    compare_below(&order, model, key_of(5));
    CHECK(!order_remove(&order, 1));
    for (int i = 0; i < 60000; i++) {
        uint64_t r = test_random(&seed);
        size_t k = r % KEYS;
        /* Grow to nearly all, shrink to nearly none, and again. */
        if ((r >> 32) % 100 < (i / 10000 % 2 ? 20u : 80u)) {
            REQUIRE(order_put(&order, key_of(k), (r >> 40) + 1));
            model[k] = (r >> 40) + 1;
        } else {
            CHECK(order_remove(&order, key_of(k)) == (model[k] != 0));
            model[k] = 0;
        }
        if (i % 2000 == 0)
            compare(&order, model);
        if (i % 50 == 0)
            compare_below(&order, model, key_of(k) + r / KEYS % 32);
    }
    compare(&order, model);
    order_clear(&order);
    CHECK(order_next(&order, &(struct order_cursor){0, 0}) == NULL);
}

TEST(seek_starts_at_or_above)
{
    struct order order = {0};
    for (uint64_t k = 0; k < 1000; k++)
        REQUIRE(order_put(&order, key_of(999 - k), k + 1));
    for (uint64_t k = 0; k < 1000; k++) {
        struct order_cursor at = order_seek(&order, key_of(k));
        CHECK_INT(order_next(&order, &at)->address, key_of(k));
        at = order_seek(&order, key_of(k) + 1);
        const struct order_entry *entry = order_next(&order, &at);
        CHECK(k == 999 ? entry == NULL : entry && entry->address == key_of(k + 1));
    }
    order_clear(&order);
}

TEST(without_memory_nothing_changes)
{
    struct order order = {0};
    uint64_t k = 0, failures = 0;
    mem_fail_after(1);
    CHECK(!order_put(&order, key_of(0), 1));
    mem_fail_after(0);
    for (; k < 2000; k++) {
        mem_fail_after(1);
        bool done = order_put(&order, key_of(k), k + 1);
        mem_fail_after(0);
        CHECK(order_is_valid(&order));
        if (!done) {
            failures++;
            CHECK(!order_remove(&order, key_of(k)));
            REQUIRE(order_put(&order, key_of(k), k + 1));
        }
    }
    CHECK(failures > 5);
    order_clear(&order);
}

TEST_MAIN(TEST_CASE(random_traffic_equals_an_array), TEST_CASE(seek_starts_at_or_above),
          TEST_CASE(without_memory_nothing_changes))
