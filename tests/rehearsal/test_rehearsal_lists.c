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

#define LIST(space, data, functor, rest)                                                           \
    "_ZN2at6native" space "25multi_tensor_apply_kernelINS1_" data "ENS1_" functor "EEEJ" rest      \
    "EEEvT_T0_DpT1_"
#define SCALAR "57_GLOBAL__N__e658eeb9_24_ForeachBinaryOpScalar_cu_86b9896c"
#define LISTS "55_GLOBAL__N__d25d856e_22_ForeachBinaryOpList_cu_a911ec43"
#define NUMBERS "61_GLOBAL__N__538ad94b_28_ForeachBinaryOpScalarList_cu_dda10a69"
#define TENSOR "63_GLOBAL__N__7580b8de_30_ForeachBinaryOpScalarTensor_cu_64fe0ca5"
#define ONE "18TensorListMetadataILi1EE"
#define TWO "18TensorListMetadataILi2EE"
#define PLUS_ONE LIST(SCALAR, ONE, "21BinaryOpScalarFunctorIfLi1ELi1ELi0", "St4plusIfEf")
#define PLUS_ONE_LATER /* of 2.11 */                                                               \
    LIST(SCALAR "L", ONE, "21BinaryOpScalarFunctorIfLi1ELi1ELi0", "St4plusIfEf")
#define PLUS_LISTS LIST(LISTS, TWO, "24BinaryOpListAlphaFunctorIfLi2ELi2ELi0", "St4plusIfEf")
#define TIMES_NUMBERS                                                                              \
    LIST(NUMBERS, "28TensorListScalarListMetadataIfLi1EE",                                         \
         "25BinaryOpScalarListFunctorIfLi1ELi1ELi0", "St10multipliesIfE")
#define PLUS_TENSOR LIST(TENSOR, ONE, "27BinaryOpScalarTensorFunctorIfLi1ELi1ELi0", "St4plusIfEPff")
#define COPY_LISTS LIST(LISTS, TWO, "14UnaryOpFunctorIfLi2ELi1ELi1", "NS0_4CopyIffEE")
#define POWER                                                                                      \
    LIST(SCALAR, TWO, "21BinaryOpScalarFunctorIfLi2ELi1ELi1", "NS1_21reverse_power_functorIfEEf")
#define FUSED_ADAM                                                                                 \
    "_ZN2at6native51_GLOBAL__N__f7f2fd5f_18_fused_adam_impl_cu_454205f325multi_tensor_apply_"      \
    "kernelINS1_32FusedOptimizerTensorListMetadataILi4EEENS1_20FusedAdamMathFunctorIfLi4ELNS0_9"   \
    "ADAM_MODEE0ELb0EEEJPKfdddddbS9_S9_EEEvT_T0_DpT1_"
#define UNSCALE                                                                                    \
    "_ZN2at6native46_GLOBAL__N__1df100ae_13_AmpKernels_cu_3810c27325multi_tensor_apply_kernelINS1" \
    "_18TensorListMetadataILi1EEENS1_14UnaryOpFunctorIfLi1ELi1ELi0EEEJZZZNS0_47_amp_foreach_non"   \
    "_finite_check_and_unscale_cuda_EN3c108ArrayRefINS_6TensorEEERS9_RKS9_ENKUlvE_clEvENKUlvE0_"   \
    "clEvEUlfE_EEEvT_T0_DpT1_"
#define RANDOM(lambda)                                                                             \
    "_ZN2at6native54_GLOBAL__N__d8ceb000_21_DistributionNormal_cu_0c5b6e8543distribution_elementw" \
    "ise_grid_stride_kernelIfLi4EfZNS1_27distribution_nullary_kernelIff6float4S3_fEEvS2_S3_"       \
    "EUlifE" lambda "_EEvlNS_15PhiloxCudaStateET1_T2_"
#define FILL                                                                                       \
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0" \
    "_T1_"
#define EQUAL                                                                                      \
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIffbNS0_51_GLOBAL__N__28" \
    "ce311f_18_CompareEQKernel_cu_d8008c9616CompareEqFunctorIfEEEESt5arrayIPcLm3EEEEviT0_T1_"
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

/* ---- lists as they lie in a launch ---- */

struct one_list {
    uint64_t at[110], elements[110];
    uint8_t tensors[320];
    int32_t chunks[320], first;
};
struct two_lists {
    uint64_t at[2][64], elements[64];
    uint8_t tensors[320];
    int32_t chunks[320], first;
};
struct numbers {
    uint64_t at[96], elements[96];
    float numbers[96];
    uint8_t tensors[320];
    int32_t chunks[320];
};
struct steps {
    uint64_t at[4][36], elements[36], steps[36];
    uint8_t tensors[320];
    int32_t chunks[320], first;
};
struct long_list {
    uint64_t at[770], elements[770];
    uint16_t tensors[2240];
    int32_t chunks[2240], first;
};

