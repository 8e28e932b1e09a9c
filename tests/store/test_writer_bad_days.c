/*
 * The writer on bad days: a full disk, a reader that never lets go, somebody else's lock, a kill.
 * What was committed stays, and nobody is held up for good.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "fixture.h"
#include "mem.h"
#include "store.h"
#include "test.h"

enum { ROWS = 1000 }; /* of each batch */

/* Writes until pushing fails; returns the batches that were taken. */
static int push_until_closed(struct queue *queue, int most)
{
    int taken = 0;
    while (taken < most && queue_push(queue, store_batch(1 + (int64_t)taken * ROWS, ROWS, true)))
        taken++;
    return taken;
}

TEST(a_full_disk)
{
    const char *path = test_path("full.db");
    struct queue *queue = NULL;
    struct writer *writer;
    struct writer_stats stats;
    bool single = true;
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {.rlim_cur = 2 << 20, .rlim_max = RLIM_INFINITY};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    writer = store_start(path, &queue);
    CHECK(push_until_closed(queue, 5000) < 5000);
    CHECK(writer_failed(writer)); /* at once: the queue closes after the reason is known */
    CHECK(strncmp(writer_message(writer), "no space left on the device: recording stopped after ",
                  53) == 0);
    CHECK(strstr(writer_message(writer), "what was stored before can be read") != NULL);
    CHECK(!queue_push(queue, store_batch(1, 1, true)));
    CHECK_INT(writer_finish(writer, &single, &stats), ERR_FULL);
    CHECK(strstr(stats.message, "no space left") != NULL);
    CHECK(stats.commits > 0);
    queue_free(queue);
    limit.rlim_cur = RLIM_INFINITY;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    struct db *db = NULL;
    REQUIRE(db_open(&db, path) == 0);
    CHECK_INT(store_check_prefix(db), (int64_t)stats.commits * ROWS);
    CHECK_INT(db_check(db), 0);
    db_close(db);
}

/* The drain says why a recording stopped as soon as it finds the queue closed. */
TEST(who_finds_the_queue_closed_finds_the_reason)
{
    for (int round = 0; round < 20; round++) {
        char name[32];
        bool single;
        struct queue *queue = NULL;
        snprintf(name, sizeof name, "closed%d.db", round);
        struct writer *writer = store_start(test_path(name), &queue);
        while (queue_push(queue, store_batch(1, 1, true))) /* the same row again: refused */
            sched_yield();
        CHECK(writer_failed(writer));
        CHECK(writer_message(writer)[0] != '\0');
        CHECK_INT(writer_finish(writer, &single, NULL), ERR_ARG);
        queue_free(queue);
    }
}

/* Batches that share a transaction larger than the disk: what fits is stored all the same, and the
 * reason why the rest is not. */
TEST(a_full_disk_takes_what_fits)
{
    const char *path = test_path("fits.db");
    struct queue *queue = NULL;
    struct writer_stats stats;
    bool single;
    int taken = 0;
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {.rlim_cur = 2 << 20, .rlim_max = RLIM_INFINITY};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    struct writer *writer = store_start(path, &queue);
    while (taken < 5000 && queue_push(queue, store_batch(1 + (int64_t)taken * ROWS, ROWS, false)))
        taken++;
    while (!writer_failed(writer))
        sched_yield();
    CHECK_INT(writer_finish(writer, &single, &stats), ERR_FULL);
    queue_free(queue);
    limit.rlim_cur = RLIM_INFINITY;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    struct db *db = NULL;
    REQUIRE(db_open(&db, path) == 0);
    int64_t stored = store_check_prefix(db);
    CHECK(stored >= 20 * ROWS); /* some 48 bytes each */
    CHECK_INT(stats.blocks, stored);
    CHECK_INT(fixture_int(db, "SELECT count(*) FROM meta WHERE key = 'stopped'"
                              " AND value LIKE 'no space left on the device%'"),
              1);
    db_close(db);
}

