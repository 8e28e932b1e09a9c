/* The heaps and devices of a process: how they come, what they write at a flush, how they go. */
#include <assert.h>

#include "heap.h"
#include "ledger.h"
#include "mem.h"

static struct heap_device *new_device(struct heaps *heaps, int64_t id)
{
    struct heap_device *device = mem_alloc(1, sizeof *device);
    assert(id > 0 && heaps->device_count < HEAP_MAX_DEVICES);
    if (!device)
        return NULL;
    device->heaps = heaps;
    device->id = id;
    device->index = (uint32_t)heaps->device_count;
    device->max_allocated_seq = BATCH_NULL;
    device->max_reserved = BATCH_NULL;
    device->step.requested = BATCH_NULL;
    device->window = (struct heap_window){0, BATCH_NULL, BATCH_NULL, BATCH_NULL};
    heaps->devices[heaps->device_count] = device;
    if (!heaps->comes(heaps->context, device)) {
        mem_free(device);
        return NULL;
    }
    heaps->device_count++;
    if (heaps->histories)
        history_add_device(device);
    return device;
}

static struct heap_device *get_device(struct heaps *heaps, int32_t kind, int32_t index)
{
    if (heaps->device_count >= HEAP_MAX_DEVICES - 1 && (kind != DEVICE_OTHER || index != -1)) {
        const struct names_device wanted = {kind, index};
        uint32_t known = intern_find(&heaps->defs->names->devices, &wanted, sizeof wanted);
        for (size_t i = 0; known && i < heaps->device_count; i++)
            if (heaps->devices[i]->id == known)
                return heaps->devices[i];
        note(heaps->account, NOTE_TOO_MANY_DEVICES, NOTE_NO_ADDRESS, "device kind %d, index %d",
             kind, index);
        kind = DEVICE_OTHER;
        index = -1;
    }
    int64_t id = names_device(heaps->defs->names, kind, index);
    for (size_t i = 0; i < heaps->device_count; i++)
        if (heaps->devices[i]->id == id)
            return heaps->devices[i];
    return id ? new_device(heaps, id) : NULL;
}

/* The row, the key and the place in the array: all three or none. */
static struct heap *new_heap(struct heaps *heaps, const struct heap *like,
                             const struct heap_key *key, struct heap_device *device)
{
    struct batch_mark mark = batch_mark(heaps->ledger->batch);
    struct heap *heap = mem_alloc(1, sizeof *heap);
    assert(device->heaps == heaps && heaps->by_values.item_count == heaps->count);
    if (!heap)
        return NULL;
    *heap = *like;
    heap->id = heaps->ledger->heap_count + 1;
    heap->number = (uint32_t)heaps->count + 1;
    heap->device = device;
    struct row_heap row = {
        .id = heap->id,
        .process = heaps->account->id,
        .device = device->id,
        .stream = (int64_t)heap->stream,
        .pool = (int64_t)heap->pool,
        .name = heap->name ? names_text(heaps->defs->names, heap->name) : NULL,
    };
    if (heap->id <= INT32_MAX && MEM_GROW(heaps->all, heaps->cap, heap->number) &&
        batch_put_heap(heaps->ledger->batch, &row) &&
        intern_add(&heaps->by_values, key, sizeof *key)) {
        heaps->ledger->heap_count++;
        heaps->all[heaps->count++] = heap;
        return heap;
    }
    batch_back_to(heaps->ledger->batch, mark);
    mem_free(heap);
    return NULL;
}

struct heap *heap_get(struct heaps *heaps, const struct heap *like, int32_t device_kind,
                      int32_t device_index)
{
    struct heap_device *device = get_device(heaps, device_kind, device_index);
    if (!device)
        return NULL;
    struct heap_key key = {device->id, like->stream, like->pool, like->name};
    uint32_t number = intern_find(&heaps->by_values, &key, sizeof key);
    return number ? heaps->all[number - 1] : new_heap(heaps, like, &key, device);
}

