/*
 * prog_plain.c - a program that calls CUDA itself, on two GPUs and without any framework, over the
 * driver of gpus.c: prog_plain LIBCUDA ASKER HOW. HOW is "plain": nothing but calls of CUDA's; or
 * "phases": it names its phases, and prints its own account as each ends:
 *
 *     step,phase,given on GPU 0,given on GPU 1
 *
 * A thread that never had a context names some of them.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpus.h"
#include "tidemark.h"

#define DRIVER(name) (*(__typeof__(name) **)&(void *){dlsym(library, #name)})
#define MIB ((uint64_t)1 << 20)

static void *library;
static void *contexts[2];
static struct {
    uint64_t given[2];
    int step;
} now;

static void check(int result)
{
    if (result)
        exit(3);
}

static void on(int gpu)
{
    check(DRIVER(cuCtxSetCurrent)(contexts[gpu]));
}

static uint64_t take(int gpu, uint64_t bytes)
{
    uint64_t address = 0;
    on(gpu);
    check(DRIVER(cuMemAlloc_v2)(&address, bytes));
    now.given[gpu] += bytes;
    return address;
}

static void drop(int gpu, uint64_t address, uint64_t bytes)
{
    check(DRIVER(cuMemFree_v2)(address));
    now.given[gpu] -= bytes;
}

static void ask(const char *path)
{
    void (*function)(int (*allocate)(uint64_t *, size_t), uint64_t *address);
    void *asker = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *found = asker ? dlsym(asker, "fake_ask") : NULL;
    uint64_t address = 0;
    check(!found);
    memcpy(&function, &found, sizeof function);
    on(0);
    function(DRIVER(cuMemAlloc_v2), &address);
    check(address <= 1);
    now.given[0] += 12345;
}

static void end_phase(const char *name)
{
    tidemark_phase_end(name);
    printf("%d,%s,%llu,%llu\n", now.step, name, (unsigned long long)now.given[0],
           (unsigned long long)now.given[1]);
}

/* Until the recorder has asked these GPUs once more; marks are occasions to do it. Samples keep to
 * a hundredth of the time, so where one took long, as on a busy machine, the next one is late. */
static void wait_for_samples(int first, int last)
{
    unsigned before[] = {DRIVER(gpus_asked)(0), DRIVER(gpus_asked)(1), DRIVER(gpus_asked)(2)};
    for (int gpu = first, tries = 0; gpu <= last && tries < 300000; tries++) {
        if (DRIVER(gpus_asked)(gpu) != before[gpu]) {
            gpu++;
            continue;
        }
        tidemark_mark("look", 1);
        usleep(1000);
    }
}

static void *without_context(void *unused)
{
    (void)unused;
    tidemark_phase_begin("elsewhere");
    wait_for_samples(0, 1);
    end_phase("elsewhere");
    return NULL;
}

static void step(const char *asker)
{
    pthread_t thread;
    uint64_t part = 0;
    tidemark_step_begin((uint64_t)now.step);
    tidemark_phase_begin("load");
    uint64_t large = take(0, 64 * MIB), small = take(1, 16 * MIB);
    wait_for_samples(0, 1);
    end_phase("load"); /* GPU 1 is current */
    tidemark_phase_begin("solve");
    if (now.step == 0)
        ask(asker);
    on(0);
    DRIVER(gpus_hide)(2 * MIB); /* a module's */
    check(DRIVER(cuMemAllocAsync)(&part, 40 * MIB, NULL));
    now.given[0] += now.step ? 0 : 64 * MIB; /* two pieces of the pool, which keeps them */
    wait_for_samples(0, 1);
    end_phase("solve");
    drop(0, large, 64 * MIB);
    drop(1, small, 16 * MIB);
    check(DRIVER(cuMemFreeAsync)(part, NULL));
    check(pthread_create(&thread, NULL, without_context, NULL) || pthread_join(thread, NULL));
    tidemark_step_end();
}

/* What was there at the highest point is what the reports are asked for. */
static void plain(const char *asker)
{
    uint64_t large = take(0, 64 * MIB);
    take(1, 16 * MIB);
    ask(asker);
    uint64_t highest = take(0, 8 * MIB);
    printf("%llu,%llu\n", (unsigned long long)now.given[0], (unsigned long long)now.given[1]);
    drop(0, large, 64 * MIB);
    drop(0, highest, 8 * MIB);
}

/* GPU 2 has a context for a while: behind its end nobody is to touch it. */
static void come_and_go(void)
{
    void *context;
    uint64_t address = 0;
    check(DRIVER(cuCtxCreate_v2)(&context, 0, 2));
    check(DRIVER(cuMemAlloc_v2)(&address, MIB));
    check(DRIVER(cuMemFree_v2)(address));
    wait_for_samples(2, 2);
    check(DRIVER(cuCtxDestroy_v2)(context));
    on(0);
}

int main(int argc, char **argv)
{
    library = argc > 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        return 2;
    int phases = strcmp(argv[3], "phases") == 0;
    check(DRIVER(cuInit)(0));
    check(DRIVER(cuCtxCreate_v2)(&contexts[0], 0, 0));
    check(DRIVER(cuCtxCreate_v2)(&contexts[1], 0, 1));
    if (phases)
        come_and_go();
    if (!phases)
        plain(argv[2]);
    for (now.step = 0; phases && now.step < 3; now.step++)
        step(argv[2]);
    return 0;
}
