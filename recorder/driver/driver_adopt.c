/*
 * driver_adopt.c - whose memory the driver's is: blocks and segments against what it told.
 *
 * Memory gets its owner by the first block that lies in it, and keeps it. It is adopted, that is,
 * becomes a segment or pages of that heap, unless segments or pages are there already, for then
 * another source tells of them; or a history is recorded, which tells of them later and knows their
 * pools. Their seq is that of the driver's event: they were there before the block.
 *
 * A source's own total of what is reserved comes with its blocks only. What the driver takes back
 * in between is taken off at once, so that a phase which ends with an emptied cache says so.
 */
#include <assert.h>

#include "driver.h"
#include "heap.h"
#include "ledger.h"

/* ---- what other sources told ---- */

static bool has_segment(const struct heap_device *device, uint64_t begin, uint64_t end)
{
    const struct order_entry *entry = order_below(&device->segments, end - 1);
    const struct heap_segment *segment =
        entry ? (const struct heap_segment *)(uintptr_t)entry->value : NULL;
    return segment && driver_end_at(segment->address, (uint64_t)segment->size) > begin;
}

static bool has_pages(const struct heap_device *device, uint64_t begin, uint64_t end)
{
    const struct order_entry *entry = order_below(&device->mapped, end - 1);
    const struct heap_range *range =
        entry ? (const struct heap_range *)(uintptr_t)entry->value : NULL;
    return range && driver_end_at(range->address, (uint64_t)range->size) > begin;
}

static bool is_to_adopt(const struct heap_device *device, uint64_t address, int64_t size)
{
    uint64_t end = driver_end_at(address, (uint64_t)size);
    return size > 0 && !device->history && !has_segment(device, address, end) &&
           !has_pages(device, address, end);
}

/* ---- taking ---- */

static bool put_owner(const struct driver *driver, const struct driver_piece *piece)
{
    struct row_driver_memory_owner row = {
        .seq = piece->seq,
        .heap = piece->heap->id,
        .blocks = ledger_cut(piece->blocks),
    };
    assert(piece->heap && piece->stored <= piece->blocks);
    return batch_put_driver_memory_owner(driver->ledger->batch, &row);
}

void driver_put_owner(struct driver *driver, struct driver_piece *piece)
{
    if (!piece->heap || piece->stored == piece->blocks)
        return;
    if (put_owner(driver, piece))
        piece->stored = piece->blocks;
    else
        note_owed(driver->account, OWED_FACT, 1);
}

/* The row says at once whose it is; without a block, too. */
static void own(struct driver *driver, struct heap *heap, struct driver_piece *piece,
                uint64_t blocks)
{
    bool first = !piece->heap;
    assert(piece->device == heap->device);
    if (first)
        piece->heap = heap;
    piece->blocks += blocks;
    if (piece->blocks && !piece->stored) {
        driver_put_owner(driver, piece);
    } else if (first && !piece->blocks && !put_owner(driver, piece)) {
        note_owed(driver->account, OWED_FACT, 1);
    }
}

static void begin_adopting(struct driver *driver, struct heap_device *device)
{
    device->segments_known = true;
    driver->devices[device->index].adopts = true;
}

/* What is told as the driver's becomes the heap's; reserved is known from it. */
static void adopt_piece(struct driver *driver, struct heap *heap, struct driver_piece *piece)
{
    bool whole = piece->kind == DRIVER_DEVICE || piece->kind == DRIVER_MANAGED;
    assert(!piece->adopted && piece->device == heap->device);
    if (!whole || !is_to_adopt(heap->device, piece->address, piece->size))
        return;
    const struct heap_span span = {piece->address, (uint64_t)piece->size, piece->site};
    const struct heap_when when = {piece->seq, piece->alloc_ns};
    begin_adopting(driver, heap->device);
    piece->adopted = true;
    segment_add(heap, &span, &when);
}

static void adopt_range(struct driver *driver, struct heap *heap, struct driver_range *range)
{
    assert(!range->adopted && range->heap == heap);
    if (!is_to_adopt(heap->device, range->address, range->size))
        return;
    const struct heap_span span = {range->address, (uint64_t)range->size, 0};
    const struct heap_when when = {range->seq, range->ns};
    begin_adopting(driver, heap->device);
    range->adopted = true;
    mapping_add(heap, &span, &when);
}

