/*
 * derive_types.h - what the files behind derive.h share.
 */
#ifndef TIDEMARK_RECORDER_DERIVE_TYPES_H
#define TIDEMARK_RECORDER_DERIVE_TYPES_H

#include "curve.h"
#include "derive.h"
#include "map.h"
#include "writer.h"

struct derive_heap {
    int64_t id, process, device;
    bool thinned; /* blocks of its process were dropped on purpose */
    /* The process has ended, with this event; INT64_MAX = it has not. */
    int64_t last_seq;
    int64_t value; /* while a curve is fed */
    int64_t last_ns;
    bool feeds; /* its curve comes from the facts */
    struct curve *curve;
};

/* Invariant (derive_is_valid): a heap by `free_seq`: no block dies before the one above it. */
struct derive_block {
    int64_t seq, free_seq; /* INT64_MAX = it lives */
    int64_t size, end_ns;
    uint32_t heap; /* index */
};

struct derive {
    const struct derive_options *options;
    struct derive_result *result;
    struct writer_sink *sink;
    struct batch *batch;
    struct derive_heap *heaps;
    size_t heap_count, heap_cap;
    struct map heap_of; /* heap.id -> index */
    struct derive_block *blocks;
    size_t block_count, block_cap;
    int64_t frame_at;   /* seq of the last keyframe */
    int64_t frame_next; /* as told: of the next one, INT64_MAX = none */
    unsigned flushes;   /* since the last commit */
    bool from_out;
};

/* Rows that are ready go out once there are many, or with `all`. */
int derive_flush(struct derive *derive, bool all);
/* The value of the heap changed, now; the curve is made when it is first needed. */
int derive_feed(struct derive *derive, struct derive_heap *heap, const char *quantity, int64_t ns,
                int64_t change);
/* The open buckets of all curves, which end. */
int derive_end_curves(struct derive *derive);
struct derive_heap *derive_heap(struct derive *derive, int64_t id); /* NULL: no such heap */
bool derive_is_valid(const struct derive *derive);

int derive_drop(struct derive *derive, int64_t heap, const char *quantity); /* all its rows */

/* derive_old.c: the old rows of one curve, fed again. *way: KEPT, MENDED or LOST (there are none).
 */
int derive_old(struct derive *derive, const struct derive_heap *heap, const char *quantity,
               enum derive_way *way);
/* What derive_old would come to; nothing is written. */
int derive_old_way(struct derive *derive, const struct derive_heap *heap, const char *quantity,
                   enum derive_way *way);
/* The last value of the curve's coarsest level; *found false: there is none. */
int derive_old_last(struct derive *derive, const struct derive_heap *heap, const char *quantity,
                    bool *found, int64_t *last);

/* derive_reserved.c */
int derive_reserved(struct derive *derive);

#endif
