/*
 * levers_seen.h - what is known before any change is looked for: the recording, its peak, and the
 * steps around it.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_SEEN_H
#define TIDEMARK_ANALYSIS_LEVERS_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "levers_step.h"
#include "map.h"

struct levers_seen {
    struct db *db;
    const struct peak *peak;
    struct levers_step step;
    bool on_host;          /* the device is the CPU */
    int64_t torch;         /* its version, 201 = 2.1; 0 = not known */
    struct map parameters; /* bytes that one of them asked for, to how many at the peak */
};

#endif
