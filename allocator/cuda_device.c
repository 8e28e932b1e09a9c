/*
 * cuda_device.c - see cuda_device.h: what the allocator asks of a device, as calls of the driver.
 */
#include <stdio.h>

#include "cuda_driver.h"
#include "error.h"
#include "mem.h"

/* ---- calls ---- */

int cuda_device_error(struct cuda_device *device, int result)
{
    if (result != CU_OK && result != CU_NOT_READY)
        device->last_error = result;
    switch (result) {
    case CU_OK:
        return BASE_OK;
    case CU_OUT_OF_MEMORY:
        return ERR_NOMEM;
    case CU_NOT_READY:
        return ERR_BUSY;
    case CU_INVALID_VALUE:
    case CU_INVALID_CONTEXT:
    case CU_INVALID_HANDLE:
        return ERR_ARG;
    case CU_NO_DEVICE:
    case CU_INVALID_DEVICE:
        return ERR_NOTFOUND;
    case CU_NOT_PERMITTED:
    case CU_NOT_SUPPORTED:
        return ERR_DENIED;
    case CU_NOT_INITIALIZED:
    case CU_DEINITIALIZED:
        return ERR_CLOSED;
    default:
        return ERR_IO;
    }
}

int cuda_device_enter(struct cuda_device *device)
{
    return cuda_device_error(device, device->driver.push(device->context));
}

/* `result` of the call made, as an error; the caller's context is current again. */
int cuda_device_leave(struct cuda_device *device, int result)
{
    void *context;
    int err = cuda_device_error(device, result), popped = device->driver.pop(&context);
    return err == BASE_OK ? cuda_device_error(device, popped) : err;
}

static void *pointer_of(uint64_t number)
{
    return (void *)(uintptr_t)number; /* streams and events are pointers to the driver */
}

/* ---- the seam: memory ---- */

static int take(void *self, uint64_t bytes, uint64_t stream, uint64_t *address)
{
    struct cuda_device *device = self;
    cu_pointer got = 0;
    (void)stream;
    int err = cuda_device_enter(device);
    if (err != BASE_OK)
        return err;
    err = cuda_device_leave(device, device->driver.alloc(&got, (size_t)bytes));
    *address = got;
    return err;
}

static int give(void *self, uint64_t address, uint64_t bytes)
{
    struct cuda_device *device = self;
    (void)bytes;
    int err = cuda_device_enter(device);
    return err == BASE_OK ? cuda_device_leave(device, device->driver.free(address)) : err;
}

static int memory(void *self, uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct cuda_device *device = self;
    size_t unused = 0, total = 0;
    int err = cuda_device_enter(device);
    if (err != BASE_OK)
        return err;
    err = cuda_device_leave(device, device->driver.info(&unused, &total));
    *free_bytes = unused;
    *total_bytes = total;
    return err;
}

static int reserve(void *self, uint64_t bytes, uint64_t stream, uint64_t *address)
{
    struct cuda_device *device = self;
    cu_pointer got = 0;
    (void)stream;
    if (!MEM_GROW(device->ranges, device->ranges_cap, device->range_count + 1))
        return ERR_NOMEM;
    int err = cuda_device_enter(device);
    if (err != BASE_OK)
        return err;
    err = cuda_device_leave(device, device->driver.reserve(&got, (size_t)bytes, 0, 0, 0));
    if (err == BASE_OK)
        device->ranges[device->range_count++] = (struct range){got, bytes, SMALLEST_PAGE};
    *address = got;
    return err;
}

static void pages(void *self, uint64_t address, uint64_t bytes, uint64_t page)
{
    struct cuda_device *device = self;
    for (size_t i = 0; i < device->range_count; i++) {
        if (device->ranges[i].address == address && device->ranges[i].size == bytes)
            device->ranges[i].page = page;
    }
}

static int unreserve(void *self, uint64_t address, uint64_t bytes)
{
    struct cuda_device *device = self;
    int err = cuda_device_enter(device);
    if (err == BASE_OK)
        err = cuda_device_leave(device, device->driver.unreserve(address, (size_t)bytes));
    for (size_t i = 0; err == BASE_OK && i < device->range_count; i++) {
        if (device->ranges[i].address == address)
            device->ranges[i] = device->ranges[--device->range_count];
    }
    return err;
}

/* Pages of the range that holds the address; 0: none does. */
static uint64_t page_at(const struct cuda_device *device, uint64_t address)
{
    for (size_t i = 0; i < device->range_count; i++) {
        const struct range *range = &device->ranges[i];
        if (address >= range->address && address - range->address < range->size)
            return range->page;
    }
    return 0;
}

