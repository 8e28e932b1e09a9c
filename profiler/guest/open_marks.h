/*
 * open_marks.h - of what begins and ends in one thread: how many have begun in the recording that
 * goes on. In an armed program a recording may begin inside of one, whose end is then nobody's: it
 * is not sent. In other programs an end without a begin is the program's mistake, and is sent.
 */
#ifndef TIDEMARK_PROFILER_OPEN_MARKS_H
#define TIDEMARK_PROFILER_OPEN_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "guest.h"

/* One for each kind, in memory of the thread. Invariant: `count` is of recording `of`. */
struct open_marks {
    uint32_t of, count;
};

/* The recording that the begin is to be sent to (event.word). */
static inline uint32_t open_marks_begin(struct open_marks *open)
{
    uint32_t now = guest_recording();
    if (open->of != now)
        open->count = 0;
    open->of = now;
    open->count++;
    return now;
}

/* The same for an end; false: it is not to be sent. */
static inline bool open_marks_end(struct open_marks *open, uint32_t *recording)
{
    *recording = guest_recording();
    if (open->of != *recording || open->count == 0)
        return !guest.armed;
    open->count--;
    return true;
}

#endif
