/*
 * outputs.c - kernels that make nothing that is known: only where they write. Of any other kernel
 * all is forgotten that its arguments may lead to, and what lies behind them on the stack.
 */
#include "argument.h"
#include "offsets.h"
#include "values.h"
#include "walks.h"

/* ---- several outputs: (count, functor, addresses of outputs and then of inputs, ...) ---- */

bool walk_outputs(const struct kernel *kernel, void **arguments)
{
    const char *addresses = arguments[2];
    for (uint32_t i = 0; i < kernel->outputs; i++)
        values_forget_run(argument_word(addresses + (size_t)8 * i));
    return kernel->outputs != 0;
}

/* ---- random numbers: (count, state, what makes them, lambda that writes)
 *
 * The lambda has the output's address in front, or behind the offsets of its elements. ---- */

#define WORDS 3u /* the address, a stride, and room for another order */

bool walk_random(const struct kernel *kernel, void **arguments)
{
    const char *lambda = arguments[3];
    size_t behind = kernel->strided ? offsets_bytes(1) & ~7u : 0;
    for (size_t i = 0; i < WORDS; i++)
        values_forget_run(argument_word(lambda + behind + 8 * i));
    if (behind)
        values_forget_run(argument_word(lambda));
    return true;
}
