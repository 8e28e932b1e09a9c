/*
 * Kernels of PyTorch by their names, and what is computed of them. The names are those that PyTorch
 * 2.6 and 2.14 register; arguments are laid out by hand as its kernels take them.
 */
#include <math.h>
#include <string.h>

#include "kernel_name.h"
#include "kernels.h"
#include "offsets.h"
#include "parameters.h"
#include "test.h"
#include "values.h"

#define AT "_ZN2at6native"
#define FLAT AT "29vectorized_elementwise_kernelILi4E"
#define EQUAL_LONGS                                                                                \
    FLAT "NS0_13AUnaryFunctorIllbNS0_51_GLOBAL__N__2c6848b7_18_CompareEQKernel_cu_d8008c96_37"     \
         "916CompareEqFunctorIlEEEESt5arrayIPcLm2EELb0EEEviT0_T1_"
#define FILL_LONGS FLAT "NS0_11FillFunctorIlEESt5arrayIPcLm1EEEEviT0_T1_"
#define FILL_FLOATS FLAT "NS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_"
#define MULTIPLY_FLOATS                                                                            \
    FLAT "NS0_13BinaryFunctorIfffNS0_15binary_internal10MulFunctorIfEEEESt5arrayIPcLm3EEEEviT0_"   \
         "T1_"
#define EQUAL_FLOATS                                                                               \
    FLAT "NS0_13BinaryFunctorIffbNS0_51_GLOBAL__N__2c6848b7_18_CompareEQKernel_cu_d8008c96_37916C" \
         "ompareEqFunctorIfEEEESt5arrayIPcLm3EEEEviT0_T1_"
#define EQUAL_FLOAT                                                                                \
    FLAT "NS0_13AUnaryFunctorIffbNS0_51_GLOBAL__N__2c6848b7_18_CompareEQKernel_cu_d8008c96_37916C" \
         "ompareEqFunctorIfEEEESt5arrayIPcLm2EEEEviT0_T1_"
#define OR_BOOLS                                                                                   \
    FLAT "NS0_13BinaryFunctorIbbbNS0_16BitwiseOrFunctorIbEEEESt5arrayIPcLm3EEEEviT0_T1_"
#define AND_LONGS                                                                                  \
    FLAT "NS0_13BinaryFunctorIlllNS0_17BitwiseAndFunctorIlEEEESt5arrayIPcLm3EEEEviT0_T1_"
#define COPY_CONVERTS                                                                              \
    AT "27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseE"  \
       "ENKUlvE1_clEvENKUlvE2_clEvEUllE_St5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESB_"   \
       "NS0_6memory12LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_"
#define COPY_FLOATS                                                                                \
    AT "27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseE"  \
       "ENKUlvE1_clEvENKUlvE5_clEvEUlfE_St5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESB_"   \
       "NS0_6memory12LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_"
#define LESS_STRIDED                                                                               \
    AT "18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_50_GLOBAL__N__d0_17_Comp" \
       "areKernels_cu_8f1b29aa14CompareFunctorIlEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_"
#define SUM_LONGS                                                                                  \
    AT "13reduce_kernelILi512ELi1ENS0_8ReduceOpIlNS0_14func_wrapper_tIlZNS0_11sum_functorIlllEcl"  \
       "ERNS_14TensorIteratorEEUlllE_EEjlLi4ELi4EEEEEvT1_"
#define ALL_BOOLS                                                                                  \
    AT "13reduce_kernelILi512ELi1ENS0_8ReduceOpIbNS0_14func_wrapper_tIbZZZNS0_15and_kernel_cudaE"  \
       "RNS_14TensorIteratorEENKUlvE_clEvENKUlvE10_clEvEUlbbE_EEjbLi4EEEEEvT1_"
#define RANGE                                                                                      \
    "_ZN50_GLOBAL__N__e1_17_RangeFactories_cu_38772b0829elementwise_kernel_with_indexIiZZZN2at6n"  \
    "ative15arange_cuda_outERKN3c106ScalarES6_S6_RNS1_6TensorEENKUlvE_clEvENKUlvE2_clEvEUllE_EEvT" \
    "_T0_PN15function_traitsISD_E11result_typeE"

static struct kernel kernel(const char *name)
{
    struct kernel kernel;
    kernel_of_name(name, &kernel);
    return kernel;
}

