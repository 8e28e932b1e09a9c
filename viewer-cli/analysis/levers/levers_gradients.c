/*
 * Levers on gradients: None instead of zeros, none during forward, none beside their buckets.
 */
#include <stdio.h>

#include "buf.h"
#include "error.h"
#include "human.h"
#include "levers_births.h"
#include "levers_models.h"
#include "levers_work.h"
#include "mem.h"
#include "query.h"
#include "search.h"

/* ---- gradients to None ---- */

/*
 * With gradients zeroed in place, each backward makes the new values as blocks of their own and
 * adds them. Without a gradient there to add to, that block becomes the gradient. Which one it is
 * of many of that size, the backward that made the gradient tells: it had none to add to, so there
 * the k-th block of that size and site was kept, and here the k-th one would be.
 */
struct renewal {
    int64_t then_begin, then_end; /* the backward that made the gradient */
    int64_t now_begin;            /* the one that is looked at */
    struct levers_births then, now;
    bool unsure;
};

/* The backward that a block was born in, of whatever step. */
static int read_backward_of(struct levers_work *work, int64_t seq, int64_t *begin, int64_t *end)
{
    *begin = *end = -1;
    return query_read(work->seen.db,
                      "SELECT begin_seq AS \"begin\", coalesce(end_seq, begin_seq) AS \"end\""
                      " FROM phase WHERE process = ?1 AND kind = 'backward' AND begin_seq <= ?2"
                      " ORDER BY begin_seq DESC LIMIT 1",
                      Q_IN(work->seen.peak->process, seq), Q_OUT(Q_INT(*begin), Q_INT(*end)));
}

static int load_then(struct levers_work *work, struct renewal *renewal, int64_t seq)
{
    if (seq >= renewal->then_begin && seq <= renewal->then_end)
        return 0;
    levers_births_clear(&renewal->then);
    int err = read_backward_of(work, seq, &renewal->then_begin, &renewal->then_end);
    if (err >= 0)
        err = levers_births_read(work->seen.db, work->seen.peak, renewal->then_begin,
                                 renewal->then_end, &renewal->then);
    return err;
}

static int load_now(struct levers_work *work, struct renewal *renewal,
                    const struct levers_phase *backward)
{
    if (backward->begin == renewal->now_begin)
        return 0;
    levers_births_clear(&renewal->now);
    renewal->now_begin = backward->begin;
    return levers_births_read(work->seen.db, work->seen.peak, backward->begin, backward->end,
                              &renewal->now);
}

/* The place of the block that would be the gradient, or SIZE_MAX. */
static size_t find_new(const struct levers_step *step, const struct renewal *renewal,
                       const struct levers_phase *backward, const struct levers_block *gradient)
{
    const struct levers_birth *then, *now;
    size_t before = levers_births_like(&renewal->then, gradient->asked, gradient->site, &then);
    size_t count = levers_births_like(&renewal->now, gradient->asked, gradient->site, &now);
    size_t at = 0;
    while (at < before && then[at].seq != gradient->seq)
        at++;
    if (at == before || before != count)
        return SIZE_MAX;
    size_t low = levers_first_from(step, now[at].seq);
    return low < step->count && step->blocks[low].end <= backward->end ? low : SIZE_MAX;
}

/* From one zero_grad to the next, if a backward comes between. */
static int renew_once(struct levers_work *work, struct renewal *renewal, size_t at, int64_t gone,
                      struct levers_edit *edit)
{
    const struct levers_step *step = &work->seen.step;
    const struct levers_phase *backward = levers_phase_after(&step->phases, LEVERS_BACKWARD, gone);
    const struct levers_phase *next = levers_phase_after(&step->phases, LEVERS_ZERO_GRAD, gone);
    while (next && backward && next->begin < backward->begin)
        next = levers_phase_after(&step->phases, LEVERS_ZERO_GRAD, next->begin);
    int64_t until = next ? next->begin : LEVERS_NEVER;
    if (!backward || backward->end == LEVERS_NEVER) {
        return levers_cut(edit, at, gone, backward ? backward->begin : LEVERS_NEVER) ? 0
                                                                                     : ERR_NOMEM;
    }
    int err = load_now(work, renewal, backward);
    size_t fresh = err >= 0 ? find_new(step, renewal, backward, &step->blocks[at]) : SIZE_MAX;
    bool found = fresh != SIZE_MAX;
    renewal->unsure = renewal->unsure || !found;
    if (err >= 0 && (!levers_cut(edit, at, gone, found ? until : backward->end) ||
                     (found && !levers_lengthen(edit, fresh, until))))
        err = ERR_NOMEM;
    return err;
}

