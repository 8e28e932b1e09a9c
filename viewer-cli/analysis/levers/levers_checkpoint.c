/*
 * Levers on what forward keeps for backward: checkpoints of a unit, or no backward at all.
 */
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "levers_recompute.h"
#include "levers_trial.h"
#include "levers_units.h"
#include "levers_work.h"
#include "mem.h"

enum { SHOWN = 3 };

/* ---- no backward ---- */

/* A run that ended in its first forward says nothing of a backward: two steps have to have one. */
static bool has_backward(const struct levers_step *step)
{
    const struct levers_phase_row *forward = &step->phases.of[LEVERS_FORWARD];
    int64_t first = GROUP_NONE;
    if (step->phases.of[LEVERS_BACKWARD].count)
        return true;
    for (size_t i = 0; i < forward->count; i++) {
        const struct levers_phase *phase = &step->phases.phases[forward->at[i]];
        if (phase->end == LEVERS_NEVER || phase->step == GROUP_NONE)
            continue;
        if (first != GROUP_NONE && phase->step != first)
            return false;
        first = phase->step;
    }
    return true;
}

/* No backward follows: of forward's blocks those have to be kept which its own code refers to, and
 * which these are is not known. */
static int try_no_grad(struct levers_work *work)
{
    const struct levers_step *step = &work->seen.step;
    const struct levers_words words = {.kind = LEVER_NO_GRAD,
                                       .at_most = true,
                                       .site = LEVERS_NONE,
                                       .before = "run it under torch.no_grad() or "
                                                 "torch.inference_mode(): no backward follows"};
    struct levers_edit edit = {0};
    int err = 0;
    for (size_t i = step->older; i < step->count && err >= 0; i++)
        if (step->blocks[i].end != LEVERS_NEVER &&
            levers_phase_around(&step->phases, LEVERS_FORWARD, step->blocks[i].seq) &&
            !levers_cut(&edit, i, step->blocks[i].seq + 1, LEVERS_NEVER))
            err = ERR_NOMEM;
    if (err >= 0)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}

/* ---- units ---- */

enum { RNG_BYTES = 5056 };

static int by_highest(const void *one, const void *other)
{
    const struct levers_trial *a = one, *b = other;
    if (a->highest != b->highest)
        return a->highest < b->highest ? -1 : 1;
    return a->units[0]->depth < b->units[0]->depth ? -1 : a->units[0]->depth > b->units[0]->depth;
}

/* The switch of transformers turns the cache off. */
static int make_edit(struct levers_work *work, const struct levers_trial *trial, bool least,
                     struct levers_edit *edit)
{
    bool uncached = trial->units[0]->of_library;
    const struct levers_recomputing how = {
        .kept = work->seen.on_host ? RNG_BYTES : 0, .least = least, .casts = &work->casts};
    int err = 0;
    if (uncached)
        levers_cache_swap(&work->seen.step, &work->cache);
    for (size_t i = 0; i < trial->count && err >= 0; i++)
        err = levers_recompute(&work->seen.step, trial->units[i], &how, edit);
    if (uncached) {
        levers_cache_swap(&work->seen.step, &work->cache);
        err = err < 0 ? err : levers_cache_cut(&work->cache, edit);
    }
    return err;
}

static int highest_of(struct levers_work *work, const struct levers_trial *trial, bool least,
                      int64_t *out)
{
    struct levers_edit edit = {0};
    int err = make_edit(work, trial, least, &edit);
    if (err >= 0)
        err = levers_highest(&work->seen.step, &edit, out, NULL);
    levers_edit_clear(&edit);
    return err;
}

static int look_at(struct levers_work *work, struct levers_trial *trial)
{
    int err = highest_of(work, trial, false, &trial->highest);
    if (err >= 0)
        err = highest_of(work, trial, true, &trial->least);
    work->out->tried++;
    return err;
}

/* Calls of one lie inside of those of the other, somewhere. */
static bool overlap(const struct levers_unit *a, const struct levers_unit *b)
{
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        if (a->calls[i].last < b->calls[j].first)
            i++;
        else if (b->calls[j].last < a->calls[i].first)
            j++;
        else
            return true;
    }
    return false;
}

