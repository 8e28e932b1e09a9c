/*
 * levers_rows.h - births in a unit one after the other, and where a call of it ends and the next
 * one begins: by what repeats.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_ROWS_H
#define TIDEMARK_ANALYSIS_LEVERS_ROWS_H

#include "levers_step.h"

struct levers_row { /* births in a unit by one way, one after the other, in one forward */
    const struct levers_phase *forward;
    size_t *blocks; /* places in the step */
    size_t count, cap;
    uint64_t way;
    size_t instance; /* SIZE_MAX: not known */
    int64_t line;
    bool one_line;
};

/* Sets each of `begins`, which has as many as the row, to whether a call begins with that block.
 * `one`: it is one call. 0 or an error. */
int levers_row_calls(const struct levers_step *step, const struct levers_row *row, bool one,
                     bool *begins);

#endif
