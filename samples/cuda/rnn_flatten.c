/*
 * rnn_flatten - what it costs when the weights of an RNN are not one contiguous chunk of memory, on
 * a GPU with cuDNN. README.md says what to look at.
 *
 * cuDNN takes all weights of an RNN as one packed buffer, of a size that it reports, W. Flat
 * weights are such a buffer. Scattered ones, each an allocation of its own, are packed into a new
 * buffer in every call, which lives until the backward of that call: C W more for C calls before
 * their backward. The gradients are one packed buffer in either case.
 *
 * What is trained: outputs are pulled to zero, the loss is half the mean of their squares, by
 * gradient descent with momentum. After the last step one more call is computed on the CPU too: the
 * output and the gradients of its first sequence, and those of all weights with only that sequence
 * counted.
 */
#include "dnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS_MOST = 64, TENSORS_MOST = 64 * 2 * REF_KINDS };

struct options {
    uint64_t layers, hidden, input, batch, length, calls, steps, rate;
    bool gru, one_direction, flatten, no_check, memory, csv;
};

/* What a call leaves for its backward. */
struct call {
    struct tensor packed; /* only if the weights are scattered */
    struct tensor input, output, reserve;
};

/* Weight number cell * REF_KINDS + kind has a tensor of its own unless the weights are flat; then
 * `flat` has them all. The momentum has the shape of the gradients, which is packed. */
struct rnn {
    struct gpu gpu;
    const struct options *options;
    struct dnn_rnn dnn;
    struct dnn_part *parts;
    struct tensor weights[TENSORS_MOST];
    struct tensor flat, gradients, momentum, scores;
    struct call calls[CALLS_MOST];
    float *host_input;
    double loss, first_loss;
};

static struct ref_rnn shape_of(const struct options *options)
{
    return (struct ref_rnn){.gru = options->gru,
                            .layers = options->layers,
                            .directions = options->one_direction ? 1 : 2,
                            .input = options->input,
                            .hidden = options->hidden};
}

static size_t output_floats(const struct rnn *rnn)
{
    const struct ref_rnn *shape = &rnn->dnn.shape;
    return rnn->dnn.length * rnn->dnn.batch * shape->directions * shape->hidden;
}

static size_t input_floats(const struct rnn *rnn)
{
    return rnn->dnn.length * rnn->dnn.batch * rnn->dnn.shape.input;
}

/* ---- the weights ---- */

static void new_weight(struct rnn *rnn, size_t number, const float *values)
{
    static const char *const kinds[REF_KINDS] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    size_t cell = number / REF_KINDS, kind = number % REF_KINDS, both = rnn->dnn.shape.directions;
    struct ref_weight weight = ref_weight_at(&rnn->dnn.shape, cell, (enum ref_kind)kind);
    size_t bytes = weight.rows * weight.columns * sizeof(float);
    char name[64];
    snprintf(name, sizeof name, "%s_l%zu%s", kinds[kind], cell / both,
             cell % both ? "_reverse" : "");
    sim_new(&rnn->gpu.sim, &rnn->weights[number], bytes);
    sim_tag(&rnn->gpu.sim, &rnn->weights[number], TIDEMARK_PARAMETER, name);
    gpu_put(rnn->weights[number].address, values + weight.offset, bytes);
}

static float *weight_part(const struct rnn *rnn, const struct dnn_part *part)
{
    return gpu_floats(&rnn->weights[part->cell * REF_KINDS + part->kind]) + part->offset;
}

static float *packed_part(const struct tensor *packed, const struct dnn_part *part)
{
    return gpu_floats(packed) + part->packed / sizeof(float);
}

/* A new packed buffer of scattered weights. What lies between the parts is zero. */
static void pack(struct rnn *rnn, struct tensor *packed)
{
    gpu_zero(packed);
    for (size_t i = 0; i < dnn_part_count(&rnn->dnn); i++) {
        const struct dnn_part *part = &rnn->parts[i];
        gpu_copy(packed_part(packed, part), weight_part(rnn, part), part->count * sizeof(float));
    }
}

/* The parts lie at the same places in every packed buffer; a first one, before there are weights,
 * tells where. It is no larger than they are together, and leaves nothing behind. */
