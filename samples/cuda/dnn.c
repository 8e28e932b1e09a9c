/* dnn.c - see dnn.h. */
#include "dnn.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void dnn_check(cudnnStatus_t result, const char *call, const char *file, int line)
{
    if (result != CUDNN_STATUS_SUCCESS)
        gpu_die(file, line, call, cudnnGetErrorString(result));
}

/* ---- descriptors ---- */

static void describe_rnn(struct dnn_rnn *dnn)
{
    const struct ref_rnn *shape = &dnn->shape;
    int hidden = (int)shape->hidden;
    GPU_DNN(cudnnCreateDropoutDescriptor(&dnn->dropout));
    GPU_DNN(cudnnSetDropoutDescriptor(dnn->dropout, dnn->handle, 0, NULL, 0, 0));
    GPU_DNN(cudnnCreateRNNDescriptor(&dnn->rnn));
    /* Without tensor cores, whose products are not of single precision. */
    GPU_DNN(cudnnSetRNNDescriptor_v8(
        dnn->rnn, CUDNN_RNN_ALGO_STANDARD, shape->gru ? CUDNN_GRU : CUDNN_LSTM,
        CUDNN_RNN_DOUBLE_BIAS, shape->directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
        CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, (int)shape->input,
        hidden, hidden, (int)shape->layers, dnn->dropout, CUDNN_RNN_PADDED_IO_ENABLED));
}

static void describe_data(const struct dnn_rnn *dnn, cudnnRNNDataDescriptor_t *data, size_t wide)
{
    int *lengths = sim_memory(dnn->batch, sizeof *lengths);
    float padding = 0;
    for (size_t i = 0; i < dnn->batch; i++)
        lengths[i] = (int)dnn->length;
    GPU_DNN(cudnnCreateRNNDataDescriptor(data));
    GPU_DNN(cudnnSetRNNDataDescriptor(*data, CUDNN_DATA_FLOAT,
                                      CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, (int)dnn->length,
                                      (int)dnn->batch, (int)wide, lengths, &padding));
    free(lengths);
}

void dnn_open(struct dnn_rnn *dnn, const struct ref_rnn *shape, size_t batch, size_t length)
{
    *dnn = (struct dnn_rnn){.shape = *shape, .batch = batch, .length = length};
    GPU_DNN(cudnnCreate(&dnn->handle));
    describe_rnn(dnn);
    describe_data(dnn, &dnn->x, shape->input);
    describe_data(dnn, &dnn->y, shape->directions * shape->hidden);
    int sizes[3] = {(int)ref_cells(shape), (int)batch, (int)shape->hidden};
    int strides[3] = {sizes[1] * sizes[2], sizes[2], 1};
    GPU_DNN(cudnnCreateTensorDescriptor(&dnn->state));
    GPU_DNN(cudnnSetTensorNdDescriptor(dnn->state, CUDNN_DATA_FLOAT, 3, sizes, strides));
    GPU_DNN(cudnnGetRNNWeightSpaceSize(dnn->handle, dnn->rnn, &dnn->weight_bytes));
    GPU_DNN(cudnnGetRNNTempSpaceSizes(dnn->handle, dnn->rnn, CUDNN_FWD_MODE_TRAINING, dnn->x,
                                      &dnn->work_bytes, &dnn->reserve_bytes));
}

void dnn_close(struct dnn_rnn *dnn)
{
    GPU_DNN(cudnnDestroyTensorDescriptor(dnn->state));
    GPU_DNN(cudnnDestroyRNNDataDescriptor(dnn->x));
    GPU_DNN(cudnnDestroyRNNDataDescriptor(dnn->y));
    GPU_DNN(cudnnDestroyRNNDescriptor(dnn->rnn));
    GPU_DNN(cudnnDestroyDropoutDescriptor(dnn->dropout));
    GPU_DNN(cudnnDestroy(dnn->handle));
}

/* ---- the packed buffer ---- */

size_t dnn_part_count(const struct dnn_rnn *dnn)
{
    return ref_cells(&dnn->shape) * REF_KINDS * ref_gates(&dnn->shape);
}

/* cuDNN numbers the matrices of a cell: first those of the input, gate by gate, then those of the
 * state; a bias has the number of its matrix. */
