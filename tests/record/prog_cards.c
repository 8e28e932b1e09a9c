/*
 * prog_cards.c - a small CUDA program, which is started with and without a GPU of any kind: it
 * looks the runtime's calls up as a program does that links libcudart, says what it finds, and
 * takes steps.
 *
 *     prog_cards STEPS: 0 = only look; each step takes a millisecond or more
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tidemark.h"

static struct {
    int (*count)(int *);
    int (*set)(int);
    int (*info)(size_t *, size_t *);
    int (*take)(void **, size_t);
    int (*copy)(void *to, const void *from, size_t bytes, int kind);
    int (*workspace)(int, int, int, int, int, int, size_t *bytes);
} cuda;

static void find(void *call, const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found) {
        printf("no %s\n", name);
        exit(3);
    }
    memcpy(call, &found, sizeof found);
}

static void look_at_cards(void)
{
    int count = -1;
    size_t free_bytes, total;
    void *block;
    cuda.count(&count);
    printf("cards %d\n", count);
    for (int i = 0; i < count; i++) {
        cuda.set(i);
        cuda.info(&free_bytes, &total);
        printf("card %d has %zu\n", i, total);
        printf("half: %d\n", cuda.take(&block, total / 2));
        printf("all: %d\n", cuda.take(&block, total));
    }
    fflush(stdout);
}

/* A number of the device that nobody wrote, and what a library wants for itself. */
static void ask_for_what_is_not_known(void)
{
    void *block;
    int64_t number = 7;
    size_t bytes = 7;
    cuda.set(0);
    cuda.take(&block, sizeof number);
    cuda.copy(&number, block, sizeof number, 2);
    cuda.workspace(0, 0, 0, 0, 0, 0, &bytes);
    printf("number %d, bytes %d\n", (int)number, (int)bytes);
}

int main(int argc, char **argv)
{
    long steps = argc > 1 ? atol(argv[1]) : 0;
    const struct timespec pause = {0, 1000000};
    find(&cuda.count, "cudaGetDeviceCount");
    find(&cuda.set, "cudaSetDevice");
    find(&cuda.info, "cudaMemGetInfo");
    find(&cuda.take, "cudaMalloc");
    find(&cuda.copy, "cudaMemcpy");
    find(&cuda.workspace, "cudnnGetConvolutionForwardWorkspaceSize");
    look_at_cards();
    ask_for_what_is_not_known();
    for (long i = 0; i < steps; i++) {
        tidemark_step_begin((uint64_t)i);
        nanosleep(&pause, NULL);
        tidemark_step_end();
    }
    return steps ? 5 : 0;
}
