/*
 * blockmap.h - from addresses to blocks: open addressing with linear probing, 8 bytes an entry.
 *
 * An entry is the block's number and 32 bits of the address's hash, whose highest bits are its home
 * slot; so entries can be moved without looking at the blocks, and a foreign entry is nearly always
 * recognized without that, too. Removal moves later entries back: there are no tombstones.
 *
 * Invariants: the capacity is 0 or a power of two; at most half of it is used; each entry stands at
 * or behind its home with no empty slot between; no block is 0.
 */
#ifndef TIDEMARK_ALLOCATOR_BLOCKMAP_H
#define TIDEMARK_ALLOCATOR_BLOCKMAP_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "blocktree.h"

struct blockmap_entry {
    uint32_t hash;
    uint32_t block; /* 0 = empty */
};

struct blockmap { /* all zero is an empty map */
    struct blockmap_entry *entries;
    unsigned bits; /* of the capacity */
    uint32_t count;
};

void blockmap_clear(struct blockmap *map);
bool blockmap_grow(struct blockmap *map, uint64_t need); /* to that capacity at least */
void blockmap_remove(struct blockmap *map, uint64_t address, uint32_t block); /* which is there */
bool blockmap_is_valid(const struct blockmap *map, const struct block *blocks);

/* ---- what every request and every free goes through: inline ---- */

static inline uint32_t blockmap_hash(uint64_t address)
{
    return (uint32_t)(((address >> 9) * 0x9e3779b97f4a7c15ull) >> 32);
}

static inline uint32_t blockmap_mask(const struct blockmap *map)
{
    return (uint32_t)((UINT64_C(1) << map->bits) - 1);
}

static inline uint32_t blockmap_home(const struct blockmap *map, uint32_t hash)
{
    return hash >> (32 - map->bits);
}

/* Room for so many puts. */
static inline bool blockmap_reserve(struct blockmap *map, uint32_t more)
{
    uint64_t need = 2 * ((uint64_t)map->count + more);
    return (map->bits && need <= UINT64_C(1) << map->bits) || blockmap_grow(map, need);
}

/* The address must not be in it, and there must be room. */
static inline void blockmap_place(struct blockmap *map, struct blockmap_entry entry)
{
    uint32_t mask = blockmap_mask(map), at = blockmap_home(map, entry.hash);
    while (map->entries[at].block)
        at = (at + 1) & mask;
    map->entries[at] = entry;
    map->count++;
}

static inline void blockmap_put(struct blockmap *map, uint64_t address, uint32_t block)
{
    assert(map->bits && map->count < UINT64_C(1) << map->bits >> 1);
    blockmap_place(map, (struct blockmap_entry){blockmap_hash(address), block});
}

/* 0 = it is not there. */
static inline uint32_t blockmap_get(const struct blockmap *map, const struct block *blocks,
                                    uint64_t address)
{
    if (!map->bits)
        return 0;
    uint32_t hash = blockmap_hash(address), mask = blockmap_mask(map);
    for (uint32_t at = blockmap_home(map, hash);; at = (at + 1) & mask) {
        const struct blockmap_entry *entry = &map->entries[at];
        if (!entry->block)
            return 0;
        if (entry->hash == hash && blocks[entry->block].address == address)
            return entry->block;
    }
}

#endif
