/* The stand-in's CUPTI: its records of memory, and who is called when the driver starts. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_abi.h"
#include "stand_in.h"

#define MIB ((size_t)1 << 20)

static _Alignas(8) uint8_t buffer[300];
static size_t complete_bytes;
static int requests, completes;

static void request(uint8_t **out, size_t *bytes, size_t *most)
{
    *out = buffer;
    *bytes = sizeof buffer;
    *most = 0;
    requests++;
}

static void complete(void *context, uint32_t stream, uint8_t *out, size_t bytes, size_t valid)
{
    (void)context, (void)stream;
    CHECK(out == buffer && bytes == sizeof buffer);
    complete_bytes = valid;
    completes++;
}

static int next(struct abi_record **record)
{
    return CALL(int, cuptiActivityGetNextRecord, (uint8_t *, size_t, struct abi_record **),
                (buffer, complete_bytes, record));
}

TEST(records_are_of_memory_alone)
{
    struct abi_record *record = NULL;
    struct abi_memory memory;
    size_t dropped = 5;
    open_stand_in("gpu=t4");
    CHECK_INT(CALL(int, cuptiActivityEnable, (int), (ABI_CONCURRENT_KERNEL)), 27);
    CHECK_INT(CALL(int, cuptiActivityEnable, (int), (ABI_MEMORY2)), 0);
    gpu_malloc(2 * MIB); /* nobody takes it */
    CHECK_INT(CALL(int, cuptiActivityGetNumDroppedRecords, (const void *, uint32_t, size_t *),
                   (NULL, 0, &dropped)),
              0);
    CHECK_INT(dropped, 1);
    CHECK_INT(CALL(int, cuptiActivityRegisterCallbacks, (abi_request_fn, abi_complete_fn),
                   (request, complete)),
              0);
    void *p = gpu_malloc(3 * MIB);
    CALL(int, cudaFree, (void *), (p));
    CHECK(requests == 1 && completes == 0);
    CALL(int, cudaMalloc, (void **, size_t), (&p, 5 * MIB)); /* two fit */
    CHECK(requests == 2 && completes == 1);
    CHECK_INT(CALL(int, cuptiActivityFlushAll, (uint32_t), (1)), 0);
    CHECK_INT(completes, 2);
    CHECK_INT(next(&record), 0);
    memcpy(&memory, record, sizeof memory);
    CHECK_INT(memory.kind, ABI_MEMORY2);
    CHECK_INT(memory.operation, ABI_MEMORY_ALLOCATION);
    CHECK_INT(memory.memory_kind, ABI_MEMORY_DEVICE);
    CHECK_INT(memory.bytes, 5 * MIB);
    CHECK(memory.address == (uint64_t)(uintptr_t)p && memory.correlation && memory.time);
    CHECK_INT(next(&record), ABI_LIMIT);
}

/* ---- the driver's start ---- */

TEST(what_is_injected_is_called_when_the_driver_starts)
{
    int count, (*called)(void);
    REQUIRE(setenv("CUDA_INJECTION64_PATH", getenv("TIDEMARK_INJECTED"), 1) == 0);
    void *injected = dlopen(getenv("TIDEMARK_INJECTED"), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(injected != NULL);
    void *found = dlsym(injected, "injected_called");
    memcpy(&called, &found, sizeof called);
    open_stand_in("gpu=t4");
    CHECK_INT(called(), 0);
    CALL(int, cudaGetDeviceCount, (int *), (&count));
    CHECK_INT(called(), 1);
    CALL(int, cuInit, (unsigned), (0));
    gpu_malloc(1);
    CHECK_INT(called(), 1);
}

TEST_MAIN(TEST_CASE(records_are_of_memory_alone),
          TEST_CASE(what_is_injected_is_called_when_the_driver_starts))
