/*
 * fake_driver.c - see fake_cupti.h. Compiled as a libcuda.so.1 that starts the injection, and, with
 * FAKE_STUB, as the toolkit's stub, which answers everything with one number.
 */
#include "fake_driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cupti.h"

#ifdef FAKE_STUB
#define STUB() return ABI_CUDA_STUB
#else
#define STUB() ((void)0)
#endif

#define TOTAL ((size_t)8 << 30)

static void *current; /* context; one thread */
static size_t used;
static uint64_t next_address = 0x100000;
static struct {
    uint64_t address;
    size_t bytes;
} blocks[64];
static uint32_t correlation;
static int started;

static void *symbol(const char *variable, const char *name, int mode)
{
    const char *path = getenv(variable);
    void *library = path ? dlopen(path, RTLD_LAZY | mode) : NULL;
    return library ? dlsym(library, name) : NULL;
}

static void callback(int domain, int place, uint32_t cbid, const void *params, int result)
{
    fake_call_fn call;
    void *address = symbol("TIDEMARK_CUPTI", "fake_cupti_call", RTLD_NOLOAD);
    memcpy(&call, &address, sizeof call);
    if (call)
        call(domain, place, cbid, params, current, result, correlation);
}

static void memory_record(uint32_t operation, uint64_t address, size_t bytes)
{
    fake_memory_fn tell;
    void *symbol_of = symbol("TIDEMARK_CUPTI", "fake_cupti_memory", RTLD_NOLOAD);
    memcpy(&tell, &symbol_of, sizeof tell);
    if (tell)
        tell(operation, ABI_MEMORY_DEVICE, address, bytes, correlation);
}

int cuInit(unsigned flags)
{
    int (*inject)(void);
    void *address;
    (void)flags;
    STUB();
    started = getenv("FAKE_NO_DEVICE") == NULL;
    address = symbol("CUDA_INJECTION64_PATH", "InitializeInjection", 0);
    memcpy(&inject, &address, sizeof inject);
    if (inject)
        inject();
    return started ? 0 : 100;
}

int cuDriverGetVersion(int *version)
{
    STUB();
    *version = 13000;
    return 0;
}

int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    (void)flags;
    STUB();
    current = (void *)(uintptr_t)(0x10 + (unsigned)device);
    *context = current;
    used += (size_t)300 << 20; /* what a context costs */
    callback(ABI_RESOURCE, 0, ABI_CONTEXT_CREATED, NULL, 0);
    return 0;
}

int cuCtxDestroy_v2(void *context)
{
    const void *params[] = {context};
    STUB();
    correlation++;
    callback(ABI_DRIVER, ABI_ENTER, 322, params, 0);
    callback(ABI_RESOURCE, 0, ABI_CONTEXT_DESTROY_STARTING, NULL, 0);
    callback(ABI_DRIVER, ABI_EXIT, 322, params, 0);
    current = NULL;
    return 0;
}

int cuCtxGetCurrent(void **context)
{
    STUB();
    *context = current;
    return started ? 0 : 3;
}

int cuCtxGetDevice(int *device)
{
    STUB();
    *device = (int)((uintptr_t)current & 0xf);
    return current ? 0 : 201;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    STUB();
    *free_bytes = TOTAL - used;
    *total = TOTAL;
    return current ? 0 : 201;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    const struct {
        uint64_t *address;
        size_t bytes;
    } params = {address, bytes};
    int result = 2;
    STUB();
    uint32_t mine = ++correlation;
    callback(ABI_DRIVER, ABI_ENTER, 243, &params, 0);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks && bytes <= TOTAL - used; i++) {
        if (blocks[i].address)
            continue;
        *address = blocks[i].address = next_address;
        blocks[i].bytes = bytes;
        next_address += (bytes + 511) / 512 * 512;
        used += bytes;
        result = 0;
        break;
    }
    correlation = mine;
    if (result == 0)
        memory_record(ABI_MEMORY_ALLOCATION, *address, bytes);
    callback(ABI_DRIVER, ABI_EXIT, 243, &params, result);
    return result;
}

