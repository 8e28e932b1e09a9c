/*
 * A lever on gradients and the optimizer: each parameter is stepped as soon as backward has its
 * gradient, which goes then. It needs one backward in each step, and nobody who looks at all
 * gradients together, as clipping by their norm does.
 */
#include "error.h"
#include "levers_work.h"
#include "mem.h"
#include "query.h"

enum { SINGLE_MOST = 4, PARTS = 1000, HOOK_SINCE = 201 };

static const char clips_sql[] =
    "SELECT EXISTS (SELECT 1 FROM string n JOIN frame f ON f.function = n.id"
    "                WHERE n.text IN ('clip_grad_norm_', 'clip_grad_value_',"
    "                                 'GradScaler.unscale_')) AS clips";

struct stepping { /* a backward and the optimizer's step behind it */
    const struct levers_phase *backward, *optimizer;
    int64_t gradients, largest; /* bytes that the backward left */
    int64_t states;             /* that the step made */
    int64_t temporaries;        /* at their highest */
};

static bool is_gradient(const struct stepping *stepping, const struct levers_block *block)
{
    return block->purpose == PURPOSE_GRADIENT && block->seq >= stepping->backward->begin &&
           block->seq <= stepping->backward->end;
}

static void weigh_blocks(const struct levers_step *step, struct stepping *out)
{
    for (size_t i = levers_first_from(step, out->backward->begin);
         i < step->count && step->blocks[i].seq <= out->optimizer->end; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (is_gradient(out, block)) {
            out->gradients += block->size;
            out->largest = block->size > out->largest ? block->size : out->largest;
        } else if (block->seq >= out->optimizer->begin && block->end > out->optimizer->end) {
            out->states += block->size;
        }
    }
}

static void weigh_temporaries(const struct levers_step *step, struct stepping *out)
{
    int64_t now = 0, highest = 0;
    for (size_t i = 0; i < step->event_count && step->events[i].seq <= out->optimizer->end; i++) {
        if (step->events[i].seq < out->optimizer->begin)
            continue;
        now += step->events[i].change;
        highest = now > highest ? now : highest;
    }
    out->temporaries = highest > out->states ? highest - out->states : 0;
}

/* Thousandths of a gradient that its own step takes for a moment: an optimizer that goes through
 * them one by one needs as much for the largest, one for all of them for their sum. On a device it
 * is the latter, by itself, and what is said of it a bound: a few large ones look like the former.
 */
static int64_t share_of_temporaries(const struct stepping *stepping, bool on_host)
{
    bool single = on_host && stepping->temporaries <= SINGLE_MOST * stepping->largest;
    int64_t of = single ? stepping->largest : stepping->gradients;
    return of ? stepping->temporaries * PARTS / of : 0;
}

/* It goes before the next blocks that backward needs, which come after those that came with it. */
int64_t levers_end_of_gradient(const struct levers_step *step, size_t at)
{
    size_t next = at + 1;
    while (next < step->count && step->blocks[next].seq == step->blocks[next - 1].seq + 1)
        next++;
    return next < step->count ? step->blocks[next].seq : LEVERS_NEVER;
}

static bool step_at_once(const struct levers_step *step, const struct stepping *stepping,
                         bool on_host, struct levers_edit *edit)
{
    int64_t share = share_of_temporaries(stepping, on_host);
    for (size_t i = levers_first_from(step, stepping->backward->begin);
         i < step->count && step->blocks[i].seq <= stepping->optimizer->end; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (is_gradient(stepping, block)) {
            int64_t end = levers_end_of_gradient(step, i);
            int64_t states = block->size * (stepping->states * PARTS / stepping->gradients) / PARTS;
            end = end < stepping->backward->end ? end : stepping->backward->end;
            if (!levers_cut(edit, i, end, LEVERS_NEVER) ||
                !levers_extra(edit, states, end, stepping->optimizer->begin) ||
                !levers_spike(edit, block->size + block->size * share / PARTS, end))
                return false;
        } else if (block->seq >= stepping->optimizer->begin &&
                   block->end <= stepping->optimizer->end &&
                   !levers_cut(edit, i, INT64_MIN, LEVERS_NEVER)) {
            return false;
        }
    }
    return true;
}

/* Each backward is followed by an optimizer of its own. */
static bool find_stepping(const struct levers_step *step, size_t at, struct stepping *out)
{
    const struct levers_phases *phases = &step->phases;
    const struct levers_phase *backward = &phases->phases[phases->of[LEVERS_BACKWARD].at[at]];
    const struct levers_phase *optimizer =
        levers_phase_after(phases, LEVERS_OPTIMIZER, backward->begin);
    const struct levers_phase *next = levers_phase_after(phases, LEVERS_BACKWARD, backward->begin);
    *out = (struct stepping){.backward = backward, .optimizer = optimizer};
    if (!optimizer || optimizer->end == LEVERS_NEVER || (next && next->begin < optimizer->begin))
        return false;
    weigh_blocks(step, out);
    weigh_temporaries(step, out);
    return true;
}

static int edit_all(const struct levers_step *step, bool on_host, struct levers_edit *edit,
                    bool *can)
{
    size_t count = step->phases.of[LEVERS_BACKWARD].count;
    for (size_t i = 0; i < count && *can; i++) {
        struct stepping stepping;
        *can = find_stepping(step, i, &stepping) || i + 1 == count;
        if (*can && stepping.gradients && stepping.optimizer &&
            !step_at_once(step, &stepping, on_host, edit))
            return ERR_NOMEM;
    }
    return 0;
}

/* With two optimizers in a step, as of a GAN, a backward makes gradients of parameters that another
 * optimizer steps. */
static bool has_several_optimizers(const struct levers_step *step)
{
    const struct levers_phase_row *optimizers = &step->phases.of[LEVERS_OPTIMIZER];
    for (size_t i = 1; i < optimizers->count; i++) {
        const struct levers_phase *one = &step->phases.phases[optimizers->at[i - 1]];
        const struct levers_phase *next = &step->phases.phases[optimizers->at[i]];
        if (one->step == next->step && one->step != GROUP_NONE)
            return true;
    }
    return false;
}

int levers_clips(struct levers_work *work, bool *clips)
{
    return query_read(work->seen.db, clips_sql, Q_NOTHING, Q_OUT(Q_INT(*clips)));
}

int levers_optimizer_in_backward(struct levers_work *work)
{
    struct levers_words words = {
        .kind = LEVER_OPTIMIZER_IN_BACKWARD,
        .at_most = !work->seen.on_host, /* a device's optimizer goes through all of them at once */
        .estimated = true,
        .site = LEVERS_NONE,
        .before = "an optimizer for each parameter p, stepped in backward: `def step(p): "
                  "optimizers[p].step(); optimizers[p].zero_grad()`, then "
                  "`p.register_post_accumulate_grad_hook(step)` for each that requires a gradient, "
                  "without optimizer.step() behind it"};
    const struct levers_step *step = &work->seen.step;
    struct levers_edit edit = {0};
    bool clips = true, can = true;
    if (!levers_has(work, HOOK_SINCE) || work->loop != LEVERS_OWN_LOOP) /* a trainer calls step() */
        return 0;
    if (!work->seen.torch)
        words.after = " (torch 2.1 or later)";
    int err = levers_clips(work, &clips);
    if (err < 0 || clips || step->cut_short || levers_bytes_of(step, PURPOSE_BUCKET) ||
        has_several_optimizers(step))
        return err;
    err = edit_all(step, work->seen.on_host, &edit, &can);
    if (err >= 0 && can && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}
