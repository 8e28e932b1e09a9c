/*
 * clock.h - the clocks. Everything that is recorded uses CLOCK_MONOTONIC in nanoseconds.
 */
#ifndef TIDEMARK_BASE_CLOCK_H
#define TIDEMARK_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

static inline uint64_t clock_read_ns(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return (uint64_t)at.tv_sec * NS_PER_S + (uint64_t)at.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

#endif
