/*
 * What profiler/cupti/cupti_abi.h and the table of calls say of CUPTI, beside the toolkit's own
 * headers and its own library, which tells the names of calls without a driver.
 */
#include "cupti_newest.h"

#include <assert.h>
#include <dlfcn.h>
#include <string.h>

#include "cupti_abi.h"
#include "cupti_calls.h"
#include "test.h"

#define SAME(ours, member, theirs, name)                                                           \
    static_assert(offsetof(struct ours, member) == offsetof(theirs, name) &&                       \
                      sizeof(((struct ours *)0)->member) == sizeof(((theirs *)0)->name),           \
                  #theirs "." #name)
#define NUMBER(ours, theirs) static_assert((int)(ours) == (int)(theirs), #theirs)

SAME(abi_callback, place, CUpti_CallbackData, callbackSite);
SAME(abi_callback, params, CUpti_CallbackData, functionParams);
SAME(abi_callback, result, CUpti_CallbackData, functionReturnValue);
SAME(abi_callback, context, CUpti_CallbackData, context);
SAME(abi_callback, own, CUpti_CallbackData, correlationData);
SAME(abi_callback, correlation, CUpti_CallbackData, correlationId);
SAME(abi_resource_data, context, CUpti_ResourceData, context);
SAME(abi_resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME(abi_memory_prop, location, CUmemAllocationProp, location.type);
SAME(abi_memory_prop, location_id, CUmemAllocationProp, location.id);
SAME(abi_memory_prop, location, CUmemPoolProps, location.type);
SAME(abi_memory_prop, location_id, CUmemPoolProps, location.id);
SAME(abi_array, format, CUDA_ARRAY_DESCRIPTOR, Format);
SAME(abi_array, channels, CUDA_ARRAY_DESCRIPTOR, NumChannels);
SAME(abi_array3d, depth, CUDA_ARRAY3D_DESCRIPTOR, Depth);
SAME(abi_array3d, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
SAME(abi_array3d, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);
SAME(abi_alloc_node, bytes, CUDA_MEM_ALLOC_NODE_PARAMS, bytesize);
SAME(abi_alloc_node, address, CUDA_MEM_ALLOC_NODE_PARAMS, dptr);
SAME(abi_external, bytes, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size);
SAME(abi_external_buffer, bytes, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size);
SAME(abi_kernel, begin, newest_kernel, start);
SAME(abi_kernel, end, newest_kernel, end);
SAME(abi_kernel, device, newest_kernel, deviceId);
SAME(abi_kernel, stream, newest_kernel, streamId);
SAME(abi_kernel, name, newest_kernel, name);
SAME(abi_kernel, begin, CUpti_ActivityKernel5, start);
SAME(abi_kernel, name, CUpti_ActivityKernel5, name);
SAME(abi_memcpy, copy_kind, newest_memcpy, copyKind);
SAME(abi_memcpy, bytes, newest_memcpy, bytes);
SAME(abi_memcpy, begin, newest_memcpy, start);
SAME(abi_memcpy, device, newest_memcpy, deviceId);
SAME(abi_memcpy, stream, newest_memcpy, streamId);
SAME(abi_memcpy, begin, CUpti_ActivityMemcpyPtoP4, start);
SAME(abi_memcpy, device, CUpti_ActivityMemcpyPtoP4, deviceId);
SAME(abi_memcpy, stream, CUpti_ActivityMemcpyPtoP4, streamId);
SAME(abi_memset, bytes, newest_memset, bytes);
SAME(abi_memset, begin, newest_memset, start);
SAME(abi_memset, stream, newest_memset, streamId);
SAME(abi_graph_trace, begin, newest_graph_trace, start);
SAME(abi_graph_trace, device, newest_graph_trace, deviceId);
SAME(abi_graph_trace, stream, newest_graph_trace, streamId);
SAME(abi_memory, operation, newest_memory, memoryOperationType);
SAME(abi_memory, memory_kind, newest_memory, memoryKind);
SAME(abi_memory, correlation, newest_memory, correlationId);
SAME(abi_memory, address, newest_memory, address);
SAME(abi_memory, bytes, newest_memory, bytes);
SAME(abi_memory, time, newest_memory, timestamp);
SAME(abi_memory, device, newest_memory, deviceId);
SAME(abi_memory, stream, newest_memory, streamId);
SAME(abi_memory, is_async, newest_memory, isAsync);
#if CUPTI_API_VERSION >= 130000
SAME(abi_subscriber_params, bytes, CUpti_SubscriberParams, structSize);
SAME(abi_subscriber_params, name, CUpti_SubscriberParams, subscriberName);
SAME(abi_subscriber_params, old_name, CUpti_SubscriberParams, oldSubscriberName);
SAME(abi_subscriber_params, old_bytes, CUpti_SubscriberParams, oldSubscriberSize);
/* What a later version adds lies behind; CUPTI goes by the size that is given. */
static_assert(sizeof(struct abi_subscriber_params) <= CUpti_SubscriberParams_STRUCT_SIZE, "size");
static_assert(sizeof(struct abi_subscriber_params) ==
                  offsetof(CUpti_SubscriberParams, oldSubscriberSize) + sizeof(size_t),
              "size");
NUMBER(ABI_OLD_NAME_BYTES, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN);
#endif

NUMBER(ABI_LIMIT, CUPTI_ERROR_MAX_LIMIT_REACHED);
NUMBER(ABI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
NUMBER(ABI_INVALID_KIND, CUPTI_ERROR_INVALID_KIND);
NUMBER(ABI_HELD, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
NUMBER(ABI_CUDA_STUB, CUDA_ERROR_STUB_LIBRARY);
NUMBER(ABI_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
NUMBER(ABI_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
NUMBER(ABI_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
NUMBER(ABI_ENTER, CUPTI_API_ENTER);
NUMBER(ABI_EXIT, CUPTI_API_EXIT);
NUMBER(ABI_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
NUMBER(ABI_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
#if CUPTI_API_VERSION >= 20 /* 12.2; before, nobody says that an error was fatal */
NUMBER(ABI_STATE, CUPTI_CB_DOMAIN_STATE);
NUMBER(ABI_FATAL_ERROR, CUPTI_CBID_STATE_FATAL_ERROR);
#endif
NUMBER(ABI_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
NUMBER(ABI_ARRAY_LAYERED, CUDA_ARRAY3D_LAYERED);
NUMBER(ABI_ARRAY_SPARSE, CUDA_ARRAY3D_SPARSE);
NUMBER(ABI_ARRAY_DEFERRED, CUDA_ARRAY3D_DEFERRED_MAPPING);
NUMBER(ABI_POOL_RESERVED, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
NUMBER(ABI_POOL_USED, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
NUMBER(ABI_GRAPH_USED, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT);
NUMBER(ABI_GRAPH_RESERVED, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
NUMBER(ABI_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
NUMBER(ABI_POINTER_KIND, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
NUMBER(ABI_POINTER_START, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
NUMBER(ABI_POINTER_MAPPED, CU_POINTER_ATTRIBUTE_MAPPED);
NUMBER(ABI_CUDA_INVALID, CUDA_ERROR_INVALID_VALUE);
NUMBER(ABI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
NUMBER(ABI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
NUMBER(ABI_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
NUMBER(ABI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
NUMBER(ABI_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
NUMBER(ABI_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY2);
NUMBER(ABI_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
NUMBER(ABI_ATTR_ZEROED_BUFFERS, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
NUMBER(ABI_ATTR_HOST_PINNED, CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED);
NUMBER(ABI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
NUMBER(ABI_MEMORY_ALLOCATION, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
NUMBER(ABI_MEMORY_RELEASE, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
NUMBER(ABI_MEMORY_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
NUMBER(ABI_MEMORY_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
NUMBER(ABI_MEMORY_ARRAY, CUPTI_ACTIVITY_MEMORY_KIND_ARRAY);
NUMBER(ABI_MEMORY_MANAGED, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED);

/* ---- the names of calls, by the library ---- */

typedef CUptiResult (*name_fn)(CUpti_CallbackDomain domain, uint32_t cbid, const char **name);

static name_fn names(void)
{
    void *library = dlopen(TEST_CUPTI, RTLD_NOW | RTLD_LOCAL);
    name_fn function;
    if (!library)
        SKIP("the toolkit's libcupti cannot be opened");
    if (!cupti_has_its_driver())
        SKIP("this libcupti tells names only where there is a libcuda.so.1");
    void *address = dlsym(library, "cuptiGetCallbackName");
    REQUIRE(address != NULL);
    memcpy(&function, &address, sizeof function);
    return function;
}

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* Calls that ended keep their number, but not their name: cuda271. */
static bool is_nameless(const char *name)
{
    return begins_with(name, "cuda") && strspn(name + 4, "0123456789") == strlen(name + 4);
}

TEST(numbers_are_those_of_the_names)
{
    name_fn name_of = names();
    for (size_t i = 0; i < calls_count; i++) {
        const char *name = "";
        bool came_later = calls[i].cbid >= CUPTI_DRIVER_TRACE_CBID_SIZE;
        if (!came_later)
            CHECK_INT(name_of(CUPTI_CB_DOMAIN_DRIVER_API, calls[i].cbid, &name), 0);
        if (!came_later && !begins_with(name, calls[i].name) && !is_nameless(name))
            CHECK_STR(name, calls[i].name);
        CHECK(call_find(calls[i].cbid) == &calls[i]);
        CHECK(i == 0 || calls[i - 1].cbid < calls[i].cbid);
    }
    for (size_t i = 0; i < runtime_calls_count; i++) {
        const char *name = "";
        CHECK_STR(runtime_call_name(runtime_calls[i].cbid), runtime_calls[i].name);
        if (runtime_calls[i].cbid >= CUPTI_RUNTIME_TRACE_CBID_SIZE)
            continue; /* came later */
        CHECK_INT(name_of(CUPTI_CB_DOMAIN_RUNTIME_API, runtime_calls[i].cbid, &name), 0);
        if (!begins_with(name, runtime_calls[i].name))
            CHECK_STR(name, runtime_calls[i].name);
    }
    CHECK(call_find(30) == NULL && call_find(100000) == NULL && runtime_call_name(1) == NULL);
}

/* Whatever a later toolkit adds to these families has to be looked at. */
TEST(no_call_that_gives_or_takes_memory_is_missing)
{
    static const char *const families[] = {
        "cuMemAlloc",
        "cuMemFree",
        "cuMemHostAlloc",
        "cuMemHostRegister",
        "cuMemHostUnreg",
        "cuMemCreate",
        "cuMemRelease",
        "cuMemMap",
        "cuMemUnmap",
        "cuMemRetain",
        "cuMemImport",
        "cuMemPoolCreate",
        "cuMemPoolDest",
        "cuMemPoolImport",
        "cuIpcOpenMem",
        "cuIpcCloseMem",
        "cuImportExternalMemory",
        "cuDestroyExternalMemory",
        "cuMipmappedArrayCreate",
        "cuMipmappedArrayDestroy",
        "cuArrayDestroy",
        "cuGraphAddMemAlloc",
        "cuGraphAddMemFree",
        "cuGraphInstantiate",
        "cuGraphDestroy",
        "cuMulticastCreate",
        "cuCtxCreate",
        "cuCtxDestroy",
        "cuCtxDetach",
        "cuGreenCtxCreate",
        "cuGreenCtxDestroy",
        "cuDevicePrimaryCtxRe",
    };
    name_fn name_of = names();
    for (uint32_t cbid = 1; cbid < CUPTI_DRIVER_TRACE_CBID_SIZE; cbid++) {
        const char *name = "";
        if (name_of(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name) != CUPTI_SUCCESS)
            continue;
        for (size_t i = 0; i < sizeof families / sizeof *families; i++)
            if (begins_with(name, families[i]) && !call_find(cbid))
                CHECK_STR(name, "a call of the table");
    }
}

TEST_MAIN(TEST_CASE(numbers_are_those_of_the_names),
          TEST_CASE(no_call_that_gives_or_takes_memory_is_missing))
