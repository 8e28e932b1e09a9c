/*
 * ladder.c - segments: taken from the device when the cache has nothing, and given back.
 *
 * When the device (or the limit) has no room, rung by rung:
 *   before: garbage collection, if it is set up: large segments that nobody asked for in a long
 * time
 *   1. a new segment
 *   2. with a max_split_size: oversize blocks of the same stream and pool go back, and again
 *   3. unless a pool is begun: wait for all events, give back all that is cached, and again
 * The cache is not searched again after the third: what became free there in a split segment does
 * not help this request, only the next. That is PyTorch's behaviour, too.
 *
 * With throw_on_cudamalloc_oom a rung that the limit lets pass ends it all where segment and what
 * was taken are more than the settings' part of the device. A limit that is that part is in the way
 * first: then this never happens.
 */
#include "engine.h"

/* ---- whole segments ---- */

static void tell_segment(struct alloc *alloc, enum alloc_event_kind kind, uint64_t address,
                         uint64_t size, const struct freeset *set)
{
    struct alloc_event event = {.kind = kind,
                                .address = address,
                                .size = size,
                                .stream = set->stream,
                                .pool = alloc->pools[set->pool].id};
    engine_tell(alloc, &event);
}

/* There is room for its records. */
static int take_segment(struct alloc *alloc, struct search *search)
{
    struct segment like = {.size = search->segment_size, .set = search->set};
    const struct freeset *set = alloc->sets[search->set];
    int err = alloc->device->take(alloc->device->self, like.size, search->stream, &like.address);
    if (err != BASE_OK)
        return err;
    search->block = alloc->segments[segment_new(alloc, &like)].head;
    alloc->taken += like.size;
    count_up(&alloc->counters, set->small, COUNT_SEGMENT, 1);
    count_up(&alloc->counters, set->small, COUNT_RESERVED_BYTES, (int64_t)like.size);
    if (like.size >= alloc->config.max_split_size)
        stat_up(&alloc->counters.oversize_segments, 1);
    alloc->counters.device_allocs++;
    tell_segment(alloc, ALLOC_EVENT_SEGMENT_ALLOC, like.address, like.size, set);
    return BASE_OK;
}

static bool is_whole_segment(const struct alloc *alloc, uint32_t id)
{
    const struct block *block = block_at(alloc, id);
    return !block->expandable && !block_is_split(block);
}

/* A free block that is a whole plain segment goes back to the device. */
static int give_segment(struct alloc *alloc, uint32_t id)
{
    uint32_t number = block_at(alloc, id)->segment;
    struct segment segment = alloc->segments[number];
    const struct freeset *set = alloc->sets[segment.set];
    assert(is_whole_segment(alloc, id) && segment.head == id);
    int err = alloc->device->give(alloc->device->self, segment.address, segment.size);
    if (err != BASE_OK)
        return err;
    block_remove(alloc, id);
    segment_recycle(alloc, number);
    alloc->taken -= segment.size;
    count_down(&alloc->counters, set->small, COUNT_SEGMENT, 1);
    count_down(&alloc->counters, set->small, COUNT_RESERVED_BYTES, (int64_t)segment.size);
    if (segment.size >= alloc->config.max_split_size)
        stat_down(&alloc->counters.oversize_segments, 1);
    alloc->counters.device_frees++;
    tell_segment(alloc, ALLOC_EVENT_SEGMENT_FREE, segment.address, segment.size, set);
    return BASE_OK;
}

void ladder_give_everything(struct alloc *alloc)
{
    for (uint32_t i = 1; i < alloc->segment_count; i++) {
        const struct segment *segment = &alloc->segments[i];
        if (!segment->head)
            continue;
        if (segment->page) {
            expand_give(alloc, i);
            continue;
        }
        alloc->device->give(alloc->device->self, segment->address, segment->size);
        tell_segment(alloc, ALLOC_EVENT_SEGMENT_FREE, segment->address, segment->size,
                     alloc->sets[segment->set]);
    }
}

/* ---- the cache back to the device ---- */

