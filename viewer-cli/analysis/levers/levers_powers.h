/*
 * levers_powers.h - of operations without a name, which a GPU's autocast may compute in float32: by
 * the lives of blocks, and by what backward makes for them.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_POWERS_H
#define TIDEMARK_ANALYSIS_LEVERS_POWERS_H

#include "levers_flow.h"

const struct levers_phase *levers_backward_of(const struct levers_step *step,
                                              const struct levers_block *block);
/* Backward lets it go while it is in the same module: an operation there saved it, maybe the one
 * that made it. What a sum makes, others save. */
bool levers_is_saved_within(const struct levers_step *step, const struct levers_block *block);
/* Backward needs it. */
bool levers_is_kept(const struct levers_flow *flow, const struct levers_block *block);

/* Of the block that comes next: a power may have made it, of a copy in float32 of what was made
 * last, which is in bfloat16. Backward needs the copy. */
bool levers_may_be_power(const struct levers_flow *flow, enum levers_op op, size_t at);

#endif
