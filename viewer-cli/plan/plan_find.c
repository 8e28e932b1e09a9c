/* plan_find.c - the largest values that fit, by rehearsal: see plan.h. */
#include <assert.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "plan.h"

const struct vary_name *plan_searched(const struct plan *plan)
{
    return plan->vary.searched == VARY_NONE ? &plan->alone : &plan->vary.names[plan->vary.searched];
}

void plan_set_place(const struct plan *plan, struct vary_at *at, size_t place)
{
    if (plan->vary.searched != VARY_NONE)
        at->of[plan->vary.searched] = place;
}

size_t plan_place(const struct plan *plan, const struct vary_at *at)
{
    return plan->vary.searched == VARY_NONE ? 0 : at->of[plan->vary.searched];
}

int64_t plan_memory(const struct plan *plan, size_t card)
{
    return (int64_t)plan->cards[card].profile.memory - plan->options->reserve;
}

int64_t plan_room(const struct plan *plan, size_t card)
{
    return gpu_card_room(&plan->cards[card].profile, plan->options->reserve);
}

size_t plan_bound(const struct plan *plan, const struct vary_at *at, size_t card)
{
    const struct plan_card *cards = plan->cards;
    size_t bound = plan_searched(plan)->count;
    for (size_t i = 0; i < plan->answer_count; i++) {
        const struct plan_answer *other = &plan->answers[i];
        bool more = cards[other->card].model == cards[card].model &&
                    cards[other->card].profile.memory >= cards[card].profile.memory;
        if (!more || other->state == PLAN_OPEN || other->refused == PLAN_NONE ||
            !vary_is_less(&plan->vary, &other->at, at))
            continue;
        bound = other->refused < bound ? other->refused : bound;
    }
    return bound;
}

struct plan_answer *plan_new_answer(struct plan *plan, const struct vary_at *at, size_t card)
{
    if (!MEM_GROW(plan->answers, plan->answer_cap, plan->answer_count + 1))
        return NULL;
    struct plan_answer *answer = &plan->answers[plan->answer_count++];
    *answer = (struct plan_answer){.at = *at,
                                   .card = card,
                                   .largest = PLAN_NONE,
                                   .refused = PLAN_NONE,
                                   .largest_try = PLAN_NONE,
                                   .refused_try = PLAN_NONE,
                                   .allocated = SEEN_NONE,
                                   .reserved = SEEN_NONE,
                                   .need = SEEN_NONE,
                                   .step = SEEN_NONE};
    return answer;
}

const char *plan_no_kernels(const struct plan *plan, size_t card)
{
    for (size_t i = 0; i < plan->try_count; i++)
        if (plan->tries[i].card == plan->cards[card].model)
            return plan->tries[i].seen.no_kernels;
    return "";
}

/* ---- tries ---- */

/* One that was tried before; PLAN_NONE. */
static size_t find_try(const struct plan *plan, const struct vary_at *at, size_t model)
{
    for (size_t i = 0; i < plan->try_count; i++)
        if (plan->tries[i].card == model && memcmp(&plan->tries[i].at, at, sizeof *at) == 0)
            return i;
    return PLAN_NONE;
}

/* It failed for a reason that the next value may not have: the first one, with memory already. Of a
 * batch of one BatchNorm has no variance; without that file or that package it fails sooner. */
static bool is_of_first(const struct plan *plan, const struct plan_try *it)
{
    return it->result == TRY_FAILED && it->seen.found && plan_place(plan, &it->at) == 0 &&
           plan_searched(plan)->count > 1;
}

/* Not one has worked so far: on this card or, with PLAN_NONE, on any. */
static bool is_hopeless(const struct plan *plan, size_t model)
{
    size_t failed = 0, first = 0;
    for (size_t i = 0; i < plan->try_count; i++) {
        const struct plan_try *it = &plan->tries[i];
        if (model != PLAN_NONE && it->card != model)
            continue;
        if (it->result != TRY_FAILED)
            return false;
        failed++;
        first += is_of_first(plan, it);
    }
    return failed > first;
}

bool plan_is_stepless(const struct plan *plan, const struct plan_try *it)
{
    bool any = false;
    for (size_t i = 0; i < plan->try_count; i++)
        any = any || plan->tries[i].seen.steps > 0;
    return any && it->result == TRY_FITS && it->seen.steps == 0;
}

int plan_try(struct plan *plan, const struct plan_machine *machine, const struct vary_at *at,
             size_t card, size_t *place)
{
    if (!MEM_GROW(plan->tries, plan->try_cap, plan->try_count + 1))
        return ERR_NOMEM;
    struct plan_try *it = &plan->tries[plan->try_count++];
    int err = plan_try_run(&plan->run, machine, at, it);
    it->card = card;
    *place = plan->try_count - 1;
    if (err < 0)
        return err;
    plan_progress_try(plan, it);
    plan->over =
        it->result == TRY_LEFT || (it->result == TRY_FAILED && is_hopeless(plan, PLAN_NONE));
    return 0;
}

#define NO_SIZE "so no size is known to fit: "

/* The first one ran well, and of the GPU's memory nothing is known. */
static int find_other_way(struct plan *plan)
{
    const struct plan_try *first = &plan->tries[0];
    if (first->result != TRY_UNUSED && first->result != TRY_UNSEEN)
        return 0;
    plan->over = true;
    if (first->result == TRY_UNSEEN)
        plan->no =
            "the program took GPU memory from the CUDA driver and reported no blocks, " NO_SIZE
            "use PyTorch's own allocator, or report blocks by tidemark.h; tidemark ladder has the "
            "driver's allocations";
    else if (first->seen.found && plan->options->way == PLAN_AUTO)
        plan->way = PLAN_SCALING;
    else if (first->seen.found)
        plan->no = "the program never used the GPU, " NO_SIZE "have it use CUDA, as by "
                   "model.to(\"cuda\"), or plan by its memory on the CPU: --by scaling";
    else
        plan->no =
            "the program never used the GPU, " NO_SIZE "have it use CUDA, as by model.to(\"cuda\")";
    return 0;
}

