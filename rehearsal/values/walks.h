/*
 * walks.h - kernels that are computed. Each takes the arguments of a launch as they are; what they
 * write is known afterwards, or forgotten where an input was not known or is too large. False: what
 * it writes is not known either.
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

/* ---- lists of tensors (lists.c) ---- */

/* `grid` of the launch: a block for each chunk of a tensor. */
bool walk_lists(const struct kernel *kernel, const uint32_t *grid, void **arguments);

/* ---- kernels of which it is known where they write (outputs.c) ---- */

bool walk_outputs(const struct kernel *kernel, void **arguments);
bool walk_random(const struct kernel *kernel, void **arguments);

/* ---- many to few (reductions.c) ---- */

bool walk_reduce(const struct kernel *kernel, void **arguments);
/* `blocks` of the launch: each leaves a number of its own. */
void walk_count(const struct kernel *kernel, uint32_t blocks, void **arguments);
void walk_sum(void **arguments);
bool walk_scan(const struct kernel *kernel, void **arguments);
bool walk_scan_rows(const struct kernel *kernel, void **arguments);
bool walk_scan_columns(const struct kernel *kernel, void **arguments);

/* ---- elements that are brought elsewhere (picks.c, joins.c) ---- */

bool walk_indexed(const struct kernel *kernel, void **arguments);
bool walk_gathered(const struct kernel *kernel, void **arguments);
void walk_rows(const struct kernel *kernel, void **arguments);
bool walk_selected(const struct kernel *kernel, void **arguments);
/* `grid` of the launch: a row of blocks for each of the inputs. */
bool walk_join(const struct kernel *kernel, const uint32_t *grid, void **arguments);
bool walk_flip(const struct kernel *kernel, void **arguments);
bool walk_roll(const struct kernel *kernel, void **arguments);
bool walk_triangle(const struct kernel *kernel, void **arguments);

/* ---- counts and indices (counts.c) ---- */

bool walk_histogram(const struct kernel *kernel, void **arguments);
bool walk_repeat(const struct kernel *kernel, void **arguments);
bool walk_search(const struct kernel *kernel, void **arguments);
bool walk_flagged(const struct kernel *kernel, void **arguments);
bool walk_unravel(void **arguments);
bool walk_changes(const struct kernel *kernel, void **arguments);
bool walk_scatter(void **arguments);
bool walk_runs(const struct kernel *kernel, void **arguments);
bool walk_distinct(const struct kernel *kernel, void **arguments);

/* ---- orders (sorts.c, radix.c) ---- */

bool walk_sort(const struct kernel *kernel, void **arguments);
bool walk_radix_tile(const struct kernel *kernel, void **arguments);
bool walk_radix_pass(const struct kernel *kernel, void **arguments);
bool walk_row_indices(void **arguments);
bool walk_topk(const struct kernel *kernel, void **arguments);

#endif
