/* driver_pool.c - the driver's memory that is ordered by streams, and its pools. */
#include <string.h>

#include "context.h"
#include "cuda_abi.h"
#include "current.h"
#include "driver_memory.h"
#include "machine.h"
#include "pool.h"
#include "records.h"
#include "stream.h"
#include "tell.h"
#include "values.h"

/* CUmemPool_attribute */
enum pool_attribute {
    POOL_REUSE_FIRST = 1,
    POOL_REUSE_LAST = 3,
    POOL_THRESHOLD = 4,
    POOL_RESERVED = 5,
    POOL_RESERVED_HIGH = 6,
    POOL_USED = 7,
    POOL_USED_HIGH = 8
};
/* CUgraphMem_attribute */
enum graph_attribute { GRAPH_USED = 0, GRAPH_USED_HIGH, GRAPH_RESERVED, GRAPH_RESERVED_HIGH };

static void record(enum told_operation operation, uint64_t address, uint64_t bytes, void *stream)
{
    const struct memory_record made = {.operation = operation,
                                       .kind = TOLD_DEVICE,
                                       .address = address,
                                       .bytes = bytes,
                                       .device = current_device(),
                                       .is_async = true,
                                       .stream = (uint32_t)stream_of(stream)->id};
    records_add(&made);
}

/* On a stream that is being captured it becomes a node of the graph, with memory of its own. */
static int take(uint64_t *address, size_t bytes, struct pool *pool, void *stream)
{
    bool captured = stream_put(stream);
    struct pool *from = captured ? pool_of_graphs(pool->device) : pool;
    int err = context_open(pool->device);
    *address = 0;
    if (!err)
        err = pool_take(from, bytes, address);
    if (err)
        return cuda_from_err(err);
    values_forget(*address, bytes);
    if (!captured)
        record(TOLD_ALLOCATION, *address, bytes, stream);
    return CUDA_FINE;
}

API(int, cuMemAllocAsync, uint64_t *address, size_t bytes, void *stream)
{
    TELL(cuMemAllocAsync, told_word(address), bytes, told_word(stream));
    return TOLD(take(address, bytes, pool_standard(current_device()), stream));
}

API(int, cuMemAllocFromPoolAsync, uint64_t *address, size_t bytes, void *pool, void *stream)
{
    TELL(cuMemAllocFromPoolAsync, told_word(address), bytes, told_word(pool), told_word(stream));
    return TOLD(take(address, bytes, pool, stream));
}

API(int, cuMemFreeAsync, uint64_t address, void *stream)
{
    struct extent extent = {0};
    TELL(cuMemFreeAsync, address, told_word(stream));
    bool captured = stream_put(stream), known = machine_look(address, &extent);
    int err = address ? pool_give(address) : 0;
    if (!err && known && !captured)
        record(TOLD_RELEASE, address, extent.bytes, stream);
    return TOLD(cuda_from_err(err));
}

/* ---- pools ---- */

API(int, cuMemPoolCreate, void **pool, const struct abi_memory_at *properties)
{
    TELL(cuMemPoolCreate, told_word(pool), told_word(properties));
    bool on_device = properties->location_type == LOCATION_DEVICE;
    int32_t device = on_device ? properties->device : current_device();
    int err = context_open(device);
    *pool = err ? NULL : pool_new(device);
    if (!err && !*pool)
        return TOLD(CUDA_OUT_OF_MEMORY);
    return TOLD(cuda_from_err(err));
}

API(int, cuMemPoolDestroy, void *pool)
{
    TELL(cuMemPoolDestroy, told_word(pool));
    pool_destroy(pool);
    return TOLD(CUDA_FINE);
}

/* There is nothing that a pool could give back. */
API(int, cuMemPoolTrimTo, void *pool, size_t least)
{
    TELL(cuMemPoolTrimTo, told_word(pool), least);
    return TOLD(CUDA_FINE);
}

API(int, cuDeviceGetDefaultMemPool, void **pool, int device)
{
    if (device < 0 || device >= machine_devices())
        return CUDA_INVALID_DEVICE;
    *pool = pool_standard(device);
    return CUDA_FINE;
}

static void put(void *out, uint64_t value)
{
    memcpy(out, &value, sizeof value);
}

static uint64_t pages(uint64_t bytes)
{
    return (bytes + MACHINE_PAGE - 1) & ~(MACHINE_PAGE - 1);
}

API(int, cuMemPoolGetAttribute, void *pool, int attribute, void *value)
{
    struct pool *it = pool;
    const int reuse = 1;
    switch ((enum pool_attribute)attribute) {
    case POOL_THRESHOLD:
        put(value, it->threshold);
        return CUDA_FINE;
    case POOL_RESERVED:
        put(value, pages(it->used));
        return CUDA_FINE;
    case POOL_USED:
        put(value, it->used);
        return CUDA_FINE;
    case POOL_RESERVED_HIGH:
        put(value, pages(it->highest));
        return CUDA_FINE;
    case POOL_USED_HIGH:
        put(value, it->highest);
        return CUDA_FINE;
    default:
        memcpy(value, &reuse, sizeof reuse);
        return attribute >= POOL_REUSE_FIRST && attribute <= POOL_REUSE_LAST ? CUDA_FINE
                                                                             : CUDA_INVALID_VALUE;
    }
}

/* The highest can only be set back; what is reused how makes no difference here. */
API(int, cuMemPoolSetAttribute, void *pool, int attribute, const void *value)
{
    struct pool *it = pool;
    uint64_t wanted;
    if (attribute == POOL_THRESHOLD) {
        memcpy(&wanted, value, sizeof wanted);
        it->threshold = wanted;
    }
    if (attribute == POOL_RESERVED_HIGH || attribute == POOL_USED_HIGH)
        it->highest = it->used;
    return CUDA_FINE;
}

API(int, cuDeviceGetGraphMemAttribute, int device, int attribute, void *value)
{
    if (device < 0 || device >= machine_devices())
        return CUDA_INVALID_DEVICE;
    const struct pool *pool = pool_of_graphs(device);
    bool highest = attribute == GRAPH_USED_HIGH || attribute == GRAPH_RESERVED_HIGH;
    uint64_t bytes = highest ? pool->highest : pool->used;
    put(value, attribute >= GRAPH_RESERVED ? pages(bytes) : bytes);
    return CUDA_FINE;
}
