/*
 * levers_pieces.h - GELU by tanh, written out: 0.5 * x * (1 + tanh(c * (x + 0.044715 * pow(x,
 * 3)))). It is known by what it does, whatever its class is called: eight tensors of one size one
 * after the other, of which numbers of Python's made the first, third, fifth and seventh, and of
 * which backward needs the first, the sixth and those behind it.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_PIECES_H
#define TIDEMARK_ANALYSIS_LEVERS_PIECES_H

#include "levers_scalars.h"

enum { LEVERS_PIECES = 8 };

/* A call at one site begins with this block, and is such a one. */
bool levers_is_gelu(const struct levers_scalars *scalars, const struct levers_step *step,
                    size_t at);

#endif
