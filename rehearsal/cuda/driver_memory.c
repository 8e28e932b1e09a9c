/* driver_memory.c - the driver's memory: by address, and physical memory that is mapped. */
#include <string.h>

#include "context.h"
#include "copies.h"
#include "cuda_abi.h"
#include "current.h"
#include "driver_memory.h"
#include "error.h"
#include "machine.h"
#include "pool.h"
#include "records.h"
#include "stream.h"
#include "tell.h"
#include "values.h"

#define PITCH 512

/* What a program asks of an address, cuPointerGetAttribute. */
enum asked {
    ASKED_CONTEXT = 1,
    ASKED_TYPE = 2,
    ASKED_DEVICE_POINTER = 3,
    ASKED_HOST_POINTER = 4,
    ASKED_BUFFER_ID = 7,
    ASKED_MANAGED = 8,
    ASKED_DEVICE = 9,
    ASKED_RANGE_BEGIN = 11,
    ASKED_RANGE_BYTES = 12,
    ASKED_MAPPED = 13
};

API(int, cuMemGetInfo_v2, size_t *free_bytes, size_t *total_bytes)
{
    uint64_t free_now, total;
    int err = context_open(current_device());
    machine_memory(current_device(), &free_now, &total);
    *free_bytes = free_now;
    *total_bytes = total;
    return cuda_from_err(err);
}

/* ---- memory of a device ---- */

static void record(enum told_operation operation, enum told_memory_kind kind, uint64_t address,
                   uint64_t bytes)
{
    const struct memory_record made = {.operation = operation,
                                       .kind = kind,
                                       .address = address,
                                       .bytes = bytes,
                                       .device = current_device()};
    records_add(&made);
}

static int take(uint64_t *address, size_t bytes)
{
    int err = context_open(current_device());
    *address = 0;
    if (!err)
        err = machine_take(current_device(), bytes, address);
    if (err)
        return cuda_from_err(err);
    values_forget(*address, bytes);
    record(TOLD_ALLOCATION, TOLD_DEVICE, *address, bytes);
    return CUDA_FINE;
}

API(int, cuMemAlloc_v2, uint64_t *address, size_t bytes)
{
    TELL(cuMemAlloc_v2, told_word(address), bytes);
    return TOLD(take(address, bytes));
}

API(int, cuMemAllocPitch_v2, uint64_t *address, size_t *pitch, size_t width, size_t height,
    unsigned element)
{
    TELL(cuMemAllocPitch_v2, told_word(address), told_word(pitch), width, height, element);
    *pitch = (width + PITCH - 1) & ~(size_t)(PITCH - 1);
    return TOLD(take(address, *pitch * height));
}

API(int, cuMemAllocManaged, uint64_t *address, size_t bytes, unsigned flags)
{
    TELL(cuMemAllocManaged, told_word(address), bytes, flags);
    int err = context_open(current_device());
    *address = 0;
    if (!err)
        err = pool_take_managed(current_device(), bytes, address);
    if (!err)
        record(TOLD_ALLOCATION, TOLD_MANAGED, *address, bytes);
    return TOLD(cuda_from_err(err));
}

static int give(uint64_t address)
{
    struct extent extent = {0};
    bool known = machine_look(address, &extent);
    int err = address ? pool_give(address) : BASE_OK;
    if (!err && known)
        record(TOLD_RELEASE, extent.kind == EXTENT_PINNED ? TOLD_MANAGED : TOLD_DEVICE, address,
               extent.bytes);
    return cuda_from_err(err);
}

API(int, cuMemFree_v2, uint64_t address)
{
    TELL(cuMemFree_v2, address);
    return TOLD(give(address));
}

/* ---- the host's memory ---- */

static int pin(void **pointer, size_t bytes)
{
    uint64_t address = 0;
    int err = context_open(current_device());
    if (!err)
        err = machine_pin(current_device(), bytes, &address);
    *pointer = (void *)(uintptr_t)address;
    if (!err)
        record(TOLD_ALLOCATION, TOLD_PINNED, address, bytes);
    return cuda_from_err(err);
}

