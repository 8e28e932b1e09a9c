/*
 * pyframes.h - the Python stack of the calling thread as a site number, without the GIL.
 *
 * A thread that is inside a C function cannot change its own Python frames, whoever holds the GIL.
 * So they can be read by their offsets in memory: these are known for each minor version
 * (pyframes_layout.c), checked against what the interpreter publishes about itself, and the first
 * stacks are read with care (pyframes_walk.c). A stack that was seen before is one hash and one
 * comparison away (pyframes_table.h); a new one is named once and interned.
 *
 * Whatever does not fit turns stacks off for good in this process, with a sentence that says why.
 */
#ifndef TIDEMARK_PROFILER_PYFRAMES_H
#define TIDEMARK_PROFILER_PYFRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "pymodules.h"

/* Number of the ARENA_SITE, innermost frame first; 0 if the thread has no Python frames or they
 * cannot be read. At most ARENA_MAX_DEPTH frames: of a deeper stack the innermost ones. Only while
 * guest_live(). */
uint32_t pyframes_site(void);

enum pyframes_found {
    PYFRAMES_UNREAD, /* what there may be could not be read, or not be stored */
    PYFRAMES_NONE,   /* the thread has no Python frames */
    PYFRAMES_FOUND
};
struct pyframes_here {
    uint64_t site; /* as intern_place gives it; only if it was found */
    struct pymodules_found module;
};
/* The same, with the module that runs. */
enum pyframes_found pyframes_look(struct pyframes_here *here);
/* The module alone. */
struct pymodules_found pyframes_module(void);

/* Looks for the interpreter; pyframes_site does it by itself. True: stacks can be read. */
bool pyframes_start(void);

/* Why stacks are off in this process; NULL while they work or were not asked for yet. */
const char *pyframes_why_not(void);
/* Notes it, if so, or that the user does not want them: they may be turned off at any time. */
void pyframes_note_why_not(void);

#endif
