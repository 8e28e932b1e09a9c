/*
 * A lever on an evaluation that records gradients, in a program that trains: what its forwards keep
 * for a backward goes only with their outputs, and no backward comes.
 *
 * Whether gradients were recorded is told by what outlives a call: under no_grad that is what the
 * model returns, of a few modules; with gradients it is a good part of all that the call made, of
 * most of the modules that training keeps something of. Where a backward comes, as in training with
 * model.eval(), blocks go inside of it.
 *
 * With no_grad a block is there until what is made of it is made: until the second one after it.
 * What the program holds stays: what the call leaves last, and what is there longer than those
 * before it, as a graph goes from its end on.
 */
#include "error.h"
#include "group.h"
#include "levers_work.h"
#include "map.h"
#include "search.h"

enum {
    SHARE = 4,   /* at least one part of so many outlives the call, */
    MODULES = 2, /* of one module of so many that training keeps something of */
    BEFORE_LEAST = 2,
    ALIKE = 8, /* calls that make as much, but for one part of so many */
    BEFORE = 4 /* a block of a graph goes before one of so many that were made before it */
};

enum { SURE = 1, MAY_BE = 2 }; /* an output, in the map of them */

struct call { /* of a model, without a backward */
    const struct levers_phase *phase;
    int64_t end;         /* of the phase; where that goes on as a graph is freed, its last birth */
    size_t first, after; /* its blocks, in their places */
    int64_t made, kept;  /* bytes; those that outlive it, without its output: */
    int64_t consumed;    /* they go in a backward, */
    int64_t gone;        /* before the next one, */
    int64_t unknown;     /* or were there when the recording was over */
    int64_t from, to;    /* the other ones' ends */
};

struct evaluation {
    const struct levers_work *work;
    const struct levers_step *step;
    struct map trained; /* modules that training keeps something of */
    struct map outputs; /* places of blocks that the program holds */
    bool consumed;      /* a backward goes through one that counts as an evaluation */
    bool most;          /* as if blocks went at once, and the program held no more than it has to */
    int64_t made;       /* by the last call of an evaluation that kept a graph; 0: there was none */
    bool forwards;      /* one of the calls is none of an evaluation */
    struct levers_edit edit;
};

/* It may be of a graph. */
static bool is_made(const struct levers_block *block)
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

static bool outlives(const struct call *call, const struct levers_block *block)
{
    return is_made(block) && block->end > call->end;
}

static bool is_kept(const struct evaluation *all, const struct call *call, size_t at)
{
    const uint64_t output = map_get(&all->outputs, at);
    return outlives(call, &all->step->blocks[at]) && output != SURE &&
           (all->most || output != MAY_BE);
}

/* A cache of keys and values is held, too. */
static bool is_cached(const struct evaluation *all, const struct levers_block *block)
{
    return block->site != GROUP_NONE &&
           map_get(&all->work->cache.sites, (uint64_t)block->site) != MAP_NONE;
}

/* The last one surely is. */
static int find_outputs(struct evaluation *all, const struct call *call)
{
    int64_t ends[BEFORE] = {0};
    size_t count = 0, last = SIZE_MAX;
    for (size_t i = call->first; i < call->after; i++) {
        const struct levers_block *block = &all->step->blocks[i];
        bool longer = count >= BEFORE_LEAST && block->end != LEVERS_NEVER;
        if (!outlives(call, block))
            continue;
        for (size_t j = 0; j < BEFORE; j++)
            longer = longer && block->end > ends[j];
        if ((longer || is_cached(all, block)) && !map_put(&all->outputs, i, MAY_BE, NULL))
            return ERR_NOMEM;
        last = i;
        if (!longer)
            ends[count++ % BEFORE] = block->end;
    }
    return last == SIZE_MAX || map_put(&all->outputs, last, SURE, NULL) ? 0 : ERR_NOMEM;
}

static void weigh(const struct evaluation *all, struct call *call)
{
    const struct levers_step *step = all->step;
    const struct levers_phase *backward =
        levers_phase_after(&step->phases, LEVERS_BACKWARD, call->end);
    call->from = LEVERS_NEVER;
    for (size_t i = call->first; i < call->after; i++) {
        const struct levers_block *block = &step->blocks[i];
        call->made += is_made(block) ? block->size : 0;
        if (!is_kept(all, call, i))
            continue;
        call->kept += block->size;
        if (block->end == LEVERS_NEVER) {
            call->unknown += block->size;
        } else if (levers_phase_around(&step->phases, LEVERS_BACKWARD, block->end)) {
            call->consumed += block->size;
        } else {
            call->gone += !backward || block->end < backward->begin ? block->size : 0;
            call->from = block->end < call->from ? block->end : call->from;
            call->to = block->end > call->to ? block->end : call->to;
        }
    }
}

