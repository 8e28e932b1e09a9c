/*
 * One walk over regions (segments, and ranges of expandable ones) and living blocks, both by
 * address: each region is tiled by the blocks in it and by what lies between. The same walk with
 * its views thrown away would say how many bytes come, but those are the regions' own.
 */
#include "replay_adopt.h"

#include <stdlib.h>

#include "error.h"
#include "mem.h"

struct region {
    uint64_t address, end;
    uint16_t heap;
    bool small, expandable;
};

struct piece { /* of a range: mapped before the record */
    uint64_t address, end;
};

struct walk {
    const struct replay_adopter *adopter;
    struct region *regions; /* by address */
    size_t region_count, region_cap;
    struct piece *pieces; /* by address, none touches another */
    size_t piece_count, piece_cap;
    uint32_t *blocks; /* living ones, by address */
    size_t block_count, next;
    uint32_t *left; /* in no region */
    size_t left_count;
    struct alloc_block_view *views; /* of the region at hand */
    size_t view_count, view_cap;
    uint64_t covered; /* up to here the region is tiled */
};

static int by_address(const void *a, const void *b)
{
    const struct region *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static int pieces_by_address(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static int blocks_by_address(const void *a, const void *b, void *trace)
{
    const struct replay_block *blocks = ((const struct replay_trace *)trace)->blocks;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (blocks[x].address != blocks[y].address)
        return blocks[x].address < blocks[y].address ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* ---- what there is ---- */

static int find_blocks(struct walk *walk, const struct replay_trace *trace)
{
    walk->blocks = mem_alloc(trace->adopted + 1, sizeof *walk->blocks);
    walk->left = mem_alloc(trace->adopted + 1, sizeof *walk->left);
    if (!walk->blocks || !walk->left)
        return ERR_NOMEM;
    for (size_t i = 0; i < trace->adopted; i++)
        if (trace->adopted_blocks[i].state != REPLAY_DEAD)
            walk->blocks[walk->block_count++] = (uint32_t)i;
    qsort_r(walk->blocks, walk->block_count, sizeof *walk->blocks, blocks_by_address,
            (void *)(uintptr_t)trace);
    return 0;
}

static bool was_there(const struct replay_trace *trace, size_t segment)
{
    return trace->segments[segment].free_seq > trace->rebuilt_until;
}

static int put_region(struct walk *walk, struct region region)
{
    if (!MEM_GROW(walk->regions, walk->region_cap, walk->region_count + 1))
        return ERR_NOMEM;
    walk->regions[walk->region_count++] = region;
    return 0;
}

static int find_pieces(struct walk *walk, const struct replay_trace *trace)
{
    size_t kept = 0;
    for (size_t i = 0; i < trace->mapping_count; i++) {
        const struct replay_mapping *mapping = &trace->mappings[i];
        if (mapping->seq > trace->rebuilt_until || !mapping->mapped)
            continue;
        if (!MEM_GROW(walk->pieces, walk->piece_cap, walk->piece_count + 1))
            return ERR_NOMEM;
        walk->pieces[walk->piece_count++] =
            (struct piece){mapping->address, mapping->address + mapping->size};
    }
    if (walk->piece_count)
        qsort(walk->pieces, walk->piece_count, sizeof *walk->pieces, pieces_by_address);
    for (size_t i = 0; i < walk->piece_count; i++) {
        if (kept && walk->pieces[kept - 1].end >= walk->pieces[i].address) {
            if (walk->pieces[i].end > walk->pieces[kept - 1].end)
                walk->pieces[kept - 1].end = walk->pieces[i].end;
        } else {
            walk->pieces[kept++] = walk->pieces[i];
        }
    }
    walk->piece_count = kept;
    return 0;
}

/* A range reaches as far as 9/8 of the device, or to what comes behind it. */
static void stretch_ranges(struct walk *walk, uint64_t total)
{
    for (size_t i = 0; i < walk->region_count; i++) {
        struct region *region = &walk->regions[i];
        if (!region->expandable)
            continue;
        uint64_t page = region->small ? ALLOC_SMALL_SEGMENT : ALLOC_LARGE_SEGMENT;
        uint64_t size = (total + total / 8 + page - 1) / page * page;
        uint64_t most = i + 1 < walk->region_count ? region[1].address - region->address : size;
        size = size < most ? size : most / page * page;
        if (region->address + size > region->end)
            region->end = region->address + size;
    }
}

static int find_regions(struct walk *walk, const struct replay_trace *trace)
{
    int err = find_pieces(walk, trace);
    for (size_t i = 0; i < trace->adopted_segments && err >= 0; i++) {
        const struct replay_segment *segment = &trace->segments[i];
        if (was_there(trace, i))
            err = put_region(walk, (struct region){.address = segment->address,
                                                   .end = segment->address + segment->size,
                                                   .heap = segment->heap,
                                                   .small = segment->size == ALLOC_SMALL_SEGMENT});
    }
    for (size_t i = 0; i < trace->range_count && err >= 0; i++) {
        const struct replay_range *range = &trace->ranges[i];
        if (range->adopted)
            err = put_region(walk, (struct region){.address = range->address,
                                                   .end = range->end,
                                                   .heap = range->heap,
                                                   .small = range->small,
                                                   .expandable = true});
    }
    if (err >= 0 && walk->region_count) {
        qsort(walk->regions, walk->region_count, sizeof *walk->regions, by_address);
        stretch_ranges(walk, walk->adopter->device->total);
    }
    return err;
}

/* ---- tiling a region ---- */

static int put_view(struct walk *walk, uint64_t end, enum alloc_block_state state,
                    uint64_t requested)
{
    if (end == walk->covered)
        return 0;
    if (!MEM_GROW(walk->views, walk->view_cap, walk->view_count + 1))
        return ERR_NOMEM;
    walk->views[walk->view_count++] = (struct alloc_block_view){.address = walk->covered,
                                                                .size = end - walk->covered,
                                                                .requested = requested,
                                                                .state = state};
    walk->covered = end;
    return 0;
}

/* From what is covered to `end` lies no block. */
static int put_gap(struct walk *walk, const struct region *region, uint64_t end)
{
    int err = 0;
    for (size_t i = 0; i < walk->piece_count && region->expandable && err >= 0; i++) {
        const struct piece *piece = &walk->pieces[i];
        if (piece->end <= walk->covered || piece->address >= end)
            continue;
        if (piece->address > walk->covered)
            err = put_view(walk, piece->address, ALLOC_UNMAPPED, 0);
        if (err >= 0)
            err = put_view(walk, piece->end < end ? piece->end : end, ALLOC_FREE, 0);
    }
    if (err >= 0)
        err = put_view(walk, end, region->expandable ? ALLOC_UNMAPPED : ALLOC_FREE, 0);
    return err;
}

static void leave(struct walk *walk, uint32_t block)
{
    walk->left[walk->left_count++] = block;
}

static int tile(struct walk *walk, const struct region *region)
{
    const struct replay_trace *trace = walk->adopter->trace;
    int err = 0;
    walk->view_count = 0;
    walk->covered = region->address;
    for (; walk->next < walk->block_count && err >= 0; walk->next++) {
        uint32_t number = walk->blocks[walk->next];
        const struct replay_adopted *block = &trace->adopted_blocks[number];
        uint64_t address = trace->blocks[number].address;
        if (address >= region->end)
            break;
        if (address < walk->covered || block->size > region->end - address || !block->size) {
            leave(walk, number);
            continue;
        }
        err = put_gap(walk, region, address);
        if (err >= 0)
            err = put_view(walk, address + block->size,
                           block->state == REPLAY_LIVING ? ALLOC_LIVING : ALLOC_AWAITING,
                           block->requested);
        walk->adopter->addresses[number] = address;
    }
    return err >= 0 ? put_gap(walk, region, region->end) : err;
}

/* The blocks of the region, from `first` on, are nowhere after all. */
static void leave_all(struct walk *walk, size_t first)
{
    for (size_t i = first; i < walk->next; i++) {
        uint32_t number = walk->blocks[i];
        if (walk->adopter->addresses[number])
            leave(walk, number);
        walk->adopter->addresses[number] = 0;
    }
}

/* Bytes of memory in the region that was tiled. */
static uint64_t memory_of(const struct walk *walk)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < walk->view_count; i++)
        bytes += walk->views[i].state != ALLOC_UNMAPPED ? walk->views[i].size : 0;
    return bytes;
}

static int adopt_region(struct walk *walk, const struct region *region)
{
    const struct replay_adopter *adopter = walk->adopter;
    size_t first = walk->next;
    int err = tile(walk, region);
    uint64_t memory = memory_of(walk);
    if (err < 0)
        return err;
    const struct alloc_segment_view view = {
        .address = region->address,
        .size = region->end - region->address,
        .stream = adopter->trace->heaps[region->heap].name,
        .small = region->small,
        .expandable = region->expandable,
        .blocks = walk->views,
        .block_count = walk->view_count,
    };
    err = replay_device_adopt(adopter->device, region->address, memory, region->expandable);
    if (err >= 0 && (err = alloc_adopt(adopter->alloc, &view)) < 0)
        replay_device_leave(adopter->device, region->address, memory, region->expandable);
    if (err == ERR_ARG || err == ERR_EXISTS) {
        leave_all(walk, first);
        return 0;
    }
    if (err >= 0 && region->expandable &&
        !replay_device_reserved(adopter->device, view.address, view.size))
        err = ERR_NOMEM;
    return err;
}

/* ---- the rest ---- */

/* With so little memory that it would not have fitted, nothing was cached before the record. */
static int empty_if_full(const struct replay_adopter *adopter)
{
    struct replay_device *device = adopter->device;
    if (device->held <= device->memory)
        return 0;
    int err = alloc_empty_cache(adopter->alloc);
    alloc_reset_peaks(adopter->alloc);
    device->peak = device->held;
    return err;
}

static int ask_anew(struct walk *walk, uint32_t number, struct alloc_refusal *refusal)
{
    const struct replay_adopter *adopter = walk->adopter;
    const struct replay_adopted *block = &adopter->trace->adopted_blocks[number];
    uint64_t address;
    int err = alloc_malloc(adopter->alloc, block->requested,
                           adopter->trace->heaps[block->heap].name, &address, refusal);
    if (err < 0)
        return err;
    adopter->addresses[number] = address;
    return address && block->state == REPLAY_AWAITING ? alloc_give_awaiting(adopter->alloc, address)
                                                      : 0;
}

int replay_adopt(const struct replay_adopter *adopter, struct alloc_refusal *refusal)
{
    struct walk walk = {.adopter = adopter};
    int err = find_blocks(&walk, adopter->trace);
    if (err >= 0 && !adopter->anew)
        err = find_regions(&walk, adopter->trace);
    for (size_t i = 0; i < walk.region_count && err >= 0; i++) {
        while (walk.next < walk.block_count &&
               adopter->trace->blocks[walk.blocks[walk.next]].address < walk.regions[i].address)
            leave(&walk, walk.blocks[walk.next++]);
        err = adopt_region(&walk, &walk.regions[i]);
    }
    while (err >= 0 && walk.next < walk.block_count)
        leave(&walk, walk.blocks[walk.next++]);
    if (err >= 0)
        err = empty_if_full(adopter);
    for (size_t i = 0; i < walk.left_count && err >= 0; i++)
        err = ask_anew(&walk, walk.left[i], refusal);
    mem_free(walk.regions);
    mem_free(walk.pieces);
    mem_free(walk.blocks);
    mem_free(walk.left);
    mem_free(walk.views);
    return err;
}
