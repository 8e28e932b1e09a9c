/* levers_no_grad.c - see levers_no_grad.h. */
#include "levers_no_grad.h"

#include "error.h"
#include "group.h"

enum {
    BEFORE_LEAST = 2,
    BEFORE = 4 /* a block of a graph goes before one of so many that were made before it */
};

enum { SURE = 1, MAY_BE = 2 }; /* an output, in the map of them */

/* It may be of a graph. */
bool no_grad_is_made(const struct levers_block *block)
{
    switch (block->purpose) {
    case PURPOSE_INPUT:
        return true;
    case PURPOSE_HELD:
    case PURPOSE_ACTIVATION:
    case PURPOSE_WORKSPACE:
    case PURPOSE_OTHER:
        return !block->tagged;
    default:
        return false;
    }
}

bool no_grad_outlives(const struct no_grad_call *call, const struct levers_block *block)
{
    return no_grad_is_made(block) && block->end > call->end;
}

bool no_grad_is_kept(const struct no_grad *all, const struct no_grad_call *call, size_t at)
{
    const uint64_t output = map_get(&all->outputs, at);
    return no_grad_outlives(call, &all->step->blocks[at]) && output != SURE &&
           (all->most || output != MAY_BE);
}

/* A cache of keys and values is held, too. */
static bool is_cached(const struct no_grad *all, const struct levers_block *block)
{
    return block->site != GROUP_NONE &&
           map_get(&all->work->cache.sites, (uint64_t)block->site) != MAP_NONE;
}

/* Of the module that leaves something last. */
static int64_t last_module(const struct no_grad *all, const struct no_grad_call *call)
{
    for (size_t i = call->after; i-- > call->first;)
        if (no_grad_outlives(call, &all->step->blocks[i]))
            return all->step->blocks[i].module;
    return GROUP_NONE;
}

/* The last one surely is. What one operation kept goes in any order, one right behind the other. */
int no_grad_find_outputs(struct no_grad *all, const struct no_grad_call *call)
{
    int64_t ends[BEFORE] = {0};
    const int64_t returns = last_module(all, call);
    size_t count = 0, last = SIZE_MAX;
    for (size_t i = call->first; i < call->after; i++) {
        const struct levers_block *block = &all->step->blocks[i];
        bool longer = count >= BEFORE_LEAST && block->end != LEVERS_NEVER;
        if (!no_grad_outlives(call, block))
            continue;
        for (size_t j = 0; j < BEFORE; j++)
            longer = longer && block->end > ends[j] &&
                     (block->module == returns || block->end != ends[j] + 1);
        if ((longer || is_cached(all, block)) && !map_put(&all->outputs, i, MAY_BE, NULL))
            return ERR_NOMEM;
        last = i;
        if (!longer)
            ends[count++ % BEFORE] = block->end;
    }
    return last == SIZE_MAX || map_put(&all->outputs, last, SURE, NULL) ? 0 : ERR_NOMEM;
}

/* Nothing is made while it is there: what an operation works in, as cuDNN's. A result of one is
 * there until the next one's is. */
bool no_grad_is_scratch(const struct levers_step *step, size_t at)
{
    return at + 1 < step->count && step->blocks[at].end < step->blocks[at + 1].seq;
}

static uint64_t like_of(const struct levers_block *block)
{
    const uint64_t module = block->module == GROUP_NONE ? 0 : (uint64_t)block->module;
    return ((uint64_t)block->site << 40 ^ (uint64_t)block->asked) * 0x9e3779b97f4a7c15u ^ module;
}

void no_grad_begin_edit(struct no_grad *all)
{
    levers_edit_clear(&all->edit);
    map_clear(&all->likes);
}

int no_grad_cut(struct no_grad *all, const struct no_grad_call *call)
{
    const struct levers_block *blocks = all->step->blocks;
    int64_t next = call->end + 1, second = call->end + 1;
    for (size_t i = call->after; i-- > call->first;) {
        if (no_grad_is_kept(all, call, i) &&
            (!levers_cut(&all->edit, i, all->most ? blocks[i].seq + 1 : second, LEVERS_NEVER) ||
             !map_put(&all->likes, like_of(&blocks[i]), 1, NULL)))
            return ERR_NOMEM;
        if (no_grad_outlives(call, &blocks[i])) {
            second = next;
            next = blocks[i].seq + 1;
        }
    }
    return 0;
}

int no_grad_cut_older(struct no_grad *all)
{
    const struct levers_step *step = all->step;
    for (size_t i = 0; i < step->older; i++)
        if (no_grad_is_made(&step->blocks[i]) && step->blocks[i].site != GROUP_NONE &&
            map_get(&all->likes, like_of(&step->blocks[i])) != MAP_NONE &&
            !levers_cut(&all->edit, i, step->begin, LEVERS_NEVER))
            return ERR_NOMEM;
    return 0;
}

int no_grad_try(struct no_grad *all, no_grad_make *make, void *self, struct levers_words *words)
{
    int64_t lowest = 0, highest = 0;
    all->most = true;
    int err = make(all, self);
    if (err >= 0)
        err = levers_highest(all->step, &all->edit, &lowest, NULL);
    all->most = false;
    if (err >= 0)
        err = make(all, self);
    if (err >= 0)
        err = levers_highest(all->step, &all->edit, &highest, NULL);
    if (err < 0 || !all->edit.count)
        return err;
    words->estimated = highest - lowest > (all->step->highest - highest) / 200;
    return levers_try(all->work, &all->edit, words);
}

void no_grad_clear(struct no_grad *all)
{
    no_grad_begin_edit(all);
    map_clear(&all->outputs);
}
