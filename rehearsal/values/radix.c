/* radix.c - CUB's radix sort: one tile, or one pass over some bits of the keys. */
#include <string.h>

#include "argument.h"
#include "carry.h"
#include "functor.h"
#include "pieces.h"
#include "rows.h"
#include "values.h"
#include "walks.h"

struct pass {
    char type;
    uint32_t bytes; /* of a value; 0: keys alone */
    uint64_t keys_in, keys_out, values_in, values_out, count;
    uint32_t bit, bits;
    bool falls;
};

/* The digit by which keys are ordered: of a signed one the first bit counts the other way. */
static uint64_t digit(const struct pass *it, int64_t key)
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
    return bits;
}

static void set_keys(const struct pass *it, struct row_sort *sort)
{
    uint32_t width = kernel_type_bytes(it->type);
    for (uint64_t i = 0; i < it->count; i++)
        sort->keys[i] = digit(it, functor_load(it->type, sort->numbers + i * width));
}

static bool sort_pass(const struct pass *it, struct row_sort *sort)
{
    struct row numbers = {it->keys_in, 1, it->count, kernel_type_bytes(it->type)};
    struct row values = {it->values_in, 1, it->count, it->bytes};
    if (!row_sort_fetch(sort, &numbers, &values))
        return false;
    set_keys(it, sort);
    row_sort_order(sort, it->count);
    numbers.at = it->keys_out;
    values.at = it->values_out;
    row_sort_put(sort, &numbers, &values);
    return true;
}

static bool run_pass(const struct pass *it)
{
    struct row_sort sort = {0};
    uint32_t width = kernel_type_bytes(it->type);
    bool known = it->count <= CARRY_MOST && it->bytes <= CARRY_BYTES &&
                 values_are_known(it->keys_in, it->count * width);
    if (!known || !row_sort_begin(&sort, it->count) || !sort_pass(it, &sort)) {
        values_forget(it->keys_out, it->count * width);
        values_forget(it->values_out, it->count * it->bytes);
    }
    row_sort_end(&sort);
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
 * bits, ...): what stands before the keys is nobody's value. */
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
    struct piece out;
    if (!piece_new(&out, to, 8 * count))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t index = i % row;
        memcpy(out.bytes + 8 * i, &index, sizeof index);
    }
    piece_put(&out);
    return true;
}
