/*
 * wrap_report.h - the allocator's events as calls of tidemark.h. The only file of this folder that
 * looks for a recorder.
 *
 * A heap of the recording is a stream and a pool of one allocator. The numbers are kept in a small
 * table, for few programs have more than a handful of streams. The table is touched by the observer
 * only, which the allocator calls with its lock held.
 */
#ifndef TIDEMARK_ALLOCATOR_WRAP_REPORT_H
#define TIDEMARK_ALLOCATOR_WRAP_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alloc.h"

struct report_heap {
    uint64_t stream, pool;
    uint32_t heap; /* never 0 */
};

/* Invariant: no two of the heaps have the same stream and pool; last < count, or count == 0. */
struct report {
    int device_kind, device_index; /* as tidemark.h has them */
    char *name;
    struct report_heap *heaps;
    size_t count, cap, last;
    struct alloc_observer observer;
};

int report_init(struct report *report, int device_kind, int device_index, const char *name);
void report_clear(struct report *report);
bool report_is_valid(const struct report *report);

/* NULL when nobody records: the allocator has no observer then, and pays nothing. */
const struct alloc_observer *report_observer(struct report *report);
/* The heap in the recording, 0 when nobody records. */
uint32_t report_heap(const struct report *report, uint64_t stream, uint64_t pool);
/* Where the request comes from that this thread is about to make; 0 = not known. */
void report_site(uint32_t site);
/* The Python stack of this thread, 0 if it has none or nobody records. Takes the loader's lock at
 * first: never under the allocator's. */
uint32_t report_python_site(void);

/* A setting of the allocator, and one that is a number of bytes. */
void report_setting(const struct report *report, const char *key, const char *value);
void report_bytes(const struct report *report, const char *key, uint64_t bytes);

/* Segments that somebody else cuts into blocks. */
void report_segment_taken(const struct report *report, uint64_t stream, uint64_t address,
                          uint64_t bytes);
void report_segment_given(const struct report *report, uint64_t stream, uint64_t address);

#endif
