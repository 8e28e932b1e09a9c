/*
 * sorts.c - kernels that sort whole numbers with their indices: PyTorch's small ones, in place and
 * slice by slice, CUB's radix sort, pass by pass, and the selection of the largest.
 *
 * Which of two equal ones stands first is part of the result: all of them are stable but the
 * network for up to 32 elements, which is gone through swap by swap.
 */
#include <stdlib.h>
#include <string.h>

#include "argument.h"
#include "carry.h"
#include "functor.h"
#include "mem.h"
#include "tensor_info.h"
#include "values.h"
#include "walks.h"

#define NETWORK 32u /* elements */

struct item {
    int64_t key;
    uint64_t order;
    uint8_t value[CARRY_BYTES];
    bool is_valid;
};

static uint64_t count_of(const void *at, char counts)
{
    uint64_t value = 0;
    memcpy(&value, at, kernel_type_bytes(counts));
    return value;
}

static int rising(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int falling(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static void sort_stable(struct item *items, uint64_t count, bool falls)
{
    for (uint64_t i = 0; i < count; i++)
        items[i].order = i;
    qsort(items, count, sizeof *items, falls ? falling : rising);
}

/* ---- the network ---- */

static void meet(struct item *a, struct item *b, bool direction, bool falls)
{
    bool before = falls ? a->key > b->key : a->key < b->key;
    bool swaps = (before && a->is_valid) || !b->is_valid;
    if (swaps == direction) {
        struct item other = *a;
        *a = *b;
        *b = other;
    }
}

static void step(struct item *items, uint32_t stride, uint32_t size, bool falls)
{
    for (uint32_t thread = 0; thread < NETWORK / 2; thread++) {
        uint32_t at = 2 * thread - (thread & (stride - 1));
        meet(&items[at], &items[at + stride], size < NETWORK && (thread & (size / 2)) != 0, falls);
    }
}

static void sort_by_network(struct item *items, uint64_t count, bool falls)
{
    struct item all[NETWORK] = {{0}};
    memcpy(all, items, count * sizeof *items);
    for (uint64_t i = 0; i < count; i++)
        all[i].is_valid = true;
    for (uint32_t size = 2; size <= NETWORK; size *= 2)
        for (uint32_t stride = size / 2; stride > 0; stride /= 2)
            step(all, stride, size, falls);
    memcpy(items, all, count * sizeof *items);
}

/* ---- in place: (keys, slices, their size, their stride, values, their stride, ...) ---- */

struct slices {
    const struct kernel *kernel;
    struct tensor_info keys, values;
    uint64_t count, size, key_stride, value_stride;
    bool falls;
};

static uint64_t key_at(const struct slices *it, uint64_t slice, uint64_t i)
{
    uint64_t offset = tensor_info_offset(&it->keys, slice) + i * it->key_stride;
    return it->keys.at + offset * kernel_type_bytes(it->kernel->input[0]);
}

static uint64_t value_at(const struct slices *it, uint64_t slice, uint64_t i)
{
    return it->values.at + (tensor_info_offset(&it->values, slice) + i * it->value_stride) * 8;
}

static bool fetch_slice(const struct slices *it, uint64_t slice, struct item *items)
{
    for (uint64_t i = 0; i < it->size; i++)
        if (!carry_number(key_at(it, slice, i), it->kernel->input[0], &items[i].key) ||
            !values_get(value_at(it, slice, i), items[i].value, 8))
            return false;
    return true;
}

static void put_slice(const struct slices *it, uint64_t slice, const struct item *items)
{
    uint32_t width = kernel_type_bytes(it->kernel->input[0]);
    for (uint64_t i = 0; i < it->size; i++) {
        uint8_t key[8] = {0};
        functor_store(it->kernel->input[0], key, items[i].key);
        values_put(key_at(it, slice, i), key, width);
        values_put(value_at(it, slice, i), items[i].value, 8);
    }
}

static void forget_slice(const struct slices *it, uint64_t slice)
{
    for (uint64_t i = 0; i < it->size; i++) {
        values_forget(key_at(it, slice, i), kernel_type_bytes(it->kernel->input[0]));
        values_forget(value_at(it, slice, i), 8);
    }
}

static void sort_slices(const struct slices *it)
{
    struct item *items = mem_alloc(it->size, sizeof *items);
    for (uint64_t slice = 0; slice < it->count; slice++) {
        if (!items || !fetch_slice(it, slice, items)) {
            forget_slice(it, slice);
            continue;
        }
        if (it->kernel->walk == WALK_SORT_NETWORK)
            sort_by_network(items, it->size, it->falls);
        else
            sort_stable(items, it->size, it->falls);
        put_slice(it, slice, items);
    }
    mem_free(items);
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

/* ---- CUB's radix sort: one tile, or one pass over some bits of the keys ---- */

struct pass {
    char type;
    uint32_t bytes; /* of a value; 0: keys alone */
    uint64_t keys_in, keys_out, values_in, values_out, count;
    uint32_t bit, bits;
    bool falls;
};

/* The digit by which keys are ordered: of a signed one the first bit counts the other way. */
static int64_t digit(const struct pass *it, int64_t key)
{
    uint32_t width = 8 * kernel_type_bytes(it->type);
    uint64_t bits = (uint64_t)key;
    if (strchr("aislx", it->type))
        bits ^= UINT64_C(1) << (width - 1);
    if (width < 64)
        bits &= (UINT64_C(1) << width) - 1;
    if (it->falls)
        bits = ~bits;
    bits >>= it->bit;
    if (it->bits < 64)
        bits &= (UINT64_C(1) << it->bits) - 1;
    return (int64_t)(bits ^ (UINT64_C(1) << 63)); /* to be compared as signed */
}

static bool fetch_pass(const struct pass *it, struct item *items)
{
    uint32_t width = kernel_type_bytes(it->type);
    for (uint64_t i = 0; i < it->count; i++) {
        int64_t key;
        if (!carry_number(it->keys_in + i * width, it->type, &key) ||
            (it->bytes && !values_get(it->values_in + i * it->bytes, items[i].value, it->bytes)))
            return false;
        items[i].key = digit(it, key);
    }
    return true;
}

static void put_pass(const struct pass *it, const struct item *items)
{
    uint32_t width = kernel_type_bytes(it->type);
    for (uint64_t i = 0; i < it->count; i++) {
        uint8_t key[8];
        (void)values_get(it->keys_in + items[i].order * width, key, width);
        values_put(it->keys_out + i * width, key, width);
        if (it->bytes)
            values_put(it->values_out + i * it->bytes, items[i].value, it->bytes);
    }
}

static bool run_pass(const struct pass *it)
{
    struct item *items = it->count <= CARRY_MOST ? mem_alloc(it->count, sizeof *items) : NULL;
    bool known = items && it->bytes <= CARRY_BYTES && fetch_pass(it, items);
    if (known) {
        sort_stable(items, it->count, false);
        put_pass(it, items);
    } else {
        values_forget(it->keys_out, it->count * kernel_type_bytes(it->type));
        values_forget(it->values_out, it->count * it->bytes);
    }
    mem_free(items);
    return true;
}

static uint64_t unsigned_count(const void *at)
{
    uint32_t count;
    memcpy(&count, at, sizeof count);
    return count;
}

static bool makes_sense(const struct pass *it)
{
    return kernel_type_bytes(it->type) && it->type != 'b' && it->bit < 64 && it->bits > 0;
}

/* (keys, sorted, values, sorted, count, first bit, last bit, ...) */
bool walk_radix_tile(const struct kernel *kernel, void **arguments)
{
    uint32_t first = (uint32_t)unsigned_count(arguments[5]),
             last = (uint32_t)unsigned_count(arguments[6]);
    struct pass it = {.type = kernel->input[0],
                      .bytes = kernel->bytes,
                      .keys_in = argument_word(arguments[0]),
                      .keys_out = argument_word(arguments[1]),
                      .values_in = argument_word(arguments[2]),
                      .values_out = argument_word(arguments[3]),
                      .count = unsigned_count(arguments[4]),
                      .bit = first,
                      .bits = last - first,
                      .falls = kernel->upper};
    return makes_sense(&it) && run_pass(&it);
}

/* (lookback, counters, bins, bins, sorted keys, keys, sorted values, values, count, first bit,
 * bits,
 * ...): what stands before the keys is nobody's value. */
bool walk_radix_pass(const struct kernel *kernel, void **arguments)
{
    struct pass it = {.type = kernel->input[0],
                      .bytes = kernel->bytes,
                      .keys_in = argument_word(arguments[5]),
                      .keys_out = argument_word(arguments[4]),
                      .values_in = argument_word(arguments[7]),
                      .values_out = argument_word(arguments[6]),
                      .count = unsigned_count(arguments[8]),
                      .bit = (uint32_t)unsigned_count(arguments[9]),
                      .bits = (uint32_t)unsigned_count(arguments[10]),
                      .falls = kernel->upper};
    return makes_sense(&it) && run_pass(&it);
}

/* (output, count, {length of a row, ...}): the place of each element in its row. */
bool walk_row_indices(void **arguments)
{
    uint64_t to = argument_word(arguments[0]), count = unsigned_count(arguments[1]);
    uint64_t row = unsigned_count(arguments[2]);
    if (row == 0 || count > CARRY_MOST)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t index = i % row;
        values_put(to + 8 * i, &index, sizeof index);
    }
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

static void put_chosen(const struct chosen *it, uint64_t slice, uint64_t place, int64_t key,
                       uint64_t index)
{
    uint32_t width = kernel_type_bytes(it->kernel->input[0]);
    uint8_t bytes[8] = {0};
    functor_store(it->kernel->input[0], bytes, key);
    values_put(it->out.at + (tensor_info_offset(&it->out, slice) + place * it->out_stride) * width,
               bytes, width);
    values_put(it->indices.at +
                   (tensor_info_offset(&it->indices, slice) + place * it->index_stride) * 8,
               &index, 8);
}

static bool choose(const struct chosen *it, uint64_t slice, struct item *items, struct item *sorted)
{
    uint32_t width = kernel_type_bytes(it->kernel->input[0]);
    uint64_t begin = tensor_info_offset(&it->in, slice), place = 0;
    for (uint64_t i = 0; i < it->length; i++)
        if (!carry_number(it->in.at + (begin + i * it->in_stride) * width, it->kernel->input[0],
                          &items[i].key))
            return false;
    memcpy(sorted, items, it->length * sizeof *items);
    sort_stable(sorted, it->length, it->largest);
    int64_t last = sorted[it->k - 1].key;
    for (uint64_t i = 0; i < it->length; i++)
        if (it->largest ? items[i].key > last : items[i].key < last)
            put_chosen(it, slice, place++, items[i].key, i);
    for (uint64_t i = 0; i < it->length && place < it->k; i++)
        if (items[i].key == last)
            put_chosen(it, slice, place++, last, i);
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
    struct item *items = mem_alloc(2 * it.length, sizeof *items);
    bool known = items && slices <= CARRY_MOST;
    for (uint64_t slice = 0; known && slice < slices; slice++)
        known = choose(&it, slice, items, items + it.length);
    mem_free(items);
    if (!known) {
        values_forget_run(it.out.at);
        values_forget_run(it.indices.at);
    }
    return true;
}
