/*
 * model.h - a slow model of PyTorch's caching allocator, to compare allocator/ with.
 *
 * Written from the rules alone, by somebody who has not seen allocator/. It has arrays in address
 * order and linear scans, nothing else: whoever doubts a rule can read it here. Its face is that of
 * alloc.h with another prefix; it also reports the same events.
 *
 * Where the rules are silent the model decided; most are marked "Choice" where they are made. Three
 * were changed afterwards to what the allocator was seen to do, because either is within the rules:
 * small before large in 4, what hides what in 5, ranges of private pools in 7.
 *  1. Events of several streams are gone through by ascending stream handle.
 *  2. The changes of inactive_split at one completed free are one net change, for sums and peak.
 *  3. FREE with `waits` false is the whole free: no IDLE follows it.
 *  4. Cached segments go back in the order of the free set: (stream, size, address), the expandable
 *     ones of a pool after its others; freeable private pools in any order, small before large.
 *  5. Rung 3 gives back unsplit blocks only. The one block is the smallest that is large enough,
 *     lowest address among equals; none, if what comes first in this order cannot go (split or
 *     expandable). Among several of one size the highest address goes first. What was given back
 *     stays given back if the sum falls short.
 *  6. The excess over the collection threshold is against threshold * limit as a whole number; a
 *     pass of the collection has one mean age, that at its beginning, and ends only at its end.
 *     A begun pool stops neither collection nor rung 3. The mean is over all unsplit free blocks,
 *     a wholly mapped and free expandable range among them, though that does not go.
 *  7. A range for an expandable segment is 9/8 of the device rounded up to whole pages; a request
 *     that is larger than it fails without reserving one. A reserved range whose first map failed
 *     stays, but goes when its private pool is emptied. Its pages are as large as the setting said
 *     when it was reserved.
 *  8. Frees deferred by a begun pool are handled by the first malloc or empty_cache without one,
 *     before anything is asked. An empty_cache in a begun pool counts no synchronisation.
 *  9. Oversize is judged by the max_split_size of the moment, also when the block goes.
 * 10. The OOM event has the device's free bytes in `address` (not compared). Of a refusal,
 *     `allocated` is allocated_bytes, `largest_free` that of the request's pool, class and stream.
 *     A request of 2^60 bytes and more changes nothing, counts nowhere, and tells no observer.
 * 11. Another trouble of the device ends the request at once; a retry that it ended was counted.
 */
#ifndef TIDEMARK_TESTS_MODEL_H
#define TIDEMARK_TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alloc.h"

#define MODEL_USERS 8

/* Invariants: LIVING and AWAITING blocks are active; used_by is empty for FREE and UNMAPPED ones;
 * an AWAITING block has streams to wait for, or events, or is held, never two of them; born is the
 * count of searches when it was put among the free ones. */
struct model_block {
    uint64_t address, size, requested;
    enum alloc_block_state state;
    uint64_t used_by[MODEL_USERS]; /* other streams that were recorded on it */
    unsigned users;
    unsigned events; /* outstanding */
    bool held;       /* until it is settled */
    uint64_t born;
};

/* Invariants: blocks tile the segment in address order; no two neighbours are both FREE or both
 * UNMAPPED; only an expandable one has UNMAPPED blocks. */
struct model_segment {
    uint64_t address, size, stream, pool, page;
    bool small, expandable;
    struct model_block *blocks;
    size_t count, cap;
};

/* Outstanding events in the order in which they were recorded; a stream's are its FIFO. */
struct model_event {
    uint64_t stream, event, block;
};

/* A private pool; uses 0: its cached segments may go. */
struct model_pool {
    uint64_t id;
    unsigned uses;
};

struct model_begun {
    uint64_t id;
    bool (*accepts)(void *self, uint64_t stream);
    void *self;
};

struct model {
    const struct alloc_device *device;
    struct alloc_observer observer;
    struct alloc_config config;
    uint64_t limit;
    uint64_t total;    /* bytes that the device gave and has not back */
    uint64_t searches; /* of the shared large pool while collection is on: the clock of ages */
    struct alloc_stats stats;
    struct model_segment *segments; /* in address order */
    size_t segment_count, segment_cap;
    struct model_event *events;
    size_t event_count, event_cap;
    uint64_t *deferred; /* addresses of blocks freed while a pool was begun */
    size_t deferred_count, deferred_cap;
    struct model_pool *pools;
    size_t pool_count, pool_cap;
    struct model_begun *begun; /* newest last */
    size_t begun_count, begun_cap;
};

