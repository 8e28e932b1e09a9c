/*
 * fake_cuda.c - see fake_cuda.h. Results are the driver's numbers. Every call but the first few
 * wants a current context; memory is only addresses.
 */
#include "fake_cuda.h"

#include <stdbool.h>
#include <string.h>

enum { OK, INVALID_VALUE, OUT_OF_MEMORY, NOT_READY = 600, INVALID_DEVICE = 101 };
enum { INVALID_CONTEXT = 201, SLOTS = 512, DEVICES = 2 };

struct span {
    uint64_t address, size, handle; /* size 0: unused */
    bool accessible;
};

static struct fake_cuda state = {.capacity = UINT64_C(1) << 30};
static struct span memory[SLOTS], ranges[SLOTS], mappings[SLOTS], handles[SLOTS];
static uint64_t next_address = UINT64_C(0x700000000000), next_handle = 1;
static int context, events[SLOTS]; /* 0 = unused, 1 = made, 2 = recorded */

struct fake_cuda *fake_state(void)
{
    return &state;
}

/* Whether the test wants this call to fail. */
static int told(const char *name)
{
    if (!state.fail_name || strcmp(state.fail_name, name) != 0)
        return OK;
    if (state.fail_after-- > 0)
        return OK;
    return state.fail_result;
}

static int mistake(int result)
{
    state.mistakes++;
    return result;
}

static int begin(const char *name)
{
    if (state.depth <= 0)
        return mistake(INVALID_CONTEXT);
    return told(name);
}

static struct span *find(struct span *spans, uint64_t address)
{
    for (int i = 0; i < SLOTS; i++) {
        if (spans[i].size && spans[i].address == address)
            return &spans[i];
    }
    return NULL;
}

static struct span *unused(struct span *spans)
{
    for (int i = 0; i < SLOTS; i++) {
        if (!spans[i].size)
            return &spans[i];
    }
    return NULL;
}

#define EXPORT __attribute__((visibility("default")))
#define CALL(name, arguments)                                                                      \
    EXPORT int name arguments;                                                                     \
    EXPORT int name arguments

CALL(cuInit, (unsigned flags))
{
    return flags ? mistake(INVALID_VALUE) : told("cuInit");
}

CALL(cuDeviceGet, (int *device, int ordinal))
{
    if (ordinal < 0 || ordinal >= DEVICES)
        return INVALID_DEVICE;
    *device = ordinal + 40;
    return told("cuDeviceGet");
}

CALL(cuDevicePrimaryCtxRetain, (void **got, int device))
{
    int result = told("cuDevicePrimaryCtxRetain");
    if (device != 40 && device != 41)
        return mistake(INVALID_DEVICE);
    *got = &context;
    state.contexts += result == OK;
    return result;
}

CALL(cuDevicePrimaryCtxRelease_v2, (int device))
{
    state.contexts--;
    return device == 40 || device == 41 ? OK : mistake(INVALID_DEVICE);
}

CALL(cuCtxPushCurrent_v2, (void *pushed))
{
    int result = told("cuCtxPushCurrent_v2");
    if (pushed != &context)
        return mistake(INVALID_CONTEXT);
    state.depth += result == OK;
    return result;
}

CALL(cuCtxPopCurrent_v2, (void **popped))
{
    if (state.depth <= 0)
        return mistake(INVALID_CONTEXT);
    state.depth--;
    *popped = &context;
    return told("cuCtxPopCurrent_v2");
}

CALL(cuMemAlloc_v2, (unsigned long long *address, size_t bytes))
{
    int result = begin("cuMemAlloc_v2");
    struct span *span = unused(memory);
    if (result != OK)
        return result;
    if (!span || bytes > state.capacity - state.taken)
        return OUT_OF_MEMORY;
    *span = (struct span){next_address, bytes, 0, true};
    *address = next_address;
    next_address += (bytes + 0x1fffff) & ~(size_t)0x1fffff;
    state.taken += bytes;
    state.allocations++;
    return OK;
}

CALL(cuMemFree_v2, (unsigned long long address))
{
    int result = begin("cuMemFree_v2");
    struct span *span = find(memory, address);
    if (result != OK)
        return result;
    if (!span)
        return mistake(INVALID_VALUE);
    state.taken -= span->size;
    state.allocations--;
    span->size = 0;
    return OK;
}

CALL(cuMemGetInfo_v2, (size_t * free_bytes, size_t *total))
{
    *total = state.capacity;
    *free_bytes = state.capacity - state.taken;
    return begin("cuMemGetInfo_v2");
}

CALL(cuMemAddressReserve, (unsigned long long *address, size_t bytes, size_t alignment,
                           unsigned long long hint, unsigned long long flags))
{
    int result = begin("cuMemAddressReserve");
    struct span *span = unused(ranges);
    if (result != OK)
        return result;
    if (!span || bytes % 0x200000 || alignment || hint || flags)
        return mistake(INVALID_VALUE);
    *span = (struct span){next_address, bytes, 0, false};
    *address = next_address;
    next_address += bytes;
    state.ranges++;
    return OK;
}

