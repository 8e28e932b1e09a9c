/*
 * A lever on what forward and loss compute: under autocast to bfloat16.
 *
 * Products and convolutions are then in bfloat16, and so is what is made of them alone; norms of a
 * GPU and losses are in float32, and a sum with what was not in bfloat16 is not, either. So a
 * forward is gone through in its order, with what is known of the dtype that flows: half, full, or
 * open. What comes into a product in float32 is copied, and the copy is what backward needs of it.
 * Each weight of a product gets a copy, too. Its gradient is made in bfloat16 before it is cast.
 *
 * Two figures are computed: the open is half, and copies that are not sure are not there; and the
 * other way. The first is the bound, the second has to be half of it at least. If it is not, both
 * are computed again with what was seen in the graph (levers_letters.h).
 */
#include <stdio.h>

#include "error.h"
#include "group.h"
#include "levers_copies.h"
#include "levers_letters.h"
#include "levers_work.h"

/* ---- forward ---- */

/* Of logits in bfloat16: the softmax is in bfloat16, too, what is cast to float32 is its output,
 * and backward needs both: the cast until the gradient of the second part of the loss is there. */
static bool add_entropy(struct levers_autocast *all, const struct levers_block *block,
                        const struct levers_phase *backward)
{
    const struct levers_step *step = &all->seen->step;
    const int64_t half = levers_half_of(all->seen, block);
    size_t at = levers_first_from(step, backward->begin);
    while (at < step->count && step->blocks[at].asked != block->asked)
        at++;
    int64_t first = at < step->count ? step->blocks[at].seq + 1 : block->end;
    all->entropy = true;
    all->gradients = 0;
    return block->end <= first ||
           (levers_extra(&all->edit, block->size - half, block->seq, first) &&
            levers_extra(&all->edit, -half, first, block->end));
}

/* Logits are cast before the loss; what the loss makes large is made of the cast, else backward
 * needs the cast itself. */
static bool add_loss(struct levers_autocast *all, enum levers_op op,
                     const struct levers_block *block)
{
    const struct levers_phase *backward =
        levers_phase_after(&all->seen->step.phases, LEVERS_BACKWARD, block->seq);
    const struct levers_block *input = all->flow.input;
    if (!levers_as_large_as_loss(&all->losses, block))
        return !all->sure || !backward || !input || levers_as_large_as_loss(&all->losses, input) ||
               all->flow.flow == LEVERS_FULL ||
               levers_extra(&all->edit, input->size, block->seq, backward->end);
    if (op == LEVERS_OP_ENTROPY && !all->seen->on_host && backward &&
        (all->flow.flow == LEVERS_HALF || (all->flow.flow == LEVERS_OPEN && !all->sure)))
        return add_entropy(all, block, backward);
    if (all->sure && op == LEVERS_OP_LOSS_CAST && all->flow.forward)
        return levers_extra(&all->edit, block->size, block->seq, all->flow.forward->end);
    return levers_spike(&all->edit, block->size, block->seq + 1);
}

/* The first event behind the call that made a block. */
static int64_t end_of_call(const struct levers_autocast *all, size_t at)
{
    const struct levers_step *step = &all->seen->step;
    const struct levers_block *block = &step->blocks[at];
    while (at + 1 < step->count && step->blocks[at + 1].site == block->site &&
           step->blocks[at + 1].module == block->module)
        at++;
    return step->blocks[at].seq + 1;
}

/* GELU in pieces begins with half of its input, which is as the input is; what is then raised to a
 * power is a copy in float32 that backward needs, so that the input itself may go behind the call;
 * all that follows is in float32. */
static bool take_piece(struct levers_autocast *all, size_t at)
{
    const struct levers_block *block = &all->seen->step.blocks[at];
    if (!all->flow.input || all->flow.input->site != block->site ||
        all->flow.input->module != block->module) {
        all->call.given = all->flow.input;
        all->call.flow = all->flow.flow;
        all->call.count = 0;
    }
    const struct levers_block *given = all->call.given;
    const size_t piece = ++all->call.count;
    if (!given || all->call.flow == LEVERS_FULL || (all->call.flow == LEVERS_OPEN && all->sure))
        return true;
    if (piece == 1)
        return levers_shrink(all, block, block->seq);
    if (piece != 2)
        return true;
    const int64_t whole = given->size - levers_slack_of(all->seen, &all->dtypes, given);
    const int64_t end = end_of_call(all, at);
    return given->end <= end ||
           (levers_extra(&all->edit, whole, block->seq, given->end) &&
            levers_extra(&all->edit, levers_half_of(all->seen, given) - whole, end, given->end));
}

/* Of a convolution: the last one of the call is what it leaves. */
static bool is_copy(const struct levers_autocast *all, size_t at)
{
    const struct levers_block *block = &all->seen->step.blocks[at];
    return block->purpose == PURPOSE_WORKSPACE && at + 1 < all->seen->step.count &&
           block[1].module == block->module && block[1].site == block->site;
}

