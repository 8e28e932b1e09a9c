/*
 * dnn.h - recurrent layers of cuDNN 9 whose weights are one packed buffer: descriptors, the sizes
 * that cuDNN reports, and where in the buffer each weight lies.
 */
#ifndef SAMPLES_CUDA_DNN_H
#define SAMPLES_CUDA_DNN_H

#include "gpu.h"
#include "reference.h"

#include <cudnn.h>

#define GPU_DNN(call) dnn_check((call), #call, __FILE__, __LINE__)
void dnn_check(cudnnStatus_t result, const char *call, const char *file, int line);

struct dnn_rnn {
    struct ref_rnn shape;
    size_t batch, length;
    cudnnHandle_t handle;
    cudnnRNNDescriptor_t rnn;
    cudnnDropoutDescriptor_t dropout;
    cudnnRNNDataDescriptor_t x, y;
    cudnnTensorDescriptor_t state;
    size_t weight_bytes, work_bytes, reserve_bytes; /* as cuDNN reports them, for training */
};

/* A gate of a weight: where it is in the packed buffer, and in the weight of the reference. */
struct dnn_part {
    struct ref_weight weight;
    size_t cell, kind;
    size_t packed; /* bytes from the begin of the buffer */
    size_t offset; /* floats from the begin of the weight */
    size_t count;  /* floats */
};

void dnn_open(struct dnn_rnn *dnn, const struct ref_rnn *shape, size_t batch, size_t length);
void dnn_close(struct dnn_rnn *dnn);

size_t dnn_part_count(const struct dnn_rnn *dnn);
/* `buffer` is a packed buffer; cuDNN wants one to answer. */
struct dnn_part dnn_part_at(const struct dnn_rnn *dnn, const void *buffer, size_t number);
/* All weights between host memory, in the order of the reference, and a packed buffer. */
void dnn_put(const struct dnn_rnn *dnn, const struct tensor *packed, const float *weights);
void dnn_get(const struct dnn_rnn *dnn, const struct tensor *packed, float *weights);

/* One call and its backward. x and y are [length][batch][...]; first states are zero. The workspace
 * lives inside the call, the reserve from forward to backward. */
struct dnn_call {
    const float *weights; /* packed */
    const float *x;
    float *y;
    const struct tensor *reserve;
};
void dnn_forward(struct gpu *gpu, const struct dnn_rnn *dnn, const struct dnn_call *call);
/* Gradients of x, and of the weights: added to `gradients`, which is packed too. */
void dnn_backward(struct gpu *gpu, const struct dnn_rnn *dnn, const struct dnn_call *call,
                  const float *dy, float *dx, float *gradients);

#endif
