/*
 * check_fold.h - places that fare alike: people get one table for them, of the worst.
 *
 * A place is a process and a device, or a process. Two are alike if they have the same checks with
 * the same results, both on a GPU or on neither, and what is not known is so for the same reason;
 * what was measured differs. Few that are alike are shown one by one.
 */
#ifndef TIDEMARK_VIEWER_CHECK_FOLD_H
#define TIDEMARK_VIEWER_CHECK_FOLD_H

#include "check_run.h"

enum { CHECK_FEW = 4 };

/* Rows [first, first + count) of the run. Of the first of those that are alike: how many there are,
 * the first among them; of the others 0. */
struct check_place {
    size_t first, count;
    size_t like;    /* the first place that it is alike; itself */
    size_t members; /* 0: not the first */
};

struct check_places {
    const struct check_run *run;
    struct check_place *list;
    size_t count, cap;
};

/* 0 or an error; check_places_clear frees also what is there then. */
int check_places_find(const struct check_run *run, struct check_places *out);
/* People get no table of it: the one of its like stands for it. */
bool check_place_is_folded(const struct check_places *places, size_t at);
/* For the first of many: of its rows' check number `row` the one of all that is nearest to its
 * limit, or the farthest beyond. */
const struct check_row *check_place_worst(const struct check_places *places, size_t at, size_t row);
/* "10,005 processes on cpu", "8 ranks (0 to 7) on cuda:0 and others": those that are alike. */
void check_place_names(const struct check_places *places, size_t at, struct buf *out);
void check_places_clear(struct check_places *places);

#endif
