/*
 * torch_cpu.h - blocks of the CPU, without libc10's table of them.
 *
 * libc10's reporter of the CPU is told of each block that comes (New) and goes (Delete). Where
 * somebody profiles it keeps the size of each in a table, under a mutex that all threads share, for
 * a block that goes is reported with its size. The recorder knows sizes itself. So being preloaded
 * we stand in the place of both functions, and libc10 is not told that we profile: nothing is kept,
 * and what torch.profiler is told is what it would be told without us.
 *
 *     ASKED --Delete was seen to come here, too--> DIRECT
 *
 * ASKED: libc10 asks whether somebody profiles, hears yes, and reports (torch_hook.h). It stays so
 * for an armed program, which needs sizes before somebody records; where libc10 calls one of the
 * two without a symbol; and where we were loaded late. Blocks that came before the first one went
 * are in the table, and stay there.
 */
#ifndef TIDEMARK_PROFILER_TORCH_CPU_H
#define TIDEMARK_PROFILER_TORCH_CPU_H

#include <stdatomic.h>
#include <stdbool.h>

extern _Atomic bool torch_cpu_direct; /* false = ASKED */
/* Of this thread: libc10's own New or Delete runs, for somebody else who profiles. What it reports
 * was taken already. */
extern __thread bool torch_cpu_inside;

static inline bool torch_cpu_is_direct(void)
{
    return atomic_load_explicit(&torch_cpu_direct, memory_order_relaxed);
}

#endif
