/*
 * ddp_buckets - what memory data-parallel training adds: buckets of gradients, on NCCL. README.md
 * says what to look at.
 *
 * Every rank has the model and a batch of its own, and after each backward all have the mean of
 * their gradients. Gradients are copied into buckets, which are sent as they fill. At first there
 * is one bucket as large as all gradients; in the second forward it goes, and buckets of the caps
 * come. With --bucket-view the gradients are views into the buckets and have no memory of their
 * own.
 *
 * NCCL reduces a bucket out of place, into a buffer that comes for the time of the call: with one
 * rank it would have nothing to do in place. --in-place takes the mean where the bucket is, which
 * is a kernel with one rank as well. --nccl-memory takes the buckets from ncclMemAlloc.
 *
 * Ranks are threads, each with a GPU of its own.
 */
#include "buckets.h"
#include "gpu.h"
#include "reference.h"

#include <math.h>
#include <nccl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS_MOST = 64 };

struct options {
    uint64_t layers, width, batch, steps, ranks, first_cap, cap;
    bool bucket_view, in_place, nccl_memory, no_check, memory, csv;
};

/* Shared by all ranks. */
struct job {
    struct options options;
    int rank_count;
    ncclUniqueId id;
};

/* One rank. A bucket is a tensor, or memory of NCCL's of which the allocator knows nothing.
 * Gradients have tensors of their own, or lie in their buckets. */
struct rank {
    struct gpu gpu;
    const struct job *job;
    int number;
    ncclComm_t comm;
    struct bucket_plan plan;
    struct tensor weights[BUCKETS_TENSORS_MOST], gradients[BUCKETS_TENSORS_MOST];
    struct tensor buckets[BUCKETS_TENSORS_MOST];
    struct tensor values[BUCKETS_LAYERS_MOST + 1]; /* what each layer is given, and the answer */
    struct tensor wanted, ones, squares;
    tidemark_heap_t nccl_heap;
    float *host_given, *host_wanted;
    double loss, first_loss;
    uint64_t nccl_bytes; /* of the device, gone while the ranks met */
    bool stepped;        /* a first time */
    bool rebuilt, fine;
};

#define GPU_NCCL(call) check_nccl((call), #call, __FILE__, __LINE__)
static void check_nccl(ncclResult_t result, const char *call, const char *file, int line)
{
    if (result != ncclSuccess)
        gpu_die(file, line, call, ncclGetErrorString(result));
}

static size_t floats_of_batch(const struct options *options)
{
    return options->batch * options->width;
}

/* ---- the model ---- */

/* The weights are the same on every rank: they come from one seed. */
static float *initial_weights(const struct options *options)
{
    unsigned long long seed = 1;
    float bound = sqrtf(3 / (float)options->width); /* what goes in and out is of one size */
    float *weights = sim_memory(mlp_count(options->layers, options->width), sizeof *weights);
    for (size_t tensor = 0; tensor < 2 * options->layers; tensor++) {
        float *at = weights + mlp_offset(options->width, tensor);
        size_t count = tensor % 2 ? options->width : options->width * options->width;
        for (size_t i = 0; i < count; i++)
            at[i] = ref_random(&seed) * bound;
    }
    return weights;
}

static void build(void *self)
{
    struct rank *rank = self;
    const struct options *options = &rank->job->options;
    float *weights = initial_weights(options), *ones = sim_memory(options->batch, sizeof *ones);
    for (size_t tensor = 0; tensor < rank->plan.tensor_count; tensor++) {
        char name[32];
        snprintf(name, sizeof name, "%zu.%s", tensor / 2, tensor % 2 ? "bias" : "weight");
        sim_new(&rank->gpu.sim, &rank->weights[tensor], rank->plan.tensor_bytes[tensor]);
        sim_tag(&rank->gpu.sim, &rank->weights[tensor], TIDEMARK_PARAMETER, name);
        gpu_put(rank->weights[tensor].address, weights + mlp_offset(options->width, tensor),
                rank->plan.tensor_bytes[tensor]);
    }
    for (size_t i = 0; i < options->batch; i++)
        ones[i] = 1;
    sim_new(&rank->gpu.sim, &rank->ones, options->batch * sizeof *ones);
    gpu_put(rank->ones.address, ones, rank->ones.bytes);
    free(weights);
    free(ones);
}

/* ---- buckets ---- */

