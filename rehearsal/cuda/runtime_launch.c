/*
 * runtime_launch.c - kernels: what a program registers when it is loaded, and launches, which are
 * counted. Those of them that make small whole numbers are computed (values/kernels.h), all others
 * do nothing.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "cuda_abi.h"
#include "current.h"
#include "device.h"
#include "kernels.h"
#include "launch_count.h"
#include "machine.h"
#include "mem.h"
#include "record.h"
#include "stream.h"
#include "values.h"

#define CONFIGURATIONS_MAX 64 /* launches inside of arguments of launches */

static _Atomic uint64_t launches;

uint64_t launch_count(void)
{
    return atomic_load(&launches);
}

/* What a kernel of the driver's leads to it may write. */
static void forget(const struct cubin_kernel *kernel, void **arguments)
{
    if (!kernel || kernel->parameters < 0 || !arguments) {
        values_forget_all();
        return;
    }
    for (int32_t i = 0; i < kernel->parameters; i++) {
        uint64_t word;
        if (kernel->bytes[i] != sizeof word)
            continue;
        memcpy(&word, arguments[i], sizeof word);
        if (machine_is_on_device((const void *)(uintptr_t)word))
            values_forget_run(word);
    }
}

/* Larger ones, passed by value, may have addresses inside. */
static bool has_structures(const struct cubin_kernel *kernel)
{
    for (int32_t i = 0; kernel && i < kernel->parameters; i++)
        if (kernel->bytes[i] > sizeof(uint64_t))
            return true;
    return false;
}

int launch(const struct cubin_kernel *kernel, void **arguments, void *stream)
{
    atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
    bool captured = stream_put(stream);
    if (captured)
        record_to(&stream_capture(stream_of(stream))->graph->writes);
    if (captured || values_any())
        forget(has_structures(kernel) ? NULL : kernel, arguments);
    record_to(NULL);
    return CUDA_FINE;
}

/* ---- registration, called by constructors of the program's libraries ---- */

API(void **, __cudaRegisterFatBinary, void *binary)
{
    void **handle = mem_alloc(1, sizeof *handle);
    if (handle)
        *handle = binary;
    return handle;
}

API(void, __cudaRegisterFatBinaryEnd, void **handle)
{
    (void)handle;
}

static void unregister_variables(const void *binary);

API(void, __cudaUnregisterFatBinary, void **handle)
{
    kernels_unregister(handle);
    unregister_variables(handle);
    mem_free(handle);
}

API(char, __cudaInitModule, void **handle)
{
    (void)handle;
    return 1;
}

API(void, __cudaRegisterFunction, void **handle, const char *function, char *on_device,
    const char *name)
{
    (void)on_device;
    kernels_register(handle, function, name);
}

/* Variables of the device: each has memory on the host, for its address is all that is asked. */
static struct {
    pthread_mutex_t lock;
    struct variable {
        const void *symbol, *binary;
        size_t bytes;
        void *memory; /* once it was asked for */
    } * list;
    size_t count, cap;
} variables = {.lock = PTHREAD_MUTEX_INITIALIZER};

API(void, __cudaRegisterVar, void **handle, const void *symbol, const void *on_device,
    const char *name, int external, size_t bytes, int constant, int global)
{
    (void)on_device, (void)name, (void)external, (void)constant, (void)global;
    pthread_mutex_lock(&variables.lock);
    if (MEM_GROW(variables.list, variables.cap, variables.count + 1))
        variables.list[variables.count++] =
            (struct variable){.symbol = symbol, .binary = handle, .bytes = bytes};
    pthread_mutex_unlock(&variables.lock);
}

static void unregister_variables(const void *binary)
{
    size_t kept = 0;
    pthread_mutex_lock(&variables.lock);
    for (size_t i = 0; i < variables.count; i++) {
        if (variables.list[i].binary == binary)
            mem_free(variables.list[i].memory);
        else
            variables.list[kept++] = variables.list[i];
    }
    variables.count = kept;
    pthread_mutex_unlock(&variables.lock);
}

static bool find_variable(const void *symbol, struct variable *found)
{
    bool known = false;
    pthread_mutex_lock(&variables.lock);
    for (size_t i = 0; !known && i < variables.count; i++) {
        struct variable *it = &variables.list[i];
        if (it->symbol != symbol)
            continue;
        if (!it->memory)
            it->memory = mem_alloc(1, it->bytes ? it->bytes : 1);
        *found = *it;
        known = it->memory != NULL;
    }
    pthread_mutex_unlock(&variables.lock);
    return known;
}

API(int, cudaGetSymbolAddress, void **address, const void *symbol)
{
    struct variable variable;
    if (!find_variable(symbol, &variable))
        return current_result(CUDA_INVALID_SYMBOL);
    *address = variable.memory;
    return CUDA_FINE;
}

