/*
 * counts.c - kernels that count, or turn counts into indices: histograms, repeat_interleave,
 * searchsorted, the indices of what is not zero, and of an array the distinct ones behind each
 * other.
 */
#include <string.h>

#include "argument.h"
#include "carry.h"
#include "functor.h"
#include "mem.h"
#include "pieces.h"
#include "search.h"
#include "tensor_info.h"
#include "values.h"
#include "walks.h"

static int64_t number(const struct piece *piece, char type, uint64_t index)
{
    return functor_load(type, piece->bytes + index * kernel_type_bytes(type));
}

static void set(struct piece *piece, char type, uint64_t index, int64_t value)
{
    functor_store(type, piece->bytes + index * kernel_type_bytes(type), value);
}

/* ---- bincount: (output, parts of it, input, bins, lowest, highest, elements, ...) ---- */

struct binned {
    struct tensor_info out, in;
    char type;
    int64_t bins, low, high;
};

static bool binned(const void *how, uint64_t i, struct carry *place)
{
    const struct binned *it = how;
    static const int64_t one = 1;
    uint64_t at = it->in.at + tensor_info_offset(&it->in, i) * kernel_type_bytes(it->type);
    int64_t value;
    if (!carry_number(at, it->type, &value))
        return false;
    /* Outside of the bounds nothing is counted: zero more of the first. */
    bool counts = value >= it->low && value <= it->high;
    int64_t bin = counts ? (value - it->low) * it->bins / (it->high - it->low) : 0;
    if (bin == it->bins)
        bin--;
    place->to = it->out.at + tensor_info_offset(&it->out, (uint64_t)bin) * 8;
    if (counts)
        memcpy(place->value, &one, sizeof one);
    return bin >= 0;
}

bool walk_histogram(const struct kernel *kernel, void **arguments)
{
    struct tensor_info parts;
    struct binned it = {.type = kernel->input[0],
                        .bins = (int64_t)argument_word(arguments[3]),
                        .low = (int64_t)argument_word(arguments[4]),
                        .high = (int64_t)argument_word(arguments[5])};
    if (!kernel_type_bytes(it.type) || kernel->output != 'l' || it.high <= it.low ||
        it.high - it.low > INT32_MAX || it.bins > INT32_MAX ||
        !tensor_info_read(arguments[0], 'l', &it.out) ||
        !tensor_info_read(arguments[1], 'l', &parts) ||
        !tensor_info_read(arguments[2], 'l', &it.in))
        return false;
    values_forget_run(parts.at);
    carry_add(binned, &it, argument_word(arguments[6]), 'l', it.out.at);
    return true;
}

/* ---- repeat_interleave: (how often, their running sum, result, count, length of the result) ----
 */

bool walk_repeat(const struct kernel *kernel, void **arguments)
{
    char type = kernel->index;
    uint64_t width = kernel_type_bytes(type), count = argument_word(arguments[3]);
    uint64_t length = argument_word(arguments[4]), to = argument_word(arguments[2]);
    struct piece times = {0}, sums = {0}, out = {0};
    bool known = width && length <= VALUES_MOST && count <= VALUES_MOST &&
                 piece_fetch(&times, argument_word(arguments[0]), count * width) &&
                 piece_fetch(&sums, argument_word(arguments[1]), count * 8) &&
                 piece_new(&out, to, length * width);
    for (uint64_t i = 0; known && i < count; i++) {
        int64_t end = number(&sums, 'l', i), begin = end - number(&times, type, i);
        known = begin >= 0 && begin <= end && (uint64_t)end <= length;
        for (int64_t k = begin; known && k < end; k++)
            set(&out, type, (uint64_t)k, (int64_t)i);
    }
    if (known)
        piece_put(&out);
    else
        values_forget_run(to);
    piece_drop(&times);
    piece_drop(&sums);
    piece_drop(&out);
    return width != 0;
}

/* ---- searchsorted: (output, what is looked for, boundaries, an order of them, length of a row
 * looked for, of a row of boundaries, elements, right, whether there is one row of boundaries) ----
 */

