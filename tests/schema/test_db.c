/*
 * Creating, writing and ending a recording through db.h.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "fixture.h"
#include "mem.h"
#include "test.h"

static bool exists(const char *path, const char *suffix)
{
    char name[1024];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return access(name, F_OK) == 0;
}

TEST(a_new_file_is_private_and_ours)
{
    const char *path = test_path("new.db");
    struct db *db = NULL;
    struct stat info;
    umask(0);
    REQUIRE(db_create(&db, path) == 0);
    REQUIRE(stat(path, &info) == 0);
    CHECK_INT(info.st_mode & 07777, 0600);
    CHECK_STR(db_path(db), path);
    CHECK_STR(db_message(db), "");
    CHECK_INT(fixture_int(db, "PRAGMA application_id"), 0x54494445);
    CHECK_INT(fixture_int(db, "PRAGMA user_version"), DB_VERSION);
    CHECK_STR(fixture_query(db, "PRAGMA journal_mode", false), "wal\n");
    CHECK_INT(fixture_int(db, "PRAGMA wal_autocheckpoint"), 0);
    CHECK_INT(fixture_int(db, "PRAGMA synchronous"), 0);
    db_close(db);
}

TEST(the_whole_schema_is_in_the_file)
{
    struct db *db = fixture_empty();
    CHECK_INT(fixture_int(db, "SELECT count(*) FROM sqlite_master WHERE type = 'table'"), 36);
    /* Indexes would cost the recorder half its speed. */
    CHECK_INT(fixture_int(db, "SELECT count(*) FROM sqlite_master WHERE type = 'index' "
                              "AND tbl_name = 'allocation'"),
              0);
    CHECK(strstr(sch_text(), "CREATE TABLE allocation(") != NULL);
    CHECK(strstr(sch_text(), "CREATE TABLE keyframe(") > strstr(sch_text(), "CREATE TABLE meta("));
    CHECK(strstr(sch_text(), "CREATE VIEW peak(") > strstr(sch_text(), "CREATE TABLE keyframe("));
    db_close(db);
}

TEST(an_existing_file_is_left_alone)
{
    const char *path = test_path("there");
    struct db *db = NULL;
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    fputs("precious", file);
    fclose(file);
    CHECK_INT(db_create(&db, path), ERR_EXISTS);
    CHECK(db == NULL);
    CHECK(strstr(db_open_message(), "there: File exists") != NULL);
    CHECK_STR(fixture_read(path), "precious");
}

TEST(a_file_that_cannot_be_made)
{
    struct db *db = NULL;
    CHECK_INT(db_create(&db, test_path("no/such/folder.db")), ERR_NOTFOUND);
    CHECK(strstr(db_open_message(), "no/such/folder.db: No such file") != NULL);
}

TEST(without_memory_nothing_is_left_behind)
{
    const char *path = test_path("memory.db");
    int failed = 0;
    for (int n = 1; n < 100; n++) {
        struct db *db = NULL;
        mem_fail_after(n);
        int err = db_create(&db, path);
        mem_fail_after(0);
        if (err == 0) {
            db_close(db);
            break;
        }
        failed++;
        CHECK_INT(err, ERR_NOMEM);
        CHECK(db == NULL);
        CHECK(!exists(path, ""));
    }
    CHECK(failed >= 3); /* the handle, its path, its name, and statements */
    CHECK(exists(path, ""));
}

TEST(names_that_sqlite_would_take_for_something_else)
{
    static const char *const names[] = {":memory:", "file:x.db", "file:y.db?mode=memory",
                                        "100%41#a"};
    REQUIRE(chdir(test_folder()) == 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct db *db = NULL;
        REQUIRE(db_create(&db, names[i]) == 0);
        fixture_exec(db, "INSERT INTO meta VALUES('a', 1)");
        CHECK_INT(db_single_file(db), 0);
        db_close(db);
        CHECK(exists(names[i], ""));
        REQUIRE(db_open(&db, names[i]) == 0);
        CHECK_INT(fixture_int(db, "SELECT value FROM meta"), 1);
        db_close(db);
    }
}

