/*
 * map.h - an open-addressing map from 64-bit keys to 64-bit values: addresses to blocks, numbers to
 * numbers. Linear probing; removal moves later entries back, so there are no tombstones.
 *
 * It grows without a pause: a full table becomes `old`, and each put or remove that follows takes
 * the entries of its next MAP_STEP slots over into the one of twice the size. Long before that is
 * full in its turn, the old one has gone.
 *
 * Invariants: capacity is 0 or a power of two; count <= 3/4 capacity; an entry of `entries` stands
 * at or behind its home slot with no empty slot between. Zeroed memory is an empty table: key 0
 * marks an empty slot, and the entry of key 0 stands apart. MAP_NONE cannot be stored.
 * While it grows: old slots before `moved` are spent, what they held is in `entries`; the others
 * hold what was not moved yet, or MAP_NONE for a key that was removed. No key is in both.
 */
#ifndef TIDEMARK_BASE_MAP_H
#define TIDEMARK_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT64_MAX
#define MAP_STEP 64u

struct map_entry {
    uint64_t key; /* 0 = the slot is empty */
    uint64_t value;
};

struct map { /* all zero is an empty map */
    struct map_entry *entries;
    size_t capacity;
    size_t count;          /* of all entries, wherever they stand */
    struct map_entry *old; /* NULL: it does not grow just now */
    size_t old_capacity;
    size_t moved; /* old slots */
    bool has_zero;
    struct map_entry zero; /* of key 0 */
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
