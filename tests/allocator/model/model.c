/*
 * model.c - the request from its beginning to its end, and the pools.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"

void model_open(struct model *model, const struct alloc_device *device,
                const struct alloc_config *config, uint64_t limit,
                const struct alloc_observer *observer)
{
    *model = (struct model){.device = device, .config = *config, .limit = limit};
    if (observer != NULL)
        model->observer = *observer;
}

static void close_segment(const struct alloc_device *device, const struct model_segment *segment)
{
    if (!segment->expandable) {
        device->give(device->self, segment->address, segment->size);
        return;
    }
    uint64_t run = 0; /* bytes that are mapped, up to the block */
    for (size_t i = 0; i <= segment->count; i++) {
        bool mapped = i < segment->count && segment->blocks[i].state != ALLOC_UNMAPPED;
        uint64_t end =
            i < segment->count ? segment->blocks[i].address : segment->address + segment->size;
        if (!mapped && run > 0)
            device->unmap(device->self, end - run, run);
        run = mapped ? run + segment->blocks[i].size : 0;
    }
    device->unreserve(device->self, segment->address, segment->size);
}

void model_close(struct model *model)
{
    for (size_t i = 0; i < model->event_count; i++)
        model->device->event_forget(model->device->self, model->events[i].event);
    for (size_t i = 0; i < model->segment_count; i++) {
        close_segment(model->device, &model->segments[i]);
        mem_free(model->segments[i].blocks);
    }
    mem_free(model->segments);
    mem_free(model->events);
    mem_free(model->deferred);
    mem_free(model->pools);
    mem_free(model->begun);
}

/* ---- search ---- */

/* The best candidate may be passed over for expandable segments: where they are on, one that grows
 * to less is preferred; where they were turned off, theirs are not taken. */
static struct model_spot next_free(struct model *model, const struct model_request *request,
                                   struct model_spot spot)
{
    spot = model_first_free(model, request->pool, request->small, request->stream,
                            model_block_at(spot)->size, model_block_at(spot)->address + 1);
    if (spot.segment != NULL && spot.segment->stream != request->stream)
        spot.segment = NULL;
    return spot;
}

static struct model_spot pass_expandable(struct model *model, const struct model_request *request,
                                         struct model_spot spot)
{
    if (!model->config.expandable_segments) {
        while (spot.segment != NULL && spot.segment->expandable)
            spot = next_free(model, request, spot);
        return spot;
    }
    while (spot.segment->expandable) {
        struct model_spot next = next_free(model, request, spot);
        if (next.segment == NULL || model_growable(next) >= model_growable(spot))
            break;
        spot = next;
    }
    return spot;
}

static struct model_spot search(struct model *model, const struct model_request *request)
{
    const struct model_spot none = {NULL, 0};
    uint64_t oversize = model->config.max_split_size;
    if (model->limit != 0 && model->config.gc_threshold > 0 && request->pool == 0 &&
        !request->small)
        model->searches++;
    struct model_spot spot =
        model_first_free(model, request->pool, request->small, request->stream, request->size, 0);
    if (spot.segment == NULL || spot.segment->stream != request->stream)
        return none;
    spot = pass_expandable(model, request, spot);
    if (spot.segment == NULL)
        return none;
    uint64_t size = model_block_at(spot)->size;
    if (request->size < oversize && size >= oversize)
        return none;
    if (request->size >= oversize && size >= request->size + model->config.max_non_split_rounding)
        return none;
    return spot;
}

/* ---- handing out ---- */

static bool is_to_split(const struct model *model, const struct model_request *request,
                        uint64_t size)
{
    uint64_t rest = size - request->size;
    if (request->small || model->config.expandable_segments)
        return rest >= 512;
    return request->size < model->config.max_split_size && rest > UINT64_C(1) << 20;
}

