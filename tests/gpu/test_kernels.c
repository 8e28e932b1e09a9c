/*
 * The kernels of train_step, run on the CPU as C, and compiled for GPUs by NVRTC where there is one
 * (it needs no GPU for that).
 */
#include "host_kernels.h"
#include "kernels.h"
#include "reference.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks are whole, so more threads run than there are numbers. */
enum { THREADS = 64 };

static void check_floats(const float *got, const float *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CHECK(fabsf(got[i] - want[i]) <= 1e-6f);
}

TEST(gather_and_scatter)
{
    const float table[6] = {1, 2, 3, 4, 5, 6};
    const int which[3] = {2, 0, 2};
    float rows[8] = {0, 0, 0, 0, 0, 0, 7, 7}, sum[6] = {0};
    RUN(THREADS, gather(3, 2, table, which, rows));
    check_floats(rows, (const float[]){5, 6, 1, 2, 5, 6, 7, 7}, 8);
    RUN(THREADS, scatter_add(3, 2, sum, which, rows));
    check_floats(sum, (const float[]){1, 2, 0, 0, 10, 12}, 6);
}

TEST(bias_goes_to_every_row)
{
    float rows[7] = {0, 0, 0, 1, 1, 1, 9};
    RUN(THREADS, add_bias(2, 3, rows, (const float[]){1, 2, 3}));
    check_floats(rows, (const float[]){1, 2, 3, 2, 3, 4, 9}, 7);
}

TEST(loss_is_picked)
{
    const float log_probability[6] = {-1, -2, -3, -4, -5, -6};
    const int target[2] = {2, 0};
    float loss[3] = {0, 0, 8}, gradient[7] = {9, 9, 9, 9, 9, 9, 9};
    RUN(THREADS, pick_loss(2, 3, log_probability, target, loss));
    check_floats(loss, (const float[]){3, 4, 8}, 3);
    RUN(THREADS, pick_gradient(2, 3, target, 0.5f, gradient));
    check_floats(gradient, (const float[]){0, 0, -0.5f, -0.5f, 0, 0, 9}, 7);
}

TEST(adam_is_that_of_the_reference)
{
    enum { COUNT = 40 };
    const struct ref_adam how = {0.01, 0.9, 0.999, 1e-8};
    float weight[COUNT], gradient[COUNT], first[COUNT] = {0}, second[COUNT] = {0};
    double want[COUNT], change[COUNT], m[COUNT] = {0}, v[COUNT] = {0};
    unsigned long long seed = 1;
    for (size_t i = 0; i < COUNT; i++)
        want[i] = (double)(weight[i] = ref_random(&seed));
    for (size_t step = 1; step <= 5; step++) {
        for (size_t i = 0; i < COUNT; i++)
            change[i] = (double)(gradient[i] = ref_random(&seed));
        ref_adam(&how, step, COUNT, want, change, m, v);
        RUN(THREADS, adam(COUNT, weight, gradient, first, second, 0.01f, 0.9f, 0.999f, 1e-8f,
                          1 - powf(0.9f, (float)step), 1 - powf(0.999f, (float)step)));
    }
    CHECK(ref_difference(weight, want, COUNT) < 1e-5);
}

/* Every kernel is in the text by its name. */
TEST(names_are_in_the_text)
{
    for (size_t i = 0; i < KERNEL_COUNT; i++) {
        char want[64];
        snprintf(want, sizeof want, "KERNEL %s(", kernel_names[i]);
        CHECK(strstr(kernels_text, want));
    }
}

/* An ELF file of machine code, for an H100 or H200 and for the oldest that CUDA 13 knows. */
TEST(nvrtc_compiles_them)
{
    const int capabilities[] = {90, 75};
    for (size_t i = 0; i < 2; i++) {
        size_t bytes = 0;
        char why[512];
        void *cubin = kernels_compile(capabilities[i], &bytes, why, sizeof why);
        if (!cubin && strncmp(why, "no NVRTC", 8) == 0)
            SKIP(why);
        if (!cubin)
            puts(why);
        REQUIRE(cubin && bytes > 1000);
        CHECK(memcmp(cubin, "\177ELF", 4) == 0);
        free(cubin);
    }
}

TEST_MAIN(TEST_CASE(gather_and_scatter), TEST_CASE(bias_goes_to_every_row),
          TEST_CASE(loss_is_picked), TEST_CASE(adam_is_that_of_the_reference),
          TEST_CASE(names_are_in_the_text), TEST_CASE(nvrtc_compiles_them))
