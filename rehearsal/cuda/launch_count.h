/*
 * launch_count.h - kernels: each is counted, few are run.
 */
#ifndef TIDEMARK_REHEARSAL_LAUNCH_COUNT_H
#define TIDEMARK_REHEARSAL_LAUNCH_COUNT_H

#include <stdint.h>

/* Of which it is not known what it writes: a whole graph, or a kernel without a name. CUDA_FINE. */
int launch(void *stream);
uint64_t launch_count(void);

#endif
