/* levers_copies.c - see levers_copies.h. */
#include "group.h"
#include "levers_copies.h"
#include "levers_powers.h"

enum { SMALL = 64 }; /* beside a tensor, what a norm keeps of its rows */

bool levers_shrink(struct levers_autocast *all, const struct levers_block *block, int64_t from)
{
    int64_t half = levers_half_of_computed(all->seen, &all->dtypes, block, all->sure);
    return levers_extra(&all->edit, -half, from, block->end);
}

/* ---- what goes into products ---- */

/* Attention in single operations has products among them, and one of its kind that is not known may
 * be one. */
static bool may_be_product(const struct levers_autocast *all, enum levers_op op,
                           const struct levers_block *block)
{
    return levers_is_product(op) ||
           (!all->sure && (op == LEVERS_OP_ATTENTION ||
                           (op == LEVERS_OP_UNKNOWN &&
                            levers_op_of_module(&all->dtypes, block) == LEVERS_OP_ATTENTION)));
}

/* Of one line all may be one operation, unless it was seen which they are. */
static bool is_another_call(const struct levers_autocast *all, const struct levers_block *next,
                            const struct levers_block *block)
{
    return next->site != block->site || map_get(&all->dtypes.ops, (uint64_t)next->seq) != MAP_NONE;
}

const struct levers_block *levers_product_behind(const struct levers_autocast *all, size_t at)
{
    const struct levers_step *step = &all->seen->step;
    const struct levers_block *block = &step->blocks[at];
    for (size_t i = at + 1; i < step->count; i++) {
        const struct levers_block *next = &step->blocks[i];
        if (!levers_computes(&step->phases, next->seq))
            return NULL;
        if (next->asked >= block->asked / SMALL)
            return is_another_call(all, next, block) &&
                           may_be_product(all, levers_op_made(&all->dtypes, next), next)
                       ? next
                       : NULL;
    }
    return NULL;
}

/* Backward lets it go as it is through with the module of the product that took it: neither what
 * made it needs it, nor anything else before that. */
static bool is_needed_by(const struct levers_autocast *all, const struct levers_block *block,
                         const struct levers_block *product)
{
    return product->module != block->module &&
           levers_is_let_go_in(&all->seen->step, block, product->module);
}

/* What a product takes in float32 is copied. A norm, or the last piece of an activation, does not
 * need its own output, so that the copy is all that stays; of what is open that is not sure. */
bool levers_copy_into_product(struct levers_autocast *all, enum levers_op op,
                              enum levers_dtype dtype, const struct levers_block *block,
                              const struct levers_block *product)
{
    if (op == LEVERS_OP_NORM || op == LEVERS_OP_UPCASTS || op == LEVERS_OP_PIECES)
        return levers_shrink(all, block, product->seq + 1);
    if (!all->sure || is_needed_by(all, block, product))
        return levers_shrink(all, block,
                             all->sure || dtype == LEVERS_FULL ? product->seq + 1 : block->seq);
    return levers_extra(&all->edit, levers_half_of(all->seen, block), product->seq, block->end);
}

/* ---- weights ---- */

/* The copy of a weight is made once in a forward, however often its module is called, and lives
 * until backward is through with its module: from its first block there on, and not behind its
 * last. A product without a weight of its own has another's. */
static bool add_weight(struct levers_autocast *all, const struct levers_block *block)
{
    const struct levers_step *step = &all->seen->step;
    const struct levers_phase *backward =
        levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq);
    uint64_t weight = block->module == GROUP_NONE
                          ? MAP_NONE
                          : map_get(&all->weights.modules, (uint64_t)block->module);
    if (!backward || (weight == MAP_NONE && !all->sure) ||
        (weight != MAP_NONE && map_get(&all->copied, (uint64_t)block->module) != MAP_NONE))
        return true;
    if (weight != MAP_NONE && !map_put(&all->copied, (uint64_t)block->module, 1, NULL))
        return false;
    const int64_t bytes = weight == MAP_NONE ? all->weights.largest : (int64_t)weight;
    const struct levers_alike made =
        levers_made_in(&all->flow.orders, block->module, backward->begin, backward->end);
    if (weight == MAP_NONE || (!made.count && all->sure))
        return levers_extra(&all->edit, bytes / 2, block->seq, backward->end);
    const size_t until = all->sure ? made.count - 1 : 0;
    return !made.count || levers_extra(&all->edit, bytes / 2, block->seq,
                                       step->blocks[made.first[until].block].seq + 1);
}

