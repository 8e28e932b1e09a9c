/*
 * clock.h - how the clocks of recordings fit together. Pure: it sees no database.
 *
 * A meeting is a collective that ranks in several recordings took part in: nobody leaves it before
 * everybody has come, so all leave at about the same time. Of each recording it has the time at
 * which the first of its ranks left. What is called alike (name, step, ordinal) is the same meeting
 * everywhere.
 *
 * Of two recordings that share three meetings or more, the differences of these times, over time,
 * lie about a line: its height is the offset, its slope the drift. The line is that of Theil and
 * Sen, the median of all slopes and then of all heights, which meetings that were matched wrongly
 * or left late do not move as long as they are less than three in ten. A drift that is less than
 * three times its own error, or that comes to less over all meetings than six times what half of
 * them are off, is none: a short run cannot tell.
 *
 * The error that is told is how far a meeting is from the line, at most, in 19 of 20 meetings, and
 * what the error of the drift adds at that end of the recording that is farther from the meetings.
 * What cannot be seen this way is a node that leaves all meetings late by the same time.
 *
 * Kinds of meetings come from the best to the worst, but what is taken is the kind with the
 * smallest error. A recording is aligned to those that are aligned already; errors add up. Where
 * none of the rest meets them the next one is aligned by its calendar, and others to it.
 *
 * Invariants (clock_is_valid): drift is within CLOCK_DRIFT, so that aligned time never runs
 * backwards; the first recording has offset and drift 0.
 */
#ifndef TIDEMARK_MERGE_CLOCK_H
#define TIDEMARK_MERGE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"
#include "merge.h"

#define CLOCK_MOST 4096 /* meetings of a kind that are kept of a recording */
#define CLOCK_FIT 400   /* that a line is laid through */
#define CLOCK_LEAST 3
#define CLOCK_LINE                                                                                 \
    8 /* meetings: of fewer, none of which are far from a line, drift is not known                 \
       */
#define CLOCK_DRIFT 1e-3      /* no clock that is in order is as far off */
#define CLOCK_UNSEEN 5e-4     /* nor does a kernel correct one by more than that */
#define CLOCK_SAME_NS 1000000 /* two readings of one calendar by one clock */

enum clock_kind {
    CLOCK_KERNEL,   /* NCCL's kernels, as the device timed them */
    CLOCK_NAMED,    /* phases and marks of the program's own, called after a collective */
    CLOCK_NCCL,     /* NCCL's ranges on the host: that it was asked for */
    CLOCK_BACKWARD, /* ends of backward, where DDP or FSDP share gradients in it */
    CLOCK_KINDS
};

/* Those with the smallest hashes of their names, so that all recordings keep the same ones. */
struct clock_meetings {
    struct map by_name; /* hash of what it is called -> time */
    uint64_t mask;      /* only hashes with these bits all zero are kept */
};

struct clock_side {           /* a recording */
    const char *host;         /* NULL */
    bool monotonic, calendar; /* its zero on these clocks is known: */
    int64_t monotonic_ns, real_ns;
    int64_t run_ns; /* how long it is */
    int job;        /* only recordings of one job meet */
    struct clock_meetings meetings[CLOCK_KINDS];
    /* Found by clock_align: */
    bool aligned;
    enum merge_way way;
    enum clock_kind kind;
    int64_t count;    /* meetings */
    int64_t error_ns; /* MERGE_UNKNOWN */
    int64_t offset, middle;
    double drift; /* aligned time = ns + offset + drift * (ns - middle) */
    bool loose;   /* by meetings with one that was aligned by its calendar: error_ns was found
                   * beside that one, and is not known beside the first */
};

/* False without memory. Of several times of one meeting the earliest stays. */
bool clock_meet(struct clock_meetings *meetings, uint64_t hash, int64_t ns);
void clock_clear(struct clock_meetings *meetings);

/* 0 or ERR_NOMEM. Afterwards every time of every recording is at 0 or behind it. Steps of two jobs
 * have the same names, and nothing in common. */
int clock_align(struct clock_side *sides, size_t count);
int64_t clock_ns(const struct clock_side *side, int64_t ns); /* that time in the merged run */
bool clock_is_valid(const struct clock_side *sides, size_t count);
const char *clock_kind_text(enum clock_kind kind);

#endif
