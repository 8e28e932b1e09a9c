/*
 * rebuild.h - the heap of one device before its trace began, and the exact size of every block.
 *
 * A snapshot tells the end: the segments with their blocks. The trace tells how it came about, but
 * the oldest of it may be gone, and of a block it has the address and what was asked for, not how
 * large it was. So:
 *
 *   Backwards (rebuild_back.c): from the end, each event is undone. What lives then, lived before
 *   the trace began. A block whose alloc is undone while it still stands in the final segments had
 *   the size that it has there.
 *   Forwards (rebuild_sizes.c): the heap is run again, by addresses alone. A block begins at its
 *   recorded address in a free range that is known, so the allocator's rule for splitting a free
 *   block decides its size. Sizes that the final segments tell are compared with it.
 *
 * Pinned memory of the host has a block in each segment, and the block's size in its trace: there
 * sizes follow from nothing, and what was asked for is not known.
 *
 * Of a block that lived before and was freed in the trace, the size is the rounded request. But in
 * the large pool no free block is ever as small as 1 MiB: a gap up to that behind such a block
 * belongs to it.
 *
 * Invariants (rebuild_is_valid): segments do not overlap; `live` has exactly the living and pending
 * blocks of the moment, by address.
 */
#ifndef TIDEMARK_IMPORT_REBUILD_H
#define TIDEMARK_IMPORT_REBUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "order.h"
#include "snapshot.h"

struct rebuild_segment {
    uint64_t address, size;
    uint32_t place;
    uint32_t site;
    bool expandable;
};

struct rebuild_block {
    uint64_t address;
    uint64_t size;      /* 0 = not known yet */
    uint64_t requested; /* SNAPSHOT_NOT_KNOWN */
    uint32_t place;
    uint32_t site;
    uint32_t first; /* forwards: index + 1 in first_blocks of one whose size was guessed */
    bool pending;   /* given back already */
    bool guessed;   /* its size came from its request: what lies behind it may be its own */
    bool lost;      /* as in struct trace_entry */
};

struct rebuild_counts {
    uint64_t sizes_checked;   /* blocks whose size the final segments tell */
    uint64_t sizes_differ;    /* of them, where the rules gave another */
    uint64_t misplaced;       /* allocs outside every known segment, or on top of another block */
    uint64_t allocs_lost;     /* never freed, and not in the final segments */
    uint64_t frees_unmatched; /* of blocks that live on: left out */
    uint64_t segments_unmatched; /* taken or given back against what is known */
    uint64_t unknown_actions;
    uint64_t odd_blocks; /* of the final segments: without a size, outside, or twice */
};

struct rebuild_pool { /* indices of records that are free */
    uint32_t *at;
    size_t count, cap;
};

struct rebuild {
    struct snapshot *snapshot;
    uint32_t device;
    bool exact;        /* the trace has the blocks' sizes, not what was asked for: the host's */
    bool has_segments; /* of this device: the end is known */
    struct trace_entry *entries; /* of this device */
    size_t entry_count;
    struct order segments; /* of the moment: address -> index of segment_at */
    struct rebuild_segment *segment_at;
    size_t segment_count, segment_cap;
    struct rebuild_pool spare_segments;
    struct order live; /* of the moment, living and pending: address -> index of block_at */
    struct rebuild_block *block_at;
    size_t block_count, block_cap;
    struct rebuild_pool spare_blocks;
    /* Before the trace, by address. */
    struct rebuild_segment *first_segments;
    size_t first_segment_count, first_segment_cap;
    struct rebuild_block *first_blocks;
    size_t first_block_count, first_block_cap;
    /* Gone at the end, though nothing says when. */
    struct rebuild_block *gone;
    size_t gone_count, gone_cap;
    struct rebuild_counts counts;
};

/* All of it for one device: sets `block`, `place` and `lost` of its events, and what was first.
 * Afterwards the moment is the end of the trace. A base_err; clear it in any case. */
int rebuild_run(struct rebuild *rebuild, struct snapshot *snapshot, uint32_t device);
void rebuild_clear(struct rebuild *rebuild);
void rebuild_forget_moment(struct rebuild *rebuild); /* what was first stays, and the counts */
bool rebuild_is_valid(const struct rebuild *rebuild);

/* ---- the parts ---- */

int rebuild_back(struct rebuild *rebuild);    /* rebuild_back.c */
int rebuild_forward(struct rebuild *rebuild); /* rebuild_sizes.c */

uint64_t rebuild_rounded(const struct alloc_config *config, uint64_t requested);

/* The segment that contains the address, or NULL; pointers hold until the next change. */
struct rebuild_segment *rebuild_segment_of(const struct rebuild *rebuild, uint64_t address);
/* ERR_EXISTS: it overlaps another; ERR_NOTFOUND; ERR_NOMEM. */
int rebuild_add_segment(struct rebuild *rebuild, const struct rebuild_segment *segment);
int rebuild_drop_segment(struct rebuild *rebuild, uint64_t address);
/* Ranges of expandable segments: neighbours become one, parts can be taken out. */
int rebuild_map(struct rebuild *rebuild, const struct rebuild_segment *range);
int rebuild_unmap(struct rebuild *rebuild, uint64_t address, uint64_t size);

struct rebuild_block *rebuild_block_at(const struct rebuild *rebuild, uint64_t address);
int rebuild_add_block(struct rebuild *rebuild, const struct rebuild_block *block);
bool rebuild_drop_block(struct rebuild *rebuild, uint64_t address);

#endif
