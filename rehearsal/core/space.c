/* space.c - see space.h. */
#include "space.h"

#include <string.h>

#include "mem.h"

/* The first hole that ends behind the address. */
static size_t find(const struct space *space, uint64_t address)
{
    size_t from = 0, to = space->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (space->holes[middle].base + space->holes[middle].bytes <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool insert(struct space *space, size_t at, uint64_t base, uint64_t bytes)
{
    if (!MEM_GROW(space->holes, space->cap, space->count + 1))
        return false;
    memmove(&space->holes[at + 1], &space->holes[at], (space->count - at) * sizeof *space->holes);
    space->holes[at] = (struct space_hole){base, bytes};
    space->count++;
    return true;
}

static void drop(struct space *space, size_t at)
{
    space->count--;
    memmove(&space->holes[at], &space->holes[at + 1], (space->count - at) * sizeof *space->holes);
}

bool space_give(struct space *space, uint64_t base, uint64_t bytes)
{
    size_t at = find(space, base);
    uint64_t end = base + bytes;
    if (bytes == 0 || end < base || (at < space->count && space->holes[at].base < end))
        return false;
    bool left = at > 0 && space->holes[at - 1].base + space->holes[at - 1].bytes == base;
    bool right = at < space->count && space->holes[at].base == end;
    if (left && right) {
        space->holes[at - 1].bytes += bytes + space->holes[at].bytes;
        drop(space, at);
    } else if (left) {
        space->holes[at - 1].bytes += bytes;
    } else if (right) {
        space->holes[at].base = base;
        space->holes[at].bytes += bytes;
    } else {
        return insert(space, at, base, bytes);
    }
    return true;
}

/* Cuts [base, base + bytes) out of the hole that holds it. */
static bool cut(struct space *space, size_t at, uint64_t base, uint64_t bytes)
{
    struct space_hole hole = space->holes[at];
    uint64_t before = base - hole.base, behind = hole.base + hole.bytes - base - bytes;
    if (before && behind && !insert(space, at + 1, base + bytes, behind))
        return false;
    if (before) {
        space->holes[at].bytes = before;
    } else if (behind) {
        space->holes[at] = (struct space_hole){base + bytes, behind};
    } else {
        drop(space, at);
    }
    return true;
}

uint64_t space_take(struct space *space, uint64_t bytes, uint64_t align)
{
    for (size_t i = 0; bytes && i < space->count; i++) {
        const struct space_hole *hole = &space->holes[i];
        uint64_t base = (hole->base + align - 1) & ~(align - 1);
        uint64_t skipped = base - hole->base;
        if (base >= hole->base && skipped <= hole->bytes && bytes <= hole->bytes - skipped)
            return cut(space, i, base, bytes) ? base : 0;
    }
    return 0;
}

bool space_take_at(struct space *space, uint64_t base, uint64_t bytes)
{
    size_t at = find(space, base);
    if (bytes == 0 || at == space->count || space->holes[at].base > base)
        return false;
    if (bytes > space->holes[at].base + space->holes[at].bytes - base)
        return false;
    return cut(space, at, base, bytes);
}

uint64_t space_free_bytes(const struct space *space)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < space->count; i++)
        sum += space->holes[i].bytes;
    return sum;
}

void space_clear(struct space *space)
{
    mem_free(space->holes);
    *space = (struct space){0};
}

bool space_is_valid(const struct space *space)
{
    for (size_t i = 0; i < space->count; i++) {
        const struct space_hole *hole = &space->holes[i];
        if (hole->bytes == 0 || hole->base + hole->bytes < hole->base)
            return false;
        if (i && hole[-1].base + hole[-1].bytes >= hole->base)
            return false;
    }
    return true;
}
