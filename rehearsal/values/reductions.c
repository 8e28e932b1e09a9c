/*
 * reductions.c - kernels that make one element of many: PyTorch's reduce_kernel, and CUB's count of
 * what is not zero, and sum.
 */
#include <string.h>

#include "functor.h"
#include "offsets.h"
#include "pieces.h"
#include "reals.h"
#include "values.h"
#include "walks.h"

#define COUNT_MOST VALUES_MOST

/* ---- PyTorch's ReduceOp ----
 *
 * {operation; first value; sizes of the launch; offsets of an input within its group; offsets of
 * the groups: of output and input; address of the input; addresses of two outputs}
 *
 * The sizes: the bytes of what is summed up in, the elements of a group, the groups, and thirteen
 * numbers of how threads share them. */

#define SIZES_WORDS 16u

struct reduction {
    const struct kernel *kernel;
    struct offsets in, groups;
    uint64_t group, outputs; /* elements of a group, groups */
    uint64_t from, to[2];
    char type[2]; /* of the outputs; the second may be missing */
    float factor; /* of a mean of floats */
};

/* The value that is summed up in: two numbers where an index goes with it. */
static uint32_t first_bytes(const struct kernel *kernel)
{
    switch (kernel->op) {
    case OP_LARGEST_AT:
    case OP_SMALLEST_AT:
    case OP_AT_LARGEST:
    case OP_AT_SMALLEST:
    case OP_RANGE_OF:
        return 16;
    case OP_ALL:
    case OP_ANY:
        return kernel_type_bytes(kernel->input[1]);
    default:
        return real_bytes(kernel->output);
    }
}

static void name_outputs(struct reduction *it)
{
    enum kernel_op op = it->kernel->op;
    it->type[0] = it->kernel->output;
    if (op == OP_LARGEST_AT || op == OP_SMALLEST_AT)
        it->type[1] = 'l';
    else if (op == OP_RANGE_OF)
        it->type[1] = it->kernel->output;
    else if (op == OP_AT_LARGEST || op == OP_AT_SMALLEST)
        it->type[0] = 'l';
}

static bool read_reduction(const struct kernel *kernel, const void *argument, struct reduction *it)
{
    const uint32_t *words = argument;
    uint32_t bytes = first_bytes(kernel), unit = bytes > 8 ? 8 : bytes;
    uint32_t at =
        (unit + bytes + 3) / 4; /* words of the operation, which is empty, and the value */
    *it = (struct reduction){.kernel = kernel};
    if (!bytes || words[at] != bytes)
        return false;
    memcpy(&it->factor, words, sizeof it->factor);
    it->group = words[at + 1];
    it->outputs = words[at + 2];
    at += SIZES_WORDS;
    if (!offsets_read(words + at, 1, &it->in))
        return false;
    at += offsets_bytes(1) / 4;
    if (!offsets_read(words + at, 2, &it->groups))
        return false;
    at = (at + offsets_bytes(2) / 4 + 1) & ~1u;
    memcpy(&it->from, words + at, 8);
    memcpy(it->to, words + at + 2, 16);
    name_outputs(it);
    return offsets_count(&it->in) == it->group && offsets_count(&it->groups) == it->outputs &&
           it->group * it->outputs <= COUNT_MOST;
}

/* What is known after the first few of a group. */
struct sum {
    int64_t value, other;
    uint64_t at;
};

static void add(enum kernel_op op, struct sum *sum, int64_t value, uint64_t index)
{
    bool first = index == 0;
    switch (op) {
    case OP_ALL:
        sum->value = (first || sum->value) && value;
        break;
    case OP_ANY:
        sum->value = (!first && sum->value) || value;
        break;
    case OP_SUM:
        sum->value = (int64_t)((uint64_t)sum->value + (uint64_t)value);
        break;
    case OP_RANGE_OF:
        sum->value = first || value < sum->value ? value : sum->value;
        sum->other = first || value > sum->other ? value : sum->other;
        break;
    case OP_SMALLEST:
    case OP_SMALLEST_AT:
    case OP_AT_SMALLEST:
        if (first || value < sum->value)
            *sum = (struct sum){.value = value, .at = index};
        break;
    default:
        if (first || value > sum->value)
            *sum = (struct sum){.value = value, .at = index};
        break;
    }
}

static int64_t result_of(enum kernel_op op, const struct sum *sum, uint32_t output)
{
    if (op == OP_AT_LARGEST || op == OP_AT_SMALLEST)
        return (int64_t)sum->at;
    if (output == 0)
        return sum->value;
    return op == OP_RANGE_OF ? sum->other : (int64_t)sum->at;
}

