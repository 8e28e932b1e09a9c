/* The stand-in as a program meets it: a library that is opened, functions that are found by name.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in.h"

#define MIB ((size_t)1 << 20)

static void open_with(const char *settings)
{
    REQUIRE(setenv("TIDEMARK_REHEARSAL", settings, 1) == 0);
    library = dlopen(getenv("TIDEMARK_STANDIN"), RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    REQUIRE(library != NULL);
}

static size_t free_bytes(void)
{
    size_t free_now, total;
    CHECK_INT(CALL(int, cudaMemGetInfo, (size_t *, size_t *), (&free_now, &total)), 0);
    return free_now;
}

TEST(without_settings_there_is_no_device)
{
    int count = 5;
    open_with("");
    CHECK_INT(CALL(int, cudaGetDeviceCount, (int *), (&count)), 100);
    CHECK_INT(count, 0);
    CHECK_INT(CALL(int, cudaGetLastError, (void), ()), 100);
    CHECK_INT(CALL(int, cudaGetLastError, (void), ()), 0);
    CHECK_STR(CALL(const char *, cudaGetErrorName, (int), (100)), "cudaErrorNoDevice");
}

/* A field is as wide as it says: the offset of the next one would be wrong else. */
static void properties_agree(const char *settings, size_t bytes, size_t sms_at, size_t optin_at)
{
    char out[2048];
    int sms, optin, value;
    size_t wide;
    open_with(settings);
    memset(out, 7, sizeof out);
    CHECK_INT(CALL(int, cudaGetDeviceProperties, (void *, int), (out, 0)), 0);
    CHECK_STR(out, "Tesla T4");
    for (size_t i = bytes; i < sizeof out; i++)
        CHECK_INT(out[i], 7);
    CHECK_INT(CALL(int, cudaDeviceGetAttribute, (int *, int, int), (&sms, 16, 0)), 0);
    CHECK_INT(CALL(int, cudaDeviceGetAttribute, (int *, int, int), (&optin, 97, 0)), 0);
    memcpy(&value, out + sms_at, sizeof value);
    CHECK_INT(value, sms);
    CHECK_INT(sms, 40);
    memcpy(&wide, out + optin_at, sizeof wide);
    CHECK_INT(wide, optin);
    CHECK_INT(CALL(int, cudaGetDeviceProperties, (void *, int), (out, 1)), 101);
}

TEST(properties_of_cuda_12)
{
    properties_agree("gpu=t4;cuda=12", 1032, 388, 696);
}

TEST(properties_of_cuda_13)
{
    properties_agree("gpu=t4;cuda=13", 1008, 384, 672);
}

TEST(a_full_card_refuses)
{
    void *p = NULL, *q;
    open_with("gpu=cc=8.0,memory=1GiB;context=104857600");
    size_t before = free_bytes();
    CHECK_INT(before, 1024 * MIB - 100 * MIB);
    CHECK_INT(CALL(int, cudaMalloc, (void **, size_t), (&p, 20 * MIB)), 0);
    CHECK_INT(before - free_bytes(), 20 * MIB);
    CHECK_INT(CALL(int, cudaMalloc, (void **, size_t), (&q, before)), 2);
    CHECK(q == NULL);
    CHECK_STR(CALL(const char *, cudaGetErrorString, (int), (2)), "out of memory");
    CHECK_INT(CALL(int, cudaPeekAtLastError, (void), ()), 2);
    CHECK_INT(CALL(int, cudaFree, (void *), (p)), 0);
    CHECK_INT(CALL(int, cudaFree, (void *), (p)), 1);
    CHECK_INT(CALL(int, cudaFree, (void *), (NULL)), 0);
    CHECK_INT(free_bytes(), before);
}

TEST(devices_are_apart)
{
    void *p;
    open_with("gpu=cc=9.0,memory=1GiB;devices=2");
    size_t before = free_bytes();
    CHECK_INT(CALL(int, cudaSetDevice, (int), (1)), 0);
    CHECK_INT(CALL(int, cudaMalloc, (void **, size_t), (&p, 20 * MIB)), 0);
    CHECK_INT(before - free_bytes(), 20 * MIB);
    CHECK_INT(CALL(int, cudaSetDevice, (int), (0)), 0);
    CHECK_INT(free_bytes(), before);
    CHECK_INT(CALL(int, cudaSetDevice, (int), (2)), 101);
}

struct pointer {
    int type, device;
    void *on_device, *on_host;
    char reserved[64];
};

