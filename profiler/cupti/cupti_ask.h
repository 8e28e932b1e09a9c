/*
 * cupti_ask.h - memory that may have gone while nobody listened: the driver is asked whether it is
 * there.
 *
 * Behind a gap every address that we take for living is looked up with cuPointerGetAttribute. What
 * CUDA does not know any more, what lies inside of another allocation by now, and what is mapped no
 * more is told as gone. What no address shows cannot be asked for and stays as it was: arrays,
 * pools, handles that were mapped nowhere, nodes of graphs. Parts of pools are told as gone only if
 * CUDA does not know their address: the pool may keep it.
 *
 * Never in a callback; in a thread that has a current context. Where there is none it is put off to
 * the next occasion.
 */
#ifndef TIDEMARK_PROFILER_CUPTI_ASK_H
#define TIDEMARK_PROFILER_CUPTI_ASK_H

#include <stdbool.h>

/* Asks as soon as it can be done: now, or at ask_if_due. Only while guest_live(). */
void ask_soon(void);
void ask_if_due(void);
/* Whether nobody could be asked yet. */
bool ask_is_due(void);

#endif
