/*
 * pyboot.h - starts the Python helper where the environment could not: python -I, -E, -S, a
 * replaced PYTHONPATH. Nothing happens while the helper is on its way by itself. It is tried at the
 * first reports of torch (torch_hook.h), until the helper is there, or there is no Python, or it
 * was tried often enough.
 */
#ifndef TIDEMARK_PROFILER_PYBOOT_H
#define TIDEMARK_PROFILER_PYBOOT_H

/* The helper says that it is there. */
void pyboot_arrived(void);

#endif