/* The mapping holds the memory from then on. */
static int map_page(struct cuda_device *device, uint64_t address, uint64_t page)
{
    struct cu_properties properties = {.type = CU_PINNED,
                                       .location = {CU_ON_DEVICE, device->ordinal}};
    cu_handle handle;
    int result = device->driver.create(&handle, (size_t)page, &properties, 0);
    if (result != CU_OK)
        return result;
    if (!map_put(&device->handles, address, handle, NULL)) {
        device->driver.forget(handle);
        return CU_OUT_OF_MEMORY;
    }
    result = device->driver.map(address, (size_t)page, 0, handle, 0);
    if (result != CU_OK) {
        map_remove(&device->handles, address);
        device->driver.forget(handle);
    }
    return result;
}

/* All of them; the first error. */
static int unmap_pages(struct cuda_device *device, uint64_t address, uint64_t end, uint64_t page)
{
    int result = CU_OK;
    for (; address < end; address += page) {
        int unmapped = device->driver.unmap(address, (size_t)page);
        uint64_t handle = map_remove(&device->handles, address);
        int forgotten = handle == MAP_NONE ? CU_INVALID_VALUE : device->driver.forget(handle);
        if (result == CU_OK)
            result = unmapped == CU_OK ? forgotten : unmapped;
    }
    return result;
}

/* All of the range or nothing. */
static int map(void *self, uint64_t address, uint64_t bytes)
{
    struct cuda_device *device = self;
    struct cu_access access = {{CU_ON_DEVICE, device->ordinal}, CU_READ_WRITE};
    uint64_t page = page_at(device, address), at = address;
    if (!page || bytes % page)
        return ERR_ARG;
    int err = cuda_device_enter(device), result = CU_OK;
    if (err != BASE_OK)
        return err;
    while (result == CU_OK && at < address + bytes) {
        result = map_page(device, at, page);
        at += result == CU_OK ? page : 0;
    }
    if (result == CU_OK)
        result = device->driver.access(address, (size_t)bytes, &access, 1);
    if (result != CU_OK)
        unmap_pages(device, address, at, page);
    return cuda_device_leave(device, result);
}

static int unmap(void *self, uint64_t address, uint64_t bytes)
{
    struct cuda_device *device = self;
    uint64_t page = page_at(device, address);
    if (!page || bytes % page)
        return ERR_ARG;
    int err = cuda_device_enter(device);
    if (err != BASE_OK)
        return err;
    return cuda_device_leave(device, unmap_pages(device, address, address + bytes, page));
}

/* ---- the seam: streams ---- */

static int event_record(void *self, uint64_t stream, uint64_t *event)
{
    struct cuda_device *device = self;
    void *got = NULL;
    int err = cuda_device_enter(device), result = CU_OK;
    if (err != BASE_OK)
        return err;
    if (device->spare_count)
        got = device->spare[--device->spare_count];
    else
        result = device->driver.event_create(&got, CU_EVENT_WITHOUT_TIME);
    if (result == CU_OK) {
        result = device->driver.event_record(got, pointer_of(stream));
        if (result != CU_OK)
            device->driver.event_destroy(got);
    }
    *event = (uint64_t)(uintptr_t)got;
    return cuda_device_leave(device, result);
}

static int event_query(void *self, uint64_t event)
{
    struct cuda_device *device = self;
    int err = cuda_device_enter(device);
    return err == BASE_OK ? cuda_device_leave(device, device->driver.event_query(pointer_of(event)))
                          : err;
}

static int event_wait(void *self, uint64_t event)
{
    struct cuda_device *device = self;
    int err = cuda_device_enter(device);
    return err == BASE_OK ? cuda_device_leave(device, device->driver.event_wait(pointer_of(event)))
                          : err;
}

/* Kept for the next recording; without memory for that, destroyed. */
static void event_forget(void *self, uint64_t event)
{
    struct cuda_device *device = self;
    if (MEM_GROW(device->spare, device->spare_cap, device->spare_count + 1))
        device->spare[device->spare_count++] = pointer_of(event);
    else if (cuda_device_enter(device) == BASE_OK)
        cuda_device_leave(device, device->driver.event_destroy(pointer_of(event)));
}

static int stream_wait(void *self, uint64_t stream)
{
    struct cuda_device *device = self;
    int err = cuda_device_enter(device);
    return err == BASE_OK
               ? cuda_device_leave(device, device->driver.stream_wait(pointer_of(stream)))
               : err;
}

void cuda_device_make_seam(struct cuda_device *device, bool has_pages)
{
    snprintf(device->name, sizeof device->name, "cuda:%d", device->ordinal);
    device->seam = (struct alloc_device){
        .self = device,
        .name = device->name,
        .take = take,
        .give = give,
        .event_record = event_record,
        .event_query = event_query,
        .event_wait = event_wait,
        .event_forget = event_forget,
        .stream_wait = stream_wait,
        .memory = memory,
    };
    if (!has_pages)
        return;
    device->seam.reserve = reserve;
    device->seam.unreserve = unreserve;
    device->seam.map = map;
    device->seam.unmap = unmap;
    device->seam.pages = pages;
}

const struct alloc_device *cuda_device_seam(struct cuda_device *device)
{
    return &device->seam;
}

int cuda_device_last_error(const struct cuda_device *device)
{
    return device->last_error;
}
