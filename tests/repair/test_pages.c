/*
 * Pages with a log beside the file: what is read is what SQLite reads, wherever the log is cut.
 * Single pages and records: what passes and what does not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "btree.h"
#include "damage.h"
#include "error.h"
#include "fixture.h"
#include "pages.h"
#include "salvage.h"
#include "test.h"

static const char *copy_path(const char *name)
{
    static char room[8][512];
    static unsigned at;
    char *path = room[at++ % 8];
    snprintf(path, 512, "%s", test_path(name));
    return path;
}

struct logged {
    struct damage_file file, log;
    const char *copy, *copy_log;
    char index[544];
};

/* A recording as a killed recorder leaves it: most of it in the log, some of that moved already. */
static struct logged make_logged(void)
{
    struct logged logged;
    char path[512], log[544], sql[400];
    snprintf(path, sizeof path, "%s", test_path("live.db"));
    struct db *db = NULL;
    REQUIRE(db_create(&db, path) == 0);
    for (int i = 0; i < 12; i++) {
        snprintf(sql, sizeof sql,
                 "WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                 " INSERT INTO "
                 "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
                 "segment) SELECT i, 1, i * 64, 512, NULL, i, -70368744177664,"
                 " -2147483648, NULL, NULL, NULL FROM n",
                 1 + i * 60, i * 60 + 60);
        fixture_exec(db, "BEGIN");
        fixture_exec(db, sql);
        fixture_exec(db, "UPDATE allocation SET life_ns = 5, free_seq = seq + 1 WHERE seq % 3 = 0");
        fixture_exec(db, "INSERT INTO string SELECT count(*), hex(zeroblob(4000)) FROM string");
        fixture_exec(db, "COMMIT");
        if (i == 4)
            REQUIRE(db_checkpoint(db, true) == 0);
    }
    snprintf(log, sizeof log, "%s-wal", path);
    logged.file = damage_read(path);
    logged.log = damage_read(log);
    logged.copy = copy_path("copy.db");
    logged.copy_log = copy_path("copy.db-wal");
    snprintf(logged.index, sizeof logged.index, "%s", test_path("copy.db-shm"));
    db_close(db);
    return logged;
}

static void free_logged(struct logged *logged)
{
    free(logged->file.bytes);
    free(logged->log.bytes);
}

static int64_t sum_of(struct db *db, const char *table, const char *column)
{
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT count(*) * 1000003 + coalesce(sum(%s), 0) FROM main.%s",
             column, table);
    return damage_int(db, sql);
}

/* The copy's rows by us and by SQLite. */
static void check_same(const struct logged *logged)
{
    struct db *ours = fixture_empty(), *theirs = NULL;
    struct salvage *salvage = NULL;
    REQUIRE(salvage_new(&salvage, logged->copy, ours, true) == 0);
    CHECK_INT(salvage_run(salvage), 0);
    CHECK(salvage_is_valid(salvage));
    salvage_free(salvage);
    unlink(logged->index);
    int err = db_open(&theirs, logged->copy);
    if (err == 0) {
        CHECK_INT(sum_of(ours, "allocation", "seq * 7 + free_seq"),
                  sum_of(theirs, "allocation", "seq * 7 + free_seq"));
        CHECK_INT(sum_of(ours, "string", "id + length(text)"),
                  sum_of(theirs, "string", "id + length(text)"));
    }
    CHECK_INT(err, 0);
    db_close(theirs);
    db_close(ours);
}

TEST(logs_cut_anywhere)
{
    struct logged logged = make_logged();
    size_t frame = 24 + 4096;
    CHECK(logged.log.count > 20 * frame);
    for (size_t at = 0; at <= logged.log.count; at += at % 3 ? frame + 1 : frame / 2 + 11) {
        damage_write(logged.copy, logged.file.bytes, logged.file.count);
        damage_write(logged.copy_log, logged.log.bytes, at);
        check_same(&logged);
    }
    free_logged(&logged);
}

/* By another name it is read all the same; without its log, or with an empty one, it says so. */
TEST(logs_that_are_not_beside_the_file)
{
    struct logged logged = make_logged();
    const char *link = test_path("link.db");
    struct pages pages;
    REQUIRE(symlink(logged.copy, link) == 0);
    for (int way = 0; way < 3; way++) {
        damage_write(logged.copy, logged.file.bytes, logged.file.count);
        damage_write(logged.copy_log, logged.log.bytes, way == 0 ? logged.log.count : 0);
        if (way == 2)
            REQUIRE(unlink(logged.copy_log) == 0);
        for (int i = 0; i < 2; i++) {
            struct db *fresh = fixture_empty();
            struct salvage *salvage = NULL;
            REQUIRE(pages_open(&pages, i ? link : logged.copy) == 0);
            CHECK(pages_is_valid(&pages) && pages.logged);
            CHECK((pages.log_frames > 0) == (way == 0));
            pages_close(&pages);
            REQUIRE(salvage_new(&salvage, i ? link : logged.copy, fresh, false) == 0);
            CHECK(salvage_file(salvage)->log_missing == (way > 0));
            salvage_free(salvage);
            db_close(fresh);
        }
    }
    free_logged(&logged);
}