API(int, cuMemAllocHost_v2, void **pointer, size_t bytes)
{
    TELL(cuMemAllocHost_v2, told_word(pointer), bytes);
    return TOLD(pin(pointer, bytes));
}

API(int, cuMemHostAlloc, void **pointer, size_t bytes, unsigned flags)
{
    TELL(cuMemHostAlloc, told_word(pointer), bytes, flags);
    return TOLD(pin(pointer, bytes));
}

API(int, cuMemFreeHost, void *pointer)
{
    struct extent extent = {0};
    TELL(cuMemFreeHost, told_word(pointer));
    (void)machine_look(told_word(pointer), &extent);
    int err = machine_unpin(told_word(pointer));
    if (!err)
        record(TOLD_RELEASE, TOLD_PINNED, told_word(pointer), extent.bytes);
    return TOLD(cuda_from_err(err));
}

API(int, cuMemHostRegister_v2, void *pointer, size_t bytes, unsigned flags)
{
    TELL(cuMemHostRegister_v2, told_word(pointer), bytes, flags);
    int err = machine_register(current_device(), told_word(pointer), bytes);
    return TOLD(cuda_from_err(err));
}

API(int, cuMemHostUnregister, void *pointer)
{
    TELL(cuMemHostUnregister, told_word(pointer));
    bool done = machine_unregister(told_word(pointer)) == BASE_OK;
    return TOLD(done ? CUDA_FINE : CUDA_NOT_REGISTERED);
}

/* ---- what lies at an address ---- */

API(int, cuMemGetAddressRange_v2, uint64_t *base, size_t *bytes, uint64_t address)
{
    struct extent extent;
    if (!machine_look(address, &extent))
        return CUDA_NOT_FOUND;
    if (base)
        *base = extent.base;
    if (bytes)
        *bytes = extent.bytes;
    return CUDA_FINE;
}

static bool is_devices(const struct extent *extent)
{
    return extent->kind == EXTENT_DEVICE || extent->kind == EXTENT_MAPPED;
}

static void put(void *out, uint64_t value, size_t bytes)
{
    memcpy(out, &value, bytes); /* little-endian */
}

API(int, cuPointerGetAttribute, void *out, int attribute, uint64_t address)
{
    struct extent extent;
    bool known = machine_look(address, &extent);
    if (attribute == ASKED_MAPPED) {
        put(out, known && is_devices(&extent), sizeof(int));
        return CUDA_FINE;
    }
    if (!known)
        return CUDA_INVALID_VALUE;
    switch ((enum asked)attribute) {
    case ASKED_TYPE:
        put(out, is_devices(&extent) ? DRIVER_MEMORY_DEVICE : DRIVER_MEMORY_HOST, sizeof(int));
        return CUDA_FINE;
    case ASKED_DEVICE_POINTER:
        put(out, address, sizeof address);
        return CUDA_FINE;
    case ASKED_HOST_POINTER:
        put(out, address, sizeof address);
        return is_devices(&extent) ? CUDA_INVALID_VALUE : CUDA_FINE;
    case ASKED_BUFFER_ID:
    case ASKED_RANGE_BEGIN:
        put(out, extent.base, sizeof extent.base);
        return CUDA_FINE;
    case ASKED_RANGE_BYTES:
        put(out, extent.bytes, sizeof extent.bytes);
        return CUDA_FINE;
    case ASKED_DEVICE:
        put(out, (uint64_t)extent.device, sizeof(int));
        return CUDA_FINE;
    default:
        put(out, 0, sizeof(int));
        return CUDA_FINE;
    }
}

API(int, cuPointerGetAttributes, unsigned count, const int *attributes, void **out,
    uint64_t address)
{
    for (unsigned i = 0; i < count; i++)
        if (cuPointerGetAttribute(out[i], attributes[i], address) != CUDA_FINE)
            *(int *)out[i] = 0; /* of what is none of CUDA's memory, as the driver says it */
    return CUDA_FINE;
}

/* ---- addresses and physical memory ---- */

