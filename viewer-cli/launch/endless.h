/*
 * endless.h - a rehearsal that may never end: nothing is computed, so a loop that goes on until a
 * value comes goes on for ever. Nobody can tell such a loop from a long one; what is known is that
 * memory has not grown for a while, and then the user is told once what that can mean.
 */
#ifndef TIDEMARK_VIEWER_ENDLESS_H
#define TIDEMARK_VIEWER_ENDLESS_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "record.h"

struct endless { /* all zero: nothing was seen */
    uint64_t peak;
    uint64_t since_ns; /* record_progress.run_ns when it was first seen */
    bool said;
};

/* Whether it is to be said now; true once. */
bool endless_is_due(struct endless *endless, const struct record_progress *now);
void endless_line(const struct endless *endless, const struct record_progress *now,
                  struct buf *line);

#endif
