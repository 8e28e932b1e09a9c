/*
 * nccl.c - NCCL for ranks that all do the same: a collective brings no data, for there is none, and
 * waits for nobody. What its buffers take of a device is not known, and not charged.
 */
#include "current.h"
#include "machine.h"
#include "stub.h"

#define NCCL_VERSION 22809
#define UNIQUE_ID_BYTES 128

struct communicator {
    int32_t rank, size, device;
};

enum { NCCL_FINE = 0, NCCL_SYSTEM_ERROR = 2 };

/* ncclUniqueId is passed by value. */
struct unique_id {
    char bytes[UNIQUE_ID_BYTES];
};

API(int, ncclGetVersion, int *version)
{
    *version = NCCL_VERSION;
    return NCCL_FINE;
}

API(const char *, ncclGetErrorString, int result)
{
    return result == NCCL_FINE ? "no error" : "unhandled system error";
}

API(const char *, ncclGetLastError, void *communicator)
{
    (void)communicator;
    return "";
}

API(int, ncclGetUniqueId, struct unique_id *id)
{
    memset(id, 0, sizeof *id);
    memcpy(id->bytes, "tidemark", 8);
    return NCCL_FINE;
}

static int join(struct communicator **out, int size, int rank)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return NCCL_SYSTEM_ERROR;
    **out = (struct communicator){rank, size, current_device()};
    return NCCL_FINE;
}

API(int, ncclCommInitRank, struct communicator **out, int size, struct unique_id id, int rank)
{
    (void)id;
    return join(out, size, rank);
}

API(int, ncclCommInitRankConfig, struct communicator **out, int size, struct unique_id id, int rank,
    void *config)
{
    (void)id, (void)config;
    return join(out, size, rank);
}

API(int, ncclCommInitRankScalable, struct communicator **out, int size, int rank, int ids,
    void *unique, void *config)
{
    (void)ids, (void)unique, (void)config;
    return join(out, size, rank);
}

/* Which ranks go together only all of them know. The size is an upper bound. */
API(int, ncclCommSplit, const struct communicator *from, int color, int key,
    struct communicator **out, void *config)
{
    (void)color, (void)key, (void)config;
    return join(out, from->size, from->rank);
}

API(int, ncclCommDestroy, struct communicator *communicator)
{
    free(communicator);
    return NCCL_FINE;
}

API(int, ncclCommAbort, struct communicator *communicator)
{
    return ncclCommDestroy(communicator);
}

API(int, ncclCommCount, const struct communicator *communicator, int *size)
{
    *size = communicator->size;
    return NCCL_FINE;
}

API(int, ncclCommUserRank, const struct communicator *communicator, int *rank)
{
    *rank = communicator->rank;
    return NCCL_FINE;
}

API(int, ncclCommCuDevice, const struct communicator *communicator, int *device)
{
    *device = communicator->device;
    return NCCL_FINE;
}

API(int, ncclCommGetAsyncError, void *communicator, int *result)
{
    (void)communicator;
    *result = NCCL_FINE;
    return NCCL_FINE;
}

API(int, ncclMemAlloc, void **pointer, size_t bytes)
{
    uint64_t address;
    int err = machine_take(current_device(), bytes, &address);
    *pointer = (void *)(uintptr_t)address;
    return err ? NCCL_SYSTEM_ERROR : NCCL_FINE;
}

API(int, ncclMemFree, void *pointer)
{
    return machine_give((uint64_t)(uintptr_t)pointer) ? NCCL_SYSTEM_ERROR : NCCL_FINE;
}

#include "nccl.def"
