/*
 * Files that are not recordings, or not whole ones: each is refused with a message, none crashes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.h"
#include "fixture.h"
#include "test.h"

static void write_file(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    REQUIRE(fwrite(bytes, 1, count, file) == count);
    REQUIRE(fclose(file) == 0);
}

static void check_refused(const char *path, int want, const char *phrase)
{
    struct db *db = NULL;
    CHECK_INT(db_open(&db, path), want);
    CHECK(db == NULL);
    if (!strstr(db_open_message(), phrase) || !strstr(db_open_message(), path))
        CHECK_STR(db_open_message(), phrase);
}

static const struct foreign {
    const char *bytes;
    size_t count;
    const char *phrase;
} foreign[] = {
    {"", 0, " is not a Tidemark recording: it is empty"},
    {"hello\n", 6, ": it is text"},
    {"gr\xc3\xbc\xc3\x9f", 6, ": it is text"},
    {" {\"a\": 1}", 9, ": it is JSON text"},
    {"#!/bin/sh\n", 10, ": it is a script"},
    {"\x1f\x8b\x08\0\0\0", 6, ": it is compressed by gzip"},
    {"\x28\xb5\x2f\xfd\x04", 5, ": it is compressed by zstd"},
    {"\xfd\x37zXZ\0\0", 7, ": it is compressed by xz"},
    {"\x80\x04\x95\x10\0\0\0\0\0\0\0}", 12, ": it is a Python pickle"},
    {"\x80\x02}q\x00.", 6, ": it is a Python pickle"},
    {"PK\x03\x04\x14\0", 6, ": it is a zip archive"},
    {"\x7f\x45LF\x02\x01\x01", 7, ": it is a program or a library"},
    {"\0\0\0\0\0\0\0\0", 8, ": it is filled with zeros"},
    {"\x37\x7f\x06\x82\0\x2d\xe2\x18", 8, ": it is the log (-wal) of an SQLite database"},
    {"\xff\xfe\x01\x02", 4, ": it is a file of a kind that Tidemark does not know"},
    {"SQLite format 3", 15, ": it is text"},
};

TEST(files_of_other_kinds_are_called_what_they_are)
{
    const char *path = test_path("foreign");
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        write_file(path, foreign[i].bytes, foreign[i].count);
        check_refused(path, ERR_NOTOURS, foreign[i].phrase);
    }
}

TEST(things_that_are_not_files)
{
    const char *pipe_path = test_path("pipe"), *link_path = test_path("link");
    check_refused(test_folder(), ERR_NOTOURS, ": it is a directory");
    REQUIRE(mkfifo(pipe_path, 0600) == 0);
    check_refused(pipe_path, ERR_NOTOURS, ": it is not a regular file");
    check_refused(test_path("absent"), ERR_NOTFOUND, ": No such file or directory");
    REQUIRE(symlink("absent", link_path) == 0);
    check_refused(link_path, ERR_NOTFOUND, ": No such file or directory");
    check_refused("", ERR_NOTFOUND, ": No such file or directory");
}

/* A finished recording under a new name, changed by `sql`. */
static const char *changed_copy(const char *name, const char *sql)
{
    struct db *db = fixture_small_run();
    const char *path = test_path(name);
    fixture_exec(db, sql);
    REQUIRE(db_single_file(db) == 0);
    REQUIRE(rename(db_path(db), path) == 0);
    db_close(db);
    return path;
}

TEST(databases_of_other_programs)
{
    check_refused(changed_copy("other.db", "PRAGMA application_id = 0"), ERR_NOTOURS,
                  ": it is an SQLite database of another program");
    check_refused(changed_copy("nsys.sqlite", "PRAGMA application_id = 0;"
                                              "CREATE TABLE StringIds(id, value);"
                                              "CREATE TABLE META_DATA_EXPORT(name, value)"),
                  ERR_NOTOURS, ": it is an SQLite export of Nsight Systems");
}

TEST(versions)
{
    check_refused(changed_copy("newer.db", "PRAGMA user_version = 6"), ERR_NEWER,
                  " was made by a newer Tidemark: its format is 6, this command knows formats up "
                  "to 5");
    check_refused(changed_copy("older.db", "PRAGMA user_version = 1"), ERR_NEWER,
                  " was made by a Tidemark before its first release: its format is 1");
    check_refused(changed_copy("huge.db", "PRAGMA user_version = -1"), ERR_NEWER,
                  "its format is 4294967295");
    check_refused(changed_copy("zero.db", "PRAGMA user_version = 0"), ERR_CORRUPT,
                  " is damaged: it has no format version");
}

TEST(a_recording_that_lacks_a_table)
{
    check_refused(changed_copy("lacks.db", "DROP TABLE stretch"), ERR_CORRUPT,
                  " is damaged: tables of a recording are missing");
}