TEST(an_address_says_what_it_is)
{
    struct pointer pointer;
    void *p, *pinned;
    int local = 0;
    open_with("gpu=t4");
    REQUIRE(CALL(int, cudaMalloc, (void **, size_t), (&p, 100)) == 0);
    REQUIRE(CALL(int, cudaHostAlloc, (void **, size_t, unsigned), (&pinned, 100, 0)) == 0);
    CALL(int, cudaPointerGetAttributes, (struct pointer *, const void *), (&pointer, p));
    CHECK_INT(pointer.type, 2);
    CHECK(pointer.on_device == p && pointer.on_host == NULL);
    CALL(int, cudaPointerGetAttributes, (struct pointer *, const void *), (&pointer, pinned));
    CHECK_INT(pointer.type, 1);
    CALL(int, cudaPointerGetAttributes, (struct pointer *, const void *), (&pointer, &local));
    CHECK_INT(pointer.type, 0);
    CHECK_INT(CALL(int, cudaFreeHost, (void *), (pinned)), 0);
}

/* cudaIpcMemHandle_t and cudaIpcEventHandle_t */
struct shared {
    char bytes[64];
};

static int open_shared(void **at, struct shared shared)
{
    return CALL(int, cudaIpcOpenMemHandle, (void **, struct shared, unsigned), (at, shared, 1));
}

TEST(memory_of_another_process_has_an_address_here)
{
    struct pointer pointer;
    struct shared shared, other, unknown = {.bytes = "what is none"};
    void *opened = NULL, *again = NULL;
    char value = 7;
    open_with("gpu=t4");
    char *p = gpu_malloc(5 * MIB);
    REQUIRE(CALL(int, cudaIpcGetMemHandle, (struct shared *, void *), (&shared, p)) == 0);
    REQUIRE(CALL(int, cudaIpcGetMemHandle, (struct shared *, void *),
                 (&other, gpu_malloc(5 * MIB))) == 0);
    CHECK(memcmp(&shared, &other, sizeof shared) != 0);
    size_t before = free_bytes();
    CHECK_INT(open_shared(&opened, shared), 0);
    CHECK_INT(open_shared(&again, other), 0);
    CHECK(opened && again && opened != again);
    CHECK_INT(free_bytes(), before);
    CALL(int, cudaPointerGetAttributes, (struct pointer *, const void *),
         (&pointer, (char *)opened + 5 * MIB - 1));
    CHECK(pointer.type == 2 && pointer.device == 0);
    CHECK_INT(CALL(int, cudaMemcpy, (void *, void *, size_t, int), (&value, opened, 1, 2)), 0);
    CHECK_INT(value, 0);
    CHECK_INT(CALL(int, cudaIpcCloseMemHandle, (void *), (opened)), 0);
    CHECK_INT(CALL(int, cudaIpcCloseMemHandle, (void *), (opened)), 1);
    CHECK_INT(CALL(int, cudaIpcCloseMemHandle, (void *), (again)), 0);
    CHECK_INT(open_shared(&opened, unknown), 1);
    CHECK(opened == NULL);
    CHECK_INT(CALL(int, cudaIpcGetMemHandle, (struct shared *, void *), (&shared, &value)), 1);
}

TEST(an_event_of_another_process_is_over)
{
    struct shared shared;
    void *event, *opened = NULL;
    open_with("gpu=t4");
    CALL(int, cudaEventCreate, (void **), (&event));
    CHECK_INT(CALL(int, cudaIpcGetEventHandle, (struct shared *, void *), (&shared, event)), 0);
    CHECK_INT(CALL(int, cudaIpcOpenEventHandle, (void **, struct shared), (&opened, shared)), 0);
    REQUIRE(opened != NULL);
    CHECK_INT(CALL(int, cudaStreamWaitEvent, (void *, void *, unsigned), (NULL, opened, 0)), 0);
    CHECK_INT(CALL(int, cudaEventQuery, (void *), (opened)), 0);
    CHECK_INT(CALL(int, cudaEventDestroy, (void *), (opened)), 0);
}

static int status_of(void *stream)
{
    int status = -1;
    CALL(int, cudaStreamIsCapturing, (void *, int *), (stream, &status));
    return status;
}

