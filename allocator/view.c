/*
 * view.c - the heap shown from outside, and a heap taken over from outside.
 */
#include <stdlib.h>

#include "engine.h"
#include "mem.h"

/* ---- the walk ---- */

struct walk {
    const struct segment **segments; /* by address */
    size_t count;
    struct alloc_block_view *blocks; /* of one segment at a time */
    size_t blocks_cap;
};

static int by_address(const void *a, const void *b)
{
    const struct segment *const *left = a, *const *right = b;
    return (*left)->address < (*right)->address ? -1 : (*left)->address > (*right)->address;
}

static bool sort_segments(const struct alloc *alloc, struct walk *walk)
{
    walk->segments = mem_alloc(alloc->segment_count, sizeof *walk->segments);
    if (!walk->segments)
        return false;
    for (size_t i = 1; i < alloc->segment_count; i++) {
        if (alloc->segments[i].head)
            walk->segments[walk->count++] = &alloc->segments[i];
    }
    qsort(walk->segments, walk->count, sizeof *walk->segments, by_address);
    return true;
}

static enum alloc_block_state state_seen(const struct block *block)
{
    switch (block->state) {
    case BLOCK_LIVING:
        return ALLOC_LIVING;
    case BLOCK_AWAITING:
        return ALLOC_AWAITING;
    case BLOCK_UNMAPPED:
        return ALLOC_UNMAPPED;
    default:
        return ALLOC_FREE;
    }
}

static bool view_segment(const struct alloc *alloc, const struct segment *segment,
                         struct walk *walk, struct alloc_segment_view *view)
{
    const struct freeset *set = alloc->sets[segment->set];
    size_t count = 0;
    for (uint32_t id = segment->head; id; id = block_at(alloc, id)->next) {
        const struct block *block = block_at(alloc, id);
        enum alloc_block_state state = state_seen(block);
        bool active = state == ALLOC_LIVING || state == ALLOC_AWAITING;
        if (!MEM_GROW(walk->blocks, walk->blocks_cap, count + 1))
            return false;
        walk->blocks[count++] = (struct alloc_block_view){block->address, block->size,
                                                          active ? block->requested : 0, state};
    }
    *view = (struct alloc_segment_view){
        .address = segment->address,
        .size = segment->size,
        .stream = set->stream,
        .pool = alloc->pools[set->pool].id,
        .small = set->small,
        .expandable = segment->page != 0,
        .blocks = walk->blocks,
        .block_count = count,
    };
    return true;
}

static int walk_locked(struct alloc *alloc,
                       bool (*see)(void *self, const struct alloc_segment_view *segment),
                       void *self, struct walk *walk)
{
    struct alloc_segment_view view;
    if (!sort_segments(alloc, walk))
        return ERR_NOMEM;
    for (size_t i = 0; i < walk->count; i++) {
        if (!view_segment(alloc, walk->segments[i], walk, &view))
            return ERR_NOMEM;
        if (!see(self, &view))
            break;
    }
    return BASE_OK;
}

int alloc_walk(struct alloc *alloc,
               bool (*see)(void *self, const struct alloc_segment_view *segment), void *self)
{
    struct walk walk = {0};
    engine_lock(alloc);
    int err = walk_locked(alloc, see, self, &walk);
    engine_unlock(alloc);
    mem_free(walk.segments);
    mem_free(walk.blocks);
    return err;
}

/* ---- adoption ---- */

static bool can_merge(enum alloc_block_state state)
{
    return state == ALLOC_FREE || state == ALLOC_UNMAPPED;
}

static bool block_fits(const struct alloc_segment_view *view, const struct alloc_block_view *block,
                       uint64_t at, uint64_t page)
{
    if (block->address != at || block->size == 0 || block->size % ALLOC_MIN_BLOCK ||
        block->size > view->address + view->size - at)
        return false;
    switch (block->state) {
    case ALLOC_LIVING:
    case ALLOC_AWAITING:
        return block->requested <= block->size;
    case ALLOC_UNMAPPED:
        return view->expandable && (at - view->address) % page == 0 && block->size % page == 0;
    default:
        return block->state == ALLOC_FREE;
    }
}

static bool view_fits(const struct alloc *alloc, const struct alloc_segment_view *view,
                      uint64_t page)
{
    uint64_t at = view->address;
    if (view->size == 0 || view->address > UINT64_MAX - view->size ||
        view->size >= ALLOC_MAX_REQUEST || (view->expandable && !alloc->device->reserve))
        return false;
    for (size_t i = 0; i < view->block_count; i++) {
        if (!block_fits(view, &view->blocks[i], at, page))
            return false;
        at += view->blocks[i].size;
    }
    if (at != view->address + view->size)
        return false;
    for (size_t i = 1; i < alloc->segment_count; i++) {
        const struct segment *other = &alloc->segments[i];
        if (other->head && view->address < other->address + other->size &&
            other->address < view->address + view->size)
            return false;
    }
    return true;
}