API(int, cuMemGetAllocationGranularity, size_t *bytes, const void *how, int which)
{
    (void)how, (void)which;
    *bytes = MACHINE_PAGE;
    return CUDA_FINE;
}

API(int, cuMemAddressReserve, uint64_t *address, size_t bytes, size_t align, uint64_t wish,
    unsigned long long flags)
{
    (void)flags;
    return cuda_from_err(machine_reserve(bytes, align, wish, address));
}

API(int, cuMemAddressFree, uint64_t address, size_t bytes)
{
    return cuda_from_err(machine_unreserve(address, bytes));
}

API(int, cuMemCreate, uint64_t *handle, size_t bytes, const struct abi_memory_at *where,
    unsigned long long flags)
{
    struct physical *made = NULL;
    TELL(cuMemCreate, told_word(handle), bytes, told_word(where), flags);
    int32_t device = where->location_type == LOCATION_DEVICE ? where->device : current_device();
    int err = context_open(device);
    if (!err)
        err = machine_create(device, bytes, &made);
    *handle = told_word(made);
    return TOLD(cuda_from_err(err));
}

API(int, cuMemRelease, uint64_t handle)
{
    TELL(cuMemRelease, handle);
    machine_release((struct physical *)(uintptr_t)handle);
    return TOLD(CUDA_FINE);
}

API(int, cuMemMap, uint64_t address, size_t bytes, size_t offset, uint64_t handle,
    unsigned long long flags)
{
    TELL(cuMemMap, address, bytes, offset, handle, flags);
    if (offset)
        return TOLD(CUDA_INVALID_VALUE);
    int err = machine_map(address, bytes, (struct physical *)(uintptr_t)handle);
    return TOLD(cuda_from_err(err));
}

API(int, cuMemUnmap, uint64_t address, size_t bytes)
{
    TELL(cuMemUnmap, address, bytes);
    return TOLD(cuda_from_err(machine_unmap(address, bytes)));
}

/* ---- copies and fills ---- */

static void *place(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

API(int, cuMemcpyHtoD_v2, uint64_t to, const void *from, size_t bytes)
{
    copy_bytes(place(to), from, bytes);
    return CUDA_FINE;
}

API(int, cuMemcpyDtoH_v2, void *to, uint64_t from, size_t bytes)
{
    copy_bytes(to, place(from), bytes);
    return CUDA_FINE;
}

API(int, cuMemcpyDtoD_v2, uint64_t to, uint64_t from, size_t bytes)
{
    copy_bytes(place(to), place(from), bytes);
    return CUDA_FINE;
}

API(int, cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t bytes, void *stream)
{
    return stream_put_writing(stream, place(to), bytes) ? CUDA_FINE
                                                        : cuMemcpyHtoD_v2(to, from, bytes);
}

API(int, cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t bytes, void *stream)
{
    return stream_put(stream) ? CUDA_FINE : cuMemcpyDtoH_v2(to, from, bytes);
}

API(int, cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    return stream_put_writing(stream, place(to), bytes) ? CUDA_FINE
                                                        : cuMemcpyDtoD_v2(to, from, bytes);
}

API(int, cuMemsetD8_v2, uint64_t address, unsigned char value, size_t count)
{
    copy_fill(place(address), value, count);
    return CUDA_FINE;
}

API(int, cuMemsetD8Async, uint64_t address, unsigned char value, size_t count, void *stream)
{
    return stream_put_writing(stream, place(address), count) ? CUDA_FINE
                                                             : cuMemsetD8_v2(address, value, count);
}

/* Of words that are not one byte over and over, what lies there is not known. */
API(int, cuMemsetD32_v2, uint64_t address, unsigned value, size_t count)
{
    unsigned byte = value & 0xff;
    if (value == byte * 0x01010101u)
        copy_fill(place(address), (int)byte, count * sizeof value);
    else
        values_forget(address, count * sizeof value);
    return CUDA_FINE;
}

API(int, cuMemsetD32Async, uint64_t address, unsigned value, size_t count, void *stream)
{
    return stream_put_writing(stream, place(address), count * sizeof value)
               ? CUDA_FINE
               : cuMemsetD32_v2(address, value, count);
}
