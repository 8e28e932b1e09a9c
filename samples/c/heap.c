#include "heap.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_UNIT 512u
#define LARGE_UNIT (128u << 10)
#define SMALL_MOST (1u << 20)   /* the largest small block, and the size of a small segment */
#define SEGMENT_STEP (2u << 20) /* segments begin at multiples of it */
#define FIRST_ADDRESS (1ull << 40)

/* ---- the sample's own memory ---- */

static void *checked(void *memory)
{
    if (!memory) {
        fputs("seq2seq: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return memory;
}

void *host_memory(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size));
}

void *host_room(void *array, size_t count, size_t *room)
{
    if (count < *room)
        return array;
    *room = *room ? 2 * *room : 64;
    return checked(realloc(array, *room * sizeof(void *)));
}

/* ---- the free lists ---- */

static struct free_list *list_of(struct heap *heap, uint64_t bytes)
{
    return bytes <= SMALL_MOST ? &heap->small : &heap->large;
}

/* The place of the first free block that is not before (bytes, address). */
static size_t find_place(const struct free_list *list, uint64_t bytes, uint64_t address)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct block *block = list->blocks[middle];
        if (block->bytes < bytes || (block->bytes == bytes && block->address < address))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void list_insert(struct heap *heap, struct block *block)
{
    struct free_list *list = list_of(heap, block->bytes);
    size_t at = find_place(list, block->bytes, block->address);
    list->blocks = host_room(list->blocks, list->count, &list->room);
    memmove(list->blocks + at + 1, list->blocks + at, (list->count - at) * sizeof *list->blocks);
    list->blocks[at] = block;
    list->count++;
}

static struct block *list_take(struct free_list *list, size_t at)
{
    struct block *block = list->blocks[at];
    list->count--;
    memmove(list->blocks + at, list->blocks + at + 1, (list->count - at) * sizeof *list->blocks);
    return block;
}

static void list_remove(struct heap *heap, const struct block *block)
{
    struct free_list *list = list_of(heap, block->bytes);
    list_take(list, find_place(list, block->bytes, block->address));
}

/* ---- segments and blocks ---- */

uint64_t heap_round(uint64_t requested)
{
    uint64_t unit = requested < SMALL_MOST ? SMALL_UNIT : LARGE_UNIT;
    uint64_t units = requested / unit + (requested % unit != 0);
    return units ? units * unit : unit;
}

const void *heap_address(const struct block *block)
{
    return (const void *)(uintptr_t)block->address;
}

/* Gives back each segment that is one free block. */
static void empty_cache(struct heap *heap)
{
    size_t kept = 0;
    for (size_t i = 0; i < heap->segment_count; i++) {
        struct block *block = heap->segments[i];
        if (block->living || block->after) {
            heap->segments[kept++] = block;
            continue;
        }
        list_remove(heap, block);
        heap->reserved -= block->bytes;
        tidemark_segment_free(heap->report, heap_address(block));
        free(block);
    }
    heap->segment_count = kept;
}

_Noreturn static void refuse(const struct heap *heap, uint64_t requested, tidemark_site_t site)
{
    const double mib = 1 << 20;
    tidemark_oom(heap->report, requested, site);
    fflush(stdout);
    fprintf(stderr,
            "seq2seq: out of memory: tried to allocate %.1f MiB; %.1f MiB are allocated, %.1f MiB "
            "are reserved, the limit is %.1f MiB\n",
            (double)requested / mib, (double)heap->allocated / mib, (double)heap->reserved / mib,
            (double)heap->limit / mib);
    exit(EXIT_FAILURE);
}

static bool is_full(const struct heap *heap, uint64_t bytes)
{
    return heap->limit && (bytes > heap->limit || heap->reserved > heap->limit - bytes);
}

/* NULL: not within the limit. */
static struct block *new_segment(struct heap *heap, uint64_t rounded)
{
    uint64_t bytes = rounded <= SMALL_MOST ? SMALL_MOST : rounded;
    if (is_full(heap, bytes))
        empty_cache(heap);
    if (is_full(heap, bytes))
        return NULL;
    struct block *block = host_memory(1, sizeof *block);
    block->bytes = bytes;
    block->address = heap->next_address;
    heap->next_address += (block->bytes + SEGMENT_STEP - 1) / SEGMENT_STEP * SEGMENT_STEP;
    heap->segments = host_room(heap->segments, heap->segment_count, &heap->segment_room);
    heap->segments[heap->segment_count++] = block;
    heap->reserved += block->bytes;
    if (heap->reserved > heap->max_reserved)
        heap->max_reserved = heap->reserved;
    tidemark_segment_alloc(heap->report, heap_address(block), block->bytes);
    return block;
}

