/* pyframes_lock.h - a lock that a forked child can take over: see pyframes_lock.c. */
#ifndef TIDEMARK_PROFILER_PYFRAMES_LOCK_H
#define TIDEMARK_PROFILER_PYFRAMES_LOCK_H

#include <stdatomic.h>
#include <stdint.h>

enum pyframes_hold {
    PYFRAMES_NOT_HELD,  /* not in time */
    PYFRAMES_HELD,      /* what it guards is whole */
    PYFRAMES_INHERITED, /* held, but a thread of the parent was in the middle of something */
};

enum pyframes_hold pyframes_lock_take(_Atomic uint32_t *lock);
void pyframes_lock_give(_Atomic uint32_t *lock);

#endif
