/*
 * fake_cuda.c - a GPU of host memory for the samples of samples/cuda: what they call of the CUDA
 * runtime, of cuBLAS and of NCCL, computed here. To be preloaded, above the driver of
 * ../alloc_lib/fake_driver.c, whose addresses get memory here. One device; calls are done when they
 * return. A call that the samples have no reason to make is answered with an error. With FAKE_WRONG
 * in the environment products of matrices are wrong by one part in a hundred.
 */
#include "../host_kernels.h"
#include "kernels.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Where the fake driver's addresses begin, and more than it ever hands out here; behind 4 GiB are
 * those of fake_nccl.c. */
static const uintptr_t memory_begin = 0x7f2000000000;
static const size_t memory_bytes = UINT64_C(6) << 30;

__attribute__((constructor)) static void begin(void)
{
    void *want = (void *)memory_begin;
    void *got = mmap(want, memory_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == want)
        return;
    fputs("fake_cuda: the addresses of the fake driver are taken\n", stderr);
    _exit(77);
}

static bool on_device(const void *address, size_t bytes)
{
    uintptr_t at = (uintptr_t)address;
    return at >= memory_begin && bytes <= memory_bytes && at - memory_begin <= memory_bytes - bytes;
}

/* ---- the runtime ---- */

EXPORT cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

EXPORT cudaError_t cudaSetDevice(int device)
{
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

EXPORT cudaError_t cudaFree(void *address)
{
    return address ? cudaErrorInvalidValue : cudaSuccess;
}

EXPORT cudaError_t cudaDeviceSynchronize(void)
{
    return cudaSuccess;
}

EXPORT const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : "an error of the fake";
}

EXPORT cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device)
{
    (void)device;
    *value = which == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
    return cudaSuccess;
}

EXPORT cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    (void)device;
    memset(properties, 0, sizeof *properties);
    snprintf(properties->name, sizeof properties->name, "a fake of host memory");
    return cudaSuccess;
}

EXPORT cudaError_t cudaMemGetInfo(size_t *left, size_t *all)
{
    *all = memory_bytes;
    *left = memory_bytes / 2;
    return cudaSuccess;
}

EXPORT cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    bool device_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool device_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (on_device(to, bytes) != device_to || on_device(from, bytes) != device_from)
        return cudaErrorInvalidValue;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

EXPORT cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                   enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return stream ? cudaErrorInvalidValue : cudaMemcpy(to, from, bytes, kind);
}

EXPORT cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    if (stream || !on_device(to, bytes))
        return cudaErrorInvalidValue;
    memset(to, value, bytes);
    return cudaSuccess;
}

/* ---- kernels ---- */

static char code_is[] = "code of the fake NVRTC";

EXPORT cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                       enum cudaJitOption *jit, void **jit_values, unsigned jits,
                                       enum cudaLibraryOption *options, void **values,
                                       unsigned count)
{
    (void)jit, (void)jit_values, (void)options, (void)values;
    if (jits || count || memcmp(code, code_is, sizeof code_is) != 0)
        return cudaErrorInvalidKernelImage;
    *library = (cudaLibrary_t)code_is;
    return cudaSuccess;
}

EXPORT cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    return library == (cudaLibrary_t)code_is ? cudaSuccess : cudaErrorInvalidValue;
}

static const char *fake_names[KERNEL_COUNT] = {"gather",    "scatter_add",   "add_bias",
                                               "pick_loss", "pick_gradient", "adam"};

EXPORT cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library,
                                        const char *name)
{
    (void)library;
    for (size_t i = 0; i < KERNEL_COUNT; i++)
        if (strcmp(fake_names[i], name) == 0) {
            *kernel = (cudaKernel_t)&fake_names[i];
            return cudaSuccess;
        }
    return cudaErrorInvalidValue;
}

/* The arguments by place; each is a pointer to it. */
#define N(place) (*(const number *)arguments[place])
#define F(place) (*(float **)arguments[place])
#define I(place) (*(const int **)arguments[place])
#define S(place) (*(const float *)arguments[place])

EXPORT cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                    size_t shared, cudaStream_t stream)
{
    number threads = (number)grid.x * block.x;
    size_t which = (size_t)((const char *const *)kernel - fake_names);
    if (which >= KERNEL_COUNT || shared || stream || block.x > 1024)
        return cudaErrorInvalidValue;
    switch ((enum kernel)which) {
    case KERNEL_GATHER:
        RUN(threads, gather(N(0), N(1), F(2), I(3), F(4)));
        break;
    case KERNEL_SCATTER_ADD:
        RUN(threads, scatter_add(N(0), N(1), F(2), I(3), F(4)));
        break;
    case KERNEL_ADD_BIAS:
        RUN(threads, add_bias(N(0), N(1), F(2), F(3)));
        break;
    case KERNEL_PICK_LOSS:
        RUN(threads, pick_loss(N(0), N(1), F(2), I(3), F(4)));
        break;
    case KERNEL_PICK_GRADIENT:
        RUN(threads, pick_gradient(N(0), N(1), I(2), S(3), F(4)));
        break;
    case KERNEL_ADAM:
        RUN(threads, adam(N(0), F(1), F(2), F(3), F(4), S(5), S(6), S(7), S(8), S(9), S(10)));
        break;
    case KERNEL_COUNT:
        break;
    }
    return cudaSuccess;
}

