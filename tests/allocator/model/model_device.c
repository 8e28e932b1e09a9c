/*
 * model_device.c - the rungs below the search: asking the device, collecting, giving back.
 */
#include "model.h"

#include <stdlib.h>

#include "error.h"
#include "mem.h"

/* One rung: the limit, then the device. */
int model_attempt(struct model *model, const struct model_request *request, bool retry,
                  struct model_spot *found)
{
    if (retry)
        model->stats.num_alloc_retries++;
    if (model->limit != 0 && model->total + request->segment_size > model->limit)
        return ERR_NOMEM;
    if (model->config.expandable_segments)
        return model_expand(model, request, found);

    struct model_segment segment = {
        .size = request->segment_size,
        .stream = request->stream,
        .pool = request->pool,
        .small = request->small,
    };
    int err =
        model->device->take(model->device->self, segment.size, segment.stream, &segment.address);
    if (err != BASE_OK)
        return err;
    model->total += segment.size;
    model_raise(model->stats.segment, segment.small, 1);
    model_raise(model->stats.reserved_bytes, segment.small, segment.size);
    if (segment.size >= model->config.max_split_size)
        model_raise_one(&model->stats.oversize_segments, 1);
    model->stats.num_device_alloc++;
    *found = (struct model_spot){model_add_segment(model, &segment, ALLOC_FREE), 0};
    model_tell(model, ALLOC_EVENT_SEGMENT_ALLOC, segment.address, segment.size, 0, &segment, false);
    return BASE_OK;
}

static bool is_whole(struct model_spot spot)
{
    return !spot.segment->expandable && spot.segment->count == 1;
}

static void give_segment(struct model *model, struct model_segment *segment)
{
    struct model_segment of = *segment;
    model->device->give(model->device->self, of.address, of.size);
    model_drop_segment(model, segment);
    model->total -= of.size;
    model_lower(model->stats.segment, of.small, 1);
    model_lower(model->stats.reserved_bytes, of.small, of.size);
    if (of.size >= model->config.max_split_size)
        model_lower_one(&model->stats.oversize_segments, 1);
    model->stats.num_device_free++;
    model_tell(model, ALLOC_EVENT_SEGMENT_FREE, of.address, of.size, 0, &of, false);
}

/* Addresses of all free blocks of a pool, in the order of the free set; for mem_free. */
static uint64_t *list_free(struct model *model, uint64_t pool, bool small, size_t *count)
{
    uint64_t *list = NULL;
    size_t cap = 0;
    *count = 0;
    struct model_spot spot = model_first_free(model, pool, small, 0, 0, 0);
    while (spot.segment != NULL) {
        const struct model_block *block = model_block_at(spot);
        if (!MEM_GROW(list, cap, *count + 1))
            abort();
        list[(*count)++] = block->address;
        spot = model_first_free(model, pool, small, spot.segment->stream, block->size,
                                block->address + 1);
    }
    return list;
}

/* ---- collection ---- */

static double mean_age(struct model *model, const uint64_t *list, size_t count)
{
    uint64_t sum = 0, blocks = 0;
    for (size_t i = 0; i < count; i++) {
        struct model_spot spot = model_find(model, list[i]);
        if (spot.segment->count != 1)
            continue;
        sum += model->searches - model_block_at(spot)->born;
        blocks++;
    }
    return blocks == 0 ? -1 : (double)sum / (double)blocks;
}

/* One pass: everything as old as the mean goes. The bytes that went. */
static uint64_t collect_pass(struct model *model)
{
    uint64_t gone = 0;
    size_t count;
    uint64_t *list = list_free(model, 0, false, &count);
    double mean = mean_age(model, list, count);
    for (size_t i = 0; mean >= 0 && i < count; i++) {
        struct model_spot spot = model_find(model, list[i]);
        if (!is_whole(spot) || (double)(model->searches - model_block_at(spot)->born) < mean)
            continue;
        gone += spot.segment->size;
        give_segment(model, spot.segment);
    }
    mem_free(list);
    return gone;
}

void model_collect(struct model *model)
{
    if (model->limit == 0 || model->config.gc_threshold <= 0)
        return;
    uint64_t threshold = (uint64_t)(model->config.gc_threshold * (double)model->limit);
    if (model->total <= threshold)
        return;
    uint64_t excess = model->total - threshold;
    uint64_t gone = 0;
    while (gone < excess) {
        uint64_t pass = collect_pass(model);
        if (pass == 0)
            return;
        gone += pass;
    }
}

