/*
 * elements.c - kernels that make each element of an output of the elements of the inputs that stand
 * at its place. Operand 0 is the output, the inputs follow.
 */
#include <math.h>
#include <string.h>

#include "functor.h"
#include "offsets.h"
#include "pieces.h"
#include "reals.h"
#include "values.h"
#include "walks.h"

#define OPERANDS (KERNEL_INPUTS + 1)
#define COUNT_MOST VALUES_MOST

/* PyTorch's numbers of types that a kernel converts from and to. */
enum {
    TORCH_BYTE,
    TORCH_CHAR,
    TORCH_SHORT,
    TORCH_INT,
    TORCH_LONG,
    TORCH_FLOAT = 6,
    TORCH_DOUBLE = 7,
    TORCH_BOOL = 11
};

struct walk {
    struct functor_call call;
    struct real_call real;
    bool is_real; /* one of its types is a float: `real` in the place of `call` */
    struct offsets offsets;
    uint64_t count;
    uint64_t at[OPERANDS];
    char type[OPERANDS]; /* in memory; 0: no number */
};

static char type_of_torch(int8_t number)
{
    switch (number) {
    case TORCH_BYTE:
        return 'h';
    case TORCH_CHAR:
        return 'a';
    case TORCH_SHORT:
        return 's';
    case TORCH_INT:
        return 'i';
    case TORCH_LONG:
        return 'l';
    case TORCH_FLOAT:
        return 'f';
    case TORCH_DOUBLE:
        return 'd';
    case TORCH_BOOL:
        return 'b';
    default:
        return 0;
    }
}

/* ---- computing ---- */

static uint64_t range_of(const struct walk *walk, uint32_t operand)
{
    return offsets_last(&walk->offsets, operand) + real_bytes(walk->type[operand]);
}

/* As the functor takes it: of another type in memory it is converted. */
static int64_t convert(char type, int64_t value)
{
    uint8_t bytes[8] = {0};
    functor_store(type, bytes, value);
    return functor_load(type, bytes);
}

static void compute(const struct walk *walk, const struct piece *in, uint8_t *out)
{
    const struct kernel *kernel = walk->call.kernel;
    struct offsets_walk places;
    offsets_begin(&walk->offsets, &places);
    for (uint64_t i = 0; i < walk->count; i++, offsets_next(&places)) {
        int64_t values[KERNEL_INPUTS] = {(int64_t)i};
        for (uint32_t k = 0; k < kernel->inputs; k++)
            values[k] = convert(kernel->input[k],
                                functor_load(walk->type[k + 1], in[k].bytes + places.at[k + 1]));
        int64_t value = convert(kernel->output, functor_apply(&walk->call, values));
        functor_store(walk->type[0], out + places.at[0], value);
    }
}

static bool fetch(const struct walk *walk, uint32_t operand, struct piece *piece)
{
    uint64_t at = walk->at[operand], bytes = range_of(walk, operand);
    bool compares = walk->call.kernel->op == OP_EQUAL; /* of any floats it is what it is */
    return real_is(walk->type[operand]) && !compares ? piece_fetch_real(piece, at, bytes)
                                                     : piece_fetch(piece, at, bytes);
}

static bool fetch_inputs(const struct walk *walk, struct piece *in)
{
    for (uint32_t k = 0; k < walk->call.kernel->inputs; k++)
        if (!walk->type[k + 1] || !fetch(walk, k + 1, &in[k]))
            return false;
    return true;
}

/* The output: its own bytes where the elements leave gaps, which stay what they are. */
static bool begin_output(const struct walk *walk, struct piece *out)
{
    uint64_t bytes = range_of(walk, 0);
    if (bytes == walk->count * real_bytes(walk->type[0]))
        return piece_new(out, walk->at[0], bytes);
    return fetch(walk, 0, out);
}

/* ---- an operand that decides alone ---- */

/* The value of an operand that the other one cannot change any more; false: there is none. */
static bool absorbing(const struct kernel *kernel, int64_t *value)
{
    switch (kernel->op) {
    case OP_AND:
    case OP_BOTH:
        *value = 0;
        return true;
    case OP_OR:
        *value = kernel->output == 'b' ? 1 : -1;
        return true;
    case OP_EITHER:
        *value = 1;
        return true;
    default:
        return false;
    }
}

static bool decides(const struct walk *walk, uint32_t k, int64_t value, const struct piece *in)
{
    bool truth = walk->call.kernel->op == OP_EITHER;
    struct offsets_walk places;
    offsets_begin(&walk->offsets, &places);
    for (uint64_t i = 0; i < walk->count; i++, offsets_next(&places)) {
        int64_t found = convert(walk->call.kernel->input[k],
                                functor_load(walk->type[k + 1], in->bytes + places.at[k + 1]));
        if ((truth ? found != 0 : found) != value)
            return false;
    }
    return true;
}