API(int, cudaGetSymbolSize, size_t *bytes, const void *symbol)
{
    struct variable variable;
    if (!find_variable(symbol, &variable))
        return current_result(CUDA_INVALID_SYMBOL);
    *bytes = variable.bytes;
    return CUDA_FINE;
}

/* ---- launches ---- */

struct configuration {
    struct abi_dim grid, block;
    size_t shared;
    void *stream;
};
static _Thread_local struct configuration configurations[CONFIGURATIONS_MAX];
static _Thread_local unsigned configured;

API(unsigned, __cudaPushCallConfiguration, struct abi_dim grid, struct abi_dim block, size_t shared,
    void *stream)
{
    if (configured == CONFIGURATIONS_MAX)
        return 1;
    configurations[configured++] = (struct configuration){grid, block, shared, stream};
    return 0;
}

API(int, __cudaPopCallConfiguration, struct abi_dim *grid, struct abi_dim *block, size_t *shared,
    void *stream)
{
    if (configured == 0)
        return current_result(CUDA_MISSING_CONFIGURATION);
    const struct configuration *it = &configurations[--configured];
    *grid = it->grid;
    *block = it->block;
    *shared = it->shared;
    memcpy(stream, &it->stream, sizeof it->stream);
    return CUDA_FINE;
}

/* In a graph that is being captured it does not run: where it would write is kept. */
static int run(const void *function, const struct abi_dim *grid, void **arguments, void *stream)
{
    atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
    bool captured = stream_put(stream);
    if (captured)
        record_to(&stream_capture(stream_of(stream))->graph->writes);
    kernels_launch(function, (const uint32_t[]){grid->x, grid->y, grid->z}, arguments);
    record_to(NULL);
    return CUDA_FINE;
}

API(int, cudaLaunchKernel, const void *function, struct abi_dim grid, struct abi_dim block,
    void **arguments, size_t shared, void *stream)
{
    (void)block, (void)shared;
    return run(function, &grid, arguments, stream);
}

API(int, cudaLaunchCooperativeKernel, const void *function, struct abi_dim grid,
    struct abi_dim block, void **arguments, size_t shared, void *stream)
{
    return cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}

API(int, cudaLaunchKernelExC, const struct abi_launch *how, const void *function, void **arguments)
{
    return run(function, &how->grid, arguments, how->stream);
}

/* CUDA 13: a kernel's handle, asked for once, is launched instead of the function. */
API(int, __cudaGetKernel, const void **kernel, const void *function)
{
    *kernel = function;
    return CUDA_FINE;
}

API(int, __cudaLaunchKernel, const void *kernel, struct abi_dim grid, struct abi_dim block,
    void **arguments, size_t shared, void *stream)
{
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

API(int, cudaGraphLaunch, void *exec, void *stream)
{
    struct graph *graph = exec;
    atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
    if (stream_put(stream)) /* a graph in a graph */
        record_copy(&stream_capture(stream_of(stream))->graph->writes, &graph->writes);
    else
        record_replay(&graph->writes);
    return CUDA_FINE;
}

/* ---- what a kernel is ---- */

/* Programs carry kernels for some capabilities only; of a major version each runs on those behind
 * it. PyTorch's packages have none for 8.7, 8.9, 10.3 and 12.1, and CUB looks among those that it
 * was built for: another number is an error to it. */
static int carried_for(int cc)
{
    static const int carried[] = {120, 100, 90, 86, 80};
    for (size_t i = 0; i < sizeof carried / sizeof *carried; i++)
        if (cc >= carried[i] && cc / 10 == carried[i] / 10)
            return carried[i];
    return cc;
}

/* No kernel is at hand to ask: what most of them answer. */
API(int, cudaFuncGetAttributes, struct abi_function *out, const void *function)
{
    int cc = carried_for(10 * device_attribute(75, 0) + device_attribute(76, 0));
    (void)function;
    memset(out, 0, ABI_FUNCTION_BYTES);
    out->threads = 1024;
    out->registers = 32;
    out->ptx = out->binary = cc;
    out->shared_dynamic = device_attribute(8, 0);
    return CUDA_FINE;
}

API(int, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, const void *function,
    int threads, size_t shared, unsigned flags)
{
    int most = device_attribute(106, 0);
    (void)function, (void)shared, (void)flags;
    *blocks = threads > 0 ? device_attribute(39, 0) / threads : 1;
    if (*blocks > most)
        *blocks = most;
    if (*blocks < 1)
        *blocks = 1;
    return CUDA_FINE;
}

API(int, cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, const void *function,
    int threads, size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared,
                                                                  0);
}
