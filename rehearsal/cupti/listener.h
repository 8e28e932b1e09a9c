/*
 * listener.h - the tools that have subscribed, and what each wants to hear. There may be a few, as
 * with CUDA 13.2 and later: the profiler of a program, and the recorder.
 *
 * One that goes may be in a call at that moment, in another thread; what it was told the begin of,
 * it is not told the end of then.
 */
#ifndef TIDEMARK_REHEARSAL_LISTENER_H
#define TIDEMARK_REHEARSAL_LISTENER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "told.h"
#include "told_abi.h"

/* The order of writing: what is heard, `own`, `number`, and `function` last. */
struct listener {
    _Atomic(told_function) function; /* NULL: the place is free */
    _Atomic(void *) own;
    _Atomic uint32_t number; /* never 0 while there is one; another for each who comes */
    _Atomic bool calls[TOLD_CALLS], resources[TOLD_RESOURCES];
    _Atomic bool taken; /* by who is just coming, or going */
    char name[64];
};
extern struct listener listeners[TOLD_LISTENERS];

bool listener_is_there(void);

/* Of a call, CUPTI's domain, number and name. */
struct told_name {
    uint16_t domain, number;
    const char *name;
};
extern const struct told_name told_names[TOLD_CALLS];

#endif
