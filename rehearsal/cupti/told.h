/*
 * told.h - calls that give or take memory, and who hears of them: the tools that have subscribed to
 * CUPTI. The entry points begin and end them (cuda/tell.h).
 *
 * The listener reads the parameters of a call as 8-byte words in the order of its declaration; two
 * parameters of 4 bytes that follow each other share one. Of pointers told_word makes a word.
 *
 * A few may listen at a time. Calls inside of a call are told inside of it, as the driver's inside
 * of the runtime's. What a listener does in a callback is told to nobody; but it is not to be
 * called while a lock of ours is held.
 */
#ifndef TIDEMARK_REHEARSAL_TOLD_H
#define TIDEMARK_REHEARSAL_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#define TOLD_LISTENERS 3

enum told_call {
#define DRIVER(name, number) TOLD_##name,
#define RUNTIME(name, number) TOLD_##name,
#include "told.def"
#undef DRIVER
#undef RUNTIME
    TOLD_CALLS
};

/* One call, on the stack of the entry point. */
struct told {
    enum told_call call;
    const uint64_t *params;
    uint32_t correlation;               /* 0: nobody listened when it began */
    uint32_t listeners[TOLD_LISTENERS]; /* who was told of the enter; 0: nobody */
    uint64_t own[TOLD_LISTENERS];       /* each listener's word, from enter to exit */
};

static inline uint64_t told_word(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* Where the thread is: its device, and the context of that, or NULL. */
struct told_place {
    const void *context;
    int32_t device;
};

void told_begin(struct told *told, enum told_call call, const uint64_t *params,
                struct told_place place);
int told_end(struct told *told, int result, struct told_place place); /* returns the result */
void told_context(const void *context);                               /* it is there now */

/* The number of the outermost call under way in this thread; 0: none, or nobody listens. */
uint32_t told_outermost(void);

#endif
