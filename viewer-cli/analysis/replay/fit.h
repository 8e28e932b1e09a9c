/*
 * fit.h - how much memory a recorded process needs, and what other settings would change.
 *
 * Everything is a replay (replay.h) with so much memory: what the device has for the allocator,
 * without what is not the allocator's (the context, libraries, other processes).
 */
#ifndef TIDEMARK_ANALYSIS_FIT_H
#define TIDEMARK_ANALYSIS_FIT_H

#include "replay.h"

#define FIT_NONE INT64_MIN
#define FIT_STEP (UINT64_C(2) << 20) /* every segment is a multiple of it */

/* Settings that every run is compared with; "" is the default. */
enum { FIT_TRIED = 6 };
extern const char *const fit_tried[FIT_TRIED];

struct fit {
    struct replay_trace trace;
    struct replay_scratch scratch;
    struct alloc_config recorded; /* default where the record does not say */
    uint64_t aside;               /* of a device's memory, what others have: not in what is tried */
    char conf_trouble[160];       /* why the recorded settings cannot be read; "" = they can */
    struct replay_outcome as_recorded;
    bool compared;    /* the addresses are a caching allocator's: matches mean something */
    uint64_t least;   /* what was asked for and not given back, at its highest: less cannot do */
    uint64_t replays; /* so far */
};

/* Loads and replays the recorded settings. 0 or an error; fit_clear in both cases. */
int fit_begin(struct db *db, int64_t process, int64_t device, struct fit *out);
/* The same of what was until event `last`. */
int fit_begin_until(struct db *db, int64_t process, int64_t device, int64_t last, struct fit *out);
/* For a request that was refused in event `seq`: all before it, and that request as the last one.
 * Nothing is replayed yet: as_recorded stays empty. As fit_begin otherwise. */
int fit_begin_refused(struct db *db, int64_t process, int64_t device, int64_t seq, uint64_t bytes,
                      struct fit *out);
void fit_clear(struct fit *fit);
/* Parts of 1; -1 = there is nothing to compare. */
double fit_address_match(const struct fit *fit);
double fit_segment_match(const struct fit *fit);

struct fit_need {
    int64_t peak_allocated, peak_reserved; /* when as much as is asked for can be had */
    int64_t smallest; /* memory that survives; one step less does not; FIT_NONE: none was found */
    int64_t retries;  /* with that, the cache went back so many times */
    int64_t segments; /* taken from the device, with that */
    bool anew;        /* what lived before the record was asked for again */
};

/* What is tried: segments lie where they did, as far as they are of the sizes recorded, so that
 * settings make the difference and not luck; and what lived before the record is asked for again
 * where these settings would have laid it elsewhere. */
struct replay_setup fit_setup(const struct fit *fit, const struct alloc_config *config,
                              uint64_t memory);

/* `ceiling`: the memory under which garbage collection is looked at for the peak; 0 = none.
 * Survival is not strictly monotone in the memory: `smallest` is the one that bisection found,
 * between what the program asked for at once and its peak. */
int fit_measure(struct fit *fit, const struct alloc_config *config, uint64_t ceiling,
                struct fit_need *out);

/* ---- where a request was made ---- */

struct fit_place {
    int64_t allocation, at_ns, step; /* FIT_NONE */
    char *phase, *site;              /* NULL */
};

int fit_place_read(struct db *db, const struct replay_trace *trace, uint32_t block,
                   struct fit_place *out);
void fit_place_clear(struct fit_place *place);

/* ---- the first request that would be refused ---- */

struct fit_pin {               /* living blocks beside the largest holes, by who asked for them */
    char *site;                /* NULL = not known */
    char *phase;               /* where one of them was born, NULL */
    int64_t step;              /* FIT_NONE */
    int64_t site_id, phase_id; /* FIT_NONE */
    int64_t blocks, bytes;
    int64_t free_bytes; /* beside them, in their segments */
    unsigned holes;     /* a bit for each hole that is counted in it */
};

struct fit_refusal {
    bool before;                     /* what lived before the record does not fit already */
    int64_t allocation, at_ns, step; /* FIT_NONE */
    char *phase, *site;              /* NULL */
    struct alloc_refusal why;
    int64_t free_bytes, largest_hole; /* in segments of its kind that hold blocks, of any stream */
    struct fit_pin *pins;             /* most bytes of free memory first */
    size_t pin_count, pin_cap;
};

struct fit_verdict {
    bool fits;
    int64_t peak_allocated, peak_reserved, retries;
    struct fit_refusal refusal; /* if it does not */
};

int fit_try(struct fit *fit, struct db *db, const struct alloc_config *config, uint64_t memory,
            struct fit_verdict *out);
void fit_verdict_clear(struct fit_verdict *verdict);

#endif