TEST(without_memory_the_caller_keeps_the_database)
{
    struct db *db = fixture_empty();
    struct queue *queue = NULL;
    struct writer *writer = NULL;
    mem_fail_after(1);
    CHECK_INT(queue_new(&queue, STORE_LIMIT), ERR_NOMEM);
    CHECK(queue == NULL);
    mem_fail_after(0);
    REQUIRE(queue_new(&queue, STORE_LIMIT) == 0);
    for (int n = 1; n <= 2; n++) {
        mem_fail_after(n);
        CHECK_INT(writer_start(&writer, db, queue, false, NULL), ERR_NOMEM);
        CHECK(writer == NULL);
    }
    mem_fail_after(0);
    CHECK_INT(fixture_int(db, "SELECT count(*) FROM allocation"), 0);
    db_close(db);
    queue_free(queue);
}

TEST(memory_that_runs_out_while_writing_is_a_failure_like_any_other)
{
    struct queue *queue = NULL;
    struct writer *writer = store_start(test_path("run.db"), &queue);
    struct batch *batch = store_batch(1, ROWS, true);
    struct writer_stats stats;
    bool single;
    mem_fail_after(1); /* the next is the writer's: its first statement */
    CHECK(queue_push(queue, batch));
    while (!writer_failed(writer))
        sched_yield();
    mem_fail_after(0);
    CHECK(strstr(writer_message(writer), "out of memory") != NULL);
    CHECK_INT(writer_finish(writer, &single, &stats), ERR_NOMEM);
    CHECK_INT(stats.commits, 0);
    queue_free(queue);
}

TEST(no_room_to_create)
{
    struct db *db = NULL;
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {.rlim_cur = 8192, .rlim_max = RLIM_INFINITY};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK_INT(db_create(&db, test_path("small.db")), ERR_FULL);
    CHECK(db == NULL);
    CHECK(strstr(db_open_message(), "small.db: no space left on the device") != NULL);
    CHECK(access(test_path("small.db"), F_OK) < 0);
}

TEST(a_statement_that_cannot_succeed_stops_the_recording_and_keeps_the_rest)
{
    const char *path = test_path("run.db");
    struct queue *queue = NULL;
    struct writer *writer = store_start(path, &queue);
    struct writer_stats stats;
    bool single;
    CHECK(queue_push(queue, store_batch(1, ROWS, true)));
    struct batch *twice = store_batch(1 + ROWS, 1, true);
    REQUIRE(batch_put_string(twice, &(struct row_string){.id = 1, .text = "a"}));
    REQUIRE(batch_put_string(twice, &(struct row_string){.id = 1, .text = "b"}));
    CHECK(queue_push(queue, twice));
    while (!writer_failed(writer))
        sched_yield();
    CHECK(strstr(writer_message(writer), "recording stopped after 1000 rows") != NULL);
    CHECK_INT(writer_finish(writer, &single, &stats), ERR_ARG);
    CHECK(single);
    queue_free(queue);
    struct db *db = NULL;
    REQUIRE(db_open(&db, path) == 0);
    CHECK_INT(store_check_prefix(db), ROWS);
    CHECK_INT(fixture_int(db, "SELECT count(*) FROM string"), 0);
    db_close(db);
}

TEST(a_reader_that_holds_a_transaction_for_the_whole_run)
{
    const char *path = test_path("run.db");
    struct queue *queue = NULL;
    struct writer *writer = store_start(path, &queue);
    struct db *reader = NULL;
    bool single = true;
    CHECK(queue_push(queue, store_batch(1, ROWS, true)));
    store_wait(path, "SELECT count(*) FROM allocation", ROWS);
    REQUIRE(db_open(&reader, path) == 0);
    fixture_exec(reader, "BEGIN");
    CHECK_INT(store_check_prefix(reader), ROWS);
    for (int i = 1; i < 50; i++)
        CHECK(queue_push(queue, store_batch(1 + i * ROWS, ROWS, true)));
    queue_close(queue);
    CHECK_INT(writer_finish(writer, &single, NULL), 0);
    CHECK(!single);
    CHECK_INT(store_check_prefix(reader), ROWS); /* its own instant, undisturbed */
    fixture_exec(reader, "ROLLBACK");
    CHECK_INT(store_check_prefix(reader), 50 * ROWS);
    CHECK_INT(db_check(reader), 0);
    db_close(reader);
    REQUIRE(db_open(&reader, path) == 0);
    CHECK_INT(store_check_prefix(reader), 50 * ROWS);
    db_close(reader);
    queue_free(queue);
}

