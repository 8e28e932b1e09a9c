/*
 * current.h - what one thread is about: its device, and the error that it has not asked for yet.
 */
#ifndef TIDEMARK_REHEARSAL_CURRENT_H
#define TIDEMARK_REHEARSAL_CURRENT_H

#include <stdbool.h>
#include <stdint.h>

int32_t current_device(void);
bool current_set_device(int32_t device); /* false: there is none of this number */

/* Contexts that wait below the current one, of the driver's push and pop. False: too many; none. */
bool current_push(int32_t device);
bool current_pop(void);

/* Results of the runtime: an error is kept until it is asked for. Each returns its argument. */
int current_result(int result);
int current_peek(void);
int current_take(void);

/* From an error of the machine's to CUDA's number for it. */
int cuda_from_err(int err);
/* 12 or 13: the major version of the runtime that the program was built against. */
int cuda_major(void);

#endif
