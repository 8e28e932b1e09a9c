/*
 * lists.c - PyTorch's multi_tensor_apply_kernel: one launch for a list of tensors, or for several
 * lists side by side, as torch._foreach_add_ has them: ({lists}, functor, operation, number).
 *
 * The lists: addresses of the tensors, list by list; how many elements each tensor has; a number
 * for each, or the address of its step, where the kernel takes such; and of each block of the
 * launch which tensor it works on and which chunk of it. As many are room for as fit into the
 * arguments of a launch, which PyTorch 2.14 with CUDA 13 takes to be 32 KiB and others 4 KiB: no
 * name says which. What the other one would be is no launch, so the first that is only one of them
 * tells.
 *
 * What is computed is small: it is for counters of an optimizer. Of all other tensors those that
 * are written are forgotten.
 */
#include <stdatomic.h>
#include <string.h>

#include "argument.h"
#include "parameters.h"
#include "reals.h"
#include "values.h"
#include "walks.h"

#define LISTS_MOST 5u
#define CHUNK UINT64_C(65536)             /* elements */
#define ELEMENTS_MOST (UINT64_C(1) << 40) /* of a tensor; addresses are larger */
#define COUNT_MOST 16u                    /* elements of a tensor that is computed */

/* How many tensors, by the number of lists, and how many blocks are room for. */
static const struct room {
    uint16_t tensors[LISTS_MOST];
    uint16_t with_numbers[LISTS_MOST]; /* where a number stands for each tensor */
    uint32_t blocks, bytes;            /* bytes of a tensor's index */
} rooms[] = {{{110, 64, 48, 36, 30}, {96, 64, 48, 36, 30}, 320, 1},
             {{770, 448, 336, 252, 210}, {672, 448, 336, 252, 210}, 2240, 2}};

#define ROOMS 2

struct lists {
    const struct kernel *kernel;
    const struct room *room;
    const char *at;
    uint32_t tensors, count; /* there is room for; blocks of this launch */
    size_t elements, numbers, indices, chunks, bytes;
};

/* ---- reading ---- */

static size_t aligned(size_t at, size_t to)
{
    return (at + to - 1) / to * to;
}

static struct lists lay_out(const struct kernel *kernel, const void *at, const struct room *room)
{
    uint32_t which = kernel->lists - 1;
    struct lists it = {.kernel = kernel, .room = room, .at = at};
    size_t number = kernel->numbers ? real_bytes(kernel->number) : 0;
    it.tensors = kernel->numbers ? room->with_numbers[which] : room->tensors[which];
    it.elements = (size_t)8 * it.tensors * kernel->lists;
    it.numbers = it.elements + (size_t)8 * it.tensors;
    it.indices = it.numbers + number * it.tensors;
    if (kernel->steps)
        it.indices = it.numbers + (size_t)8 * room->with_numbers[which];
    it.indices = aligned(it.indices, room->bytes);
    it.chunks = aligned(it.indices + (size_t)room->bytes * room->blocks, 4);
    it.bytes = it.chunks + (size_t)4 * room->blocks;
    return it;
}

/* Of the wrong room they lie anywhere, on a stack. */
LOOKS_BEYOND static uint64_t word_at(const struct lists *it, size_t offset)
{
    return *(const uint64_t *)(const void *)(it->at + offset);
}

LOOKS_BEYOND static uint32_t tensor_of(const struct lists *it, uint32_t block)
{
    const char *at = it->at + it->indices;
    return it->room->bytes == 1 ? ((const uint8_t *)at)[block]
                                : ((const uint16_t *)(const void *)at)[block];
}

LOOKS_BEYOND static int32_t chunk_of(const struct lists *it, uint32_t block)
{
    return ((const int32_t *)(const void *)(it->at + it->chunks))[block];
}

static uint64_t elements_of(const struct lists *it, uint32_t tensor)
{
    return word_at(it, it->elements + (size_t)8 * tensor);
}

static uint64_t address_of(const struct lists *it, uint32_t list, uint32_t tensor)
{
    return word_at(it, (size_t)8 * ((size_t)list * it->tensors + tensor));
}

/* Block after block, tensor after tensor, each chunk inside of its tensor. */
static bool is_launch(const struct lists *it)
{
    if (it->count == 0 || it->count > it->room->blocks ||
        parameters_readable(it->at, it->bytes) < it->bytes)
        return false;
    for (uint32_t i = 0, before = 0; i < it->count; i++) {
        uint32_t tensor = tensor_of(it, i), step = tensor - before;
        int32_t chunk = chunk_of(it, i);
        if (step > (i > 0) || tensor >= it->tensors)
            return false;
        uint64_t elements = elements_of(it, tensor);
        if (elements > ELEMENTS_MOST || chunk < 0 || (uint64_t)chunk * CHUNK >= elements)
            return false;
        for (uint32_t k = 0; k < it->kernel->lists; k++)
            if (!address_of(it, k, tensor))
                return false;
        before = tensor;
    }
    return true;
}

