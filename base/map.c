/*
 * map.c - see map.h. Slots of the old table are never reused nor moved within it, so a search there
 * ends where it always ended: at the key, or at a slot that was empty when the growing began.
 */
#include "map.h"

#include <assert.h>

#include "mem.h"

#define MAP_FIRST_CAPACITY 64

static size_t limit_of(size_t capacity)
{
    return capacity - capacity / 4;
}

/* Addresses are multiples of 16 to 512 with few high bits in use: mix them all downwards. */
static size_t home(size_t capacity, uint64_t key)
{
    uint64_t mixed = (key ^ (key >> 32)) * 0x9e3779b97f4a7c15ull;
    return (size_t)(mixed >> 20) & (capacity - 1);
}

/* The slot of the key, or the empty one where it would go. */
static size_t find(const struct map_entry *entries, size_t capacity, uint64_t key)
{
    size_t at = home(capacity, key);
    while (entries[at].key != key && entries[at].key != 0)
        at = (at + 1) & (capacity - 1);
    return at;
}

/* The key's entry in the old table, NULL if it is not there or no longer. */
static struct map_entry *find_old(const struct map *map, uint64_t key)
{
    if (!map->old)
        return NULL;
    size_t at = find(map->old, map->old_capacity, key);
    struct map_entry *entry = &map->old[at];
    return at >= map->moved && entry->key != 0 && entry->value != MAP_NONE ? entry : NULL;
}

/* Of a key other than 0. */
static struct map_entry *find_entry(const struct map *map, uint64_t key)
{
    if (!map->capacity)
        return NULL;
    struct map_entry *entry = &map->entries[find(map->entries, map->capacity, key)];
    return entry->key != 0 ? entry : find_old(map, key);
}

/* ---- growing ---- */

/* Twice as large, with the entries that it has still in the old table. */
static bool grow(struct map *map)
{
    assert(!map->old);
    size_t capacity = map->capacity ? map->capacity * 2 : MAP_FIRST_CAPACITY;
    struct map_entry *entries = mem_alloc(capacity, sizeof *entries);
    if (!entries)
        return false;
    map->old = map->entries;
    map->old_capacity = map->capacity;
    map->moved = 0;
    map->entries = entries;
    map->capacity = capacity;
    return true;
}

/* One step of growing, if it does. */
static void move_some(struct map *map)
{
    if (!map->old)
        return;
    assert(map->moved < map->old_capacity && map->old_capacity < map->capacity);
    size_t end =
        map->moved + MAP_STEP < map->old_capacity ? map->moved + MAP_STEP : map->old_capacity;
    for (size_t i = map->moved; i < end; i++) {
        const struct map_entry *entry = &map->old[i];
        if (entry->key != 0 && entry->value != MAP_NONE)
            map->entries[find(map->entries, map->capacity, entry->key)] = *entry;
    }
    map->moved = end;
    if (end == map->old_capacity) {
        mem_free(map->old);
        map->old = NULL;
        map->old_capacity = map->moved = 0;
    }
}

/* ---- the check ---- */

static bool table_is_valid(const struct map *map, size_t *count)
{
    for (size_t i = 0; i < map->capacity; i++) {
        const struct map_entry *entry = &map->entries[i];
        if (entry->key == 0)
            continue;
        (*count)++;
        if (entry->value == MAP_NONE || find(map->entries, map->capacity, entry->key) != i)
            return false;
        if (find_old(map, entry->key))
            return false;
    }
    return true;
}

static bool old_is_valid(const struct map *map, size_t *count)
{
    if (!map->old)
        return map->old_capacity == 0 && map->moved == 0;
    if (map->old_capacity * 2 != map->capacity || map->moved >= map->old_capacity)
        return false;
    for (size_t i = map->moved; i < map->old_capacity; i++) {
        const struct map_entry *entry = &map->old[i];
        if (entry->key == 0 || entry->value == MAP_NONE)
            continue;
        (*count)++;
        if (find(map->old, map->old_capacity, entry->key) != i)
            return false;
    }
    return true;
}

