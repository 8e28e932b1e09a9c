/*
 * Kernels that bring and count elements, by the names that PyTorch 2.14 registers; what 2.6
 * calls otherwise stands beside it. Arguments are laid out by hand as the kernels take them.
 */
#include <dlfcn.h>
#include <string.h>

#include "kernel_name.h"
#include "kernels.h"
#include "test.h"
#include "values.h"

#define AT "_ZN2at6native"
#define CUB "_ZN14at_cuda_detail3cub6detail"
#define CAT                                                                                        \
    AT "40_GLOBAL__N__f1f992fe_8_Shape_cu_49f7391c35CatArrayBatchedCopy_alignedK_contigINS1_10Op"  \
       "aqueTypeILj8EEEjLi2ELi128ELi1ELi16EEEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_E" \
       "EENS1_16TensorSizeStrideIS8_Lj4EEEiS8_"
#define INDEX                                                                                      \
    AT "24index_elementwise_kernelILi128ELi4EZNS0_16gpu_index_kernelIZNS0_17index_kernel_implINS0" \
       "_10OpaqueTypeILi8EEEEEvRNS_18TensorIteratorBaseEN3c108ArrayRefIlEESA_EUlPcPKclE_EEvS7_SA_" \
       "SA_RKT_bEUliE_EEvlT1_"
#define SCATTER_FILL                                                                               \
    AT "34_scatter_gather_elementwise_kernelILi128ELi8EZNS0_34_cuda_scatter_fill_internal_kernel"  \
       "INS0_10OpaqueTypeILi8EEElEclINS0_12TensorAssignEEEvRNS_14TensorIteratorES4_lllRKT_EUliE_E" \
       "EviT1_"
#define SCATTER_ADD                                                                                \
    AT "34_scatter_gather_elementwise_kernelILi128ELi8EZNS0_36_cuda_scatter_gather_internal_kern"  \
       "elILb1EllEclINS0_9ReduceAddEEEvRNS_14TensorIteratorElllRKT_EUliE_EEviT1_"
#define ROWS AT "24vectorized_gather_kernelILi16ElEEvPcS2_PT0_illllb"
#define SCAN                                                                                       \
    CUB "4scan16DeviceScanKernelINS2_10policy_hubIilijN4cuda3std3__44plusIvEEE10Policy1000EPKiPl"  \
        "NS0_13ScanTileStateIiLb1EEES9_NS0_8NullTypeEjiLb0ESH_EEvT0_T1_T2_iT3_T4_T5_"
#define COLUMNS AT "28tensor_kernel_scan_outer_dimIljSt4plusIlEEEvPT_PKS4_jjjS4_T1_"
#define REPEAT "_Z19compute_cuda_kernelIlEvPKT_PKlPS0_ll"
#define UNRAVEL                                                                                    \
    AT "43_GLOBAL__N__a7e516da_10_Nonzero_cu_cba1aaa013write_indicesIlEEvPlNS1_10Tenso"            \
       "rDimsIT_EEiS5_S3_l"

#define X UINT64_C(0x7f0000000000)
#define Y (X + 4096)
#define OUT (X + 8192)

static const char functions[8]; /* their addresses stand for functions */

static void launch_rows(const char *name, uint32_t rows, void **arguments)
{
    REQUIRE(dlopen("libstdc++.so.6", RTLD_NOW)); /* which makes names readable */
    kernels_register(functions, functions, name);
    kernels_launch(functions, (uint32_t[]){1, rows, 1}, arguments);
    kernels_unregister(functions);
}

static void launch(const char *name, void **arguments)
{
    launch_rows(name, 1, arguments);
}

static int64_t long_at(uint64_t at, size_t index)
{
    int64_t value = -1;
    return values_get(at + 8 * index, &value, 8) ? value : INT64_MIN;
}

static void put_longs(uint64_t at, size_t count, const int64_t *longs)
{
    values_put(at, longs, 8 * count);
}

