/*
 * Names that change hands while a recording is written, and files that are cut short meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db_files.h"
#include "error.h"
#include "fixture.h"
#include "held.h"
#include "test.h"

static bool exists(const char *path, const char *suffix)
{
    char name[1024];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return access(name, F_OK) == 0;
}

/* Nothing but the file itself. */
static void check_alone(const char *path)
{
    CHECK(exists(path, ""));
    CHECK(!exists(path, "-wal"));
    CHECK(!exists(path, "-shm"));
    CHECK(!exists(path, "-journal"));
}

static struct db *create(const char *path)
{
    struct db *db = NULL;
    REQUIRE(db_create(&db, path) == 0);
    return db;
}

static void put(struct db *db, int key)
{
    char sql[80];
    snprintf(sql, sizeof sql, "INSERT INTO meta VALUES('%d', zeroblob(5000))", key);
    REQUIRE(db_begin(db) == 0);
    fixture_exec(db, sql);
    REQUIRE(db_commit(db) == 0);
}

static bool end(struct db *db)
{
    int err = db_single_file(db);
    return db_close_single(db) && err == 0;
}

static void check_rows(const char *path, int rows)
{
    struct db *db = NULL;
    REQUIRE(db_open(&db, path) == 0);
    CHECK(db_missing_log(db) == NULL);
    CHECK_INT(db_check(db), 0);
    CHECK_INT(fixture_int(db, "SELECT count(*) FROM meta"), rows);
    db_close(db);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    fputs(text, file);
    fclose(file);
}

TEST(what_lies_beside_a_free_name_is_not_joined)
{
    const char *path = test_path("run.db");
    write_text(test_path("run.db-wal"), "a log of another file");
    write_text(test_path("run.db-shm"), "its index");
    write_text(test_path("run.db-journal"), "a journal");
    struct db *db = create(path);
    put(db, 1);
    CHECK(end(db));
    check_alone(path);
    check_rows(path, 1);
}

/* In each order: who has the name by then removes nothing of the other. */
static void use_again(bool move, bool first_ends_first)
{
    const char *path = test_path("run.db"), *old = test_path("old.db");
    struct db *first = create(path);
    put(first, 1);
    REQUIRE((move ? rename(path, old) : unlink(path)) == 0);
    struct db *second = create(path);
    put(second, 1);
    put(first, 2);
    put(second, 2);
    put(second, 3);
    if (!first_ends_first)
        CHECK(end(second));
    CHECK_INT(end(first), move);
    if (first_ends_first) {
        CHECK(exists(path, "-wal"));
        CHECK(exists(path, "-shm"));
        put(second, 4);
        CHECK(end(second));
    }
    check_alone(path);
    check_rows(path, first_ends_first ? 4 : 3);
    if (move) {
        check_alone(old);
        check_rows(old, 2);
        unlink(old);
    }
    unlink(path);
}

TEST(a_name_that_is_used_again)
{
    for (int order = 0; order < 4; order++)
        use_again(order & 1, order & 2);
}

TEST(one_that_closes_without_an_end_removes_nothing_of_the_other)
{
    const char *path = test_path("run.db");
    struct db *first = create(path);
    put(first, 1);
    unlink(path);
    struct db *second = create(path);
    put(second, 1);
    db_close(first);
    CHECK(exists(path, "-wal"));
    CHECK(end(second));
    check_rows(path, 1);
}

TEST(a_folder_that_is_moved)
{
    struct db *db;
    REQUIRE(mkdir(test_path("folder"), 0700) == 0 && chdir(test_path("folder")) == 0);
    db = create("run.db"); /* whatever it is called by now, it is still run.db here */
    put(db, 1);
    REQUIRE(rename(test_path("folder"), test_path("new")) == 0);
    put(db, 2);
    CHECK(end(db));
    check_alone(test_path("new/run.db"));
    check_rows(test_path("new/run.db"), 2);
}

/* Who opens a moved file while it is written reads what its log has. */
TEST(the_log_follows_a_moved_file)
{
    const char *path = test_path("run.db"), *to = test_path("moved.db");
    struct db *db = create(path);
    put(db, 1);
    REQUIRE(rename(path, to) == 0);
    put(db, 2);
    CHECK(!exists(path, "-wal") && !exists(path, "-shm"));
    check_rows(to, 2);
    put(db, 3);
    check_rows(to, 3);
    CHECK(end(db));
    check_alone(to);
    check_rows(to, 3);
}

