/*
 * bench_reports TIDEMARK MAKE_RECORDING MAKE_SNAPSHOT FOLDER - how long the reports take on a large
 * recording, beside one bare scan of its table of allocations; what `fit` and `import` take; and
 * the most memory that each had, as the kernel counted it.
 *
 * Before each report and each scan the kernel is asked to forget what it has of files, where it
 * lets us; then both begin at the disk. Where it does not, one run of each comes before those that
 * count, so that both begin with the file in memory. The rows say which it was.
 *
 * Without room on the disk a row says so, and nothing is measured.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay.h"
#include "bench.h"
#include "clock.h"
#include "db.h"

enum { ROUNDS = 5, MOST_ARGUMENTS = 8, PATH_BYTES = 512 };
static const double room_needed = 3e9; /* bytes: the recording and its log, the snapshot */

extern char **environ;

struct bench {
    const char *tidemark, *make_recording, *make_snapshot;
    char large[PATH_BYTES], million[PATH_BYTES], pickle[PATH_BYTES], imported[PATH_BYTES];
    bool dropped; /* the page cache */
};

struct cost {
    double seconds, mib;
};

static void fail(const char *what)
{
    fprintf(stderr, "bench_reports: %s\n", what);
    exit(1);
}

static int rounds(void)
{
    const char *asked = getenv("TIDEMARK_BENCH_ROUNDS");
    int count = asked ? atoi(asked) : ROUNDS;
    return count > 0 && count < ROUNDS ? count : ROUNDS;
}

static bool drop_page_cache(void)
{
    int file = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    sync();
    bool done = write(file, "1", 1) == 1;
    close(file);
    return done;
}

static struct cost wait_for(pid_t pid, uint64_t start, const char *what)
{
    struct rusage used;
    int status;
    if (wait4(pid, &status, 0, &used) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail(what);
    return (struct cost){(double)(clock_now_ns() - start) / 1e9, (double)used.ru_maxrss / 1024};
}

/* What the command says goes nowhere. The last argument is NULL. */
static struct cost run(const char *const *command)
{
    posix_spawn_file_actions_t actions;
    char *argv[MOST_ARGUMENTS + 1] = {0};
    pid_t pid;
    for (int i = 0; i < MOST_ARGUMENTS && command[i]; i++)
        argv[i] = (char *)(uintptr_t)command[i];
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    uint64_t start = clock_now_ns();
    if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) != 0)
        fail(argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    return wait_for(pid, start, argv[1]);
}

static int64_t ask(const char *path, const char *sql)
{
    struct db *db;
    struct db_stmt *stmt = NULL;
    if (db_open(&db, path) != 0 || db_prepare(db, &stmt, sql) != 0 || db_step(stmt) != DB_ROW)
        fail(path);
    int64_t value = db_column_int(stmt, 0);
    db_finalize(stmt);
    db_close(db);
    return value;
}

/* In a process of its own, as the report is. */
static struct cost scan(const char *path)
{
    uint64_t start = clock_now_ns();
    pid_t pid = fork();
    if (pid == 0)
        _exit(ask(path, "SELECT sum(size) FROM allocation") > 0 ? 0 : 1);
    return wait_for(pid, start, "scan");
}

/* ---- reports ---- */

static void report_row(struct bench *bench, const char *name, const char *goal)
{
    const char *const command[] = {bench->tidemark, name, bench->large, NULL};
    struct bench_series series = {0};
    double memory[BENCH_ROUNDS];
    char what[128];
    if (!bench->dropped) {
        scan(bench->large);
        run(command);
    }
    for (int round = 0; round < rounds(); round++) {
        drop_page_cache();
        struct cost floor = scan(bench->large);
        drop_page_cache();
        struct cost took = run(command);
        memory[series.count] = took.mib;
        bench_add(&series, floor.seconds, took.seconds);
    }
    snprintf(what, sizeof what, "`%s` of 10 M allocations, %s", name,
             bench->dropped ? "page cache dropped" : "file in the page cache");
    bench_row(what, &series, "s", goal);
    printf("| memory of `%s` | %.4g MiB | - | - | %s |\n", name, bench_median(memory, series.count),
           "<= 256 MiB");
    fflush(stdout);
}

static bool has_command(const struct bench *bench, const char *name)
{
    char line[PATH_BYTES * 2];
    snprintf(line, sizeof line, "'%s' help %s >/dev/null 2>&1", bench->tidemark, name);
    return system(line) == 0;
}

static void reports(struct bench *bench)
{
    static const struct {
        const char *name, *goal;
    } all[] = {{"peak", "<= 1 s"}, {"why", "<= 1 s"}, {"frag", "<= 1 s"}, {"leaks", "<= 2 s"}};
    const char *const make[] = {bench->make_recording, bench->large, NULL};
    run(make);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (has_command(bench, all[i].name))
            report_row(bench, all[i].name, all[i].goal);
        else
            printf("| `%s` | there is no such command yet | - | - | %s |\n", all[i].name,
                   all[i].goal);
    unlink(bench->large);
}

