/*
 * pyboot.h - starts the Python helper where the environment could not: python -I, -E, -S, a
 * replaced PYTHONPATH. Nothing happens while the helper is on its way by itself.
 */
#ifndef TIDEMARK_PROFILER_PYBOOT_H
#define TIDEMARK_PROFILER_PYBOOT_H

#include <stdbool.h>

/* An attempt, at one of torch's first reports, where the loader's lock may be taken. True: nothing
 * is left to do: the helper is there, or there is no Python, or it was tried often enough. */
bool pyboot_try(void);
/* The helper says that it is there. */
void pyboot_arrived(void);

#endif