/* All ranges with bytes of the block. */
static void take_ranges(struct driver *driver, struct heap *heap, uint64_t begin, uint64_t end)
{
    struct driver_range *range = driver_range_in(driver, begin, end);
    if (!range)
        return;
    struct order_cursor cursor = order_seek(&driver->mapped, range->address);
    while ((range = driver_range_from(order_next(&driver->mapped, &cursor))) &&
           range->address < end) {
        if (range->device != heap->device)
            continue;
        if (!range->heap) {
            range->heap = heap;
            adopt_range(driver, heap, range);
        }
        if (range->memory && range->memory->device == heap->device)
            own(driver, heap, range->memory, 1);
    }
}

void driver_block(struct driver *driver, struct heap *heap, uint64_t address, uint64_t bytes)
{
    struct heap_device *device = heap->device;
    struct driver_piece *piece = driver_piece_in(driver, address, address + 1);
    if (piece && piece->device == device) {
        if (!piece->heap)
            adopt_piece(driver, heap, piece);
        own(driver, heap, piece, 1);
    } else if (driver->mapped.count) {
        take_ranges(driver, heap, address, driver_end_at(address, bytes ? bytes : 1));
    }
}

void driver_totals(struct driver *driver, const struct heap_device *device)
{
    struct driver_device *own = &driver->devices[device->index];
    assert(driver->devices && device->totals_known);
    if (own->adopts)
        own->reserved_apart = device->source_reserved - device->segment_bytes;
}

void driver_segment(struct driver *driver, struct heap *heap, uint64_t address, uint64_t bytes)
{
    const struct heap_device *device = heap->device;
    uint64_t end = driver_end_at(address, bytes);
    struct driver_piece *piece = driver_piece_in(driver, address, end);
    if (piece && piece->device == device)
        own(driver, heap, piece, 0);
    struct driver_range *range = driver_range_in(driver, address, end);
    if (!range)
        return;
    struct order_cursor cursor = order_seek(&driver->mapped, range->address);
    while ((range = driver_range_from(order_next(&driver->mapped, &cursor))) &&
           range->address < end) {
        if (range->device != device)
            continue;
        if (!range->heap)
            range->heap = heap;
        if (range->memory && range->memory->device == device)
            own(driver, heap, range->memory, 0);
    }
}

/* ---- letting go ---- */

void driver_disown(const struct driver *driver, const struct driver_piece *piece,
                   struct driver_when when)
{
    assert(!piece->adopted || piece->heap);
    if (!piece->heap || piece->kind == DRIVER_PHYSICAL)
        return;
    const struct heap_device *device = piece->heap->device;
    const struct order_entry *entry = order_below(&device->segments, piece->address);
    const struct heap_segment *segment =
        entry ? (const struct heap_segment *)(uintptr_t)entry->value : NULL;
    const struct heap_when now = {driver->ledger->seq, when.ns};
    const struct heap_span span = {piece->address, (uint64_t)piece->size, 0};
    bool ours = piece->adopted && segment && segment->address == piece->address &&
                segment->seq == piece->seq;
    if (!when.late && (piece->kind == DRIVER_DEVICE || piece->kind == DRIVER_MANAGED))
        heap_reserved_less(piece->heap, piece->size, when.ns);
    if (ours)
        segment_remove(piece->heap, &span, &now);
}

void driver_disown_range(const struct driver *driver, const struct driver_range *range,
                         uint64_t begin, uint64_t end, struct driver_when when)
{
    if (!range->heap || begin >= end)
        return;
    const struct heap_span span = {begin, end - begin, 0};
    const struct heap_when now = {driver->ledger->seq, when.ns};
    if (!when.late)
        heap_reserved_less(range->heap, (int64_t)(end - begin), when.ns);
    if (range->adopted && has_pages(range->heap->device, begin, end))
        mapping_remove(range->heap, &span, &now);
}

/* ---- the source's total beside it ---- */

void driver_compare(struct driver *driver, const struct heap_device *device)
{
    char name[32];
    struct driver_device *own = driver->devices ? &driver->devices[device->index] : NULL;
    if (!own || !own->adopts || !device->totals_known || !own->reserved_apart || own->apart_noted)
        return;
    names_print_device(driver->defs->names, device->id, name, sizeof name);
    note(driver->account, NOTE_RESERVED_DIFFERS, NOTE_NO_ADDRESS,
         "%s: the allocator's total is %lld bytes %s what its blocks lie in", name,
         (long long)(own->reserved_apart > 0 ? own->reserved_apart : -own->reserved_apart),
         own->reserved_apart > 0 ? "above" : "below");
    own->apart_noted = true;
}
