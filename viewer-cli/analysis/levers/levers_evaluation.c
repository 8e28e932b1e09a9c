/*
 * A lever on an evaluation that records gradients, in a program that trains: what its forwards keep
 * for a backward goes only with their outputs, and no backward comes.
 *
 * Whether gradients were recorded is told by what outlives a call: under no_grad that is what the
 * model returns, of a few modules; with gradients it is a good part of all that the call made, of
 * most of the modules that training keeps something of. Where a backward comes, as in training with
 * model.eval(), blocks go inside of it.
 */
#include "error.h"
#include "group.h"
#include "levers_no_grad.h"
#include "map.h"
#include "search.h"

enum { MODULES = 2 }; /* of one module of so many that training keeps something of */

struct call { /* of a model, without a backward */
    const struct levers_phase *phase;
    struct no_grad_call at; /* to the phase's end; where that goes on as a graph is freed, its last
                             * birth */
    int64_t made, kept;     /* bytes; those that outlive it, without its output: */
    int64_t consumed;       /* they go in a backward, */
    int64_t gone;           /* before the next one, */
    int64_t unknown;        /* or were there when the recording was over */
    int64_t from, to;       /* the other ones' ends */
};

struct evaluation {
    struct no_grad no_grad;
    const struct levers_step *step;
    struct map trained; /* modules that training keeps something of */
    bool consumed;      /* a backward goes through one that counts as an evaluation */
    const struct levers_phase *behind; /* the backward before the last call in evaluation mode */
    size_t between;                    /* backwards with such a call behind or before them */
    struct levers_words words;
    bool forwards; /* one of the calls is none of an evaluation */
};

static void weigh(const struct evaluation *all, struct call *call)
{
    const struct levers_step *step = all->step;
    const struct levers_phase *backward =
        levers_phase_after(&step->phases, LEVERS_BACKWARD, call->at.end);
    call->from = LEVERS_NEVER;
    for (size_t i = call->at.first; i < call->at.after; i++) {
        const struct levers_block *block = &step->blocks[i];
        call->made += no_grad_is_made(block) && !no_grad_is_scratch(step, i) ? block->size : 0;
        if (!no_grad_is_kept(&all->no_grad, &call->at, i))
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
                        .at = {.end = end,
                               .first = levers_first_from(all->step, phase->begin),
                               .after = levers_first_from(all->step, phase->end + 1)}};
    weigh(all, &call);
    return call;
}

/* A call may be the last of an evaluation, or all of it, and the phase go on as the function that
 * held its output returns, and the graph with it: then it counts as it stands at its last birth. */
static struct call call_of(const struct evaluation *all, const struct levers_phase *phase)
{
    struct call call = call_until(all, phase, phase->end);
    if (!phase->evaluates || call.at.after == call.at.first ||
        call.kept >= call.made / NO_GRAD_SHARE)
        return call;
    return call_until(all, phase, all->step->blocks[call.at.after - 1].seq);
}

/* Of the modules that it calls and that training keeps something of, most keep something now.
 * Where none are known, bytes have to do. */
static int is_of_most_modules(const struct evaluation *all, const struct call *call, bool *yes)
{
    struct map called = {0}, kept = {0};
    int err = 0;
    for (size_t i = call->at.first; i < call->at.after && err == 0; i++) {
        const uint64_t module = (uint64_t)all->step->blocks[i].module;
        if (all->step->blocks[i].module == GROUP_NONE || map_get(&all->trained, module) == MAP_NONE)
            continue;
        if (!map_put(&called, module, 1, NULL) ||
            (no_grad_is_kept(&all->no_grad, &call->at, i) && !map_put(&kept, module, 1, NULL)))
            err = ERR_NOMEM;
    }
    *yes = kept.count * MODULES >= called.count;
    map_clear(&called);
    map_clear(&kept);
    return err;
}

/* A forward in a step, and one that the end of the recording cut short, may have a backward that
 * is not there any more; one of two models of which one has a backward is needed. */
