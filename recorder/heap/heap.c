#include "heap.h"

#include <assert.h>

#include "ledger.h"
#include "mem.h"

/* ---- the pool ---- */

static uint32_t take_record(struct block_pool *pool)
{
    uint32_t at = pool->free;
    if (at != BLOCK_END) {
        pool->free = pool->blocks[at].index;
        return at;
    }
    if (pool->count >= BLOCK_END || !MEM_GROW(pool->blocks, pool->cap, pool->count + 1))
        return BLOCK_END;
    return (uint32_t)pool->count++;
}

static void give_record(struct block_pool *pool, uint32_t at)
{
    assert(at < pool->count);
    pool->blocks[at].state = BLOCK_NONE;
    pool->blocks[at].index = pool->free;
    pool->free = at;
}

/* ---- a block comes ---- */

static void count_birth(struct heap *heap, const struct block *block, int64_t ns)
{
    struct heap_device *device = heap->device;
    assert(block->heap == heap && block->size >= 0);
    device->allocated += block->size;
    device->allocs++;
    device->alloc_bytes += (uint64_t)block->size;
    if (block->requested == BATCH_NOT_KNOWN)
        device->requested_unknown++;
    else
        device->requested += block->requested;
    if (block->size > device->step.largest)
        device->step.largest = block->size;
    if (device->allocated > device->window.peak)
        device->window =
            (struct heap_window){device->allocated, block->seq, ns, heap_reserved(device)};
    if (device->allocated > device->max_allocated) {
        device->max_allocated = device->allocated;
        device->max_allocated_seq = block->seq;
    }
}

static void allocated_curve(struct heap *heap, int64_t ns, int64_t change)
{
    struct heaps *heaps = heap->device->heaps;
    int64_t before = heap->allocated;
    heap->allocated += change;
    if (!heap->allocated_curve)
        heap->allocated_curve = curve_new(heap->id, "allocated");
    if (heap->allocated_curve)
        curve_add(heap->allocated_curve, heaps->ledger->batch, ns, before, heap->allocated);
    else
        note_owed(heaps->account, OWED_CURVE, 1);
}

/* The end of a living block: its row, and all sums. The record stays; the map is the caller's. */
static void close_block(struct heaps *heaps, struct block *block, int64_t ns)
{
    struct heap_device *device = block->heap->device;
    assert(block->serial <= heaps->ledger->serial && heaps->pool->living > 0);
    if (block->serial == heaps->ledger->serial) {
        struct batch_alloc *row = &heaps->ledger->batch->allocs[block->index];
        row->life_ns = ns - block->alloc_ns;
        row->free_seq = heaps->ledger->seq;
    } else if (!batch_add_end(heaps->ledger->batch, block->seq, ns - block->alloc_ns,
                              heaps->ledger->seq)) {
        note_owed(heaps->account, EVENT_BLOCK_FREE, 1);
    }
    device->allocated -= block->size;
    device->frees++;
    if (block->requested == BATCH_NOT_KNOWN)
        device->requested_unknown--;
    else
        device->requested -= block->requested;
    heaps->pool->frees++;
    heaps->pool->living--;
    allocated_curve(block->heap, ns, -block->size);
}

static void drop_block(struct heaps *heaps, uint32_t at)
{
    struct block *block = &heaps->pool->blocks[at];
    assert(block->state != BLOCK_NONE && block->heap->device->heaps == heaps);
    if (block->segment)
        segment_release(block->segment, block->size);
    give_record(heaps->pool, at);
}

/* A stream still used it when it was given back: that is over by now. */
static void end_waiting(struct heap_device *device, uint64_t address, int64_t ns)
{
    struct heaps *heaps = device->heaps;
    uint64_t at = map_remove(&device->waiting, address);
    assert(at < heaps->pool->count && heaps->pool->blocks[at].state == BLOCK_WAITING);
    const struct block *block = &heaps->pool->blocks[at];
    device->waiting_bytes -= block->size;
    struct row_idle row = {.allocation = block->seq, .seq = heaps->ledger->seq, .at_ns = ns};
    if (!batch_put_idle(heaps->ledger->batch, &row))
        note_owed(heaps->account, EVENT_BLOCK_IDLE, 1);
    drop_block(heaps, (uint32_t)at);
}

/* The address was not free, as far as we know: what was there has ended by now. */
static void end_former(struct heap_device *device, const struct event *event, int64_t ns)
{
    struct heaps *heaps = device->heaps;
    uint64_t old = map_remove(&device->living, event->addr);
    if (old != MAP_NONE) {
        struct block *block = &heaps->pool->blocks[old];
        note(heaps->account, NOTE_ADDRESS_TWICE, event->addr, "first as seq %lld, %lld bytes",
             (long long)block->seq, (long long)block->size);
        if (device->ordered)
            order_remove(&device->order, event->addr);
        close_block(heaps, block, ns);
        drop_block(heaps, (uint32_t)old);
    }
    if (device->waiting.count && map_get(&device->waiting, event->addr) != MAP_NONE) {
        note(heaps->account, NOTE_REUSED_WHILE_WAITING, event->addr, "%s", "");
        end_waiting(device, event->addr, ns);
    }
}

static int64_t requested_of(const struct heap_device *device, const struct event *event)
{
    if (!(event->flags & EVENT_F_REQUESTED))
        return BATCH_NOT_KNOWN;
    int64_t room = heap_cut((uint64_t)(LEDGER_MOST - device->requested));
    return event->a > (uint64_t)room ? room : (int64_t)event->a;
}

