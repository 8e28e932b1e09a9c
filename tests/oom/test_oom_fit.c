/*
 * Whether a setting would have let a refused request through: beside random programs that really
 * ran under a limit, and for each reason why nobody can say.
 */
#include <stdio.h>
#include <string.h>

#include "oom_fit.h"
#include "error.h"
#include "mem.h"
#include "program.h"
#include "test.h"

#define MIB (INT64_C(1) << 20)

static struct program tight(uint64_t seed)
{
    return (struct program){.seed = seed,
                            .calls = 2500,
                            .living = 150,
                            .streams = 1,
                            .largest = 40 * (uint64_t)MIB,
                            .ascending = true};
}

static const char levels_sql[] =
    "UPDATE oom SET"
    "  allocated = (SELECT sum(size) FROM allocation a WHERE a.seq < oom.seq"
    "                AND (a.free_seq < 0 OR a.free_seq > oom.seq)),"
    "  reserved = (SELECT sum(size) FROM segment s WHERE s.seq < oom.seq"
    "               AND (s.free_seq IS NULL OR s.free_seq > oom.seq))";

/* Under a limit that refuses some of its requests. */
static struct db *record_tight(const char *name, uint64_t seed, uint64_t *limit)
{
    struct program program = tight(seed);
    struct program_result was;
    db_close(program_record(name, &program, &was));
    remove(test_path(name));
    program.limit =
        (uint64_t)was.stats.reserved_bytes[ALLOC_ALL].peak / 10 * 8 / FIT_STEP * FIT_STEP;
    struct db *db = program_record(name, &program, &was);
    REQUIRE(was.refused > 0);
    REQUIRE(db_exec(db, levels_sql) == 0);
    *limit = program.limit;
    return db;
}

static void read_first(struct db *db, int64_t device, struct ooms *out)
{
    REQUIRE(oom_read(db, 1, device, INT64_MIN, INT64_MAX, 1, 1, out) == 0);
    REQUIRE(out->shown == 1);
}

static bool gets_through(struct db *db, const struct oom *oom, const char *settings, int64_t memory)
{
    struct fit fit;
    struct alloc_config config;
    struct replay_outcome outcome;
    REQUIRE(fit_begin_refused(db, 1, 1, oom->seq, (uint64_t)oom->asked, &fit) == 0);
    CHECK(replay_trace_is_valid(&fit.trace));
    alloc_config_default(&config);
    REQUIRE(alloc_config_parse(&config, settings, NULL, 0) == 0);
    const struct replay_setup setup = fit_setup(&fit, &config, (uint64_t)memory);
    REQUIRE(replay_run(&fit.trace, &setup, &fit.scratch, NULL, &outcome) == 0);
    if (!outcome.survived)
        CHECK(outcome.refused_op < fit.trace.op_count);
    bool last = outcome.refused_op == fit.trace.op_count - 1;
    if (!*settings && memory == oom->reserved)
        CHECK(outcome.survived || last);
    fit_clear(&fit);
    return outcome.survived;
}

/* The first refusal, for what was refused before is not asked for again. */
TEST(a_refused_request_is_refused_again)
{
    size_t helping = 0;
    for (uint64_t seed = 1; seed < 7; seed++) {
        struct ooms ooms;
        struct oom_fit fit;
        uint64_t limit;
        struct db *db = record_tight("tight.db", seed, &limit);
        read_first(db, 1, &ooms);
        const struct oom *oom = &ooms.failures[0];
        REQUIRE(oom_fit_read(db, 1, 1, oom, INT64_MAX, &fit) == 0);
        CHECK(oom_fit_is_valid(&fit));
        REQUIRE(fit.state == OOM_FIT_DONE);
        CHECK(fit.exact);
        CHECK_INT(fit.high, limit);
        CHECK_INT(fit.short_by, oom->asked - ((int64_t)limit - oom->allocated));
        CHECK_INT(fit.count, FIT_TRIED);
        CHECK_STR(fit.settings[0].text, "");
        for (size_t i = 0; i < fit.count; i++) {
            bool through = fit.settings[i].through == OOM_THROUGH;
            CHECK_INT(gets_through(db, oom, fit.settings[i].text, fit.high), through);
            CHECK(!through ||
                  fit.short_by <= 0); /* no arrangement helps where there is too little */
        }
        CHECK(fit.needed > (int64_t)limit);
        CHECK(gets_through(db, oom, "", fit.needed));
        CHECK(!gets_through(db, oom, "", fit.needed - (int64_t)FIT_STEP));
        helping += fit.helping;
        oom_fit_clear(&fit);
        ooms_clear(&ooms);
        db_close(db);
        remove(test_path("tight.db"));
    }
    CHECK(helping > 0);
}

