/*
 * What profiler/cupti_abi.h and the table of calls say of CUPTI, beside the toolkit's own headers
 * and its own library, which tells the names of calls without a driver.
 */
#include <cuda.h>
#include <cupti.h>

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
SAME(abi_array, format, CUDA_ARRAY_DESCRIPTOR, Format);
SAME(abi_array, channels, CUDA_ARRAY_DESCRIPTOR, NumChannels);
SAME(abi_array3d, depth, CUDA_ARRAY3D_DESCRIPTOR, Depth);
SAME(abi_array3d, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
SAME(abi_array3d, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);
SAME(abi_alloc_node, bytes, CUDA_MEM_ALLOC_NODE_PARAMS, bytesize);
SAME(abi_alloc_node, address, CUDA_MEM_ALLOC_NODE_PARAMS, dptr);
SAME(abi_external, bytes, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size);
SAME(abi_external_buffer, bytes, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size);
SAME(abi_kernel, begin, CUpti_ActivityKernel10, start);
SAME(abi_kernel, end, CUpti_ActivityKernel10, end);
SAME(abi_kernel, device, CUpti_ActivityKernel10, deviceId);
SAME(abi_kernel, stream, CUpti_ActivityKernel10, streamId);
SAME(abi_kernel, name, CUpti_ActivityKernel10, name);
SAME(abi_kernel, begin, CUpti_ActivityKernel5, start);
SAME(abi_kernel, name, CUpti_ActivityKernel5, name);
SAME(abi_memcpy, copy_kind, CUpti_ActivityMemcpy6, copyKind);
SAME(abi_memcpy, bytes, CUpti_ActivityMemcpy6, bytes);
SAME(abi_memcpy, begin, CUpti_ActivityMemcpy6, start);
SAME(abi_memcpy, device, CUpti_ActivityMemcpy6, deviceId);
SAME(abi_memcpy, stream, CUpti_ActivityMemcpy6, streamId);
SAME(abi_memcpy, begin, CUpti_ActivityMemcpyPtoP4, start);
SAME(abi_memcpy, device, CUpti_ActivityMemcpyPtoP4, deviceId);
SAME(abi_memcpy, stream, CUpti_ActivityMemcpyPtoP4, streamId);
SAME(abi_memset, bytes, CUpti_ActivityMemset4, bytes);
SAME(abi_memset, begin, CUpti_ActivityMemset4, start);
SAME(abi_memset, stream, CUpti_ActivityMemset4, streamId);
SAME(abi_graph_trace, begin, CUpti_ActivityGraphTrace2, start);
SAME(abi_graph_trace, device, CUpti_ActivityGraphTrace2, deviceId);
SAME(abi_graph_trace, stream, CUpti_ActivityGraphTrace2, streamId);
SAME(abi_memory, operation, CUpti_ActivityMemory4, memoryOperationType);
SAME(abi_memory, memory_kind, CUpti_ActivityMemory4, memoryKind);
SAME(abi_memory, correlation, CUpti_ActivityMemory4, correlationId);
SAME(abi_memory, address, CUpti_ActivityMemory4, address);
SAME(abi_memory, bytes, CUpti_ActivityMemory4, bytes);
SAME(abi_memory, time, CUpti_ActivityMemory4, timestamp);
SAME(abi_memory, device, CUpti_ActivityMemory4, deviceId);
SAME(abi_memory, stream, CUpti_ActivityMemory4, streamId);
SAME(abi_memory, is_async, CUpti_ActivityMemory4, isAsync);
#if CUPTI_API_VERSION >= 130000
SAME(abi_subscriber_params, bytes, CUpti_SubscriberParams, structSize);
SAME(abi_subscriber_params, name, CUpti_SubscriberParams, subscriberName);
SAME(abi_subscriber_params, old_name, CUpti_SubscriberParams, oldSubscriberName);
SAME(abi_subscriber_params, old_bytes, CUpti_SubscriberParams, oldSubscriberSize);
static_assert(sizeof(struct abi_subscriber_params) == CUpti_SubscriberParams_STRUCT_SIZE, "");
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
NUMBER(ABI_STATE, CUPTI_CB_DOMAIN_STATE);
NUMBER(ABI_ENTER, CUPTI_API_ENTER);
NUMBER(ABI_EXIT, CUPTI_API_EXIT);
NUMBER(ABI_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
NUMBER(ABI_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
NUMBER(ABI_FATAL_ERROR, CUPTI_CBID_STATE_FATAL_ERROR);
NUMBER(ABI_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
NUMBER(ABI_ARRAY_LAYERED, CUDA_ARRAY3D_LAYERED);
NUMBER(ABI_ARRAY_SPARSE, CUDA_ARRAY3D_SPARSE);
NUMBER(ABI_ARRAY_DEFERRED, CUDA_ARRAY3D_DEFERRED_MAPPING);
NUMBER(ABI_POOL_RESERVED, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
NUMBER(ABI_POOL_USED, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
NUMBER(ABI_GRAPH_USED, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT);
NUMBER(ABI_GRAPH_RESERVED, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
NUMBER(ABI_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
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
    void *address = dlsym(library, "cuptiGetCallbackName");
    REQUIRE(address != NULL);
    memcpy(&function, &address, sizeof function);
    return function;
}

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

TEST(numbers_are_those_of_the_names)
{
    name_fn name_of = names();
    for (size_t i = 0; i < calls_count; i++) {
        const char *name = "";
        CHECK_INT(name_of(CUPTI_CB_DOMAIN_DRIVER_API, calls[i].cbid, &name), 0);
        if (!begins_with(name, calls[i].name))
            CHECK_STR(name, calls[i].name);
        CHECK(call_find(calls[i].cbid) == &calls[i]);
        CHECK(i == 0 || calls[i - 1].cbid < calls[i].cbid);
    }
    for (size_t i = 0; i < runtime_calls_count; i++) {
        const char *name = "";
        CHECK_INT(name_of(CUPTI_CB_DOMAIN_RUNTIME_API, runtime_calls[i].cbid, &name), 0);
        if (!begins_with(name, runtime_calls[i].name))
            CHECK_STR(name, runtime_calls[i].name);
        CHECK_STR(runtime_call_name(runtime_calls[i].cbid), runtime_calls[i].name);
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
        "cuMulticastCreate",
        "cuCtxCreate",
        "cuCtxDestroy",
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