TEST(every_known_statement_takes_its_cells_and_no_more)
{
    struct db *db = fixture_empty();
    for (int i = 0; i < SCH_STATEMENT_COUNT; i++) {
        struct db_stmt *stmt = NULL;
        int cells = (int)sch_statement_cells((enum sch_statement)i);
        REQUIRE(db_prepare_known(db, &stmt, (enum sch_statement)i) == 0);
        for (int at = 0; at < cells; at++)
            db_bind_int(stmt, at, 7);
        CHECK_INT(db_run(stmt), 0);
        db_bind_int(stmt, cells, 7);
        CHECK_INT(db_run(stmt), ERR_ARG);
        CHECK_INT(db_run(stmt) == ERR_ARG && db_message(db)[0] == '\0', 0);
        db_finalize(stmt);
    }
    db_close(db);
}

TEST(values_come_back_as_they_were_bound)
{
    struct db *db = fixture_empty();
    struct db_stmt *stmt = NULL;
    REQUIRE(db_prepare(db, &stmt, "SELECT ?1 AS a, ?2, ?3, ?4, ?5, 1.5, x'0102', :name") == 0);
    db_bind_int(stmt, 0, INT64_MIN);
    db_bind_int(stmt, 1, (int64_t)1 << 40);
    db_bind_null(stmt, 2);
    db_bind_text(stmt, 3, "a\"b", -1);
    db_bind_text(stmt, 4, "abcdef", 2);
    db_bind_text(stmt, 5, NULL, -1);
    REQUIRE(db_step(stmt) == DB_ROW);
    CHECK_INT(db_columns(stmt), 8);
    CHECK_STR(db_column_name(stmt, 0), "a");
    CHECK_INT(db_column_int(stmt, 0), INT64_MIN);
    CHECK_INT(db_column_int(stmt, 1), (int64_t)1 << 40);
    CHECK_INT(db_column_type(stmt, 2), DB_NULL);
    CHECK_STR(db_column_text(stmt, 2), "");
    CHECK_STR(db_column_text(stmt, 3), "a\"b");
    CHECK_STR(db_column_text(stmt, 4), "ab");
    CHECK_INT(db_column_type(stmt, 4), DB_TEXT);
    CHECK_INT(db_column_type(stmt, 5), DB_REAL);
    CHECK(db_column_real(stmt, 5) == 1.5);
    CHECK_INT(db_column_type(stmt, 6), DB_BLOB);
    CHECK_INT(db_column_bytes(stmt, 6), 2);
    CHECK_INT(db_column_type(stmt, 7), DB_NULL);
    CHECK_INT(db_step(stmt), DB_DONE);
    db_finalize(stmt);
    db_close(db);
}

TEST(wrong_sql_is_an_error_with_a_message)
{
    struct db *db = fixture_empty();
    struct db_stmt *stmt = NULL;
    CHECK_INT(db_prepare(db, &stmt, "SELECT a FROM nowhere"), ERR_ARG);
    CHECK_STR(db_message(db), "no such table: nowhere");
    CHECK(stmt == NULL);
    CHECK_INT(db_prepare(db, &stmt, "  -- only a comment"), ERR_ARG);
    CHECK(stmt == NULL);
    fixture_exec(db, "INSERT INTO string VALUES(1, 'a')");
    CHECK_INT(db_exec(db, "INSERT INTO string VALUES(1, 'b')"), ERR_ARG);
    CHECK(strstr(db_message(db), "UNIQUE") != NULL);
    db_close(db);
}

