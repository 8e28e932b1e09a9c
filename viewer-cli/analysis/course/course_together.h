/*
 * course_together.h - the memory of several processes on one device as one course: what together
 * fills it. Each column has the moment at which they had the most allocated together, of the
 * moments at which the view timeline has a row of one of them; a process that has ended has
 * nothing. In place of reserved stands what the device itself had in use, where it was sampled.
 *
 * Table curve is read once, all heaps side by side in the order of time, and samples go to their
 * column as they come: what is kept is a statement for each heap, a number for each process, and
 * the columns, whatever the length of the run.
 */
#ifndef TIDEMARK_ANALYSIS_COURSE_TOGETHER_H
#define TIDEMARK_ANALYSIS_COURSE_TOGETHER_H

#include "course.h"

struct together_part {
    int64_t process;
    unsigned letter; /* below PURPOSES: in which of a column's `bytes` its memory is counted */
};

struct together_request {
    int64_t device;
    unsigned columns;                  /* 1 to COURSE_COLUMNS_MAX */
    const struct together_part *parts; /* ascending by process */
    size_t count;
};

/* 0 or an error; course_clear in both cases. Without a row of any part, out->count is 0. */
int course_together(struct db *db, const struct together_request *request, struct course *out);

#endif
