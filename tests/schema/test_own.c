/*
 * What a report believes of a file: its tables, where they are tables, and their numbers, where
 * those can be. The views are this build's.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "fixture.h"
#include "test.h"

/* A finished recording, changed by `sql`. */
static const char *changed(const char *name, const char *sql)
{
    struct db *db = fixture_small_run();
    const char *path = test_path(name);
    fixture_exec(db, sql);
    REQUIRE(db_single_file(db) == 0);
    REQUIRE(rename(db_path(db), path) == 0);
    db_close(db);
    return path;
}

static struct db *opened(const char *path)
{
    struct db *db = NULL;
    if (db_open(&db, path) < 0)
        CHECK_STR(db_open_message(), "");
    REQUIRE(db != NULL);
    return db;
}

/* What the first step of the statement comes to. */
static int first_step(struct db *db, const char *sql)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, sql);
    if (err == 0)
        err = db_step(stmt);
    db_finalize(stmt);
    return err;
}

/* Nothing that is asked of such a view ever ends. */
#define ENDLESS "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "

TEST(views_are_those_of_the_build)
{
    struct db *whole = opened(changed("whole.db", "SELECT 1"));
    const char *peaks = fixture_query(whole, "SELECT * FROM peak", true);
    const char *sites = fixture_query(whole, "SELECT * FROM site_short", true);
    db_close(whole);
    struct db *db = opened(
        changed("views.db", "DROP VIEW peak; DROP VIEW device_text; DROP VIEW site_short;"
                            "CREATE VIEW peak AS SELECT 'a lie' AS process;"
                            "CREATE VIEW device_text(id, device) AS " ENDLESS "x, 'cpu' FROM c;"
                            "CREATE VIEW Site_Short AS SELECT * FROM nowhere"));
    CHECK_STR(fixture_query(db, "SELECT * FROM peak", true), peaks);
    CHECK_STR(fixture_query(db, "SELECT * FROM site_short", true), sites);
    CHECK_INT(db_exec(db, "DROP VIEW temp.peak") < 0, true);
    db_close(db);
}

/* Each view of the build, and how many of them the reader made anew. */
static void check_made(const char *path, bool made)
{
    struct db *db = opened(path);
    int64_t all = fixture_int(db, "SELECT count(*) FROM sqlite_master WHERE type = 'view'");
    int64_t anew = fixture_int(db, "SELECT count(*) FROM sqlite_temp_master WHERE type = 'view'");
    CHECK(all > 30);
    CHECK_INT(anew > 30, made);
    CHECK_INT(anew > 0, made);
    CHECK_STR(fixture_query(db, "SELECT DISTINCT process FROM peak", false), "1\n2\n");
    db_close(db);
}

/* Those of the file are asked where they are the build's to the letter, all of them. */
TEST(views_are_made_where_the_file_has_others)
{
    check_made(changed("same.db", "SELECT 1"), false);
    check_made(changed("one_more.db", "CREATE VIEW another AS SELECT 1 AS process"), true);
    check_made(changed("one_less.db", "DROP VIEW activities"), true);
    check_made(changed("spaces.db", "DROP VIEW device_text; CREATE VIEW device_text(id, device) AS"
                                    "  SELECT id, 'other' FROM device"),
               true);
    check_made(changed("called.db", "PRAGMA writable_schema = ON; UPDATE sqlite_master"
                                    " SET sql = replace(sql, 'SELECT id, CASE WHEN kind',"
                                    " 'SELECT id+0, CASE WHEN kind') WHERE name = 'device_text'"),
               true);
}

TEST(other_questions_see_the_views_of_the_file)
{
    struct db *db = NULL;
    const char *path =
        changed("lie.db", "DROP VIEW peak; CREATE VIEW peak AS SELECT 'a lie' AS process");
    REQUIRE(db_open_as_it_is(&db, path) == 0);
    CHECK_STR(fixture_query(db, "SELECT * FROM peak", false), "a lie\n");
    CHECK_INT(first_step(db, "SELECT sum(x) FROM (SELECT 9223372036854775807 AS x UNION ALL"
                             " SELECT 1)"),
              ERR_ARG);
    CHECK_INT(first_step(db, "SELECT length(randomblob(2000000000))"), ERR_LIMIT);
    CHECK_INT(first_step(db, "SELECT * FROM nowhere"), ERR_ARG);
    db_close(db);
}

static void check_refused(const char *path, const char *phrase)
{
    struct db *db = NULL;
    CHECK_INT(db_open(&db, path), ERR_CORRUPT);
    CHECK(db == NULL);
    if (!strstr(db_open_message(), phrase))
        CHECK_STR(db_open_message(), phrase);
}

TEST(a_table_is_an_ordinary_table)
{
    check_refused(changed("view.db", "ALTER TABLE string RENAME TO other;"
                                     "CREATE VIEW STRING(id, text) AS " ENDLESS "x, 't' FROM c"),
                  " is damaged: 'STRING' is no ordinary table");
    check_refused(
        changed("computed.db",
                "DROP TABLE tag; CREATE TABLE tag(id INTEGER PRIMARY KEY, category INTEGER,"
                " name AS (hex(zeroblob(400000000))))"),
        " is damaged: 'tag' is no ordinary table");
    /* What is not asked is nobody's business. */
    db_close(opened(changed("more.db", "CREATE VIEW mine AS " ENDLESS "x FROM c")));
}

