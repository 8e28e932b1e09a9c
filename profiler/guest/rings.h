/*
 * rings.h - the rings that this process has had. An armed program gets one with each recording, and
 * a thread may be in the middle of a push into one of the old ones: so they stay mapped, at the
 * same addresses. Their memory is given back when their recorder is gone:
 *
 *     events        at once; who writes there afterwards gets a page of zeroes, which nobody reads
 *     definitions   once the next ring has a copy of them, unless the process was forked meanwhile:
 *                   the child has the same memory, and may have copied nothing yet
 *
 * One thread at a time is in here, the one that fetches; but for forks.
 */
#ifndef TIDEMARK_PROFILER_RINGS_H
#define TIDEMARK_PROFILER_RINGS_H

#include "ring.h"

/* Of an armed program, once. False: it is not to be known when it forks. */
bool rings_watch_forks(void);
/* A ring received, in memory of its own; NULL. It is the newest, or is dropped. */
struct ring *rings_attach(int fd);
void rings_drop(struct ring *ring);
/* `first` of this process: those that it has inherited are its parent's. */
void rings_add(struct ring *ring, bool first);
/* What can be given back by now. */
void rings_give_back(void);

#endif
