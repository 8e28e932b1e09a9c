/*
 * life.c - the public functions that are no request: making an allocator and ending it, its
 * settings and what it counted.
 */
#include "engine.h"
#include "mem.h"

/* ---- settings and statistics ---- */

/* How much there is, which is asked only where settings speak of a part of it: before that a
 * program may not have begun with its device. */
static uint64_t whole_device(struct alloc *alloc)
{
    uint64_t free_bytes, total;
    bool asks = alloc->config.memory_fraction < 1 || alloc->config.throws;
    if (!alloc->device_bytes && asks &&
        alloc->device->memory(alloc->device->self, &free_bytes, &total) == BASE_OK)
        alloc->device_bytes = total;
    return alloc->device_bytes ? alloc->device_bytes : UINT64_MAX;
}

/* Read anew with each text of settings; the limit is not. */
static uint64_t throw_at(struct alloc *alloc)
{
    uint64_t whole = whole_device(alloc);
    uint64_t part = alloc_config_limit(&alloc->config, whole);
    return part < whole ? part : whole;
}

int alloc_configure(struct alloc *alloc, const struct alloc_config *config)
{
    if (!alloc_config_is_valid(config))
        return ERR_ARG;
    engine_lock(alloc);
    alloc->config = *config;
    alloc->throw_at = throw_at(alloc);
    alloc->expandable = config->expandable_segments && alloc->device->reserve;
    engine_unlock(alloc);
    return BASE_OK;
}

void alloc_limit(struct alloc *alloc, uint64_t bytes)
{
    engine_lock(alloc);
    alloc->limit = bytes ? bytes : UINT64_MAX;
    engine_unlock(alloc);
}

void alloc_stats(struct alloc *alloc, struct alloc_stats *stats)
{
    engine_lock(alloc);
    counters_read(&alloc->counters, stats);
    engine_unlock(alloc);
}

void alloc_reset_peaks(struct alloc *alloc)
{
    engine_lock(alloc);
    counters_reset_peaks(&alloc->counters);
    engine_unlock(alloc);
}

void alloc_reset_accumulated(struct alloc *alloc)
{
    engine_lock(alloc);
    counters_reset_accumulated(&alloc->counters);
    engine_unlock(alloc);
}

/* ---- life ---- */

int alloc_new(struct alloc **out, const struct alloc_options *options)
{
    struct alloc_config config;
    *out = NULL;
    alloc_config_default(&config);
    if (options->config)
        config = *options->config;
    if (!options->device || !alloc_config_is_valid(&config))
        return ERR_ARG;
    struct alloc *alloc = mem_alloc(1, sizeof *alloc);
    if (!alloc)
        return ERR_NOMEM;
    if (!MEM_GROW(alloc->pools, alloc->pools_cap, 1)) {
        mem_free(alloc);
        return ERR_NOMEM;
    }
    alloc->pools[0] = (struct pool){.used = true, .users = 1};
    alloc->pool_count = 1;
    alloc->flags = options->flags;
    alloc->device = options->device;
    if (options->observer)
        alloc->observer = *options->observer;
    alloc->config = config;
    alloc->expandable = config.expandable_segments && alloc->device->reserve;
    alloc->device_bytes = options->device_bytes;
    alloc->throw_at = throw_at(alloc);
    alloc->limit =
        options->limit ? options->limit : alloc_config_limit(&config, whole_device(alloc));
    *out = alloc;
    return BASE_OK;
}

void alloc_delete(struct alloc *alloc)
{
    if (!alloc)
        return;
    assert(engine_is_valid(alloc));
    uses_drop_all(alloc);
    ladder_give_everything(alloc);
    for (size_t i = 0; i < alloc->set_count; i++)
        mem_free(alloc->sets[i]);
    blockmap_clear(&alloc->map);
    mem_free(alloc->blocks_memory);
    mem_free(alloc->sets);
    mem_free(alloc->segments);
    mem_free(alloc->pools);
    mem_free(alloc->begun);
    mem_free(alloc->uses);
    mem_free(alloc->queues);
    mem_free(alloc);
}

bool alloc_is_valid(struct alloc *alloc)
{
    engine_lock(alloc);
    bool valid = engine_is_valid(alloc);
    engine_unlock(alloc);
    return valid;
}
