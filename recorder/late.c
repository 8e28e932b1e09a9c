#include "late.h"

#include "driver.h"
#include "state_types.h"

static void join(struct heap_device *device, uint64_t address, struct block *block)
{
    const struct event event = {.addr = address, .size = (uint64_t)block->size};
    driver_block(block->heap, &event);
    if (block->segment && !block->segment->gone)
        return;
    if (block->segment)
        segment_release(block->segment, block->size);
    block->segment = segment_of(device, address);
    if (block->segment)
        segment_hold(block->segment, block->size);
}

/* Blocks that begin in it. A handle is no address. */
void late_alloc(struct state_process *process, const struct event *event)
{
    const struct heap *heap = event->heap ? heap_of_event(process, event) : NULL;
    const struct order_entry *entry;
    if (!heap || !heap->device->driven || !heap->device->living.count ||
        driver_has_handle(event->a & 0xff))
        return;
    struct heap_device *device = heap->device;
    if (!heap_put_in_order(device)) {
        note_owed(&process->account, OWED_FACT, 1);
        return;
    }
    uint64_t end = driver_end_at(event->addr, event->size);
    struct order_cursor cursor = order_seek(&device->order, event->addr);
    while ((entry = order_next(&device->order, &cursor)) && entry->address < end)
        join(device, entry->address, &process->state->pool.blocks[entry->value]);
}
