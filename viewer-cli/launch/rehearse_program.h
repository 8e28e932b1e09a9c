/*
 * rehearse_program.h - whether a program can be rehearsed, asked before it starts: a CPU build of
 * PyTorch would run without CUDA, and the recording would say nothing about a GPU; so would a
 * program that has CUDA's runtime inside.
 */
#ifndef TIDEMARK_VIEWER_REHEARSE_PROGRAM_H
#define TIDEMARK_VIEWER_REHEARSE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "profile.h"

/* What is found out before the program starts. */
struct rehearse_program {
    char targets[96];     /* that it was built for, as fatbin_write has them; "": not known */
    char no_kernels[320]; /* it would fail on the GPU, for it has none for its capability; "" */
};

/* False after one line that says why not and what to do. A program of which nothing is known can be
 * tried. `stand_in`: the library that it would run on; what it does not have is told. `gpu`: the
 * GPU that is stood in for. */
bool rehearse_program_can(const char *program, const char *stand_in, const struct profile *gpu,
                          struct rehearse_program *out);

/* It is a Python program whose PyTorch is a CPU build: nothing of it can be rehearsed. */
bool rehearse_program_is_cpu(const char *program);

/* The Python that runs the program: itself, or what its first line names. False: none. */
bool rehearse_program_python(const char *program, char *python, size_t room);

#endif
