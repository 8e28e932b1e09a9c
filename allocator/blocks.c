/*
 * blocks.c - records of blocks and segments: made, cut, merged, given back for reuse.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "engine.h"
#include "mem.h"

#define CACHE_LINE 64u
#define FIRST_BLOCKS 1024u

/* ---- blocks ---- */

/* Whole cache lines, so the array is copied into a new one that is aligned by hand. */
static bool grow(struct alloc *alloc, uint64_t need)
{
    uint64_t cap = alloc->blocks_cap ? alloc->blocks_cap : FIRST_BLOCKS;
    while (cap < need)
        cap *= 2;
    if (cap > UINT32_MAX)
        return false;
    void *memory = mem_alloc((size_t)cap + 1, sizeof(struct block));
    if (!memory)
        return false;
    uintptr_t at = (uintptr_t)memory;
    struct block *blocks = (struct block *)((at + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1));
    if (alloc->blocks)
        memcpy(blocks, alloc->blocks, alloc->blocks_made * sizeof *blocks);
    mem_free(alloc->blocks_memory);
    alloc->blocks = blocks;
    alloc->blocks_memory = memory;
    alloc->blocks_cap = (uint32_t)cap;
    if (!alloc->blocks_made)
        alloc->blocks_made = 1;
    return true;
}

bool blocks_grow(struct alloc *alloc, uint32_t count)
{
    return grow(alloc, (uint64_t)alloc->blocks_made + count + 1);
}

static uint32_t next_priority(struct alloc *alloc)
{
    alloc->random = alloc->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(alloc->random >> 32);
}

static uint32_t take_record(struct alloc *alloc)
{
    uint32_t id = alloc->blocks_spare;
    if (id) {
        alloc->blocks_spare = alloc->blocks[id].next;
        alloc->blocks_spare_count--;
        return id;
    }
    assert(alloc->blocks_made < alloc->blocks_cap);
    id = alloc->blocks_made++;
    alloc->blocks[id].priority = next_priority(alloc);
    return id;
}

/* From reserved room: a block like that one, in no set yet. */
static uint32_t block_new(struct alloc *alloc, const struct block *like)
{
    uint32_t id = take_record(alloc), priority = alloc->blocks[id].priority;
    struct block *block = &alloc->blocks[id];
    *block = *like;
    block->priority = priority;
    block->state = BLOCK_TAKEN;
    block->deferred = false;
    return id;
}

static void block_recycle(struct alloc *alloc, uint32_t id)
{
    struct block *block = block_at(alloc, id);
    assert(block->state != BLOCK_SPARE);
    block->state = BLOCK_SPARE;
    block->next = alloc->blocks_spare;
    alloc->blocks_spare = id;
    alloc->blocks_spare_count++;
}

uint32_t block_cut(struct alloc *alloc, uint32_t id, uint64_t size)
{
    struct block *front = block_at(alloc, id);
    assert(size && size < front->size);
    uint32_t rest_id = block_new(alloc, front);
    struct block *rest = block_at(alloc, rest_id);
    rest->address += size;
    rest->size -= size;
    rest->prev = id;
    front->serial = ++alloc->serials;
    if (rest->next)
        block_at(alloc, rest->next)->prev = rest_id;
    front->next = rest_id;
    front->size = size;
    return rest_id;
}

void block_insert(struct alloc *alloc, uint32_t id)
{
    struct block *block = block_at(alloc, id);
    struct freeset *set = set_of(alloc, block);
    assert(block->state == BLOCK_TAKEN);
    block->state = BLOCK_FREE;
    block->born = alloc->pools[set->pool].searches[set->small];
    freeset_insert(set, alloc->blocks, id);
}

void block_remove(struct alloc *alloc, uint32_t id)
{
    struct block *block = block_at(alloc, id);
    assert(block->state == BLOCK_FREE);
    freeset_remove(set_of(alloc, block), alloc->blocks, id);
    block->state = BLOCK_TAKEN;
}

