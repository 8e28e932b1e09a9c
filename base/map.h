/*
 * map.h - an open-addressing map from 64-bit keys to 64-bit values: addresses to blocks, numbers to
 * numbers. Linear probing; removal moves later entries back, so there are no tombstones.
 *
 * Invariants: capacity is 0 or a power of two; count <= 3/4 capacity; an entry stands at or behind
 * its home slot with no empty slot between. The value MAP_NONE marks an empty slot and cannot be
 * stored.
 */
#ifndef TIDEMARK_BASE_MAP_H
#define TIDEMARK_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT64_MAX

struct map_entry {
    uint64_t key;
    uint64_t value; /* MAP_NONE = the slot is empty */
};

struct map { /* all zero is an empty map */
    struct map_entry *entries;
    size_t capacity;
    size_t count;
};

void map_clear(struct map *map); /* frees its memory */
bool map_is_valid(const struct map *map);
uint64_t map_get(const struct map *map, uint64_t key); /* MAP_NONE if it is not there */
/* Sets or replaces; *old (may be NULL) gets what was there. False without memory. */
bool map_put(struct map *map, uint64_t key, uint64_t value, uint64_t *old);
uint64_t map_remove(struct map *map, uint64_t key); /* what was there, or MAP_NONE */
/* Walks all entries in no order: *at starts at 0. The map must not change meanwhile. */
const struct map_entry *map_next(const struct map *map, size_t *at);

#endif
