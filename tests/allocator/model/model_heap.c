/*
 * model_heap.c - segments in address order, each an array of blocks that tile it.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

struct model_block *model_block_at(struct model_spot spot)
{
    return &spot.segment->blocks[spot.at];
}

struct model_spot model_find(struct model *model, uint64_t address)
{
    for (size_t s = 0; s < model->segment_count; s++) {
        struct model_segment *segment = &model->segments[s];
        if (address < segment->address || address - segment->address >= segment->size)
            continue;
        for (size_t b = 0; b < segment->count; b++)
            if (segment->blocks[b].address == address)
                return (struct model_spot){segment, b};
    }
    return (struct model_spot){NULL, 0};
}

/* -1, 0, 1 as a is before, at or behind the key in the order (stream, size, address). */
static int compare(const struct model_segment *segment, const struct model_block *block,
                   uint64_t stream, uint64_t size, uint64_t address)
{
    if (segment->stream != stream)
        return segment->stream < stream ? -1 : 1;
    if (block->size != size)
        return block->size < size ? -1 : 1;
    if (block->address != address)
        return block->address < address ? -1 : 1;
    return 0;
}

struct model_spot model_first_free(struct model *model, uint64_t pool, bool small, uint64_t stream,
                                   uint64_t size, uint64_t address)
{
    struct model_spot best = {NULL, 0};
    for (size_t s = 0; s < model->segment_count; s++) {
        struct model_segment *segment = &model->segments[s];
        if (segment->pool != pool || segment->small != small)
            continue;
        for (size_t b = 0; b < segment->count; b++) {
            const struct model_block *block = &segment->blocks[b];
            if (block->state != ALLOC_FREE || compare(segment, block, stream, size, address) < 0)
                continue;
            if (best.segment == NULL ||
                compare(segment, block, best.segment->stream, model_block_at(best)->size,
                        model_block_at(best)->address) < 0)
                best = (struct model_spot){segment, b};
        }
    }
    return best;
}

/* ---- changing ---- */

static void insert_block(struct model_segment *segment, size_t at, struct model_block block)
{
    if (!MEM_GROW(segment->blocks, segment->cap, segment->count + 1))
        abort();
    struct model_block *blocks = segment->blocks;
    memmove(blocks + at + 1, blocks + at, (segment->count - at) * sizeof *blocks);
    blocks[at] = block;
    segment->count++;
}

static void remove_block(struct model_segment *segment, size_t at)
{
    struct model_block *blocks = segment->blocks;
    memmove(blocks + at, blocks + at + 1, (segment->count - at - 1) * sizeof *blocks);
    segment->count--;
}

struct model_segment *model_add_segment(struct model *model, const struct model_segment *segment,
                                        enum alloc_block_state state)
{
    if (!MEM_GROW(model->segments, model->segment_cap, model->segment_count + 1))
        abort();
    size_t at = 0;
    while (at < model->segment_count && model->segments[at].address < segment->address)
        at++;
    memmove(model->segments + at + 1, model->segments + at,
            (model->segment_count - at) * sizeof *model->segments);
    model->segments[at] = *segment;
    model->segment_count++;
    struct model_segment *added = &model->segments[at];
    added->blocks = NULL;
    added->count = added->cap = 0;
    insert_block(added, 0,
                 (struct model_block){
                     .address = added->address,
                     .size = added->size,
                     .state = state,
                     .born = model_clock(model, added),
                 });
    return added;
}

void model_drop_segment(struct model *model, struct model_segment *segment)
{
    mem_free(segment->blocks);
    size_t at = (size_t)(segment - model->segments);
    memmove(segment, segment + 1, (model->segment_count - at - 1) * sizeof *segment);
    model->segment_count--;
}

void model_cut(struct model_spot spot, uint64_t size)
{
    struct model_block tail = *model_block_at(spot);
    tail.address += size;
    tail.size -= size;
    model_block_at(spot)->size = size;
    insert_block(spot.segment, spot.at + 1, tail);
}

/* Awaiting and living blocks never merge, nor do free ones with unmapped ones. */
struct model_spot model_merge(struct model_spot spot, uint64_t *before, uint64_t *after)
{
    struct model_segment *segment = spot.segment;
    uint64_t absorbed[2] = {0, 0};
    if (spot.at > 0 && segment->blocks[spot.at - 1].state == segment->blocks[spot.at].state) {
        absorbed[0] = segment->blocks[spot.at - 1].size;
        segment->blocks[spot.at].address = segment->blocks[spot.at - 1].address;
        segment->blocks[spot.at].size += absorbed[0];
        remove_block(segment, spot.at - 1);
        spot.at--;
    }
    if (spot.at + 1 < segment->count &&
        segment->blocks[spot.at + 1].state == segment->blocks[spot.at].state) {
        absorbed[1] = segment->blocks[spot.at + 1].size;
        segment->blocks[spot.at].size += absorbed[1];
        remove_block(segment, spot.at + 1);
    }
    if (before != NULL)
        *before = absorbed[0];
    if (after != NULL)
        *after = absorbed[1];
    return spot;
}

/* Only ages in the shared large pool are ever asked for. */
uint64_t model_clock(const struct model *model, const struct model_segment *segment)
{
    return segment->pool == 0 && !segment->small ? model->searches : 0;
}

void model_set_free(struct model *model, struct model_spot spot)
{
    model_block_at(spot)->state = ALLOC_FREE;
    model_block_at(spot)->born = model_clock(model, spot.segment);
}
