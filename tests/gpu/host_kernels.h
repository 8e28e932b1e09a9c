/*
 * host_kernels.h - kernels.cu as C: each kernel is a function of the same name, run once for each
 * number of `kernel_index`.
 */
#ifndef TESTS_GPU_HOST_KERNELS_H
#define TESTS_GPU_HOST_KERNELS_H

#include <math.h>

static unsigned long long kernel_index;
#define KERNEL static void
#define INDEX kernel_index
#define ADD(to, value) (*(to) += (value))
#include "kernels.cu"

#define RUN(threads, call)                                                                         \
    for (kernel_index = 0; kernel_index < (threads); kernel_index++)                               \
    (call)

#endif
