/*
 * Levers on what the program holds on to beyond backward: variables that end earlier.
 */
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "levers_needs.h"
#include "levers_sites.h"
#include "levers_units.h"
#include "levers_work.h"
#include "mem.h"

/* What goes without a birth between goes with one variable: the answer of a model holds several. */
static size_t moment_of(const struct levers_step *step, const struct levers_block *block)
{
    return block->end == LEVERS_NEVER ? SIZE_MAX : levers_first_from(step, block->end);
}

static bool is_held(const struct levers_step *step, const struct levers_block *block)
{
    (void)step;
    return block->purpose == PURPOSE_HELD;
}

struct variable {
    int64_t site;    /* the largest */
    struct map ends; /* moments at which its blocks go */
    struct map needs;
    bool unknown;
    size_t others; /* sites */
};

static int find_ends(const struct levers_step *step, struct variable *variable)
{
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (is_held(step, block) && block->site == variable->site && block->end != LEVERS_NEVER &&
            !map_put(&variable->ends, moment_of(step, block), 1, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

static bool is_of(const struct levers_step *step, const struct variable *variable,
                  const struct levers_block *block)
{
    return is_held(step, block) && (block->site == variable->site ||
                                    (block->end != LEVERS_NEVER &&
                                     map_get(&variable->ends, moment_of(step, block)) != MAP_NONE));
}

/* Born before a backward and alive behind it. Where autograd saved it, it goes no earlier than in
 * backward. `late`: what is not known was saved. */
static int let_go(struct levers_work *work, const struct variable *variable, bool late,
                  struct levers_edit *edit)
{
    const struct levers_step *step = &work->seen.step;
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!is_of(step, variable, block))
            continue;
        uint64_t need = map_get(&variable->needs, (uint64_t)block->site);
        int64_t from = step->begin;
        if (i >= step->older) {
            const struct levers_phase *backward =
                levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq);
            if (!backward)
                continue;
            from = need == LEVERS_NEED_SURE ? levers_end_in_backward(step, block, backward)
                   : late && need == LEVERS_NEED_UNKNOWN ? backward->end
                                                         : backward->begin;
        }
        if (!levers_cut(edit, i, from, LEVERS_NEVER))
            return ERR_NOMEM;
    }
    return 0;
}

/* ---- what is held ---- */

/* What autograd keeps of the cache, it keeps. */
static int find_needs(struct levers_work *work, struct variable *variable)
{
    const struct levers_step *step = &work->seen.step;
    int err = 0;
    for (size_t i = 0; i < step->count && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        enum levers_need need = LEVERS_NEED_SURE;
        if (!is_of(step, variable, block) ||
            map_get(&variable->needs, (uint64_t)block->site) != MAP_NONE)
            continue;
        if (map_get(&work->cache.sites, (uint64_t)block->site) == MAP_NONE)
            err = levers_find_need(work, block->site, &need);
        variable->unknown = variable->unknown || need == LEVERS_NEED_UNKNOWN;
        variable->others += block->site != variable->site;
        if (err >= 0 && !map_put(&variable->needs, (uint64_t)block->site, need, NULL))
            err = ERR_NOMEM;
    }
    return err;
}

/* Not known: either way the same comes out, within a hundredth, or it is 'at most'. */
static int try_held(struct levers_work *work, const struct variable *variable,
                    struct levers_words *words)
{
    struct levers_edit early = {0}, late = {0};
    int64_t with_early, with_late = 0;
    int err = let_go(work, variable, false, &early);
    if (err >= 0 && variable->unknown)
        err = let_go(work, variable, true, &late);
    if (err >= 0 && variable->unknown)
        err = levers_highest(&work->seen.step, &early, &with_early, NULL);
    if (err >= 0 && variable->unknown) {
        err = levers_highest(&work->seen.step, &late, &with_late, NULL);
        words->at_most =
            err >= 0 && with_late - with_early > (work->seen.step.highest - with_early) / 100;
    }
    if (err >= 0)
        err = levers_try(work, &early, words);
    levers_edit_clear(&early);
    levers_edit_clear(&late);
    return err;
}

/* One that was made once and lives to the end is a cache, and no variable of the loop. */
static bool comes_again(const struct levers_step *step, int64_t site)
{
    size_t count = 0;
    for (size_t i = 0; i < step->count; i++)
        if (step->blocks[i].site == site && step->blocks[i].purpose == PURPOSE_HELD &&
            (++count > 1 || step->blocks[i].end != LEVERS_NEVER))
            return true;
    return step->first == step->last;
}

/* A lever of its own says what to do about all that it holds. */
static bool is_named(const struct levers_work *work, int64_t site)
{
    for (size_t i = 0; i < work->out->count; i++)
        if (work->out->levers[i].kind == LEVER_RETAIN_GRAPH)
            return true;
    return map_get(&work->cache.sites, (uint64_t)site) != MAP_NONE || levers_leaks(work, site);
}

/* It goes with the variable of a larger one. */
static bool is_taken(const struct levers_step *step, const struct map *taken, int64_t site)
{
    for (size_t i = 0; i < step->count; i++)
        if (is_held(step, &step->blocks[i]) && step->blocks[i].site == site &&
            step->blocks[i].end != LEVERS_NEVER &&
            map_get(taken, moment_of(step, &step->blocks[i])) != MAP_NONE)
            return true;
    return false;
}