/* A state as the view says, out of nothing. */
static void settle_in(struct alloc *alloc, uint32_t id, const struct alloc_block_view *view,
                      bool small)
{
    struct counters *counters = &alloc->counters;
    struct block *block = block_at(alloc, id);
    int64_t size = (int64_t)block->size;
    if (view->state == ALLOC_UNMAPPED) {
        block_insert_unmapped(alloc, id);
        return;
    }
    if (block->expandable)
        count_up(counters, small, COUNT_RESERVED_BYTES, size);
    if (view->state == ALLOC_FREE) {
        block_insert(alloc, id);
        if (block->expandable || !block_is_split(block))
            return;
        count_up(counters, small, COUNT_INACTIVE_SPLIT, 1);
        count_up(counters, small, COUNT_INACTIVE_SPLIT_BYTES, size);
        return;
    }
    block->requested = view->requested;
    block->state = BLOCK_AWAITING;
    blockmap_put(&alloc->map, block->address, id);
    count_up(counters, small, COUNT_ACTIVE, 1);
    count_up(counters, small, COUNT_ACTIVE_BYTES, size);
    count_up(counters, small, COUNT_REQUESTED_BYTES, (int64_t)block->requested);
    if (view->state != ALLOC_LIVING)
        return;
    block->state = BLOCK_LIVING;
    count_up(counters, small, COUNT_ALLOCATION, 1);
    count_up(counters, small, COUNT_ALLOCATED_BYTES, size);
    if (block->size >= alloc->config.max_split_size)
        stat_up(&counters->oversize_allocations, 1);
}

/* Cuts the new segment along the view; what could merge does. */
static void fill(struct alloc *alloc, uint32_t number, const struct alloc_segment_view *view)
{
    uint32_t id = alloc->segments[number].head, next = 0;
    for (size_t i = 0; i < view->block_count; id = next) {
        const struct alloc_block_view *first = &view->blocks[i];
        uint64_t size = 0;
        do
            size += view->blocks[i++].size;
        while (i < view->block_count && can_merge(first->state) &&
               view->blocks[i].state == first->state);
        next = i < view->block_count ? block_cut(alloc, id, size) : 0;
        settle_in(alloc, id, first, view->small);
    }
}

static int adopt_locked(struct alloc *alloc, const struct alloc_segment_view *view)
{
    uint64_t page = view->small ? ALLOC_SMALL_SEGMENT : alloc->config.large_segment_size;
    struct segment like = {.address = view->address, .size = view->size};
    uint32_t pool = 0;
    if (!view_fits(alloc, view, page))
        return ERR_ARG;
    if (view->block_count >= UINT32_MAX / 2 || !segments_reserve(alloc) ||
        !blocks_reserve(alloc, (uint32_t)view->block_count) ||
        !blockmap_reserve(&alloc->map, (uint32_t)view->block_count))
        return ERR_NOMEM;
    bool known = pool_find(alloc, view->pool) < alloc->pool_count;
    int err = pool_make(alloc, view->pool, &pool);
    if (err != BASE_OK)
        return err;
    like.set = set_find(alloc, pool, view->small, view->stream);
    if (like.set == alloc->set_count) {
        pool_drop_if_empty(alloc, pool);
        return ERR_NOMEM;
    }
    if (!known)
        alloc->pools[pool].users = 1;
    like.page = view->expandable ? page : 0;
    uint32_t number = segment_new(alloc, &like);
    alloc->counters.device_allocs++;
    if (!view->expandable) {
        count_up(&alloc->counters, view->small, COUNT_SEGMENT, 1);
        count_up(&alloc->counters, view->small, COUNT_RESERVED_BYTES, (int64_t)view->size);
        if (view->size >= alloc->config.max_split_size)
            stat_up(&alloc->counters.oversize_segments, 1);
    }
    for (size_t i = 0; i < view->block_count; i++)
        alloc->taken += view->blocks[i].state == ALLOC_UNMAPPED ? 0 : view->blocks[i].size;
    fill(alloc, number, view);
    return BASE_OK;
}

int alloc_adopt(struct alloc *alloc, const struct alloc_segment_view *segment)
{
    engine_lock(alloc);
    int err = adopt_locked(alloc, segment);
    engine_unlock(alloc);
    return err;
}
