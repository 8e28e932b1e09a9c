/*
 * Every call of the table with the toolkit's own struct of its parameters: what it gives with
 * success and with failure, what takes it back, from one thread and from many.
 */
#include <cuda.h>
#include <cupti.h>

#include <assert.h>
#include <pthread.h>

#include "cupti_support.h"

/* A call that has been made, as its exit finds it: outputs are in place. */
struct made {
    uint32_t cbid;
    size_t bytes;
    char params[256];
};

#define MADE(name, ...)                                                                            \
    made_of(CUPTI_DRIVER_TRACE_CBID_##name, &(const name##_params){__VA_ARGS__},                   \
            sizeof(name##_params))

static struct made made_of(uint32_t cbid, const void *params, size_t bytes)
{
    struct made made = {.cbid = cbid, .bytes = bytes};
    REQUIRE(bytes <= sizeof made.params);
    memcpy(made.params, params, bytes);
    return made;
}

/* What the outputs of a round of calls point at. */
struct outputs {
    CUdeviceptr address;
    CUdeviceptr_v1 narrow;
    size_t pitch;
    unsigned narrow_pitch;
    void *host;
    CUmemGenericAllocationHandle handle;
    CUarray array;
    CUmipmappedArray mipmap;
    CUmemoryPool pool;
    CUexternalMemory external;
    CUDA_MEM_ALLOC_NODE_PARAMS node;
    CUDA_ARRAY_DESCRIPTOR flat;
    CUDA_ARRAY3D_DESCRIPTOR solid;
    CUmemAllocationProp prop;
    CUmemPoolProps pool_props;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC import;
};

/* Different for each thread, so that nothing is anybody else's. */
static void set_outputs(struct outputs *out, uint64_t base)
{
    memset(out, 0, sizeof *out);
    out->address = base;
    out->narrow = (CUdeviceptr_v1)base;
    out->pitch = 512;
    out->narrow_pitch = 256;
    out->host = (void *)(uintptr_t)(base + 1);
    out->handle = base + 2;
    out->array = (CUarray)(uintptr_t)(base + 3);
    out->mipmap = (CUmipmappedArray)(uintptr_t)(base + 4);
    out->pool = (CUmemoryPool)(uintptr_t)(base + 5);
    out->external = (CUexternalMemory)(uintptr_t)(base + 6);
    out->node.bytesize = 4096;
    out->node.dptr = base + 7;
    out->flat = (CUDA_ARRAY_DESCRIPTOR){
        .Width = 64, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2};
    out->solid = (CUDA_ARRAY3D_DESCRIPTOR){
        .Width = 8, .Height = 4, .Depth = 2, .Format = CU_AD_FORMAT_HALF, .NumChannels = 1};
    out->prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    out->prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    out->prop.location.id = 1;
    out->import.size = 1 << 16;
    out->pool_props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    out->pool_props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    out->pool_props.location.id = 3;
}

/* A pair of calls, and what is to be told of them. */
struct pair {
    struct made gives, takes;
    uint64_t address, bytes;
    int memory;     /* enum driver_memory */
    int32_t device; /* -2: the host's memory */
    uint64_t stream;
};

#define PAIRS 40

static size_t list_pairs(struct pair pairs[PAIRS], struct outputs *o)
{
    CUstream stream = (CUstream)(uintptr_t)0x51;
    const uint64_t host = (uint64_t)(uintptr_t)o->host, array = (uint64_t)(uintptr_t)o->array;
    const struct made frees = MADE(cuMemFree_v2, .dptr = o->address);
    const struct made frees_host = MADE(cuMemFreeHost, .p = o->host);
    const struct made frees_narrow = MADE(cuMemFree, .dptr = o->narrow);
    const struct made frees_array = MADE(cuArrayDestroy, .hArray = o->array);
    const struct made frees_async = MADE(cuMemFreeAsync, .dptr = o->address, .hStream = stream);
    const struct made frees_async2 =
        MADE(cuMemFreeAsync_ptsz, .dptr = o->address, .hStream = stream);
    const struct made closes = MADE(cuIpcCloseMemHandle, .dptr = o->address);
    const struct made unregisters = MADE(cuMemHostUnregister, .p = o->host);
    const struct made releases = MADE(cuMemRelease, .handle = o->handle);
    const struct pair all[] = {
        {MADE(cuMemAlloc_v2, .dptr = &o->address, .bytesize = 1000), frees, o->address, 1000,
         DRIVER_DEVICE, 0, 0},
        {MADE(cuMemAlloc, .dptr = &o->narrow, .bytesize = 77), frees_narrow, o->narrow, 77,
         DRIVER_DEVICE, 0, 0},
        {MADE(cuMemAllocPitch_v2, .dptr = &o->address, .pPitch = &o->pitch, .WidthInBytes = 500,
              .Height = 10, .ElementSizeBytes = 4),
         frees, o->address, 5120, DRIVER_DEVICE, 0, 0},
        {MADE(cuMemAllocPitch, .dptr = &o->narrow, .pPitch = &o->narrow_pitch, .WidthInBytes = 250,
              .Height = 10, .ElementSizeBytes = 4),
         frees_narrow, o->narrow, 2560, DRIVER_DEVICE, 0, 0},
        {MADE(cuMemAllocManaged, .dptr = &o->address, .bytesize = 1ull << 40, .flags = 1), frees,
         o->address, 1ull << 40, DRIVER_MANAGED, 0, 0},
        {MADE(cuMemAllocAsync, .dptr = &o->address, .bytesize = 10, .hStream = stream), frees_async,
         o->address, 10, DRIVER_ASYNC, 0, 0x51},
        {MADE(cuMemAllocAsync_ptsz, .dptr = &o->address, .bytesize = 11, .hStream = stream),
         frees_async2, o->address, 11, DRIVER_ASYNC, 0, 0x51},
        {MADE(cuMemAllocFromPoolAsync, .dptr = &o->address, .bytesize = 12, .pool = o->pool,
              .hStream = stream),
         frees_async, o->address, 12, DRIVER_ASYNC, 0, 0x51},
        {MADE(cuMemAllocFromPoolAsync_ptsz, .dptr = &o->address, .bytesize = 13, .pool = o->pool,
              .hStream = stream),
         frees, o->address, 13, DRIVER_ASYNC, 0, 0x51},
        {MADE(cuMemHostAlloc, .pp = &o->host, .bytesize = 20, .Flags = 4), frees_host, host, 20,
         DRIVER_HOST, -2, 0},
        {MADE(cuMemAllocHost, .pp = &o->host, .bytesize = 21), frees_host, host, 21, DRIVER_HOST,
         -2, 0},
        {MADE(cuMemAllocHost_v2, .pp = &o->host, .bytesize = 22), frees_host, host, 22, DRIVER_HOST,
         -2, 0},
        {MADE(cuMemHostRegister, .p = o->host, .bytesize = 23, .Flags = 0), unregisters, host, 23,
         DRIVER_REGISTERED, -2, 0},
        {MADE(cuMemHostRegister_v2, .p = o->host, .bytesize = 24, .Flags = 0), unregisters, host,
         24, DRIVER_REGISTERED, -2, 0},
        {MADE(cuArrayCreate_v2, .pHandle = &o->array, .pAllocateArray = &o->flat), frees_array,
         array, 64 * 16 * 8, DRIVER_ARRAY, 0, 0},
        {MADE(cuArray3DCreate_v2, .pHandle = &o->array, .pAllocateArray = &o->solid), frees_array,
         array, 8 * 4 * 2 * 2, DRIVER_ARRAY, 0, 0},
        {MADE(cuMipmappedArrayCreate, .pHandle = &o->mipmap, .pMipmappedArrayDesc = &o->solid,
              .numMipmapLevels = 3),
         MADE(cuMipmappedArrayDestroy, .hMipmappedArray = o->mipmap),
         (uint64_t)(uintptr_t)o->mipmap, 2 * (64 + 8 + 2), DRIVER_ARRAY, 0, 0},
        {MADE(cuMemCreate, .handle = &o->handle, .size = 2 << 20, .prop = &o->prop), releases,
         o->handle, 2 << 20, DRIVER_PHYSICAL, 1, 0},
        {MADE(cuMemImportFromShareableHandle, .handle = &o->handle), releases, o->handle, 0,
         DRIVER_IMPORTED, 0, 0},
#if CUDA_VERSION >= 12010
        {MADE(cuMulticastCreate, .mcHandle = &o->handle), releases, o->handle, 0, DRIVER_IMPORTED,
         0, 0},
#endif
        {MADE(cuMemPoolCreate, .pool = &o->pool, .poolProps = &o->pool_props),
         MADE(cuMemPoolDestroy, .pool = o->pool), (uint64_t)(uintptr_t)o->pool, 0, DRIVER_POOL, 3,
         0},
        {MADE(cuMemPoolImportFromShareableHandle, .pool_out = &o->pool),
         MADE(cuMemPoolDestroy, .pool = o->pool), (uint64_t)(uintptr_t)o->pool, 0, DRIVER_IMPORTED,
         0, 0},
        {MADE(cuMemPoolImportPointer, .ptr_out = &o->address), frees_async, o->address, 0,
         DRIVER_IMPORTED, 0, 0},
        {MADE(cuIpcOpenMemHandle, .pdptr = &o->address), closes, o->address, 0, DRIVER_IMPORTED, 0,
         0},
        {MADE(cuIpcOpenMemHandle_v2, .pdptr = &o->address), closes, o->address, 0, DRIVER_IMPORTED,
         0, 0},
        {MADE(cuImportExternalMemory, .extMem_out = &o->external, .memHandleDesc = &o->import),
         MADE(cuDestroyExternalMemory, .extMem = o->external), (uint64_t)(uintptr_t)o->external,
         1 << 16, DRIVER_IMPORTED, 0, 0},
        {MADE(cuGraphAddMemAllocNode, .nodeParams = &o->node),
         MADE(cuGraphAddMemFreeNode, .dptr = o->node.dptr), o->node.dptr, 4096, DRIVER_GRAPH, 0, 0},
    };
    static_assert(sizeof all / sizeof *all <= PAIRS, "room");
    memcpy(pairs, all, sizeof all);
    return sizeof all / sizeof *all;
}

static void check_given(const struct driven *driven, const struct event *event,
                        const struct pair *pair)
{
    CHECK_EVENT(*event, EVENT_DRIVER_ALLOC, pair->address, pair->bytes);
    CHECK_INT(event->a & 0xff, pair->memory);
    CHECK_INT(device_of(driven, event), pair->device);
    if (pair->stream)
        CHECK_INT(event->b, pair->stream);
    CHECK_STR(string_of(driven->own.ring, event->name), call_find(pair->gives.cbid)->name);
}

TEST(each_call_with_success)
{
    struct driven driven = begin_driven();
    struct outputs out;
    struct pair pairs[PAIRS];
    set_outputs(&out, 0x10000);
    size_t count = list_pairs(pairs, &out);
    for (size_t i = 0; i < count; i++) {
        call_driver(&driven, pairs[i].gives.cbid, pairs[i].gives.params, 0);
        call_driver(&driven, pairs[i].takes.cbid, pairs[i].takes.params, 0);
        REQUIRE(look(&driven) == 2);
        check_given(&driven, &driven.events[0], &pairs[i]);
        CHECK_EVENT(driven.events[1], EVENT_DRIVER_FREE, pairs[i].address, 0);
        CHECK_INT(driven.events[1].a, pairs[i].memory);
        CHECK_INT(driven.events[1].heap, driven.events[0].heap);
        CHECK_INT(live_count(), 0);
    }
}

TEST(each_call_with_failure)
{
    struct driven driven = begin_driven();
    struct outputs out;
    struct pair pairs[PAIRS];
    set_outputs(&out, 0x10000);
    size_t count = list_pairs(pairs, &out);
    for (size_t i = 0; i < count; i++) {
        call_driver(&driven, pairs[i].gives.cbid, pairs[i].gives.params, 2);
        CHECK_INT(look(&driven), 0);
        call_driver(&driven, pairs[i].gives.cbid, pairs[i].gives.params, 0);
        call_driver(&driven, pairs[i].takes.cbid, pairs[i].takes.params, 1);
        REQUIRE(look(&driven) == 3);
        check_given(&driven, &driven.events[2], &pairs[i]); /* it is there after all */
        call_driver(&driven, pairs[i].takes.cbid, pairs[i].takes.params, 0);
        CHECK_INT(look(&driven), 1);
        CHECK_INT(live_count(), 0);
    }
}

/* Every row that has an effect is one of the pairs, or one of those that are tested by hand. */
TEST(no_row_is_forgotten)
{
    static const uint32_t by_hand[] = {
        CUPTI_DRIVER_TRACE_CBID_cuMemMap,
        CUPTI_DRIVER_TRACE_CBID_cuMemUnmap,
        CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle,
        CUPTI_DRIVER_TRACE_CBID_cuExternalMemoryGetMappedBuffer,
        271, /* cuMemHostAlloc_v2: it has no struct, and from 13.5 on no name */
#if CUDA_VERSION < 12010
        706, /* cuMulticastCreate */
#endif
    };
    struct outputs out;
    struct pair pairs[PAIRS];
    set_outputs(&out, 0x10000);
    size_t count = list_pairs(pairs, &out);
    for (size_t row = 0; row < calls_count; row++) {
        bool found = calls[row].action <= CALL_CLOSE;
        for (size_t i = 0; i < count; i++)
            found = found || pairs[i].gives.cbid == calls[row].cbid ||
                    pairs[i].takes.cbid == calls[row].cbid;
        for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand; i++)
            found = found || by_hand[i] == calls[row].cbid;
        if (!found)
            CHECK_STR(calls[row].name, "a call of this test");
    }
}

TEST(mappings_by_the_toolkits_structs)
{
    struct driven driven = begin_driven();
    CUmemGenericAllocationHandle handle = 0x77;
    CUmemAllocationProp prop = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    const struct made steps[] = {
        MADE(cuMemCreate, .handle = &handle, .size = 4096, .prop = &prop),
        MADE(cuMemMap, .ptr = 0x9000, .size = 4096, .offset = 0, .handle = 0x77),
        MADE(cuMemRetainAllocationHandle, .handle = &handle, .addr = (void *)0x9000),
        MADE(cuMemRelease, .handle = 0x77),
        MADE(cuMemUnmap, .ptr = 0x9000, .size = 4096),
        MADE(cuMemRelease, .handle = 0x77),
    };
    static const int kinds[] = {EVENT_DRIVER_ALLOC, EVENT_DRIVER_MAP, EVENT_DRIVER_UNMAP,
                                EVENT_DRIVER_FREE};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        call_driver(&driven, steps[i].cbid, steps[i].params, 0);
    REQUIRE(look(&driven) == 4);
    for (int i = 0; i < 4; i++)
        CHECK_INT(driven.events[i].kind, kinds[i]);
    CHECK_EVENT(driven.events[1], EVENT_DRIVER_MAP, 0x9000, 4096);
    CHECK_INT(driven.events[1].b, 0x77);
}

/* A node with memory in a graph. */
static void add_node(struct driven *driven, uint64_t graph, uint64_t address)
{
    CUDA_MEM_ALLOC_NODE_PARAMS node = {.bytesize = 4096, .dptr = address};
    const struct made add =
        MADE(cuGraphAddMemAllocNode, .hGraph = (CUgraph)(uintptr_t)graph, .nodeParams = &node);
    call_driver(driven, add.cbid, add.params, 0);
    REQUIRE(look(driven) == 1);
    CHECK_EVENT(driven->events[0], EVENT_DRIVER_ALLOC, address, 4096);
    CHECK_INT(driven->events[0].b, 0);
}

/* The events that a destruction leads to. */
static size_t destroy_graph(struct driven *driven, uint64_t graph)
{
    const struct made destroy = MADE(cuGraphDestroy, .hGraph = (CUgraph)(uintptr_t)graph);
    call_driver(driven, destroy.cbid, destroy.params, 0);
    return look(driven);
}

TEST(a_graph_that_was_never_instantiated)
{
    struct driven driven = begin_driven();
    for (uint64_t i = 0; i < 40; i++) /* more than go at once */
        add_node(&driven, 0x51, 0x10000 + i * 4096);
    add_node(&driven, 0x52, 0x90000);
    const struct made freed = MADE(cuGraphAddMemFreeNode, .dptr = 0x10000);
    call_driver(&driven, freed.cbid, freed.params, 0);
    CHECK_INT(look(&driven), 1);
    CHECK_INT(destroy_graph(&driven, 0x77), 0); /* none of those */
    REQUIRE(destroy_graph(&driven, 0x51) == 39);
    CHECK_EVENT(driven.events[0], EVENT_DRIVER_FREE, driven.events[0].addr, 0);
    CHECK_STR(string_of(driven.own.ring, driven.events[0].name), "cuGraphDestroy");
    CHECK_INT(live_count(), 1);
    CHECK_INT(destroy_graph(&driven, 0x51), 0); /* another one by now */
    CHECK(live_is_valid());
}

/* ---- captures ---- */

static void begin_capture(struct driven *driven, uint64_t stream)
{
    const struct made begun = MADE(cuStreamBeginCapture_v2, .hStream = (CUstream)(uintptr_t)stream);
    call_driver(driven, begun.cbid, begun.params, 0);
    CHECK_INT(look(driven), 0);
}

/* The events that the end leads to. */
static size_t end_capture(struct driven *driven, uint64_t stream, uint64_t graph, int result)
{
    CUgraph given = (CUgraph)(uintptr_t)graph;
    const struct made ended =
        MADE(cuStreamEndCapture, .hStream = (CUstream)(uintptr_t)stream, .phGraph = &given);
    static_assert(offsetof(cuStreamEndCapture_params, phGraph) == 8, "the second parameter");
    call_driver(driven, ended.cbid, ended.params, result);
    return look(driven);
}

/* What a stream is given, which is to be memory of this kind. */
static void allocate_on(struct driven *driven, uint64_t stream, uint64_t address, int memory)
{
    CUdeviceptr given = address;
    const struct made alloc = MADE(cuMemAllocAsync, .dptr = &given, .bytesize = 64,
                                   .hStream = (CUstream)(uintptr_t)stream);
    call_driver(driven, alloc.cbid, alloc.params, 0);
    REQUIRE(look(driven) == 1);
    CHECK_EVENT(driven->events[0], EVENT_DRIVER_ALLOC, address, 64);
    CHECK_INT(driven->events[0].a & 0xff, memory);
    CHECK_INT(driven->events[0].b, memory == DRIVER_GRAPH ? 0 : stream);
}

static void free_on(struct driven *driven, uint64_t stream, uint64_t address, int memory)
{
    const struct made freed =
        MADE(cuMemFreeAsync, .dptr = address, .hStream = (CUstream)(uintptr_t)stream);
    call_driver(driven, freed.cbid, freed.params, 0);
    REQUIRE(look(driven) == 1);
    CHECK_EVENT(driven->events[0], EVENT_DRIVER_FREE, address, 0);
    CHECK_INT(driven->events[0].a, memory);
}

TEST(what_a_captured_stream_is_given)
{
    struct driven driven = begin_driven();
    begin_capture(&driven, 0x50);
    begin_capture(&driven, 0x60);
    allocate_on(&driven, 0x50, 0x10000, DRIVER_GRAPH);
    allocate_on(&driven, 0x50, 0x20000, DRIVER_GRAPH);
    allocate_on(&driven, 0x60, 0x30000, DRIVER_GRAPH);
    allocate_on(&driven, 0x70, 0x40000, DRIVER_ASYNC); /* another stream */
    free_on(&driven, 0x50, 0x20000, DRIVER_GRAPH);
    free_on(&driven, 0x50, 0x90000, DRIVER_GRAPH);    /* one that nobody knows */
    CHECK_INT(end_capture(&driven, 0x50, 0, 910), 0); /* the wrong thread: it goes on */
    allocate_on(&driven, 0x50, 0x50000, DRIVER_GRAPH);
    CHECK_INT(end_capture(&driven, 0x50, 0x1000, 0), 0);
    allocate_on(&driven, 0x50, 0x60000, DRIVER_ASYNC);
    free_on(&driven, 0x50, 0x60000, DRIVER_ASYNC);
    CHECK_INT(destroy_graph(&driven, 0x1000), 2);     /* which was never instantiated */
    CHECK_INT(end_capture(&driven, 0x60, 0, 901), 1); /* invalidated: there is no such node */
    CHECK_STR(string_of(driven.own.ring, driven.events[0].name), "cuStreamEndCapture");
    CHECK_INT(live_count(), 1);
    CHECK(live_is_valid());
}

TEST(a_capture_into_a_graph)
{
    struct driven driven = begin_driven();
#if CUDA_VERSION >= 12030
    const struct made into =
        MADE(cuStreamBeginCaptureToGraph, .hStream = (CUstream)0x50, .hGraph = (CUgraph)0x1000);
    static_assert(offsetof(cuStreamBeginCaptureToGraph_params, hGraph) == 8, "the second");
#else
    const struct made into = made_of(720, (const uint64_t[]){0x50, 0x1000}, 16);
#endif
    add_node(&driven, 0x1000, 0x10000);
    call_driver(&driven, into.cbid, into.params, 0);
    CHECK_INT(look(&driven), 0);
    allocate_on(&driven, 0x50, 0x20000, DRIVER_GRAPH);
    CHECK_INT(end_capture(&driven, 0x50, 0, 901), 0); /* the graph is there all the same */
    CHECK_INT(destroy_graph(&driven, 0x1000), 2);
    CHECK_INT(live_count(), 0);
}

TEST(captures_that_are_not_there)
{
    struct driven driven = begin_driven();
    const struct made failed = MADE(cuStreamBeginCapture_v2, .hStream = (CUstream)0x50);
    call_driver(&driven, failed.cbid, failed.params, 900);
    allocate_on(&driven, 0x50, 0x10000, DRIVER_ASYNC);
    begin_capture(&driven, 2); /* a thread's own: every thread has one of this name */
    allocate_on(&driven, 2, 0x20000, DRIVER_ASYNC);
    driven.context = (const void *)0x11;
    begin_capture(&driven, 0x60);
    tell_context(&driven, ABI_CONTEXT_DESTROY_STARTING, driven.context);
    look(&driven);
    allocate_on(&driven, 0x60, 0x30000, DRIVER_ASYNC);
    begin_capture(&driven, 0x60);
    live_settle(); /* callbacks were off: it may have ended */
    allocate_on(&driven, 0x60, 0x40000, DRIVER_ASYNC);
    for (uint64_t i = 0; i < 65; i++) /* one more than there is room for */
        begin_capture(&driven, 0x100 + i);
    allocate_on(&driven, 0x100 + 63, 0x50000, DRIVER_GRAPH);
    allocate_on(&driven, 0x100 + 64, 0x60000, DRIVER_ASYNC);
    CHECK_INT(end_capture(&driven, 0x100, 0x1000, 0), 0);
    begin_capture(&driven, 0x100 + 64);
    allocate_on(&driven, 0x100 + 64, 0x70000, DRIVER_GRAPH);
}

/* Whatever a launch has left is there until it is freed. */
TEST(a_graph_that_was_instantiated)
{
    static const struct {
        uint32_t cbid;
        int result;
        size_t told;
    } ways[] = {
        {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate, 0, 0},
        {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2, 0, 0},
        {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, 0, 0},
#if CUDA_VERSION >= 12000
        {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams, 0, 0},
        {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz, 0, 0},
#endif
        {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, 1, 1}, /* it failed */
    };
    struct driven driven = begin_driven();
    static_assert(offsetof(cuGraphInstantiate_v2_params, hGraph) == 8 &&
                      offsetof(cuGraphInstantiateWithFlags_params, hGraph) == 8,
                  "the second parameter");
#if CUDA_VERSION >= 12000
    static_assert(offsetof(cuGraphInstantiateWithParams_params, hGraph) == 8, "likewise");
#endif
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        CUgraphExec exec = (CUgraphExec)(uintptr_t)0x99;
        const cuGraphInstantiateWithFlags_params params = {.phGraphExec = &exec,
                                                           .hGraph = (CUgraph)(uintptr_t)0x51};
        add_node(&driven, 0x51, 0x10000);
        call_driver(&driven, ways[i].cbid, &params, ways[i].result);
        CHECK_INT(destroy_graph(&driven, 0x51), ways[i].told);
        const struct made gone = MADE(cuGraphExecDestroy, .hGraphExec = exec);
        call_driver(&driven, gone.cbid, gone.params, 0);
        CHECK_INT(look(&driven), 0);
        const struct made freed = MADE(cuMemFreeAsync, .dptr = 0x10000);
        call_driver(&driven, freed.cbid, freed.params, 0);
        CHECK_INT(look(&driven), 1);
        CHECK_INT(live_count(), 0);
    }
}

