/*
 * cupti_callback.h - what CUPTI calls in the program's threads: at the enter and the exit of the
 * driver's calls that have to do with memory, and of the runtime's around them.
 *
 * Nothing of CUDA's may be called there, and nothing that loads a library. Walking the stack and
 * naming the caller's library read the loader's list: that lock of the C library is held for
 * changes of the list alone, never while constructors run. An enter and its exit are matched by the
 * number that CUPTI gives each call; each thread keeps those that are under way. Where one call of
 * the driver for memory is made inside of another, the outer one is told.
 *
 * An exit may never come: of a call that does not return, or that CUPTI did not tell. All that
 * follows in its thread would then look as if it were inside of it. What cannot be is taken as the
 * sign that it has ended: the runtime calls the driver, never the other way round; no call for
 * memory is made of itself; and none is DEPTH deep.
 */
#ifndef TIDEMARK_PROFILER_CUPTI_CALLBACK_H
#define TIDEMARK_PROFILER_CUPTI_CALLBACK_H

#include <stdint.h>

#include "cupti_abi.h"

/* abi_callback_fn */
void callback_take(void *own, int domain, uint32_t cbid, const void *data);

/* Asks for all callbacks that are ours. Returns of how many calls of the driver we shall hear; old
 * libraries do not know the newest. What was under way in any thread is forgotten. */
uint32_t callback_enable(abi_subscriber subscriber);

/* Calls whose exit never came, as far as it was found out. */
uint64_t callback_lost(void);

#endif
