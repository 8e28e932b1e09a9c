/* See history.h. */
#include "history.h"

#include <assert.h>

#include "heap.h"
#include "ledger.h"
#include "mem.h"

/* ---- the hook's events ---- */

static struct history_block *block_at(const struct history *history, size_t index)
{
    assert(index < history->count);
    return &history->blocks[(history->first + index) & (history->cap - 1)];
}

static void drop_first(struct history *history, size_t count)
{
    assert(count <= history->count);
    history->first = (history->first + count) & (history->cap - 1);
    history->count -= count;
}

static bool grow(struct history *history)
{
    size_t cap = history->cap ? history->cap * 2 : 1024;
    if (cap > HISTORY_BLOCKS)
        return false;
    struct history_block *blocks = mem_alloc(cap, sizeof *blocks);
    if (!blocks)
        return false;
    for (size_t i = 0; i < history->count; i++)
        blocks[i] = *block_at(history, i);
    mem_free(history->blocks);
    history->blocks = blocks;
    history->cap = cap;
    history->first = 0;
    return true;
}

void history_block(struct heap *heap, uint64_t address, int64_t size, int64_t allocation)
{
    struct history *history = heap->device->history;
    assert(history && history->count <= history->cap);
    if (history->count == history->cap && !grow(history)) {
        if (!history->cap)
            return;
        drop_first(history, 1);
    }
    history->count++;
    *block_at(history, history->count - 1) = (struct history_block){
        .address = address,
        .size = size,
        .seq = heap->device->heaps->ledger->seq,
        .allocation = allocation,
        .heap = heap,
    };
}

static bool is_same(const struct history_block *block, const struct event *event)
{
    bool handed_out = event->b == HISTORY_ALLOC;
    return block->address == event->addr && (block->allocation == block->seq) == handed_out &&
           (!handed_out || ledger_cut(event->size) <= block->size);
}

static bool match(struct history *history, const struct event *event, struct history_block *found)
{
    size_t far = history->reach < history->count ? history->reach : history->count;
    history->entries++;
    for (size_t i = 0; i < far; i++) {
        if (!is_same(block_at(history, i), event))
            continue;
        *found = *block_at(history, i);
        drop_first(history, i + 1);
        history->reach = HISTORY_NEAR;
        return true;
    }
    history->unmatched++;
    if (history->reach < HISTORY_BLOCKS)
        history->reach *= 2;
    return false;
}

/* ---- what an entry says of a block ---- */

static void amend_row(struct heaps *heaps, int64_t seq, int64_t requested,
                      const struct heap_segment *segment)
{
    struct batch *batch = heaps->ledger->batch;
    struct batch_alloc *row = batch_find_alloc(batch, seq);
    struct row_allocation_amend amend = {
        .seq = seq,
        .requested = row_opt(requested),
        .segment = row_opt(segment ? segment->seq : ROW_UNKNOWN),
    };
    if (row) {
        row->requested = requested == BATCH_NULL ? row->requested : requested;
        row->segment = segment ? segment->seq : row->segment;
    } else if ((amend.requested.known || segment) && !batch_put_allocation_amend(batch, &amend)) {
        note_owed(heaps->account, OWED_FACT, 1);
    }
}

static void set_segment(struct block *block, struct heap_segment *segment)
{
    if (!segment || block->segment == segment)
        return;
    if (block->segment)
        segment_release(block->segment, block->size);
    block->segment = segment;
    segment_hold(segment, block->size);
}

static void set_requested(struct heap_device *device, struct block *block, int64_t requested)
{
    if (block->requested == BATCH_NOT_KNOWN)
        device->requested_unknown--;
    else
        device->requested -= block->requested;
    int64_t room = LEDGER_MOST - device->requested;
    block->requested = requested < room ? requested : room;
    device->requested += block->requested;
    if (!device->requested_unknown)
        device->step.requested = device->requested;
}

static void tell_alloc(struct heap_device *device, const struct history_block *of,
                       const struct event *event)
{
    struct heaps *heaps = device->heaps;
    int64_t requested = ledger_cut(event->size); /* not more than its size: see is_same */
    bool told = !device->segments_known && device->segments.count;
    struct heap_segment *segment = told ? segment_of(device, of->address) : NULL;
    uint64_t at = map_get(&device->living, of->address);
    struct block *block = at == MAP_NONE ? NULL : &heaps->pool->blocks[at];
    if (block && block->seq == of->seq) {
        set_requested(device, block, requested);
        set_segment(block, segment);
    }
    amend_row(heaps, of->seq, requested, segment);
}

