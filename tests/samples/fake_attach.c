#include "fake_attach.h"
#include "map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_counts fake_counts;

const struct tidemark_api *tidemark_attach(uint32_t version);

static struct map blocks;   /* address -> bytes */
static struct map waiting;  /* address -> bytes */
static struct map segments; /* address -> bytes */
static FILE *output;
static int64_t step = -1;
static char phase[64];

static void keep_text(const char *text)
{
    snprintf(fake_counts.text, sizeof fake_counts.text, "%s", text ? text : "(null)");
}

static uint64_t key_of(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

static void highest(uint64_t *maximum, uint64_t value)
{
    if (value > *maximum)
        *maximum = value;
}

static tidemark_heap_t heap_open(const struct tidemark_heap_desc *desc)
{
    fake_counts.heap = *desc;
    fake_counts.errors += desc->size != sizeof *desc;
    return ++fake_counts.heaps;
}

static tidemark_site_t site(const char *function, const char *file, uint32_t line)
{
    keep_text(function);
    fake_counts.number = line;
    fake_counts.errors += !strrchr(file, '.');
    return ++fake_counts.sites;
}

/* A block needs a heap, and must lie in a segment as soon as there are any. */
static void block_alloc(const struct tidemark_block *block)
{
    uint64_t old;
    fake_counts.allocs++;
    fake_counts.block = *block;
    fake_counts.errors += block->size != sizeof *block || block->heap == 0;
    fake_counts.errors += block->has_requested && block->requested > block->bytes;
    if (!map_put(&blocks, key_of(block->address), block->bytes, &old) || old != MAP_NONE)
        fake_counts.errors++;
    fake_counts.allocated += block->bytes;
    fake_counts.errors += fake_counts.reserved && fake_counts.allocated > fake_counts.reserved;
    highest(&fake_counts.max_allocated, fake_counts.allocated);
}

static void block_free(tidemark_heap_t heap, const void *address)
{
    uint64_t bytes = map_remove(&blocks, key_of(address));
    fake_counts.frees++;
    if (bytes == MAP_NONE || heap == 0)
        fake_counts.errors++;
    else
        fake_counts.allocated -= bytes;
}

static void segment_alloc(tidemark_heap_t heap, const void *address, uint64_t bytes)
{
    uint64_t old;
    fake_counts.segment_allocs++;
    if (heap == 0 || !map_put(&segments, key_of(address), bytes, &old) || old != MAP_NONE)
        fake_counts.errors++;
    fake_counts.reserved += bytes;
    highest(&fake_counts.max_reserved, fake_counts.reserved);
}

static void segment_free(tidemark_heap_t heap, const void *address)
{
    uint64_t bytes = map_remove(&segments, key_of(address));
    fake_counts.segment_frees++;
    if (bytes == MAP_NONE || heap == 0)
        fake_counts.errors++;
    else
        fake_counts.reserved -= bytes;
}

/* A free that waits, then idle: the block is active in between. */
static void block_free_waits(tidemark_heap_t heap, const void *address)
{
    uint64_t bytes = map_get(&blocks, key_of(address));
    fake_counts.waits++;
    block_free(heap, address);
    fake_counts.frees--;
    if (bytes == MAP_NONE || !map_put(&waiting, key_of(address), bytes, NULL))
        fake_counts.errors++;
}

static void block_idle(tidemark_heap_t heap, const void *address)
{
    fake_counts.idles++;
    fake_counts.errors += heap == 0 || map_remove(&waiting, key_of(address)) == MAP_NONE;
}

static void segment_map(tidemark_heap_t heap, const void *address, uint64_t bytes)
{
    fake_counts.maps++;
    fake_counts.errors += heap == 0 || !address || !bytes;
    fake_counts.reserved += bytes;
    highest(&fake_counts.max_reserved, fake_counts.reserved);
}

static void segment_unmap(tidemark_heap_t heap, const void *address, uint64_t bytes)
{
    fake_counts.unmaps++;
    fake_counts.errors += heap == 0 || !address || bytes > fake_counts.reserved;
    fake_counts.reserved -= bytes;
}

static void setting(tidemark_heap_t heap, const char *key, const char *value)
{
    fake_counts.settings++;
    fake_counts.setting_heap = heap;
    snprintf(fake_counts.setting, sizeof fake_counts.setting, "%s=%s", key, value);
}

static void phase_begin(const char *name)
{
    fake_counts.phase_begins++;
    keep_text(name);
    snprintf(phase, sizeof phase, "%s", name);
}

static void phase_end(const char *name)
{
    fake_counts.phase_ends++;
    keep_text(name);
    fake_counts.errors += name && strcmp(name, phase) != 0;
    if (!output)
        return;
    if (step >= 0)
        fprintf(output, "%" PRId64, step);
    fprintf(output, ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", phase,
            fake_counts.allocated, fake_counts.max_allocated, fake_counts.reserved,
            fake_counts.max_reserved);
}

static void step_begin(uint64_t number)
{
    fake_counts.step_begins++;
    fake_counts.number = number;
    step = (int64_t)number;
}

static void step_end(void)
{
    fake_counts.step_ends++;
    step = -1;
}

static void mark(const char *name, int64_t value)
{
    fake_counts.marks++;
    keep_text(name);
    fake_counts.value = value;
}

/* What is tagged must live, and the range must be the block. */
static void tag(tidemark_heap_t heap, const void *address, uint64_t bytes, int category,
                const char *name)
{
    fake_counts.tags++;
    fake_counts.category = category;
    keep_text(name);
    fake_counts.errors += heap == 0 || map_get(&blocks, key_of(address)) != bytes;
}

static void oom(tidemark_heap_t heap, uint64_t asked, tidemark_site_t where)
{
    (void)where;
    fake_counts.ooms++;
    fake_counts.number = asked;
    fake_counts.errors += heap == 0;
}

static tidemark_site_t python_site(void)
{
    fake_counts.python_sites++;
    return 777;
}

static struct tidemark_api api = {
    .size = sizeof api,
    .version = TIDEMARK_API_VERSION,
    .heap_open = heap_open,
    .site = site,
    .block_alloc = block_alloc,
    .block_free = block_free,
    .segment_alloc = segment_alloc,
    .segment_free = segment_free,
    .phase_begin = phase_begin,
    .phase_end = phase_end,
    .step_begin = step_begin,
    .step_end = step_end,
    .mark = mark,
    .tag = tag,
    .oom = oom,
    .block_free_waits = block_free_waits,
    .block_idle = block_idle,
    .segment_map = segment_map,
    .segment_unmap = segment_unmap,
    .setting = setting,
    .python_site = python_site,
};

const struct tidemark_api *tidemark_attach(uint32_t version)
{
    const char *path = getenv("FAKE_ATTACH_FILE");
    fake_counts.attached++;
    fake_counts.version = version;
    if (path)
        output = fopen(path, "w");
    if (getenv("FAKE_REFUSE"))
        return NULL;
    /* A library of the first version: it knows no other, and its table ends before. */
    if (getenv("FAKE_FIRST")) {
        const size_t known = offsetof(struct tidemark_api, block_free_waits);
        memset((char *)&api + known, 0, sizeof api - known);
        api.size = (uint32_t)known;
        api.version = 1;
        return version == 1 ? &api : NULL;
    }
    return &api;
}

__attribute__((destructor)) static void finish(void)
{
    if (output) {
        fprintf(output, "end,%zu,%zu,%u\n", blocks.count, segments.count, fake_counts.errors);
        fclose(output);
    }
    map_clear(&blocks);
    map_clear(&waiting);
    map_clear(&segments);
}
