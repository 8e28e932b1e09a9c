/* A CUDA program without a framework: it finds CUDA's functions by name, as they are preloaded. It
 * says of each device how much of it is in use, and hears of its own calls by CUPTI. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark.h"

#define MIB ((size_t)1 << 20)

static void *need(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found) {
        fprintf(stderr, "no %s\n", name);
        exit(3);
    }
    return found;
}

/* USE(cudaMalloc, (void **, size_t))(&p, 5): a result other than 0 ends the program. */
#define USE(name, types)                                                                           \
    int(*name) types;                                                                              \
    do {                                                                                           \
        void *found_##name = need(#name);                                                          \
        memcpy(&name, &found_##name, sizeof name);                                                 \
    } while (0)

static void check(int result, int line)
{
    if (result == 0)
        return;
    fprintf(stderr, "line %d: %d\n", line, result);
    exit(4);
}
#define DO(call) check((call), __LINE__)

static int heard;

static void hear(void *own, int domain, uint32_t number, const void *data)
{
    (void)own, (void)domain, (void)number, (void)data;
    heard++;
}

static void subscribe(void)
{
    void *subscriber;
    USE(cuptiSubscribe, (void **, void (*)(void *, int, uint32_t, const void *), void *));
    USE(cuptiEnableCallback, (uint32_t, void *, int, uint32_t));
    DO(cuptiSubscribe(&subscriber, hear, NULL));
    DO(cuptiEnableCallback(1, subscriber, 2, 20)); /* cudaMalloc */
}

/* The recorder looks at each device at the end of a phase, and leaves the program on its own. */
static void end_phase(const char *name, int device)
{
    int now = -1;
    USE(cudaGetDevice, (int *));
    tidemark_phase_end(name);
    DO(cudaGetDevice(&now));
    if (now != device) {
        fprintf(stderr, "%s: on device %d, not %d\n", name, now, device);
        exit(5);
    }
}

static void map_pages(void)
{
    const int32_t where[8] = {1, 0, 1, 0}; /* pinned, of device 0 */
    uint64_t address = 0, handle = 0;
    USE(cuMemAddressReserve, (uint64_t *, size_t, size_t, uint64_t, unsigned long long));
    USE(cuMemCreate, (uint64_t *, size_t, const void *, unsigned long long));
    USE(cuMemMap, (uint64_t, size_t, size_t, uint64_t, unsigned long long));
    DO(cuMemAddressReserve(&address, 4 * MIB, 0, 0, 0));
    DO(cuMemCreate(&handle, 4 * MIB, where, 0));
    DO(cuMemMap(address, 4 * MIB, 0, handle, 0));
}

static void by_streams(void)
{
    void *p, *gone;
    USE(cudaMallocAsync, (void **, size_t, void *));
    USE(cudaFreeAsync, (void *, void *));
    DO(cudaMallocAsync(&p, 32 * MIB, NULL));
    DO(cudaMallocAsync(&gone, 16 * MIB, NULL));
    DO(cudaFreeAsync(gone, NULL));
}

static void say_used(int device)
{
    size_t left, all;
    USE(cudaSetDevice, (int));
    USE(cudaMemGetInfo, (size_t *, size_t *));
    DO(cudaSetDevice(device));
    DO(cudaMemGetInfo(&left, &all));
    printf("%d %zu\n", device, all - left);
}

int main(void)
{
    void *first, *gone, *other, *pinned;
    USE(cudaMalloc, (void **, size_t));
    USE(cudaFree, (void *));
    USE(cudaMallocHost, (void **, size_t));
    USE(cudaSetDevice, (int));
    tidemark_phase_begin("begin");
    DO(cudaMalloc(&first, 64 * MIB));
    end_phase("begin", 0);
    subscribe();
    tidemark_phase_begin("more");
    DO(cudaMalloc(&gone, 20 * MIB));
    DO(cudaMallocHost(&pinned, 3 * MIB));
    map_pages();
    by_streams();
    DO(cudaFree(gone));
    end_phase("more", 0);
    tidemark_phase_begin("other device");
    DO(cudaSetDevice(1));
    DO(cudaMalloc(&other, 8 * MIB));
    end_phase("other device", 1);
    say_used(0);
    say_used(1);
    printf("heard %d\n", heard);
    return fflush(stdout) == 0 ? 0 : 1;
}
