/*
 * cupti_abi.h - what we read and pass of CUPTI's and CUDA's interface, declared by hand.
 *
 * The product is built without a toolkit. Every struct here is the beginning of one of theirs:
 * these only ever grow at their end. Numbers never change their meaning between versions, new ones
 * are larger. tests/cupti/test_cupti_abi.c compares all of this with the toolkit's own headers.
 */
#ifndef TIDEMARK_PROFILER_CUPTI_ABI_H
#define TIDEMARK_PROFILER_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ---- results ---- */

enum abi_result {
    ABI_OK = 0,
    ABI_LIMIT = 12,           /* the end of a buffer */
    ABI_NOT_INITIALIZED = 15, /* as when the driver is older than the library */
    ABI_INVALID_KIND = 21,
    ABI_HELD = 39,        /* another tool has subscribed */
    ABI_CUDA_STUB = 34,   /* CUDA's: the library is the toolkit's stub */
    ABI_CUDA_INVALID = 1, /* CUDA's: of a pointer, it is none of CUDA's */
    /* CUDA's: what ends a capture without a graph, up to the one that does not end it. */
    ABI_CAPTURE_FIRST_ERROR = 900,
    ABI_CAPTURE_WRONG_THREAD = 910,
};

/* ---- callbacks ---- */

enum abi_domain { ABI_DRIVER = 1, ABI_RUNTIME = 2, ABI_RESOURCE = 3, ABI_STATE = 6 };
enum abi_place { ABI_ENTER = 0, ABI_EXIT = 1 };
enum abi_resource { ABI_CONTEXT_CREATED = 1, ABI_CONTEXT_DESTROY_STARTING = 2 };
enum abi_state { ABI_FATAL_ERROR = 1 };

/* CUpti_CallbackData */
struct abi_callback {
    uint32_t place; /* enum abi_place */
    const char *function;
    const void *params;
    const int *result; /* at ABI_EXIT */
    const char *symbol;
    const void *context; /* current in the thread, or NULL */
    uint32_t context_uid;
    uint64_t *own;
    uint32_t correlation; /* the same at enter and exit of one call */
};

/* CUpti_ResourceData */
struct abi_resource_data {
    const void *context;
    void *handle;
    void *descriptor;
};

typedef struct abi_subscriber *abi_subscriber;
typedef void (*abi_callback_fn)(void *own, int domain, uint32_t cbid, const void *data);

/* CUpti_SubscriberParams, of 13.0 */
struct abi_subscriber_params {
    size_t bytes;
    const char *name;
    char *old_name; /* gets the name of the tool that holds CUPTI */
    size_t old_bytes;
};
#define ABI_OLD_NAME_BYTES 64

/* ---- parameters of calls that are more than plain numbers ---- */

/* CUmemAllocationProp, and CUmemPoolProps */
struct abi_memory_prop {
    uint32_t type;
    uint32_t handle_types;
    uint32_t location; /* ABI_LOCATION_DEVICE, or one of the host's */
    int32_t location_id;
};
enum { ABI_LOCATION_DEVICE = 1 };

/* CUDA_ARRAY_DESCRIPTOR */
struct abi_array {
    size_t width, height;
    uint32_t format, channels;
};

/* CUDA_ARRAY3D_DESCRIPTOR */
struct abi_array3d {
    size_t width, height, depth;
    uint32_t format, channels, flags;
};
enum { ABI_ARRAY_LAYERED = 0x01, ABI_ARRAY_SPARSE = 0x40, ABI_ARRAY_DEFERRED = 0x80 };

/* CUDA_MEM_ALLOC_NODE_PARAMS */
struct abi_alloc_node {
    char properties[104];
    size_t bytes;
    uint64_t address; /* an output */
};

/* CUDA_EXTERNAL_MEMORY_HANDLE_DESC */
struct abi_external {
    uint32_t type;
    uint64_t handle[2];
    uint64_t bytes;
};

/* CUDA_EXTERNAL_MEMORY_BUFFER_DESC */
struct abi_external_buffer {
    uint64_t offset;
    uint64_t bytes;
};

/* ---- the driver's own numbers ---- */

enum { ABI_POOL_RESERVED = 5, ABI_POOL_USED = 7 };   /* CUmemPool_attribute */
enum { ABI_GRAPH_USED = 0, ABI_GRAPH_RESERVED = 2 }; /* CUgraphMem_attribute */
enum { ABI_CAPTURE_RELAXED = 2 };                    /* CUstreamCaptureMode */
/* CUpointer_attribute */
enum { ABI_POINTER_KIND = 2, ABI_POINTER_START = 11, ABI_POINTER_MAPPED = 13 };

/* ---- activity ---- */

enum abi_activity {
    ABI_MEMCPY = 1,
    ABI_MEMSET = 2,
    ABI_KERNEL = 3,
    ABI_CONCURRENT_KERNEL = 10,
    ABI_MEMCPY_PEER = 22,
    ABI_MEMORY2 = 49,
    ABI_GRAPH_TRACE = 51,
};
enum abi_attribute {
    ABI_ATTR_ZEROED_BUFFERS = 5, /* u8: ours are zeroed already */
    ABI_ATTR_HOST_PINNED = 8,    /* u8: its device buffers lie in the host's memory */
};
enum { ABI_FLUSH_FORCED = 1 };

typedef void (*abi_request_fn)(uint8_t **buffer, size_t *bytes, size_t *max_records);
typedef void (*abi_complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                                size_t valid);

struct abi_record {
    uint32_t kind; /* enum abi_activity */
};

/* CUpti_ActivityKernel5 and later */
struct abi_kernel {
    uint32_t kind;
    uint8_t unused[12];
    uint64_t begin, end, completed;
    uint32_t device, context, stream;
    uint8_t unused2[52];
    const char *name;
};

/* CUpti_ActivityMemcpy, MemcpyPtoP */
struct abi_memcpy {
    uint32_t kind;
    uint8_t copy_kind, source, destination, flags;
    uint64_t bytes, begin, end;
    uint32_t device, context, stream;
};

/* CUpti_ActivityMemset */
struct abi_memset {
    uint32_t kind;
    uint32_t value;
    uint64_t bytes, begin, end;
    uint32_t device, context, stream;
};

/* CUpti_ActivityGraphTrace */
struct abi_graph_trace {
    uint32_t kind;
    uint32_t correlation;
    uint64_t begin, end;
    uint32_t device, graph, context, stream;
};

/* CUpti_ActivityMemory2 and later */
struct abi_memory {
    uint32_t kind;
    uint32_t operation;   /* enum abi_memory_operation */
    uint32_t memory_kind; /* enum abi_memory_kind */
    uint32_t correlation;
    uint64_t address, bytes, time, pc;
    uint32_t process, device, context, stream;
    const char *name;
    uint32_t is_async;
};
enum abi_memory_operation { ABI_MEMORY_ALLOCATION = 1, ABI_MEMORY_RELEASE = 2 };
enum abi_memory_kind {
    ABI_MEMORY_PINNED = 2,
    ABI_MEMORY_DEVICE = 3,
    ABI_MEMORY_ARRAY = 4,
    ABI_MEMORY_MANAGED = 5,
};

#endif
