/*
 * The smallest memory is what the allocator itself survives with, and one step less is not; and the
 * first refusal is explained as it was.
 */
#include <stdio.h>
#include <string.h>

#include "fit.h"
#include "error.h"
#include "mem.h"
#include "program.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)
#define LIVES "-70368744177664,-2147483648"

static struct program usual(uint64_t seed)
{
    return (struct program){
        .seed = seed, .calls = 3000, .living = 200, .streams = 2, .largest = 48 * MIB};
}

static bool survives(struct fit *fit, const struct alloc_config *config, int64_t limit)
{
    struct replay_outcome outcome;
    const struct replay_setup setup = fit_setup(fit, config, (uint64_t)limit);
    REQUIRE(replay_run(&fit->trace, &setup, &fit->scratch, NULL, &outcome) == 0);
    CHECK(!outcome.survived || outcome.peak_reserved <= limit);
    CHECK_INT(outcome.survived, outcome.refusals == 0);
    return outcome.survived;
}

/* ---- the smallest memory ---- */

TEST(the_smallest_survives_and_one_step_less_does_not)
{
    static const char *const confs[] = {
        "",
        "max_split_size_mb:24",
        "expandable_segments:True",
        "roundup_power2_divisions:4",
        "garbage_collection_threshold:0.6",
    };
    for (uint64_t seed = 1; seed < 4; seed++) {
        struct program program = usual(seed);
        struct program_result was;
        struct fit fit;
        program.rebuilt = seed == 3 ? 700 : 0;
        struct db *db = program_record("program.db", &program, &was);
        REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
        for (size_t i = 0; i < sizeof confs / sizeof *confs; i++) {
            struct alloc_config config;
            struct fit_need need;
            alloc_config_default(&config);
            REQUIRE(alloc_config_parse(&config, confs[i], NULL, 0) == 0);
            CHECK_INT(fit_measure(&fit, &config, 0, &need), 0);
            CHECK(need.smallest > 0 && need.smallest % (int64_t)FIT_STEP == 0);
            CHECK(need.peak_allocated <= need.peak_reserved);
            CHECK(survives(&fit, &config, need.smallest));
            CHECK(!survives(&fit, &config, need.smallest - (int64_t)FIT_STEP));
            CHECK_INT(need.anew, program.rebuilt && (i == 2 || i == 3));
        }
        fit_clear(&fit);
        db_close(db);
        remove(test_path("program.db"));
    }
}

/* Not by a replay: the program itself runs under that limit, and dies below it. */
TEST(the_program_itself_survives_with_it)
{
    for (uint64_t seed = 11; seed < 15; seed++) {
        struct program program = usual(seed);
        struct program_result was;
        struct fit fit;
        struct fit_need need;
        program.streams = 1;
        program.ascending = true;
        struct db *db = program_record("free.db", &program, &was);
        REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
        REQUIRE(fit_measure(&fit, &fit.recorded, 0, &need) == 0);
        CHECK_INT(need.peak_reserved, was.stats.reserved_bytes[ALLOC_ALL].peak);
        CHECK(need.smallest <= need.peak_reserved);
        fit_clear(&fit);
        db_close(db);
        program.limit = (uint64_t)need.smallest;
        db = program_record("enough.db", &program, &was);
        CHECK_INT(was.refused, 0);
        CHECK_INT(was.stats.num_alloc_retries, need.retries);
        db_close(db);
        program.limit -= FIT_STEP;
        db = program_record("less.db", &program, &was);
        CHECK(was.refused > 0);
        db_close(db);
        remove(test_path("free.db"));
        remove(test_path("enough.db"));
        remove(test_path("less.db"));
    }
}

/* On a device of that size, which lets the allocator reserve an eighth more addresses than it has
 * memory: on a small one they run out before the memory does. */
TEST(expandable_segments_survive_on_a_device_of_that_size)
{
    for (uint64_t seed = 71; seed < 80; seed++) {
        struct program program = usual(seed);
        struct program_result was;
        struct fit fit;
        struct fit_need need;
        program.living = 30;
        program.streams = 1;
        program.largest = 70 * MIB;
        program.conf = "expandable_segments:True";
        struct db *db = program_record("large.db", &program, &was);
        REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
        REQUIRE(fit_measure(&fit, &fit.recorded, 0, &need) == 0);
        fit_clear(&fit);
        db_close(db);
        program.memory = (uint64_t)need.smallest;
        db = program_record("enough.db", &program, &was);
        CHECK_INT(was.refused, 0);
        db_close(db);
        program.memory -= FIT_STEP;
        db = program_record("less.db", &program, &was);
        CHECK(was.refused > 0);
        db_close(db);
        remove(test_path("large.db"));
        remove(test_path("enough.db"));
        remove(test_path("less.db"));
    }
}

