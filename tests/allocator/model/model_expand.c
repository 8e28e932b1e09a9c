/*
 * model_expand.c - expandable segments: a reserved range of pages, mapped as blocks need them.
 */
#include "model.h"

#include "error.h"

static uint64_t round_to(uint64_t n, uint64_t step)
{
    return (n + step - 1) / step * step;
}

static struct model_block *behind(struct model_spot spot)
{
    return spot.at + 1 < spot.segment->count ? &spot.segment->blocks[spot.at + 1] : NULL;
}

uint64_t model_growable(struct model_spot spot)
{
    const struct model_block *next = behind(spot);
    return model_block_at(spot)->size +
           (next != NULL && next->state == ALLOC_UNMAPPED ? next->size : 0);
}

static bool is_open(const struct model_block *block)
{
    return block->state == ALLOC_FREE || block->state == ALLOC_UNMAPPED;
}

static uint64_t open_bytes_from(struct model_spot spot)
{
    uint64_t bytes = 0;
    for (size_t i = spot.at; i < spot.segment->count && is_open(&spot.segment->blocks[i]); i++)
        bytes += spot.segment->blocks[i].size;
    return bytes;
}

/* The unmapped block of the lowest address from which there is enough space, or the free one right
 * before it. */
static struct model_spot find_space(struct model *model, const struct model_request *request)
{
    for (size_t s = 0; s < model->segment_count; s++) {
        struct model_segment *segment = &model->segments[s];
        if (!segment->expandable || segment->pool != request->pool ||
            segment->small != request->small || segment->stream != request->stream)
            continue;
        for (size_t b = 0; b < segment->count; b++) {
            if (segment->blocks[b].state != ALLOC_UNMAPPED)
                continue;
            struct model_spot spot = {segment, b};
            if (b > 0 && is_open(&segment->blocks[b - 1]))
                spot.at--;
            if (open_bytes_from(spot) >= request->size)
                return spot;
        }
    }
    return (struct model_spot){NULL, 0};
}

/* Choice: rounded up to whole pages; none for a request that would not fit. */
static int add_range(struct model *model, const struct model_request *request,
                     struct model_spot *spot)
{
    const struct alloc_device *device = model->device;
    struct model_segment segment = {
        .stream = request->stream,
        .pool = request->pool,
        .small = request->small,
        .expandable = true,
        .page = request->small ? UINT64_C(2) << 20 : model->config.large_segment_size,
    };
    uint64_t free_bytes, total;
    int err = device->memory(device->self, &free_bytes, &total);
    if (err != BASE_OK)
        return err;
    segment.size = round_to(total + total / 8, segment.page);
    if (segment.size < request->size)
        return ERR_NOMEM;
    err = device->reserve(device->self, segment.size, segment.stream, &segment.address);
    if (err != BASE_OK)
        return err;
    if (device->pages != NULL)
        device->pages(device->self, segment.address, segment.size, segment.page);
    *spot = (struct model_spot){model_add_segment(model, &segment, ALLOC_UNMAPPED), 0};
    return BASE_OK;
}

/* Maps the first `size` bytes of an unmapped block, rounded out to pages; what comes of it merges
 * with free neighbours. */
static int map(struct model *model, struct model_spot *spot, uint64_t size)
{
    struct model_segment *segment = spot->segment;
    uint64_t address = model_block_at(*spot)->address;
    uint64_t bytes = round_to(size, segment->page);
    int err = model->device->map(model->device->self, address, bytes);
    if (err != BASE_OK)
        return err;
    if (bytes < model_block_at(*spot)->size)
        model_cut(*spot, bytes);
    model_set_free(model, *spot);
    *spot = model_merge(*spot, NULL, NULL);
    model->total += bytes;
    model_raise(model->stats.reserved_bytes, segment->small, bytes);
    model->stats.num_device_alloc++;
    model_tell(model, ALLOC_EVENT_MAP, address, bytes, 0, segment, false);
    return BASE_OK;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

int model_expand(struct model *model, const struct model_request *request, struct model_spot *found)
{
    struct model_spot spot = find_space(model, request);
    int err = BASE_OK;
    if (spot.segment == NULL)
        err = add_range(model, request, &spot);
    if (err == BASE_OK && model_block_at(spot)->state == ALLOC_UNMAPPED)
        err = map(model, &spot, least(request->size, model_block_at(spot)->size));
    while (err == BASE_OK && model_block_at(spot)->size < request->size) {
        uint64_t rest = request->size - model_block_at(spot)->size;
        spot.at++;
        err = map(model, &spot, least(rest, model_block_at(spot)->size));
    }
    if (err == BASE_OK)
        *found = spot;
    return err;
}

/* Gives back the pages that lie completely inside the free block. */
void model_unmap(struct model *model, uint64_t address)
{
    const struct alloc_device *device = model->device;
    struct model_spot spot = model_find(model, address);
    struct model_segment *segment = spot.segment;
    struct model_block block = *model_block_at(spot);
    uint64_t page = segment->page;
    uint64_t from = segment->address + round_to(block.address - segment->address, page);
    uint64_t to = segment->address + (block.address + block.size - segment->address) / page * page;
    if (from >= to)
        return;
    device->stream_wait(device->self, segment->stream);
    device->unmap(device->self, from, to - from);
    if (from > block.address) {
        model_cut(spot, from - block.address);
        model_set_free(model, spot);
        spot.at++;
    }
    if (to < block.address + block.size) {
        model_cut(spot, to - from);
        model_set_free(model, (struct model_spot){segment, spot.at + 1});
    }
    model_block_at(spot)->state = ALLOC_UNMAPPED;
    model_merge(spot, NULL, NULL);
    model->total -= to - from;
    model_lower(model->stats.reserved_bytes, segment->small, to - from);
    model->stats.num_device_free++;
    model_tell(model, ALLOC_EVENT_UNMAP, from, to - from, 0, segment, false);
    if (segment->count == 1) {
        device->unreserve(device->self, segment->address, segment->size);
        model_drop_segment(model, segment);
    }
}