void block_insert_unmapped(struct alloc *alloc, uint32_t id)
{
    struct block *block = block_at(alloc, id);
    assert(block->state == BLOCK_TAKEN && block->expandable);
    block->state = BLOCK_UNMAPPED;
    tree_insert(alloc->blocks, &set_of(alloc, block)->unmapped, id, TREE_BY_ADDRESS);
}

void block_remove_unmapped(struct alloc *alloc, uint32_t id)
{
    struct block *block = block_at(alloc, id);
    assert(block->state == BLOCK_UNMAPPED);
    tree_remove(alloc->blocks, &set_of(alloc, block)->unmapped, id);
    block->state = BLOCK_TAKEN;
}

/* The upper block of two neighbours goes up in the lower one. Neither is in a set. */
static void absorb(struct alloc *alloc, uint32_t lower_id, uint32_t upper_id)
{
    struct block *lower = block_at(alloc, lower_id), *upper = block_at(alloc, upper_id);
    assert(lower->segment == upper->segment && lower->address + lower->size == upper->address);
    assert(lower->next == upper_id && upper->prev == lower_id);
    lower->size += upper->size;
    lower->next = upper->next;
    if (upper->next)
        block_at(alloc, upper->next)->prev = lower_id;
    block_recycle(alloc, upper_id);
}

static bool take_neighbour(struct alloc *alloc, uint32_t id, enum block_state like,
                           struct merged *merged)
{
    if (!id || block_at(alloc, id)->state != like)
        return false;
    if (like == BLOCK_FREE)
        block_remove(alloc, id);
    else
        block_remove_unmapped(alloc, id);
    merged->count++;
    merged->bytes += (int64_t)block_at(alloc, id)->size;
    return true;
}

uint32_t block_merge(struct alloc *alloc, uint32_t id, enum block_state like, struct merged *merged)
{
    uint32_t prev = block_at(alloc, id)->prev, next = block_at(alloc, id)->next;
    uint32_t serial = block_at(alloc, id)->serial;
    *merged = (struct merged){0};
    if (take_neighbour(alloc, next, like, merged))
        absorb(alloc, id, next);
    if (take_neighbour(alloc, prev, like, merged)) {
        absorb(alloc, prev, id);
        block_at(alloc, prev)->serial = serial;
        return prev;
    }
    return id;
}

/* ---- segments ---- */

bool segments_reserve(struct alloc *alloc)
{
    if (alloc->segments_spare)
        return true;
    if (!MEM_GROW(alloc->segments, alloc->segments_cap, alloc->segment_count + 2))
        return false;
    if (!alloc->segment_count) {
        alloc->segments[0] = (struct segment){0};
        alloc->segment_count = 1;
    }
    return alloc->segment_count < UINT32_MAX;
}

uint32_t segment_new(struct alloc *alloc, const struct segment *like)
{
    uint32_t number = alloc->segments_spare;
    assert(number || alloc->segment_count < alloc->segments_cap);
    if (number)
        alloc->segments_spare = alloc->segments[number].next_spare;
    else
        number = (uint32_t)alloc->segment_count++;
    struct segment *segment = &alloc->segments[number];
    *segment = *like;
    struct block whole = {
        .address = like->address,
        .size = like->size,
        .set = like->set,
        .segment = number,
        .expandable = like->page != 0,
        .serial = ++alloc->serials,
    };
    segment->head = block_new(alloc, &whole);
    alloc->pools[alloc->sets[like->set]->pool].segments++;
    return number;
}

void segment_recycle(struct alloc *alloc, uint32_t number)
{
    struct segment *segment = &alloc->segments[number];
    assert(segment->head && alloc->pools[alloc->sets[segment->set]->pool].segments > 0);
    alloc->pools[alloc->sets[segment->set]->pool].segments--;
    block_recycle(alloc, segment->head);
    *segment = (struct segment){.next_spare = alloc->segments_spare};
    alloc->segments_spare = number;
}