static void check_longs(uint64_t at, size_t count, const int64_t *want)
{
    for (size_t i = 0; i < count; i++)
        CHECK_INT(long_at(at, i), want[i]);
}
#define PUT(at, ...) put_longs(at, sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__})
#define SEE(at, ...) check_longs(at, sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__})
#define UNKNOWN INT64_MIN

TEST(two_are_joined_along_the_inner_dimension)
{
    struct {
        uint64_t at[128];
        uint32_t offset[128], size[128], elements[128];
        bool plain[128];
        uint32_t none[8];
    } inputs = {.at = {X, Y}, .offset = {0, 2}, .size = {2, 1}, .elements = {4, 2}};
    uint32_t out[8] = {2, 3, 0, 0, 3, 1, 0, 0}, stride = 1;
    uint64_t to = OUT;
    int32_t dimension = 1;
    void *arguments[] = {&to, &inputs, out, &dimension, &stride};
    values_forget_all();
    PUT(X, 1, 2, 3, 4);
    PUT(Y, 5, 6);
    launch_rows(CAT, 2, arguments);
    SEE(OUT, 1, 2, 5, 3, 4, 6);
    inputs.elements[1] = 0; /* an empty one changes nothing */
    launch_rows(CAT, 2, arguments);
    SEE(OUT, 1, 2, 5, 3, 4, 6);
    inputs.elements[1] = 2;
    values_forget(Y, 1); /* of one input nothing is known */
    launch_rows(CAT, 2, arguments);
    SEE(OUT, 1, 2, UNKNOWN, 3, 4, UNKNOWN);
}

/* A closure that begins with offsets of one dimension. */
static void put_offsets(uint32_t *words, uint32_t operands, uint32_t size, const uint32_t *strides)
{
    words[0] = 1;
    words[1] = size;
    memcpy(words + 76, strides, operands * sizeof *strides);
}

TEST(elements_are_picked_by_their_index)
{
    _Alignas(8) uint32_t closure[400] = {0};
    uint64_t *at = (uint64_t *)(void *)(closure + 152);
    int64_t count = 3;
    put_offsets(closure, 3, 3, (uint32_t[]){8, 0, 8});
    at[0] = OUT, at[1] = X, at[2] = 1, at[3] = Y, at[3 + 25] = 4, at[3 + 50] = 8;
    values_forget_all();
    PUT(X, 10, 11, 12, 13);
    PUT(Y, 3, -3, 0);
    launch(INDEX, (void *[]){&count, closure});
    SEE(OUT, 13, 11, 10);
    PUT(Y, 3, 4, 0); /* one is beyond the end: a GPU would stop there */
    launch(INDEX, (void *[]){&count, closure});
    SEE(OUT, UNKNOWN, UNKNOWN, UNKNOWN);
    SEE(X, 10, 11, 12, 13);
}

