/*
 * torch_cpu.h - blocks of the CPU, without libc10's table of them.
 *
 * libc10's reporter of the CPU is told of each block that comes (New) and goes (Delete). Where
 * somebody profiles it keeps the size of each in a table, under a mutex that all threads share, for
 * a block that goes is reported with its size. The recorder knows sizes itself. So being preloaded
 * we stand in the place of both functions, and libc10 is not told that we profile: nothing is kept
 * for us, and what torch.profiler sees is what it would see without us.
 *
 * Decided once, before the first block of the process: either each block is seen here, or none is.
 *
 *     DIRECT  libc10 calls both by their names, and a recorder was there as the program began
 *     ASKED   else: libc10 asks whether somebody profiles, hears yes, and reports (torch_hook.h).
 * An armed program needs sizes before somebody records; who is attached to without that, too
 */
#ifndef TIDEMARK_PROFILER_TORCH_CPU_H
#define TIDEMARK_PROFILER_TORCH_CPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum torch_cpu_way { TORCH_CPU_OPEN, TORCH_CPU_ASKED, TORCH_CPU_DIRECT };
extern _Atomic uint32_t torch_cpu_way;
/* Of this thread: libc10's own New or Delete runs, for somebody else who profiles. What it reports
 * was taken already. */
extern __thread bool torch_cpu_inside;

#endif
