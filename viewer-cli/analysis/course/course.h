/*
 * course.h - the memory of one process on one device over time, in as many columns as a plot has.
 *
 * A column stands for a stretch of time [from_ns, until_ns), or of events, and knows the lowest and
 * the highest value in it. Two sources, of which the finer one that is quick enough is taken:
 * `exact` looks at each block that was born or freed in the range; else the table `curve`, whose
 * level is picked by the width, so that the length of a run does not matter.
 *
 * On a device that no framework had a block on (driven.h) it is what the driver gave, and `driven`.
 *
 * Time in which nothing happens outside of forward, backward and the like (imports, waiting for
 * data) is cut short where it would take a third of the plot or more: a column of such a pause is
 * marked, and stands for more time than others do.
 *
 * Invariants (course_is_valid): columns touch each other and go forward in time; min <= first,
 * last <= max; the value before a column's first event is the last one of the column before it; the
 * highest max is `peak`, in column `peak_at`; with categories, those of a column add up to its max
 * in an exact plot, and never to more than they do at `peak` otherwise.
 */
#ifndef TIDEMARK_ANALYSIS_COURSE_H
#define TIDEMARK_ANALYSIS_COURSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "purpose.h"

#define COURSE_NONE INT64_MIN /* not known, or there is none */
#define COURSE_COLUMNS_MAX 1000u

/* What a moment counts as: kinds of table phase, some taken together. */
enum course_kind {
    COURSE_NOTHING, /* no phase at all */
    COURSE_OTHER,   /* between phases */
    COURSE_USER,
    COURSE_ZERO_GRAD,
    COURSE_FORWARD,
    COURSE_LOSS,
    COURSE_BACKWARD,
    COURSE_AFTER_BACKWARD,
    COURSE_OPTIMIZER,
    COURSE_EVAL,
    COURSE_RECOMPUTE,
    COURSE_FORWARD_NO_GRAD,
    COURSE_KINDS
};

struct course_column {
    int64_t from_ns, until_ns;
    int64_t first, min, max, last;      /* allocated; driven: from the driver */
    int64_t reserved_min, reserved_max; /* COURSE_NONE */
    int64_t step;                       /* the first one that begins in it, COURSE_NONE */
    int64_t bytes[PURPOSES];            /* at its highest moment; not before categories are asked */
    enum course_kind kind;              /* what most of it is, or what would not be seen else */
    bool mixed;                         /* no kind has half of it */
    bool pause;
    bool parted;  /* a phase of its kind begins in it */
    bool thinned; /* no phase is left of it, between steps that are kept; its kind is nothing */
};

struct course_request {
    int64_t process, device;
    int64_t first_step, last_step; /* INT64_MIN..INT64_MAX: everything */
    unsigned columns;              /* 1 to COURSE_COLUMNS_MAX */
    bool by_events;                /* a column is a number of events, not a stretch of time */
    bool categories;
};

struct course {
    struct course_column *columns;
    unsigned count; /* 0: there is nothing in the range */
    bool exact;
    bool by_events, categories;
    bool driven;
    bool reserved_known;
    int64_t from_ns, until_ns, first_seq, last_seq;
    int64_t peak, peak_ns;
    int64_t peak_seq, peak_step; /* COURSE_NONE */
    unsigned peak_at;
    char *peak_path;          /* the phase, with those around it; NULL */
    int64_t reserved_peak;    /* the highest reserved_max; COURSE_NONE */
    uint64_t steps;           /* that begin in the range */
    uint64_t all_steps;       /* with those of which only sums are left; of --steps all asked for */
    uint64_t full_steps;      /* of `steps`: without those of which some phases are left */
    int64_t last_step;        /* the highest that is kept, where `thinned` */
    bool thinned;             /* there are such */
    unsigned pauses;          /* that were cut short */
    int64_t pause_ns;         /* all of them */
    bool kinds[COURSE_KINDS]; /* some column is of this kind */
};

/* 0 or an error; course_clear in both cases. */
int course_read(struct db *db, const struct course_request *request, struct course *out);
void course_clear(struct course *course);
bool course_is_valid(const struct course *course);

const char *course_kind_name(enum course_kind kind);
/* What a kind of table phase counts as. */
enum course_kind course_kind_of(const char *kind);

#endif
