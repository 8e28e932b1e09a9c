/*
 * skew_report.h - what the files behind `tidemark skew` share: the ranks of a recording, each with
 * its own peak, and who holds what one of them has beyond another.
 */
#ifndef TIDEMARK_VIEWER_SKEW_REPORT_H
#define TIDEMARK_VIEWER_SKEW_REPORT_H

#include "diff.h"
#include "report.h"
#include "skew.h"

struct skew_options {
    struct report_options common;
    int64_t top;
    bool all;
    const char *phase; /* peaks are those inside it; NULL */
};

struct skew_place { /* a rank, on the device where it has most */
    const struct report_scope *scope;
    struct instant peak;
    char *host; /* NULL: not known */
};

/* Invariant: places come by rank; most, middle and least are among them by their peaks. */
struct skew_places {
    struct skew_place *places;
    size_t count, cap;
    struct skew_spread spread;
    size_t hosts; /* different ones */
};

/* Only ranks with memory in the steps, and in the phase, asked for. 0 or an error;
 * skew_places_clear in both cases. */
int skew_find_places(struct report *report, const char *phase, struct skew_places *out);
void skew_places_clear(struct skew_places *places);
/* "Rank 3 (node1)"; the host only where there are several. */
const char *skew_rank_text(char text[128], const struct skew_places *places, size_t at);

/* skew_holders.c: sections groups and modules, or lowest_groups and lowest_modules. */
struct skew_sides {
    struct report *reports[DIFF_SIDES]; /* may be the same */
    const struct skew_place *places[DIFF_SIDES];
    const char *title; /* "Memory of rank 3 beyond rank 1, at their peaks" */
    int64_t top;
    bool lowest;
};
int skew_put_holders(struct emit *emit, const struct skew_sides *sides);
/* The same without rows, so that csv and json have the sections. */
void skew_put_no_holders(struct emit *emit, bool lowest);

/* skew_fleets.c: two recordings, rank by rank. */
int skew_put_fleets(struct report *a, struct report *b, const struct skew_options *options);

#endif
