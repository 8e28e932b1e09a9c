#include "map.h"

#include <assert.h>

#include "mem.h"

#define MAP_FIRST_CAPACITY 64

/* Addresses are multiples of 16 to 512 with few high bits in use: mix them all downwards. */
static size_t home(const struct map *map, uint64_t key)
{
    uint64_t mixed = (key ^ (key >> 32)) * 0x9e3779b97f4a7c15ull;
    return (size_t)(mixed >> 20) & (map->capacity - 1);
}

static size_t find(const struct map *map, uint64_t key)
{
    size_t at = home(map, key);
    while (map->entries[at].value != MAP_NONE && map->entries[at].key != key)
        at = (at + 1) & (map->capacity - 1);
    return at;
}

static bool grow(struct map *map)
{
    size_t capacity = map->capacity ? map->capacity * 2 : MAP_FIRST_CAPACITY;
    struct map bigger = {.capacity = capacity, .count = map->count};
    bigger.entries = mem_resize(NULL, capacity, sizeof *bigger.entries);
    if (!bigger.entries)
        return false;
    for (size_t i = 0; i < capacity; i++)
        bigger.entries[i] = (struct map_entry){0, MAP_NONE};
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].value != MAP_NONE)
            bigger.entries[find(&bigger, map->entries[i].key)] = map->entries[i];
    mem_free(map->entries);
    *map = bigger;
    return true;
}

void map_clear(struct map *map)
{
    mem_free(map->entries);
    *map = (struct map){0};
}

bool map_is_valid(const struct map *map)
{
    if (map->capacity & (map->capacity - 1))
        return false;
    size_t count = 0;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entries[i].value == MAP_NONE)
            continue;
        count++;
        if (find(map, map->entries[i].key) != i)
            return false;
    }
    return count == map->count && count <= map->capacity - map->capacity / 4;
}

uint64_t map_get(const struct map *map, uint64_t key)
{
    if (!map->capacity)
        return MAP_NONE;
    return map->entries[find(map, key)].value;
}

bool map_put(struct map *map, uint64_t key, uint64_t value, uint64_t *old)
{
    assert(value != MAP_NONE);
    if (old)
        *old = MAP_NONE;
    if (map->count + 1 > map->capacity - map->capacity / 4 && !grow(map))
        return false;
    struct map_entry *entry = &map->entries[find(map, key)];
    if (entry->value == MAP_NONE)
        map->count++;
    else if (old)
        *old = entry->value;
    *entry = (struct map_entry){key, value};
    return true;
}

/* After the entry at `hole` went: entries behind it may have to come nearer to their home. */
static void close_gap(struct map *map, size_t hole)
{
    size_t mask = map->capacity - 1;
    for (size_t at = (hole + 1) & mask; map->entries[at].value != MAP_NONE; at = (at + 1) & mask) {
        size_t wants = home(map, map->entries[at].key);
        if (((at - wants) & mask) >= ((at - hole) & mask)) {
            map->entries[hole] = map->entries[at];
            hole = at;
        }
    }
    map->entries[hole].value = MAP_NONE;
}

uint64_t map_remove(struct map *map, uint64_t key)
{
    if (!map->capacity)
        return MAP_NONE;
    size_t at = find(map, key);
    uint64_t old = map->entries[at].value;
    if (old == MAP_NONE)
        return MAP_NONE;
    close_gap(map, at);
    map->count--;
    return old;
}

const struct map_entry *map_next(const struct map *map, size_t *at)
{
    while (*at < map->capacity) {
        const struct map_entry *entry = &map->entries[(*at)++];
        if (entry->value != MAP_NONE)
            return entry;
    }
    return NULL;
}