/* The first zero_grad that a gradient outlives. The last one before the window counts, if no
 * backward has come since. */
static int64_t first_zero(const struct levers_step *step, const struct levers_block *block)
{
    int64_t since = block->seq > step->begin ? block->seq : step->begin - 1;
    const struct levers_phase *zero = levers_phase_after(&step->phases, LEVERS_ZERO_GRAD, since);
    return zero && zero->end < block->end ? zero->begin : LEVERS_NEVER;
}

static int renew(struct levers_work *work, struct renewal *renewal, size_t at,
                 struct levers_edit *edit)
{
    const struct levers_step *step = &work->seen.step;
    const struct levers_block *block = &step->blocks[at];
    int64_t gone = first_zero(step, block);
    int err = gone != LEVERS_NEVER ? load_then(work, renewal, block->seq) : 0;
    while (err >= 0 && gone != LEVERS_NEVER && gone < block->end) {
        const struct levers_phase *backward =
            levers_phase_after(&step->phases, LEVERS_BACKWARD, gone);
        const struct levers_phase *next =
            levers_phase_after(&step->phases, LEVERS_ZERO_GRAD, backward ? backward->begin : gone);
        err = renew_once(work, renewal, at, gone, edit);
        gone = backward && next ? next->begin : LEVERS_NEVER;
    }
    return err;
}

/* Some zero_grad frees gradients: they are None then. Those that outlive one are another
 * optimizer's, as of the two networks of a GAN. */
static bool are_none(const struct levers_step *step)
{
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->purpose == PURPOSE_GRADIENT && block->end != LEVERS_NEVER &&
            levers_phase_around(&step->phases, LEVERS_ZERO_GRAD, block->end))
            return true;
    }
    return false;
}

int levers_gradients_to_none(struct levers_work *work)
{
    struct levers_words words = {.kind = LEVER_GRADIENTS_TO_NONE,
                                 .site = LEVERS_NONE,
                                 .before = "set gradients to None instead of zeroing them: "
                                           "zero_grad(set_to_none=True)"};
    const struct levers_step *step = &work->seen.step;
    struct levers_edit edit = {0};
    struct renewal renewal = {.then_begin = -1, .then_end = -2, .now_begin = -1};
    int err = 0;
    if (are_none(step))
        return 0;
    for (size_t i = 0; i < step->count && err >= 0; i++)
        if (step->blocks[i].purpose == PURPOSE_GRADIENT)
            err = renew(work, &renewal, i, &edit);
    words.at_most = renewal.unsure;
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_births_clear(&renewal.now);
    levers_births_clear(&renewal.then);
    levers_edit_clear(&edit);
    return err == ERR_LIMIT ? 0 : err;
}

/* ---- zero_grad before forward ---- */

/* The optimizer that used a gradient is the first one behind its birth. A backward that comes later
 * may add to it, if it makes blocks as large in the same module: from then on the gradient would be
 * there again. */
static int64_t is_there_again(const struct levers_step *step, const struct levers_block *gradient,
                              int64_t used)
{
    for (size_t i = levers_first_from(step, used); i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        const struct levers_phase *backward;
        if (block->seq >= gradient->end)
            break;
        bool elsewhere = block->module != GROUP_NONE && gradient->module != GROUP_NONE &&
                         block->module != gradient->module;
        if (block->asked == gradient->asked && !elsewhere &&
            (backward = levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq)) != NULL)
            return backward->begin;
    }
    return LEVERS_NEVER;
}

static int free_earlier(const struct levers_step *step, size_t at, struct levers_edit *edit,
                        bool *estimated)
{
    const struct levers_block *block = &step->blocks[at];
    int64_t born = block->seq > step->begin ? block->seq : step->begin;
    const struct levers_phase *used = levers_phase_after(&step->phases, LEVERS_OPTIMIZER, born);
    if (!used || used->end >= block->end)
        return 0;
    int64_t again = is_there_again(step, block, used->end);
    *estimated = *estimated || again != LEVERS_NEVER;
    return levers_cut(edit, at, used->end, again) ? 0 : ERR_NOMEM;
}

static bool is_zeroed(const struct levers_step *step, const struct levers_block *block)
{
    return block->purpose == PURPOSE_GRADIENT && block->end != LEVERS_NEVER &&
           levers_phase_around(&step->phases, LEVERS_ZERO_GRAD, block->end);
}

static uint64_t like_of(const struct levers_block *block)
{
    return (uint64_t)block->module << 40 ^ (uint64_t)block->asked;
}

/* The run may have ended before the last zero_grad: gradients of which others, of the same size and
 * module, were freed by one, are those of the steps before. */
