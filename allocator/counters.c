#include "counters.h"

static void read_half(const struct counter_half *half, struct alloc_stat *stat)
{
    stat->current = half->current;
    stat->peak = half->peak;
    stat->allocated = half->sum;
    stat->freed = half->base + half->sum - half->current;
}

static void read_counter(const struct counters *counters, enum counter which,
                         struct alloc_stat stat[ALLOC_CLASSES])
{
    read_half(&counters->half[true][which], &stat[ALLOC_SMALL]);
    read_half(&counters->half[false][which], &stat[ALLOC_LARGE]);
    stat[ALLOC_ALL] = (struct alloc_stat){
        .current = stat[ALLOC_SMALL].current + stat[ALLOC_LARGE].current,
        .peak = counters->peak_all[which],
        .allocated = stat[ALLOC_SMALL].allocated + stat[ALLOC_LARGE].allocated,
        .freed = stat[ALLOC_SMALL].freed + stat[ALLOC_LARGE].freed,
    };
}

void counters_read(const struct counters *counters, struct alloc_stats *stats)
{
    read_counter(counters, COUNT_ALLOCATION, stats->allocation);
    read_counter(counters, COUNT_SEGMENT, stats->segment);
    read_counter(counters, COUNT_ACTIVE, stats->active);
    read_counter(counters, COUNT_INACTIVE_SPLIT, stats->inactive_split);
    read_counter(counters, COUNT_ALLOCATED_BYTES, stats->allocated_bytes);
    read_counter(counters, COUNT_RESERVED_BYTES, stats->reserved_bytes);
    read_counter(counters, COUNT_ACTIVE_BYTES, stats->active_bytes);
    read_counter(counters, COUNT_INACTIVE_SPLIT_BYTES, stats->inactive_split_bytes);
    read_counter(counters, COUNT_REQUESTED_BYTES, stats->requested_bytes);
    stats->oversize_allocations = counters->oversize_allocations;
    stats->oversize_segments = counters->oversize_segments;
    stats->num_alloc_retries = counters->retries;
    stats->num_ooms = counters->ooms;
    stats->num_oom_rejections = counters->rejections;
    stats->num_sync_all_streams = counters->syncs;
    stats->num_device_alloc = counters->device_allocs;
    stats->num_device_free = counters->device_frees;
}

void counters_reset_peaks(struct counters *counters)
{
    for (int which = 0; which < COUNTERS; which++) {
        struct counter_half *large = &counters->half[false][which];
        struct counter_half *small = &counters->half[true][which];
        large->peak = large->current;
        small->peak = small->current;
        counters->peak_all[which] = large->current + small->current;
    }
    counters->oversize_allocations.peak = counters->oversize_allocations.current;
    counters->oversize_segments.peak = counters->oversize_segments.current;
}

void counters_reset_accumulated(struct counters *counters)
{
    for (int small = 0; small < 2; small++) {
        for (int which = 0; which < COUNTERS; which++) {
            struct counter_half *half = &counters->half[small][which];
            half->sum = 0;
            half->base = half->current;
        }
    }
    counters->oversize_allocations.allocated = counters->oversize_allocations.freed = 0;
    counters->oversize_segments.allocated = counters->oversize_segments.freed = 0;
    counters->retries = counters->ooms = counters->rejections = counters->syncs = 0;
    counters->device_allocs = counters->device_frees = 0;
}

bool counters_are_valid(const struct counters *counters)
{
    for (int which = 0; which < COUNTERS; which++) {
        int64_t all = 0;
        for (int small = 0; small < 2; small++) {
            const struct counter_half *half = &counters->half[small][which];
            if (half->current < 0 || half->sum < 0 || half->peak < half->current ||
                half->base + half->sum < half->current)
                return false;
            all += half->current;
        }
        if (counters->peak_all[which] < all)
            return false;
    }
    return true;
}
