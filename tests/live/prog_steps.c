/*
 * prog_steps STEPS MILLISECONDS [say|quiet [GATE]]: a training loop of phases and blocks that takes
 * its time. With `say`, it prints a line as each step begins; that of the last has no end. With
 * GATE, step N is not over before there is a file GATE.N, and the last is the first that begins
 * when there is GATE.end.
 */
#include "tidemark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tidemark_heap_t heap;

static void *get(size_t bytes)
{
    void *block = malloc(bytes);
    if (block)
        tidemark_alloc(heap, block, bytes);
    return block;
}

static void put(void *block)
{
    if (block)
        tidemark_free(heap, block);
    free(block);
}

/* The file is there, or there are no gates. */
static int is_open(const char *gate, const char *which)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%s", gate ? gate : "", which);
    return !gate || access(name, F_OK) == 0;
}

static void pass(const char *gate, unsigned step)
{
    char number[16];
    snprintf(number, sizeof number, "%u", step);
    for (int tries = 0; !is_open(gate, number) && !is_open(gate, "end"); tries++) {
        if (tries > 100000)
            exit(99); /* nobody is there to open it */
        usleep(10000);
    }
}

static void train(unsigned step, useconds_t pause, const char *gate)
{
    tidemark_step_begin(step);
    tidemark_phase_begin("forward");
    void *activations = get(((size_t)step % 256 + 1) << 20);
    usleep(pause);
    tidemark_phase_end("forward");
    tidemark_phase_begin("backward");
    void *gradients = get(1 << 20);
    usleep(pause);
    pass(gate, step);
    put(activations);
    tidemark_phase_end("backward");
    tidemark_phase_begin("optimizer");
    put(gradients);
    tidemark_phase_end("optimizer");
}

int main(int argc, char **argv)
{
    unsigned steps = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 4;
    useconds_t pause = argc > 2 ? (useconds_t)strtoul(argv[2], NULL, 10) * 500 : 1000;
    int say = argc > 3 && strcmp(argv[3], "say") == 0;
    const char *gate = argc > 4 ? argv[4] : NULL;
    heap = tidemark_heap_open(TIDEMARK_DEVICE_CPU, 0, "tensors");
    void *weights = get(4 << 20);
    for (unsigned step = 0; step < steps; step++) {
        if (gate && is_open(gate, "end"))
            steps = step + 1;
        if (say)
            printf("step %u of the program%s", step, step + 1 < steps ? "\n" : "");
        fflush(stdout);
        train(step, pause, gate);
    }
    put(weights);
    printf("the program is done\n");
    return 0;
}