/* What the refusal tells of the limit holds it; and what is said then is never wrong, only vague.
 */
TEST(without_a_limit_the_refusal_bounds_it)
{
    size_t told = 0;
    for (uint64_t seed = 1; seed < 7; seed++) {
        struct ooms ooms;
        struct oom_fit exact, fit;
        uint64_t limit;
        struct db *db = record_tight("bounds.db", seed, &limit);
        read_first(db, 1, &ooms);
        const struct oom *oom = &ooms.failures[0];
        REQUIRE(oom_fit_read(db, 1, 1, oom, INT64_MAX, &exact) == 0);
        REQUIRE(db_exec(db, "DELETE FROM setting WHERE key = 'limit'") == 0);
        REQUIRE(oom_fit_read(db, 1, 1, oom, INT64_MAX, &fit) == 0);
        CHECK(oom_fit_is_valid(&fit));
        CHECK(!fit.exact);
        CHECK(fit.low <= (int64_t)limit && (int64_t)limit < fit.high + (int64_t)FIT_STEP);
        CHECK_INT(fit.short_by, OOM_NONE);
        CHECK(fit.needed > (int64_t)limit);
        CHECK_INT(fit.count, exact.count);
        for (size_t i = 0; i < fit.count && i < exact.count; i++) {
            if (fit.settings[i].through == OOM_PERHAPS)
                continue;
            CHECK_INT(fit.settings[i].through, exact.settings[i].through);
            told++;
        }
        oom_fit_clear(&exact);
        oom_fit_clear(&fit);
        ooms_clear(&ooms);
        db_close(db);
        remove(test_path("bounds.db"));
    }
    CHECK(told > 6);
}

/* ---- when nobody can say ---- */

/* One block of 18 MiB in a segment of its own, and a request that fails. */
static struct db *one_block(const char *kind, const char *failure, const char *more)
{
    struct db *db = program_database("rows.db", kind);
    char sql[1024];
    snprintf(sql, sizeof sql,
             "INSERT INTO segment VALUES(1,1,33554432,18874368,100,NULL,NULL,NULL);"
             "INSERT INTO "
             "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
             "segment) VALUES(2,1,33554432,18874368,18874368,100,-70368744177664,"
             "-2147483648,NULL,NULL,1);"
             "INSERT INTO oom VALUES%s;%s",
             failure, more);
    REQUIRE(db_exec(db, sql) == 0);
    return db;
}

static enum oom_fit_state state_of(struct db *db, int64_t most, struct oom_fit *fit)
{
    struct ooms ooms;
    read_first(db, 1, &ooms);
    REQUIRE(oom_fit_read(db, 1, 1, &ooms.failures[0], most, fit) == 0);
    CHECK(oom_fit_is_valid(fit));
    enum oom_fit_state state = fit->state;
    ooms_clear(&ooms);
    return state;
}

TEST(too_few_bytes_whatever_the_arrangement)
{
    struct oom_fit fit;
    struct db *db = one_block("cuda", "(3,1,1,9,200,18874368,18874368,18874368,NULL)",
                              "INSERT INTO setting VALUES(1,1,'limit','33554432')");
    CHECK_INT(state_of(db, INT64_MAX, &fit), OOM_FIT_DONE);
    CHECK_INT(fit.short_by, 4 * MIB);
    CHECK_INT(fit.needed, 36 * MIB);
    CHECK_INT(fit.helping, 0);
    oom_fit_clear(&fit);
    db_close(db);
}

TEST(a_limit_above_the_device_is_the_device)
{
    struct oom_fit fit;
    struct db *db = one_block("cuda", "(3,1,1,9,200,18874368,18874368,18874368,NULL)",
                              "INSERT INTO setting VALUES(1,1,'limit','68719476736');"
                              "UPDATE device SET total_bytes = 33554432");
    CHECK_INT(state_of(db, INT64_MAX, &fit), OOM_FIT_DONE);
    CHECK(fit.exact);
    CHECK_INT(fit.high, 32 * MIB);
    oom_fit_clear(&fit);
    db_close(db);
}

