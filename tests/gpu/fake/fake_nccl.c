/* fake_nccl.c - what ddp_buckets calls of NCCL, for one rank: see fake_cuda.c. */
#include <nccl.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* ncclMemAlloc's addresses are on the device, so they come from behind what the driver hands out.
 */
enum { SLOTS = 64 };
static char *const slots_begin = (char *)0x7f2000000000 + (UINT64_C(4) << 30);
static const size_t slot_bytes = UINT64_C(32) << 20;
static int slot_taken[SLOTS];
static int comm;

EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    memset(id, 7, sizeof *id);
    return ncclSuccess;
}

EXPORT ncclResult_t ncclCommInitRank(ncclComm_t *made, int count, ncclUniqueId id, int rank)
{
    *made = (ncclComm_t)&comm;
    return count == 1 && rank == 0 && id.internal[3] == 7 ? ncclSuccess : ncclInvalidArgument;
}

EXPORT ncclResult_t ncclCommDestroy(ncclComm_t made)
{
    return made == (ncclComm_t)&comm ? ncclSuccess : ncclInvalidArgument;
}

EXPORT const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclSuccess ? "success" : "an error of the fake";
}

EXPORT ncclResult_t ncclGetVersion(int *version)
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

/* Of one rank the sum and the mean are what it has. */
EXPORT ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                                  ncclRedOp_t operation, ncclComm_t with, cudaStream_t stream)
{
    if (type != ncclFloat || stream || with != (ncclComm_t)&comm ||
        (operation != ncclSum && operation != ncclAvg))
        return ncclInvalidArgument;
    memmove(to, from, count * sizeof(float));
    return ncclSuccess;
}

EXPORT ncclResult_t ncclMemAlloc(void **address, size_t bytes)
{
    for (size_t i = 0; i < SLOTS && bytes <= slot_bytes; i++)
        if (!slot_taken[i]) {
            slot_taken[i] = 1;
            *address = slots_begin + i * slot_bytes;
            return ncclSuccess;
        }
    return ncclSystemError;
}

EXPORT ncclResult_t ncclMemFree(void *address)
{
    size_t slot = (size_t)((char *)address - slots_begin) / slot_bytes;
    if (slot >= SLOTS || !slot_taken[slot])
        return ncclInvalidArgument;
    slot_taken[slot] = 0;
    return ncclSuccess;
}