static bool fits(const struct levers_trial *trial, const struct levers_unit *unit)
{
    for (size_t i = 0; i < trial->count; i++)
        if (overlap(trial->units[i], unit))
            return false;
    return trial->count < LEVERS_UNITED;
}

/* Of a Sequential only the births say where one ends, and one may stand inside of another: where
 * the program has layers of its own class, these are better known. */
static bool is_layer(const struct levers_unit *unit)
{
    return !unit->plain && !unit->sequential && levers_is_repeated(unit);
}

/* Transformers' switch is for all that it can checkpoint: it switches another unit, inside of this
 * one, or around it. Of one inside of another the inner ones decide what is kept. */
static bool is_switched_with(const struct levers_units *units, const struct levers_unit *unit,
                             bool inside)
{
    for (size_t i = 0; i < units->count; i++) {
        const struct levers_unit *other = &units->units[i];
        const int depth = inside ? other->depth - unit->depth : unit->depth - other->depth;
        if (unit->by_library && other->by_library && depth > 0 && overlap(unit, other))
            return true;
    }
    return false;
}

/* The switch of transformers checkpoints all of its layers; a module of torch.nn is of use where
 * there is no other. */
static size_t make_trials(const struct levers_units *units, struct levers_trial *trials)
{
    size_t count = 0, of_library = SIZE_MAX;
    bool own = false, library = false, layers = false;
    for (size_t i = 0; i < units->count; i++) {
        own = own || !units->units[i].plain;
        layers = layers || is_layer(&units->units[i]);
        library = library || units->units[i].by_library;
    }
    for (size_t i = 0; i < units->count; i++) {
        const struct levers_unit *unit = &units->units[i];
        if ((unit->plain && own) || (unit->sequential && layers) ||
            (library && unit->of_library && !unit->by_library) ||
            is_switched_with(units, unit, true))
            continue;
        if (unit->by_library && of_library != SIZE_MAX && fits(&trials[of_library], unit)) {
            trials[of_library].units[trials[of_library].count++] = unit;
            continue;
        }
        of_library = unit->by_library && of_library == SIZE_MAX ? count : of_library;
        trials[count++] = (struct levers_trial){.units = {unit}, .count = 1};
    }
    return count;
}

/* Other units beside those of the best, as long as each takes another hundredth off. */
static int add_others(struct levers_work *work, const struct levers_trial *trials, size_t count,
                      struct levers_trial *best)
{
    int err = 0;
    for (size_t i = 1; i < count && err >= 0; i++) {
        struct levers_trial more = *best;
        if (trials[i].count > 1 || !fits(best, trials[i].units[0]))
            continue;
        more.units[more.count++] = trials[i].units[0];
        err = look_at(work, &more);
        if (err >= 0 && best->highest - more.highest > work->out->peak / 100)
            *best = more;
    }
    return err;
}

/* Something that a call makes lives on at the peak, as keys and values in a cache: a program that
 * computes again may hold it no more, or twice. */
static bool holds(const struct levers_step *step, const struct levers_unit *unit)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < unit->count; i++)
        for (size_t j = unit->calls[i].first; j <= unit->calls[i].last; j++)
            if (step->blocks[j].purpose == PURPOSE_HELD && levers_at_peak(step, &step->blocks[j]))
                bytes += step->blocks[j].size;
    return bytes > step->highest / 100;
}

/* Layers of one class behind each other. Backward of others, as of paths that skip some, may go
 * through them in another order once they are computed again. */
static bool is_one_row(const struct levers_trial *trial)
{
    const struct levers_unit *unit = trial->units[0];
    return trial->count == 1 && !unit->sequential && !unit->scattered;
}

/* Of one forward: what was there before the first call, and is behind the last, and not saved. A
 * call may take it beside its first input, as a decoder takes what the encoder left: then it is
 * kept. Where nothing is computed again yet, that is mostly an
 * embedding, which no layer takes. */
