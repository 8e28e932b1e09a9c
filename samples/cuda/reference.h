/*
 * reference.h - the arithmetic of the samples on the CPU, in double, for one sequence at a time:
 * recurrent layers (LSTM and GRU as cuDNN defines them), an embedding, a linear layer, softmax with
 * cross entropy, Adam. It is what a GPU's results are compared with, and is itself held against
 * finite differences by a test.
 *
 * Weights of recurrent layers, for each layer and direction one behind the other, the direction
 * fastest ("cell" number layer * directions + direction):
 *   weight_ih [gates * hidden][what the layer sees], weight_hh [gates * hidden][hidden],
 *   bias_ih [gates * hidden], bias_hh [gates * hidden]
 * Gates: input, forget, cell, output of an LSTM; reset, update, new of a GRU. The first states are
 * zero. A layer sees the outputs of both directions of the one below.
 */
#ifndef SAMPLES_CUDA_REFERENCE_H
#define SAMPLES_CUDA_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

enum ref_kind { REF_WEIGHT_IH, REF_WEIGHT_HH, REF_BIAS_IH, REF_BIAS_HH, REF_KINDS };

struct ref_rnn {
    bool gru;
    size_t layers, directions, input, hidden;
};

/* A weight of a cell, as a matrix; a bias has one column. */
struct ref_weight {
    size_t offset, rows, columns;
};

size_t ref_gates(const struct ref_rnn *rnn);
size_t ref_cells(const struct ref_rnn *rnn);
struct ref_weight ref_weight_at(const struct ref_rnn *rnn, size_t cell, enum ref_kind kind);
/* How many numbers all weights are: four times that are the bytes that cuDNN packs at least. */
size_t ref_rnn_weights(const struct ref_rnn *rnn);
/* How many numbers a forward leaves for its backward. */
size_t ref_rnn_saved(const struct ref_rnn *rnn, size_t length);

/* x [length][input] to y [length][directions * hidden]; false if there is no memory. */
bool ref_rnn_forward(const struct ref_rnn *rnn, const double *weights, size_t length,
                     const double *x, double *y, double *saved);
/* Adds to `gradients`; dx is written, or NULL. */
bool ref_rnn_backward(const struct ref_rnn *rnn, const double *weights, size_t length,
                      const double *x, const double *saved, const double *dy, double *dx,
                      double *gradients);

/* The model of train_step: tokens to vectors, recurrent layers of one direction, logits. */
struct ref_model {
    size_t vocabulary;
    struct ref_rnn rnn;
};
struct ref_parameters {
    const double *embedding; /* [vocabulary][input] */
    const double *rnn;
    const double *weight; /* [vocabulary][hidden] */
    const double *bias;   /* [vocabulary] */
};
struct ref_gradients {
    double *embedding, *rnn, *weight, *bias;
};

/* Adds the loss of one sequence, scale * the sum of its cross entropies, and its gradients. */
bool ref_model_add(const struct ref_model *model, const struct ref_parameters *parameters,
                   size_t length, const int *tokens, const int *targets, double scale, double *loss,
                   const struct ref_gradients *gradients);

/* One step of Adam; `step` counts from 1. */
struct ref_adam {
    double rate, beta1, beta2, epsilon;
};
void ref_adam(const struct ref_adam *adam, size_t step, size_t count, double *weights,
              const double *gradients, double *first, double *second);

/* y += matrix * x, and x += matrix^T * y, and matrix += y * x^T; rows of `columns` numbers. */
void ref_multiply(size_t rows, size_t columns, const double *matrix, const double *x, double *y);
void ref_multiply_back(size_t rows, size_t columns, const double *matrix, const double *y,
                       double *x);
void ref_outer(size_t rows, size_t columns, double *matrix, const double *y, const double *x);

/* The largest difference, as a part of the largest number wanted; infinite if one is no number. */
double ref_difference(const float *got, const double *want, size_t count);

/* Numbers from -1 to 1, the same for the same seed everywhere. */
float ref_random(unsigned long long *seed);

#endif
