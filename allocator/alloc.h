/*
 * alloc.h - the caching allocator: PyTorch's policy for one device, address for address.
 *
 * A request is rounded, looked for among the free blocks of its own stream (smallest first, then
 * lowest address), split from what was found, or cut from a new segment of the device. Given back,
 * a block merges with its free neighbours and stays cached. docs/allocator.md has the rules, and
 * which of them were checked against recordings of PyTorch and which against a model only.
 *
 * Everything below is safe from any thread, unless ALLOC_ONE_THREAD promised that there is only
 * one. Nothing here touches the memory that it hands out.
 *
 * Words: a block is what a caller gets, a segment what the device gave; `requested` <= `size` of a
 * block; a block that was given back while another stream uses it is awaiting, and still active.
 */
#ifndef TIDEMARK_ALLOCATOR_ALLOC_H
#define TIDEMARK_ALLOCATOR_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "policy.h"

struct alloc;

#define ALLOC_MIN_BLOCK 512u
#define ALLOC_SMALL_SIZE (1u << 20)     /* rounded sizes up to this are of the small pool */
#define ALLOC_SMALL_SEGMENT (2u << 20)  /* every segment of the small pool */
#define ALLOC_LARGE_SEGMENT (20u << 20) /* of the large pool, for sizes below ALLOC_MIN_LARGE */
#define ALLOC_MIN_LARGE (10u << 20)     /* from here a segment is as large as its first block */
#define ALLOC_ROUND_LARGE (2u << 20)    /* rounded up to this */
#define ALLOC_MAX_REQUEST (UINT64_C(1) << 60) /* this many and more are refused at once */
#define ALLOC_ROUNDUP_SLOTS 16

/* ---- settings (config.c) ---- */

/* expandable_segments_reserve: the addresses of each range. 0 = 9/8 of the device, and never more.
 */
struct alloc_reserve {
    double value;
    bool gib; /* GiB; else parts of the device */
};

struct alloc_config {
    struct alloc_policy policy;      /* whose rules: a parse reads by them, and keeps them */
    uint64_t max_split_size;         /* UINT64_MAX = no limit */
    uint64_t max_non_split_rounding; /* large_segment_size */
    uint64_t large_segment_size;     /* ALLOC_LARGE_SEGMENT */
    double gc_threshold;             /* 0 = off, else inside (0, 1) */
    double memory_fraction;          /* of the device: a new allocator's limit; 1 = none */
    struct alloc_reserve reserve;
    uint32_t
        roundup[ALLOC_ROUNDUP_SLOTS]; /* divisions of 1 MiB, 2 MiB, ... 32 GiB and up; 0, 1 = off */
    bool expandable_segments;
    /* throw_on_cudamalloc_oom: what would be more than that part of the device, with what was
     * taken, is refused, and nothing is tried. A limit comes first. */
    bool throws;
};

void alloc_config_default(struct alloc_config *config);
/* What memory_fraction leaves of a device of that size; UINT64_MAX: it says nothing. */
uint64_t alloc_config_limit(const struct alloc_config *config, uint64_t device);
/* A string as PYTORCH_CUDA_ALLOC_CONF takes it. It stands for itself: all but the policy and
 * expandable_segments begins with the defaults, whatever *config was. ERR_ARG with a sentence in
 * `why` (may be NULL), and *config as it was. Keys that PyTorch knows and this allocator has no use
 * for are accepted. */
int alloc_config_parse(struct alloc_config *config, const char *text, char *why, size_t why_size);
/* The string that alloc_config_parse would take; only what is not the default. */
void alloc_config_format(const struct alloc_config *config, char *text, size_t size);

/* ---- statistics: each by PyTorch's definition (docs/allocator.md) ---- */

enum alloc_class { ALLOC_ALL, ALLOC_SMALL, ALLOC_LARGE, ALLOC_CLASSES };

struct alloc_stat {
    int64_t current, peak;
    int64_t allocated, freed; /* sums of all increases and of all decreases */
};

struct alloc_stats {
    struct alloc_stat allocation[ALLOC_CLASSES], segment[ALLOC_CLASSES], active[ALLOC_CLASSES],
        inactive_split[ALLOC_CLASSES];
    struct alloc_stat allocated_bytes[ALLOC_CLASSES], reserved_bytes[ALLOC_CLASSES],
        active_bytes[ALLOC_CLASSES], inactive_split_bytes[ALLOC_CLASSES],
        requested_bytes[ALLOC_CLASSES];
    struct alloc_stat oversize_allocations, oversize_segments;
    int64_t num_alloc_retries, num_ooms, num_sync_all_streams, num_device_alloc, num_device_free;
    int64_t num_oom_rejections; /* by throw_on_cudamalloc_oom; none of num_ooms */
};

/* ---- what it does, as it does it ---- */

enum alloc_event_kind {
    ALLOC_EVENT_ALLOC = 1,
    ALLOC_EVENT_FREE, /* given back; if `waits`, an IDLE follows */
    ALLOC_EVENT_IDLE, /* may be handed out again */
    ALLOC_EVENT_SEGMENT_ALLOC,
    ALLOC_EVENT_SEGMENT_FREE,
    ALLOC_EVENT_MAP,
    ALLOC_EVENT_UNMAP,
    ALLOC_EVENT_OOM
};

struct alloc_event {
    enum alloc_event_kind kind;
    bool waits;
    uint64_t address;   /* OOM: 0; what the device has free is in struct alloc_refusal */
    uint64_t size;      /* of the block, segment or range of pages; OOM: rounded request */
    uint64_t requested; /* ALLOC, FREE, IDLE, OOM */
    uint64_t stream;
    uint64_t pool; /* 0 = the shared pools, else alloc_pool_begin's */
};

