/*
 * walks.h - kernels that are computed. Each takes the arguments of a launch as they are; what they
 * write is known afterwards, or forgotten where an input was not known or is too large.
 */
#ifndef TIDEMARK_REHEARSAL_WALKS_H
#define TIDEMARK_REHEARSAL_WALKS_H

#include "kernel_name.h"

/* ---- one element at a time (elements.c) ---- */

void walk_flat(const struct kernel *kernel, void **arguments);
void walk_cast(const struct kernel *kernel, void **arguments);
/* False: how its operands lie is not known, nor what it writes. */
bool walk_strided(const struct kernel *kernel, void **arguments);
void walk_index(const struct kernel *kernel, void **arguments);

/* ---- many to few (reductions.c) ---- */

bool walk_reduce(const struct kernel *kernel, void **arguments);
/* `blocks` of the launch: each leaves a number of its own. */
void walk_count(const struct kernel *kernel, uint32_t blocks, void **arguments);
void walk_sum(void **arguments);
void walk_scan(void **arguments);
void walk_scan_rows(void **arguments);

#endif
