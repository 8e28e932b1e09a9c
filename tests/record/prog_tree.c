/*
 * prog_tree.c - a random tree of processes, each of which writes down what it was.
 *
 *     prog_tree LOG SEED DEPTH
 *
 * Every image makes some events, has some children (forked, or executed again), waits for them, and
 * ends: by exit, _exit, a signal, or by another image in the same pid. Before its end it adds a
 * line to LOG: pid, events, 'exit' | 'signal' | 'exec', exit code or signal.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidemark.h"

static const char *program, *log_path;
static uint64_t seed;

static unsigned below(unsigned limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % limit;
}

static void write_down(unsigned events, const char *how, int value)
{
    char line[128];
    int fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int n = snprintf(line, sizeof line, "%d|%u|%s|%d\n", (int)getpid(), events, how, value);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        _exit(98);
    close(fd);
}

static void make_events(unsigned count)
{
    tidemark_heap_t heap = tidemark_heap_open(TIDEMARK_DEVICE_VIRTUAL, 0, "tree");
    for (unsigned i = 0; i < count; i++)
        tidemark_alloc(heap, (void *)(uintptr_t)(0x1000 * (i + 1)), 64);
}

static _Noreturn void become(unsigned depth)
{
    char seed_text[32], depth_text[32];
    snprintf(seed_text, sizeof seed_text, "%u", below(1000000));
    snprintf(depth_text, sizeof depth_text, "%u", depth);
    execl(program, program, log_path, seed_text, depth_text, (char *)NULL);
    _exit(97);
}

static _Noreturn void end(unsigned events, unsigned depth)
{
    unsigned way = below(8);
    if (way == 0 && depth > 0) {
        write_down(events, "exec", -1);
        become(depth - 1);
    }
    if (way == 1) {
        write_down(events, "signal", SIGKILL);
        raise(SIGKILL);
    }
    if (way == 2) {
        write_down(events, "signal", SIGABRT);
        abort();
    }
    int code = (int)below(100);
    write_down(events, "exit", code);
    if (way == 3)
        _exit(code);
    exit(code);
}

/* Has children and waits for them; true in a forked child, which is to live a life of its own. */
static bool have_children(unsigned count, unsigned depth)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned salt = below(1000000);
        pid_t pid = fork();
        if (pid != 0)
            continue;
        seed += salt;
        if (below(2))
            return true;
        become(depth);
    }
    while (wait(NULL) > 0)
        continue;
    return false;
}

/* A silent forked child would have no row, so each life has an event at least. */
static _Noreturn void live(unsigned depth)
{
    for (;; depth--) {
        unsigned events = 1 + below(40);
        make_events(events);
        if (!have_children(depth > 0 ? below(4) : 0, depth - 1))
            end(events, depth);
    }
}

int main(int argc, char **argv)
{
    const struct rlimit no_core = {0, 0};
    if (argc != 4)
        return 99;
    setrlimit(RLIMIT_CORE, &no_core);
    program = argv[0];
    log_path = argv[1];
    seed = strtoull(argv[2], NULL, 10) * 2654435761u;
    live((unsigned)atoi(argv[3]));
}
