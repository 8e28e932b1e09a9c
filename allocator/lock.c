/* lock.c - see lock.h: what is done only when two threads meet. errno stays as it was. */
#include "lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

void lock_wait(struct lock *lock)
{
    int saved = errno;
    while (atomic_exchange_explicit(&lock->state, LOCK_AWAITED, memory_order_acquire) != LOCK_FREE)
        syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, LOCK_AWAITED, NULL, NULL, 0);
    errno = saved;
}

void lock_wake(struct lock *lock)
{
    int saved = errno;
    syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved;
}
