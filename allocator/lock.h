/*
 * lock.h - the allocator's lock: one word and a futex. It is taken and given back once for each
 * block, mostly by one thread alone; then that is two atomic instructions in the caller's own code.
 * pthread's lock made a malloc and a free some 6 ns dearer.
 *
 * Invariants: LOCK_FREE; LOCK_HELD: by one thread, and nobody sleeps; LOCK_AWAITED: held, and
 * somebody may sleep, so whoever gives it back wakes one. Who slept takes it as LOCK_AWAITED, as it
 * cannot know whether others still sleep.
 */
#ifndef TIDEMARK_ALLOCATOR_LOCK_H
#define TIDEMARK_ALLOCATOR_LOCK_H

#include <stdatomic.h>
#include <stdint.h>

enum { LOCK_FREE, LOCK_HELD, LOCK_AWAITED };

struct lock { /* all zero is free */
    _Atomic uint32_t state;
};

void lock_wait(struct lock *lock); /* and takes it */
void lock_wake(struct lock *lock); /* one who waits */

static inline void lock_take(struct lock *lock)
{
    uint32_t expected = LOCK_FREE;
    if (!atomic_compare_exchange_strong_explicit(&lock->state, &expected, LOCK_HELD,
                                                 memory_order_acquire, memory_order_relaxed))
        lock_wait(lock);
}

static inline void lock_give(struct lock *lock)
{
    if (atomic_exchange_explicit(&lock->state, LOCK_FREE, memory_order_release) == LOCK_AWAITED)
        lock_wake(lock);
}

#endif
