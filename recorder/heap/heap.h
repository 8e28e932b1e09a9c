/*
 * heap.h - the blocks and segments of one process, by device and address, and what they add up to.
 *
 * A living block is a record of the pool. It knows where its row is: in the batch being filled, at
 * an index, so that its end completes the row; or in a batch that was flushed, so that its end is a
 * row of its own. A flush makes a new serial number and touches no block.
 *
 * Sizes. Living and waiting blocks of a device together, and its segments, never add up to more
 * than LEDGER_MOST: a size that would make it so is cut ('size too large').
 *
 * A heap knows nothing of phases and of the driver. Who calls it says first what the driver has in
 * the same place (driver.h), and afterwards in which phase a block came (phase.h); a device that is
 * new is announced to who listens, who may refuse it.
 *
 * Invariants (heap_is_valid; of the pool heap_pool_is_valid: used records + the free list ==
 * count): allocated == sum of size over living; a heap's likewise requested == sum of requested
 * over those that have it; requested_unknown == those that do not waiting_bytes == sum of size over
 * waiting segment_bytes == sum of size over segments + mapped_bytes; a heap's likewise of a
 * segment: held == blocks that point at it, used == the sum of their sizes; split == sum of size -
 * used over segments with held > 0 mapped_bytes == sum of size over mapped, ranges that do not
 * meet, and touch only where they are of two heaps ordered: `order` has exactly the addresses of
 * living max_allocated >= window.peak >= allocated
 */
#ifndef TIDEMARK_RECORDER_HEAP_H
#define TIDEMARK_RECORDER_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch.h"
#include "curve.h"
#include "event.h"
#include "order.h"
#include "history.h"
#include "map.h"
#include "names.h"
#include "tag_list.h"

struct account;
struct ledger;

#define HEAP_MAX_DEVICES 256 /* of one process; blocks of more are put on the unknown device */

enum block_state { BLOCK_NONE = 0, BLOCK_LIVING, BLOCK_WAITING };

/* How well the range of a tag is the block's own. */
enum tag_fit { TAG_FIT_NONE = 0, TAG_FIT_INSIDE, TAG_FIT_BEGINS, TAG_FIT_WHOLE };

struct block { /* one cache line */
    int64_t seq;
    int64_t size;
    int64_t requested; /* BATCH_NOT_KNOWN */
    int64_t alloc_ns;
    struct heap *heap;
    struct heap_segment *segment; /* NULL = not known */
    int32_t tag;
    uint16_t state;    /* enum block_state */
    uint16_t tag_fits; /* enum tag_fit of the range that gave it its tag */
    uint32_t serial;   /* of the batch with its row */
    uint32_t index;    /* in that batch, or the next free record */
};

struct block_pool { /* records of blocks of all processes */
    struct block *blocks;
    size_t count, cap;
    uint32_t free; /* first free record, BLOCK_END = none */
    uint64_t living;
    uint64_t allocs, frees; /* of the run */
};
#define BLOCK_END UINT32_MAX

struct heap_segment {
    int64_t seq;
    uint64_t address;
    int64_t size;
    int64_t alloc_ns;
    struct heap *heap;
    uint64_t held; /* living and waiting blocks in it */
    int64_t used;  /* their bytes */
    bool gone;     /* given back; freed with its last block */
};

struct heap_range { /* of addresses with memory mapped into them */
    uint64_t address;
    int64_t size;
    struct heap *heap;
};

/* What a row says of when it was. That may be earlier than the event that tells it. */
struct heap_when {
    int64_t seq;
    int64_t ns;
};

struct heap_window { /* since the last boundary of a phase */
    int64_t peak;
    int64_t seq; /* when first reached, BATCH_NULL = as it began */
    int64_t ns;
    int64_t reserved; /* at that instant */
};

/* From the end of a training step to the end of the next: for who watches the run. */
struct heap_step {
    int64_t peak;     /* of allocated; but for the window, which is folded in as it ends */
    int64_t largest;  /* block that was handed out */
    int64_t reserved; /* as it ended; BATCH_NULL = not known, or it goes on */
    /* As the allocator's history last said it of all that lived; BATCH_NULL: it did not. */
    int64_t requested;
};

