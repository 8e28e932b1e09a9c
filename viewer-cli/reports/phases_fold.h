/*
 * phases_fold.h - the rows of `tidemark phases` for people, with those that repeat as one row.
 *
 * A loop makes the same phases again and again: batches of an evaluation, micro-batches, steps.
 * Where some rows follow that look like the ones right above them in all but the step and the time,
 * one row stands for all of their repetitions.
 */
#ifndef TIDEMARK_VIEWER_PHASES_FOLD_H
#define TIDEMARK_VIEWER_PHASES_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emit.h"

/* One row; GROUP_NONE: not known, or of no step. Texts are owned. */
struct phases_row {
    int64_t step;
    char *name; /* indented by its depth */
    int64_t allocated, max_allocated, reserved, max_reserved, phase_peak;
    int64_t ns;
    char *ended; /* NULL: as usual */
};

struct phases_rows {
    struct phases_row *rows;
    size_t count, cap;
};

/* The next `length` rows are there `times` more times behind themselves; 0: they are not. */
struct phases_fold {
    size_t length, times;
};

/* What to do with the rows from `first` on: the fold that spares most of them. */
struct phases_fold phases_fold_at(const struct phases_rows *all, size_t first);

/* Takes over the texts. False: no memory, and they are freed. */
bool phases_rows_add(struct phases_rows *all, const struct phases_row *row);

/* Both have the same rows, as people see them, in all but the time; *apart: the most bytes by which
 * two sizes differ. */
bool phases_rows_alike(const struct phases_rows *a, const struct phases_rows *b, int64_t *apart);

void phases_rows_clear(struct phases_rows *all);

/* As rows of the section `phases` of a table, and below it how to read a fold. False: no memory. */
bool phases_rows_put(struct emit *emit, const struct phases_rows *all);

#endif
