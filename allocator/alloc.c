/*
 * alloc.c - the allocator's short ways: a block from the cache and back, and the public functions.
 *
 * A request is rounded, and its pool, its half of it (small, large) and its stream name the set in
 * which it is looked for. What is found may be larger: it is cut if the rest is worth it. A block
 * that comes back merges with its free neighbours at once. What the cache cannot give is
 * ladder.c's.
 */
#include <string.h>

#include "engine.h"
#include "mem.h"

/* ---- the cache ---- */

void engine_tell(struct alloc *alloc, const struct alloc_event *event)
{
    if (alloc->observer.event)
        alloc->observer.event(alloc->observer.self, event);
}

/* What is said of a block. Made before it completes, as its record may go then. */
static struct alloc_event block_event(const struct alloc *alloc, enum alloc_event_kind kind,
                                      const struct block *block, bool waits)
{
    const struct freeset *set = set_of(alloc, block);
    return (struct alloc_event){.kind = kind,
                                .waits = waits,
                                .address = block->address,
                                .size = block->size,
                                .requested = block->requested,
                                .stream = set->stream,
                                .pool = alloc->pools[set->pool].id};
}

/* A block before an unmapped one counts as large as it could become. */
static uint64_t size_grown(const struct alloc *alloc, uint32_t id)
{
    const struct block *block = block_at(alloc, id);
    const struct block *next = block->next ? block_at(alloc, block->next) : NULL;
    return block->size + (next && next->state == BLOCK_UNMAPPED ? next->size : 0);
}

/* The best fit is of an expandable segment. While these are in use, the smallest by what a block
 * could grow to, as long as each is smaller than the one before it; else one of a plain segment. */
static uint32_t find_further(const struct alloc *alloc, const struct freeset *set, uint32_t id)
{
    uint32_t next = freeset_next(set, alloc->blocks, id);
    if (!alloc->expandable) {
        while (next && block_at(alloc, next)->expandable)
            next = freeset_next(set, alloc->blocks, next);
        return next;
    }
    while (block_at(alloc, id)->expandable && next &&
           size_grown(alloc, next) < size_grown(alloc, id)) {
        id = next;
        next = freeset_next(set, alloc->blocks, id);
    }
    return id;
}

/* Of the free blocks of that size, the one whose record was made first. */
static uint32_t find_oldest(const struct alloc *alloc, const struct freeset *set, uint32_t id)
{
    uint64_t size = block_at(alloc, id)->size;
    uint32_t oldest = id;
    while ((id = freeset_next(set, alloc->blocks, id)) && block_at(alloc, id)->size == size)
        if (block_at(alloc, id)->serial < block_at(alloc, oldest)->serial)
            oldest = id;
    return oldest;
}

/* The block that the request gets from the cache, still in its set; 0 = none. */
static uint32_t find_cached(struct alloc *alloc, const struct search *search)
{
    const struct freeset *set = alloc->sets[search->set];
    const struct alloc_config *config = &alloc->config;
    if (config->gc_threshold > 0 && alloc->limit != UINT64_MAX)
        alloc->pools[search->pool].searches[set->small]++;
    uint32_t id = freeset_find(set, alloc->blocks, search->rounded, 0);
    if (id && block_at(alloc, id)->expandable)
        id = find_further(alloc, set, id);
    else if (id && config->policy.oldest_first)
        id = find_oldest(alloc, set, id);
    if (!id)
        return 0;
    uint64_t size = block_at(alloc, id)->size;
    if (search->rounded < config->max_split_size)
        return size < config->max_split_size ? id : 0;
    /* Not size >= rounded + rounding: that could overflow. */
    return size - search->rounded < config->max_non_split_rounding ? id : 0;
}

static bool rest_is_worth(const struct alloc *alloc, const struct search *search,
                          const struct block *block)
{
    uint64_t rest = block->size - search->rounded;
    if (alloc->sets[search->set]->small || alloc->expandable)
        return rest >= ALLOC_MIN_BLOCK;
    return search->rounded < alloc->config.max_split_size && rest > ALLOC_SMALL_SIZE;
}

