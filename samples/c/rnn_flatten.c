/*
 * rnn_flatten - what it costs when the weights of an RNN are not one contiguous chunk of memory,
 * simulated: cuDNN's arithmetic on a virtual device. README.md has the findings.
 *
 * cuDNN takes all weights of an RNN as one packed buffer. PyTorch's modules keep them so, as views
 * into that buffer, until something gives the weights memory of their own: a replica, a deep copy,
 * an assignment. From then on each call packs them into a new buffer of the full size, which is
 * saved for the backward of that call. flatten_parameters() makes the one buffer again.
 *
 * The tensors of one training step, with L layers, D directions, H hidden units, N = batch x
 * length tokens, and C calls before their common backward:
 *   weights     per layer and direction: gates H x (input + H), and two biases of gates H
 *   forward     per call: packed weights (if they are scattered), input, output N D H, first and
 *               last state L D batch H (twice for an LSTM: hidden and cell), cuDNN's reserve
 *   loss        the sum of a linear layer's scores
 *   backward    per call, last call first: gradients of output and input, one flat buffer for the
 *               gradients of all weights, of which .grad are parts; the second call's is added to
 *               the first one's and goes
 *   optimizer   SGD with momentum: one tensor for each weight, in step 0
 *
 * How large cuDNN's reserve is it alone knows; ops.c says where the figures for it come from. It is
 * the same with and without packing. Workspaces, which live inside a call only, are left out.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>

enum { KINDS = 4, CALLS_MOST = 64, LAYERS_MOST = 64 };

struct options {
    uint64_t layers, hidden, input, batch, length, calls, steps;
    bool gru, one_direction, flatten, csv;
};

/* What a call leaves for its backward. */
struct call {
    struct tensor packed; /* only if the weights are scattered */
    struct tensor input, output, reserve;
    struct tensor first[2], last[2]; /* hidden, and the cell of an LSTM */
};

/* Weight number (layer * directions + direction) * KINDS + kind. Flat weights are one tensor,
 * and so are their gradients, in either case. */
struct rnn {
    struct sim sim;
    const struct options *options;
    uint64_t weight_bytes[LAYERS_MOST * 2 * KINDS];
    struct tensor weights[LAYERS_MOST * 2 * KINDS];
    struct tensor momentum[LAYERS_MOST * 2 * KINDS];
    size_t weight_count;
    uint64_t packed_bytes;
    struct tensor flat, gradients;
    struct tensor scores;
    struct call calls[CALLS_MOST];
};

static uint64_t directions(const struct options *options)
{
    return options->one_direction ? 1 : 2;
}

static uint64_t gates(const struct options *options)
{
    return options->gru ? 3 : 4;
}

static uint64_t output_bytes(const struct options *options)
{
    return 4 * options->batch * options->length * directions(options) * options->hidden;
}

/* ---- the weights ---- */

/* w_ih, w_hh, b_ih, b_hh of a layer: the first one sees the input, the others both directions. */
static void count_weights(struct rnn *rnn)
{
    const struct options *options = rnn->options;
    uint64_t rows = gates(options) * options->hidden, both = directions(options);
    for (uint64_t i = 0; i < options->layers * both; i++) {
        uint64_t sees = i < both ? options->input : both * options->hidden;
        const uint64_t floats[KINDS] = {rows * sees, rows * options->hidden, rows, rows};
        for (size_t kind = 0; kind < KINDS; kind++) {
            rnn->weight_bytes[rnn->weight_count++] = 4 * floats[kind];
            rnn->packed_bytes += 4 * floats[kind];
        }
    }
}

static void tag_weight(struct rnn *rnn, size_t at, const struct tensor *tensor,
                       enum tidemark_category category)
{
    static const char *const kinds[KINDS] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    size_t both = (size_t)directions(rnn->options), cell = at / KINDS;
    char name[64];
    snprintf(name, sizeof name, "%s_l%zu%s", kinds[at % KINDS], cell / both,
             cell % both ? "_reverse" : "");
    sim_tag(&rnn->sim, tensor, category, name);
}

/* As a replica has them. flatten_parameters() copies them into one buffer; then they go. */
static void build(void *self)
{
    struct rnn *rnn = self;
    for (size_t i = 0; i < rnn->weight_count; i++) {
        sim_new(&rnn->sim, &rnn->weights[i], rnn->weight_bytes[i]);
        tag_weight(rnn, i, &rnn->weights[i], TIDEMARK_PARAMETER);
    }
    if (!rnn->options->flatten)
        return;
    sim_new(&rnn->sim, &rnn->flat, rnn->packed_bytes);
    sim_tag(&rnn->sim, &rnn->flat, TIDEMARK_PARAMETER, "flat weights");
    for (size_t i = 0; i < rnn->weight_count; i++)
        sim_drop(&rnn->sim, &rnn->weights[i]);
}

/* ---- the phases ---- */

static void zero_grad(void *self)
{
    struct rnn *rnn = self;
    sim_drop(&rnn->sim, &rnn->gradients);
}

static void pack_weights(struct rnn *rnn, struct call *call)
{
    sim_new(&rnn->sim, &call->packed, rnn->packed_bytes);
    sim_tag(&rnn->sim, &call->packed, TIDEMARK_WORKSPACE, "packed weights");
}

