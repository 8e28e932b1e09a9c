/*
 * nvtx.h - NVTX's ranges and marks as events, by an injection of our own: see nvtx_abi.h.
 *
 * A push is PHASE_BEGIN and a pop PHASE_END; a start and its end likewise, with EVENT_F_RANGE. The
 * levels that a push and a pop return are counted in the thread, for each domain apart. A pop that
 * has no push, or whose push this recording has not got (it was before a fork, or before the
 * recorder answered), sends nothing.
 */
#ifndef TIDEMARK_PROFILER_NVTX_H
#define TIDEMARK_PROFILER_NVTX_H

#include "nvtx_abi.h"

/* Called by each library that carries NVTX, once, with its own tables. 0 = nobody records: NVTX
 * turns itself off there. */
int InitializeInjectionNvtx2(nvtx_export tables);
/* The same for the library of NVTX 2, which is shared by all. */
int InitializeInjectionNvtx(nvtx_export tables);

#endif
