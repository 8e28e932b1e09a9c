/*
 * instant.h - a moment of one process on one device, as people name it, and what it came to then.
 *
 *     7             the highest point of step 7
 *     7/backward    the end of the phase backward of step 7 (its last one, if there are many)
 *     7/backward#0  of its first one
 *     peak          the highest point of all
 *     end           after the last event
 *     @1.5s         the last birth of a block at or before that time (ns, us, ms, s); no moment
 *                   where that time was thinned out; and where the last birth may have been, when
 *                   what is there behind it begins
 *
 * What lives at an instant is what was born at or before its seq and not freed at or before it.
 */
#ifndef TIDEMARK_ANALYSIS_INSTANT_H
#define TIDEMARK_ANALYSIS_INSTANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "group.h"
#include "thinned.h"

#define INSTANT_NONE GROUP_NONE
#define INSTANT_TEXT 160

struct instant {
    int64_t seq; /* lives after this event */
    int64_t at_ns;
    int64_t allocated, reserved; /* INSTANT_NONE: nobody wrote it down for this moment */
    int64_t phase;               /* phase.id, INSTANT_NONE */
    int64_t step;                /* INSTANT_NONE */
    char label[INSTANT_TEXT];    /* "step 7, end of backward" */
    struct thinned_time thinned; /* of a time; `is` with ERR_NOTFOUND only */
    bool driven; /* no block was ever there: driven.h; allocated and reserved mean nothing */
};

/* 0; ERR_ARG: not such a name; ERR_NOTFOUND: there is no such moment, and *out has a label that
 * says what was looked for, and the step, if it was one; or another error. */
int instant_find(struct db *db, int64_t process, int64_t device, const char *text,
                 struct instant *out);

/* The highest point of these steps; INT64_MIN and INT64_MAX: of all. As instant_find otherwise. */
int instant_highest(struct db *db, int64_t process, int64_t device, int64_t first_step,
                    int64_t last_step, struct instant *out);

/* The highest point inside phases of this name, or, where none has it, of this kind. */
int instant_highest_in(struct db *db, int64_t process, int64_t device, const char *phase,
                       int64_t first_step, int64_t last_step, struct instant *out);

/* The moment of a peak that was looked for with this result, which a label names as all reports do.
 * ERR_NOTFOUND: there is none. */
struct peak;
int instant_of_peak(const struct peak *peak, int err, struct instant *out);

bool instant_is_name(const char *text);

/* What a name asks for. */
struct instant_wish {
    enum { WISH_PEAK, WISH_END, WISH_TIME, WISH_STEP, WISH_PHASE } what;
    int64_t number; /* the time or the step */
    const char *phase;
    size_t phase_bytes;
    int64_t ordinal; /* INSTANT_NONE */
};
/* False: it is no such name. */
bool instant_read_wish(const char *text, struct instant_wish *wish);

/* "A..B" into its two; false if it is not such a pair. `first` and `second` have room for the
 * whole text. */
bool instant_pair(const char *text, char *first, char *second);

/* What `A..B` is if nobody says: the highest points of the last two steps, less what a program that
 * trains does behind them; or, where there are
 * bounds (INT64_MIN and INT64_MAX: none), of the first and the last step within them. */
int instant_last_steps(struct db *db, int64_t process, int64_t device, int64_t first_step,
                       int64_t last_step, struct instant *before, struct instant *after);

#endif
