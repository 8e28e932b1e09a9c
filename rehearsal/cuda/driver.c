/* driver.c - the driver's entry points for devices, contexts, modules and for finding others. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context.h"
#include "cuda_abi.h"
#include "current.h"
#include "device.h"
#include "launch_count.h"
#include "machine.h"
#include "mem.h"
#include "needs.h"
#include "result_text.h"

static bool is_device(int device)
{
    return device_open() && device >= 0 && device < machine_devices();
}

API(int, cuInit, unsigned flags)
{
    (void)flags;
    context_start_driver();
    return device_open() ? CUDA_FINE : CUDA_NO_DEVICE;
}

API(int, cuDriverGetVersion, int *version)
{
    *version = DRIVER_VERSION;
    return CUDA_FINE;
}

API(int, cuGetErrorString, int result, const char **text)
{
    *text = result_text(result);
    return CUDA_FINE;
}

API(int, cuGetErrorName, int result, const char **name)
{
    *name = result_name(result, false);
    return CUDA_FINE;
}

/* ---- devices ---- */

API(int, cuDeviceGetCount, int *count)
{
    *count = device_open() ? machine_devices() : 0;
    return CUDA_FINE;
}

API(int, cuDeviceGet, int *device, int ordinal)
{
    *device = ordinal;
    return is_device(ordinal) ? CUDA_FINE : CUDA_INVALID_DEVICE;
}

API(int, cuDeviceGetName, char *name, int room, int device)
{
    if (!is_device(device) || room <= 0)
        return CUDA_INVALID_DEVICE;
    snprintf(name, (size_t)room, "%s", device_profile()->title);
    return CUDA_FINE;
}

API(int, cuDeviceTotalMem_v2, size_t *bytes, int device)
{
    if (!is_device(device))
        return CUDA_INVALID_DEVICE;
    *bytes = device_profile()->memory;
    return CUDA_FINE;
}

API(int, cuDeviceGetAttribute, int *value, int attribute, int device)
{
    if (!is_device(device))
        return CUDA_INVALID_DEVICE;
    *value = device_attribute(attribute, device);
    return CUDA_FINE;
}

API(int, cuDeviceGetUuid_v2, void *uuid, int device)
{
    if (!is_device(device))
        return CUDA_INVALID_DEVICE;
    device_uuid(uuid, device);
    return CUDA_FINE;
}

API(int, cuDeviceGetUuid, void *uuid, int device)
{
    return cuDeviceGetUuid_v2(uuid, device);
}

API(int, cuDeviceGetPCIBusId, char *text, int room, int device)
{
    if (!is_device(device) || room <= 0)
        return CUDA_INVALID_DEVICE;
    device_pci(text, (size_t)room, device);
    return CUDA_FINE;
}

/* ---- contexts ---- */

API(int, cuDevicePrimaryCtxRetain, void **context, int device)
{
    if (!is_device(device))
        return CUDA_INVALID_DEVICE;
    int err = context_open(device);
    *context = context_made(device);
    return cuda_from_err(err);
}

API(int, cuDevicePrimaryCtxGetState, int device, unsigned *flags, int *active)
{
    if (!is_device(device))
        return CUDA_INVALID_DEVICE;
    if (flags)
        *flags = 0;
    if (active)
        *active = machine_is_touched(device);
    return CUDA_FINE;
}

API(int, cuCtxGetCurrent, void **context)
{
    *context = context_made(current_device());
    return context_driver_is_started() ? CUDA_FINE : CUDA_NOT_INITIALIZED;
}

API(int, cuCtxSetCurrent, void *context)
{
    if (context && !current_set_device(context_device(context)))
        return CUDA_INVALID_CONTEXT;
    return CUDA_FINE;
}

API(int, cuCtxPushCurrent_v2, void *context)
{
    return current_push(context_device(context)) ? CUDA_FINE : CUDA_INVALID_CONTEXT;
}

API(int, cuCtxPopCurrent_v2, void **context)
{
    void *popped = context_made(current_device());
    if (!current_pop() && !popped) /* the last one stays: the runtime would take it again */
        return CUDA_INVALID_CONTEXT;
    if (context)
        *context = popped;
    return CUDA_FINE;
}

