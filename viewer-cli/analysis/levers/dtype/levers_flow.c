/* levers_flow.c - see levers_flow.h. */
#include "levers_flow.h"

#include "error.h"
#include "levers_pieces.h"
#include "levers_powers.h"

bool levers_is_product(enum levers_op op)
{
    return op == LEVERS_OP_MATRIX || op == LEVERS_OP_CONVOLUTION;
}

/* ---- operations without a name ---- */

/* A sum goes around the module, as a residual goes around a norm: what its backward makes last is
 * added to the sum's gradient at once, and gone before another module makes anything. */
static bool is_beside_sum(const struct levers_orders *orders, const struct levers_block *block)
{
    const struct levers_step *step = orders->step;
    const struct levers_phase *backward = levers_backward_of(step, block);
    if (!backward || block->module == GROUP_NONE || block->end < backward->begin)
        return false;
    const struct levers_alike made = levers_made_alike(orders, block, block->end, backward->end);
    const size_t behind = made.count ? levers_run_end(orders, made.first->block) : step->count;
    if (behind == step->count || step->blocks[behind].seq >= backward->end)
        return false;
    const int64_t next = step->blocks[behind].seq;
    const struct levers_alike run = levers_made_alike(orders, block, block->end, next);
    return step->blocks[run.first[run.count - 1].block].end < next;
}

/* As large as what was made last and is in bfloat16, while a tensor in float32 that is as large
 * still lives: the sum of the two, as of a residual and what a layer makes of it. Where it is open
 * what was made last, nothing in the module may need the result. */
static bool is_sum(const struct levers_flow *flow, size_t at)
{
    const struct levers_step *step = &flow->seen->step;
    const struct levers_block *block = &step->blocks[at];
    uint64_t full = map_get(&flow->full, (uint64_t)block->asked);
    return full != MAP_NONE && step->blocks[full].end > block->seq && flow->input &&
           flow->input->asked == block->asked && !levers_with_scalar(&flow->scalars, step, at) &&
           (flow->flow == LEVERS_HALF ||
            (flow->flow == LEVERS_OPEN && block->module != GROUP_NONE &&
             !levers_is_kept(flow->forward, flow->input) && levers_is_kept(flow->forward, block) &&
             !levers_is_saved_within(step, block)));
}

/* A parameter of the module's own may be in it, and makes it float32. */
static bool may_take_parameter(const struct levers_flow *flow, const struct levers_block *block)
{
    return block->module != GROUP_NONE &&
           map_get(&flow->weights->owners, (uint64_t)block->module) != MAP_NONE;
}

bool levers_flow_may_be_power(const struct levers_flow *flow, enum levers_op op, size_t at)
{
    const struct levers_power power = {&flow->orders, &flow->scalars, flow->forward, flow->input,
                                       flow->seen->on_host};
    return op == LEVERS_OP_UNKNOWN && (flow->all_half || flow->flow == LEVERS_HALF) &&
           levers_may_be_power(&power, at);
}

/* What was made last is in float32, and backward needs it in the module of this block alone, which
 * has no matrix to multiply it by. */
static bool goes_on(const struct levers_flow *flow, const struct levers_block *block)
{
    const struct levers_block *input = flow->input;
    return flow->flow == LEVERS_FULL && input && input->asked == block->asked &&
           !may_take_parameter(flow, block) &&
           levers_is_let_go_in(&flow->seen->step, input, block->module);
}

/* It was made of what was made last, and backward needs this one in place of that: for the
 * operation itself, which is through with it while it is in the module. */
static bool saves_output(const struct levers_flow *flow, size_t at)
{
    const struct levers_step *step = &flow->seen->step;
    const struct levers_block *block = &step->blocks[at], *input = flow->input;
    return input && input->asked == block->asked && !levers_is_kept(flow->forward, input) &&
           levers_is_kept(flow->forward, block) && levers_is_saved_within(step, block) &&
           !levers_with_scalar(&flow->scalars, step, at) &&
           !levers_is_saved_by_product(&flow->orders, block);
}

/* An activation follows its input: backward needs what it was made of; or a number was in it. Where
 * it needs what was made, that is a sigmoid as well as an exponential, of which a GPU's autocast
 * computes one in float32. */
static enum levers_dtype of_unknown(const struct levers_flow *flow, size_t at)
{
    const struct levers_step *step = &flow->seen->step;
    const struct levers_block *block = &step->blocks[at];
    const bool half = flow->flow == LEVERS_HALF && flow->input;
    if (levers_flow_may_be_power(flow, LEVERS_OP_UNKNOWN, at))
        return LEVERS_OPEN;
    if (flow->all_half)
        return LEVERS_HALF;
    if (half && may_take_parameter(flow, block))
        return LEVERS_OPEN;
    if (half && saves_output(flow, at))
        return flow->seen->on_host ? LEVERS_HALF : LEVERS_OPEN;
    if (half &&
        (levers_is_kept(flow->forward, flow->input) ||
         (flow->input->asked == block->asked && levers_with_scalar(&flow->scalars, step, at))))
        return LEVERS_HALF;
    return is_sum(flow, at) || goes_on(flow, block) ? LEVERS_FULL : LEVERS_OPEN;
}