static struct batch_alloc *add_row(struct heaps *heaps, const struct block *block,
                                   const struct event *event)
{
    struct batch_alloc *row = batch_add_alloc(heaps->ledger->batch);
    if (!row)
        return NULL;
    uint32_t site = names_lookup(heaps->defs, event->site, ARENA_SITE);
    uint32_t module = names_lookup(heaps->defs, event->name, ARENA_MODULE);
    *row = (struct batch_alloc){
        .seq = block->seq,
        .address = event->addr,
        .size = block->size,
        .requested = block->requested,
        .alloc_ns = block->alloc_ns,
        .life_ns = DB_LIVING_NS,
        .free_seq = DB_LIVING_SEQ,
        .segment = block->segment ? block->segment->seq : BATCH_NOT_KNOWN,
        .heap = (int32_t)block->heap->id,
        .site = site ? (int32_t)site : BATCH_NOT_KNOWN,
        .tag = BATCH_NOT_KNOWN,
        .module = module ? (int32_t)module : BATCH_NOT_KNOWN,
    };
    return row;
}

/* The row, the record and the map: all three or none. */
static struct block *add_block(struct heaps *heaps, struct heap *heap, const struct event *event,
                               int64_t ns)
{
    struct heap_device *device = heap->device;
    struct block block = {
        .seq = heaps->ledger->seq,
        .size =
            heap_fit(heaps, event->addr, event->size, device->allocated + device->waiting_bytes),
        .requested = requested_of(device, event),
        .alloc_ns = ns,
        .heap = heap,
        .segment = device->segments.count ? segment_of(device, event->addr) : NULL,
        .tag = BATCH_NOT_KNOWN,
        .state = BLOCK_LIVING,
        .serial = heaps->ledger->serial,
        .index = (uint32_t)heaps->ledger->batch->alloc_count,
    };
    if (block.index == UINT32_MAX || !add_row(heaps, &block, event))
        return NULL;
    uint32_t at = take_record(heaps->pool);
    if (at == BLOCK_END) {
        heaps->ledger->batch->alloc_count--;
        return NULL;
    }
    if (!map_put(&device->living, event->addr, at, NULL)) {
        give_record(heaps->pool, at);
        heaps->ledger->batch->alloc_count--;
        return NULL;
    }
    heaps->pool->blocks[at] = block;
    if (device->ordered && !order_put(&device->order, event->addr, at)) {
        order_clear(&device->order);
        device->ordered = false;
    }
    return &heaps->pool->blocks[at];
}

const struct block *heap_block_alloc(struct heap *heap, const struct event *event, int64_t ns)
{
    struct heap_device *device = heap->device;
    struct heaps *heaps = device->heaps;
    assert(heap->number > 0 && heaps->all[heap->number - 1] == heap);
    end_former(device, event, ns);
    const struct block *block = add_block(heaps, heap, event, ns);
    if (!block) {
        note_owed(heaps->account, EVENT_BLOCK_ALLOC, 1);
        return NULL;
    }
    if (block->segment)
        segment_hold(block->segment, block->size);
    heaps->pool->allocs++;
    heaps->pool->living++;
    count_birth(heap, block, ns);
    allocated_curve(heap, ns, block->size);
    if (event->flags & EVENT_F_TOTALS)
        heap_take_allocated(device, event);
    return block;
}

/* ---- a block goes ---- */

static void begin_waiting(struct heaps *heaps, uint64_t address, uint32_t at)
{
    struct block *block = &heaps->pool->blocks[at];
    struct heap_device *device = block->heap->device;
    assert(block->state == BLOCK_LIVING);
    device->waits = true;
    if (!map_put(&device->waiting, address, at, NULL)) {
        note_owed(heaps->account, EVENT_BLOCK_IDLE, 1);
        drop_block(heaps, at);
        return;
    }
    block->state = BLOCK_WAITING;
    device->waiting_bytes += block->size;
}

static void note_free_without_alloc(struct heaps *heaps, const struct event *event)
{
    if (event->size)
        note(heaps->account, NOTE_FREE_WITHOUT_ALLOC, event->addr, "%llu bytes",
             (unsigned long long)event->size);
    else
        note(heaps->account, NOTE_FREE_WITHOUT_ALLOC, event->addr, "%s", "");
}

int64_t heap_block_free(struct heap *told, const struct event *event, int64_t ns,
                        struct heap **heap)
{
    struct heap_device *device = told->device;
    struct heaps *heaps = device->heaps;
    int64_t allocation = BATCH_NULL;
    uint64_t at = map_remove(&device->living, event->addr);
    if (at == MAP_NONE) {
        note_free_without_alloc(heaps, event);
    } else {
        struct block *block = &heaps->pool->blocks[at];
        *heap = block->heap;
        allocation = block->seq;
        if (event->size && ledger_cut(event->size) != block->size)
            note(heaps->account, NOTE_FREE_OF_ANOTHER_SIZE, event->addr,
                 "%llu bytes, allocated %lld", (unsigned long long)event->size,
                 (long long)block->size);
        if (device->ordered)
            order_remove(&device->order, event->addr);
        close_block(heaps, block, ns);
        if (event->flags & EVENT_F_WAITS)
            begin_waiting(heaps, event->addr, (uint32_t)at);
        else
            drop_block(heaps, (uint32_t)at);
    }
    if (event->flags & EVENT_F_TOTALS)
        heap_take_allocated(device, event);
    return allocation;
}

void heap_block_idle(struct heaps *heaps, const struct event *event, int64_t ns)
{
    struct heap *heap = heap_of_event(heaps, event);
    if (heap && map_get(&heap->device->waiting, event->addr) != MAP_NONE)
        end_waiting(heap->device, event->addr, ns);
    else
        note(heaps->account, NOTE_IDLE_WITHOUT_FREE, event->addr, "%s", "");
}