static int rehearse(struct plan *plan, const struct vary_at *at, size_t model, size_t *place)
{
    const struct plan_card *card = &plan->cards[model];
    const struct plan_machine machine = {card->gpu, plan_memory(plan, model), plan->several};
    *place = find_try(plan, at, model);
    if (*place != PLAN_NONE)
        return 0;
    int err = plan_try(plan, &machine, at, model, place);
    return err < 0 || plan->try_count > 1 ? err : find_other_way(plan);
}

/* ---- one combination on one card ---- */

/* What the try says about this card, which has no more memory than the one that was rehearsed. */
static int judge(const struct plan *plan, const struct plan_try *it, size_t card, bool *fits,
                 int64_t *reserved)
{
    *fits = it->result == TRY_FITS;
    *reserved = it->seen.reserved;
    if (card == it->card || !*fits)
        return 0;
    return plan_read_fits(it->path, &it->seen, plan_room(plan, card), fits, reserved);
}

/* What tries of this combination needed: on cards of the same capability, or else on any. */
static void hint(const struct plan *plan, const struct vary_at *at, size_t model,
                 struct search *search)
{
    for (int same = 0; same < 2; same++)
        for (size_t i = 0; i < plan->try_count; i++) {
            const struct plan_try *it = &plan->tries[i];
            bool fitting = it->result == TRY_FITS && it->seen.need != SEEN_NONE;
            if (fitting && (it->card == model) == same && vary_is_less(&plan->vary, &it->at, at) &&
                vary_is_less(&plan->vary, at, &it->at))
                search_hint(search, plan_place(plan, &it->at), it->seen.need);
        }
}

static int copy_figures(const struct plan *plan, struct plan_answer *answer)
{
    if (answer->largest_try == PLAN_NONE)
        return 0;
    const struct plan_seen *seen = &plan->tries[answer->largest_try].seen;
    answer->allocated = seen->allocated;
    answer->need = seen->need;
    answer->step = seen->step;
    answer->phase = seen->phase ? mem_copy(seen->phase, strlen(seen->phase)) : NULL;
    return answer->phase || !seen->phase ? 0 : ERR_NOMEM;
}

/* `stepless`: the first place without a step; PLAN_NONE. */
static void settle(const struct plan *plan, const struct search *search, bool open, size_t stepless,
                   struct plan_answer *answer)
{
    bool refused = search->high < (int64_t)plan_searched(plan)->count;
    bool unknown = refused && (size_t)search->high == stepless;
    bool fits = search->low > search->floor;
    answer->state = fits && !open                           ? PLAN_FOUND
                    : open || unknown || search->floor >= 0 ? PLAN_OPEN
                                                            : PLAN_EMPTY;
    if (fits)
        answer->largest = (size_t)search->low;
    if (refused && !unknown)
        answer->refused = (size_t)search->high;
    if (answer->largest != PLAN_NONE)
        plan_set_place(plan, &answer->at, answer->largest);
}

static int find_one(struct plan *plan, const struct vary_at *combination, size_t card)
{
    struct vary_at at = *combination;
    struct search search;
    size_t place, tried, stepless = PLAN_NONE, model = plan->cards[card].model;
    int64_t reserved;
    bool open = false, fits;
    int err = 0;
    search_begin(&search, plan_searched(plan), plan_bound(plan, combination, card),
                 plan_room(plan, card));
    hint(plan, combination, model, &search);
    struct plan_answer *answer = plan_new_answer(plan, combination, card);
    if (!answer)
        return ERR_NOMEM;
    answer->replayed = model != card;
    while (!open && search_next(&search, &place)) {
        open = plan->over || plan_try_signal() || is_hopeless(plan, model);
        if (open)
            break;
        plan_set_place(plan, &at, place);
        err = rehearse(plan, &at, model, &tried);
        if (err < 0)
            return err;
        const struct plan_try *it = &plan->tries[tried];
        if (is_of_first(plan, it) && !plan->over) {
            search_skip(&search);
            continue;
        }
        open = (it->result != TRY_FITS && it->result != TRY_REFUSED) || plan->over;
        if (open)
            break;
        err = judge(plan, it, card, &fits, &reserved);
        if (err < 0)
            return err;
        if (plan_is_stepless(plan, it)) {
            stepless = place < stepless ? place : stepless;
            fits = false;
        } else if (fits) {
            answer->largest_try = tried;
            answer->reserved = reserved;
        } else {
            answer->refused_try = tried;
        }
        search_learn(&search, place, fits,
                     it->seen.need == SEEN_NONE ? SEARCH_UNKNOWN : it->seen.need);
    }
    settle(plan, &search, open, stepless, answer);
    return copy_figures(plan, answer);
}

int plan_find(struct plan *plan)
{
    int err = 0;
    for (size_t card = 0; card < plan->card_count && err == 0; card++)
        for (size_t i = 0; i < plan->vary.combinations && err == 0; i++) {
            const struct vary_at at = vary_combination(&plan->vary, i);
            if (plan->way == PLAN_REHEARSAL)
                err = find_one(plan, &at, card);
        }
    assert(err < 0 || plan_is_valid(plan));
    return err;
}
