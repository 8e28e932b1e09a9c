/*
 * What optimizers count on the device: one launch for lists of tensors, numbers that have a block
 * of their own, and what of them is left when a library was called. Arguments are laid out by hand,
 * as PyTorch 2.6 and 2.14 do: the lists of the latter, with CUDA 13, have room for more.
 */
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernel_name.h"
#include "kernels.h"
#include "test.h"
#include "values.h"

#define RANDOM(lambda)                                                                             \
    "_ZN2at6native54_GLOBAL__N__d8ceb000_21_DistributionNormal_cu_0c5b6e8543distribution_elementw" \
    "ise_grid_stride_kernelIfLi4EfZNS1_27distribution_nullary_kernelIff6float4S3_fEEvS2_S3_"       \
    "EUlifE" lambda "_EEvlNS_15PhiloxCudaStateET1_T2_"
#define UPDATE_STATISTICS                                                                          \
    "_ZN2at6native49_GLOBAL__N__0edc5583_16_Normalization_cu_5c38458745unrolled_elementwise_"      \
    "kernel"                                                                                       \
    "_for_multi_outputsILi3EZZZNS1_34batch_norm_update_stats_and_invertERKNS_6TensorES5_S5_S5_ddl" \
    "ENKUlvE_clEvENKUlvE0_clEvEUlffffE_St5arrayIPcLm7EE23TrivialOffsetCalculatorILi4EjESC_"        \
    "ILi3EjEEEviT0_T1_T2_T3_"

#define X UINT64_C(0x7f0000000000)
#define BLOCK 512u

static const char functions[8]; /* their addresses stand for functions */

static void launch(const char *name, uint32_t blocks, void **arguments)
{
    REQUIRE(dlopen("libstdc++.so.6", RTLD_NOW)); /* which makes names readable */
    kernels_register(functions, functions, name);
    kernels_launch(functions, (const uint32_t[]){blocks, 1, 1}, arguments);
    kernels_unregister(functions);
}

static struct kernel kernel(const char *name)
{
    struct kernel kernel;
    kernel_of_name(name, &kernel);
    return kernel;
}

/* The number in block i; NaN: not known. */
static float at(uint64_t i)
{
    float value;
    return values_get(X + i * BLOCK, &value, sizeof value) ? value : NAN;
}

static void bring(uint64_t i, float value)
{
    values_bring(X + i * BLOCK, &value, sizeof value);
}

static void start(void)
{
    values_forget_all();
    for (uint64_t i = 0; i < 8; i++)
        values_block(X + i * BLOCK, BLOCK);
}

static char none;

TEST(outputs_are_forgotten_and_inputs_are_not)
{
    uint64_t addresses[] = {X, X + BLOCK, X + 2 * BLOCK, X + 3 * BLOCK, 0, 0, 0, X + 4 * BLOCK};
    int32_t count = 1;
    start();
    for (uint64_t i = 0; i < 5; i++)
        bring(i, (float)i);
    launch(UPDATE_STATISTICS, 1, (void *[]){&count, &none, addresses, &none, &none});
    CHECK(isnan(at(0)) && isnan(at(1)) && isnan(at(2)) && at(3) == 3 && at(4) == 4);
}

/* Behind the arguments lies what other launches left. */
TEST(random_numbers_are_written_where_the_lambda_says)
{
    struct {
        uint64_t out;
        int32_t stride;
        double mean, deviation;
        uint64_t left[32];
    } lambda = {.out = X, .left = {[4] = X + BLOCK}};
    struct {
        uint32_t offsets[102];
        uint64_t out, left[32];
    } strided = {.out = X + BLOCK, .left = {[4] = X + 2 * BLOCK}};
    uint64_t count = 1, state[4] = {0};
    start();
    for (uint64_t i = 0; i < 3; i++)
        bring(i, (float)i);
    CHECK(kernel(RANDOM("")).walk == WALK_RANDOM && kernel(RANDOM("0")).strided);
    launch(RANDOM(""), 1, (void *[]){&count, state, &none, &lambda});
    CHECK(isnan(at(0)) && at(1) == 1);
    launch(RANDOM("0"), 1, (void *[]){&count, state, &none, &strided});
    CHECK(isnan(at(1)) && at(2) == 2);
}

/* ---- libraries ---- */

TEST(a_library_forgets_a_number_that_it_is_led_to)
{
    float two[] = {2, 3};
    start();
    values_put_real(X, two, 4);
    values_put_real(X + BLOCK, two, 4);
    values_put_real(X + 2 * BLOCK, two, 8);     /* may be one number of 64 bits */
    values_put_real(X + 3 * BLOCK + 4, two, 4); /* in somebody's block */
    values_put(X + 4 * BLOCK, two, 4);
    CHECK(values_are_real(X + 3 * BLOCK + 4, 4) && values_are_real(X + 4 * BLOCK, 4));
    values_forget_led_to((const uint64_t[]){1, X + BLOCK, X + 4 * BLOCK}, 3);
    CHECK(at(0) == 2 && isnan(at(1)) && at(2) == 2 && at(4) == 2);
    CHECK(!values_are_real(X + 3 * BLOCK + 4, 4));
    values_move(X + 5 * BLOCK, X, 4);
    CHECK(values_are_real(X + 5 * BLOCK, 4));
    values_forget_reals();
    CHECK(isnan(at(0)) && isnan(at(5)) && at(4) == 2);
    CHECK(values_are_valid());
}

TEST_MAIN(TEST_CASE(outputs_are_forgotten_and_inputs_are_not),
          TEST_CASE(random_numbers_are_written_where_the_lambda_says),
          TEST_CASE(a_library_forgets_a_number_that_it_is_led_to))