/* The gradient of a tensor is as the tensor is. */
static bool mark_full(struct levers_autocast *all, enum levers_op op, enum levers_dtype flow,
                      const struct levers_block *block)
{
    const bool keeps = op == LEVERS_OP_FOLLOWS || op == LEVERS_OP_NORM || op == LEVERS_OP_UPCASTS ||
                       op == LEVERS_OP_SOFTMAX || op == LEVERS_OP_FULL || op == LEVERS_OP_GIVEN;
    if (block->module == GROUP_NONE)
        return true;
    const uint64_t before = map_get(&all->full, (uint64_t)block->module);
    uint64_t now = !keeps || flow != LEVERS_FULL   ? LEVERS_MIXED
                   : all->flow.flow == LEVERS_FULL ? LEVERS_IN_AND_OUT
                                                   : LEVERS_OUT;
    if (before == LEVERS_MIXED || (before == LEVERS_OUT && now == LEVERS_IN_AND_OUT))
        now = before;
    return map_put(&all->full, (uint64_t)block->module, now, NULL);
}

static void begin_forward(struct levers_autocast *all, const struct levers_phase *forward)
{
    levers_flow_begin(&all->flow, forward);
    all->recurs = false;
    all->call.given = NULL;
    all->entropy = false;
    map_clear(&all->copied);
}

static bool take_forward(struct levers_autocast *all, size_t at)
{
    const struct levers_step *step = &all->seen->step;
    const struct levers_block *block = &step->blocks[at];
    const struct levers_phase *forward =
        levers_phase_around(&step->phases, LEVERS_FORWARD, block->seq);
    if (forward && forward != all->flow.forward)
        begin_forward(all, forward);
    enum levers_op op = levers_op_made(&all->dtypes, block);
    if (op == LEVERS_OP_UNKNOWN && block->asked <= LEVERS_SCALAR)
        return true;
    enum levers_dtype flow = levers_flow_of(&all->flow, op, at);
    const struct levers_block *product =
        block->purpose == PURPOSE_ACTIVATION ? levers_product_behind(all, at) : NULL;
    bool done = true;
    if (levers_is_product(op))
        done = levers_copy_of_product(all, at);
    else if (op == LEVERS_OP_RECURRENT)
        done = levers_copy_of_recurrent(all, block);
    else if (levers_is_loss(op))
        done = add_loss(all, op, block);
    else if (op == LEVERS_OP_PIECES && !all->seen->on_host)
        done = take_piece(all, at);
    else if ((op == LEVERS_OP_NORM || op == LEVERS_OP_UPCASTS) && !all->seen->on_host)
        done = levers_copy_of_norm(all, at);
    else if (op == LEVERS_OP_GIVEN && all->flow.input && all->flow.flow != LEVERS_FULL)
        done = levers_copy_of_power(all, at);
    else if (all->sure && flow == LEVERS_OPEN && levers_flow_may_be_power(&all->flow, op, at))
        done = levers_copy_of_power(all, at);
    else if (!all->seen->on_host && flow == LEVERS_FULL &&
             (op == LEVERS_OP_SOFTMAX || op == LEVERS_OP_ATTENTION))
        return levers_copy_of_softmax(all, block, product) && mark_full(all, op, flow, block) &&
               levers_flow_take(&all->flow, op, flow, at);
    if (done && op == LEVERS_OP_CONVOLUTION && is_copy(all, at))
        done = all->sure ? levers_shrink(all, block, block->seq)
                         : levers_cut(&all->edit, at, INT64_MIN, LEVERS_NEVER);
    else if (done && (flow == LEVERS_HALF || (flow == LEVERS_OPEN && !all->sure)))
        done = levers_shrink(all, block, block->seq);
    else if (done && product)
        done = levers_copy_into_product(all, op, flow, block, product);
    done = done && mark_full(all, op, flow, block);
    if (op == LEVERS_OP_FOLLOWS && flow == LEVERS_HALF && block->module != GROUP_NONE &&
        !map_put(&all->halved, (uint64_t)block->module, 1, NULL))
        return false;
    return done && levers_flow_take(&all->flow, op, flow, at);
}

/* ---- backward ---- */

static bool take_backward(struct levers_autocast *all, size_t at)
{
    const struct levers_block *block = &all->seen->step.blocks[at];
    const uint64_t module = (uint64_t)block->module;
    bool halved = block->module != GROUP_NONE && map_get(&all->halved, module) != MAP_NONE &&
                  map_get(&all->dtypes.floats, module) == MAP_NONE;
    if (levers_has_partial_sums(all->seen, at) || map_get(&all->whole, at) != MAP_NONE)
        return true;
    /* By accident something else may be as large as a parameter. */
    if (block->purpose == PURPOSE_GRADIENT ||
        (all->sure && levers_is_like_parameter(all->seen, block)))
        return levers_spike(&all->edit, levers_half_of(all->seen, block), block->seq + 1);
    if (levers_of_loss(&all->losses, block)) /* the second is that of the softmax */
        return !all->entropy || all->gradients++ != 1 || levers_shrink(all, block, block->seq);
    if (!all->sure && levers_op_of_module(&all->dtypes, block) == LEVERS_OP_CONVOLUTION)
        return levers_cut(&all->edit, at, INT64_MIN, LEVERS_NEVER);
    if (all->sure)
        return !halved || levers_shrink(all, block, block->seq);
    const uint64_t full =
        block->module == GROUP_NONE ? MAP_NONE : map_get(&all->full, (uint64_t)block->module);
    return full == LEVERS_IN_AND_OUT ||
           levers_shrink(all, block, block->seq + (full == LEVERS_OUT));
}

