/* What the kernel says about processes, the table, and arguments as text. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem.h"
#include "process.h"
#include "test.h"

TEST(a_stat_line_is_read_behind_any_name)
{
    struct proc_stat stat;
    CHECK(proc_stat_parse(&stat, "12 (a) b ( c) Z 7 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0 "
                                 "0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 256"));
    CHECK_INT(stat.state, 'Z');
    CHECK_INT(stat.ppid, 7);
    CHECK_INT(stat.start_time, 4711);
    CHECK_INT(stat.wait_status, 256);
}

TEST(a_damaged_stat_line_is_refused)
{
    struct proc_stat stat;
    CHECK(!proc_stat_parse(&stat, ""));
    CHECK(!proc_stat_parse(&stat, "12 (name"));
    CHECK(!proc_stat_parse(&stat, "12 (name)"));
    CHECK(!proc_stat_parse(&stat, "12 (name) S 1 1 1"));
}

TEST(this_process_is_there)
{
    struct proc_stat stat;
    REQUIRE(proc_stat_read(&stat, getpid()));
    CHECK_INT(stat.ppid, getppid());
    CHECK(stat.start_time > 0);
    CHECK(proc_thread_exists(getpid(), (uint32_t)getpid()));
    CHECK(!proc_thread_exists(getpid(), 1u << 30));
}

static pid_t start_child(int exit_code, int signal)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (signal)
            raise(signal);
        _exit(exit_code);
    }
    return pid;
}

/* A zombie as long as nobody waits for it. */
static void wait_for_zombie(pid_t pid)
{
    siginfo_t info;
    REQUIRE(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
}

TEST(the_end_of_a_zombie_is_known)
{
    struct process_table table = {0};
    pid_t pid = start_child(7, 0);
    wait_for_zombie(pid);
    struct process *process = process_add(&table, pid, -1);
    REQUIRE(process != NULL);
    CHECK(process_is_dead(process));
    struct process_end end = process_how_it_ended(process);
    CHECK_STR(end.ended, "exit");
    CHECK_INT(end.exit_code, 7);
    CHECK_INT(end.signal, PROCESS_NOT_KNOWN);
    process_table_clear(&table);
}

TEST(the_signal_that_ended_a_zombie_is_known)
{
    struct process_table table = {0};
    pid_t pid = start_child(0, SIGKILL);
    wait_for_zombie(pid);
    struct process *process = process_add(&table, pid, proc_open_pidfd(pid));
    REQUIRE(process != NULL);
    CHECK(process_is_dead(process));
    struct process_end end = process_how_it_ended(process);
    CHECK_STR(end.ended, "signal");
    CHECK_INT(end.signal, SIGKILL);
    process_table_clear(&table);
}

TEST(after_reaping_a_pidfd_knows_or_nobody)
{
    struct process_table table = {0};
    pid_t pid = start_child(9, 0);
    struct process *process = process_add(&table, pid, proc_open_pidfd(pid));
    REQUIRE(process != NULL);
    if (process->pidfd < 0)
        SKIP("no pidfds here");
    waitpid(pid, NULL, 0);
    CHECK(process_is_dead(process));
    struct process_end end = process_how_it_ended(process);
    if (strcmp(end.ended, "unknown") != 0) {
        CHECK_STR(end.ended, "exit");
        CHECK_INT(end.exit_code, 9);
    }
    process_table_clear(&table);
}

TEST(a_pid_that_is_another_process_by_now_is_dead)
{
    struct process_table table = {0};
    struct process *process = process_add(&table, getpid(), -1);
    REQUIRE(process != NULL);
    CHECK(!process_is_dead(process));
    process->start_time--;
    CHECK(process_is_dead(process));
    process->root = true;
    CHECK(!process_is_dead(process));
    process_table_clear(&table);
}

TEST(the_table_follows_a_random_life)
{
    struct process_table table = {0};
    uint64_t seed = 5, keys = 0;
    for (int i = 0; i < 3000; i++) {
        pid_t pid = (pid_t)(2000000000 + test_random(&seed) % 60);
        struct process *process = process_find(&table, pid);
        if (!process) {
            process = process_add(&table, pid, -1);
            REQUIRE(process != NULL);
            CHECK_INT(process->key, ++keys);
        } else if (test_random(&seed) % 3 == 0) {
            process->fetched = true;
            process_new_image(&table, process);
            CHECK_INT(process->key, ++keys);
            CHECK(!process->fetched);
        } else {
            process_remove(&table, process);
            CHECK(process_find(&table, pid) == NULL);
        }
        REQUIRE(process_table_is_valid(&table));
    }
    process_table_clear(&table);
    CHECK(process_table_is_valid(&table));
}

TEST(a_table_without_memory_stays_whole)
{
    struct process_table table = {0};
    REQUIRE(process_add(&table, 2000000001, -1) != NULL);
    for (long n = 1;; n++) {
        mem_fail_after(n);
        struct process *process = process_add(&table, 2000000002, -1);
        mem_fail_after(0);
        CHECK(process_table_is_valid(&table));
        if (process)
            break;
        REQUIRE(n < 50);
    }
    CHECK(process_find(&table, 2000000001) != NULL);
    process_table_clear(&table);
}

TEST(a_descendant_is_found_by_its_environment)
{
    char value[32];
    pid_t pids[4];
    int ready[2], never[2];
    snprintf(value, sizeof value, "%d", (int)getpid());
    REQUIRE(pipe(ready) == 0 && pipe(never) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("TIDEMARK_TEST_MARK", value, 1);
        dup2(never[0], STDIN_FILENO);
        dup2(ready[1], STDOUT_FILENO);
        /* Within an exec there is a moment without an environment: so it makes none. */
        execlp("sh", "sh", "-c", "echo; read line", (char *)NULL);
        _exit(127);
    }
    char byte;
    REQUIRE(read(ready[0], &byte, 1) == 1);
    CHECK_INT(proc_find_by_environ("TIDEMARK_TEST_MARK", value, pids, 4), 1);
    CHECK_INT(pids[0], pid);
    CHECK(proc_environ_has(pid, "TIDEMARK_TEST_MARK", value));
    CHECK(!proc_environ_has(pid, "TIDEMARK_TEST_MARK", "other"));
    CHECK(!proc_environ_has(pid, "TIDEMARK_TEST", "_MARK"));
    kill(pid, SIGKILL);
    wait_for_zombie(pid);
    CHECK_INT(proc_find_by_environ("TIDEMARK_TEST_MARK", value, pids, 4), 0);
}

TEST(descendants_are_known)
{
    int ready[2];
    pid_t grandchild = 0;
    REQUIRE(pipe(ready) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t own = fork();
        if (own == 0) {
            pause();
            _exit(0);
        }
        (void)!write(ready[1], &own, sizeof own);
        waitpid(own, NULL, 0);
        _exit(0);
    }
    REQUIRE(read(ready[0], &grandchild, sizeof grandchild) == (ssize_t)sizeof grandchild);
    CHECK(proc_is_descendant(pid));
    CHECK(proc_is_descendant(grandchild));
    CHECK(!proc_is_descendant(getppid()));
    CHECK(!proc_is_descendant(getpid()));
    CHECK(!proc_is_descendant(1));
    CHECK(!proc_is_descendant(2000000000));
    kill(grandchild, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* A child that waits to be told, then becomes /bin/sleep. */
static pid_t future_sleeper(int *tell)
{
    int go[2];
    char byte;
    REQUIRE(pipe2(go, O_CLOEXEC) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)!read(go[0], &byte, 1);
        execl("/bin/sleep", "sleep", "20", (char *)NULL);
        _exit(127);
    }
    close(go[0]);
    *tell = go[1];
    return pid;
}

TEST(an_exec_makes_another_image)
{
    struct process_table table = {0};
    struct buf what = {0};
    int tell;
    pid_t pid = future_sleeper(&tell);
    struct process *process = process_add(&table, pid, -1);
    REQUIRE(process != NULL);
    process_said(process, "/folder/test_process", 21);
    CHECK(!process_is_other(process, &what));
    CHECK_INT(what.count, 0);
    uint64_t before = proc_image_read(pid, NULL, 0);
    REQUIRE(before != 0 && write(tell, "x", 1) == 1);
    while (proc_image_read(pid, NULL, 0) == before)
        sched_yield();
    CHECK(process_is_other(process, &what));
    CHECK(strncmp(buf_string(&what), "became /", 8) == 0);
    buf_clear(&what);
    process_said(process,
                 "-sleep\0"
                 "20",
                 10); /* said anew, as a login shell would */
    CHECK(!process_is_other(process, &what));
    process_said(process, "/bin/sh\0./sleep", 16); /* a script has its own name */
    CHECK(!process_is_other(process, &what));
    process_said(process, "/folder/test_process", 21);
    kill(pid, SIGKILL);
    wait_for_zombie(pid);
    CHECK(process_is_other(process, &what)); /* by its name alone */
    CHECK_STR(buf_string(&what), "seems to have become sleep");
    waitpid(pid, NULL, 0);
    CHECK(!process_is_other(process, &what));
    buf_clear(&what);
    process_table_clear(&table);
    close(tell);
}

static void check_quoted(const char *argument, size_t bytes, const char *want)
{
    struct buf out = {0};
    argv_quote(&out, argument, bytes);
    CHECK_STR(buf_string(&out), want);
    buf_clear(&out);
}

TEST(arguments_are_quoted_as_a_shell_needs_it)
{
    check_quoted("train.py", 8, "train.py");
    check_quoted("", 0, "''");
    check_quoted("a b", 3, "'a b'");
    check_quoted("it's", 4, "'it'\\''s'");
    check_quoted("$HOME", 5, "'$HOME'");
    check_quoted("gr\xc3\xbcn", 5, "'gr\xc3\xbcn'");
    check_quoted("\xff", 1, "'?'");
    check_quoted("\033\x7f\xc2\x9b", 4,
                 "'?"
                 "?"
                 "?'");
    check_quoted("\xc3", 1, "'?'");
    check_quoted("a\nb", 3, "'a?b'");
}

TEST(a_cut_list_of_arguments_says_so)
{
    struct buf out = {0};
    argv_text(&out, "a\0b c\0de", 9, 9);
    CHECK_STR(buf_string(&out), "a 'b c' de");
    buf_clear(&out);
    argv_text(&out, "a\0b", 3, 900);
    CHECK_STR(buf_string(&out), "a b ...");
    buf_clear(&out);
    argv_text(&out, "", 0, 0);
    CHECK_STR(buf_string(&out), "");
    buf_clear(&out);
}

TEST_MAIN(TEST_CASE(a_stat_line_is_read_behind_any_name), TEST_CASE(a_damaged_stat_line_is_refused),
          TEST_CASE(this_process_is_there), TEST_CASE(the_end_of_a_zombie_is_known),
          TEST_CASE(the_signal_that_ended_a_zombie_is_known),
          TEST_CASE(after_reaping_a_pidfd_knows_or_nobody),
          TEST_CASE(a_pid_that_is_another_process_by_now_is_dead),
          TEST_CASE(the_table_follows_a_random_life), TEST_CASE(a_table_without_memory_stays_whole),
          TEST_CASE(a_descendant_is_found_by_its_environment), TEST_CASE(descendants_are_known),
          TEST_CASE(an_exec_makes_another_image),
          TEST_CASE(arguments_are_quoted_as_a_shell_needs_it),
          TEST_CASE(a_cut_list_of_arguments_says_so))