/* Of the block handed out: `was_split` before it was cut, if it was. */
static void count_hand_out(struct alloc *alloc, const struct block *block, bool small,
                           bool was_split, uint64_t rest)
{
    struct counters *counters = &alloc->counters;
    int64_t size = (int64_t)block->size;
    if (was_split && !block->expandable) {
        count_down(counters, small, COUNT_INACTIVE_SPLIT_BYTES, size);
        if (!rest)
            count_down(counters, small, COUNT_INACTIVE_SPLIT, 1);
    } else if (rest && !block->expandable) {
        count_up(counters, small, COUNT_INACTIVE_SPLIT, 1);
        count_up(counters, small, COUNT_INACTIVE_SPLIT_BYTES, (int64_t)rest);
    }
    count_up(counters, small, COUNT_ALLOCATION, 1);
    count_up(counters, small, COUNT_ACTIVE, 1);
    count_up(counters, small, COUNT_ALLOCATED_BYTES, size);
    count_up(counters, small, COUNT_ACTIVE_BYTES, size);
    count_up(counters, small, COUNT_REQUESTED_BYTES, (int64_t)block->requested);
    if (block->size >= alloc->config.max_split_size)
        stat_up(&counters->oversize_allocations, 1);
}

/* The block is out of its set, and there is room for one more. */
static uint64_t hand_out(struct alloc *alloc, const struct search *search)
{
    struct block *block = block_at(alloc, search->block);
    bool was_split = block_is_split(block);
    uint64_t rest = 0;
    if (rest_is_worth(alloc, search, block)) {
        rest = block->size - search->rounded;
        block_insert(alloc, block_cut(alloc, search->block, search->rounded));
    }
    block->state = BLOCK_LIVING;
    block->requested = search->requested;
    block->uses = block->events = 0;
    blockmap_put(&alloc->map, block->address, search->block);
    count_hand_out(alloc, block, alloc->sets[search->set]->small, was_split, rest);
    if (alloc->observer.event) {
        struct alloc_event event = block_event(alloc, ALLOC_EVENT_ALLOC, block, false);
        engine_tell(alloc, &event);
    }
    return block->address;
}

static void count_complete(struct alloc *alloc, bool small, const struct block *block, int64_t size,
                           int64_t requested, const struct merged *merged)
{
    struct counters *counters = &alloc->counters;
    if (!block->expandable) {
        bool split = block_is_split(block);
        count_change(counters, small, COUNT_INACTIVE_SPLIT, split - merged->count);
        count_change(counters, small, COUNT_INACTIVE_SPLIT_BYTES,
                     (split ? (int64_t)block->size : 0) - merged->bytes);
    }
    count_down(counters, small, COUNT_ACTIVE, 1);
    count_down(counters, small, COUNT_ACTIVE_BYTES, size);
    count_down(counters, small, COUNT_REQUESTED_BYTES, requested);
}

static void complete(struct alloc *alloc, uint32_t id)
{
    struct block *block = block_at(alloc, id);
    bool small = set_of(alloc, block)->small;
    int64_t size = (int64_t)block->size, requested = (int64_t)block->requested;
    struct merged merged;
    assert(block->state == BLOCK_AWAITING && !block->uses && !block->events && !block->deferred);
    blockmap_remove(&alloc->map, block->address, id);
    block->state = BLOCK_TAKEN;
    id = block_merge(alloc, id, BLOCK_FREE, &merged);
    block_insert(alloc, id);
    count_complete(alloc, small, block_at(alloc, id), size, requested, &merged);
}

static void complete_and_tell(struct alloc *alloc, uint32_t id, enum alloc_event_kind kind)
{
    if (!alloc->observer.event) {
        complete(alloc, id);
        return;
    }
    struct alloc_event event = block_event(alloc, kind, block_at(alloc, id), false);
    complete(alloc, id);
    engine_tell(alloc, &event);
}

