/*
 * fake_dnn.c - what the samples call of cuDNN, computed by the reference: see fake_cuda.c.
 *
 * The packed weights are in an order of their own, with room between them, so that a sample that
 * does not ask where they lie gets wrong results: all matrices before all biases, of each cell the
 * last gate first, each at a multiple of 256 bytes.
 *
 * The reserve holds doubles: for each sequence its input and what the reference saves, and then the
 * gradients of the weights, which the first backward leaves for the second. FAKE_WRONG: outputs are
 * wrong by one part in a hundred.
 */
#include "reference.h"

#include <cudnn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { ALIGN = 256, WORK = 4096 };

struct cudnnRNNStruct {
    struct ref_rnn shape;
};
struct cudnnRNNDataStruct {
    size_t length, batch, wide;
};
struct cudnnTensorStruct {
    size_t rows, columns;
};

static int handle, dropout;

/* ---- descriptors ---- */

EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t *made)
{
    *made = (cudnnHandle_t)&handle;
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t made)
{
    return made == (cudnnHandle_t)&handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

EXPORT const char *cudnnGetErrorString(cudnnStatus_t status)
{
    return status == CUDNN_STATUS_SUCCESS ? "success" : "an error of the fake";
}

EXPORT size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}

#define CREATE(what, type, descriptor)                                                             \
    EXPORT cudnnStatus_t cudnnCreate##what(descriptor *made)                                       \
    {                                                                                              \
        *made = calloc(1, sizeof(struct type));                                                    \
        return *made ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;                           \
    }                                                                                              \
    EXPORT cudnnStatus_t cudnnDestroy##what(descriptor made)                                       \
    {                                                                                              \
        free(made);                                                                                \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }
CREATE(RNNDescriptor, cudnnRNNStruct, cudnnRNNDescriptor_t)
CREATE(RNNDataDescriptor, cudnnRNNDataStruct, cudnnRNNDataDescriptor_t)
CREATE(TensorDescriptor, cudnnTensorStruct, cudnnTensorDescriptor_t)

EXPORT cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t *made)
{
    *made = (cudnnDropoutDescriptor_t)&dropout;
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t made)
{
    return made == (cudnnDropoutDescriptor_t)&dropout ? CUDNN_STATUS_SUCCESS
                                                      : CUDNN_STATUS_BAD_PARAM;
}

EXPORT cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t made, cudnnHandle_t with,
                                               float part, void *states, size_t bytes,
                                               unsigned long long seed)
{
    (void)made, (void)with, (void)seed;
    return part == 0 && !states && !bytes ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

EXPORT cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t algorithm,
                                              cudnnRNNMode_t mode, cudnnRNNBiasMode_t bias,
                                              cudnnDirectionMode_t direction,
                                              cudnnRNNInputMode_t input_mode, cudnnDataType_t type,
                                              cudnnDataType_t precision, cudnnMathType_t math,
                                              int32_t input, int32_t hidden, int32_t projection,
                                              int32_t layers, cudnnDropoutDescriptor_t with,
                                              uint32_t flags)
{
    (void)algorithm, (void)with, (void)flags;
    if (bias != CUDNN_RNN_DOUBLE_BIAS || input_mode != CUDNN_LINEAR_INPUT ||
        type != CUDNN_DATA_FLOAT || precision != CUDNN_DATA_FLOAT || math != CUDNN_FMA_MATH ||
        projection != hidden || (mode != CUDNN_GRU && mode != CUDNN_LSTM))
        return CUDNN_STATUS_NOT_SUPPORTED;
    rnn->shape =
        (struct ref_rnn){mode == CUDNN_GRU, (size_t)layers,
                         direction == CUDNN_BIDIRECTIONAL ? 2 : 1, (size_t)input, (size_t)hidden};
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t type,
                                               cudnnRNNDataLayout_t layout, int length, int batch,
                                               int wide, const int lengths[], void *padding)
{
    (void)padding;
    if (type != CUDNN_DATA_FLOAT || layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED)
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < batch; i++)
        if (lengths[i] != length)
            return CUDNN_STATUS_NOT_SUPPORTED;
    *data = (struct cudnnRNNDataStruct){(size_t)length, (size_t)batch, (size_t)wide};
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor,
                                                cudnnDataType_t type, int count, const int sizes[],
                                                const int strides[])
{
    (void)tensor;
    return type == CUDNN_DATA_FLOAT && count == 3 && strides[2] == 1 && strides[1] == sizes[2] &&
                   strides[0] == sizes[1] * sizes[2]
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_BAD_PARAM;
}

