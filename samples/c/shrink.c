/*
 * shrink - one training program under shrinking limits, simulated: the first epoch takes as much as
 * there is, and what it needs is what the later ones take. README.md has the findings.
 *
 * A convolutional net that lets cuDNN measure its algorithms: at the first call of each layer, in
 * each direction, every algorithm is tried with the workspace that it wants, and the program keeps
 * the one that wants least. The workspaces are of many sizes, so each finds few cached blocks that
 * are large enough, and the allocator takes new segments and keeps them. It gives them back when
 * the device has no more, and only then: so the first epoch's peak is a matter of what is free.
 *
 * The net: four stages of CONVS 3 x 3 convolutions, each stage with twice the channels and half the
 * side of the one before. A layer's output is saved for its backward; gradients are set to None;
 * Adam. At the end of an epoch the program empties the cache, so that the next one shows what it
 * takes by itself.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>

enum { STAGES = 4, CONVS = 4, LAYERS = STAGES * CONVS, TRIALS = 4, STATES = 2 };

struct options {
    uint64_t limit, batch, channels, side, epochs, steps;
    bool keep_cache, csv;
};

struct layer {
    uint64_t weight_bytes, input_bytes, output_bytes;
    struct tensor weight, gradient, states[STATES];
    struct tensor output; /* saved from forward to backward */
    bool forward_tried, backward_tried;
};

struct net {
    struct sim sim;
    const struct options *options;
    struct layer layers[LAYERS];
    struct tensor input;
};

/* The workspaces of the algorithms, in parts of eight of a layer's input and output together. */
static const uint64_t workspace_eighths[TRIALS] = {1, 4, 7, 8};

static void shape_layers(struct net *net)
{
    const struct options *options = net->options;
    uint64_t channels = 1, input = 4 * options->batch * options->side * options->side;
    for (size_t i = 0; i < LAYERS; i++) {
        uint64_t wide = options->channels << (i / CONVS), side = options->side >> (i / CONVS);
        struct layer *layer = &net->layers[i];
        layer->weight_bytes = 4 * 9 * channels * wide;
        layer->input_bytes = input;
        layer->output_bytes = 4 * options->batch * wide * side * side;
        channels = wide;
        input = layer->output_bytes;
    }
}

static void build(void *self)
{
    struct net *net = self;
    for (size_t i = 0; i < LAYERS; i++) {
        struct layer *layer = &net->layers[i];
        sim_new(&net->sim, &layer->weight, layer->weight_bytes);
        sim_tag(&net->sim, &layer->weight, TIDEMARK_PARAMETER, "weight");
    }
}

/* ---- cuDNN ---- */

static uint64_t workspace(const struct layer *layer, size_t algorithm)
{
    return (layer->input_bytes + layer->output_bytes) / 8 * workspace_eighths[algorithm];
}

static void try_algorithms(struct net *net, const struct layer *layer)
{
    for (size_t i = 0; i < TRIALS; i++) {
        struct tensor space = {0};
        sim_new(&net->sim, &space, workspace(layer, i));
        sim_drop(&net->sim, &space);
    }
}

/* The call itself, with the algorithm that was kept. */
static void convolve(struct net *net, const struct layer *layer, bool *tried)
{
    struct tensor space = {0};
    if (!*tried)
        try_algorithms(net, layer);
    *tried = true;
    sim_new(&net->sim, &space, workspace(layer, 0));
    sim_drop(&net->sim, &space);
}

/* ---- the phases of a step ---- */

static void zero_grad(void *self)
{
    struct net *net = self;
    for (size_t i = 0; i < LAYERS; i++)
        sim_drop(&net->sim, &net->layers[i].gradient);
}

static void forward(void *self)
{
    struct net *net = self;
    sim_new(&net->sim, &net->input, net->layers[0].input_bytes);
    for (size_t i = 0; i < LAYERS; i++) {
        struct layer *layer = &net->layers[i];
        sim_new(&net->sim, &layer->output, layer->output_bytes);
        convolve(net, layer, &layer->forward_tried);
    }
}

