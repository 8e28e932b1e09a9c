/*
 * counters.h - the statistics while they are counted. Handing out and taking back touch seven of
 * them, so they are kept in few words: current value and sum of increases for the small and for the
 * large pool, and peaks. The sum of decreases and the column "all" follow from these when asked.
 *
 * Invariants: sum >= 0; base + sum - current >= 0 is the sum of decreases since `base` was current;
 * peak >= current; peak_all >= the two currents together.
 */
#ifndef TIDEMARK_ALLOCATOR_COUNTERS_H
#define TIDEMARK_ALLOCATOR_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "alloc.h"

enum counter {
    COUNT_ALLOCATION,
    COUNT_SEGMENT,
    COUNT_ACTIVE,
    COUNT_INACTIVE_SPLIT,
    COUNT_ALLOCATED_BYTES,
    COUNT_RESERVED_BYTES,
    COUNT_ACTIVE_BYTES,
    COUNT_INACTIVE_SPLIT_BYTES,
    COUNT_REQUESTED_BYTES,
    COUNTERS
};

struct counter_half {
    int64_t current, sum, peak, base;
};

struct counters {
    struct counter_half half[2][COUNTERS]; /* [small] */
    int64_t peak_all[COUNTERS];
    struct alloc_stat oversize_allocations, oversize_segments;
    int64_t retries, ooms, rejections, syncs, device_allocs, device_frees;
};

static inline void count_up(struct counters *counters, bool small, enum counter which, int64_t by)
{
    struct counter_half *half = &counters->half[small][which];
    int64_t all = (half->current += by) + counters->half[!small][which].current;
    half->sum += by;
    half->peak = half->current > half->peak ? half->current : half->peak;
    counters->peak_all[which] = all > counters->peak_all[which] ? all : counters->peak_all[which];
}

static inline void count_down(struct counters *counters, bool small, enum counter which, int64_t by)
{
    counters->half[small][which].current -= by;
}

/* Up or down, as the sign says. */
static inline void count_change(struct counters *counters, bool small, enum counter which,
                                int64_t by)
{
    if (by > 0)
        count_up(counters, small, which, by);
    else
        count_down(counters, small, which, -by);
}

static inline void stat_up(struct alloc_stat *stat, int64_t by)
{
    stat->current += by;
    stat->allocated += by;
    stat->peak = stat->current > stat->peak ? stat->current : stat->peak;
}

static inline void stat_down(struct alloc_stat *stat, int64_t by)
{
    stat->current -= by;
    stat->freed += by;
}

void counters_read(const struct counters *counters, struct alloc_stats *stats);
void counters_reset_peaks(struct counters *counters);
void counters_reset_accumulated(struct counters *counters);
bool counters_are_valid(const struct counters *counters);

#endif