static void find_parts(struct rnn *rnn)
{
    size_t count = dnn_part_count(&rnn->dnn);
    struct tensor buffer = {0};
    rnn->parts = sim_memory(count, sizeof *rnn->parts);
    sim_new(&rnn->gpu.sim, &buffer, rnn->dnn.weight_bytes);
    for (size_t i = 0; i < count; i++)
        rnn->parts[i] = dnn_part_at(&rnn->dnn, buffer.address, i);
    sim_drop(&rnn->gpu.sim, &buffer);
    tidemark_allocator_empty_cache(rnn->gpu.sim.allocator);
    tidemark_allocator_reset_peaks(rnn->gpu.sim.allocator);
}

/* As a replica has them; flattening copies them into one buffer, and they go. */
static void build(void *self)
{
    struct rnn *rnn = self;
    unsigned long long seed = 1;
    size_t tensors = ref_cells(&rnn->dnn.shape) * REF_KINDS;
    float *values = gpu_random(ref_rnn_weights(&rnn->dnn.shape), 0.05f, &seed);
    for (size_t i = 0; i < tensors; i++)
        new_weight(rnn, i, values);
    free(values);
    rnn->host_input = gpu_random(input_floats(rnn), 1, &seed);
    if (!rnn->options->flatten)
        return;
    sim_new(&rnn->gpu.sim, &rnn->flat, rnn->dnn.weight_bytes);
    sim_tag(&rnn->gpu.sim, &rnn->flat, TIDEMARK_PARAMETER, "flat weights");
    pack(rnn, &rnn->flat);
    for (size_t i = 0; i < tensors; i++)
        sim_drop(&rnn->gpu.sim, &rnn->weights[i]);
}

/* ---- the phases ---- */

static void zero_grad(void *self)
{
    struct rnn *rnn = self;
    if (rnn->gradients.address)
        sim_drop(&rnn->gpu.sim, &rnn->gradients);
}

static const struct tensor *weights_of(const struct rnn *rnn, const struct call *call)
{
    return rnn->options->flatten ? &rnn->flat : &call->packed;
}

static struct dnn_call for_dnn(const struct rnn *rnn, const struct call *call)
{
    return (struct dnn_call){.weights = gpu_floats(weights_of(rnn, call)),
                             .x = gpu_floats(&call->input),
                             .y = gpu_floats(&call->output),
                             .reserve = &call->reserve};
}

static void pack_weights(struct rnn *rnn, struct call *call)
{
    sim_new(&rnn->gpu.sim, &call->packed, rnn->dnn.weight_bytes);
    sim_tag(&rnn->gpu.sim, &call->packed, TIDEMARK_WORKSPACE, "packed weights");
    pack(rnn, &call->packed);
}

static void forward_call(struct rnn *rnn, struct call *call)
{
    struct sim *sim = &rnn->gpu.sim;
    sim_new(sim, &call->input, input_floats(rnn) * sizeof(float));
    gpu_put(call->input.address, rnn->host_input, call->input.bytes);
    if (!rnn->options->flatten)
        pack_weights(rnn, call);
    sim_new(sim, &call->output, output_floats(rnn) * sizeof(float));
    sim_new(sim, &call->reserve, rnn->dnn.reserve_bytes);
    struct dnn_call arguments = for_dnn(rnn, call);
    dnn_forward(&rnn->gpu, &rnn->dnn, &arguments);
}

static void forward(void *self)
{
    struct rnn *rnn = self;
    for (uint64_t i = 0; i < rnn->options->calls; i++)
        forward_call(rnn, &rnn->calls[i]);
}

/* Half the mean of the squares of the last call's outputs; the others are the same. */
static void loss(void *self)
{
    struct rnn *rnn = self;
    const struct call *call = &rnn->calls[rnn->options->calls - 1];
    const float *y = gpu_floats(&call->output);
    int count = (int)output_floats(rnn);
    float sum;
    sim_new(&rnn->gpu.sim, &rnn->scores, sizeof sum);
    GPU_BLAS(cublasSetPointerMode(rnn->gpu.blas, CUBLAS_POINTER_MODE_DEVICE));
    GPU_BLAS(cublasSdot(rnn->gpu.blas, count, y, 1, y, 1, gpu_floats(&rnn->scores)));
    GPU_BLAS(cublasSetPointerMode(rnn->gpu.blas, CUBLAS_POINTER_MODE_HOST));
    gpu_get(&sum, rnn->scores.address, sizeof sum);
    rnn->loss = (double)sum / (2.0 * count);
}