TEST(a_reader_sees_what_was_committed_and_can_write_nothing)
{
    struct db *db = fixture_empty(), *reader = NULL;
    fixture_exec(db, "INSERT INTO meta VALUES('a', 1)");
    CHECK_INT(db_begin(db), 0);
    CHECK(db_in_transaction(db));
    fixture_exec(db, "INSERT INTO meta VALUES('b', 2)");
    REQUIRE(db_open(&reader, db_path(db)) == 0);
    CHECK_INT(fixture_int(reader, "SELECT count(*) FROM meta"), 1);
    CHECK_INT(db_commit(db), 0);
    CHECK(!db_in_transaction(db));
    CHECK_INT(fixture_int(reader, "SELECT count(*) FROM meta"), 2);
    CHECK_INT(db_exec(reader, "INSERT INTO meta VALUES('c', 3)"), ERR_DENIED);
    CHECK_INT(db_exec(reader, "DROP VIEW peak"), ERR_DENIED);
    db_close(reader);
    CHECK_INT(db_begin(db), 0);
    fixture_exec(db, "DELETE FROM meta");
    CHECK_INT(db_rollback(db), 0);
    CHECK_INT(db_rollback(db), 0); /* nothing to do is fine */
    CHECK_INT(fixture_int(db, "SELECT count(*) FROM meta"), 2);
    db_close(db);
}

TEST(a_reader_reaches_no_other_file_and_sets_nothing)
{
    static const struct {
        const char *sql, *message; /* NULL: it is answered */
    } cases[] = {
        {"ATTACH 'other.db' AS other", "ATTACH and VACUUM are not allowed"},
        {"ATTACH ':memory:' AS other", "ATTACH and VACUUM are not allowed"},
        {"VACUUM INTO 'other.db'", "ATTACH and VACUUM are not allowed"},
        {"DETACH main", "DETACH is not allowed"},
        {"PRAGMA query_only=OFF", "PRAGMA query_only cannot be set"},
        {"PRAGMA main.Journal_Mode=DELETE", "PRAGMA Journal_Mode cannot be set"},
        {"PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA wal_checkpoint is not allowed"},
        {"PRAGMA writable_schema", "PRAGMA writable_schema is not allowed"},
        {"PRAGMA query_only", NULL},
        {"PRAGMA table_info(oom)", NULL},
        {"SELECT count(*) FROM pragma_table_info('oom')", NULL},
    };
    const char *path = test_path("guard.db");
    struct db *writer = NULL, *reader = NULL;
    REQUIRE(db_create(&writer, path) == 0);
    REQUIRE(db_open(&reader, path) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(db_exec(reader, cases[i].sql), cases[i].message ? ERR_DENIED : 0);
        if (cases[i].message)
            CHECK_STR(db_message(reader), cases[i].message);
    }
    CHECK(!exists("other.db", ""));
    CHECK_INT(db_check(reader), 0);
    db_close(reader);
    CHECK_INT(db_exec(writer, "ATTACH ':memory:' AS other"), 0); /* readers only */
    db_close(writer);
}

/* A reader's statements are kept when they are done with: the next one of the same text begins
 * anew, without values, and two of one text at a time are two. */
TEST(a_reader_asks_again)
{
    static const char sql[] = "SELECT value, ?1 FROM (SELECT 1 AS value UNION SELECT 2)";
    const char *path = test_path("again.db");
    struct db *db = NULL, *reader = NULL;
    struct db_stmt *one, *other;
    REQUIRE(db_create(&db, path) == 0);
    REQUIRE(db_open(&reader, path) == 0);
    for (int i = 0; i < 3; i++) {
        REQUIRE(db_prepare(reader, &one, sql) == 0);
        REQUIRE(db_prepare(reader, &other, sql) == 0);
        CHECK(one != other);
        db_bind_int(one, 0, 5);
        CHECK_INT(db_step(one), DB_ROW);
        CHECK_INT(db_step(one), DB_ROW);
        CHECK_INT(db_column_int(one, 0), 2);
        CHECK_INT(db_column_int(one, 1), 5);
        CHECK_INT(db_step(other), DB_ROW);
        CHECK_INT(db_column_int(other, 0), 1);
        CHECK_INT(db_column_type(other, 1), DB_NULL);
        db_finalize(one);
        db_finalize(other);
    }
    for (int i = 0; i < 500; i++) { /* more than are kept */
        char text[64];
        snprintf(text, sizeof text, "SELECT %d", i);
        REQUIRE(db_prepare(reader, &one, text) == 0);
        CHECK_INT(db_step(one), DB_ROW);
        CHECK_INT(db_column_int(one, 0), i);
        db_finalize(one);
    }
    REQUIRE(db_prepare(reader, &one, sql) == 0);
    mem_fail_after(1);
    CHECK_INT(db_prepare(reader, &other, "SELECT 'anew'"), ERR_NOMEM);
    mem_fail_after(0);
    db_finalize(one);
    db_close(reader);
    db_close(db);
}