TEST(logs_with_noise)
{
    struct logged logged = make_logged();
    uint64_t seed = 4;
    for (unsigned i = 0; i < 12; i++) {
        size_t at = test_random(&seed) % logged.log.count;
        unsigned char was = logged.log.bytes[at];
        logged.log.bytes[at] ^= 0x41;
        damage_write(logged.copy, logged.file.bytes, logged.file.count);
        damage_write(logged.copy_log, logged.log.bytes, logged.log.count);
        logged.log.bytes[at] = was;
        check_same(&logged);
        struct pages pages;
        REQUIRE(pages_open(&pages, logged.copy) == 0);
        CHECK(pages_is_valid(&pages));
        /* Only behind the last transaction nothing is lost by it. */
        CHECK(pages.log_cut || at + 40000 > logged.log.count || at < 32);
        pages_close(&pages);
    }
    free_logged(&logged);
}

/* ---- pages and records ---- */

static struct btree_value values[8];

TEST(records)
{
    static const unsigned char good[] = {5, 0, 1, 9, 17, 0x85, 'a', 'b'};
    CHECK_INT(btree_record(good, sizeof good, values, 8), 4);
    CHECK_INT(values[0].type, BTREE_NULL);
    CHECK_INT(values[1].number, -123);
    CHECK_INT(values[2].number, 1);
    CHECK_INT(values[3].type, BTREE_TEXT);
    CHECK(values[3].bytes == 2 && memcmp(values[3].text, "ab", 2) == 0);
    for (size_t n = 0; n < sizeof good; n++) /* each part of it is too short */
        CHECK_INT(btree_record(good, n, values, 8), -1);
    CHECK_INT(btree_record(good, sizeof good, values, 3), -1);
    static const unsigned char long_by_one[] = {2, 1, 5, 6}, reserved[] = {2, 10},
                               head_behind_end[] = {9, 1, 5},
                               huge[] = {0x83, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
    CHECK_INT(btree_record(long_by_one, sizeof long_by_one, values, 8), -1);
    CHECK_INT(btree_record(reserved, sizeof reserved, values, 8), -1);
    CHECK_INT(btree_record(head_behind_end, sizeof head_behind_end, values, 8), -1);
    CHECK_INT(btree_record(huge, sizeof huge, values, 8), -1);
}

TEST(widths_of_numbers)
{
    static const struct {
        unsigned char bytes[10];
        size_t count;
        int64_t number;
    } all[] = {
        {{2, 1, 0xff}, 3, -1},
        {{2, 2, 0x7f, 0xff}, 4, 32767},
        {{2, 3, 0x80, 0, 0}, 5, -8388608},
        {{2, 4, 0, 0, 1, 0}, 6, 256},
        {{2, 5, 0xc0, 0, 0, 0, 0, 0}, 8, DB_LIVING_NS},
        {{2, 6, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 10, INT64_MAX},
        {{2, 8}, 2, 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        CHECK_INT(btree_record(all[i].bytes, all[i].count, values, 8), 1);
        CHECK_INT(values[0].type, BTREE_INT);
        CHECK_INT(values[0].number, all[i].number);
    }
}

/* Every page of a sound file passes, free ones aside; none does with one byte of its head changed
 * to what it must not be. */
TEST(pages_pass)
{
    char path[512];
    struct pages pages;
    struct btree_page page;
    unsigned char bytes[4096];
    unsigned passed = 0;
    snprintf(path, sizeof path, "%s", test_path("whole.db"));
    damage_make(path, 20, 0);
    REQUIRE(pages_open(&pages, path) == 0);
    CHECK(pages_is_valid(&pages) && pages.header && !pages.log_cut);
    CHECK_INT(pages.present, pages.count);
    for (uint32_t n = 1; n <= pages.count; n++) {
        REQUIRE(pages_read(&pages, n, bytes) == 0);
        unsigned head = n == 1 ? 100 : 0;
        if (!btree_page(&pages, n, bytes, &page))
            continue;
        passed++;
        bytes[head + 7] ^= 1; /* fragments */
        CHECK(!btree_page(&pages, n, bytes, &page));
        bytes[head + 7] ^= 1;
        bytes[head + 4] ^= 1; /* cells */
        CHECK(!btree_page(&pages, n, bytes, &page));
        bytes[head + 4] ^= 1;
        bytes[head] ^= 4; /* kind */
        CHECK(!btree_page(&pages, n, bytes, &page));
    }
    CHECK(passed > 60);
    CHECK_INT(pages_read(&pages, 0, bytes), ERR_CORRUPT);
    CHECK_INT(pages_read(&pages, pages.count + 1, bytes), ERR_CORRUPT);
    pages_close(&pages);
}

TEST(files_that_are_none)
{
    struct pages pages;
    char path[512];
    snprintf(path, sizeof path, "%s", test_path("none.db"));
    CHECK_INT(pages_open(&pages, path), ERR_NOTFOUND);
    damage_write(path, (const unsigned char *)"short", 5);
    CHECK_INT(pages_open(&pages, path), ERR_CORRUPT);
    CHECK_INT(pages_open(&pages, test_folder()), ERR_ARG);
}

TEST_MAIN(TEST_CASE(logs_cut_anywhere), TEST_CASE(logs_that_are_not_beside_the_file),
          TEST_CASE(logs_with_noise), TEST_CASE(records), TEST_CASE(widths_of_numbers),
          TEST_CASE(pages_pass), TEST_CASE(files_that_are_none))
