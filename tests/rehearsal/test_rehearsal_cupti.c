/* The stand-in's CUPTI, read by the declarations that the guest reads CUPTI with. */
#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_abi.h"
#include "cupti_calls.h"
#include "stand_in.h"
#include "told_abi.h"

#define MIB ((size_t)1 << 20)

#define SAME(ours, member, theirs, name)                                                           \
    static_assert(offsetof(struct ours, member) == offsetof(struct theirs, name) &&                \
                      sizeof(((struct ours *)0)->member) == sizeof(((struct theirs *)0)->name),    \
                  #theirs "." #name)
SAME(told_data, site, abi_callback, place);
SAME(told_data, params, abi_callback, params);
SAME(told_data, result, abi_callback, result);
SAME(told_data, context, abi_callback, context);
SAME(told_data, own, abi_callback, own);
SAME(told_data, correlation, abi_callback, correlation);
SAME(told_memory, operation, abi_memory, operation);
SAME(told_memory, memory_kind, abi_memory, memory_kind);
SAME(told_memory, address, abi_memory, address);
SAME(told_memory, time, abi_memory, time);
SAME(told_memory, device, abi_memory, device);
SAME(told_memory, is_async, abi_memory, is_async);
SAME(told_subscriber_params, old_bytes, abi_subscriber_params, old_bytes);
static_assert(sizeof(struct told_memory) == 128, "CUpti_ActivityMemory4");

/* ---- what was told ---- */

static char told[4096];
static uint32_t outer; /* the number of the first call that began last */
static abi_subscriber subscriber;
static uint64_t marks;

static void say(const char *text)
{
    size_t used = strlen(told);
    snprintf(told + used, sizeof told - used, "%s%s", used ? " " : "", text);
}

static void listen(void *own, int domain, uint32_t cbid, const void *data)
{
    const struct abi_callback *call = data;
    char text[128];
    CHECK(own == &marks);
    if (domain == ABI_RESOURCE) {
        uint32_t device = 9;
        const void *context = ((const struct abi_resource_data *)data)->context;
        CHECK_INT(CALL(int, cuptiGetDeviceId, (const void *, uint32_t *), (context, &device)), 0);
        snprintf(text, sizeof text, "context%u", device);
        say(text);
        return;
    }
    if (call->place == ABI_ENTER) {
        *call->own = marks + call->correlation;
        if (domain == ABI_RUNTIME)
            outer = call->correlation;
    }
    CHECK(*call->own == marks + call->correlation);
    CHECK((call->place == ABI_EXIT) == (call->result != NULL));
    snprintf(text, sizeof text, "%s%s", call->place == ABI_EXIT ? "/" : "", call->function);
    if (call->place == ABI_EXIT && *call->result)
        snprintf(text + strlen(text), sizeof text - strlen(text), "=%d", *call->result);
    (void)cbid;
    say(text);
}

static int enable(int domain, uint32_t cbid)
{
    return CALL(int, cuptiEnableCallback, (uint32_t, abi_subscriber, int, uint32_t),
                (1, subscriber, domain, cbid));
}

static int subscribe(void)
{
    return CALL(int, cuptiSubscribe, (abi_subscriber *, abi_callback_fn, void *),
                (&subscriber, listen, &marks));
}

static void open_with(const char *settings)
{
    open_stand_in(settings);
    marks = 1000;
}

/* As the guest asks. */
static void listen_to_all(void)
{
    REQUIRE(subscribe() == 0);
    for (size_t i = 0; i < calls_count; i++)
        if (calls[i].action != CALL_UNUSED)
            CHECK_INT(enable(ABI_DRIVER, calls[i].cbid), 0);
    for (size_t i = 0; i < runtime_calls_count; i++)
        CHECK_INT(enable(ABI_RUNTIME, runtime_calls[i].cbid), 0);
    CHECK_INT(enable(ABI_RESOURCE, ABI_CONTEXT_CREATED), 0);
}

#define SAID(text)                                                                                 \
    do {                                                                                           \
        CHECK_STR(told, text);                                                                     \
        told[0] = '\0';                                                                            \
    } while (0)

TEST(a_call_is_told_inside_of_its_runtime_call)
{
    open_with("gpu=t4");
    listen_to_all();
    void *p = gpu_malloc(2 * MIB);
    SAID("cudaMalloc cuDevicePrimaryCtxRetain context0 /cuDevicePrimaryCtxRetain cuMemAlloc_v2 "
         "/cuMemAlloc_v2 /cudaMalloc");
    CALL(int, cudaFree, (void *), (p));
    SAID("cudaFree cuMemFree_v2 /cuMemFree_v2 /cudaFree");
    CALL(int, cudaFree, (void *), (p));
    SAID("cudaFree cuMemFree_v2 /cuMemFree_v2=1 /cudaFree=1");
    CALL(int, cudaFree, (void *), (NULL));
    SAID("cudaFree /cudaFree");
    gpu_malloc((size_t)1 << 40);
    SAID("cudaMalloc cuMemAlloc_v2 /cuMemAlloc_v2=2 /cudaMalloc=2");
}

/* What a name or a number is of, the guest's table says. */
TEST(the_numbers_are_those_of_the_calls)
{
    static const struct {
        const char *name;
        uint32_t cbid;
    } driver[] = {
#define DRIVER(text, number) {#text, number},
#define RUNTIME(text, number)
#include "told.def"
#undef DRIVER
#undef RUNTIME
    };
    for (size_t i = 0; i < sizeof driver / sizeof *driver; i++) {
        const struct call *call = call_find(driver[i].cbid);
        REQUIRE(call != NULL);
        if (strncmp(driver[i].name, call->name, strlen(call->name)) != 0)
            fprintf(stderr, "%u: %s, %s\n", driver[i].cbid, driver[i].name, call->name);
        CHECK(strncmp(driver[i].name, call->name, strlen(call->name)) == 0);
    }
#define DRIVER(text, number)
#define RUNTIME(text, number) CHECK_STR(runtime_call_name(number), #text);
#include "told.def"
#undef DRIVER
#undef RUNTIME
}

static int others; /* callbacks of another listener */

static void listen_too(void *own, int domain, uint32_t cbid, const void *data)
{
    const struct abi_callback *call = data;
    (void)own, (void)domain, (void)cbid;
    CHECK(call->place == ABI_EXIT || *call->own == 0); /* a word of its own */
    *call->own = 77;
    others++;
    gpu_malloc(2 * MIB); /* told to nobody */
}

TEST(each_hears_what_it_asked_for)
{
    abi_subscriber other;
    open_with("gpu=t4");
    REQUIRE(subscribe() == 0);
    REQUIRE(CALL(int, cuptiSubscribe, (abi_subscriber *, abi_callback_fn, void *),
                 (&other, listen_too, NULL)) == 0);
    CHECK_INT(enable(ABI_DRIVER, 5000), 1);
    CHECK_INT(enable(ABI_DRIVER, 243), 0);
    gpu_malloc(2 * MIB);
    SAID("cuMemAlloc_v2 /cuMemAlloc_v2");
    CHECK_INT(others, 0);
    CHECK_INT(
        CALL(int, cuptiEnableDomain, (uint32_t, abi_subscriber, int), (1, other, ABI_RUNTIME)), 0);
    gpu_malloc(2 * MIB);
    SAID("cuMemAlloc_v2 /cuMemAlloc_v2");
    CHECK_INT(others, 2);
    CHECK_INT(CALL(int, cuptiUnsubscribe, (abi_subscriber), (other)), 0);
    CHECK_INT(CALL(int, cuptiUnsubscribe, (abi_subscriber), (other)), 1);
    gpu_malloc(2 * MIB);
    SAID("cuMemAlloc_v2 /cuMemAlloc_v2");
    CHECK_INT(others, 2);
}

TEST(who_comes_next_begins_with_nothing)
{
    open_with("gpu=t4");
    listen_to_all();
    CHECK_INT(CALL(int, cuptiUnsubscribe, (abi_subscriber), (subscriber)), 0);
    gpu_malloc(2 * MIB);
    REQUIRE(subscribe() == 0);
    gpu_malloc(2 * MIB);
    SAID("");
}

TEST(there_is_room_for_a_few)
{
    char holder[32] = "";
    abi_subscriber other;
    struct abi_subscriber_params params = {
        .bytes = sizeof params, .name = "first", .old_name = holder, .old_bytes = sizeof holder};
    open_with("gpu=t4");
    for (int i = 0; i < 4; i++)
        CHECK_INT(CALL(int, cuptiSubscribe_v2,
                       (abi_subscriber *, abi_callback_fn, void *, struct abi_subscriber_params *),
                       (&other, listen, &marks, &params)),
                  i < 3 ? 0 : ABI_HELD);
    CHECK_STR(holder, "first");
}

/* ---- mapped, pinned, by streams ---- */

TEST(pages_are_told)
{
    uint64_t address = 0, handle = 0;
    const struct abi_memory_prop where = {.type = 1, .location = ABI_LOCATION_DEVICE};
    open_with("gpu=t4");
    gpu_malloc(1);
    listen_to_all();
    CALL(int, cuMemAddressReserve, (uint64_t *, size_t, size_t, uint64_t, unsigned long long),
         (&address, 2 * MIB, 0, 0, 0));
    CALL(int, cuMemCreate, (uint64_t *, size_t, const void *, unsigned long long),
         (&handle, 2 * MIB, &where, 0));
    CALL(int, cuMemMap, (uint64_t, size_t, size_t, uint64_t, unsigned long long),
         (address, 2 * MIB, 0, handle, 0));
    CALL(int, cuMemUnmap, (uint64_t, size_t), (address, 2 * MIB));
    CALL(int, cuMemRelease, (uint64_t), (handle));
    SAID("cuMemCreate /cuMemCreate cuMemMap /cuMemMap cuMemUnmap /cuMemUnmap cuMemRelease "
         "/cuMemRelease");
}

/* cudaIpcMemHandle_t */
struct shared {
    char bytes[64];
};

TEST(memory_of_another_process_is_told)
{
    struct shared shared = {.bytes = ""};
    void *p = NULL;
    open_with("gpu=t4");
    CHECK_INT(CALL(int, cudaIpcGetMemHandle, (struct shared *, void *), (&shared, gpu_malloc(MIB))),
              0);
    listen_to_all();
    CALL(int, cudaIpcOpenMemHandle, (void **, struct shared, unsigned), (&p, shared, 1));
    CALL(int, cudaIpcCloseMemHandle, (void *), (p));
    SAID("cudaIpcOpenMemHandle cuIpcOpenMemHandle_v2 /cuIpcOpenMemHandle_v2 /cudaIpcOpenMemHandle "
         "cudaIpcCloseMemHandle cuIpcCloseMemHandle /cuIpcCloseMemHandle /cudaIpcCloseMemHandle");
}

static uint64_t attribute(const char *name, void *of, int which)
{
    uint64_t value = ~UINT64_C(0);
    int (*get)(void *, int, void *);
    any_function *function = find(name);
    memcpy(&get, &function, sizeof get);
    CHECK_INT(get(of, which, &value), 0);
    return value;
}

TEST(a_pool_has_what_is_used_of_it)
{
    void *p = NULL, *q = NULL, *pool = NULL, *standard = NULL, *small = NULL;
    const struct abi_memory_prop where = {.type = 1, .location = ABI_LOCATION_DEVICE};
    open_with("gpu=t4");
    CALL(int, cudaMallocAsync, (void **, size_t, void *), (&p, 4 * MIB, NULL));
    CALL(int, cuDeviceGetDefaultMemPool, (void **, int), (&standard, 0));
    CALL(int, cudaMemPoolCreate, (void **, const void *), (&pool, &where));
    CALL(int, cudaMallocFromPoolAsync, (void **, size_t, void *, void *),
         (&q, 6 * MIB, pool, NULL));
    CHECK_INT(attribute("cuMemPoolGetAttribute", standard, ABI_POOL_USED), 4 * MIB);
    CHECK_INT(attribute("cuMemPoolGetAttribute", standard, ABI_POOL_RESERVED), 4 * MIB);
    CHECK_INT(attribute("cuMemPoolGetAttribute", pool, ABI_POOL_USED), 6 * MIB);
    CALL(int, cudaMallocAsync, (void **, size_t, void *), (&small, 100, NULL));
    CHECK_INT(attribute("cuMemPoolGetAttribute", standard, ABI_POOL_USED), 4 * MIB + 512);
    CHECK_INT(attribute("cuMemPoolGetAttribute", standard, ABI_POOL_RESERVED), 6 * MIB);
    CALL(int, cudaFreeAsync, (void *, void *), (small, NULL));
    listen_to_all();
    CALL(int, cudaFreeAsync, (void *, void *), (p, NULL));
    SAID("cudaFreeAsync cuMemFreeAsync /cuMemFreeAsync /cudaFreeAsync");
    CHECK_INT(CALL(int, cudaFree, (void *), (q)), 0);
    CHECK_INT(attribute("cuMemPoolGetAttribute", standard, ABI_POOL_USED), 0);
    CHECK_INT(attribute("cuMemPoolGetAttribute", pool, ABI_POOL_USED), 0);
    CHECK_INT(attribute("cuMemPoolGetAttribute", standard, 8), 4 * MIB + 512);
    CHECK_INT(CALL(int, cudaMemPoolDestroy, (void *), (pool)), 0);
}

TEST(memory_of_a_captured_stream_is_the_graphs)
{
    void *p = NULL, *stream, *graph = NULL, *exec = NULL;
    open_with("gpu=t4");
    CALL(int, cudaStreamCreate, (void **), (&stream));
    gpu_malloc(1);
    listen_to_all();
    CALL(int, cudaStreamBeginCapture, (void *, int), (stream, 0));
    CALL(int, cudaMallocAsync, (void **, size_t, void *), (&p, 4 * MIB, stream));
    CALL(int, cudaStreamEndCapture, (void *, void **), (stream, &graph));
    CALL(int, cudaGraphInstantiateWithFlags, (void **, void *, unsigned long long),
         (&exec, graph, 0));
    CALL(int, cudaGraphDestroy, (void *), (graph));
    SAID("cuStreamBeginCapture_v2 /cuStreamBeginCapture_v2 cudaMallocAsync cuMemAllocAsync "
         "/cuMemAllocAsync /cudaMallocAsync cuStreamEndCapture /cuStreamEndCapture "
         "cuGraphInstantiateWithFlags /cuGraphInstantiateWithFlags cuGraphDestroy /cuGraphDestroy");
    CHECK_INT(attribute("cuDeviceGetGraphMemAttribute", NULL, ABI_GRAPH_USED), 4 * MIB);
    CALL(int, cudaFree, (void *), (p));
    CHECK_INT(attribute("cuDeviceGetGraphMemAttribute", NULL, ABI_GRAPH_RESERVED), 0);
}

TEST(managed_memory_can_be_freed)
{
    void *p = NULL, *pinned = NULL;
    open_with("gpu=t4");
    listen_to_all();
    CHECK_INT(CALL(int, cudaMallocManaged, (void **, size_t, unsigned), (&p, MIB, 1)), 0);
    CHECK_INT(CALL(int, cudaFree, (void *), (p)), 0);
    told[0] = '\0';
    CHECK_INT(CALL(int, cudaHostAlloc, (void **, size_t, unsigned), (&pinned, MIB, 0)), 0);
    CHECK_INT(CALL(int, cudaFree, (void *), (pinned)), 1);
    CHECK_INT(CALL(int, cudaFreeHost, (void *), (pinned)), 0);
    SAID("cudaHostAlloc cuMemHostAlloc /cuMemHostAlloc /cudaHostAlloc cudaFree cuMemFree_v2 "
         "/cuMemFree_v2=1 /cudaFree=1 cudaFreeHost cuMemFreeHost /cuMemFreeHost /cudaFreeHost");
}

/* A device whose context waits below another one is current again behind it. */
TEST(a_context_that_was_pushed_goes)
{
    void *first = NULL, *second = NULL, *now = NULL;
    int device = 5;
    open_with("gpu=t4;devices=2");
    CHECK_INT(CALL(int, cuCtxGetCurrent, (void **), (&now)), 3);
    CALL(int, cuDevicePrimaryCtxRetain, (void **, int), (&first, 0));
    CALL(int, cuDevicePrimaryCtxRetain, (void **, int), (&second, 1));
    CHECK_INT(CALL(int, cuCtxPushCurrent_v2, (void *), (second)), 0);
    CALL(int, cudaGetDevice, (int *), (&device));
    CHECK_INT(device, 1);
    CHECK_INT(CALL(int, cuCtxPopCurrent_v2, (void **), (&now)), 0);
    CHECK(now == second);
    CHECK_INT(CALL(int, cuCtxGetCurrent, (void **), (&now)), 0);
    CHECK(now == first);
    CHECK_INT(CALL(int, cuCtxPushCurrent_v2, (void *), (&now)), 201);
}

TEST_MAIN(TEST_CASE(a_call_is_told_inside_of_its_runtime_call),
          TEST_CASE(the_numbers_are_those_of_the_calls), TEST_CASE(each_hears_what_it_asked_for),
          TEST_CASE(who_comes_next_begins_with_nothing), TEST_CASE(there_is_room_for_a_few),
          TEST_CASE(pages_are_told), TEST_CASE(memory_of_another_process_is_told),
          TEST_CASE(a_pool_has_what_is_used_of_it),
          TEST_CASE(memory_of_a_captured_stream_is_the_graphs),
          TEST_CASE(managed_memory_can_be_freed), TEST_CASE(a_context_that_was_pushed_goes))