/* Takes SQLite's write lock, byte 120 of the log's index, as a shell with a transaction would. */
static pid_t hold_write_lock(const char *index, int seconds)
{
    int ready[2];
    char byte = 0;
    REQUIRE(pipe(ready) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 120, .l_len = 1};
        int file = open(index, O_RDWR);
        if (file < 0 || fcntl(file, F_SETLK, &lock) < 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        sleep((unsigned)seconds);
        _exit(0);
    }
    close(ready[1]);
    REQUIRE(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    return child;
}

TEST(somebody_else_holds_the_write_lock_for_a_while)
{
    const char *path = test_path("run.db");
    struct queue *queue = NULL;
    struct writer *writer = store_start(path, &queue);
    bool single = false;
    CHECK(queue_push(queue, store_batch(1, ROWS, true)));
    store_wait(path, "SELECT count(*) FROM allocation", ROWS);
    pid_t holder = hold_write_lock(test_path("run.db-shm"), 1);
    CHECK(queue_push(queue, store_batch(1 + ROWS, ROWS, true)));
    int status;
    REQUIRE(waitpid(holder, &status, 0) == holder);
    CHECK_INT(status, 0);
    queue_close(queue);
    CHECK_INT(writer_finish(writer, &single, NULL), 0);
    CHECK(single);
    queue_free(queue);
    struct db *db = NULL;
    REQUIRE(db_open(&db, path) == 0);
    CHECK_INT(store_check_prefix(db), 2 * ROWS);
    db_close(db);
}

static pid_t record_in_child(const char *path)
{
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        struct queue *queue = NULL;
        store_start(path, &queue);
        push_until_closed(queue, 1000000);
        _exit(0);
    }
    return child;
}

TEST(killed_in_the_middle_of_writing)
{
    for (int round = 0; round < 5; round++) {
        char name[32];
        snprintf(name, sizeof name, "killed%d.db", round);
        const char *path = test_path(name);
        pid_t child = record_in_child(path);
        struct db *db = NULL;
        while (db_open(&db, path) < 0)
            sched_yield();
        db_close(db);
        int64_t seen = (round + 1) * 10 * ROWS;
        store_wait(path, "SELECT count(*) FROM allocation", seen);
        int status;
        kill(child, SIGKILL);
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFSIGNALED(status));
        REQUIRE(db_open(&db, path) == 0);
        int64_t stored = store_check_prefix(db);
        CHECK(stored >= seen);
        CHECK_INT(stored % ROWS, 0); /* whole commits only */
        CHECK_INT(db_check(db), 0);
        db_close(db);
    }
}

TEST_MAIN(TEST_CASE(a_full_disk), TEST_CASE(who_finds_the_queue_closed_finds_the_reason),
          TEST_CASE(a_full_disk_takes_what_fits),
          TEST_CASE(without_memory_the_caller_keeps_the_database),
          TEST_CASE(memory_that_runs_out_while_writing_is_a_failure_like_any_other),
          TEST_CASE(no_room_to_create),
          TEST_CASE(a_statement_that_cannot_succeed_stops_the_recording_and_keeps_the_rest),
          TEST_CASE(a_reader_that_holds_a_transaction_for_the_whole_run),
          TEST_CASE(somebody_else_holds_the_write_lock_for_a_while),
          TEST_CASE(killed_in_the_middle_of_writing))
