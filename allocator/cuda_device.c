/*
 * cuda_device.c - see cuda_device.h. The few types of the driver's interface are declared here:
 * they are part of its binary interface and cannot change.
 */
#include "cuda_device.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "map.h"
#include "mem.h"

/* ---- the driver's interface ---- */

typedef unsigned long long cu_pointer;
typedef unsigned long long cu_handle;

enum {
    CU_OK = 0,
    CU_INVALID_VALUE = 1,
    CU_OUT_OF_MEMORY = 2,
    CU_NOT_INITIALIZED = 3,
    CU_DEINITIALIZED = 4,
    CU_NO_DEVICE = 100,
    CU_INVALID_DEVICE = 101,
    CU_INVALID_CONTEXT = 201,
    CU_INVALID_HANDLE = 400,
    CU_NOT_READY = 600,
    CU_NOT_PERMITTED = 800,
    CU_NOT_SUPPORTED = 801
};

enum { CU_EVENT_WITHOUT_TIME = 2, CU_PINNED = 1, CU_ON_DEVICE = 1, CU_READ_WRITE = 3 };

struct cu_location {
    int type;
    int id;
};

struct cu_properties { /* of physical memory */
    int type;
    int handle_types;
    struct cu_location location;
    void *unused;
    unsigned char flags[8];
};

struct cu_access {
    struct cu_location location;
    int flags;
};

_Static_assert(sizeof(struct cu_properties) == 32 && sizeof(struct cu_access) == 12,
               "as the driver has them");

/* Name in the library, member, arguments. */
#define DRIVER_CALLS(CALL)                                                                         \
    CALL("cuInit", init, (unsigned flags))                                                         \
    CALL("cuDeviceGet", device_get, (int *device, int ordinal))                                    \
    CALL("cuDevicePrimaryCtxRetain", retain, (void **context, int device))                         \
    CALL("cuDevicePrimaryCtxRelease_v2", release, (int device))                                    \
    CALL("cuCtxPushCurrent_v2", push, (void *context))                                             \
    CALL("cuCtxPopCurrent_v2", pop, (void **context))                                              \
    CALL("cuMemAlloc_v2", alloc, (cu_pointer * address, size_t bytes))                             \
    CALL("cuMemFree_v2", free, (cu_pointer address))                                               \
    CALL("cuMemGetInfo_v2", info, (size_t * free_bytes, size_t * total_bytes))                     \
    CALL("cuEventCreate", event_create, (void **event, unsigned flags))                            \
    CALL("cuEventDestroy_v2", event_destroy, (void *event))                                        \
    CALL("cuEventRecord", event_record, (void *event, void *stream))                               \
    CALL("cuEventQuery", event_query, (void *event))                                               \
    CALL("cuEventSynchronize", event_wait, (void *event))                                          \
    CALL("cuStreamSynchronize", stream_wait, (void *stream))

/* Of drivers since CUDA 10.2. */
#define DRIVER_PAGE_CALLS(CALL)                                                                    \
    CALL("cuMemAddressReserve", reserve,                                                           \
         (cu_pointer * address, size_t bytes, size_t alignment, cu_pointer hint,                   \
          unsigned long long flags))                                                               \
    CALL("cuMemAddressFree", unreserve, (cu_pointer address, size_t bytes))                        \
    CALL("cuMemCreate", create,                                                                    \
         (cu_handle * handle, size_t bytes, const struct cu_properties *properties,                \
          unsigned long long flags))                                                               \
    CALL("cuMemRelease", forget, (cu_handle handle))                                               \
    CALL("cuMemMap", map,                                                                          \
         (cu_pointer address, size_t bytes, size_t offset, cu_handle handle,                       \
          unsigned long long flags))                                                               \
    CALL("cuMemUnmap", unmap, (cu_pointer address, size_t bytes))                                  \
    CALL("cuMemSetAccess", access,                                                                 \
         (cu_pointer address, size_t bytes, const struct cu_access *access, size_t count))

