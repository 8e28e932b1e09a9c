/*
 * Levers of a whole run: a first step or an evaluation that needs more than the other steps, and
 * settings of the allocator, tried by replay.
 */
#include <stdlib.h>
#include <string.h>

#include "category_rules.h"
#include "error.h"
#include "fit.h"
#include "levers_work.h"
#include "mem.h"
#include "query.h"
#include "span.h"
#include "why.h"

/* ---- a first step that others do not need ---- */

/* The last forward until the peak is one of an evaluation, or without gradients: outside of steps,
 * or in one of a few steps that have such, where it is between two steps or before the first. What
 * most steps have is the training's own, as the answers of a teacher. */
static int is_evaluation(const struct levers_work *work, bool *is)
{
    *is = false;
    return query_read(
        work->seen.db,
        "SELECT CASE WHEN ?3 IS NULL THEN kind IN ('forward_no_grad', 'eval')"
        " WHEN kind <> 'eval' THEN 0"
        " ELSE 2 * (SELECT count(DISTINCT step) FROM phase"
        "            WHERE process = ?1 AND kind = 'eval')"
        "  < (SELECT count(DISTINCT step) FROM phase WHERE process = ?1)"
        " END AS \"is\" FROM phase WHERE process = ?1"
        " AND kind IN ('forward', 'forward_no_grad', 'eval', 'backward')"
        " AND begin_seq <= ?2 ORDER BY begin_seq DESC LIMIT 1",
        Q_IN(work->seen.peak->process, work->seen.peak->seq, query_opt(work->seen.peak->step)),
        Q_OUT(Q_INT(*is)));
}

/* The highest of the steps that have ended, behind an evaluation of all, else of the later ones;
 * *found needs one with a step behind it, or the program's end: half a step says nothing. */
static int read_steps(struct levers_work *work, bool evaluation, int64_t *first, struct peak *steps)
{
    const struct peak *peak = work->seen.peak;
    struct category_rules *rules;
    int64_t last = INT64_MIN;
    int err = category_load(work->seen.db, peak->process, &rules);
    *first = LEVERS_NONE;
    for (size_t i = 0; err == 0 && i < rules->step_count; i++) {
        const struct category_bounds *step = &rules->steps[i];
        if (step->end_seq == CATEGORY_UNKNOWN || step->backward_end_seq == CATEGORY_UNKNOWN)
            continue;
        *first = rules->first_step;
        last = step->step > last ? step->step : last;
    }
    category_free(rules);
    if (err < 0 || *first == LEVERS_NONE || last <= *first)
        return err;
    if (!evaluation && peak->step != PEAK_NONE && peak->step != *first)
        return 0; /* it is one of the later steps' own */
    return peak_find(work->seen.db, work->seen.peak->process, work->seen.peak->device,
                     *first + !evaluation, last, steps);
}

/* What the training needs: without evaluations inside of steps, and without what one leaves behind,
 * which goes in the next step before its first phase. */
static int leave_out_evaluations(struct levers_work *work, int64_t first, struct peak *steps)
{
    int64_t most = 0, seq = 0;
    int err = query_first(
        work->seen.db,
        "SELECT pd.peak_allocated AS most, coalesce(pd.peak_seq, ph.begin_seq - 1) AS seq"
        "  FROM phase ph JOIN phase_device pd ON pd.phase = ph.id"
        " WHERE ph.process = ?1 AND pd.device = ?2 AND ph.step >= ?3"
        "   AND ph.kind NOT IN ('other', 'eval', 'forward_no_grad')"
        " ORDER BY 1 DESC LIMIT 1",
        Q_IN(work->seen.peak->process, work->seen.peak->device, first),
        Q_OUT(Q_INT(most), Q_INT(seq)));
    if (err == DB_ROW) {
        steps->allocated = most;
        steps->living_seq = seq;
    }
    return err < 0 ? err : 0;
}

