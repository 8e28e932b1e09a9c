/*
 * fork_lock.c - the lock of what the guest's sources share between threads.
 *
 * The word is the process id of the holder, so that a forked child can tell a lock that is held
 * from one that a thread of its parent held: that thread will never give it back here. Waiting is
 * bounded: a signal handler may come to a new stack while its own thread holds the lock.
 */
#include "fork_lock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "futex.h"

#define PATIENCE_NS (50 * NS_PER_MS)
#define WAITED 0x80000000u /* somebody may sleep; process ids are below 2^22 */

enum fork_lock fork_lock_take(_Atomic uint32_t *lock)
{
    uint32_t self = (uint32_t)syscall(SYS_getpid);
    uint32_t seen = 0;
    uint64_t deadline = 0;
    while (!atomic_compare_exchange_strong(lock, &seen, self)) {
        if (seen && (seen & ~WAITED) != self) {
            if (atomic_compare_exchange_strong(lock, &seen, self))
                return FORK_LOCK_INHERITED;
        } else if (seen) {
            uint64_t now = clock_now_ns();
            deadline = deadline ? deadline : now + PATIENCE_NS;
            if (now >= deadline)
                return FORK_LOCK_NOT_HELD;
            if (atomic_compare_exchange_strong(lock, &seen, self | WAITED) ||
                seen == (self | WAITED))
                futex_wait(lock, self | WAITED, PATIENCE_NS / 8);
        }
        seen = 0;
    }
    return FORK_LOCK_HELD;
}

void fork_lock_give(_Atomic uint32_t *lock)
{
    if (atomic_exchange(lock, 0) & WAITED)
        futex_wake_all(lock);
}