TEST(a_name_that_is_longer_than_any_path)
{
    char path[9000];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct db *db = NULL;
    CHECK(db_open(&db, path) < 0);
    CHECK(strlen(db_open_message()) > 100);
}

static size_t read_all(const char *path, unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL);
    size_t count = fread(bytes, 1, size, file);
    fclose(file);
    REQUIRE(count > 0 && count < size);
    return count;
}

TEST(a_file_cut_anywhere_is_damaged)
{
    static unsigned char bytes[1 << 20];
    size_t count = read_all(changed_copy("whole.db", "SELECT 1"), bytes, sizeof bytes);
    const char *path = test_path("cut.db");
    for (size_t cut = 512; cut < count; cut += 512) {
        write_file(path, bytes, cut);
        check_refused(path, ERR_CORRUPT, " is damaged: ");
    }
    write_file(path, bytes, 99);
    check_refused(path, ERR_CORRUPT, " is damaged: it ends inside its header");
    struct db *db = NULL;
    write_file(path, bytes, count);
    CHECK_INT(db_open(&db, path), 0);
    CHECK_INT(db_check(db), 0);
    db_close(db);
}

/* Reads all that a report could read; every error but a broken machine is fine. */
static void read_everything(struct db *db)
{
    static const char *const sources[] = {
        "phase_table",      "peak",         "live_at_peak", "allocations",   "timeline",
        "peak_by_category", "peak_by_site", "leak",         "fragmentation", "stack"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        char sql[64];
        struct db_stmt *stmt = NULL;
        snprintf(sql, sizeof sql, "SELECT * FROM %s LIMIT 1000", sources[i]);
        if (db_prepare(db, &stmt, sql) < 0)
            continue;
        int row;
        while ((row = db_step(stmt)) == DB_ROW)
            for (int at = 0; at < db_columns(stmt); at++)
                CHECK(db_column_text(stmt, at) != NULL);
        CHECK(row != ERR_INTERNAL);
        db_finalize(stmt);
    }
}

/* As a recorder makes it: the first page stands there alone while the journal does. */
TEST(a_file_that_is_being_made_is_waited_for)
{
    static unsigned char bytes[1 << 20];
    struct db *db = NULL;
    char journal[220];
    size_t count = read_all(changed_copy("whole.db", "SELECT 1"), bytes, sizeof bytes);
    REQUIRE(count > 4096);

    const char *path = test_path("new.db");
    snprintf(journal, sizeof journal, "%s-journal", path);
    write_file(path, bytes, 4096);
    write_file(journal, "", 0);
    pid_t maker = fork();
    REQUIRE(maker >= 0);
    if (maker == 0) {
        usleep(50 * 1000);
        write_file(path, bytes, count);
        unlink(journal);
        _exit(0);
    }
    CHECK_INT(db_open(&db, path), 0);
    db_close(db);
    CHECK(waitpid(maker, NULL, 0) == maker);
    write_file(path, bytes, 4096); /* and nobody makes it */
    check_refused(path, ERR_CORRUPT, " is damaged: it has 4096 bytes");
}

TEST(damage_at_random_places_never_crashes)
{
    static unsigned char bytes[1 << 20], damaged[1 << 20];
    size_t count = read_all(changed_copy("good.db", "SELECT 1"), bytes, sizeof bytes);
    const char *path = test_path("damaged.db");
    uint64_t seed = 20260101;
    int opened = 0, refused = 0;
    for (int round = 0; round < 150; round++) {
        memcpy(damaged, bytes, count);
        for (uint64_t n = test_random(&seed) % 40 + 1; n > 0; n--)
            damaged[test_random(&seed) % count] = (unsigned char)test_random(&seed);
        write_file(path, damaged, count);
        struct db *db = NULL;
        int err = db_open(&db, path);
        if (err < 0) {
            refused++;
            CHECK(err == ERR_CORRUPT || err == ERR_NOTOURS || err == ERR_NEWER);
            continue;
        }
        opened++;
        db_check(db);
        read_everything(db);
        db_close(db);
    }
    CHECK(opened > 0);
    CHECK(refused > 0);
}

/* A recorder that dies without closing: its log stays beside the file. */
static void die_recording(const char *path)
{
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        struct db *db = NULL;
        if (db_create(&db, path) < 0 || db_exec(db, "INSERT INTO meta VALUES('a', 7)") < 0)
            _exit(1);
        if (db_begin(db) < 0 || db_exec(db, "INSERT INTO meta VALUES('b', 8)") < 0)
            _exit(1);
        _exit(0);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(what_a_dead_recorder_left_is_read_with_its_log)
{
    const char *path = test_path("dead.db");
    die_recording(path);
    CHECK_INT(access(test_path("dead.db-wal"), F_OK), 0);
    struct db *db = NULL;
    REQUIRE(db_open(&db, path) == 0);
    CHECK_INT(fixture_int(db, "SELECT sum(value) FROM meta"), 7);
    CHECK_INT(db_check(db), 0);
    db_close(db);
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 20];
    FILE *file = fopen(from, "rb");
    REQUIRE(file != NULL);
    size_t count = fread(bytes, 1, sizeof bytes, file);
    REQUIRE(count > 0 && count < sizeof bytes && fclose(file) == 0);
    write_file(to, bytes, count);
}