static int64_t bytes_beside(const struct levers_step *step, const struct levers_call *first,
                            const struct levers_call *last)
{
    const int64_t over = step->blocks[last->last].seq;
    int64_t bytes = 0;
    for (size_t i = levers_first_from(step, first->forward->begin); i < first->first; i++)
        if (step->blocks[i].end > over && step->blocks[i].end <= first->forward->end &&
            step->blocks[i].asked >= step->blocks[first->last].asked / 2)
            bytes += step->blocks[i].size;
    return bytes;
}

static bool may_keep_more(const struct levers_step *step, const struct levers_trial *trial)
{
    const struct levers_unit *unit = trial->units[0];
    for (size_t i = 0, next; i < unit->count; i = next) {
        for (next = i + 1;
             next < unit->count && unit->calls[next].forward == unit->calls[i].forward;)
            next++;
        if (bytes_beside(step, &unit->calls[i], &unit->calls[next - 1]) >
            (step->highest - trial->highest) / 200)
            return true;
    }
    return false;
}

static bool is_unsure(const struct levers_step *step, const struct levers_trial *trial)
{
    /* What is computed again stops where backward needs no more: of a whole model that is much. */
    bool unsure = trial->highest - trial->least > (step->highest - trial->highest) / 200 ||
                  !is_one_row(trial) || !levers_is_repeated(trial->units[0]) ||
                  (step->phases.recomputes && may_keep_more(step, trial));
    for (size_t i = 0; i < trial->count && !unsure; i++)
        unsure = holds(step, trial->units[i]);
    return unsure;
}

static bool normalizes(const struct levers_work *work, const struct levers_trial *trial)
{
    for (size_t i = 0; i < trial->count; i++)
        for (size_t j = 0; j < trial->units[i]->count; j++) {
            const struct levers_call *call = &trial->units[i]->calls[j];
            for (size_t k = call->first; k <= call->last; k++)
                if (levers_normalizes(work, &work->seen.step.blocks[k]))
                    return true;
        }
    return false;
}

static int try_words(struct levers_work *work, const struct levers_trial *trial, bool most,
                     const struct levers_words *words)
{
    struct levers_edit edit = {0};
    int err = make_edit(work, trial, most, &edit);
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, words);
    levers_edit_clear(&edit);
    return err;
}

/* What was computed again goes while backward still works on it, what was saved behind that: a
 * GPU's kernels may have temporaries in between, which a CPU's have not. */
static bool is_in_backward(const struct levers_work *work, size_t before)
{
    if (work->seen.on_host || work->out->count <= before)
        return false;
    const char *phase = work->out->levers[work->out->count - 1].next_phase;
    return phase && strcmp(phase, "backward") == 0;
}

/* Where it hangs on what computing again meets in backward, the most that it can be. */
static int add_trial(struct levers_work *work, const struct levers_trial *trial)
{
    const int64_t off = work->seen.step.highest - trial->highest;
    const bool most = off < work->out->peak / 100 && levers_is_repeated(trial->units[0]);
    struct levers_words words = {.kind = LEVER_CHECKPOINT,
                                 .at_most = most,
                                 .estimated = is_unsure(&work->seen.step, trial),
                                 .changes = normalizes(work, trial),
                                 .site = LEVERS_NONE};
    struct buf text = {0}, brief = {0};
    levers_put_trial(work->loop, trial, words.changes, &text);
    levers_put_brief(trial, &brief);
    int err = text.broken || brief.broken ? ERR_NOMEM : 0;
    words.before = buf_string(&text);
    words.brief = buf_string(&brief);
    const size_t before = work->out->count;
    if (err >= 0)
        err = try_words(work, trial, most, &words);
    if (err >= 0 && is_in_backward(work, before))
        work->out->levers[work->out->count - 1].estimated = true;
    buf_clear(&text);
    buf_clear(&brief);
    return err;
}

/* ---- half of the instances ---- */