static void new_bucket(struct rank *rank, size_t number)
{
    struct tensor *bucket = &rank->buckets[number];
    uint64_t bytes = rank->plan.bucket[number].bytes;
    char name[32];
    snprintf(name, sizeof name, "bucket %zu", number);
    if (!rank->job->options.nccl_memory) {
        sim_new(&rank->gpu.sim, bucket, bytes);
        sim_tag(&rank->gpu.sim, bucket, TIDEMARK_BUCKET, name);
    } else {
        bucket->bytes = bytes;
        GPU_NCCL(ncclMemAlloc(&bucket->address, bytes));
        tidemark_alloc(rank->nccl_heap, bucket->address, bytes);
        tidemark_tag(rank->nccl_heap, bucket->address, bytes, TIDEMARK_BUCKET, name);
    }
    gpu_zero(bucket);
}

static void drop_buckets(struct rank *rank)
{
    for (size_t i = 0; i < rank->plan.count; i++) {
        struct tensor *bucket = &rank->buckets[i];
        if (!bucket->address)
            continue;
        if (!rank->job->options.nccl_memory) {
            sim_drop(&rank->gpu.sim, bucket);
            continue;
        }
        GPU_CUDA(cudaDeviceSynchronize());
        tidemark_free(rank->nccl_heap, bucket->address);
        GPU_NCCL(ncclMemFree(bucket->address));
        *bucket = (struct tensor){0};
    }
}

static void new_buckets(struct rank *rank, uint64_t first_cap, uint64_t cap)
{
    const struct options *options = &rank->job->options;
    buckets_plan(&rank->plan, options->layers, options->width, first_cap, cap);
    for (size_t i = 0; i < rank->plan.count; i++)
        new_bucket(rank, i);
}

/* One bucket for all: its cap is never reached before the end. */
static void wrap(void *self)
{
    new_buckets(self, UINT64_MAX, UINT64_MAX);
}

static void rebuild_buckets(struct rank *rank)
{
    const struct options *options = &rank->job->options;
    drop_buckets(rank);
    new_buckets(rank, options->first_cap, options->cap);
    rank->rebuilt = true;
}

static float *bucket_part(const struct rank *rank, size_t tensor)
{
    return gpu_floats(&rank->buckets[rank->plan.bucket_of[tensor]]) +
           rank->plan.offset[tensor] / sizeof(float);
}

static float *gradient_of(struct rank *rank, size_t tensor)
{
    if (rank->job->options.bucket_view)
        return bucket_part(rank, tensor);
    if (!rank->gradients[tensor].address) {
        sim_new(&rank->gpu.sim, &rank->gradients[tensor], rank->plan.tensor_bytes[tensor]);
        sim_tag(&rank->gpu.sim, &rank->gradients[tensor], TIDEMARK_GRADIENT, "gradient");
    }
    return gpu_floats(&rank->gradients[tensor]);
}

/* The mean over all ranks. */
static void reduce(struct rank *rank, size_t number)
{
    struct tensor *bucket = &rank->buckets[number], reduced = {0};
    size_t count = bucket->bytes / sizeof(float);
    float share = 1 / (float)rank->job->rank_count;
    if (rank->job->options.in_place) {
        GPU_NCCL(ncclAllReduce(bucket->address, bucket->address, count, ncclFloat, ncclAvg,
                               rank->comm, NULL));
        return;
    }
    sim_new(&rank->gpu.sim, &reduced, bucket->bytes);
    sim_tag(&rank->gpu.sim, &reduced, TIDEMARK_WORKSPACE, "reduced");
    GPU_NCCL(ncclAllReduce(bucket->address, reduced.address, count, ncclFloat, ncclSum, rank->comm,
                           NULL));
    gpu_copy(bucket->address, reduced.address, bucket->bytes);
    GPU_BLAS(cublasSscal(rank->gpu.blas, (int)count, &share, gpu_floats(bucket), 1));
    sim_drop(&rank->gpu.sim, &reduced);
}

/* What a gradient goes through when it is there: into its bucket, and out with the bucket. */
static void ready(struct rank *rank, size_t tensor)
{
    bool view = rank->job->options.bucket_view;
    size_t number = rank->plan.bucket_of[tensor];
    const struct bucket *bucket = &rank->plan.bucket[number];
    if (!view)
        gpu_copy(bucket_part(rank, tensor), gradient_of(rank, tensor),
                 rank->plan.tensor_bytes[tensor]);
    if (tensor != bucket->last)
        return;
    reduce(rank, number);
    for (size_t i = bucket->first + 1; !view && i-- > bucket->last;)
        gpu_copy(gradient_of(rank, i), bucket_part(rank, i), rank->plan.tensor_bytes[i]);
}

