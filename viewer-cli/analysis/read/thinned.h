/*
 * thinned.h - what `record --keep` and `--max-size` left out, where a report would have looked.
 *
 * A stretch is known by its events, not by its times: those follow from what is kept beside it. Of
 * blocks only such are left out as were born and freed inside of a stretch. So what lived when it
 * began, and what lived when it ended, is known in full.
 */
#ifndef TIDEMARK_ANALYSIS_THINNED_H
#define TIDEMARK_ANALYSIS_THINNED_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"

#define THINNED_NONE INT64_MIN

/* For statements: the phase `ph` is left of a stretch whose phases were thinned out, for a block of
 * it is kept. Its step is not there in full. */
#define THINNED_REST(ph)                                                                           \
    " EXISTS (SELECT 1 FROM thinned t WHERE t.process = " ph ".process AND t.what = 'phases'"      \
    "            AND t.first_seq <= coalesce(" ph ".end_seq, " ph ".begin_seq)"                    \
    "            AND t.last_seq >= " ph ".begin_seq) "

struct thinned {
    int64_t count;               /* 0: nothing was left out */
    int64_t first_seq, last_seq; /* of the stretches that meet what was asked for */
};

/* `what`: "blocks" or "phases". Stretches of the process that meet first..last. 0 or an error. */
int thinned_read(struct db *db, const char *what, int64_t process, int64_t first_seq,
                 int64_t last_seq, struct thinned *out);

/* The events in which steps first..last were, those that are not there any more included: from the
 * end of the last step before them that is kept to the beginning of the next one behind them.
 * INT64_MIN and INT64_MAX: no bound. 0 or an error. */
int thinned_span_of_steps(struct db *db, int64_t process, int64_t first, int64_t last,
                          int64_t *first_seq, int64_t *last_seq);

/* The births of blocks around a time: the last one at or before it, the first one behind it. */
struct thinned_births {
    int64_t seq, ns;           /* THINNED_NONE: there is none */
    int64_t next_seq, next_ns; /* THINNED_NONE */
};

/* A time, beside the stretches that lie between the births around it.
 * Invariants: is: from_ns <= the time < until_ns. Otherwise seq is THINNED_NONE or after the last
 * of these stretches, and before the next birth; ns is not behind the time. */
struct thinned_time {
    bool is;                   /* it is in one */
    int64_t from_ns, until_ns; /* is: nothing that is kept happened between; INT64_MAX: to the
                                  end of what is known */
    int64_t step_before, step_behind; /* is: the nearest that are kept, THINNED_NONE */
    int64_t seq, ns; /* not is: one is between the last birth and this event, so what
                        lived after that birth is no answer; THINNED_NONE: none is */
};

int thinned_time_read(struct db *db, int64_t process, const struct thinned_births *births,
                      int64_t at_ns, struct thinned_time *out);

#endif