/* 32 MiB, of which 8 are the context's: 18 are allocated, so 6 are free, not 14. */
TEST(the_context_of_a_rehearsal_is_not_free)
{
    struct oom_fit fit;
    struct db *db = one_block("cuda", "(3,1,1,9,200,12582912,18874368,18874368,NULL)",
                              "INSERT INTO setting VALUES(1,1,'limit','33554432');"
                              "UPDATE device SET total_bytes = 33554432");
    CHECK_INT(state_of(db, INT64_MAX, &fit), OOM_FIT_DIFFERS);
    CHECK_INT(fit.short_by, -2 * MIB);
    oom_fit_clear(&fit);
    REQUIRE(db_exec(db, "INSERT INTO meta VALUES('rehearsal','a GPU'),"
                        "('rehearsal_memory','33554432'),('rehearsal_context','8388608')") == 0);
    CHECK_INT(state_of(db, INT64_MAX, &fit), OOM_FIT_DONE);
    CHECK(fit.exact);
    CHECK_INT(fit.high, 24 * MIB);
    CHECK_INT(fit.short_by, 6 * MIB);
    oom_fit_clear(&fit);
    REQUIRE(db_exec(db, "DELETE FROM setting") == 0);
    CHECK_INT(state_of(db, INT64_MAX, &fit), OOM_FIT_DONE);
    CHECK_INT(fit.high, 24 * MIB);
    oom_fit_clear(&fit);
    db_close(db);
}

TEST(bounds_of_one_refusal)
{
    struct oom_fit fit;
    struct db *db = one_block("cuda", "(3,1,1,9,200,18874368,18874368,18874368,NULL)", "");
    CHECK_INT(state_of(db, INT64_MAX, &fit), OOM_FIT_DONE);
    CHECK_INT(fit.low, 18 * MIB);
    CHECK_INT(fit.high, 34 * MIB); /* with 36, it would have been granted */
    oom_fit_clear(&fit);
    REQUIRE(db_exec(db, "UPDATE device SET total_bytes = 31457280") == 0);
    CHECK_INT(state_of(db, INT64_MAX, &fit), OOM_FIT_DONE);
    CHECK_INT(fit.high, 30 * MIB);
    oom_fit_clear(&fit);
    db_close(db);
}

TEST(host_memory)
{
    struct oom_fit fit;
    struct db *db = one_block("cpu", "(3,1,1,9,200,18874368,18874368,NULL,NULL)", "");
    CHECK_INT(state_of(db, INT64_MAX, &fit), OOM_FIT_CPU);
    oom_fit_clear(&fit);
    db_close(db);
}

TEST(memory_that_is_not_known)
{
    struct oom_fit fit;
    struct db *db = one_block("cuda", "(3,1,1,9,200,18874368,18874368,NULL,NULL)",
                              "DELETE FROM segment; UPDATE allocation SET segment = NULL");
    CHECK_INT(state_of(db, INT64_MAX, &fit), OOM_FIT_NO_MEMORY);
    CHECK_INT(fit.high, OOM_NONE);
    oom_fit_clear(&fit);
    db_close(db);
}

TEST(too_many_events)
{
    struct oom_fit fit;
    struct db *db = one_block("cuda", "(3,1,1,9,200,18874368,18874368,18874368,NULL)",
                              "INSERT INTO setting VALUES(1,1,'limit','33554432')");
    CHECK_INT(state_of(db, 2, &fit), OOM_FIT_LARGE);
    CHECK_INT(fit.short_by, 4 * MIB); /* that takes no replay */
    oom_fit_clear(&fit);
    CHECK_INT(state_of(db, 3, &fit), OOM_FIT_DONE);
    oom_fit_clear(&fit);
    db_close(db);
}

TEST(a_replay_that_goes_another_way)
{
    struct oom_fit fit;
    struct db *db = one_block("cuda", "(3,1,1,9,200,1048576,18874368,18874368,NULL)",
                              "INSERT INTO setting VALUES(1,1,'limit','33554432')");
    CHECK_INT(state_of(db, INT64_MAX, &fit), OOM_FIT_DIFFERS);
    CHECK_INT(fit.count, 0);
    CHECK_INT(fit.short_by, -13 * MIB);
    oom_fit_clear(&fit);
    db_close(db);
}

TEST(nothing_was_asked_for_before)
{
    struct oom_fit fit;
    struct db *db = program_database("rows.db", "cuda");
    REQUIRE(db_exec(db, "INSERT INTO oom VALUES(3,1,1,9,200,18874368,0,0,NULL);"
                        "INSERT INTO setting VALUES(1,1,'limit','10485760')") == 0);
    CHECK_INT(state_of(db, INT64_MAX, &fit), OOM_FIT_DONE);
    CHECK_INT(fit.needed, 18 * MIB);
    CHECK_INT(fit.short_by, 8 * MIB);
    oom_fit_clear(&fit);
    REQUIRE(db_exec(db, "UPDATE oom SET asked = -1") == 0);
    CHECK_INT(state_of(db, INT64_MAX, &fit), OOM_FIT_LARGE);
    oom_fit_clear(&fit);
    db_close(db);
}

