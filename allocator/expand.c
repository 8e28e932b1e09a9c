/*
 * expand.c - expandable segments: a range of addresses as large as the device and an eighth, and
 * pages mapped into it as they are needed. Mapped and unmapped blocks are one chain; a new segment
 * is one unmapped block.
 *
 * An unmapped block begins and ends at a page, seen from the beginning of the segment: what is
 * mapped is the request rounded up to pages, what is unmapped are whole pages inside free blocks.
 */
#include "engine.h"

#include <assert.h>

static void count_pages(struct alloc *alloc, const struct freeset *set, uint64_t address,
                        uint64_t bytes, enum alloc_event_kind kind)
{
    struct alloc_event event = {.kind = kind,
                                .address = address,
                                .size = bytes,
                                .stream = set->stream,
                                .pool = alloc->pools[set->pool].id};
    if (kind == ALLOC_EVENT_MAP) {
        alloc->taken += bytes;
        alloc->counters.device_allocs++;
        count_up(&alloc->counters, set->small, COUNT_RESERVED_BYTES, (int64_t)bytes);
    } else {
        alloc->taken -= bytes;
        alloc->counters.device_frees++;
        count_down(&alloc->counters, set->small, COUNT_RESERVED_BYTES, (int64_t)bytes);
    }
    engine_tell(alloc, &event);
}

/* ---- mapping ---- */

/* Maps pages at the beginning of an unmapped block. *id becomes the free block that they are in,
 * which is in its set. */
static int map_front(struct alloc *alloc, uint32_t *id, uint64_t bytes)
{
    struct block *block = block_at(alloc, *id);
    const struct segment *segment = &alloc->segments[block->segment];
    uint64_t address = block->address, mapped = round_up(bytes, segment->page);
    struct merged merged;
    assert(mapped <= block->size);
    int err = alloc->device->map(alloc->device->self, address, mapped);
    if (err != BASE_OK)
        return err;
    block_remove_unmapped(alloc, *id);
    if (mapped < block->size)
        block_insert_unmapped(alloc, block_cut(alloc, *id, mapped));
    *id = block_merge(alloc, *id, BLOCK_FREE, &merged);
    block_insert(alloc, *id);
    count_pages(alloc, set_of(alloc, block_at(alloc, *id)), address, mapped, ALLOC_EVENT_MAP);
    return BASE_OK;
}

/* Whether free and unmapped blocks from there on are that large together. */
static bool has_room(const struct alloc *alloc, uint32_t id, uint64_t size)
{
    uint64_t room = 0;
    while (room < size && id) {
        const struct block *block = block_at(alloc, id);
        if (block->state != BLOCK_FREE && block->state != BLOCK_UNMAPPED)
            break;
        room += block->size;
        id = block->next;
    }
    return room >= size;
}

/* The lowest place with an unmapped block, or the free block before one. 0 = none. */
static uint32_t find_place(const struct alloc *alloc, const struct freeset *set, uint64_t size)
{
    for (uint32_t id = tree_first(alloc->blocks, set->unmapped); id;) {
        const struct block *block = block_at(alloc, id);
        uint32_t from = id;
        if (block->prev && block_at(alloc, block->prev)->state == BLOCK_FREE)
            from = block->prev;
        if (has_room(alloc, from, size))
            return from;
        id = tree_find(alloc->blocks, set->unmapped, 0, block->address + 1, TREE_BY_ADDRESS);
    }
    return 0;
}

/* Addresses of one range: an eighth more than the device has, or what the settings say. */
static uint64_t range_size(const struct alloc_config *config, uint64_t total)
{
    const struct alloc_reserve *reserve = &config->reserve;
    uint64_t most = total + total / 8;
    double bytes = reserve->value * (reserve->gib ? (double)(UINT64_C(1) << 30) : (double)total);
    return reserve->value > 0 && bytes < (double)most ? (uint64_t)bytes : most;
}

