/*
 * torch_thread.h - what kind of thread this is: one of the autograd engine, or any other.
 *
 * The engine's threads for devices are called "pt_autograd_0" and so on. Those to which it hands
 * backward calls that nest deeply have no name of their own in any torch so far: they are known by
 * the function that stands outermost on their stack. Both are looked at once for each thread.
 */
#ifndef TIDEMARK_PROFILER_TORCH_THREAD_H
#define TIDEMARK_PROFILER_TORCH_THREAD_H

#include <stdbool.h>
#include <stdint.h>

enum torch_thread { TORCH_THREAD_NEW = 0, TORCH_THREAD_ANY, TORCH_THREAD_ENGINE };

extern __thread enum torch_thread torch_thread_mine;

/* Finds out what the calling thread is. Safe in a signal handler. */
enum torch_thread torch_thread_look(void);

/* "[thread NAME]", for blocks of a thread that has no Python, as intern_place gives it. Made once
 * for each thread. */
uint64_t torch_thread_site(void);

/* Finds the engine's functions, once libtorch_cpu is loaded. Takes the loader's lock. */
void torch_thread_bind(void);

#endif
