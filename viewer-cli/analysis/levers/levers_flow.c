/* levers_flow.c - see levers_flow.h. */
#include "levers_flow.h"

#include "error.h"
#include "levers_pieces.h"

bool levers_is_product(enum levers_op op)
{
    return op == LEVERS_OP_MATRIX || op == LEVERS_OP_CONVOLUTION;
}

/* ---- operations without a name, by the lives of blocks ---- */

static const struct levers_phase *backward_of(const struct levers_step *step,
                                              const struct levers_block *block)
{
    return levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq);
}

/* Backward lets it go while it is in the same module: an operation there saved it, maybe the one
 * that made it. What a sum makes, others save. */
static bool is_saved_within(const struct levers_step *step, const struct levers_block *block)
{
    const struct levers_phase *backward = backward_of(step, block);
    size_t at = levers_first_from(step, block->end);
    return backward && block->end > backward->begin && block->end <= backward->end &&
           block->module != GROUP_NONE && at > 0 && step->blocks[at - 1].seq > backward->begin &&
           step->blocks[at - 1].module == block->module;
}

/* Backward needs it. */
static bool outlives(const struct levers_flow *flow, const struct levers_block *block)
{
    return flow->forward && block->end > flow->forward->end;
}

/* The tensor before, if it is as large. */
static const struct levers_block *before(const struct levers_step *step, size_t at)
{
    const struct levers_block *block = &step->blocks[at];
    while (at-- > step->older)
        if (step->blocks[at].asked > LEVERS_SCALAR)
            return step->blocks[at].asked == block->asked ? &step->blocks[at] : NULL;
    return NULL;
}

/* It multiplies two tensors: backward lets them go one right after the other, for the node that
 * saved both has run. */
static bool multiplies(const struct levers_step *step, size_t at)
{
    enum { NEAR = 32 };
    const struct levers_block *last = before(step, at);
    if (!last || !is_saved_within(step, last))
        return false;
    for (size_t i = at, seen = 0; i-- > step->older && seen < NEAR; seen++) {
        const struct levers_block *other = &step->blocks[i];
        if (other->asked == last->asked &&
            (other->end == last->end + 1 || other->end == last->end - 1))
            return true;
    }
    return false;
}

/* How many tensors as large backward makes in the module, until it lets go of another such one that
 * forward had made: the gradients of one operation, and what they take. */
static size_t count_gradients(const struct levers_step *step, const struct levers_block *block)
{
    const struct levers_phase *backward = backward_of(step, block);
    int64_t end = backward->end;
    size_t count = 0;
    for (size_t i = step->older; i < step->count && step->blocks[i].seq < backward->begin; i++) {
        const struct levers_block *other = &step->blocks[i];
        if (other->asked == block->asked && other->end > block->end && other->end < end)
            end = other->end;
    }
    for (size_t i = levers_first_from(step, block->end);
         i < step->count && step->blocks[i].seq < end; i++)
        count += step->blocks[i].module == block->module && step->blocks[i].asked == block->asked;
    return count;
}

/* Likewise, until backward lets go of what it was made of. */
static size_t count_behind(const struct levers_step *step, const struct levers_block *block,
                           const struct levers_block *input)
{
    const struct levers_phase *backward = backward_of(step, block);
    int64_t begin = backward->begin;
    size_t count = 0;
    for (size_t i = step->older; i < step->count && step->blocks[i].seq < backward->begin; i++) {
        const struct levers_block *other = &step->blocks[i];
        if (other->asked == block->asked && other->end < input->end && other->end > begin)
            begin = other->end;
    }
    for (size_t i = levers_first_from(step, begin);
         i < step->count && step->blocks[i].seq < input->end; i++)
        count += step->blocks[i].module == block->module && step->blocks[i].asked == block->asked;
    return count;
}

/* What made it saved it, for it did not save what it was given itself. */
static bool is_saved_by_maker(const struct levers_flow *flow, const struct levers_block *block)
{
    const struct levers_step *step = &flow->work->step;
    const size_t at = (size_t)(block - step->blocks);
    const struct levers_block *given = before(step, at);
    return given && !outlives(flow, given) && !levers_with_scalar(&flow->scalars, step, at);
}

/* A GPU's autocast computes powers, exponentials and softplus in float32. They save what they are
 * given, and what they make is not saved by themselves. In backward a sine or a product makes two
 * tensors, a power more, and others one; so has what made its input, if it needs that as well. */
static bool may_be_power(const struct levers_flow *flow, size_t at)
{
    enum { OF_SINE = 2 };
    const struct levers_step *step = &flow->work->step;
    const struct levers_block *block = &step->blocks[at], *input = flow->input;
    const struct levers_phase *backward = backward_of(step, block);
    if (flow->work->on_host || block->module == GROUP_NONE || !backward || !input ||
        input->asked != block->asked || !outlives(flow, input) ||
        levers_with_scalar(&flow->scalars, step, at))
        return false;
    const bool maker = input->module == block->module && is_saved_by_maker(flow, input);
    if (!outlives(flow, block))
        return !maker && !multiplies(step, at) && count_behind(step, block, input) != OF_SINE;
    return block->end < backward->end && !is_saved_within(step, block) &&
           count_gradients(step, block) > OF_SINE + (size_t)maker;
}