/* What needs no context has a device all the same. */
TEST(pools_without_a_context)
{
    struct driven driven = begin_driven();
    struct outputs out;
    set_outputs(&out, 0x10000);
    const struct made create =
        MADE(cuMemPoolCreate, .pool = &out.pool, .poolProps = &out.pool_props);
    const struct made import = MADE(cuMemPoolImportFromShareableHandle, .pool_out = &out.pool);
    const struct made destroy = MADE(cuMemPoolDestroy, .pool = out.pool);
    driven.context = NULL;
    call_driver(&driven, create.cbid, create.params, 0);
    out.pool_props.location.type = (CUmemLocationType)2; /* the host's, named so since 12.2 */
    call_driver(&driven, create.cbid, create.params, 0);
    call_driver(&driven, destroy.cbid, destroy.params, 0);
    REQUIRE(look(&driven) == 3);
    CHECK_INT(device_of(&driven, &driven.events[0]), 3);
    CHECK_INT(driven.events[1].heap, 0);                 /* the host's */
    call_driver(&driven, import.cbid, import.params, 0); /* no device is known at all */
    tell_context(&driven, ABI_CONTEXT_CREATED, (const void *)0x12);
    call_driver(&driven, import.cbid, import.params, 0);
    tell_context(&driven, ABI_CONTEXT_CREATED, (const void *)0x11);
    call_driver(&driven, import.cbid, import.params, 0); /* it may be of either */
    REQUIRE(look(&driven) == 3);
    CHECK_INT(device_of(&driven, &driven.events[0]), -1);
    CHECK_INT(device_of(&driven, &driven.events[1]), 2);
    CHECK_INT(device_of(&driven, &driven.events[2]), -1);
}

