/*
 * cupti_life.h - the CUPTI source: what the driver itself gives and takes, and what the device
 * does.
 *
 * The driver loads the library that CUDA_INJECTION64_PATH names when CUDA starts, and calls its
 * InitializeInjection: `record` lets it name ours. Its life in one process:
 *
 *     NONE --injected--> ON <----------------.          FATAL_ERROR, or refused: OFF for good
 *                         |                   \
 *              torch.profiler starts      CUPTI is free again <-----.
 *                         v                   /                      \
 *                      YIELDED --it ends--> RETURNING --is kept--> BESIDE
 *
 * Up to CUDA 13.1 CUPTI serves one tool at a time: so we unsubscribe before torch.profiler begins,
 * and come back when it has let go. It may keep its subscription to the end of the program (Kineto
 * does, unless TEARDOWN_CUPTI=1 is set). Activity records need no subscription: then memory is told
 * by these, BESIDE it, until CUPTI is free; and torch.profiler gets the buffers, too, when it
 * begins once more. A GAP from our going to our coming back, whichever way, says what was not seen.
 * What went in it is asked of the driver (cupti_ask.h).
 *
 * The CUPTI of a rehearsal serves several tools, and nothing is let go of for torch.profiler's
 * sake.
 *
 * A forked child has none of this: the kernel wipes the word in the guest's page that says so, and
 * every way in asks for it. Where it failed, or was never started, one sentence says why (notes.h).
 */
#ifndef TIDEMARK_PROFILER_CUPTI_LIFE_H
#define TIDEMARK_PROFILER_CUPTI_LIFE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cupti_source.h"

/* By the driver. 1: loaded; nothing else is known to have a meaning. */
__attribute__((visibility("default"))) int InitializeInjection(void);

/* Whether the source was begun in this very process. */
bool cupti_is_here(void);

/* Whether it hears of the program's occasions (occasion.h). */
void cupti_listen(bool listens);

/* From callbacks. */
void cupti_fatal(void);
void cupti_contexts(uint32_t count);
void cupti_context_goes(void); /* at the enter of a call that may destroy one */

/* For tests. */
enum cupti_life {
    CUPTI_NONE,
    CUPTI_STARTING,
    CUPTI_ON,
    CUPTI_YIELDED,
    CUPTI_RETURNING,
    CUPTI_BESIDE,
    CUPTI_OFF
};
enum cupti_life cupti_life(void);
void cupti_hasten(void);        /* the next attempt to come back is due now */
void cupti_lose_for_test(void); /* a profiler ends, and nobody hears of it */

#endif
