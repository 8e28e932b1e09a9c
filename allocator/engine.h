/*
 * engine.h - the inside of the allocator: its records, and what its files ask of each other.
 *
 * Records have numbers (32 bits, 0 = none), not addresses, so that a block fits in one cache line
 * and arrays may move when they grow. Whoever is about to make records asks for room first
 * (blocks_reserve and the like): from there on an operation cannot fail halfway for want of our own
 * memory. A pointer to a record holds until the next such call.
 *
 *   block     what stands between two addresses of a segment: free, living, awaiting or unmapped
 *   freeset   the free blocks of one stream in one half (small, large) of one pool
 *   segment   what the device gave: a chain of blocks that tiles it, from `head` by `next`
 *   pool      0 = the shared one, or a private one
 *   use       a stream that a block was recorded on; later the event that it waits for
 *
 * blocktree.c orders free blocks, freeset.c sorts the trees into bins, blockmap.c finds living
 * blocks by address, counters.c counts. blocks.c keeps the records; sizes.c rounds; alloc.c hands
 * out and takes back, life.c does the rest that is public; ladder.c gets segments and gives them
 * back; expand.c does that page by page; events.c waits for streams; pools.c diverts; view.c shows
 * and adopts heaps; valid.c checks it all.
 */
#ifndef TIDEMARK_ALLOCATOR_ENGINE_H
#define TIDEMARK_ALLOCATOR_ENGINE_H

#include <assert.h>

#include "alloc.h"
#include "blockmap.h"
#include "blocktree.h"
#include "counters.h"
#include "ensure.h"
#include "error.h"
#include "freeset.h"
#include "lock.h"

/* A stretch of addresses from the device. Its first record stays `head` for life: what merges keeps
 * the record of the lower block. */
struct segment {
    uint64_t address, size; /* expandable: the whole range that was reserved */
    uint64_t page;          /* expandable: bytes that are mapped at once; else 0 */
    uint32_t head;          /* 0: this record is not in use */
    uint32_t set;
    uint32_t next_spare;
};

struct pool {
    uint64_t id;
    uint64_t searches[2]; /* [small]: the clock of garbage collection */
    uint32_t users;       /* begins not yet released; 0 = its cache may go to the device */
    uint32_t segments;
    bool used; /* this slot; always true of slot 0 */
};

/* In the list of a block that lives (or is deferred), or in the queue of its stream, with an
 * event. */
struct use {
    uint64_t stream;
    uint64_t event;
    uint32_t block; /* in a queue only, else 0 */
    uint32_t next;
};

/* Events of one stream in the order in which they were recorded. */
struct queue_of_stream {
    uint64_t stream;
    uint32_t first, last;
};

/* Requests that `accepts` says yes to come from `pool`. */
struct diversion {
    uint32_t pool;
    bool (*accepts)(void *self, uint64_t stream);
    void *self;
};

struct alloc {
    struct lock lock;
    unsigned flags;
    const struct alloc_device *device;
    struct alloc_observer observer; /* .event NULL: nobody */
    struct alloc_config config;
    bool expandable;       /* the setting, if the device can */
    uint64_t limit;        /* UINT64_MAX = none */
    uint64_t device_bytes; /* for parts of it; 0 = not asked, or not known */
    uint64_t throw_at;     /* the part that throw_on_cudamalloc_oom looks at */
    uint64_t taken;        /* bytes from the device: plain segments and mapped pages */

    struct block *blocks; /* [0] is never used */
    void *blocks_memory;  /* what `blocks` stands in, aligned to cache lines */
    uint32_t blocks_cap, blocks_made, blocks_spare, blocks_spare_count;
    uint64_t random;     /* for priorities */
    uint32_t serials;    /* given out */
    struct blockmap map; /* living and awaiting blocks */

    struct freeset **sets; /* NULL: an empty slot */
    size_t set_count, sets_cap;
    uint32_t last_set[2]; /* [small]: of the last request; set_count if there is none */

    struct segment *segments; /* [0] is never used */
    size_t segment_count, segments_cap;
    uint32_t segments_spare;

    struct pool *pools;
    size_t pool_count, pools_cap;
    struct diversion *begun; /* newest last */
    size_t begun_count, begun_cap;

    struct use *uses; /* [0] is never used */
    size_t use_count, uses_cap;
    uint32_t uses_spare;
    struct queue_of_stream *queues; /* by stream */
    size_t queue_count, queues_cap;
    uint32_t waiting;                       /* uses in queues */
    uint32_t deferred_first, deferred_last; /* blocks given back while a pool was begun */

    struct counters counters;
};

/* A request on its way. */
struct search {
    uint64_t requested, rounded, segment_size, stream;
    uint32_t pool, set;
    uint32_t block; /* what was found, out of its set */
    bool starved;   /* our own memory failed */
    bool thrown;    /* throw_on_cudamalloc_oom: nothing more is tried */
};

static inline struct block *block_at(const struct alloc *alloc, uint32_t id)
{
    assert(id && id < alloc->blocks_made);
    return &alloc->blocks[id];
}

static inline struct freeset *set_of(const struct alloc *alloc, const struct block *block)
{
    return alloc->sets[block->set];
}

/* Has a neighbour, so its segment cannot be given back. */
static inline bool block_is_split(const struct block *block)
{
    return block->prev || block->next;
}

/* A search makes at most: the block of a segment, the unmapped rest behind mapped pages, and the
 * rest of a cut. */
#define BLOCKS_OF_A_SEARCH 4

static inline uint64_t round_up(uint64_t bytes, uint64_t step)
{
    return (bytes + step - 1) / step * step;
}