static struct call call_until(const struct evaluation *all, const struct levers_phase *phase,
                              int64_t end)
{
    struct call call = {.phase = phase,
                        .end = end,
                        .first = levers_first_from(all->step, phase->begin),
                        .after = levers_first_from(all->step, phase->end + 1)};
    weigh(all, &call);
    return call;
}

static struct call call_of(const struct evaluation *all, const struct levers_phase *phase)
{
    return call_until(all, phase, phase->end);
}

/* The last call of an evaluation ends with that, and the function that held its output may have
 * returned: if the one before it kept a graph, and it made as much, it did, too. */
static struct call as_the_one_before(const struct evaluation *all, const struct call *call)
{
    const int64_t other = all->made - call->made;
    if (!call->phase->evaluates || call->after == call->first || call->kept >= call->made / SHARE ||
        !all->made || (other < 0 ? -other : other) > all->made / ALIKE)
        return *call;
    return call_until(all, call->phase, all->step->blocks[call->after - 1].seq);
}

/* Of the modules that it calls and that training keeps something of, most keep something now.
 * Where none are known, bytes have to do. */
static int is_of_most_modules(const struct evaluation *all, const struct call *call, bool *yes)
{
    struct map called = {0}, kept = {0};
    int err = 0;
    for (size_t i = call->first; i < call->after && err == 0; i++) {
        const uint64_t module = (uint64_t)all->step->blocks[i].module;
        if (all->step->blocks[i].module == GROUP_NONE || map_get(&all->trained, module) == MAP_NONE)
            continue;
        if (!map_put(&called, module, 1, NULL) ||
            (is_kept(all, call, i) && !map_put(&kept, module, 1, NULL)))
            err = ERR_NOMEM;
    }
    *yes = kept.count * MODULES >= called.count;
    map_clear(&called);
    map_clear(&kept);
    return err;
}

/* A forward in a step, and one that the end of the recording cut short, may have a backward that
 * is not there any more. */
static int is_for_nothing(const struct evaluation *all, const struct call *call, bool *yes)
{
    const bool known = call->phase->evaluates && call->phase->step == GROUP_NONE && !all->consumed;
    *yes = call->kept && call->kept >= call->made / SHARE && call->consumed < call->kept / 2 &&
           (known || call->unknown < call->kept / 2);
    if (*yes && !call->phase->evaluates)
        *yes = call->gone > call->kept / 2;
    return *yes ? is_of_most_modules(all, call, yes) : 0;
}

/* The ends of the others, with those next to them before anything is born: from, until. */
static void find_burst(const struct levers_step *step, const struct call *call, int64_t *from,
                       int64_t *until)
{
    size_t first, after;
    SEARCH_FIRST(first, 0, step->event_count, step->events[first].seq < call->from);
    SEARCH_FIRST(after, 0, step->event_count, step->events[after].seq <= call->to);
    while (first && step->events[first - 1].change < 0)
        first--;
    while (after < step->event_count && step->events[after].change < 0)
        after++;
    if (!call->to) /* none of them ended */
        first = after = step->event_count;
    *from = first < step->event_count ? step->events[first].seq : LEVERS_NEVER;
    *until = after < step->event_count ? step->events[after].seq : LEVERS_NEVER;
}

/* What it was given goes with the graph that saved it. */
static int cut_given(struct evaluation *all, const struct call *call)
{
    const struct levers_phases *phases = &all->step->phases;
    int64_t from, until;
    find_burst(all->step, call, &from, &until);
    for (size_t i = call->first; i-- > 0;) {
        const struct levers_block *block = &all->step->blocks[i];
        const struct levers_phase *own = levers_phase_at(phases, block->seq);
        if (own && own->kind != LEVERS_OTHER_PHASE)
            break;
        if (own && own->evaluates)
            break;
        const bool last = call->to == 0 && block->end == LEVERS_NEVER;
        if (is_made(block) && (last || (block->end >= from && block->end < until)) &&
            !levers_cut(&all->edit, i, call->end, LEVERS_NEVER))
            return ERR_NOMEM;
    }
    return 0;
}

