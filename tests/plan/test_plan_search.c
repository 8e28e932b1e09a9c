/* The search against programs that are formulas: it ends at the right value after few tries. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "plan_search.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

/* What a program needs for a value: a constant, so much for each, and for each pair; in segments of
 * an allocator, with roughness, and from one value on by another kernel that wants more. */
struct program {
    double constant, each, pair, rough;
    int64_t from, more;
    uint64_t seed;
};

static int64_t need_of(const struct program *program, int64_t x)
{
    uint64_t seed = program->seed ^ (uint64_t)x * 0x9e3779b97f4a7c15u;
    double n = (double)x, noise = (double)(test_random(&seed) % 1000) / 1000;
    double need = program->constant + program->each * n + program->pair * n * n;
    need *= 1 + program->rough * noise;
    if (program->from && x >= program->from)
        need += (double)program->more;
    return ((int64_t)need / (2 * MIB) + 1) * 2 * MIB;
}

struct outcome {
    unsigned tries;
    int64_t low, high;
    bool proven; /* both sides were tried */
};

static struct outcome run(const struct program *program, const struct vary_name *name,
                          int64_t memory, bool blind)
{
    struct search search;
    struct outcome out = {0};
    size_t at;
    bool low_tried = false, high_tried = false;
    search_begin(&search, name, name->count, memory);
    while (search_next(&search, &at)) {
        int64_t need = need_of(program, vary_number(name, at));
        bool fits = need <= memory;
        REQUIRE(at < name->count && ++out.tries < 100);
        search_learn(&search, at, fits, fits && !blind ? need : SEARCH_UNKNOWN);
        CHECK(search_is_valid(&search));
        low_tried = (fits && (int64_t)at == search.low) || (low_tried && !fits);
        high_tried = (!fits && (int64_t)at == search.high) || (high_tried && fits);
    }
    out.low = search.low;
    out.high = search.high;
    out.proven = (low_tried || out.low < 0) && (high_tried || out.high == (int64_t)name->count);
    return out;
}

/* The last value that fits; the formulas of these tests have one. */
static int64_t truth(const struct program *program, const struct vary_name *name, int64_t memory)
{
    int64_t last = -1;
    for (size_t at = 0; at < name->count; at++)
        if (need_of(program, vary_number(name, at)) <= memory)
            last = (int64_t)at;
    return last;
}

static const struct vary_name thousand = {
    .count = 1024, .range = true, .numbers = true, .first = 1, .step = 1};

TEST(a_straight_line_takes_few_tries)
{
    unsigned most = 0;
    for (int64_t constant = 0; constant <= 20; constant += 2)
        for (int64_t each = 8; each <= 1024; each *= 2) {
            const struct program program = {.constant = (double)(constant * GIB),
                                            .each = (double)(each * MIB)};
            struct outcome out = run(&program, &thousand, 24 * GIB, false);
            CHECK_INT(out.low, truth(&program, &thousand, 24 * GIB));
            CHECK_INT(out.high, out.low + 1);
            CHECK(out.proven);
            most = out.tries > most ? out.tries : most;
        }
    CHECK(most <= 8);
}

/* Some thousand programs that a line or a parabola describes roughly. */
TEST(rough_programs_take_ten_tries_nearly_always)
{
    uint64_t seed = 7;
    unsigned over = 0, most = 0;
    for (int i = 0; i < 4000; i++) {
        int64_t memory = (int64_t)(4 + test_random(&seed) % 76) * GIB;
        double share = (double)(test_random(&seed) % 90) / 100;
        double wanted = (double)(1 + test_random(&seed) % 1200); /* the answer, about */
        bool square = test_random(&seed) % 3 == 0;
        double rest = (double)memory * (1 - share);
        struct program program = {.constant = (double)memory * share,
                                  .each = (square ? 0.5 : 1) * rest / wanted,
                                  .pair = square ? 0.5 * rest / wanted / wanted : 0,
                                  .rough = (double)(test_random(&seed) % 5) / 2000,
                                  .seed = test_random(&seed)};
        if (test_random(&seed) % 4 == 0) {
            program.from = (int64_t)(test_random(&seed) % 64);
            program.more = (int64_t)(test_random(&seed) % 512) * MIB;
        }
        struct outcome out = run(&program, &thousand, memory, false);
        CHECK(out.proven);
        CHECK_INT(out.high, out.low + 1);
        over += out.tries > 10;
        most = out.tries > most ? out.tries : most;
    }
    printf("most tries %u, more than ten %u times\n", most, over);
    CHECK(over <= 4000 / 64);
    CHECK(most <= 20);
}

/* Two steps of memory where nobody expects them, and no law at all. */
TEST(it_ends_well_without_a_law)
{
    uint64_t seed = 11;
    for (int i = 0; i < 300; i++) {
        int64_t cut = (int64_t)(test_random(&seed) % 1026);
        const struct program cliff = {
            .constant = (double)GIB, .each = (double)MIB, .from = cut ? cut : -1, .more = 99 * GIB};
        struct outcome out = run(&cliff, &thousand, 24 * GIB, i % 2);
        CHECK_INT(out.low, cut == 0 ? 1023 : cut - 2 < 1024 ? cut - 2 : 1023);
        CHECK(out.proven);
        CHECK(out.tries <= 22);
    }
}

