/*
 * cupti_sample.h - what the driver itself says about the device: SAMPLE events "device used",
 * "device total", and of stream-ordered pools and graphs.
 *
 * The driver may not be asked in a callback. It is asked where the program tells us something by
 * itself: at the end of a phase or a step, and at the first block behind a new context; in a thread
 * that has a current context, about that context's device. Samples take at most a hundredth of the
 * time, and come no closer than a millisecond unless there is a reason.
 */
#ifndef TIDEMARK_PROFILER_CUPTI_SAMPLE_H
#define TIDEMARK_PROFILER_CUPTI_SAMPLE_H

#include <stdatomic.h>
#include <stdbool.h>

/* Something happened that is worth a sample at the next occasion; in a callback, too. */
void sample_soon(void);
/* Whether it is waited for: a load and a branch. */
extern _Atomic bool sample_waited_for;

/* An occasion; never in a callback. `now`: the rate does not matter. Only while guest_live(). */
void sample_take(bool now);

#endif
