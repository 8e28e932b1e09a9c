/* levers_powers.c - see levers_powers.h. */
#include "levers_powers.h"

#include "group.h"

bool levers_is_let_go_in(const struct levers_step *step, const struct levers_block *block,
                         int64_t module)
{
    const struct levers_phase *backward = levers_backward_of(step, block);
    size_t at = levers_first_from(step, block->end);
    return backward && block->end > backward->begin && block->end <= backward->end &&
           module != GROUP_NONE && at > 0 && step->blocks[at - 1].seq > backward->begin &&
           step->blocks[at - 1].module == module;
}

bool levers_is_saved_within(const struct levers_step *step, const struct levers_block *block)
{
    return levers_is_let_go_in(step, block, block->module);
}

bool levers_is_kept(const struct levers_phase *forward, const struct levers_block *block)
{
    return forward && block->end > forward->end;
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
    if (!last || !levers_is_saved_within(step, last))
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
static size_t count_gradients(const struct levers_orders *orders, const struct levers_block *block)
{
    const struct levers_phase *backward = levers_backward_of(orders->step, block);
    const struct levers_block *next = levers_saved_behind(orders, block, block->end);
    const int64_t end = next && next->end < backward->end ? next->end : backward->end;
    return levers_made_alike(orders, block, block->end, end).count;
}

/* Until backward lets go of what a block was made of. */
struct behind {
    const struct levers_block *last; /* as large, let go of before that: the last one; NULL */
    size_t count, stay;              /* gradients as large from there on; and those that stay */
};

/* One operation makes a handful: of how many stay it is enough to know whether it is one. What
 * stays was made last. */
static struct behind look_behind(const struct levers_orders *orders,
                                 const struct levers_block *block, const struct levers_block *input)
{
    enum { HANDFUL = 64 };
    const struct levers_phase *backward = levers_backward_of(orders->step, block);
    struct behind behind = {.last = levers_saved_before(orders, block, input->end)};
    const struct levers_alike made = levers_made_alike(
        orders, block, behind.last ? behind.last->end : backward->begin, input->end);
    behind.count = made.count;
    for (size_t i = made.count; i-- > 0 && made.count - i <= HANDFUL;)
        behind.stay += orders->step->blocks[made.first[i].block].end > input->end;
    return behind;
}

bool levers_is_saved_by_product(const struct levers_orders *orders,
                                const struct levers_block *block)
{
    return look_behind(orders, block, block).stay > 1;
}

/* A product of two tensors let this one go alone, for what made the other saved that, too: it has
 * just made both gradients, one right after the other. */
static bool went_with_product(const struct levers_step *step, const struct levers_block *block,
                              const struct levers_block *last)
{
    enum { NEAR = 3 };
    size_t at = last ? levers_first_from(step, last->end) : 0;
    if (at < 2)
        return false;
    const struct levers_block *two = &step->blocks[at - 2];
    for (size_t i = 0; i < 2; i++)
        if (two[i].module != block->module || two[i].asked != block->asked ||
            two[i].end <= last->end)
            return false;
    return two[1].seq == two[0].seq + 1 && last->end - two[1].seq <= NEAR;
}

/* What made it saved it, for it did not save what it was given itself. */
static bool is_saved_by_maker(const struct levers_power *power, const struct levers_block *block)
{
    const struct levers_step *step = power->orders->step;
    const size_t at = (size_t)(block - step->blocks);
    const struct levers_block *given = before(step, at);
    return given && !levers_is_kept(power->forward, given) &&
           !levers_with_scalar(power->scalars, step, at);
}

/* Numbers that meet the tensor behind this one, before something is needed in backward: a gradient
 * each at most. */
static size_t count_scalars(const struct levers_power *power, size_t at)
{
    const struct levers_step *step = power->orders->step;
    const struct levers_block *first = &step->blocks[at];
    size_t count = 0;
    for (size_t i = at + 1; i < step->count && step->blocks[i].module == first->module; i++) {
        if (step->blocks[i].asked <= LEVERS_SCALAR)
            continue;
        if (step->blocks[i].asked != first->asked || !levers_with_scalar(power->scalars, step, i))
            break;
        count++;
        if (levers_is_kept(power->forward, &step->blocks[i]))
            break;
    }
    return count;
}

/* A GPU's autocast computes powers, exponentials and softplus in float32. They save what they are
 * given, and what they make is not saved by themselves. In backward a sine or a product makes two
 * tensors, of which the product leaves both, a power more, and others one; so has what made its
 * input, if it needs that as well. More than a power and the numbers behind it is the error
 * function, which is as its input is. */
bool levers_may_be_power(const struct levers_power *power, size_t at)
{
    enum { OF_SINE = 2, OF_POWER = 3 };
    const struct levers_step *step = power->orders->step;
    const struct levers_block *block = &step->blocks[at], *input = power->input;
    const struct levers_phase *backward = levers_backward_of(step, block);
    if (power->on_host || block->module == GROUP_NONE || !backward || !input ||
        input->asked != block->asked || !levers_is_kept(power->forward, input) ||
        levers_with_scalar(power->scalars, step, at))
        return false;
    const bool maker = input->module == block->module && is_saved_by_maker(power, input);
    const struct behind behind = look_behind(power->orders, block, input);
    if (behind.stay > 1)
        return false;
    if (!levers_is_kept(power->forward, block))
        return !maker && !multiplies(step, at) && !went_with_product(step, block, behind.last) &&
               behind.count != OF_SINE && behind.count <= OF_POWER + count_scalars(power, at);
    return block->end < backward->end && !levers_is_saved_within(step, block) &&
           count_gradients(power->orders, block) > OF_SINE + (size_t)maker;
}
