/*
 * wholes.h - which kernels make whole numbers or truth values, whether or not it is known what else
 * they do. Where such numbers are not computed, it is noted where they stand (values_note_whole):
 * who reads them there is told that they are not known. Floats are read all the time, as losses
 * are, and lead to no size.
 *
 * By the name alone: a functor that takes whole numbers and nothing else makes such; a reduction
 * names the type of what it makes; other kernels name the types that their arguments lead to.
 */
#ifndef TIDEMARK_REHEARSAL_WHOLES_H
#define TIDEMARK_REHEARSAL_WHOLES_H

#include "kernel_name.h"
#include "parameters.h"

enum wholes {
    WHOLES_NONE,
    WHOLES_FLAT,    /* (count, functor, addresses, ...): the first of them */
    WHOLES_STRIDED, /* (count, {offsets, addresses, functor}) */
    WHOLES_REDUCED, /* ({..., address of the input, of one output, of another, ...}) */
    WHOLES_REDUCED_SECOND,
    WHOLES_ARGUMENTS /* parameters.whole */
};

enum wholes wholes_of_name(const char *name, const struct kernel *kernel,
                           const struct parameters *parameters);
/* After the launch: of what is known by then nothing is noted. */
void wholes_note(enum wholes wholes, const struct parameters *parameters, void **arguments);

#endif
