/*
 * prog.c - what is recorded while calls of its recorder fail: STEPS steps of 2 phases, each of
 * BLOCKS blocks, at addresses that only go up, of which every second is freed at once and the
 * others when the phase ends, but for those of the first step. A child without a word of its own.
 * Says "ran", and ends with 9, whatever becomes of its recorder. NAME is one more phase's. Where
 * there are several PROCESSES, each does the steps, at addresses of its own, one after the other.
 *
 *     prog STEPS [NAME [PROCESSES]]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidemark.h"

enum { BLOCKS = 20, STATUS = 9, FIRST_ADDRESS = 0x10000000 };

static void phase(const char *name, bool stay, tidemark_heap_t heap, uintptr_t *next)
{
    tidemark_phase_begin(name);
    for (int i = 0; i < BLOCKS; i++, *next += 0x1000) {
        tidemark_alloc(heap, (void *)*next, 1000);
        if (i % 2)
            tidemark_free(heap, (void *)*next);
    }
    for (uintptr_t i = 2; !stay && i <= BLOCKS; i += 2)
        tidemark_free(heap, (void *)(*next - i * 0x1000));
    tidemark_phase_end(name);
}

static void train(int steps, const char *name, uintptr_t next)
{
    tidemark_heap_t heap = tidemark_heap_open(TIDEMARK_DEVICE_VIRTUAL, 0, "inject");
    if (name) {
        tidemark_phase_begin(name);
        tidemark_phase_end(name);
    }
    for (int step = 0; step < steps; step++) {
        tidemark_step_begin((uint64_t)step);
        phase("forward", step == 0, heap, &next);
        phase("backward", step == 0, heap, &next);
        tidemark_step_end();
    }
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 1, processes = argc > 3 ? atoi(argv[3]) : 1;
    const char *name = argc > 2 ? argv[2] : NULL;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    train(steps, name, FIRST_ADDRESS);
    for (int i = 1; i < processes; i++) {
        pid_t other = fork();
        if (other == 0) {
            train(steps, name, FIRST_ADDRESS + (uintptr_t)(i * steps) * 2 * BLOCKS * 0x1000);
            _exit(0);
        }
        if (other > 0)
            waitpid(other, NULL, 0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
    puts("ran");
    return STATUS;
}
