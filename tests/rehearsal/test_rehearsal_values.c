/* What is known of device memory: a model of it byte by byte, and what must be forgotten. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem.h"
#include "test.h"
#include "values.h"

#define BASE UINT64_C(0x7f0000000000)

TEST(what_is_put_is_known_and_the_rest_is_zero)
{
    uint8_t bytes[8];
    values_forget_all();
    CHECK(!values_any());
    CHECK(!values_get(BASE, bytes, 8));
    CHECK(values_get(BASE, bytes, 0));
    values_put(BASE + 4, "abcd", 4);
    CHECK(values_any());
    CHECK(!values_get(BASE, bytes, 8));
    CHECK(memcmp(bytes, "\0\0\0\0abcd", 8) == 0);
    CHECK(values_get(BASE + 4, bytes, 4));
    values_fill(BASE, 7, 4);
    CHECK(values_get(BASE, bytes, 8));
    CHECK(memcmp(bytes, "\7\7\7\7abcd", 8) == 0);
    values_forget(BASE, 8);
    CHECK(!values_any());
    CHECK(values_are_valid());
}

TEST(whether_bytes_are_known_is_asked_without_them)
{
    values_forget_all();
    CHECK(!values_are_known(BASE, 1));
    CHECK(values_are_known(BASE, 0));
    values_fill(BASE + 10, 1, 3 * VALUES_PAGE);
    CHECK(values_are_known(BASE + 10, 3 * VALUES_PAGE));
    CHECK(!values_are_known(BASE + 9, 3 * VALUES_PAGE));
    CHECK(!values_are_known(BASE + 11, 3 * VALUES_PAGE));
    values_forget(BASE + 2 * VALUES_PAGE, 1);
    CHECK(!values_are_known(BASE + 10, 3 * VALUES_PAGE));
    CHECK(!values_are_real(BASE + 10, 4));
    values_put_real(BASE + 12, "abcd", 4);
    CHECK(values_are_real(BASE + 12, 4) && values_are_known(BASE + 10, 6));
    CHECK(!values_are_real(BASE + 11, 4));
    values_forget_all();
}

TEST(a_move_brings_what_is_known_and_no_more)
{
    uint8_t bytes[4];
    values_forget_all();
    values_put(BASE, "abcd", 4);
    values_move(BASE + 100, BASE, 4);
    CHECK(values_get(BASE + 100, bytes, 4) && memcmp(bytes, "abcd", 4) == 0);
    values_move(BASE + 100, BASE + 2, 4); /* half of it is not known */
    CHECK(!values_get(BASE + 100, bytes, 4));
    CHECK_INT(bytes[0], 0);
    CHECK(values_get(BASE, bytes, 4));
}

TEST(a_piece_that_is_too_large_is_forgotten)
{
    uint8_t byte;
    static uint8_t large[VALUES_MOST + 1];
    values_forget_all();
    values_put(BASE + 10, "x", 1);
    values_put(BASE, large, sizeof large);
    CHECK(!values_get(BASE + 10, &byte, 1));
    CHECK(!values_any());
    values_put(BASE, large, sizeof large - 1);
    CHECK(values_get(BASE + VALUES_MOST - 1, &byte, 1));
    CHECK(values_are_valid());
    values_forget_all();
}

TEST(a_run_ends_at_the_first_byte_that_is_not_known)
{
    uint8_t byte;
    values_forget_all();
    values_fill(BASE + 100, 1, 10000);
    values_fill(BASE + 10200, 1, 1);
    values_forget_run(BASE + 50); /* nothing is known there */
    CHECK(values_get(BASE + 100, &byte, 1));
    values_forget_run(BASE + 5000);
    CHECK(values_get(BASE + 4999, &byte, 1));
    CHECK(!values_get(BASE + 5000, &byte, 1));
    CHECK(!values_get(BASE + 10099, &byte, 1));
    CHECK(values_get(BASE + 10200, &byte, 1));
    CHECK(values_are_valid());
    values_forget_all();
}

/* The run begins in a block, of which something further back is known. */
TEST(a_run_takes_the_rest_of_its_block)
{
    uint8_t byte;
    values_forget_all();
    values_block(BASE, 1 << 20);
    values_fill(BASE + (1 << 20) - 1, 1, 2);
    values_forget_run(BASE + 512);
    CHECK(!values_get(BASE + (1 << 20) - 1, &byte, 1));
    CHECK(values_get(BASE + (1 << 20), &byte, 1));
    values_forget_run(BASE + (UINT64_C(1) << 40)); /* nothing is near */
    values_forget_run(5);
    CHECK(values_get(BASE + (1 << 20), &byte, 1));
    values_forget_all();
}