TEST(nothing_and_everything_take_few)
{
    const struct program large = {.constant = 30.0 * (double)GIB, .each = (double)MIB};
    struct outcome out = run(&large, &thousand, 24 * GIB, false);
    CHECK_INT(out.low, -1);
    CHECK_INT(out.high, 0);
    CHECK_INT(out.tries, 1);
    const struct program small = {.constant = (double)GIB, .each = (double)MIB};
    out = run(&small, &thousand, 24 * GIB, false);
    CHECK_INT(out.low, 1023);
    CHECK(out.tries <= 4);
    const struct program flat = {.constant = (double)GIB};
    out = run(&flat, &thousand, 24 * GIB, false);
    CHECK_INT(out.low, 1023);
    CHECK(out.tries <= 4);
}

TEST(a_bound_that_is_known_is_kept)
{
    const struct program program = {.constant = (double)GIB, .each = 100.0 * (double)MIB};
    struct search search;
    size_t at;
    search_begin(&search, &thousand, 8, 24 * GIB);
    while (search_next(&search, &at)) {
        CHECK(at < 8);
        search_learn(&search, at, true, need_of(&program, vary_number(&thousand, at)));
    }
    CHECK_INT(search.low, 7);
    search_begin(&search, &thousand, 0, 24 * GIB);
    CHECK(!search_next(&search, &at));
    CHECK_INT(search.low, -1);
}

TEST(hints_save_tries)
{
    const struct program program = {.constant = 2.0 * (double)GIB, .each = 100.0 * (double)MIB};
    struct search search;
    size_t at;
    unsigned tries = 0;
    search_begin(&search, &thousand, 1024, 24 * GIB);
    search_hint(&search, 0, need_of(&program, 1));
    search_hint(&search, 99, need_of(&program, 100));
    for (; search_next(&search, &at); tries++) {
        int64_t need = need_of(&program, vary_number(&thousand, at));
        bool fits = need <= 24 * GIB;
        search_learn(&search, at, fits, fits ? need : SEARCH_UNKNOWN);
    }
    CHECK_INT(search.low, truth(&program, &thousand, 24 * GIB));
    CHECK_INT(tries, 2);
}

TEST(lists_and_coarse_ranges)
{
    int64_t list[] = {1, 2, 4, 8, 16, 32, 64, 128};
    char *texts[8] = {0};
    const struct vary_name powers = {.count = 8, .numbers = true, .list = list, .texts = texts};
    const struct program program = {.constant = (double)GIB, .each = 1000.0 * (double)MIB};
    struct outcome out = run(&program, &powers, 24 * GIB, false);
    CHECK_INT(out.low, 4);
    CHECK(out.proven && out.tries <= 4);
    const struct vary_name eighths = {
        .count = 64, .range = true, .numbers = true, .first = 8, .step = 8};
    out = run(&program, &eighths, 24 * GIB, false);
    CHECK_INT(vary_number(&eighths, (size_t)out.low), 16);
    const struct vary_name from_zero = {
        .count = 100, .range = true, .numbers = true, .first = 0, .step = 1};
    out = run(&program, &from_zero, 24 * GIB, false);
    CHECK_INT(out.low, truth(&program, &from_zero, 24 * GIB));
    CHECK(out.proven && out.tries <= 10);
}

TEST(a_first_value_that_says_nothing_is_left_out)
{
    const struct program program = {.constant = (double)GIB, .each = 1000.0 * (double)MIB};
    struct search search;
    size_t at;
    unsigned tries = 0;
    search_begin(&search, &thousand, 1024, 24 * GIB);
    REQUIRE(search_next(&search, &at));
    CHECK_INT(at, 0);
    search_skip(&search);
    CHECK(search_is_valid(&search));
    for (; search_next(&search, &at); tries++) {
        CHECK(at > 0 && (tries || at == 1));
        int64_t need = need_of(&program, vary_number(&thousand, at));
        bool fits = need <= 24 * GIB;
        search_learn(&search, at, fits, fits ? need : SEARCH_UNKNOWN);
    }
    CHECK_INT(search.low, truth(&program, &thousand, 24 * GIB));
    CHECK_INT(search.high, search.low + 1);
    CHECK(tries <= 6);
    search_begin(&search, &thousand, 1024, GIB);
    search_skip(&search);
    search_learn(&search, 1, false, SEARCH_UNKNOWN);
    CHECK(!search_next(&search, &at));
    CHECK_INT(search.low, search.floor);
}

TEST_MAIN(TEST_CASE(a_straight_line_takes_few_tries),
          TEST_CASE(rough_programs_take_ten_tries_nearly_always),
          TEST_CASE(it_ends_well_without_a_law), TEST_CASE(nothing_and_everything_take_few),
          TEST_CASE(a_bound_that_is_known_is_kept), TEST_CASE(hints_save_tries),
          TEST_CASE(lists_and_coarse_ranges),
          TEST_CASE(a_first_value_that_says_nothing_is_left_out))
