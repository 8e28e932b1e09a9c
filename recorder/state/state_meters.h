/* state_meters.h - what the rooms hold of a process, as the numbers of meters.h. */
#ifndef TIDEMARK_RECORDER_STATE_METERS_H
#define TIDEMARK_RECORDER_STATE_METERS_H

#include <stdbool.h>
#include <stdint.h>

struct driver;
struct meters;
struct phases;

struct metered {         /* a process */
    int64_t rank;        /* BATCH_NULL */
    uint64_t steps_seen; /* of phase_steps, the most */
    uint64_t lost;       /* events */
    const struct driver *driver;
    const struct phases *phases; /* and its heaps and names */
};

/* `ended`: only what outlives it. */
void meters_take(struct meters *out, const struct metered *process, bool ended);

#endif