struct dnn_part dnn_part_at(const struct dnn_rnn *dnn, const void *buffer, size_t number)
{
    size_t gates = ref_gates(&dnn->shape), gate = number % gates;
    struct dnn_part part = {.kind = number / gates % REF_KINDS, .cell = number / gates / REF_KINDS};
    bool bias = part.kind == REF_BIAS_IH || part.kind == REF_BIAS_HH;
    bool state = part.kind == REF_WEIGHT_HH || part.kind == REF_BIAS_HH;
    cudnnTensorDescriptor_t matrix_is, bias_is;
    void *matrix_at = NULL, *bias_at = NULL;
    GPU_DNN(cudnnCreateTensorDescriptor(&matrix_is));
    GPU_DNN(cudnnCreateTensorDescriptor(&bias_is));
    GPU_DNN(cudnnGetRNNWeightParams(dnn->handle, dnn->rnn, (int)part.cell, dnn->weight_bytes,
                                    buffer, (int)(gate + state * gates), matrix_is, &matrix_at,
                                    bias_is, &bias_at));
    GPU_DNN(cudnnDestroyTensorDescriptor(matrix_is));
    GPU_DNN(cudnnDestroyTensorDescriptor(bias_is));
    part.weight = ref_weight_at(&dnn->shape, part.cell, (enum ref_kind)part.kind);
    part.count = part.weight.columns * dnn->shape.hidden;
    part.offset = gate * part.count;
    const void *at = bias ? bias_at : matrix_at;
    if (!at)
        gpu_die(__FILE__, __LINE__, "cudnnGetRNNWeightParams", "a weight is not in the buffer");
    part.packed = (size_t)((uintptr_t)at - (uintptr_t)buffer);
    if (part.packed + part.count * sizeof(float) > dnn->weight_bytes)
        gpu_die(__FILE__, __LINE__, "cudnnGetRNNWeightParams", "a weight ends behind the buffer");
    return part;
}

void dnn_put(const struct dnn_rnn *dnn, const struct tensor *packed, const float *weights)
{
    char *buffer = packed->address;
    for (size_t i = 0; i < dnn_part_count(dnn); i++) {
        struct dnn_part part = dnn_part_at(dnn, buffer, i);
        gpu_put(buffer + part.packed, weights + part.weight.offset + part.offset,
                part.count * sizeof(float));
    }
}

void dnn_get(const struct dnn_rnn *dnn, const struct tensor *packed, float *weights)
{
    const char *buffer = packed->address;
    for (size_t i = 0; i < dnn_part_count(dnn); i++) {
        struct dnn_part part = dnn_part_at(dnn, buffer, i);
        gpu_get(weights + part.weight.offset + part.offset, buffer + part.packed,
                part.count * sizeof(float));
    }
}

/* ---- calls ---- */

static void new_workspace(struct gpu *gpu, const struct dnn_rnn *dnn, struct tensor *work)
{
    sim_new(&gpu->sim, work, dnn->work_bytes);
    sim_tag(&gpu->sim, work, TIDEMARK_WORKSPACE, "cuDNN workspace");
}

void dnn_forward(struct gpu *gpu, const struct dnn_rnn *dnn, const struct dnn_call *call)
{
    struct tensor work = {0};
    new_workspace(gpu, dnn, &work);
    GPU_DNN(cudnnRNNForward(dnn->handle, dnn->rnn, CUDNN_FWD_MODE_TRAINING, NULL, dnn->x, call->x,
                            dnn->y, call->y, dnn->state, NULL, NULL, dnn->state, NULL, NULL,
                            dnn->weight_bytes, call->weights, work.bytes, work.address,
                            call->reserve->bytes, call->reserve->address));
    sim_drop(&gpu->sim, &work);
}

void dnn_backward(struct gpu *gpu, const struct dnn_rnn *dnn, const struct dnn_call *call,
                  const float *dy, float *dx, float *gradients)
{
    struct tensor work = {0};
    new_workspace(gpu, dnn, &work);
    GPU_DNN(cudnnRNNBackwardData_v8(dnn->handle, dnn->rnn, NULL, dnn->y, call->y, dy, dnn->x, dx,
                                    dnn->state, NULL, NULL, NULL, dnn->state, NULL, NULL, NULL,
                                    dnn->weight_bytes, call->weights, work.bytes, work.address,
                                    call->reserve->bytes, call->reserve->address));
    GPU_DNN(cudnnRNNBackwardWeights_v8(dnn->handle, dnn->rnn, CUDNN_WGRAD_MODE_ADD, NULL, dnn->x,
                                       call->x, dnn->state, NULL, dnn->y, call->y,
                                       dnn->weight_bytes, gradients, work.bytes, work.address,
                                       call->reserve->bytes, call->reserve->address));
    sim_drop(&gpu->sim, &work);
}
