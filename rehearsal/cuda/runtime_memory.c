/* runtime_memory.c - memory as the runtime hands it out, and copies. */
#include <string.h>

#include "context.h"
#include "copies.h"
#include "cuda_abi.h"
#include "current.h"
#include "driver_memory.h"
#include "machine.h"
#include "stream.h"
#include "tell.h"

static uint64_t number(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static void *address(uint64_t value)
{
    return (void *)(uintptr_t)value;
}

/* The runtime makes the context before it calls the driver. */
static int ready(void)
{
    return cuda_from_err(context_open(current_device()));
}

/* ---- device memory ---- */

API(int, cudaMalloc, void **pointer, size_t bytes)
{
    uint64_t at = 0;
    TELL(cudaMalloc, told_word(pointer), bytes);
    int result = ready();
    if (!result && bytes)
        result = cuMemAlloc_v2(&at, bytes);
    *pointer = address(at);
    return current_result(TOLD(result));
}

API(int, cudaFree, void *pointer)
{
    TELL(cudaFree, told_word(pointer));
    int result = ready();
    if (!result && pointer)
        result = cuMemFree_v2(number(pointer));
    return current_result(TOLD(result));
}

API(int, cudaMallocPitch, void **pointer, size_t *pitch, size_t width, size_t height)
{
    uint64_t at = 0;
    TELL(cudaMallocPitch, told_word(pointer), told_word(pitch), width, height);
    int result = ready();
    if (!result)
        result = cuMemAllocPitch_v2(&at, pitch, width, height, 4);
    *pointer = address(at);
    return current_result(TOLD(result));
}

API(int, cudaMallocManaged, void **pointer, size_t bytes, unsigned flags)
{
    uint64_t at = 0;
    TELL(cudaMallocManaged, told_word(pointer), bytes, flags);
    int result = ready();
    if (!result)
        result = cuMemAllocManaged(&at, bytes, flags);
    *pointer = address(at);
    return current_result(TOLD(result));
}

API(int, cudaMemGetInfo, size_t *free_bytes, size_t *total_bytes)
{
    uint64_t free_now, total;
    int result = ready();
    machine_memory(current_device(), &free_now, &total);
    *free_bytes = free_now;
    *total_bytes = total;
    return current_result(result);
}

/* ---- the host's memory ---- */

API(int, cudaHostAlloc, void **pointer, size_t bytes, unsigned flags)
{
    TELL(cudaHostAlloc, told_word(pointer), bytes, flags);
    int result = ready();
    *pointer = NULL;
    if (!result)
        result = cuMemHostAlloc(pointer, bytes, flags);
    return current_result(TOLD(result));
}

API(int, cudaMallocHost, void **pointer, size_t bytes)
{
    TELL(cudaMallocHost, told_word(pointer), bytes);
    int result = ready();
    *pointer = NULL;
    if (!result)
        result = cuMemAllocHost_v2(pointer, bytes);
    return current_result(TOLD(result));
}

API(int, cudaFreeHost, void *pointer)
{
    TELL(cudaFreeHost, told_word(pointer));
    return current_result(TOLD(pointer ? cuMemFreeHost(pointer) : CUDA_FINE));
}

API(int, cudaHostRegister, void *pointer, size_t bytes, unsigned flags)
{
    TELL(cudaHostRegister, told_word(pointer), bytes, flags);
    return current_result(TOLD(cuMemHostRegister_v2(pointer, bytes, flags)));
}

API(int, cudaHostUnregister, void *pointer)
{
    TELL(cudaHostUnregister, told_word(pointer));
    return current_result(TOLD(cuMemHostUnregister(pointer)));
}

API(int, cudaHostGetDevicePointer, void **on_device, void *on_host, unsigned flags)
{
    (void)flags;
    *on_device = on_host;
    return CUDA_FINE;
}

API(int, cudaHostGetFlags, unsigned *flags, void *pointer)
{
    (void)pointer;
    *flags = 0;
    return CUDA_FINE;
}

static int32_t type_of(enum extent_kind kind)
{
    switch (kind) {
    case EXTENT_DEVICE:
    case EXTENT_MAPPED:
        return MEMORY_DEVICE;
    case EXTENT_MANAGED:
        return MEMORY_MANAGED;
    default:
        return MEMORY_HOST;
    }
}

/* Memory that is none of CUDA's is no error: it says so. */
API(int, cudaPointerGetAttributes, struct abi_pointer *out, const void *pointer)
{
    struct extent extent;
    *out = (struct abi_pointer){.type = MEMORY_UNREGISTERED, .device = -2};
    if (!machine_look(number(pointer), &extent)) {
        out->host_pointer = address(number(pointer));
        return CUDA_FINE;
    }
    out->type = type_of(extent.kind);
    out->device = extent.device;
    out->device_pointer = address(number(pointer));
    if (out->type != MEMORY_DEVICE)
        out->host_pointer = address(number(pointer));
    return CUDA_FINE;
}

/* ---- copies and fills ---- */

API(int, cudaMemcpy, void *to, const void *from, size_t bytes, int kind)
{
    (void)kind;
    copy_bytes(to, from, bytes);
    return CUDA_FINE;
}

API(int, cudaMemcpyAsync, void *to, const void *from, size_t bytes, int kind, void *stream)
{
    return stream_put_writing(stream, to, bytes) ? CUDA_FINE : cudaMemcpy(to, from, bytes, kind);
}

API(int, cudaMemcpyPeer, void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    (void)to_device;
    (void)from_device;
    return cudaMemcpy(to, from, bytes, 0);
}

API(int, cudaMemcpyPeerAsync, void *to, int to_device, const void *from, int from_device,
    size_t bytes, void *stream)
{
    (void)to_device;
    (void)from_device;
    return cudaMemcpyAsync(to, from, bytes, 0, stream);
}

API(int, cudaMemcpy2D, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
    size_t height, int kind)
{
    (void)kind;
    for (size_t row = 0; row < height; row++)
        copy_bytes((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
    return CUDA_FINE;
}

API(int, cudaMemcpy2DAsync, void *to, size_t to_pitch, const void *from, size_t from_pitch,
    size_t width, size_t height, int kind, void *stream)
{
    if (stream_put_writing(stream, to, to_pitch * height))
        return CUDA_FINE;
    return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

API(int, cudaMemset, void *at, int value, size_t bytes)
{
    copy_fill(at, value, bytes);
    return CUDA_FINE;
}

API(int, cudaMemsetAsync, void *at, int value, size_t bytes, void *stream)
{
    return stream_put_writing(stream, at, bytes) ? CUDA_FINE : cudaMemset(at, value, bytes);
}
