/*
 * pool.h - device memory by address, of whom it was taken: of the device itself, or of a pool for
 * memory that is ordered by streams. A pool here keeps nothing back: what it has reserved is what
 * is used of it, in whole pages. What graphs allocate counts as a pool of its own.
 *
 * A pool that was destroyed goes with its last piece.
 */
#ifndef TIDEMARK_REHEARSAL_POOL_H
#define TIDEMARK_REHEARSAL_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pool {
    int32_t device;
    bool is_own;            /* the program made it */
    _Atomic bool destroyed; /* by the program */
    _Atomic uint64_t used, highest, threshold;
};

struct pool *pool_standard(int32_t device);
struct pool *pool_of_graphs(int32_t device);
struct pool *pool_new(int32_t device); /* NULL: no memory */
void pool_destroy(struct pool *pool);

/* Errors of the machine's. */
int pool_take(struct pool *pool, uint64_t bytes, uint64_t *address);
/* Memory of the host that is managed: cudaFree takes it, too. */
int pool_take_managed(int32_t device, uint64_t bytes, uint64_t *address);
/* Of a pool or of the device itself. ERR_NOTFOUND: nothing that can be freed begins there. */
int pool_give(uint64_t address);

#endif
