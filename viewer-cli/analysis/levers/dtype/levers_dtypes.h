/*
 * levers_dtypes.h - in which dtypes a program computes, and which of its blocks would be in
 * bfloat16 if it said so.
 *
 * No block says its dtype. What is known is that parameters and graphs have float32 alone, where
 * the helper said so; and of a block who made it: the function of its call site in forward, the
 * class of its module in backward.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_DTYPES_H
#define TIDEMARK_ANALYSIS_LEVERS_DTYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "levers_seen.h"
#include "map.h"

enum levers_op {
    LEVERS_OP_UNKNOWN,
    LEVERS_OP_MATRIX,      /* products: what autocast computes in bfloat16 */
    LEVERS_OP_CONVOLUTION, /* likewise; its copies of tensors in other layouts may go altogether */
    LEVERS_OP_ATTENTION,   /* likewise, without a weight of its own */
    LEVERS_OP_MATH,        /* attention in single operations, which PyTorch computes in float32 */
    LEVERS_OP_RECURRENT,   /* likewise, with all its weights */
    LEVERS_OP_LOOKUP,      /* in a table: as the parameters are */
    LEVERS_OP_FOLLOWS,     /* as its input is */
    LEVERS_OP_HALF,        /* of a block alone, under autocast: in bfloat16, */
    LEVERS_OP_FULL,        /* float32, */
    LEVERS_OP_GIVEN,       /* float32, and backward needs what it is given, in float32 */
    LEVERS_OP_PIECES,      /* GELU as single operations: likewise, but a GPU's autocast has the
                            * power among them in float32 */
    LEVERS_OP_NORM, /* of rows or groups: float32 on a GPU under autocast, as its input is else */
    LEVERS_OP_SOFTMAX,  /* likewise, and backward needs its output */
    LEVERS_OP_UPCASTS,  /* a norm that casts its input to float32 by itself */
    LEVERS_OP_LOSS,     /* float32 under autocast */
    LEVERS_OP_ENTROPY,  /* likewise; a GPU's takes the softmax as its input is, and casts that */
    LEVERS_OP_LOSS_CAST /* the same, of a library that casts logits to float32 by itself */
};

struct levers_dtypes {         /* all zero is empty */
    struct map sites, modules; /* to enum levers_op */
    struct map ops;            /* likewise, of blocks, by `seq` (levers_letters.h) */
    struct map floats;         /* modules that made some of these in float32 */
    struct map own;            /* sites in a module's own `forward`, whatever makes them */
    struct map written;        /* sites in the `forward` of attention itself */
    struct map attends;        /* modules that are a part of attention */
    struct map shapes;         /* modules, to what is alike in their paths */
    struct map least;          /* calls, to the bytes of the smallest block above SPLIT */
    struct map layers; /* recurrent modules, to their layers, twice where it goes both ways */
};

/* Of parameters and of graphs it is known that they have no other dtype than float32. 0 or an
 * error. */
int levers_is_float32(struct levers_seen *seen, bool *yes);

/* 0 or an error; levers_dtypes_clear in both cases. */
int levers_dtypes_read(struct levers_seen *seen, struct levers_dtypes *out);
void levers_dtypes_clear(struct levers_dtypes *dtypes);
/* Of a block of forward or loss; and of one of backward, whose module's output it is about. */
enum levers_op levers_op_made(const struct levers_dtypes *dtypes, const struct levers_block *block);
enum levers_op levers_op_of_module(const struct levers_dtypes *dtypes,
                                   const struct levers_block *block);

/* Made in the `forward` of the program's own modules, not of one whose name says that it adds up or
 * rotates. */
bool levers_is_own(const struct levers_dtypes *dtypes, const struct levers_block *block);

/* Made in the `forward` of attention, by a line of its own. */
bool levers_is_written_out(const struct levers_dtypes *dtypes, const struct levers_block *block);

/* Of products one after the other there, each takes what attention was given. */
bool levers_attends(const struct levers_dtypes *dtypes, const struct levers_block *block);

/* What a block has beyond what was asked for, because the rest of a segment was too small to be of
 * use: with blocks of other sizes it may not. Where it is not known what was asked for, it may be
 * as little as another block has of the same site and a module that is like this one. */
int64_t levers_slack_of(const struct levers_seen *seen, const struct levers_dtypes *dtypes,
                        const struct levers_block *block);
/* What a block has less if its numbers have half the bytes: GPUs give bytes out by 512. */
int64_t levers_half_of(const struct levers_seen *seen, const struct levers_block *block);
/* The same of what a program computes. A workspace of cuDNN's RNNs has 8 MiB for each layer and way
 * whatever the dtype is. Where the layers are not known: for one at least; `sure`: for as many as
 * there is room for. */
int64_t levers_half_of_computed(const struct levers_seen *seen, const struct levers_dtypes *dtypes,
                                const struct levers_block *block, bool sure);
/* Where a GPU adds up many numbers it has partial sums in float32 for a moment, whatever dtype the
 * numbers have, and flags for them, which go first. */
bool levers_has_partial_sums(const struct levers_seen *seen, size_t at);
/* Of levers_dtypes_read: what `least` has. */
int levers_least_read(struct levers_seen *seen, struct levers_dtypes *out);
/* In backward, as large as a parameter: mostly its gradient. */
bool levers_is_like_parameter(const struct levers_seen *seen, const struct levers_block *block);

#endif