TEST(recorded_settings_come_first_and_once)
{
    struct oom_fit fit;
    struct db *db = one_block("cuda", "(3,1,1,9,200,18874368,18874368,18874368,NULL)",
                              "INSERT INTO setting VALUES(1,1,'limit','33554432'),"
                              "(1,1,'alloc_conf','max_split_size_mb:128')");
    CHECK_INT(state_of(db, INT64_MAX, &fit), OOM_FIT_DONE);
    CHECK_STR(fit.settings[0].text, "max_split_size_mb:128");
    CHECK_STR(fit.settings[1].text, "");
    CHECK_INT(fit.count, FIT_TRIED);
    oom_fit_clear(&fit);
    db_close(db);
}

/* ---- the newest one ---- */

TEST(the_newest_failure_and_what_came_after)
{
    struct ooms ooms;
    struct oom_place place;
    bool went_on;
    struct db *db = one_block("cuda", "(3,1,1,9,200,18874368,18874368,18874368,NULL)", "");
    CHECK_INT(oom_went_on(db, 1, 1, 3, &went_on), 0);
    CHECK(!went_on);
    CHECK_INT(oom_went_on(db, 1, 1, 1, &went_on), 0);
    CHECK(went_on);
    CHECK_INT(oom_went_on(db, 1, 2, 1, &went_on), 0);
    CHECK(!went_on); /* what another device hands out is another matter */
    REQUIRE(db_exec(db, "INSERT INTO oom VALUES(7,1,1,9,300,2097152,NULL,NULL,NULL)") == 0);
    CHECK_INT(oom_read_newest(db, 1, 1, INT64_MIN, INT64_MAX, 1, &ooms), 0);
    CHECK(ooms_is_valid(&ooms));
    CHECK_INT(ooms.count, 2);
    CHECK_INT(ooms.shown, 1);
    CHECK_INT(ooms.failures[0].seq, 7);
    ooms_clear(&ooms);
    CHECK_INT(oom_find_last(db, &place), 0);
    CHECK_INT(place.process, 1);
    CHECK_INT(place.device, 1);
    CHECK_INT(place.asked, 2 * MIB);
    CHECK_STR(place.device_text, "cuda:0");
    CHECK_INT(place.failures, 2);
    CHECK_INT(place.processes, 1);
    REQUIRE(db_exec(db, "DELETE FROM oom") == 0);
    CHECK_INT(oom_find_last(db, &place), ERR_NOTFOUND);
    db_close(db);
}

TEST(without_memory)
{
    struct ooms ooms;
    struct oom_fit fit;
    int err = ERR_NOMEM;
    struct db *db = one_block("cuda", "(3,1,1,9,200,18874368,18874368,18874368,NULL)",
                              "INSERT INTO setting VALUES(1,1,'limit','33554432')");
    read_first(db, 1, &ooms);
    for (long n = 1; err == ERR_NOMEM && n < 5000; n++) {
        mem_fail_after(n);
        err = oom_fit_read(db, 1, 1, &ooms.failures[0], INT64_MAX, &fit);
        mem_fail_after(0);
        CHECK(err == ERR_NOMEM || (err == 0 && fit.state == OOM_FIT_DONE));
        oom_fit_clear(&fit);
    }
    CHECK_INT(err, 0);
    ooms_clear(&ooms);
    db_close(db);
}

TEST_MAIN(TEST_CASE(a_refused_request_is_refused_again),
          TEST_CASE(without_a_limit_the_refusal_bounds_it),
          TEST_CASE(too_few_bytes_whatever_the_arrangement),
          TEST_CASE(a_limit_above_the_device_is_the_device),
          TEST_CASE(the_context_of_a_rehearsal_is_not_free), TEST_CASE(bounds_of_one_refusal),
          TEST_CASE(host_memory), TEST_CASE(memory_that_is_not_known), TEST_CASE(too_many_events),
          TEST_CASE(a_replay_that_goes_another_way), TEST_CASE(nothing_was_asked_for_before),
          TEST_CASE(recorded_settings_come_first_and_once),
          TEST_CASE(the_newest_failure_and_what_came_after), TEST_CASE(without_memory))
