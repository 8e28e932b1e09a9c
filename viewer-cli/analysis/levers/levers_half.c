/*
 * Levers on the whole model: in bfloat16, so that parameters, gradients, optimizer state and what
 * is computed of them have half the bytes; and of FSDP what is gathered and sent alone, with what
 * is computed, while each rank's part stays in float32.
 *
 * Of some blocks that is sure, and of others only that they have no more than their bytes now: code
 * that casts to float32 by itself leaves no trace where all is float32. So two figures are
 * computed, with all blocks that may be of half the bytes, and with those that surely are, or most
 * likely (levers_plain.h). The first is the bound. Where the second is less than half of it nothing
 * is said; where they are alike, on a CPU, and sure, it is a promise.
 */
#include "error.h"
#include "levers_dtypes.h"
#include "levers_losses.h"
#include "levers_plain.h"
#include "levers_work.h"
#include "mem.h"

struct half {
    struct levers_work *work;
    struct levers_dtypes dtypes;
    struct levers_plain plain;
    bool small_states;           /* of the optimizer: they have their own dtype already */
    bool mixed;                  /* parts of the ranks stay as they are */
    bool sure;                   /* blocks that surely are, or most likely, alone */
    bool likely;                 /* one of these was not sure */
    struct levers_losses losses; /* of a library that casts logits to float32 */
    struct levers_edit edit;
};

static bool is_cast(enum levers_op op)
{
    return op == LEVERS_OP_LOSS_CAST;
}

static bool unless_it_casts(struct half *half, bool likely)
{
    half->likely = half->likely || (half->sure && likely);
    return !half->sure || likely;
}

/* Of what a step computes. */
static bool computed_halves(struct half *half, const struct levers_block *block)
{
    const struct levers_step *step = &half->work->seen.step;
    if (levers_computes(&step->phases, block->seq)) {
        enum levers_op op = levers_op_made(&half->dtypes, block);
        if (op == LEVERS_OP_UNKNOWN)
            return unless_it_casts(
                half, levers_is_plain(&half->work->seen, &half->dtypes, &half->plain, block));
        return op != LEVERS_OP_LOSS_CAST && op != LEVERS_OP_MATH;
    }
    if (!levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq))
        return !half->sure;
    if (levers_of_loss(&half->losses, block))
        return false;
    return levers_is_like_parameter(&half->work->seen, block) ||
           levers_op_of_module(&half->dtypes, block) != LEVERS_OP_UNKNOWN ||
           unless_it_casts(half, levers_is_of_plain(&half->plain, block));
}

/* As large as another that this attention made before: a copy of it in another layout. */
enum { NEAR = 8 };

static bool is_second(const struct half *half, size_t at)
{
    const struct levers_step *step = &half->work->seen.step;
    const struct levers_block *block = &step->blocks[at];
    for (size_t i = at; i-- > step->older && at - i <= NEAR;) {
        const struct levers_block *before = &step->blocks[i];
        if (before->module != block->module ||
            levers_op_made(&half->dtypes, before) != LEVERS_OP_ATTENTION)
            return false;
        if (before->asked == block->asked)
            return true;
    }
    return false;
}

/* Copies of tensors in other layouts, which kernels for bfloat16 may not need: those of
 * convolutions, and of a GPU's fused attention. */
static bool may_go(const struct half *half, size_t at)
{
    const struct levers_step *step = &half->work->seen.step;
    const struct levers_block *block = &step->blocks[at];
    if (!half->sure && !half->work->seen.on_host && block->purpose == PURPOSE_ACTIVATION &&
        levers_computes(&step->phases, block->seq) &&
        levers_op_made(&half->dtypes, block) == LEVERS_OP_ATTENTION && is_second(half, at))
        return true;
    if (half->sure || block->purpose != PURPOSE_WORKSPACE)
        return false;
    if (levers_computes(&step->phases, block->seq))
        return levers_op_made(&half->dtypes, block) == LEVERS_OP_CONVOLUTION &&
               at + 1 < step->count && block[1].site == block->site &&
               block[1].module == block->module;
    return levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq) &&
           !levers_is_like_parameter(&half->work->seen, block) &&
           levers_op_of_module(&half->dtypes, block) == LEVERS_OP_CONVOLUTION;
}

static bool halves(struct half *half, size_t at)
{
    const struct levers_step *step = &half->work->seen.step;
    const struct levers_block *block = &step->blocks[at];
    switch (block->purpose) {
    case PURPOSE_GATHERED:
    case PURPOSE_COMMUNICATION:
        return true;
    case PURPOSE_PARAMETER:
        return !half->mixed && (block->tagged || !half->sure);
    case PURPOSE_GRADIENT:
    case PURPOSE_BUCKET:
        return !half->mixed;
    case PURPOSE_OPTIMIZER_STATE:
        return !half->mixed && !half->small_states;
    case PURPOSE_LIBRARY:
        return false;
    case PURPOSE_COPY:
    case PURPOSE_INPUT:
        return !half->sure;
    default:
        if (at < step->older && !levers_computes(&step->phases, block->seq))
            return block->tagged && !half->sure; /* buffers of the model, and what else there is */
        if (levers_has_partial_sums(&half->work->seen, at))
            return false;
        return (!half->mixed && levers_is_temporary(step, block)) || computed_halves(half, block);
    }
}

