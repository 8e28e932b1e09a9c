/*
 * replay.h - what one process did with the memory of one device, and the same done again by the
 * caching allocator under other settings.
 *
 * A trace is a row of operations in the order of the record. A replay is given sizes, streams,
 * frees and, where the recorded settings are replayed, the addresses of segments in their order;
 * never the address of a block. So the addresses that come out can be compared with the recorded
 * ones: as many as are equal, so far the replay can be believed.
 *
 * Words: a block's number is its place among the blocks of the trace, by the seq of its birth. What
 * lived before the record began is adopted: the first `adopted` numbers. Its order of births is not
 * known, so it is taken over as it lay, or asked for again in the order of addresses where other
 * settings would have laid it differently.
 */
#ifndef TIDEMARK_ANALYSIS_REPLAY_H
#define TIDEMARK_ANALYSIS_REPLAY_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alloc.h"
#include "db.h"

#define REPLAY_MOST (UINT64_C(1) << 50) /* bytes that a block, a segment or a device can have */

enum replay_kind {
    REPLAY_ALLOC,
    REPLAY_FREE,
    REPLAY_GIVE,  /* given back, but another stream still uses it: an IDLE may follow */
    REPLAY_IDLE,  /* that use is over */
    REPLAY_EMPTY, /* segments went back to the device, and no want of memory was the cause */
    /* Where recorded settings are replayed only: */
    REPLAY_SHORT, /* the device refused the next segment at first */
    REPLAY_FULL   /* a request was refused after all: no block came of it, but the cache went */
};

struct replay_op {
    uint64_t size;  /* ALLOC: what is asked for */
    uint32_t block; /* its number; of EMPTY, SHORT and FULL: of the next ALLOC */
    uint16_t heap;  /* ALLOC: index into heaps */
    uint8_t kind;   /* enum replay_kind */
    uint8_t zero;
};
static_assert(sizeof(struct replay_op) == 16, "ten million of them are to fit in memory");

struct replay_block {
    int64_t seq;
    uint64_t address; /* as recorded: to compare with, never to replay */
};

struct replay_heap {
    int64_t id; /* heap.id */
    uint64_t stream, pool;
    /* What the replay calls the stream. A private pool is replayed as a stream of its own: no block
     * moves between pools any more than between streams. */
    uint64_t name;
};

struct replay_segment {
    int64_t seq; /* when it was told */
    int64_t
        first; /* when it was there at the latest: a block of it may be older than the telling */
    int64_t free_seq; /* INT64_MAX = it stayed */
    uint64_t address, size;
    uint16_t heap;
};

/* A range of addresses of expandable segments, as far as it was seen mapped. When its last page was
 * taken out, the range is given back: who reserves the same addresses later has another one. So a
 * range is named by its place among the ranges, never by its address. */
struct replay_range {
    int64_t seq; /* of its first page */
    uint64_t address, end;
    uint64_t mapped; /* bytes at the end of the record; 0 = it was given back */
    uint16_t heap;
    bool small;   /* pages of 2 MiB, else of 20 MiB */
    bool adopted; /* before the record */
};

struct replay_mapping {
    int64_t seq;
    uint64_t address, size;
    uint16_t heap;
    bool mapped; /* else taken out */
};

enum replay_state { REPLAY_DEAD, REPLAY_LIVING, REPLAY_AWAITING };

struct replay_adopted {
    uint64_t size, requested; /* requested == size where it is not known */
    uint16_t heap;
    uint8_t state; /* enum replay_state, as the record begins */
};

enum replay_sizes { REPLAY_REQUESTED, REPLAY_BLOCK_SIZES, REPLAY_BOTH };

/*
 * Invariants (replay_trace_is_valid):
 *   blocks, mappings: seq ascends; of blocks strictly; segments: `first` does
 *   a number >= adopted has one ALLOC, in the order of numbers; one below has none
 *   a FREE or GIVE comes after the ALLOC, at most one for each block; an IDLE after its GIVE
 *   adopted_segments are those with first <= rebuilt_until, as are the adopted blocks
 */