/* ---- many threads ---- */

#define THREADS 8
#define ROUNDS 5

static void *make_calls(void *argument)
{
    struct driven driven = {.context = (const void *)0x10};
    struct outputs out;
    struct pair pairs[PAIRS];
    uint64_t number = (uint64_t)(uintptr_t)argument;
    driven.correlation = (uint32_t)number << 20;
    set_outputs(&out, (number + 1) << 24);
    size_t count = list_pairs(pairs, &out);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < count; i++) {
            uint32_t outer = enter(&driven, ABI_RUNTIME, 20, NULL);
            call_driver(&driven, pairs[i].gives.cbid, pairs[i].gives.params, 0);
            leave_call(&driven, ABI_RUNTIME, 20, NULL, outer, 0);
            call_driver(&driven, pairs[i].takes.cbid, pairs[i].takes.params, (int)(i % 2));
            if (i % 2)
                call_driver(&driven, pairs[i].takes.cbid, pairs[i].takes.params, 0);
        }
    return NULL;
}

TEST(from_many_threads)
{
    struct driven driven = begin_driven();
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, make_calls, (void *)i) == 0);
    uint64_t given = 0, taken = 0;
    bool over = false;
    for (int joined = 0; !over;) {
        if (joined < THREADS) /* the ring is small: it is read meanwhile */
            over = pthread_tryjoin_np(threads[joined], NULL) == 0 && ++joined == THREADS;
        look(&driven);
        for (size_t i = 0; i < driven.count; i++) {
            given += driven.events[i].kind == EVENT_DRIVER_ALLOC;
            taken += driven.events[i].kind == EVENT_DRIVER_FREE;
        }
    }
    while (look(&driven))
        for (size_t i = 0; i < driven.count; i++) {
            given += driven.events[i].kind == EVENT_DRIVER_ALLOC;
            taken += driven.events[i].kind == EVENT_DRIVER_FREE;
        }
    CHECK(given > 0);
    CHECK_INT(given, taken);
    CHECK_INT(live_count(), 0);
    CHECK(live_is_valid());
}

TEST_MAIN(TEST_CASE(each_call_with_success), TEST_CASE(each_call_with_failure),
          TEST_CASE(no_row_is_forgotten), TEST_CASE(a_graph_that_was_never_instantiated),
          TEST_CASE(what_a_captured_stream_is_given), TEST_CASE(a_capture_into_a_graph),
          TEST_CASE(captures_that_are_not_there), TEST_CASE(a_graph_that_was_instantiated),
          TEST_CASE(pools_without_a_context), TEST_CASE(mappings_by_the_toolkits_structs),
          TEST_CASE(from_many_threads))
