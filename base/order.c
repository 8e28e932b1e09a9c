#include "order.h"

#include <assert.h>
#include <string.h>

#include "mem.h"
#include "search.h"

enum { CHUNK_ENTRIES = 255 };

struct order_chunk {
    size_t count;
    struct order_entry entries[CHUNK_ENTRIES];
};

void order_clear(struct order *order)
{
    for (size_t i = 0; i < order->count; i++)
        mem_free(order->chunks[i]);
    mem_free(order->chunks);
    *order = (struct order){0};
}

bool order_is_valid(const struct order *order)
{
    bool any = false;
    uint64_t last = 0;
    for (size_t i = 0; i < order->count; i++) {
        const struct order_chunk *chunk = order->chunks[i];
        if (!chunk->count || chunk->count > CHUNK_ENTRIES)
            return false;
        for (size_t k = 0; k < chunk->count; k++) {
            if (any && chunk->entries[k].address <= last)
                return false;
            last = chunk->entries[k].address;
            any = true;
        }
    }
    return true;
}

/* The chunk where the address is or belongs: the last that begins at or below it, else the first.
 */
static size_t chunk_of(const struct order *order, uint64_t address)
{
    size_t low = 0, high = order->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (order->chunks[middle]->entries[0].address <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* How many entries of the chunk are below the address. */
static size_t index_in(const struct order_chunk *chunk, uint64_t address)
{
    size_t at;
    SEARCH_FIRST(at, 0, chunk->count, chunk->entries[at].address < address);
    return at;
}

/* A new chunk at `at` that takes over the entries of the one before it, from `from` on. */
static bool split(struct order *order, size_t at, size_t from)
{
    struct order_chunk *chunk = mem_resize(NULL, 1, sizeof *chunk);
    assert(at <= order->count && from <= CHUNK_ENTRIES);
    if (!chunk)
        return false;
    if (!MEM_GROW(order->chunks, order->cap, order->count + 1)) {
        mem_free(chunk);
        return false;
    }
    memmove(&order->chunks[at + 1], &order->chunks[at],
            (order->count - at) * sizeof(struct order_chunk *));
    order->chunks[at] = chunk;
    order->count++;
    chunk->count = 0;
    if (at > 0) {
        struct order_chunk *before = order->chunks[at - 1];
        chunk->count = before->count - from;
        memcpy(chunk->entries, &before->entries[from], chunk->count * sizeof *chunk->entries);
        before->count = from;
    }
    return true;
}

bool order_put(struct order *order, uint64_t address, uint64_t value)
{
    if (!order->count && !split(order, 0, 0))
        return false;
    size_t at = chunk_of(order, address);
    struct order_chunk *chunk = order->chunks[at];
    size_t index = index_in(chunk, address);
    if (index < chunk->count && chunk->entries[index].address == address) {
        chunk->entries[index].value = value;
        return true;
    }
    if (chunk->count == CHUNK_ENTRIES) {
        if (!split(order, at + 1, CHUNK_ENTRIES / 2))
            return false;
        if (index > CHUNK_ENTRIES / 2) {
            index -= CHUNK_ENTRIES / 2;
            chunk = order->chunks[at + 1];
        }
    }
    memmove(&chunk->entries[index + 1], &chunk->entries[index],
            (chunk->count - index) * sizeof *chunk->entries);
    chunk->entries[index] = (struct order_entry){address, value};
    chunk->count++;
    return true;
}

bool order_remove(struct order *order, uint64_t address)
{
    if (!order->count)
        return false;
    size_t at = chunk_of(order, address);
    struct order_chunk *chunk = order->chunks[at];
    size_t index = index_in(chunk, address);
    if (index == chunk->count || chunk->entries[index].address != address)
        return false;
    chunk->count--;
    memmove(&chunk->entries[index], &chunk->entries[index + 1],
            (chunk->count - index) * sizeof *chunk->entries);
    if (chunk->count)
        return true;
    mem_free(chunk);
    order->count--;
    memmove(&order->chunks[at], &order->chunks[at + 1],
            (order->count - at) * sizeof(struct order_chunk *));
    return true;
}

const struct order_entry *order_below(const struct order *order, uint64_t address)
{
    if (!order->count)
        return NULL;
    const struct order_chunk *chunk = order->chunks[chunk_of(order, address)];
    size_t index = index_in(chunk, address);
    if (index < chunk->count && chunk->entries[index].address == address)
        return &chunk->entries[index];
    return index ? &chunk->entries[index - 1] : NULL;
}

struct order_cursor order_seek(const struct order *order, uint64_t address)
{
    struct order_cursor cursor = {0, 0};
    if (order->count) {
        cursor.chunk = chunk_of(order, address);
        cursor.index = index_in(order->chunks[cursor.chunk], address);
    }
    return cursor;
}

const struct order_entry *order_next(const struct order *order, struct order_cursor *cursor)
{
    while (cursor->chunk < order->count) {
        const struct order_chunk *chunk = order->chunks[cursor->chunk];
        if (cursor->index < chunk->count)
            return &chunk->entries[cursor->index++];
        cursor->chunk++;
        cursor->index = 0;
    }
    return NULL;
}
