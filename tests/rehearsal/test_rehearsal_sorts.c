/*
 * Kernels that sort whole numbers, by the names that PyTorch 2.14 registers: few of them by hand,
 * and as many as are computed against the C library's own sort.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "test.h"
#include "values.h"

#define AT "_ZN2at6native"
#define CUB "_ZN14at_cuda_detail3cub6detail"
#define SORT                                                                                       \
    AT "20bitonicSortKVInPlaceILin2ELin1ELi16ELi16EllNS0_4LTOpIlLb1EEEjEEvNS_4cuda6detail10Tenso"  \
       "rInfoIT3_T6_EES8_S8_S8_NS6_IT4_S8_EES8_T5_"
#define RADIX                                                                                      \
    CUB "10radix_sort31DeviceRadixSortSingleTileKernelINS1_5radix10policy_hubIlNS0_8NullTypeEyE10" \
        "Policy1000ELNS0_9SortOrderE0ElS6_yNS1_21identity_decomposer_tEEEvPKT1_PSB_PKT2_PSF_T3_ii" \
        "T4_"
#define RADIX_DOWN                                                                                 \
    "_ZN14at_cuda_detail3cub31DeviceRadixSortSingleTileKernelINS0_21DeviceRadixSortPolicyIlNS0_8N" \
    "ullTypeEyE9Policy900ELb1ElS3_yNS0_6detail21identity_decomposer_tEEEvPKT1_PS8_PKT2_PSC_T3_iiT" \
    "4_"
#define PASS                                                                                       \
    "_ZN14at_cuda_detail3cub29DeviceRadixSortOnesweepKernelINS0_21DeviceRadixSortPolicyIllyE9Pol"  \
    "icy900ELb0EllyiiNS0_6detail21identity_decomposer_tEEEvPT5_S8_PT3_PKS9_PT1_PKSD_PT2_PKSH_T4"   \
    "_iiT6_"
#define IN_PLACE                                                                                   \
    AT "18radixSortKVInPlaceILin2ELin1ELi128ELi32ElljEEvNS_4cuda6detail10TensorInfoIT3_T5_EES6_"   \
       "S6_S6_NS4_IT4_S6_EES6_b"
#define TOPK                                                                                       \
    AT "6sbtopk10gatherTopKIljLi1ELb0EEEvNS_4cuda6detail10TensorInfoIKT_T0_EES8_S8_bS8_S8_NS5_I"   \
       "S6_S8_EES8_NS5_IlS8_EES8_PS6_"

#define X UINT64_C(0x7f0000000000)
#define Y (X + (4 << 20))
#define OUT (X + (8 << 20))
#define OUT_TOO (X + (12 << 20))

static const char functions[8]; /* their addresses stand for functions */

static void launch(const char *name, void **arguments)
{
    REQUIRE(dlopen("libstdc++.so.6", RTLD_NOW)); /* which makes names readable */
    kernels_register(functions, functions, name);
    kernels_launch(functions, (uint32_t[]){1, 1, 1}, arguments);
    kernels_unregister(functions);
}

static void put_longs(uint64_t at, size_t count, const int64_t *longs)
{
    values_put(at, longs, 8 * count);
}

static void check_longs(uint64_t at, size_t count, const int64_t *want)
{
    for (size_t i = 0; i < count; i++) {
        int64_t value = -1;
        CHECK_INT(values_get(at + 8 * i, &value, 8) ? value : INT64_MIN, want[i]);
    }
}
#define PUT(at, ...) put_longs(at, sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__})
#define SEE(at, ...) check_longs(at, sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__})
#define UNKNOWN INT64_MIN

/* ---- a few ---- */

struct info {
    uint64_t at;
    uint32_t sizes[25], strides[25];
    int32_t dimensions;
};

TEST(the_network_sorts_keys_with_their_values)
{
    struct info keys = {.at = X, .sizes = {1}, .strides = {1}, .dimensions = 1};
    struct info values = {.at = Y, .sizes = {1}, .strides = {1}, .dimensions = 1};
    uint32_t slices = 1, size = 5, stride = 1;
    char compare = 0;
    void *arguments[] = {&keys, &slices, &size, &stride, &values, &stride, &compare};
    values_forget_all();
    PUT(X, 5, -1, 4, 3, 0);
    PUT(Y, 0, 1, 2, 3, 4);
    launch(SORT, arguments);
    SEE(X, -1, 0, 3, 4, 5);
    SEE(Y, 1, 4, 3, 2, 0);
    values_forget(X + 8, 8);
    launch(SORT, arguments);
    SEE(X, UNKNOWN, UNKNOWN);
    SEE(Y, UNKNOWN, UNKNOWN);
}

TEST(radix_sort_goes_up_or_down)
{
    uint64_t from = X, to = OUT, none = 0, count = 4;
    int32_t first = 0, last = 64;
    char decompose = 0;
    void *arguments[] = {&from, &to, &none, &none, &count, &first, &last, &decompose};
    values_forget_all();
    PUT(X, 3, -7, 9, 3);
    launch(RADIX, arguments);
    SEE(OUT, -7, 3, 3, 9);
    launch(RADIX_DOWN, arguments);
    SEE(OUT, 9, 3, 3, -7);
}

/* ---- many ---- */

#define MANY 250000u
#define SLICES 50u
#define SLICE (MANY / SLICES)