TEST(a_name_says_what_its_kernel_does)
{
    struct kernel it = kernel(EQUAL_LONGS);
    CHECK_INT(it.walk, WALK_FLAT);
    CHECK_INT(it.form, FORM_SCALAR_LEFT);
    CHECK_INT(it.op, OP_EQUAL);
    CHECK_INT(it.input[0], 'l');
    CHECK_INT(it.output, 'b');
    it = kernel(FILL_LONGS);
    CHECK(it.form == FORM_FILL && it.output == 'l' && it.inputs == 0);
    it = kernel(COPY_CONVERTS);
    CHECK(it.walk == WALK_CAST && it.form == FORM_COPY && it.output == 'l' && it.converts);
    it = kernel(LESS_STRIDED);
    CHECK(it.walk == WALK_STRIDED && it.form == FORM_COMPARE && it.inputs == 2 && it.output == 'b');
    it = kernel(SUM_LONGS);
    CHECK(it.walk == WALK_REDUCE && it.op == OP_SUM && it.input[0] == 'l' && it.output == 'l');
    it = kernel(ALL_BOOLS);
    CHECK(it.walk == WALK_REDUCE && it.op == OP_ALL && it.input[0] == 'b');
    it = kernel(RANGE);
    CHECK(it.walk == WALK_INDEX && it.form == FORM_RANGE && it.output == 'l');
}

TEST(of_floats_little_is_computed)
{
    struct kernel it = kernel(FILL_FLOATS);
    CHECK(it.walk == WALK_FLAT && it.form == FORM_FILL && it.real);
    it = kernel(MULTIPLY_FLOATS);
    CHECK(it.walk == WALK_FLAT && it.form == FORM_BINARY && it.real);
    CHECK_INT(kernel("_Z6kernelPf").walk, WALK_UNKNOWN);
    CHECK_INT(kernel("").walk, WALK_UNKNOWN);
}

/* ---- computing ---- */

#define X UINT64_C(0x7f0000000000)
#define Y (X + 4096)
#define OUT (X + 8192)

static int64_t longs_at(uint64_t at, size_t index)
{
    int64_t value = -1;
    return values_get(at + 8 * index, &value, 8) ? value : INT64_MIN;
}

static void put_longs(uint64_t at, const int64_t *longs, size_t count)
{
    values_put(at, longs, 8 * count);
}

static const char functions[8]; /* their addresses stand for functions */
static const uint32_t one_block[] = {1, 1, 1};

static void launch(const char *name, void **arguments)
{
    kernels_register(functions, functions, name);
    kernels_launch(functions, one_block, arguments);
    kernels_unregister(functions);
}

TEST(equal_is_computed)
{
    const int64_t x[] = {1, 0, 7, 1};
    struct {
        int32_t which;
        int64_t scalar;
    } functor = {0, 1};
    int32_t count = 4;
    uint64_t at[] = {OUT, X};
    uint8_t out[5] = {9, 9, 9, 9, 9};
    values_forget_all();
    put_longs(X, x, 4);
    values_fill(OUT + 4, 3, 1);
    launch(EQUAL_LONGS, (void *[]){&count, &functor, at});
    CHECK(values_get(OUT, out, 5));
    CHECK(memcmp(out, "\1\0\0\1\3", 5) == 0);
    functor.which = 1; /* not equal */
    launch(EQUAL_LONGS, (void *[]){&count, &functor, at});
    CHECK(values_get(OUT, out, 5));
    CHECK(memcmp(out, "\0\1\1\0\3", 5) == 0);
}

TEST(of_an_input_that_is_not_known_the_output_is_forgotten)
{
    struct {
        int32_t which;
        int64_t scalar;
    } functor = {0, 1};
    int32_t count = 4;
    uint64_t at[] = {OUT, X};
    uint8_t out[4];
    values_forget_all();
    values_fill(X, 0, 31); /* one byte less than it needs */
    values_fill(OUT, 1, 4);
    launch(EQUAL_LONGS, (void *[]){&count, &functor, at});
    CHECK(!values_get(OUT, out, 4));
    CHECK(memcmp(out, "\0\0\0\0", 4) == 0);
}

TEST(a_kernel_of_floats_forgets_what_it_writes)
{
    int32_t count = 4;
    char functor = 0;
    uint64_t at[] = {OUT, X, Y};
    uint8_t out[16];
    values_forget_all();
    values_fill(X, 1, 16);
    values_fill(Y, 1, 16);
    values_fill(OUT, 1, 16);
    launch(MULTIPLY_FLOATS, (void *[]){&count, &functor, at});
    CHECK(!values_get(OUT, out, 16));
    CHECK(values_get(X, out, 16));
    CHECK(values_get(Y, out, 16));
}