/* What names no heap goes to one of its own, on a device that is not known: nothing is lost. */
static struct heap *unknown_heap(struct heaps *heaps)
{
    if (!heaps->unknown) {
        const struct heap like = {0};
        note(heaps->account, NOTE_UNKNOWN_NAME, NOTE_NO_ADDRESS, "events without a heap");
        heaps->unknown = heap_get(heaps, &like, DEVICE_OTHER, -1);
    }
    return heaps->unknown;
}

struct heap *heap_make(struct heaps *heaps, const struct names_heap *defined)
{
    const struct heap like = {
        .stream = defined->stream, .pool = defined->pool, .name = defined->name};
    return heap_get(heaps, &like, defined->device_kind, defined->device_index);
}

/* The process's own heap of what an ancestor defined; NULL: nobody did, or without memory. */
static struct heap *inherited_heap(struct heaps *heaps, uint32_t number)
{
    const struct names_heap *defined = names_heap(heaps->defs, number);
    if (!defined)
        return NULL;
    uint64_t known = map_get(&heaps->inherited, number);
    if (known != MAP_NONE)
        return heaps->all[known - 1];
    struct heap *heap = heap_make(heaps, defined);
    if (heap)
        map_put(&heaps->inherited, number, heap->number, NULL);
    return heap;
}

struct heap *heap_of_another(struct heaps *heaps, uint32_t number)
{
    uint32_t own;
    bool failed = names_own(heaps->defs, number, ARENA_HEAP, &own);
    struct heap *heap = number && !failed ? inherited_heap(heaps, number) : NULL;
    return heap ? heap : unknown_heap(heaps);
}

/* ---- flush, end, check ---- */

void heap_flush_curves(struct heaps *heaps)
{
    struct batch *batch = heaps->ledger->batch;
    for (size_t i = 0; i < heaps->count; i++) {
        struct curve *curves[] = {heaps->all[i]->allocated_curve, heaps->all[i]->reserved_curve};
        for (size_t k = 0; k < 2; k++) {
            if (!curves[k])
                continue;
            curve_flush(curves[k], batch);
            if (curves[k]->rows_lost)
                note_owed(heaps->account, OWED_CURVE, curves[k]->rows_lost);
            curves[k]->rows_lost = 0;
        }
    }
}

static void forget_blocks(struct heaps *heaps, const struct map *blocks)
{
    size_t at = 0;
    const struct map_entry *entry;
    while ((entry = map_next(blocks, &at))) {
        struct block *block = &heaps->pool->blocks[entry->value];
        if (block->segment)
            segment_release(block->segment, block->size);
        if (block->state == BLOCK_LIVING)
            heaps->pool->living--;
        block->state = BLOCK_NONE;
        block->index = heaps->pool->free;
        heaps->pool->free = (uint32_t)entry->value;
    }
}

void heap_forget(struct heaps *heaps)
{
    assert(heaps->device_count <= HEAP_MAX_DEVICES);
    for (size_t i = 0; i < heaps->count; i++) {
        curve_free(heaps->all[i]->allocated_curve);
        curve_free(heaps->all[i]->reserved_curve);
    }
    for (size_t i = 0; i < heaps->device_count; i++) {
        struct heap_device *device = heaps->devices[i];
        forget_blocks(heaps, &device->living);
        forget_blocks(heaps, &device->waiting);
        map_clear(&device->living);
        map_clear(&device->waiting);
        order_clear(&device->order);
        segment_forget(device);
        mapping_forget(device);
        history_forget(device);
        mem_free(device);
    }
    for (size_t i = 0; i < heaps->count; i++)
        mem_free(heaps->all[i]);
    mem_free(heaps->all);
    intern_clear(&heaps->by_values);
    map_clear(&heaps->inherited);
    tag_lists_clear(&heaps->tags);
    heaps->all = NULL;
    heaps->count = heaps->cap = heaps->device_count = 0;
    heaps->unknown = NULL;
}

struct sums {
    int64_t size, requested;
    int64_t used;  /* bytes in segments that are there */
    uint64_t held; /* blocks in them */
    uint64_t unknown;
};

