#include "blockmap.h"

#include <assert.h>
#include <stddef.h>

#include "mem.h"

#define FIRST_BITS 8
#define MOST_BITS 31

static inline uint32_t hash_of(uint64_t address)
{
    return (uint32_t)(((address >> 9) * 0x9e3779b97f4a7c15ull) >> 32);
}

static inline uint32_t mask_of(const struct blockmap *map)
{
    return (uint32_t)((UINT64_C(1) << map->bits) - 1);
}

static inline uint32_t home_of(const struct blockmap *map, uint32_t hash)
{
    return hash >> (32 - map->bits);
}

void blockmap_clear(struct blockmap *map)
{
    mem_free(map->entries);
    *map = (struct blockmap){0};
}

static void put(struct blockmap *map, struct blockmap_entry entry)
{
    uint32_t mask = mask_of(map), at = home_of(map, entry.hash);
    while (map->entries[at].block)
        at = (at + 1) & mask;
    map->entries[at] = entry;
    map->count++;
}

bool blockmap_reserve(struct blockmap *map, uint32_t more)
{
    uint64_t need = 2 * ((uint64_t)map->count + more);
    if (map->bits && need <= UINT64_C(1) << map->bits)
        return true;
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
            put(&grown, map->entries[i]);
    }
    mem_free(map->entries);
    *map = grown;
    return true;
}

void blockmap_put(struct blockmap *map, uint64_t address, uint32_t block)
{
    assert(map->bits && map->count < UINT64_C(1) << map->bits >> 1);
    put(map, (struct blockmap_entry){hash_of(address), block});
}

uint32_t blockmap_get(const struct blockmap *map, const struct block *blocks, uint64_t address)
{
    if (!map->bits)
        return 0;
    uint32_t hash = hash_of(address), mask = mask_of(map);
    for (uint32_t at = home_of(map, hash);; at = (at + 1) & mask) {
        const struct blockmap_entry *entry = &map->entries[at];
        if (!entry->block)
            return 0;
        if (entry->hash == hash && blocks[entry->block].address == address)
            return entry->block;
    }
}

void blockmap_remove(struct blockmap *map, uint64_t address, uint32_t block)
{
    uint32_t mask = mask_of(map), hole = home_of(map, hash_of(address));
    while (map->entries[hole].block != block)
        hole = (hole + 1) & mask;
    for (uint32_t at = (hole + 1) & mask; map->entries[at].block; at = (at + 1) & mask) {
        uint32_t home = home_of(map, map->entries[at].hash);
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
        if (entry->hash != hash_of(address) || blockmap_get(map, blocks, address) != entry->block)
            return false;
    }
    return count == map->count && 2 * (uint64_t)count <= UINT64_C(1) << map->bits;
}
