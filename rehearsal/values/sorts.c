/*
 * sorts.c - kernels that sort whole numbers with their indices: PyTorch's small ones, in place and
 * slice by slice, and the selection of the largest. CUB's are in radix.c.
 *
 * Which of two equal ones stands first is part of the result: all of them are stable but the
 * network for up to 32 elements, which is gone through swap by swap.
 */
#include <string.h>

#include "carry.h"
#include "functor.h"
#include "rows.h"
#include "tensor_info.h"
#include "values.h"
#include "walks.h"

#define NETWORK 32u /* elements */

static uint64_t count_of(const void *at, char counts)
{
    uint64_t value = 0;
    memcpy(&value, at, kernel_type_bytes(counts));
    return value;
}

/* ---- the network ---- */

struct item {
    uint64_t key;
    uint32_t index;
    bool is_valid;
};

static void meet(struct item *a, struct item *b, bool direction)
{
    bool swaps = (a->key < b->key && a->is_valid) || !b->is_valid;
    if (swaps == direction) {
        struct item other = *a;
        *a = *b;
        *b = other;
    }
}

static void step(struct item *items, uint32_t stride, uint32_t size)
{
    for (uint32_t thread = 0; thread < NETWORK / 2; thread++) {
        uint32_t at = 2 * thread - (thread & (stride - 1));
        meet(&items[at], &items[at + stride], size < NETWORK && (thread & (size / 2)) != 0);
    }
}

static void order_by_network(const uint64_t *keys, uint64_t count, uint32_t *order)
{
    struct item all[NETWORK] = {{0}};
    for (uint32_t i = 0; i < count; i++)
        all[i] = (struct item){keys[i], i, true};
    for (uint32_t size = 2; size <= NETWORK; size *= 2)
        for (uint32_t stride = size / 2; stride > 0; stride /= 2)
            step(all, stride, size);
    for (uint32_t i = 0; i < count; i++)
        order[i] = all[i].index;
}

/* ---- in place: (keys, slices, their size, their stride, values, their stride, ...) ---- */

struct slices {
    const struct kernel *kernel;
    struct tensor_info keys, values;
    uint64_t count, size, key_stride, value_stride;
    bool falls;
};

static struct row keys_of(const struct slices *it, uint64_t slice)
{
    uint32_t width = kernel_type_bytes(it->kernel->input[0]);
    return (struct row){.at = it->keys.at + tensor_info_offset(&it->keys, slice) * width,
                        .stride = it->key_stride,
                        .count = it->size,
                        .width = width};
}

static struct row values_of(const struct slices *it, uint64_t slice)
{
    return (struct row){.at = it->values.at + tensor_info_offset(&it->values, slice) * 8,
                        .stride = it->value_stride,
                        .count = it->size,
                        .width = 8};
}

static void forget_slice(const struct slices *it, uint64_t slice)
{
    struct row keys = keys_of(it, slice), values = values_of(it, slice);
    row_forget(&keys);
    row_forget(&values);
}

static void sort_slice(const struct slices *it, uint64_t slice, struct row_sort *sort)
{
    struct row keys = keys_of(it, slice), values = values_of(it, slice);
    if (!row_sort_fetch(sort, &keys, &values)) {
        forget_slice(it, slice);
        return;
    }
    row_sort_keys(sort, it->kernel->input[0], it->size, it->falls);
    if (it->kernel->walk == WALK_SORT_NETWORK)
        order_by_network(sort->keys, it->size, sort->order);
    else
        row_sort_order(sort, it->size);
    row_sort_put(sort, &keys, &values);
}

static void sort_slices(const struct slices *it)
{
    struct row_sort sort;
    bool begun = row_sort_begin(&sort, it->size);
    for (uint64_t slice = 0; slice < it->count; slice++) {
        if (begun)
            sort_slice(it, slice, &sort);
        else
            forget_slice(it, slice);
    }
    row_sort_end(&sort);
}

