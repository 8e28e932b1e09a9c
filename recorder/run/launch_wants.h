/* launch_wants.h - what a program is told in its environment of what is wanted of it. */
#ifndef TIDEMARK_RECORDER_LAUNCH_WANTS_H
#define TIDEMARK_RECORDER_LAUNCH_WANTS_H

#include <stdbool.h>

struct launch_wants {
    bool no_stacks; /* blocks of Python programs without call stacks */
    bool no_phases; /* no phases and no tags of PyTorch */
    bool history;   /* what the history of PyTorch's CUDA allocator adds */
    bool no_nvtx;   /* no ranges and marks of NVTX */
    bool no_cupti;  /* CUDA is not asked */
    bool kernels;   /* with kernels and copies */
};

#endif
