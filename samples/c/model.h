/*
 * model.h - an attention sequence-to-sequence model and one training step of it: a bidirectional
 * GRU encoder, a bridge, a decoder of two GRUCells with attention between them, a generator over
 * the vocabulary, cross entropy, Adam.
 *
 * The program keeps its variables as a usual training loop does: `logits` and `loss` live on until
 * the next step assigns them anew, gradients are set to zero in place and never freed.
 */
#ifndef SEQ2SEQ_MODEL_H
#define SEQ2SEQ_MODEL_H

#include "ops.h"

struct dimensions {
    uint64_t batch, length, vocab, input, hidden, attention;
};

/* In the order in which the modules are built, which is the optimizer's order, too. */
enum parameter_name {
    ENCODER_GRU, /* GRU_WEIGHTS of them */
    ENCODER_EMBEDDING = ENCODER_GRU + GRU_WEIGHTS,
    DECODER_EMBEDDING,
    CELL0_W_INPUT,
    CELL0_W_HIDDEN,
    CELL0_B_INPUT,
    CELL0_B_HIDDEN,
    ATTENTION_QUERY_W,
    ATTENTION_QUERY_B,
    ATTENTION_V_W,
    ATTENTION_V_B,
    CELL1_W_INPUT,
    CELL1_W_HIDDEN,
    CELL1_B_INPUT,
    CELL1_B_HIDDEN,
    READOUT_W,
    READOUT_B,
    GENERATOR_W,
    GENERATOR_B,
    BRIDGE_KEY_W,
    BRIDGE_KEY_B,
    BRIDGE_STATE_W,
    BRIDGE_STATE_B,
    PARAMETER_COUNT
};

struct model {
    struct dimensions size;
    struct heap *heap;
    struct tape tape;
    struct parameter parameters[PARAMETER_COUNT];
    struct var x, y;   /* the batch: indices, [batch x length] */
    struct var logits; /* empty before the first step */
    struct var loss;
};

void model_build(struct model *model, struct heap *heap, const struct dimensions *size);
void model_close(struct model *model);

/* One training step, in this order. */
void model_next_batch(struct model *model);
void model_zero_grad(struct model *model);
void model_forward(struct model *model);
void model_loss(struct model *model);
void model_drop_logits(struct model *model); /* the program's variable, which backward needs not */
void model_backward(struct model *model);
void model_optimizer(struct model *model);

#endif