/* The other operand is not known, on either side. */
TEST(an_operand_that_decides_alone_is_enough)
{
    int32_t count = 3;
    char functor = 0;
    uint64_t left[] = {OUT, X, Y}, right[] = {OUT, Y, X};
    uint8_t out[24];
    for (int side = 0; side < 2; side++) {
        values_forget_all();
        values_fill(X, 1, 3);
        launch(OR_BOOLS, (void *[]){&count, &functor, side ? right : left});
        CHECK(values_get(OUT, out, 3) && memcmp(out, "\1\1\1", 3) == 0);
        values_fill(X + 1, 0, 1); /* false decides nothing */
        launch(OR_BOOLS, (void *[]){&count, &functor, side ? right : left});
        CHECK(!values_get(OUT, out, 3));
        values_forget_all();
        values_fill(X, 0, 24);
        launch(AND_LONGS, (void *[]){&count, &functor, side ? right : left});
        CHECK(values_get(OUT, out, 24) && out[0] == 0 && out[23] == 0);
        values_fill(X + 8, 1, 8);
        launch(AND_LONGS, (void *[]){&count, &functor, side ? right : left});
        CHECK(!values_get(OUT, out, 24));
    }
    CHECK(values_are_valid());
}

/* As PyTorch asks for isnan, isinf and isfinite. */
TEST(floats_that_are_not_known_are_finite)
{
    int32_t count = 3, which;
    struct {
        int32_t which;
        float with;
    } scalar = {0, INFINITY};
    uint64_t itself[] = {OUT, X, X}, others[] = {OUT, X, Y}, one[] = {OUT, X};
    uint8_t out[3];
    for (which = 0; which < 2; which++) { /* equal, not equal */
        values_forget_all();
        launch(EQUAL_FLOATS, (void *[]){&count, &which, itself});
        CHECK(values_get(OUT, out, 3) && out[0] == !which && out[2] == !which);
        launch(EQUAL_FLOATS, (void *[]){&count, &which, others});
        CHECK(!values_get(OUT, out, 3));
        scalar.which = which;
        scalar.with = INFINITY;
        launch(EQUAL_FLOAT, (void *[]){&count, &scalar, one});
        CHECK(values_get(OUT, out, 3) && out[0] == which && out[2] == which);
        scalar.with = 0;
        launch(EQUAL_FLOAT, (void *[]){&count, &scalar, one});
        CHECK(!values_get(OUT, out, 3));
    }
    float known[] = {1, -INFINITY, INFINITY};
    values_put(X, known, sizeof known);
    scalar.which = 0;
    scalar.with = INFINITY;
    launch(EQUAL_FLOAT, (void *[]){&count, &scalar, one});
    CHECK(values_get(OUT, out, 3) && memcmp(out, "\0\0\1", 3) == 0);
}

TEST(types_are_converted)
{
    const uint8_t x[] = {1, 0, 1};
    struct {
        int8_t type;
        uint32_t bytes;
    } load = {11, 1}, store = {4, 8};
    char functor = 0, none = 0;
    int32_t count = 3;
    uint64_t at[] = {OUT, X};
    void *arguments[] = {&count, &functor, at, &none, &none, &load, &store};
    values_forget_all();
    values_put(X, x, 3);
    launch(COPY_CONVERTS, arguments);
    CHECK_INT(longs_at(OUT, 0), 1);
    CHECK_INT(longs_at(OUT, 1), 0);
    CHECK_INT(longs_at(OUT, 2), 1);
    load.type = 6; /* a float: not known */
    launch(COPY_CONVERTS, arguments);
    CHECK_INT(longs_at(OUT, 0), INT64_MIN);
}

/* To floats and back: what came of whole numbers, and nothing else. */
TEST(a_float_that_came_of_whole_numbers_is_known)
{
    const int64_t x[] = {3, -5, 16777217};
    struct {
        int8_t type;
        uint32_t bytes;
    } load = {4, 8}, store = {6, 4};
    char functor = 0, none = 0;
    int32_t count = 3;
    uint64_t at[] = {OUT, X}, product[] = {Y, OUT, OUT};
    void *arguments[] = {&count, &functor, at, &none, &none, &load, &store};
    float out[3] = {0};
    values_forget_all();
    put_longs(X, x, 3);
    launch(COPY_FLOATS, arguments);
    CHECK(values_get(OUT, out, sizeof out));
    CHECK(out[0] == 3.0F && out[1] == -5.0F && out[2] == 16777216.0F);
    launch(MULTIPLY_FLOATS, (void *[]){&count, &functor, product});
    CHECK(values_get(Y, out, sizeof out) && out[1] == 25.0F);
    values_put(OUT, out, sizeof out); /* what the program brings is none of these */
    launch(MULTIPLY_FLOATS, (void *[]){&count, &functor, product});
    CHECK(!values_get(Y, out, sizeof out));
    launch(COPY_FLOATS, arguments);
    values_forget_reals();
    CHECK(!values_get(OUT, out, 1));
    CHECK(values_are_valid());
}

