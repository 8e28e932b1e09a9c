/*
 * kernels.h - kernels.cu, compiled by NVRTC for the device at hand. NVRTC is opened when the
 * program runs: PyTorch brings it, and so does every toolkit.
 */
#ifndef SAMPLES_CUDA_KERNELS_H
#define SAMPLES_CUDA_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

enum kernel {
    KERNEL_GATHER,
    KERNEL_SCATTER_ADD,
    KERNEL_ADD_BIAS,
    KERNEL_PICK_LOSS,
    KERNEL_PICK_GRADIENT,
    KERNEL_ADAM,
    KERNEL_COUNT
};

extern const char *const kernel_names[KERNEL_COUNT];
extern const char kernels_text[]; /* kernels.cu */

/* Machine code (a cubin) of the text for a device of this compute capability, 90 for 9.0. NULL, and
 * a sentence, if there is no NVRTC or it complains. To be freed. */
void *kernels_compile(int capability, size_t *bytes, char *why, size_t why_size);

#endif
