/* runtime_device.c - devices, errors and versions as the runtime tells them. */
#include <stdio.h>
#include <string.h>

#include "context.h"
#include "cuda_abi.h"
#include "current.h"
#include "device.h"
#include "machine.h"
#include "result_text.h"

/* ---- errors ---- */

API(int, cudaGetLastError, void)
{
    return current_take();
}

API(int, cudaPeekAtLastError, void)
{
    return current_peek();
}

API(const char *, cudaGetErrorName, int result)
{
    return result_name(result, true);
}

API(const char *, cudaGetErrorString, int result)
{
    return result_text(result);
}

/* ---- versions ---- */

API(int, cudaRuntimeGetVersion, int *version)
{
    (void)device_open();
    *version = cuda_major() * 1000;
    return CUDA_FINE;
}

API(int, cudaDriverGetVersion, int *version)
{
    *version = DRIVER_VERSION;
    return CUDA_FINE;
}

/* ---- devices ---- */

static bool is_device(int device)
{
    context_start_driver();
    return device_open() && device >= 0 && device < machine_devices();
}

API(int, cudaGetDeviceCount, int *count)
{
    context_start_driver();
    *count = device_open() ? machine_devices() : 0;
    return current_result(*count ? CUDA_FINE : CUDA_NO_DEVICE);
}

API(int, cudaGetDevice, int *device)
{
    *device = current_device();
    return CUDA_FINE;
}

API(int, cudaSetDevice, int device)
{
    context_start_driver();
    bool set = device_open() && current_set_device(device);
    return current_result(set ? CUDA_FINE : CUDA_INVALID_DEVICE);
}

API(int, cudaDeviceGetAttribute, int *value, int attribute, int device)
{
    if (!is_device(device))
        return current_result(CUDA_INVALID_DEVICE);
    *value = device_attribute(attribute, device);
    return CUDA_FINE;
}

API(int, cudaGetDeviceProperties, void *out, int device)
{
    if (!is_device(device))
        return current_result(CUDA_INVALID_DEVICE);
    device_properties(out, device);
    return CUDA_FINE;
}

/* What the headers of CUDA 12 make of that name. */
API(int, cudaGetDeviceProperties_v2, void *out, int device)
{
    return cudaGetDeviceProperties(out, device);
}

API(int, cudaDeviceGetPCIBusId, char *text, int room, int device)
{
    if (!is_device(device) || room <= 0)
        return current_result(CUDA_INVALID_DEVICE);
    device_pci(text, (size_t)room, device);
    return CUDA_FINE;
}

API(int, cudaDeviceGetByPCIBusId, int *device, const char *text)
{
    char own[DEVICE_PCI_MAX];
    for (int i = 0; device_open() && i < machine_devices(); i++) {
        device_pci(own, sizeof own, i);
        if (strcmp(own, text) == 0) {
            *device = i;
            return CUDA_FINE;
        }
    }
    return current_result(CUDA_INVALID_DEVICE);
}

API(int, cudaDeviceCanAccessPeer, int *can, int device, int peer)
{
    if (!is_device(device) || !is_device(peer))
        return current_result(CUDA_INVALID_DEVICE);
    *can = device != peer;
    return CUDA_FINE;
}

/* Lower numbers come first. */
API(int, cudaDeviceGetStreamPriorityRange, int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_FINE;
}