static int release_plain(struct alloc *alloc, const struct freeset *set)
{
    uint32_t next;
    for (uint32_t id = freeset_find(set, alloc->blocks, 0, 0); id; id = next) {
        next = freeset_next(set, alloc->blocks, id);
        int err = is_whole_segment(alloc, id) ? give_segment(alloc, id) : BASE_OK;
        if (err != BASE_OK)
            return err;
    }
    return BASE_OK;
}

/* What is left of a block around its unmapped pages is smaller than a page: to meet it again does
 * no harm. */
static int release_pages(struct alloc *alloc, const struct freeset *set)
{
    uint32_t next;
    for (uint32_t id = freeset_find(set, alloc->blocks, 0, 0); id; id = next) {
        next = freeset_next(set, alloc->blocks, id);
        int err = block_at(alloc, id)->expandable ? expand_unmap(alloc, id) : BASE_OK;
        if (err != BASE_OK)
            return err;
    }
    return BASE_OK;
}

static int release_half(struct alloc *alloc, uint32_t pool, bool small)
{
    int err = BASE_OK;
    const struct freeset *set = NULL;
    while (err == BASE_OK && (set = set_next(alloc, pool, small, set)))
        err = release_plain(alloc, set);
    set = NULL;
    while (err == BASE_OK && (set = set_next(alloc, pool, small, set)))
        err = release_pages(alloc, set);
    return err;
}

static int release_private(struct alloc *alloc)
{
    int err = BASE_OK;
    for (uint32_t pool = 1; pool < alloc->pool_count && err == BASE_OK; pool++) {
        if (!alloc->pools[pool].used || alloc->pools[pool].users)
            continue;
        err = release_half(alloc, pool, true);
        if (err == BASE_OK)
            err = release_half(alloc, pool, false);
        if (err == BASE_OK)
            pool_drop_if_empty(alloc, pool);
    }
    return err;
}

/* While a pool is begun: only what private pools have that nobody uses any more. */
int ladder_release_cached(struct alloc *alloc)
{
    int err = BASE_OK;
    if (!alloc->begun_count) {
        err = events_wait_all(alloc);
        if (err == BASE_OK)
            err = release_half(alloc, 0, false);
        if (err == BASE_OK)
            err = release_half(alloc, 0, true);
    }
    return err == BASE_OK ? release_private(alloc) : err;
}

/* ---- the second rung ---- */

static bool is_oversize_segment(const struct alloc *alloc, uint32_t id)
{
    return block_at(alloc, id)->size >= alloc->config.max_split_size && is_whole_segment(alloc, id);
}

/* From the largest of those below `need` downwards, until they sum up to it. */
static int release_several(struct alloc *alloc, const struct freeset *set, uint64_t need,
                           bool *enough)
{
    uint64_t sum = 0;
    uint32_t next;
    for (uint32_t id = freeset_find_before(set, alloc->blocks, need, 0); id && sum < need;
         id = next) {
        struct block block = *block_at(alloc, id);
        if (block.size < alloc->config.max_split_size)
            break;
        next = freeset_find_before(set, alloc->blocks, block.size, block.address);
        if (!is_oversize_segment(alloc, id))
            continue;
        int err = give_segment(alloc, id);
        if (err != BASE_OK)
            return err;
        sum += block.size;
    }
    *enough = sum >= need;
    return BASE_OK;
}

/* One block that is large enough, or several. */
static int release_oversize(struct alloc *alloc, const struct search *search, bool *enough)
{
    const struct freeset *set = alloc->sets[search->set];
    uint64_t need = search->rounded;
    *enough = false;
    if (alloc->config.max_split_size == UINT64_MAX)
        return BASE_OK;
    if (need < alloc->config.max_split_size)
        need = alloc->config.max_split_size;
    uint32_t id = freeset_find(set, alloc->blocks, need, 0);
    if (!id || !is_oversize_segment(alloc, id))
        return release_several(alloc, set, need, enough);
    *enough = true;
    return give_segment(alloc, id);
}

/* ---- garbage collection ---- */

struct garbage {
    uint64_t age; /* of all candidates together */
    uint64_t count;
};