/* ---- segments and pages ---- */

/* A heap's stream has the hook's name for it, which is not that of the history: so the heap is that
 * of the block that needed the memory, in the pool that the history tells. */
static struct heap *heap_beside(const struct heap *told, struct heap *block)
{
    if (!block || !told->pool || told->pool == block->pool)
        return block;
    struct heaps *heaps = block->device->heaps;
    const struct names_device *device =
        intern_at(&heaps->defs->names->devices, (uint32_t)block->device->id);
    const struct heap like = {.stream = block->stream, .pool = told->pool, .name = block->name};
    return heap_get(heaps, &like, device->kind, device->ordinal);
}

static struct block *first_block(struct heap_device *device, uint64_t address, uint64_t size)
{
    if (!heap_put_in_order(device))
        return NULL;
    struct order_cursor cursor = order_seek(&device->order, address);
    const struct order_entry *entry = order_next(&device->order, &cursor);
    bool inside = entry && entry->address - address < size;
    return inside ? &device->heaps->pool->blocks[entry->value] : NULL;
}

/* A segment that was there before the history began, and the blocks in it. */
static void hold_living(struct heap_device *device, uint64_t address)
{
    struct heap_segment *segment = segment_of(device, address);
    if (!segment || !device->ordered)
        return;
    struct order_cursor cursor = order_seek(&device->order, address);
    const struct order_entry *entry;
    while ((entry = order_next(&device->order, &cursor)) &&
           entry->address - address < (uint64_t)segment->size) {
        struct block *block = &device->heaps->pool->blocks[entry->value];
        set_segment(block, segment);
        amend_row(device->heaps, block->seq, BATCH_NULL, segment);
    }
}

static void put_memory(struct heap *heap, const struct event *event, const struct heap_when *when)
{
    const struct heap_span span = heap_span_of(event);
    switch ((enum history_action)event->b) {
    case HISTORY_SEGMENT_ALLOC:
        segment_add(heap, &span, when);
        break;
    case HISTORY_SEGMENT_FREE:
        segment_remove(heap, &span, when);
        break;
    case HISTORY_SEGMENT_MAP:
        mapping_add(heap, &span, when);
        break;
    case HISTORY_SEGMENT_UNMAP:
        mapping_remove(heap, &span, when);
        break;
    default:
        break;
    }
}

static void put_idle(struct heaps *heaps, int64_t allocation, const struct heap_when *when)
{
    struct row_idle row = {.allocation = allocation, .seq = when->seq, .at_ns = when->ns};
    if (!batch_put_idle(heaps->ledger->batch, &row))
        note_owed(heaps->account, OWED_FACT, 1);
}

/* ---- blocks that were given back ---- */

static void clear_freed(struct history *history)
{
    map_clear(&history->freed);
    map_clear(&history->freed_of);
    history->freed_bytes = 0;
}

/* Its allocation, which is 0 where that is not known; MAP_NONE: it was not given back. */
static uint64_t take_freed(struct history *history, uint64_t address)
{
    uint64_t size = map_remove(&history->freed_of, address);
    history->freed_bytes -= size == MAP_NONE ? 0 : (int64_t)size;
    return map_remove(&history->freed, address);
}

static bool put_freed(struct history *history, const struct event *event, int64_t allocation)
{
    int64_t size = ledger_cut(event->size);
    if (history->freed.count >= HISTORY_BLOCKS)
        clear_freed(history);
    take_freed(history, event->addr);
    if (size > LEDGER_MOST - history->freed_bytes)
        size = 0; /* nobody has so many */
    if (!map_put(&history->freed_of, event->addr, (uint64_t)size, NULL))
        return false;
    history->freed_bytes += size;
    if (map_put(&history->freed, event->addr, (uint64_t)allocation, NULL))
        return true;
    take_freed(history, event->addr);
    return false;
}