static void new_gradients(struct rnn *rnn)
{
    if (rnn->gradients.address)
        return;
    sim_new(&rnn->gpu.sim, &rnn->gradients, rnn->dnn.weight_bytes);
    sim_tag(&rnn->gpu.sim, &rnn->gradients, TIDEMARK_GRADIENT, "flat gradients");
    gpu_zero(&rnn->gradients);
}

static void drop_call(struct rnn *rnn, struct call *call)
{
    struct tensor *saved[] = {&call->packed, &call->input, &call->output, &call->reserve};
    for (size_t i = 0; i < sizeof saved / sizeof *saved; i++)
        if (saved[i]->address)
            sim_drop(&rnn->gpu.sim, saved[i]);
}

/* Gradients of all calls are added up in one buffer. */
static void backward_call(struct rnn *rnn, struct call *call)
{
    struct sim *sim = &rnn->gpu.sim;
    struct tensor of_output = {0}, of_input = {0};
    int count = (int)output_floats(rnn);
    float scale = 1 / (float)count / (float)rnn->options->calls;
    sim_new(sim, &of_output, call->output.bytes);
    gpu_copy(of_output.address, call->output.address, of_output.bytes);
    GPU_BLAS(cublasSscal(rnn->gpu.blas, count, &scale, gpu_floats(&of_output), 1));
    sim_new(sim, &of_input, call->input.bytes);
    new_gradients(rnn);
    struct dnn_call arguments = for_dnn(rnn, call);
    dnn_backward(&rnn->gpu, &rnn->dnn, &arguments, gpu_floats(&of_output), gpu_floats(&of_input),
                 gpu_floats(&rnn->gradients));
    sim_drop(sim, &of_output);
    sim_drop(sim, &of_input);
    drop_call(rnn, call);
}

static void backward(void *self)
{
    struct rnn *rnn = self;
    for (uint64_t i = rnn->options->calls; i-- > 0;)
        backward_call(rnn, &rnn->calls[i]);
    sim_drop(&rnn->gpu.sim, &rnn->scores);
}

/* momentum = 0.9 momentum + gradient; weight -= rate * momentum. */
static void optimizer(void *self)
{
    struct rnn *rnn = self;
    float keep = 0.9f, one = 1, rate = -(float)rnn->options->rate / 1000;
    int all = (int)(rnn->dnn.weight_bytes / sizeof(float));
    if (!rnn->momentum.address) {
        sim_new(&rnn->gpu.sim, &rnn->momentum, rnn->dnn.weight_bytes);
        sim_tag(&rnn->gpu.sim, &rnn->momentum, TIDEMARK_OPTIMIZER_STATE, "momentum");
        gpu_zero(&rnn->momentum);
    }
    float *momentum = gpu_floats(&rnn->momentum);
    GPU_BLAS(cublasSscal(rnn->gpu.blas, all, &keep, momentum, 1));
    GPU_BLAS(cublasSaxpy(rnn->gpu.blas, all, &one, gpu_floats(&rnn->gradients), 1, momentum, 1));
    for (size_t i = 0; i < dnn_part_count(&rnn->dnn); i++) {
        const struct dnn_part *part = &rnn->parts[i];
        float *to = rnn->options->flatten ? packed_part(&rnn->flat, part) : weight_part(rnn, part);
        GPU_BLAS(cublasSaxpy(rnn->gpu.blas, (int)part->count, &rate,
                             packed_part(&rnn->momentum, part), 1, to, 1));
    }
}

/* ---- the check ---- */

/* The first sequence of [length][batch][wide] numbers, as [length][wide]. */
static float *first_sequence(const struct rnn *rnn, const float *numbers, size_t wide)
{
    float *first = sim_memory(rnn->dnn.length * wide, sizeof *first);
    for (size_t t = 0; t < rnn->dnn.length; t++)
        memcpy(first + t * wide, numbers + t * rnn->dnn.batch * wide, wide * sizeof *first);
    return first;
}