struct replay_trace {
    struct replay_op *ops;
    size_t op_count, op_cap;
    struct replay_block *blocks;
    size_t block_count, block_cap;
    struct replay_adopted *adopted_blocks;
    size_t adopted, adopted_cap;
    struct replay_heap *heaps; /* by id */
    size_t heap_count, heap_cap;
    struct replay_segment *segments;
    size_t segment_count, segment_cap, adopted_segments;
    struct replay_mapping *mappings;
    size_t mapping_count, mapping_cap;
    struct replay_range *ranges;
    size_t range_count, range_cap;
    uint64_t range_room; /* smallest distance of two that were there at once; 0 = there were none */
    size_t without_request; /* blocks whose size stands for their request */
    uint64_t living_adopted, living_adopted_bytes;
    uint64_t refusals; /* recorded: requests that nothing came of */
    bool cpu;
    int64_t rebuilt_until; /* 0 = the record begins with nothing */
    uint64_t total;        /* of the device; 0 = not known */
    uint64_t limit;        /* recorded, the last one; 0 = none */
    uint64_t part_limit;   /* per_process_memory_fraction of the device; 0 = none */
    char *conf;            /* recorded, the last one; NULL = not known */
    bool settings_changed; /* conf or limit was another before, while it ran */
    char *allocator;       /* likewise */
    char *torch;           /* torch.__version__; NULL = not known */
};

/* 0 or an error; replay_trace_clear in both cases. */
int replay_load(struct db *db, int64_t process, int64_t device, struct replay_trace *out);
/* The same up to event `last`, and with it. */
int replay_load_until(struct db *db, int64_t process, int64_t device, int64_t last,
                      struct replay_trace *out);
/* The same up to event `seq`, which refused so many bytes: that request is the last operation.
 * ERR_NOTFOUND: there is nothing to ask it of. */
int replay_load_refused(struct db *db, int64_t process, int64_t device, int64_t seq, uint64_t bytes,
                        struct replay_trace *out);
void replay_trace_clear(struct replay_trace *trace);
/* The recorded settings, read by the policy of the recorded release; of the newest where that is
 * not known. The default without settings. ERR_ARG with a sentence in `why`, which may be NULL. */
int replay_settings(const struct replay_trace *trace, struct alloc_config *out, char *why,
                    size_t why_size);
bool replay_trace_is_valid(const struct replay_trace *trace);
enum replay_sizes replay_sizes(const struct replay_trace *trace);
/* Addresses of a caching allocator with this policy, as far as the record says whose they are, and
 * the segments that they lie in: they can be compared. */
bool replay_has_addresses(const struct replay_trace *trace);

/* ---- doing it again ---- */

/* What became of each request: a word made of its address, of the size of its block and of what the
 * allocator held then; of a refusal, too. Where two replays of a trace part, words differ. */
struct replay_marks {
    uint64_t *words; /* one for each block */
    bool compare;    /* with another replay's; else they are written */
    uint32_t first;  /* block with another word; UINT32_MAX = none so far */
};

struct replay_setup {
    const struct alloc_config *config;
    uint64_t memory; /* that the device can give; 0 = as much as is asked for */
    uint64_t limit; /* that the allocator sets itself, and its garbage collection looks at; 0 = what
                     * the settings say */
    uint64_t whole; /* the device with what others have of it; 0 = as recorded */
    bool recorded;  /* as it was: the device is full where it was, and nobody dies of a refusal */
    bool addresses; /* segments are where they were, as far as they are of the same sizes */
    bool anew;      /* adopted blocks are asked for again */
    struct replay_marks *marks; /* NULL: nobody asks */
};

struct replay_outcome {
    bool survived;     /* no request was refused */
    size_t refused_op; /* the first refusal */
    uint32_t refused;  /* its block; UINT32_MAX = what lived before the record has no room */
    struct alloc_refusal refusal;
    uint64_t refusals; /* all of them: more than one with recorded settings only */
    uint64_t ops;      /* done */
    int64_t peak_allocated, peak_active, peak_requested, peak_reserved;
    uint32_t peak_block; /* the block for which reserved grew to its peak; UINT32_MAX = none */
    int64_t retries, segments_made;
    uint64_t compared, equal;                   /* addresses of blocks that are not adopted */
    uint64_t segments_recorded, segments_equal; /* pieces of expandable segments too */
    uint64_t segments_taken;
};

/* Room for one replay after another of the same trace. All zero at first. */
struct replay_scratch {
    uint64_t *addresses; /* of each block, as replayed; 0 = not living */
    size_t count;
};

/* Called at the first refusal that ends a replay, with the allocator as it was then. */
struct replay_witness {
    void *self;
    int (*refused)(void *self, const struct replay_trace *trace, struct alloc *alloc,
                   const uint64_t *addresses, const struct alloc_refusal *why);
};

/* 0 or an error; a refusal is none. `witness` may be NULL. */
int replay_run(const struct replay_trace *trace, const struct replay_setup *setup,
               struct replay_scratch *scratch, const struct replay_witness *witness,
               struct replay_outcome *out);
/* Room for the blocks of that trace; what was in it is lost. */
int replay_scratch_fit(struct replay_scratch *scratch, const struct replay_trace *trace);
void replay_scratch_clear(struct replay_scratch *scratch);

#endif
