/*
 * Which kernels make whole numbers that are not computed: who reads those is told so. Names as
 * PyTorch 2.14 registers them.
 */
#include <dlfcn.h>
#include <string.h>

#include "kernels.h"
#include "offsets.h"
#include "test.h"
#include "values.h"

#define AT "_ZN2at6native"
#define FLAT AT "29vectorized_elementwise_kernelILi4E"
#define POW                                                                                        \
    "ZNS0_51_GLOBAL__N__7b48bba2_12_PowKernel_cu_977e8e6d_5569629pow_tensor_scalar_kernel_impl"
#define POW_LONGS FLAT POW "IllEEvRNS_18TensorIteratorBaseET0_EUllE2_St5arrayIPcLm2EELb0EEEviS6_T1_"
#define POW_FLOATS                                                                                 \
    FLAT POW "IffEEvRNS_18TensorIteratorBaseET0_EUlfE2_St5arrayIPcLm2EELb0EEEviS6_T1_"
#define POW_STRIDED(letter)                                                                        \
    AT "18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastI" POW "I" letter letter       \
       "EEvRNS_18TensorIteratorBaseET0_EUl" letter "E2_EEvS6_RKT_EUliE_EEviT1_"
#define LESS_FLOATS                                                                                \
    AT "18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_13BinaryFunctorIfffNS0_1" \
       "5binary_internal10MulFunctorIfEEEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_"
#define REDUCE AT "13reduce_kernelILi512ELi1ENS0_8ReduceOpIf"
#define ARGMAX REDUCE "NS0_9ArgMaxOpsIfEEjlLi4ELi4EEEEEvT1_"
#define MAX_AND_WHERE REDUCE "NS0_6MaxOpsIfEEjfLi4ELi4EEEEEvT1_"
#define MEAN REDUCE "NS0_7MeanOpsIffffEEjfLi4ELi4EEEEEvT1_"
#define TOPK                                                                                       \
    AT "6sbtopk10gatherTopKIfmLi3ELb0EEEvNS_4cuda6detail10TensorInfoIKT_T0_EES8_S8_bS8_S8_NS5_IS6" \
       "_S8_EES8_NS5_IlS8_EES8_PS6_"

enum { IN = 1 << 20, OUT = 2 << 20, OTHER = 3 << 20 };

static const char function[1];
static const uint32_t one_block[3] = {1, 1, 1};

static void launch(const char *name, void **arguments)
{
    values_forget_all();
    values_block(IN, 512);
    values_block(OUT, 512);
    values_block(OTHER, 512);
    kernels_register(function, function, name);
    kernels_launch(function, one_block, arguments);
    kernels_unregister(function);
}

static void launch_flat(const char *name)
{
    int32_t count = 4;
    int64_t functor[4] = {2};
    uint64_t addresses[4] = {OUT, IN};
    launch(name, (void *[]){&count, functor, addresses});
}

static void launch_strided(const char *name)
{
    int32_t count = 4;
    char at[4096] = {0};
    const uint64_t addresses[] = {OUT, IN};
    memcpy(at + ((offsets_bytes(2) + 7) & ~7u), addresses, sizeof addresses);
    launch(name, (void *[]){&count, at});
}

static void launch_reduced(const char *name)
{
    char at[4096] = {0};
    const uint64_t addresses[] = {IN, OUT, OTHER};
    memcpy(at + 1536, addresses, sizeof addresses);
    launch(name, (void *[]){at});
}

TEST(of_whole_numbers_come_whole_numbers)
{
    launch_flat(POW_LONGS);
    CHECK(values_is_whole(OUT) && !values_is_whole(IN));
    launch_flat(POW_FLOATS);
    CHECK(!values_is_whole(OUT));
}

TEST(wherever_they_lie)
{
    launch_strided(POW_STRIDED("l"));
    CHECK(values_is_whole(OUT) && !values_is_whole(IN));
    launch_strided(POW_STRIDED("f"));
    CHECK(!values_is_whole(OUT) && !values_is_whole(IN));
    launch_strided(LESS_FLOATS); /* the index of the walk is an int */
    CHECK(!values_is_whole(OUT) && !values_is_whole(IN));
}

TEST(where_the_largest_stands_is_one)
{
    launch_reduced(ARGMAX);
    CHECK(values_is_whole(OUT) && !values_is_whole(IN) && !values_is_whole(OTHER));
    launch_reduced(MAX_AND_WHERE);
    CHECK(values_is_whole(OTHER) && !values_is_whole(IN) && !values_is_whole(OUT));
    launch_reduced(MEAN);
    CHECK(!values_is_whole(OUT) && !values_is_whole(IN) && !values_is_whole(OTHER));
}

TEST(so_are_indices_of_the_largest_few)
{
    struct {
        uint64_t at;
        char rest[416];
    } in = {IN, {0}}, out = {OUT, {0}}, indices = {OTHER, {0}};
    uint64_t number = 4, scratch = 0;
    void *arguments[] = {&in,  &number, &number,  &number, &number, &number,
                         &out, &number, &indices, &number, &scratch};
    if (!dlopen("libstdc++.so.6", RTLD_LAZY))
        SKIP("no C++ library, which makes names readable");
    launch(TOPK, arguments);
    CHECK(values_is_whole(OTHER) && !values_is_whole(OUT) && !values_is_whole(IN));
}

TEST(a_part_of_them_and_a_copy_are_such_too)
{
    launch_flat(POW_LONGS);
    CHECK(values_is_whole(OUT + 8));
    values_move(OTHER, OUT, 32);
    CHECK(values_is_whole(OTHER));
    values_block(OUT, 512);
    CHECK(!values_is_whole(OUT) && !values_is_whole(OUT + 8));
}

TEST(what_is_known_is_not_noted)
{
    values_block(OUT, 512);
    values_fill(OUT, 1, 64);
    values_note_whole(OUT);
    CHECK(!values_is_whole(OUT));
    values_note_whole(5 << 20); /* in no block */
    CHECK(!values_is_whole(5 << 20));
}

TEST_MAIN(TEST_CASE(of_whole_numbers_come_whole_numbers), TEST_CASE(wherever_they_lie),
          TEST_CASE(where_the_largest_stands_is_one), TEST_CASE(so_are_indices_of_the_largest_few),
          TEST_CASE(a_part_of_them_and_a_copy_are_such_too), TEST_CASE(what_is_known_is_not_noted))