static uint64_t search(const struct piece *bounds, char type, uint64_t from, uint64_t count,
                       int64_t value, bool right)
{
    uint64_t at;
    SEARCH_FIRST(at, 0, count,
                 right ? number(bounds, type, from + at) <= value
                       : number(bounds, type, from + at) < value);
    return at;
}

bool walk_search(const struct kernel *kernel, void **arguments)
{
    char type = kernel->input[0], made = kernel->output;
    uint64_t to = argument_word(arguments[0]), row = argument_word(arguments[4]),
             bounds = argument_word(arguments[5]);
    uint64_t count = argument_word(arguments[6]);
    bool right = *(const bool *)arguments[7], single = *(const bool *)arguments[8];
    uint64_t rows = single || row == 0 ? 1 : count / row;
    struct piece in = {0}, at = {0}, out = {0};
    if (!kernel_type_bytes(type) || argument_word(arguments[3]))
        return false;
    if (count <= CARRY_MOST && bounds <= CARRY_MOST &&
        piece_fetch(&in, argument_word(arguments[1]), count * kernel_type_bytes(type)) &&
        piece_fetch(&at, argument_word(arguments[2]), rows * bounds * kernel_type_bytes(type)) &&
        piece_new(&out, to, count * kernel_type_bytes(made))) {
        for (uint64_t i = 0; i < count; i++) {
            uint64_t from = single || row == 0 ? 0 : i / row * bounds;
            uint64_t found = search(&at, type, from, bounds, number(&in, type, i), right);
            set(&out, made, i, (int64_t)(found));
        }
        piece_put(&out);
    } else {
        values_forget_run(to);
    }
    piece_drop(&in);
    piece_drop(&at);
    piece_drop(&out);
    return true;
}

/* ---- nonzero: (first index, truth values, output, their number, ...), then the indices of each
 * dimension of the flat ones: (in place, sizes, dimensions, count) ---- */

/* An iterator that transforms: {address, operation} or the other way round; the operation is empty,
 * so that in its word lies whatever lay there before. */
static bool fetch_iterator(const void *at, uint64_t bytes, struct piece *piece)
{
    return piece_fetch(piece, argument_word(at), bytes) ||
           piece_fetch(piece, argument_word((const char *)at + 8), bytes);
}

bool walk_flagged(const struct kernel *kernel, void **arguments)
{
    uint64_t out = argument_word(arguments[2]), number_at = argument_word(arguments[3]);
    uint64_t count = argument_count(arguments[7]), width = kernel_type_bytes(kernel->input[0]);
    struct piece in = {0};
    struct piece_run run = {.at = out};
    int32_t total = 0;
    if (!width || count > VALUES_MOST || !fetch_iterator(arguments[1], count * width, &in)) {
        values_forget_run(out);
        values_forget(number_at, 4);
        return true;
    }
    for (uint64_t i = 0; i < count; i++) {
        int64_t index = (int64_t)(argument_word(arguments[0]) + i);
        if (!number(&in, kernel->input[0], i))
            continue;
        piece_run_put(&run, &index, sizeof index);
        total++;
    }
    piece_run_end(&run);
    values_put(number_at, &total, sizeof total);
    piece_drop(&in);
    return true;
}

#define NONZERO_DIMENSIONS 25

bool walk_unravel(void **arguments)
{
    uint64_t at = argument_word(arguments[0]), count = argument_word(arguments[3]);
    uint64_t dimensions = argument_count(arguments[2]);
    const char *sizes = arguments[1];
    struct piece flat = {0}, out = {0};
    if (dimensions == 0 || dimensions > NONZERO_DIMENSIONS)
        return false;
    if (count > VALUES_MOST || !piece_fetch(&flat, at, 8 * count) ||
        !piece_new(&out, at, 8 * count * dimensions)) {
        values_forget(at, 8 * count * dimensions);
        piece_drop(&flat);
        return true;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t left = (uint64_t)number(&flat, 'l', i);
        for (uint64_t k = dimensions; k > 0; k--) {
            uint64_t size = argument_word(sizes + 8 * (k - 1));
            set(&out, 'l', i + (k - 1) * count, (int64_t)(size ? left % size : 0));
            left = size ? left / size : 0;
        }
    }
    piece_put(&out);
    piece_drop(&flat);
    return true;
}

