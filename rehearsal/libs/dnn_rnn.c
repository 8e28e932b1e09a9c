/*
 * dnn_rnn.c - recurrent networks: how large their weights are, where each matrix lies in them, and
 * what working memory a network asks for.
 *
 * A pseudo layer is one direction of one layer. First come the matrices of all pseudo layers: for
 * each, the gates' input matrices, the gates' recurrent matrices, and a projection if there is one;
 * then the biases of all pseudo layers, in the same order. PyTorch compares these places with those
 * of its own parameters, and packs the weights anew where they differ.
 */
#include "dnn.h"
#include "stub.h"

enum { RNN_LSTM = 2, RNN_GRU = 3, RNN_PADDED = 1 };
enum { RNN_STANDARD = 0, RNN_STATIC = 1 };

API(int, cudnnSetRNNDescriptor_v8, struct dnn_descriptor *descriptor, int algorithm, int mode,
    int bias, int direction, int input_mode, int type, int precision, int math, int32_t input,
    int32_t hidden, int32_t projected, int32_t layers, const struct dnn_descriptor *dropout,
    uint32_t flags)
{
    (void)input_mode, (void)precision, (void)math;
    descriptor->rnn = (struct dnn_rnn){.mode = mode,
                                       .bias = bias,
                                       .two_ways = direction == 1,
                                       .type = type,
                                       .input = input,
                                       .hidden = hidden,
                                       .projected = projected == hidden ? 0 : projected,
                                       .layers = layers,
                                       .algorithm = type == DNN_BFLOAT16 ? RNN_STANDARD : algorithm,
                                       .drops = dropout && dropout->dropout > 0,
                                       .padded = flags & RNN_PADDED};
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
        sum +=
            gates(rnn) * hidden * (input(rnn, i) + output(rnn)) + (size_t)rnn->projected * hidden;
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
    *bytes = dnn_width(rnn->type) *
             (matrices_before(rnn, all) + all * biases(rnn) * gates(rnn) * (size_t)rnn->hidden);
    return DNN_FINE;
}

/* A matrix or a bias of `rows` times `columns` at this element; descriptor and place may be NULL.
 */
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

/*
 * ---- working memory ----
 *
 * A sum of terms, each rounded up to 32 bytes and a number of hidden states: of all pseudo layers
 * and the whole batch ("cells"), or of one direction of one layer for every token ("every").
 * Measured on 2026-11-27: cuDNN 9.19 answered so, to the byte, for 5,888 networks on an H200 and
 * 12,030 on an H100, 3,600 of them of the persistent static algorithm, and PyTorch 2.11 allocated
 * so for 72. The formula was fitted to that. docs/gpu-profiles.md has it as a table, and what in it
 * is a guess.
 */

#define STREAM_BYTES ((size_t)8 << 20) /* of each pseudo layer */
#define FIXED_BYTES 256
#define STEPS_AHEAD 256  /* of which the gates' inputs are computed ahead */
#define STATIC_ROWS 2432 /* of the persistent static algorithm, beside one for each sequence */

struct network {
    const struct dnn_rnn *rnn;
    size_t all, layers, ways; /* pseudo layers, of which each layer has `ways` */
    size_t batch, steps, tokens;
    size_t state;        /* bytes of one hidden state */
    size_t cells, every; /* bytes: see above */
};

static struct network network_of(const struct dnn_rnn *rnn, const struct dnn_sequence *sequence)
{
    struct network net = {.rnn = rnn, .all = pseudo_layers(rnn), .ways = ways(rnn)};
    net.layers = (size_t)rnn->layers;
    net.batch = (size_t)sequence->batch;
    net.steps = (size_t)sequence->longest;
    net.tokens = (size_t)sequence->tokens;
    net.state = dnn_width(rnn->type) * (size_t)rnn->hidden;
    net.cells = net.all * net.batch * net.state;
    net.every = net.tokens * net.state;
    return net;
}

