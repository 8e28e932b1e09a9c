/*
 * ops.h - the operations of the model: what each allocates, what it saves for backward, and what
 * its backward allocates. Numbers are 4-byte floats, indices 8-byte integers. An operation borrows
 * its inputs and returns a variable that the caller holds. The comment at each in ops.c derives its
 * sizes and says who holds what.
 */
#ifndef SEQ2SEQ_OPS_H
#define SEQ2SEQ_OPS_H

#include "tape.h"

enum { FLOAT_BYTES = 4, INDEX_BYTES = 8 };

/* The GRU of the encoder, as cuDNN runs it: one layer, two directions. */
enum { GRU_DIRECTIONS = 2, GRU_WEIGHTS = 8 };

struct gru_size {
    uint64_t tokens; /* batch * length */
    uint64_t batch;
    uint64_t hidden;
};

struct gru_result {
    struct var output;
    struct var hidden; /* the last state of both directions */
};

/* A GRUCell: the matrices and the biases for its input and for its state. */
struct gru_cell {
    struct parameter *w_input, *w_hidden, *b_input, *b_hidden;
};

struct var op_embedding(struct tape *tape, struct parameter *weight, const struct var *indices);
struct var op_pack(struct tape *tape, const struct var *padded);
struct gru_result op_gru(struct tape *tape, struct parameter *weights, const struct var *input,
                         struct gru_size size);
struct var op_unpack(struct tape *tape, const struct var *packed);
struct var op_select_last(struct tape *tape, const struct var *hidden);

struct var op_linear(struct tape *tape, const struct var *input, struct parameter *weight,
                     struct parameter *bias);
struct var op_linear_of_copy(struct tape *tape, const struct var *input, struct parameter *weight,
                             struct parameter *bias);
struct var op_tanh(struct tape *tape, const struct var *input);
struct var op_gru_cell(struct tape *tape, const struct gru_cell *cell, const struct var *input,
                       const struct var *state);

struct var op_add_row(struct tape *tape, const struct var *keys, const struct var *row);
struct var op_softmax(struct tape *tape, const struct var *scores);
struct var op_weighted_sum(struct tape *tape, const struct var *weights, const struct var *values,
                           uint64_t bytes);

/* One piece for each time step; `pieces` has room for `count`. */
void op_split(struct tape *tape, const struct var *whole, struct var *pieces, unsigned count);
struct var op_join(struct tape *tape, const struct var *pieces, unsigned count);

struct var op_log_softmax(struct tape *tape, const struct var *logits);
struct var op_nll_loss(struct tape *tape, const struct var *log_probabilities,
                       const struct var *target);
struct var op_divide(struct tape *tape, const struct var *loss);

#endif
