/*
 * train_step - a training step on a GPU with nothing but libraries and six kernels: an embedding,
 * recurrent layers (GRU, cuDNN), a linear layer to logits (cuBLAS), softmax and cross entropy,
 * Adam; all memory from Tidemark's caching allocator. README.md says what to look at.
 *
 * The phases and lifetimes are those of a usual PyTorch program: gradients are zeroed in place, the
 * logits are held until the next ones are there, softmax leaves the log-probabilities for backward.
 * The same batch comes again in each step, so the loss must fall.
 *
 * The loss and all gradients of the first step are computed on the CPU too, and what Adam made of
 * the weights. --check compares some gradients with the change of the GPU's own loss.
 */
#include "dnn.h"
#include "kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum part { EMBEDDING, RNN, WEIGHT, BIAS, PARTS };
enum { THREADS = 256 };

static const char *const part_names[PARTS] = {"embedding", "gru", "generator.weight",
                                              "generator.bias"};
static const struct ref_adam adam = {.rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};

struct options {
    uint64_t vocabulary, hidden, input, layers, batch, length, steps;
    bool check, no_check, csv;
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

static size_t rows_of(const struct train *train)
{
    return train->options->length * train->options->batch;
}

static size_t logit_floats(const struct train *train)
{
    return rows_of(train) * train->options->vocabulary;
}

/* ---- kernels ---- */

static void load_kernels(struct train *train)
{
    char why[512];
    size_t bytes = 0;
    int major, minor, device = train->gpu.device;
    GPU_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    GPU_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    void *cubin = kernels_compile(10 * major + minor, &bytes, why, sizeof why);
    if (!cubin)
        gpu_die(__FILE__, __LINE__, "kernels_compile", why);
    GPU_CUDA(cudaLibraryLoadData(&train->code, cubin, NULL, NULL, 0, NULL, NULL, 0));
    for (size_t i = 0; i < KERNEL_COUNT; i++)
        GPU_CUDA(cudaLibraryGetKernel(&train->kernel[i], train->code, kernel_names[i]));
    free(cubin);
}

static void launch(const struct train *train, enum kernel which, size_t threads, void **arguments)
{
    dim3 grid = {(unsigned)((threads + THREADS - 1) / THREADS), 1, 1}, block = {THREADS, 1, 1};
    GPU_CUDA(cudaLaunchKernel((const void *)train->kernel[which], grid, block, arguments, 0, NULL));
}

/* A kernel over rows and columns, and up to three more arguments. */
static void launch_matrix(const struct train *train, enum kernel which, size_t rows, size_t columns,
                          void *a, void *b, void *c)
{
    unsigned long long sizes[2] = {rows, columns};
    void *arguments[] = {&sizes[0], &sizes[1], &a, &b, &c};
    launch(train, which, rows * columns, arguments);
}

/* ---- parameters ---- */

static void new_part(struct train *train, enum part which, size_t count, size_t bytes, float scale,
                     unsigned long long *seed)
{
    struct parameter *part = &train->part[which];
    part->count = count;
    part->host = gpu_random(count, scale, seed);
    sim_new(&train->gpu.sim, &part->weight, bytes);
    sim_tag(&train->gpu.sim, &part->weight, TIDEMARK_PARAMETER, part_names[which]);
    gpu_zero(&part->weight);
    if (which == RNN)
        dnn_put(&train->dnn, &part->weight, part->host);
    else
        gpu_put(part->weight.address, part->host, bytes);
}

static void build(void *self)
{
    struct train *train = self;
    const struct options *options = train->options;
    size_t words = options->vocabulary, hidden = options->hidden;
    size_t embedding = words * options->input, weight = words * hidden;
    float bound = 1 / sqrtf((float)hidden);
    unsigned long long seed = 1;
    new_part(train, EMBEDDING, embedding, embedding * sizeof(float), 1, &seed);
    new_part(train, RNN, ref_rnn_weights(&train->dnn.shape), train->dnn.weight_bytes, bound, &seed);
    new_part(train, WEIGHT, weight, weight * sizeof(float), bound, &seed);
    new_part(train, BIAS, words, words * sizeof(float), bound, &seed);
}

/* A part of a gradient or of a weight, in the order of the reference. */
static float *download(const struct train *train, enum part which, const struct tensor *tensor)
{
    float *host = sim_memory(train->part[which].count, sizeof *host);
    if (which == RNN)
        dnn_get(&train->dnn, tensor, host);
    else
        gpu_get(host, tensor->address, tensor->bytes);
    return host;
}

/* ---- the batch ---- */

/* Each token is followed by one that depends on it, and now and then on nothing. */
static void make_batch(struct train *train)
{
    const struct options *options = train->options;
    size_t batch = options->batch, rows = rows_of(train);
    unsigned long long seed = 7;
    int words = (int)options->vocabulary;
    int *chain = sim_memory(rows + batch, sizeof *chain);
    for (size_t i = 0; i < rows + batch; i++) {
        int any = (int)((double)(words - 1) * (0.5 + 0.5 * (double)ref_random(&seed)));
        bool follows = i >= batch && i % 5;
        chain[i] = follows ? (int)((3ll * chain[i - batch] + 1) % words) : any;
    }
    train->host_tokens = chain;
    train->host_targets = chain + batch;
}

static void new_ints(struct train *train, struct tensor *tensor, const int *values)
{
    sim_new(&train->gpu.sim, tensor, rows_of(train) * sizeof *values);
    sim_tag(&train->gpu.sim, tensor, TIDEMARK_INPUT, "tokens");
    gpu_put(tensor->address, values, tensor->bytes);
}

static void load_batch(struct train *train)
{
    size_t rows = rows_of(train);
    float *ones = sim_memory(rows, sizeof *ones);
    for (size_t i = 0; i < rows; i++)
        ones[i] = 1;
    make_batch(train);
    new_ints(train, &train->tokens, train->host_tokens);
    new_ints(train, &train->targets, train->host_targets);
    sim_new(&train->gpu.sim, &train->ones, rows * sizeof *ones);
    gpu_put(train->ones.address, ones, train->ones.bytes);
    free(ones);
}

/* ---- the phases ---- */

static void zero_grad(void *self)
{
    struct train *train = self;
    for (size_t i = 0; i < PARTS; i++)
        if (train->part[i].gradient.address)
            gpu_zero(&train->part[i].gradient);
}

static struct dnn_call for_dnn(const struct train *train)
{
    return (struct dnn_call){.weights = gpu_floats(&train->part[RNN].weight),
                             .x = gpu_floats(&train->x),
                             .y = gpu_floats(&train->y),
                             .reserve = &train->reserve};
}

/* The new logits are there before the old ones go. */
static void make_logits(struct train *train)
{
    const struct options *options = train->options;
    int words = (int)options->vocabulary, hidden = (int)options->hidden;
    float one = 1, zero = 0;
    struct tensor logits = {0};
    sim_new(&train->gpu.sim, &logits, logit_floats(train) * sizeof(float));
    GPU_BLAS(cublasSgemm(train->gpu.blas, CUBLAS_OP_T, CUBLAS_OP_N, words, (int)rows_of(train),
                         hidden, &one, gpu_floats(&train->part[WEIGHT].weight), hidden,
                         gpu_floats(&train->y), hidden, &zero, gpu_floats(&logits), words));
    launch_matrix(train, KERNEL_ADD_BIAS, rows_of(train), options->vocabulary, logits.address,
                  train->part[BIAS].weight.address, NULL);
    if (train->logits.address)
        sim_drop(&train->gpu.sim, &train->logits);
    train->logits = logits;
    sim_tag(&train->gpu.sim, &logits, TIDEMARK_ACTIVATION, "logits");
}

static void forward(void *self)
{
    struct train *train = self;
    const struct options *options = train->options;
    struct sim *sim = &train->gpu.sim;
    size_t rows = rows_of(train);
    sim_new(sim, &train->x, rows * options->input * sizeof(float));
    launch_matrix(train, KERNEL_GATHER, rows, options->input, train->part[EMBEDDING].weight.address,
                  train->tokens.address, train->x.address);
    sim_new(sim, &train->y, rows * options->hidden * sizeof(float));
    sim_new(sim, &train->reserve, train->dnn.reserve_bytes);
    struct dnn_call call = for_dnn(train);
    dnn_forward(&train->gpu, &train->dnn, &call);
    make_logits(train);
}

static void loss(void *self)
{
    struct train *train = self;
    struct sim *sim = &train->gpu.sim;
    float one = 1, zero = 0, sum;
    unsigned long long sizes[2] = {rows_of(train), train->options->vocabulary};
    sim_new(sim, &train->log_probabilities, train->logits.bytes);
    sim_tag(sim, &train->log_probabilities, TIDEMARK_ACTIVATION, "log-probabilities");
    GPU_DNN(cudnnSoftmaxForward(train->dnn.handle, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_INSTANCE,
                                &one, train->logits_are, train->logits.address, &zero,
                                train->logits_are, train->log_probabilities.address));
    sim_new(sim, &train->losses, rows_of(train) * sizeof(float));
    void *arguments[] = {&sizes[0], &sizes[1], &train->log_probabilities.address,
                         &train->targets.address, &train->losses.address};
    launch(train, KERNEL_PICK_LOSS, rows_of(train), arguments);
    GPU_BLAS(
        cublasSasum(train->gpu.blas, (int)rows_of(train), gpu_floats(&train->losses), 1, &sum));
    train->loss = (double)sum / (double)rows_of(train);
}

/* The gradient of the logits, in two steps of their size each. */
static void softmax_backward(struct train *train, struct tensor *of_logits)
{
    struct sim *sim = &train->gpu.sim;
    struct tensor picked = {0};
    unsigned long long sizes[2] = {rows_of(train), train->options->vocabulary};
    float one = 1, zero = 0, scale = 1 / (float)rows_of(train);
    sim_new(sim, &picked, train->logits.bytes);
    sim_tag(sim, &picked, TIDEMARK_ACTIVATION, "gradient of log-probabilities");
    void *arguments[] = {&sizes[0], &sizes[1], &train->targets.address, &scale, &picked.address};
    launch(train, KERNEL_PICK_GRADIENT, logit_floats(train), arguments);
    sim_new(sim, of_logits, train->logits.bytes);
    sim_tag(sim, of_logits, TIDEMARK_ACTIVATION, "gradient of logits");
    GPU_DNN(cudnnSoftmaxBackward(train->dnn.handle, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_INSTANCE,
                                 &one, train->logits_are, train->log_probabilities.address,
                                 train->logits_are, picked.address, &zero, train->logits_are,
                                 of_logits->address));
    sim_drop(sim, &picked);
    sim_drop(sim, &train->log_probabilities);
    sim_drop(sim, &train->losses);
}

/* In the first backward, when each is needed; zeroed in place from then on. */
static float *gradient_of(struct train *train, enum part which)
{
    struct parameter *part = &train->part[which];
    if (!part->gradient.address) {
        sim_new(&train->gpu.sim, &part->gradient, part->weight.bytes);
        sim_tag(&train->gpu.sim, &part->gradient, TIDEMARK_GRADIENT, part_names[which]);
        gpu_zero(&part->gradient);
    }
    return gpu_floats(&part->gradient);
}

static void linear_backward(struct train *train, const float *of_logits, float *of_y)
{
    const struct options *options = train->options;
    int words = (int)options->vocabulary, hidden = (int)options->hidden;
    int rows = (int)rows_of(train);
    float one = 1, zero = 0;
    GPU_BLAS(cublasSgemv(train->gpu.blas, CUBLAS_OP_N, words, rows, &one, of_logits, words,
                         gpu_floats(&train->ones), 1, &one, gradient_of(train, BIAS), 1));
    GPU_BLAS(cublasSgemm(train->gpu.blas, CUBLAS_OP_N, CUBLAS_OP_T, hidden, words, rows, &one,
                         gpu_floats(&train->y), hidden, of_logits, words, &one,
                         gradient_of(train, WEIGHT), hidden));
    GPU_BLAS(cublasSgemm(train->gpu.blas, CUBLAS_OP_N, CUBLAS_OP_N, hidden, rows, words, &one,
                         gpu_floats(&train->part[WEIGHT].weight), hidden, of_logits, words, &zero,
                         of_y, hidden));
}

static void backward(void *self)
{
    struct train *train = self;
    const struct options *options = train->options;
    struct sim *sim = &train->gpu.sim;
    struct tensor of_logits = {0}, of_y = {0}, of_x = {0};
    softmax_backward(train, &of_logits);
    sim_new(sim, &of_y, train->y.bytes);
    linear_backward(train, gpu_floats(&of_logits), gpu_floats(&of_y));
    sim_drop(sim, &of_logits);
    sim_new(sim, &of_x, train->x.bytes);
    struct dnn_call call = for_dnn(train);
    dnn_backward(&train->gpu, &train->dnn, &call, gpu_floats(&of_y), gpu_floats(&of_x),
                 gradient_of(train, RNN));
    sim_drop(sim, &of_y);
    launch_matrix(train, KERNEL_SCATTER_ADD, rows_of(train), options->input,
                  gradient_of(train, EMBEDDING), train->tokens.address, of_x.address);
    struct tensor *done[] = {&of_x, &train->x, &train->y, &train->reserve};
    for (size_t i = 0; i < sizeof done / sizeof *done; i++)
        sim_drop(sim, done[i]);
}

static void adam_part(struct train *train, enum part which)
{
    struct parameter *part = &train->part[which];
    struct tensor *states[] = {&part->first, &part->second};
    for (size_t i = 0; i < 2; i++) {
        if (states[i]->address)
            continue;
        sim_new(&train->gpu.sim, states[i], part->weight.bytes);
        sim_tag(&train->gpu.sim, states[i], TIDEMARK_OPTIMIZER_STATE, i ? "exp_avg_sq" : "exp_avg");
        gpu_zero(states[i]);
    }
    unsigned long long count = part->weight.bytes / sizeof(float);
    float rate = (float)adam.rate, beta1 = (float)adam.beta1, beta2 = (float)adam.beta2;
    float epsilon = (float)adam.epsilon;
    float left1 = (float)(1 - pow(adam.beta1, train->step));
    float left2 = (float)(1 - pow(adam.beta2, train->step));
    void *arguments[] = {&count,
                         &part->weight.address,
                         &part->gradient.address,
                         &part->first.address,
                         &part->second.address,
                         &rate,
                         &beta1,
                         &beta2,
                         &epsilon,
                         &left1,
                         &left2};
    launch(train, KERNEL_ADAM, count, arguments);
}

static void optimizer(void *self)
{
    struct train *train = self;
    train->step++;
    for (size_t i = 0; i < PARTS; i++)
        adam_part(train, (enum part)i);
}

/* ---- the check ---- */

struct expected {
    double loss;
    double *weight[PARTS], *gradient[PARTS];
};

/* The loss and all gradients with the first weights, one sequence after the other. */
static bool expect(const struct train *train, struct expected *expected)
{
    const struct options *options = train->options;
    struct ref_model model = {options->vocabulary, train->dnn.shape};
    size_t length = options->length, batch = options->batch;
    int *tokens = sim_memory(2 * length, sizeof *tokens), *targets = tokens + length;
    bool fine = true;
    for (size_t i = 0; i < PARTS; i++) {
        expected->weight[i] = gpu_doubles(train->part[i].host, train->part[i].count);
        expected->gradient[i] = sim_memory(train->part[i].count, sizeof(double));
    }
    struct ref_parameters parameters = {expected->weight[EMBEDDING], expected->weight[RNN],
                                        expected->weight[WEIGHT], expected->weight[BIAS]};
    struct ref_gradients gradients = {expected->gradient[EMBEDDING], expected->gradient[RNN],
                                      expected->gradient[WEIGHT], expected->gradient[BIAS]};
    for (size_t i = 0; i < batch && fine; i++) {
        for (size_t t = 0; t < length; t++) {
            tokens[t] = train->host_tokens[t * batch + i];
            targets[t] = train->host_targets[t * batch + i];
        }
        fine = ref_model_add(&model, &parameters, length, tokens, targets,
                             1 / (double)rows_of(train), &expected->loss, &gradients);
    }
    free(tokens);
    return fine;
}

static bool check_gradients(struct train *train, const struct expected *expected)
{
    float loss = (float)train->loss;
    bool fine = gpu_compare("loss", &loss, &expected->loss, 1);
    for (size_t i = 0; i < PARTS; i++) {
        char what[64];
        float *got = download(train, (enum part)i, &train->part[i].gradient);
        snprintf(what, sizeof what, "gradient, %s", part_names[i]);
        fine = gpu_compare(what, got, expected->gradient[i], train->part[i].count) && fine;
        free(got);
    }
    return fine;
}

/* Adam divides by what is near to zero, so it is given the gradients of the GPU. */
static bool check_adam(struct train *train, const struct expected *expected)
{
    bool fine = true;
    for (size_t i = 0; i < PARTS; i++) {
        size_t count = train->part[i].count;
        char what[64];
        float *gradient = download(train, (enum part)i, &train->part[i].gradient);
        float *got = download(train, (enum part)i, &train->part[i].weight);
        double *gradients = gpu_doubles(gradient, count);
        double *states = sim_memory(2 * count, sizeof *states);
        ref_adam(&adam, 1, count, expected->weight[i], gradients, states, states + count);
        snprintf(what, sizeof what, "weights, %s", part_names[i]);
        fine = gpu_compare(what, got, expected->weight[i], count) && fine;
        free(gradient);
        free(got);
        free(gradients);
        free(states);
    }
    return fine;
}

static double loss_with(struct train *train, enum part which, const float *weights)
{
    struct parameter *part = &train->part[which];
    if (which == RNN)
        dnn_put(&train->dnn, &part->weight, weights);
    else
        gpu_put(part->weight.address, weights, part->weight.bytes);
    forward(train);
    loss(train);
    struct tensor *made[] = {&train->x, &train->y, &train->reserve, &train->log_probabilities,
                             &train->losses};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        sim_drop(&train->gpu.sim, made[i]);
    return train->loss;
}

/* The largest gradient of each part, against how the loss changes when its weight does. The loss is
 * of single precision, so the change is made large, and compared within 5 %. */
static bool check_differences(struct train *train)
{
    double kept = train->loss, step = 0.02;
    bool all = true;
    for (size_t i = 0; i < PARTS; i++) {
        size_t most = 0, count = train->part[i].count;
        float *gradient = download(train, (enum part)i, &train->part[i].gradient);
        float *weights = download(train, (enum part)i, &train->part[i].weight);
        for (size_t k = 1; k < count; k++)
            most = fabsf(gradient[k]) > fabsf(gradient[most]) ? k : most;
        float old = weights[most];
        weights[most] = old + (float)step;
        double above = loss_with(train, (enum part)i, weights);
        weights[most] = old - (float)step;
        double below = loss_with(train, (enum part)i, weights);
        weights[most] = old;
        loss_with(train, (enum part)i, weights);
        double slope = (above - below) / (2 * step), want = (double)gradient[most];
        bool fine = fabs(slope - want) <= 0.05 * fabs(want) + 1e-4;
        printf("checked: slope of the loss, %-16s number %zu: %.6f, gradient %.6f%s\n",
               part_names[i], most, slope, want, fine ? "" : ": WRONG");
        all = all && fine;
        free(gradient);
        free(weights);
    }
    train->loss = kept;
    return all;
}

/* ---- the program ---- */

static void parse(int argc, char **argv, struct options *options)
{
    *options = (struct options){.vocabulary = 2000,
                                .hidden = 256,
                                .input = 128,
                                .layers = 1,
                                .batch = 16,
                                .length = 20,
                                .steps = 5};
    const struct sim_option numbers[] = {
        {"vocab", "words", 2, 1 << 17, false, &options->vocabulary},
        {"hidden", "size of a state", 1, 1 << 12, false, &options->hidden},
        {"input", "size of an embedding", 1, 1 << 12, false, &options->input},
        {"layers", "recurrent layers", 1, 16, false, &options->layers},
        {"batch", "sequences in a batch", 1, 1 << 10, false, &options->batch},
        {"length", "tokens in a sequence", 1, 1 << 8, false, &options->length},
        {"steps", "training steps", 2, 1000000, false, &options->steps},
    };
    const struct sim_flag flags[] = {
        {"check", "slopes of the GPU's loss, too", &options->check},
        {"no-check", "do not compute it on the CPU too", &options->no_check},
        {"csv", "bytes, with commas between", &options->csv},
    };
    sim_options(argc, argv, "A training step on a GPU: embedding, GRU, softmax loss, Adam.",
                numbers, sizeof numbers / sizeof *numbers, flags, sizeof flags / sizeof *flags);
}

static void open_all(struct train *train)
{
    const struct options *options = train->options;
    struct ref_rnn shape = {.gru = true,
                            .layers = options->layers,
                            .directions = 1,
                            .input = options->input,
                            .hidden = options->hidden};
    gpu_open(&train->gpu, "train_step", 0);
    train->gpu.sim.csv = options->csv;
    dnn_open(&train->dnn, &shape, options->batch, options->length);
    GPU_DNN(cudnnCreateTensorDescriptor(&train->logits_are));
    GPU_DNN(cudnnSetTensor4dDescriptor(train->logits_are, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT,
                                       (int)rows_of(train), (int)options->vocabulary, 1, 1));
    load_kernels(train);
}

static int close_all(struct train *train)
{
    struct tensor *single[] = {&train->tokens, &train->targets, &train->ones, &train->logits};
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        sim_drop(&train->gpu.sim, single[i]);
    for (size_t i = 0; i < PARTS; i++) {
        struct parameter *part = &train->part[i];
        struct tensor *own[] = {&part->weight, &part->gradient, &part->first, &part->second};
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            sim_drop(&train->gpu.sim, own[k]);
        free(part->host);
    }
    free(train->host_tokens);
    GPU_CUDA(cudaDeviceSynchronize());
    GPU_CUDA(cudaLibraryUnload(train->code));
    GPU_DNN(cudnnDestroyTensorDescriptor(train->logits_are));
    dnn_close(&train->dnn);
    return gpu_close(&train->gpu);
}

static void phase(struct train *train, const char *name, void (*work)(void *train))
{
    sim_phase(name, work, train);
    sim_row(&train->gpu.sim, name);
}

/* The first step is looked at closely. */
static bool first_step_fine(struct train *train, const char *behind)
{
    static struct expected expected;
    bool fine = true;
    if (train->options->no_check || train->options->csv)
        return true;
    if (strcmp(behind, "backward") == 0) {
        fine = expect(train, &expected) && check_gradients(train, &expected);
        if (train->options->check)
            fine = check_differences(train) && fine;
        return fine;
    }
    if (strcmp(behind, "optimizer") != 0)
        return true;
    fine = check_adam(train, &expected);
    for (size_t i = 0; i < PARTS; i++) {
        free(expected.weight[i]);
        free(expected.gradient[i]);
    }
    return fine;
}

static bool run(struct train *train)
{
    static const struct {
        const char *name;
        void (*work)(void *train);
    } phases[] = {{"zero_grad", zero_grad},
                  {"forward", forward},
                  {"loss", loss},
                  {"backward", backward},
                  {"optimizer", optimizer}};
    bool fine = true;
    gpu_title(&train->gpu);
    phase(train, "beginning", build);
    load_batch(train);
    for (uint64_t step = 0; step < train->options->steps; step++) {
        sim_step(&train->gpu.sim, step);
        for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
            phase(train, phases[i].name, phases[i].work);
            if (step == 0)
                fine = first_step_fine(train, phases[i].name) && fine;
        }
        if (step == 0)
            train->first_loss = train->loss;
    }
    tidemark_step_end();
    return fine;
}

int main(int argc, char **argv)
{
    struct options options;
    parse(argc, argv, &options);
    gpu_count("train_step");
    struct train *train = sim_memory(1, sizeof *train);
    train->options = &options;
    open_all(train);
    bool fine = run(train), fell = train->loss < train->first_loss;
    if (!options.csv)
        printf("loss: %.6f in the first step, %.6f in the last%s\n", train->first_loss, train->loss,
               fell ? "" : ": it did not fall");
    int status = close_all(train);
    free(train);
    return fine && fell ? status : EXIT_FAILURE;
}
