/*
 * driver.h - what the driver gave to a process and has not taken back, and whose it is.
 *
 * The driver tells of memory, a framework's allocator of blocks; both tell addresses. A block that
 * lies in memory of the driver makes that memory its allocator's: it becomes a segment of the
 * block's heap, or, where it was mapped, pages of it. It does so only where no other source told of
 * segments there, and no history is to tell them: the same bytes are never counted twice. Memory in
 * which no block ever lay, and no segment of a source, is outside of every allocator.
 *
 * Memory has an address, or a handle where it has none (kinds array, physical, pool and imported).
 * Physical memory is there until it is released and mapped nowhere, whichever comes last. A part of
 * a stream-ordered pool, or of a graph's, is logical: it has an owner, but is no segment.
 *
 * A free of what is not known is no mistake: the memory was there before the source began to look,
 * or while it could not. Frees are counted, and become one fact when the process ends.
 *
 * What is given on a device is counted, for the closing lines of a run without any block.
 *
 * Invariants (driver_is_valid):
 *   given.memory and given.parts of a device == the sums of the sizes of such memory that is there
 *   memory at addresses does not meet, unless it is of no size; nor do ranges that are mapped
 *   mapped of memory == sum of the sizes of the ranges that are of it
 *   of physical memory that was released: mapped > 0, and no handle finds it
 *   adopted: it has a heap, on its own device
 *   blocks > 0: it has a heap
 */
#ifndef TIDEMARK_RECORDER_DRIVER_H
#define TIDEMARK_RECORDER_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "heap.h"
#include "map.h"
#include "order.h"

/* What the driver has given on a device, blocks or not: driver_given.c. In bytes, modulo 2^64. */
struct driver_given {
    uint64_t memory;        /* device memory, arrays, physical */
    uint64_t parts;         /* handed out of pools */
    uint64_t pools, graphs; /* as they were sampled last */
    uint64_t highest;       /* of memory, graphs, and the larger of parts and pools */
};

struct driver_device {
    bool driven;   /* the driver told of memory on it */
    int64_t total; /* of the device, as its row has it; 0 = not known */
    int64_t used;  /* of the device, as it was sampled last */
    bool used_known;
    struct driver_given given;
    bool adopts;            /* some segments or pages are the driver's */
    bool apart_noted;       /* that reserved_apart is not 0 */
    int64_t reserved_apart; /* the source's total less segment_bytes, as the last block came */
};

/* When it happened; if it is told late, the source's own total has it already. */
struct driver_when {
    int64_t ns;
    bool late;
};

struct driver_piece {
    int64_t seq;
    uint64_t address; /* or handle */
    int64_t size;
    int64_t alloc_ns;
    int64_t mapped;             /* bytes of ranges that are of it */
    struct heap_device *device; /* NULL: the host's */
    struct heap *heap;          /* whose it is; NULL: outside of any allocator */
    uint64_t blocks;            /* that ever lay in it */
    uint64_t stored;            /* of them in its row */
    uint32_t site;              /* number of the process */
    uint8_t kind;               /* enum driver_memory of event.h */
    bool adopted;               /* it is a segment because of us */
    bool released;
};

struct driver_range { /* of addresses, with memory mapped into them */
    uint64_t address;
    int64_t size;
    int64_t seq, ns;
    struct heap_device *device;  /* NULL: the host's */
    struct driver_piece *memory; /* NULL: not known */
    struct heap *heap;           /* whose it is, NULL */
    bool adopted;                /* its pages count as reserved because of us */
};

#define DRIVER_GAPS 16       /* open at once; more are a fact without an end */
#define DRIVER_RELEASED 4096 /* handles that may be released once more */
struct driver_gap {
    uint32_t name; /* string id */
    int64_t seq;
};

struct driver { /* of a process; without the first four all zero */
    struct account *account;
    struct ledger *ledger;
    struct names_defs *defs;
    struct heaps *heaps;
    struct driver_device *devices;           /* by index in heaps; NULL: nothing was told of one */
    struct order memory;                     /* address -> struct driver_piece * */
    struct map handles[DRIVER_MEMORY_COUNT]; /* handle -> likewise */
    struct order mapped;                     /* address -> struct driver_range * */
    struct map again;                        /* handles: released, then ended by an unmap */
    uint64_t unknown_frees, unknown_unmaps;  /* unmaps: with bytes that nothing was mapped to */
    struct driver_gap gaps[DRIVER_GAPS];
    size_t gap_count;
};

void driver_alloc(struct driver *driver, const struct event *event, int64_t ns);
void driver_free(struct driver *driver, const struct event *event, int64_t ns);
void driver_map(struct driver *driver, const struct event *event, int64_t ns);
void driver_unmap(struct driver *driver, const struct event *event, int64_t ns);

/* driver_set.c */
void driver_end(struct driver *driver); /* what lives gets its last row */
void driver_forget(struct driver *driver);
bool driver_is_valid(const struct driver *driver);

/* Whether it told of memory on the device. */
static inline bool driver_has(const struct driver *driver, const struct heap_device *device)
{
    return driver->devices && driver->devices[device->index].driven;
}
/* Made if there is none; NULL without memory. */
struct driver_device *driver_device(struct driver *driver, const struct heap_device *device);

/* driver_adopt.c. Where it has told of memory on the heap's device: a block comes, and what it lies
 * in is its heap's; so is what lies where a source tells of a segment, or of pages. */
void driver_block(struct driver *driver, struct heap *heap, uint64_t address, uint64_t bytes);
void driver_segment(struct driver *driver, struct heap *heap, uint64_t address, uint64_t bytes);
/* The block came with the source's own totals. */
void driver_totals(struct driver *driver, const struct heap_device *device);
/* Memory goes; before it is forgotten. */
void driver_disown(const struct driver *driver, const struct driver_piece *memory,
                   struct driver_when when);
/* The addresses from `begin` up to `end` are taken out of a range, which is as it was. */
void driver_disown_range(const struct driver *driver, const struct driver_range *range,
                         uint64_t begin, uint64_t end, struct driver_when when);
/* Notes where the source's reserved is not what the driver's segments are; once for a device. */
void driver_compare(struct driver *driver, const struct heap_device *device);
void driver_put_owner(struct driver *driver, struct driver_piece *memory);

/* driver_given.c: memory came, or goes; a sample of what is kept. */
void driver_given(struct driver *driver, const struct driver_piece *piece, bool comes);
void driver_given_sample(struct driver *driver, const struct heap_device *device, const char *what,
                         uint64_t bytes);
uint64_t driver_highest(const struct driver *driver, const struct heap_device *device);
bool driver_given_is_valid(const struct driver *driver);

/* driver_facts.c: what is stored as it is told. */
void driver_sample(struct driver *driver, const struct event *event, int64_t ns);
void driver_gap(struct driver *driver, const struct event *event, int64_t ns);
void driver_activity(struct driver *driver, const struct event *event);

struct driver_piece *driver_piece_from(const struct order_entry *entry);
struct driver_range *driver_range_from(const struct order_entry *entry);
/* The first with bytes from `begin` up to `end`; NULL. */
struct driver_piece *driver_piece_in(const struct driver *driver, uint64_t begin, uint64_t end);
struct driver_range *driver_range_in(const struct driver *driver, uint64_t begin, uint64_t end);
uint64_t driver_end_at(uint64_t address, uint64_t size); /* addresses end at 2^64 */

static inline bool driver_has_handle(unsigned kind) /* it has no address */
{
    return kind == DRIVER_ARRAY || kind == DRIVER_PHYSICAL || kind == DRIVER_POOL ||
           kind == DRIVER_IMPORTED;
}

#endif
