/*
 * block_log.h - what a log of blocks tells, in records, and how it becomes events. For formats that
 * tell each block's birth and end as they happened, and no heap at the end: RMM's logs, traces of
 * torch.profiler; blocks of which only the end is known, as JAX's profiles have them; and memory of
 * the driver, as Nsight Systems saw it. A log is of one process.
 *
 * A free of a block that the log did not hand out is of a block that lived before: it is told at
 * the beginning, with the size that its free says. What lived before and was never given back is
 * not in such a log: where the allocator's own sums are, it is one block, at an address that is
 * none (BLOCK_LOG_THROUGHOUT); else it is not known.
 *
 * Ranges (begin and end on one thread) are phases, steps and marks of optimizers by their names
 * (feed.h), or only say in what a block was asked for: the ranges that are open on its thread are
 * its call stack, innermost first, steps left out. A block may have a stack of its own instead.
 * Ranges of NVTX are told as NVTX tells them (ring/event.h), and are nobody's call stack.
 *
 * Memory: every array grows through the budget, as those of snapshots do (snapshot.h).
 *
 * Invariants (block_log_is_valid): names, places and stacks are 0 or name something; entries are in
 * the order in which they were added until block_log_feed sorts them by time; `order` is below
 * count.
 */
#ifndef TIDEMARK_IMPORT_BLOCK_LOG_H
#define TIDEMARK_IMPORT_BLOCK_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "import.h"
#include "snapshot.h"
#include "state.h"

#define BLOCK_LOG_UNKNOWN UINT64_MAX
#define BLOCK_LOG_THROUGHOUT UINT64_C(1)
#define BLOCK_LOG_NAME_BYTES ((size_t)4096) /* a name is cut there */
#define BLOCK_LOG_DEPTH 64u /* frames of a call stack; more are left out at the outer end */

enum block_log_kind {
    LOG_RANGE_END, /* at the same time ends come first, then begins, then blocks */
    LOG_RANGE_BEGIN,
    LOG_ALLOC,
    LOG_FREE,
    LOG_REFUSED,
    LOG_DRIVER_ALLOC,
    LOG_DRIVER_FREE,
    LOG_POOL,  /* how large a stream-ordered pool is by now */
    LOG_TOTAL, /* the size of a device */
    LOG_MARK,
    LOG_KIND_COUNT
};

struct block_log_entry {
    int64_t time_ns;
    uint64_t addr; /* of a range: the time of its other end */
    uint64_t size; /* of a range or mark of NVTX: its domain's name, 0 = the default one */
    union {
        uint64_t allocated; /* the allocator's own sum after it, or BLOCK_LOG_UNKNOWN; of memory of
                             * the driver: enum driver_memory, and its call stack above bit 32 */
        uint64_t requested; /* with BLOCK_LOG_BOTH, of a block; BLOCK_LOG_UNKNOWN */
    };
    uint64_t reserved; /* likewise; of memory of the driver: its stream; of a range that need not
                        * nest: its number */
    uint32_t name;     /* of a range, a mark, a call of the driver; of a block: its call stack, 0 =
                        * the ranges that are open */
    uint32_t place;    /* struct arena_heap, 0 = none; of memory of the driver 0 = the host's */
    uint32_t order;    /* in which it was added */
    uint32_t thread : 24;
    uint32_t kind : 4;  /* enum block_log_kind */
    uint32_t phase : 1; /* of a range: it is a phase, a step or a mark, too */
    uint32_t lost : 1;  /* of a free: its block lived before */
    uint32_t nvtx : 1;  /* of a range or mark */
    uint32_t loose : 1; /* of a range of NVTX: it need not nest */
};

struct block_log_frame { /* names; 0 = not known */
    uint32_t function, file, line;
};

struct block_log {
    struct budget budget;
    struct intern names;  /* text with its NUL */
    struct intern places; /* struct arena_heap, without a name */
    struct intern frames; /* struct block_log_frame */
    struct intern stacks; /* numbers of frames, uint32_t, innermost first */
    struct block_log_entry *entries;
    size_t count, cap;
};

void block_log_clear(struct block_log *log);
bool block_log_is_valid(const struct block_log *log);
/* More bytes of the file were read: that much more may be kept of it. */
void block_log_allow(struct block_log *log, uint64_t bytes_read);
/* A base_err: ERR_LIMIT beyond the budget or IMPORT_MAX_PLACES. A block at address 0 is none. */
int block_log_add(struct block_log *log, const struct block_log_entry *entry);
int block_log_name(struct block_log *log, const char *text, size_t bytes, uint32_t *name);
int block_log_place(struct block_log *log, enum arena_device kind, int32_t index, uint64_t stream,
                    uint32_t *place);
int block_log_frame(struct block_log *log, struct block_log_frame frame, uint32_t *number);
/* Of `count` frames' numbers, innermost first, the first BLOCK_LOG_DEPTH. */
int block_log_stack(struct block_log *log, const uint32_t *frames, size_t count, uint32_t *stack);
/* The same number for all places of a device. */
uint32_t block_log_device(const struct block_log *log, uint32_t place);

/* The earliest time of all, 0 if there is none. */
int64_t block_log_first_ns(const struct block_log *log);

/* What the sizes of a log are. */
enum block_log_sizes {
    BLOCK_LOG_ALLOCATED,
    BLOCK_LOG_REQUESTED,
    BLOCK_LOG_BOTH, /* of blocks, with `requested` beside them; there are no sums */
};

struct block_log_feed {
    struct block_log *log;
    struct state *state;
    const char *live;      /* what the source is called in table process: "RMM log" */
    const char *allocator; /* likewise in table setting; NULL: not known */
    const char *source;    /* the file's name */
    const char *argv;      /* of the process, for table process; NULL: not known */
    int64_t pid;           /* 0 = not known */
    bool all_frames;       /* keep frames that are none of a source, too */
    enum block_log_sizes sizes;
    int (*flush)(void *self);
    void *self;

    struct import_result *result; /* gets the counts */
    int64_t run_ns;               /* out: from the first entry to the last */
};

/* Sorts, and tells it all. A base_err. */
int block_log_feed(struct block_log_feed *feed);
/* Several processes, with one clock: what they did is told in the order of time. They have state,
 * flush and result in common, those of the first. */
int block_log_feed_all(struct block_log_feed *feeds, size_t count);
/* The same into a database that it makes. `base_us`, `ended` as in writing.h. */
int block_log_write(struct block_log_feed *feeds, size_t count, const char *output, int64_t base_us,
                    const char *ended);

#endif
