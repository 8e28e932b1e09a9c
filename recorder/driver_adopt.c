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
#include "driver.h"
#include "state_types.h"

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

void driver_put_owner(struct state_process *process, struct driver_piece *piece)
{
    if (!piece->heap || piece->stored == piece->blocks)
        return;
    if (batch_put(process->state->ledger.batch, SCH_DRIVER_MEMORY_OWNER, "iii", piece->seq,
                  piece->heap->id, ledger_cut(piece->blocks)))
        piece->stored = piece->blocks;
    else
        note_owed(&process->account, OWED_FACT, 1);
}

/* The row says at once whose it is; without a block, too. */
static void own(struct heap *heap, struct driver_piece *piece, uint64_t blocks)
{
    struct state_process *process = heap->device->process;
    bool first = !piece->heap;
    if (first)
        piece->heap = heap;
    piece->blocks += blocks;
    if (piece->blocks && !piece->stored) {
        driver_put_owner(process, piece);
    } else if (first && !piece->blocks &&
               !batch_put(process->state->ledger.batch, SCH_DRIVER_MEMORY_OWNER, "iii", piece->seq,
                          heap->id, (int64_t)0)) {
        note_owed(&process->account, OWED_FACT, 1);
    }
}

/* What is told as the driver's becomes the heap's; reserved is known from it. */
static void adopt_piece(struct heap *heap, struct driver_piece *piece)
{
    struct heap_device *device = heap->device;
    bool whole = piece->kind == DRIVER_DEVICE || piece->kind == DRIVER_MANAGED;
    if (!whole || !is_to_adopt(device, piece->address, piece->size))
        return;
    const struct event event = {
        .addr = piece->address, .size = (uint64_t)piece->size, .site = piece->site};
    const struct heap_when when = {piece->seq, piece->alloc_ns};
    device->segments_known = device->adopts = true;
    piece->adopted = true;
    segment_add(heap, &event, &when);
}

static void adopt_range(struct heap *heap, struct driver_range *range)
{
    struct heap_device *device = heap->device;
    if (!is_to_adopt(device, range->address, range->size))
        return;
    const struct event event = {.addr = range->address, .size = (uint64_t)range->size};
    const struct heap_when when = {range->seq, range->ns};
    device->segments_known = device->adopts = true;
    range->adopted = true;
    mapping_add(heap, &event, &when);
}

/* All ranges with bytes of the block. */
static void take_ranges(struct heap *heap, uint64_t begin, uint64_t end)
{
    const struct driver *driver = heap->device->process->driver;
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
            adopt_range(heap, range);
        }
        if (range->memory && range->memory->device == heap->device)
            own(heap, range->memory, 1);
    }
}

void driver_block(struct heap *heap, const struct event *event)
{
    struct heap_device *device = heap->device;
    const struct driver *driver = device->process->driver;
    struct driver_piece *piece = driver_piece_in(driver, event->addr, event->addr + 1);
    if (piece && piece->device == device) {
        if (!piece->heap)
            adopt_piece(heap, piece);
        own(heap, piece, 1);
    } else if (driver->mapped.count) {
        take_ranges(heap, event->addr, driver_end_at(event->addr, event->size ? event->size : 1));
    }
    if (device->adopts && event->flags & EVENT_F_TOTALS)
        device->reserved_apart = device->source_reserved - device->segment_bytes;
}

void driver_segment(struct heap *heap, const struct event *event)
{
    const struct heap_device *device = heap->device;
    const struct driver *driver = device->process->driver;
    uint64_t end = driver_end_at(event->addr, event->size);
    struct driver_piece *piece = driver_piece_in(driver, event->addr, end);
    if (piece && piece->device == device)
        own(heap, piece, 0);
    struct driver_range *range = driver_range_in(driver, event->addr, end);
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
            own(heap, range->memory, 0);
    }
}

/* ---- letting go ---- */

void driver_disown(struct driver_piece *piece, int64_t ns)
{
    if (!piece->heap || piece->kind == DRIVER_PHYSICAL)
        return;
    struct heap_device *device = piece->heap->device;
    const struct order_entry *entry = order_below(&device->segments, piece->address);
    const struct heap_segment *segment =
        entry ? (const struct heap_segment *)(uintptr_t)entry->value : NULL;
    const struct heap_when now = {device->process->state->ledger.seq, ns};
    const struct event event = {.addr = piece->address, .size = (uint64_t)piece->size};
    bool ours = piece->adopted && segment && segment->address == piece->address &&
                segment->seq == piece->seq;
    if (piece->kind == DRIVER_DEVICE || piece->kind == DRIVER_MANAGED)
        heap_reserved_less(piece->heap, piece->size, ns);
    if (ours)
        segment_remove(piece->heap, &event, &now);
}

void driver_disown_range(const struct driver_range *range, uint64_t begin, uint64_t end, int64_t ns)
{
    if (!range->heap || begin >= end)
        return;
    struct heap_device *device = range->heap->device;
    const struct event event = {.addr = begin, .size = end - begin};
    const struct heap_when now = {device->process->state->ledger.seq, ns};
    heap_reserved_less(range->heap, (int64_t)(end - begin), ns);
    if (range->adopted && has_pages(device, begin, end))
        mapping_remove(range->heap, &event, &now);
}

/* ---- the source's total beside it ---- */

void driver_compare(struct heap_device *device)
{
    char name[32];
    struct state_process *process = device->process;
    if (!device->adopts || !device->totals_known || !device->reserved_apart || device->apart_noted)
        return;
    names_print_device(&process->state->names, device->id, name, sizeof name);
    note(&process->account, NOTE_RESERVED_DIFFERS, NOTE_NO_ADDRESS,
         "%s: the allocator's total is %lld bytes %s what its blocks lie in", name,
         (long long)(device->reserved_apart > 0 ? device->reserved_apart : -device->reserved_apart),
         device->reserved_apart > 0 ? "above" : "below");
    device->apart_noted = true;
}