/* ---- unique: where a sorted array changes; its distinct ones, and how often each stands there
 * ---- */

/* (count, input, output): 1 where an element is another one than that before it. */
bool walk_changes(const struct kernel *kernel, void **arguments)
{
    char type = kernel->input[0];
    uint64_t count = argument_word(arguments[0]), to = argument_word(arguments[2]);
    struct piece in = {0}, out = {0};
    if (!kernel_type_bytes(type))
        return false;
    if (count <= VALUES_MOST &&
        piece_fetch(&in, argument_word(arguments[1]), count * kernel_type_bytes(type)) &&
        piece_new(&out, to, 4 * count)) {
        for (uint64_t i = 1; i < count; i++)
            set(&out, 'i', i, number(&in, type, i) != number(&in, type, i - 1));
        piece_put(&out);
    } else {
        values_forget(to, 4 * count);
    }
    piece_drop(&in);
    return true;
}

struct scattered {
    uint64_t in, indices, out;
};

static bool scattered(const void *how, uint64_t i, struct carry *place)
{
    const struct scattered *it = how;
    int64_t index;
    place->from = it->in + 8 * i;
    bool known = carry_number(it->indices + 8 * i, 'l', &index) && index >= 0;
    place->to = it->out + 8 * (uint64_t)index;
    return known;
}

/* (count, input, indices, output) */
bool walk_scatter(void **arguments)
{
    struct scattered it = {argument_word(arguments[1]), argument_word(arguments[2]),
                           argument_word(arguments[3])};
    carry_all(scattered, &it, argument_word(arguments[0]), 8, it.out);
    return true;
}

/* Of equal ones that lie side by side one, and how often it lies there. */
static int64_t put_runs(const struct piece *in, char type, uint64_t count, uint64_t to,
                        uint64_t counts_at)
{
    uint32_t width = kernel_type_bytes(type);
    struct piece_run found = {.at = to}, lengths = {.at = counts_at};
    int64_t total = 0, length = 0;
    for (uint64_t i = 0; i < count; i++) {
        length++;
        if (i + 1 < count && number(in, type, i) == number(in, type, i + 1))
            continue;
        piece_run_put(&found, in->bytes + i * width, width);
        if (counts_at)
            piece_run_put(&lengths, &length, sizeof length);
        total++;
        length = 0;
    }
    piece_run_end(&found);
    piece_run_end(&lengths);
    return total;
}

/* (input, distinct ones, ..., how often, their number, ..., count): `counts_at` 0 if nobody asks.
 */
static void distinct(char type, uint64_t from, uint64_t to, uint64_t counts_at, uint64_t number_at,
                     uint64_t count)
{
    struct piece in = {0};
    if (count > VALUES_MOST || !piece_fetch(&in, from, count * kernel_type_bytes(type))) {
        values_forget_run(to);
        values_forget(number_at, 8);
        if (counts_at)
            values_forget_run(counts_at);
        return;
    }
    int64_t total = put_runs(&in, type, count, to, counts_at);
    values_put(number_at, &total, sizeof total);
    piece_drop(&in);
}

bool walk_runs(const struct kernel *kernel, void **arguments)
{
    if (!kernel_type_bytes(kernel->input[0]))
        return false;
    distinct(kernel->input[0], argument_word(arguments[0]), argument_word(arguments[1]),
             argument_word(arguments[3]), argument_word(arguments[4]),
             argument_count(arguments[9]));
    return true;
}

bool walk_distinct(const struct kernel *kernel, void **arguments)
{
    if (!kernel_type_bytes(kernel->input[0]))
        return false;
    distinct(kernel->input[0], argument_word(arguments[0]), argument_word(arguments[2]), 0,
             argument_word(arguments[3]), argument_count(arguments[7]));
    return true;
}
