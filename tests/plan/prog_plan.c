/*
 * prog_plan.c - a small CUDA program with a size, for `tidemark plan`: it takes memory from the
 * runtime that it finds, as a program does that links libcudart, and reports its blocks itself.
 *
 *     prog_plan SIZE [LENGTH] [WORDS]
 *
 * 100 MiB of parameters, and in each step 20 MiB of activations for each of SIZE x LENGTH, and
 * 2 MiB for each SIZE x LENGTH x LENGTH. All are whole pages of a GPU. Words:
 *     forever     it never ends by itself; otherwise three steps
 *     half        activations are half as large
 *     $SIZE       size is taken from the environment
 *     few=N       from size N on no step runs
 *     behind      behind the steps 1 GiB is taken and given back, and then 2 GiB are wanted
 *     ill=N       from size N on it ends with status 9, and says why
 *     small=N     below size N its first step ends it with status 9, and it says why
 *     goes-on     a refusal is reported, and the program ends well all the same
 *     silent      a refusal is not reported, but printed
 *     slow        a step takes a while
 *     host        no GPU is asked for: the blocks are the CPU's
 *     unseen      memory of the GPU is taken and reported by nobody
 *     both        beside the GPU's there is a block of the CPU's
 *     odd         a block for which no polynomial is right
 *     sizes       before the steps it reads a size from the GPU, as PyTorch's nonzero does
 *     numbers     likewise a whole number
 *     libraries   likewise it asks cuDNN for a workspace
 *     models      likewise for one of a size that a formula has
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tidemark.h"

#define MIB ((size_t)1 << 20)
#define MOST 4

static struct {
    int (*take)(void **, size_t);
    int (*give)(void *);
    int (*copy)(void *to, const void *from, size_t bytes, int kind);
    int (*workspace)(int, int, int, int, int, int, size_t *bytes);
    int (*states)(void *, size_t *bytes);
} cuda;

static struct {
    size_t size, length, ill, few, small;
    bool forever, half, goes_on, silent, slow, host, unseen, both, odd, sizes, numbers, libraries,
        models, behind;
} options = {.length = 1};

static tidemark_heap_t heap;

static void find(void *call, const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found) {
        printf("no %s\n", name);
        exit(3);
    }
    memcpy(call, &found, sizeof found);
}

static void refuse(size_t bytes)
{
    if (!options.silent)
        tidemark_oom(heap, bytes, TIDEMARK_SITE());
    printf("CUDA out of memory: %zu bytes\n", bytes);
    fflush(stdout);
    if (!options.goes_on)
        exit(1);
}

/* Addresses for a host without memory: nobody touches them. */
static void *host_address(size_t bytes)
{
    static uintptr_t next = (uintptr_t)1 << 44;
    void *at = (void *)next;
    next += bytes;
    return at;
}

static void *take(size_t bytes, tidemark_site_t site)
{
    void *block = NULL;
    if (options.host)
        block = host_address(bytes);
    else if (cuda.take(&block, bytes) != 0) {
        refuse(bytes);
        return NULL;
    }
    if (!options.host)
        tidemark_segment_alloc(heap, block, bytes);
    tidemark_alloc_at(heap, block, bytes, site);
    return block;
}

static void give(void *block)
{
    if (!block)
        return;
    tidemark_free(heap, block);
    if (options.host)
        return;
    tidemark_segment_free(heap, block);
    cuda.give(block);
}

static void step(void)
{
    const struct timespec pause = {0, options.slow ? 300000000 : 1000000};
    size_t cells = options.size * options.length;
    tidemark_phase_begin("forward");
    if (options.size < options.small) {
        printf("a size of %zu is too small\n", options.size);
        exit(9);
    }
    void *line = take(cells * 20 * MIB / (options.half ? 2 : 1), TIDEMARK_SITE());
    void *square = take(cells * options.length * 2 * MIB, TIDEMARK_SITE());
    void *odd =
        options.odd ? take((options.size * options.size % 7 + 1) * 2 * MIB, TIDEMARK_SITE()) : NULL;
    give(odd);
    give(square);
    give(line);
    tidemark_phase_end("forward");
    nanosleep(&pause, NULL);
}

static int64_t read_from_gpu(void)
{
    int64_t number = 7;
    void *block = NULL;
    cuda.take(&block, sizeof number);
    cuda.copy(&number, block, sizeof number, 2);
    cuda.give(block);
    return number;
}

