/*
 * dnn_rnn.c - recurrent networks: how large their weights are, and where each matrix lies in them.
 *
 * A pseudo layer is one direction of one layer. First come the matrices of all pseudo layers: for
 * each, the gates' input matrices, the gates' recurrent matrices, and a projection if there is one;
 * then the biases of all pseudo layers, in the same order. PyTorch compares these places with those
 * of its own parameters, and packs the weights anew where they differ.
 */
#include "dnn.h"
#include "stub.h"

enum { RNN_LSTM = 2, RNN_GRU = 3 };

API(int, cudnnSetRNNDescriptor_v8, struct dnn_descriptor *descriptor, int algorithm, int mode,
    int bias, int direction, int input_mode, int type, int precision, int math, int32_t input,
    int32_t hidden, int32_t projected, int32_t layers, void *dropout, uint32_t flags)
{
    (void)algorithm, (void)input_mode, (void)precision, (void)math, (void)dropout, (void)flags;
    descriptor->rnn = (struct dnn_rnn){.mode = mode,
                                       .bias = bias,
                                       .two_ways = direction == 1,
                                       .type = type,
                                       .input = input,
                                       .hidden = hidden,
                                       .projected = projected == hidden ? 0 : projected,
                                       .layers = layers};
    return DNN_FINE;
}

API(int, cudnnSetRNNDataDescriptor, struct dnn_descriptor *descriptor, int type, int layout,
    int longest, int batch, int vector, const int *lengths, void *fill)
{
    struct dnn_sequence *sequence = &descriptor->sequence;
    (void)layout, (void)fill;
    *sequence = (struct dnn_sequence){type, longest, batch, vector, 0};
    for (int i = 0; i < batch; i++)
        sequence->tokens += lengths ? lengths[i] : longest;
    return DNN_FINE;
}

static size_t gates(const struct dnn_rnn *rnn)
{
    return rnn->mode == RNN_LSTM ? 4 : rnn->mode == RNN_GRU ? 3 : 1;
}

static size_t ways(const struct dnn_rnn *rnn)
{
    return rnn->two_ways ? 2 : 1;
}

static size_t biases(const struct dnn_rnn *rnn)
{
    return rnn->bias == 0 ? 0 : rnn->bias == 2 ? 2 : 1;
}

static size_t output(const struct dnn_rnn *rnn)
{
    return (size_t)(rnn->projected ? rnn->projected : rnn->hidden);
}

static size_t input(const struct dnn_rnn *rnn, size_t pseudo)
{
    return pseudo < ways(rnn) ? (size_t)rnn->input : output(rnn) * ways(rnn);
}

/* Elements of the matrices of all pseudo layers before this one. */
static size_t matrices_before(const struct dnn_rnn *rnn, size_t pseudo)
{
    size_t sum = 0, hidden = (size_t)rnn->hidden;
    for (size_t i = 0; i < pseudo; i++)
        sum += gates(rnn) * hidden * (input(rnn, i) + output(rnn)) +
               (size_t)rnn->projected * hidden;
    return sum;
}

static size_t pseudo_layers(const struct dnn_rnn *rnn)
{
    return (size_t)rnn->layers * ways(rnn);
}

API(int, cudnnGetRNNWeightSpaceSize, void *handle, const struct dnn_descriptor *descriptor,
    size_t *bytes)
{
    const struct dnn_rnn *rnn = &descriptor->rnn;
    size_t all = pseudo_layers(rnn);
    (void)handle;
    *bytes = dnn_width(rnn->type) * (matrices_before(rnn, all) +
                                     all * biases(rnn) * gates(rnn) * (size_t)rnn->hidden);
    return DNN_FINE;
}

/* A matrix or a bias of `rows` times `columns` at this element; descriptor and place may be NULL. */
static void say(const struct dnn_rnn *rnn, struct dnn_descriptor *descriptor, void **place,
                const void *space, size_t element, size_t rows, size_t columns)
{
    size_t width = dnn_width(rnn->type);
    int r = (int)rows, c = (int)columns;
    if (descriptor)
        descriptor->tensor = (struct dnn_tensor){rnn->type, rows ? 3 : 0, {1, r, c}, {r * c, c, 1}};
    if (place)
        *place = rows ? (void *)((uintptr_t)space + width * element) : NULL;
}

/* Matrix number `id` of a pseudo layer: the gates' input matrices, the recurrent ones, then the
 * projection. */
API(int, cudnnGetRNNWeightParams, void *handle, const struct dnn_descriptor *descriptor,
    int32_t pseudo, size_t bytes, const void *space, int32_t id, struct dnn_descriptor *matrix,
    void **matrix_at, struct dnn_descriptor *bias, void **bias_at)
{
    const struct dnn_rnn *rnn = &descriptor->rnn;
    size_t layer = (size_t)pseudo, of = (size_t)id, count = gates(rnn), rows = (size_t)rnn->hidden;
    size_t at = matrices_before(rnn, layer), in = input(rnn, layer), out = output(rnn);
    (void)handle, (void)bytes;
    say(rnn, matrix, matrix_at, space, 0, 0, 0);
    say(rnn, bias, bias_at, space, 0, 0, 0);
    if (of < count)
        say(rnn, matrix, matrix_at, space, at + of * rows * in, rows, in);
    else if (of < 2 * count)
        say(rnn, matrix, matrix_at, space, at + count * rows * in + (of - count) * rows * out, rows,
            out);
    else if (of == 2 * count && rnn->projected)
        say(rnn, matrix, matrix_at, space, at + count * rows * (in + out), out, rows);
    size_t number = rnn->bias == 3 ? of - count : of; /* the recurrent ones only */
    if (number < biases(rnn) * count)
        say(rnn, bias, bias_at, space,
            matrices_before(rnn, pseudo_layers(rnn)) +
                (layer * biases(rnn) * count + number) * rows,
            rows, 1);
    return DNN_FINE;
}

/* What cuDNN sets aside for a training step of an RNN is not known: 0, and said to be so. */
API(int, cudnnGetRNNTempSpaceSizes, void *handle, const struct dnn_descriptor *descriptor, int mode,
    const struct dnn_descriptor *sequence, size_t *workspace, size_t *reserve)
{
    (void)handle, (void)descriptor, (void)mode, (void)sequence;
    read_library("cudnnGetRNNTempSpaceSizes");
    if (workspace)
        *workspace = 0;
    if (reserve)
        *reserve = 0;
    return DNN_FINE;
}
