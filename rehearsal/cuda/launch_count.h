/*
 * launch_count.h - kernels: each is counted, none is run.
 */
#ifndef TIDEMARK_REHEARSAL_LAUNCH_COUNT_H
#define TIDEMARK_REHEARSAL_LAUNCH_COUNT_H

#include <stdint.h>

int launch(void *stream); /* CUDA_FINE */
uint64_t launch_count(void);

#endif
