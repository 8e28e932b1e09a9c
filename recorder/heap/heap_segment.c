/* Segments, and the totals that a source tells of itself: what is reserved. */
#include <assert.h>

#include "heap.h"
#include "ledger.h"
#include "mem.h"

static struct heap_segment *segment_from(const struct order_entry *entry)
{
    return (struct heap_segment *)(uintptr_t)entry->value;
}

int64_t heap_reserved(const struct heap_device *device)
{
    if (device->totals_known)
        return device->source_reserved;
    return device->segments_known ? device->segment_bytes : BATCH_NULL;
}

int64_t heap_active(const struct heap_device *device)
{
    if (!device->waits && !device->heaps->tells_waiting)
        return BATCH_NULL;
    return ledger_cut((uint64_t)device->allocated + (uint64_t)device->waiting_bytes);
}

static void reserved_changed(struct heap_device *device)
{
    int64_t now = heap_reserved(device);
    if (now > device->max_reserved)
        device->max_reserved = now;
}

static void reserved_curve(struct heap *heap, int64_t ns, int64_t before, int64_t after)
{
    struct heaps *heaps = heap->device->heaps;
    if (!heap->reserved_curve)
        heap->reserved_curve = curve_new(heap->id, "reserved");
    if (heap->reserved_curve)
        curve_add(heap->reserved_curve, heaps->ledger->batch, ns, before, after);
    else
        note_owed(heaps->account, OWED_CURVE, 1);
}

/* ---- which segment a block is in, and what it leaves free ---- */

struct heap_segment *segment_of(struct heap_device *device, uint64_t address)
{
    struct heap_segment *segment = device->last_segment;
    if (!segment || address - segment->address >= (uint64_t)segment->size) {
        const struct order_entry *entry = order_below(&device->segments, address);
        segment = entry ? segment_from(entry) : NULL;
        if (!segment || address - segment->address >= (uint64_t)segment->size)
            return NULL;
        device->last_segment = segment;
    }
    return segment;
}

/* Free bytes of a segment that holds blocks; blocks that reach over its end do not make it less
 * than none. */
static int64_t split_of(const struct heap_segment *segment)
{
    if (!segment->held || segment->gone || segment->used >= segment->size)
        return 0;
    return segment->size - segment->used;
}

void segment_hold(struct heap_segment *segment, int64_t size)
{
    struct heap_device *device = segment->heap->device;
    assert(!segment->gone && size >= 0);
    device->split -= split_of(segment);
    segment->held++;
    segment->used += size;
    device->split += split_of(segment);
}

void segment_release(struct heap_segment *segment, int64_t size)
{
    struct heap_device *device = segment->heap->device;
    assert(segment->held > 0 && segment->used >= size);
    device->split -= split_of(segment);
    segment->held--;
    segment->used -= size;
    device->split += split_of(segment);
    if (segment->gone && !segment->held)
        mem_free(segment);
}

/* ---- events ---- */

int64_t heap_fit(struct heaps *heaps, uint64_t address, uint64_t bytes, int64_t sum)
{
    int64_t room = heap_cut((uint64_t)(LEDGER_MOST - sum));
    if (bytes <= (uint64_t)room)
        return (int64_t)bytes;
    note(heaps->account, NOTE_SIZE_TOO_LARGE, address, "%llu bytes, stored as %lld",
         (unsigned long long)bytes, (long long)room);
    return room;
}

void heap_count_reserved(struct heap *heap, int64_t change)
{
    struct heap_device *device = heap->device;
    int64_t before = heap->segment_bytes;
    device->segment_bytes += change;
    heap->segment_bytes += change;
    assert(device->segment_bytes >= 0 && heap->segment_bytes >= 0);
    if (!device->totals_known)
        reserved_curve(heap, device->heaps->account->last_ns, before, heap->segment_bytes);
    reserved_changed(device);
}

static void close_segment(struct heap_segment *segment, const struct heap_when *when)
{
    struct heap_device *device = segment->heap->device;
    struct heaps *heaps = device->heaps;
    struct row_segment_end row = {
        .seq = segment->seq,
        .life_ns = when->ns > segment->alloc_ns ? when->ns - segment->alloc_ns : 0,
        .free_seq = when->seq > segment->seq ? when->seq : segment->seq,
    };
    if (!batch_put_segment_end(heaps->ledger->batch, &row))
        note_owed(heaps->account, EVENT_SEGMENT_FREE, 1);
    order_remove(&device->segments, segment->address);
    if (device->last_segment == segment)
        device->last_segment = NULL;
    device->split -= split_of(segment);
    heap_count_reserved(segment->heap, -segment->size);
    segment->gone = true;
    if (!segment->held)
        mem_free(segment);
}

/* All that can fail, before anything is changed. */
static struct heap_segment *open_segment(struct heaps *heaps, struct heap *heap,
                                         const struct heap_span *span, const struct heap_when *when)
{
    struct heap_device *device = heap->device;
    struct heap_segment *segment = mem_alloc(1, sizeof *segment);
    if (!segment)
        return NULL;
    uint32_t site = names_lookup(heaps->defs, span->site, ARENA_SITE);
    int64_t size = heap_fit(heaps, span->address, span->bytes, device->segment_bytes);
    struct batch_mark mark = batch_mark(heaps->ledger->batch);
    *segment = (struct heap_segment){.seq = when->seq,
                                     .address = span->address,
                                     .size = size,
                                     .alloc_ns = when->ns,
                                     .heap = heap};
    struct row_segment row = {
        .seq = segment->seq,
        .heap = heap->id,
        .address = (int64_t)span->address,
        .size = size,
        .alloc_ns = when->ns,
        .site = row_id(site),
    };
    if (batch_put_segment(heaps->ledger->batch, &row)) {
        if (order_put(&device->segments, span->address, (uintptr_t)segment))
            return segment;
        batch_back_to(heaps->ledger->batch, mark);
    }
    mem_free(segment);
    return NULL;
}

