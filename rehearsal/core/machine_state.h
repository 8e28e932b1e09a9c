/*
 * machine_state.h - what the files behind machine.h share: the machine itself.
 */
#ifndef TIDEMARK_REHEARSAL_MACHINE_STATE_H
#define TIDEMARK_REHEARSAL_MACHINE_STATE_H

#include <pthread.h>

#include "machine.h"
#include "space.h"

struct device {
    uint64_t used, peak; /* without the context; with it */
    bool touched;
    struct space small;
};

extern struct machine {
    pthread_mutex_t lock;
    struct machine_options options;
    struct device devices[MACHINE_DEVICES_MAX];
    uint64_t arena, reserved_arena;
    struct space pages, reserved;
    struct extents extents;      /* what has memory */
    struct extents reservations; /* addresses only; `extents` lie inside of them */
} machine;

static inline uint64_t machine_round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) & ~(unit - 1);
}

static inline bool machine_is_device(int32_t device)
{
    return device >= 0 && device < machine.options.devices;
}

/* All that follows: under the lock. False: the device has not as much left. */
bool machine_charge(struct device *device, uint64_t bytes);
void machine_uncharge(struct device *device, uint64_t bytes);
/* Takes out what begins there, if it is of this kind. */
bool machine_remove(uint64_t address, enum extent_kind kind, struct extent *extent);
/* If it was pinned, it was made here. */
void machine_free_pinned(const struct extent *extent);

#endif