static int dropped;

static void drop_one(void *thing)
{
    (void)thing;
    dropped++;
}

static void drop_other(void *thing)
{
    (void)thing;
    dropped += 100;
}

static void drop_third(void *thing)
{
    (void)thing;
    dropped += 10000;
}

static void drop_fourth(void *thing)
{
    (void)thing;
    dropped += 1000000;
}

/* What is kept goes when the transaction does in which it was read, and by nothing before. */
TEST(a_reader_keeps_one_thing_of_a_kind_for_a_transaction)
{
    const char *path = test_path("kept.db");
    struct db *db = NULL, *reader = NULL;
    int one = 1, two = 2, three = 3;
    REQUIRE(db_create(&db, path) == 0);
    REQUIRE(db_open(&reader, path) == 0);
    CHECK(!db_keep(reader, &one, drop_one)); /* the next statement may see other rows */
    CHECK_INT(db_exec(reader, "BEGIN"), 0);
    CHECK(db_keep(reader, &one, drop_one));
    CHECK(db_kept(reader, drop_one) == &one);
    CHECK(db_kept(reader, drop_other) == NULL);
    CHECK_INT(db_exec(reader, "SELECT count(*) FROM meta"), 0);
    CHECK(db_kept(reader, drop_one) == &one);
    CHECK(db_keep(reader, &two, drop_other));
    CHECK_INT(dropped, 0);
    CHECK(db_kept(reader, drop_one) == &one);
    CHECK(db_keep(reader, &three, drop_one));
    CHECK_INT(dropped, 1);
    CHECK(db_kept(reader, drop_one) == &three);
    CHECK(db_keep(reader, &one, drop_third));
    CHECK(!db_keep(reader, &one, drop_fourth)); /* readers have three kinds */
    CHECK_INT(db_exec(reader, "COMMIT"), 0);
    CHECK_INT(dropped, 10102);
    CHECK(db_kept(reader, drop_other) == NULL);
    CHECK_INT(db_exec(reader, "BEGIN"), 0);
    CHECK(db_keep(reader, &one, drop_one));
    CHECK_INT(db_begin(db), 0);
    CHECK(!db_keep(db, &one, drop_one)); /* who writes reads what it wrote */
    CHECK_INT(db_rollback(db), 0);
    db_close(reader);
    CHECK_INT(dropped, 10103);
    db_close(db);
}

