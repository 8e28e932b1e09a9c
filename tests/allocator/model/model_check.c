/*
 * model_check.c - the model's own invariants: what must be true of the statistics is counted again
 * from the blocks.
 */
#include "model.h"

struct sums {
    uint64_t segments, reserved, active, active_bytes, requested, allocated, allocated_bytes;
    uint64_t split, split_bytes;
};

static bool block_is_valid(const struct model_segment *segment, size_t at)
{
    const struct model_block *block = &segment->blocks[at];
    if (block->size == 0 || (block->state == ALLOC_UNMAPPED && !segment->expandable))
        return false;
    if (block->state != ALLOC_AWAITING && (block->events != 0 || block->held))
        return false;
    if (block->state != ALLOC_LIVING && block->state != ALLOC_AWAITING)
        return block->users == 0 && (at == 0 || segment->blocks[at - 1].state != block->state);
    if (block->state == ALLOC_AWAITING &&
        (block->users > 0) + (block->events > 0) + block->held != 1)
        return false;
    return block->requested > 0 && block->requested <= block->size;
}

static void add_block(struct sums *sums, const struct model_segment *segment, size_t at)
{
    const struct model_block *block = &segment->blocks[at];
    bool living = block->state == ALLOC_LIVING;
    if (living || block->state == ALLOC_AWAITING) {
        sums->active++;
        sums->active_bytes += block->size;
        sums->requested += block->requested;
    }
    if (living) {
        sums->allocated++;
        sums->allocated_bytes += block->size;
    }
    if (block->state == ALLOC_FREE && !segment->expandable && segment->count > 1) {
        sums->split++;
        sums->split_bytes += block->size;
    }
    if (block->state != ALLOC_UNMAPPED)
        sums->reserved += block->size;
}

static bool add_segment(struct sums *sums, const struct model_segment *segment)
{
    uint64_t end = segment->address;
    for (size_t i = 0; i < segment->count; i++) {
        if (segment->blocks[i].address != end || !block_is_valid(segment, i))
            return false;
        end += segment->blocks[i].size;
        add_block(sums, segment, i);
    }
    if (!segment->expandable)
        sums->segments++;
    return segment->count > 0 && end == segment->address + segment->size;
}

static bool are(const struct alloc_stat *stat, uint64_t value)
{
    return stat->current == (int64_t)value && stat->peak >= stat->current;
}

static bool sums_are(const struct model *model, const struct sums *sums, enum alloc_class class)
{
    const struct alloc_stats *stats = &model->stats;
    return are(&stats->segment[class], sums->segments) &&
           are(&stats->reserved_bytes[class], sums->reserved) &&
           are(&stats->active[class], sums->active) &&
           are(&stats->active_bytes[class], sums->active_bytes) &&
           are(&stats->requested_bytes[class], sums->requested) &&
           are(&stats->allocation[class], sums->allocated) &&
           are(&stats->allocated_bytes[class], sums->allocated_bytes) &&
           are(&stats->inactive_split[class], sums->split) &&
           are(&stats->inactive_split_bytes[class], sums->split_bytes);
}

bool model_is_valid(const struct model *model)
{
    struct sums all = {0}, small = {0}, large = {0};
    for (size_t i = 0; i < model->segment_count; i++) {
        const struct model_segment *segment = &model->segments[i];
        if (i > 0 && segment[-1].address + segment[-1].size > segment->address)
            return false;
        if (!add_segment(&all, segment) || !add_segment(segment->small ? &small : &large, segment))
            return false;
    }
    return sums_are(model, &all, ALLOC_ALL) && sums_are(model, &small, ALLOC_SMALL) &&
           sums_are(model, &large, ALLOC_LARGE) && model->total == all.reserved;
}