/* A block, until the heap changes. */
struct model_spot {
    struct model_segment *segment; /* NULL = none */
    size_t at;
};

/* A request on its way. */
struct model_request {
    uint64_t asked, size, segment_size; /* size: rounded */
    uint64_t stream, pool;
    bool small;
};

/* ---- the face (model.c) ---- */

void model_open(struct model *model, const struct alloc_device *device,
                const struct alloc_config *config, uint64_t limit,
                const struct alloc_observer *observer);
void model_close(struct model *model);
int model_malloc(struct model *model, uint64_t bytes, uint64_t stream, uint64_t *address,
                 struct alloc_refusal *refusal);
int model_give(struct model *model, uint64_t address);
int model_record_stream(struct model *model, uint64_t address, uint64_t stream);
int model_give_awaiting(struct model *model, uint64_t address);
int model_settle(struct model *model, uint64_t address);
int model_empty_cache(struct model *model);
uint64_t model_block_size(struct model *model, uint64_t address);
uint64_t model_base(struct model *model, uint64_t address, uint64_t *size);
int model_pool_begin(struct model *model, uint64_t id, bool (*accepts)(void *self, uint64_t stream),
                     void *self);
int model_pool_end(struct model *model, uint64_t id);
int model_pool_release(struct model *model, uint64_t id);
bool model_is_valid(const struct model *model);

/* ---- sizes (model_round.c) ---- */

uint64_t model_round(const struct alloc_config *config, uint64_t bytes);
uint64_t model_segment_size(const struct alloc_config *config, uint64_t rounded);

/* ---- segments and blocks (model_heap.c) ---- */

struct model_block *model_block_at(struct model_spot spot);
struct model_spot model_find(struct model *model, uint64_t address);
/* The first free block of the pool in the order (stream, size, address) that is not before the
 * given one. */
struct model_spot model_first_free(struct model *model, uint64_t pool, bool small, uint64_t stream,
                                   uint64_t size, uint64_t address);
struct model_segment *model_add_segment(struct model *model, const struct model_segment *segment,
                                        enum alloc_block_state state);
void model_drop_segment(struct model *model, struct model_segment *segment);
/* Cuts the block in two, both of its state; the front has `size` bytes. */
void model_cut(struct model_spot spot, uint64_t size);
/* Merges with neighbours of the same state (FREE or UNMAPPED): the survivor; *before and *after are
 * the bytes that were absorbed on each side (each may be NULL). */
struct model_spot model_merge(struct model_spot spot, uint64_t *before, uint64_t *after);
void model_set_free(struct model *model, struct model_spot spot);
uint64_t model_clock(const struct model *model, const struct model_segment *segment);

/* ---- statistics (model_stats.c) ---- */

void model_raise(struct alloc_stat three[ALLOC_CLASSES], bool small, uint64_t by);
void model_lower(struct alloc_stat three[ALLOC_CLASSES], bool small, uint64_t by);
void model_raise_one(struct alloc_stat *stat, uint64_t by);
void model_lower_one(struct alloc_stat *stat, uint64_t by);
void model_reset_peaks(struct model *model);
void model_reset_accumulated(struct model *model);
void model_tell(struct model *model, enum alloc_event_kind kind, uint64_t address, uint64_t size,
                uint64_t requested, const struct model_segment *of, bool waits);

/* ---- freeing, streams and events (model_free.c) ---- */

void model_complete_free(struct model *model, uint64_t address);
int model_record_events(struct model *model, uint64_t address);
int model_process_events(struct model *model, bool wait);

/* ---- what comes from and goes back to the device (model_device.c) ---- */

int model_attempt(struct model *model, const struct model_request *request, bool retry,
                  struct model_spot *found);
void model_collect(struct model *model);
bool model_release_available(struct model *model, const struct model_request *request);
int model_release_cached(struct model *model);

/* ---- expandable segments (model_expand.c) ---- */

int model_expand(struct model *model, const struct model_request *request,
                 struct model_spot *found);
void model_unmap(struct model *model, uint64_t address);
/* How large a free block counts for the search: with the unmapped space behind it. */
uint64_t model_growable(struct model_spot spot);

#endif