TEST(a_range_of_a_whole_card_is_forgotten_at_once)
{
    uint8_t byte;
    values_forget_all();
    for (uint64_t i = 0; i < 300; i++)
        values_fill(BASE + i * 7777777, (int)i, 3);
    values_forget(BASE + 2 * 7777777, UINT64_C(80) << 30);
    CHECK(values_get(BASE + 7777777, &byte, 1));
    CHECK_INT(byte, 1);
    CHECK(!values_get(BASE + 2 * 7777777, &byte, 1));
    CHECK(!values_get(BASE + UINT64_C(299) * 7777777, &byte, 1));
    CHECK(values_are_valid());
    values_forget_all();
}

TEST(without_memory_nothing_is_known)
{
    uint8_t byte;
    values_forget_all();
    mem_fail_after(1);
    values_fill(BASE, 1, 10);
    CHECK(!values_get(BASE, &byte, 1));
    mem_fail_after(2);
    values_fill(BASE, 1, 10);
    CHECK(!values_get(BASE, &byte, 1));
    mem_fail_after(0);
    CHECK(values_are_valid());
    values_forget_all();
}

/* ---- what is kept ---- */

#define LARGE (VALUES_PLAIN + 8)

TEST(of_what_is_large_whole_numbers_are_kept)
{
    static int64_t longs[LARGE / 8];
    static int32_t ints[LARGE / 4];
    static float floats[LARGE / 4];
    static uint8_t flags[LARGE];
    uint8_t byte;
    for (size_t i = 0; i < LARGE; i++) {
        longs[i % (LARGE / 8)] = (int64_t)(i % 50000) - 100;
        ints[i % (LARGE / 4)] = (int32_t)(i % 128256) - 100;
        floats[i % (LARGE / 4)] = 0.02F * (float)((i * 7919) % 100) - 1;
        flags[i] = i % 3 == 0;
    }
    values_forget_all();
    values_bring(BASE, longs, LARGE);
    CHECK(values_get(BASE, &byte, 1));
    values_bring(BASE, floats, LARGE); /* and what lay there is gone */
    CHECK(!values_get(BASE, &byte, 1));
    values_bring(BASE, ints, LARGE);
    CHECK(values_get(BASE, &byte, 1));
    values_bring(BASE, flags, LARGE);
    CHECK(values_get(BASE + 3, &byte, 1) && byte == 1);
    values_bring(BASE, floats, VALUES_PLAIN);
    CHECK(values_get(BASE, &byte, 1));
    values_forget_all();
}

TEST(the_oldest_gives_way_and_who_asks_is_told)
{
    uint8_t byte;
    uint64_t all = (uint64_t)VALUES_PAGES * VALUES_PAGE;
    values_forget_all();
    for (uint64_t at = 0; at < all; at += VALUES_MOST)
        values_fill(BASE + at, 1, VALUES_MOST);
    CHECK(!values_was_lost(BASE, all));
    values_fill(BASE, 2, 1); /* written again: the youngest */
    values_fill(BASE + all, 1, 1);
    CHECK(values_get(BASE, &byte, 1) && byte == 2);
    CHECK(!values_get(BASE + VALUES_PAGE, &byte, 1));
    CHECK(values_get(BASE + UINT64_C(2) * VALUES_PAGE, &byte, 1));
    CHECK(values_was_lost(BASE + VALUES_PAGE, 1));
    CHECK(!values_was_lost(BASE, VALUES_PAGE));
    CHECK(values_are_valid());
    values_block(BASE + VALUES_PAGE, VALUES_PAGE); /* nobody misses it */
    CHECK(!values_was_lost(BASE + VALUES_PAGE, 1));
    values_forget_all();
}

static _Atomic bool ends;

static void *put_on(void *unused)
{
    for (uint64_t i = 0; !ends; i++)
        values_fill(BASE + i % 100 * 5000, 1, 4096);
    return unused;
}

TEST(who_forks_holds_no_lock)
{
    pthread_t thread;
    uint8_t byte;
    values_forget_all();
    values_fill(BASE, 1, 1);
    REQUIRE(pthread_create(&thread, NULL, put_on, NULL) == 0);
    for (int i = 0; i < 50; i++) {
        int status = -1;
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            (void)values_get(BASE, &byte, 1);
            _exit(0);
        }
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    }
    ends = true;
    REQUIRE(pthread_join(thread, NULL) == 0);
    values_forget_all();
}

