/*
 * prog_crowd.c - processes that come and go, some hundred a second, with rests in between.
 *
 *     prog_crowd FILL ROUNDS EACH FIFO     FILL blocks of its own and a rest; then ROUNDS times
 *                                          EACH processes and a rest: until a byte is in FIFO
 *     prog_crowd leaf NUMBER               one that has become another image
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidemark.h"

enum { AT_ONCE = 6, BLOCKS = 24, SITES = 300, STEP_BLOCKS = 200 };

static tidemark_site_t site_of(unsigned number)
{
    char function[32];
    snprintf(function, sizeof function, "make_%u", number % SITES);
    return tidemark_site(function, "crowd.c", number % SITES + 1);
}

static tidemark_heap_t open_heap(void)
{
    struct tidemark_heap_desc desc = {
        .size = sizeof desc, .device_kind = TIDEMARK_DEVICE_VIRTUAL, .name = "crowd"};
    return tidemark_heap_open_desc(&desc);
}

static void take(tidemark_heap_t heap, unsigned number)
{
    struct tidemark_block block = {.size = sizeof block,
                                   .heap = heap,
                                   .site = site_of(number),
                                   .address = (const void *)(uintptr_t)(4096 + 512u * number),
                                   .bytes = 256 + number % 256};
    tidemark_block_alloc(&block);
}

static void give(tidemark_heap_t heap, unsigned number)
{
    tidemark_free(heap, (const void *)(uintptr_t)(4096 + 512u * number));
}

/* A few steps; some of the blocks stay. */
static void live(unsigned number)
{
    tidemark_heap_t heap = open_heap();
    for (unsigned step = 0; step < 3; step++) {
        tidemark_step_begin(step);
        tidemark_phase_begin("forward");
        for (unsigned i = 0; i < BLOCKS; i++)
            take(heap, step * BLOCKS + i);
        tidemark_phase_end("forward");
        tidemark_phase_begin("backward");
        for (unsigned i = number % 3; i < BLOCKS; i++)
            give(heap, step * BLOCKS + i);
        if (number % 7)
            tidemark_phase_end("backward"); /* else it ends inside */
    }
}

static _Noreturn void leave(unsigned number)
{
    if (number % 11 == 0)
        raise(SIGKILL);
    _exit((int)(number % 2));
}

/* A child that is known, and whose parent has gone when it becomes another image. */
static void leave_orphan(char **argv, const char *text)
{
    int ends[2];
    char byte = 0;
    pid_t parent = getpid();
    if (pipe(ends) != 0)
        return;
    if (fork() != 0) {
        (void)!read(ends[0], &byte, 1);
        return;
    }
    live(1);
    (void)!write(ends[1], &byte, 1);
    while (getppid() == parent)
        usleep(1000);
    usleep(200000);
    execl(argv[0], argv[0], "leaf", text, (char *)NULL);
    _exit(97);
}

static _Noreturn void be_child(char **argv, unsigned number)
{
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    if (number % 50 == 49) {
        live(number);
        leave_orphan(argv, text);
        _exit(0);
    }
    if (number % 4 == 0)
        execl(argv[0], argv[0], "leaf", text, (char *)NULL);
    live(number);
    if (number % 4 == 1)
        execl(argv[0], argv[0], "leaf", text, (char *)NULL);
    leave(number);
}

static void run_each(char **argv, unsigned first, unsigned count)
{
    unsigned running = 0;
    for (unsigned i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0)
            be_child(argv, first + i);
        running += pid > 0;
        if (running == AT_ONCE && wait(NULL) > 0)
            running--;
    }
    while (wait(NULL) > 0)
        continue;
}

/* So much that room is short from then on. */
static void fill(unsigned blocks)
{
    tidemark_heap_t heap = open_heap();
    for (unsigned i = 0; i < blocks; i++) {
        if (i % STEP_BLOCKS == 0) {
            tidemark_step_begin(i / STEP_BLOCKS);
            tidemark_phase_begin("forward");
        }
        take(heap, i % 1000);
        give(heap, i % 1000);
        if (i % STEP_BLOCKS == STEP_BLOCKS - 1)
            tidemark_phase_end("forward");
    }
}

static void rest(int fifo)
{
    char byte;
    while (read(fifo, &byte, 1) < 0 && errno == EINTR)
        continue;
}

int main(int argc, char **argv)
{
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (argc == 3 && strcmp(argv[1], "leaf") == 0) {
        live((unsigned)atoi(argv[2]));
        leave((unsigned)atoi(argv[2]));
    }
    if (argc != 5)
        return 99;
    unsigned rounds = (unsigned)atoi(argv[2]), each = (unsigned)atoi(argv[3]);
    int fifo = open(argv[4], O_RDWR | O_CLOEXEC);
    if (fifo < 0)
        return 98;
    fill((unsigned)atoi(argv[1]));
    rest(fifo);
    for (unsigned i = 0; i < rounds; i++) {
        run_each(argv, i * each, each);
        rest(fifo);
    }
    return 0;
}
