/*
 * launch_count.h - kernels: each is counted, few are run.
 */
#ifndef TIDEMARK_REHEARSAL_LAUNCH_COUNT_H
#define TIDEMARK_REHEARSAL_LAUNCH_COUNT_H

#include <stdint.h>

#include "cubin.h"

/* Of the driver's: what its parameters lead to it may write. NULL: nobody knows what these are.
 * CUDA_FINE. */
int launch(const struct cubin_kernel *kernel, void **arguments, void *stream);
uint64_t launch_count(void);

#endif