/* ---- the phases ---- */

static void zero_grad(void *self)
{
    struct rank *rank = self;
    for (size_t i = 0; i < rank->plan.tensor_count; i++)
        if (rank->gradients[i].address)
            sim_drop(&rank->gpu.sim, &rank->gradients[i]);
}

static void new_values(struct rank *rank, struct tensor *tensor)
{
    sim_new(&rank->gpu.sim, tensor, floats_of_batch(&rank->job->options) * sizeof(float));
}

/* Rows are the columns of BLAS: answer [batch][width] = given * weight^T + ones * bias. */
static void forward(void *self)
{
    struct rank *rank = self;
    const struct options *options = &rank->job->options;
    int width = (int)options->width, batch = (int)options->batch;
    float one = 1, zero = 0;
    if (rank->stepped && !rank->rebuilt)
        rebuild_buckets(rank);
    new_values(rank, &rank->values[0]);
    gpu_put(rank->values[0].address, rank->host_given, rank->values[0].bytes);
    for (size_t layer = 0; layer < options->layers; layer++) {
        float *answer;
        new_values(rank, &rank->values[layer + 1]);
        answer = gpu_floats(&rank->values[layer + 1]);
        GPU_BLAS(cublasSgemm(rank->gpu.blas, CUBLAS_OP_N, CUBLAS_OP_N, width, batch, 1, &one,
                             gpu_floats(&rank->weights[2 * layer + 1]), width,
                             gpu_floats(&rank->ones), 1, &zero, answer, width));
        GPU_BLAS(cublasSgemm(rank->gpu.blas, CUBLAS_OP_T, CUBLAS_OP_N, width, batch, width, &one,
                             gpu_floats(&rank->weights[2 * layer]), width,
                             gpu_floats(&rank->values[layer]), width, &one, answer, width));
    }
}

static void loss(void *self)
{
    struct rank *rank = self;
    const struct options *options = &rank->job->options;
    int count = (int)floats_of_batch(options);
    float minus = -1, norm;
    struct tensor *answer = &rank->values[options->layers];
    new_values(rank, &rank->wanted);
    gpu_put(rank->wanted.address, rank->host_wanted, rank->wanted.bytes);
    new_values(rank, &rank->squares);
    gpu_copy(rank->squares.address, answer->address, answer->bytes);
    GPU_BLAS(cublasSaxpy(rank->gpu.blas, count, &minus, gpu_floats(&rank->wanted), 1,
                         gpu_floats(&rank->squares), 1));
    GPU_BLAS(cublasSnrm2(rank->gpu.blas, count, gpu_floats(&rank->squares), 1, &norm));
    rank->loss = (double)norm * (double)norm / count;
}

/* From `change`, the gradient of a layer's answer, those of its weight, its bias and its input. */
static void layer_backward(struct rank *rank, size_t layer, const float *change, float *below)
{
    const struct options *options = &rank->job->options;
    int width = (int)options->width, batch = (int)options->batch;
    float one = 1, zero = 0;
    const float *given = gpu_floats(&rank->values[layer]);
    GPU_BLAS(cublasSgemv(rank->gpu.blas, CUBLAS_OP_N, width, batch, &one, change, width,
                         gpu_floats(&rank->ones), 1, &zero, gradient_of(rank, 2 * layer + 1), 1));
    ready(rank, 2 * layer + 1);
    GPU_BLAS(cublasSgemm(rank->gpu.blas, CUBLAS_OP_N, CUBLAS_OP_T, width, width, batch, &one, given,
                         width, change, width, &zero, gradient_of(rank, 2 * layer), width));
    ready(rank, 2 * layer);
    if (below)
        GPU_BLAS(cublasSgemm(rank->gpu.blas, CUBLAS_OP_N, CUBLAS_OP_N, width, batch, width, &one,
                             gpu_floats(&rank->weights[2 * layer]), width, change, width, &zero,
                             below, width));
}

static void backward(void *self)
{
    struct rank *rank = self;
    struct sim *sim = &rank->gpu.sim;
    const struct options *options = &rank->job->options;
    int count = (int)floats_of_batch(options);
    float scale = 2 / (float)count;
    struct tensor change = rank->squares;
    rank->squares = (struct tensor){0};
    GPU_BLAS(cublasSscal(rank->gpu.blas, count, &scale, gpu_floats(&change), 1));
    for (size_t layer = options->layers; layer-- > 0;) {
        struct tensor below = {0};
        if (layer)
            new_values(rank, &below);
        layer_backward(rank, layer, gpu_floats(&change), below.address);
        sim_drop(sim, &change);
        sim_drop(sim, &rank->values[layer + 1]);
        change = below;
    }
    sim_drop(sim, &rank->values[0]);
    sim_drop(sim, &rank->wanted);
}

