/*
 * machine.h - the machine that is rehearsed: devices with so much memory, what lies in it, and the
 * addresses that stand for it. One for each process; every entry point of every library that we
 * stand in for comes here in the end.
 *
 * Device memory is address space: nothing lies in it. What is known of its contents all the same is
 * kept elsewhere (values/values.h), and all else reads as zeros. Bytes are counted as the driver
 * counts them: in pages of 2 MiB, with pieces below half of one packed together.
 *
 * Invariants, under the lock: the used bytes of a device are its pages that are given out, whole or
 * in part, plus its physical memory that is not borrowed, plus its context once it has one. No
 * device uses more than it has.
 */
#ifndef TIDEMARK_REHEARSAL_MACHINE_H
#define TIDEMARK_REHEARSAL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "extent.h"

#define MACHINE_PAGE (UINT64_C(2) << 20)
#define MACHINE_DEVICES_MAX 64

struct machine_options {
    int32_t devices;
    uint64_t memory;    /* bytes of each device */
    uint64_t context;   /* bytes that a context takes of its device */
    uint64_t addresses; /* to hand out, of each kind; 0: as many as any program wants */
};

/* Physical memory of a device without an address, as cuMemCreate makes it. It goes with its last
 * reference: its maker's and one for each place where it is mapped. */
struct physical {
    uint64_t bytes;
    int32_t device;
    uint32_t references;
    bool borrowed; /* another process's, and charged there */
};

/* Once, before anything else. Again: the machine as new (tests). */
int machine_start(const struct machine_options *options);
void machine_stop(void);
int32_t machine_devices(void);

/* The context of a device is made by the first call that needs one. */
int machine_touch(int32_t device);
bool machine_is_touched(int32_t device);
void machine_memory(int32_t device, uint64_t *free_bytes, uint64_t *total_bytes);
uint64_t machine_peak(int32_t device);

/* cudaMalloc and cudaFree. ERR_NOMEM: the card is full. ERR_NOTFOUND: nothing begins there. */
int machine_take(int32_t device, uint64_t bytes, uint64_t *address);
int machine_give(uint64_t address);

/* Addresses without memory, physical memory without addresses, and the one in the other. */
int machine_reserve(uint64_t bytes, uint64_t align, uint64_t wish, uint64_t *address);
int machine_unreserve(uint64_t address, uint64_t bytes);
int machine_create(int32_t device, uint64_t bytes, struct physical **made);
int machine_borrow(int32_t device, uint64_t bytes, struct physical **made);
void machine_release(struct physical *physical);
int machine_map(uint64_t address, uint64_t bytes, struct physical *physical);
int machine_unmap(uint64_t address, uint64_t bytes);

/* The host's memory, as CUDA pins it: made here, or the program's own. */
int machine_pin(int32_t device, uint64_t bytes, uint64_t *address);
int machine_unpin(uint64_t address);
int machine_register(int32_t device, uint64_t address, uint64_t bytes);
int machine_unregister(uint64_t address);

/* What lies at an address. False: nothing of CUDA's. */
bool machine_look(uint64_t address, struct extent *extent);
/* Whoever took the piece that begins there finds this in its extent. Not for mapped memory. */
bool machine_keep(uint64_t address, void *of);
/* Whether an address is one of those that stand for device memory, given out or not. */
bool machine_is_on_device(const void *at);

bool machine_is_valid(void);

#endif
