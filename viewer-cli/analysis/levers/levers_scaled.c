/*
 * Levers whose blocks were never seen: other numbers of bytes in each. All of them are estimates:
 * what is known of each block is its size, its kind and when it lived.
 */
#include <inttypes.h>
#include <stdio.h>

#include "error.h"
#include "levers_work.h"
#include "mem.h"

static int scale(const struct levers_step *step, levers_share_of share, struct levers_edit *edit)
{
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        int64_t gone = block->size / 1000 * (1000 - share(step, block)) +
                       block->size % 1000 * (1000 - share(step, block)) / 1000;
        if (gone && !levers_extra(edit, -gone, block->seq, block->end))
            return ERR_NOMEM;
    }
    return 0;
}

int levers_try_scaled(struct levers_work *work, levers_share_of share,
                      const struct levers_words *words)
{
    struct levers_edit edit = {0};
    int err = scale(&work->seen.step, share, &edit);
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, words);
    levers_edit_clear(&edit);
    return err;
}

/* ---- half of a batch at a time ---- */

enum { HALF = 500, QUARTER = 250 };

/* Ranks that share a model send a whole gradient around once its module is done. */
static bool is_sent(const struct levers_step *step, const struct levers_block *block)
{
    const struct levers_block *last = step->blocks + step->count;
    for (const struct levers_block *next = block + 1; next < last && next->seq < block->end; next++)
        if (next->purpose == PURPOSE_COMMUNICATION)
            return true;
    return false;
}

/* What tells gradients of rows from those of parameters, where both have one size. */
struct sizes {
    const struct levers_work *work;
    struct map made;      /* by forwards and losses: bytes asked for */
    struct map gradients; /* that stay when their backward is over: key_of, to how many */
    struct map rare;      /* places of blocks that are made for another batch */
};

static uint64_t key_of(const struct levers_phase *backward, int64_t asked)
{
    return (uint64_t)backward->begin << 36 ^ (uint64_t)asked;
}

static bool count_one(struct map *map, uint64_t key)
{
    uint64_t before = map_get(map, key);
    return map_put(map, key, before == MAP_NONE ? 1 : before + 1, NULL);
}

static int read_sizes(struct levers_work *work, struct sizes *out)
{
    const struct levers_step *step = &work->seen.step;
    *out = (struct sizes){.work = work};
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        const struct levers_phase *backward =
            block->purpose == PURPOSE_GRADIENT
                ? levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq)
                : NULL;
        bool done = true;
        if (backward)
            done = count_one(&out->gradients, key_of(backward, block->asked));
        else if (levers_computes(&step->phases, block->seq))
            done = map_put(&out->made, (uint64_t)block->asked, 1, NULL);
        if (!done)
            return ERR_NOMEM;
    }
    return levers_rare_calls(work, &out->rare);
}

static void clear_sizes(struct sizes *sizes)
{
    map_clear(&sizes->rare);
    map_clear(&sizes->made);
    map_clear(&sizes->gradients);
}

/* As many gradients of that size stay as there are parameters, and forward made blocks of that
 * size: this one is the gradient of such a block. */
static bool is_one_too_many(const struct sizes *sizes, const struct levers_block *block)
{
    const struct levers_phase *backward =
        levers_phase_around(&sizes->work->seen.step.phases, LEVERS_BACKWARD, block->seq);
    uint64_t gradients = map_get(&sizes->gradients, key_of(backward, block->asked));
    return map_get(&sizes->made, (uint64_t)block->asked) != MAP_NONE && gradients != MAP_NONE &&
           gradients >= map_get(&sizes->work->seen.parameters, (uint64_t)block->asked);
}

/* As large as a parameter, in backward. By accident a row's gradients may be, too: where ranks
 * share a model, one that goes before anything is sent around is of those. */
static bool is_like_a_parameter(const struct sizes *sizes, const struct levers_block *block)
{
    const struct levers_work *work = sizes->work;
    return map_get(&work->seen.parameters, (uint64_t)block->asked) != MAP_NONE &&
           (!work->shards || is_sent(&work->seen.step, block)) && !is_one_too_many(sizes, block);
}

/* Made in a step before its forward, and gone a step later: the batch itself, and what became of
 * it. */
static bool is_batch(const struct levers_step *step, const struct levers_block *block)
{
    const struct levers_phase *forward =
        levers_phase_after(&step->phases, LEVERS_FORWARD, block->seq);
    const struct levers_phase *next =
        forward ? levers_phase_after(&step->phases, LEVERS_FORWARD, forward->begin) : NULL;
    const struct levers_phase *own = levers_phase_at(&step->phases, block->seq);
    if (block->purpose == PURPOSE_INPUT)
        return true;
    return block->purpose == PURPOSE_OTHER && block->seq >= step->begin && forward &&
           (!own || own->kind == LEVERS_OTHER_PHASE) && block->end > forward->begin &&
           block->end <= (next ? next->end : step->end);
}

/* What is made for the rows of a batch: all of forward and loss, and in backward what is not as
 * large as a parameter. */
