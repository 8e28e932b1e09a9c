/*
 * cuda_driver.h - what the files behind cuda_device.h share. The few types of the driver's
 * interface are declared here: they are part of its binary interface and cannot change.
 */
#ifndef TIDEMARK_ALLOCATOR_CUDA_DRIVER_H
#define TIDEMARK_ALLOCATOR_CUDA_DRIVER_H

#include "cuda_device.h"
#include "map.h"

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

/* A result of the driver as an error. */
int cuda_device_error(struct cuda_device *device, int result);
/* The device's context is current from here, */
int cuda_device_enter(struct cuda_device *device);
/* to here, where the caller's is again. `result` of the call made, as an error. */
int cuda_device_leave(struct cuda_device *device, int result);
/* Fills device->seam; without calls for pages no segment of it can grow. */
void cuda_device_make_seam(struct cuda_device *device, bool has_pages);

#endif
