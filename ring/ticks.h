/*
 * ticks.h - CLOCK_MONOTONIC by the processor's counter, for who asks with every event.
 *
 * The kernel's clock takes 20 ns, half of what an event costs; the counter that the kernel makes it
 * of takes 10. The recorder looks at both from time to time and writes into each ring how they go
 * together: a line, which holds for a second. The program adds what has passed since.
 *
 * A line is written only while the kernel itself tells the time by this counter, which says that
 * all processors have the same, and never again after a prediction was wrong. Where there is none,
 * or it is older than it holds, or being written, the kernel's clock is asked.
 *
 * Invariants of a line at rest: version is even; rate is 0, or `ticks` and `ns` are one moment,
 * after which ns passed = ticks passed * rate / 2^32. Times of one thread may run back by what a
 * prediction was off, as by a change of processors: the drain clamps them (event.h).
 */
#ifndef TIDEMARK_RING_TICKS_H
#define TIDEMARK_RING_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

/* Shared with the program, on a line of its own; the recorder alone writes it. */
struct ticks_line {
    uint64_t version; /* odd while it is written */
    uint64_t rate;    /* 0: ask the kernel */
    uint64_t ticks, ns;
    uint64_t holds; /* ticks */
};

/* A moment on both clocks. */
struct ticks_moment {
    uint64_t ticks, ns;
};

/* The recorder's. The rate is that since `old`, which is one to two seconds ago once the recorder
 * is that old: the kernel's clock is made a little slower or faster at times. */
struct ticks {
    bool works; /* false for good, once it does not */
    struct ticks_moment old, young, last;
    uint64_t rate; /* 0: not known yet */
};

/* Whether the counter can be a clock here. */
void ticks_begin(struct ticks *ticks);
/* At most each TICKS_LOOK_NS it looks again. True if there is a line to be told. */
bool ticks_look(struct ticks *ticks, uint64_t now_ns);
/* What ticks_look found, whoever reads the clocks. */
void ticks_see(struct ticks *ticks, struct ticks_moment now);
void ticks_tell(const struct ticks *ticks, struct ticks_line *line);
bool ticks_is_valid(const struct ticks *ticks);

__extension__ typedef unsigned __int128 ticks_wide;

#define TICKS_LOOK_NS (20 * NS_PER_MS)

static inline uint64_t ticks_count(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

/* False: ask the kernel. */
static inline bool ticks_ns_at(const struct ticks_line *line, uint64_t ticks, uint64_t *ns)
{
    uint64_t version = __atomic_load_n(&line->version, __ATOMIC_ACQUIRE);
    uint64_t rate = __atomic_load_n(&line->rate, __ATOMIC_ACQUIRE);
    uint64_t since = __atomic_load_n(&line->ticks, __ATOMIC_ACQUIRE);
    uint64_t base = __atomic_load_n(&line->ns, __ATOMIC_ACQUIRE);
    uint64_t holds = __atomic_load_n(&line->holds, __ATOMIC_ACQUIRE);
    uint64_t passed = ticks - since;
    *ns = base + (uint64_t)((ticks_wide)passed * rate >> 32);
    return rate && passed < holds && !(version & 1) &&
           __atomic_load_n(&line->version, __ATOMIC_RELAXED) == version;
}

static inline uint64_t ticks_now_ns(const struct ticks_line *line)
{
    uint64_t ns;
    if (!__atomic_load_n(&line->rate, __ATOMIC_RELAXED))
        return clock_now_ns(); /* the counter may be forbidden, or cost a trap */
    bool told = ticks_ns_at(line, ticks_count(), &ns);
    return __builtin_expect(told, 1) ? ns : clock_now_ns();
}

#endif