/* Of the name that PyTorch's dispatcher has for it: who reads is seen by that. */
__attribute__((noinline, visibility("default"))) int64_t
nonzero(void) __asm__("_ZN2at4_ops7nonzero4callERKNS_6TensorE");

int64_t nonzero(void)
{
    int64_t number = read_from_gpu();
    __asm__ volatile("" : "+r"(number)); /* no tail call: the frame stays */
    return number;
}

static void read_what_is_not_computed(void)
{
    size_t bytes = 7;
    find(&cuda.copy, "cudaMemcpy");
    find(&cuda.workspace, "cudnnGetConvolutionForwardWorkspaceSize");
    find(&cuda.states, "cudnnDropoutGetStatesSize");
    if (options.sizes)
        printf("size %d\n", (int)nonzero());
    if (options.numbers)
        printf("number %d\n", (int)read_from_gpu());
    if (options.libraries && cuda.workspace(0, 0, 0, 0, 0, 0, &bytes) == 0)
        printf("bytes %zu\n", bytes);
    if (options.models && cuda.states(NULL, &bytes) == 0)
        printf("states %zu\n", bytes);
}

static void read_word(const char *word)
{
    if (strncmp(word, "ill=", 4) == 0)
        options.ill = (size_t)strtoul(word + 4, NULL, 10);
    else if (strncmp(word, "few=", 4) == 0)
        options.few = (size_t)strtoul(word + 4, NULL, 10);
    else if (strncmp(word, "small=", 6) == 0)
        options.small = (size_t)strtoul(word + 6, NULL, 10);
    options.forever |= strcmp(word, "forever") == 0;
    options.half |= strcmp(word, "half") == 0;
    options.goes_on |= strcmp(word, "goes-on") == 0;
    options.silent |= strcmp(word, "silent") == 0;
    options.slow |= strcmp(word, "slow") == 0;
    options.host |= strcmp(word, "host") == 0;
    options.unseen |= strcmp(word, "unseen") == 0;
    options.both |= strcmp(word, "both") == 0;
    options.odd |= strcmp(word, "odd") == 0;
    options.sizes |= strcmp(word, "sizes") == 0;
    options.numbers |= strcmp(word, "numbers") == 0;
    options.libraries |= strcmp(word, "libraries") == 0;
    options.behind |= strcmp(word, "behind") == 0;
    options.models |= strcmp(word, "models") == 0;
    if (strcmp(word, "$SIZE") == 0 && getenv("SIZE"))
        options.size = (size_t)strtoul(getenv("SIZE"), NULL, 10);
}

/* As a validation has its own batch. */
static void validate(void)
{
    tidemark_phase_begin("validation");
    give(take(1024 * MIB, TIDEMARK_SITE()));
    give(take(2048 * MIB, TIDEMARK_SITE()));
    tidemark_phase_end("validation");
}

int main(int argc, char **argv)
{
    options.size = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 1;
    if (argc > 2 && argv[2][0] >= '0' && argv[2][0] <= '9')
        options.length = (size_t)strtoul(argv[2], NULL, 10);
    for (int i = 1; i < argc; i++)
        read_word(argv[i]);
    if (options.ill && options.size >= options.ill) {
        printf("a size of %zu makes me ill\n", options.size);
        return 9;
    }
    if (!options.host) {
        find(&cuda.take, "cudaMalloc");
        find(&cuda.give, "cudaFree");
    }
    void *block;
    if (options.unseen)
        return cuda.take(&block, MIB);
    if (options.sizes || options.numbers || options.libraries || options.models)
        read_what_is_not_computed();
    heap = tidemark_heap_open(options.host ? TIDEMARK_DEVICE_CPU : TIDEMARK_DEVICE_CUDA, 0, "own");
    if (options.both)
        tidemark_alloc_at(tidemark_heap_open(TIDEMARK_DEVICE_CPU, 0, "host"), host_address(MIB),
                          MIB, TIDEMARK_SITE());
    void *parameters = take(100 * MIB, TIDEMARK_SITE());
    bool few = options.few && options.size >= options.few;
    for (uint64_t i = 0; !few && (options.forever || i < 3); i++) {
        tidemark_step_begin(i);
        step();
        tidemark_step_end();
    }
    if (options.behind)
        validate();
    give(parameters);
    return 0;
}
