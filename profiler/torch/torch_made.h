/*
 * torch_made.h - which module's forward made a node of autograd.
 *
 * Nodes are numbered in each thread that makes them: 0, 1, 2, ... So what is kept of a thread is
 * where the module changed: the first number of each stretch, with the module. Nodes of long ago
 * are forgotten, and then nobody's.
 *
 * Invariants: a maker is written by its own thread alone, and read by any; it is taken by another
 * thread only when its own has ended. Stretches are in order of their first numbers.
 */
#ifndef TIDEMARK_PROFILER_TORCH_MADE_H
#define TIDEMARK_PROFILER_TORCH_MADE_H

#include <stdbool.h>
#include <stdint.h>

#define MADE_MAKERS 64u
/* Of one thread: twice as many as modules are called in a forward. */
#define MADE_STRETCHES 16384u

/* The calling thread, which torch calls `thread`, has made a node in a module. */
void torch_made(uint64_t thread, uint64_t number, uint32_t module);
/* The module of a node; 0 = none, or not known any more. */
uint32_t torch_made_by(uint64_t thread, uint64_t number);
/* Whether the thread makes nodes and has made that one. */
bool torch_has_made(uint64_t thread, uint64_t number);

#endif
