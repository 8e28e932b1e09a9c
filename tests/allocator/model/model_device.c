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
        if (!is_whole(spot))
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

/* The last unsplit free block before the key's size (UINT64_MAX: the largest), of the request's
 * pool and stream, that is oversize. */
static struct model_spot largest_oversize(struct model *model, const struct model_request *request)
{
    struct model_spot best = {NULL, 0};
    size_t count;
    uint64_t *list = list_free(model, request->pool, request->small, &count);
    for (size_t i = 0; i < count; i++) {
        struct model_spot spot = model_find(model, list[i]);
        if (spot.segment->stream == request->stream && is_whole(spot) &&
            spot.segment->size >= model->config.max_split_size)
            best = spot;
    }
    mem_free(list);
    return best;
}

static struct model_spot smallest_enough(struct model *model, const struct model_request *request,
                                         uint64_t needed)
{
    struct model_spot spot =
        model_first_free(model, request->pool, request->small, request->stream, needed, 0);
    while (spot.segment != NULL && spot.segment->stream == request->stream && !is_whole(spot))
        spot = model_first_free(model, request->pool, request->small, request->stream,
                                model_block_at(spot)->size, model_block_at(spot)->address + 1);
    if (spot.segment != NULL && spot.segment->stream != request->stream)
        spot.segment = NULL;
    return spot;
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
        struct model_spot spot = largest_oversize(model, request);
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

static bool has_segments(const struct model *model, uint64_t pool)
{
    for (size_t i = 0; i < model->segment_count; i++)
        if (model->segments[i].pool == pool)
            return true;
    return false;
}

/* Choice: by ascending id. */
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
        release_pool(model, pool->id, false);
        release_pool(model, pool->id, true);
        if (!has_segments(model, pool->id))
            *pool = model->pools[--model->pool_count];
    }
    return BASE_OK;
}
