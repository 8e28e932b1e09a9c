/*
 * levers_scalars.h - where a number of Python's met a tensor: 0.5 * x. PyTorch makes a tensor of a
 * few bytes of it, on the host wherever x is, right before the result. pow and functions of one
 * tensor make none.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_SCALARS_H
#define TIDEMARK_ANALYSIS_LEVERS_SCALARS_H

#include "levers_seen.h"

enum { LEVERS_SCALAR = 16 }; /* bytes that it has at most */

struct levers_scalars { /* all zero is empty */
    int64_t *seqs;      /* their births in the window, in order */
    size_t count, cap;
};

/* 0 or an error; levers_scalars_clear in both cases. */
int levers_scalars_read(struct levers_seen *seen, struct levers_scalars *out);
void levers_scalars_clear(struct levers_scalars *scalars);
/* One was made between this block of the step and the one before that is none itself. */
bool levers_with_scalar(const struct levers_scalars *scalars, const struct levers_step *step,
                        size_t at);

#endif