/* Numbers in blocks 0 and 1, and one with more chunks than one behind. */
#define THREE(lists, list)                                                                         \
    do {                                                                                           \
        (lists).list[0] = X, (lists).list[1] = X + BLOCK, (lists).list[2] = X + (1 << 20);         \
        (lists).elements[0] = (lists).elements[1] = 1, (lists).elements[2] = 70000;                \
        (lists).tensors[1] = 1, (lists).tensors[2] = (lists).tensors[3] = 2;                       \
        (lists).chunks[3] = 1;                                                                     \
    } while (0)

static char none;

TEST(names_say_which_list_is_written)
{
    struct kernel it = kernel(PLUS_ONE);
    CHECK(it.walk == WALK_LISTS && it.lists == 1 && it.result == 1 && it.op == OP_PLUS);
    CHECK(it.form == FORM_SCALAR_RIGHT && it.output == 'f' && !it.numbers);
    it = kernel(PLUS_ONE_LATER);
    CHECK(it.walk == WALK_LISTS && it.lists == 1 && it.op == OP_PLUS);
    it = kernel(PLUS_LISTS);
    CHECK(it.lists == 2 && it.result == 1 && it.form == FORM_BINARY && it.inputs == 2);
    it = kernel(TIMES_NUMBERS);
    CHECK(it.lists == 1 && it.numbers && it.number == 'f' && it.op == OP_MULTIPLY);
    it = kernel(PLUS_TENSOR);
    CHECK(it.by_address && it.lists == 1 && it.form == FORM_SCALAR_RIGHT);
    it = kernel(COPY_LISTS);
    CHECK(it.form == FORM_COPY && it.lists == 2 && it.result == 2);
    it = kernel(POWER);
    CHECK(it.form == FORM_NONE && it.lists == 2 && it.result == 2 && !it.elsewhere);
    it = kernel(FUSED_ADAM);
    CHECK(it.form == FORM_NONE && it.lists == 4 && it.result == 0 && it.steps && !it.elsewhere);
    it = kernel(UNSCALE);
    CHECK(it.form == FORM_NONE && it.lists == 1 && it.elsewhere);
    it = kernel(UPDATE_STATISTICS);
    CHECK(it.walk == WALK_OUTPUTS && it.outputs == 3);
}

TEST(steps_are_counted)
{
    struct one_list lists = {0};
    float one = 1;
    start();
    THREE(lists, at);
    bring(0, 0);
    bring(1, 41);
    for (int i = 0; i < 2; i++) {
        launch(PLUS_ONE, 4, (void *[]){&lists, &none, &none, &one});
        values_forget_led_to((const uint64_t[]){X + 2 * BLOCK, 7}, 2); /* a product in between */
    }
    CHECK(at(0) == 2 && at(1) == 43);
}

TEST(lists_with_more_room_are_told_by_their_blocks)
{
    struct long_list near = {0};
    float one = 1;
    start();
    bring(0, 0);
    bring(1, 1);
    THREE(near, at);
    near.elements[109] = near.at[109] = X; /* of a launch before */
    for (size_t i = 110; i < 220; i++)
        near.at[i] = X + 3 * BLOCK;
    launch(PLUS_ONE, 4, (void *[]){&near, &none, &none, &one});
    CHECK(at(0) == 1 && at(1) == 2);
}

TEST(a_list_is_added_to_a_list)
{
    struct two_lists lists = {0};
    float alpha = 3;
    start();
    THREE(lists, at[0]);
    THREE(lists, at[1]);
    lists.at[1][0] = X + 2 * BLOCK, lists.at[1][1] = X + 3 * BLOCK;
    bring(0, 1);
    bring(1, 2);
    bring(2, 5);
    launch(PLUS_LISTS, 4, (void *[]){&lists, &none, &none, &alpha});
    CHECK(at(0) == 16 && at(2) == 5);
    CHECK(isnan(at(1))); /* of what was added nothing is known */
    launch(COPY_LISTS, 4, (void *[]){&lists, &none, &none});
    CHECK(at(2) == 16 && at(0) == 16 && isnan(at(3)));
}