/* A process on one device. */
struct heap_device {
    struct heaps *heaps;
    int64_t id;     /* device.id */
    uint32_t index; /* in heaps->devices and in the parts of a phase */

    struct map living;                 /* address -> record of the pool */
    struct map waiting;                /* given back, but a stream still uses it */
    struct order order;                /* of living, once a range was tagged */
    struct order segments;             /* address -> struct heap_segment * */
    struct heap_segment *last_segment; /* where the last block was found, or NULL */
    struct order mapped;               /* address -> struct heap_range * */
    struct history *history;           /* NULL: none is to be told */
    bool ordered;

    int64_t allocated;
    int64_t requested;
    uint64_t requested_unknown;
    int64_t waiting_bytes;
    int64_t segment_bytes; /* with mapped_bytes */
    int64_t mapped_bytes;
    int64_t split;
    bool waits;          /* its source tells which frees wait: active is known */
    bool segments_known; /* a segment was seen as it came, or pages that were mapped */

    bool totals_known;        /* the source told its own sums */
    struct heap *totals_heap; /* whose curve has them */
    int64_t source_reserved;
    int64_t source_allocated;
    int64_t difference; /* source_allocated - allocated, at that event */
    int64_t difference_noted;
    bool source_sums; /* source_allocated is known */

    int64_t max_allocated;
    int64_t max_allocated_seq; /* when first reached, BATCH_NULL */
    int64_t max_step;          /* where the process was then: phase.h says it */
    uint32_t max_phase;
    int64_t max_reserved; /* BATCH_NULL */
    struct heap_window window;
    uint64_t allocs, frees, alloc_bytes; /* since the process began */
    uint64_t ooms;
    struct heap_step step, last_step; /* that goes on; that ended last */
    bool has_last_step;
};

/* Process x device x stream x pool. */
struct heap {
    int64_t id;      /* heap.id */
    uint32_t number; /* index in heaps->all + 1 */
    struct heap_device *device;
    uint64_t stream, pool;
    uint32_t name;
    int64_t allocated;
    int64_t segment_bytes;         /* and of pages that are mapped */
    struct curve *allocated_curve; /* NULL until something happened */
    struct curve *reserved_curve;
};

struct heap_key { /* no padding: compared as bytes */
    int64_t device;
    uint64_t stream, pool, name;
};

struct heaps { /* of a process */
    struct account *account;
    struct ledger *ledger;   /* the account's */
    struct names_defs *defs; /* of the process */
    struct block_pool *pool;
    /* A device is there, at devices[device_count], and not counted yet. False: it cannot be, for
     * want of memory. */
    bool (*comes)(void *context, struct heap_device *device);
    void *context;

    struct heap **all;
    size_t count, cap;
    struct map inherited;    /* numbers of ancestors' heaps to index in `all` + 1 */
    struct intern by_values; /* struct heap_key; id = index in `all` + 1 */
    struct heap *unknown;    /* of events without one; NULL until needed */
    struct heap_device *devices[HEAP_MAX_DEVICES];
    size_t device_count;
    bool histories;     /* of its devices: see history.h */
    bool tells_waiting; /* its sources tell which frees wait: active is known of every device */
    struct tag_lists tags;
};

/* Memory that an allocator asked for, or addresses with memory in them. */
struct heap_span {
    uint64_t address;
    uint64_t bytes;
    uint32_t site; /* number of the process, 0 = not known */
};

int64_t heap_reserved(const struct heap_device *device); /* BATCH_NULL if not known */
int64_t heap_active(const struct heap_device *device);   /* likewise */
/* The heap with these values, made if it is new; NULL without memory. */
struct heap *heap_get(struct heaps *heaps, const struct heap *like, int32_t device_kind,
                      int32_t device_index);
/* Of a definition, by this process or by an ancestor. */
struct heap *heap_make(struct heaps *heaps, const struct names_heap *defined);
/* Of a number that the process has not defined itself, or could not. */
struct heap *heap_of_another(struct heaps *heaps, uint32_t number);
static inline struct heap *heap_of_event(struct heaps *heaps, const struct event *event)
{
    uint32_t own;
    if (names_own(heaps->defs, event->heap, ARENA_HEAP, &own) && own)
        return heaps->all[own - 1];
    return heap_of_another(heaps, event->heap);
}
void heap_forget(struct heaps *heaps); /* frees all heaps and devices */