struct numbered {
    int64_t number, index;
};

static struct numbered many[MANY];
static int64_t numbers[MANY], indices[MANY], seen[MANY];

/* Of few and of many different ones, below zero too. */
static void make_many(uint64_t range)
{
    uint64_t random = 5;
    for (uint32_t i = 0; i < MANY; i++) {
        numbers[i] = (int64_t)(test_random(&random) % range) - (int64_t)(range / 2);
        indices[i] = i;
        many[i] = (struct numbered){numbers[i], i};
    }
    values_forget_all();
    values_put(X, numbers, sizeof numbers);
    values_put(Y, indices, sizeof indices);
}

static int by_number(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static int by_number_down(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    if (x->number != y->number)
        return x->number > y->number ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static void check_many(uint64_t numbers_at, uint64_t indices_at, uint32_t count)
{
    REQUIRE(values_get(numbers_at, seen, count * sizeof *seen));
    for (uint32_t i = 0; i < count; i++)
        REQUIRE(seen[i] == many[i].number);
    REQUIRE(values_get(indices_at, seen, count * sizeof *seen));
    for (uint32_t i = 0; i < count; i++)
        REQUIRE(seen[i] == many[i].index);
}

TEST(many_are_sorted_pass_by_pass)
{
    uint64_t none = 0, keys[] = {X, OUT}, values[] = {Y, OUT_TOO};
    int32_t count = MANY, bits = 8;
    char decompose = 0;
    make_many(UINT64_C(1) << 40);
    for (int32_t pass = 0; pass < 8; pass++) {
        int32_t bit = pass * bits, from = pass % 2, to = !from;
        launch(PASS, (void *[]){&none, &none, &none, &none, &keys[to], &keys[from], &values[to],
                                &values[from], &count, &bit, &bits, &decompose});
    }
    qsort(many, MANY, sizeof *many, by_number);
    check_many(X, Y, MANY);
}

/* Slice by slice: side by side, and one beside the other. */
static void sort_slices(bool beside)
{
    struct info keys = {
        .at = X, .sizes = {SLICES}, .strides = {beside ? 1 : SLICE}, .dimensions = 1};
    struct info values = keys;
    uint32_t slices = SLICES, size = SLICE, stride = beside ? SLICES : 1;
    bool falls = true;
    values.at = Y;
    make_many(1000);
    launch(IN_PLACE, (void *[]){&keys, &slices, &size, &stride, &values, &stride, &falls});
}

TEST(slices_are_sorted_each_for_itself)
{
    sort_slices(false);
    for (uint32_t slice = 0; slice < SLICES; slice++)
        qsort(many + slice * SLICE, SLICE, sizeof *many, by_number_down);
    check_many(X, Y, MANY);
}

TEST(slices_that_lie_in_each_other_are_sorted)
{
    static struct numbered slice[SLICE];
    sort_slices(true);
    for (uint32_t s = 0; s < SLICES; s++) {
        for (uint32_t i = 0; i < SLICE; i++)
            slice[i] = many[i * SLICES + s];
        qsort(slice, SLICE, sizeof *slice, by_number_down);
        for (uint32_t i = 0; i < SLICE; i++)
            many[i * SLICES + s] = slice[i];
    }
    check_many(X, Y, MANY);
}

/* Those above the kth as they stand, then as many of its equals. */
static uint32_t pick_largest(uint32_t k)
{
    static struct numbered sorted[MANY];
    uint32_t place = 0;
    memcpy(sorted, many, sizeof many);
    qsort(sorted, MANY, sizeof *sorted, by_number_down);
    int64_t last = sorted[k - 1].number;
    for (uint32_t i = 0; i < MANY; i++)
        if (numbers[i] > last)
            many[place++] = (struct numbered){numbers[i], i};
    for (uint32_t i = 0; i < MANY && place < k; i++)
        if (numbers[i] == last)
            many[place++] = (struct numbered){last, i};
    return place;
}

TEST(the_largest_of_many_are_picked)
{
    struct info in = {.at = X, .sizes = {1}, .strides = {1}, .dimensions = 1};
    struct info out = in, at = in;
    uint32_t length = MANY, k = 1000, one = 1;
    uint64_t room = 0;
    bool largest = true;
    out.at = OUT;
    at.at = OUT_TOO;
    make_many(5000);
    launch(TOPK, (void *[]){&in, &length, &k, &largest, &one, &one, &out, &one, &at, &one, &room});
    CHECK_INT(pick_largest(k), k);
    check_many(OUT, OUT_TOO, k);
    values_forget(X, 8); /* of one nobody knows whether it is among them */
    launch(TOPK, (void *[]){&in, &length, &k, &largest, &one, &one, &out, &one, &at, &one, &room});
    CHECK(!values_get(OUT, seen, 8));
    CHECK(!values_get(OUT_TOO, seen, 8));
}

TEST_MAIN(TEST_CASE(the_network_sorts_keys_with_their_values),
          TEST_CASE(radix_sort_goes_up_or_down), TEST_CASE(many_are_sorted_pass_by_pass),
          TEST_CASE(slices_are_sorted_each_for_itself),
          TEST_CASE(slices_that_lie_in_each_other_are_sorted),
          TEST_CASE(the_largest_of_many_are_picked))