TEST(numbers_stand_with_the_tensors_or_lie_on_the_device)
{
    struct numbers lists = {.numbers = {0.5F, 3}};
    struct one_list plain = {0};
    uint64_t address = X + 2 * BLOCK;
    float alpha = 2;
    start();
    THREE(lists, at);
    THREE(plain, at);
    bring(0, 3);
    bring(1, 4);
    launch(TIMES_NUMBERS, 4, (void *[]){&lists, &none, &none});
    CHECK(at(0) == 1.5F && at(1) == 12);
    bring(2, 10);
    launch(PLUS_TENSOR, 4, (void *[]){&plain, &none, &none, &address, &alpha});
    CHECK(at(0) == 21.5F && at(1) == 32 && at(2) == 10);
    values_forget(address, 4);
    launch(PLUS_TENSOR, 4, (void *[]){&plain, &none, &none, &address, &alpha});
    CHECK(isnan(at(0)));
}

TEST(what_is_not_computed_forgets_what_it_writes)
{
    struct two_lists lists = {0};
    struct steps fused = {.elements = {1}, .steps = {X + 4 * BLOCK}};
    float number = 2;
    start();
    THREE(lists, at[0]);
    THREE(lists, at[1]);
    lists.at[1][0] = X + 2 * BLOCK, lists.at[1][1] = X + 3 * BLOCK;
    for (uint64_t i = 0; i < 5; i++) {
        bring(i, (float)i);
        if (i < 4)
            fused.at[i][0] = X + i * BLOCK;
    }
    launch(POWER, 4, (void *[]){&lists, &none, &none, &number});
    CHECK(at(0) == 0 && at(1) == 1 && isnan(at(2)) && isnan(at(3)));
    launch(
        FUSED_ADAM, 1,
        (void *[]){&fused, &none, &none, &none, &none, &none, &none, &none, &none, &none, &none});
    CHECK(isnan(at(0)) && isnan(at(1)) && at(4) == 4);
}

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

/* ---- fills and masks ---- */

static void fill(uint64_t to, int32_t count, float value)
{
    launch(FILL, 1, (void *[]){&count, &value, &to});
}

TEST(a_fill_is_known_where_a_count_begins)
{
    start();
    fill(X, 1, 1);
    CHECK(at(0) == 1);
    fill(X, 1, 65536); /* a factor that nobody follows */
    CHECK(isnan(at(0)));
    fill(X, 2, 1);
    CHECK(isnan(at(0)));
}

TEST(masks_of_minus_infinity_are_compared)
{
    int32_t count = 4, which = 0;
    uint64_t to[] = {X + 2 * BLOCK, X, X + BLOCK};
    const float mask[] = {0, -INFINITY, 0, 1};
    uint8_t out[4];
    start();
    fill(X, 4, -INFINITY);
    values_bring(X + BLOCK, mask, sizeof mask);
    launch(EQUAL, 1, (void *[]){&count, &which, to});
    CHECK(values_get(X + 2 * BLOCK, out, 4) && memcmp(out, "\0\1\0\0", 4) == 0);
    which = 1;
    launch(EQUAL, 1, (void *[]){&count, &which, to});
    CHECK(values_get(X + 2 * BLOCK, out, 4) && memcmp(out, "\1\0\1\1", 4) == 0);
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

TEST(a_number_is_one_when_its_block_is_not_remembered_any_more)
{
    float two = 2;
    start();
    values_put(X, &two, 4);
    for (uint64_t i = 0; i < 200000; i++)
        values_block(X + ((1 + i) << 20), BLOCK);
    CHECK(values_are_real(X, 4));
    values_put_real(X, &two, 4);
    values_forget_led_to(NULL, 0);
    CHECK(at(0) == 2);
    values_block(X - BLOCK, 4 * BLOCK); /* it lies inside of another one now */
    CHECK(isnan(at(0)));
    values_put_real(X, &two, 4);
    values_forget_led_to(NULL, 0);
    CHECK(isnan(at(0)));
}

TEST_MAIN(TEST_CASE(names_say_which_list_is_written), TEST_CASE(steps_are_counted),
          TEST_CASE(lists_with_more_room_are_told_by_their_blocks),
          TEST_CASE(a_list_is_added_to_a_list),
          TEST_CASE(numbers_stand_with_the_tensors_or_lie_on_the_device),
          TEST_CASE(what_is_not_computed_forgets_what_it_writes),
          TEST_CASE(outputs_are_forgotten_and_inputs_are_not),
          TEST_CASE(random_numbers_are_written_where_the_lambda_says),
          TEST_CASE(a_fill_is_known_where_a_count_begins),
          TEST_CASE(masks_of_minus_infinity_are_compared),
          TEST_CASE(a_library_forgets_a_number_that_it_is_led_to),
          TEST_CASE(a_number_is_one_when_its_block_is_not_remembered_any_more))
