/*
 * What the rests of segments that are not cut off leave in doubt.
 */
#include "error.h"
#include "group.h"
#include "levers_work.h"

/* PyTorch's allocator does not cut off less than 1 MiB of a segment, and which block keeps such a
 * rest is another with each change: to a hundredth that says nothing of less than a hundred times
 * the rests at the peak, nor of less than 100 MiB. */
enum { UNCUT = 1 << 20 };

/* Forward's blocks of one call are of one size, but for such rests. */
static bool is_call(const struct levers_step *step, const struct levers_block *block)
{
    return block->asked >= UNCUT && block->asked == block->size && block->site != GROUP_NONE &&
           levers_phase_around(&step->phases, LEVERS_FORWARD, block->seq);
}

static uint64_t call_of(const struct levers_block *block)
{
    return (uint64_t)block->site << 32 ^ (uint64_t)block->module;
}

static int find_calls(const struct levers_step *step, struct map *least)
{
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (is_call(step, block) && (uint64_t)block->size < map_get(least, call_of(block)) &&
            !map_put(least, call_of(block), (uint64_t)block->size, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

int levers_find_uncut(struct levers_work *work)
{
    const struct levers_step *step = &work->seen.step;
    struct map least = {0};
    int64_t at_peak = 0;
    bool any = false;
    int err = work->seen.on_host ? 0 : find_calls(step, &least);
    for (size_t i = step->older; i < step->count && err == 0 && !work->seen.on_host; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!is_call(step, block))
            continue;
        int64_t rest = block->size - (int64_t)map_get(&least, call_of(block));
        bool cut = rest == 0 || rest >= UNCUT;
        any = any || !cut;
        if (!cut && block->seq <= step->peak && block->end > step->peak)
            at_peak += rest;
    }
    work->uncut = any && at_peak < UNCUT ? UNCUT : at_peak;
    map_clear(&least);
    return err;
}
