/*
 * pools.c - private pools, and the sets of free blocks of all pools.
 *
 * A pool's record stays as long as it has users or segments. A set belongs to one stream in one
 * half of a pool; it is made at the first request and goes with its pool.
 */
#include <assert.h>

#include "engine.h"
#include "mem.h"

/* ---- sets ---- */

static uint32_t set_make(struct alloc *alloc, uint32_t pool, bool small, uint64_t stream)
{
    size_t at = 0;
    assert(pool < alloc->pool_count);
    while (at < alloc->set_count && alloc->sets[at])
        at++;
    if (at >= UINT32_MAX || !MEM_GROW(alloc->sets, alloc->sets_cap, at + 1))
        return (uint32_t)alloc->set_count;
    struct freeset *set = mem_alloc(1, sizeof *set);
    if (!set)
        return (uint32_t)alloc->set_count;
    set->stream = stream;
    set->pool = pool;
    set->small = small;
    set->number = (uint32_t)at;
    alloc->sets[at] = set;
    if (at == alloc->set_count)
        alloc->set_count++;
    return (uint32_t)at;
}

uint32_t set_find_slow(struct alloc *alloc, uint32_t pool, bool small, uint64_t stream)
{
    uint32_t at = 0;
    while (at < alloc->set_count && !set_is(alloc->sets[at], pool, small, stream))
        at++;
    if (at == alloc->set_count)
        at = set_make(alloc, pool, small, stream);
    alloc->last_set[small] = at;
    return at;
}

/* Streams are few: each step looks for the next one among all. */
struct freeset *set_next(const struct alloc *alloc, uint32_t pool, bool small,
                         const struct freeset *last)
{
    struct freeset *next = NULL;
    for (size_t i = 0; i < alloc->set_count; i++) {
        struct freeset *set = alloc->sets[i];
        if (set && set->pool == pool && set->small == small &&
            (!last || set->stream > last->stream) && (!next || set->stream < next->stream))
            next = set;
    }
    return next;
}

/* ---- pools ---- */

uint32_t pool_find(const struct alloc *alloc, uint64_t id)
{
    for (uint32_t at = 0; at < alloc->pool_count; at++) {
        if (alloc->pools[at].used && alloc->pools[at].id == id)
            return at;
    }
    return (uint32_t)alloc->pool_count;
}

int pool_make(struct alloc *alloc, uint64_t id, uint32_t *at)
{
    *at = pool_find(alloc, id);
    if (*at < alloc->pool_count)
        return BASE_OK;
    *at = 0;
    while (*at < alloc->pool_count && alloc->pools[*at].used)
        ++*at;
    if (!MEM_GROW(alloc->pools, alloc->pools_cap, (size_t)*at + 1))
        return ERR_NOMEM;
    alloc->pools[*at] = (struct pool){.id = id, .used = true};
    if (*at == alloc->pool_count)
        alloc->pool_count++;
    return BASE_OK;
}

static size_t diversion_find(const struct alloc *alloc, uint32_t pool)
{
    size_t at = 0;
    while (at < alloc->begun_count && alloc->begun[at].pool != pool)
        at++;
    return at;
}

void pool_drop_if_empty(struct alloc *alloc, uint32_t at)
{
    struct pool *pool = &alloc->pools[at];
    assert(at < alloc->pool_count);
    if (at == 0 || pool->users || diversion_find(alloc, at) < alloc->begun_count)
        return;
    expand_drop_idle(alloc, at);
    if (pool->segments)
        return;
    for (size_t i = 0; i < alloc->set_count; i++) {
        if (!alloc->sets[i] || alloc->sets[i]->pool != at)
            continue;
        mem_free(alloc->sets[i]);
        alloc->sets[i] = NULL;
    }
    *pool = (struct pool){0};
}

uint32_t pool_of_diversion(const struct alloc *alloc, uint64_t stream)
{
    for (size_t i = alloc->begun_count; i-- > 0;) {
        const struct diversion *begun = &alloc->begun[i];
        if (!begun->accepts || begun->accepts(begun->self, stream))
            return begun->pool;
    }
    return 0;
}

static int begin_locked(struct alloc *alloc, uint64_t id,
                        bool (*accepts)(void *self, uint64_t stream), void *self)
{
    uint32_t pool = pool_find(alloc, id);
    if (pool < alloc->pool_count && diversion_find(alloc, pool) < alloc->begun_count)
        return ERR_EXISTS;
    if (!MEM_GROW(alloc->begun, alloc->begun_cap, alloc->begun_count + 1))
        return ERR_NOMEM;
    int err = pool_make(alloc, id, &pool);
    if (err != BASE_OK)
        return err;
    alloc->pools[pool].users++;
    alloc->begun[alloc->begun_count++] = (struct diversion){pool, accepts, self};
    return BASE_OK;
}

int alloc_pool_begin(struct alloc *alloc, uint64_t id, bool (*accepts)(void *self, uint64_t stream),
                     void *self)
{
    if (id == 0)
        return ERR_ARG;
    engine_lock(alloc);
    int err = begin_locked(alloc, id, accepts, self);
    engine_unlock(alloc);
    return err;
}

static int end_locked(struct alloc *alloc, uint64_t id)
{
    size_t at = diversion_find(alloc, pool_find(alloc, id));
    if (id == 0 || at == alloc->begun_count)
        return ERR_NOTFOUND;
    for (alloc->begun_count--; at < alloc->begun_count; at++)
        alloc->begun[at] = alloc->begun[at + 1];
    return BASE_OK;
}

int alloc_pool_end(struct alloc *alloc, uint64_t id)
{
    engine_lock(alloc);
    int err = end_locked(alloc, id);
    engine_unlock(alloc);
    return err;
}

int alloc_pool_release(struct alloc *alloc, uint64_t id)
{
    int err = BASE_OK;
    engine_lock(alloc);
    uint32_t pool = pool_find(alloc, id);
    if (id == 0 || pool == alloc->pool_count || alloc->pools[pool].users == 0)
        err = ERR_NOTFOUND;
    else
        alloc->pools[pool].users--;
    engine_unlock(alloc);
    return err;
}