static struct db *hold_as_reader(const char *path)
{
    struct db *reader = NULL;
    REQUIRE(db_open(&reader, path) == 0);
    fixture_exec(reader, "BEGIN");
    CHECK_INT(fixture_int(reader, "SELECT count(*) FROM meta"), 1);
    return reader;
}

TEST(a_moved_file_that_a_reader_holds_keeps_its_log)
{
    const char *path = test_path("run.db"), *to = test_path("moved.db");
    struct db *db = create(path);
    put(db, 1);
    struct db *reader = hold_as_reader(path);
    REQUIRE(rename(path, to) == 0);
    put(db, 2);
    CHECK_INT(db_single_file(db), ERR_BUSY);
    CHECK(!db_close_single(db));
    CHECK(!exists(path, "-wal") && exists(to, "-wal"));
    check_rows(to, 2);
    CHECK_INT(fixture_int(reader, "SELECT count(*) FROM meta"), 1);
    db_close(reader);
    check_rows(to, 2);
}

/* Its recorder was killed: a log stays, of which SQLite would take everything. */
static void leave_a_log(const char *path)
{
    pid_t child = fork();
    int status = -1;
    REQUIRE(child >= 0);
    if (child == 0) {
        struct db *db = create(path);
        for (int key = 10; key < 15; key++)
            put(db, key);
        _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    REQUIRE(exists(path, "-wal"));
}

enum when { BEFORE_A_COMMIT, BEFORE_THE_END };

static void move_over(const char *path, const char *to, enum when when, struct db *other)
{
    struct db *db = create(path);
    put(db, 1);
    if (when == BEFORE_A_COMMIT) {
        REQUIRE(rename(path, to) == 0);
        put(db, 2);
        check_rows(to, 2);
    } else {
        put(db, 2);
        REQUIRE(rename(path, to) == 0);
    }
    if (other)
        put(other, 3);
    CHECK(end(db));
    check_alone(to);
    check_rows(to, 2);
}

TEST(a_file_that_is_moved_over_a_dead_one_does_not_get_its_log)
{
    const char *path = test_path("run.db"), *to = test_path("moved.db");
    for (int when = BEFORE_A_COMMIT; when <= BEFORE_THE_END; when++) {
        leave_a_log(to);
        write_text(test_path("moved.db-journal"), "a journal");
        move_over(path, to, (enum when)when, NULL);
        unlink(to);
    }
}

/* The one that was there goes on, into a file without a name. */
TEST(a_file_that_is_moved_over_one_that_is_written)
{
    const char *path = test_path("run.db"), *to = test_path("moved.db");
    for (int when = BEFORE_A_COMMIT; when <= BEFORE_THE_END; when++) {
        struct db *other = create(to);
        put(other, 1);
        move_over(path, to, (enum when)when, other);
        put(other, 4);
        CHECK(!end(other));
        check_alone(to);
        check_rows(to, 2);
        unlink(to);
    }
}

/* With a reader the log stays: beside the new name it is ours. */
TEST(a_log_that_stays_takes_the_place_of_another)
{
    const char *path = test_path("run.db"), *to = test_path("moved.db");
    leave_a_log(to);
    struct db *db = create(path);
    put(db, 1);
    struct db *reader = hold_as_reader(path);
    put(db, 2);
    REQUIRE(rename(path, to) == 0);
    CHECK_INT(db_single_file(db), ERR_BUSY);
    CHECK(!db_close_single(db));
    check_rows(to, 2);
    db_close(reader);
    check_rows(to, 2);
}

/* Nothing of ours can go there: what is there goes all the same. */
TEST(a_removed_log_leaves_no_other_in_its_place)
{
    const char *path = test_path("run.db"), *to = test_path("moved.db");
    leave_a_log(to);
    struct db *db = create(path);
    put(db, 1);
    CHECK_INT(db_checkpoint(db, false), 0);
    REQUIRE(unlink(test_path("run.db-wal")) == 0);
    REQUIRE(rename(path, to) == 0);
    put(db, 2);
    CHECK(!exists(to, "-wal") && !exists(to, "-shm"));
    CHECK(end(db));
    check_alone(to);
    check_rows(to, 2);
}

TEST(a_file_that_is_not_ours_any_more_is_not_written_anew)
{
    const char *path = test_path("run.db");
    struct db *db = create(path);
    put(db, 1);
    CHECK_INT(db_single_file(db), 0);
    REQUIRE(rename(path, test_path("moved.db")) == 0);
    write_text(path, "precious");
    CHECK(db_shrink(db) < 0);
    db_close(db);
    CHECK_STR(fixture_read(path), "precious");
    check_rows(test_path("moved.db"), 1);
}

/* ---- cut short ---- */

TEST(an_index_that_is_cut_short_is_made_anew)
{
    const char *path = test_path("run.db"), *index = test_path("run.db-shm");
    struct db *db = create(path);
    int rows = 0;
    for (int round = 0; round < 3; round++) {
        put(db, ++rows);
        REQUIRE(truncate(index, 0) == 0); /* between two transactions */
        put(db, ++rows);
        REQUIRE(db_begin(db) == 0);
        fixture_exec(db, "INSERT INTO meta VALUES('in', 1)");
        REQUIRE(truncate(index, 0) == 0); /* in one */
        CHECK_INT(fixture_int(db, "SELECT count(*) FROM string"), 0);
        int err = db_commit(db);
        CHECK(err == 0 || (err == ERR_BUSY && db_index_was_cut(db)));
        CHECK(err == 0 || strstr(db_message(db), "run.db-shm was cut short") != NULL);
        CHECK_INT(db_rollback(db), 0);
        rows += err == 0;
        fixture_exec(db, "DELETE FROM meta WHERE key = 'in'");
        rows -= err == 0;
        CHECK_INT(fixture_int(db, "SELECT count(*) FROM meta"), rows);
    }
    REQUIRE(truncate(index, 0) == 0);
    CHECK(end(db));
    check_alone(path);
    check_rows(path, rows);
}

static char touch_beyond_the_end(const char *path)
{
    int file = open(path, O_RDWR);
    REQUIRE(file >= 0);
    volatile char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    REQUIRE(memory != MAP_FAILED && truncate(path, 0) == 0);
    volatile int *number = &errno;
    *number = 4242;
    char read = memory[0];
    CHECK_INT(*number, 4242);
    return read;
}

TEST(who_touches_a_cut_index_sees_no_change_of_errno)
{
    const char *path = test_path("run.db");
    struct db *db = create(path);
    put(db, 1);
    int none = db_guard_index(-1); /* of which the handler learns nothing but an errno */
    CHECK_INT(touch_beyond_the_end(test_path("run.db-shm")), 0);
    db_guard_let_go(none);
    put(db, 2);
    CHECK(end(db));
    check_rows(path, 2);
}

/* Nothing of ours is made longer for it: it ends the process, as it would without us. */
TEST(memory_of_another_file_is_not_mended)
{
    const char *path = test_path("run.db"), *other = test_path("other");
    struct stat was, is;
    int status = 0;
    write_text(other, "not a log's index");
    struct db *db = create(path);
    put(db, 1);
    REQUIRE(stat(test_path("run.db-shm"), &was) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        REQUIRE(freopen("/dev/null", "w", stderr) != NULL);
        touch_beyond_the_end(other);
        _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status != 0);
    REQUIRE(stat(test_path("run.db-shm"), &is) == 0);
    CHECK_INT(is.st_size, was.st_size);
    CHECK(end(db));
}

TEST(a_log_that_is_cut_short_leaves_what_was_moved)
{
    const char *path = test_path("run.db");
    struct db *db = create(path);
    put(db, 1);
    CHECK_INT(db_checkpoint(db, false), 0);
    put(db, 2);
    CHECK_INT(db_cut(db), DB_CUT_NONE);
    REQUIRE(truncate(test_path("run.db-wal"), 0) == 0);
    CHECK_INT(db_begin(db), ERR_CORRUPT);
    CHECK(strstr(db_message(db), "run.db-wal was cut short by another program") != NULL);
    CHECK_INT(db_cut(db), DB_CUT_LOG);
    CHECK_INT(db_checkpoint(db, false), ERR_CORRUPT);
    CHECK_INT(db_single_file(db), ERR_CORRUPT);
    db_salvage_log(db);
    put(db, 3);
    CHECK(end(db));
    check_alone(path);
    check_rows(path, 2);
}

/* By the next commit it has its length again, with zeros for what was there. */
TEST(a_log_that_was_cut_and_grew_again_is_seen)
{
    const char *path = test_path("run.db"), *log = test_path("run.db-wal");
    struct stat before;
    struct db *db = create(path);
    put(db, 1);
    REQUIRE(stat(log, &before) == 0);
    REQUIRE(truncate(log, 0) == 0 && truncate(log, before.st_size) == 0);
    CHECK_INT(db_begin(db), ERR_CORRUPT);
    db_close(db);
}

TEST(a_file_that_is_cut_short_is_said_to_be)
{
    const char *path = test_path("run.db");
    struct db *db = create(path);
    put(db, 1);
    CHECK_INT(db_checkpoint(db, false), 0);
    REQUIRE(truncate(path, 4096) == 0);
    CHECK_INT(db_begin(db), ERR_CORRUPT);
    CHECK(strstr(db_message(db), "run.db was cut short by another program") != NULL);
    CHECK_INT(db_cut(db), DB_CUT_FILE);
    CHECK_INT(db_single_file(db), ERR_CORRUPT);
    CHECK(strstr(db_message(db), "run.db was cut short") != NULL);
    db_close(db);
}

/* ---- held ---- */

TEST(what_becomes_of_a_held_file)
{
    const char *path = test_path("a"), *to = test_path("b");
    struct buf now = {0};
    CHECK_INT(held_open(path), -1);
    write_text(path, "12345");
    int held = held_open(path);
    REQUIRE(held >= 0);
    CHECK_INT(held_bytes(held), 5);
    CHECK_INT(held_fate(held, path, &now), HELD_IN_PLACE);
    CHECK_STR(buf_string(&now), path);
    buf_clear(&now);
    REQUIRE(rename(path, to) == 0);
    write_text(path, "another");
    CHECK(!held_is_at(held, path) && held_is_at(held, to));
    CHECK_INT(held_fate(held, path, &now), HELD_MOVED);
    CHECK_STR(buf_string(&now), to);
    buf_clear(&now);
    REQUIRE(link(to, test_path("c")) == 0 && unlink(to) == 0);
    CHECK_INT(held_fate(held, path, &now), HELD_MOVED); /* by a name that nobody told us */
    CHECK_STR(buf_string(&now), "");
    REQUIRE(unlink(test_path("c")) == 0);
    CHECK_INT(held_fate(held, path, &now), HELD_REMOVED);
    CHECK_STR(buf_string(&now), "");
    close(held);
}

TEST(a_new_file_is_its_owners_whatever_the_umask)
{
    const char *path = test_path("run.db");
    struct stat about;
    int status = -1;
    REQUIRE(chmod(test_folder(), 0777) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(77);
        umask(0777);
        struct db *db = NULL;
        _exit(db_create(&db, path) == 0 && end(db) ? 0 : 1);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        SKIP("cannot become another user");
    CHECK_INT(status, 0);
    REQUIRE(stat(path, &about) == 0);
    CHECK_INT(about.st_mode & 0777, 0600);
}

TEST_MAIN(TEST_CASE(what_lies_beside_a_free_name_is_not_joined),
          TEST_CASE(a_name_that_is_used_again),
          TEST_CASE(one_that_closes_without_an_end_removes_nothing_of_the_other),
          TEST_CASE(a_folder_that_is_moved), TEST_CASE(the_log_follows_a_moved_file),
          TEST_CASE(a_moved_file_that_a_reader_holds_keeps_its_log),
          TEST_CASE(a_file_that_is_moved_over_a_dead_one_does_not_get_its_log),
          TEST_CASE(a_file_that_is_moved_over_one_that_is_written),
          TEST_CASE(a_log_that_stays_takes_the_place_of_another),
          TEST_CASE(a_removed_log_leaves_no_other_in_its_place),
          TEST_CASE(a_file_that_is_not_ours_any_more_is_not_written_anew),
          TEST_CASE(an_index_that_is_cut_short_is_made_anew),
          TEST_CASE(who_touches_a_cut_index_sees_no_change_of_errno),
          TEST_CASE(memory_of_another_file_is_not_mended),
          TEST_CASE(a_log_that_is_cut_short_leaves_what_was_moved),
          TEST_CASE(a_log_that_was_cut_and_grew_again_is_seen),
          TEST_CASE(a_file_that_is_cut_short_is_said_to_be), TEST_CASE(what_becomes_of_a_held_file),
          TEST_CASE(a_new_file_is_its_owners_whatever_the_umask))