static float *download(const struct tensor *tensor)
{
    float *host = sim_memory(tensor->bytes, 1);
    gpu_get(host, tensor->address, tensor->bytes);
    return host;
}

/* The CPU's side: from the weights as they are now, to what the GPU gave. */
struct check {
    size_t wide, weight_count;
    float *weights, *x, *y, *dy, *dx, *gradients; /* of the GPU, first sequence */
};

static bool compare(const struct rnn *rnn, const struct check *check)
{
    const struct ref_rnn *shape = &rnn->dnn.shape;
    size_t length = rnn->dnn.length, inputs = length * shape->input, outputs = length * check->wide;
    double *weights = gpu_doubles(check->weights, check->weight_count);
    double *x = gpu_doubles(check->x, inputs), *dy = gpu_doubles(check->dy, outputs);
    double *y = sim_memory(outputs, sizeof *y), *dx = sim_memory(inputs, sizeof *dx);
    double *gradients = sim_memory(check->weight_count, sizeof *gradients);
    double *saved = sim_memory(ref_rnn_saved(shape, length), sizeof *saved);
    bool fine = ref_rnn_forward(shape, weights, length, x, y, saved) &&
                ref_rnn_backward(shape, weights, length, x, saved, dy, dx, gradients);
    fine = gpu_compare("output", check->y, y, outputs) && fine;
    fine = gpu_compare("gradient of the input", check->dx, dx, inputs) && fine;
    fine =
        gpu_compare("gradient of the weights", check->gradients, gradients, check->weight_count) &&
        fine;
    double *memory[] = {weights, x, dy, y, dx, gradients, saved};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        free(memory[i]);
    return fine;
}

/* One call whose output has a gradient in the first sequence only. */
static void run_check(struct rnn *rnn, struct check *check)
{
    struct call *call = &rnn->calls[0];
    struct tensor of_output = {0}, of_input = {0};
    unsigned long long seed = 2;
    float *dy = gpu_random(output_floats(rnn), 1, &seed);
    for (size_t i = 0; i < output_floats(rnn); i++)
        if (i / check->wide % rnn->dnn.batch)
            dy[i] = 0;
    zero_grad(rnn);
    forward_call(rnn, call);
    dnn_get(&rnn->dnn, weights_of(rnn, call), check->weights);
    sim_new(&rnn->gpu.sim, &of_output, call->output.bytes);
    sim_new(&rnn->gpu.sim, &of_input, call->input.bytes);
    gpu_put(of_output.address, dy, of_output.bytes);
    new_gradients(rnn);
    struct dnn_call arguments = for_dnn(rnn, call);
    dnn_backward(&rnn->gpu, &rnn->dnn, &arguments, gpu_floats(&of_output), gpu_floats(&of_input),
                 gpu_floats(&rnn->gradients));
    dnn_get(&rnn->dnn, &rnn->gradients, check->gradients);
    float *y = download(&call->output), *dx = download(&of_input);
    check->y = first_sequence(rnn, y, check->wide);
    check->dx = first_sequence(rnn, dx, rnn->dnn.shape.input);
    check->dy = first_sequence(rnn, dy, check->wide);
    check->x = first_sequence(rnn, rnn->host_input, rnn->dnn.shape.input);
    sim_drop(&rnn->gpu.sim, &of_output);
    sim_drop(&rnn->gpu.sim, &of_input);
    drop_call(rnn, call);
    free(y);
    free(dx);
    free(dy);
}

