/*
 * levers_loop.h - whose training loop a step is in. A line of code helps only where it can be
 * written: in the loop of a trainer a program writes arguments of the trainer instead.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_LOOP_H
#define TIDEMARK_ANALYSIS_LEVERS_LOOP_H

#include "levers.h"

enum levers_loop {
    LEVERS_OWN_LOOP,
    LEVERS_HF_TRAINER, /* of transformers, and of what is made from it */
    LEVERS_LIGHTNING,
    LEVERS_LIGHTNING_BY_HAND, /* automatic_optimization = False: the steps are the program's */
    LEVERS_LOOPS
};

/* By the files of call stacks. 0 or an error. */
int levers_loop_read(struct db *db, enum levers_loop *out);
/* How a change is written in that loop: `usual` where there it is written as anywhere. */
const char *levers_in_loop(enum levers_loop loop, enum lever_kind kind, const char *usual);

#endif