/* ---- sizes.c ---- */
uint64_t sizes_round(const struct alloc_config *config, uint64_t bytes);
/* Of the segment for a block of `rounded` bytes. */
uint64_t sizes_segment(const struct alloc_config *config, uint64_t rounded);

/* ---- blocks.c ---- */
bool blocks_grow(struct alloc *alloc, uint32_t count);
/* Room for so many records: of block_cut, of the first block of a segment. */
static inline bool blocks_reserve(struct alloc *alloc, uint32_t count)
{
    return alloc->blocks_spare_count >= count ||
           alloc->blocks_cap - alloc->blocks_made >= count - alloc->blocks_spare_count ||
           blocks_grow(alloc, count);
}
/* Cuts `id` after `size` bytes; the record of the rest, linked behind it, in no set. Serials are
 * those of PyTorch's records: the front of a cut gets a new one, and what is freed keeps its own as
 * it merges. */
uint32_t block_cut(struct alloc *alloc, uint32_t id, uint64_t size);
/* Into and out of the set; what is in it is free. */
void block_insert(struct alloc *alloc, uint32_t id);
void block_remove(struct alloc *alloc, uint32_t id);
void block_insert_unmapped(struct alloc *alloc, uint32_t id);
void block_remove_unmapped(struct alloc *alloc, uint32_t id);
/* Merges a block that is in no set with neighbours in state `like` (free, or unmapped). Their
 * number and bytes in *merged. The record that stays, in no set. */
struct merged {
    int64_t count, bytes;
};
uint32_t block_merge(struct alloc *alloc, uint32_t id, enum block_state like,
                     struct merged *merged);
bool segments_reserve(struct alloc *alloc);
/* From reserved room: with one block, which is in no set. */
uint32_t segment_new(struct alloc *alloc, const struct segment *like);
void segment_recycle(struct alloc *alloc, uint32_t id);

/* ---- alloc.c ---- */
void engine_tell(struct alloc *alloc, const struct alloc_event *event);
/* A block that was given back and waited is free again. */
void engine_complete_waited(struct alloc *alloc, uint32_t id);

/* ---- ladder.c ---- */
/* Gets the block from the device. *refused: the device or the limit had no room, down to the last
 * rung; ERR_NOMEM without that is our own memory. */
int ladder_climb(struct alloc *alloc, struct search *search, bool *refused);
int ladder_release_cached(struct alloc *alloc);
void ladder_give_everything(struct alloc *alloc); /* blocks in it or not: only to end */

/* ---- expand.c ---- */
int expand_map(struct alloc *alloc, struct search *search);
/* Unmaps the whole pages of a free block. */
int expand_unmap(struct alloc *alloc, uint32_t block);
/* Gives up the segments of a pool in which no page is mapped. */
void expand_drop_idle(struct alloc *alloc, uint32_t pool);
void expand_give(struct alloc *alloc, uint32_t segment); /* for ladder_give_everything */

/* ---- events.c ---- */
int events_process_slow(struct alloc *alloc);
int events_wait_all(struct alloc *alloc);
int events_insert(struct alloc *alloc, uint32_t block);
void events_defer(struct alloc *alloc, uint32_t block);
int uses_add(struct alloc *alloc, uint32_t block, uint64_t stream);
void uses_drop(struct alloc *alloc, uint32_t block); /* and its events */
void uses_drop_all(struct alloc *alloc);             /* only to end */
/* Completes the frees whose events were reached. */
static inline int events_process(struct alloc *alloc)
{
    return alloc->waiting || alloc->deferred_first ? events_process_slow(alloc) : BASE_OK;
}

/* ---- pools.c ---- */
uint32_t pool_find(const struct alloc *alloc, uint64_t id); /* pool_count: there is none */
uint32_t pool_of_diversion(const struct alloc *alloc, uint64_t stream);
static inline uint32_t pool_of_request(const struct alloc *alloc, uint64_t stream)
{
    return alloc->begun_count ? pool_of_diversion(alloc, stream) : 0;
}
int pool_make(struct alloc *alloc, uint64_t id, uint32_t *at);
void pool_drop_if_empty(struct alloc *alloc, uint32_t pool);
/* Makes it if it is missing. set_count: no memory. */
uint32_t set_find_slow(struct alloc *alloc, uint32_t pool, bool small, uint64_t stream);
static inline bool set_is(const struct freeset *set, uint32_t pool, bool small, uint64_t stream)
{
    return set && set->stream == stream && set->pool == pool && set->small == small;
}
static inline uint32_t set_find(struct alloc *alloc, uint32_t pool, bool small, uint64_t stream)
{
    uint32_t last = alloc->last_set[small];
    if (last < alloc->set_count && set_is(alloc->sets[last], pool, small, stream))
        return last;
    return set_find_slow(alloc, pool, small, stream);
}
/* The sets of a half pool in order of streams: the one behind `last`, from NULL to NULL. */
struct freeset *set_next(const struct alloc *alloc, uint32_t pool, bool small,
                         const struct freeset *last);

/* ---- config.c ---- */
bool alloc_config_is_valid(const struct alloc_config *config);

/* ---- valid.c ---- */
bool engine_is_valid(const struct alloc *alloc);

static inline void engine_lock(struct alloc *alloc)
{
    if (!(alloc->flags & ALLOC_ONE_THREAD))
        lock_take(&alloc->lock);
}

static inline void engine_unlock(struct alloc *alloc)
{
    ENSURE_WHOLE(engine_is_valid(alloc));
    if (!(alloc->flags & ALLOC_ONE_THREAD))
        lock_give(&alloc->lock);
}

#endif