/* A second product of the same input copies it again, for as long as the input was there; or it
 * takes what the first one made. */
bool levers_copy_of_product(struct levers_autocast *all, size_t at)
{
    const struct levers_step *step = &all->seen->step;
    const struct levers_block *block = &step->blocks[at], *source = all->flow.source;
    bool again = all->flow.after_product;
    if (at > 0 && step->blocks[at - 1].module == block->module && again)
        return true; /* the same call */
    all->products++;
    if ((all->sure || levers_attends(&all->dtypes, block)) && again && source &&
        all->flow.source_flow != LEVERS_HALF &&
        !levers_extra(&all->edit, levers_half_of(all->seen, source), block->seq, source->end))
        return false;
    if (all->flow.source_flow == LEVERS_HALF && block->module != GROUP_NONE && !again &&
        !map_put(&all->halved, (uint64_t)block->module, 1, NULL))
        return false;
    return add_weight(all, block);
}

/* Its weights have names of their own: all of these, once in a forward. */
bool levers_copy_of_recurrent(struct levers_autocast *all, const struct levers_block *block)
{
    const struct levers_phase *backward =
        levers_phase_after(&all->seen->step.phases, LEVERS_BACKWARD, block->seq);
    bool known = all->recurs;
    all->recurs = true;
    if (block->module != GROUP_NONE && !map_put(&all->halved, (uint64_t)block->module, 1, NULL))
        return false;
    return known || !all->sure || !backward ||
           levers_extra(&all->edit, all->weights.own / 2, block->seq, backward->end);
}

/* ---- what is computed in float32 ---- */

/* What a call is given is as large as what it makes: at once, or behind a number of each row. */
static bool is_given(const struct levers_step *step, const struct levers_block *input, size_t at)
{
    enum { NEAR = 3 };
    const struct levers_block *block = &step->blocks[at];
    if (input->asked == block->asked)
        return true;
    for (size_t i = at; i < step->count && i <= at + NEAR; i++)
        if (step->blocks[i].module == block->module && step->blocks[i].asked == input->asked)
            return input->module != block->module;
    return false;
}

/* A norm of a GPU is given a copy in float32 of what is in bfloat16, and backward needs the copy:
 * the tensor itself may go, unless something else needs that, as F.normalize does, which takes the
 * norms of rows first, and divides then. */
bool levers_copy_of_norm(struct levers_autocast *all, size_t at)
{
    const struct levers_step *step = &all->seen->step;
    const struct levers_block *block = &step->blocks[at], *input = all->flow.input;
    if (!input || !is_given(step, input, at) || all->flow.flow == LEVERS_FULL ||
        (all->flow.flow == LEVERS_OPEN && all->sure))
        return true;
    const int64_t whole = input->size - levers_slack_of(all->seen, &all->dtypes, input);
    const bool stays =
        input->asked != block->asked || (all->sure && !is_needed_by(all, input, block));
    return levers_extra(&all->edit, whole, block->seq, input->end) &&
           (stays || levers_extra(&all->edit, levers_half_of(all->seen, input) - whole,
                                  block->seq + 1, input->end));
}

/* A softmax of a GPU. Backward computes its gradient in float32, of one that is cast to that: both
 * are there as it lets the output go. A product behind it is given a copy, and is done with that
 * once the first of them is there. */
bool levers_copy_of_softmax(struct levers_autocast *all, const struct levers_block *block,
                            const struct levers_block *product)
{
    enum { NEAR = 4 };
    const struct levers_step *step = &all->seen->step;
    const size_t behind = levers_first_from(step, block->end);
    int64_t end = block->end;
    for (size_t i = behind; i-- > step->older && behind - i <= NEAR;) {
        const struct levers_block *made = &step->blocks[i];
        if (made->asked != block->asked || made->end < block->end - NEAR ||
            !levers_phase_around(&step->phases, LEVERS_BACKWARD, made->seq))
            continue;
        end = all->sure ? end : made->seq + 1;
        if (!map_put(&all->whole, i, 1, NULL))
            return false;
    }
    return !product ||
           levers_extra(&all->edit, levers_half_of(all->seen, block), product->seq, end);
}

/* What it is given may be needed as it is, too. */
bool levers_copy_of_power(struct levers_autocast *all, size_t at)
{
    const struct levers_block *input = all->flow.input;
    return levers_extra(&all->edit, input->size, all->seen->step.blocks[at].seq, input->end);
}