TEST(garbage_collection_lowers_the_peak_under_a_ceiling)
{
    struct program program = usual(21);
    struct program_result was;
    struct fit fit;
    struct fit_need without, need;
    struct alloc_config config;
    struct db *db = program_record("program.db", &program, &was);
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    alloc_config_default(&config);
    REQUIRE(alloc_config_parse(&config, "garbage_collection_threshold:0.5", NULL, 0) == 0);
    REQUIRE(fit_measure(&fit, &config, 0, &without) == 0);
    CHECK_INT(without.peak_reserved, was.stats.reserved_bytes[ALLOC_ALL].peak);
    REQUIRE(fit_measure(&fit, &config, (uint64_t)without.peak_reserved, &need) == 0);
    CHECK(need.peak_reserved < without.peak_reserved);
    CHECK_INT(need.smallest, without.smallest);
    fit_clear(&fit);
    db_close(db);
}

/* 18 MiB wait for a stream while 18 others are asked for. With less memory than both need the
 * allocator waits for the stream, and the segment serves twice. */
TEST(a_full_device_waits_for_its_streams)
{
    struct fit fit;
    struct fit_need need;
    struct db *db = program_database("rows.db", "cuda");
    REQUIRE(db_exec(db, "INSERT INTO "
                        "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,"
                        "tag,segment) VALUES"
                        "(2,1,0,18874368,18874368,100,9,4,NULL,NULL,NULL),"
                        "(6,1,0,18874368,18874368,200,9,7,NULL,NULL,NULL),"
                        "(8,1,0,18874368,18874368,300,9,12,NULL,NULL,NULL);"
                        "INSERT INTO idle VALUES(2,8,0),(6,11,0)") == 0);
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    REQUIRE(fit_measure(&fit, &fit.recorded, 0, &need) == 0);
    CHECK_INT(need.peak_reserved, 36 * MIB);
    CHECK_INT(need.smallest, 18 * MIB);
    CHECK(survives(&fit, &fit.recorded, 18 * MIB));
    CHECK(!survives(&fit, &fit.recorded, 16 * MIB));
    fit_clear(&fit);
    db_close(db);
}

TEST(nothing_needs_nothing)
{
    struct fit fit;
    struct fit_need need;
    struct db *db = program_database("empty.db", "cuda");
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    CHECK(fit_address_match(&fit) < 0);
    CHECK(fit_segment_match(&fit) < 0);
    CHECK_INT(fit_measure(&fit, &fit.recorded, 0, &need), 0);
    CHECK_INT(need.smallest, 0);
    fit_clear(&fit);
    db_close(db);
}

/* ---- the recorded settings ---- */

TEST(settings_that_cannot_be_read)
{
    struct fit fit;
    struct db *db = program_database("rows.db", "cuda");
    REQUIRE(db_exec(db, "INSERT INTO setting VALUES(1,1,'alloc_conf','max_split_size_mb:1')") == 0);
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    CHECK(*fit.conf_trouble != '\0');
    CHECK(fit.recorded.max_split_size == UINT64_MAX);
    fit_clear(&fit);
    db_close(db);
}

/* What a CPU's allocator gave, or what another policy gave, is not compared. */
TEST(addresses_of_others_are_not_compared)
{
    static const char *const rows[] = {
        "UPDATE device SET kind='cpu'",
        "DELETE FROM segment",
        "INSERT INTO setting VALUES(1,1,'allocator','cudaMallocAsync')",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program program = usual(31);
        struct program_result was;
        struct fit fit;
        program.calls = 300;
        struct db *db = program_record("program.db", &program, &was);
        REQUIRE(db_exec(db, rows[i]) == 0);
        REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
        CHECK(!fit.compared);
        CHECK(fit_address_match(&fit) < 0);
        CHECK(fit_segment_match(&fit) < 0);
        CHECK_INT(fit.as_recorded.peak_reserved, was.stats.reserved_bytes[ALLOC_ALL].peak);
        fit_clear(&fit);
        db_close(db);
        remove(test_path("program.db"));
    }
}

/* ---- the first refusal ---- */

/* Three blocks of 6 MiB in one segment of 20; the first and the last are given back, and 18 MiB are
 * asked for. What is in the middle keeps all of it. */
