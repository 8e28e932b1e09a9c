/* nvtx_part.h - a library that names what it does in a domain of its own, as NCCL does: it has
 * tables of its own, whatever the program has. */
#ifndef TIDEMARK_TESTS_NVTX_PART_H
#define TIDEMARK_TESTS_NVTX_PART_H

/* A range "name" in the domain NCCL around `inside`, which may be NULL; the level that it had. */
int part_do(const char *name, void (*inside)(void));
void part_mark(const char *name, long value);

#endif