static void store_all(const struct walk *walk, int64_t value, uint8_t *out)
{
    struct offsets_walk places;
    offsets_begin(&walk->offsets, &places);
    for (uint64_t i = 0; i < walk->count; i++, offsets_next(&places))
        functor_store(walk->type[0], out + places.at[0], value);
}

/* One operand is not known, and of the other it is known that it decides: so does the end of a
 * generation, whose longest length is reached whatever the tokens are. */
static bool run_decided(const struct walk *walk)
{
    struct piece out = {0};
    int64_t value;
    bool decided = false;
    if (walk->is_real || walk->call.kernel->form != FORM_BINARY || !walk->type[0] ||
        walk->count > COUNT_MOST || !absorbing(walk->call.kernel, &value))
        return false;
    for (uint32_t k = 0; k < walk->call.kernel->inputs && !decided; k++) {
        struct piece in = {0};
        decided = walk->type[k + 1] && fetch(walk, k + 1, &in) && decides(walk, k, value, &in);
        piece_drop(&in);
    }
    if (decided && begin_output(walk, &out)) {
        store_all(walk, value, out.bytes);
        piece_put(&out);
        return true;
    }
    piece_drop(&out);
    return false;
}

/* ---- whether floats are finite ---- */

static bool same_place(const struct walk *walk)
{
    const struct offsets *offsets = &walk->offsets;
    for (uint32_t i = 0; i < offsets->dimensions; i++)
        if (offsets->strides[i][1] != offsets->strides[i][2])
            return false;
    return walk->at[1] == walk->at[2];
}

/* What is asked is whether a float is itself, which no NaN is, or whether it is infinite: PyTorch
 * asks so for isnan, isinf and isfinite. */
static bool asks_for_finite(const struct walk *walk)
{
    const struct kernel *kernel = walk->call.kernel;
    if (!walk->is_real || kernel->op != OP_EQUAL || walk->type[0] != 'b' || !real_is(walk->type[1]))
        return false;
    if (kernel->form == FORM_BINARY)
        return same_place(walk);
    return kernel->form != FORM_NONE && isinf(walk->real.first);
}

/* Floats that are not known read as zeros, and are as finite as those: a program that stops where
 * its loss or its gradients are not would stop at once. */
static bool run_finite(const struct walk *walk)
{
    bool is_equal = walk->real.which == 0;
    struct piece out = {0};
    if (walk->count > COUNT_MOST || !asks_for_finite(walk))
        return false;
    bool put = begin_output(walk, &out);
    if (put) {
        store_all(walk, walk->call.kernel->form == FORM_BINARY ? is_equal : !is_equal, out.bytes);
        piece_put(&out);
    }
    piece_drop(&out);
    return put;
}

static void forget_output(const struct walk *walk)
{
    uint32_t bytes = real_bytes(walk->type[0]);
    if (!bytes) /* how wide an element is, nobody says: not beyond the output's own block */
        values_forget_run(walk->at[0]);
    else if (kernel_type_is_whole(walk->type[0]))
        values_forget_whole(walk->at[0], offsets_last(&walk->offsets, 0) + bytes);
    else
        values_forget(walk->at[0], offsets_last(&walk->offsets, 0) + bytes);
}

/* A fill of a number whose bytes are all the same, which zero is, takes no step for each element.
 * Of bytes that are many it is a library's working memory. */
static bool fill(const struct walk *walk)
{
    char type = walk->type[0];
    uint32_t width = kernel_type_bytes(type);
    uint8_t bytes[8] = {0};
    if (walk->call.kernel->form != FORM_FILL || !width || range_of(walk, 0) != walk->count * width)
        return false;
    functor_store(type, bytes, walk->call.first);
    for (uint32_t i = 1; i < width; i++)
        if (bytes[i] != bytes[0])
            return false;
    if (type == 'h' && walk->count > VALUES_PLAIN)
        values_forget(walk->at[0], walk->count);
    else
        values_fill(walk->at[0], bytes[0], walk->count * width);
    return true;
}

static void run(const struct walk *walk)
{
    if (fill(walk))
        return;
    struct piece in[KERNEL_INPUTS] = {{0}}, out = {0};
    uint64_t most = walk->is_real ? real_most(&walk->real) : COUNT_MOST;
    bool known = walk->call.kernel->form != FORM_NONE && walk->type[0] && walk->count <= most &&
                 fetch_inputs(walk, in) && begin_output(walk, &out);
    if (known && walk->is_real)
        known = real_compute(&walk->real, &walk->offsets, walk->type, walk->count, in, out.bytes);
    else if (known)
        compute(walk, in, out.bytes);
    if (known && real_is(walk->type[0]))
        piece_put_real(&out);
    else if (known)
        piece_put(&out);
    else if (!run_decided(walk) && !run_finite(walk))
        forget_output(walk);
    for (uint32_t k = 0; k < KERNEL_INPUTS; k++)
        piece_drop(&in[k]);
    piece_drop(&out);
}

