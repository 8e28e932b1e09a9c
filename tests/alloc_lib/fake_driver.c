/* fake_driver.c - see fake_driver.h. The numbers are those of the driver's interface. */
#include "fake_driver.h"

#include <stddef.h>
#include <stdlib.h>

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NO_DEVICE = 101, NO_CONTEXT = 201, NOT_READY = 600 };
enum { BLOCKS = 4096, CONTEXTS = 16 };

typedef unsigned long long pointer;

struct fake_cuda fake_cuda = {.total = UINT64_C(1) << 30};

/* What was allocated, or mapped: `bytes` 0 is an empty place. */
struct block {
    pointer address;
    size_t bytes;
    int device;
};
static struct block blocks[BLOCKS], mapped[BLOCKS];
static pointer next_address = 0x7f2000000000;
static int current[CONTEXTS]; /* a context is the address of its device's number */
static int device_numbers[FAKE_DEVICES] = {0, 1};

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);
int cuMemAlloc_v2(pointer *address, size_t bytes);
int cuMemFree_v2(pointer address);
int cuMemGetInfo_v2(size_t *unused, size_t *total);
int cuMemAddressReserve(pointer *address, size_t bytes, size_t alignment, pointer hint,
                        unsigned long long flags);
int cuMemAddressFree(pointer address, size_t bytes);
int cuMemCreate(pointer *handle, size_t bytes, const void *properties, unsigned long long flags);
int cuMemRelease(pointer handle);
int cuMemMap(pointer address, size_t bytes, size_t offset, pointer handle,
             unsigned long long flags);
int cuMemUnmap(pointer address, size_t bytes);
int cuMemSetAccess(pointer address, size_t bytes, const void *access, size_t count);
int cuEventCreate(void **event, unsigned flags);
int cuEventDestroy_v2(void *event);
int cuEventRecord(void *event, void *stream);
int cuEventQuery(void *event);
int cuEventSynchronize(void *event);
int cuStreamSynchronize(void *stream);

static int contradiction(int result)
{
    fake_cuda.errors++;
    return result;
}

/* ---- devices and contexts ---- */

int cuInit(unsigned flags)
{
    return flags ? INVALID : OK;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal >= 0 && ordinal < FAKE_DEVICES ? OK : NO_DEVICE;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &device_numbers[device];
    return OK;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    return device < FAKE_DEVICES ? OK : NO_DEVICE;
}

int cuCtxPushCurrent_v2(void *context)
{
    if (fake_cuda.depth == CONTEXTS)
        return contradiction(NO_CONTEXT);
    current[fake_cuda.depth++] = *(int *)context;
    return OK;
}

int cuCtxPopCurrent_v2(void **context)
{
    if (!fake_cuda.depth)
        return contradiction(NO_CONTEXT);
    *context = &device_numbers[current[--fake_cuda.depth]];
    return OK;
}

/* The device whose context is current, or -1. */
static int device_now(void)
{
    return fake_cuda.depth ? current[fake_cuda.depth - 1] : -1;
}

/* ---- memory ---- */

static struct block *find(struct block *in, pointer address)
{
    for (size_t i = 0; i < BLOCKS; i++)
        if (in[i].bytes && in[i].address == address)
            return &in[i];
    return NULL;
}

static struct block *empty_place(struct block *in)
{
    for (size_t i = 0; i < BLOCKS; i++)
        if (!in[i].bytes)
            return &in[i];
    abort();
}

static pointer addresses(size_t bytes)
{
    pointer address = next_address;
    next_address += (bytes + (2 << 20) - 1) / (2 << 20) * (2 << 20);
    return address;
}

static bool take(int device, size_t bytes)
{
    if (bytes > fake_cuda.total - fake_cuda.used[device])
        return false;
    fake_cuda.used[device] += bytes;
    return true;
}

int cuMemAlloc_v2(pointer *address, size_t bytes)
{
    int device = device_now();
    if (device < 0 || !bytes)
        return contradiction(device < 0 ? NO_CONTEXT : INVALID);
    if (!take(device, bytes))
        return NO_MEMORY;
    *address = addresses(bytes);
    *empty_place(blocks) = (struct block){*address, bytes, device};
    fake_cuda.allocs++;
    return OK;
}

int cuMemFree_v2(pointer address)
{
    struct block *block = find(blocks, address);
    if (!block || device_now() != block->device)
        return contradiction(INVALID);
    fake_cuda.used[block->device] -= block->bytes;
    fake_cuda.frees++;
    block->bytes = 0;
    return OK;
}

int cuMemGetInfo_v2(size_t *unused, size_t *total)
{
    int device = device_now();
    if (device < 0)
        return contradiction(NO_CONTEXT);
    *total = fake_cuda.total;
    *unused = fake_cuda.total - fake_cuda.used[device];
    return OK;
}

int cuMemAddressReserve(pointer *address, size_t bytes, size_t alignment, pointer hint,
                        unsigned long long flags)
{
    (void)alignment, (void)hint, (void)flags;
    *address = addresses(bytes);
    return OK;
}

int cuMemAddressFree(pointer address, size_t bytes)
{
    for (size_t i = 0; i < BLOCKS; i++)
        if (mapped[i].bytes && mapped[i].address >= address && mapped[i].address - address < bytes)
            return contradiction(INVALID);
    return OK;
}

/* A handle is its size and its device: memory that is released before it is unmapped stays. */
int cuMemCreate(pointer *handle, size_t bytes, const void *properties, unsigned long long flags)
{
    int device = device_now();
    (void)properties, (void)flags;
    if (device < 0)
        return contradiction(NO_CONTEXT);
    if (!take(device, bytes))
        return NO_MEMORY;
    *handle = (pointer)bytes << 8 | (pointer)device;
    return OK;
}

int cuMemRelease(pointer handle)
{
    return handle ? OK : contradiction(INVALID);
}

int cuMemMap(pointer address, size_t bytes, size_t offset, pointer handle, unsigned long long flags)
{
    (void)offset, (void)flags;
    if (find(mapped, address) || handle >> 8 != bytes)
        return contradiction(INVALID);
    *empty_place(mapped) = (struct block){address, bytes, (int)(handle & 0xff)};
    fake_cuda.maps++;
    return OK;
}

int cuMemUnmap(pointer address, size_t bytes)
{
    struct block *page = find(mapped, address);
    if (!page || page->bytes != bytes)
        return contradiction(INVALID);
    fake_cuda.used[page->device] -= bytes;
    fake_cuda.unmaps++;
    page->bytes = 0;
    return OK;
}

int cuMemSetAccess(pointer address, size_t bytes, const void *access, size_t count)
{
    (void)bytes, (void)access;
    return count == 1 && find(mapped, address) ? OK : contradiction(INVALID);
}

/* ---- streams ---- */

int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = malloc(1);
    fake_cuda.events++;
    return *event ? OK : NO_MEMORY;
}

int cuEventDestroy_v2(void *event)
{
    free(event);
    fake_cuda.events--;
    return OK;
}

int cuEventRecord(void *event, void *stream)
{
    fake_cuda.last_stream = (uint64_t)(uintptr_t)stream;
    return event && device_now() >= 0 ? OK : contradiction(NO_CONTEXT);
}

int cuEventQuery(void *event)
{
    if (!event)
        return contradiction(INVALID);
    return fake_cuda.busy ? NOT_READY : OK;
}

int cuEventSynchronize(void *event)
{
    fake_cuda.waits++;
    return event ? OK : contradiction(INVALID);
}

int cuStreamSynchronize(void *stream)
{
    (void)stream;
    fake_cuda.waits++;
    return OK;
}