/* ---- oversize blocks ---- */

static struct model_spot first_of_stream(struct model *model, const struct model_request *request,
                                         uint64_t size, uint64_t address)
{
    struct model_spot spot =
        model_first_free(model, request->pool, request->small, request->stream, size, address);
    if (spot.segment != NULL && spot.segment->stream != request->stream)
        spot.segment = NULL;
    return spot;
}

/* The smallest block that is large enough, if it is one to give back. Choice: one that cannot go,
 * split or expandable, hides those behind it. */
static struct model_spot smallest_enough(struct model *model, const struct model_request *request,
                                         uint64_t needed)
{
    struct model_spot spot = first_of_stream(model, request, needed, 0);
    if (spot.segment != NULL && !is_whole(spot))
        spot.segment = NULL;
    return spot;
}

/* The largest unsplit free block that is oversize, below `needed`. */
static struct model_spot largest_oversize(struct model *model, const struct model_request *request,
                                          uint64_t needed)
{
    struct model_spot best = {NULL, 0};
    struct model_spot spot = first_of_stream(model, request, model->config.max_split_size, 0);
    while (spot.segment != NULL && model_block_at(spot)->size < needed) {
        if (is_whole(spot))
            best = spot;
        spot = first_of_stream(model, request, model_block_at(spot)->size,
                               model_block_at(spot)->address + 1);
    }
    return best;
}

bool model_release_available(struct model *model, const struct model_request *request)
{
    uint64_t oversize = model->config.max_split_size;
    if (oversize == UINT64_MAX)
        return false;
    uint64_t needed = request->size > oversize ? request->size : oversize;
    struct model_spot one = smallest_enough(model, request, needed);
    if (one.segment != NULL) {
        give_segment(model, one.segment);
        return true;
    }
    uint64_t gone = 0;
    while (gone < needed) {
        struct model_spot spot = largest_oversize(model, request, needed);
        if (spot.segment == NULL)
            return false;
        gone += spot.segment->size;
        give_segment(model, spot.segment);
    }
    return true;
}

/* ---- everything ---- */

static void release_pool(struct model *model, uint64_t pool, bool small)
{
    size_t count;
    uint64_t *list = list_free(model, pool, small, &count);
    for (size_t i = 0; i < count; i++) {
        struct model_spot spot = model_find(model, list[i]);
        if (is_whole(spot))
            give_segment(model, spot.segment);
        else if (spot.segment->expandable)
            continue;
        list[i] = 0;
    }
    for (size_t i = 0; i < count; i++)
        if (list[i] != 0 && model_find(model, list[i]).segment->expandable)
            model_unmap(model, list[i]);
    mem_free(list);
}

/* Choice: ranges in which nothing is mapped go with whatever else of a freed pool goes; the pool
 * itself with the last of its segments. */
static void drop_ranges(struct model *model, struct model_pool *pool)
{
    bool left = false;
    for (size_t i = model->segment_count; i-- > 0;) {
        struct model_segment *segment = &model->segments[i];
        if (segment->pool != pool->id)
            continue;
        if (segment->count == 1 && segment->blocks[0].state == ALLOC_UNMAPPED) {
            model->device->unreserve(model->device->self, segment->address, segment->size);
            model_drop_segment(model, segment);
        } else {
            left = true;
        }
    }
    if (!left)
        *pool = model->pools[--model->pool_count];
}

static struct model_pool *next_freeable(struct model *model, uint64_t from)
{
    struct model_pool *best = NULL;
    for (size_t i = 0; i < model->pool_count; i++)
        if (model->pools[i].uses == 0 && model->pools[i].id >= from &&
            (best == NULL || model->pools[i].id < best->id))
            best = &model->pools[i];
    return best;
}

int model_release_cached(struct model *model)
{
    if (model->begun_count == 0) {
        model->stats.num_sync_all_streams++;
        int err = model_process_events(model, true);
        if (err != BASE_OK)
            return err;
        release_pool(model, 0, false);
        release_pool(model, 0, true);
    }
    struct model_pool *pool;
    uint64_t from = 0;
    while ((pool = next_freeable(model, from)) != NULL) {
        from = pool->id + 1;
        release_pool(model, pool->id, true);
        release_pool(model, pool->id, false);
        drop_ranges(model, pool);
    }
    return BASE_OK;
}