CALL(cuMemAddressFree, (unsigned long long address, size_t bytes))
{
    int result = begin("cuMemAddressFree");
    struct span *span = find(ranges, address);
    if (result != OK)
        return result;
    if (!span || span->size != bytes)
        return mistake(INVALID_VALUE);
    for (int i = 0; i < SLOTS; i++) {
        if (mappings[i].size && mappings[i].address - address < bytes)
            return mistake(INVALID_VALUE);
    }
    span->size = 0;
    state.ranges--;
    return OK;
}

/* The layout that the driver reads: kinds, handle types, place, and three more words. */
CALL(cuMemCreate,
     (unsigned long long *handle, size_t bytes, const int *properties, unsigned long long flags))
{
    int result = begin("cuMemCreate");
    struct span *span = unused(handles);
    if (result != OK)
        return result;
    if (bytes % 0x200000 || flags || properties[0] != 1 || properties[1] != 0 ||
        properties[2] != 1 || properties[3] < 0 || properties[3] >= DEVICES || properties[4] ||
        properties[5] || properties[6] || properties[7])
        return mistake(INVALID_VALUE);
    if (!span || bytes > state.capacity - state.taken)
        return OUT_OF_MEMORY;
    *span = (struct span){next_handle, bytes, 0, false};
    *handle = next_handle++;
    state.taken += bytes;
    state.handles++;
    state.last_page = bytes;
    return OK;
}

CALL(cuMemRelease, (unsigned long long handle))
{
    int result = begin("cuMemRelease");
    struct span *span = find(handles, handle);
    if (result != OK)
        return result;
    if (!span)
        return mistake(INVALID_VALUE);
    state.taken -= span->size;
    state.handles--;
    span->size = 0;
    return OK;
}

CALL(cuMemMap, (unsigned long long address, size_t bytes, size_t offset, unsigned long long handle,
                unsigned long long flags))
{
    int result = begin("cuMemMap");
    struct span *span = unused(mappings), *physical = find(handles, handle);
    if (result != OK)
        return result;
    if (!span || !physical || physical->size != bytes || offset || flags || find(mappings, address))
        return mistake(INVALID_VALUE);
    *span = (struct span){address, bytes, handle, false};
    state.mappings++;
    return OK;
}

CALL(cuMemUnmap, (unsigned long long address, size_t bytes))
{
    int result = begin("cuMemUnmap");
    struct span *span = find(mappings, address);
    if (result != OK)
        return result;
    if (!span || span->size != bytes)
        return mistake(INVALID_VALUE);
    span->size = 0;
    state.mappings--;
    return OK;
}

CALL(cuMemSetAccess, (unsigned long long address, size_t bytes, const int *access, size_t count))
{
    int result = begin("cuMemSetAccess");
    if (result != OK)
        return result;
    if (count != 1 || access[0] != 1 || access[1] < 0 || access[1] >= DEVICES || access[2] != 3)
        return mistake(INVALID_VALUE);
    while (bytes) {
        struct span *span = find(mappings, address);
        if (!span || span->size > bytes)
            return mistake(INVALID_VALUE);
        span->accessible = true;
        address += span->size;
        bytes -= span->size;
    }
    return OK;
}

static int *event_at(void *event)
{
    int *at = event;
    return at >= events && at < events + SLOTS && *at ? at : NULL;
}

CALL(cuEventCreate, (void **event, unsigned flags))
{
    int result = begin("cuEventCreate"), i = 0;
    if (result != OK)
        return result;
    while (i < SLOTS && events[i])
        i++;
    if (i == SLOTS || flags != 2)
        return mistake(INVALID_VALUE);
    events[i] = 1;
    *event = &events[i];
    state.events++;
    state.created_events++;
    return OK;
}

CALL(cuEventDestroy_v2, (void *event))
{
    int *at = event_at(event);
    if (begin("cuEventDestroy_v2") != OK || !at)
        return mistake(INVALID_VALUE);
    *at = 0;
    state.events--;
    return OK;
}

CALL(cuEventRecord, (void *event, void *stream))
{
    int result = begin("cuEventRecord"), *at = event_at(event);
    if (result != OK)
        return result;
    if (!at)
        return mistake(INVALID_VALUE);
    *at = 2;
    state.recorded++;
    state.last_stream = stream;
    return OK;
}

CALL(cuEventQuery, (void *event))
{
    int result = begin("cuEventQuery"), *at = event_at(event);
    if (result != OK)
        return result;
    if (!at || *at != 2)
        return mistake(INVALID_VALUE);
    return state.not_ready-- > 0 ? NOT_READY : OK;
}

CALL(cuEventSynchronize, (void *event))
{
    int result = begin("cuEventSynchronize"), *at = event_at(event);
    if (result != OK)
        return result;
    return at && *at == 2 ? OK : mistake(INVALID_VALUE);
}

CALL(cuStreamSynchronize, (void *stream))
{
    state.stream_waits++;
    state.last_stream = stream;
    return begin("cuStreamSynchronize");
}