void engine_complete_waited(struct alloc *alloc, uint32_t id)
{
    complete_and_tell(alloc, id, ALLOC_EVENT_IDLE);
}

/* Takes a living block back; if it `waits`, somebody else completes it later. */
static void take_back(struct alloc *alloc, uint32_t id, bool waits)
{
    struct block *block = block_at(alloc, id);
    bool small = set_of(alloc, block)->small;
    assert(block->state == BLOCK_LIVING);
    count_down(&alloc->counters, small, COUNT_ALLOCATION, 1);
    count_down(&alloc->counters, small, COUNT_ALLOCATED_BYTES, (int64_t)block->size);
    if (block->size >= alloc->config.max_split_size)
        stat_down(&alloc->counters.oversize_allocations, 1);
    block->state = BLOCK_AWAITING;
    if (!waits) {
        complete_and_tell(alloc, id, ALLOC_EVENT_FREE);
    } else if (alloc->observer.event) {
        struct alloc_event event = block_event(alloc, ALLOC_EVENT_FREE, block, true);
        engine_tell(alloc, &event);
    }
}

/* ---- public: blocks ---- */

static void explain(struct alloc *alloc, const struct search *search, struct alloc_refusal *refusal)
{
    const struct freeset *set = alloc->sets[search->set];
    uint32_t largest = freeset_find_before(set, alloc->blocks, UINT64_MAX, 0);
    uint64_t total;
    const struct counters *counters = &alloc->counters;
    *refusal = (struct alloc_refusal){
        .requested = search->requested,
        .rounded = search->rounded,
        .segment_size = search->segment_size,
        .allocated = (uint64_t)(counters->half[0][COUNT_ALLOCATED_BYTES].current +
                                counters->half[1][COUNT_ALLOCATED_BYTES].current),
        .reserved = (uint64_t)(counters->half[0][COUNT_RESERVED_BYTES].current +
                               counters->half[1][COUNT_RESERVED_BYTES].current),
        .largest_free = largest ? block_at(alloc, largest)->size : 0,
        .limit = alloc->limit == UINT64_MAX ? 0 : alloc->limit,
        .thrown = search->thrown,
    };
    if (alloc->device->memory(alloc->device->self, &refusal->device_free, &total) != BASE_OK)
        refusal->device_free = 0;
}

static void refuse(struct alloc *alloc, const struct search *search, struct alloc_refusal *refusal)
{
    struct alloc_event event = {.kind = ALLOC_EVENT_OOM,
                                .size = search->rounded,
                                .requested = search->requested,
                                .stream = search->stream,
                                .pool = alloc->pools[search->pool].id};
    if (refusal)
        explain(alloc, search, refusal);
    alloc->counters.rejections += search->thrown;
    alloc->counters.ooms += !search->thrown;
    if (!search->thrown)
        engine_tell(alloc, &event);
}

static int search_begin(struct alloc *alloc, struct search *search)
{
    search->rounded = sizes_round(&alloc->config, search->requested);
    search->segment_size = sizes_segment(&alloc->config, search->rounded);
    search->pool = pool_of_request(alloc, search->stream);
    search->set =
        set_find(alloc, search->pool, search->rounded <= ALLOC_SMALL_SIZE, search->stream);
    if (search->set == alloc->set_count || !blocks_reserve(alloc, BLOCKS_OF_A_SEARCH) ||
        !blockmap_reserve(&alloc->map, 1))
        return ERR_NOMEM;
    return BASE_OK;
}

static int malloc_locked(struct alloc *alloc, struct search *search, uint64_t *address,
                         struct alloc_refusal *refusal)
{
    bool out_of_room = false;
    int err = alloc->begun_count ? BASE_OK : events_process(alloc);
    if (err == BASE_OK)
        err = search_begin(alloc, search);
    if (err != BASE_OK)
        return err;
    search->block = find_cached(alloc, search);
    if (search->block)
        block_remove(alloc, search->block);
    else
        err = ladder_climb(alloc, search, &out_of_room);
    if (out_of_room)
        refuse(alloc, search, refusal);
    if (err == BASE_OK)
        *address = hand_out(alloc, search);
    return err;
}

