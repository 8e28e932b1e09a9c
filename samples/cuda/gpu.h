/*
 * gpu.h - what the samples on a GPU share: finding the device, the caching allocator on it
 * (tensors, phases and printed rows are those of ../c/sim.h), cuBLAS, copies, and how an error ends
 * the program.
 *
 * All work goes to the default stream, so a tensor that is dropped can be handed out again at once:
 * what still uses it was asked for before.
 */
#ifndef SAMPLES_CUDA_GPU_H
#define SAMPLES_CUDA_GPU_H

#include "sim.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GPU_NONE = 77 }; /* the exit status where there is no GPU */

struct gpu {
    struct sim sim;
    int device;
    cublasHandle_t blas;
    struct tensor blas_workspace;
};

/* A call that does not succeed ends the program with 1 and a line that says which and where. */
#define GPU_CUDA(call) gpu_cuda((call), #call, __FILE__, __LINE__)
#define GPU_BLAS(call) gpu_blas((call), #call, __FILE__, __LINE__)
void gpu_cuda(cudaError_t result, const char *call, const char *file, int line);
void gpu_blas(cublasStatus_t result, const char *call, const char *file, int line);
_Noreturn void gpu_die(const char *file, int line, const char *call, const char *why);

/* How many GPUs there are. None, or no driver: says so in one line and ends the program with
 * GPU_NONE. */
int gpu_count(const char *program);
/* Makes the device the calling thread's, and gives it an allocator. */
void gpu_open(struct gpu *gpu, const char *program, int device);
/* The exit status for main; waits for the device. */
int gpu_close(struct gpu *gpu);
/* The heading above the rows of sim_row. */
void gpu_title(const struct gpu *gpu);
/* Says that what was computed is not looked at: of a device that computes nothing, the memory is
 * right all the same. */
void gpu_memory_alone(void);
/* Bytes of the device that are gone, whoever took them. */
uint64_t gpu_used(void);

float *gpu_floats(const struct tensor *tensor);
void gpu_zero(const struct tensor *tensor);
/* Between the device and host memory; returns when it is done. */
void gpu_put(void *device, const void *host, size_t bytes);
void gpu_get(void *host, const void *device, size_t bytes);
/* On the device; does not wait. */
void gpu_copy(void *to, const void *from, size_t bytes);

/* Host memory with random numbers from -scale to scale. */
float *gpu_random(size_t count, float scale, unsigned long long *seed);
double *gpu_doubles(const float *numbers, size_t count);

/* Compares what a GPU computed with the same from a CPU, and prints the difference as a part of the
 * largest number; false if it is above the tolerance. */
extern const double gpu_tolerance;
bool gpu_compare(const char *what, const float *got, const double *want, size_t count);

#endif