static bool is_of_step(const struct levers_block *block)
{
    return block->purpose != PURPOSE_PARAMETER && block->purpose != PURPOSE_OPTIMIZER_STATE &&
           block->purpose != PURPOSE_COPY && block->purpose != PURPOSE_INPUT &&
           block->purpose != PURPOSE_BUCKET && block->purpose != PURPOSE_LIBRARY &&
           block->purpose != PURPOSE_GATHERED && block->purpose != PURPOSE_COMMUNICATION;
}

static int change(struct levers_autocast *all, bool sure)
{
    const struct levers_step *step = &all->seen->step;
    bool done = true;
    all->sure = sure;
    all->flow.forward = NULL;
    map_clear(&all->whole);
    map_clear(&all->full);
    for (size_t i = 0; i < step->count && done; i++) {
        const struct levers_block *block = &step->blocks[i];
        int64_t slack = sure || block->purpose == PURPOSE_OPTIMIZER_STATE
                            ? 0
                            : levers_slack_of(all->seen, &all->dtypes, block);
        done = !slack || levers_extra(&all->edit, -slack, block->seq, block->end);
        if (!done || i < step->older || !is_of_step(block))
            continue;
        if (levers_computes(&step->phases, block->seq))
            done = take_forward(all, i);
        else if (levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq))
            done = take_backward(all, i);
    }
    return done ? 0 : ERR_NOMEM;
}

/* ---- the lever ---- */

static int figure(struct levers_autocast *all, bool sure, int64_t *bytes)
{
    int64_t highest = 0;
    int err = change(all, sure);
    if (err >= 0)
        err = levers_highest(&all->seen->step, &all->edit, &highest, NULL);
    *bytes = all->seen->step.highest - highest;
    return err;
}

/* The edit is that of the second, the bound. */
static int figures(struct levers_autocast *all, int64_t *least, int64_t *most)
{
    levers_edit_clear(&all->edit);
    int err = figure(all, true, least);
    levers_edit_clear(&all->edit);
    return err < 0 ? err : figure(all, false, most);
}

static bool is_near(const struct levers_autocast *all, int64_t least, int64_t most)
{
    return all->products && least >= most / 2;
}

static int try_autocast(struct levers_work *work, struct levers_autocast *all)
{
    char text[160];
    struct levers_words words = {
        .kind = LEVER_AUTOCAST, .at_most = true, .changes = true, .site = LEVERS_NONE};
    int64_t least = 0, most = 0;
    snprintf(text, sizeof text,
             "with torch.autocast('%s', dtype=torch.bfloat16): around forward and loss: outputs of "
             "matrix products and convolutions in 16 bits",
             work->seen.on_host ? "cpu" : "cuda");
    words.before = levers_in_loop(work->loop, words.kind, text);
    int err = figures(all, &least, &most);
    /* With what is known of operations without a name, where that is needed. */
    if (err >= 0 && !is_near(all, least, most)) {
        size_t known = 0;
        err = levers_letters_read(all->seen, &all->dtypes, &known);
        map_clear(&all->halved);
        all->products = 0;
        if (err >= 0 && known)
            err = figures(all, &least, &most);
    }
    if (err >= 0 && is_near(all, least, most))
        err = levers_try(work, &all->edit, &words);
    levers_edit_clear(&all->edit);
    return err;
}

int levers_autocast(struct levers_work *work)
{
    struct levers_autocast all = {.seen = &work->seen};
    bool plain = false;
    int err = levers_is_float32(&work->seen, &plain);
    if (err < 0 || !plain || work->shards)
        return err;
    err = levers_dtypes_read(&work->seen, &all.dtypes);
    if (err >= 0)
        err = levers_weights_read(&work->seen, &all.weights);
    if (err >= 0)
        err = levers_flow_read(&work->seen, &all.dtypes, &all.weights, &all.flow);
    if (err >= 0)
        err = levers_losses_read(&work->seen, &all.dtypes, levers_is_loss, &all.losses);
    if (err >= 0)
        err = try_autocast(work, &all);
    levers_dtypes_clear(&all.dtypes);
    levers_weights_clear(&all.weights);
    levers_flow_clear(&all.flow);
    levers_losses_clear(&all.losses);
    map_clear(&all.copied);
    map_clear(&all.halved);
    map_clear(&all.whole);
    map_clear(&all.full);
    return err < 0 ? err : 0;
}
