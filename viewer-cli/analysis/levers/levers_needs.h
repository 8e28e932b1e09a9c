/*
 * levers_needs.h - whether backward needs what the program holds beside it, and until when.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_NEEDS_H
#define TIDEMARK_ANALYSIS_LEVERS_NEEDS_H

#include "levers_work.h"

enum levers_need { LEVERS_NEED_NONE, LEVERS_NEED_UNKNOWN, LEVERS_NEED_SURE };

/* Whether autograd needs the blocks of a site that the program holds, by who made the last of them
 * and what was made of it. 0 or an error. */
int levers_find_need(struct levers_work *work, int64_t site, enum levers_need *need);

/* What autograd saved of an output goes with the output's gradient, once its node has run. Of the
 * last one of its size that is the first that backward makes; of another it is not known, and the
 * end of backward stands for it. */
int64_t levers_end_in_backward(const struct levers_step *step, const struct levers_block *block,
                               const struct levers_phase *backward);

#endif
