/*
 * joins.c - kernels that lay tensors side by side or turn them round: cat, flip, roll, tril and
 * triu.
 */
#include <string.h>

#include "argument.h"
#include "carry.h"
#include "offsets.h"
#include "tensor_info.h"
#include "values.h"
#include "walks.h"

static uint32_t number(const void *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* ---- cat: (output, inputs, sizes and strides of the output, dimension, its stride)
 *
 * The inputs: for each of a batch its address, where it begins along the dimension, its size there,
 * its elements, whether it is contiguous; then sizes and strides of each, or of one in the place of
 * all if all are contiguous. The kernel with wide loads counts in units of 16 bytes. ---- */

#define JOIN_DIMENSIONS 4u

struct joined {
    uint64_t from, out;
    uint32_t bytes, dimensions, dimension, size; /* bytes of a unit */
    uint64_t begin;                              /* units from the output's first */
    const uint32_t *sizes, *strides;             /* the output's */
    const uint32_t *in_strides;                  /* NULL: contiguous */
};

static uint64_t place_of(const struct joined *it, const uint32_t *strides, uint64_t i)
{
    uint64_t offset = 0;
    for (uint32_t k = it->dimensions - 1; k > 0; k--) {
        uint32_t size = k == it->dimension ? it->size : it->sizes[k];
        if (size == 0)
            return 0;
        offset += i % size * strides[k];
        i /= size;
    }
    return offset + i * strides[0];
}

static bool joined(const void *how, uint64_t i, struct carry *place)
{
    const struct joined *it = how;
    uint64_t from = it->in_strides ? place_of(it, it->in_strides, i) : i;
    place->to = it->out + (it->begin + place_of(it, it->strides, i)) * it->bytes;
    place->from = it->from + from * it->bytes;
    return true;
}

/* Contiguous into contiguous: one piece. */
static bool is_piece(const struct joined *it)
{
    return it->dimensions == 1 && it->strides[0] == 1 && !it->in_strides;
}

static void join_one(const struct kernel *kernel, void **arguments, uint32_t i)
{
    uint32_t batch = kernel->batch;
    const char *inputs = arguments[1];
    const char *offset = inputs + 8 * (size_t)batch, *size = offset + 4 * (size_t)batch;
    const char *elements = size + 4 * (size_t)batch, *plain = elements + 4 * (size_t)batch;
    const uint32_t *os = arguments[2];
    uint32_t stride = number(arguments[4]), unit = kernel->wide ? kernel->wide : 1;
    uint64_t count = number(elements + 4 * (size_t)i) / unit;
    struct joined it = {.from = argument_word(inputs + 8 * (size_t)i),
                        .out = argument_word(arguments[0]),
                        .bytes = kernel->bytes * unit,
                        .dimensions = kernel->dimensions,
                        .dimension = number(arguments[3]),
                        .size = number(size + 4 * (size_t)i),
                        .begin = (uint64_t)number(offset + 4 * (size_t)i) * stride / unit,
                        .sizes = os,
                        .strides = os + JOIN_DIMENSIONS};
    if (kernel->wide)
        it.size = it.size * stride / unit;
    if (kernel->strided && !plain[i]) /* sizes and strides of each, behind */
        it.in_strides =
            (const uint32_t *)(const void *)(plain + batch) + (size_t)(2 * i + 1) * JOIN_DIMENSIONS;
    if (is_piece(&it))
        values_move(it.out + it.begin * it.bytes, it.from, count * it.bytes);
    else
        carry_all(joined, &it, count, it.bytes, it.out);
}

bool walk_join(const struct kernel *kernel, const uint32_t *grid, void **arguments)
{
    if (!kernel->bytes || kernel->dimensions < 1 || kernel->dimensions > JOIN_DIMENSIONS ||
        grid[1] > kernel->batch)
        return false;
    for (uint32_t i = 0; i < grid[1]; i++)
        join_one(kernel, arguments, i);
    return true;
}

/* ---- flip: (count, {offsets of two, which may be negative; output; input}) ---- */

struct flipped {
    struct offsets offsets;
    uint64_t out, in;
};

static uint64_t signed_offset(const struct offsets *offsets, uint64_t index, uint32_t operand)
{
    uint64_t offset = 0;
    for (uint32_t i = 0; i < offsets->dimensions; i++) {
        int64_t stride = (int32_t)offsets->strides[i][operand];
        offset += index % offsets->sizes[i] * (uint64_t)stride;
        index /= offsets->sizes[i];
    }
    return offset;
}

static bool flipped(const void *how, uint64_t i, struct carry *place)
{
    const struct flipped *it = how;
    place->to = it->out + signed_offset(&it->offsets, i, 0);
    place->from = it->in + signed_offset(&it->offsets, i, 1);
    return true;
}

bool walk_flip(const struct kernel *kernel, void **arguments)
{
    struct flipped it;
    const char *closure = arguments[1];
    size_t at = (offsets_bytes(2) + 7u) & ~(size_t)7;
    uint64_t count = number(arguments[0]);
    if (!kernel->bytes || !offsets_read(closure, 2, &it.offsets) ||
        offsets_count(&it.offsets) != count)
        return false;
    it.out = argument_word(closure + at);
    it.in = argument_word(closure + at + 8);
    carry_all(flipped, &it, count, kernel->bytes, it.out);
    return true;
}

/* ---- roll: (input, output, count, dimension, where it begins, its size, its stride, ...) ---- */

struct rolled {
    uint64_t in, out, start, size, stride;
    uint32_t bytes;
};

static bool rolled(const void *how, uint64_t i, struct carry *place)
{
    const struct rolled *it = how;
    uint64_t along = i / it->stride % it->size;
    uint64_t moved = (along + it->start) % it->size;
    place->to = it->out + i * it->bytes;
    place->from = it->in + (i + (moved - along) * it->stride) * it->bytes;
    return true;
}

bool walk_roll(const struct kernel *kernel, void **arguments)
{
    struct rolled it = {.in = argument_word(arguments[0]),
                        .out = argument_word(arguments[1]),
                        .start = argument_word(arguments[4]),
                        .size = argument_word(arguments[5]),
                        .stride = argument_word(arguments[6]),
                        .bytes = kernel->bytes};
    if (!it.bytes || !it.size || !it.stride)
        return false;
    carry_all(rolled, &it, argument_word(arguments[2]), it.bytes, it.out);
    return true;
}

/* ---- tril and triu: (output, input, diagonal, ...) ---- */

struct triangle {
    const struct kernel *kernel;
    struct tensor_info out, in;
    int64_t diagonal;
};

/* What is cut off is zero, which is what a place without a source brings. */
static bool cut(const void *how, uint64_t i, struct carry *place)
{
    const struct triangle *it = how;
    int32_t last = it->out.dimensions - 1;
    int64_t column = (int64_t)(i % it->out.sizes[last]);
    int64_t row = (int64_t)(i / it->out.sizes[last] % it->out.sizes[last - 1]);
    bool keeps = it->kernel->upper ? column - row >= it->diagonal : column - row <= it->diagonal;
    place->to = it->out.at + tensor_info_offset(&it->out, i) * it->kernel->bytes;
    if (keeps)
        place->from = it->in.at + tensor_info_offset(&it->in, i) * it->kernel->bytes;
    return true;
}

bool walk_triangle(const struct kernel *kernel, void **arguments)
{
    struct triangle it = {.kernel = kernel, .diagonal = (int64_t)argument_word(arguments[2])};
    if (!kernel->bytes || !tensor_info_read(arguments[0], kernel->counts, &it.out) ||
        !tensor_info_read(arguments[1], kernel->counts, &it.in) || it.out.dimensions < 2)
        return false;
    carry_all(cut, &it, tensor_info_count(&it.out), kernel->bytes, it.out.at);
    return true;
}
