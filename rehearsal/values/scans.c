/* scans.c - running sums: CUB's over a whole array, PyTorch's over rows and over columns. */
#include <string.h>

#include "functor.h"
#include "pieces.h"
#include "values.h"
#include "walks.h"

static uint64_t word(const void *at, uint32_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

/* `rows` times `length` elements that lie `stride` apart, each row with a sum of its own. */
struct scan {
    uint64_t from, to, rows, length, stride;
    char in, out;
};

/* Rows lie behind each other; those with a stride between each other, in groups of so many. */
static uint64_t place_of(const struct scan *it, uint64_t row, uint64_t i)
{
    return row / it->stride * it->length * it->stride + row % it->stride + i * it->stride;
}

static void sum_up(const struct scan *it, const uint8_t *in, uint8_t *out)
{
    uint32_t read = kernel_type_bytes(it->in), written = kernel_type_bytes(it->out);
    for (uint64_t row = 0; row < it->rows; row++) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < it->length; i++) {
            uint64_t at = place_of(it, row, i);
            sum += (uint64_t)functor_load(it->in, in + at * read);
            functor_store(it->out, out + at * written, (int64_t)sum);
        }
    }
}

static bool run(const struct scan *it)
{
    struct piece in = {0}, out = {0};
    uint64_t count = it->rows * it->length;
    uint32_t read = kernel_type_bytes(it->in), written = kernel_type_bytes(it->out);
    if (!read || !written || it->stride == 0)
        return false;
    if (it->rows <= VALUES_MOST && it->length <= VALUES_MOST && count <= VALUES_MOST &&
        piece_fetch(&in, it->from, count * read) && piece_new(&out, it->to, count * written)) {
        sum_up(it, in.bytes, out.bytes);
        piece_put(&out);
    } else {
        values_forget(it->to, count * written);
    }
    piece_drop(&in);
    return true;
}

/* (input, output, state, tile, operation, first, count). A first value would be one more: there is
 * none where the name has a type that is nothing in its place. */
bool walk_scan(const struct kernel *kernel, void **arguments)
{
    return run(&(struct scan){.from = word(arguments[0], 8),
                              .to = word(arguments[1], 8),
                              .rows = 1,
                              .length = word(arguments[6], 4),
                              .stride = 1,
                              .in = kernel->input[0],
                              .out = kernel->output});
}

/* (output, input, rows, length of a row, ...) */
bool walk_scan_rows(const struct kernel *kernel, void **arguments)
{
    return run(&(struct scan){.from = word(arguments[1], 8),
                              .to = word(arguments[0], 8),
                              .rows = word(arguments[2], 4),
                              .length = word(arguments[3], 4),
                              .stride = 1,
                              .in = kernel->output,
                              .out = kernel->output});
}

/* (output, input, groups, columns, length of a column, ...) */
bool walk_scan_columns(const struct kernel *kernel, void **arguments)
{
    uint32_t width = kernel_type_bytes(kernel->counts);
    if (width < 4)
        return false;
    uint64_t groups = word(arguments[2], width), columns = word(arguments[3], width);
    return run(&(struct scan){.from = word(arguments[1], 8),
                              .to = word(arguments[0], 8),
                              .rows = groups * columns,
                              .length = word(arguments[4], width),
                              .stride = columns,
                              .in = kernel->output,
                              .out = kernel->output});
}