static const char pinned_rows[] =
    "INSERT INTO string VALUES(1,'early'),(2,'train.py'),(3,'late');"
    "INSERT INTO frame VALUES(1,1,2,10),(2,3,2,20);"
    "INSERT INTO site VALUES(1,0,1),(2,0,2);"
    "INSERT INTO "
    "phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,"
    "end_seq,begin_ns,end_ns,scope,ended) VALUES"
    "(1,1,1,NULL,0,'forward','forward',3,1,5,0,0,'process','end'),"
    "(2,1,1,NULL,0,'backward','backward',3,6,9,0,0,'process','end');"
    "INSERT INTO stretch VALUES(1,1,1),(1,6,2);"
    "INSERT INTO "
    "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,segment) VALUES"
    "(2,1,0,6291456,6291456,100,9,6,NULL,NULL,NULL),"
    "(3,1,0,6291456,6291456,200," LIVES ",1,NULL,NULL),"
    "(4,1,0,6291456,6291456,300,9,7,NULL,NULL,NULL),"
    "(8,1,0,18874368,18874368,400," LIVES ",2,NULL,NULL)";

TEST(where_it_is_refused_and_what_is_in_the_way)
{
    struct fit fit;
    struct fit_verdict verdict;
    struct db *db = program_database("rows.db", "cuda");
    REQUIRE(db_exec(db, pinned_rows) == 0);
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    REQUIRE(fit_try(&fit, db, &fit.recorded, 38 * MIB, &verdict) == 0);
    CHECK(verdict.fits);
    CHECK_INT(verdict.peak_reserved, 38 * MIB);
    fit_verdict_clear(&verdict);

    REQUIRE(fit_try(&fit, db, &fit.recorded, 36 * MIB, &verdict) == 0);
    const struct fit_refusal *refusal = &verdict.refusal;
    CHECK(!verdict.fits && !refusal->before);
    CHECK_INT(refusal->allocation, 8);
    CHECK_INT(refusal->at_ns, 400);
    CHECK_INT(refusal->step, 3);
    CHECK_STR(refusal->phase, "backward");
    CHECK_STR(refusal->site, "late (train.py:20)");
    CHECK_INT(refusal->why.requested, 18 * MIB);
    CHECK_INT(refusal->why.segment_size, 18 * MIB);
    CHECK_INT(refusal->why.allocated, 6 * MIB);
    CHECK_INT(refusal->why.reserved, 20 * MIB);
    CHECK_INT(refusal->why.largest_free, 8 * MIB);
    CHECK_INT(refusal->largest_hole, 8 * MIB);
    CHECK_INT(refusal->free_bytes, 14 * MIB);
    REQUIRE(refusal->pin_count == 1);
    CHECK_STR(refusal->pins[0].site, "early (train.py:10)");
    CHECK_STR(refusal->pins[0].phase, "forward");
    CHECK_INT(refusal->pins[0].step, 3);
    CHECK_INT(refusal->pins[0].blocks, 1);
    CHECK_INT(refusal->pins[0].bytes, 6 * MIB);
    CHECK_INT(refusal->pins[0].free_bytes, 14 * MIB);
    fit_verdict_clear(&verdict);
    fit_clear(&fit);
    db_close(db);
}

/* Expandable segments give pages back from the middle: the same program fits. */
TEST(the_same_fits_with_expandable_segments)
{
    struct fit fit;
    struct fit_verdict verdict;
    struct alloc_config config;
    struct db *db = program_database("rows.db", "cuda");
    REQUIRE(db_exec(db, pinned_rows) == 0);
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    alloc_config_default(&config);
    config.expandable_segments = true;
    struct fit_need need;
    REQUIRE(fit_measure(&fit, &config, 0, &need) == 0);
    REQUIRE(fit_try(&fit, db, &config, (uint64_t)need.smallest, &verdict) == 0);
    CHECK(verdict.fits);
    fit_verdict_clear(&verdict);
    REQUIRE(fit_try(&fit, db, &config, (uint64_t)need.smallest - FIT_STEP, &verdict) == 0);
    CHECK(!verdict.fits);
    CHECK_INT(verdict.refusal.pin_count, 1);
    fit_verdict_clear(&verdict);
    fit_clear(&fit);
    db_close(db);
}

