/* levers_losses.c - see levers_losses.h. */
#include "levers_losses.h"

#include "error.h"

bool levers_is_loss(enum levers_op op)
{
    return op == LEVERS_OP_LOSS || op == LEVERS_OP_ENTROPY || op == LEVERS_OP_LOSS_CAST;
}

int levers_losses_read(struct levers_seen *seen, const struct levers_dtypes *dtypes,
                       bool (*is)(enum levers_op op), struct levers_losses *out)
{
    const struct levers_step *step = &seen->step;
    *out = (struct levers_losses){0};
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (levers_computes(&step->phases, block->seq) && is(levers_op_made(dtypes, block)) &&
            block->size >= seen->peak->allocated / 1000 &&
            !map_put(&out->bytes, (uint64_t)block->asked, (uint64_t)(block->module + 1), NULL))
            return ERR_NOMEM;
    }
    return 0;
}

void levers_losses_clear(struct levers_losses *losses)
{
    map_clear(&losses->bytes);
}

bool levers_as_large_as_loss(const struct levers_losses *losses, const struct levers_block *block)
{
    return map_get(&losses->bytes, (uint64_t)block->asked) != MAP_NONE;
}

bool levers_of_loss(const struct levers_losses *losses, const struct levers_block *block)
{
    return map_get(&losses->bytes, (uint64_t)block->asked) == (uint64_t)(block->module + 1);
}