static void forward_call(struct rnn *rnn, struct call *call)
{
    const struct options *options = rnn->options;
    uint64_t tokens = options->batch * options->length, output = output_bytes(options);
    uint64_t state = 4 * options->layers * directions(options) * options->batch * options->hidden;
    uint64_t parts = (options->gru ? 6 : 5) * options->layers + options->layers - 1;
    size_t states = options->gru ? 1 : 2;
    sim_new(&rnn->sim, &call->input, 4 * tokens * options->input);
    for (size_t i = 0; i < states; i++)
        sim_new(&rnn->sim, &call->first[i], state);
    if (!options->flatten)
        pack_weights(rnn, call);
    sim_new(&rnn->sim, &call->output, output);
    for (size_t i = 0; i < states; i++)
        sim_new(&rnn->sim, &call->last[i], state);
    sim_new(&rnn->sim, &call->reserve, output * parts);
}

static void forward(void *self)
{
    struct rnn *rnn = self;
    for (uint64_t i = 0; i < rnn->options->calls; i++)
        forward_call(rnn, &rnn->calls[i]);
}

static void loss(void *self)
{
    struct rnn *rnn = self;
    sim_new(&rnn->sim, &rnn->scores, 4 * rnn->options->batch * rnn->options->length);
}

/* The first gradients that come are kept as they are, the others added to them. */
static void backward_call(struct rnn *rnn, struct call *call)
{
    struct sim *sim = &rnn->sim;
    struct tensor of_output = {0}, of_input = {0}, of_weights = {0};
    sim_new(sim, &of_output, output_bytes(rnn->options));
    sim_new(sim, &of_input, call->input.bytes);
    sim_new(sim, &of_weights, rnn->packed_bytes);
    if (!rnn->gradients.address) {
        rnn->gradients = of_weights;
        sim_tag(sim, &rnn->gradients, TIDEMARK_GRADIENT, "flat gradients");
    } else {
        sim_drop(sim, &of_weights);
    }
    sim_drop(sim, &of_output);
    sim_drop(sim, &of_input);
    struct tensor *saved[] = {&call->packed,   &call->input,    &call->output,  &call->reserve,
                              &call->first[0], &call->first[1], &call->last[0], &call->last[1]};
    for (size_t i = 0; i < sizeof saved / sizeof *saved; i++)
        sim_drop(sim, saved[i]);
}

static void backward(void *self)
{
    struct rnn *rnn = self;
    for (uint64_t i = rnn->options->calls; i-- > 0;)
        backward_call(rnn, &rnn->calls[i]);
    sim_drop(&rnn->sim, &rnn->scores);
}

static void optimizer(void *self)
{
    struct rnn *rnn = self;
    if (rnn->momentum[0].address)
        return;
    for (size_t i = 0; i < rnn->weight_count; i++) {
        sim_new(&rnn->sim, &rnn->momentum[i], rnn->weight_bytes[i]);
        tag_weight(rnn, i, &rnn->momentum[i], TIDEMARK_OPTIMIZER_STATE);
    }
}

/* ---- the program ---- */

static void parse(int argc, char **argv, struct options *options)
{
    *options = (struct options){.layers = 2,
                                .hidden = 1024,
                                .input = 512,
                                .batch = 32,
                                .length = 50,
                                .calls = 1,
                                .steps = 2};
    const struct sim_option numbers[] = {
        {"layers", "layers", 1, LAYERS_MOST, false, &options->layers},
        {"hidden", "size of a state", 1, 1 << 16, false, &options->hidden},
        {"input", "size of an input", 1, 1 << 16, false, &options->input},
        {"batch", "sequences in a batch", 1, 1 << 14, false, &options->batch},
        {"length", "tokens in a sequence", 1, 1 << 12, false, &options->length},
        {"calls", "calls before their backward", 1, CALLS_MOST, false, &options->calls},
        {"steps", "training steps", 1, 1000000, false, &options->steps},
    };
    const struct sim_flag flags[] = {
        {"gru", "a GRU; otherwise an LSTM", &options->gru},
        {"one-way", "one direction only", &options->one_direction},
        {"flatten", "call flatten_parameters()", &options->flatten},
        {"csv", "bytes, with commas between", &options->csv},
    };
    sim_options(
        argc, argv,
        "Training of an RNN whose weights are scattered, with cuDNN's arithmetic, simulated.",
        numbers, sizeof numbers / sizeof *numbers, flags, sizeof flags / sizeof *flags);
}

static void print_findings(const struct rnn *rnn)
{
    const struct options *options = rnn->options;
    double packed = (double)rnn->packed_bytes / (1 << 20);
    double calls = options->flatten ? 0 : (double)options->calls;
    printf("\nsimulated: the packed weights are %.1f MiB; copies of them from forward to backward: "
           "%.0f, %.1f MiB\n",
           packed, calls, calls * packed);
}

static void train(struct rnn *rnn)
{
    static const struct sim_part parts[] = {{"zero_grad", zero_grad},
                                            {"forward", forward},
                                            {"loss", loss},
                                            {"backward", backward},
                                            {"optimizer", optimizer}};
    const size_t count = sizeof parts / sizeof *parts;
    sim_title(&rnn->sim);
    count_weights(rnn);
    sim_part(&rnn->sim, "beginning", build, rnn);
    for (uint64_t step = 0; step < rnn->options->steps; step++) {
        sim_train(&rnn->sim, step, parts, count, rnn);
    }
    if (!rnn->options->csv)
        print_findings(rnn);
}

int main(int argc, char **argv)
{
    struct options options;
    parse(argc, argv, &options);
    struct rnn *rnn = sim_memory(1, sizeof *rnn);
    rnn->options = &options;
    sim_open(&rnn->sim, "rnn_flatten", 0);
    rnn->sim.csv = options.csv;
    train(rnn);
    int status = sim_close(&rnn->sim);
    free(rnn);
    return status;
}
