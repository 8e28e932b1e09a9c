/*
 * phases_listing.h - the phases of one process on one device as `tidemark phases` lists them:
 * phases_read.c reads their rows, and phases_put.c prints them.
 */
#ifndef TIDEMARK_REPORTS_PHASES_LISTING_H
#define TIDEMARK_REPORTS_PHASES_LISTING_H

#include <stdbool.h>
#include <stdint.h>

#include "map.h"
#include "phases_fold.h"
#include "query.h"
#include "report.h"

struct phases_line {       /* a row of phase_table, as it is read */
    struct db_stmt *cells; /* all of it */
    const char *phase, *kind, *ended, *domain;
    int64_t phase_id, parent, begin_ns, end_ns, allocs, frees, settled;
    int64_t step, allocated, max_allocated, reserved, max_reserved, phase_peak;
    bool evaluates; /* without a step: it is listed with the one before */
};

/*
 * Rows of a recording that goes on: each phase is printed once, when it is settled, for then its
 * row stays as it is; what is not settled as the recording ends, in the last look.
 */
struct phases_tale {
    bool over;    /* the recording */
    int64_t told; /* phases up to this number in `settled` were */
};

struct phases_listing {
    struct report *report;
    const struct report_scope *scope;
    const char *domain;       /* only its ranges; NULL: the program's phases */
    bool all;                 /* and those of libraries, and time without any traffic */
    struct phases_tale *tale; /* NULL: not of --follow with rows */
    bool on_screen;           /* the last rows, as many as there is room for */
    int64_t skip;      /* rows that can be seen and are not: a screen has room for the last ones */
    int64_t floor;     /* phases up to this number are not read, but for what is around others */
    struct map depths; /* phase.id to how many phases are around it */
    int64_t rows, hidden;
    int64_t step; /* of the last row that has one; QUERY_NONE */
    bool fold;    /* rows that repeat are one: they are kept until all are there */
    struct phases_rows kept;
    bool open;   /* the section is */
    bool broken; /* without memory */
};

/* ---- reading ---- */

/* Hands over each line that is asked for, in the order of their begin; what `take` returns ends it
 * if it is negative. */
int phases_read(struct phases_listing *list,
                int (*take)(struct phases_listing *list, struct phases_line *row));
/* Only the last ones will be read, as many as a screen has room for: sets `floor` and `skip`. */
int phases_find_newest(struct phases_listing *list, int64_t room);
/* How many phases are around it; negative: an error. */
int64_t phases_depth(struct phases_listing *list, const struct phases_line *row);
/* Time between phases. */
bool phases_is_gap(const struct phases_line *row);
bool phases_is_empty_gap(const struct phases_line *row);

/* ---- printing ---- */

/* The section for all that is listed; where rows of all processes come into one, `tale`. */
void phases_open(struct emit *emit, bool tale);
/* A row, or it is kept or counted: phases_put_summary has it then. */
int phases_put_line(struct phases_listing *list, struct phases_line *row);
int phases_put_summary(struct phases_listing *list);

#endif