TEST(a_range_and_a_fill_need_no_input)
{
    const int64_t range[] = {2, 3};
    int64_t fill = 7;
    int32_t count = 4;
    uint64_t at[] = {OUT};
    values_forget_all();
    launch(RANGE, (void *[]){&count, (void *)(uintptr_t)range, at});
    CHECK_INT(longs_at(OUT, 0), 2);
    CHECK_INT(longs_at(OUT, 3), 11);
    launch(FILL_LONGS, (void *[]){&count, &fill, at});
    CHECK_INT(longs_at(OUT, 3), 7);
    CHECK_INT(longs_at(OUT, 4), INT64_MIN);
}

/* Operands of two dimensions: strides in bytes for each of them. */
static void put_offsets(uint32_t *words, uint32_t operands, const uint32_t sizes[2],
                        const uint32_t *strides)
{
    words[0] = 2;
    for (uint32_t i = 0; i < 2; i++) {
        words[1 + 3 * i] = sizes[i];
        memcpy(words + 1 + 75 + i * operands, strides + i * operands, operands * sizeof *strides);
    }
}

TEST(operands_with_strides_are_found)
{
    /* [3, 1] < [1, 5], both stretched to [3, 5]: the innermost dimension stands first. */
    const uint32_t sizes[] = {5, 3}, strides[] = {1, 8, 0, 5, 0, 8};
    const int64_t x[] = {0, 1, 2, 3, 4}, y[] = {3, 5, 0};
    _Alignas(8) uint32_t lambda[256] = {0};
    uint64_t at[] = {OUT, X, Y};
    int32_t count = 15;
    uint8_t out[15];
    values_forget_all();
    put_longs(X, x, 5);
    put_longs(Y, y, 3);
    put_offsets(lambda, 3, sizes, strides);
    memcpy(lambda + 152, at, sizeof at);
    lambda[158] = 3; /* less */
    launch(LESS_STRIDED, (void *[]){&count, lambda});
    CHECK(values_get(OUT, out, 15));
    CHECK(memcmp(out, "\1\1\1\0\0\1\1\1\1\1\0\0\0\0\0", 15) == 0);
    count = 14; /* does not fit the sizes: this is something else */
    launch(LESS_STRIDED, (void *[]){&count, lambda});
    CHECK(!values_get(OUT, out, 15));
}

TEST(rows_are_summed_up)
{
    const int64_t x[] = {1, 2, 3, 10, 20, 30};
    _Alignas(8) uint32_t words[512] = {0};
    words[4] = 8, words[5] = 3, words[6] = 2; /* bytes of a sum, elements, groups */
    words[20] = 1, words[21] = 3, words[20 + 76] = 8;
    words[121] = 1, words[122] = 2, words[121 + 76] = 8, words[121 + 77] = 24;
    uint64_t at[] = {X, OUT, 0};
    memcpy(words + 248, at, sizeof at);
    values_forget_all();
    put_longs(X, x, 6);
    launch(SUM_LONGS, (void *[]){words});
    CHECK_INT(longs_at(OUT, 0), 6);
    CHECK_INT(longs_at(OUT, 1), 60);
    values_forget(X, 1);
    launch(SUM_LONGS, (void *[]){words});
    CHECK_INT(longs_at(OUT, 0), INT64_MIN);
}

/* ---- what nobody knows ---- */

