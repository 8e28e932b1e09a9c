/*
 * freeset.h - the free blocks of one stream in one half of a pool, in order of (size, address).
 *
 * Sizes are sorted into bins: one for each multiple of 512 up to 64 KiB, then 64 for each power of
 * two. A bin is a tree that knows its first block; a bit for each bin says whether it is empty, and
 * a bit for each word of those whether that is 0. So a block of a size that has its own bin is
 * found without a walk, the next larger bin with two bit scans, and trees stay small. Unmapped
 * blocks of expandable segments are one tree by address beside them.
 *
 * Invariants: bit b of `words` is set if and only if bin b has a root; bit w of `summary`
 * if and only if words[w] is not 0; `first` of a bin is the first one of its tree; each tree is
 * valid, and its blocks are of its bin, in state BLOCK_FREE.
 */
#ifndef TIDEMARK_ALLOCATOR_FREESET_H
#define TIDEMARK_ALLOCATOR_FREESET_H

#include "blocktree.h"

#define FREESET_BINS 3008 /* sizes below 2^61 */
#define FREESET_WORDS (FREESET_BINS / 64)

struct freeset_bin {
    uint32_t root, first; /* 0 = it is empty */
};

struct freeset {
    uint64_t stream;
    uint32_t pool;
    uint32_t number; /* of itself among the sets */
    bool small;
    uint32_t unmapped; /* root */
    uint64_t summary;
    uint64_t words[FREESET_WORDS];
    struct freeset_bin bins[FREESET_BINS];
};

void freeset_insert(struct freeset *set, struct block *blocks, uint32_t id);
void freeset_remove(struct freeset *set, struct block *blocks, uint32_t id);
/* The first one not before, and the last one before (size, address); 0 = none. */
uint32_t freeset_find(const struct freeset *set, const struct block *blocks, uint64_t size,
                      uint64_t address);
uint32_t freeset_find_before(const struct freeset *set, const struct block *blocks, uint64_t size,
                             uint64_t address);
/* The one behind it; 0 = it was the last. */
uint32_t freeset_next(const struct freeset *set, const struct block *blocks, uint32_t id);
bool freeset_is_valid(const struct freeset *set, const struct block *blocks, uint64_t *count);

#endif