int alloc_malloc(struct alloc *alloc, uint64_t bytes, uint64_t stream, uint64_t *address,
                 struct alloc_refusal *refusal)
{
    struct search search = {.requested = bytes, .stream = stream};
    *address = 0;
    if (refusal)
        *refusal = (struct alloc_refusal){.requested = bytes};
    if (bytes == 0)
        return BASE_OK;
    if (bytes >= ALLOC_MAX_REQUEST)
        return ERR_NOMEM;
    engine_lock(alloc);
    int err = malloc_locked(alloc, &search, address, refusal);
    engine_unlock(alloc);
    return err;
}

/* 0: no block of that address, or not in that state. */
static uint32_t find_in_state(const struct alloc *alloc, uint64_t address, enum block_state state)
{
    uint32_t id = blockmap_get(&alloc->map, alloc->blocks, address);
    return id && block_at(alloc, id)->state == state ? id : 0;
}

static int give_locked(struct alloc *alloc, uint64_t address)
{
    uint32_t id = find_in_state(alloc, address, BLOCK_LIVING);
    if (!id)
        return ERR_NOTFOUND;
    bool waits = block_at(alloc, id)->uses != 0;
    take_back(alloc, id, waits);
    if (!waits)
        return BASE_OK;
    if (!alloc->begun_count)
        return events_insert(alloc, id);
    events_defer(alloc, id);
    return BASE_OK;
}

int alloc_give(struct alloc *alloc, uint64_t address)
{
    engine_lock(alloc);
    int err = give_locked(alloc, address);
    engine_unlock(alloc);
    return err;
}

int alloc_give_awaiting(struct alloc *alloc, uint64_t address)
{
    engine_lock(alloc);
    uint32_t id = find_in_state(alloc, address, BLOCK_LIVING);
    if (id) {
        uses_drop(alloc, id);
        take_back(alloc, id, true);
    }
    engine_unlock(alloc);
    return id ? BASE_OK : ERR_NOTFOUND;
}

int alloc_settle(struct alloc *alloc, uint64_t address)
{
    engine_lock(alloc);
    uint32_t id = find_in_state(alloc, address, BLOCK_AWAITING);
    if (id) {
        uses_drop(alloc, id);
        engine_complete_waited(alloc, id);
    }
    engine_unlock(alloc);
    return id ? BASE_OK : ERR_NOTFOUND;
}

int alloc_record_stream(struct alloc *alloc, uint64_t address, uint64_t stream)
{
    int err = BASE_OK;
    engine_lock(alloc);
    uint32_t id = find_in_state(alloc, address, BLOCK_LIVING);
    if (!id)
        err = ERR_NOTFOUND;
    else if (set_of(alloc, block_at(alloc, id))->stream != stream)
        err = uses_add(alloc, id, stream);
    engine_unlock(alloc);
    return err;
}

uint64_t alloc_block_size(struct alloc *alloc, uint64_t address)
{
    engine_lock(alloc);
    uint32_t id = find_in_state(alloc, address, BLOCK_LIVING);
    uint64_t size = id ? block_at(alloc, id)->size : 0;
    engine_unlock(alloc);
    return size;
}

uint64_t alloc_base(struct alloc *alloc, uint64_t address, uint64_t *size)
{
    struct segment segment = {0};
    engine_lock(alloc);
    uint32_t id = find_in_state(alloc, address, BLOCK_LIVING);
    if (id)
        segment = alloc->segments[block_at(alloc, id)->segment];
    engine_unlock(alloc);
    if (size)
        *size = segment.size;
    return segment.address;
}

int alloc_empty_cache(struct alloc *alloc)
{
    engine_lock(alloc);
    int err = ladder_release_cached(alloc);
    assert(engine_is_valid(alloc));
    engine_unlock(alloc);
    return err;
}
