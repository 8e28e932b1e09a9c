/*
 * gpus.c - a libcuda.so.1 with four GPUs of 8 GiB, for one thread at a time that calls for memory.
 * A thread has a stack of contexts. A context costs 300 MiB. Parts of a device's pool come out of
 * memory that the pool takes 32 MiB at a time and keeps. What may be asked only of a context that
 * lives stops the program otherwise.
 */
#include "gpus.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cupti/fake_cupti.h"

#define MIB ((size_t)1 << 20)
#define TOTAL (8192 * MIB)
enum { GPUS = 4, CONTEXTS = 16, BLOCKS = 256, STACK = 8 };

/* The number of a context ends with its device's: so the CUPTI beside this one knows it. */
static _Atomic int lives[CONTEXTS]; /* contexts 0x100, 0x110, ... */
static int context_count;

static struct gpu {
    size_t used; /* with the pool */
    size_t pool_reserved, pool_used;
} gpus[GPUS];
static _Atomic unsigned asked[GPUS];

static struct block {
    uint64_t address;
    size_t bytes;
    int device;
    int pooled;
} blocks[BLOCKS];
static uint64_t next_address = 0x100000;

static __thread void *stack[STACK]; /* of contexts */
static __thread int depth;
static uint32_t correlation;
static int started;

static int device_of(const void *context)
{
    return (int)((uintptr_t)context & 0xf);
}

static _Atomic int *life_of(const void *context)
{
    return &lives[((uintptr_t)context - 0x100) / 0x10];
}

static void *current(void)
{
    void *top = depth ? stack[depth - 1] : NULL;
    if (top && !atomic_load(life_of(top))) {
        fprintf(stderr, "a context that is gone was used\n");
        abort();
    }
    return top;
}

static struct gpu *gpu(void)
{
    return &gpus[device_of(current())];
}

/* ---- CUPTI's part ---- */

static void *symbol(const char *variable, const char *name, int mode)
{
    const char *path = getenv(variable);
    void *library = path ? dlopen(path, RTLD_LAZY | mode) : NULL;
    return library ? dlsym(library, name) : NULL;
}

static void callback(int domain, int place, uint32_t cbid, const void *params, void *context,
                     int result)
{
    fake_call_fn call;
    void *address = symbol("TIDEMARK_CUPTI", "fake_cupti_call", RTLD_NOLOAD);
    memcpy(&call, &address, sizeof call);
    if (call)
        call(domain, place, cbid, params, context, result, correlation);
}

static void enter(uint32_t cbid, const void *params)
{
    correlation++;
    callback(ABI_DRIVER, ABI_ENTER, cbid, params, current(), 0);
}

static int leave(uint32_t cbid, const void *params, int result)
{
    callback(ABI_DRIVER, ABI_EXIT, cbid, params, depth ? stack[depth - 1] : NULL, result);
    return result;
}

/* ---- contexts ---- */

int cuInit(unsigned flags)
{
    int (*inject)(void);
    (void)flags;
    started = 1;
    void *address = symbol("CUDA_INJECTION64_PATH", "InitializeInjection", 0);
    memcpy(&inject, &address, sizeof inject);
    if (inject)
        inject();
    return 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    (void)flags;
    if (context_count == CONTEXTS || device < 0 || device >= GPUS)
        return 1;
    void *made = (void *)(uintptr_t)(0x100 + 0x10 * context_count++ + device);
    atomic_store(life_of(made), 1);
    gpus[device].used += 300 * MIB;
    stack[depth++] = made;
    *context = made;
    callback(ABI_RESOURCE, 0, ABI_CONTEXT_CREATED, NULL, made, 0);
    return 0;
}

int cuCtxDestroy_v2(void *context)
{
    const void *params[] = {context};
    enter(322, params);
    callback(ABI_RESOURCE, 0, ABI_CONTEXT_DESTROY_STARTING, NULL, context, 0);
    gpus[device_of(context)].used -= 300 * MIB;
    atomic_store(life_of(context), 0);
    if (depth && stack[depth - 1] == context)
        depth--;
    return leave(322, params, 0);
}

int cuCtxSetCurrent(void *context)
{
    depth = depth ? depth - 1 : 0;
    if (context)
        stack[depth++] = context;
    return 0;
}

int cuCtxGetCurrent(void **context)
{
    *context = depth ? stack[depth - 1] : NULL;
    return started ? 0 : 3;
}

int cuCtxGetDevice(int *device)
{
    if (!current())
        return 201;
    *device = device_of(current());
    return 0;
}

int cuCtxPushCurrent_v2(void *context)
{
    if (depth == STACK)
        return 1;
    stack[depth++] = context;
    current();
    return 0;
}

int cuCtxPopCurrent_v2(void **context)
{
    if (!depth)
        return 201;
    *context = stack[--depth];
    return 0;
}

/* ---- memory ---- */

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    if (!current())
        return 201;
    atomic_fetch_add(&asked[gpu() - gpus], 1);
    *free_bytes = TOTAL - gpu()->used;
    *total = TOTAL;
    return 0;
}

unsigned gpus_asked(int gpu)
{
    return atomic_load(&asked[gpu]);
}

void gpus_hide(size_t bytes)
{
    gpu()->used += bytes;
}

static int give(uint64_t *address, size_t bytes, int pooled)
{
    struct block *block = blocks;
    while (block < blocks + BLOCKS && block->address)
        block++;
    if (block == blocks + BLOCKS || bytes > TOTAL - gpu()->used)
        return 2;
    *block = (struct block){next_address, bytes, device_of(current()), pooled};
    *address = next_address;
    next_address += (bytes + 511) / 512 * 512;
    return 0;
}

static struct block *block_at(uint64_t address)
{
    for (size_t i = 0; i < BLOCKS; i++)
        if (address && blocks[i].address == address)
            return &blocks[i];
    return NULL;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    const struct {
        uint64_t *address;
        size_t bytes;
    } params = {address, bytes};
    enter(243, &params);
    int result = give(address, bytes, 0);
    gpu()->used += result ? 0 : bytes;
    return leave(243, &params, result);
}

int cuMemFree_v2(uint64_t address)
{
    enter(245, &address);
    struct block *block = block_at(address);
    if (block) {
        gpus[block->device].used -= block->bytes;
        block->address = 0;
    }
    return leave(245, &address, block ? 0 : 1);
}

int cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream)
{
    const struct {
        uint64_t *address;
        size_t bytes;
        void *stream;
    } params = {address, bytes, stream};
    enter(598, &params);
    int result = give(address, bytes, 1);
    gpu()->pool_used += result ? 0 : bytes;
    while (gpu()->pool_reserved < gpu()->pool_used) {
        gpu()->pool_reserved += 32 * MIB;
        gpu()->used += 32 * MIB;
    }
    return leave(598, &params, result);
}

int cuMemFreeAsync(uint64_t address, void *stream)
{
    const struct {
        uint64_t address;
        void *stream;
    } params = {address, stream};
    enter(600, &params);
    struct block *block = block_at(address);
    if (block) {
        gpus[block->device].pool_used -= block->bytes;
        block->address = 0;
    }
    return leave(600, &params, block ? 0 : 1);
}

int cuDeviceGetDefaultMemPool(uint64_t *pool, int device)
{
    *pool = 0x9000 + (uint64_t)device;
    return 0;
}

int cuMemPoolGetAttribute(uint64_t pool, int attribute, uint64_t *value)
{
    const struct gpu *of = &gpus[pool & 0xf];
    *value = attribute == ABI_POOL_RESERVED ? of->pool_reserved : of->pool_used;
    return 0;
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    *mode = 0;
    return 0;
}