TEST(a_value_is_put_where_indices_say)
{
    _Alignas(8) uint32_t closure[256] = {0};
    uint64_t *at = (uint64_t *)(void *)(closure + 126);
    int32_t count = 2;
    put_offsets(closure, 2, 2, (uint32_t[]){0, 8});
    at[0] = Y, at[1] = 4, at[3] = OUT, at[4] = 1, at[5] = 4, at[6] = 7;
    values_forget_all();
    PUT(OUT, 1, 2, 3, 4);
    PUT(Y, 3, 1);
    launch(SCATTER_FILL, (void *[]){&count, closure});
    SEE(OUT, 1, 7, 3, 7);
    values_forget(Y, 1); /* nobody knows which one is written */
    launch(SCATTER_FILL, (void *[]){&count, closure});
    SEE(OUT, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
}

TEST(what_meets_in_one_place_is_added_up)
{
    _Alignas(8) uint32_t closure[256] = {0};
    uint64_t *at = (uint64_t *)(void *)(closure + 152);
    int32_t count = 3;
    put_offsets(closure, 3, 3, (uint32_t[]){0, 8, 8});
    at[0] = Y, at[1] = 2, at[3] = OUT, at[4] = 1, at[5] = 2, at[6] = X;
    values_forget_all();
    PUT(OUT, 0, 100);
    PUT(X, 1, 2, 4);
    PUT(Y, 1, 0, 1);
    launch(SCATTER_ADD, (void *[]){&count, closure});
    SEE(OUT, 2, 105);
}

TEST(rows_are_picked)
{
    uint64_t to = OUT, from = X, indices = Y, bytes = 16, size = 2, stride = 16;
    int32_t count = 2;
    bool negative = true;
    values_forget_all();
    PUT(X, 1, 2, 3, 4);
    PUT(Y, 1, 1);
    launch(ROWS,
           (void *[]){&to, &from, &indices, &count, &bytes, &size, &stride, &stride, &negative});
    SEE(OUT, 3, 4, 3, 4);
}

/* ---- sums and counts ---- */

TEST(a_sum_runs_along_and_widens)
{
    const int32_t x[] = {0, 1, 0, 1};
    uint64_t from = X, to = OUT, state = Y;
    int32_t tile = 0, count = 4;
    char none = 0;
    values_forget_all();
    values_put(X, x, sizeof x);
    launch(SCAN, (void *[]){&from, &to, &state, &tile, &none, &none, &count});
    SEE(OUT, 0, 1, 1, 2);
}

TEST(columns_have_sums_of_their_own)
{
    uint64_t from = X, to = OUT, zero = 0;
    uint32_t groups = 2, columns = 2, length = 2;
    char none = 0;
    values_forget_all();
    PUT(X, 1, 2, 3, 4, 5, 6, 7, 8);
    launch(COLUMNS, (void *[]){&to, &from, &groups, &columns, &length, &zero, &none});
    SEE(OUT, 1, 2, 4, 6, 5, 6, 12, 14);
}

TEST(each_index_is_repeated)
{
    uint64_t times = X, sums = Y, to = OUT, count = 3, length = 5;
    values_forget_all();
    PUT(X, 2, 0, 3);
    PUT(Y, 2, 2, 5);
    launch(REPEAT, (void *[]){&times, &sums, &to, &count, &length});
    SEE(OUT, 0, 0, 2, 2, 2);
    length = 4; /* the sums do not fit: nothing is written beyond the end */
    launch(REPEAT, (void *[]){&times, &sums, &to, &count, &length});
    SEE(OUT, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
}

TEST(flat_indices_become_one_for_each_dimension)
{
    uint64_t at = X, sizes[25] = {2, 3}, count = 2, total = 0, fill = 0;
    int32_t dimensions = 2;
    values_forget_all();
    PUT(X, 1, 5);
    launch(UNRAVEL, (void *[]){&at, sizes, &dimensions, &count, &total, &fill});
    SEE(X, 0, 1, 1, 2);
}

/* ---- what is another kernel than its name lets hope ---- */

TEST(a_kernel_with_fewer_arguments_is_not_read)
{
    uint64_t to = OUT, times = X;
    values_forget_all();
    PUT(OUT, 1);
    PUT(X, 1);
    launch("_Z19compute_cuda_kernelIlEvPKT_PS0_", (void *[]){&times, &to});
    SEE(OUT, UNKNOWN);
    SEE(X, 1);
}

TEST_MAIN(TEST_CASE(two_are_joined_along_the_inner_dimension),
          TEST_CASE(elements_are_picked_by_their_index),
          TEST_CASE(a_value_is_put_where_indices_say),
          TEST_CASE(what_meets_in_one_place_is_added_up), TEST_CASE(rows_are_picked),
          TEST_CASE(a_sum_runs_along_and_widens), TEST_CASE(columns_have_sums_of_their_own),
          TEST_CASE(each_index_is_repeated), TEST_CASE(flat_indices_become_one_for_each_dimension),
          TEST_CASE(a_kernel_with_fewer_arguments_is_not_read))
