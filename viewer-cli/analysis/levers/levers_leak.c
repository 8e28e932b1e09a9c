/*
 * Levers on what a run keeps from step to step: a graph that is never let go, or tensors that a
 * collection holds. Which of the two it is tells `tidemark leaks`, site by site: to detach a tensor
 * frees what its graph holds, and not the tensor.
 */
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "leaks.h"
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

bool levers_outlives(const struct levers_work *work, const struct levers_block *block)
{
    const struct levers_phases *phases = &work->seen.step.phases;
    const struct levers_phase *own = levers_phase_after(phases, LEVERS_BACKWARD, block->seq);
    const struct levers_phase *next =
        own ? levers_phase_after(phases, LEVERS_BACKWARD, own->begin) : NULL;
    bool leaks = levers_leaks(work, block->site);
    if (block->purpose == PURPOSE_INPUT && !leaks) /* one may be loaded ahead */
        return false;
    if (next)
        return block->end > next->end;
    if (own)
        return leaks && block->end > own->end;
    const struct levers_phase *phase = phase_of(&work->seen.step, block);
    return leaks && phase && phase->step < work->seen.step.step &&
           levers_at_peak(&work->seen.step, block);
}

/* ---- who holds them ---- */

enum { HOLDERS_MOST = 8 };

struct held { /* by one variable, or its graph; the first one of `holders` is of those not known */
    struct leak_holder holder;
    enum purpose purpose;
};

struct holders {
    struct held held[HOLDERS_MOST];
    size_t count;
    struct map of; /* site to place */
    bool on_host;
};

static bool same(const struct leak_holder *one, const struct leak_holder *other)
{
    return one->kind == other->kind && strcmp(one->path, other->path) == 0;
}

static bool add_holder(struct holders *holders, const struct leak_site *site)
{
    size_t at = 1;
    while (at < holders->count && !same(&holders->held[at].holder, &site->holder))
        at++;
    if (site->holder.kind == HOLDER_UNKNOWN || site->holder.kind == HOLDER_OPTIMIZER ||
        at == HOLDERS_MOST)
        return true;
    if (at == holders->count)
        holders->held[holders->count++] = (struct held){site->holder, site->purpose};
    return map_put(&holders->of, (uint64_t)site->site, at, NULL);
}

static int find_holders(const struct levers_work *work, struct holders *out)
{
    const struct leak_options usual = {INT64_MIN, INT64_MAX, LEAK_KEEP, LEAK_WARM_UP, 0};
    struct leaks leaks;
    out->count = 1;
    int err = leaks_read(work->seen.db, work->seen.peak->process, work->seen.peak->device, &usual,
                         &leaks);
    for (size_t i = 0; i < leaks.count && err >= 0; i++)
        if (levers_leaks(work, leaks.sites[i].site) && !add_holder(out, &leaks.sites[i]))
            err = ERR_NOMEM;
    out->on_host = leaks.on_host;
    leaks_clear(&leaks);
    return err;
}

/* Nothing but numbers is in it, whose graphs have a lever that says the same. */
static bool is_named(const struct holders *holders, size_t at)
{
    const struct leak_holder *holder = &holders->held[at].holder;
    for (size_t i = 1; i < holders->count && at && holder->bytes <= 8; i++)
        if (holders->held[i].holder.kind == HOLDER_GRAPH &&
            holders->held[i].holder.around == holder->kind &&
            strcmp(holders->held[i].holder.path, holder->path) == 0)
            return true;
    return false;
}

/* Once the collection is empty, the graphs of its elements are gone, too. */
static bool goes_with(const struct holders *holders, size_t at, int64_t site)
{
    uint64_t known = map_get(&holders->of, (uint64_t)site);
    size_t place = known == MAP_NONE ? 0 : (size_t)known;
    const struct leak_holder *holder = &holders->held[place].holder;
    return place == at ||
           (at && holder->kind == HOLDER_GRAPH && holder->around == holders->held[at].holder.kind &&
            strcmp(holder->path, holders->held[at].holder.path) == 0);
}

static int cut(const struct levers_work *work, const struct holders *holders, size_t at,
               struct levers_edit *edit)
{
    const struct levers_step *step = &work->seen.step;
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        const struct levers_phase *phase = phase_of(step, block);
        if (!levers_leaks(work, block->site) || !goes_with(holders, at, block->site) ||
            !may_leak(block) || !phase || phase->step < 0)
            continue;
        int64_t end = end_without(step, block, phase);
        if (end < block->end && !levers_cut(edit, i, end, LEVERS_NEVER))
            return ERR_NOMEM;
    }
    return 0;
}

/* ---- in words ---- */

static void put_words(const struct holders *holders, size_t at, struct buf *text)
{
    char holder[HOLDER_TEXT], advice[HOLDER_ADVICE], line[HOLDER_LINE + 4];
    const struct held *held = &holders->held[at];
    holder_advice(advice, &held->holder, held->purpose, holders->on_host);
    if (!at)
        buf_text(text, "clear() or deque(maxlen=N) for a list that keeps outputs of a step for the "
                       "next; state = state.detach() for a state, value.item() for a sum");
    else if (held->holder.kind == HOLDER_GRAPH)
        buf_print(text, "variable %s%s keeps the graphs of earlier steps: %s", held->holder.path,
                  holder_line(line, &held->holder), advice);
    else
        buf_print(text, "keep no tensors of earlier steps in %s: %s",
                  holder_text(holder, &held->holder, held->purpose, true), advice);
}

static int try_holder(struct levers_work *work, const struct holders *holders, size_t at)
{
    enum holder_kind kind = holders->held[at].holder.kind;
    struct levers_words words = {.kind = at && kind != HOLDER_GRAPH ? LEVER_BOUND : LEVER_DETACH,
                                 .estimated = true,
                                 .site = LEVERS_NONE};
    struct levers_edit edit = {0};
    struct buf text = {0};
    int err = is_named(holders, at) ? 0 : cut(work, holders, at, &edit);
    put_words(holders, at, &text);
    words.before = buf_string(&text);
    if (err >= 0 && text.broken)
        err = ERR_NOMEM;
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    buf_clear(&text);
    levers_edit_clear(&edit);
    return err;
}

static bool any_leaks(const struct levers_work *work)
{
    size_t at = 0;
    const struct map_entry *entry;
    while ((entry = map_next(&work->leaking, &at)))
        if (entry->value >= STEPS_LEAST)
            return true;
    return false;
}

int levers_leak(struct levers_work *work)
{
    struct map last = {0};
    struct holders holders = {0};
    int err = find_sites(&work->seen.step, &work->leaking, &last);
    map_clear(&last);
    if (err >= 0 && any_leaks(work))
        err = find_holders(work, &holders);
    for (size_t i = 0; i < holders.count && err >= 0; i++)
        err = try_holder(work, &holders, i);
    map_clear(&holders.of);
    return err;
}