/* Called with the allocator locked, after its state changed: must not call the allocator. */
struct alloc_observer {
    void *self;
    void (*event)(void *self, const struct alloc_event *event);
};

/* ---- the allocator ---- */

enum { ALLOC_ONE_THREAD = 1 << 0 }; /* no lock is taken */

struct alloc_options {
    const struct alloc_device *device;     /* must outlive the allocator */
    const struct alloc_config *config;     /* NULL = defaults */
    const struct alloc_observer *observer; /* NULL = nobody */
    uint64_t limit;                        /* bytes from the device; 0 = as the settings say */
    uint64_t device_bytes; /* that parts in the settings are of; 0 = as the device says */
    unsigned flags;
};

int alloc_new(struct alloc **out, const struct alloc_options *options);
/* Gives every segment back to the device, blocks in them or not; the observer hears of segments and
 * pages, not of blocks. NULL is fine. */
void alloc_delete(struct alloc *alloc);
bool alloc_is_valid(struct alloc *alloc);

struct alloc_refusal {                         /* why alloc_malloc said ERR_NOMEM */
    uint64_t requested, rounded, segment_size; /* asked; as a block; what was asked of the device */
    uint64_t allocated, reserved, largest_free; /* the largest free block of the stream and pool */
    uint64_t device_free, limit;
    bool thrown; /* by throw_on_cudamalloc_oom: nothing was tried */
};

/* The block's address; *refusal may be NULL. A request of 0 bytes gives address 0 and changes
 * nothing. ERR_NOMEM: refused after the whole ladder. If refusal->rounded is 0 then, it was not:
 * the request was ALLOC_MAX_REQUEST or more, or our own memory failed. Another error: the device's.
 */
int alloc_malloc(struct alloc *alloc, uint64_t bytes, uint64_t stream, uint64_t *address,
                 struct alloc_refusal *refusal);
/* ERR_NOTFOUND: not a living block. Another error is the device's, which could record no event: the
 * block was given back all the same, and the event is tried again at the next request. */
int alloc_give(struct alloc *alloc, uint64_t address);
/* The other stream uses the block from now on: what was asked of it must be done before the block
 * can be handed out again. */
int alloc_record_stream(struct alloc *alloc, uint64_t address, uint64_t stream);
int alloc_empty_cache(struct alloc *alloc);
uint64_t alloc_block_size(struct alloc *alloc, uint64_t address); /* 0 = not a living block */
/* The segment of a living block: its address, and its bytes in *size (may be NULL). */
uint64_t alloc_base(struct alloc *alloc, uint64_t address, uint64_t *size);

int alloc_configure(struct alloc *alloc, const struct alloc_config *config);
void alloc_limit(struct alloc *alloc, uint64_t bytes); /* 0 = no limit */

void alloc_stats(struct alloc *alloc, struct alloc_stats *stats);
void alloc_reset_peaks(struct alloc *alloc);
void alloc_reset_accumulated(struct alloc *alloc);

/* Private pools. Between begin and end requests of streams that `accepts` says yes to (NULL: all)
 * come from the pool `id` (not 0), which keeps its segments until alloc_pool_release was called as
 * often as alloc_pool_begin, and the cache is emptied. While any is begun, no event is asked, and
 * neither the last rung nor alloc_empty_cache gives back what the shared pools have cached. Begun
 * pools do not nest on one id (ERR_EXISTS); one that nobody uses any more may be begun again. */
int alloc_pool_begin(struct alloc *alloc, uint64_t id, bool (*accepts)(void *self, uint64_t stream),
                     void *self);
int alloc_pool_end(struct alloc *alloc, uint64_t id);
int alloc_pool_release(struct alloc *alloc, uint64_t id);

/* ---- its heap, to look at and to begin with ---- */

enum alloc_block_state { ALLOC_FREE, ALLOC_LIVING, ALLOC_AWAITING, ALLOC_UNMAPPED };

struct alloc_block_view {
    uint64_t address, size, requested; /* requested: of living and awaiting ones */
    enum alloc_block_state state;
};

struct alloc_segment_view {
    uint64_t address, size; /* expandable: the whole reserved range */
    uint64_t stream, pool;
    bool small, expandable;
    const struct alloc_block_view *blocks; /* they tile the segment, by address */
    size_t block_count;
};

/* Every segment in order of addresses, with the allocator locked: `see` must not call it. False
 * from `see` ends the walk. ERR_NOMEM, or BASE_OK. */
int alloc_walk(struct alloc *alloc,
               bool (*see)(void *self, const struct alloc_segment_view *segment), void *self);

/* Takes over a segment that is there already, with its blocks (free ones, living ones; awaiting
 * ones until alloc_settle); neighbours that are both free become one. Counted in the statistics as
 * if it had been made now; the observer hears nothing; the device is not asked, and gets it back
 * like any other. A private pool that was not there has one user then. ERR_ARG: the blocks do not
 * tile the segment in multiples of 512, or overlap with what is there. */
int alloc_adopt(struct alloc *alloc, const struct alloc_segment_view *segment);
/* Completes the free of an awaiting block, whatever its events say: for replays, in which the
 * recording says when. */
int alloc_settle(struct alloc *alloc, uint64_t address);
/* Gives the block back, to be awaited until alloc_settle: likewise for replays. */
int alloc_give_awaiting(struct alloc *alloc, uint64_t address);

#endif
