/* gpu.c - see gpu.h. */
#include "gpu.h"

#include "reference.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Sums of some thousand products in single precision, through some dozen time steps, differ from
 * the same in double by some 1e-5 of the largest. What is computed wrongly differs by far more. */
const double gpu_tolerance = 1e-3;

enum { BLAS_WORKSPACE = 32 << 20 }; /* what cuBLAS recommends for the largest devices */

void gpu_die(const char *file, int line, const char *call, const char *why)
{
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, why);
    exit(EXIT_FAILURE);
}

void gpu_cuda(cudaError_t result, const char *call, const char *file, int line)
{
    if (result != cudaSuccess)
        gpu_die(file, line, call, cudaGetErrorString(result));
}

void gpu_blas(cublasStatus_t result, const char *call, const char *file, int line)
{
    if (result != CUBLAS_STATUS_SUCCESS)
        gpu_die(file, line, call, cublasGetStatusString(result));
}

_Noreturn static void no_gpu(const char *program, const char *why)
{
    printf("%s: no GPU to run on: %s\n", program, why);
    exit(fflush(stdout) == 0 ? GPU_NONE : EXIT_FAILURE);
}

int gpu_count(const char *program)
{
    int count = 0;
    cudaError_t result = cudaGetDeviceCount(&count);
    if (result != cudaSuccess)
        no_gpu(program, cudaGetErrorString(result));
    if (count == 0)
        no_gpu(program, "the driver has none");
    return count;
}

static void open_allocator(struct gpu *gpu, const char *program)
{
    char why[256] = "";
    struct tidemark_allocator_desc desc = {.size = sizeof desc,
                                           .device_kind = TIDEMARK_DEVICE_CUDA,
                                           .device_index = gpu->device,
                                           .config = getenv("PYTORCH_CUDA_ALLOC_CONF"),
                                           .name = "tensors",
                                           .why = why,
                                           .why_size = sizeof why};
    int result = tidemark_allocator_new(&gpu->sim.allocator, &desc);
    if (result == TIDEMARK_NO_DEVICE)
        no_gpu(program, why);
    if (result != TIDEMARK_OK)
        gpu_die(__FILE__, __LINE__, "tidemark_allocator_new", why);
}

void gpu_open(struct gpu *gpu, const char *program, int device)
{
    *gpu = (struct gpu){.sim = {.program = program}, .device = device};
    GPU_CUDA(cudaSetDevice(device));
    GPU_CUDA(cudaFree(NULL)); /* makes the context */
    open_allocator(gpu, program);
    GPU_BLAS(cublasCreate(&gpu->blas));
    sim_new(&gpu->sim, &gpu->blas_workspace, BLAS_WORKSPACE);
    sim_tag(&gpu->sim, &gpu->blas_workspace, TIDEMARK_WORKSPACE, "cuBLAS workspace");
    GPU_BLAS(cublasSetWorkspace(gpu->blas, gpu->blas_workspace.address, BLAS_WORKSPACE));
}

int gpu_close(struct gpu *gpu)
{
    GPU_CUDA(cudaDeviceSynchronize());
    GPU_BLAS(cublasDestroy(gpu->blas));
    sim_drop(&gpu->sim, &gpu->blas_workspace);
    return sim_close(&gpu->sim);
}

void gpu_title(const struct gpu *gpu)
{
    struct cudaDeviceProp device;
    if (gpu->sim.csv) {
        puts("step,phase,allocated,max_allocated,reserved,max_reserved");
        return;
    }
    GPU_CUDA(cudaGetDeviceProperties(&device, gpu->device));
    printf("on %s\nstep  phase      allocated  max allocated  reserved  max reserved  (MiB)\n",
           device.name);
}

void gpu_memory_alone(void)
{
    puts("computed: not looked at, for the memory alone counts");
}

uint64_t gpu_used(void)
{
    size_t left, all;
    GPU_CUDA(cudaMemGetInfo(&left, &all));
    return all - left;
}

float *gpu_floats(const struct tensor *tensor)
{
    return tensor->address;
}

void gpu_zero(const struct tensor *tensor)
{
    GPU_CUDA(cudaMemsetAsync(tensor->address, 0, tensor->bytes, NULL));
}

void gpu_put(void *device, const void *host, size_t bytes)
{
    GPU_CUDA(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
}

void gpu_get(void *host, const void *device, size_t bytes)
{
    GPU_CUDA(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

void gpu_copy(void *to, const void *from, size_t bytes)
{
    GPU_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, NULL));
}

float *gpu_random(size_t count, float scale, unsigned long long *seed)
{
    float *numbers = sim_memory(count, sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = scale * ref_random(seed);
    return numbers;
}

double *gpu_doubles(const float *numbers, size_t count)
{
    double *doubles = sim_memory(count, sizeof *doubles);
    for (size_t i = 0; i < count; i++)
        doubles[i] = (double)numbers[i];
    return doubles;
}

bool gpu_compare(const char *what, const float *got, const double *want, size_t count)
{
    double difference = ref_difference(got, want, count);
    bool fine = difference <= gpu_tolerance;
    printf("checked: %-24s %9zu numbers, difference %.1e of at most %.0e%s\n", what, count,
           difference, gpu_tolerance, fine ? "" : ": WRONG");
    return fine;
}
