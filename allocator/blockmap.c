#include "blockmap.h"

#include <assert.h>
#include <stddef.h>

#include "mem.h"

#define FIRST_BITS 8
#define MOST_BITS 31

void blockmap_clear(struct blockmap *map)
{
    mem_free(map->entries);
    *map = (struct blockmap){0};
}

bool blockmap_grow(struct blockmap *map, uint64_t need)
{
    struct blockmap grown = {.bits = map->bits ? map->bits : FIRST_BITS};
    while (need > UINT64_C(1) << grown.bits)
        grown.bits++;
    if (grown.bits > MOST_BITS)
        return false;
    grown.entries = mem_alloc((size_t)1 << grown.bits, sizeof *grown.entries);
    if (!grown.entries)
        return false;
    for (uint64_t i = 0; map->bits && i < UINT64_C(1) << map->bits; i++) {
        if (map->entries[i].block)
            blockmap_place(&grown, map->entries[i]);
    }
    mem_free(map->entries);
    *map = grown;
    return true;
}

void blockmap_remove(struct blockmap *map, uint64_t address, uint32_t block)
{
    uint32_t mask = blockmap_mask(map), hole = blockmap_home(map, blockmap_hash(address));
    assert(block && map->count > 0);
    while (map->entries[hole].block != block)
        hole = (hole + 1) & mask;
    for (uint32_t at = (hole + 1) & mask; map->entries[at].block; at = (at + 1) & mask) {
        uint32_t home = blockmap_home(map, map->entries[at].hash);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->entries[hole] = map->entries[at];
            hole = at;
        }
    }
    map->entries[hole].block = 0;
    map->count--;
}

bool blockmap_is_valid(const struct blockmap *map, const struct block *blocks)
{
    uint32_t count = 0;
    if (!map->bits)
        return !map->entries && !map->count;
    for (uint64_t i = 0; i < UINT64_C(1) << map->bits; i++) {
        const struct blockmap_entry *entry = &map->entries[i];
        if (!entry->block)
            continue;
        count++;
        uint64_t address = blocks[entry->block].address;
        if (entry->hash != blockmap_hash(address) ||
            blockmap_get(map, blocks, address) != entry->block)
            return false;
    }
    return count == map->count && 2 * (uint64_t)count <= UINT64_C(1) << map->bits;
}