/* From the last layer to the first: the gradient of the output becomes that of the input. */
static void backward(void *self)
{
    struct net *net = self;
    struct tensor of_output = {0};
    sim_new(&net->sim, &of_output, net->layers[LAYERS - 1].output_bytes);
    for (size_t i = LAYERS; i-- > 0;) {
        struct layer *layer = &net->layers[i];
        struct tensor of_input = {0};
        sim_new(&net->sim, &of_input, layer->input_bytes);
        sim_new(&net->sim, &layer->gradient, layer->weight_bytes);
        convolve(net, layer, &layer->backward_tried);
        sim_drop(&net->sim, &of_output);
        sim_drop(&net->sim, &layer->output);
        of_output = of_input;
    }
    sim_drop(&net->sim, &of_output);
    sim_drop(&net->sim, &net->input);
}

/* Adam makes its states in the first step. */
static void optimizer(void *self)
{
    struct net *net = self;
    for (size_t i = 0; i < LAYERS; i++) {
        struct layer *layer = &net->layers[i];
        for (size_t j = 0; j < STATES; j++) {
            if (layer->states[j].address)
                continue;
            sim_new(&net->sim, &layer->states[j], layer->weight_bytes);
            sim_tag(&net->sim, &layer->states[j], TIDEMARK_OPTIMIZER_STATE,
                    j ? "exp_avg_sq" : "exp_avg");
        }
    }
}

/* ---- the program ---- */

static void parse(int argc, char **argv, struct options *options)
{
    *options = (struct options){.batch = 384, .channels = 32, .side = 28, .epochs = 3, .steps = 2};
    const struct sim_option numbers[] = {
        {"limit", "bytes that may be taken from the device, 0: all", 0, UINT64_C(1) << 50, true,
         &options->limit},
        {"batch", "pictures in a batch", 1, 1 << 14, false, &options->batch},
        {"channels", "channels of the first stage", 1, 1 << 10, false, &options->channels},
        {"side", "pixels of a picture's side", 8, 1 << 10, false, &options->side},
        {"epochs", "epochs", 1, 1000, false, &options->epochs},
        {"steps", "steps of an epoch", 1, 1000, false, &options->steps},
    };
    const struct sim_flag flags[] = {
        {"keep-cache", "do not empty the cache between epochs", &options->keep_cache},
        {"csv", "bytes, with commas between", &options->csv},
    };
    sim_options(argc, argv, "Training of a convolutional net under a limit, simulated.", numbers,
                sizeof numbers / sizeof *numbers, flags, sizeof flags / sizeof *flags);
}

static void train_step(struct net *net, uint64_t step)
{
    sim_step(&net->sim, step);
    sim_phase("zero_grad", zero_grad, net);
    sim_phase("forward", forward, net);
    sim_phase("backward", backward, net);
    sim_phase("optimizer", optimizer, net);
}

/* A row for each epoch, with the highest values of this epoch alone. */
static void train(struct net *net)
{
    const struct options *options = net->options;
    sim_title(&net->sim);
    shape_layers(net);
    sim_phase("beginning", build, net);
    for (uint64_t epoch = 0; epoch < options->epochs; epoch++) {
        tidemark_allocator_reset_peaks(net->sim.allocator);
        for (uint64_t i = 0; i < options->steps; i++)
            train_step(net, epoch * options->steps + i);
        snprintf(net->sim.step, sizeof net->sim.step, "%llu", (unsigned long long)epoch);
        sim_row(&net->sim, "epoch");
        if (!options->keep_cache)
            tidemark_allocator_empty_cache(net->sim.allocator);
    }
    if (!options->csv)
        printf("\nsimulated: %llu times all that was cached was given back\n",
               (unsigned long long)sim_stats(&net->sim).retries);
}

int main(int argc, char **argv)
{
    struct options options;
    parse(argc, argv, &options);
    struct net *net = sim_memory(1, sizeof *net);
    net->options = &options;
    sim_open(&net->sim, "shrink", options.limit);
    net->sim.csv = options.csv;
    train(net);
    int status = sim_close(&net->sim);
    free(net);
    return status;
}
