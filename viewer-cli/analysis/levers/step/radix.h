/*
 * radix.h - rows in the order of a number, where comparing them two by two takes too long.
 *
 * A row begins with its number, an int64_t. Rows of one number stay in the order in which they
 * were. What is in order already is only looked at.
 */
#ifndef TIDEMARK_ANALYSIS_RADIX_H
#define TIDEMARK_ANALYSIS_RADIX_H

#include <stdbool.h>
#include <stddef.h>

/* `size`: bytes of a row. False without memory: then they are as they were. */
bool radix_sort(void *rows, size_t count, size_t size);

#endif