/* The cast of a loss is there beside the logits until the loss is computed, and in backward their
 * gradient in both dtypes for a moment. */
static bool add_loss(struct half *half, const struct levers_block *block)
{
    const struct levers_phase *forward =
        levers_phase_around(&half->work->seen.step.phases, LEVERS_FORWARD, block->seq);
    if (half->sure && forward)
        return levers_extra(&half->edit, block->size, block->seq, forward->end);
    return levers_spike(&half->edit, block->size, block->seq + 1);
}

/* A norm that casts: its input is saved in float32, for which it was saved as it was. */
static bool add_norm(struct half *half, const struct levers_block *block)
{
    return levers_extra(&half->edit, levers_half_of(&half->work->seen, block), block->seq,
                        block->end);
}

static bool add_casts(struct half *half, size_t at)
{
    const struct levers_step *step = &half->work->seen.step;
    const struct levers_block *block = &step->blocks[at];
    const struct levers_block *before = at > step->older ? block - 1 : NULL;
    if (!levers_computes(&step->phases, block->seq))
        return true;
    enum levers_op op = levers_op_made(&half->dtypes, block);
    if (is_cast(op) && levers_as_large_as_loss(&half->losses, block))
        return add_loss(half, block);
    /* The first one that it keeps: what it multiplies by its weight. */
    bool saves = op == LEVERS_OP_UPCASTS && block->purpose == PURPOSE_ACTIVATION;
    return !saves ||
           (before && before->module == block->module && before->asked == block->asked &&
            before->purpose == PURPOSE_ACTIVATION) ||
           add_norm(half, block);
}

static int change(struct half *half, bool sure)
{
    const struct levers_step *step = &half->work->seen.step;
    half->sure = sure;
    /* Rests of segments, of blocks of which it is not known what was asked for, as many again. */
    if (!sure && !levers_extra(&half->edit, -half->work->uncut, step->begin, LEVERS_NEVER))
        return ERR_NOMEM;
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        int64_t gone = may_go(half, i) ? block->size
                       : halves(half, i)
                           ? levers_half_of_computed(&half->work->seen, &half->dtypes, block, sure)
                           : 0;
        if (!sure && !may_go(half, i))
            gone += levers_slack_of(&half->work->seen, &half->dtypes, block);
        if ((gone && !levers_extra(&half->edit, -gone, block->seq, block->end)) ||
            !add_casts(half, i))
            return ERR_NOMEM;
    }
    return 0;
}

/* What surely comes off. */
static int find_least(struct half *half, int64_t *bytes)
{
    int64_t highest = 0;
    int err = change(half, true);
    if (err >= 0)
        err = levers_highest(&half->work->seen.step, &half->edit, &highest, NULL);
    *bytes = half->work->seen.step.highest - highest;
    levers_edit_clear(&half->edit);
    return err;
}

static int try_half(struct half *half, struct levers_words *words)
{
    struct levers_work *work = half->work;
    int64_t least, highest = 0;
    int err = find_least(half, &least);
    if (err >= 0)
        err = change(half, false);
    if (err >= 0)
        err = levers_highest(&work->seen.step, &half->edit, &highest, NULL);
    int64_t most = work->seen.step.highest - highest;
    /* A GPU's allocator may leave more at the end of a block of another size than of this one. */
    words->at_most =
        half->mixed || !work->seen.on_host || half->likely || most - least > most / 100;
    if (err >= 0 && least >= most / 2)
        err = levers_try(work, &half->edit, words);
    levers_edit_clear(&half->edit);
    return err;
}

static int try_whole(struct half *half)
{
    struct levers_words words = {
        .kind = LEVER_HALF_PRECISION, .changes = true, .anew = true, .site = LEVERS_NONE};
    words.before =
        levers_in_loop(half->work->loop, words.kind,
                       "model.to(torch.bfloat16); cast the model's floating-point inputs, and "
                       "tensors that forward() creates in float32: parameters, gradients, "
                       "optimizer state and activations in 16 bits");
    half->mixed = half->likely = false;
    return try_half(half, &words);
}

static int try_mixed(struct half *half)
{
    struct levers_words words = {
        .kind = LEVER_MIXED_PRECISION,
        .changes = true,
        .site = LEVERS_NONE,
        .before = "fully_shard(..., mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16)): "
                  "what is gathered, sent and computed in 16 bits, each rank's part in float32 "
                  "(FSDP1: mixed_precision=MixedPrecision(param_dtype=torch.bfloat16))"};
    half->mixed = true;
    return half->work->shards ? try_half(half, &words) : 0;
}

int levers_half_precision(struct levers_work *work)
{
    struct half half = {.work = work};
    bool plain = false;
    int err = levers_is_float32(&work->seen, &plain);
    if (err < 0 || !plain)
        return err;
    err = levers_has_reduced_states(work, &half.small_states);
    if (err >= 0)
        err = levers_dtypes_read(&work->seen, &half.dtypes);
    if (err >= 0)
        err = levers_plain_read(&work->seen, &half.dtypes, &half.plain);
    if (err >= 0)
        err = levers_losses_read(&work->seen, &half.dtypes, is_cast, &half.losses);
    if (err >= 0)
        err = try_whole(&half);
    if (err >= 0)
        err = try_mixed(&half);
    levers_dtypes_clear(&half.dtypes);
    levers_plain_clear(&half.plain);
    levers_losses_clear(&half.losses);
    return err < 0 ? err : 0;
}