static bool is_lstm(const struct network *net)
{
    return net->rnn->mode == RNN_LSTM;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t piece(size_t bytes)
{
    return (bytes + 31) / 32 * 32;
}

/* Values that a cell keeps for its way back, beside the state of an LSTM's cell. */
static size_t kept(const struct network *net)
{
    return net->rnn->mode == RNN_GRU ? 6 : gates(net->rnn);
}

static bool persists(const struct network *net)
{
    return net->rnn->algorithm != RNN_STANDARD;
}

/* From the way there to the way back: what the cells keep, what goes from layer to layer, and a bit
 * for each value that may be dropped between layers, of padding, too. A projection keeps both sides
 * of it. */
static size_t reserve_bytes(const struct network *net)
{
    const struct dnn_rnn *rnn = net->rnn;
    size_t between = (net->layers - 1) * net->ways;
    size_t sum = FIXED_BYTES + piece(kept(net) * net->all * net->every);
    if (is_lstm(net))
        sum += piece(net->all * net->every);
    sum += piece(between * net->every);
    if (rnn->drops)
        sum += between * piece((net->ways * net->steps * net->batch * output(rnn) + 7) / 8);
    if (rnn->projected)
        sum += piece(net->all * net->every) +
               piece(net->all * net->tokens * dnn_width(rnn->type) * output(rnn));
    return sum;
}

/* Copies of input, output and states, in the order that cuDNN works in; `times` 2: the gradients of
 * them, too. */
static size_t copies_bytes(const struct network *net, size_t times)
{
    const struct dnn_rnn *rnn = net->rnn;
    size_t width = dnn_width(rnn->type), padded = net->steps * net->batch * width;
    size_t each = piece(padded * (size_t)rnn->input) + piece(padded * net->ways * output(rnn)) +
                  2 * piece(net->all * net->batch * width * output(rnn));
    if (is_lstm(net))
        each += 2 * piece(net->cells);
    return rnn->padded ? piece(8 * net->batch) + times * each : 0;
}

/* States of all cells at once, beside `first` of each. */
static size_t states_bytes(const struct network *net, size_t first)
{
    size_t more = (size_t)is_lstm(net) + (net->ways == 2);
    if (persists(net))
        first = net->ways == 2 ? 1 : 2;
    return piece(first * net->cells) + more * piece(2 * net->cells);
}

static size_t forward_bytes(const struct network *net)
{
    const struct dnn_rnn *rnn = net->rnn;
    bool both = net->ways == 2;
    size_t ahead = net->every, sum = states_bytes(net, gates(rnn)) + copies_bytes(net, 1);
    if (persists(net))
        ahead *= both ? 3 : 5;
    else if (!both)
        ahead = smaller(ahead, STEPS_AHEAD * net->batch * net->state);
    sum += piece(net->ways * gates(rnn) * ahead);
    if (both)
        sum += piece(4 * net->every);
    else if (rnn->drops)
        sum += piece(net->every);
    return sum + (rnn->projected ? piece(net->ways * net->every) : 0);
}

/* Of one way, so many steps' gradients go from layer to layer at once: the more sequences, the
 * fewer steps. */
static size_t steps_at_once(const struct network *net)
{
    if (net->batch <= 2)
        return 32;
    if (net->batch <= 8)
        return 16;
    return net->batch <= 16 || net->steps >= 128 ? 8 : 4;
}

/* What a persistent algorithm has beside what waits. The static one has rows of fp16 at least. */
static size_t persistent_bytes(const struct network *net)
{
    size_t least = (STATIC_ROWS + net->batch) * (size_t)net->rnn->hidden * dnn_width(DNN_HALF);
    bool is_static = net->rnn->algorithm == RNN_STATIC;
    return piece(kept(net) * net->every) + piece(larger(8 * net->every, is_static ? least : 0));
}

/* Gradients that wait for other layers. */
static size_t waiting_bytes(const struct network *net)
{
    bool several = net->layers > 1;
    size_t waiting = net->ways * (several ? 2 : 1) * net->every, steps = steps_at_once(net);
    if (persists(net))
        return piece(waiting) + persistent_bytes(net);
    steps = larger(steps, 8) + net->layers * steps;
    if (net->ways == 1 && several)
        waiting = smaller(net->every, steps * net->batch * net->state);
    return piece(waiting);
}

static size_t backward_bytes(const struct network *net)
{
    const struct dnn_rnn *rnn = net->rnn;
    size_t widest = larger((size_t)rnn->input, (size_t)rnn->hidden);
    return states_bytes(net, 1) + waiting_bytes(net) +
           piece(net->ways * net->ways * net->tokens * dnn_width(rnn->type) * widest) +
           copies_bytes(net, 2);
}

/* One piece of memory serves the way there and the way back, which also have the matrices in it. */
static size_t workspace_bytes(const struct network *net, bool trains)
{
    size_t forward = forward_bytes(net), backward = backward_bytes(net);
    size_t matrices = dnn_width(net->rnn->type) * matrices_before(net->rnn, net->all);
    return FIXED_BYTES + net->all * STREAM_BYTES + piece(matrices) +
           (trains ? larger(forward, backward) : forward);
}

API(int, cudnnGetRNNTempSpaceSizes, void *handle, const struct dnn_descriptor *descriptor, int mode,
    const struct dnn_descriptor *sequence, size_t *workspace, size_t *reserve)
{
    struct network net = network_of(&descriptor->rnn, &sequence->sequence);
    (void)handle;
    read_modelled("cudnnGetRNNTempSpaceSizes");
    if (workspace)
        *workspace = workspace_bytes(&net, mode != 0);
    if (reserve)
        *reserve = mode != 0 ? reserve_bytes(&net) : 0;
    return DNN_FINE;
}
