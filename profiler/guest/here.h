/*
 * here.h - the call site of the calling thread, for sources that cannot read stacks: asked of the
 * one that can.
 */
#ifndef TIDEMARK_PROFILER_HERE_H
#define TIDEMARK_PROFILER_HERE_H

#include <stdbool.h>
#include <stdint.h>

extern bool here_stacks; /* TIDEMARK_STACKS is not 0: the user wants stacks */

/* By whoever knows, as it is loaded. */
void here_ask(uint32_t (*site)(void));
/* Number of an ARENA_SITE; 0: it is not known, nobody knows, or the user does not want stacks. Only
 * while guest_live(). */
uint32_t here_site(void);

#endif
