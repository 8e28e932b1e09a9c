/*
 * Rows of any kind: whatever stands in a recording, a trace is valid, a replay comes to its end,
 * and what is said of it holds. Some rows are nearly right, some are nonsense, and most of the
 * numbers meet others: the same addresses, the same events, sizes at the edges.
 */
#include <stdio.h>
#include <string.h>

#include "fit.h"
#include "buf.h"
#include "error.h"
#include "mem.h"
#include "program.h"
#include "test.h"

#define MIB (INT64_C(1) << 20)

struct rows {
    uint64_t seed;
    struct buf sql;
    int64_t seq;
    bool wild;
};

static uint64_t below(struct rows *rows, uint64_t n)
{
    return test_random(&rows->seed) % n;
}

static int64_t some_size(struct rows *rows)
{
    static const int64_t edges[] = {
        0,
        1,
        511,
        512,
        513,
        MIB,
        MIB + 1,
        2 * MIB,
        10 * MIB,
        20 * MIB,
        20 * MIB + 1,
        200 * MIB,
        70000000000,
        INT64_C(1) << 59,
        INT64_C(1) << 60,
        INT64_MAX,
        -1,
        INT64_MIN,
    };
    size_t count = sizeof edges / sizeof *edges;
    if (below(rows, 3))
        return (int64_t)below(rows, 40 * (uint64_t)MIB);
    return edges[below(rows, rows->wild ? count : count - 6)];
}

static int64_t some_address(struct rows *rows)
{
    if (rows->wild && below(rows, 10) == 0)
        return (int64_t)test_random(&rows->seed);
    return (INT64_C(1) << 40) + (int64_t)below(rows, 64) * 2 * MIB + (int64_t)below(rows, 4) * 512;
}

static int64_t some_seq(struct rows *rows)
{
    if (rows->wild && below(rows, 20) == 0)
        return (int64_t)test_random(&rows->seed);
    return 1 + (int64_t)below(rows, (uint64_t)rows->seq + 50);
}

static void put_block(struct rows *rows)
{
    bool lives = below(rows, 4) == 0;
    char asked[32] = "NULL", segment[32] = "NULL";
    int64_t size = some_size(rows);
    if (below(rows, 2))
        snprintf(asked, sizeof asked, "%lld", (long long)(rows->wild ? some_size(rows) : size));
    if (below(rows, 2))
        snprintf(segment, sizeof segment, "%lld", (long long)some_seq(rows));
    buf_print(&rows->sql,
              "INSERT OR IGNORE INTO "
              "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
              "segment) VALUES(%lld,%d,%lld,%lld,%s,0,%lld,%lld,NULL,NULL,"
              "%s);",
              (long long)++rows->seq, (int)below(rows, 5), (long long)some_address(rows),
              (long long)size, asked, lives ? DB_LIVING_NS : 5LL,
              lives ? DB_LIVING_SEQ : (long long)some_seq(rows), segment);
    if (below(rows, 3) == 0)
        buf_print(&rows->sql, "INSERT OR IGNORE INTO idle VALUES(%lld,%lld,0);",
                  (long long)rows->seq, (long long)some_seq(rows));
}

static void put_other(struct rows *rows)
{
    char gone[32] = "NULL";
    if (below(rows, 2))
        snprintf(gone, sizeof gone, "%lld", (long long)some_seq(rows));
    switch (below(rows, 4)) {
    case 0:
        buf_print(&rows->sql, "INSERT INTO oom VALUES(%lld,1,1,1,0,%lld,NULL,NULL,NULL);",
                  (long long)++rows->seq, (long long)some_size(rows));
        break;
    case 1:
        buf_print(&rows->sql, "INSERT INTO mapping VALUES(%lld,%d,%lld,%lld,0,%d);",
                  (long long)++rows->seq, (int)below(rows, 5), (long long)some_address(rows),
                  (long long)(below(rows, 4) ? 20 * MIB : some_size(rows)),
                  (int)below(rows, 4) > 0);
        break;
    default:
        buf_print(&rows->sql, "INSERT INTO segment VALUES(%lld,%d,%lld,%lld,0,NULL,%s,NULL);",
                  (long long)++rows->seq, (int)below(rows, 5), (long long)some_address(rows),
                  (long long)(below(rows, 4) ? 20 * MIB : some_size(rows)), gone);
        break;
    }
}