static int cut_call(struct evaluation *all, const struct call *call)
{
    const struct levers_block *blocks = all->step->blocks;
    int64_t next = call->end, second = call->end;
    for (size_t i = call->after; i-- > call->first;) {
        if (is_kept(all, call, i) &&
            !levers_cut(&all->edit, i, all->most ? blocks[i].seq + 1 : second, LEVERS_NEVER))
            return ERR_NOMEM;
        if (outlives(call, &blocks[i])) {
            second = next;
            next = blocks[i].seq + 1;
        }
    }
    return cut_given(all, call);
}

static bool is_call(const struct levers_phase *phase)
{
    return (phase->evaluates || phase->kind == LEVERS_FORWARD) && phase->end != LEVERS_NEVER;
}

static int read_calls(struct evaluation *all)
{
    const struct levers_phases *phases = &all->step->phases;
    for (size_t i = 0; i < all->step->count; i++) {
        const struct levers_block *block = &all->step->blocks[i];
        if (block->module != GROUP_NONE && block->purpose == PURPOSE_ACTIVATION &&
            !map_put(&all->trained, (uint64_t)block->module, 1, NULL))
            return ERR_NOMEM;
    }
    int err = 0;
    for (size_t i = 0; i < phases->count && err == 0; i++) {
        if (!is_call(&phases->phases[i]))
            continue;
        struct call call = call_of(all, &phases->phases[i]);
        if (phases->phases[i].evaluates && call.kept && call.consumed >= call.kept / 2)
            all->consumed = true;
        err = find_outputs(all, &call);
    }
    return err;
}

static int make_edit(struct evaluation *all)
{
    const struct levers_phases *phases = &all->step->phases;
    int err = 0;
    levers_edit_clear(&all->edit);
    all->made = 0;
    for (size_t i = 0; i < phases->count && err >= 0; i++) {
        bool yes;
        if (!is_call(&phases->phases[i]))
            continue;
        struct call call = call_of(all, &phases->phases[i]);
        call = as_the_one_before(all, &call);
        err = is_for_nothing(all, &call, &yes);
        if (phases->phases[i].evaluates)
            all->made = yes ? call.made : 0;
        if (err >= 0 && yes) {
            all->forwards = all->forwards || !phases->phases[i].evaluates;
            err = cut_call(all, &call);
        }
    }
    return err;
}

static int try_it(struct levers_work *work, struct evaluation *all)
{
    int64_t lowest = 0, highest = 0;
    all->most = true;
    int err = make_edit(all);
    if (err >= 0)
        err = levers_highest(all->step, &all->edit, &lowest, NULL);
    all->most = false;
    if (err >= 0)
        err = make_edit(all);
    if (err >= 0)
        err = levers_highest(all->step, &all->edit, &highest, NULL);
    if (err < 0 || !all->edit.count)
        return err;
    const struct levers_words words = {
        .kind = LEVER_NO_GRAD,
        .estimated = highest - lowest > (all->step->highest - highest) / 200,
        .anew = work->out->state == LEVERS_NO_STEP, /* the whole run is looked at */
        .site = LEVERS_NONE,
        .before = all->forwards
                      ? "with torch.no_grad(): around forwards that no backward follows: they "
                        "keep activations for one"
                      : "with torch.no_grad(): around the evaluation: its forward keeps "
                        "activations for a backward that does not come"};
    return levers_try(work, &all->edit, &words);
}

/* A peak between two steps is one of the run. */
static int read_run(struct levers_work *work)
{
    if (work->out->state != LEVERS_NO_STEP || work->seen.peak->step != PEAK_NONE)
        return 0;
    int err = levers_step_read_run(work->seen.db, work->seen.peak, &work->seen.step);
    if (err < 0)
        levers_step_clear(&work->seen.step);
    if (err >= 0)
        return levers_find_uncut(work);
    return err == ERR_LIMIT || err == ERR_NOTFOUND ? 0 : err;
}

int levers_evaluation(struct levers_work *work)
{
    struct evaluation all = {.work = work, .step = &work->seen.step};
    int err = read_run(work);
    if (err < 0 || !work->seen.step.phases.of[LEVERS_BACKWARD].count)
        return err;
    err = levers_cache_sites(work->seen.db, &work->cache);
    if (err >= 0)
        err = read_calls(&all);
    if (err >= 0)
        err = try_it(work, &all);
    levers_edit_clear(&all.edit);
    map_clear(&all.trained);
    map_clear(&all.outputs);
    return err;
}
