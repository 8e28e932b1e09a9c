/*
 * prog_join.c - a program with a caching allocator on a GPU, over a driver of our own:
 * prog_join LIBCUDA ASKER. Its allocator takes segments by cuMemAlloc and by mapping, its blocks
 * are told by tidemark.h, a library takes memory for itself. Nobody plays CUPTI's part in the
 * events: they come from its callbacks. As each phase ends it prints what it knows itself:
 *
 *     step,phase,allocated,reserved,outside
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_driver.h"
#include "tidemark.h"

#define DRIVER(name) (*(__typeof__(name) **)&(void *){dlsym(library, #name)})
#define MIB ((uint64_t)1 << 20)
#define PAGES ((uint64_t)0x7000000000) /* addresses that were reserved */

static void *library;
static tidemark_heap_t heap;
static struct {
    uint64_t allocated, reserved, outside;
    int step;
} now;

static void check(int result)
{
    if (result)
        exit(3);
}

static uint64_t segment(uint64_t bytes)
{
    uint64_t address = 0;
    check(DRIVER(cuMemAlloc_v2)(&address, bytes));
    now.reserved += bytes;
    return address;
}

static void empty(uint64_t address, uint64_t bytes)
{
    check(DRIVER(cuMemFree_v2)(address));
    now.reserved -= bytes;
}

static void page(uint64_t at, uint64_t handles[1])
{
    const uint32_t device[8] = {1, 1, 1, 0}; /* pinned, by descriptor, on device 0 */
    check(DRIVER(cuMemCreate)(handles, 2 * MIB, device, 0));
    check(DRIVER(cuMemMap)(at, 2 * MIB, 0, *handles, 0));
    now.reserved += 2 * MIB;
}

/* One unmaps first, and one lets go of its handle first. */
static void drop_pages(const uint64_t handles[2])
{
    check(DRIVER(cuMemUnmap)(PAGES, 2 * MIB));
    check(DRIVER(cuMemRelease)(handles[0]));
    check(DRIVER(cuMemRelease)(handles[1]));
    check(DRIVER(cuMemUnmap)(PAGES + 2 * MIB, 2 * MIB));
    now.reserved -= 4 * MIB;
}

static void block(uint64_t at, uint64_t bytes)
{
    tidemark_alloc(heap, (const void *)(uintptr_t)at, bytes);
    now.allocated += bytes;
}

static void drop(uint64_t at, uint64_t bytes)
{
    tidemark_free(heap, (const void *)(uintptr_t)at);
    now.allocated -= bytes;
}

static void ask(const char *path)
{
    void (*take)(int (*allocate)(uint64_t *, size_t), uint64_t *address);
    void *asker = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *function = asker ? dlsym(asker, "fake_ask") : NULL;
    uint64_t address = 0;
    check(!function);
    memcpy(&take, &function, sizeof take);
    take(DRIVER(cuMemAlloc_v2), &address);
    check(address <= 1);
    now.outside += 12345;
}

static void end_phase(const char *name)
{
    tidemark_phase_end(name);
    printf("%d,%s,%llu,%llu,%llu\n", now.step, name, (unsigned long long)now.allocated,
           (unsigned long long)now.reserved, (unsigned long long)now.outside);
}

static void step(const char *asker)
{
    uint64_t handles[2];
    tidemark_step_begin((uint64_t)now.step);
    tidemark_phase_begin("forward");
    uint64_t large = segment(20 * MIB);
    block(large, 12 * MIB);
    end_phase("forward");
    tidemark_phase_begin("backward");
    page(PAGES, &handles[0]);
    page(PAGES + 2 * MIB, &handles[1]);
    block(PAGES, 3 * MIB);
    if (now.step == 0)
        ask(asker);
    end_phase("backward");
    tidemark_phase_begin("empty cache");
    drop(PAGES, 3 * MIB);
    drop(large, 12 * MIB);
    drop_pages(handles);
    empty(large, 20 * MIB);
    end_phase("empty cache");
    tidemark_step_end();
}

static void *context;

/* As CUDA's runtime does behind main: it began before the driver called Tidemark. */
static void end_of_cuda(void)
{
    DRIVER(cuCtxDestroy_v2)(context);
}

int main(int argc, char **argv)
{
    library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library || atexit(end_of_cuda) != 0)
        return 2;
    check(DRIVER(cuInit)(0));
    check(DRIVER(cuCtxCreate_v2)(&context, 0, 0));
    heap = tidemark_heap_open(TIDEMARK_DEVICE_CUDA, 0, NULL);
    block(segment(2 * MIB), MIB);
    for (now.step = 0; now.step < 3; now.step++)
        step(argv[2]);
    return 0;
}