/* A second stream joins by an event, and leaves when the first one ends. */
TEST(a_capture_counts_what_is_put_in)
{
    void *first, *second, *event, *graph, *exec;
    size_t nodes = 0;
    open_with("gpu=t4");
    CALL(int, cudaStreamCreate, (void **), (&first));
    CALL(int, cudaStreamCreate, (void **), (&second));
    CALL(int, cudaEventCreate, (void **), (&event));
    CHECK_INT(CALL(int, cudaStreamBeginCapture, (void *, int), (first, 0)), 0);
    CHECK_INT(CALL(int, cudaStreamBeginCapture, (void *, int), (first, 0)), 903);
    CALL(int, cudaEventRecord, (void *, void *), (event, first));
    CHECK_INT(status_of(second), 0);
    CALL(int, cudaStreamWaitEvent, (void *, void *, unsigned), (second, event, 0));
    CHECK(status_of(first) == 1 && status_of(second) == 1);
    CALL(int, cudaMemsetAsync, (void *, int, size_t, void *), (NULL, 0, 0, first));
    CALL(int, cudaMemsetAsync, (void *, int, size_t, void *), (NULL, 0, 0, second));
    CHECK_INT(CALL(int, cudaStreamEndCapture, (void *, void **), (first, &graph)), 0);
    CHECK(status_of(first) == 0 && status_of(second) == 0);
    CALL(int, cudaGraphGetNodes, (void *, void **, size_t *), (graph, NULL, &nodes));
    CHECK_INT(nodes, 2);
    CHECK_INT(CALL(int, cudaGraphInstantiateWithFlags, (void **, void *, unsigned long long),
                   (&exec, graph, 0)),
              0);
    CHECK_INT(CALL(int, cudaGraphLaunch, (void *, void *), (exec, first)), 0);
    CHECK_INT(CALL(int, cudaStreamEndCapture, (void *, void **), (first, &graph)), 903);
    /* One in which a library alone did something is not empty. */
    CHECK_INT(CALL(int, cudaStreamBeginCapture, (void *, int), (first, 0)), 0);
    CHECK_INT(CALL(int, cudaStreamEndCapture, (void *, void **), (first, &graph)), 0);
    CALL(int, cudaGraphGetNodes, (void *, void **, size_t *), (graph, NULL, &nodes));
    CHECK_INT(nodes, 1);
}

/* PyTorch asks the driver's functions by name and finds those of the newest version. */
TEST(the_driver_is_found_by_name)
{
    int (*reserve)(uint64_t *, size_t, size_t, uint64_t, unsigned long long);
    int (*alloc)(uint64_t *, size_t), found = 7;
    uint64_t address = 0;
    void *function;
    open_with("gpu=t4");
    CALL(int, cudaGetDriverEntryPointByVersion,
         (const char *, void **, unsigned, unsigned long long, int *),
         ("cuMemAddressReserve", &function, 12000, 0, &found));
    CHECK_INT(found, 0);
    memcpy(&reserve, &function, sizeof reserve);
    CHECK_INT(reserve(&address, 64 * MIB, 0, 0, 0), 0);
    CHECK(address && address % (2 * MIB) == 0);
    CALL(int, cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *),
         ("cuMemAlloc", &function, 12000, 0, &found));
    memcpy(&alloc, &function, sizeof alloc);
    CHECK_INT(alloc(&address, 5), 0);
    CHECK_INT(CALL(int, cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *),
                   ("cuNothing", &function, 12000, 0, &found)),
              500);
    CHECK(function == NULL && found == 1);
}

/* Every element of the weights belongs to one matrix or bias, whatever the network. */
/* What torch.compile needs to load and to ask before it launches a kernel that Triton compiled. */
TEST(a_compiled_kernel_is_loaded)
{
    void *module = NULL, *function = NULL;
    size_t limit = 7;
    int registers = 0;
    open_with("gpu=t4");
    CHECK_INT(CALL(int, cuCtxSetLimit, (int, size_t), (1, 4096)), 0);
    CHECK_INT(CALL(int, cuCtxGetLimit, (size_t *, int), (&limit, 1)), 0);
    CHECK_INT(limit, 4096);
    CHECK_INT(CALL(int, cuModuleLoad, (void **, const char *), (&module, "kernel.cubin")), 0);
    CHECK_INT(CALL(int, cuModuleGetFunction, (void **, void *, const char *),
                   (&function, module, "kernel")),
              0);
    CHECK_INT(CALL(int, cuFuncGetAttribute, (int *, int, void *), (&registers, 4, function)), 0);
    CHECK(module && function && registers > 0);
}

