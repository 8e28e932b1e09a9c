/*
 * levers_flow.h - the dtype that flows through a forward under autocast, in its order: half, full,
 * or open, where it is not known.
 *
 * Products and convolutions are in bfloat16, and so is what is made of them alone; norms and powers
 * of a GPU and losses are in float32, and so is a sum with what was not in bfloat16.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_FLOW_H
#define TIDEMARK_ANALYSIS_LEVERS_FLOW_H

#include "levers_dtypes.h"
#include "levers_orders.h"
#include "levers_scalars.h"
#include "levers_weights.h"
#include "levers_seen.h"

enum levers_dtype { LEVERS_HALF, LEVERS_FULL, LEVERS_OPEN };

struct levers_flow { /* all zero is empty */
    const struct levers_seen *seen;
    const struct levers_dtypes *dtypes;
    const struct levers_weights *weights;
    struct levers_scalars scalars;
    struct levers_orders orders;
    const struct levers_phase *forward; /* that is gone through */
    const struct levers_block *input;   /* the last */
    const struct levers_block *source;  /* the last that was not made by a product */
    enum levers_dtype flow, source_flow;
    bool all_half; /* and so is all that this forward has made */
    bool after_product;
    struct map full; /* bytes, to the last block in float32 that has as many, unless it is a norm's
                      * that a residual goes around */
};

/* 0 or an error; levers_flow_clear in both cases. GELU that is written out is put into `dtypes`. */
int levers_flow_read(struct levers_seen *seen, struct levers_dtypes *dtypes,
                     const struct levers_weights *weights, struct levers_flow *out);
void levers_flow_clear(struct levers_flow *flow);

void levers_flow_begin(struct levers_flow *flow, const struct levers_phase *forward);
/* Of the block that comes next; and it becomes the last. False without memory. */
enum levers_dtype levers_flow_of(const struct levers_flow *flow, enum levers_op op, size_t at);
bool levers_flow_take(struct levers_flow *flow, enum levers_op op, enum levers_dtype dtype,
                      size_t at);

/* Of the block that comes next: a power may have made it, of what was made last in bfloat16. */
bool levers_flow_may_be_power(const struct levers_flow *flow, enum levers_op op, size_t at);

bool levers_is_product(enum levers_op op);

#endif
