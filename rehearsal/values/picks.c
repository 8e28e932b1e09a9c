/*
 * picks.c - kernels that take elements by their indices, or put them there: index, index_put,
 * gather, scatter, index_select. The closures hold what they captured in the order of its first
 * use.
 */
#include <string.h>

#include "carry.h"
#include "offsets.h"
#include "tensor_info.h"
#include "values.h"
#include "walks.h"

#define INDICES_MOST 25u

static uint64_t word(const void *at, size_t bytes)
{
    uint64_t value;
    memcpy(&value, (const char *)at + bytes, sizeof value);
    return value;
}

static uint64_t count_of(const void *at)
{
    int32_t count;
    memcpy(&count, at, sizeof count);
    return count > 0 ? (uint64_t)count : 0;
}

/* Bytes of the offsets that a closure begins with. */
static size_t behind_offsets(uint32_t operands)
{
    return (offsets_bytes(operands) + 7u) & ~(size_t)7;
}

/* ---- index and index_put ----
 *
 * {offsets of three; output; input; number of indices; 25 addresses of indices; 25 sizes; 25
 * strides in bytes}. The offset goes to the input of index, to the output of index_put. */

struct indexing {
    struct offsets offsets;
    uint64_t out, in, indices;
    uint64_t at[INDICES_MOST], sizes[INDICES_MOST], strides[INDICES_MOST];
    bool puts;
};

static bool read_indexing(const void *closure, struct indexing *it)
{
    size_t at = behind_offsets(3);
    const char *arrays = (const char *)closure + at + 24;
    if (!offsets_read(closure, 3, &it->offsets))
        return false;
    it->out = word(closure, at);
    it->in = word(closure, at + 8);
    it->indices = word(closure, at + 16);
    memcpy(it->at, arrays, sizeof it->at);
    memcpy(it->sizes, arrays + sizeof it->at, sizeof it->sizes);
    memcpy(it->strides, arrays + 2 * sizeof it->at, sizeof it->strides);
    return it->indices > 0 && it->indices <= INDICES_MOST;
}

/* Negative ones count from the end. */
static bool read_index(uint64_t at, char type, uint64_t size, int64_t *index)
{
    if (!carry_number(at, type, index))
        return false;
    if (*index < 0)
        *index += (int64_t)size;
    return *index >= 0 && (uint64_t)*index < size;
}

static bool indexed(const void *how, uint64_t i, struct carry *place)
{
    const struct indexing *it = how;
    uint64_t offset = 0;
    for (uint64_t k = 0; k < it->indices; k++) {
        int64_t index;
        if (!read_index(it->at[k] + offsets_of(&it->offsets, i, 2), 'l', it->sizes[k], &index))
            return false;
        offset += (uint64_t)index * it->strides[k];
    }
    place->to = it->out + offsets_of(&it->offsets, i, 0) + (it->puts ? offset : 0);
    place->from = it->in + offsets_of(&it->offsets, i, 1) + (it->puts ? 0 : offset);
    return true;
}

bool walk_indexed(const struct kernel *kernel, void **arguments)
{
    struct indexing it = {.puts = kernel->puts};
    uint64_t count = count_of(arguments[0]);
    if (!read_indexing(arguments[1], &it) || offsets_count(&it.offsets) != count)
        return false;
    carry_all(indexed, &it, count, kernel->bytes, it.out);
    return true;
}

/* ---- gather and scatter ----
 *
 * {offsets of three; indices; size of the dimension; what is done with an element, which is empty;
 * output; stride of the dimension in elements; number of elements; source}. Of a fill the offsets
 * are of two, and in the place of the source lies the value. */

struct gathering {
    struct offsets offsets;
    const struct kernel *kernel;
    uint64_t indices, size, out, stride, source;
    const uint8_t *value; /* of a fill; NULL: there is a source */
};

static bool read_gathering(const struct kernel *kernel, const void *closure, struct gathering *it)
{
    uint32_t operands = kernel->fills ? 2 : 3;
    size_t at = behind_offsets(operands);
    it->kernel = kernel;
    if (!offsets_read(closure, operands, &it->offsets))
        return false;
    it->indices = word(closure, at);
    it->size = word(closure, at + 8);
    it->out = word(closure, at + 24);
    it->stride = word(closure, at + 32);
    if (kernel->fills)
        it->value = (const uint8_t *)closure + at + 48;
    else
        it->source = word(closure, at + 48);
    return true;
}

