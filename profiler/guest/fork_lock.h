/* fork_lock.h - a lock that a forked child can take over: see fork_lock.c. */
#ifndef TIDEMARK_PROFILER_FORK_LOCK_H
#define TIDEMARK_PROFILER_FORK_LOCK_H

#include <stdatomic.h>
#include <stdint.h>

enum fork_lock {
    FORK_LOCK_NOT_HELD,  /* not in time */
    FORK_LOCK_HELD,      /* what it guards is whole */
    FORK_LOCK_INHERITED, /* held, but a thread of the parent was in the middle of something */
};

enum fork_lock fork_lock_take(_Atomic uint32_t *lock);
void fork_lock_give(_Atomic uint32_t *lock);

#endif