bool map_is_valid(const struct map *map)
{
    size_t count = map->has_zero;
    if (map->capacity & (map->capacity - 1))
        return false;
    if (map->has_zero && (map->zero.key != 0 || map->zero.value == MAP_NONE))
        return false;
    return table_is_valid(map, &count) && old_is_valid(map, &count) && count == map->count &&
           count <= limit_of(map->capacity);
}

/* ---- the map ---- */

void map_clear(struct map *map)
{
    mem_free(map->entries);
    mem_free(map->old);
    *map = (struct map){0};
}

uint64_t map_get(const struct map *map, uint64_t key)
{
    if (key == 0)
        return map->has_zero ? map->zero.value : MAP_NONE;
    const struct map_entry *entry = find_entry(map, key);
    return entry ? entry->value : MAP_NONE;
}

static bool put_zero(struct map *map, uint64_t value, uint64_t *old)
{
    if (!map->has_zero)
        map->count++;
    else if (old)
        *old = map->zero.value;
    map->has_zero = true;
    map->zero.value = value;
    return true;
}

bool map_put(struct map *map, uint64_t key, uint64_t value, uint64_t *old)
{
    assert(value != MAP_NONE);
    if (old)
        *old = MAP_NONE;
    move_some(map);
    if (map->count + 1 > limit_of(map->capacity) && !grow(map))
        return false;
    if (key == 0)
        return put_zero(map, value, old);
    struct map_entry *entry = &map->entries[find(map->entries, map->capacity, key)];
    struct map_entry *there = entry->key != 0 ? entry : find_old(map, key);
    if (!there) {
        *entry = (struct map_entry){key, value};
        map->count++;
        return true;
    }
    if (old)
        *old = there->value;
    there->value = value;
    return true;
}

/* After the entry at `hole` went: entries behind it may have to come nearer to their home. */
static void close_gap(struct map *map, size_t hole)
{
    size_t mask = map->capacity - 1;
    assert(hole < map->capacity && map->entries[hole].key != 0);
    for (size_t at = (hole + 1) & mask; map->entries[at].key != 0; at = (at + 1) & mask) {
        size_t wants = home(map->capacity, map->entries[at].key);
        if (((at - wants) & mask) >= ((at - hole) & mask)) {
            map->entries[hole] = map->entries[at];
            hole = at;
        }
    }
    map->entries[hole].key = 0;
}

static uint64_t remove_zero(struct map *map)
{
    if (!map->has_zero)
        return MAP_NONE;
    map->has_zero = false;
    map->count--;
    return map->zero.value;
}

uint64_t map_remove(struct map *map, uint64_t key)
{
    move_some(map);
    if (key == 0)
        return remove_zero(map);
    struct map_entry *entry = find_entry(map, key);
    if (!entry)
        return MAP_NONE;
    uint64_t value = entry->value;
    map->count--;
    if (entry >= map->entries && entry < map->entries + map->capacity)
        close_gap(map, (size_t)(entry - map->entries));
    else
        entry->value = MAP_NONE;
    return value;
}

/* The order: key 0, the table, what is left of the old one. */
const struct map_entry *map_next(const struct map *map, size_t *at)
{
    if (*at == 0) {
        (*at)++;
        if (map->has_zero)
            return &map->zero;
    }
    while (*at - 1 < map->capacity) {
        const struct map_entry *entry = &map->entries[(*at)++ - 1];
        if (entry->key != 0)
            return entry;
    }
    while (*at - 1 - map->capacity < map->old_capacity) {
        size_t slot = (*at)++ - 1 - map->capacity;
        const struct map_entry *entry = &map->old[slot];
        if (slot >= map->moved && entry->key != 0 && entry->value != MAP_NONE)
            return entry;
    }
    return NULL;
}