static void reduce(const struct reduction *it, const uint8_t *in)
{
    enum kernel_op op = it->kernel->op;
    for (uint64_t group = 0; group < it->outputs; group++) {
        const uint8_t *from = in + offsets_of(&it->groups, group, 1);
        struct sum sum = {0};
        struct offsets_walk places;
        offsets_begin(&it->in, &places);
        for (uint64_t i = 0; i < it->group; i++, offsets_next(&places))
            add(op, &sum, functor_load(it->kernel->input[0], from + places.at[0]), i);
        /* The offset is that of the first output; the second one's type is larger or the same. */
        uint64_t offset = offsets_of(&it->groups, group, 0);
        for (uint32_t k = 0; k < 2 && it->type[k]; k++) {
            uint8_t bytes[8] = {0};
            uint64_t size = kernel_type_bytes(it->type[k]);
            functor_store(it->type[k], bytes, result_of(op, &sum, k));
            values_put(it->to[k] + offset / kernel_type_bytes(it->type[0]) * size, bytes, size);
        }
    }
}

static void reduce_reals(const struct reduction *it, const uint8_t *in)
{
    for (uint64_t group = 0; group < it->outputs; group++) {
        uint64_t to = it->to[0] + offsets_of(&it->groups, group, 0);
        uint8_t bytes[8] = {0};
        uint32_t size = real_bytes(it->type[0]);
        if (real_reduce(it->kernel->op, it->type[0], in + offsets_of(&it->groups, group, 1),
                        &it->in, it->group, it->factor, bytes))
            values_put_real(to, bytes, size);
        else
            values_forget(to, size);
    }
}

static void forget_outputs(const struct reduction *it)
{
    for (uint32_t k = 0; k < 2; k++)
        if (k == 0 || it->type[k])
            values_forget(it->to[k], offsets_last(&it->groups, 0) + 8);
}

bool walk_reduce(const struct kernel *kernel, void **arguments)
{
    struct reduction it;
    struct piece in = {0};
    if (kernel->op == OP_NONE || !read_reduction(kernel, arguments[0], &it))
        return false;
    uint64_t bytes =
        offsets_last(&it.in, 0) + offsets_last(&it.groups, 1) + real_bytes(kernel->input[0]);
    if (kernel->real && it.group * it.outputs <= REALS_MOST &&
        piece_fetch_real(&in, it.from, bytes))
        reduce_reals(&it, in.bytes);
    else if (!kernel->real && piece_fetch(&in, it.from, bytes))
        reduce(&it, in.bytes);
    else
        forget_outputs(&it);
    piece_drop(&in);
    return true;
}

/* ---- CUB ---- */

static uint64_t read_u64(const void *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Counts are of 32 or 64 bits, by PyTorch's version; a count that makes sense has no high half. */
static uint64_t read_count(const void *at)
{
    return (uint32_t)read_u64(at);
}

/* An iterator that transforms: {address, operation} or, in CUDA 12, the other way round. The
 * operation is empty: in its word lies whatever lay there before. */
static bool fetch_iterator(const void *at, uint64_t bytes, struct piece *piece)
{
    const char *words = at;
    return piece_fetch(piece, read_u64(words), bytes) ||
           piece_fetch(piece, read_u64(words + 8), bytes);
}

static void put_counts(uint64_t to, uint32_t total, uint32_t blocks)
{
    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t count = i == 0 ? total : 0;
        values_put(to + 4 * (uint64_t)i, &count, sizeof count);
    }
}

void walk_count(const struct kernel *kernel, uint32_t blocks, void **arguments)
{
    uint64_t to = read_u64(arguments[1]), count = read_count(arguments[2]);
    uint32_t size = kernel_type_bytes(kernel->input[0]), total = 0;
    struct piece in = {0};
    if (!size || !fetch_iterator(arguments[0], count * size, &in)) {
        values_forget(to, 4 * (uint64_t)blocks);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        total += functor_load(kernel->input[0], in.bytes + i * size) != 0;
    put_counts(to, total, blocks);
    piece_drop(&in);
}

void walk_sum(void **arguments)
{
    uint64_t to = read_u64(arguments[1]), count = read_count(arguments[2]);
    struct piece in = {0};
    uint32_t total = 0;
    if (!piece_fetch(&in, read_u64(arguments[0]), count * 4)) {
        values_forget(to, 4);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        total += (uint32_t)functor_load('i', in.bytes + i * 4);
    put_counts(to, total, 1);
    piece_drop(&in);
}
