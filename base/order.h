/*
 * order.h - an ordered set of addresses, each with a value: which segment contains an address,
 * which blocks begin in a range.
 *
 * Sorted entries in chunks of bounded size, and the chunks in an array: putting and removing moves
 * at most one chunk's entries, and the array only when a chunk splits or empties. So a million
 * entries in any order cost no more than a few hundred moved entries each.
 *
 * Invariants: no chunk is empty; addresses grow strictly inside a chunk and from chunk to chunk.
 */
#ifndef TIDEMARK_BASE_ORDER_H
#define TIDEMARK_BASE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order_entry {
    uint64_t address;
    uint64_t value;
};

struct order_chunk;

struct order { /* all zero is an empty set */
    struct order_chunk **chunks;
    size_t count, cap;
};

void order_clear(struct order *order); /* frees its memory */
bool order_is_valid(const struct order *order);
/* Sets or replaces. False without memory: nothing changed. */
bool order_put(struct order *order, uint64_t address, uint64_t value);
bool order_remove(struct order *order, uint64_t address); /* false: it was not there */
/* The last entry at or below the address; NULL if there is none. Valid until the next change. */
const struct order_entry *order_below(const struct order *order, uint64_t address);

struct order_cursor {
    size_t chunk, index;
};
/* Entries from the first at or above the address on, one by one, then NULL. */
struct order_cursor order_seek(const struct order *order, uint64_t address);
const struct order_entry *order_next(const struct order *order, struct order_cursor *cursor);

#endif