static uint64_t age_of(const struct alloc *alloc, uint32_t id)
{
    return alloc->pools[0].searches[false] - block_at(alloc, id)->born;
}

static struct garbage look_for_garbage(const struct alloc *alloc)
{
    struct garbage garbage = {0};
    const struct freeset *set = NULL;
    while ((set = set_next(alloc, 0, false, set))) {
        for (uint32_t id = freeset_find(set, alloc->blocks, 0, 0); id;
             id = freeset_next(set, alloc->blocks, id)) {
            if (block_is_split(block_at(alloc, id)))
                continue;
            garbage.age += age_of(alloc, id);
            garbage.count++;
        }
    }
    return garbage;
}

/* Gives back those of one stream that are at least that old. */
static int collect_from(struct alloc *alloc, const struct freeset *set, double age,
                        struct garbage *garbage, uint64_t *sum)
{
    uint32_t next;
    for (uint32_t id = freeset_find(set, alloc->blocks, 0, 0); id; id = next) {
        next = freeset_next(set, alloc->blocks, id);
        if (!is_whole_segment(alloc, id) || (double)age_of(alloc, id) < age)
            continue;
        *sum += block_at(alloc, id)->size;
        garbage->age -= age_of(alloc, id);
        garbage->count--;
        int err = give_segment(alloc, id);
        if (err != BASE_OK)
            return err;
    }
    return BASE_OK;
}

/* Passes over the large segments that are wholly free, each with the mean age of what is left. */
static int collect_garbage(struct alloc *alloc)
{
    uint64_t threshold = (uint64_t)(alloc->config.gc_threshold * (double)alloc->limit);
    if (alloc->taken <= threshold)
        return BASE_OK;
    uint64_t target = alloc->taken - threshold, sum = 0, last_count = 0;
    struct garbage garbage = look_for_garbage(alloc);
    while (sum < target && garbage.count && garbage.count != last_count) {
        double age = (double)garbage.age / (double)garbage.count;
        const struct freeset *set = NULL;
        last_count = garbage.count;
        while ((set = set_next(alloc, 0, false, set))) {
            int err = collect_from(alloc, set, age, &garbage, &sum);
            if (err != BASE_OK)
                return err;
        }
    }
    return BASE_OK;
}

/* ---- the ladder ---- */

/* With what was taken, the segment is more than `bytes`. */
static bool passes(const struct alloc *alloc, const struct search *search, uint64_t bytes)
{
    return search->segment_size > bytes || alloc->taken > bytes - search->segment_size;
}

static int attempt(struct alloc *alloc, struct search *search)
{
    if (!blocks_reserve(alloc, BLOCKS_OF_A_SEARCH) || !segments_reserve(alloc)) {
        search->starved = true;
        return ERR_NOMEM;
    }
    if (passes(alloc, search, alloc->limit))
        return ERR_NOMEM;
    search->thrown = alloc->config.throws && passes(alloc, search, alloc->throw_at);
    if (search->thrown)
        return ERR_NOMEM;
    return alloc->expandable ? expand_map(alloc, search) : take_segment(alloc, search);
}

/* No more rungs are tried. */
static bool is_over(const struct search *search, int err)
{
    return err != ERR_NOMEM || search->starved || search->thrown;
}

static int climb(struct alloc *alloc, struct search *search)
{
    bool enough;
    int err = BASE_OK;
    if (alloc->config.gc_threshold > 0 && alloc->limit != UINT64_MAX)
        err = collect_garbage(alloc);
    if (err == BASE_OK)
        err = attempt(alloc, search);
    if (is_over(search, err))
        return err;
    err = release_oversize(alloc, search, &enough);
    if (err != BASE_OK)
        return err;
    err = enough ? attempt(alloc, search) : ERR_NOMEM;
    if (is_over(search, err) || alloc->begun_count)
        return err;
    err = ladder_release_cached(alloc);
    if (err != BASE_OK)
        return err;
    alloc->counters.retries++;
    return attempt(alloc, search);
}

int ladder_climb(struct alloc *alloc, struct search *search, bool *refused)
{
    int err = climb(alloc, search);
    *refused = err == ERR_NOMEM && !search->starved;
    return err;
}