static int new_segment(struct alloc *alloc, const struct search *search, uint32_t *id)
{
    const struct alloc_device *device = alloc->device;
    uint64_t free_bytes, total;
    struct segment like = {.set = search->set};
    int err = device->memory(device->self, &free_bytes, &total);
    assert(search->set < alloc->set_count);
    if (err != BASE_OK)
        return err;
    like.page =
        alloc->sets[search->set]->small ? ALLOC_SMALL_SEGMENT : alloc->config.large_segment_size;
    like.size = round_up(range_size(&alloc->config, total), like.page);
    if (like.size < search->rounded)
        return ERR_NOMEM;
    err = device->reserve(device->self, like.size, search->stream, &like.address);
    if (err != BASE_OK)
        return err;
    if (device->pages)
        device->pages(device->self, like.address, like.size, like.page);
    *id = alloc->segments[segment_new(alloc, &like)].head;
    block_insert_unmapped(alloc, *id);
    return BASE_OK;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* There is room for the records. What was mapped before the device refused stays, as free blocks.
 */
int expand_map(struct alloc *alloc, struct search *search)
{
    int err = BASE_OK;
    uint32_t id = find_place(alloc, alloc->sets[search->set], search->rounded);
    if (!id)
        err = new_segment(alloc, search, &id);
    if (err == BASE_OK && block_at(alloc, id)->state == BLOCK_UNMAPPED)
        err = map_front(alloc, &id, least(block_at(alloc, id)->size, search->rounded));
    while (err == BASE_OK && block_at(alloc, id)->size < search->rounded) {
        uint64_t missing = search->rounded - block_at(alloc, id)->size;
        id = block_at(alloc, id)->next;
        err = map_front(alloc, &id, least(block_at(alloc, id)->size, missing));
    }
    if (err != BASE_OK)
        return err;
    block_remove(alloc, id);
    search->block = id;
    return BASE_OK;
}

/* ---- unmapping ---- */

/* The segment is one unmapped block again. */
static int drop_segment(struct alloc *alloc, uint32_t number)
{
    struct segment segment = alloc->segments[number];
    int err = alloc->device->unreserve(alloc->device->self, segment.address, segment.size);
    assert(segment.head && segment.page);
    if (err != BASE_OK)
        return err;
    block_remove_unmapped(alloc, segment.head);
    segment_recycle(alloc, number);
    return BASE_OK;
}

static int unmap(struct alloc *alloc, const struct freeset *set, uint64_t address, uint64_t bytes)
{
    const struct alloc_device *device = alloc->device;
    int err = device->stream_wait(device->self, set->stream);
    return err == BASE_OK ? device->unmap(device->self, address, bytes) : err;
}

/* The free block becomes what is before the pages, an unmapped one, and what is behind them. */
int expand_unmap(struct alloc *alloc, uint32_t id)
{
    struct block block = *block_at(alloc, id);
    struct segment segment = alloc->segments[block.segment];
    const struct freeset *set = alloc->sets[block.set];
    uint64_t from = segment.address + round_up(block.address - segment.address, segment.page);
    uint64_t end = block.address + block.size;
    uint64_t to = end - (end - segment.address) % segment.page;
    struct merged merged;
    assert(block.state == BLOCK_FREE && segment.page);
    if (from >= to)
        return BASE_OK;
    if (!blocks_reserve(alloc, 2))
        return ERR_NOMEM;
    int err = unmap(alloc, set, from, to - from);
    if (err != BASE_OK)
        return err;
    block_remove(alloc, id);
    if (from > block.address) {
        uint32_t rest = block_cut(alloc, id, from - block.address);
        block_insert(alloc, id);
        id = rest;
    }
    if (to < end)
        block_insert(alloc, block_cut(alloc, id, to - from));
    id = block_merge(alloc, id, BLOCK_UNMAPPED, &merged);
    block_insert_unmapped(alloc, id);
    count_pages(alloc, set, from, to - from, ALLOC_EVENT_UNMAP);
    return block_is_split(block_at(alloc, id)) ? BASE_OK : drop_segment(alloc, block.segment);
}

void expand_drop_idle(struct alloc *alloc, uint32_t pool)
{
    for (uint32_t i = 1; i < alloc->segment_count; i++) {
        const struct segment *segment = &alloc->segments[i];
        if (!segment->head || !segment->page || alloc->sets[segment->set]->pool != pool)
            continue;
        const struct block *head = block_at(alloc, segment->head);
        if (head->state == BLOCK_UNMAPPED && !head->next)
            drop_segment(alloc, i);
    }
}

void expand_give(struct alloc *alloc, uint32_t number)
{
    const struct segment *segment = &alloc->segments[number];
    const struct freeset *set = alloc->sets[segment->set];
    for (uint32_t id = segment->head; id;) {
        const struct block *block = block_at(alloc, id);
        uint64_t from = block->address;
        while (id && block_at(alloc, id)->state != BLOCK_UNMAPPED) {
            block = block_at(alloc, id);
            id = block->next;
        }
        if (block->state == BLOCK_UNMAPPED) {
            id = block->next;
            continue;
        }
        uint64_t bytes = block->address + block->size - from;
        unmap(alloc, set, from, bytes);
        count_pages(alloc, set, from, bytes, ALLOC_EVENT_UNMAP);
    }
    alloc->device->unreserve(alloc->device->self, segment->address, segment->size);
}
