/* levers_sites.c - see levers_sites.h. */
#include "levers_sites.h"

#include "error.h"

enum { GROUPS_MOST = 16 };

int levers_group_sites(const struct levers_work *work,
                       bool (*is)(const struct levers_step *step, const struct levers_block *block),
                       struct groups *out)
{
    for (size_t i = 0; i < work->seen.step.count; i++) {
        const struct levers_block *block = &work->seen.step.blocks[i];
        if (!levers_at_peak(&work->seen.step, block) || !is(&work->seen.step, block))
            continue;
        struct group *group = groups_of(out, block->site);
        if (!group)
            return ERR_NOMEM;
        group->bytes += block->size;
        group->blocks++;
    }
    groups_sort(out);
    while (out->count && out->groups[out->count - 1].bytes < work->out->peak / 100)
        out->count--; /* nothing to free in those: they were never named */
    out->count = out->count > GROUPS_MOST ? GROUPS_MOST : out->count;
    return 0;
}

int64_t levers_bytes_of(const struct levers_step *step, enum purpose purpose)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < step->count; i++)
        if (step->blocks[i].purpose == purpose && levers_at_peak(step, &step->blocks[i]))
            bytes += step->blocks[i].size;
    return bytes;
}