/* ---- fit ---- */

/* Default settings without a limit, the whole trace: what a question to `fit` is made of. */
static void replay_rows(struct bench *bench)
{
    struct replay_trace trace;
    struct replay_scratch scratch = {0};
    struct alloc_config config;
    struct db *db;
    double speed[BENCH_ROUNDS];
    size_t count = 0;
    alloc_config_default(&config);
    const struct replay_setup setup = {.config = &config};
    if (db_open(&db, bench->million) != 0 || replay_load(db, 1, 1, &trace) != 0)
        fail(bench->million);
    for (int round = 0; round < 3 * rounds(); round++) {
        struct replay_outcome outcome;
        uint64_t start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID); /* it never waits */
        if (replay_run(&trace, &setup, &scratch, NULL, &outcome) != 0 || !outcome.survived)
            fail("replay");
        uint64_t took = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - start;
        speed[count++] = (double)outcome.ops / (double)took * 1e3;
    }
    printf("| replay inside of `fit` | %.4g M events/s | - | - | >= 10 |\n",
           bench_median(speed, count));
    replay_scratch_clear(&scratch);
    replay_trace_clear(&trace);
    db_close(db);
}

/* Seconds and memory of one command, the median of the rounds. */
static void command_rows(const char *what, const char *const *command, const char *goal,
                         const char *memory_goal, const char *remove_before)
{
    double seconds[BENCH_ROUNDS], memory[BENCH_ROUNDS];
    size_t count = 0;
    for (int round = 0; round < rounds(); round++) {
        if (remove_before)
            unlink(remove_before);
        struct cost took = run(command);
        seconds[count] = took.seconds;
        memory[count++] = took.mib;
    }
    printf("| %s | %.4g s | - | - | %s |\n", what, bench_median(seconds, count), goal);
    printf("| memory of %s | %.4g MiB | - | - | %s |\n", what, bench_median(memory, count),
           memory_goal);
    fflush(stdout);
}

static void fit(struct bench *bench)
{
    const char *const make[] = {
        bench->make_recording, bench->million, "500000", "20000", "10000", NULL};
    const char *const plain[] = {bench->tidemark, "fit", bench->million, NULL};
    const char *const table[] = {bench->tidemark, "fit", "--table", bench->million, NULL};
    run(make);
    replay_rows(bench);
    command_rows("`fit` of 1 M events", plain, "<= 3 s", "for the record", NULL);
    command_rows("`fit --table` of 1 M events", table, "<= 15 s", "for the record", NULL);
    unlink(bench->million);
}

/* ---- import ---- */

static void import_rows(struct bench *bench, const char *bytes, const char *what, const char *goal,
                        const char *memory_goal)
{
    const char *const make[] = {bench->make_snapshot, bench->pickle, bytes, NULL};
    const char *const command[] = {bench->tidemark, "import", bench->pickle, "-o",
                                   bench->imported, NULL};
    run(make);
    command_rows(what, command, goal, memory_goal, bench->imported);
    unlink(bench->pickle);
    unlink(bench->imported);
}

/* ---- */

static bool has_room(const char *folder)
{
    struct statvfs disk;
    return statvfs(folder, &disk) == 0 &&
           (double)disk.f_bavail * (double)disk.f_frsize >= room_needed;
}

int main(int argc, char **argv)
{
    struct bench bench;
    if (argc != 5)
        fail("usage: bench_reports TIDEMARK MAKE_RECORDING MAKE_SNAPSHOT FOLDER");
    bench = (struct bench){.tidemark = argv[1],
                           .make_recording = argv[2],
                           .make_snapshot = argv[3],
                           .dropped = drop_page_cache()};
    snprintf(bench.large, PATH_BYTES, "%s/large.db", argv[4]);
    snprintf(bench.million, PATH_BYTES, "%s/million.db", argv[4]);
    snprintf(bench.pickle, PATH_BYTES, "%s/snapshot.pickle", argv[4]);
    snprintf(bench.imported, PATH_BYTES, "%s/imported.db", argv[4]);
    if (!has_room(argv[4])) {
        printf("| reports, `fit`, `import` | not measured: less than 3 GB of disk | - | - | - |\n");
        return 0;
    }
    reports(&bench);
    fit(&bench);
    import_rows(&bench, "3000000", "`import` of a snapshot of 3 MB", "<= 0.3 s", "for the record");
    import_rows(&bench, "300000000", "`import` of a snapshot of 300 MB", "for the record",
                "<= 256 MiB");
    return 0;
}
