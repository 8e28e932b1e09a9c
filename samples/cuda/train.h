/*
 * train.h - what train_step.c, the training, and train_check.c, what its first step is compared
 * with, share.
 */
#ifndef SAMPLES_CUDA_TRAIN_H
#define SAMPLES_CUDA_TRAIN_H

#include "dnn.h"
#include "kernels.h"

enum part { EMBEDDING, RNN, WEIGHT, BIAS, PARTS };
extern const char *const part_names[PARTS];
extern const struct ref_adam train_adam;

struct options {
    uint64_t vocabulary, hidden, input, layers, batch, length, steps;
    bool check, no_check, memory, csv;
};

/* Host copies are in the order of the reference; of the recurrent layers the device has the packed
 * buffer of cuDNN, where there may be room between the weights. */
struct parameter {
    struct tensor weight, gradient, first, second;
    size_t count; /* floats on the host */
    float *host;  /* what it began with */
};

struct train {
    struct gpu gpu;
    const struct options *options;
    struct dnn_rnn dnn;
    cudnnTensorDescriptor_t logits_are;
    cudaLibrary_t code;
    cudaKernel_t kernel[KERNEL_COUNT];
    struct parameter part[PARTS];
    int *host_tokens, *host_targets; /* [length][batch] */
    struct tensor tokens, targets, ones;
    struct tensor x, y, reserve, logits, log_probabilities, losses;
    double loss, first_loss;
    unsigned step;
};

/* Tokens in a batch. */
size_t train_rows(const struct train *train);
/* A part of a gradient or of a weight, in the order of the reference; to be freed. */
float *train_download(const struct train *train, enum part which, const struct tensor *tensor);
/* Phases: they take a struct train. The loss behind them is in train->loss. */
void train_forward(void *self);
void train_loss(void *self);

/* Called behind each phase of the first step, by its name; false if something is not as it must be.
 */
bool train_check(struct train *train, const char *behind);

#endif