TEST(a_table_that_is_gone)
{
    struct db *db = opened(changed("gone.db", "DROP TABLE string"));
    CHECK_INT(first_step(db, "SELECT * FROM site_short"), ERR_CORRUPT);
    CHECK(strstr(db_message(db), "no such table: main.string") ||
          strstr(db_message(db), "no such table: string"));
    CHECK_INT(first_step(db, "SELEKT 1"), ERR_ARG);
    db_close(db);
}

TEST(a_sum_that_fits_no_number_names_a_value)
{
    struct db *db = opened(changed("sum.db", "UPDATE phase_device SET alloc_bytes = 1 << 62"));
    CHECK_INT(first_step(db, "SELECT sum(alloc_bytes) FROM phase_device"), ERR_CORRUPT);
    CHECK_STR(db_message(db),
              "integer overflow: phase_device.alloc_bytes has the value 4611686018427387904");
    CHECK_INT(first_step(db, "SELECT 1"), DB_ROW);
    db_close(db);
}

TEST(sizes_are_smaller_still)
{
    struct db *db = opened(changed("size.db", "UPDATE allocation SET size = (1 << 46) + 1"));
    struct db_stmt *stmt = NULL;
    REQUIRE(db_prepare(db, &stmt, "SELECT 1 << 46, size FROM allocation") == 0);
    REQUIRE(db_step(stmt) == DB_ROW);
    CHECK_INT(db_column_size(stmt, 0), DB_LARGEST_SIZE);
    CHECK_INT(db_column_int(stmt, 1), DB_LARGEST_SIZE + 1);
    CHECK_INT(db_column_size(stmt, 1), 0);
    CHECK_INT(db_step(stmt), ERR_CORRUPT);
    CHECK_STR(db_message(db),
              "a number is too large: allocation.size has the value 70368744177665");
    db_finalize(stmt);
    db_close(db);
}

static int64_t read_number(struct db *db, const char *sql, bool any)
{
    struct db_stmt *stmt = NULL;
    REQUIRE(db_prepare(db, &stmt, sql) == 0 && db_step(stmt) == DB_ROW);
    int64_t value = any ? db_column_any(stmt, 0) : db_column_int(stmt, 0);
    db_finalize(stmt);
    return value;
}

TEST(a_number_that_cannot_be_is_told_once)
{
    struct db *db = opened(changed("large.db", "UPDATE phase SET end_ns = 1 << 61 WHERE id = 1;"
                                               "UPDATE device SET total_bytes = 9e999"));
    CHECK_INT(read_number(db, "SELECT (1 << 61) - 1", false), (1ll << 61) - 1);
    CHECK_INT(read_number(db, "SELECT 1 - (1 << 61)", false), 1 - (1ll << 61));
    CHECK_INT(read_number(db, "SELECT max(end_ns) FROM phase", true), 1ll << 61);
    CHECK_INT(first_step(db, "SELECT 1"), DB_ROW);
    CHECK_INT(read_number(db, "SELECT max(end_ns) FROM phase", false), 0);
    CHECK_INT(first_step(db, "SELECT 1"), ERR_CORRUPT);
    CHECK(strstr(db_message(db), "a number is too large: ") != NULL);
    CHECK_INT(first_step(db, "SELECT 1"), DB_ROW);
    /* At the end of what was read together, too. */
    REQUIRE(db_exec(db, "BEGIN") == 0);
    CHECK_INT(read_number(db, "SELECT total_bytes FROM device", false), 0);
    CHECK_INT(db_exec(db, "COMMIT"), ERR_CORRUPT);
    CHECK_INT(db_exec(db, "COMMIT"), 0);
    db_close(db);
}

TEST(a_walk_advances_or_stops)
{
    struct db *db = opened(changed(
        "walk.db", "DELETE FROM keyframe; INSERT INTO keyframe VALUES(3, 1), (7, 1), ('x', 1)"));
    static const struct {
        int64_t after;
        int row;
        int64_t next;
    } steps[] = {{0, DB_ROW, 3}, {3, DB_ROW, 7}, {7, ERR_CORRUPT, 0}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct db_stmt *stmt = NULL;
        int64_t next = 0;
        REQUIRE(db_prepare(db, &stmt, "SELECT min(seq) FROM keyframe WHERE seq > ?1") == 0);
        db_bind_int(stmt, 0, steps[i].after);
        CHECK_INT(db_step_behind(stmt, steps[i].after, &next), steps[i].row);
        if (steps[i].row == DB_ROW)
            CHECK_INT(next, steps[i].next);
        db_finalize(stmt);
    }
    CHECK_STR(db_message(db), "what follows 7 is 'x'");
    struct db_stmt *stmt = NULL;
    int64_t next = 0;
    REQUIRE(db_prepare(db, &stmt, "SELECT min(seq) FROM keyframe WHERE seq < 0") == 0);
    CHECK_INT(db_step_behind(stmt, 0, &next), DB_DONE);
    db_finalize(stmt);
    db_close(db);
}

TEST_MAIN(TEST_CASE(views_are_those_of_the_build),
          TEST_CASE(views_are_made_where_the_file_has_others),
          TEST_CASE(other_questions_see_the_views_of_the_file),
          TEST_CASE(a_table_is_an_ordinary_table), TEST_CASE(a_table_that_is_gone),
          TEST_CASE(a_sum_that_fits_no_number_names_a_value), TEST_CASE(sizes_are_smaller_still),
          TEST_CASE(a_number_that_cannot_be_is_told_once), TEST_CASE(a_walk_advances_or_stops))