static int is_for_nothing(const struct evaluation *all, const struct call *call, bool *yes)
{
    const bool known = call->phase->evaluates && call->phase->step == GROUP_NONE && !all->consumed;
    *yes = call->kept && call->kept >= call->made / NO_GRAD_SHARE &&
           call->consumed < call->kept / 2 && (known || call->unknown < call->kept / 2);
    if (*yes && !call->phase->evaluates)
        *yes = call->gone > call->kept / 2 && !call->consumed;
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
    for (size_t i = call->at.first; i-- > 0;) {
        const struct levers_block *block = &all->step->blocks[i];
        const struct levers_phase *own = levers_phase_at(phases, block->seq);
        if (own && own->kind != LEVERS_OTHER_PHASE)
            break;
        if (own && own->evaluates)
            break;
        const bool last = call->to == 0 && block->end == LEVERS_NEVER;
        if (no_grad_is_made(block) && (last || (block->end >= from && block->end < until)) &&
            !levers_cut(&all->no_grad.edit, i, call->at.end, LEVERS_NEVER))
            return ERR_NOMEM;
    }
    return 0;
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
        err = no_grad_find_outputs(&all->no_grad, &call.at);
    }
    return err;
}

static void count_between(struct evaluation *all, const struct levers_phase *call)
{
    const struct levers_phase *behind =
        levers_phase_before(&all->step->phases, LEVERS_BACKWARD, call->begin);
    all->between += call->evaluates && (!all->between || behind != all->behind);
    all->behind = call->evaluates ? behind : all->behind;
}

/* A teacher is called in each step, and in evaluation mode. */
static const char *words_of(const struct evaluation *all)
{
    if (all->forwards)
        return "with torch.no_grad(): around forwards that no backward follows: they keep "
               "activations for one";
    if (all->between > 1 && all->between + 1 >= all->step->phases.of[LEVERS_BACKWARD].count)
        return "with torch.no_grad(): around the calls in evaluation mode of each step: they keep "
               "activations for a backward that does not come";
    return "with torch.no_grad(): around the evaluation: its forward keeps activations for a "
           "backward that does not come";
}

static int make_edit(struct no_grad *no_grad, void *self)
{
    struct evaluation *all = self;
    const struct levers_phases *phases = &all->step->phases;
    int err = 0;
    no_grad_begin_edit(no_grad);
    all->behind = NULL;
    all->between = 0;
    for (size_t i = 0; i < phases->count && err >= 0; i++) {
        bool yes;
        if (!is_call(&phases->phases[i]))
            continue;
        struct call call = call_of(all, &phases->phases[i]);
        err = is_for_nothing(all, &call, &yes);
        if (err >= 0 && yes) {
            count_between(all, &phases->phases[i]);
            all->forwards = all->forwards || !phases->phases[i].evaluates;
            err = no_grad_cut(no_grad, &call.at);
            if (err >= 0)
                err = cut_given(all, &call);
        }
    }
    all->words.before = words_of(all);
    return err < 0 ? err : no_grad_cut_older(no_grad);
}

static int try_it(struct levers_work *work, struct evaluation *all)
{
    all->words = (struct levers_words){
        .kind = LEVER_NO_GRAD,
        .anew = work->out->state == LEVERS_NO_STEP, /* the whole run is looked at */
        .site = LEVERS_NONE,
    };
    return no_grad_try(&all->no_grad, make_edit, all, &all->words);
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
    struct evaluation all = {.no_grad = {.work = work, .step = &work->seen.step},
                             .step = &work->seen.step};
    int err = read_run(work);
    if (err < 0 || !work->seen.step.phases.of[LEVERS_BACKWARD].count)
        return err;
    err = levers_cache_sites(work->seen.db, &work->cache);
    if (err >= 0)
        err = read_calls(&all);
    if (err >= 0)
        err = try_it(work, &all);
    no_grad_clear(&all.no_grad);
    map_clear(&all.trained);
    return err;
}
