/*
 * loop.h - a training loop that never was, of any length, as the recorder's state would see it: for
 * tests of what is kept of a long run.
 *
 * Each step has zero_grad, forward (with a phase of the program inside), loss, backward and
 * optimizer. Gradients die in the next zero_grad; one block in a while is never freed; some live
 * for a few steps, some for hundreds; now and then a step needs more than any before.
 */
#ifndef TIDEMARK_TESTS_LOOP_H
#define TIDEMARK_TESTS_LOOP_H

#include "batch.h"
#include "state.h"

struct loop_options {
    uint64_t steps;
    unsigned processes;   /* 1 or 2: the second one's steps are shorter */
    bool small;           /* a quarter of the blocks */
    bool driver;          /* a part of a pool, a sample and two kernels in each forward */
    bool no_steps;        /* blocks without phases or steps */
    uint64_t leak_every;  /* steps; 0: nothing is left */
    uint64_t grow_until;  /* step: up to it each step in 100 is a new peak */
    uint64_t oom_at;      /* step; 0: none */
    uint64_t step_ns;     /* between the steps */
    bool aside;           /* a second thread with phases from within a step to within the next */
    uint64_t life;        /* steps after which the second one ends, and another comes; 0: never */
    uint64_t batch_every; /* steps; 0: 512 */
};

/* Runs it; `sink` takes each batch over. False from it ends the run. */
void loop_run(const struct loop_options *options, bool (*sink)(void *self, struct batch *batch),
              void *self);

#endif
