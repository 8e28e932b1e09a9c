/*
 * What a log tells of its blocks' sizes: those of blocks, what was asked for, or both.
 */
#include <stdio.h>

#include "block_log.h"
#include "db.h"
#include "test.h"

#define A UINT64_C(0x1000)
#define B UINT64_C(0x2000)
#define C UINT64_C(0x3000)

static void add(struct block_log *log, enum block_log_kind kind, uint64_t addr, uint64_t size,
                uint64_t allocated)
{
    struct block_log_entry entry = {.time_ns = (int64_t)log->count,
                                    .addr = addr,
                                    .size = size,
                                    .allocated = allocated,
                                    .reserved = BLOCK_LOG_UNKNOWN,
                                    .kind = kind & 0xf};
    CHECK_INT(block_log_place(log, DEVICE_CUDA, 0, 0, &entry.place), 0);
    CHECK_INT(block_log_add(log, &entry), 0);
}

/* Two blocks, a free of one of them, and a free of one that was there before. */
static struct db *told(enum block_log_sizes sizes, uint64_t first, uint64_t second)
{
    struct block_log log = {0};
    struct import_result result = {0};
    struct block_log_feed feed = {
        .log = &log, .live = "log", .source = "a.log", .sizes = sizes, .result = &result};
    struct db *db;
    block_log_allow(&log, 1 << 16);
    add(&log, LOG_ALLOC, A, 1024, first);
    add(&log, LOG_ALLOC, B, 2048, second);
    add(&log, LOG_FREE, A, 1024, BLOCK_LOG_UNKNOWN);
    add(&log, LOG_FREE, C, 512, BLOCK_LOG_UNKNOWN);
    CHECK(block_log_is_valid(&log));
    remove(test_path("told"));
    CHECK_INT(block_log_write(&feed, 1, test_path("told"), 0, "the log ends"), 0);
    CHECK_INT(result.blocks, 2);
    CHECK_INT(result.blocks_before, 1);
    block_log_clear(&log);
    REQUIRE(db_open(&db, test_path("told")) == 0);
    return db;
}

/* -1: NULL, or no such block. */
static int64_t ask(struct db *db, const char *what, uint64_t addr)
{
    char sql[160];
    struct db_stmt *row;
    int64_t value = -1;
    snprintf(sql, sizeof sql, "SELECT coalesce(%s, -1) FROM allocation WHERE address = %llu", what,
             (unsigned long long)addr);
    REQUIRE(db_prepare(db, &row, sql) == 0);
    if (db_step(row) == DB_ROW)
        value = db_column_int(row, 0);
    db_finalize(row);
    return value;
}

TEST(sizes_of_blocks_come_with_the_allocators_sum)
{
    struct db *db = told(BLOCK_LOG_ALLOCATED, 5120, 7168);
    CHECK_INT(ask(db, "size", A), 1024);
    CHECK_INT(ask(db, "requested", A), -1);
    CHECK_INT(ask(db, "size", C), 512);
    CHECK_INT(ask(db, "size", BLOCK_LOG_THROUGHOUT), 5120 - 1024 - 512);
    db_close(db);
}

TEST(sizes_asked_for_are_both)
{
    struct db *db = told(BLOCK_LOG_REQUESTED, BLOCK_LOG_UNKNOWN, BLOCK_LOG_UNKNOWN);
    CHECK_INT(ask(db, "size", B), 2048);
    CHECK_INT(ask(db, "requested", B), 2048);
    CHECK_INT(ask(db, "requested", C), 512);
    CHECK_INT(ask(db, "size", BLOCK_LOG_THROUGHOUT), -1);
    db_close(db);
}

TEST(both_are_two_figures)
{
    struct db *db = told(BLOCK_LOG_BOTH, 1000, BLOCK_LOG_UNKNOWN);
    CHECK_INT(ask(db, "size", A), 1024);
    CHECK_INT(ask(db, "requested", A), 1000);
    CHECK_INT(ask(db, "size", B), 2048);
    CHECK_INT(ask(db, "requested", B), -1);
    CHECK_INT(ask(db, "requested", C), -1);
    CHECK_INT(ask(db, "size", BLOCK_LOG_THROUGHOUT), -1);
    db_close(db);
}

TEST_MAIN(TEST_CASE(sizes_of_blocks_come_with_the_allocators_sum),
          TEST_CASE(sizes_asked_for_are_both), TEST_CASE(both_are_two_figures))
