/* The heaps and devices of a process: how they come, what they write at a flush, how they go. */
#include "mem.h"
#include "state_types.h"

static struct heap_device *new_device(struct state_process *process, int64_t id)
{
    struct heap_device *device = mem_alloc(1, sizeof *device);
    if (!device)
        return NULL;
    device->process = process;
    device->id = id;
    device->index = (uint32_t)process->device_count;
    device->max_allocated_seq = BATCH_NULL;
    device->max_step = BATCH_NULL;
    device->max_reserved = BATCH_NULL;
    device->window = (struct heap_window){0, BATCH_NULL, BATCH_NULL, BATCH_NULL};
    process->devices[process->device_count] = device;
    if (!phase_add_device(process)) {
        mem_free(device);
        return NULL;
    }
    process->device_count++;
    if (process->histories)
        history_add_device(device);
    return device;
}

static struct heap_device *get_device(struct state_process *process, int32_t kind, int32_t index)
{
    if (process->device_count >= HEAP_MAX_DEVICES - 1 && (kind != DEVICE_OTHER || index != -1)) {
        const struct names_device wanted = {kind, index};
        uint32_t known = intern_find(&process->state->names.devices, &wanted, sizeof wanted);
        for (size_t i = 0; known && i < process->device_count; i++)
            if (process->devices[i]->id == known)
                return process->devices[i];
        note(&process->account, NOTE_TOO_MANY_DEVICES, NOTE_NO_ADDRESS, "device kind %d, index %d",
             kind, index);
        kind = DEVICE_OTHER;
        index = -1;
    }
    int64_t id = names_device(&process->state->names, kind, index);
    for (size_t i = 0; i < process->device_count; i++)
        if (process->devices[i]->id == id)
            return process->devices[i];
    return id ? new_device(process, id) : NULL;
}

/* The row, the key and the place in the array: all three or none. */
static struct heap *new_heap(struct state_process *process, const struct heap *like,
                             const struct heap_key *key, struct heap_device *device)
{
    struct state *state = process->state;
    struct batch_mark mark = batch_mark(state->ledger.batch);
    struct heap *heap = mem_alloc(1, sizeof *heap);
    if (!heap)
        return NULL;
    *heap = *like;
    heap->id = state->ledger.heap_count + 1;
    heap->number = (uint32_t)process->heap_count + 1;
    heap->device = device;
    if (heap->id <= INT32_MAX && MEM_GROW(process->heaps, process->heap_cap, heap->number) &&
        batch_put(state->ledger.batch, SCH_HEAP, "iiiiis", heap->id, process->account.id,
                  device->id, (int64_t)heap->stream, (int64_t)heap->pool,
                  heap->name ? names_text(&state->names, heap->name) : NULL) &&
        intern_add(&process->heaps_by_values, key, sizeof *key)) {
        state->ledger.heap_count++;
        process->heaps[process->heap_count++] = heap;
        return heap;
    }
    batch_back_to(state->ledger.batch, mark);
    mem_free(heap);
    return NULL;
}

struct heap *heap_get(struct state_process *process, const struct heap *like, int32_t device_kind,
                      int32_t device_index)
{
    struct heap_device *device = get_device(process, device_kind, device_index);
    if (!device)
        return NULL;
    struct heap_key key = {device->id, like->stream, like->pool, like->name};
    uint32_t number = intern_find(&process->heaps_by_values, &key, sizeof key);
    return number ? process->heaps[number - 1] : new_heap(process, like, &key, device);
}

/* What names no heap goes to one of its own, on a device that is not known: nothing is lost. */
static struct heap *unknown_heap(struct state_process *process)
{
    if (!process->unknown_heap) {
        const struct heap like = {0};
        note(&process->account, NOTE_UNKNOWN_NAME, NOTE_NO_ADDRESS, "events without a heap");
        process->unknown_heap = heap_get(process, &like, DEVICE_OTHER, -1);
    }
    return process->unknown_heap;
}

struct heap *heap_make(struct state_process *process, const struct names_heap *defined)
{
    const struct heap like = {
        .stream = defined->stream, .pool = defined->pool, .name = defined->name};
    return heap_get(process, &like, defined->device_kind, defined->device_index);
}

/* The process's own heap of what an ancestor defined; NULL: nobody did, or without memory. */
static struct heap *inherited_heap(struct state_process *process, uint32_t number)
{
    const struct names_heap *defined = names_heap(process->defs, number);
    if (!defined)
        return NULL;
    uint64_t known = map_get(&process->inherited_heaps, number);
    if (known != MAP_NONE)
        return process->heaps[known - 1];
    struct heap *heap = heap_make(process, defined);
    if (heap)
        map_put(&process->inherited_heaps, number, heap->number, NULL);
    return heap;
}

