/* Rows in order against a sort that compares them. */
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "radix.h"
#include "test.h"

enum { ROWS = 5000 };

struct row {
    int64_t number;
    uint64_t came; /* how many before it */
    char rest[9];
};

static int by_number(const void *one, const void *other)
{
    const struct row *a = one, *b = other;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->came < b->came ? -1 : a->came > b->came;
}

static void check(struct row *rows, size_t count)
{
    static struct row wanted[ROWS];
    memcpy(wanted, rows, count * sizeof *rows);
    qsort(wanted, count, sizeof *rows, by_number);
    REQUIRE(radix_sort(rows, count, sizeof *rows));
    CHECK(memcmp(rows, wanted, count * sizeof *rows) == 0);
}

/* Up to `reach` on both sides of zero. */
static void fill(struct row *rows, size_t count, uint64_t reach, uint64_t *seed)
{
    memset(rows, 0, count * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        uint64_t random = test_random(seed);
        rows[i].number = (int64_t)(reach ? random % (2 * reach) - reach : random);
        rows[i].came = i;
        memcpy(rows[i].rest, &random, sizeof random);
    }
}

TEST(random_rows_equal_a_sort_that_compares)
{
    static const uint64_t reach[] = {1, 2, 1000, 1 << 11, 1 << 22, 1ull << 40, 0};
    static struct row rows[ROWS];
    uint64_t seed = 5;
    for (size_t i = 0; i < sizeof reach / sizeof *reach; i++)
        for (size_t count = 0; count <= ROWS; count = 3 * count + 1) {
            fill(rows, count, reach[i], &seed);
            check(rows, count);
        }
}

TEST(the_ends_of_all_numbers)
{
    struct row rows[] = {{INT64_MAX, 0, ""}, {0, 1, ""},         {INT64_MIN, 2, ""},
                         {-1, 3, ""},        {INT64_MAX, 4, ""}, {INT64_MIN, 5, ""}};
    check(rows, sizeof rows / sizeof *rows);
}

TEST(rows_in_order_need_no_memory)
{
    int64_t rows[] = {-3, 0, 0, 7}, wrong[] = {2, 1, 3};
    mem_fail_after(1);
    CHECK(radix_sort(rows, 4, sizeof *rows));
    CHECK(radix_sort(rows, 0, sizeof *rows));
    mem_fail_after(0);
    mem_fail_after(1);
    CHECK(!radix_sort(wrong, 3, sizeof *wrong));
    mem_fail_after(0);
    CHECK(wrong[0] == 2 && wrong[1] == 1 && wrong[2] == 3);
    CHECK(radix_sort(wrong, 3, sizeof *wrong));
    CHECK(wrong[0] == 1 && wrong[1] == 2 && wrong[2] == 3);
}

TEST_MAIN(TEST_CASE(random_rows_equal_a_sort_that_compares), TEST_CASE(the_ends_of_all_numbers),
          TEST_CASE(rows_in_order_need_no_memory))
