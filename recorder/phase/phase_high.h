/*
 * phase_high.h - the highest allocated inside of the phases of each name, on each device: for who
 * watches the run. What a framework's marks are is known later than they come, so what is not
 * settled does not count yet.
 *
 * Invariants: no two records of one name and device; at most PHASE_HIGHS of them: names that come
 * later are passed over, and counted.
 */
#ifndef TIDEMARK_RECORDER_PHASE_HIGH_H
#define TIDEMARK_RECORDER_PHASE_HIGH_H

#include <stddef.h>
#include <stdint.h>

#define PHASE_HIGHS 64

struct phase_high {
    uint32_t name;   /* as phase.name */
    uint32_t device; /* index */
    int64_t peak;
};

struct phase_highs { /* of a process; all zero: none */
    struct phase_high list[PHASE_HIGHS];
    size_t count;
    uint64_t passed_over;
};

void phase_high_take(struct phase_highs *highs, const struct phase_high *one);

#endif
