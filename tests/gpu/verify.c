/*
 * verify - small experiments about CUPTI and the driver, for what documentation leaves open. Each
 * prints one line of findings. Exit status: 0 it ran, 1 it did not, 77 no GPU or no CUPTI.
 *
 *     verify vmm       does MEMORY2 report cuMemCreate and cuMemMap?
 *     verify nesting   which callbacks come for cudaMalloc, in which order, with which ids?
 *     verify graph     does MEMORY2 report memory of graphs, captured and launched?
 *     verify info      does cuMemGetInfo work inside a callback, and does it tell the new state?
 *     verify cost      what do calls cost that are not looked at, with callbacks for others?
 *     verify init      the result of cuInit, for trying what an injection changes
 *
 * Nothing is linked: the driver, the runtime and CUPTI are opened, as libtidemark.so does it.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NOTHING_HERE = 77, BUFFER = 1 << 18, MIB = 1 << 20 };

/* ---- the libraries ---- */

#define DRIVER(USE)                                                                                \
    USE(cuInit, "cuInit")                                                                          \
    USE(cuMemGetInfo, "cuMemGetInfo_v2")                                                           \
    USE(cuMemCreate, "cuMemCreate")                                                                \
    USE(cuMemRelease, "cuMemRelease")                                                              \
    USE(cuMemAddressReserve, "cuMemAddressReserve")                                                \
    USE(cuMemAddressFree, "cuMemAddressFree")                                                      \
    USE(cuMemMap, "cuMemMap")                                                                      \
    USE(cuMemUnmap, "cuMemUnmap")                                                                  \
    USE(cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity")
#define RUNTIME(USE)                                                                               \
    USE(cudaGetDeviceCount, "cudaGetDeviceCount")                                                  \
    USE(cudaMalloc, "cudaMalloc")                                                                  \
    USE(cudaFree, "cudaFree")                                                                      \
    USE(cudaMallocAsync, "cudaMallocAsync")                                                        \
    USE(cudaFreeAsync, "cudaFreeAsync")                                                            \
    USE(cudaStreamCreate, "cudaStreamCreate")                                                      \
    USE(cudaStreamQuery, "cudaStreamQuery")                                                        \
    USE(cudaStreamBeginCapture, "cudaStreamBeginCapture")                                          \
    USE(cudaStreamEndCapture, "cudaStreamEndCapture")                                              \
    USE(cudaGraphLaunch, "cudaGraphLaunch")                                                        \
    USE(cudaGraphInstantiateWithFlags, "cudaGraphInstantiateWithFlags")                            \
    USE(cudaDeviceSynchronize, "cudaDeviceSynchronize")
#define CUPTI(USE)                                                                                 \
    USE(cuptiSubscribe, "cuptiSubscribe")                                                          \
    USE(cuptiUnsubscribe, "cuptiUnsubscribe")                                                      \
    USE(cuptiEnableCallback, "cuptiEnableCallback")                                                \
    USE(cuptiEnableDomain, "cuptiEnableDomain")                                                    \
    USE(cuptiActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks")                          \
    USE(cuptiActivityEnable, "cuptiActivityEnable")                                                \
    USE(cuptiActivityFlushAll, "cuptiActivityFlushAll")                                            \
    USE(cuptiActivityGetNextRecord, "cuptiActivityGetNextRecord")                                  \
    USE(cuptiGetVersion, "cuptiGetVersion")

#define MEMBER(function, name) __typeof__(function) *function##_;
static struct {
    DRIVER(MEMBER) RUNTIME(MEMBER) CUPTI(MEMBER)
} api;

static void *open_one(const char *const *files)
{
    void *library = NULL;
    for (; !library && *files; files++)
        library = dlopen(*files, RTLD_NOW | RTLD_LOCAL);
    return library;
}

_Noreturn static void skip(const char *why)
{
    printf("%s\n", why);
    exit(NOTHING_HERE);
}

static void find(void *library, const char *name, void *to)
{
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol) {
        printf("not to be had: %s\n", name);
        exit(NOTHING_HERE);
    }
    memcpy(to, &symbol, sizeof symbol);
}

#define FIND(function, name) find(library, name, &api.function##_);

static void open_driver(void)
{
    const char *const files[] = {"libcuda.so.1", NULL};
    void *library = open_one(files);
    if (!library)
        skip("no driver: libcuda.so.1 is not to be found");
    DRIVER(FIND)
}

static void open_runtime(void)
{
    const char *const files[] = {"libcudart.so.13", "libcudart.so.12", NULL};
    void *library = open_one(files);
    int count = 0;
    if (!library)
        skip("no runtime: libcudart.so.13 or .12 is not to be found");
    RUNTIME(FIND)
    if (api.cudaGetDeviceCount_(&count) != cudaSuccess || count == 0)
        skip("no GPU to run on");
}

static void open_cupti(void)
{
    const char *const files[] = {"libcupti.so.13", "libcupti.so.12", NULL};
    void *library = open_one(files);
    if (!library)
        skip("no CUPTI: libcupti.so.13 or .12 is not to be found");
    CUPTI(FIND)
}

static void must(int result, const char *call)
{
    if (result == 0)
        return;
    printf("%s gave %d\n", call, result);
    exit(EXIT_FAILURE);
}
#define MUST(call) must((int)(call), #call)

/* ---- activity records ---- */

/* Of kind MEMORY2: how many, and how many of the size that is looked for. */
static struct {
    size_t all, wanted, pool;
    uint64_t bytes;
} seen;

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = aligned_alloc(8, BUFFER);
    *size = *buffer ? BUFFER : 0;
    *records = 0;
}

