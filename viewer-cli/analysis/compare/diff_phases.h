/*
 * diff_phases.h - the highest point of each phase in one run against that in another.
 *
 * A phase is known by its step, its name and its ordinal within the step. Only steps that both runs
 * have are compared, and what is outside of any step. In a long run every step has the same phases,
 * so they are folded: one row for each name, with the step where the change was largest. The time
 * between phases is left out then where nothing happened in it: it only shows the level.
 *
 * Invariants (diff_phases_is_valid): a row with a pair has both peaks; one without has exactly one,
 * and the other is GROUP_NONE. Folded rows come by the size of the change, largest first, then
 * those that only one run has; rows of single steps come in the order of the steps and, within a
 * step, of time.
 */
#ifndef TIDEMARK_ANALYSIS_DIFF_PHASES_H
#define TIDEMARK_ANALYSIS_DIFF_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diff.h"

struct diff_phase {
    char *name;
    int64_t ordinal;
    int64_t step;              /* GROUP_NONE = outside of any step */
    int64_t peak[DIFF_SIDES];  /* GROUP_NONE = this run has no such phase */
    int64_t pairs;             /* of phases that were compared: 1, or of all that were folded */
    int64_t alone[DIFF_SIDES]; /* phases of that name that only this run has */
    int64_t place;             /* within its step, by time */
    bool quiet;                /* the time between phases, in which nothing happened */
};

struct diff_phases {
    struct diff_phase *rows;
    size_t count, cap;
    int64_t common_steps;
    int64_t own_steps[DIFF_SIDES]; /* steps that only this run has, within those asked for */
    int64_t own_first[DIFF_SIDES]; /* the lowest of them */
    int64_t own_last[DIFF_SIDES];  /* and the highest */
    int64_t *steps;                /* the common ones, by number */
    size_t step_cap;
    bool folded;
};

/* 0 or an error, which the side that it came from has in `err`; diff_phases_clear in both cases. */
int diff_phases_read(struct diff_side sides[DIFF_SIDES], int64_t first_step, int64_t last_step,
                     bool fold, struct diff_phases *out);
void diff_phases_clear(struct diff_phases *phases);
bool diff_phases_is_valid(const struct diff_phases *phases);

#endif