/* A block comes: what was there has ended. NULL without memory, which is owed. */
const struct block *heap_block_alloc(struct heap *heap, const struct event *event, int64_t ns);
/* A block on the device of the event's heap goes. Returns the seq of its allocation, and sets *heap
 * to the one that it was of; BATCH_NULL: there was none, which is noted. */
int64_t heap_block_free(struct heap *told, const struct event *event, int64_t ns,
                        struct heap **heap);
void heap_block_idle(struct heaps *heaps, const struct event *event, int64_t ns);
void heap_segment_alloc(struct heap *heap, const struct event *event, int64_t ns);
void heap_segment_free(struct heap *heap, const struct event *event, int64_t ns);
void heap_tag(struct heaps *heaps, const struct event *event);
/* Has `order` made, and kept from now on; false without memory. */
bool heap_put_in_order(struct heap_device *device);
void heap_tags_hold(struct heaps *heaps, const struct event *event);
void heap_oom(struct heaps *heaps, const struct event *event, int64_t ns);

/* Notes where the source's sum moved away from ours. */
void heap_compare_totals(struct heap_device *device);
/* Its window is about to begin anew. */
static inline void heap_step_sees(struct heap_device *device)
{
    if (device->window.peak > device->step.peak)
        device->step.peak = device->window.peak;
}
/* A training step ended, of the whole process. */
void heap_step_ends(struct heaps *heaps);
void heap_flush_curves(struct heaps *heaps);
bool heap_is_valid(const struct heaps *heaps);
bool heap_pool_is_valid(const struct block_pool *pool);

/* heap_segment.c */
/* No block, segment or reserved total is larger: nobody has so many addresses. What says that it is
 * was never looked at by an allocator; it is cut, so that whole recordings can be added up. */
#define HEAP_LARGEST ((int64_t)1 << 46)
static inline int64_t heap_cut(uint64_t bytes)
{
    return bytes > (uint64_t)HEAP_LARGEST ? HEAP_LARGEST : (int64_t)bytes;
}
/* The size of a block or segment, cut so that `sum` and it are LEDGER_MOST at most. */
int64_t heap_fit(struct heaps *heaps, uint64_t address, uint64_t bytes, int64_t sum);
struct heap_span heap_span_of(const struct event *event);
struct heap_segment *segment_of(struct heap_device *device, uint64_t address);
void segment_hold(struct heap_segment *segment, int64_t size);
void segment_release(struct heap_segment *segment, int64_t size);
/* The source's totals in the event; `a` counts only where it is no request. */
void heap_take_reserved(struct heap *heap, const struct event *event, int64_t ns);
/* So much went meanwhile; the next event with totals is the source's own word again. */
void heap_reserved_less(struct heap *heap, int64_t bytes, int64_t ns);
void heap_take_allocated(struct heap_device *device, const struct event *event);
/* What is reserved in segments and by mapping has changed, now. */
void heap_count_reserved(struct heap *heap, int64_t change);
/* A segment comes or goes. */
void segment_add(struct heap *heap, const struct heap_span *span, const struct heap_when *when);
void segment_remove(struct heap *heap, const struct heap_span *span, const struct heap_when *when);
void segment_forget(struct heap_device *device);
/* Besides, `held` blocks with `used` bytes are said to be in segments that are there. */
bool segment_is_valid(const struct heap_device *device, uint64_t held, int64_t used);

/* heap_mapping.c: the span is mapped, or is not any more. */
void mapping_add(struct heap *heap, const struct heap_span *span, const struct heap_when *when);
void mapping_remove(struct heap *heap, const struct heap_span *span, const struct heap_when *when);
void mapping_clear(struct heap_device *device, const struct heap_when *when); /* all goes */
void mapping_forget(struct heap_device *device);
bool mapping_is_valid(const struct heap_device *device);

#endif