static void count_split(struct model *model, struct model_spot spot, bool was_split, bool cut)
{
    bool small = spot.segment->small;
    struct alloc_stat *count = model->stats.inactive_split;
    struct alloc_stat *bytes = model->stats.inactive_split_bytes;
    if (spot.segment->expandable)
        return;
    if (was_split) {
        model_lower(bytes, small, model_block_at(spot)->size);
        if (!cut)
            model_lower(count, small, 1);
    } else if (cut) {
        model_raise(bytes, small, spot.segment->blocks[spot.at + 1].size);
        model_raise(count, small, 1);
    }
}

static uint64_t hand_out(struct model *model, const struct model_request *request,
                         struct model_spot spot)
{
    bool was_split = spot.segment->count > 1;
    bool cut = is_to_split(model, request, model_block_at(spot)->size);
    if (cut) {
        model_cut(spot, request->size);
        model_set_free(model, (struct model_spot){spot.segment, spot.at + 1});
    }
    struct model_block *block = model_block_at(spot);
    bool small = spot.segment->small;
    block->state = ALLOC_LIVING;
    block->requested = request->asked;
    count_split(model, spot, was_split, cut);
    model_raise(model->stats.allocation, small, 1);
    model_raise(model->stats.allocated_bytes, small, block->size);
    model_raise(model->stats.active, small, 1);
    model_raise(model->stats.active_bytes, small, block->size);
    model_raise(model->stats.requested_bytes, small, block->requested);
    if (block->size >= model->config.max_split_size)
        model_raise_one(&model->stats.oversize_allocations, 1);
    model_tell(model, ALLOC_EVENT_ALLOC, block->address, block->size, request->asked, spot.segment,
               false);
    return block->address;
}

/* ---- refusing ---- */

static uint64_t largest_free(struct model *model, const struct model_request *request)
{
    uint64_t largest = 0;
    for (size_t s = 0; s < model->segment_count; s++) {
        const struct model_segment *segment = &model->segments[s];
        if (segment->pool != request->pool || segment->small != request->small ||
            segment->stream != request->stream)
            continue;
        for (size_t b = 0; b < segment->count; b++)
            if (segment->blocks[b].state == ALLOC_FREE && segment->blocks[b].size > largest)
                largest = segment->blocks[b].size;
    }
    return largest;
}

static int refuse(struct model *model, const struct model_request *request,
                  struct alloc_refusal *refusal)
{
    uint64_t free_bytes, total;
    int err = model->device->memory(model->device->self, &free_bytes, &total);
    if (err != BASE_OK)
        return err;
    struct model_segment of = {.stream = request->stream, .pool = request->pool};
    model->stats.num_ooms++;
    model_tell(model, ALLOC_EVENT_OOM, free_bytes, request->size, request->asked, &of, false);
    if (refusal != NULL)
        *refusal = (struct alloc_refusal){
            .requested = request->asked,
            .rounded = request->size,
            .segment_size = request->segment_size,
            .allocated = (uint64_t)model->stats.allocated_bytes[ALLOC_ALL].current,
            .reserved = (uint64_t)model->stats.reserved_bytes[ALLOC_ALL].current,
            .largest_free = largest_free(model, request),
            .device_free = free_bytes,
            .limit = model->limit,
        };
    return ERR_NOMEM;
}

/* ---- the request ---- */

static uint64_t pool_of(const struct model *model, uint64_t stream)
{
    for (size_t i = model->begun_count; i-- > 0;) {
        const struct model_begun *begun = &model->begun[i];
        if (begun->accepts == NULL || begun->accepts(begun->self, stream))
            return begun->id;
    }
    return 0;
}

/* What comes after a search in vain: BASE_OK with the block found, or why not. */
static int climb(struct model *model, const struct model_request *request, struct model_spot *found)
{
    model_collect(model);
    int err = model_attempt(model, request, false, found);
    if (err == ERR_NOMEM && model_release_available(model, request))
        err = model_attempt(model, request, false, found);
    if (err != ERR_NOMEM || model->begun_count > 0)
        return err;
    err = model_release_cached(model);
    return err == BASE_OK ? model_attempt(model, request, true, found) : err;
}