/* Splits off what the block has too much; the rest becomes a free block behind it. */
static void split(struct heap *heap, struct block *block, uint64_t rounded)
{
    uint64_t rest_bytes = block->bytes - rounded;
    if (rounded <= SMALL_MOST ? rest_bytes < SMALL_UNIT : rest_bytes <= SMALL_MOST)
        return;
    struct block *rest = host_memory(1, sizeof *rest);
    rest->address = block->address + rounded;
    rest->bytes = rest_bytes;
    rest->before = block;
    rest->after = block->after;
    if (rest->after)
        rest->after->before = rest;
    block->after = rest;
    block->bytes = rounded;
    list_insert(heap, rest);
}

/* The lower record takes the upper one in, so that a segment's first record stays. */
static struct block *merge(struct block *lower, struct block *upper)
{
    lower->bytes += upper->bytes;
    lower->after = upper->after;
    if (lower->after)
        lower->after->before = lower;
    free(upper);
    return lower;
}

struct block *heap_allocate(struct heap *heap, uint64_t requested, tidemark_site_t site)
{
    uint64_t rounded = heap_round(requested);
    struct free_list *list = list_of(heap, rounded);
    size_t at = find_place(list, rounded, 0);
    struct block *block = at < list->count ? list_take(list, at) : new_segment(heap, rounded);
    if (!block)
        refuse(heap, requested, site);
    split(heap, block, rounded);
    block->living = true;
    block->requested = requested;
    heap->living++;
    heap->unsplit += block->bytes - rounded;
    heap->allocated += block->bytes;
    if (heap->allocated > heap->max_allocated)
        heap->max_allocated = heap->allocated;
    struct tidemark_block report = {.size = sizeof report,
                                    .heap = heap->report,
                                    .site = site,
                                    .has_requested = 1,
                                    .address = heap_address(block),
                                    .bytes = block->bytes,
                                    .requested = requested};
    tidemark_block_alloc(&report);
    return block;
}

void heap_free(struct heap *heap, struct block *block)
{
    assert(block->living);
    tidemark_free(heap->report, heap_address(block));
    block->living = false;
    heap->living--;
    heap->unsplit -= block->bytes - heap_round(block->requested);
    heap->allocated -= block->bytes;
    if (block->after && !block->after->living) {
        list_remove(heap, block->after);
        block = merge(block, block->after);
    }
    if (block->before && !block->before->living) {
        list_remove(heap, block->before);
        block = merge(block->before, block);
    }
    list_insert(heap, block);
}

/* ---- the whole ---- */

void heap_open(struct heap *heap, const char *name)
{
    *heap = (struct heap){.next_address = FIRST_ADDRESS};
    heap->report = tidemark_heap_open(TIDEMARK_DEVICE_VIRTUAL, 0, name);
    tidemark_setting(heap->report, "allocator", "samples/c/heap.c");
}

void heap_limit(struct heap *heap, uint64_t bytes)
{
    char text[24];
    heap->limit = bytes;
    snprintf(text, sizeof text, "%" PRIu64, bytes);
    if (bytes)
        tidemark_setting(heap->report, "limit", text);
}

void heap_close(struct heap *heap)
{
    for (size_t i = 0; i < heap->segment_count; i++) {
        tidemark_segment_free(heap->report, heap_address(heap->segments[i]));
        for (struct block *block = heap->segments[i], *after; block; block = after) {
            after = block->after;
            free(block);
        }
    }
    free(heap->segments);
    free(heap->small.blocks);
    free(heap->large.blocks);
    *heap = (struct heap){0};
}

static bool list_is_valid(const struct free_list *list, bool small)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct block *block = list->blocks[i];
        if (block->living || (block->bytes <= SMALL_MOST) != small ||
            find_place(list, block->bytes, block->address) != i)
            return false;
    }
    return true;
}

/* Adds up what the counters of the heap must say. */
static bool segment_is_valid(const struct block *first, struct heap *sum, size_t *free_blocks)
{
    uint64_t at = first->address;
    for (const struct block *block = first; block; block = block->after) {
        if (block->address != at || (block->after && block->after->before != block) ||
            (!block->living && block->after && !block->after->living))
            return false;
        if (block->living) {
            uint64_t rounded = heap_round(block->requested);
            if (rounded > block->bytes)
                return false;
            sum->living++;
            sum->allocated += block->bytes;
            sum->unsplit += block->bytes - rounded;
        } else {
            (*free_blocks)++;
        }
        at += block->bytes;
        sum->reserved += block->bytes;
    }
    return !first->before;
}

bool heap_is_valid(const struct heap *heap)
{
    struct heap sum = {0};
    size_t free_blocks = 0;
    for (size_t i = 0; i < heap->segment_count; i++)
        if (!segment_is_valid(heap->segments[i], &sum, &free_blocks))
            return false;
    return list_is_valid(&heap->small, true) && list_is_valid(&heap->large, false) &&
           free_blocks == heap->small.count + heap->large.count && sum.living == heap->living &&
           sum.allocated == heap->allocated && sum.unsplit == heap->unsplit &&
           sum.reserved == heap->reserved && heap->allocated <= heap->max_allocated &&
           heap->reserved <= heap->max_reserved && heap->allocated <= heap->reserved &&
           (!heap->limit || heap->max_reserved <= heap->limit);
}
