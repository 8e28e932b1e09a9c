/*
 * levers.h - what would lower a peak, and by how much.
 *
 * Each lever is a change to the lives of blocks in all steps that were asked about, or as many as
 * there is room for (levers_step.h); its bytes are the recorded highest level less the one that
 * results, so a lever is worth what the next highest point, in whatever step, leaves of it. What
 * the program does before its first step bounds that from below: no lever of a step reaches there,
 * but for one that has other things made there, too.
 * Levers of settings change nothing of what is allocated; their bytes are of reserved, by replay of
 * the whole recording.
 *
 * What makes a lever apply is told at each function.
 *
 * Invariants (levers_is_valid): first those that leave the training's numbers as they are, then
 * what some of these are together, then those that change the numbers; in each, by bytes, then by
 * reserved bytes, largest first; what is joined changes no numbers; every one takes at least a
 * hundredth off the peak, or off reserved; none takes more than the peak has.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_H
#define TIDEMARK_ANALYSIS_LEVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "peak.h"

#define LEVERS_NONE GROUP_NONE

enum lever_kind {
    LEVER_HELD,
    LEVER_GRADIENTS_TO_NONE,
    LEVER_ZERO_GRAD_EARLIER,
    LEVER_BUCKET_VIEW,
    LEVER_FLATTEN_PARAMETERS,
    LEVER_RESHARD,
    LEVER_FULLY_SHARD,
    LEVER_CHECKPOINT,
    LEVER_CHECKPOINT_HALF,
    LEVER_NO_CACHE,
    LEVER_FINISHED_REQUEST,
    LEVER_DETACH, /* before the next: without it a second backward raises */
    LEVER_RETAIN_GRAPH,
    LEVER_FUSED_OPERATION,
    LEVER_FUSED_ATTENTION,
    LEVER_CHANNELS_LAST,
    LEVER_NO_BENCHMARK,
    LEVER_BOUND,
    LEVER_NO_GRAD,
    LEVER_FIRST_STEP,
    LEVER_EVALUATION,
    LEVER_FUSED_OPTIMIZER,
    LEVER_OPTIMIZER_IN_BACKWARD,
    LEVER_WORKSPACE,
    LEVER_LIBRARY_WORKSPACE,
    LEVER_EIGHT_BIT_STATES,
    LEVER_NO_STATES,
    LEVER_OFFLOAD_STATES,
    LEVER_OFFLOAD_SHARDS,
    LEVER_SHARD_STATES,
    LEVER_CHUNKED_LOSS,
    LEVER_HALF_BATCH,
    LEVER_HALF_PRECISION,
    LEVER_MIXED_PRECISION,
    LEVER_AUTOCAST,
    LEVER_EXPANDABLE_SEGMENTS,
    LEVER_MAX_SPLIT_SIZE,
    LEVER_EMPTY_CACHE,
    LEVER_TOGETHER,
    LEVER_KINDS
};

struct lever {
    enum lever_kind kind;
    bool at_most;       /* the program would also do other work, or not all is known */
    bool estimated;     /* computed, not only replayed: it may come out a little otherwise */
    bool changes;       /* the numbers that the training computes */
    bool elsewhere;     /* on another device, which the run did not have */
    bool joined;        /* it is one of those that are tried all together */
    int64_t bytes;      /* off allocated at its highest */
    int64_t reserved;   /* off reserved at its highest; LEVERS_NONE */
    bool shared;        /* several ranks can make it: */
    int64_t over_ranks; /* off the highest of all, where all do; */
    bool over_at_most, over_estimated; /* of that figure */
    char over_phase[32];               /* where another one is the highest then; "": none is */
    int64_t alive;     /* what it is about held so much at the peak; 0 = it is about no blocks */
    int64_t held;      /* of that, what a variable holds */
    int64_t site;      /* LEVERS_NONE */
    char *site_text;   /* as view site_short; NULL */
    char *text;        /* what to do */
    int64_t next_step; /* where the highest point is then; LEVERS_NONE: in no step, or not known */
    char *next_phase;  /* NULL */
    size_t name_at;    /* where the site's name begins in it; 0 = it is not there */
    size_t names_at;   /* of LEVER_TOGETHER: likewise, the names of those that it joins */
};

struct levers_added { /* by the backward that the peak is in */
    int64_t bytes, blocks;
    int64_t each; /* bytes asked for */
    char *like;   /* sites of what forward or loss made of that size; NULL */
    int likes;    /* how many these are */
};

enum levers_state { LEVERS_READY, LEVERS_NO_STEP, LEVERS_TOO_LARGE };

struct levers {
    enum levers_state state; /* why those of a step are not there */
    int64_t peak;            /* that they are off */
    int64_t floor;           /* the highest before the first step; 0 = nothing */
    bool whole;              /* they were tried on all steps from the first one on */
    size_t tried;            /* changes whose worth was looked at */
    int64_t frozen;          /* bytes of parameters that have no gradient, where others have */
    int64_t simulated;       /* reserved by replay with a policy that was not the recorded one;
                                0 = its addresses came out as recorded, or there was none */
    bool infers;             /* the peak is in a forward of a program that does not train, */
    int64_t cached;          /* and so much of it is keys and values, in a cache of transformers */
    bool unsettled; /* a replay did not come out as recorded: nothing is said of reserved */
    struct lever *levers;
    size_t count, cap;
    struct levers_added *added; /* the largest, largest first */
    size_t added_count, added_cap;
};

/* 0 or an error; levers_clear in both cases. `bounded`: the peak is that of some steps only. */
int levers_read(struct db *db, const struct peak *peak, bool bounded, struct levers *out);
void levers_clear(struct levers *levers);
bool levers_is_valid(const struct levers *levers);

/* What each takes off the highest of the ranks, `levers` among them, where each rank makes that
 * change. A rank on which it was not found, or saves less than a hundredth, stays as high. */
void levers_over_ranks(struct levers *levers, const struct levers *const *ranks, size_t count);
/* Of several ranks what it takes off the highest of them, and how sure that is; else its own. */
int64_t levers_worth(const struct lever *lever);
bool levers_is_bound(const struct lever *lever);
bool levers_is_estimate(const struct lever *lever);

/* The `most` that a person should see first, by bytes: those that save most, with those that change
 * the training's numbers behind the others, and among them one that is free, if any is. Of a
 * refused request, of which `missing` bytes were, LEVERS_NONE else, that one does not take the
 * place of a change that is enough if it is not. Returns how many there are. */
size_t levers_best(const struct levers *levers, int64_t missing, size_t most,
                   const struct lever **best);

const char *lever_name(enum lever_kind kind); /* csv and json */

#endif
