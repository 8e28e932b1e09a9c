/* A recording in which memory runs out at any allocation: the program runs or it does not, nothing
 * crashes or hangs, and what is on the disk can be read. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db.h"
#include "error.h"
#include "mem.h"
#include "record.h"
#include "test.h"

#define LAST 160

static int record_once(const char *output, long nth)
{
    const char *const argv[] = {"sh", "-c", "exit 9", NULL};
    const struct record_options options = {.output = output, .argv = argv, .ring_bits = 8};
    struct record_result result;
    mem_fail_after(nth);
    int err = record_run(&options, &result);
    mem_fail_after(0);
    int code = err ? 100 : result.exit_code;
    if (result.started != (err == BASE_OK))
        code = 101;
    record_result_clear(&result);
    return code;
}

/* A child for each: a crash or a hang is one failed round. */
static int in_a_child(const char *output, long nth)
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(600);
        _exit(record_once(output, nth));
    }
    REQUIRE(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void check_file(const char *path, long nth)
{
    struct db *db;
    int err = db_open(&db, path);
    if (err == BASE_OK) {
        CHECK_INT(db_check(db), BASE_OK);
        db_close(db);
    } else {
        printf("     allocation %ld: %s\n", nth, db_open_message());
        CHECK_INT(err, BASE_OK);
    }
}

TEST(memory_may_run_out_anywhere)
{
    int not_started = 0, ran = 0;
    for (long nth = 1; nth <= LAST; nth++) {
        char name[32];
        snprintf(name, sizeof name, "%ld.db", nth);
        const char *path = test_path(name);
        int code = in_a_child(path, nth);
        if (code == 9) {
            ran++;
            check_file(path, nth);
        } else {
            not_started++;
            CHECK_INT(code, 100);
            CHECK(access(path, F_OK) != 0);
        }
        unlink(path);
    }
    CHECK(not_started > 5);
    CHECK(ran > 5);
}

TEST_MAIN(TEST_CASE(memory_may_run_out_anywhere))
