/*
 * stub.h - functions that only have to succeed, as tables of names. A table says of each function
 * what it writes; everything else about it does not matter, for nothing is computed:
 *
 *     SETS(name)           returns success, and writes nothing of the device's
 *     SUCCEED_OF(name, n)  returns success, and may have written what its n arguments lead to
 *     SUCCEED(name)        the same, where nobody counted the arguments
 *     WRITES(name)         and what no argument leads to: through a descriptor, or a list of
 *                          addresses on the device
 *     HANDLE(name, i)      and writes a new handle where argument i points to
 *     DESTROY(name, i)     and takes back such a handle, and no other
 *     RESULT(name, i, n)   and writes n zeros where argument i points to, if that is on the host: a
 *                          number that is not computed
 *     COUNT(name, i, n)    and the same of a number that decides a size, which is told
 *     ZERO32(name, i)      and writes a size of 0 there, of 4 bytes: what a library wants for
 *                          itself, which is not known, and is told
 *     ZERO64(name, i)      of 8 bytes
 *     ZERO64_2(name, i, j) two of them
 *     REFUSE(name)         returns that it is not supported; of the runtime and the driver only
 *
 * What a program gets by pointer it goes on with: a function that leaves it as it was is none of
 * these, for what lay there is anything.
 *
 * Arguments count from 0, without those of type float and double, which travel elsewhere.
 */
#ifndef TIDEMARK_REHEARSAL_STUB_H
#define TIDEMARK_REHEARSAL_STUB_H

#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi.h"
#include "machine.h"
#include "read_back.h"
#include "values.h"

/* What every handle of a stub points to: as much as a program may want to look at. */
#define STUB_HANDLE_BYTES 64

#define STUB_UNUSED __attribute__((unused)) uint64_t
#define STUB_ARGUMENTS                                                                             \
    STUB_UNUSED a0, STUB_UNUSED a1, STUB_UNUSED a2, STUB_UNUSED a3, STUB_UNUSED a4,                \
        STUB_UNUSED a5, STUB_UNUSED a6, STUB_UNUSED a7, STUB_UNUSED a8, STUB_UNUSED a9,            \
        STUB_UNUSED a10, STUB_UNUSED a11, STUB_UNUSED a12, STUB_UNUSED a13, STUB_UNUSED a14,       \
        STUB_UNUSED a15, STUB_UNUSED a16, STUB_UNUSED a17, STUB_UNUSED a18, STUB_UNUSED a19

static inline uint64_t stub_handle(uint64_t to)
{
    void *handle = calloc(1, STUB_HANDLE_BYTES);
    memcpy((void *)(uintptr_t)to, &handle, sizeof handle);
    return handle ? 0 : 1;
}

static inline uint64_t stub_zero(uint64_t to, size_t bytes)
{
    if (to)
        memset((void *)(uintptr_t)to, 0, bytes);
    return 0;
}

static inline uint64_t stub_result(uint64_t to, size_t bytes)
{
    void *host = (void *)(uintptr_t)to;
    if (host && !machine_is_on_device(host))
        memset(host, 0, bytes);
    return 0;
}

static inline uint64_t stub_count(uint64_t to, size_t bytes)
{
    read_back(bytes, true, false);
    return stub_result(to, bytes);
}

static inline uint64_t stub_destroy(uint64_t handle)
{
    free((void *)(uintptr_t)handle);
    return 0;
}

#define STUB(name, value)                                                                          \
    API(uint64_t, name, STUB_ARGUMENTS)                                                            \
    {                                                                                              \
        return value;                                                                              \
    }
/* What it computes nobody does here, and floats that were known may lie where it writes. */
#define ALL_ARGUMENTS                                                                              \
    ((const uint64_t[]){a0,  a1,  a2,  a3,  a4,  a5,  a6,  a7,  a8,  a9,                           \
                        a10, a11, a12, a13, a14, a15, a16, a17, a18, a19})
#define SUCCEED_OF(name, n) STUB(name, (values_forget_led_to(ALL_ARGUMENTS, n), 0))
#define SUCCEED(name) SUCCEED_OF(name, 20)
#define SETS(name) STUB(name, 0)
#define WRITES(name) STUB(name, (values_forget_reals(), 0))
#define REFUSE(name) STUB(name, CUDA_NOT_SUPPORTED)
#define HANDLE(name, i) STUB(name, stub_handle(a##i))
#define DESTROY(name, i) STUB(name, stub_destroy(a##i))
#define RESULT(name, i, bytes) STUB(name, (values_forget_reals(), stub_result(a##i, bytes)))
#define COUNT(name, i, bytes) STUB(name, (values_forget_reals(), stub_count(a##i, bytes)))
#define ZERO32(name, i) STUB(name, (read_library(#name), stub_zero(a##i, 4)))
#define ZERO64(name, i) STUB(name, (read_library(#name), stub_zero(a##i, 8)))
#define ZERO64_2(name, i, j)                                                                       \
    STUB(name, (read_library(#name), stub_zero(a##i, 8) | stub_zero(a##j, 8)))

#endif