static bool read_lists(const struct kernel *kernel, const void *at, uint32_t blocks,
                       struct lists *it)
{
    static _Atomic uint32_t told; /* the room that it is, from 1 */
    uint32_t fits = 0, which = 0;
    for (uint32_t i = 0; i < ROOMS; i++) {
        struct lists tried = lay_out(kernel, at, &rooms[i]);
        tried.count = blocks;
        if ((told && told != i + 1) || !is_launch(&tried))
            continue;
        *it = tried;
        which = i + 1;
        fits++;
    }
    if (fits == 1)
        told = which;
    return fits == 1;
}

/* ---- computing ---- */

/* The operation with its number as a form of reals.h. */
struct applied {
    struct kernel kernel;
    struct real_call call;
};

static void apply_plus(struct applied *it, double number, double alpha)
{
    bool lists = it->kernel.inputs == 2;
    it->kernel.form = lists ? FORM_ADD : FORM_ADD_RIGHT;
    it->call.first = number;
    it->call.second = it->kernel.op == OP_MINUS ? -alpha : alpha;
}

/* False: not known what it does. */
static bool read_operation(const struct lists *lists, void **arguments, uint32_t tensor,
                           struct applied *it)
{
    const struct kernel *kernel = lists->kernel;
    char type = kernel->output;
    const char *numbers = lists->at + lists->numbers;
    double number = 0, alpha = 1;
    bool known = true;
    uint8_t scalar[8] = {0};
    *it = (struct applied){.kernel = {.form = kernel->form,
                                      .op = kernel->op,
                                      .inputs = kernel->inputs,
                                      .input = {type, type},
                                      .output = type,
                                      .real = true}};
    it->call.kernel = &it->kernel;
    if (kernel->form == FORM_COPY)
        return true;
    if (kernel->numbers)
        known = real_load(kernel->number, numbers + (size_t)tensor * real_bytes(kernel->number),
                          &number);
    else if (kernel->form == FORM_BINARY)
        known = real_load(type, arguments[3], &alpha);
    else if (kernel->by_address)
        known = values_get_real(argument_word(arguments[3]), scalar, real_bytes(type)) &&
                real_load(type, scalar, &number) && real_load(type, arguments[4], &alpha);
    else
        known = real_load(type, arguments[3], &number);
    it->call.first = number;
    if (kernel->op == OP_PLUS || kernel->op == OP_MINUS)
        apply_plus(it, number, alpha);
    else
        known &= alpha == 1 && (kernel->op == OP_MULTIPLY || real_is(type));
    return known;
}

static bool fetch(char type, uint64_t at, uint8_t *bytes, uint64_t count)
{
    return real_is(type) ? values_get_real(at, bytes, count) : values_get(at, bytes, count);
}

/* False: it is not known. */
static bool compute(const struct lists *it, void **arguments, uint32_t tensor)
{
    uint8_t in[2][COUNT_MOST * 8], out[COUNT_MOST * 8] = {0};
    struct applied applied;
    char type = it->kernel->output, types[KERNEL_INPUTS + 1] = {type, type, type};
    uint64_t count = elements_of(it, tensor), bytes = count * real_bytes(type);
    if (it->kernel->form == FORM_NONE || count > COUNT_MOST)
        return false;
    for (uint32_t k = 0; k < it->kernel->inputs; k++)
        if (!fetch(type, address_of(it, k, tensor), in[k], bytes))
            return false;
    if (!read_operation(it, arguments, tensor, &applied))
        return false;
    for (uint64_t i = 0; i < bytes; i += real_bytes(type))
        if (!real_element(&applied.call, types, (const uint8_t *[]){in[0] + i, in[1] + i}, out + i))
            return false;
    uint64_t to = address_of(it, it->kernel->result - 1, tensor);
    if (real_is(type))
        values_put_real(to, out, bytes);
    else
        values_put(to, out, bytes);
    return true;
}

static void forget(const struct lists *it, uint32_t tensor)
{
    for (uint32_t k = 0; k < it->kernel->lists; k++)
        if (!it->kernel->result || k == it->kernel->result - 1)
            values_forget_run(address_of(it, k, tensor));
}

bool walk_lists(const struct kernel *kernel, const uint32_t *grid, void **arguments)
{
    struct lists it;
    if (!kernel->lists || !read_lists(kernel, arguments[0], grid[0], &it))
        return false;
    for (uint32_t i = 0, tensor; i < it.count; i++) {
        tensor = tensor_of(&it, i);
        if (i > 0 && tensor == tensor_of(&it, i - 1))
            continue;
        if (!compute(&it, arguments, tensor))
            forget(&it, tensor);
    }
    return !kernel->elsewhere;
}
