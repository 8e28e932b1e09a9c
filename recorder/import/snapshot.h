/*
 * snapshot.h - what a snapshot of PyTorch's allocator says, in compact records.
 *
 * A pickle repeats a dictionary of seven keys and a list of sixty frames for each event. Here an
 * event is 48 bytes; strings, frames and call stacks are kept once and named by number. Numbers of
 * strings, frames, sites and places begin at 1; 0 is "none".
 *
 * Memory. Every array grows through the budget, which refuses to hold more than IMPORT_BUDGET_BASE
 * + IMPORT_BUDGET_FACTOR times the bytes read so far. A snapshot as PyTorch writes it needs less
 * than its own size; what needs more is made to hurt.
 *
 * Invariants (snapshot_is_valid):
 *   the events of a trace are entries[first, first + count); likewise the blocks of a segment
 *   string, frame, site and place numbers are 0 or name something
 *   budget.held == the bytes of all arrays that grew through it, and <= its limit
 */
#ifndef TIDEMARK_IMPORT_SNAPSHOT_H
#define TIDEMARK_IMPORT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alloc.h"
#include "names.h"

#define IMPORT_BUDGET_BASE ((size_t)16 << 20)
#define IMPORT_BUDGET_FACTOR 8u
#define IMPORT_MAX_DEVICES 256u
#define IMPORT_MAX_PLACES 4096u /* each becomes a heap, with curves */

struct budget {
    size_t held, limit;
    size_t most;  /* that was held at once */
    bool refused; /* it was the budget, not the system, that had no memory */
};
/* As MEM_GROW, within the budget. */
bool budget_grow(struct budget *budget, void **array, size_t *cap, size_t need, size_t size);
#define BUDGET_GROW(budget, array, cap, need)                                                      \
    budget_grow((budget), (void **)(void *)&(array), &(cap), (need), sizeof *(array))
/* Frees the array and what it held. */
void budget_free(struct budget *budget, void *array, size_t cap, size_t size);
/* The number of the bytes in the table; 0 without memory, or beyond the budget. */
uint32_t budget_intern(struct budget *budget, struct intern *table, const void *bytes,
                       size_t count);

enum trace_action {
    TRACE_NONE = 0, /* an action that is not known */
    TRACE_ALLOC,
    TRACE_FREE_REQUESTED,
    TRACE_FREE_COMPLETED,
    TRACE_SEGMENT_ALLOC,
    TRACE_SEGMENT_FREE,
    TRACE_SEGMENT_MAP,
    TRACE_SEGMENT_UNMAP,
    TRACE_SNAPSHOT,
    TRACE_OOM,
    TRACE_ANNOTATE, /* its `user` is the string that was attached, not its thread's */
    TRACE_ACTION_COUNT
};

struct trace_entry {
    uint64_t addr;
    uint64_t size;   /* as the trace has it: of a block, what was asked for */
    uint64_t block;  /* of an alloc: the block's exact size; 0 = not known (yet) */
    int64_t time_us; /* since 1970; 0 = not known */
    uint32_t site;
    uint32_t user;       /* string: user_metadata */
    uint32_t compiled;   /* string: compile_context */
    uint32_t place : 24; /* struct snapshot_place */
    uint32_t action : 7; /* enum trace_action */
    uint32_t lost : 1;   /* alloc: gone at the end, and its free is not in the trace;
                          * free_requested: its completion is not, it is taken to be at once;
                          * free_completed: its request is not, it is the free */
};

enum block_life { BLOCK_INACTIVE = 0, BLOCK_ACTIVE, BLOCK_PENDING };

struct snapshot_block {
    uint64_t address; /* 0 = not said: they tile the segment */
    uint64_t size;
    uint64_t requested; /* SNAPSHOT_NOT_KNOWN */
    uint32_t site;
    uint32_t life; /* enum block_life */
};
#define SNAPSHOT_NOT_KNOWN UINT64_MAX

struct snapshot_segment {
    uint64_t address, size, stream;
    uint32_t device;
    uint32_t site;
    uint32_t pool; /* number of a pair, 0 = none said */
    uint32_t first_block, block_count;
    bool expandable;
};

/* Where a block or segment is: device x stream x pool. */
struct snapshot_place {
    uint64_t stream;
    uint32_t device;
    uint32_t pool; /* number of a pair */
};

struct snapshot_pair {
    uint64_t first, second;
};

struct snapshot_frame {
    uint32_t function, file; /* strings */
    uint32_t line;           /* 0 = not known */
};

struct snapshot_note { /* one half of an annotation */
    int64_t time_us;
    uint32_t name; /* string */
    bool end;
    bool known; /* it has a stage */
};

struct snapshot_trace { /* of device i */
    size_t first, count;
};

struct snapshot_settings {
    bool seen;
    uint32_t conf;  /* string as the program gave it, 0 = not said */
    bool cuda, xpu; /* the one or the other device's name for that string is in it */
    struct alloc_config config;
    bool overflowed;      /* the history was full, and lost its oldest events */
    uint64_t max_entries; /* of the history, 0 = not said */
};

struct snapshot {
    struct budget budget;
    struct intern strings, frames, sites, places, pairs;
    struct trace_entry *entries;
    size_t entry_count, entry_cap;
    struct snapshot_block *blocks;
    size_t block_count, block_cap;
    struct snapshot_segment *segments;
    size_t segment_count, segment_cap;
    size_t listed_first, listed_count; /* those of the list `segments` */
    struct snapshot_note *notes;
    size_t note_count, note_cap;
    struct snapshot_trace *traces;
    size_t trace_count, trace_cap;
    struct snapshot_settings settings;
    bool has_segments; /* there was a list of them */
    /* Pinned memory of the host: until snapshot_join_host, what its lists have. */
    size_t host_first, host_count; /* segments */
    struct snapshot_trace host_trace;
    bool has_host_segments; /* likewise */
    uint32_t host;          /* 1 + the number under which it is among the devices; 0 = none */
    bool left_host;         /* some of it could not be read, and is left out */
    bool too_many_places;   /* that, and not memory, is why there was no number */
    uint64_t unknown_keys;  /* keys of dictionaries that were skipped */
    uint64_t odd_values;    /* of another type than their key has: as if missing */
    uint64_t cut_strings;   /* longer than is kept */
};

void snapshot_clear(struct snapshot *snapshot);
bool snapshot_is_valid(const struct snapshot *snapshot);

/* Snapshots of an XPU are told by the name that the allocator's string has in them. */
static inline bool snapshot_is_xpu(const struct snapshot *snapshot)
{
    return snapshot->settings.xpu && !snapshot->settings.cuda;
}

/* Makes the host's memory one more device, behind all others. A base_err. */
int snapshot_join_host(struct snapshot *snapshot);
/* With segments, or events. */
size_t snapshot_devices(const struct snapshot *snapshot);

/* The number of the bytes in one of the tables above; 0 without memory. */
uint32_t snapshot_intern(struct snapshot *snapshot, struct intern *table, const void *bytes,
                         size_t count);
const char *snapshot_text(const struct snapshot *snapshot, uint32_t string); /* "" for 0 */
uint32_t snapshot_place(struct snapshot *snapshot, uint32_t device, uint64_t stream, uint32_t pool);
struct snapshot_place snapshot_place_at(const struct snapshot *snapshot, uint32_t place);
struct snapshot_pair snapshot_pair_at(const struct snapshot *snapshot, uint32_t pair);

#endif