/* ---- against a model ---- */

#define SPAN 40000u

static uint8_t model[SPAN], model_known[SPAN];

static void forget_model(uint64_t at, uint64_t count)
{
    memset(model + at, 0, count);
    memset(model_known + at, 0, count);
}

static void any_change(uint64_t *random)
{
    static uint8_t moved[SPAN];
    uint64_t at = test_random(random) % SPAN, to = test_random(random) % SPAN;
    uint64_t most = test_random(random) % 4 ? 100 : SPAN;
    uint64_t left = SPAN - (at > to ? at : to), count = test_random(random) % most;
    int value = (int)(test_random(random) % 256);
    count = count < left ? count : left;
    switch (test_random(random) % 4) {
    case 0:
        values_forget(BASE + at, count);
        forget_model(at, count);
        break;
    case 1:
        values_move(BASE + to, BASE + at, count);
        memcpy(moved, model + at, count);
        if (memchr(model_known + at, 0, count)) {
            forget_model(to, count);
        } else {
            memcpy(model + to, moved, count);
            memset(model_known + to, 1, count);
        }
        break;
    default:
        values_fill(BASE + at, value, count);
        memset(model + at, value, count);
        memset(model_known + at, 1, count);
        break;
    }
}

TEST(it_is_as_the_model)
{
    static uint8_t bytes[SPAN];
    uint64_t random = 3;
    values_forget_all();
    for (int i = 0; i < 4000; i++) {
        any_change(&random);
        uint64_t at = test_random(&random) % SPAN, count = test_random(&random) % (SPAN - at);
        bool known = values_get(BASE + at, bytes, count);
        REQUIRE(memcmp(bytes, model + at, count) == 0);
        REQUIRE(known == (memchr(model_known + at, 0, count) == NULL));
        REQUIRE(i % 50 || values_are_valid());
    }
    values_forget_all();
    CHECK(values_are_valid());
}

/* ---- long ranges, among pages that lie far from each other ---- */

#define FAR 2000u
#define FAR_SPAN (UINT64_C(8) << 30)

static uint64_t far_at[FAR];
static bool far_known[FAR];

static void put_far(uint64_t *random)
{
    for (uint32_t i = 0; i < FAR; i++)
        if (!far_known[i]) {
            far_at[i] = test_random(random) % (FAR_SPAN / FAR) / 8 * 8 + i * (FAR_SPAN / FAR);
            values_fill(BASE + far_at[i], 1, 8);
            far_known[i] = true;
        }
}

static void forget_far(uint64_t at, uint64_t count)
{
    values_forget(BASE + at, count);
    for (uint32_t i = 0; i < FAR; i++)
        far_known[i] &= far_at[i] + 8 <= at || far_at[i] >= at + count;
}

TEST(a_long_range_is_forgotten_and_nothing_else)
{
    uint64_t random = 7, bytes;
    values_forget_all();
    for (int round = 0; round < 60; round++) {
        put_far(&random);
        uint64_t most = FAR_SPAN >> test_random(&random) % 14;
        forget_far(test_random(&random) % FAR_SPAN / 8 * 8, test_random(&random) % most / 8 * 8);
        for (uint32_t i = 0; i < FAR; i++)
            REQUIRE(values_get(BASE + far_at[i], &bytes, 8) == far_known[i]);
        REQUIRE(values_are_valid());
    }
    forget_far(0, FAR_SPAN);
    CHECK(!values_any());
}

TEST_MAIN(TEST_CASE(what_is_put_is_known_and_the_rest_is_zero),
          TEST_CASE(whether_bytes_are_known_is_asked_without_them),
          TEST_CASE(a_move_brings_what_is_known_and_no_more),
          TEST_CASE(a_piece_that_is_too_large_is_forgotten),
          TEST_CASE(a_run_ends_at_the_first_byte_that_is_not_known),
          TEST_CASE(a_run_takes_the_rest_of_its_block),
          TEST_CASE(a_range_of_a_whole_card_is_forgotten_at_once),
          TEST_CASE(without_memory_nothing_is_known),
          TEST_CASE(of_what_is_large_whole_numbers_are_kept),
          TEST_CASE(the_oldest_gives_way_and_who_asks_is_told), TEST_CASE(who_forks_holds_no_lock),
          TEST_CASE(it_is_as_the_model), TEST_CASE(a_long_range_is_forgotten_and_nothing_else))
