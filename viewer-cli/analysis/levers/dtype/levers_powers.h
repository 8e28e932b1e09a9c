/*
 * levers_powers.h - of operations without a name, which a GPU's autocast may compute in float32: by
 * the lives of blocks, and by what backward makes for them.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_POWERS_H
#define TIDEMARK_ANALYSIS_LEVERS_POWERS_H

#include "levers_orders.h"
#include "levers_scalars.h"

/* Backward lets it go while it is in the module: an operation there saved it. */
bool levers_is_let_go_in(const struct levers_step *step, const struct levers_block *block,
                         int64_t module);
/* The same of its own module: maybe the one that made it. What a sum makes, others save. */
bool levers_is_saved_within(const struct levers_step *step, const struct levers_block *block);
/* Backward needs what this forward made. */
bool levers_is_kept(const struct levers_phase *forward, const struct levers_block *block);

/* Backward lets it go as it has made two gradients that stay: those of a product. */
bool levers_is_saved_by_product(const struct levers_orders *orders,
                                const struct levers_block *block);

struct levers_power { /* what is known as the block that comes next is looked at */
    const struct levers_orders *orders;
    const struct levers_scalars *scalars;
    const struct levers_phase *forward; /* it is made in */
    const struct levers_block *input;   /* was made last, and is in bfloat16; NULL: nothing was */
    bool on_host;
};
/* A power may have made the block, of a copy of `input` in float32. Backward needs the copy. */
bool levers_may_be_power(const struct levers_power *power, size_t at);

#endif
