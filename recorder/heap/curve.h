/*
 * curve.h - bytes over time at powers of two, in constant memory.
 *
 * Level L has buckets of 2^L nanoseconds. Time within a process never runs backwards, so at each
 * level only the last bucket can still change: that one is kept, and every earlier one has been
 * written. A bucket that is over is written, and folded into the open bucket of the level above;
 * only when that one is over too does the fold go on. So a finished bucket costs amortized two
 * rows, whatever the number of levels.
 *
 * The finest level kept is `base`. When it has had more than CURVE_BUCKETS buckets, its rows are
 * dropped and the level above, which is all there already, becomes the base.
 *
 * Invariants (curve_is_valid): an open bucket holds what came before the open bucket of the level
 * below and lies around it; min <= first, last <= max; count[base] <= CURVE_BUCKETS.
 */
#ifndef TIDEMARK_RECORDER_CURVE_H
#define TIDEMARK_RECORDER_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#include "batch.h"

#define CURVE_FIRST_LEVEL 20 /* 2^20 ns: about a millisecond */
#define CURVE_LEVELS 43      /* up to 2^62 ns */
#define CURVE_BUCKETS 4096

struct curve_bucket {
    int64_t number;
    int64_t first, min, max, last;
};

struct curve_level {
    struct curve_bucket open;
    bool used;      /* `open` holds something */
    uint64_t count; /* buckets begun */
};

struct curve {
    int64_t heap; /* heap.id */
    const char *quantity;
    unsigned base; /* index into levels: level CURVE_FIRST_LEVEL + base */
    bool changed;  /* since the last flush */
    bool any;
    int64_t first_ns;
    uint64_t rows_lost; /* without memory; the owner reports and clears it */
    struct curve_level levels[CURVE_LEVELS];
};

struct curve *curve_new(int64_t heap, const char *quantity);
void curve_free(struct curve *curve);
bool curve_is_valid(const struct curve *curve);
/* The value was `before` up to this instant and is `after` from it on. */
void curve_add(struct curve *curve, struct batch *batch, int64_t ns, int64_t before, int64_t after);
/* Writes the open buckets, up to the level where one bucket covers all. */
void curve_flush(struct curve *curve, struct batch *batch);

#endif
