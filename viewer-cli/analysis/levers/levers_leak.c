/*
 * A lever on what a run keeps from step to step: a graph that is never let go.
 */
#include <string.h>

#include "error.h"
#include "levers_work.h"
#include "mem.h"

enum { STEPS_LEAST = 3 };

static bool may_leak(const struct levers_block *block)
{
    return block->purpose == PURPOSE_HELD || block->purpose == PURPOSE_ACTIVATION ||
           block->purpose == PURPOSE_INPUT || block->purpose == PURPOSE_OTHER;
}

static const struct levers_phase *phase_of(const struct levers_step *step,
                                           const struct levers_block *block)
{
    return block->seq < step->begin ? NULL : levers_phase_at(&step->phases, block->seq);
}

/* Sites with blocks that live at the peak and came in three steps or more: to how many. */
static int find_sites(const struct levers_step *step, struct map *steps, struct map *last)
{
    for (size_t i = step->older; i < step->count && step->blocks[i].seq <= step->peak; i++) {
        const struct levers_block *block = &step->blocks[i];
        const struct levers_phase *phase = phase_of(step, block);
        if (!levers_at_peak(step, block) || !may_leak(block) || !phase || phase->step < 0)
            continue;
        uint64_t site = (uint64_t)block->site;
        if (map_get(last, site) == (uint64_t)phase->step)
            continue;
        uint64_t before = map_get(steps, site);
        if (!map_put(last, site, (uint64_t)phase->step, NULL) ||
            !map_put(steps, site, before == MAP_NONE ? 1 : before + 1, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

/* The last event of a step; LEVERS_NEVER: it is not in the window. */
static int64_t end_of(const struct levers_step *step, int64_t wanted)
{
    int64_t end = LEVERS_NEVER;
    for (size_t i = 0; i < step->phases.count; i++)
        if (step->phases.phases[i].step == wanted &&
            (end == LEVERS_NEVER || step->phases.phases[i].end > end))
            end = step->phases.phases[i].end;
    return end;
}

/* Backward frees what was made before it, in its own step; what came behind it goes a step later,
 * when the next takes its name. */
static int64_t end_without(const struct levers_step *step, const struct levers_block *block,
                           const struct levers_phase *phase)
{
    const struct levers_phase *backward =
        levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq);
    bool own = backward && backward->step == phase->step;
    return end_of(step, own ? phase->step : phase->step + 1);
}

bool levers_leaks(const struct levers_work *work, int64_t site)
{
    uint64_t count = map_get(&work->leaking, (uint64_t)site);
    return count != MAP_NONE && count >= STEPS_LEAST;
}

int levers_leak(struct levers_work *work)
{
    const struct levers_words words = {
        .kind = LEVER_DETACH,
        .estimated = true,
        .site = LEVERS_NONE,
        .before =
            "keep no graph of earlier steps: state.detach() for what goes into the next step, "
            "loss.item() for what is only added up"};
    const struct levers_step *step = &work->step;
    struct map last = {0}, *steps = &work->leaking;
    struct levers_edit edit = {0};
    int err = find_sites(step, steps, &last);
    for (size_t i = step->older; i < step->count && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        const struct levers_phase *phase = phase_of(step, block);
        if (!levers_leaks(work, block->site) || !may_leak(block) || !phase || phase->step < 0)
            continue;
        int64_t end = end_without(step, block, phase);
        if (end < block->end && !levers_cut(&edit, i, end, LEVERS_NEVER))
            err = ERR_NOMEM;
    }
    map_clear(&last);
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}
