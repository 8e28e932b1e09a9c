/*
 * space.h - a range of addresses that is handed out in pieces: first fit from below, as drivers do
 * it for large pieces. It knows numbers only; what lies at an address is extent.h's.
 *
 * Invariants: the holes are sorted, not empty, do not overlap or touch, and lie in ranges that were
 * added. What was added and is no hole is given out.
 */
#ifndef TIDEMARK_REHEARSAL_SPACE_H
#define TIDEMARK_REHEARSAL_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct space_hole {
    uint64_t base, bytes;
};

struct space {
    struct space_hole *holes;
    size_t count, cap;
};

/* More addresses to hand out; also how a piece comes back. False: no memory, or a part of it is
 * free already. */
bool space_give(struct space *space, uint64_t base, uint64_t bytes);
/* The lowest piece at a multiple of `align`, a power of two. 0: there is none, or no memory. */
uint64_t space_take(struct space *space, uint64_t bytes, uint64_t align);
/* Exactly this piece, if all of it is free. */
bool space_take_at(struct space *space, uint64_t base, uint64_t bytes);
uint64_t space_free_bytes(const struct space *space);
void space_clear(struct space *space);
bool space_is_valid(const struct space *space);

#endif