API(int, cuCtxGetDevice, int *device)
{
    *device = current_device();
    return CUDA_FINE;
}

/* What a context is told of its limits it says again; nothing here comes near to one. */
enum { LIMIT_STACK = 0, LIMIT_PRINTF = 1, LIMIT_HEAP = 2, LIMITS = 8 };

static _Atomic size_t limits[LIMITS] = {
    [LIMIT_STACK] = 1024, [LIMIT_PRINTF] = (size_t)1 << 20, [LIMIT_HEAP] = (size_t)8 << 20};

API(int, cuCtxSetLimit, unsigned limit, size_t value)
{
    if (limit >= LIMITS)
        return CUDA_INVALID_VALUE;
    limits[limit] = value;
    return CUDA_FINE;
}

API(int, cuCtxGetLimit, size_t *value, unsigned limit)
{
    if (limit >= LIMITS)
        return CUDA_INVALID_VALUE;
    *value = limits[limit];
    return CUDA_FINE;
}

API(int, cudaDeviceSetLimit, unsigned limit, size_t value)
{
    return current_result(cuCtxSetLimit(limit, value));
}

API(int, cudaDeviceGetLimit, size_t *value, unsigned limit)
{
    return current_result(cuCtxGetLimit(value, limit));
}

/* ---- modules and kernels ---- */

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

/* ---- finding entry points ---- */

static void *own_library(void)
{
    static void *handle;
    Dl_info info;
    if (!handle && dladdr(&module, &info))
        handle = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    return handle;
}

/* Names come without the suffix of the version of the call: the newest that we have is taken. */
static void *find(const char *name)
{
    static const char *const suffixes[] = {"_v4", "_v3", "_v2", ""};
    char text[128];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(text, sizeof text, "%s%s", name, suffixes[i]);
        void *found = dlsym(own_library(), text);
        if (found)
            return found;
    }
    return NULL;
}

API(int, cuGetProcAddress_v2, const char *name, void **out, int version, uint64_t flags, int *found)
{
    (void)version, (void)flags;
    *out = find(name);
    if (found)
        *found = *out ? 0 : 1;
    return *out ? CUDA_FINE : CUDA_NOT_FOUND;
}

API(int, cuGetProcAddress, const char *name, void **out, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, out, version, flags, NULL);
}

API(int, cudaGetDriverEntryPointByVersion, const char *name, void **out, unsigned version,
    unsigned long long flags, int *found)
{
    (void)version, (void)flags;
    *out = find(name);
    if (found)
        *found = *out ? 0 : 1;
    return CUDA_FINE;
}

API(int, cudaGetDriverEntryPoint, const char *name, void **out, unsigned long long flags,
    int *found)
{
    return cudaGetDriverEntryPointByVersion(name, out, DRIVER_VERSION, flags, found);
}

/* A runtime that is linked into a library asks for tables of functions that nobody documents, by
 * which it verifies the driver. There are none: what it then does not find is a GPU. Of NVIDIA's
 * libraries that do so, these do without. */
static bool is_nvidias_own(const char *file)
{
    static const char *const names[] = {"libcudart.so", "libcupti.so", "libnvrtc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(file, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

API(int, cuGetExportTable, const void **table, const void *id)
{
    static _Atomic bool told;
    Dl_info caller;
    (void)id;
    *table = NULL;
    bool known = dladdr(__builtin_return_address(0), &caller) && caller.dli_fname;
    const char *slash = known ? strrchr(caller.dli_fname, '/') : NULL;
    const char *file = !known ? "" : slash ? slash + 1 : caller.dli_fname;
    if (known && !is_nvidias_own(file) && needs_has_runtime(caller.dli_fname) &&
        !atomic_exchange(&told, true))
        fprintf(stderr,
                "tidemark: %s has CUDA's runtime inside, which finds no GPU in a rehearsal; turn "
                "off what uses it (for transformers: attn_implementation=\"sdpa\")\n",
                file);
    return CUDA_NOT_FOUND;
}