/* ---- reading a launch ---- */

static bool begin(struct walk *walk, const struct kernel *kernel, uint64_t count)
{
    *walk = (struct walk){.count = count, .type = {kernel->output}};
    walk->call.kernel = kernel;
    memcpy(walk->type + 1, kernel->input, KERNEL_INPUTS);
    return count > 0;
}

static bool read_functor(struct walk *walk, const void *functor)
{
    const struct kernel *kernel = walk->call.kernel;
    return walk->is_real ? real_read(kernel, functor, &walk->real)
                         : functor_read(kernel, functor, &walk->call);
}

/* A form that is not known has its output first all the same: of eight bytes at most, unless it is
 * one of complex doubles. */
static void read_flat(struct walk *walk, const void *functor, const void *addresses)
{
    const struct kernel *kernel = walk->call.kernel;
    uint32_t bytes[OPERANDS];
    for (uint32_t i = 0; i <= kernel->inputs; i++)
        walk->is_real |= real_is(walk->type[i]);
    walk->is_real |= kernel->real;
    if (!read_functor(walk, functor))
        walk->type[0] = 0; /* what it makes is not known */
    memcpy(walk->at, addresses, (1 + kernel->inputs) * sizeof *walk->at);
    for (uint32_t i = 0; i < OPERANDS; i++)
        bytes[i] = real_bytes(walk->type[i]) ? real_bytes(walk->type[i]) : 8;
    offsets_flat(OPERANDS, bytes, walk->count, &walk->offsets);
}

static uint64_t read_count(const void *at)
{
    int32_t count;
    memcpy(&count, at, sizeof count);
    return count > 0 ? (uint64_t)count : 0;
}

void walk_flat(const struct kernel *kernel, void **arguments)
{
    struct walk walk;
    if (!begin(&walk, kernel, read_count(arguments[0])))
        return;
    read_flat(&walk, arguments[1], arguments[2]);
    run(&walk);
}

/* (count, functor, addresses, offsets of the inputs, of the output, what loads, what stores). What
 * loads and stores without converting holds nothing; what converts has the types' numbers first. */
void walk_cast(const struct kernel *kernel, void **arguments)
{
    struct walk walk;
    if (!begin(&walk, kernel, read_count(arguments[0])))
        return;
    if (kernel->converts) {
        for (uint32_t k = 0; k < kernel->inputs; k++)
            walk.type[k + 1] = type_of_torch(((const int8_t *)arguments[5])[k]);
        walk.type[0] = type_of_torch(*(const int8_t *)arguments[6]);
    }
    bool is_whole = kernel_type_is_whole(walk.type[0]);
    read_flat(&walk, arguments[1], arguments[2]);
    if (kernel->is_plain)
        run(&walk);
    else
        values_forget_run(walk.at[0]);
    if (is_whole)
        values_note_whole(walk.at[0]);
}

/* Of an unknown functor the output is forgotten alone. Where it stands depends on how many operands
 * there are; at the places of other numbers of operands no operand stands. */
static void forget_first_operand(const char *at)
{
    for (uint32_t operands = 1; operands <= OFFSETS_OPERANDS; operands++) {
        uint64_t address;
        memcpy(&address, at + ((offsets_bytes(operands) + 7) & ~7u), sizeof address);
        values_forget_run(address);
    }
}

/* (count, {offsets, addresses, functor}). */
bool walk_strided(const struct kernel *kernel, void **arguments)
{
    struct walk walk;
    const char *at = arguments[1];
    uint32_t operands = kernel->inputs + 1;
    uint32_t addresses = (offsets_bytes(operands) + 7) & ~7u;
    if (kernel->form == FORM_NONE) {
        forget_first_operand(at);
        return true;
    }
    if (!begin(&walk, kernel, read_count(arguments[0])))
        return true;
    walk.is_real = kernel->real;
    if (!offsets_read(at, operands, &walk.offsets) || offsets_count(&walk.offsets) != walk.count ||
        !read_functor(&walk, at + addresses + 8 * operands))
        return false;
    memcpy(walk.at, at + addresses, operands * sizeof *walk.at);
    run(&walk);
    return true;
}

/* (count, functor, output). */
void walk_index(const struct kernel *kernel, void **arguments)
{
    walk_flat(kernel, arguments);
}
