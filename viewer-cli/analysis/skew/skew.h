/*
 * skew.h - the ranks of a run beside each other, phase by phase.
 *
 * A phase is the same on all ranks if its step, its name and its ordinal in the step are. Of each
 * three figures are looked at: the highest bytes inside it, the bytes at its end, and how long it
 * took; of each figure the largest, the median and the smallest rank. The median is a rank's own
 * figure: of an even number the lower one in the middle.
 *
 * Phases are read step by step, of all ranks at once, so that memory is that of one step.
 *
 * Invariants (skew_is_valid): least <= median <= most, each with the rank that has it; count is at
 * least 1 and at most the number of ranks.
 */
#ifndef TIDEMARK_ANALYSIS_SKEW_H
#define TIDEMARK_ANALYSIS_SKEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"

enum skew_figure { SKEW_PEAK, SKEW_END, SKEW_TIME, SKEW_FIGURES };

struct skew_rank {
    int64_t process, device;
};

struct skew_value {
    int64_t value;
    size_t rank; /* place among the ranks */
};

struct skew_spread {
    struct skew_value most, median, least;
};

struct skew_row { /* a phase */
    const char *name;
    int64_t step, ordinal;
    size_t count; /* ranks that have it */
    struct skew_spread spreads[SKEW_FIGURES];
};

/* Of the values, which get sorted. count > 0. */
struct skew_spread skew_spread_of(struct skew_value *values, size_t count);
int64_t skew_excess(const struct skew_spread *spread); /* of the largest over the median */

struct skew_wish {
    int64_t first_step, last_step;
    const char *phase; /* a name or a kind; NULL: all */
};

/* Each phase that two ranks have or more, in the order of the steps and, inside one, of time; only
 * those of the wish. `take` returns 0 or an error, which ends it. */
int skew_read(struct db *db, const struct skew_rank *ranks, size_t count,
              const struct skew_wish *wish, int (*take)(void *self, const struct skew_row *row),
              void *self);
bool skew_is_valid(const struct skew_row *row, size_t ranks);

#endif
