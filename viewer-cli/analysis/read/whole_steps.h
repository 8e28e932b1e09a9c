/*
 * whole_steps.h - the steps of a process that came to their end, and where the first of them end.
 *
 * What ends a program after so many steps comes some time behind the last of them: what it did
 * until then is there in one recording of it and not in another.
 */
#ifndef TIDEMARK_ANALYSIS_WHOLE_STEPS_H
#define TIDEMARK_ANALYSIS_WHOLE_STEPS_H

#include <stdint.h>

#include "db.h"

/* 0 or an error. */
int whole_steps_count(struct db *db, int64_t process, int64_t *count);
/* The event with which the last of the first `steps` ended; INT64_MAX: there are not so many, or
 * steps is 0. */
int whole_steps_end(struct db *db, int64_t process, int64_t steps, int64_t *end);

#endif
