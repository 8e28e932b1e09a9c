/*
 * nccl.c - NCCL: communicators. What its buffers take of a device is not known, and not charged.
 */
#include "current.h"
#include "driver_memory.h"
#include "meeting.h"
#include "nccl.h"
#include "stub.h"

#define NCCL_VERSION 22809
#define UNIQUE_ID_BYTES 128
#define OPERATIONS_OF_NCCL 5

/* ncclUniqueId is passed by value. It says where the ranks meet. */
struct unique_id {
    struct meeting_place place;
    char bytes[UNIQUE_ID_BYTES - sizeof(struct meeting_place)];
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
    id->place = meeting_make();
    memcpy(id->bytes, "tidemark", 8);
    return NCCL_FINE;
}

/* Between these a thread makes communicators of several ranks, which wait for none of each other.
 */
static _Thread_local int groups;

API(int, ncclGroupStart, void)
{
    groups++;
    return NCCL_FINE;
}

API(int, ncclGroupEnd, void)
{
    groups--;
    return NCCL_FINE;
}

static int make(struct communicator **out, int size, int rank, int device, uint32_t meeting)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return NCCL_SYSTEM_ERROR;
    **out = (struct communicator){rank, size, device, meeting};
    read_outside("NCCL");
    return NCCL_FINE;
}

static int join(struct communicator **out, const struct unique_id *id, int size, int rank)
{
    uint32_t meeting = meeting_join(&id->place, size, rank, groups == 0);
    return make(out, size, rank, current_device(), meeting);
}

/* All ranks in one process: none waits for the others to join. */
API(int, ncclCommInitAll, struct communicator **out, int size, const int *devices)
{
    struct meeting_place place = meeting_make();
    int err = NCCL_FINE;
    for (int i = 0; i < size && !err; i++) {
        uint32_t meeting = meeting_join(&place, size, i, false);
        err = make(&out[i], size, i, devices ? devices[i] : i, meeting);
    }
    meeting_close(&place);
    return err;
}

API(int, ncclCommInitRank, struct communicator **out, int size, struct unique_id id, int rank)
{
    return join(out, &id, size, rank);
}

API(int, ncclCommInitRankConfig, struct communicator **out, int size, struct unique_id id, int rank,
    void *config)
{
    (void)config;
    return join(out, &id, size, rank);
}

API(int, ncclCommInitRankScalable, struct communicator **out, int size, int rank, int ids,
    const struct unique_id *unique, void *config)
{
    (void)config;
    const struct unique_id none = {.place = {.key = 0}};
    return join(out, ids > 0 ? unique : &none, size, rank);
}

/* Which ranks go together only all of them know. Where they cannot meet, as many as there are is an
 * upper bound. */
API(int, ncclCommSplit, const struct communicator *from, int color, int key,
    struct communicator **out, void *config)
{
    uint32_t meeting = 0;
    int size = from->size, rank = from->rank;
    (void)config;
    (void)meeting_split(from->meeting, color, key, &meeting, &size, &rank);
    *out = NULL;
    return color < 0 ? NCCL_FINE : make(out, size, rank, from->device, meeting);
}

API(int, ncclCommDestroy, struct communicator *communicator)
{
    if (communicator)
        meeting_leave(communicator->meeting);
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

/* An operation of the program's own, a number of four bytes behind NCCL's: a sum of what is
 * multiplied first, which is not added up here. */
API(int, ncclRedOpCreatePreMulSum, int *operation, const void *scalar, int type, int residence,
    void *communicator)
{
    static _Atomic int made = OPERATIONS_OF_NCCL;
    (void)scalar, (void)type, (void)residence, (void)communicator;
    *operation = made++;
    return NCCL_FINE;
}

API(int, ncclMemAlloc, void **pointer, size_t bytes)
{
    uint64_t address;
    int err = cuMemAlloc_v2(&address, bytes);
    *pointer = (void *)(uintptr_t)address;
    return err ? NCCL_SYSTEM_ERROR : NCCL_FINE;
}

API(int, ncclMemFree, void *pointer)
{
    return cuMemFree_v2((uint64_t)(uintptr_t)pointer) ? NCCL_SYSTEM_ERROR : NCCL_FINE;
}

#include "nccl.def"