TEST(parameters_are_told_apart)
{
    struct parameters it;
    parameters_read("void f<g(int)::{lambda(long)#1}>(float*, long const*, int, s<a, b>)", &it);
    CHECK_INT(it.count, 4);
    CHECK_INT(it.kinds[0], PARAMETER_ADDRESS);
    CHECK_INT(it.kinds[1], PARAMETER_PLAIN);
    CHECK_INT(it.kinds[2], PARAMETER_PLAIN);
    CHECK_INT(it.kinds[3], PARAMETER_STRUCT);
    parameters_read(
        "f(std::array<char*, 3ul>, at::PhiloxCudaState, TrivialOffsetCalculator<1, int>)", &it);
    CHECK_INT(it.kinds[0], PARAMETER_STRUCT);
    CHECK_INT(it.bytes[0], 24);
    CHECK(it.kinds[1] == PARAMETER_PLAIN && it.kinds[2] == PARAMETER_PLAIN);
    parameters_read("f()", &it);
    CHECK_INT(it.count, 0);
    parameters_read("f(void (*)(int), decltype (a->b))", &it);
    CHECK_INT(it.count, 2);
    parameters_read("variable", &it);
    CHECK_INT(it.count, -1);
    parameters_read("(", &it);
    CHECK_INT(it.count, -1);
    parameters_read("", &it);
    CHECK_INT(it.count, -1);
}

TEST(types_that_arguments_lead_to)
{
    struct parameters it;
    parameters_read("f(long*, long const*, float*, unsigned char*, bool*)", &it);
    CHECK(it.any_whole && it.whole[0] && !it.whole[1] && !it.whole[2] && !it.whole[3] &&
          it.whole[4]);
    parameters_read("f(at::cuda::detail::TensorInfo<float, unsigned int>, "
                    "at::cuda::detail::TensorInfo<long, unsigned int>, "
                    "at::cuda::detail::TensorInfo<long const, unsigned int>)",
                    &it);
    CHECK(!it.whole[0] && it.whole[1] && !it.whole[2]);
    parameters_read("f(float*, int, long)", &it);
    CHECK(!it.any_whole);
}

TEST(a_kernel_that_is_not_known_forgets_all_that_it_may_write)
{
    uint64_t written = X + 8, inside[2] = {1, Y};
    int64_t number = (int64_t)OUT;
    struct parameters it = {.count = 3,
                            .kinds = {PARAMETER_ADDRESS, PARAMETER_STRUCT, PARAMETER_PLAIN}};
    uint8_t byte;
    values_forget_all();
    values_fill(X, 1, 64);
    values_fill(Y, 1, 64);
    values_fill(OUT, 1, 64);
    parameters_forget(&it, (void *[]){&written, inside, &number});
    CHECK(values_get(X + 7, &byte, 1));
    CHECK(!values_get(X + 8, &byte, 1));
    CHECK(!values_get(Y, &byte, 1));
    CHECK(values_get(OUT, &byte, 1));
    it.count = -1;
    parameters_forget(&it, NULL);
    CHECK(!values_any());
}

TEST(an_array_of_addresses_ends_where_it_says)
{
    uint64_t inside[2] = {X, Y};
    struct parameters it = {.count = 1, .kinds = {PARAMETER_STRUCT}, .bytes = {8}};
    uint8_t byte;
    values_forget_all();
    values_fill(X, 1, 64);
    values_fill(Y, 1, 64);
    parameters_forget(&it, (void *[]){inside});
    CHECK(!values_get(X, &byte, 1));
    CHECK(values_get(Y, &byte, 1));
}

TEST(a_function_that_was_not_registered_forgets_everything)
{
    values_forget_all();
    values_fill(X, 1, 64);
    kernels_launch(functions + 1, one_block, NULL);
    CHECK(!values_any());
}

TEST_MAIN(TEST_CASE(a_name_says_what_its_kernel_does), TEST_CASE(of_floats_little_is_computed),
          TEST_CASE(equal_is_computed),
          TEST_CASE(of_an_input_that_is_not_known_the_output_is_forgotten),
          TEST_CASE(a_kernel_of_floats_forgets_what_it_writes),
          TEST_CASE(an_operand_that_decides_alone_is_enough),
          TEST_CASE(floats_that_are_not_known_are_finite), TEST_CASE(types_are_converted),
          TEST_CASE(a_float_that_came_of_whole_numbers_is_known),
          TEST_CASE(a_range_and_a_fill_need_no_input), TEST_CASE(operands_with_strides_are_found),
          TEST_CASE(rows_are_summed_up), TEST_CASE(parameters_are_told_apart),
          TEST_CASE(types_that_arguments_lead_to),
          TEST_CASE(a_kernel_that_is_not_known_forgets_all_that_it_may_write),
          TEST_CASE(an_array_of_addresses_ends_where_it_says),
          TEST_CASE(a_function_that_was_not_registered_forgets_everything))
