/*
 * levers_no_grad.h - calls of a model that keep a graph for a backward which does not come, and
 * what torch.no_grad() around them lets go of.
 *
 * With no_grad a block is there until what is made of it is made: until the second one after it.
 * What the program holds stays: what the call leaves last, and what is there longer than those
 * before it, as a graph goes from its end on.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_NO_GRAD_H
#define TIDEMARK_ANALYSIS_LEVERS_NO_GRAD_H

#include "levers_work.h"
#include "map.h"

enum { NO_GRAD_SHARE = 4 }; /* of a graph: at least one part of so many outlives the call */

struct no_grad_call {
    int64_t end;         /* what ends behind it outlives the call */
    size_t first, after; /* its blocks, in their places */
};

struct no_grad { /* all zero but work and step is none */
    struct levers_work *work;
    const struct levers_step *step;
    struct map outputs; /* places of blocks that the program holds */
    struct map likes;   /* of what the edit cuts: call site, bytes and module */
    bool most;          /* as if blocks went at once, and the program held no more than it has to */
    struct levers_edit edit;
};

/* It may be of a graph. */
bool no_grad_is_made(const struct levers_block *block);
/* Nothing is made while it is there: what an operation works in, as cuDNN's. A result of one is
 * there until the next one's is. */
bool no_grad_is_scratch(const struct levers_step *step, size_t at);
bool no_grad_outlives(const struct no_grad_call *call, const struct levers_block *block);
/* It outlives the call and is no output, once these were found. */
bool no_grad_is_kept(const struct no_grad *all, const struct no_grad_call *call, size_t at);
/* 0 or an error. */
int no_grad_find_outputs(struct no_grad *all, const struct no_grad_call *call);
int no_grad_cut(struct no_grad *all, const struct no_grad_call *call);
/* Of calls before the window, which left as much from the same places. */
int no_grad_cut_older(struct no_grad *all);
void no_grad_begin_edit(struct no_grad *all);

/* Makes the edit once more, as `most` is then. */
typedef int no_grad_make(struct no_grad *all, void *self);
/* The lever is an estimate where it matters what the program holds. */
int no_grad_try(struct no_grad *all, no_grad_make *make, void *self, struct levers_words *words);
void no_grad_clear(struct no_grad *all);

#endif
