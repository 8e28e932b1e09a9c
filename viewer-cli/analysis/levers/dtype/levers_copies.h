/*
 * levers_copies.h - a step as it would be under autocast, between who goes through it and
 * levers_copies.c: what is copied into another dtype, and how long each copy stays.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_COPIES_H
#define TIDEMARK_ANALYSIS_LEVERS_COPIES_H

#include "levers_dtypes.h"
#include "levers_flow.h"
#include "levers_losses.h"
#include "levers_weights.h"
#include "levers_seen.h"

enum levers_full {
    LEVERS_MIXED,
    LEVERS_IN_AND_OUT,
    LEVERS_OUT
}; /* what a module is given is in float32, too; or may not */

struct levers_autocast {
    struct levers_seen *seen;
    struct levers_dtypes dtypes;
    struct levers_weights weights;
    struct levers_losses losses;
    struct map copied; /* modules whose weights this forward has copied */
    struct map halved; /* modules whose gradients in backward surely are half */
    struct map whole;  /* blocks of backward that stay in float32 */
    struct map full;   /* modules that made nothing but what is in float32, to enum levers_full */
    size_t products;
    bool sure; /* the second figure */
    struct levers_edit edit;
    /* While a forward is gone through. */
    struct levers_flow flow;
    bool recurs;
    struct { /* an activation in pieces */
        const struct levers_block *given;
        enum levers_dtype flow; /* of `given` */
        size_t count;           /* pieces so far */
    } call;
    bool entropy;     /* the loss that was made last is one, of logits in bfloat16 */
    size_t gradients; /* as large as it, so far */
};

/* Each is false without memory. */

/* Half of the block is not there from that event on. */
bool levers_shrink(struct levers_autocast *all, const struct levers_block *block, int64_t from);

/* The next tensor that the forward makes, if a product makes it; NULL. */
const struct levers_block *levers_product_behind(const struct levers_autocast *all, size_t at);
/* What that product is given: the block, which `op` made in `dtype`, not in bfloat16. */
bool levers_copy_into_product(struct levers_autocast *all, enum levers_op op,
                              enum levers_dtype dtype, const struct levers_block *block,
                              const struct levers_block *product);
/* Of a product, and of a recurrent module, as they make a block: their weights, and more. */
bool levers_copy_of_product(struct levers_autocast *all, size_t at);
bool levers_copy_of_recurrent(struct levers_autocast *all, const struct levers_block *block);
/* Of what is computed in float32: a norm; a softmax, with the product behind it (NULL: there is
 * none); what may be a power. */
bool levers_copy_of_norm(struct levers_autocast *all, size_t at);
bool levers_copy_of_softmax(struct levers_autocast *all, const struct levers_block *block,
                            const struct levers_block *product);
bool levers_copy_of_power(struct levers_autocast *all, size_t at);

#endif