/* As large as what was made last and is in bfloat16, while a tensor in float32 that is as large
 * still lives: the sum of the two, as of a residual and what a layer makes of it. Where it is open
 * what was made last, nothing in the module may need the result. */
static bool is_sum(const struct levers_flow *flow, size_t at)
{
    const struct levers_step *step = &flow->work->step;
    const struct levers_block *block = &step->blocks[at];
    uint64_t full = map_get(&flow->full, (uint64_t)block->asked);
    return full != MAP_NONE && step->blocks[full].end > block->seq && flow->input &&
           flow->input->asked == block->asked && !levers_with_scalar(&flow->scalars, step, at) &&
           (flow->flow == LEVERS_HALF ||
            (flow->flow == LEVERS_OPEN && block->module != GROUP_NONE &&
             !outlives(flow, flow->input) && outlives(flow, block) &&
             !is_saved_within(step, block)));
}

/* A parameter of the module's own may be in it, and makes it float32. */
static bool may_take_parameter(const struct levers_flow *flow, const struct levers_block *block)
{
    return block->module != GROUP_NONE &&
           map_get(&flow->weights->owners, (uint64_t)block->module) != MAP_NONE;
}

/* An activation follows its input: backward needs what it was made of, or what it made; or a number
 * was in it. */
static enum levers_dtype of_unknown(const struct levers_flow *flow, size_t at)
{
    const struct levers_step *step = &flow->work->step;
    const struct levers_block *block = &step->blocks[at];
    const bool half = flow->flow == LEVERS_HALF && flow->input;
    if ((flow->all_half || half) && may_be_power(flow, at))
        return LEVERS_OPEN;
    if (flow->all_half)
        return LEVERS_HALF;
    if (half && may_take_parameter(flow, block))
        return LEVERS_OPEN;
    const bool like = half && flow->input->asked == block->asked;
    if (half && (outlives(flow, flow->input) ||
                 (like && (levers_with_scalar(&flow->scalars, step, at) ||
                           (levers_is_own(flow->dtypes, block) && is_saved_within(step, block))))))
        return LEVERS_HALF;
    return is_sum(flow, at) ? LEVERS_FULL : LEVERS_OPEN;
}

enum levers_dtype levers_flow_of(const struct levers_flow *flow, enum levers_op op, size_t at)
{
    switch (op) {
    case LEVERS_OP_MATRIX:
    case LEVERS_OP_CONVOLUTION:
    case LEVERS_OP_ATTENTION:
    case LEVERS_OP_RECURRENT:
        return LEVERS_HALF;
    case LEVERS_OP_FOLLOWS:
        return flow->flow;
    case LEVERS_OP_NORM:
    case LEVERS_OP_SOFTMAX:
    case LEVERS_OP_PIECES:
        return flow->work->on_host ? flow->flow : LEVERS_FULL;
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

bool levers_flow_take(struct levers_flow *flow, enum levers_op op, enum levers_dtype dtype,
                      size_t at)
{
    const struct levers_block *block = &flow->work->step.blocks[at];
    flow->flow = dtype;
    flow->input = block;
    flow->all_half = flow->all_half && dtype == LEVERS_HALF;
    flow->after_product = levers_is_product(op);
    if (!flow->after_product) {
        flow->source = block;
        flow->source_flow = dtype;
    }
    return dtype != LEVERS_FULL || map_put(&flow->full, (uint64_t)block->asked, at, NULL);
}

/* ---- reading ---- */

static bool begins_call(const struct levers_step *step, size_t at)
{
    const struct levers_block *block = &step->blocks[at];
    return block->asked > LEVERS_SCALAR &&
           (at == 0 || block[-1].site != block->site || block[-1].module != block->module ||
            block[-1].asked <= LEVERS_SCALAR);
}

static int find_pieces(struct levers_work *work, struct levers_dtypes *dtypes,
                       const struct levers_scalars *scalars)
{
    const struct levers_step *step = &work->step;
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

int levers_flow_read(struct levers_work *work, struct levers_dtypes *dtypes,
                     const struct levers_weights *weights, struct levers_flow *out)
{
    *out = (struct levers_flow){.work = work, .dtypes = dtypes, .weights = weights};
    int err = levers_scalars_read(work, &out->scalars);
    return err < 0 ? err : find_pieces(work, dtypes, &out->scalars);
}

void levers_flow_clear(struct levers_flow *flow)
{
    levers_scalars_clear(&flow->scalars);
    map_clear(&flow->full);
}