/* Of one of its blocks; GROUP_NONE: not known. */
static int64_t module_of(const struct levers_step *step, int64_t site)
{
    for (size_t i = step->older; i < step->count; i++)
        if (step->blocks[i].site == site && is_held(step, &step->blocks[i]))
            return step->blocks[i].module;
    return GROUP_NONE;
}

/* All that is known of it is that it goes before backward is over. */
static bool is_only_known_later(const struct levers_work *work, int64_t site)
{
    const struct levers_step *step = &work->seen.step;
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        const struct levers_phase *backward =
            block->site == site && is_held(step, block)
                ? levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq)
                : NULL;
        if (backward && levers_end_in_backward(step, block, backward) == backward->end)
            return true;
    }
    return false;
}

static int try_variable(struct levers_work *work, int64_t site, struct map *taken)
{
    struct variable variable = {.site = site};
    char after[96], *name = NULL;
    int err = find_ends(&work->seen.step, &variable);
    if (err >= 0)
        err = find_needs(work, &variable);
    if (err >= 0)
        err = levers_output_name(work->seen.db, site, module_of(&work->seen.step, site), &name);
    bool sure = map_get(&variable.needs, (uint64_t)site) == LEVERS_NEED_SURE &&
                is_only_known_later(work, site);
    snprintf(after, sizeof after, "%s%s%s",
             sure ? " after loss.backward()" : " before loss.backward()",
             work->seen.step.cut_short && !sure ? ", as it did in the step before" : "",
             variable.others ? ", and all that the variable holds" : "");
    struct levers_words words = {.kind = LEVER_HELD,
                                 .site = site,
                                 .before = "del the variable that holds the output of ",
                                 .name = site == GROUP_NONE ? "calls without a stack" : name,
                                 .after = after};
    if (err >= 0)
        err = try_held(work, &variable, &words);
    for (size_t i = 0; i < work->seen.step.count && err >= 0; i++)
        if (is_of(&work->seen.step, &variable, &work->seen.step.blocks[i]) &&
            work->seen.step.blocks[i].end != LEVERS_NEVER &&
            !map_put(taken, moment_of(&work->seen.step, &work->seen.step.blocks[i]), 1, NULL))
            err = ERR_NOMEM;
    map_clear(&variable.ends);
    map_clear(&variable.needs);
    mem_free(name);
    return err;
}

/* ---- what a call made once ---- */

struct once { /* places of blocks that are set aside */
    size_t *blocks;
    size_t count, cap;
};

/* A whole step behind that of the block, before the one of the peak: its call had to make another.
 */
static bool was_a_step_between(const struct levers_step *step, const struct levers_block *block)
{
    const struct levers_phase *own =
        levers_phase_after(&step->phases, LEVERS_OPTIMIZER, block->seq);
    const struct levers_phase *next =
        own ? levers_phase_after(&step->phases, LEVERS_OPTIMIZER, own->end) : NULL;
    return next && next->end < step->own_begin;
}

static uint64_t like_of(const struct levers_block *block)
{
    return (uint64_t)block->site << 40 ^ (uint64_t)block->asked;
}

/* What a call made in an early step and not again is its own state, as that of a dropout in cuDNN's
 * RNNs, though the same call makes outputs in each step. From the last block on back. */
static int set_aside(struct levers_step *step, struct once *once)
{
    struct map later = {0};
    int err = 0;
    for (size_t i = step->count; i-- > 0 && err == 0;) {
        struct levers_block *block = &step->blocks[i];
        bool old = block->purpose == PURPOSE_HELD && block->end > step->own_end &&
                   map_get(&later, like_of(block)) == MAP_NONE && was_a_step_between(step, block);
        if (old && MEM_GROW(once->blocks, once->cap, once->count + 1)) {
            once->blocks[once->count++] = i;
            block->purpose = PURPOSE_OTHER;
        } else if (old || !map_put(&later, like_of(block), 1, NULL)) {
            err = ERR_NOMEM;
        }
    }
    map_clear(&later);
    return err;
}

static void put_back(struct levers_step *step, struct once *once)
{
    for (size_t i = 0; i < once->count; i++)
        step->blocks[once->blocks[i]].purpose = PURPOSE_HELD;
    mem_free(once->blocks);
}

static int find_held(struct levers_work *work)
{
    struct groups sites = {0};
    struct map taken = {0};
    int err = levers_group_sites(work, is_held, &sites);
    for (size_t i = 0; i < sites.count && err >= 0; i++) {
        int64_t site = sites.groups[i].id;
        if (comes_again(&work->seen.step, site) && !is_named(work, site) &&
            !is_taken(&work->seen.step, &taken, site))
            err = try_variable(work, site, &taken);
    }
    groups_clear(&sites);
    map_clear(&taken);
    return err;
}

int levers_held(struct levers_work *work)
{
    struct once once = {0};
    int err = set_aside(&work->seen.step, &once);
    if (err >= 0)
        err = find_held(work);
    put_back(&work->seen.step, &once);
    return err;
}