static bool is_before_later(const struct levers_work *work, int64_t first, const struct peak *later)
{
    const struct peak *peak = work->seen.peak;
    return later->found && peak->seq < later->seq &&
           (peak->step == PEAK_NONE || peak->step == first);
}

/* The group that most of it came with. What only moved, as when buckets are made anew by another
 * call, is not more of its category, so a group counts for no more than its category grew. */
static size_t most_of(const struct why *why)
{
    size_t most = SIZE_MAX;
    int64_t bytes = 0;
    for (size_t i = 0; i < why->group_count; i++) {
        int64_t change = why_change(&why->groups[i]);
        int64_t whole = why_change_of(why, why->groups[i].purpose);
        change = change < whole ? change : whole;
        if (change > bytes) {
            bytes = change;
            most = i;
        }
    }
    return most;
}

static void choose_words(const struct levers_work *work, bool evaluation,
                         struct levers_words *words)
{
    if (evaluation)
        *words = (struct levers_words){
            .kind = LEVER_EVALUATION,
            .at_most = true,
            .before = levers_in_loop(work->loop, LEVER_EVALUATION,
                                     "a smaller evaluation batch, until a training step is "
                                     "the peak; most of the difference: ")};
    else if (work->seen.peak->step == PEAK_NONE)
        words->before = "the steps need less; most of the difference is allocated before them: ";
    else
        words->before = "later steps need less; most of the difference is allocated only once: ";
}

int levers_first_step(struct levers_work *work)
{
    struct levers_words words = {.kind = LEVER_FIRST_STEP};
    struct peak steps = {0};
    struct why why = {0};
    int64_t first;
    bool evaluation;
    int err = is_evaluation(work, &evaluation);
    if (err >= 0)
        err = read_steps(work, evaluation, &first, &steps);
    if (err >= 0 && evaluation && steps.found)
        err = leave_out_evaluations(work, first, &steps);
    int64_t bytes = work->seen.peak->allocated - steps.allocated;
    bool is = err >= 0 && (evaluation ? steps.found : is_before_later(work, first, &steps));
    if (!is || bytes < work->seen.peak->allocated / 100) {
        peak_clear(&steps);
        return err;
    }
    const struct instant one = {.seq = steps.living_seq},
                         other = {.seq = work->seen.peak->living_seq};
    err = why_read(work->seen.db, work->seen.peak->process, work->seen.peak->device, &one, &other,
                   0, &why);
    size_t at = most_of(&why);
    choose_words(work, evaluation, &words);
    words.site = at != SIZE_MAX ? why.groups[at].site : LEVERS_NONE;
    words.name = words.site == GROUP_NONE ? "blocks without a call stack" : NULL;
    if (err >= 0)
        err = levers_add(work, bytes, LEVERS_NONE, &words);
    why_clear(&why);
    peak_clear(&steps);
    return err;
}

/* ---- settings of the allocator ---- */

enum { EVENTS_MOST = 1000000 };

/* How many events there were while it lived. Each of the two by its own key: asked together they
 * would cost a scan. */
static int is_small(struct levers_work *work, bool *small)
{
    int64_t events = INT64_MAX;
    int err = query_read(work->seen.db,
                         "SELECT coalesce(min((SELECT max(seq) FROM allocation), " SPAN_LAST ")"
                         " - max((SELECT min(seq) FROM allocation), " SPAN_FIRST "), 0) AS events",
                         Q_IN(work->seen.peak->process), Q_OUT(Q_INT(events)));
    *small = err == 0 && events <= EVENTS_MOST;
    return err;
}

static int reserved_with(struct levers_work *work, struct fit *fit,
                         const struct alloc_config *config, int64_t *out)
{
    struct replay_outcome outcome;
    const struct replay_setup setup = fit_setup(fit, config, 0);
    work->out->tried += config != &fit->recorded;
    int err = replay_run(&fit->trace, &setup, &fit->scratch, NULL, &outcome);
    *out = err >= 0 && outcome.survived ? outcome.peak_reserved : INT64_MAX;
    return err;
}

