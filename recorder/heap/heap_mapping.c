/*
 * heap_mapping.c - memory mapped into ranges of addresses that an allocator reserved for it.
 *
 * What is mapped now is a set of ranges, ordered by address. A range that is mapped joins its
 * neighbours of the same heap, so that a segment that grew page by page is one range. Taking out
 * any part cuts every range that has bytes in it: it goes, or is shorter at one end, or is two. The
 * rows are what the source said; what counts as reserved is the set.
 */
#include <assert.h>

#include "heap.h"
#include "ledger.h"
#include "mem.h"

static struct heap_range *range_from(const struct order_entry *entry)
{
    return entry ? (struct heap_range *)(uintptr_t)entry->value : NULL;
}

static uint64_t end_of(const struct heap_range *range)
{
    return range->address + (uint64_t)range->size;
}

static void count(struct heap *heap, int64_t change)
{
    heap->device->mapped_bytes += change;
    heap_count_reserved(heap, change);
}

static bool put_range(struct heap *heap, uint64_t address, uint64_t end)
{
    struct heap_range *range = mem_alloc(1, sizeof *range);
    assert(address < end);
    if (!range)
        return false;
    *range = (struct heap_range){address, (int64_t)(end - address), heap};
    if (order_put(&heap->device->mapped, address, (uintptr_t)range))
        return true;
    mem_free(range);
    return false;
}

static void drop_range(struct heap_range *range)
{
    order_remove(&range->heap->device->mapped, range->address);
    mem_free(range);
}

/* ---- taking out ---- */

/* The first range with bytes from `begin` up to `end`. */
static struct heap_range *first_in(const struct heap_device *device, uint64_t begin, uint64_t end)
{
    struct heap_range *range = range_from(order_below(&device->mapped, begin));
    if (range && end_of(range) > begin)
        return range;
    struct order_cursor cursor = order_seek(&device->mapped, begin);
    range = range_from(order_next(&device->mapped, &cursor));
    return range && range->address < end ? range : NULL;
}

/* Returns the bytes that it loses. Without memory for what is left behind the hole, that is
 * forgotten, too. */
static int64_t cut(struct heap_range *range, uint64_t begin, uint64_t end)
{
    struct heap *heap = range->heap;
    uint64_t from = range->address > begin ? range->address : begin;
    uint64_t last = end_of(range), to = last < end ? last : end;
    int64_t taken = (int64_t)(to - from);
    if (last > to && !put_range(heap, to, last)) {
        note_owed(heap->device->heaps->account, EVENT_SEGMENT_ALLOC, 1);
        count(heap, -(int64_t)(last - to));
    }
    if (from > range->address)
        range->size = (int64_t)(from - range->address);
    else
        drop_range(range);
    count(heap, -taken);
    return taken;
}

static int64_t take_out(struct heap_device *device, uint64_t begin, uint64_t end)
{
    int64_t taken = 0;
    struct heap_range *range;
    while (begin < end && (range = first_in(device, begin, end)))
        taken += cut(range, begin, end);
    return taken;
}

/* ---- putting in ---- */

/* False without memory; nothing is mapped from `begin` to `end`. */
static bool put_in(struct heap *heap, uint64_t begin, uint64_t end)
{
    struct order *mapped = &heap->device->mapped;
    struct heap_range *below = range_from(order_below(mapped, begin));
    if (below && end_of(below) == begin && below->heap == heap)
        below->size += (int64_t)(end - begin);
    else if (!put_range(heap, begin, end))
        return false;
    struct heap_range *range = range_from(order_below(mapped, begin));
    struct heap_range *above = range_from(order_below(mapped, end));
    if (above != range && above->address == end && above->heap == heap) {
        range->size += above->size;
        drop_range(above);
    }
    count(heap, (int64_t)(end - begin));
    return true;
}

/* ---- events ---- */

/* Addresses end at 2^64. */
static uint64_t end_at(uint64_t address, int64_t size)
{
    return (uint64_t)size > UINT64_MAX - address ? UINT64_MAX : address + (uint64_t)size;
}

static bool put_row(const struct heap *heap, uint64_t address, int64_t size,
                    const struct heap_when *when, int64_t mapped)
{
    struct row_mapping row = {
        .seq = when->seq,
        .heap = heap->id,
        .address = (int64_t)address,
        .size = size,
        .at_ns = when->ns,
        .mapped = mapped,
    };
    return batch_put_mapping(heap->device->heaps->ledger->batch, &row);
}

void mapping_add(struct heap *heap, const struct heap_span *span, const struct heap_when *when)
{
    struct heap_device *device = heap->device;
    struct heaps *heaps = device->heaps;
    int64_t size = heap_fit(heaps, span->address, span->bytes, device->segment_bytes);
    uint64_t end = end_at(span->address, size);
    if (!put_row(heap, span->address, size, when, 1))
        note_owed(heaps->account, OWED_FACT, 1);
    int64_t twice = take_out(device, span->address, end);
    if (twice)
        note(heaps->account, NOTE_MAPPED_TWICE, span->address, "%lld of %lld bytes",
             (long long)twice, (long long)size);
    if (end > span->address && !put_in(heap, span->address, end))
        note_owed(heaps->account, EVENT_SEGMENT_ALLOC, 1);
}

void mapping_remove(struct heap *heap, const struct heap_span *span, const struct heap_when *when)
{
    struct heap_device *device = heap->device;
    struct heaps *heaps = device->heaps;
    int64_t size = heap_cut(span->bytes);
    uint64_t end = end_at(span->address, size);
    const struct heap_range *range = first_in(device, span->address, end);
    /* Of the heap that mapped it: who gives many back at once may be in the midst of another's. */
    if (!put_row(range ? range->heap : heap, span->address, size, when, 0))
        note_owed(heaps->account, EVENT_SEGMENT_FREE, 1);
    int64_t taken = take_out(device, span->address, end);
    if (taken < size || !size)
        note(heaps->account, NOTE_UNMAPPED_WITHOUT_MAP, span->address, "%lld of %lld bytes",
             (long long)(size - taken), (long long)size);
}

void mapping_clear(struct heap_device *device, const struct heap_when *when)
{
    struct heap_range *range;
    while ((range = first_in(device, 0, UINT64_MAX))) {
        if (!put_row(range->heap, range->address, range->size, when, 0))
            note_owed(device->heaps->account, OWED_FACT, 1);
        cut(range, range->address, end_of(range));
    }
}

/* ---- the end, and the check ---- */

void mapping_forget(struct heap_device *device)
{
    struct order_cursor cursor = order_seek(&device->mapped, 0);
    struct heap_range *range;
    while ((range = range_from(order_next(&device->mapped, &cursor))))
        mem_free(range);
    order_clear(&device->mapped);
}

bool mapping_is_valid(const struct heap_device *device)
{
    int64_t bytes = 0;
    const struct heap_range *range, *before = NULL;
    struct order_cursor cursor = order_seek(&device->mapped, 0);
    const struct order_entry *entry;
    for (; (entry = order_next(&device->mapped, &cursor)); before = range) {
        range = range_from(entry);
        if (range->address != entry->address || range->size <= 0 || range->heap->device != device ||
            end_of(range) < range->address)
            return false;
        if (before && (end_of(before) > range->address ||
                       (end_of(before) == range->address && before->heap == range->heap)))
            return false;
        bytes += range->size;
    }
    return bytes == device->mapped_bytes && order_is_valid(&device->mapped);
}
