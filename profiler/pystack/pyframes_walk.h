/*
 * pyframes_walk.h - reading the frames of the calling thread. Only while the interpreter lives and
 * the thread is inside a C function that its innermost frame called.
 */
#ifndef TIDEMARK_PROFILER_PYFRAMES_WALK_H
#define TIDEMARK_PROFILER_PYFRAMES_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pyframes_layout.h"
#include "pyframes_table.h"

/* What is needed of the interpreter for reading. */
struct pyframes_python {
    struct pyframes_layout layout;
    const void *code_type;
    const void *cell_type;     /* NULL = not known */
    void *(*this_state)(void); /* PyGILState_GetThisThreadState */
    int (*is_initialized)(void);
};

struct pyframes_frame {
    const void *code;
    uint32_t line; /* 0 = not known */
    bool passing;  /* the address where it stands can come to mean another line of the same code */
    bool hidden;   /* no frame for Python itself: not begun yet, or the interpreter's own */
};

static inline const char *pyframes_innermost(const struct pyframes_layout *layout,
                                             const void *state)
{
    const void *first = pyframes_pointer(state, layout->first);
    if (layout->via_cframe && first)
        first = pyframes_pointer(first, layout->cframe_current);
    return first;
}

/* The stack of a thread state as words, innermost frame first. The hot part. */
void pyframes_walk(const struct pyframes_layout *layout, const void *state,
                   struct pyframes_stack *stack);

/* The same frames with what they are: `out` has room for ARENA_MAX_DEPTH. Returns how many, which
 * is the walk's depth, or -1 and *wrong for a frame that is none. `carefully`: nothing is read
 * before the kernel has said that it can be. */
int pyframes_read(const struct pyframes_python *python, const void *state,
                  struct pyframes_frame *out, bool carefully, const char **wrong);

/* Whether the kernel says so. Up to 64 KiB; where it does not say: true. */
bool pyframes_can_read(const void *at, size_t bytes);

#endif