TEST(work_is_counted)
{
    static const char sql[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                              " WHERE i < ?1) SELECT max(i) FROM n";
    struct db *db = NULL;
    struct db_stmt *stmt;
    uint64_t work[3], before;
    REQUIRE(db_create(&db, test_path("work.db")) == 0);
    before = db_work();
    for (int i = 0; i < 3; i++) {
        REQUIRE(db_prepare(db, &stmt, sql) == 0);
        db_bind_int(stmt, 0, i < 2 ? 100 : 1000);
        CHECK_INT(db_step(stmt), DB_ROW);
        db_finalize(stmt);
        work[i] = db_work() - before;
        before = db_work();
    }
    CHECK(work[0] > 100);
    CHECK(work[1] == work[0]);
    CHECK(work[2] > 8 * work[1] && work[2] < 12 * work[1]);
    db_close(db);
}

TEST(the_log_is_measured_and_moved)
{
    struct db *db = fixture_empty();
    CHECK_INT(db_log_bytes(db), 0);
    fixture_exec(db, "INSERT INTO meta VALUES('a', 1)");
    CHECK(db_log_bytes(db) >= 4096);
    CHECK_INT(db_checkpoint(db, false), 0);
    CHECK_INT(db_log_bytes(db), 0);
    fixture_exec(db, "INSERT INTO meta VALUES('b', 1)");
    CHECK_INT(db_checkpoint(db, true), 0);
    CHECK_INT(db_log_bytes(db), 0);
    struct stat info;
    char log[1024];
    snprintf(log, sizeof log, "%s-wal", db_path(db));
    REQUIRE(stat(log, &info) == 0);
    CHECK_INT(info.st_size, 0);
    db_close(db);
}

TEST(one_file_remains_unless_a_reader_holds_it)
{
    struct db *db = fixture_small_run(), *reader = NULL;
    const char *path = db_path(db);
    REQUIRE(db_open(&reader, path) == 0);
    fixture_exec(reader, "BEGIN");
    CHECK_INT(fixture_int(reader, "SELECT count(*) FROM allocation"), 19);
    fixture_exec(db, "INSERT INTO meta VALUES('later', 1)");
    CHECK_INT(db_checkpoint(db, true), ERR_BUSY);
    CHECK_INT(db_single_file(db), ERR_BUSY);
    CHECK(exists(path, "-wal"));
    CHECK_INT(fixture_int(reader, "SELECT count(*) FROM meta WHERE key = 'later'"), 0);
    db_close(reader);
    CHECK_INT(db_single_file(db), 0);
    CHECK(!exists(path, "-wal"));
    CHECK(!exists(path, "-shm"));
    CHECK_INT(db_check(db), 0);
    CHECK_INT(fixture_int(db, "SELECT count(*) FROM allocation"), 19);
    db_close(db);
}

TEST(empty_pages_go_and_nothing_else)
{
    const char *path = test_path("run.db");
    struct db *db = NULL;
    struct stat about;
    REQUIRE(db_create(&db, path) == 0);
    fixture_exec(db, "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
                     " INSERT INTO string SELECT i, 'text ' || i FROM n;"
                     " DELETE FROM string WHERE id % 100");
    CHECK_INT(db_single_file(db), 0);
    REQUIRE(stat(path, &about) == 0);
    off_t before = about.st_size;
    FILE *in_the_way = fopen(test_path("run.db-shrunk"), "w");
    REQUIRE(in_the_way != NULL);
    fclose(in_the_way);
    CHECK_INT(db_shrink(db), ERR_EXISTS);
    CHECK(exists(path, "-shrunk"));
    REQUIRE(rename(test_path("run.db-shrunk"), test_path("run.db-wal")) == 0);
    CHECK_INT(db_shrink(db), ERR_BUSY);
    CHECK(!exists(path, "-shrunk"));
    unlink(test_path("run.db-wal"));
    CHECK_INT(db_shrink(db), 0);
    db_close(db);
    CHECK(!exists(path, "-shrunk"));
    REQUIRE(stat(path, &about) == 0);
    CHECK_INT(about.st_mode & 0777, 0600);
    CHECK(about.st_size < before);
    REQUIRE(db_open(&db, path) == 0);
    CHECK_INT(db_check(db), 0);
    CHECK_INT(fixture_int(db, "SELECT count(*) FROM string WHERE text = 'text ' || id"), 200);
    CHECK_INT(fixture_int(db, "SELECT * FROM pragma_freelist_count"), 0);
    db_close(db);
}

TEST_MAIN(TEST_CASE(empty_pages_go_and_nothing_else), TEST_CASE(a_new_file_is_private_and_ours),
          TEST_CASE(the_whole_schema_is_in_the_file), TEST_CASE(an_existing_file_is_left_alone),
          TEST_CASE(a_file_that_cannot_be_made), TEST_CASE(without_memory_nothing_is_left_behind),
          TEST_CASE(names_that_sqlite_would_take_for_something_else),
          TEST_CASE(every_known_statement_takes_its_cells_and_no_more),
          TEST_CASE(values_come_back_as_they_were_bound),
          TEST_CASE(wrong_sql_is_an_error_with_a_message),
          TEST_CASE(a_reader_sees_what_was_committed_and_can_write_nothing),
          TEST_CASE(a_reader_reaches_no_other_file_and_sets_nothing),
          TEST_CASE(a_reader_asks_again),
          TEST_CASE(a_reader_keeps_one_thing_of_a_kind_for_a_transaction),
          TEST_CASE(work_is_counted), TEST_CASE(the_log_is_measured_and_moved),
          TEST_CASE(one_file_remains_unless_a_reader_holds_it))
