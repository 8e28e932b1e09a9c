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
bool blockmap_reserve(struct blockmap *map, uint32_t more); /* room for so many puts */
/* The address must not be in it, and there must be room. */
void blockmap_put(struct blockmap *map, uint64_t address, uint32_t block);
uint32_t blockmap_get(const struct blockmap *map, const struct block *blocks, uint64_t address);
void blockmap_remove(struct blockmap *map, uint64_t address, uint32_t block); /* which is there */
bool blockmap_is_valid(const struct blockmap *map, const struct block *blocks);

#endif