#define MEMBER(symbol, member, arguments) int(*member) arguments;
struct driver {
    DRIVER_CALLS(MEMBER)
    DRIVER_PAGE_CALLS(MEMBER)
};

#define SMALLEST_PAGE (UINT64_C(2) << 20) /* the driver's own */

struct range {
    uint64_t address, size, page;
};

/* Invariants: `handles` has one entry for each mapped page, by its address. */
struct cuda_device {
    struct alloc_device seam;
    char name[32];
    struct driver driver;
    void *library;
    int device, ordinal;
    void *context; /* the primary one, retained; NULL before that */
    int last_error;
    struct map handles;
    struct range *ranges; /* reserved */
    size_t range_count, ranges_cap;
    void **spare; /* events for the next recording */
    size_t spare_count, spare_cap;
};

/* ---- calls ---- */

static int error_of(struct cuda_device *device, int result)
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

static int enter(struct cuda_device *device)
{
    return error_of(device, device->driver.push(device->context));
}

/* `result` of the call made, as an error; the caller's context is current again. */
static int leave(struct cuda_device *device, int result)
{
    void *context;
    int err = error_of(device, result), popped = device->driver.pop(&context);
    return err == BASE_OK ? error_of(device, popped) : err;
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
    int err = enter(device);
    if (err != BASE_OK)
        return err;
    err = leave(device, device->driver.alloc(&got, (size_t)bytes));
    *address = got;
    return err;
}

static int give(void *self, uint64_t address, uint64_t bytes)
{
    struct cuda_device *device = self;
    (void)bytes;
    int err = enter(device);
    return err == BASE_OK ? leave(device, device->driver.free(address)) : err;
}

static int memory(void *self, uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct cuda_device *device = self;
    size_t unused = 0, total = 0;
    int err = enter(device);
    if (err != BASE_OK)
        return err;
    err = leave(device, device->driver.info(&unused, &total));
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
    int err = enter(device);
    if (err != BASE_OK)
        return err;
    err = leave(device, device->driver.reserve(&got, (size_t)bytes, 0, 0, 0));
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
    int err = enter(device);
    if (err == BASE_OK)
        err = leave(device, device->driver.unreserve(address, (size_t)bytes));
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
    int err = enter(device), result = CU_OK;
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
    return leave(device, result);
}

static int unmap(void *self, uint64_t address, uint64_t bytes)
{
    struct cuda_device *device = self;
    uint64_t page = page_at(device, address);
    if (!page || bytes % page)
        return ERR_ARG;
    int err = enter(device);
    if (err != BASE_OK)
        return err;
    return leave(device, unmap_pages(device, address, address + bytes, page));
}

/* ---- the seam: streams ---- */

static int event_record(void *self, uint64_t stream, uint64_t *event)
{
    struct cuda_device *device = self;
    void *got = NULL;
    int err = enter(device), result = CU_OK;
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
    return leave(device, result);
}

static int event_query(void *self, uint64_t event)
{
    struct cuda_device *device = self;
    int err = enter(device);
    return err == BASE_OK ? leave(device, device->driver.event_query(pointer_of(event))) : err;
}

static int event_wait(void *self, uint64_t event)
{
    struct cuda_device *device = self;
    int err = enter(device);
    return err == BASE_OK ? leave(device, device->driver.event_wait(pointer_of(event))) : err;
}

/* Kept for the next recording; without memory for that, destroyed. */
static void event_forget(void *self, uint64_t event)
{
    struct cuda_device *device = self;
    if (MEM_GROW(device->spare, device->spare_cap, device->spare_count + 1))
        device->spare[device->spare_count++] = pointer_of(event);
    else if (enter(device) == BASE_OK)
        leave(device, device->driver.event_destroy(pointer_of(event)));
}

