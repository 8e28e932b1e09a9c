/*
 * heap_event.h - everything that happened to one process's memory on one device, in its order.
 *
 * Rows of blocks come by their births and say when they end. What is still to come waits in a heap,
 * the nearest first: never more than what lived at once. The rest (segments, pages, refusals) is
 * one question in the order of events. So a run of any length takes no more memory than its fullest
 * moment.
 *
 * Of one event number: what became idle, then what segments did, then the block, for a table says
 * of the first two that they happened at or before that event.
 */
#ifndef TIDEMARK_EXPORT_HEAP_EVENT_H
#define TIDEMARK_EXPORT_HEAP_EVENT_H

#include <stdint.h>

#include "db.h"
#include "purpose.h"

#define HEAP_EVENT_NONE INT64_MIN

enum heap_event_kind { /* the order of those of one event number */
                       HEAP_FREE_COMPLETED,
                       HEAP_SEGMENT_FREE,
                       HEAP_SEGMENT_UNMAP,
                       HEAP_SEGMENT_MAP,
                       HEAP_SEGMENT_ALLOC,
                       HEAP_OOM, /* address: what the device had free is not known, 0 */
                       HEAP_ALLOC,
                       HEAP_FREE_REQUESTED,
                       HEAP_EVENT_KINDS
};

struct heap_event {
    enum heap_event_kind kind;
    int64_t seq, at_ns;
    int64_t heap;          /* heap.id; of a refusal HEAP_EVENT_NONE */
    int64_t address, size; /* of a block what was asked for, where that is known */
    int64_t site;          /* HEAP_EVENT_NONE */
    enum purpose purpose;  /* of a block */
    int64_t freed_at;      /* of a birth: the free's number, HEAP_EVENT_NONE: it lives */
};

/* Up to the event `until`, which is in it. `see` returns 0 or an error. 0 or an error. */
int heap_events_each(struct db *db, int64_t process, int64_t device, int64_t until,
                     int (*see)(void *self, const struct heap_event *event), void *self);

#endif
