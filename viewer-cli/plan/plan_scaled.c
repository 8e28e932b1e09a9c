/*
 * plan_scaled.c - the largest values that fit, where nothing can be rehearsed: the program runs on
 * the CPU with a few small values, and its recordings are scaled (plan_scale.h).
 */
#include <assert.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "plan.h"

/* ---- which values are recorded ---- */

/* Small ones, for the CPU has to compute them, and apart from each other by a quarter of the
 * smallest, for what is rounded to eights is no polynomial in ones. Not 1: a dimension of 1 is
 * often treated by itself. All of them, where they are few. */
static size_t choose_places(const struct vary_name *name, size_t places[SCALE_MOST])
{
    static const int64_t apart[SCALE_MOST] = {0, 1, 2, 4};
    int64_t first = vary_number(name, 0), unit;
    size_t count = 0, skip = name->count > SCALE_MOST + 1 && first <= 1;
    if (name->count <= SCALE_MOST || !name->range) {
        for (; count < name->count && count < SCALE_MOST; count++)
            places[count] = count;
        return count;
    }
    unit = first / 4 / name->step;
    unit = unit > 0 ? unit : 1;
    for (; count < SCALE_MOST; count++) {
        size_t place = skip + (size_t)(apart[count] * unit);
        if (place >= name->count)
            break;
        places[count] = place;
    }
    return count;
}

/* ---- one combination ---- */

/* The recordings. *count of them went well; fewer than were wanted: one did not. */
static int record_all(struct plan *plan, const struct vary_at *combination, const size_t *places,
                      size_t wanted, size_t *tried, size_t *count)
{
    const struct plan_machine cpu = {NULL, 0, false};
    struct vary_at at = *combination;
    int err = 0;
    for (*count = 0; *count < wanted && !plan->over && !plan_try_signal(); ++*count) {
        plan_set_place(plan, &at, places[*count]);
        err = plan_try(plan, &cpu, &at, PLAN_NONE, &tried[*count]);
        if (err < 0 || plan->tries[tried[*count]].result != TRY_FITS)
            break;
        if (!plan->tries[tried[*count]].seen.found) {
            plan->no = "the program reported no memory";
            plan->over = true;
            break;
        }
    }
    return err;
}

static int load(struct plan *plan, const size_t *places, const size_t *tried, size_t count,
                struct scale *scale)
{
    struct scale_source sources[SCALE_MOST];
    for (size_t i = 0; i < count; i++) {
        const struct plan_try *it = &plan->tries[tried[i]];
        sources[i] = (struct scale_source){it->path, vary_number(plan_searched(plan), places[i]),
                                           it->seen.process, it->seen.device};
    }
    return scale_load(sources, count, plan->options->steps, scale);
}

static int copy_figures(struct plan *plan, struct scale *scale, struct plan_answer *answer)
{
    struct fit_need need;
    if (answer->largest == PLAN_NONE)
        return 0;
    int64_t number = vary_number(plan_searched(plan), answer->largest);
    int err = scale_measure(scale, number, &need);
    if (err >= 0)
        err = scale_look(scale, number, PLAN_SITES, &answer->peak);
    if (err < 0)
        return err;
    answer->allocated = need.peak_allocated;
    answer->reserved = need.peak_reserved;
    answer->need = need.smallest == FIT_NONE ? SEEN_NONE : need.smallest;
    answer->step = answer->peak.step;
    const char *phase = answer->peak.phase;
    answer->phase = phase ? mem_copy(phase, strlen(phase)) : NULL;
    return answer->phase || !phase ? 0 : ERR_NOMEM;
}

static int answer_one(struct plan *plan, struct scale *scale, const struct vary_at *combination,
                      size_t card)
{
    struct search search;
    struct fit_need need;
    size_t place;
    search_begin(&search, plan_searched(plan), plan_bound(plan, combination, card),
                 plan_room(plan, card));
    struct plan_answer *answer = plan_new_answer(plan, combination, card);
    if (!answer)
        return ERR_NOMEM;
    while (search_next(&search, &place)) {
        int err = scale_measure(scale, vary_number(plan_searched(plan), place), &need);
        if (err < 0)
            return err;
        bool fits = need.smallest != FIT_NONE && need.smallest <= plan_room(plan, card);
        search_learn(&search, place, fits, fits ? need.smallest : SEARCH_UNKNOWN);
    }
    answer->state = search.low < 0 ? PLAN_EMPTY : PLAN_FOUND;
    answer->largest = search.low < 0 ? PLAN_NONE : (size_t)search.low;
    answer->refused =
        search.high < (int64_t)plan_searched(plan)->count ? (size_t)search.high : PLAN_NONE;
    if (answer->largest != PLAN_NONE)
        plan_set_place(plan, &answer->at, answer->largest);
    return copy_figures(plan, scale, answer);
}

static int find_one(struct plan *plan, const struct vary_at *combination)
{
    struct scale scale = {0};
    size_t places[SCALE_MOST], tried[SCALE_MOST], count = 0;
    size_t wanted = choose_places(plan_searched(plan), places);
    int err = record_all(plan, combination, places, wanted, tried, &count);
    if (err < 0)
        return err;
    if (count == wanted) {
        err = load(plan, places, tried, count, &scale);
        for (size_t card = 0; card < plan->card_count && err >= 0; card++)
            err = answer_one(plan, &scale, combination, card);
        scale_clear(&scale);
        return err;
    }
    for (size_t card = 0; card < plan->card_count; card++)
        if (!plan_new_answer(plan, combination, card))
            return ERR_NOMEM;
    return 0;
}

int plan_find_scaled(struct plan *plan)
{
    int err = 0;
    plan->over = false;
    plan->answer_count = 0;
    for (size_t i = 0; i < plan->vary.combinations && err >= 0; i++) {
        const struct vary_at at = vary_combination(&plan->vary, i);
        err = find_one(plan, &at);
    }
    assert(err < 0 || plan_is_valid(plan));
    return err;
}
