/*
 * plan_read.h - what the recording of one try says: how much memory, where, whether a request was
 * refused; what grew between two tries; whether another card would do, by replay.
 *
 * Of several processes and devices the fullest counts, those of CUDA before all others: each rank
 * has a card of its own.
 *
 * A program that is ended after so many steps gets further behind the last of them in one try than
 * in another, so nothing behind it is looked at: not in a try that came to its end by itself
 * either.
 */
#ifndef TIDEMARK_VIEWER_PLAN_READ_H
#define TIDEMARK_VIEWER_PLAN_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "rehearsed.h"

#define SEEN_NONE INT64_MIN

struct plan_seen { /* all zero: nothing is known, nothing to free */
    bool found;    /* some process had memory somewhere */
    bool cuda;     /* on a device of CUDA */
    bool driven;   /* the driver of one gave memory, whoever has it */
    int64_t process, device;
    int64_t allocated, reserved; /* the highest of each; SEEN_NONE */
    int64_t need;                /* the smallest memory that survives its replay; SEEN_NONE */
    int64_t at_least;            /* likewise, up to a refused request and with it; SEEN_NONE */
    int64_t steps;               /* that have numbers */
    bool done;        /* all that were asked for came to their end, in each process that has any */
    bool cut;         /* and there is more behind them, which is not looked at */
    int64_t end;      /* the last event that is looked at, of that process */
    int64_t step;     /* of the peak or, where a request was refused, of that; SEEN_NONE */
    char *phase;      /* likewise; NULL */
    int64_t refusals; /* requests, of all processes */
    int64_t asked;    /* by the last of them; SEEN_NONE */
    int64_t unknown[REHEARSED_KINDS]; /* values that were read and not computed */
    char no_kernels[320];             /* why it would fail on the GPU all the same; "" */
};

/* `steps` that were asked for; 0: all. 0 or an error; plan_seen_clear in both cases. */
int plan_read(const char *path, int64_t steps, struct plan_seen *out);
void plan_seen_clear(struct plan_seen *seen);

struct plan_growth {
    int64_t bytes;        /* of the group that grew most; 0: none did */
    const char *category; /* NULL: nothing grew */
    char *site;           /* to be freed by plan_growth_clear; NULL: not known */
};
int plan_read_growth(const char *less, const struct plan_seen *less_seen, const char *more,
                     const struct plan_seen *more_seen, struct plan_growth *out);
void plan_growth_clear(struct plan_growth *growth);

/* The same run with so much memory for the allocator: whether it fits, and what it then reserves.
 */
int plan_read_fits(const char *path, const struct plan_seen *seen, int64_t memory, bool *fits,
                   int64_t *reserved);

#endif
