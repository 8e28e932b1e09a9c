/*
 * device.h - the seam below the caching allocator: where segments come from, and what streams do.
 *
 * A device is a table of functions and whatever `self` points at. Addresses are 64-bit numbers that
 * the allocator never dereferences, so a device need not have memory behind them: `virtual` has
 * none, and any model's heap can be had on any machine. `cuda` asks the driver.
 *
 * Calls come from whichever thread uses the allocator, one at a time unless the allocator was made
 * for several devices. They return BASE_OK, or
 *   ERR_NOMEM   the device has no room (the allocator then goes down its ladder)
 *   ERR_BUSY    event_query: not reached yet
 *   another     a trouble of the device: the allocator hands it to its caller
 */
#ifndef TIDEMARK_ALLOCATOR_DEVICE_H
#define TIDEMARK_ALLOCATOR_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

struct alloc_device {
    void *self;
    const char *name; /* "virtual", "cuda:0" */

    /* Whole segments. */
    int (*take)(void *self, uint64_t bytes, uint64_t stream, uint64_t *address);
    int (*give)(void *self, uint64_t address, uint64_t bytes);

    /* Expandable segments: a range of addresses, pages mapped into it. All NULL: not supported. */
    int (*reserve)(void *self, uint64_t bytes, uint64_t stream, uint64_t *address);
    int (*unreserve)(void *self, uint64_t address, uint64_t bytes);
    int (*map)(void *self, uint64_t address, uint64_t bytes);
    int (*unmap)(void *self, uint64_t address, uint64_t bytes);
    /* After `reserve`: what is mapped and unmapped in that range will be multiples of `page` from
     * its beginning. May be NULL: the device has no use for it. */
    void (*pages)(void *self, uint64_t address, uint64_t bytes, uint64_t page);

    /* Streams. An event is a number of the device's own; event_record gives out a new one that
     * stands for all that the stream was asked to do before. */
    int (*event_record)(void *self, uint64_t stream, uint64_t *event);
    int (*event_query)(void *self, uint64_t event); /* BASE_OK: reached */
    int (*event_wait)(void *self, uint64_t event);
    void (*event_forget)(void *self, uint64_t event);
    int (*stream_wait)(void *self, uint64_t stream);

    /* Bytes of the device as a whole, and those that nobody has. */
    int (*memory)(void *self, uint64_t *free_bytes, uint64_t *total_bytes);
};

#endif