/* Of a block that never waits the entry that says so comes next. */
int64_t history_waiting(const struct heap_device *device)
{
    const struct history *history = device->history;
    if (!history || !history->entries)
        return BATCH_NULL;
    uint64_t last =
        history->after_free ? map_get(&history->freed_of, history->just_freed) : MAP_NONE;
    return history->freed_bytes - (last == MAP_NONE ? 0 : (int64_t)last);
}

/* ---- what waits ---- */

/* All that waits happened at or before this event of the hook; NULL: nothing is known but when it
 * was told. A segment's seq is its own: of two, the first has that of its entry. */
static void settle(struct heap_device *device, const struct history_block *before)
{
    struct history *history = device->history;
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < history->waiting_count; i++)
        if (history->waiting[i].event.b == HISTORY_SEGMENT_ALLOC)
            last = i;
    for (size_t i = 0; i < history->waiting_count; i++) {
        const struct history_entry *entry = &history->waiting[i];
        struct heap_when when = {before ? before->seq : entry->seq, entry->ns};
        if (entry->event.b == HISTORY_IDLE) {
            put_idle(device->heaps, (int64_t)entry->event.addr, &when);
            continue;
        }
        if (entry->event.b == HISTORY_SEGMENT_ALLOC && i != last)
            when.seq = entry->seq;
        struct heap *heap = heap_beside(entry->heap, before ? before->heap : entry->heap);
        put_memory(heap ? heap : entry->heap, &entry->event, &when);
    }
    history->waiting_count = 0;
}

static void wait_for_block(struct heap *heap, const struct event *event, int64_t ns)
{
    struct heap_device *device = heap->device;
    struct history *history = device->history;
    if (history->waiting_count == HISTORY_WAITING)
        settle(device, NULL);
    if (!MEM_GROW(history->waiting, history->waiting_cap, history->waiting_count + 1)) {
        note_owed(device->heaps->account, OWED_FACT, 1);
        return;
    }
    history->waiting[history->waiting_count++] =
        (struct history_entry){*event, heap, device->heaps->ledger->seq, ns};
}

/* ---- entries ---- */

/* From here on it is told anew; pages that are still mapped are told again. */
static void restart(struct heap_device *device, int64_t ns)
{
    struct history *history = device->history;
    const struct heap_when now = {device->heaps->ledger->seq, ns};
    settle(device, NULL);
    if (!device->segments_known)
        mapping_clear(device, &now);
    history->first = history->count = 0;
    history->reach = HISTORY_NEAR;
    clear_freed(history);
    history->after_free = false;
}

static void block_entry(struct heap_device *device, const struct event *event)
{
    struct history *history = device->history;
    struct history_block found;
    if (!match(history, event, &found))
        return;
    settle(device, &found);
    if (event->b == HISTORY_ALLOC) {
        tell_alloc(device, &found, event);
        return;
    }
    if (!put_freed(history, event, found.allocation))
        note_owed(device->heaps->account, OWED_FACT, 1);
}

/* Nearly always the next entry after the one that gave the block back: then it never waited. */
static void idle_entry(struct heap *heap, const struct event *event, int64_t ns)
{
    struct history *history = heap->device->history;
    uint64_t allocation = take_freed(history, event->addr);
    if (history->after_free && history->just_freed == event->addr)
        return;
    history->entries++;
    if (allocation == MAP_NONE) {
        history->unmatched++;
    } else if (allocation) {
        struct event idle = *event;
        idle.addr = allocation;
        wait_for_block(heap, &idle, ns);
    }
}

static void memory_entry(struct heap *heap, const struct event *event, int64_t ns)
{
    struct heap_device *device = heap->device;
    if (device->segments_known || !device->totals_known)
        return;
    if (event->a) {
        wait_for_block(heap, event, ns);
        return;
    }
    const struct heap_when now = {device->heaps->ledger->seq, ns};
    bool comes = event->b == HISTORY_SEGMENT_ALLOC || event->b == HISTORY_SEGMENT_MAP;
    const struct block *inside = comes ? first_block(device, event->addr, event->size) : NULL;
    struct heap *beside = heap_beside(heap, inside ? inside->heap : heap);
    put_memory(beside ? beside : heap, event, &now);
    if (event->b == HISTORY_SEGMENT_ALLOC)
        hold_living(device, event->addr);
}

