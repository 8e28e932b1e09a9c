/* search.h and pqueue.h, beside what is plainly right. */
#include "test.h"

#include "pqueue.h"
#include "search.h"

#define MOST 40

TEST(the_first_that_is_not_below)
{
    uint64_t seed = 1;
    for (int turn = 0; turn < 2000; turn++) {
        int rows[MOST], last = 0;
        size_t count = test_random(&seed) % MOST, from = count ? test_random(&seed) % count : 0;
        for (size_t i = 0; i < count; i++)
            last = rows[i] = last + (int)(test_random(&seed) % 3);
        int wanted = (int)(test_random(&seed) % (MOST + 2));
        size_t right = from, at;
        while (right < count && rows[right] < wanted)
            right++;
        SEARCH_FIRST(at, from, count, rows[at] < wanted);
        REQUIRE(at == right);
    }
}

TEST(of_none)
{
    size_t at;
    SEARCH_FIRST(at, 7, 7, false);
    CHECK_INT(at, 7);
}

static bool is_less(const int *a, const int *b)
{
    return *a < *b;
}

/* Things come and go in any order; the least is always the first. */
TEST(the_least_comes_first)
{
    int items[MOST + 1];
    size_t count = 0;
    uint64_t seed = 2;
    for (int turn = 0; turn < 20000; turn++) {
        if (count < MOST && test_random(&seed) % 2) {
            items[count] = (int)(test_random(&seed) % 50);
            PQUEUE_RISE(items, count, is_less);
            count++;
        } else if (count) {
            int least = items[0];
            for (size_t i = 1; i < count; i++)
                REQUIRE(items[i] >= least);
            items[0] = items[--count];
            PQUEUE_SINK(items, 0, count, is_less);
        }
        for (size_t i = 1; i < count; i++)
            REQUIRE(items[(i - 1) / 2] <= items[i]);
    }
}

TEST_MAIN(TEST_CASE(the_first_that_is_not_below), TEST_CASE(of_none),
          TEST_CASE(the_least_comes_first))
