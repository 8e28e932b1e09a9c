/*
 * rehearsed.h - how far a recording is that of a rehearsal: what stood in for the GPU, which values
 * were read that nobody computed, and how much of the highest use of a GPU's memory is a model.
 *
 * What a rehearsal's figures are made of:
 *   real       every block and segment of the program's allocators, cuBLAS' workspaces among them,
 *              for PyTorch allocates those by a rule of its own
 *   modelled   the CUDA context, taken off the free memory: measured on such a GPU by somebody, or
 *              computed by a rule (profile.h). It is in no block. Likewise some of what libraries
 *              want for themselves, by a formula that was fitted to one GPU and one version of the
 *              library: blocks of the program's allocator, which are counted
 *   not known  what a library was asked for and the stand-in does not have: taken as 0, so it is in
 *              no figure, and only counted
 *
 * Invariants: a recording that is_one has its gpu; memory and context are REHEARSED_NONE, and
 * context_from is "", where it was made before they were written down. Of a share, modelled <=
 * peak.
 */
#ifndef TIDEMARK_ANALYSIS_REHEARSED_H
#define TIDEMARK_ANALYSIS_REHEARSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"

#define REHEARSED_NONE INT64_MIN
#define REHEARSED_ALL (-1) /* every process */
#define REHEARSED_PLACES 3 /* are named; of the others the number is told */

struct rehearsed {
    bool is_one;
    char gpu[200]; /* in words */
    int64_t memory, context;
    bool context_measured;
    char context_from[160]; /* "measured: ..." or "computed: ..." */
    char targets[96];       /* that the program was built for (rehearsal/needs/fatbin.h); "" */
    char no_kernels[320];   /* why the run would fail on the GPU, whatever its memory; "" */
};

int rehearsed_read(struct db *db, struct rehearsed *out);
/* The context was measured on such a GPU. */

/* Whether two recordings are of different GPUs, as far as both say: what was rehearsed, or the name
 * of the first device. The texts are what each says. */
struct rehearsed_gpus {
    bool differ;
    char texts[2][200];
};

int rehearsed_compare(struct db *const dbs[2], struct rehearsed_gpus *out);

/* Values that were read and not computed, by the marks of the stand-ins
 * (profiler/guest/stand_in.h). */
enum rehearsed_kind {
    REHEARSED_SIZE,    /* a size of memory came from it, and is taken as 0 */
    REHEARSED_LIBRARY, /* what a library wants from the program's allocator, taken as 0 */
    REHEARSED_OUTSIDE, /* what a library takes by itself, beside the program's allocator */
    REHEARSED_NUMBER,  /* a whole number for the program */
    REHEARSED_KINDS,
    REHEARSED_LOST = REHEARSED_KINDS, /* of these: it was known, and gave way to newer ones */
    REHEARSED_MODELLED, /* what a library wants from the program's allocator, by a formula */
    REHEARSED_TOLD
};

struct rehearsed_unknown {
    int64_t reads, places; /* a place: an operation at a call site */
    char text[600];        /* of the first places: "nonzero (data.py:31), unique (data.py:40)" */
};

int rehearsed_unknown_read(struct db *db, int64_t process, enum rehearsed_kind kind,
                           struct rehearsed_unknown *out);
/* How many convolutions had their kernels tried by cudnn.benchmark, with a block by a formula. */
int rehearsed_trials(struct db *db, int64_t *count);
/* How often each kind was read. */
int rehearsed_count(struct db *db, int64_t process, int64_t counts[REHEARSED_KINDS]);

/* Of the GPU that had most in use: the highest that its process had reserved (allocated, where no
 * source says what was reserved) and the context. */
struct rehearsed_share {
    bool found;
    int64_t process, device;
    int64_t peak, modelled;
    char device_text[32];
    bool others; /* there are more GPUs or processes than this one */
};

int rehearsed_share_read(struct db *db, const struct rehearsed *rehearsed,
                         struct rehearsed_share *out);

#endif
