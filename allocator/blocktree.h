/*
 * blocktree.h - the record of a block, and trees of such records: treaps whose links are in the
 * records themselves, so that nothing is allocated. A record's priority is random and its own.
 *
 * Invariants of a tree: in order of (size, address), or of addresses alone; no record has a higher
 * priority than the one above it; each knows the one above it, so that it is taken out without a
 * search.
 */
#ifndef TIDEMARK_ALLOCATOR_BLOCKTREE_H
#define TIDEMARK_ALLOCATOR_BLOCKTREE_H

#include <stdbool.h>
#include <stdint.h>

enum block_state {
    BLOCK_SPARE, /* the record is not in use */
    BLOCK_FREE,
    BLOCK_LIVING,
    BLOCK_AWAITING,
    BLOCK_UNMAPPED,
    BLOCK_TAKEN /* for a moment: out of its set, not yet anything else */
};

/* One cache line. Sizes and addresses are multiples of 512. */
struct block {
    uint64_t address;
    uint64_t size;
    union {
        uint64_t requested; /* living, awaiting */
        uint64_t born;      /* free: what its pool's clock said when it was inserted */
    };
    uint32_t prev, next; /* neighbours in the segment */
    union {
        uint32_t left; /* free, unmapped: in its tree */
        uint32_t uses; /* living, awaiting: streams that it was recorded on, without events */
    };
    union {
        uint32_t right;
        uint32_t events; /* awaiting: not yet reached */
    };
    uint32_t set;
    uint32_t segment;
    uint32_t priority;
    union {
        uint32_t parent;        /* free, unmapped: in its tree; 0 = it is the root */
        uint32_t deferred_next; /* awaiting and on the list of deferred ones */
    };
    uint8_t state;   /* enum block_state */
    bool expandable; /* its segment is */
    bool deferred;
    uint32_t serial; /* see block_cut: which of two records PyTorch made first */
};

_Static_assert(sizeof(struct block) == 64, "a block is one cache line");

enum tree_order { TREE_BY_SIZE, TREE_BY_ADDRESS };

/* Whether it is the first one now. */
bool tree_insert(struct block *blocks, uint32_t *root, uint32_t id, enum tree_order order);
void tree_remove(struct block *blocks, uint32_t *root, uint32_t id);
/* The first one not before, and the last one before (size, address); 0 = none. */
uint32_t tree_find(const struct block *blocks, uint32_t root, uint64_t size, uint64_t address,
                   enum tree_order order);
uint32_t tree_find_before(const struct block *blocks, uint32_t root, uint64_t size,
                          uint64_t address, enum tree_order order);
uint32_t tree_first(const struct block *blocks, uint32_t root);
uint32_t tree_last(const struct block *blocks, uint32_t root);
/* *count gets the number of records. */
bool tree_is_valid(const struct block *blocks, uint32_t root, enum tree_order order,
                   uint64_t *count);

#endif