static void take_entry(struct heap *heap, const struct event *event, int64_t ns)
{
    struct history *history = heap->device->history;
    bool gives_back = event->b == HISTORY_FREE;
    switch ((enum history_action)event->b) {
    case HISTORY_RESTART:
        restart(heap->device, ns);
        break;
    case HISTORY_ALLOC:
    case HISTORY_FREE:
        block_entry(heap->device, event);
        break;
    case HISTORY_IDLE:
        idle_entry(heap, event, ns);
        break;
    case HISTORY_SEGMENT_ALLOC:
    case HISTORY_SEGMENT_FREE:
    case HISTORY_SEGMENT_MAP:
    case HISTORY_SEGMENT_UNMAP:
        memory_entry(heap, event, ns);
        break;
    case HISTORY_ACTION_COUNT:
    default:
        note(heap->device->heaps->account, NOTE_UNKNOWN_EVENT, event->addr, "history action %llu",
             (unsigned long long)event->b);
    }
    history->after_free = gives_back;
    history->just_freed = event->addr;
}

void history_event(struct heaps *heaps, const struct event *event)
{
    struct heap *heap = heap_of_event(heaps, event);
    int64_t ns = event->a ? ledger_ns(heaps->ledger, event->a) : heaps->account->last_ns;
    if (heap && !heap->device->history)
        history_begin(heaps);
    if (!heap || !heap->device->history)
        note_owed(heaps->account, EVENT_HISTORY, 1);
    else
        take_entry(heap, event, ns < heaps->account->last_ns ? ns : heaps->account->last_ns);
}

/* ---- its life ---- */

/* Blocks of the CPU have no history: they come and go in great numbers, and nobody would take them
 * out of the queue. */
void history_add_device(struct heap_device *device)
{
    const struct names_device *name =
        intern_at(&device->heaps->defs->names->devices, (uint32_t)device->id);
    if (device->history || name->kind == DEVICE_CPU)
        return;
    device->history = mem_alloc(1, sizeof *device->history);
    if (device->history)
        device->history->reach = HISTORY_NEAR;
}

void history_begin(struct heaps *heaps)
{
    heaps->histories = true;
    for (size_t i = 0; i < heaps->device_count; i++)
        history_add_device(heaps->devices[i]);
}

void history_end(struct heaps *heaps)
{
    char name[32];
    for (size_t i = 0; i < heaps->device_count; i++) {
        struct heap_device *device = heaps->devices[i];
        const struct history *history = device->history;
        if (!history)
            continue;
        settle(device, NULL);
        names_print_device(heaps->defs->names, device->id, name, sizeof name);
        if (history->unmatched)
            note(heaps->account, NOTE_HISTORY_WITHOUT_EVENT, NOTE_NO_ADDRESS,
                 "%s: %llu of %llu entries", name, (unsigned long long)history->unmatched,
                 (unsigned long long)history->entries);
    }
}

void history_forget(struct heap_device *device)
{
    struct history *history = device->history;
    if (!history)
        return;
    clear_freed(history);
    mem_free(history->blocks);
    mem_free(history->waiting);
    mem_free(history);
    device->history = NULL;
}

static int64_t sum_of(const struct map *sizes)
{
    int64_t sum = 0;
    const struct map_entry *entry;
    for (size_t at = 0; (entry = map_next(sizes, &at));)
        sum += (int64_t)entry->value;
    return sum;
}

bool history_is_valid(const struct heap_device *device)
{
    const struct history *history = device->history;
    int64_t last = 0, top = device->heaps->ledger->seq;
    if (!history)
        return true;
    for (size_t i = 0; i < history->count; i++) {
        const struct history_block *block = block_at(history, i);
        if (block->seq <= last || block->seq > top || block->allocation > block->seq ||
            block->heap->device != device)
            return false;
        last = block->seq;
    }
    last = 0;
    for (size_t i = 0; i < history->waiting_count; i++) {
        if (history->waiting[i].seq <= last || history->waiting[i].seq > top)
            return false;
        last = history->waiting[i].seq;
    }
    return history->count <= history->cap && history->cap <= HISTORY_BLOCKS &&
           !(history->cap & (history->cap - 1)) && history->waiting_count <= HISTORY_WAITING &&
           history->unmatched <= history->entries && map_is_valid(&history->freed) &&
           history->freed.count == history->freed_of.count &&
           history->freed_bytes == sum_of(&history->freed_of);
}
