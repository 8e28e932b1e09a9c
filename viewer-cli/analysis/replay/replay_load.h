/*
 * replay_load.h - parts of loading a trace, between replay_load.c and its neighbours.
 */
#ifndef TIDEMARK_ANALYSIS_REPLAY_LOAD_H
#define TIDEMARK_ANALYSIS_REPLAY_LOAD_H

#include "replay.h"

#define REPLAY_NO_HEAP UINT16_MAX

/* Index of heap.id, or REPLAY_NO_HEAP. *last is where the one before was found. */
uint16_t replay_find_heap(const struct replay_trace *trace, int64_t id, uint16_t *last);

/* Addresses and sizes that no device has: such rows are left out. */
bool replay_cannot_be(uint64_t address, uint64_t size);

/* Segments and mappings; after heaps and settings. */
int replay_load_segments(struct db *db, int64_t process, int64_t device,
                         struct replay_trace *trace);

/* A block with that seq says that it is in that segment; segments are by seq. */
void replay_use_segment(struct replay_trace *trace, int64_t segment, int64_t seq);
/* By first use, once all blocks were seen. */
void replay_sort_segments(struct replay_trace *trace);
/* The ranges of mappings; after the blocks. */
int replay_find_ranges(struct replay_trace *trace);

/*
 * Segments that came and went, in the order of the record. Why they went is not recorded: the
 * program emptied the cache; or the device had no more, and what was cached went back before the
 * request was granted or refused. It is taken for the second where a request was refused there, or
 * where a segment was taken after some had gone that could not have been had before: by the limit,
 * or else by nine tenths of the device. What the allocator does of itself again, under a limit that
 * the replay has too and by its garbage collection, is left to it.
 */
struct replay_return {
    int64_t seq;
    uint64_t size;
    enum replay_what { RETURN_WENT, RETURN_TAKEN, RETURN_REFUSED } what;
};

struct replay_returns {
    struct replay_return *items; /* by seq */
    size_t count, cap, next;
    uint64_t reserved; /* before the next one */
    uint64_t most;     /* what could be had; UINT64_MAX = not known */
    bool limited;      /* by a limit, which the replay has too */
    bool collects;     /* garbage collection was on */
    uint64_t refused;  /* requests */
};
int replay_returns_load(struct db *db, int64_t process, int64_t device,
                        const struct replay_trace *trace, struct replay_returns *out);
void replay_returns_clear(struct replay_returns *returns);
/* What happened at or before event `seq`, and after the one before: true with an EMPTY, SHORT or
 * FULL. */
bool replay_returns_before(struct replay_returns *returns, int64_t seq, enum replay_kind *what);

#endif
