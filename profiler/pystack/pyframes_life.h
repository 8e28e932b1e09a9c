/*
 * pyframes_life.h - from when to when frames may be read: the interpreter is found, its offsets are
 * checked, its end is seen in time.
 *
 *     UNSOUGHT --interpreter found, all checks passed--> READY --exit begins--> ENDED
 *         |                                                |
 *         +------------------ something does not fit ------+--> OFF
 *
 * OFF and ENDED are for good. A process without Python stays UNSOUGHT and looks again, less and
 * less often: an interpreter may be loaded later.
 *
 * Py_FinalizeEx frees the states of other threads while these may still be inside C. So a capture
 * is counted while it runs, and a function that Python's atexit calls before that moment ends
 * captures and waits for those that run. It is registered, and the first stack is compared with
 * the interpreter's own, by a pending call: that is a function that the interpreter's main thread
 * runs with the GIL as soon as it can.
 */
#ifndef TIDEMARK_PROFILER_PYFRAMES_LIFE_H
#define TIDEMARK_PROFILER_PYFRAMES_LIFE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pyframes_walk.h"

enum pyframes_state { PYFRAMES_UNSOUGHT = 0, PYFRAMES_READY, PYFRAMES_ENDED, PYFRAMES_OFF };

struct pyframes {
    _Atomic uint32_t state;        /* enum pyframes_state */
    _Atomic uint32_t generation;   /* of the guest, which the table's site numbers are of */
    _Atomic int32_t trials;        /* stacks that are still to be read carefully */
    _Atomic uint32_t compared;     /* frames that the interpreter confirmed; 0 = not asked yet */
    struct pyframes_python python; /* valid once READY */
};

extern struct pyframes pyframes;

/* Captures that run; a thread keeps to one of the counters. */
struct pyframes_counter {
    _Alignas(64) _Atomic int64_t running;
};
enum { PYFRAMES_COUNTERS = 64 };
extern struct pyframes_counter pyframes_counters[PYFRAMES_COUNTERS];
extern __thread uint32_t pyframes_my_counter; /* 1 and up; 0 = not chosen yet */
uint32_t pyframes_choose_counter(void);

/* Brackets of a capture. False: captures have ended; then without the other bracket. */
static inline void pyframes_leave(void)
{
    atomic_fetch_sub_explicit(&pyframes_counters[pyframes_my_counter - 1].running, 1,
                              memory_order_release);
}

static inline bool pyframes_enter(void)
{
    uint32_t mine = pyframes_my_counter ? pyframes_my_counter : pyframes_choose_counter();
    atomic_fetch_add(&pyframes_counters[mine - 1].running, 1);
    if (__builtin_expect(atomic_load(&pyframes.state) == PYFRAMES_READY, 1) &&
        pyframes.python.is_initialized())
        return true;
    pyframes_leave();
    return false;
}

/* Makes the table of the ring that is now there: of a ring of other definitions nothing is kept. */
bool pyframes_renew(void);

/* Off for good. `why` is static; the first one stays. */
void pyframes_turn_off(const char *why);

/* The destructor of code objects still tells us; if not, stacks are turned off. */
bool pyframes_is_guarded(void);

/* Asks the interpreter to call us, if that was not done yet. */
void pyframes_ask_for_call(void);

#endif