/* ---- cuBLAS: matrices by columns ---- */

static struct {
    bool open, results_on_device;
} blas;

EXPORT cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    blas.open = true;
    *handle = (cublasHandle_t)&blas;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    bool was_open = blas.open && handle == (cublasHandle_t)&blas;
    blas.open = false;
    return was_open ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

EXPORT const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS ? "success" : "an error of the fake";
}

EXPORT cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *memory, size_t bytes)
{
    (void)handle;
    return on_device(memory, bytes) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

EXPORT cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
    (void)handle;
    blas.results_on_device = mode == CUBLAS_POINTER_MODE_DEVICE;
    return CUBLAS_STATUS_SUCCESS;
}

static bool vectors_fine(int count, const float *x, const float *y)
{
    size_t bytes = (size_t)count * sizeof(float);
    return count >= 0 && on_device(x, bytes) && on_device(y, bytes);
}

static cublasStatus_t give(float *result, double value)
{
    if (on_device(result, sizeof *result) != blas.results_on_device)
        return CUBLAS_STATUS_INVALID_VALUE;
    *result = (float)value;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasSdot_v2(cublasHandle_t handle, int count, const float *x, int step_x,
                                    const float *y, int step_y, float *result)
{
    double sum = 0;
    (void)handle;
    if (step_x != 1 || step_y != 1 || !vectors_fine(count, x, y))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int i = 0; i < count; i++)
        sum += (double)x[i] * (double)y[i];
    return give(result, sum);
}

EXPORT cublasStatus_t cublasSnrm2_v2(cublasHandle_t handle, int count, const float *x, int step,
                                     float *result)
{
    double sum = 0;
    (void)handle;
    if (step != 1 || !vectors_fine(count, x, x))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    return give(result, sqrt(sum));
}

EXPORT cublasStatus_t cublasSasum_v2(cublasHandle_t handle, int count, const float *x, int step,
                                     float *result)
{
    double sum = 0;
    (void)handle;
    if (step != 1 || !vectors_fine(count, x, x))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int i = 0; i < count; i++)
        sum += fabs((double)x[i]);
    return give(result, sum);
}

EXPORT cublasStatus_t cublasSaxpy_v2(cublasHandle_t handle, int count, const float *factor,
                                     const float *x, int step_x, float *y, int step_y)
{
    (void)handle;
    if (step_x != 1 || step_y != 1 || !vectors_fine(count, x, y))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int i = 0; i < count; i++)
        y[i] += *factor * x[i];
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasSscal_v2(cublasHandle_t handle, int count, const float *factor,
                                     float *x, int step)
{
    (void)handle;
    if (step != 1 || !vectors_fine(count, x, x))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int i = 0; i < count; i++)
        x[i] *= *factor;
    return CUBLAS_STATUS_SUCCESS;
}

/* Element (row, column) of op(matrix). */
static double at(const float *matrix, cublasOperation_t op, int lead, int row, int column)
{
    size_t i = (size_t)(op == CUBLAS_OP_N ? row : column);
    size_t j = (size_t)(op == CUBLAS_OP_N ? column : row);
    return (double)matrix[j * (size_t)lead + i];
}

/* As large as its leading dimension says, and on the device. */
static bool matrix_fine(const float *matrix, cublasOperation_t op, int rows, int columns, int lead)
{
    int high = op == CUBLAS_OP_N ? rows : columns, wide = op == CUBLAS_OP_N ? columns : rows;
    return lead >= high &&
           on_device(matrix, ((size_t)lead * (size_t)(wide - 1) + (size_t)high) * sizeof *matrix);
}

static double wrong(void)
{
    return getenv("FAKE_WRONG") ? 1.01 : 1;
}

EXPORT cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t op_a,
                                     cublasOperation_t op_b, int rows, int columns, int inner,
                                     const float *alpha, const float *a, int lead_a, const float *b,
                                     int lead_b, const float *beta, float *c, int lead_c)
{
    double factor = (double)*alpha * wrong();
    (void)handle;
    if (!matrix_fine(a, op_a, rows, inner, lead_a) ||
        !matrix_fine(b, op_b, inner, columns, lead_b) ||
        !matrix_fine(c, CUBLAS_OP_N, rows, columns, lead_c))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int column = 0; column < columns; column++)
        for (int row = 0; row < rows; row++) {
            float *to = &c[(size_t)column * (size_t)lead_c + (size_t)row];
            double sum = 0;
            for (int k = 0; k < inner; k++)
                sum += at(a, op_a, lead_a, row, k) * at(b, op_b, lead_b, k, column);
            /* What is there is not read if it does not count: it may be no number. */
            *to = (float)(factor * sum + (*beta != 0 ? (double)(*beta * *to) : 0));
        }
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasSgemv_v2(cublasHandle_t handle, cublasOperation_t op, int rows,
                                     int columns, const float *alpha, const float *matrix, int lead,
                                     const float *x, int step_x, const float *beta, float *y,
                                     int step_y)
{
    if (step_x != 1 || step_y != 1 || op != CUBLAS_OP_N)
        return CUBLAS_STATUS_INVALID_VALUE;
    return cublasSgemm_v2(handle, op, CUBLAS_OP_N, rows, 1, columns, alpha, matrix, lead, x,
                          columns, beta, y, rows);
}
