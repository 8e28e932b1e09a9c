/*
 * context.h - the context of each device: there is one, made by the first call that needs it. And
 * the start of the driver, in which it loads the library that CUDA_INJECTION64_PATH names.
 */
#ifndef TIDEMARK_REHEARSAL_CONTEXT_H
#define TIDEMARK_REHEARSAL_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

/* As cuInit does: once; the calls of the runtime that need a device do it by themselves. */
void context_start_driver(void);
bool context_driver_is_started(void);

/* Makes the context where there is none. An error of the machine's. */
int context_open(int32_t device);
/* A handle of the context. NULL: it was not made yet. */
void *context_made(int32_t device);
/* The device of a context; -1: it is none. */
int32_t context_device(const void *context);

#endif
