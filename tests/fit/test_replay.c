/*
 * A program runs on the allocator, and its record is replayed: every address, every segment and
 * every sum must come out again. The replay has the addresses of segments and nothing else, and
 * here no rule would give them.
 */
#include <stdio.h>

#include "fit.h"
#include "error.h"
#include "mem.h"
#include "program.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)

static struct program usual(void)
{
    return (struct program){
        .seed = 1, .calls = 8000, .living = 300, .streams = 1, .largest = 40 * MIB};
}

/* Everything as recorded. */
static void check_same(const struct program *program)
{
    struct program_result was;
    struct fit fit;
    struct db *db = program_record("program.db", program, &was);
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    CHECK(replay_trace_is_valid(&fit.trace));
    CHECK(fit.compared);
    const struct replay_outcome *out = &fit.as_recorded;
    CHECK(out->compared > 1000);
    CHECK_INT(out->compared + fit.trace.adopted, was.allocations);
    CHECK_INT(out->equal, out->compared);
    CHECK(fit_address_match(&fit) == 1.0);
    CHECK(fit_segment_match(&fit) == 1.0);
    CHECK_INT(out->refusals, 0);
    if (!program->rebuilt) {
        CHECK_INT(out->peak_reserved, was.stats.reserved_bytes[ALLOC_ALL].peak);
        CHECK_INT(out->peak_allocated, was.stats.allocated_bytes[ALLOC_ALL].peak);
        CHECK_INT(out->peak_active, was.stats.active_bytes[ALLOC_ALL].peak);
    }
    fit_clear(&fit);
    db_close(db);
}

TEST(one_stream)
{
    struct program program = usual();
    check_same(&program);
}

TEST(four_streams)
{
    struct program program = usual();
    program.streams = 4;
    program.seed = 2;
    check_same(&program);
}

TEST(blocks_that_wait_for_a_stream)
{
    struct program program = usual();
    program.streams = 3;
    program.waits = true;
    program.seed = 3;
    check_same(&program);
}

TEST(settings)
{
    static const char *const confs[] = {
        "max_split_size_mb:32",
        "roundup_power2_divisions:8",
        "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
        "max_split_size_mb:64,roundup_power2_divisions:4",
    };
    for (size_t i = 0; i < sizeof confs / sizeof *confs; i++) {
        struct program program = usual();
        program.calls = 4000;
        program.seed = 10 + i;
        program.conf = confs[i];
        check_same(&program);
        remove(test_path("program.db"));
    }
}

TEST(expandable_segments)
{
    for (uint64_t seed = 20; seed < 23; seed++) {
        struct program program = usual();
        program.calls = 4000;
        program.seed = seed;
        program.streams = 2;
        program.conf = "expandable_segments:True";
        check_same(&program);
        remove(test_path("program.db"));
    }
}

/* So few blocks live that whole ranges go back when the cache is emptied; the next stream or half
 * that reserves one gets the addresses of another. */
TEST(addresses_that_were_reserved_again)
{
    for (uint64_t seed = 60; seed < 64; seed++) {
        struct program program = usual();
        program.calls = 4000;
        program.seed = seed;
        program.streams = 3;
        program.living = 5;
        program.empties = 40;
        program.rebuilt = seed % 2 ? 1000 : 0;
        program.conf = "expandable_segments:True";
        check_same(&program);
        remove(test_path("program.db"));
    }
}

TEST(an_emptied_cache_is_found_in_the_record)
{
    struct program program = usual();
    program.empties = 700;
    program.seed = 30;
    check_same(&program);
}

TEST(under_a_limit_the_cache_goes_back_again)
{
    struct program_result was;
    struct program program = usual();
    program.seed = 40;
    struct db *db = program_record("free.db", &program, &was);
    db_close(db);
    program.limit = (uint64_t)was.stats.reserved_bytes[ALLOC_ALL].peak - 200 * MIB;
    check_same(&program);
    remove(test_path("program.db"));
    program.conf = "garbage_collection_threshold:0.7";
    check_same(&program);
    remove(test_path("program.db"));
    program.conf = "max_split_size_mb:24";
    check_same(&program);
}

TEST(a_request_that_was_refused)
{
    struct program_result was;
    struct program program = usual();
    struct fit fit;
    program.seed = 50;
    program.limit = 1500 * MIB;
    program.living = 200;
    struct db *db = program_record("program.db", &program, &was);
    CHECK(was.refused > 0);
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    CHECK_INT(fit.trace.refusals, was.refused);
    CHECK(fit_address_match(&fit) == 1.0);
    CHECK_INT(fit.as_recorded.refusals,
              0); /* what failed then has no block, so nothing fails now */
    fit_clear(&fit);
    db_close(db);
}

TEST(a_record_that_begins_in_the_middle)
{
    for (uint64_t seed = 60; seed < 63; seed++) {
        struct program program = usual();
        program.seed = seed;
        program.streams = 2;
        program.waits = seed == 61;
        program.rebuilt = 2500;
        check_same(&program);
        remove(test_path("program.db"));
    }
}

TEST(a_record_that_begins_in_the_middle_of_expandable_segments)
{
    struct program program = usual();
    program.seed = 70;
    program.rebuilt = 2500;
    program.conf = "expandable_segments:True";
    check_same(&program);
}

/* Sizes of blocks instead of requests: they round to themselves, and go where they were. */
TEST(sizes_of_blocks_will_do)
{
    struct program program = usual();
    program.seed = 80;
    program.no_requests = true;
    check_same(&program);
}

/* What is not known makes a difference, so the match says something. */
TEST(other_settings_do_not_match)
{
    struct program_result was;
    struct fit fit;
    struct program program = usual();
    program.conf = "max_split_size_mb:24";
    program.seed = 90;
    struct db *db = program_record("program.db", &program, &was);
    REQUIRE(db_exec(db, "DELETE FROM setting") == 0);
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    CHECK(fit_address_match(&fit) < 0.9);
    CHECK(fit_address_match(&fit) >= 0);
    fit_clear(&fit);
    db_close(db);
}

TEST(without_memory)
{
    struct program_result was;
    struct program program = usual();
    program.calls = 200;
    struct db *db = program_record("program.db", &program, &was);
    for (long n = 1; n < 10000; n++) {
        struct fit fit;
        mem_fail_after(n);
        int err = fit_begin(db, 1, 1, &fit);
        mem_fail_after(0);
        if (err == 0)
            CHECK(fit_address_match(&fit) == 1.0);
        fit_clear(&fit);
        if (err == 0)
            break;
        CHECK_INT(err, ERR_NOMEM);
    }
    db_close(db);
}

TEST_MAIN(TEST_CASE(one_stream), TEST_CASE(four_streams), TEST_CASE(blocks_that_wait_for_a_stream),
          TEST_CASE(settings), TEST_CASE(expandable_segments),
          TEST_CASE(addresses_that_were_reserved_again),
          TEST_CASE(an_emptied_cache_is_found_in_the_record),
          TEST_CASE(under_a_limit_the_cache_goes_back_again), TEST_CASE(a_request_that_was_refused),
          TEST_CASE(a_record_that_begins_in_the_middle),
          TEST_CASE(a_record_that_begins_in_the_middle_of_expandable_segments),
          TEST_CASE(sizes_of_blocks_will_do), TEST_CASE(other_settings_do_not_match),
          TEST_CASE(without_memory))