EXPORT cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor,
                                                cudnnTensorFormat_t format, cudnnDataType_t type,
                                                int n, int c, int h, int w)
{
    if (format != CUDNN_TENSOR_NCHW || type != CUDNN_DATA_FLOAT || h != 1 || w != 1)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *tensor = (struct cudnnTensorStruct){(size_t)n, (size_t)c};
    return CUDNN_STATUS_SUCCESS;
}

/* ---- packed weights ---- */

/* Bytes from the begin of the buffer to a gate of a weight; of the one behind the last, the end. */
static size_t packed_at(const struct ref_rnn *shape, size_t cell, enum ref_kind kind, size_t gate)
{
    size_t gates = ref_gates(shape), offset = 0;
    for (int bias = 0; bias < 2; bias++)
        for (size_t c = 0; c < ref_cells(shape); c++)
            for (int side = 0; side < 2; side++)
                for (size_t g = gates; g-- > 0;) {
                    enum ref_kind k = (enum ref_kind)(2 * bias + side);
                    size_t columns = ref_weight_at(shape, c, k).columns;
                    if (c == cell && k == kind && g == gate)
                        return offset;
                    offset += (columns * shape->hidden * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
                }
    return offset;
}

static size_t weight_bytes(const struct ref_rnn *shape)
{
    return packed_at(shape, ref_cells(shape), REF_KINDS, 0);
}

/* Adds packed floats to doubles in the order of the reference, or the other way round. */
static void move_weights(const struct ref_rnn *shape, char *packed, double *weights, bool to_packed)
{
    for (size_t cell = 0; cell < ref_cells(shape); cell++)
        for (int kind = 0; kind < REF_KINDS; kind++)
            for (size_t gate = 0; gate < ref_gates(shape); gate++) {
                struct ref_weight weight = ref_weight_at(shape, cell, (enum ref_kind)kind);
                size_t count = weight.columns * shape->hidden;
                float *from =
                    (float *)(void *)(packed + packed_at(shape, cell, (enum ref_kind)kind, gate));
                double *to = weights + weight.offset + gate * count;
                for (size_t i = 0; i < count; i++)
                    if (to_packed)
                        from[i] += (float)to[i];
                    else
                        to[i] = (double)from[i];
            }
}

EXPORT cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t with, cudnnRNNDescriptor_t rnn,
                                                size_t *bytes)
{
    (void)with;
    *bytes = weight_bytes(&rnn->shape);
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t with, cudnnRNNDescriptor_t rnn,
                                             int32_t cell, size_t bytes, const void *buffer,
                                             int32_t id, cudnnTensorDescriptor_t matrix_is,
                                             void **matrix, cudnnTensorDescriptor_t bias_is,
                                             void **bias)
{
    size_t gates = ref_gates(&rnn->shape), side = (size_t)id / gates, gate = (size_t)id % gates;
    char *at = (char *)(uintptr_t)buffer;
    (void)with, (void)matrix_is, (void)bias_is;
    if (bytes != weight_bytes(&rnn->shape) || side > 1 || !buffer ||
        (size_t)cell >= ref_cells(&rnn->shape))
        return CUDNN_STATUS_BAD_PARAM;
    *matrix = at + packed_at(&rnn->shape, (size_t)cell, (enum ref_kind)side, gate);
    *bias = at + packed_at(&rnn->shape, (size_t)cell, (enum ref_kind)(2 + side), gate);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- calls ---- */

/* Doubles that the reserve has for one sequence. */
static size_t sequence_doubles(const struct ref_rnn *shape, size_t length)
{
    return length * shape->input + ref_rnn_saved(shape, length);
}

EXPORT cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t with, cudnnRNNDescriptor_t rnn,
                                               cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x,
                                               size_t *work, size_t *reserve)
{
    (void)with;
    if (mode != CUDNN_FWD_MODE_TRAINING)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *work = WORK;
    *reserve =
        (x->batch * sequence_doubles(&rnn->shape, x->length) + ref_rnn_weights(&rnn->shape)) *
        sizeof(double);
    return CUDNN_STATUS_SUCCESS;
}