static struct db *make(uint64_t seed, bool wild)
{
    static const char *const confs[] = {"",
                                        "expandable_segments:True",
                                        "max_split_size_mb:21",
                                        "garbage_collection_threshold:0.3",
                                        "what:is,this",
                                        ","};
    struct rows rows = {.seed = seed, .wild = wild};
    struct db *db = program_database("rows.db", "cuda");
    int count = 20 + (int)below(&rows, 150);
    for (int i = 0; i < count; i++) {
        if (below(&rows, 5))
            put_block(&rows);
        else
            put_other(&rows);
    }
    buf_print(&rows.sql, "INSERT INTO setting VALUES(1,1,'alloc_conf','%s');",
              confs[below(&rows, sizeof confs / sizeof *confs)]);
    if (below(&rows, 2))
        buf_print(&rows.sql, "INSERT INTO setting VALUES(1,1,'rebuilt_until','%lld');",
                  (long long)some_seq(&rows));
    if (below(&rows, 3) == 0)
        buf_print(&rows.sql, "INSERT INTO setting VALUES(1,1,'limit','%lld');",
                  (long long)some_size(&rows));
    REQUIRE(db_exec(db, "BEGIN") == 0);
    REQUIRE(db_exec(db, buf_string(&rows.sql)) == 0);
    REQUIRE(db_commit(db) == 0);
    buf_clear(&rows.sql);
    return db;
}

static void check_recorded(const struct fit *fit)
{
    const struct replay_outcome *out = &fit->as_recorded;
    CHECK(replay_trace_is_valid(&fit->trace));
    CHECK(out->equal <= out->compared);
    CHECK(out->segments_equal <= out->segments_taken);
    CHECK(fit_address_match(fit) <= 1 && fit_segment_match(fit) <= 1);
    CHECK(out->peak_allocated <= out->peak_active);
    CHECK(out->peak_active <= out->peak_reserved);
    CHECK_INT(out->ops, fit->trace.op_count);
}

static void check_need(struct fit *fit, struct db *db, const struct alloc_config *config)
{
    struct fit_need need;
    struct fit_verdict verdict;
    CHECK_INT(fit_measure(fit, config, 0, &need), 0);
    CHECK(need.peak_allocated <= need.peak_reserved);
    CHECK_INT(need.smallest != 0, need.peak_reserved > 0);
    if (need.smallest <= 0)
        return;
    CHECK_INT(fit_try(fit, db, config, (uint64_t)need.smallest, &verdict), 0);
    CHECK(verdict.fits);
    CHECK(verdict.peak_reserved <= need.smallest);
    fit_verdict_clear(&verdict);
    if ((uint64_t)need.smallest <= FIT_STEP)
        return;
    CHECK_INT(fit_try(fit, db, config, (uint64_t)need.smallest - FIT_STEP, &verdict), 0);
    CHECK(!verdict.fits);
    CHECK(verdict.refusal.before || verdict.refusal.allocation != FIT_NONE);
    CHECK(verdict.refusal.largest_hole <= verdict.refusal.free_bytes);
    fit_verdict_clear(&verdict);
}

static void check_all(uint64_t first, uint64_t last, bool wild)
{
    for (uint64_t seed = first; seed <= last; seed++) {
        struct fit fit;
        struct alloc_config config;
        struct db *db = make(seed, wild);
        REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
        check_recorded(&fit);
        alloc_config_default(&config);
        check_need(&fit, db, &config);
        check_need(&fit, db, &fit.recorded);
        config.expandable_segments = true;
        check_need(&fit, db, &config);
        fit_clear(&fit);
        db_close(db);
        REQUIRE(remove(test_path("rows.db")) == 0);
    }
}

TEST(rows_that_could_be)
{
    check_all(1, 60, false);
}

TEST(rows_that_could_not)
{
    check_all(1001, 1080, true);
}

TEST_MAIN(TEST_CASE(rows_that_could_be), TEST_CASE(rows_that_could_not))