static bool gathered(const void *how, uint64_t i, struct carry *place)
{
    const struct gathering *it = how;
    uint32_t last = it->value ? 1 : 2;
    int64_t index;
    if (!carry_number(it->indices + offsets_of(&it->offsets, i, last), it->kernel->index, &index) ||
        index < 0 || (uint64_t)index >= it->size)
        return false;
    uint64_t offset = (uint64_t)index * it->stride * it->kernel->bytes;
    place->to = it->out + offsets_of(&it->offsets, i, 0) + (it->kernel->puts ? offset : 0);
    if (it->value)
        memcpy(place->value, it->value, it->kernel->bytes);
    else
        place->from = it->source + offsets_of(&it->offsets, i, 1) + (it->kernel->puts ? 0 : offset);
    return true;
}

bool walk_gathered(const struct kernel *kernel, void **arguments)
{
    struct gathering it = {0};
    uint64_t count = count_of(arguments[0]);
    if (kernel->bytes > CARRY_BYTES || !read_gathering(kernel, arguments[1], &it) ||
        offsets_count(&it.offsets) != count)
        return false;
    if (kernel->op == OP_SUM)
        carry_add(gathered, &it, count, kernel->output, it.out);
    else if (kernel->op == OP_NONE)
        carry_all(gathered, &it, count, kernel->bytes, it.out);
    else
        values_forget_run(it.out);
    return true;
}

/* ---- whole rows by their index: (output, input, indices, number of them, bytes of a row, rows of
 * the input, strides of input and output in bytes, whether negative ones count) ---- */

void walk_rows(const struct kernel *kernel, void **arguments)
{
    uint64_t out = word(arguments[0], 0), in = word(arguments[1], 0), at = word(arguments[2], 0);
    uint64_t count = count_of(arguments[3]), bytes = word(arguments[4], 0);
    uint64_t size = word(arguments[5], 0), in_stride = word(arguments[6], 0);
    uint64_t out_stride = word(arguments[7], 0);
    uint32_t width = kernel_type_bytes(kernel->index);
    for (uint64_t i = 0; i < count; i++) {
        int64_t index;
        uint8_t first;
        if (!read_index(at + i * width, kernel->index, size, &index) ||
            !values_get(in + (uint64_t)index * in_stride, &first, 1)) {
            values_forget(out, (count - 1) * out_stride + bytes);
            return;
        }
        values_move(out + i * out_stride, in + (uint64_t)index * in_stride, bytes);
    }
}

/* ---- index_select: (output, input, indices, their dimensions of output and input, ..., elements
 * inside of an index, size of the dimension) ---- */

struct selecting {
    const struct kernel *kernel;
    struct tensor_info out, in, indices;
    uint64_t out_stride, in_stride, inner, size;
};

static bool selected(const void *how, uint64_t i, struct carry *place)
{
    const struct selecting *it = how;
    uint64_t which = i / it->inner, inside = i % it->inner;
    uint64_t at = it->indices.at +
                  tensor_info_offset(&it->indices, which) * kernel_type_bytes(it->kernel->index);
    int64_t index;
    if (!carry_number(at, it->kernel->index, &index) || index < 0 || (uint64_t)index >= it->size)
        return false;
    place->to = it->out.at +
                (tensor_info_offset(&it->out, inside) + which * it->out_stride) * it->kernel->bytes;
    place->from =
        it->in.at +
        (tensor_info_offset(&it->in, inside) + (uint64_t)index * it->in_stride) * it->kernel->bytes;
    return true;
}

bool walk_selected(const struct kernel *kernel, void **arguments)
{
    struct selecting it = {.kernel = kernel};
    char counts = kernel->counts;
    uint64_t to = count_of(arguments[3]), from = count_of(arguments[4]);
    /* With many indices the number of all elements stands before that of the inner ones. */
    int inner = kernel->puts ? 6 : 5;
    if (!kernel->bytes || !tensor_info_read(arguments[0], counts, &it.out) ||
        !tensor_info_read(arguments[1], counts, &it.in) ||
        !tensor_info_read(arguments[2], counts, &it.indices) || to >= TENSOR_INFO_DIMENSIONS ||
        from >= TENSOR_INFO_DIMENSIONS)
        return false;
    it.out_stride = it.out.strides[to];
    it.in_stride = it.in.strides[from];
    memcpy(&it.inner, arguments[inner], kernel_type_bytes(counts));
    it.size = word(arguments[inner + 1], 0);
    if (it.inner == 0)
        return false;
    carry_all(selected, &it, tensor_info_count(&it.indices) * it.inner, kernel->bytes, it.out.at);
    return true;
}