/* What db_missing_log says; "" for NULL. */
static void check_log(const char *path, const char *want)
{
    struct db *db = NULL;
    REQUIRE(db_open(&db, path) == 0);
    const char *log = db_missing_log(db);
    CHECK_STR(log ? log : "", want);
    db_close(db);
}

TEST(a_file_that_was_copied_without_its_log)
{
    const char *path = test_path("killed.db"), *copy = test_path("copy.db");
    const char *log = test_path("copy.db-wal");
    die_recording(path);
    check_log(path, "");
    copy_file(path, copy);
    check_log(copy, log);
    write_file(log, "", 0);
    check_log(copy, log);
    copy_file(test_path("killed.db-wal"), log);
    check_log(copy, "");
    struct db *db = NULL;
    const char *whole = test_path("finished.db");
    REQUIRE(db_create(&db, whole) == 0);
    CHECK(db_missing_log(db) == NULL); /* of one's own nothing is asked */
    REQUIRE(db_checkpoint(db, true) == 0 && db_single_file(db) == 0);
    db_close(db);
    check_log(whole, "");
}

/* SQLite looks beside the file, not beside its other name. */
TEST(the_log_of_a_file_that_has_another_name)
{
    const char *path = test_path("real.db"), *name = test_path("link.db");
    die_recording(path);
    REQUIRE(symlink(path, name) == 0);
    check_log(name, "");
    REQUIRE(unlink(test_path("real.db-wal")) == 0);
    struct db *db = NULL;
    REQUIRE(db_open(&db, name) == 0);
    const char *log = db_missing_log(db);
    CHECK(log && strstr(log, "real.db-wal"));
    db_close(db);
}

TEST(a_read_only_folder)
{
    const char *path = test_path("stuck.db"), *alone = test_path("a#%20lone.db");
    die_recording(path);
    struct db *db = NULL;
    REQUIRE(db_create(&db, alone) == 0);
    fixture_exec(db, "INSERT INTO meta VALUES('a', 9)");
    REQUIRE(db_checkpoint(db, true) == 0);
    db_close(db); /* the last connection takes the log away; the file still says WAL */
    unlink(test_path("stuck.db-shm"));
    REQUIRE(chmod(path, 0444) == 0 && chmod(test_path("stuck.db-wal"), 0444) == 0);
    REQUIRE(chmod(alone, 0444) == 0 && chmod(test_folder(), 0555) == 0);
    if (geteuid() == 0)
        REQUIRE(seteuid(65534) == 0); /* root may write everywhere */
    check_refused(path, ERR_DENIED, "copy both to such a directory");
    if (db_open(&db, alone) < 0)
        CHECK_STR(db_open_message(), "");
    REQUIRE(db != NULL);
    CHECK_INT(fixture_int(db, "SELECT value FROM meta"), 9);
    CHECK_INT(db_check(db), 0);
    db_close(db);
    if (getuid() == 0)
        REQUIRE(seteuid(0) == 0);
    REQUIRE(chmod(test_folder(), 0755) == 0);
}

TEST(a_file_that_may_not_be_read)
{
    const char *path = changed_copy("secret.db", "SELECT 1");
    REQUIRE(chmod(path, 0) == 0 && chmod(test_folder(), 0755) == 0);
    if (geteuid() == 0)
        REQUIRE(seteuid(65534) == 0);
    check_refused(path, ERR_DENIED, "(Permission denied)");
    if (getuid() == 0)
        REQUIRE(seteuid(0) == 0);
}

TEST_MAIN(TEST_CASE(files_of_other_kinds_are_called_what_they_are),
          TEST_CASE(things_that_are_not_files), TEST_CASE(databases_of_other_programs),
          TEST_CASE(versions), TEST_CASE(a_recording_that_lacks_a_table),
          TEST_CASE(a_name_that_is_longer_than_any_path), TEST_CASE(a_file_cut_anywhere_is_damaged),
          TEST_CASE(a_file_that_is_being_made_is_waited_for),
          TEST_CASE(damage_at_random_places_never_crashes),
          TEST_CASE(what_a_dead_recorder_left_is_read_with_its_log),
          TEST_CASE(a_file_that_was_copied_without_its_log),
          TEST_CASE(the_log_of_a_file_that_has_another_name), TEST_CASE(a_read_only_folder),
          TEST_CASE(a_file_that_may_not_be_read))
