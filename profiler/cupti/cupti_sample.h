/*
 * cupti_sample.h - what the driver itself says about the devices: SAMPLE events "device used",
 * "device total", and of stream-ordered pools and graphs.
 *
 * The driver may not be asked in a callback. It is asked where the program tells us something by
 * itself: at the end of a phase or a step, at blocks of an allocator, and when it ends. Each device
 * is sampled in which the program is known to have a context: the thread's current one first, then
 * one of each other device, which is made current for the length of the question. That a context is
 * there we know as long as callbacks tell when one goes; none is ever created.
 *
 * Samples take at most a hundredth of the time, and come no closer than a millisecond unless there
 * is a reason; where one takes more than ten milliseconds, one comes each second. Blocks are an
 * occasion ten times a second, and when something happened that is worth it.
 */
#ifndef TIDEMARK_PROFILER_CUPTI_SAMPLE_H
#define TIDEMARK_PROFILER_CUPTI_SAMPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cupti_life.h"

/* Something happened that is worth a sample at the next occasion; in a callback, too. */
void sample_soon(void);
/* Whether it is waited for: a load and a branch. */
extern _Atomic bool sample_waited_for;

/* An occasion; never in a callback. `now`: the rate does not matter. Only while guest_live(). */
void sample_take(bool now);
/* The same at a block, where a lock of the allocator's is held: the current device only. */
void sample_take_at_block(void);

/* From now on callbacks tell which contexts go, or none does: then they are forgotten. */
void sample_contexts_heard(bool heard);
/* A call was made in it, so it is complete; in a callback, too. */
void sample_context_seen(const void *context, int32_t device);
/* It is about to go; NULL: any may be. Waits, a little, for who samples it. */
void sample_context_goes(const void *context);

#endif
