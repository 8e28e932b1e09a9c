/*
 * model_stats.c - counting, and telling the observer.
 */
#include "model.h"

void model_raise_one(struct alloc_stat *stat, uint64_t by)
{
    stat->current += (int64_t)by;
    stat->allocated += (int64_t)by;
    if (stat->current > stat->peak)
        stat->peak = stat->current;
}

void model_lower_one(struct alloc_stat *stat, uint64_t by)
{
    stat->current -= (int64_t)by;
    stat->freed += (int64_t)by;
}

void model_raise(struct alloc_stat three[ALLOC_CLASSES], bool small, uint64_t by)
{
    model_raise_one(&three[ALLOC_ALL], by);
    model_raise_one(&three[small ? ALLOC_SMALL : ALLOC_LARGE], by);
}

void model_lower(struct alloc_stat three[ALLOC_CLASSES], bool small, uint64_t by)
{
    model_lower_one(&three[ALLOC_ALL], by);
    model_lower_one(&three[small ? ALLOC_SMALL : ALLOC_LARGE], by);
}

/* Every statistic that is not a scalar, one after the other. */
static struct alloc_stat *stat_number(struct alloc_stats *stats, unsigned i)
{
    struct alloc_stat *const groups[] = {
        stats->allocation,      stats->segment,
        stats->active,          stats->inactive_split,
        stats->allocated_bytes, stats->reserved_bytes,
        stats->active_bytes,    stats->inactive_split_bytes,
        stats->requested_bytes,
    };
    const unsigned groups_count = sizeof groups / sizeof *groups;
    if (i < groups_count * ALLOC_CLASSES)
        return &groups[i / ALLOC_CLASSES][i % ALLOC_CLASSES];
    switch (i - groups_count * ALLOC_CLASSES) {
    case 0:
        return &stats->oversize_allocations;
    case 1:
        return &stats->oversize_segments;
    default:
        return NULL;
    }
}

void model_reset_peaks(struct model *model)
{
    struct alloc_stat *stat;
    for (unsigned i = 0; (stat = stat_number(&model->stats, i)) != NULL; i++)
        stat->peak = stat->current;
}

void model_reset_accumulated(struct model *model)
{
    struct alloc_stats *stats = &model->stats;
    struct alloc_stat *stat;
    for (unsigned i = 0; (stat = stat_number(stats, i)) != NULL; i++)
        stat->allocated = stat->freed = 0;
    stats->num_alloc_retries = stats->num_ooms = stats->num_sync_all_streams = 0;
    stats->num_device_alloc = stats->num_device_free = 0;
}

void model_tell(struct model *model, enum alloc_event_kind kind, uint64_t address, uint64_t size,
                uint64_t requested, const struct model_segment *of, bool waits)
{
    struct alloc_event event = {
        .kind = kind,
        .waits = waits,
        .address = address,
        .size = size,
        .requested = requested,
        .stream = of->stream,
        .pool = of->pool,
    };
    if (model->observer.event != NULL)
        model->observer.event(model->observer.self, &event);
}
