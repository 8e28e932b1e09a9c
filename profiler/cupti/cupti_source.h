/*
 * cupti_source.h - the CUPTI source, as it is seen from outside: torch.profiler wants CUPTI for
 * itself, and the end of the program is when a source that never began says why. See cupti_life.h.
 */
#ifndef TIDEMARK_PROFILER_CUPTI_SOURCE_H
#define TIDEMARK_PROFILER_CUPTI_SOURCE_H

/* torch.profiler is about to start, and has ended. They nest. */
void cupti_yield(void);
void cupti_return(void);

/* The program ends, or is about to: says why the source was never started, if so. */
void cupti_say_why_not(void);

#endif
