/* extent.c - see extent.h. */
#include "extent.h"

#include <string.h>

#include "mem.h"

/* The first that ends behind the address. */
static size_t find(const struct extents *extents, uint64_t address)
{
    size_t from = 0, to = extents->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (extents->list[middle].base + extents->list[middle].bytes <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

bool extents_add(struct extents *extents, const struct extent *extent)
{
    size_t at = find(extents, extent->base);
    uint64_t end = extent->base + extent->bytes;
    if (extent->bytes == 0 || end < extent->base ||
        (at < extents->count && extents->list[at].base < end) ||
        !MEM_GROW(extents->list, extents->cap, extents->count + 1))
        return false;
    memmove(&extents->list[at + 1], &extents->list[at],
            (extents->count - at) * sizeof *extents->list);
    extents->list[at] = *extent;
    extents->count++;
    return true;
}

const struct extent *extents_at(const struct extents *extents, uint64_t address)
{
    size_t at = find(extents, address);
    if (at == extents->count || extents->list[at].base > address)
        return NULL;
    return &extents->list[at];
}

bool extents_keep(struct extents *extents, uint64_t base, void *of)
{
    size_t at = find(extents, base);
    if (at == extents->count || extents->list[at].base != base)
        return false;
    extents->list[at].of = of;
    return true;
}

bool extents_remove(struct extents *extents, uint64_t base, struct extent *removed)
{
    size_t at = find(extents, base);
    if (at == extents->count || extents->list[at].base != base)
        return false;
    *removed = extents->list[at];
    extents->count--;
    memmove(&extents->list[at], &extents->list[at + 1],
            (extents->count - at) * sizeof *extents->list);
    return true;
}

void extents_clear(struct extents *extents)
{
    mem_free(extents->list);
    *extents = (struct extents){0};
}

bool extents_are_valid(const struct extents *extents)
{
    for (size_t i = 0; i < extents->count; i++) {
        const struct extent *extent = &extents->list[i];
        if (extent->bytes == 0 || extent->base + extent->bytes < extent->base)
            return false;
        if (i && extent[-1].base + extent[-1].bytes > extent->base)
            return false;
    }
    return true;
}