TEST(weights_of_a_network_fill_their_space)
{
    void *rnn, *matrix, *bias;
    size_t bytes, covered = 0;
    int type, dims, size[3], stride[3];
    open_with("gpu=t4");
    CALL(int, cudnnCreateRNNDescriptor, (void **), (&rnn));
    CALL(int, cudnnCreateTensorDescriptor, (void **), (&matrix));
    CALL(int, cudnnCreateTensorDescriptor, (void **), (&bias));
    /* LSTM, two biases, both ways, of floats: 5 inputs, 7 hidden, 2 layers */
    CALL(int, cudnnSetRNNDescriptor_v8,
         (void *, int, int, int, int, int, int, int, int, int32_t, int32_t, int32_t, int32_t,
          void *, uint32_t),
         (rnn, 0, 2, 2, 1, 0, 0, 0, 0, 5, 7, 7, 2, NULL, 0));
    CALL(int, cudnnGetRNNWeightSpaceSize, (void *, void *, size_t *), (NULL, rnn, &bytes));
    for (int32_t pseudo = 0; pseudo < 4; pseudo++) {
        for (int32_t id = 0; id < 8; id++) {
            char *at, *bias_at, *space = (char *)64;
            CALL(int, cudnnGetRNNWeightParams,
                 (void *, void *, int32_t, size_t, const void *, int32_t, void *, char **, void *,
                  char **),
                 (NULL, rnn, pseudo, bytes, space, id, matrix, &at, bias, &bias_at));
            CALL(int, cudnnGetTensorNdDescriptor, (void *, int, int *, int *, int *, int *),
                 (matrix, 3, &type, &dims, size, stride));
            size_t here = 4 * (size_t)size[1] * (size_t)size[2];
            CHECK(at >= space && (size_t)(at - space) + here <= bytes);
            CHECK(bias_at > at && (size_t)(bias_at - space) + 28 <= bytes);
            covered += here + 28;
        }
    }
    CHECK_INT(covered, bytes);
}

TEST(attributes_of_a_graph_come_back)
{
    void *descriptor;
    int64_t value = 77, got = 0, count = 0;
    open_with("gpu=t4");
    CALL(int, cudnnBackendCreateDescriptor, (int, void **), (1, &descriptor));
    CALL(int, cudnnBackendSetAttribute, (void *, int, int, int64_t, const void *),
         (descriptor, 999, 3, 1, &value));
    CALL(int, cudnnBackendGetAttribute, (void *, int, int, int64_t, int64_t *, void *),
         (descriptor, 999, 3, 1, &count, &got));
    CHECK(count == 1 && got == 77);
    CALL(int, cudnnBackendGetAttribute, (void *, int, int, int64_t, int64_t *, void *),
         (descriptor, 998, 3, 1, &count, &got));
    CHECK_INT(count, 0);
    CALL(int, cudnnBackendDestroyDescriptor, (void *), (descriptor));
}

struct memory {
    unsigned long long total, free, used;
};

TEST(nvml_tells_what_cuda_took)
{
    struct memory memory;
    void *device, *p;
    char name[64];
    open_with("gpu=cc=8.0,memory=1GiB;context=104857600");
    CHECK_INT(CALL(int, nvmlInit_v2, (void), ()), 0);
    CHECK_INT(CALL(int, nvmlDeviceGetHandleByPciBusId_v2, (const char *, void **),
                   ("00000000:01:00.0", &device)),
              0);
    REQUIRE(CALL(int, cudaMalloc, (void **, size_t), (&p, 20 * MIB)) == 0);
    CHECK_INT(CALL(int, nvmlDeviceGetMemoryInfo, (void *, struct memory *), (device, &memory)), 0);
    CHECK_INT(memory.used, 120 * MIB);
    CHECK_INT(memory.free, memory.total - memory.used);
    CHECK_INT(CALL(int, nvmlDeviceGetName, (void *, char *, unsigned), (device, name, 64)), 0);
    CHECK_STR(name, "Rehearsed GPU, capability 8.0");
}

/* PyTorch 2.13 wants an answer before it maps its first segment. */
TEST(nvml_knows_of_no_fabric)
{
    enum { WORDS = 10, VERSION = 3 << 24 };
    unsigned info[WORDS + 1];
    void *device;
    open_with("gpu=cc=8.0,memory=1GiB;context=104857600");
    memset(info, 0xff, sizeof info);
    info[0] = VERSION | WORDS * sizeof *info;
    CHECK_INT(CALL(int, nvmlDeviceGetHandleByIndex_v2, (unsigned, void **), (0, &device)), 0);
    CHECK_INT(CALL(int, nvmlDeviceGetGpuFabricInfoV, (void *, unsigned *), (device, info)), 0);
    CHECK_INT(info[0], VERSION | WORDS * sizeof *info);
    for (int i = 1; i < WORDS; i++)
        CHECK_INT(info[i], 0);
    CHECK_INT(info[WORDS], UINT32_MAX); /* behind the record */
    info[0] = 0;
    CHECK_INT(CALL(int, nvmlDeviceGetGpuFabricInfoV, (void *, unsigned *), (device, info)), 2);
}

