/* See late.h. */
#include "late.h"

#include <assert.h>

#include "driver.h"
#include "heap.h"
#include "ledger.h"

static void join(struct driver *driver, struct heap_device *device, uint64_t address,
                 struct block *block)
{
    assert(block->state == BLOCK_LIVING && block->heap->device == device);
    driver_block(driver, block->heap, address, (uint64_t)block->size);
    if (block->segment && !block->segment->gone)
        return;
    if (block->segment)
        segment_release(block->segment, block->size);
    block->segment = segment_of(device, address);
    if (block->segment)
        segment_hold(block->segment, block->size);
}

/* Blocks that begin in it. A handle is no address. */
void late_alloc(struct driver *driver, const struct event *event)
{
    const struct heap *heap = event->heap ? heap_of_event(driver->heaps, event) : NULL;
    const struct order_entry *entry;
    if (!heap || !driver_has(driver, heap->device) || !heap->device->living.count ||
        driver_has_handle(event->a & 0xff))
        return;
    struct heap_device *device = heap->device;
    if (!heap_put_in_order(device)) {
        note_owed(driver->account, OWED_FACT, 1);
        return;
    }
    uint64_t end = driver_end_at(event->addr, event->size);
    struct order_cursor cursor = order_seek(&device->order, event->addr);
    while ((entry = order_next(&device->order, &cursor)) && entry->address < end)
        join(driver, device, entry->address, &driver->heaps->pool->blocks[entry->value]);
}
