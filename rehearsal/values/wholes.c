/* wholes.c - see wholes.h. */
#include "wholes.h"

#include <string.h>

#include "argument.h"
#include "offsets.h"
#include "values.h"

#define STRIDED_BYTES 4096u
#define REDUCTION_WORDS                                                                            \
    320u /* of eight bytes: three tables of offsets stand before the addresses */

/* ---- names ---- */

static const char *behind(const char *name, const char *text)
{
    const char *at = strstr(name, text);
    return at ? at + strlen(text) : NULL;
}

/* The functor, where a template has it, first or behind a number. What is a lambda begins with a Z:
 * the function that it stands in. */
static const char *lambda_of(const char *name, const char *before)
{
    const char *at = behind(name, before);
    if (at && strncmp(at, "Li", 2) == 0)
        at = behind(at, "E");
    return at && *at == 'Z' ? at : NULL;
}

/* The parameters of the innermost lambda: "UllbE" takes a long and a truth value. The others take
 * nothing, and are the switch over the types. */
static bool takes_wholes(const char *at)
{
    for (at = strstr(at, "Ul"); at && at[2] == 'v'; at = strstr(at + 2, "Ul"))
        continue;
    if (!at || at[2] == 'E')
        return false;
    for (at += 2; *at != 'E'; at++)
        if (!kernel_type_is_whole(*at))
            return false;
    return true;
}

/* "...jlLi4E": counted in unsigned ints, of longs. */
static char reduced_to(const char *name)
{
    for (const char *at = behind(name, "8ReduceOpI"); at; at = behind(at, "Li"))
        if (at[-1] == 'i' && at[-2] == 'L' && at[-4] == 'j')
            return at[-3];
    return 0;
}

static enum wholes of_reduction(const char *name)
{
    if (strstr(name, "6MaxOpsI") || strstr(name, "6MinOpsI"))
        return WHOLES_REDUCED_SECOND; /* the value, and where it stands */
    return kernel_type_is_whole(reduced_to(name)) ? WHOLES_REDUCED : WHOLES_NONE;
}

static enum wholes of_functor(const char *before, const char *name, const struct kernel *kernel,
                              enum wholes wholes)
{
    const char *lambda = lambda_of(name, before);
    bool makes = kernel_type_is_whole(kernel->output) || (lambda && takes_wholes(lambda));
    return makes ? wholes : WHOLES_NONE;
}

enum wholes wholes_of_name(const char *name, const struct kernel *kernel,
                           const struct parameters *parameters)
{
    switch (kernel->walk) {
    case WALK_FLAT:
        return of_functor("29vectorized_elementwise_kernelI", name, kernel, WHOLES_FLAT);
    case WALK_CAST: /* what converts names no type: walk_cast */
        return kernel->converts
                   ? WHOLES_NONE
                   : of_functor("unrolled_elementwise_kernelI", name, kernel, WHOLES_FLAT);
    case WALK_STRIDED:
        return strstr(name, "gpu_kernel_impl_nocast")
                   ? of_functor("gpu_kernel_impl_nocastI", name, kernel, WHOLES_STRIDED)
                   : WHOLES_NONE;
    case WALK_REDUCE:
        return of_reduction(name);
    default:
        return parameters->any_whole ? WHOLES_ARGUMENTS : WHOLES_NONE;
    }
}

/* ---- launches ---- */

static void note_arguments(const struct parameters *parameters, void **arguments)
{
    for (int32_t i = 0; i < parameters->count; i++)
        if (parameters->whole[i])
            values_note_whole(argument_word(arguments[i]));
}

LOOKS_BEYOND static uint64_t word_at(const char *at)
{
    const uint64_t *word = (const void *)at;
    return *word;
}

/* Where the addresses stand depends on how many operands there are; at the places of other numbers
 * of operands no address stands. */
static void note_strided(const char *at)
{
    size_t readable = parameters_readable(at, STRIDED_BYTES);
    for (uint32_t operands = 1; operands <= OFFSETS_OPERANDS; operands++) {
        size_t offset = (offsets_bytes(operands) + 7) & ~7u;
        if (offset + sizeof(uint64_t) <= readable)
            values_note_whole(word_at(at + offset));
    }
}

/* The operation before the addresses is of any length; nothing else in there is a pair of them. */
static void note_reduced(const char *at, bool second)
{
    size_t words = parameters_readable(at, 8 * REDUCTION_WORDS) / 8;
    for (size_t i = 0; i + 2 + second < words; i++) {
        if (!values_in_block(word_at(at + 8 * i)) || !values_in_block(word_at(at + 8 * (i + 1))))
            continue;
        values_note_whole(word_at(at + 8 * (i + 1 + second)));
        return;
    }
}

void wholes_note(enum wholes wholes, const struct parameters *parameters, void **arguments)
{
    switch (wholes) {
    case WHOLES_NONE:
        return;
    case WHOLES_FLAT:
        values_note_whole(argument_word(arguments[2]));
        return;
    case WHOLES_STRIDED:
        note_strided(arguments[1]);
        return;
    case WHOLES_REDUCED:
    case WHOLES_REDUCED_SECOND:
        note_reduced(arguments[0], wholes == WHOLES_REDUCED_SECOND);
        return;
    case WHOLES_ARGUMENTS:
        note_arguments(parameters, arguments);
        return;
    }
}
