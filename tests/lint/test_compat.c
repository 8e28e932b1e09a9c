/*
 * What compat stands in for does its work: constructors run once, files are seen, threads start,
 * SQLite computes. The same program is read by objdump for what it imports.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static int constructed;

__attribute__((constructor)) static void construct(void)
{
    constructed++;
}

TEST(constructors_run_once)
{
    CHECK_INT(constructed, 1);
}

/* Each path of stat agrees with what was written, and with the others. */
TEST(stat_sees_a_file)
{
    const char *path = test_path("file");
    struct stat one, two, three;
    int fd = open(path, O_CREAT | O_WRONLY, 0640);
    REQUIRE(fd >= 0);
    REQUIRE(write(fd, "12345", 5) == 5);
    CHECK_INT(fstat(fd, &one), 0);
    CHECK_INT(stat(path, &two), 0);
    CHECK_INT(fstatat(AT_FDCWD, path, &three, 0), 0);
    CHECK_INT(one.st_size, 5);
    CHECK_INT(two.st_size, 5);
    CHECK(S_ISREG(three.st_mode));
    CHECK(one.st_ino == two.st_ino && two.st_ino == three.st_ino);
    close(fd);
}

TEST(lstat_sees_the_link)
{
    const char *path = test_path("link");
    struct stat st;
    REQUIRE(symlink("nowhere", path) == 0);
    CHECK_INT(lstat(path, &st), 0);
    CHECK(S_ISLNK(st.st_mode));
    errno = 0;
    CHECK_INT(stat(path, &st), -1);
    CHECK_INT(errno, ENOENT);
}

static void *add_one(void *number)
{
    ++*(int *)number;
    return number;
}

TEST(threads_start_and_end)
{
    pthread_t thread;
    int number = 6;
    void *back = NULL;
    REQUIRE(pthread_create(&thread, NULL, add_one, &number) == 0);
    REQUIRE(pthread_join(thread, &back) == 0);
    CHECK_INT(number, 7);
    CHECK(back == &number);
}

/* The C library itself is asked for a name, by way of the old version of dlsym. */
TEST(symbols_are_found)
{
    CHECK(dlsym(RTLD_DEFAULT, "malloc") != NULL);
    CHECK(dlsym(RTLD_DEFAULT, "no_such_name_anywhere") == NULL);
    CHECK(dlerror() != NULL);
}

static double compute(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    double value;
    REQUIRE(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK);
    REQUIRE(sqlite3_step(stmt) == SQLITE_ROW);
    value = sqlite3_column_double(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

/* SQLite on a file: its calls of fstat, its mutexes, its arithmetic. */
TEST(sqlite_works)
{
    sqlite3 *db = NULL;
    REQUIRE(sqlite3_open(test_path("a.db"), &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, "pragma journal_mode=wal; create table t(x); insert into t values(3)",
                         NULL, NULL, NULL) == SQLITE_OK);
    CHECK_INT(compute(db, "select x * 2 from t"), 6);
    CHECK_INT(compute(db, "select pow(2, 10)"), 1024);
    CHECK_INT(compute(db, "select round(exp(ln(20.0)))"), 20);
    CHECK_INT(sqlite3_close(db), SQLITE_OK);
}

TEST_MAIN(TEST_CASE(constructors_run_once), TEST_CASE(stat_sees_a_file),
          TEST_CASE(lstat_sees_the_link), TEST_CASE(threads_start_and_end),
          TEST_CASE(symbols_are_found), TEST_CASE(sqlite_works))