static int stream_wait(void *self, uint64_t stream)
{
    struct cuda_device *device = self;
    int err = enter(device);
    return err == BASE_OK ? leave(device, device->driver.stream_wait(pointer_of(stream))) : err;
}

/* ---- opening ---- */

struct opening {
    struct cuda_device *device;
    char *why;
    size_t why_size;
};

__attribute__((format(printf, 3, 4))) static int complain(const struct opening *opening, int err,
                                                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (opening->why && opening->why_size)
        vsnprintf(opening->why, opening->why_size, format, args);
    va_end(args);
    return err;
}

/* A function's address as the function: memcpy, as C has no conversion between the two. */
#define FIND(symbol, member, arguments)                                                            \
    found = dlsym(device->library, symbol);                                                        \
    missing = found || missing ? missing : symbol;                                                 \
    memcpy(&device->driver.member, &found, sizeof found);

/* The first symbol that is not there, or NULL. */
static const char *find_calls(struct cuda_device *device)
{
    const char *missing = NULL;
    void *found;
    DRIVER_CALLS(FIND)
    return missing;
}

static const char *find_page_calls(struct cuda_device *device)
{
    const char *missing = NULL;
    void *found;
    DRIVER_PAGE_CALLS(FIND)
    return missing;
}

static void make_seam(struct cuda_device *device, bool has_pages)
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

static int open_context(const struct opening *opening)
{
    struct cuda_device *device = opening->device;
    int result = device->driver.init(0);
    if (result != CU_OK)
        return complain(opening, error_of(device, result),
                        "the CUDA driver does not start: error %d", result);
    result = device->driver.device_get(&device->device, device->ordinal);
    if (result != CU_OK)
        return complain(opening, error_of(device, result), "there is no CUDA device %d: error %d",
                        device->ordinal, result);
    result = device->driver.retain(&device->context, device->device);
    if (result != CU_OK) {
        device->context = NULL;
        return complain(opening, error_of(device, result), "no context on CUDA device %d: error %d",
                        device->ordinal, result);
    }
    return BASE_OK;
}

static int open_driver(const struct opening *opening, const char *library)
{
    struct cuda_device *device = opening->device;
    device->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!device->library) {
        const char *said = dlerror();
        return complain(opening, ERR_NOTFOUND, "there is no CUDA driver here: %s",
                        said ? said : library);
    }
    const char *missing = find_calls(device);
    if (missing)
        return complain(opening, ERR_NOTFOUND, "%s has no %s: not a CUDA driver, or too old",
                        library, missing);
    make_seam(device, find_page_calls(device) == NULL);
    return open_context(opening);
}

int cuda_device_new(struct cuda_device **out, int ordinal, const char *library, char *why,
                    size_t why_size)
{
    struct opening opening = {.why = why, .why_size = why_size};
    *out = NULL;
    opening.device = mem_alloc(1, sizeof *opening.device);
    if (!opening.device)
        return complain(&opening, ERR_NOMEM, "%s", base_err_text(ERR_NOMEM));
    opening.device->ordinal = ordinal;
    int err = open_driver(&opening, library ? library : "libcuda.so.1");
    if (err != BASE_OK) {
        cuda_device_delete(opening.device);
        return err;
    }
    *out = opening.device;
    return BASE_OK;
}

/* The library stays: a driver does not like to be unloaded. */
void cuda_device_delete(struct cuda_device *device)
{
    if (!device)
        return;
    if (device->context && enter(device) == BASE_OK) {
        int result = CU_OK;
        while (device->spare_count)
            result = device->driver.event_destroy(device->spare[--device->spare_count]);
        leave(device, result);
    }
    if (device->context)
        device->driver.release(device->device);
    map_clear(&device->handles);
    mem_free(device->ranges);
    mem_free(device->spare);
    mem_free(device);
}

const struct alloc_device *cuda_device_seam(struct cuda_device *device)
{
    return &device->seam;
}

int cuda_device_last_error(const struct cuda_device *device)
{
    return device->last_error;
}
