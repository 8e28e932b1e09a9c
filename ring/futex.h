/*
 * futex.h - waiting on a word in shared memory, by raw system call: not a cancellation point, and
 * errno is left as it was.
 */
#ifndef TIDEMARK_RING_FUTEX_H
#define TIDEMARK_RING_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps while *word == expected, at most timeout_ns; may wake for no reason. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec timeout = {(time_t)(timeout_ns / 1000000000u),
                               (long)(timeout_ns % 1000000000u)};
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, NULL, 0);
    errno = saved;
}

static inline void futex_wake_all(_Atomic uint32_t *word)
{
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}

#endif