int model_malloc(struct model *model, uint64_t bytes, uint64_t stream, uint64_t *address,
                 struct alloc_refusal *refusal)
{
    *address = 0;
    if (bytes == 0)
        return BASE_OK;
    if (bytes >= UINT64_C(1) << 60) {
        if (refusal != NULL)
            *refusal = (struct alloc_refusal){.requested = bytes};
        return ERR_NOMEM;
    }
    int err = model->begun_count == 0 ? model_process_events(model, false) : BASE_OK;
    if (err != BASE_OK)
        return err;
    uint64_t size = model_round(&model->config, bytes);
    struct model_request request = {
        .asked = bytes,
        .size = size,
        .segment_size = model_segment_size(&model->config, size),
        .stream = stream,
        .pool = pool_of(model, stream),
        .small = size <= UINT64_C(1) << 20,
    };
    struct model_spot spot = search(model, &request);
    if (spot.segment == NULL)
        err = climb(model, &request, &spot);
    if (err == ERR_NOMEM)
        return refuse(model, &request, refusal);
    if (err == BASE_OK)
        *address = hand_out(model, &request, spot);
    return err;
}

int model_empty_cache(struct model *model)
{
    return model_release_cached(model);
}

static struct model_spot find_living(struct model *model, uint64_t address)
{
    struct model_spot spot = model_find(model, address);
    if (spot.segment != NULL && model_block_at(spot)->state != ALLOC_LIVING)
        spot.segment = NULL;
    return spot;
}

uint64_t model_block_size(struct model *model, uint64_t address)
{
    struct model_spot spot = find_living(model, address);
    return spot.segment == NULL ? 0 : model_block_at(spot)->size;
}

uint64_t model_base(struct model *model, uint64_t address, uint64_t *size)
{
    struct model_spot spot = find_living(model, address);
    if (spot.segment == NULL)
        return 0;
    if (size != NULL)
        *size = spot.segment->size;
    return spot.segment->address;
}

/* ---- private pools ---- */

static struct model_pool *find_pool(struct model *model, uint64_t id)
{
    for (size_t i = 0; i < model->pool_count; i++)
        if (model->pools[i].id == id)
            return &model->pools[i];
    return NULL;
}

static size_t find_begun(const struct model *model, uint64_t id)
{
    size_t i = 0;
    while (i < model->begun_count && model->begun[i].id != id)
        i++;
    return i;
}

int model_pool_begin(struct model *model, uint64_t id, bool (*accepts)(void *self, uint64_t stream),
                     void *self)
{
    if (id == 0)
        return ERR_ARG;
    if (find_begun(model, id) < model->begun_count)
        return ERR_EXISTS;
    struct model_pool *pool = find_pool(model, id);
    if (pool == NULL) {
        if (!MEM_GROW(model->pools, model->pool_cap, model->pool_count + 1))
            abort();
        pool = &model->pools[model->pool_count++];
        *pool = (struct model_pool){.id = id};
    }
    pool->uses++;
    if (!MEM_GROW(model->begun, model->begun_cap, model->begun_count + 1))
        abort();
    model->begun[model->begun_count++] = (struct model_begun){id, accepts, self};
    return BASE_OK;
}

int model_pool_end(struct model *model, uint64_t id)
{
    size_t at = find_begun(model, id);
    if (at == model->begun_count)
        return ERR_NOTFOUND;
    memmove(model->begun + at, model->begun + at + 1,
            (model->begun_count - at - 1) * sizeof *model->begun);
    model->begun_count--;
    return BASE_OK;
}

int model_pool_release(struct model *model, uint64_t id)
{
    struct model_pool *pool = find_pool(model, id);
    if (pool == NULL || pool->uses == 0)
        return ERR_NOTFOUND;
    pool->uses--;
    return BASE_OK;
}
