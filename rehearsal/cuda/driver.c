/* driver.c - the driver's entry points for devices, contexts and for finding others. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "context.h"
#include "cuda_abi.h"
#include "current.h"
#include "device.h"
#include "machine.h"
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

/* ---- finding entry points ---- */

static void *own_library(void)
{
    static const char here;
    static void *handle;
    Dl_info info;
    if (!handle && dladdr(&here, &info))
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