int cuMemFree_v2(uint64_t address)
{
    int result = 1;
    STUB();
    ++correlation;
    callback(ABI_DRIVER, ABI_ENTER, 245, &address, 0);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        if (!address || blocks[i].address != address)
            continue;
        used -= blocks[i].bytes;
        blocks[i].address = 0;
        memory_record(ABI_MEMORY_RELEASE, address, blocks[i].bytes);
        result = 0;
    }
    callback(ABI_DRIVER, ABI_EXIT, 245, &address, result);
    return result;
}

/* ---- physical memory; 16 handles, each mapped whole and once ---- */

static struct {
    size_t bytes;
    uint64_t address;
    int refs;
} handles[16];

static void let_go(size_t i)
{
    if (handles[i].refs || handles[i].address)
        return;
    used -= handles[i].bytes;
    handles[i].bytes = 0;
}

int cuMemCreate(uint64_t *handle, size_t bytes, const void *properties, unsigned long long flags)
{
    const struct {
        uint64_t *handle;
        size_t bytes;
        const void *properties;
        unsigned long long flags;
    } params = {handle, bytes, properties, flags};
    int result = 2;
    STUB();
    ++correlation;
    callback(ABI_DRIVER, ABI_ENTER, 549, &params, 0);
    for (size_t i = 0; i < sizeof handles / sizeof *handles && result; i++) {
        if (handles[i].bytes || bytes > TOTAL - used)
            continue;
        handles[i].bytes = bytes;
        handles[i].refs = 1;
        used += bytes;
        *handle = i + 1;
        result = 0;
    }
    callback(ABI_DRIVER, ABI_EXIT, 549, &params, result);
    return result;
}

int cuMemRelease(uint64_t handle)
{
    STUB();
    ++correlation;
    callback(ABI_DRIVER, ABI_ENTER, 550, &handle, 0);
    handles[handle - 1].refs--;
    let_go(handle - 1);
    callback(ABI_DRIVER, ABI_EXIT, 550, &handle, 0);
    return 0;
}

int cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle,
             unsigned long long flags)
{
    const struct {
        uint64_t address;
        size_t bytes, offset;
        uint64_t handle;
        unsigned long long flags;
    } params = {address, bytes, offset, handle, flags};
    STUB();
    ++correlation;
    callback(ABI_DRIVER, ABI_ENTER, 551, &params, 0);
    handles[handle - 1].address = address;
    callback(ABI_DRIVER, ABI_EXIT, 551, &params, 0);
    return 0;
}

int cuMemUnmap(uint64_t address, size_t bytes)
{
    const struct {
        uint64_t address;
        size_t bytes;
    } params = {address, bytes};
    STUB();
    ++correlation;
    callback(ABI_DRIVER, ABI_ENTER, 552, &params, 0);
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
        if (handles[i].address < address || handles[i].address >= address + bytes)
            continue;
        handles[i].address = 0;
        let_go(i);
    }
    callback(ABI_DRIVER, ABI_EXIT, 552, &params, 0);
    return 0;
}

/* What lies in no block and is mapped nowhere is no pointer of CUDA's. */
int cuPointerGetAttribute(void *data, int attribute, uint64_t pointer)
{
    uint64_t *start = data;
    int *mapped = data, *kind = data;
    STUB();
    if (attribute == ABI_POINTER_MAPPED) {
        *mapped = 0;
        for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
            *mapped |= pointer && handles[i].address == pointer;
        return 0;
    }
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        if (!blocks[i].address || pointer - blocks[i].address >= blocks[i].bytes)
            continue;
        if (attribute == ABI_POINTER_KIND)
            *kind = 2; /* of a device */
        else
            *start = blocks[i].address;
        return 0;
    }
    return ABI_CUDA_INVALID;
}

int cuDeviceGetDefaultMemPool(uint64_t *pool, int device)
{
    STUB();
    *pool = 0x9000 + (uint64_t)device;
    return 0;
}

int cuMemPoolGetAttribute(uint64_t pool, int attribute, uint64_t *value)
{
    STUB();
    *value = pool >= 0x9000 && attribute == ABI_POOL_RESERVED ? (uint64_t)32 << 20 : 1000;
    return 0;
}

int cuDeviceGetGraphMemAttribute(int device, int attribute, uint64_t *value)
{
    (void)device;
    (void)attribute;
    STUB();
    *value = 0;
    return 0;
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    STUB();
    *mode = 0;
    return 0;
}

void fake_driver_fatal(void)
{
    callback(ABI_STATE, 0, ABI_FATAL_ERROR, NULL, 0);
}
