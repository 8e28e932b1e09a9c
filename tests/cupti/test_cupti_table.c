/* The table of what the driver has given out, beside a plain list, in every order. */
#include "cupti_table.h"

#include "test.h"

#define KEYS 200
#define MANY 5000

/* What the list knows of a key in a space. */
static uint64_t bytes_of[SPACE_COUNT][KEYS]; /* 0 = not there */
static uint32_t serial_of[SPACE_COUNT][KEYS];

static void compare(const struct live_table *table)
{
    size_t used = 0;
    for (int space = 0; space < SPACE_COUNT; space++)
        for (uint64_t key = 0; key < KEYS; key++) {
            const struct live_entry *entry =
                live_table_find(table, (enum live_space)space, key << 21);
            used += bytes_of[space][key] != 0;
            if (!test_check_int(entry ? (int64_t)entry->bytes : 0, (int64_t)bytes_of[space][key],
                                __FILE__, __LINE__, "bytes") ||
                (entry && entry->serial != serial_of[space][key]))
                return;
        }
    CHECK_INT(table->used, used);
    CHECK(live_table_is_valid(table));
}

TEST(random_changes_beside_a_list)
{
    struct live_table table = {0};
    uint64_t seed = 17;
    CHECK(live_table_is_valid(&table));
    CHECK(live_table_find(&table, SPACE_ADDRESS, 1) == NULL);
    for (int i = 0; i < MANY; i++) {
        int space = (int)(test_random(&seed) % SPACE_COUNT);
        uint64_t key = test_random(&seed) % KEYS;
        struct live_entry *entry = live_table_find(&table, (enum live_space)space, key << 21);
        if (entry && test_random(&seed) % 3) {
            live_table_remove(&table, entry);
            bytes_of[space][key] = 0;
        } else {
            bytes_of[space][key] = (uint64_t)i + 1;
            entry = live_table_put(&table, &(struct live_entry){.key = key << 21,
                                                                .bytes = (uint64_t)i + 1,
                                                                .space = (uint8_t)space});
            REQUIRE(entry != NULL);
            serial_of[space][key] = entry->serial;
        }
        if (i % 500 == 0)
            compare(&table);
    }
    compare(&table);
    live_table_clear(&table);
    CHECK(live_table_is_valid(&table));
}

TEST(a_key_that_comes_again_has_a_new_serial)
{
    struct live_table table = {0};
    struct live_entry entry = {.key = 5, .bytes = 1, .space = SPACE_HANDLE};
    uint32_t first = live_table_put(&table, &entry)->serial;
    uint32_t second = live_table_put(&table, &entry)->serial;
    CHECK(first != 0 && second != 0 && first != second);
    CHECK_INT(table.used, 1);
    table.serial = UINT32_MAX;
    CHECK_INT(live_table_put(&table, &entry)->serial, 1); /* never 0 */
    live_table_clear(&table);
}

TEST(a_table_that_is_wrong_is_seen)
{
    struct live_table table = {0};
    struct live_entry *entry = live_table_put(&table, &(struct live_entry){.key = 5, .bytes = 1});
    table.used++;
    CHECK(!live_table_is_valid(&table));
    table.used--;
    table.of_space[SPACE_POOL]++;
    CHECK(!live_table_is_valid(&table));
    table.of_space[SPACE_POOL]--;
    entry->serial = 0;
    CHECK(!live_table_is_valid(&table));
    entry->serial = 1;
    entry->key = 6;
    CHECK(!live_table_is_valid(&table)); /* not where its hash points */
    entry->key = 5;
    CHECK(live_table_is_valid(&table));
    live_table_clear(&table);
}

static void put(struct live_table *table, uint64_t key, uint64_t context)
{
    REQUIRE(live_table_put(table, &(struct live_entry){.key = key, .context = context}) != NULL);
}

/* Takes out up to 16 of a context from a slot on; returns the slot that it came to. */
static size_t take_some(struct live_table *table, size_t at, uint64_t context, size_t *taken)
{
    size_t some = 0;
    while (at < table->capacity && some < 16) {
        struct live_entry *entry = &table->slots[at];
        if (!entry->used || entry->context != context) {
            at++;
            continue;
        }
        live_table_remove(table, entry);
        some++;
    }
    *taken += some;
    return at;
}

/* What others put in and take out between two parts of a walk moves entries to where it has been.
 */
TEST(a_walk_in_parts_finds_all)
{
    struct live_table table = {0};
    uint64_t seed = 5;
    for (uint64_t i = 0; i < MANY; i++)
        put(&table, test_random(&seed) | 1, 1 + i % 2);
    for (int others = 0; others < 2; others++) {
        size_t at = 0, taken = 0, resumed = 0;
        uint64_t changes = 0, context = others ? 2 : 1;
        while (at < table.capacity) {
            size_t from = live_table_resume(&table, at, changes);
            resumed += at && from == at;
            at = take_some(&table, from, context, &taken);
            changes = table.changes;
            if (others && test_random(&seed) % 8 == 0 && at < table.capacity) {
                uint64_t key = test_random(&seed) & ~(uint64_t)1;
                put(&table, key, 3);
                if (test_random(&seed) % 2)
                    live_table_remove(&table, live_table_find(&table, SPACE_ADDRESS, key));
            }
        }
        CHECK_INT(taken, MANY / 2);
        CHECK(resumed > 100);
        for (size_t i = 0; i < table.capacity; i++)
            CHECK(!table.slots[i].used || table.slots[i].context != context);
        CHECK(live_table_is_valid(&table));
    }
    live_table_clear(&table);
}

TEST_MAIN(TEST_CASE(random_changes_beside_a_list),
          TEST_CASE(a_key_that_comes_again_has_a_new_serial),
          TEST_CASE(a_table_that_is_wrong_is_seen), TEST_CASE(a_walk_in_parts_finds_all))