void segment_add(struct heap *heap, const struct heap_span *span, const struct heap_when *when)
{
    struct heap_device *device = heap->device;
    struct heaps *heaps = device->heaps;
    const struct order_entry *old = order_below(&device->segments, span->address);
    if (old && old->address == span->address) {
        note(heaps->account, NOTE_SEGMENT_TWICE, span->address, "first as seq %lld",
             (long long)segment_from(old)->seq);
        close_segment(segment_from(old), when);
    }
    struct heap_segment *segment = open_segment(heaps, heap, span, when);
    if (!segment) {
        note_owed(heaps->account, EVENT_SEGMENT_ALLOC, 1);
        return;
    }
    heap_count_reserved(heap, segment->size);
}

void segment_remove(struct heap *heap, const struct heap_span *span, const struct heap_when *when)
{
    const struct order_entry *entry = order_below(&heap->device->segments, span->address);
    if (entry && entry->address == span->address)
        close_segment(segment_from(entry), when);
    else
        note(heap->device->heaps->account, NOTE_SEGMENT_FREE_WITHOUT_ALLOC, span->address,
             "%llu bytes", (unsigned long long)span->bytes);
}

struct heap_span heap_span_of(const struct event *event)
{
    return (struct heap_span){event->addr, event->size, event->site};
}

void heap_segment_alloc(struct heap *heap, const struct event *event, int64_t ns)
{
    const struct heap_when now = {heap->device->heaps->ledger->seq, ns};
    const struct heap_span span = heap_span_of(event);
    heap->device->segments_known = true;
    if (event->flags & EVENT_F_MAP)
        mapping_add(heap, &span, &now);
    else
        segment_add(heap, &span, &now);
}

void heap_segment_free(struct heap *heap, const struct event *event, int64_t ns)
{
    const struct heap_when now = {heap->device->heaps->ledger->seq, ns};
    const struct heap_span span = heap_span_of(event);
    if (event->flags & EVENT_F_MAP)
        mapping_remove(heap, &span, &now);
    else
        segment_remove(heap, &span, &now);
}

/* ---- totals of the source ---- */

/* Until now the heaps of the device had curves of their own segments; from now on one curve has
 * the source's sum, so that the curves of a device still add up. */
static void begin_totals(struct heap *heap, int64_t ns)
{
    struct heap_device *device = heap->device;
    struct heaps *heaps = device->heaps;
    device->totals_known = true;
    device->totals_heap = heap;
    for (size_t i = 0; i < heaps->count; i++) {
        struct heap *other = heaps->all[i];
        if (other->device == device && other->segment_bytes)
            reserved_curve(other, ns, other->segment_bytes, 0);
    }
}

void heap_take_reserved(struct heap *heap, const struct event *event, int64_t ns)
{
    struct heap_device *device = heap->device;
    int64_t reserved = heap_cut(event->b);
    bool first = !device->totals_known;
    if (first)
        begin_totals(heap, ns);
    if (first || reserved != device->source_reserved)
        reserved_curve(device->totals_heap, ns, first ? reserved : device->source_reserved,
                       reserved);
    device->source_reserved = reserved;
    reserved_changed(device);
}

void heap_reserved_less(struct heap *heap, int64_t bytes, int64_t ns)
{
    struct heap_device *device = heap->device;
    assert(bytes >= 0);
    if (!device->totals_known)
        return;
    int64_t less = bytes < device->source_reserved ? bytes : device->source_reserved;
    if (less)
        reserved_curve(device->totals_heap, ns, device->source_reserved,
                       device->source_reserved - less);
    device->source_reserved -= less;
}

void heap_take_allocated(struct heap_device *device, const struct event *event)
{
    if (event->kind != EVENT_BLOCK_FREE && event->flags & EVENT_F_REQUESTED)
        return;
    device->source_sums = true;
    device->source_allocated = heap_cut(event->a);
    device->difference = device->source_allocated - device->allocated;
}

void heap_compare_totals(struct heap_device *device)
{
    char name[32];
    if (!device->source_sums || device->difference == device->difference_noted)
        return;
    names_print_device(device->heaps->defs->names, device->id, name, sizeof name);
    note(device->heaps->account, NOTE_TOTALS_DIFFER, NOTE_NO_ADDRESS,
         "%s: allocated %lld, our sum %lld", name, (long long)device->source_allocated,
         (long long)(device->source_allocated - device->difference));
    device->difference_noted = device->difference;
}

/* ---- the end, and the check ---- */

void segment_forget(struct heap_device *device)
{
    struct order_cursor cursor = order_seek(&device->segments, 0);
    const struct order_entry *entry;
    while ((entry = order_next(&device->segments, &cursor)))
        mem_free(segment_from(entry));
    order_clear(&device->segments);
    device->last_segment = NULL;
}

bool segment_is_valid(const struct heap_device *device, uint64_t held, int64_t used)
{
    if (!order_is_valid(&device->segments))
        return false;
    int64_t bytes = 0, split = 0;
    struct order_cursor cursor = order_seek(&device->segments, 0);
    const struct order_entry *entry;
    while ((entry = order_next(&device->segments, &cursor))) {
        const struct heap_segment *segment = segment_from(entry);
        if (segment->address != entry->address || segment->gone || segment->used < 0)
            return false;
        bytes += segment->size;
        split += split_of(segment);
        held -= segment->held;
        used -= segment->used;
    }
    return bytes + device->mapped_bytes == device->segment_bytes && split == device->split &&
           !held && !used;
}
