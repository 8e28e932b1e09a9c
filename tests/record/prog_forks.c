/*
 * prog_forks.c - forks while other threads invent names.
 *
 *     prog_forks FORKS THREADS DEPTH
 *
 * Each child reports a block for each of its ancestors, at the call site that this one named before
 * its fork, and one at a site of its own. The block's size is the line of the site, and its address
 * is made of it, so that a recording can be checked by itself. A child has children in turn, DEPTH
 * deep; the last of them report when their parents are gone.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidemark.h"

enum { DEEPEST = 16 };

static tidemark_heap_t heap;
static tidemark_site_t sites[DEEPEST + 1]; /* of the ancestors */
static unsigned lines[DEEPEST + 1];
static atomic_bool ended;

static tidemark_site_t name_a_site(unsigned line)
{
    char function[32];
    snprintf(function, sizeof function, "line_%u", line);
    return tidemark_site(function, "forks.c", line);
}

static void report(unsigned line, tidemark_site_t site)
{
    const struct tidemark_api *api = tidemark_api_();
    struct tidemark_block block = {.size = sizeof block, .heap = heap, .site = site, .bytes = line};
    block.address = (void *)(uintptr_t)(0x10000ull * line);
    if (api)
        api->block_alloc(&block);
}

static void *invent(void *number)
{
    char name[64];
    for (unsigned i = 0; !atomic_load(&ended) && i < 6000; i++) {
        snprintf(name, sizeof name, "thread_%d_%u", *(const int *)number, i);
        tidemark_site(name, "threads.c", i);
    }
    return NULL;
}

static void report_all(unsigned depth, unsigned line)
{
    for (unsigned i = 0; i <= depth; i++)
        report(lines[i], sites[i]);
    report(line, name_a_site(line));
}

/* Lines of a child are those of its parent's, in a range of its own. */
static void fork_one(unsigned depth, unsigned deepest, unsigned line)
{
    lines[depth] = line;
    sites[depth] = name_a_site(line);
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        _exit(99);
    if (child > 0)
        return;
    if (depth == deepest) {
        for (int i = 0; depth > 0 && i < 5000 && getppid() == parent; i++)
            usleep(1000); /* which ends at once */
        report_all(depth, line + 1);
        _exit(0);
    }
    report_all(depth, line + 1);
    fork_one(depth + 1, deepest, line + 2);
    _exit(0);
}

int main(int argc, char **argv)
{
    unsigned forks = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    int count = argc > 2 ? atoi(argv[2]) : 0, numbers[8];
    unsigned deepest = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
    pthread_t threads[8];
    if (count > 8 || deepest > DEEPEST)
        return 99;
    heap = tidemark_heap_open(TIDEMARK_DEVICE_VIRTUAL, 0, "forks");
    report(1, name_a_site(1));
    for (int i = 0; i < count; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, invent, &numbers[i]) != 0)
            return 99;
    }
    for (unsigned i = 0; i < forks; i++) {
        fork_one(0, deepest, 100 * (i + 1));
        waitpid(-1, NULL, 0);
    }
    atomic_store(&ended, true);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
