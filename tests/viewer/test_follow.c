/*
 * When there is nothing more to wait for: what a recording and its recorder say.
 */
#include "follow.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buf.h"
#include "test.h"

static struct db *with_meta(const char *rows)
{
    struct db *db;
    struct buf sql = {0};
    buf_print(&sql, "DELETE FROM meta; %s", rows);
    unlink(test_path("run.db"));
    REQUIRE(db_create(&db, test_path("run.db")) == 0);
    CHECK_INT(db_exec(db, buf_string(&sql)), 0);
    buf_clear(&sql);
    return db;
}

/* A recorder of that number on that machine, not finished. */
static struct db *recorded_by(pid_t pid, const char *host)
{
    char rows[512];
    snprintf(rows, sizeof rows,
             "INSERT INTO meta VALUES('finished',0),('recorder_pid',%d),('host','%s')", (int)pid,
             host);
    return with_meta(rows);
}

static bool over(struct db *db)
{
    bool it_is = false;
    CHECK_INT(follow_is_over(db, &it_is), 0);
    return it_is;
}

static const char *this_host(void)
{
    static char host[256];
    REQUIRE(gethostname(host, sizeof host - 1) == 0);
    return host;
}

/* A process that was there, and is not any more. */
static pid_t gone(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    REQUIRE(pid > 0 && waitpid(pid, NULL, 0) == pid);
    return pid;
}

TEST(a_finished_recording_is_over)
{
    struct db *db = with_meta("INSERT INTO meta VALUES('finished',1)");
    CHECK(over(db));
    db_close(db);
}

TEST(one_whose_recorder_lives_is_not)
{
    struct db *db = recorded_by(getpid(), this_host());
    for (int i = 0; i < 20; i++)
        CHECK(!over(db));
    CHECK_INT(db_exec(db, "UPDATE meta SET value = 1 WHERE key = 'finished'"), 0);
    CHECK(over(db));
    db_close(db);
}

TEST(one_whose_recorder_is_gone_is_over)
{
    struct db *db = recorded_by(gone(), this_host());
    CHECK(over(db));
    db_close(db);
}

TEST(a_recorder_elsewhere_is_believed)
{
    struct db *db = recorded_by(gone(), "another-machine.example");
    for (int i = 0; i < 20; i++)
        CHECK(!over(db));
    db_close(db);
}

TEST(a_private_recording_is_of_this_machine)
{
    char rows[128];
    snprintf(rows, sizeof rows, "INSERT INTO meta VALUES('finished',0),('recorder_pid',%d)",
             (int)gone());
    struct db *db = with_meta(rows);
    CHECK(over(db));
    snprintf(rows, sizeof rows, "UPDATE meta SET value = %d WHERE key = 'recorder_pid'",
             (int)getpid());
    CHECK_INT(db_exec(db, rows), 0);
    CHECK(!over(db));
    db_close(db);
}

/* The recorder's name comes with the first commit: for that one waits, but not for ever. */
TEST(nobody_is_waited_for_a_while)
{
    struct db *db = with_meta("");
    follow_begin();
    CHECK(!over(db));
    CHECK(!over(db));
    bool it_is = false;
    for (int i = 0; i < 20 && !it_is; i++)
        it_is = over(db);
    CHECK(it_is);
    db_close(db);
}

static void end_waiting(int number)
{
    pid_t parent = getpid(), pid;
    follow_begin();
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        usleep(20000);
        kill(parent, number);
        _exit(0);
    }
    REQUIRE(pid > 0);
    for (int i = 0; i < 100; i++)
        if (!follow_wait())
            break;
    CHECK(!follow_wait());
    while (waitpid(pid, NULL, 0) < 0)
        ;
}

TEST(signals_end_the_waiting_and_not_the_process)
{
    end_waiting(SIGINT);
    end_waiting(SIGTERM);
    follow_begin();
    CHECK(follow_wait());
}

TEST_MAIN(TEST_CASE(a_finished_recording_is_over), TEST_CASE(one_whose_recorder_lives_is_not),
          TEST_CASE(one_whose_recorder_is_gone_is_over),
          TEST_CASE(a_recorder_elsewhere_is_believed),
          TEST_CASE(a_private_recording_is_of_this_machine),
          TEST_CASE(nobody_is_waited_for_a_while),
          TEST_CASE(signals_end_the_waiting_and_not_the_process))