static bool check_results(struct rnn *rnn)
{
    const struct ref_rnn *shape = &rnn->dnn.shape;
    struct check check = {.wide = shape->directions * shape->hidden,
                          .weight_count = ref_rnn_weights(shape)};
    check.weights = sim_memory(check.weight_count, sizeof(float));
    check.gradients = sim_memory(check.weight_count, sizeof(float));
    tidemark_phase_begin("check");
    run_check(rnn, &check);
    tidemark_phase_end("check");
    bool fine = compare(rnn, &check);
    float *memory[] = {check.weights, check.x, check.y, check.dy, check.dx, check.gradients};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        free(memory[i]);
    return fine;
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
                                .steps = 3,
                                .rate = 1000};
    const struct sim_option numbers[] = {
        {"layers", "layers", 1, 16, false, &options->layers},
        {"hidden", "size of a state", 1, 1 << 13, false, &options->hidden},
        {"input", "size of an input", 1, 1 << 13, false, &options->input},
        {"batch", "sequences in a batch", 1, 1 << 10, false, &options->batch},
        {"length", "tokens in a sequence", 1, 1 << 8, false, &options->length},
        {"calls", "calls before their backward", 1, CALLS_MOST, false, &options->calls},
        {"steps", "training steps", 2, 1000000, false, &options->steps},
        {"rate", "of learning, in thousandths", 1, 100000, false, &options->rate},
    };
    const struct sim_flag flags[] = {
        {"gru", "a GRU; otherwise an LSTM", &options->gru},
        {"one-way", "one direction only", &options->one_direction},
        {"flatten", "one packed buffer for the weights", &options->flatten},
        {"no-check", "do not compute it on the CPU too", &options->no_check},
        {"memory", "look at the memory alone, not at what is computed", &options->memory},
        {"csv", "bytes, with commas between", &options->csv},
    };
    sim_options(argc, argv, "Training of an RNN whose weights are scattered, with cuDNN on a GPU.",
                numbers, sizeof numbers / sizeof *numbers, flags, sizeof flags / sizeof *flags);
}

static void print_sizes(const struct rnn *rnn)
{
    const struct dnn_rnn *dnn = &rnn->dnn;
    printf("cuDNN %zu reports: packed weights %zu bytes (the weights alone are %zu), reserve %zu, "
           "workspace %zu\n",
           cudnnGetVersion(), dnn->weight_bytes, ref_rnn_weights(&dnn->shape) * sizeof(float),
           dnn->reserve_bytes, dnn->work_bytes);
}

static void train(struct rnn *rnn)
{
    static const struct sim_part parts[] = {{"zero_grad", zero_grad},
                                            {"forward", forward},
                                            {"loss", loss},
                                            {"backward", backward},
                                            {"optimizer", optimizer}};
    const size_t count = sizeof parts / sizeof *parts;
    gpu_title(&rnn->gpu);
    sim_part(&rnn->gpu.sim, "beginning", build, rnn);
    for (uint64_t step = 0; step < rnn->options->steps; step++) {
        sim_train(&rnn->gpu.sim, step, parts, count, rnn);
        if (step == 0)
            rnn->first_loss = rnn->loss;
    }
    tidemark_step_end();
}

/* False if what was computed is not what must come out. */
static bool verdict(struct rnn *rnn)
{
    bool fell = rnn->loss < rnn->first_loss;
    if (rnn->options->memory) {
        gpu_memory_alone();
        return true;
    }
    printf("loss: %.9f in the first step, %.9f in the last%s\n", rnn->first_loss, rnn->loss,
           fell ? "" : ": it did not fall");
    return (rnn->options->no_check || check_results(rnn)) && fell;
}

static void drop_all(struct rnn *rnn)
{
    struct tensor *single[] = {&rnn->flat, &rnn->gradients, &rnn->momentum};
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        if (single[i]->address)
            sim_drop(&rnn->gpu.sim, single[i]);
    for (size_t i = 0; i < TENSORS_MOST; i++)
        if (rnn->weights[i].address)
            sim_drop(&rnn->gpu.sim, &rnn->weights[i]);
}

int main(int argc, char **argv)
{
    struct options options;
    parse(argc, argv, &options);
    gpu_count("rnn_flatten");
    struct rnn *rnn = sim_memory(1, sizeof *rnn);
    struct ref_rnn shape = shape_of(&options);
    rnn->options = &options;
    gpu_open(&rnn->gpu, "rnn_flatten", 0);
    rnn->gpu.sim.csv = options.csv;
    dnn_open(&rnn->dnn, &shape, options.batch, options.length);
    find_parts(rnn);
    train(rnn);
    bool fine = true;
    if (!options.csv) {
        print_sizes(rnn);
        fine = verdict(rnn);
    }
    drop_all(rnn);
    dnn_close(&rnn->dnn);
    int status = gpu_close(&rnn->gpu);
    free(rnn->parts);
    free(rnn->host_input);
    free(rnn);
    return fine ? status : EXIT_FAILURE;
}
