/*
 * virtual.h - a device without memory: addresses and sizes only, so that the heap of any model can
 * be had on any machine, and the same calls give the same addresses every time.
 *
 * Ranges of addresses are given out from `base` upwards, the lowest gap that is large enough first;
 * a range that came back is used again. Bytes taken as segments and bytes mapped as pages together
 * are never more than `capacity`; reserved ranges cost nothing.
 *
 * Events: either each is reached when it is recorded, or (`manual`) when virtual_reach says so, or
 * when somebody waits for it.
 *
 * One thread at a time; an allocator's lock sees to that for calls through the seam.
 */
#ifndef TIDEMARK_ALLOCATOR_VIRTUAL_H
#define TIDEMARK_ALLOCATOR_VIRTUAL_H

#include <stddef.h>

#include "device.h"

#define VIRTUAL_BASE UINT64_C(0x7f0000000000)
#define VIRTUAL_ALIGNMENT (UINT64_C(2) << 20)

struct virtual_options {
    uint64_t capacity;
    uint64_t base; /* multiple of VIRTUAL_ALIGNMENT; 0 = VIRTUAL_BASE */
    bool manual;   /* events */
    /* Names the address of the next segment or range (a replay knows it), or returns false. May be
     * NULL. An address where there is no room is not taken: then the device chooses. */
    bool (*place)(void *self, uint64_t bytes, uint64_t stream, uint64_t *address);
    void *place_self;
};

struct virtual_device;

int virtual_new(struct virtual_device **out, const struct virtual_options *options);
void virtual_delete(struct virtual_device *device); /* NULL is fine */
const struct alloc_device *virtual_seam(struct virtual_device *device);
bool virtual_is_valid(const struct virtual_device *device);

/* The stream gets past so many more of its events; UINT64_MAX: past all that were recorded. */
void virtual_reach(struct virtual_device *device, uint64_t stream, uint64_t count);
void virtual_capacity(struct virtual_device *device, uint64_t bytes); /* from now on */
/* The range counts as given out: before alloc_adopt of a segment that the device did not give. If
 * `reserved`, as a range of an expandable segment; then the seam's map makes pages in it. ERR_ARG:
 * it is not free. The capacity is not asked. */
int virtual_hold(struct virtual_device *device, uint64_t address, uint64_t bytes, bool reserved);

struct virtual_counts {
    uint64_t taken;        /* bytes: segments and mapped pages */
    uint64_t segments;     /* taken whole */
    uint64_t reserved;     /* ranges */
    uint64_t mapped;       /* stretches of mapped pages */
    uint64_t events;       /* recorded and not forgotten */
    uint64_t stream_waits; /* calls */
    uint64_t misplaced;    /* named addresses that were not free */
};

void virtual_counts(const struct virtual_device *device, struct virtual_counts *counts);

#endif
