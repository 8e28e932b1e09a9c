/*
 * bench_forks TIDEMARK FOLDER - how long the first event of a forked child takes, out of a program
 * with many call sites, beside the same out of one without; under `tidemark record`, with a
 * recording in FOLDER.
 *
 * bench_forks child SITES is the program: it names the sites, forks 100 times, and prints the mean
 * in seconds.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "clock.h"
#include "tidemark.h"

enum { FORKS = 100, ROUNDS = 7, PATH_BYTES = 512 };

extern char **environ;

static void fail(const char *what)
{
    fprintf(stderr, "bench_forks: %s\n", what);
    exit(1);
}

/* ---- the program ---- */

static void name_sites(long count)
{
    char name[32];
    for (long i = 0; i < count; i++) {
        snprintf(name, sizeof name, "function_%ld", i);
        tidemark_site(name, "a/source/file.py", (uint32_t)i);
    }
}

static void fork_and_report(tidemark_heap_t heap, uint64_t *sum_ns)
{
    pid_t child = fork();
    if (child == 0) {
        uint64_t begin = clock_now_ns();
        tidemark_alloc(heap, (void *)0x1000, 64);
        *sum_ns += clock_now_ns() - begin;
        _exit(0);
    }
    if (child < 0 || waitpid(child, NULL, 0) != child)
        fail("cannot fork");
}

static int run_program(long sites)
{
    uint64_t *sum_ns =
        mmap(NULL, sizeof *sum_ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    tidemark_heap_t heap = tidemark_heap_open(TIDEMARK_DEVICE_VIRTUAL, 0, "forks");
    if (sum_ns == MAP_FAILED)
        fail("no memory");
    name_sites(sites);
    tidemark_alloc(heap, (void *)0x40, 64);
    for (int i = 0; i < FORKS; i++)
        fork_and_report(heap, sum_ns);
    printf("%.9f\n", (double)*sum_ns / FORKS / 1e9);
    return 0;
}

/* ---- the benchmark ---- */

static double first_event(const char *tidemark, const char *recording, const char *self,
                          const char *sites)
{
    const char *argv[] = {tidemark, "record", "--force", "-o",  recording,
                          "--",     self,     "child",   sites, NULL};
    char text[64] = "";
    int ends[2], status;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (pipe(ends) != 0)
        fail("no pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, tidemark, &actions, NULL, (char **)(uintptr_t)argv, environ) != 0)
        fail(tidemark);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    ssize_t bytes = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    if (waitpid(pid, &status, 0) != pid || status != 0 || bytes <= 0)
        fail("the recording failed");
    return strtod(text, NULL);
}

int main(int argc, char **argv)
{
    struct bench_series series = {0};
    char recording[PATH_BYTES];
    const char *asked = getenv("TIDEMARK_BENCH_ROUNDS");
    int rounds = asked && atoi(asked) > 0 && atoi(asked) < ROUNDS ? atoi(asked) : ROUNDS;
    if (argc == 3 && strcmp(argv[1], "child") == 0)
        return run_program(atol(argv[2]));
    if (argc != 3)
        fail("usage: bench_forks TIDEMARK FOLDER");
    snprintf(recording, sizeof recording, "%s/forks.db", argv[2]);
    for (int i = 0; i < rounds; i++) {
        double floor = first_event(argv[1], recording, argv[0], "0");
        bench_add(&series, floor * 1e3, first_event(argv[1], recording, argv[0], "150000") * 1e3);
    }
    bench_row("first event of a forked child, 150,000 call sites; beside none", &series, "ms",
              "<= 1 ms");
    unlink(recording);
    return 0;
}