TEST(what_lived_before_the_record_may_be_too_much)
{
    struct program program = usual(41);
    struct program_result was;
    struct fit fit;
    struct fit_verdict verdict;
    program.rebuilt = 1500;
    struct db *db = program_record("program.db", &program, &was);
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    CHECK(fit.trace.living_adopted > 0);
    for (int expandable = 0; expandable < 2; expandable++) {
        struct alloc_config config = fit.recorded;
        config.expandable_segments = expandable;
        REQUIRE(fit_try(&fit, db, &config, fit.trace.living_adopted_bytes / 2, &verdict) == 0);
        CHECK(!verdict.fits);
        CHECK(verdict.refusal.before);
        CHECK_INT(verdict.refusal.allocation, FIT_NONE);
        /* Taken over as it lay it is no single request; asked for again it is. */
        CHECK_INT(verdict.refusal.why.requested > 0, expandable);
        CHECK(verdict.refusal.why.allocated > 0);
        CHECK(verdict.refusal.why.allocated <= verdict.refusal.why.reserved);
        if (!expandable)
            CHECK_INT(verdict.refusal.why.allocated, fit.trace.living_adopted_bytes);
        fit_verdict_clear(&verdict);
    }
    fit_clear(&fit);
    db_close(db);
}

/* Every pin is a living block of a segment with a hole, and free bytes count once in a group. */
TEST(pins_of_a_random_program)
{
    for (uint64_t seed = 51; seed < 55; seed++) {
        struct program program = usual(seed);
        struct program_result was;
        struct fit fit;
        struct fit_need need;
        struct fit_verdict verdict;
        program.waits = true;
        struct db *db = program_record("program.db", &program, &was);
        REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
        REQUIRE(fit_measure(&fit, &fit.recorded, 0, &need) == 0);
        REQUIRE(fit_try(&fit, db, &fit.recorded, (uint64_t)need.smallest - FIT_STEP, &verdict) ==
                0);
        const struct fit_refusal *refusal = &verdict.refusal;
        CHECK(!verdict.fits && refusal->allocation > 0);
        CHECK(refusal->why.reserved + refusal->why.segment_size >
              (uint64_t)need.smallest - FIT_STEP);
        CHECK(refusal->largest_hole <= refusal->free_bytes);
        CHECK(refusal->pin_count > 0); /* no sites and no phases here: one group */
        for (size_t i = 0; i < refusal->pin_count; i++) {
            CHECK(refusal->pins[i].blocks > 0 && refusal->pins[i].bytes > 0);
            CHECK(refusal->pins[i].free_bytes <= refusal->free_bytes);
            CHECK(i == 0 || refusal->pins[i - 1].free_bytes >= refusal->pins[i].free_bytes);
        }
        fit_verdict_clear(&verdict);
        fit_clear(&fit);
        db_close(db);
        remove(test_path("program.db"));
    }
}

TEST(without_memory)
{
    struct fit fit;
    struct fit_verdict verdict;
    struct fit_need need;
    struct db *db = program_database("rows.db", "cuda");
    REQUIRE(db_exec(db, pinned_rows) == 0);
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    long n = 1;
    for (int err = ERR_NOMEM; err < 0 && n < 1000; n++) {
        mem_fail_after(n);
        err = fit_try(&fit, db, &fit.recorded, 36 * MIB, &verdict);
        mem_fail_after(0);
        CHECK(err == 0 || err == ERR_NOMEM);
        CHECK(err < 0 || verdict.refusal.pin_count == 1);
        fit_verdict_clear(&verdict);
    }
    CHECK(n > 5);
    n = 1;
    for (int err = ERR_NOMEM; err < 0 && n < 1000; n++) {
        mem_fail_after(n);
        err = fit_measure(&fit, &fit.recorded, 0, &need);
        mem_fail_after(0);
        CHECK(err == 0 || err == ERR_NOMEM);
        CHECK(err < 0 || need.smallest == (int64_t)(38 * MIB));
    }
    CHECK(n > 5);
    fit_clear(&fit);
    db_close(db);
}

TEST_MAIN(TEST_CASE(the_smallest_survives_and_one_step_less_does_not),
          TEST_CASE(the_program_itself_survives_with_it),
          TEST_CASE(expandable_segments_survive_on_a_device_of_that_size),
          TEST_CASE(garbage_collection_lowers_the_peak_under_a_ceiling),
          TEST_CASE(a_full_device_waits_for_its_streams), TEST_CASE(nothing_needs_nothing),
          TEST_CASE(settings_that_cannot_be_read), TEST_CASE(addresses_of_others_are_not_compared),
          TEST_CASE(where_it_is_refused_and_what_is_in_the_way),
          TEST_CASE(the_same_fits_with_expandable_segments),
          TEST_CASE(what_lived_before_the_record_may_be_too_much),
          TEST_CASE(pins_of_a_random_program), TEST_CASE(without_memory))