enum levers_dtype levers_flow_of(const struct levers_flow *flow, enum levers_op op, size_t at)
{
    switch (op) {
    case LEVERS_OP_MATRIX:
    case LEVERS_OP_CONVOLUTION:
    case LEVERS_OP_RECURRENT:
        return LEVERS_HALF;
    case LEVERS_OP_ATTENTION: /* of what it writes out, the softmax alone saves its output */
        return !flow->seen->on_host &&
                       levers_is_written_out(flow->dtypes, &flow->seen->step.blocks[at]) &&
                       saves_output(flow, at)
                   ? LEVERS_FULL
                   : LEVERS_HALF;
    case LEVERS_OP_FOLLOWS:
        return flow->flow;
    case LEVERS_OP_HALF:
        return LEVERS_HALF;
    case LEVERS_OP_NORM:
    case LEVERS_OP_SOFTMAX:
    case LEVERS_OP_PIECES:
        return flow->seen->on_host ? flow->flow : LEVERS_FULL;
    case LEVERS_OP_UNKNOWN:
        return of_unknown(flow, at);
    default:
        return LEVERS_FULL;
    }
}

/* ---- a forward ---- */

void levers_flow_begin(struct levers_flow *flow, const struct levers_phase *forward)
{
    flow->forward = forward;
    flow->flow = flow->source_flow = LEVERS_FULL;
    flow->all_half = flow->weights->own == 0;
    flow->input = flow->source = NULL;
    flow->after_product = false;
    map_clear(&flow->full);
}

/* What a norm keeps of each row, beside its output. */
static bool is_beside(const struct levers_block *output, const struct levers_block *block)
{
    return output && output->site == block->site && output->module == block->module &&
           block->asked < output->asked;
}

bool levers_flow_take(struct levers_flow *flow, enum levers_op op, enum levers_dtype dtype,
                      size_t at)
{
    const struct levers_block *block = &flow->seen->step.blocks[at];
    if (op == LEVERS_OP_NORM && is_beside(flow->input, block))
        return true;
    flow->flow = dtype;
    flow->input = block;
    flow->all_half = flow->all_half && dtype == LEVERS_HALF;
    flow->after_product = levers_is_product(op);
    if (!flow->after_product) {
        flow->source = block;
        flow->source_flow = dtype;
    }
    const bool norm = op == LEVERS_OP_NORM || op == LEVERS_OP_UPCASTS;
    return dtype != LEVERS_FULL || (norm && is_beside_sum(&flow->orders, block)) ||
           map_put(&flow->full, (uint64_t)block->asked, at, NULL);
}

/* ---- reading ---- */

static bool begins_call(const struct levers_step *step, size_t at)
{
    const struct levers_block *block = &step->blocks[at];
    return block->asked > LEVERS_SCALAR &&
           (at == 0 || block[-1].site != block->site || block[-1].module != block->module ||
            block[-1].asked <= LEVERS_SCALAR);
}

static int find_pieces(struct levers_seen *seen, struct levers_dtypes *dtypes,
                       const struct levers_scalars *scalars)
{
    const struct levers_step *step = &seen->step;
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->site == GROUP_NONE || levers_op_made(dtypes, block) != LEVERS_OP_UNKNOWN ||
            !begins_call(step, i) || !levers_is_gelu(scalars, step, i))
            continue;
        if (!map_put(&dtypes->sites, (uint64_t)block->site, LEVERS_OP_PIECES, NULL) ||
            (block->module != GROUP_NONE &&
             levers_op_of_module(dtypes, block) == LEVERS_OP_UNKNOWN &&
             !map_put(&dtypes->modules, (uint64_t)block->module, LEVERS_OP_PIECES, NULL)))
            return ERR_NOMEM;
    }
    return 0;
}

int levers_flow_read(struct levers_seen *seen, struct levers_dtypes *dtypes,
                     const struct levers_weights *weights, struct levers_flow *out)
{
    *out = (struct levers_flow){.seen = seen, .dtypes = dtypes, .weights = weights};
    int err = levers_scalars_read(seen, &out->scalars);
    if (err >= 0)
        err = levers_orders_read(&seen->step, &out->orders);
    return err < 0 ? err : find_pieces(seen, dtypes, &out->scalars);
}

void levers_flow_clear(struct levers_flow *flow)
{
    levers_scalars_clear(&flow->scalars);
    levers_orders_clear(&flow->orders);
    map_clear(&flow->full);
}
