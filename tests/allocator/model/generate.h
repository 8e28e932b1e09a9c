/*
 * generate.h - the next operation, at random, but with an eye on the heap: sizes that just fit a
 * free block or just do not, limits close to what is held.
 */
#ifndef TIDEMARK_TESTS_GENERATE_H
#define TIDEMARK_TESTS_GENERATE_H

#include "operation.h"
#include "pair.h"

/* How often each kind comes, in thousandths; drawn for each run, so that some runs have none of a
 * kind and others much of it. */
struct generator {
    uint64_t seed;
    uint64_t next_pool;
    unsigned streams; /* how many are used */
    unsigned live;    /* blocks aimed at */
    unsigned record, complete, empty, limit, configure, capacity, fail, pool, reset, odd, replay;
    unsigned huge, fit, small; /* which sizes */
};

void generator_open(struct generator *generator, uint64_t seed, struct setup *setup);
/* Number `slot` of the run; the pair is as the operations before left it. */
struct operation generator_next(struct generator *generator, const struct pair *pair,
                                unsigned slot);

#endif