struct heap *heap_of_event(struct state_process *process, const struct event *event)
{
    uint32_t number;
    struct heap *heap = NULL;
    if (names_own(process->defs, event->heap, ARENA_HEAP, &number))
        heap = number ? process->heaps[number - 1] : NULL;
    else if (event->heap)
        heap = inherited_heap(process, event->heap);
    return heap ? heap : unknown_heap(process);
}

/* ---- flush, end, check ---- */

void heap_flush_curves(struct state_process *process)
{
    struct batch *batch = process->state->ledger.batch;
    for (size_t i = 0; i < process->heap_count; i++) {
        struct curve *curves[] = {process->heaps[i]->allocated_curve,
                                  process->heaps[i]->reserved_curve};
        for (size_t k = 0; k < 2; k++) {
            if (!curves[k])
                continue;
            curve_flush(curves[k], batch);
            if (curves[k]->rows_lost)
                note_owed(&process->account, OWED_CURVE, curves[k]->rows_lost);
            curves[k]->rows_lost = 0;
        }
    }
}

static void forget_blocks(struct state *state, const struct map *blocks)
{
    size_t at = 0;
    const struct map_entry *entry;
    while ((entry = map_next(blocks, &at))) {
        struct block *block = &state->pool.blocks[entry->value];
        if (block->segment)
            segment_release(block->segment, block->size);
        if (block->state == BLOCK_LIVING)
            state->pool.living--;
        block->state = BLOCK_NONE;
        block->index = state->pool.free;
        state->pool.free = (uint32_t)entry->value;
    }
}

void heap_forget(struct state_process *process)
{
    for (size_t i = 0; i < process->heap_count; i++) {
        curve_free(process->heaps[i]->allocated_curve);
        curve_free(process->heaps[i]->reserved_curve);
    }
    for (size_t i = 0; i < process->device_count; i++) {
        struct heap_device *device = process->devices[i];
        forget_blocks(process->state, &device->living);
        forget_blocks(process->state, &device->waiting);
        map_clear(&device->living);
        map_clear(&device->waiting);
        order_clear(&device->order);
        segment_forget(device);
        mapping_forget(device);
        history_forget(device);
        mem_free(device);
    }
    for (size_t i = 0; i < process->heap_count; i++)
        mem_free(process->heaps[i]);
    mem_free(process->heaps);
    intern_clear(&process->heaps_by_values);
    map_clear(&process->inherited_heaps);
    process->heaps = NULL;
    process->heap_count = process->heap_cap = process->device_count = 0;
    process->unknown_heap = NULL;
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
    const struct state *state = device->process->state;
    size_t at = 0;
    const struct map_entry *entry;
    while ((entry = map_next(blocks, &at))) {
        if (entry->value >= state->pool.count)
            return false;
        const struct block *block = &state->pool.blocks[entry->value];
        if (block->state != wanted || block->heap->device != device ||
            block->seq > state->ledger.seq)
            return false;
        if (block->serial == state->ledger.serial &&
            state->ledger.batch->allocs[block->index].seq != block->seq)
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
    int64_t heaps = 0, reserved = 0;
    const struct state_process *process = device->process;
    for (size_t i = 0; i < process->heap_count; i++) {
        const struct heap *heap = process->heaps[i];
        if (heap->device != device)
            continue;
        heaps += heap->allocated;
        reserved += heap->segment_bytes;
        if ((heap->allocated_curve && !curve_is_valid(heap->allocated_curve)) ||
            (heap->reserved_curve && !curve_is_valid(heap->reserved_curve)))
            return false;
    }
    return add_up(device, &device->living, BLOCK_LIVING, &living) &&
           add_up(device, &device->waiting, BLOCK_WAITING, &waiting) &&
           device->allocated == living.size && device->requested == living.requested &&
           device->requested_unknown == living.unknown && device->allocated == heaps &&
           device->waiting_bytes == waiting.size && device->window.peak >= device->allocated &&
           device->max_allocated >= device->window.peak && order_fits(device) &&
           device->segment_bytes == reserved && mapping_is_valid(device) &&
           history_is_valid(device) &&
           segment_is_valid(device, living.held + waiting.held, living.used + waiting.used);
}

bool heap_is_valid(const struct state_process *process)
{
    for (size_t i = 0; i < process->device_count; i++)
        if (process->devices[i]->index != i || !device_is_valid(process->devices[i]))
            return false;
    return true;
}
