/* runtime_pool.c - memory that is ordered by streams, as the runtime hands it out. */
#include "context.h"
#include "cuda_abi.h"
#include "current.h"
#include "driver_memory.h"
#include "tell.h"

static int ready(void)
{
    return cuda_from_err(context_open(current_device()));
}

static void put(void **pointer, uint64_t address)
{
    *pointer = (void *)(uintptr_t)address;
}

API(int, cudaMallocAsync, void **pointer, size_t bytes, void *stream)
{
    uint64_t at = 0;
    TELL(cudaMallocAsync, told_word(pointer), bytes, told_word(stream));
    int result = ready();
    if (!result && bytes)
        result = cuMemAllocAsync(&at, bytes, stream);
    put(pointer, at);
    return current_result(TOLD(result));
}

API(int, cudaMallocFromPoolAsync, void **pointer, size_t bytes, void *pool, void *stream)
{
    uint64_t at = 0;
    TELL(cudaMallocFromPoolAsync, told_word(pointer), bytes, told_word(pool), told_word(stream));
    int result = ready();
    if (!result && bytes)
        result = cuMemAllocFromPoolAsync(&at, bytes, pool, stream);
    put(pointer, at);
    return current_result(TOLD(result));
}

API(int, cudaFreeAsync, void *pointer, void *stream)
{
    TELL(cudaFreeAsync, told_word(pointer), told_word(stream));
    return current_result(TOLD(pointer ? cuMemFreeAsync(told_word(pointer), stream) : CUDA_FINE));
}

API(int, cudaMemPoolCreate, void **pool, const void *properties)
{
    TELL(cudaMemPoolCreate, told_word(pool), told_word(properties));
    int result = ready();
    if (!result)
        result = cuMemPoolCreate(pool, properties);
    return current_result(TOLD(result));
}

API(int, cudaMemPoolDestroy, void *pool)
{
    TELL(cudaMemPoolDestroy, told_word(pool));
    return current_result(TOLD(cuMemPoolDestroy(pool)));
}

API(int, cudaMemPoolTrimTo, void *pool, size_t least)
{
    TELL(cudaMemPoolTrimTo, told_word(pool), least);
    return current_result(TOLD(cuMemPoolTrimTo(pool, least)));
}

API(int, cudaDeviceGetDefaultMemPool, void **pool, int device)
{
    return current_result(cuDeviceGetDefaultMemPool(pool, device));
}

API(int, cudaDeviceGetMemPool, void **pool, int device)
{
    return cudaDeviceGetDefaultMemPool(pool, device);
}

API(int, cudaMemPoolGetAttribute, void *pool, int attribute, void *value)
{
    return current_result(cuMemPoolGetAttribute(pool, attribute, value));
}

API(int, cudaMemPoolSetAttribute, void *pool, int attribute, const void *value)
{
    return current_result(cuMemPoolSetAttribute(pool, attribute, value));
}

API(int, cudaDeviceGetGraphMemAttribute, int device, int attribute, void *value)
{
    return current_result(cuDeviceGetGraphMemAttribute(device, attribute, value));
}