static bool has_rows(const struct sizes *sizes, const struct levers_block *block)
{
    const struct levers_work *work = sizes->work;
    const struct levers_phases *phases = &work->seen.step.phases;
    if (block->purpose == PURPOSE_PARAMETER || block->purpose == PURPOSE_OPTIMIZER_STATE ||
        block->purpose == PURPOSE_GRADIENT || block->purpose == PURPOSE_BUCKET ||
        block->purpose == PURPOSE_LIBRARY || block->purpose == PURPOSE_COPY ||
        block->purpose == PURPOSE_GATHERED || block->purpose == PURPOSE_COMMUNICATION)
        return false;
    const size_t place = (size_t)(block - work->seen.step.blocks);
    if (levers_outlives(work, block) || levers_is_cast(&work->casts, place) ||
        map_get(&sizes->rare, place) != MAP_NONE)
        return false;
    if (levers_computes(phases, block->seq) || is_batch(&work->seen.step, block))
        return true;
    return levers_phase_around(phases, LEVERS_BACKWARD, block->seq) &&
           !is_like_a_parameter(sizes, block);
}

/* Of half as many samples, each with each other one, there is a quarter; of numbers, or of flags.
 */
static bool has_pairs(const struct levers_work *work, const struct levers_block *block)
{
    const int64_t pairs = work->facts.compared * work->facts.compared;
    return pairs > 0 && (block->asked == 4 * pairs || block->asked == pairs);
}

/* The second half finds the gradients of the first one, and adds to them. Where a step has several
 * backwards that is so already. */
static bool add_gradient(const struct levers_step *step, size_t at, struct levers_edit *edit)
{
    const struct levers_block *block = &step->blocks[at];
    const struct levers_phase *backward =
        levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq);
    const struct levers_phase *forward =
        backward ? levers_phase_before(&step->phases, LEVERS_FORWARD, backward->begin) : NULL;
    const struct levers_phase *next =
        backward ? levers_phase_after(&step->phases, LEVERS_BACKWARD, backward->begin) : NULL;
    int64_t added = at + 1 < step->count ? step->blocks[at + 1].seq + 1 : block->seq + 1;
    if (!forward || (next && next->step == backward->step && block->end > next->begin))
        return true;
    /* Until zero_grad the gradients of the step before are there, and these are not. */
    const struct levers_phase *zero =
        levers_phase_before(&step->phases, LEVERS_ZERO_GRAD, backward->begin);
    int64_t from = zero && zero->begin > forward->begin ? zero->end : forward->begin;
    return levers_extra(edit, block->size, from, added);
}

static int halve(const struct sizes *sizes, struct levers_edit *edit, bool *normalizes)
{
    const struct levers_work *work = sizes->work;
    const struct levers_step *step = &work->seen.step;
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        bool done = block->purpose == PURPOSE_GRADIENT ? add_gradient(step, i, edit)
                    : has_rows(sizes, block)
                        ? levers_part(edit, i, has_pairs(work, block) ? QUARTER : HALF)
                        : true;
        if (!done)
            return ERR_NOMEM;
        *normalizes = *normalizes || levers_normalizes(work, block);
    }
    return 0;
}

size_t levers_micro_batches(const struct levers_step *step, int64_t number)
{
    const size_t optimizers = levers_phase_count(&step->phases, LEVERS_OPTIMIZER, number);
    const size_t backwards = levers_phase_count(&step->phases, LEVERS_BACKWARD, number);
    return optimizers == 1 ? backwards : 1;
}

/* What becomes of the training's results. Whether a loss compares samples is not always known; nor
 * are the rows of a table always samples. */
static void put_results(const struct levers_facts *facts, bool normalizes, char *out, size_t size)
{
    size_t length = 0;
    if (normalizes)
        length =
            (size_t)snprintf(out, size, "; BatchNorm then normalizes over half as many samples");
    if (facts->compared)
        snprintf(out + length, size - length,
                 "; the loss may compare the samples of a batch (a table of %" PRId64 " x %" PRId64
                 "): then those of each half only",
                 facts->compared, facts->compared);
    else if (facts->sums)
        snprintf(out + length, size - length,
                 "; the loss uses sums over the batch (%" PRId64 " x %" PRId64
                 "): each half has its own",
                 facts->sums, facts->sums);
    else if (!normalizes)
        snprintf(out, size, "; same results unless the loss compares samples with each other");
}

int levers_half_batch(struct levers_work *work)
{
    char text[160] = "gradient accumulation, half the micro-batch and twice as many: for part in "
                     "batch.chunk(2): (loss_of(part) / 2).backward()";
    char results[240] = "";
    bool normalizes = false;
    struct levers_words words = {
        .kind = LEVER_HALF_BATCH, .estimated = true, .site = LEVERS_NONE, .after = results};
    struct levers_edit edit = {0};
    const size_t parts = levers_micro_batches(&work->seen.step, work->seen.peak->step);
    if (parts > 1)
        snprintf(text, sizeof text,
                 "gradient accumulation, half the micro-batch: %zu times backward() in place of "
                 "%zu, each loss divided by twice as much",
                 2 * parts, parts);
    words.before = levers_in_loop(work->loop, words.kind, text);
    struct sizes sizes;
    int err = read_sizes(work, &sizes);
    if (err >= 0)
        err = halve(&sizes, &edit, &normalizes);
    words.changes = normalizes || work->facts.compared || work->facts.sums;
    put_results(&work->facts, normalizes, results, sizeof results);
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    clear_sizes(&sizes);
    return err;
}