/* Each second call of a forward, from the first one on. False without memory. */
static bool take_half(const struct levers_unit *unit, struct levers_unit *half)
{
    size_t in_forward = 0;
    *half = *unit;
    half->count = 0;
    half->calls = mem_alloc(unit->count, sizeof *half->calls);
    for (size_t i = 0; i < unit->count && half->calls; i++) {
        in_forward = i && unit->calls[i].forward == unit->calls[i - 1].forward ? in_forward + 1 : 0;
        if (in_forward % 2 == 0)
            half->calls[half->count++] = unit->calls[i];
    }
    return half->calls != NULL;
}

/* Of the best trial, if it is one class with several instances. What transformers' switch
 * checkpoints around it has a switch of its own. */
static int add_half(struct levers_work *work, const struct levers_trial *best)
{
    struct levers_unit half;
    struct buf text = {0};
    if (best->count != 1 || !levers_is_repeated(best->units[0]) ||
        levers_is_single(best->units[0]) || best->units[0]->sequential ||
        (best->units[0]->scattered && !best->units[0]->instances) ||
        is_switched_with(&work->units, best->units[0], false))
        return 0;
    if (!take_half(best->units[0], &half))
        return ERR_NOMEM;
    struct levers_trial trial = {.units = {&half}, .count = 1};
    int err = look_at(work, &trial);
    struct levers_words words = {.kind = LEVER_CHECKPOINT_HALF,
                                 .estimated = true, /* backward meets computed and kept ones */
                                 .changes = normalizes(work, &trial),
                                 .site = LEVERS_NONE};
    levers_put_half(best, words.changes, &text);
    if (err >= 0 && text.broken)
        err = ERR_NOMEM;
    words.before = buf_string(&text);
    if (err >= 0)
        err = try_words(work, &trial, false, &words);
    buf_clear(&text);
    mem_free(half.calls);
    return err;
}

/* Others beside the best one: it stands behind them, for who wants to compute less again. `trials`
 * has room for one more. */
static int unite(struct levers_work *work, struct levers_trial *trials, size_t *count)
{
    struct levers_trial best = trials[0];
    int err = add_others(work, trials, *count, &best);
    if (err < 0 || best.count == trials[0].count)
        return err;
    memmove(trials + 1, trials, (*count)++ * sizeof *trials);
    trials[0] = best;
    return 0;
}

static int try_units(struct levers_work *work, const struct levers_units *units)
{
    struct levers_trial *trials = mem_alloc(units->count + 1, sizeof *trials);
    int err = trials ? 0 : ERR_NOMEM;
    size_t count = err == 0 ? make_trials(units, trials) : 0, shown = SHOWN;
    for (size_t i = 0; i < count && err >= 0; i++)
        err = look_at(work, &trials[i]);
    if (err >= 0 && count)
        qsort(trials, count, sizeof *trials, by_highest);
    if (err >= 0 && count) {
        shown -= count;
        err = unite(work, trials, &count);
        shown += count;
    }
    for (size_t i = 0; i < count && i < shown && err >= 0; i++)
        err = add_trial(work, &trials[i]);
    if (err >= 0 && count)
        err = add_half(work, &trials[0]);
    mem_free(trials);
    return err;
}

/* A model whose graph no backward uses is computed again by none: torch.no_grad() is for it. */
static int read_units(struct levers_work *work)
{
    struct map idle = {0};
    int err = levers_idle_blocks(work, &idle);
    if (err >= 0)
        err = levers_units_read(work->seen.db, &work->seen.step, &idle, &work->units);
    map_clear(&idle);
    return err;
}

int levers_checkpoint(struct levers_work *work)
{
    bool any;
    const bool recomputes = work->seen.step.phases.recomputes;
    if (!has_backward(&work->seen.step))
        return try_no_grad(work);
    int err = read_units(work);
    if (err >= 0)
        err = levers_casts_read(work->seen.db, work->seen.peak->process, &work->seen.step,
                                &work->casts);
    any = work->units.count;
    /* Where it is in force, and not known for what, it is for all. */
    if (err >= 0 && any && (!recomputes || work->units.again))
        err = try_units(work, &work->units);
    return err < 0 || any || recomputes ? err : levers_checkpoint_parts(work);
}