/* One sequence of [length][batch][wide] floats, as doubles, or back. */
static void take_sequence(const struct cudnnRNNDataStruct *data, const float *from, size_t sequence,
                          double *to)
{
    for (size_t t = 0; t < data->length; t++)
        for (size_t i = 0; i < data->wide; i++)
            to[t * data->wide + i] = (double)from[(t * data->batch + sequence) * data->wide + i];
}

static void put_sequence(const struct cudnnRNNDataStruct *data, const double *from, size_t sequence,
                         float *to)
{
    for (size_t t = 0; t < data->length; t++)
        for (size_t i = 0; i < data->wide; i++)
            to[(t * data->batch + sequence) * data->wide + i] = (float)from[t * data->wide + i];
}

static double *unpacked(const struct ref_rnn *shape, const void *packed)
{
    double *weights = calloc(ref_rnn_weights(shape), sizeof *weights);
    if (weights)
        move_weights(shape, (char *)(uintptr_t)packed, weights, false);
    return weights;
}

EXPORT cudnnStatus_t cudnnRNNForward(cudnnHandle_t with, cudnnRNNDescriptor_t rnn,
                                     cudnnForwardMode_t mode, const int32_t lengths[],
                                     cudnnRNNDataDescriptor_t x_is, const void *x,
                                     cudnnRNNDataDescriptor_t y_is, void *y,
                                     cudnnTensorDescriptor_t h_is, const void *hx, void *hy,
                                     cudnnTensorDescriptor_t c_is, const void *cx, void *cy,
                                     size_t bytes, const void *packed, size_t work_bytes,
                                     void *work, size_t reserve_bytes, void *reserve)
{
    const struct ref_rnn *shape = &rnn->shape;
    double *weights = unpacked(shape, packed), *out = NULL;
    bool fine = weights && !lengths && !hx && !hy && !cx && !cy && bytes == weight_bytes(shape) &&
                work_bytes == WORK && work && mode == CUDNN_FWD_MODE_TRAINING;
    (void)with, (void)h_is, (void)c_is;
    out = calloc(y_is->length * y_is->wide, sizeof *out);
    memset(reserve, 0xff, reserve_bytes);
    for (size_t i = 0; fine && out && i < x_is->batch; i++) {
        double *in = (double *)reserve + i * sequence_doubles(shape, x_is->length);
        take_sequence(x_is, x, i, in);
        fine = ref_rnn_forward(shape, weights, x_is->length, in, out,
                               in + x_is->length * shape->input);
        for (size_t k = 0; getenv("FAKE_WRONG") && k < y_is->length * y_is->wide; k++)
            out[k] *= 1.01;
        put_sequence(y_is, out, i, y);
    }
    free(weights);
    free(out);
    return fine && out ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

EXPORT cudnnStatus_t cudnnRNNBackwardData_v8(
    cudnnHandle_t with, cudnnRNNDescriptor_t rnn, const int32_t lengths[],
    cudnnRNNDataDescriptor_t y_is, const void *y, const void *dy, cudnnRNNDataDescriptor_t x_is,
    void *dx, cudnnTensorDescriptor_t h_is, const void *hx, const void *dhy, void *dhx,
    cudnnTensorDescriptor_t c_is, const void *cx, const void *dcy, void *dcx, size_t bytes,
    const void *packed, size_t work_bytes, void *work, size_t reserve_bytes, void *reserve)
{
    const struct ref_rnn *shape = &rnn->shape;
    size_t each = sequence_doubles(shape, x_is->length), inputs = x_is->length * x_is->wide;
    double *gradients = (double *)reserve + x_is->batch * each;
    double *weights = unpacked(shape, packed);
    double *above = calloc(y_is->length * y_is->wide + inputs, sizeof *above);
    bool fine = weights && above && !lengths && !hx && !dhy && !dhx && !cx && !dcy && !dcx && y &&
                work && bytes == weight_bytes(shape) && work_bytes == WORK;
    (void)with, (void)h_is, (void)c_is, (void)reserve_bytes;
    memset(gradients, 0, ref_rnn_weights(shape) * sizeof *gradients);
    for (size_t i = 0; fine && i < x_is->batch; i++) {
        const double *in = (double *)reserve + i * each;
        double *below = above + y_is->length * y_is->wide;
        take_sequence(y_is, dy, i, above);
        fine = ref_rnn_backward(shape, weights, x_is->length, in, in + inputs, above, below,
                                gradients);
        put_sequence(x_is, below, i, dx);
    }
    free(weights);
    free(above);
    return fine ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

EXPORT cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t with, cudnnRNNDescriptor_t rnn,
                                                cudnnWgradMode_t mode, const int32_t lengths[],
                                                cudnnRNNDataDescriptor_t x_is, const void *x,
                                                cudnnTensorDescriptor_t h_is, const void *hx,
                                                cudnnRNNDataDescriptor_t y_is, const void *y,
                                                size_t bytes, void *packed, size_t work_bytes,
                                                void *work, size_t reserve_bytes, void *reserve)
{
    const struct ref_rnn *shape = &rnn->shape;
    double *gradients = (double *)reserve + x_is->batch * sequence_doubles(shape, x_is->length);
    (void)with, (void)h_is, (void)y_is, (void)reserve_bytes, (void)work_bytes;
    if (mode != CUDNN_WGRAD_MODE_ADD || lengths || hx || !x || !y || !work ||
        bytes != weight_bytes(shape))
        return CUDNN_STATUS_BAD_PARAM;
    move_weights(shape, packed, gradients, true);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- softmax, logarithmic ---- */

EXPORT cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t with, cudnnSoftmaxAlgorithm_t algorithm,
                                         cudnnSoftmaxMode_t mode, const void *alpha,
                                         const cudnnTensorDescriptor_t x_is, const void *x,
                                         const void *beta, const cudnnTensorDescriptor_t y_is,
                                         void *y)
{
    const float *in = x;
    float *out = y;
    (void)with, (void)alpha, (void)beta, (void)y_is;
    if (algorithm != CUDNN_SOFTMAX_LOG || mode != CUDNN_SOFTMAX_MODE_INSTANCE)
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (size_t row = 0; row < x_is->rows; row++, in += x_is->columns, out += x_is->columns) {
        double sum = 0;
        for (size_t i = 0; i < x_is->columns; i++)
            sum += exp((double)in[i]);
        for (size_t i = 0; i < x_is->columns; i++)
            out[i] = (float)((double)in[i] - log(sum));
    }
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t with, cudnnSoftmaxAlgorithm_t algorithm,
                                          cudnnSoftmaxMode_t mode, const void *alpha,
                                          const cudnnTensorDescriptor_t y_is, const void *y,
                                          const cudnnTensorDescriptor_t dy_is, const void *dy,
                                          const void *beta, const cudnnTensorDescriptor_t dx_is,
                                          void *dx)
{
    const float *out = y, *change = dy;
    float *to = dx;
    (void)with, (void)alpha, (void)beta, (void)dy_is, (void)dx_is;
    if (algorithm != CUDNN_SOFTMAX_LOG || mode != CUDNN_SOFTMAX_MODE_INSTANCE)
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (size_t row = 0; row < y_is->rows; row++) {
        size_t first = row * y_is->columns;
        double sum = 0;
        for (size_t i = 0; i < y_is->columns; i++)
            sum += (double)change[first + i];
        for (size_t i = 0; i < y_is->columns; i++)
            to[first + i] = (float)((double)change[first + i] - exp((double)out[first + i]) * sum);
    }
    return CUDNN_STATUS_SUCCESS;
}
