/*
 * cuda_abi.h - the little of CUDA's interface that a stand-in has to know, declared by hand:
 * numbers and the layout of what is passed by pointer. Nothing of CUDA's is needed to build.
 * tests/rehearsal compares it with a toolkit's headers where there is one.
 *
 * Two majors are served by one library. What differs between them is asked of `cuda_major()`.
 */
#ifndef TIDEMARK_REHEARSAL_CUDA_ABI_H
#define TIDEMARK_REHEARSAL_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "entry.h"

/* Results of the runtime and of the driver: these numbers are the same in both. */
enum abi_cuda_result {
    CUDA_FINE = 0,
    CUDA_INVALID_VALUE = 1,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NOT_INITIALIZED = 3,
    CUDA_INVALID_SYMBOL = 13,
    CUDA_MISSING_CONFIGURATION = 52,
    CUDA_NO_DEVICE = 100,
    CUDA_INVALID_DEVICE = 101,
    CUDA_INVALID_CONTEXT = 201,
    CUDA_NOT_FOUND = 500,
    CUDA_NOT_READY = 600,
    CUDA_PEER_IS_ENABLED = 704,
    CUDA_ALREADY_REGISTERED = 712,
    CUDA_NOT_REGISTERED = 713,
    CUDA_NOT_SUPPORTED = 801,
    CUDA_CAPTURE_INVALIDATED = 901,
    CUDA_CAPTURE_UNMATCHED = 903,
    CUDA_UNKNOWN = 999
};

/* What lies at an address, to the runtime and to the driver. */
enum { MEMORY_UNREGISTERED = 0, MEMORY_HOST = 1, MEMORY_DEVICE = 2, MEMORY_MANAGED = 3 };
enum { DRIVER_MEMORY_HOST = 1, DRIVER_MEMORY_DEVICE = 2 };

/* cudaPointerAttributes */
struct abi_pointer {
    int32_t type, device;
    void *device_pointer, *host_pointer;
};

/* cudaFuncAttributes, as far as anything reads it; it has grown since. */
struct abi_function {
    size_t shared, constants, local;
    int32_t threads, registers, ptx, binary, cache_ca, shared_dynamic, carveout;
};
#define ABI_FUNCTION_BYTES 144 /* in CUDA 12 and 13 */

struct abi_dim {
    uint32_t x, y, z;
};

/* The front of cudaLaunchConfig_t, and of CUlaunchConfig the part up to the stream. */
struct abi_launch {
    struct abi_dim grid, block;
    size_t shared;
    void *stream;
};
struct abi_driver_launch {
    uint32_t grid[3], block[3], shared;
    void *stream;
};

/* CUmemAllocationProp, its front: where the memory lies. */
struct abi_memory_at {
    int32_t type, handle_types, location_type, device;
};
enum { LOCATION_DEVICE = 1 };

/* Streams that have no object of their own. */
#define STREAM_LEGACY ((void *)1)
#define STREAM_PER_THREAD ((void *)2)

#endif
