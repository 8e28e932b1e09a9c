/*
 * needs.h - what a library asks of CUDA's libraries, read from its file before the program starts:
 * functions that the stand-ins do not have, and a runtime of its own inside, which cannot be stood
 * in for (it verifies that the driver is NVIDIA's).
 */
#ifndef TIDEMARK_REHEARSAL_NEEDS_H
#define TIDEMARK_REHEARSAL_NEEDS_H

#include <stdbool.h>
#include <stddef.h>

#define NEEDS_NAMED 5 /* functions that are named; the others are counted */

struct needs {
    size_t missing;
    char names[256]; /* "cudaFoo, cublasBar" */
    bool has_runtime;
};

/* Of a program or library, by the functions that the stand-in defines. ERR_NOTFOUND, ERR_NOMEM,
 * ERR_CORRUPT: one of them is not a 64-bit ELF file that can be read. */
int needs_of_file(const char *path, const char *stand_in, struct needs *needs);

/* A library that carries kernels and registers them with no runtime outside of it has one inside.
 */
bool needs_has_runtime(const char *path);

/* For tests: whether a function of this name is one of those that are stood in for. */
bool needs_is_of_cuda(const char *name);

#endif
