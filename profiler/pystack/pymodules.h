/*
 * pymodules.h - which module of the framework runs in the calling thread, without the GIL.
 *
 * A module's call stands on the stack as frames of `forward` and of Module's own call, and the
 * first local of such a frame is the module. The helper tells us the modules by their address, with
 * a number for each, and takes each back before its memory is free for another: so an address that
 * is used again never has an old one's number.
 *
 * Invariants of the table: whoever changes it holds its lock; a key is stored before its number may
 * be read through it (release), and a thread asks only for objects that its own frames keep alive,
 * so a number is never read while its key changes. Tables that were outgrown stay mapped: all
 * together they are smaller than the present one.
 */
#ifndef TIDEMARK_PROFILER_PYMODULES_H
#define TIDEMARK_PROFILER_PYMODULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pyframes_walk.h"

/* What the frames of modules are known by; the helper keeps these objects for good. */
struct pymodules_marks {
    const void *forward,
        *call;          /* names: interned strings, so the same object wherever they stand */
    const void *engine; /* the code object of the helper's way into autograd's engine */
};

struct pymodules_found {
    uint32_t module; /* 0 = none that the helper told */
    bool in_engine;  /* a backward call stands above all modules */
};

/* By a thread that runs Python, twice: from a function that has `first_local` as its first
 * argument, and then from one that has it in a cell besides. What the second finds is followed only
 * because the first was right. False: it is not where it should be, and no module is ever found. */
bool pymodules_begin(const struct pymodules_marks *marks, const void *first_local);
/* False without memory. */
bool pymodules_put(uint64_t object, uint32_t number);
void pymodules_drop(uint64_t object);
/* Calls that were seen of modules that the helper has not told: grows, for the helper to read. */
_Atomic uint32_t *pymodules_unknown(void);

/* Where in a stack of these code objects modules can stand: below 2^28, and 0: nowhere, nor does
 * the engine. */
uint32_t pymodules_way(const struct pyframes_python *python, const void *state);
/* Of the thread that `state` is of, whose stack has that way: within the brackets of a capture. */
struct pymodules_found pymodules_go(const struct pyframes_python *python, const void *state,
                                    uint32_t way);
/* The same of any stack. */
struct pymodules_found pymodules_look(const struct pyframes_python *python, const void *state);

/* 0: it is no module that was told. */
uint32_t pymodules_find(uint64_t object);

extern _Atomic uint32_t pymodules_living;
/* How many there are now. */
static inline uint32_t pymodules_count(void)
{
    return atomic_load_explicit(&pymodules_living, memory_order_relaxed);
}

#endif
