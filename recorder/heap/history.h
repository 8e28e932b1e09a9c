/*
 * history.h - what an allocator's own history tells later of the blocks of one device.
 *
 * The hook in the allocator says at once which block was handed out or given back. The history,
 * read at the end of a step, adds what was asked for, the segment that the block is in, and when a
 * block that another stream used could be handed out again. Both are made under the allocator's one
 * lock, so they have one order: `blocks` holds the hook's events which the history has not come to,
 * and each entry of the history is looked for from the front of it. What is passed over on the way
 * is never told.
 *
 * The search goes HISTORY_NEAR events far, and twice as far after each entry that found nothing: so
 * an event that was lost does not match the rest with other lives of their addresses, and a gap of
 * any length is crossed in the end.
 *
 * Entries that are not about a block (segments, pages, a block that became idle) wait for the next
 * one that is. It has a seq: they happened at or before it.
 *
 * A history that begins late, or anew, first tells the segments and pages that are there: without a
 * time. The living blocks in such a segment are given to it at once.
 *
 * Segments of a history do not count as reserved where the source tells its totals, and are
 * ignored where it does not, or where another source tells segments as they come.
 *
 * Invariants (history_is_valid): the seqs of blocks grow from the front on; those of what waits
 * grow; neither is longer than its bound. freed_bytes is the sum of what is freed.
 */
#ifndef TIDEMARK_RECORDER_HISTORY_H
#define TIDEMARK_RECORDER_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "map.h"

struct heap;
struct heap_device;
struct heaps;

#define HISTORY_BLOCKS ((size_t)1 << 20) /* the oldest are forgotten */
#define HISTORY_WAITING ((size_t)1 << 16)
#define HISTORY_NEAR ((size_t)64)

struct history_block { /* an event of the hook */
    uint64_t address;
    int64_t size;
    int64_t seq;
    int64_t allocation; /* seq of the block's allocation, 0 = not known; == seq: it was that */
    struct heap *heap;
};

struct history_entry {  /* that waits */
    struct event event; /* of HISTORY_IDLE: `addr` is the allocation */
    struct heap *heap;
    int64_t seq; /* its own */
    int64_t ns;  /* when it happened */
};

struct history {
    struct history_block *blocks; /* a circle */
    size_t cap;                   /* 0 or a power of two */
    size_t first, count;
    size_t reach;        /* of the next search */
    struct map freed;    /* address -> allocation: given back, and not said to be idle */
    struct map freed_of; /* the same addresses -> size */
    int64_t freed_bytes; /* the sum of these sizes */
    struct history_entry *waiting;
    size_t waiting_count, waiting_cap;
    uint64_t just_freed;         /* address, if the last entry gave a block back */
    bool after_free;             /* it did */
    uint64_t entries, unmatched; /* of blocks */
};

void history_begin(struct heaps *heaps); /* of all its devices, from now on */
void history_add_device(struct heap_device *device);
/* The hook's event with the number that was given out last: `allocation` as in struct
 * history_block. */
void history_block(struct heap *heap, uint64_t address, int64_t size, int64_t allocation);
void history_event(struct heaps *heaps, const struct event *event);
/* Bytes that wait for a stream, as of its last entry; BATCH_NULL: there is none. */
int64_t history_waiting(const struct heap_device *device);
void history_end(struct heaps *heaps);
void history_forget(struct heap_device *device);
bool history_is_valid(const struct heap_device *device);

#endif
