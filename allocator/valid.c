/*
 * valid.c - whether all invariants hold: of each structure by itself, and of them together. Slow:
 * for tests, and for asserts on long ways.
 */
#include "engine.h"

struct tally {
    uint64_t free, unmapped, found; /* blocks: in sets and trees; in the map */
    uint64_t spare, waiting, deferred;
    int64_t counted[2][COUNTERS]; /* [small]: what the counters should say */
};

static bool block_is_sound(const struct alloc *alloc, uint32_t id, const struct block *block)
{
    switch (block->state) {
    case BLOCK_LIVING:
        return block->requested <= block->size && !block->events && !block->deferred &&
               blockmap_get(&alloc->map, alloc->blocks, block->address) == id;
    case BLOCK_AWAITING:
        return (!block->uses || block->deferred) &&
               blockmap_get(&alloc->map, alloc->blocks, block->address) == id;
    case BLOCK_UNMAPPED:
        return block->expandable;
    default:
        return block->state == BLOCK_FREE;
    }
}

static void add_block(struct tally *tally, const struct block *block, bool small)
{
    int64_t *counted = tally->counted[small], size = (int64_t)block->size;
    if (block->state == BLOCK_UNMAPPED) {
        tally->unmapped++;
        return;
    }
    counted[COUNT_RESERVED_BYTES] += size;
    if (block->state == BLOCK_FREE) {
        tally->free++;
        if (block->expandable || !block_is_split(block))
            return;
        counted[COUNT_INACTIVE_SPLIT]++;
        counted[COUNT_INACTIVE_SPLIT_BYTES] += size;
        return;
    }
    tally->found++;
    counted[COUNT_ACTIVE]++;
    counted[COUNT_ACTIVE_BYTES] += size;
    counted[COUNT_REQUESTED_BYTES] += (int64_t)block->requested;
    if (block->state == BLOCK_LIVING) {
        counted[COUNT_ALLOCATION]++;
        counted[COUNT_ALLOCATED_BYTES] += size;
        return;
    }
    tally->waiting += block->events;
    tally->deferred += block->deferred;
}

/* Its blocks tile it, agree with it, and no two that could merge are neighbours. */
static bool segment_is_valid(const struct alloc *alloc, uint32_t number, struct tally *tally)
{
    const struct segment *segment = &alloc->segments[number];
    if (segment->set >= alloc->set_count || !alloc->sets[segment->set])
        return false;
    bool small = alloc->sets[segment->set]->small;
    uint64_t at = segment->address;
    uint32_t last = 0;
    int last_state = BLOCK_SPARE;
    for (uint32_t id = segment->head; id; id = block_at(alloc, id)->next) {
        const struct block *block = block_at(alloc, id);
        if (block->address != at || block->size == 0 || block->size % ALLOC_MIN_BLOCK ||
            block->prev != last || block->segment != number || block->set != segment->set ||
            block->expandable != (segment->page != 0) || !block_is_sound(alloc, id, block))
            return false;
        if (last_state == block->state && last_state != BLOCK_LIVING &&
            last_state != BLOCK_AWAITING)
            return false;
        if (block->state == BLOCK_UNMAPPED &&
            ((at - segment->address) % segment->page || block->size % segment->page))
            return false;
        add_block(tally, block, small);
        at += block->size;
        last = id;
        last_state = block->state;
    }
    tally->counted[small][COUNT_SEGMENT] += segment->page == 0;
    return at == segment->address + segment->size;
}

static bool sets_are_valid(const struct alloc *alloc, const struct tally *tally)
{
    uint64_t free = 0, unmapped = 0, count;
    for (size_t i = 0; i < alloc->set_count; i++) {
        const struct freeset *set = alloc->sets[i];
        if (!set)
            continue;
        if (set->number != i || set->pool >= alloc->pool_count || !alloc->pools[set->pool].used ||
            !freeset_is_valid(set, alloc->blocks, &count))
            return false;
        free += count;
        if (!tree_is_valid(alloc->blocks, set->unmapped, TREE_BY_ADDRESS, &count))
            return false;
        unmapped += count;
    }
    return free == tally->free && unmapped == tally->unmapped;
}

static bool queues_are_valid(const struct alloc *alloc, const struct tally *tally)
{
    uint64_t waiting = 0, deferred = 0;
    for (size_t i = 0; i < alloc->queue_count; i++) {
        const struct queue_of_stream *queue = &alloc->queues[i];
        uint32_t last = 0;
        if (i && alloc->queues[i - 1].stream >= queue->stream)
            return false;
        for (uint32_t at = queue->first; at; at = alloc->uses[at].next) {
            if (alloc->uses[at].stream != queue->stream ||
                block_at(alloc, alloc->uses[at].block)->state != BLOCK_AWAITING)
                return false;
            last = at;
            waiting++;
        }
        if (last != queue->last)
            return false;
    }
    for (uint32_t id = alloc->deferred_first; id; id = block_at(alloc, id)->deferred_next) {
        if (!block_at(alloc, id)->deferred)
            return false;
        deferred++;
    }
    return waiting == tally->waiting && waiting == alloc->waiting && deferred == tally->deferred;
}

static bool counts_agree(const struct alloc *alloc, const struct tally *tally)
{
    int64_t reserved = 0;
    for (int small = 0; small < 2; small++) {
        for (int which = 0; which < COUNTERS; which++) {
            if (alloc->counters.half[small][which].current != tally->counted[small][which])
                return false;
        }
        reserved += tally->counted[small][COUNT_RESERVED_BYTES];
    }
    return (uint64_t)reserved == alloc->taken && counters_are_valid(&alloc->counters);
}

static bool pools_are_valid(const struct alloc *alloc)
{
    for (uint32_t pool = 0; pool < alloc->pool_count; pool++) {
        uint32_t segments = 0;
        for (size_t i = 1; i < alloc->segment_count; i++) {
            if (alloc->segments[i].head && alloc->sets[alloc->segments[i].set]->pool == pool)
                segments++;
        }
        if (segments != alloc->pools[pool].segments ||
            (alloc->pools[pool].used && (pool == 0) != (alloc->pools[pool].id == 0)))
            return false;
    }
    return true;
}

bool engine_is_valid(const struct alloc *alloc)
{
    struct tally tally = {0};
    for (uint32_t i = 1; i < alloc->segment_count; i++) {
        if (alloc->segments[i].head && !segment_is_valid(alloc, i, &tally))
            return false;
    }
    for (uint32_t id = alloc->blocks_spare; id; id = alloc->blocks[id].next) {
        if (alloc->blocks[id].state != BLOCK_SPARE)
            return false;
        tally.spare++;
    }
    uint64_t made = alloc->blocks_made ? alloc->blocks_made - 1 : 0;
    return tally.spare == alloc->blocks_spare_count && tally.found == alloc->map.count &&
           tally.free + tally.unmapped + tally.found + tally.spare == made &&
           blockmap_is_valid(&alloc->map, alloc->blocks) && sets_are_valid(alloc, &tally) &&
           queues_are_valid(alloc, &tally) && counts_agree(alloc, &tally) && pools_are_valid(alloc);
}