static void optimizer(void *self)
{
    struct rank *rank = self;
    float rate = -0.01f;
    for (size_t i = 0; i < rank->plan.tensor_count; i++)
        GPU_BLAS(cublasSaxpy(rank->gpu.blas, (int)(rank->plan.tensor_bytes[i] / sizeof(float)),
                             &rate, gradient_of(rank, i), 1, gpu_floats(&rank->weights[i]), 1));
}

/* ---- the check ---- */

/* A rank's batch, from a seed of its own. */
static void make_batch(const struct options *options, int rank, float **given, float **wanted)
{
    unsigned long long seed = 100 + (unsigned long long)rank;
    *given = gpu_random(floats_of_batch(options), 1, &seed);
    *wanted = gpu_random(floats_of_batch(options), 1, &seed);
}

/* The mean of the gradients of all ranks with these weights, computed here. */
static double *mean_gradients(const struct job *job, const double *weights)
{
    const struct options *options = &job->options;
    double *sum = sim_memory(mlp_count(options->layers, options->width), sizeof *sum);
    for (int rank = 0; rank < job->rank_count; rank++) {
        float *given, *wanted;
        double unused = 0;
        make_batch(options, rank, &given, &wanted);
        double *x = gpu_doubles(given, floats_of_batch(options));
        double *y = gpu_doubles(wanted, floats_of_batch(options));
        if (!mlp_gradients(options->layers, options->width, options->batch, weights, x, y,
                           1.0 / job->rank_count, &unused, sum))
            gpu_die(__FILE__, __LINE__, "mlp_gradients", "out of memory");
        free(given);
        free(wanted);
        free(x);
        free(y);
    }
    return sum;
}

/* The gradients of the first step, when the weights are still known. */
static bool check_gradients(struct rank *rank)
{
    const struct options *options = &rank->job->options;
    size_t count = mlp_count(options->layers, options->width);
    float *initial = initial_weights(options), *got = sim_memory(count, sizeof *got);
    double *weights = gpu_doubles(initial, count);
    double *want = mean_gradients(rank->job, weights);
    for (size_t i = 0; i < rank->plan.tensor_count; i++)
        gpu_get(got + mlp_offset(options->width, i), gradient_of(rank, i),
                rank->plan.tensor_bytes[i]);
    bool fine = gpu_compare("mean of the gradients", got, want, count);
    free(initial);
    free(got);
    free(weights);
    free(want);
    return fine;
}

/* ---- the program ---- */

static void phase(struct rank *rank, const char *name, void (*work)(void *rank))
{
    sim_phase(name, work, rank);
    if (rank->number == 0)
        sim_row(&rank->gpu.sim, name);
}

static void train(struct rank *rank)
{
    const struct options *options = &rank->job->options;
    phase(rank, "built", build);
    phase(rank, "wrapped", wrap);
    for (uint64_t step = 0; step < options->steps; step++) {
        sim_step(&rank->gpu.sim, step);
        phase(rank, "zero_grad", zero_grad);
        phase(rank, "forward", forward);
        phase(rank, "loss", loss);
        phase(rank, "backward", backward);
        if (step == 0) {
            rank->first_loss = rank->loss;
            if (rank->number == 0 && !options->no_check && !options->memory && !options->csv)
                rank->fine = check_gradients(rank);
        }
        phase(rank, "optimizer", optimizer);
        rank->stepped = true;
    }
    tidemark_step_end();
    zero_grad(rank);
}

static void meet(struct rank *rank)
{
    uint64_t before = gpu_used();
    GPU_NCCL(ncclCommInitRank(&rank->comm, rank->job->rank_count, rank->job->id, rank->number));
    rank->nccl_bytes = gpu_used() - before;
    if (rank->job->options.nccl_memory)
        rank->nccl_heap = tidemark_heap_open(TIDEMARK_DEVICE_CUDA, rank->number, "ncclMemAlloc");
}

static void drop_all(struct rank *rank)
{
    drop_buckets(rank);
    sim_drop(&rank->gpu.sim, &rank->ones);
    for (size_t i = 0; i < rank->plan.tensor_count; i++)
        sim_drop(&rank->gpu.sim, &rank->weights[i]);
    free(rank->host_given);
    free(rank->host_wanted);
}

