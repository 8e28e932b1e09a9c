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
#include "kernels.h"
#include "train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 256 };

const char *const part_names[PARTS] = {"embedding", "gru", "generator.weight", "generator.bias"};
const struct ref_adam train_adam = {.rate = 0.001, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};

size_t train_rows(const struct train *train)
{
    return train->options->length * train->options->batch;
}

static size_t logit_floats(const struct train *train)
{
    return train_rows(train) * train->options->vocabulary;
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

float *train_download(const struct train *train, enum part which, const struct tensor *tensor)
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
    size_t batch = options->batch, rows = train_rows(train);
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
    sim_new(&train->gpu.sim, tensor, train_rows(train) * sizeof *values);
    sim_tag(&train->gpu.sim, tensor, TIDEMARK_INPUT, "tokens");
    gpu_put(tensor->address, values, tensor->bytes);
}

static void load_batch(struct train *train)
{
    size_t rows = train_rows(train);
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
    GPU_BLAS(cublasSgemm(train->gpu.blas, CUBLAS_OP_T, CUBLAS_OP_N, words, (int)train_rows(train),
                         hidden, &one, gpu_floats(&train->part[WEIGHT].weight), hidden,
                         gpu_floats(&train->y), hidden, &zero, gpu_floats(&logits), words));
    launch_matrix(train, KERNEL_ADD_BIAS, train_rows(train), options->vocabulary, logits.address,
                  train->part[BIAS].weight.address, NULL);
    if (train->logits.address)
        sim_drop(&train->gpu.sim, &train->logits);
    train->logits = logits;
    sim_tag(&train->gpu.sim, &logits, TIDEMARK_ACTIVATION, "logits");
}

void train_forward(void *self)
{
    struct train *train = self;
    const struct options *options = train->options;
    struct sim *sim = &train->gpu.sim;
    size_t rows = train_rows(train);
    sim_new(sim, &train->x, rows * options->input * sizeof(float));
    launch_matrix(train, KERNEL_GATHER, rows, options->input, train->part[EMBEDDING].weight.address,
                  train->tokens.address, train->x.address);
    sim_new(sim, &train->y, rows * options->hidden * sizeof(float));
    sim_new(sim, &train->reserve, train->dnn.reserve_bytes);
    struct dnn_call call = for_dnn(train);
    dnn_forward(&train->gpu, &train->dnn, &call);
    make_logits(train);
}

void train_loss(void *self)
{
    struct train *train = self;
    struct sim *sim = &train->gpu.sim;
    float one = 1, zero = 0, sum;
    unsigned long long sizes[2] = {train_rows(train), train->options->vocabulary};
    sim_new(sim, &train->log_probabilities, train->logits.bytes);
    sim_tag(sim, &train->log_probabilities, TIDEMARK_ACTIVATION, "log-probabilities");
    GPU_DNN(cudnnSoftmaxForward(train->dnn.handle, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_INSTANCE,
                                &one, train->logits_are, train->logits.address, &zero,
                                train->logits_are, train->log_probabilities.address));
    sim_new(sim, &train->losses, train_rows(train) * sizeof(float));
    void *arguments[] = {&sizes[0], &sizes[1], &train->log_probabilities.address,
                         &train->targets.address, &train->losses.address};
    launch(train, KERNEL_PICK_LOSS, train_rows(train), arguments);
    GPU_BLAS(
        cublasSasum(train->gpu.blas, (int)train_rows(train), gpu_floats(&train->losses), 1, &sum));
    train->loss = (double)sum / (double)train_rows(train);
}

/* The gradient of the logits, in two steps of their size each. */
static void softmax_backward(struct train *train, struct tensor *of_logits)
{
    struct sim *sim = &train->gpu.sim;
    struct tensor picked = {0};
    unsigned long long sizes[2] = {train_rows(train), train->options->vocabulary};
    float one = 1, zero = 0, scale = 1 / (float)train_rows(train);
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
    int rows = (int)train_rows(train);
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
    launch_matrix(train, KERNEL_SCATTER_ADD, train_rows(train), options->input,
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
    float rate = (float)train_adam.rate, beta1 = (float)train_adam.beta1,
          beta2 = (float)train_adam.beta2;
    float epsilon = (float)train_adam.epsilon;
    float left1 = (float)(1 - pow(train_adam.beta1, train->step));
    float left2 = (float)(1 - pow(train_adam.beta2, train->step));
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
        {"memory", "look at the memory alone, not at what is computed", &options->memory},
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
                                       (int)train_rows(train), (int)options->vocabulary, 1, 1));
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

static bool run(struct train *train)
{
    static const struct sim_part parts[] = {{"zero_grad", zero_grad},
                                            {"forward", train_forward},
                                            {"loss", train_loss},
                                            {"backward", backward},
                                            {"optimizer", optimizer}};
    bool fine = true;
    gpu_title(&train->gpu);
    sim_part(&train->gpu.sim, "beginning", build, train);
    load_batch(train);
    for (uint64_t step = 0; step < train->options->steps; step++) {
        sim_step(&train->gpu.sim, step);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            sim_part(&train->gpu.sim, parts[i].name, parts[i].work, train);
            if (step == 0)
                fine = train_check(train, parts[i].name) && fine;
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
    if (options.memory && !options.csv)
        gpu_memory_alone();
    else if (!options.csv)
        printf("loss: %.6f in the first step, %.6f in the last%s\n", train->first_loss, train->loss,
               fell ? "" : ": it did not fall");
    int status = close_all(train);
    free(train);
    return fine && (fell || options.memory) ? status : EXIT_FAILURE;
}
