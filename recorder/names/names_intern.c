#include "names.h"

#include <assert.h>
#include <string.h>

#include "mem.h"

void intern_clear(struct intern *intern)
{
    map_clear(&intern->by_hash);
    mem_free(intern->items);
    mem_free(intern->bytes);
    *intern = (struct intern){0};
}

bool intern_is_valid(const struct intern *intern)
{
    if (!map_is_valid(&intern->by_hash) || intern->by_hash.count != intern->item_count)
        return false;
    for (size_t i = 0; i < intern->item_count; i++) {
        const struct intern_item *item = &intern->items[i];
        if (item->offset > intern->byte_count || item->count > intern->byte_count - item->offset)
            return false;
        if (intern_find(intern, intern->bytes + item->offset, item->count) != i + 1)
            return false;
    }
    return true;
}

static uint64_t hash_of(const unsigned char *bytes, size_t count)
{
    uint64_t hash = 0x6a09e667f3bcc908ull ^ count;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    hash ^= hash >> 29;
    return hash * 0xbf58476d1ce4e5b9ull;
}

/* Where the bytes are or would be: sets *key, returns the id or 0. */
static uint32_t look(const struct intern *intern, const void *bytes, size_t count, uint64_t *key)
{
    for (*key = hash_of(bytes, count);; ++*key) {
        uint64_t id = map_get(&intern->by_hash, *key);
        if (id == MAP_NONE)
            return 0;
        assert(id > 0 && id <= intern->item_count);
        const struct intern_item *item = &intern->items[id - 1];
        if (item->count == count && memcmp(intern->bytes + item->offset, bytes, count) == 0)
            return (uint32_t)id;
    }
}

uint32_t intern_find(const struct intern *intern, const void *bytes, size_t count)
{
    uint64_t key;
    return look(intern, bytes, count, &key);
}

uint32_t intern_add(struct intern *intern, const void *bytes, size_t count)
{
    uint64_t key;
    assert(!intern_find(intern, bytes, count));
    look(intern, bytes, count, &key);
    if (intern->item_count >= INT32_MAX ||
        !MEM_GROW(intern->items, intern->item_cap, intern->item_count + 1) ||
        !MEM_GROW(intern->bytes, intern->byte_cap, intern->byte_count + count) ||
        !map_put(&intern->by_hash, key, intern->item_count + 1, NULL))
        return 0;
    memcpy(intern->bytes + intern->byte_count, bytes, count);
    intern->items[intern->item_count++] = (struct intern_item){intern->byte_count, count};
    intern->byte_count += count;
    return (uint32_t)intern->item_count;
}

const void *intern_at(const struct intern *intern, uint32_t id)
{
    assert(id > 0 && id <= intern->item_count);
    return intern->bytes + intern->items[id - 1].offset;
}
