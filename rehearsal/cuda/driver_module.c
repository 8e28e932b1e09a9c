/* driver_module.c - the driver's entry points for modules and their kernels. */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cubin.h"
#include "cuda_abi.h"
#include "current.h"
#include "device.h"
#include "launch_count.h"
#include "mem.h"

/* A module is what its image says of its kernels; without that they are all one. */
struct module {
    struct cubin_kernel *kernels;
};
static struct module module;
static char function;

API(int, cuModuleLoadData, void **out, const void *image)
{
    struct cubin_kernel *kernels =
        image && image != (const void *)&module ? cubin_read(image) : NULL;
    struct module *made = kernels ? mem_alloc(1, sizeof *made) : NULL;
    if (made)
        made->kernels = kernels;
    else
        cubin_drop(kernels);
    *out = made ? made : &module;
    return CUDA_FINE;
}

/* Inductor's own launcher names the file of a kernel that Triton has compiled. */
API(int, cuModuleLoad, void **out, const char *path)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *image = MAP_FAILED;
    if (file >= 0 && fstat(file, &status) == 0 && status.st_size >= CUBIN_BYTES_MIN)
        image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0)
        close(file);
    int result = cuModuleLoadData(out, image == MAP_FAILED ? NULL : image);
    if (image != MAP_FAILED)
        munmap(image, (size_t)status.st_size);
    return result;
}

API(int, cuModuleLoadDataEx, void **out, const void *image, unsigned count, int *options,
    void **values)
{
    (void)count, (void)options, (void)values;
    return cuModuleLoadData(out, image);
}

API(int, cuModuleUnload, void *of)
{
    struct module *unloaded = of;
    if (!unloaded || unloaded == &module)
        return CUDA_FINE;
    cubin_drop(unloaded->kernels);
    mem_free(unloaded);
    return CUDA_FINE;
}

/* A linker's result is an image like any other: nobody looks into it. */
API(int, cuLinkCreate_v2, unsigned count, int *options, void **values, void **state)
{
    (void)count, (void)options, (void)values;
    *state = &module; /* no image */
    return CUDA_FINE;
}

API(int, cuLinkComplete, void *state, void **image, size_t *bytes)
{
    (void)state;
    *image = &module;
    if (bytes)
        *bytes = sizeof module;
    return CUDA_FINE;
}

API(int, cuModuleGetFunction, void **out, void *of, const char *name)
{
    struct cubin_kernel *kernel = ((struct module *)of)->kernels;
    while (kernel && strcmp(kernel->name, name) != 0)
        kernel = kernel->next;
    *out = kernel ? (void *)kernel : &function;
    return CUDA_FINE;
}

/* NULL: nothing is known of it. */
static const struct cubin_kernel *kernel_of(const void *handle)
{
    const struct cubin_kernel *kernel = handle;
    bool is_one = handle && handle != &function && kernel->magic == CUBIN_MAGIC;
    return is_one ? kernel : NULL;
}

API(int, cuFuncGetAttribute, int *value, int attribute, void *of)
{
    (void)of;
    *value = attribute == 0 ? 1024 : attribute == 4 ? 32 : 0; /* threads of a block, registers */
    return CUDA_FINE;
}

API(int, cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, void *of, int threads,
    size_t shared)
{
    (void)of, (void)shared;
    *blocks = threads > 0 ? device_attribute(39, 0) / threads : 1;
    if (*blocks < 1)
        *blocks = 1;
    return CUDA_FINE;
}

API(int, cuOccupancyMaxActiveClusters, int *clusters, void *of, const struct abi_driver_launch *how)
{
    (void)of, (void)how;
    *clusters = device_attribute(16, 0); /* one on each multiprocessor */
    return CUDA_FINE;
}

API(int, cuLaunchKernel, void *of, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
    unsigned bz, unsigned shared, void *stream, void **arguments, void **extra)
{
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
    (void)extra;
    return launch(kernel_of(of), arguments, stream);
}

API(int, cuLaunchKernelEx, const struct abi_driver_launch *how, void *of, void **arguments,
    void **extra)
{
    (void)extra;
    return launch(kernel_of(of), arguments, how->stream);
}