/* Unstable: it goes up if what is compared is "less", for the network moves the larger one back. */
bool walk_sort(const struct kernel *kernel, void **arguments)
{
    char counts = kernel->counts;
    struct slices it = {.kernel = kernel, .falls = kernel->upper};
    if (!kernel_type_bytes(kernel->input[0]) || kernel->output != 'l' ||
        !tensor_info_read(arguments[0], counts, &it.keys) ||
        !tensor_info_read(arguments[4], counts, &it.values))
        return false;
    it.count = count_of(arguments[1], counts);
    it.size = count_of(arguments[2], counts);
    it.key_stride = count_of(arguments[3], counts);
    it.value_stride = count_of(arguments[5], counts);
    if (kernel->walk == WALK_SORT_RADIX)
        it.falls = *(const bool *)arguments[6];
    if (it.size > CARRY_MOST || it.count > CARRY_MOST || it.size * it.count > CARRY_MOST ||
        (kernel->walk == WALK_SORT_NETWORK && it.size > NETWORK))
        return false;
    sort_slices(&it);
    return true;
}

/* ---- topk: (input, length of a slice, k, largest, slices, stride, output, its slices, its stride,
 * indices, their stride, ...). Those beyond the kth come in their order, then as many of its equals
 * as there is room for. ---- */

struct chosen {
    const struct kernel *kernel;
    struct tensor_info in, out, indices;
    uint64_t length, k, in_stride, out_stride, index_stride;
    bool largest;
};

/* Which ones, in the place of their order. */
static void pick(const struct chosen *it, struct row_sort *sort)
{
    uint64_t last = sort->keys[sort->order[it->k - 1]], place = 0;
    for (uint64_t i = 0; i < it->length; i++)
        if (sort->keys[i] < last)
            sort->order[place++] = (uint32_t)i;
    for (uint64_t i = 0; i < it->length && place < it->k; i++)
        if (sort->keys[i] == last)
            sort->order[place++] = (uint32_t)i;
}

static bool choose(const struct chosen *it, uint64_t slice, struct row_sort *sort)
{
    uint32_t width = kernel_type_bytes(it->kernel->input[0]);
    struct row none = {0}, in = {.at = it->in.at + tensor_info_offset(&it->in, slice) * width,
                                 .stride = it->in_stride,
                                 .count = it->length,
                                 .width = width};
    struct row out = {.at = it->out.at + tensor_info_offset(&it->out, slice) * width,
                      .stride = it->out_stride,
                      .count = it->k,
                      .width = width};
    struct row indices = {.at = it->indices.at + tensor_info_offset(&it->indices, slice) * 8,
                          .stride = it->index_stride,
                          .count = it->k,
                          .width = 8};
    if (!row_sort_fetch(sort, &in, &none))
        return false;
    for (uint64_t i = 0; i < it->length; i++)
        memcpy(sort->values + 8 * i, &i, sizeof i);
    row_sort_keys(sort, it->kernel->input[0], it->length, it->largest);
    row_sort_order(sort, it->length);
    pick(it, sort);
    row_sort_put(sort, &out, &indices);
    return true;
}

bool walk_topk(const struct kernel *kernel, void **arguments)
{
    char counts = kernel->counts;
    struct chosen it = {.kernel = kernel};
    if (!kernel_type_bytes(kernel->input[0]) || !tensor_info_read(arguments[0], counts, &it.in) ||
        !tensor_info_read(arguments[6], counts, &it.out) ||
        !tensor_info_read(arguments[8], counts, &it.indices))
        return false;
    it.length = count_of(arguments[1], counts);
    it.k = count_of(arguments[2], counts);
    it.largest = *(const bool *)arguments[3];
    it.in_stride = count_of(arguments[5], counts);
    it.out_stride = count_of(arguments[7], counts);
    it.index_stride = count_of(arguments[9], counts);
    if (it.length > CARRY_MOST || it.k == 0 || it.k > it.length)
        return false;
    uint64_t slices = count_of(arguments[4], counts);
    struct row_sort sort = {0};
    bool known = slices <= CARRY_MOST && row_sort_begin(&sort, it.length);
    for (uint64_t slice = 0; known && slice < slices; slice++)
        known = choose(&it, slice, &sort);
    row_sort_end(&sort);
    if (!known) {
        values_forget_run(it.out.at);
        values_forget_run(it.indices.at);
    }
    return true;
}
