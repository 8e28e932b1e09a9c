/*
 * kernels.h - launches, as far as they are computed: whole numbers and truth values that a program
 * brought to the device, and what follows from them by PyTorch's own kernels. What a launch writes
 * is known afterwards or, if it is not computed, forgotten (values.h).
 *
 * Names are kept as they were registered: they live as long as the library that brought them.
 */
#ifndef TIDEMARK_REHEARSAL_KERNELS_H
#define TIDEMARK_REHEARSAL_KERNELS_H

#include <stdint.h>

/* From constructors of the program's libraries. */
void kernels_register(const void *binary, const void *function, const char *name);
/* What was registered with this binary goes, and its names with it. */
void kernels_unregister(const void *binary);

/* `grid`: blocks in three directions. */
void kernels_launch(const void *function, const uint32_t grid[3], void **arguments);

#endif