TEST(nvml_knows_a_device_by_its_uuid)
{
    void *device, *again = NULL;
    char uuid[96] = "", other[96] = "";
    open_with("gpu=t4;devices=2");
    CHECK_INT(CALL(int, nvmlDeviceGetHandleByIndex_v2, (unsigned, void **), (1, &device)), 0);
    CHECK_INT(CALL(int, nvmlDeviceGetUUID, (void *, char *, unsigned), (device, uuid, 96)), 0);
    CHECK(strlen(uuid) == 40 && strncmp(uuid, "GPU-", 4) == 0);
    CHECK_INT(CALL(int, nvmlDeviceGetHandleByUUID, (const char *, void **), (uuid, &again)), 0);
    CHECK(again == device);
    CHECK_INT(CALL(int, nvmlDeviceGetHandleByIndex_v2, (unsigned, void **), (0, &device)), 0);
    CHECK_INT(CALL(int, nvmlDeviceGetUUID, (void *, char *, unsigned), (device, other, 96)), 0);
    CHECK(strcmp(uuid, other) != 0);
    CHECK_INT(CALL(int, nvmlDeviceGetHandleByUUID, (const char *, void **), ("GPU-", &again)), 6);
}

TEST(a_table_writes_what_it_says)
{
    void *handle = NULL;
    int bytes = 7;
    open_with("gpu=t4");
    CHECK_INT(CALL(int, cublasCreate_v2, (void **), (&handle)), 0);
    CHECK(handle != NULL);
    CHECK_INT(CALL(int, cublasDestroy_v2, (void *), (handle)), 0);
    CHECK_INT(CALL(int, cusolverDnSgetrf_bufferSize, (void *, int, int, float *, int, int *),
                   (NULL, 3, 3, NULL, 3, &bytes)),
              0);
    CHECK_INT(bytes, 0);
}

/* A number for the host is zero, and not what lay there; one for the device lies nowhere. */
TEST(a_sum_for_the_host_is_zero)
{
    float sum[2] = {7, 7};
    void *on_device;
    open_with("gpu=t4");
    REQUIRE(CALL(int, cudaMalloc, (void **, size_t), (&on_device, 100)) == 0);
    CHECK_INT(CALL(int, cublasSdot_v2, (void *, int, void *, int, void *, int, float *),
                   (NULL, 5, on_device, 1, on_device, 1, sum)),
              0);
    CHECK(sum[0] == 0 && sum[1] == 7);
    CHECK_INT(CALL(int, cublasSnrm2_v2, (void *, int, void *, int, void *),
                   (NULL, 5, on_device, 1, on_device)),
              0);
}

/* CUB looks for the capability of the kernels that the program carries, which is not each GPU's. */
static void kernels_are_for(const char *settings, int capability)
{
    struct {
        size_t sizes[3];
        int threads, registers, ptx, binary, more[100];
    } out = {.binary = -1};
    open_with(settings);
    CHECK_INT(CALL(int, cudaFuncGetAttributes, (void *, const void *), (&out, &out)), 0);
    CHECK_INT(out.ptx, capability);
    CHECK_INT(out.binary, capability);
}

TEST(kernels_of_an_ada_are_those_of_an_ampere)
{
    kernels_are_for("gpu=l4", 86);
}

TEST(kernels_of_others_are_their_own)
{
    kernels_are_for("gpu=h100-80gb", 90);
}

TEST_MAIN(TEST_CASE(kernels_of_an_ada_are_those_of_an_ampere),
          TEST_CASE(kernels_of_others_are_their_own),
          TEST_CASE(without_settings_there_is_no_device), TEST_CASE(properties_of_cuda_12),
          TEST_CASE(properties_of_cuda_13), TEST_CASE(a_full_card_refuses),
          TEST_CASE(devices_are_apart), TEST_CASE(an_address_says_what_it_is),
          TEST_CASE(memory_of_another_process_has_an_address_here),
          TEST_CASE(an_event_of_another_process_is_over),
          TEST_CASE(a_capture_counts_what_is_put_in), TEST_CASE(the_driver_is_found_by_name),
          TEST_CASE(a_compiled_kernel_is_loaded), TEST_CASE(weights_of_a_network_fill_their_space),
          TEST_CASE(attributes_of_a_graph_come_back), TEST_CASE(nvml_tells_what_cuda_took),
          TEST_CASE(nvml_knows_of_no_fabric), TEST_CASE(nvml_knows_a_device_by_its_uuid),
          TEST_CASE(a_table_writes_what_it_says), TEST_CASE(a_sum_for_the_host_is_zero))
