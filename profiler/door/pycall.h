/*
 * pycall.h - runs a Python function past its wrapper; see pycall.c.
 */
#ifndef TIDEMARK_PROFILER_PYCALL_H
#define TIDEMARK_PROFILER_PYCALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* vectorcallfunc and PyFunction_SetVectorcall of Python. */
typedef void *pycall_function(void *callable, void *const *args, size_t count, void *names);
typedef void pycall_set(void *callable, pycall_function *function);

/* The calling thread's kind of innermost mark, to be written by the helper. */
uint32_t *pycall_inner_here(void);

/* Calls of `wrapper` made while that is MARK_FORWARD run `original`, two functions of Python that
 * are never freed. `plain` is _PyFunction_Vectorcall; `set` is NULL before 3.12, where there is
 * none; `head`: the bytes that each object begins with, its type the last of them. False, with
 * nothing changed, if either is run by something else, or one was shortened before. */
bool pycall_shorten(void *wrapper, void *original, pycall_function *plain, pycall_set *set,
                    size_t head);

#endif
