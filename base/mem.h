/*
 * mem.h - memory for the recorder and the reports. The guest in a recorded program allocates none.
 * Sizes are checked for overflow; tests can make the nth call fail.
 */
#ifndef TIDEMARK_BASE_MEM_H
#define TIDEMARK_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

void *mem_alloc(size_t count, size_t size);             /* zeroed; NULL without memory */
void *mem_resize(void *old, size_t count, size_t size); /* old stays valid on NULL */
char *mem_copy(const char *text, size_t bytes);         /* with a NUL behind it */
void mem_free(void *pointer);

/* Makes room for one more element in an array that grows by doubling: array, count, cap. */
bool mem_grow(void **array, size_t *cap, size_t need, size_t size);
#define MEM_GROW(array, cap, need)                                                                 \
    mem_grow((void **)(void *)&(array), &(cap), (need), sizeof *(array))

/* Tests: calls number n, n + 1, ... from now fail (n = 1: the next); 0 turns it off. */
void mem_fail_after(long n);

#endif