/* Fields by the layout that all versions begin with. */
static void look_at(const CUpti_Activity *record)
{
    const CUpti_ActivityMemory4 *memory = (const void *)record;
    if (record->kind == CUPTI_ACTIVITY_KIND_MEMORY_POOL)
        seen.pool++;
    if (record->kind != CUPTI_ACTIVITY_KIND_MEMORY2)
        return;
    seen.all++;
    seen.wanted += memory->bytes == seen.bytes;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid)
{
    CUpti_Activity *record = NULL;
    (void)context;
    (void)stream;
    (void)size;
    while (valid && api.cuptiActivityGetNextRecord_(buffer, valid, &record) == CUPTI_SUCCESS)
        look_at(record);
    free(buffer);
}

static void watch_memory(void)
{
    MUST(api.cuptiActivityRegisterCallbacks_(give_buffer, take_buffer));
    MUST(api.cuptiActivityEnable_(CUPTI_ACTIVITY_KIND_MEMORY2));
    MUST(api.cuptiActivityEnable_(CUPTI_ACTIVITY_KIND_MEMORY_POOL));
}

/* What came since the last call, of this size. */
static size_t records_of(uint64_t bytes)
{
    seen.all = seen.wanted = seen.pool = 0;
    seen.bytes = bytes;
    MUST(api.cudaDeviceSynchronize_());
    MUST(api.cuptiActivityFlushAll_(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    return seen.wanted;
}

/* ---- vmm ---- */

static int verify_vmm(void)
{
    CUmemAllocationProp how = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    size_t grain;
    void *plain;
    watch_memory();
    MUST(api.cudaMalloc_(&plain, 3 * MIB));
    MUST(api.cudaFree_(plain));
    size_t control = records_of(3 * MIB);
    MUST(api.cuMemGetAllocationGranularity_(&grain, &how, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    size_t bytes = 7 * grain;
    MUST(api.cuMemCreate_(&handle, bytes, &how, 0));
    MUST(api.cuMemAddressReserve_(&address, bytes, 0, 0, 0));
    MUST(api.cuMemMap_(address, bytes, 0, handle, 0));
    MUST(api.cuMemUnmap_(address, bytes));
    MUST(api.cuMemAddressFree_(address, bytes));
    MUST(api.cuMemRelease_(handle));
    size_t found = records_of(bytes);
    printf("granularity %zu; MEMORY2 records: %zu of cudaMalloc and cudaFree, %zu of "
           "cuMemCreate, Map, Unmap, Release (%zu of any size)\n",
           grain, control, found, seen.all);
    return control >= 2 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- callbacks ---- */

enum { CALLS_MOST = 64 };

/* Letters as they come: R and D for the runtime and the driver, + at enter, - at exit. */
static struct {
    char order[3 * CALLS_MOST];
    uint32_t id[CALLS_MOST];
    size_t count;
    bool ask;
    int answer;
    size_t free_inside;
} calls;

static void CUPTIAPI on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId which,
                             const void *data)
{
    const CUpti_CallbackData *call = data;
    bool enter = call->callbackSite == CUPTI_API_ENTER;
    (void)user;
    (void)which;
    if (calls.count < CALLS_MOST) {
        char *at = calls.order + 3 * calls.count;
        at[0] = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? 'R' : 'D';
        at[1] = enter ? '+' : '-';
        at[2] = ' ';
        calls.id[calls.count++] = call->correlationId;
    }
    if (!enter && calls.ask) {
        size_t all;
        calls.ask = false;
        calls.answer = (int)api.cuMemGetInfo_(&calls.free_inside, &all);
    }
}

static void CUPTIAPI on_any(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId which,
                            const void *data)
{
    size_t *count = user;
    (void)domain;
    (void)which;
    (void)data;
    ++*count;
}

static int verify_nesting(void)
{
    CUpti_SubscriberHandle subscriber;
    void *plain;
    MUST(api.cudaFree_(NULL));
    MUST(api.cuptiSubscribe_(&subscriber, on_call, NULL));
    MUST(api.cuptiEnableCallback_(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                                  CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2));
    MUST(api.cuptiEnableCallback_(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                                  CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020));
    MUST(api.cudaMalloc_(&plain, MIB));
    MUST(api.cuptiUnsubscribe_(subscriber));
    MUST(api.cudaFree_(plain));
    calls.order[3 * calls.count] = '\0';
    printf("cudaMalloc: %s; correlation ids", calls.count ? calls.order : "nothing");
    for (size_t i = 0; i < calls.count; i++)
        printf(" %u", calls.id[i]);
    putchar('\n');
    return strstr(calls.order, "D+ D-") ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int verify_info(void)
{
    CUpti_SubscriberHandle subscriber;
    size_t before, after, all;
    void *plain;
    MUST(api.cudaFree_(NULL));
    MUST(api.cuMemGetInfo_(&before, &all));
    MUST(api.cuptiSubscribe_(&subscriber, on_call, NULL));
    MUST(api.cuptiEnableCallback_(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                                  CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2));
    calls.ask = true;
    MUST(api.cudaMalloc_(&plain, 64 * MIB));
    MUST(api.cuptiUnsubscribe_(subscriber));
    MUST(api.cuMemGetInfo_(&after, &all));
    MUST(api.cudaFree_(plain));
    printf("cuMemGetInfo at the exit of a call for 64 MiB: result %d, free fell by %.1f MiB there, "
           "by %.1f behind it\n",
           calls.answer, ((double)before - (double)calls.free_inside) / MIB,
           ((double)before - (double)after) / MIB);
    return calls.ask ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- graphs ---- */

static int verify_graph(void)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    void *block;
    const uint64_t bytes = 5 * MIB;
    MUST(api.cudaStreamCreate_(&stream));
    watch_memory();
    MUST(api.cudaMallocAsync_(&block, bytes, stream));
    MUST(api.cudaFreeAsync_(block, stream));
    size_t control = records_of(bytes);
    MUST(api.cudaStreamBeginCapture_(stream, cudaStreamCaptureModeGlobal));
    MUST(api.cudaMallocAsync_(&block, bytes, stream));
    MUST(api.cudaFreeAsync_(block, stream));
    MUST(api.cudaStreamEndCapture_(stream, &graph));
    size_t captured = records_of(bytes);
    MUST(api.cudaGraphInstantiateWithFlags_(&ready, graph, 0));
    MUST(api.cudaGraphLaunch_(ready, stream));
    size_t launched = records_of(bytes);
    printf(
        "MEMORY2 records: %zu of cudaMallocAsync and FreeAsync, %zu while they are captured, %zu "
        "at the launch (%zu of any size, %zu of pools)\n",
        control, captured, launched, seen.all, seen.pool);
    return control >= 2 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- cost ---- */

enum { ROUNDS = 7, QUERIES = 50000 };

static double nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double cost_of_query(void)
{
    double begin = nanoseconds();
    for (int i = 0; i < QUERIES; i++)
        api.cudaStreamQuery_(NULL);
    return (nanoseconds() - begin) / QUERIES;
}

static double best(double a, double b)
{
    return a == 0 || b < a ? b : a;
}

/* Bare, with callbacks for memory only, with callbacks for all calls of the driver: in turns, and
 * the best of each. */
static int verify_cost(void)
{
    static const CUpti_CallbackId memory[] = {
        CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,
        CUPTI_DRIVER_TRACE_CBID_cuMemCreate, CUPTI_DRIVER_TRACE_CBID_cuMemMap,
        CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync};
    double bare = 0, filtered = 0, everything = 0;
    size_t count = 0;
    MUST(api.cudaFree_(NULL));
    cost_of_query();
    for (int round = 0; round < ROUNDS; round++) {
        CUpti_SubscriberHandle subscriber;
        bare = best(bare, cost_of_query());
        MUST(api.cuptiSubscribe_(&subscriber, on_any, &count));
        for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
            MUST(api.cuptiEnableCallback_(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, memory[i]));
        filtered = best(filtered, cost_of_query());
        MUST(api.cuptiEnableDomain_(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
        everything = best(everything, cost_of_query());
        MUST(api.cuptiUnsubscribe_(subscriber));
    }
    printf("cudaStreamQuery: bare %.0f ns, with callbacks for memory %.0f (%.3f times), for all of "
           "the driver %.0f (%.3f times, %zu came)\n",
           bare, filtered, filtered / bare, everything, everything / bare, count);
    return EXIT_SUCCESS;
}

static int verify_init(void)
{
    printf("cuInit gave %d\n", (int)api.cuInit_(0));
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
        bool cupti;
    } experiments[] = {
        {"vmm", verify_vmm, true},     {"nesting", verify_nesting, true},
        {"graph", verify_graph, true}, {"info", verify_info, true},
        {"cost", verify_cost, true},   {"init", verify_init, false},
    };
    for (size_t i = 0; argc == 2 && i < sizeof experiments / sizeof *experiments; i++) {
        if (strcmp(argv[1], experiments[i].name) != 0)
            continue;
        open_driver();
        if (experiments[i].cupti) {
            open_runtime();
            open_cupti();
        }
        return experiments[i].run();
    }
    fputs("usage: verify vmm | nesting | graph | info | cost | init\n", stderr);
    return 2;
}
