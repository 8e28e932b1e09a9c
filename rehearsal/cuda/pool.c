/* pool.c - see pool.h. */
#include "pool.h"

#include "error.h"
#include "machine.h"
#include "mem.h"

static struct pool standard[MACHINE_DEVICES_MAX], of_graphs[MACHINE_DEVICES_MAX];
static char managed; /* what such memory is kept under */

struct pool *pool_standard(int32_t device)
{
    standard[device].device = device;
    return &standard[device];
}

struct pool *pool_of_graphs(int32_t device)
{
    of_graphs[device].device = device;
    return &of_graphs[device];
}

struct pool *pool_new(int32_t device)
{
    struct pool *pool = mem_alloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->device = device;
    pool->is_own = true;
    return pool;
}

void pool_destroy(struct pool *pool)
{
    if (!pool->is_own)
        return;
    if (atomic_load(&pool->used) == 0)
        mem_free(pool);
    else
        atomic_store(&pool->destroyed, true);
}

static void add(struct pool *pool, uint64_t bytes)
{
    uint64_t used = atomic_fetch_add(&pool->used, bytes) + bytes;
    uint64_t highest = atomic_load(&pool->highest);
    while (used > highest && !atomic_compare_exchange_weak(&pool->highest, &highest, used))
        ;
}

static void subtract(struct pool *pool, uint64_t bytes)
{
    if (atomic_fetch_sub(&pool->used, bytes) == bytes && atomic_load(&pool->destroyed))
        mem_free(pool);
}

int pool_take(struct pool *pool, uint64_t bytes, uint64_t *address)
{
    struct extent extent;
    int err = machine_take(pool->device, bytes, address);
    if (err || !machine_keep(*address, pool) || !machine_look(*address, &extent))
        return err;
    add(pool, extent.bytes);
    return BASE_OK;
}

int pool_take_managed(int32_t device, uint64_t bytes, uint64_t *address)
{
    int err = machine_pin(device, bytes, address);
    if (!err)
        (void)machine_keep(*address, &managed);
    return err;
}

int pool_give(uint64_t address)
{
    struct extent extent;
    if (!machine_look(address, &extent) || extent.base != address)
        return ERR_NOTFOUND;
    if (extent.of == &managed)
        return machine_unpin(address);
    int err = machine_give(address);
    if (!err && extent.of)
        subtract(extent.of, extent.bytes);
    return err;
}
