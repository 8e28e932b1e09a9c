/*
 * ensure.h - the second level of asserts. assert() is for what costs nothing. ENSURE_WHOLE walks a
 * whole structure: it is asked where asserts are compiled in and the environment has
 * TIDEMARK_ASSERTS=full, as tests end to end and soak have it; in fuzz builds always.
 */
#ifndef TIDEMARK_BASE_ENSURE_H
#define TIDEMARK_BASE_ENSURE_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#ifdef TIDEMARK_ENSURE_ALWAYS
#define ENSURE_WANTED 1
#else
#define ENSURE_WANTED (getenv("TIDEMARK_ASSERTS") && !strcmp(getenv("TIDEMARK_ASSERTS"), "full"))
#endif
#define ENSURE_WHOLE(valid) assert(!ENSURE_WANTED || (valid))

#endif