static int try_expandable(struct levers_work *work, struct fit *fit, int64_t now)
{
    struct alloc_config config = fit->recorded;
    const struct levers_words words = {
        .kind = LEVER_EXPANDABLE_SEGMENTS,
        .estimated = true, /* rests of segments are cut there that a block keeps here */
        .site = LEVERS_NONE,
        .before = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, by replay"};
    int64_t then;
    if (config.expandable_segments)
        return 0;
    config.expandable_segments = true;
    int err = reserved_with(work, fit, &config, &then);
    if (err < 0 || now - then < now / 100)
        return err;
    return levers_add(work, 0, now - then, &words);
}

static int try_max_split(struct levers_work *work, struct fit *fit, int64_t now)
{
    static const struct {
        uint64_t mib;
        const char *text;
    } sizes[] = {
        {128, "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128, by replay"},
        {512, "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512, by replay"},
    };
    struct levers_words words = {.kind = LEVER_MAX_SPLIT_SIZE, .site = LEVERS_NONE};
    int64_t best = now;
    int err = 0;
    if (fit->recorded.max_split_size != UINT64_MAX)
        return 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && err >= 0; i++) {
        struct alloc_config config = fit->recorded;
        int64_t then;
        config.max_split_size = sizes[i].mib << 20;
        err = reserved_with(work, fit, &config, &then);
        if (err >= 0 && then < best) {
            best = then;
            words.before = sizes[i].text;
        }
    }
    if (err < 0 || !words.before || now - best < now / 100)
        return err;
    return levers_add(work, 0, now - best, &words);
}

/* Where a twentieth of what is reserved is not allocated. */
static int try_settings(struct levers_work *work, struct fit *fit)
{
    const struct peak *peak = work->seen.peak;
    int64_t now;
    if (peak->reserved - peak->allocated < peak->reserved / 20)
        return 0;
    int err = reserved_with(work, fit, &fit->recorded, &now);
    if (err < 0 || now == INT64_MAX)
        return err;
    err = try_expandable(work, fit, now);
    if (err >= 0)
        err = try_max_split(work, fit, now);
    return err < 0 ? err : levers_empty_cache(work, fit, now);
}

/*
 * A replay that did not come out as the recording says nothing of what else could be. Where another
 * policy than PyTorch's gave the addresses, as much reserved as was recorded, within a hundredth,
 * is what it goes by.
 */
static int is_licensed(struct levers_work *work, struct fit *fit, bool *licensed)
{
    int64_t recorded = work->seen.peak->reserved, now;
    *licensed = fit->compared && fit_address_match(fit) >= 0.9;
    if (fit->compared)
        return 0;
    int err = reserved_with(work, fit, &fit->recorded, &now);
    if (err < 0 || now == INT64_MAX)
        return err;
    int64_t apart = now < recorded ? recorded - now : now - recorded;
    *licensed = apart <= recorded / 100;
    work->out->simulated = *licensed ? now : 0;
    return 0;
}

int levers_replay(struct levers_work *work)
{
    const struct peak *peak = work->seen.peak;
    struct fit fit = {0};
    bool small = false;
    if (peak->reserved == PEAK_NONE)
        return 0;
    int err = is_small(work, &small);
    if (err < 0 || !small)
        return err;
    bool licensed = false;
    err = fit_begin(work->seen.db, peak->process, peak->device, &fit);
    if (err >= 0)
        err = is_licensed(work, &fit, &licensed);
    work->out->unsettled = !licensed;
    if (err >= 0 && licensed)
        err = levers_reserved(work, &fit);
    /* Settings are PyTorch's, and nothing to a heap with a policy of its own. */
    if (err >= 0 && licensed && fit.compared)
        err = try_settings(work, &fit);
    fit_clear(&fit);
    return err;
}