static bool add_up(const struct heap_device *device, const struct map *blocks,
                   enum block_state wanted, struct sums *sums)
{
    const struct heaps *heaps = device->heaps;
    size_t at = 0;
    const struct map_entry *entry;
    while ((entry = map_next(blocks, &at))) {
        if (entry->value >= heaps->pool->count)
            return false;
        const struct block *block = &heaps->pool->blocks[entry->value];
        if (block->state != wanted || block->heap->device != device ||
            block->seq > heaps->ledger->seq)
            return false;
        if (block->serial == heaps->ledger->serial &&
            heaps->ledger->batch->allocs[block->index].seq != block->seq)
            return false;
        sums->size += block->size;
        sums->requested += block->requested == BATCH_NOT_KNOWN ? 0 : block->requested;
        sums->unknown += block->requested == BATCH_NOT_KNOWN;
        bool held = block->segment && !block->segment->gone;
        sums->held += held;
        sums->used += held ? block->size : 0;
    }
    return map_is_valid(blocks);
}

void heap_step_ends(struct heaps *heaps)
{
    for (size_t i = 0; i < heaps->device_count; i++) {
        struct heap_device *device = heaps->devices[i];
        heap_step_sees(device);
        device->last_step = device->step;
        device->last_step.reserved = heap_reserved(device);
        device->has_last_step = true;
        device->step = (struct heap_step){
            .peak = device->allocated, .reserved = BATCH_NULL, .requested = BATCH_NULL};
    }
}

static bool order_fits(const struct heap_device *device)
{
    size_t count = 0;
    struct order_cursor cursor = order_seek(&device->order, 0);
    const struct order_entry *entry;
    while ((entry = order_next(&device->order, &cursor))) {
        count++;
        if (map_get(&device->living, entry->address) != entry->value)
            return false;
    }
    return order_is_valid(&device->order) && count == (device->ordered ? device->living.count : 0);
}

static bool device_is_valid(const struct heap_device *device)
{
    struct sums living = {0}, waiting = {0};
    int64_t allocated = 0, reserved = 0;
    const struct heaps *heaps = device->heaps;
    for (size_t i = 0; i < heaps->count; i++) {
        const struct heap *heap = heaps->all[i];
        if (heap->device != device)
            continue;
        allocated += heap->allocated;
        reserved += heap->segment_bytes;
        if ((heap->allocated_curve && !curve_is_valid(heap->allocated_curve)) ||
            (heap->reserved_curve && !curve_is_valid(heap->reserved_curve)))
            return false;
    }
    return add_up(device, &device->living, BLOCK_LIVING, &living) &&
           add_up(device, &device->waiting, BLOCK_WAITING, &waiting) &&
           device->allocated == living.size && device->requested == living.requested &&
           device->requested_unknown == living.unknown && device->allocated == allocated &&
           device->waiting_bytes == waiting.size && device->window.peak >= device->allocated &&
           device->max_allocated >= device->window.peak && order_fits(device) &&
           device->segment_bytes == reserved && mapping_is_valid(device) &&
           history_is_valid(device) &&
           segment_is_valid(device, living.held + waiting.held, living.used + waiting.used);
}

bool heap_is_valid(const struct heaps *heaps)
{
    for (size_t i = 0; i < heaps->device_count; i++)
        if (heaps->devices[i]->index != i || !device_is_valid(heaps->devices[i]))
            return false;
    return intern_is_valid(&heaps->by_values) && heaps->by_values.item_count == heaps->count &&
           tag_lists_are_valid(&heaps->tags);
}

bool heap_pool_is_valid(const struct block_pool *pool)
{
    size_t spare = 0, living = 0, listed = 0;
    for (size_t i = 0; i < pool->count; i++) {
        spare += pool->blocks[i].state == BLOCK_NONE;
        living += pool->blocks[i].state == BLOCK_LIVING;
    }
    for (uint32_t at = pool->free; at != BLOCK_END && listed <= spare; listed++) {
        if (at >= pool->count || pool->blocks[at].state != BLOCK_NONE)
            return false;
        at = pool->blocks[at].index;
    }
    return listed == spare && living == pool->living;
}