static void *run_rank(void *self)
{
    struct rank *rank = self;
    const struct options *options = &rank->job->options;
    rank->fine = true;
    gpu_open(&rank->gpu, "ddp_buckets", rank->number);
    rank->gpu.sim.csv = options->csv;
    if (rank->number == 0)
        gpu_title(&rank->gpu);
    buckets_plan(&rank->plan, options->layers, options->width, UINT64_MAX, UINT64_MAX);
    make_batch(options, rank->number, &rank->host_given, &rank->host_wanted);
    meet(rank);
    train(rank);
    GPU_CUDA(cudaDeviceSynchronize());
    drop_all(rank);
    GPU_NCCL(ncclCommDestroy(rank->comm));
    if (gpu_close(&rank->gpu) != EXIT_SUCCESS ||
        (!options->memory && !(rank->loss < rank->first_loss)))
        rank->fine = false;
    return NULL;
}

static void parse(int argc, char **argv, struct options *options)
{
    *options = (struct options){.layers = 12,
                                .width = 1024,
                                .batch = 32,
                                .steps = 3,
                                .ranks = 1,
                                .first_cap = 1 << 20,
                                .cap = 25 << 20};
    const struct sim_option numbers[] = {
        {"layers", "linear layers", 1, BUCKETS_LAYERS_MOST, false, &options->layers},
        {"width", "of a layer", 1, 1 << 13, false, &options->width},
        {"batch", "rows in a batch", 1, 1 << 12, false, &options->batch},
        {"steps", "training steps", 2, 1000000, false, &options->steps},
        {"ranks", "ranks, each with a GPU", 1, RANKS_MOST, false, &options->ranks},
        {"first-cap", "bytes that close the first bucket", 1, 1 << 30, true, &options->first_cap},
        {"cap", "bytes that close the others", 1, 1 << 30, true, &options->cap},
    };
    const struct sim_flag flags[] = {
        {"bucket-view", "gradients are views into the buckets", &options->bucket_view},
        {"in-place", "reduce each bucket in place", &options->in_place},
        {"nccl-memory", "buckets from ncclMemAlloc", &options->nccl_memory},
        {"no-check", "do not compute it on the CPU too", &options->no_check},
        {"memory", "look at the memory alone, not at what is computed", &options->memory},
        {"csv", "bytes, with commas between", &options->csv},
    };
    sim_options(argc, argv, "Data-parallel training with buckets of gradients, on NCCL.", numbers,
                sizeof numbers / sizeof *numbers, flags, sizeof flags / sizeof *flags);
}

static bool run_all(const struct job *job, struct rank *ranks)
{
    pthread_t threads[RANKS_MOST];
    bool fine = true;
    for (int i = 0; i < job->rank_count; i++) {
        ranks[i].job = job;
        ranks[i].number = i;
        if (pthread_create(&threads[i], NULL, run_rank, &ranks[i]) != 0)
            gpu_die(__FILE__, __LINE__, "pthread_create", "no thread for a rank");
    }
    for (int i = 0; i < job->rank_count; i++) {
        pthread_join(threads[i], NULL);
        fine = fine && ranks[i].fine;
    }
    return fine;
}

static void print_findings(const struct rank *rank)
{
    int version = 0;
    GPU_NCCL(ncclGetVersion(&version));
    printf("buckets at the end: %zu, with %llu bytes of gradients; NCCL %d took %.1f MiB of the "
           "device when the ranks met\n",
           rank->plan.count, (unsigned long long)buckets_total(&rank->plan), version,
           (double)rank->nccl_bytes / (1 << 20));
    if (rank->job->options.memory) {
        gpu_memory_alone();
        return;
    }
    printf("loss: %.9f in the first step, %.9f in the last%s\n", rank->first_loss, rank->loss,
           rank->loss < rank->first_loss ? "" : ": it did not fall");
}

int main(int argc, char **argv)
{
    struct job job = {.rank_count = 1};
    parse(argc, argv, &job.options);
    int count = gpu_count("ddp_buckets");
    job.rank_count = (int)job.options.ranks;
    if (count < job.rank_count) {
        printf("ddp_buckets: no GPU for each rank: there are %d, wanted %d\n", count,
               job.rank_count);
        return GPU_NONE;
    }
    GPU_NCCL(ncclGetUniqueId(&job.id));
    struct rank *ranks = sim_memory((size_t)job.rank_count, sizeof *ranks);
    bool fine = run_all(&job, ranks);
    if (!job.options.csv)
        print_findings(&ranks[0]);
    free(ranks);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