static int find_zeroed(const struct levers_step *step, struct map *out)
{
    for (size_t i = 0; i < step->count; i++)
        if (is_zeroed(step, &step->blocks[i]) && !map_put(out, like_of(&step->blocks[i]), 1, NULL))
            return ERR_NOMEM;
    return 0;
}

/* The model that all gradients are of that the edit frees before the peak; no bytes: of several, or
 * of one that has no name of its own (levers_models.h). */
static struct levers_part model_of(const struct levers_step *step, const struct levers_edit *edit,
                                   const struct module_index *modules)
{
    struct levers_part model = {0};
    for (size_t i = 0; i < edit->count; i++) {
        const struct levers_change *change = &edit->changes[i];
        const struct levers_block *block = &step->blocks[change->block];
        const struct module_entry *entry = module_index_at(modules, block->module);
        if (!levers_at_peak(step, block) || step->peak < change->from || step->peak >= change->to)
            continue;
        struct levers_part own = levers_model_of(entry ? entry->path : "");
        if (!own.bytes || (model.path && !levers_same_part(model, own)))
            return (struct levers_part){0};
        model = own;
    }
    return model;
}

/* Of two optimizers in one step, as a GAN's: whose gradients. */
static int put_whose(struct levers_work *work, const struct levers_edit *edit, struct buf *out)
{
    struct module_index modules = {0};
    int err = module_index_read(work->seen.db, &modules);
    struct levers_part model = {0};
    if (err >= 0)
        model = model_of(&work->seen.step, edit, &modules);
    if (err >= 0 && model.bytes) {
        buf_text(out, "zero the gradients of ");
        err = levers_put_part(&modules, model, out);
        buf_text(out, " right after the optimizer.step() that uses them, before the next forward");
        err = out->broken ? ERR_NOMEM : err;
    }
    module_index_clear(&modules);
    return err;
}

/* Gradients that zero_grad frees later than right behind the optimizer. */
int levers_zero_grad_earlier(struct levers_work *work)
{
    static const char usual[] =
        "call optimizer.zero_grad() right after optimizer.step(), before the next forward";
    struct levers_words words = {
        .kind = LEVER_ZERO_GRAD_EARLIER, .site = LEVERS_NONE, .before = usual};
    const struct levers_step *step = &work->seen.step;
    struct levers_edit edit = {0};
    struct map zeroed = {0};
    struct buf whose = {0};
    if (levers_micro_batches(step, work->seen.peak->step) == 1)
        words.before = levers_in_loop(work->loop, words.kind, words.before);
    int err = find_zeroed(step, &zeroed);
    for (size_t i = 0; i < step->count && err >= 0; i++)
        if (step->blocks[i].purpose == PURPOSE_GRADIENT &&
            map_get(&zeroed, like_of(&step->blocks[i])) != MAP_NONE)
            err = free_earlier(step, i, &edit, &words.estimated);
    map_clear(&zeroed);
    if (err >= 0 && edit.count && words.before == usual &&
        levers_phase_count(&step->phases, LEVERS_OPTIMIZER, work->seen.peak->step) > 1)
        err = put_whose(work, &edit, &whose);
    if (whose.count)
        words.before = buf_string(&whose);
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    buf_clear(&whose);
    return err;
}

/* ---- gradient_as_bucket_view ---- */

int levers_bucket_view(struct levers_work *work)
{
    const struct levers_step *step = &work->seen.step;
    int64_t gradients = levers_bytes_of(step, PURPOSE_GRADIENT);
    int64_t buckets = levers_bytes_of(step, PURPOSE_BUCKET);
    char bytes[HUMAN_MAX], text[HUMAN_MAX + 128];
    snprintf(text, sizeof text,
             "DistributedDataParallel(..., gradient_as_bucket_view=True): the buckets (%s) are a "
             "second copy of all gradients",
             human_bytes(bytes, buckets));
    const struct levers_words words = {
        .kind = LEVER_BUCKET_VIEW, .site = LEVERS_NONE, .before = text};
    struct levers_edit edit = {0};
    int err = 0;
    if (!buckets || gradients < buckets / 10 * 9 || gradients > buckets / 10 * 11)
        return 0;
    for (size_t i = 0; i < step->count && err >= 0; i++) {
        if (step->blocks[i].purpose != PURPOSE_GRADIENT)
            continue;
        int64_t from = i < step->older ? step->begin : levers_end_of_gradient(step, i);
        if (!levers_cut(&edit, i, from, LEVERS_NEVER))
            err = ERR_NOMEM;
    }
    if (err >= 0)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}
