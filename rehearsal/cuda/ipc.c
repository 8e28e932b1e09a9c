/*
 * ipc.c - memory and events that processes share. Nothing lies in memory, so who opens another's
 * gets addresses of its own for it, of the same size: what the other has brought there is not known
 * here. It is charged to the one who made it. Of another's events it is known that they are over.
 */
#include <string.h>
#include <unistd.h>

#include "context.h"
#include "cuda_abi.h"
#include "current.h"
#include "error.h"
#include "machine.h"
#include "stream.h"
#include "tell.h"
#include "values.h"

#define HANDLE_WORDS 8 /* of a cudaIpcMemHandle_t and a cudaIpcEventHandle_t, passed by value */
#define HANDLE_MAGIC UINT64_C(0x74696465736861)

/* No two pieces of memory have the same: a program knows by it what it has opened already. */
struct shared {
    uint64_t magic, base, bytes, process, rest[HANDLE_WORDS - 4];
};

/* The parameter as it is told. */
#define WORDS(shared)                                                                              \
    (shared).magic, (shared).base, (shared).bytes, (shared).process, (shared).rest[0],             \
        (shared).rest[1], (shared).rest[2], (shared).rest[3]

/* ---- memory ---- */

/* Pages of this process that stand for the other's. */
static int stand_for(uint64_t bytes, uint64_t *address)
{
    struct physical *pages = NULL;
    int err = machine_reserve(bytes, 0, 0, address);
    if (!err)
        err = machine_borrow(current_device(), bytes, &pages);
    if (!err)
        err = machine_map(*address, bytes, pages);
    if (pages)
        machine_release(pages); /* the mapping holds it */
    if (err && *address)
        (void)machine_unreserve(*address, bytes);
    return err;
}

static int take(uint64_t *address, const struct shared *shared)
{
    uint64_t bytes = (shared->bytes + MACHINE_PAGE - 1) & ~(MACHINE_PAGE - 1), at = 0;
    *address = 0;
    if (shared->magic != HANDLE_MAGIC)
        return CUDA_INVALID_VALUE;
    int err = context_open(current_device());
    if (!err)
        err = stand_for(bytes, &at);
    if (err)
        return cuda_from_err(err);
    values_forget(at, bytes);
    *address = at;
    return CUDA_FINE;
}

static int give(uint64_t address)
{
    struct extent extent;
    if (!machine_look(address, &extent) || extent.base != address ||
        machine_unmap(address, extent.bytes))
        return CUDA_INVALID_VALUE;
    return cuda_from_err(machine_unreserve(address, extent.bytes));
}

API(int, cuIpcGetMemHandle, struct shared *shared, uint64_t address)
{
    struct extent extent;
    if (!machine_look(address, &extent) || extent.kind != EXTENT_DEVICE)
        return CUDA_INVALID_VALUE;
    *shared = (struct shared){.magic = HANDLE_MAGIC,
                              .base = extent.base,
                              .bytes = extent.bytes,
                              .process = (uint64_t)getpid()};
    return CUDA_FINE;
}

API(int, cuIpcOpenMemHandle_v2, uint64_t *address, struct shared shared, unsigned flags)
{
    TELL(cuIpcOpenMemHandle_v2, told_word(address), WORDS(shared), flags);
    return TOLD(take(address, &shared));
}

API(int, cuIpcCloseMemHandle, uint64_t address)
{
    TELL(cuIpcCloseMemHandle, address);
    return TOLD(give(address));
}

API(int, cudaIpcGetMemHandle, struct shared *shared, const void *pointer)
{
    return current_result(cuIpcGetMemHandle(shared, told_word(pointer)));
}

API(int, cudaIpcOpenMemHandle, void **pointer, struct shared shared, unsigned flags)
{
    uint64_t address = 0;
    TELL(cudaIpcOpenMemHandle, told_word(pointer), WORDS(shared), flags);
    int result = cuIpcOpenMemHandle_v2(&address, shared, flags);
    *pointer = (void *)(uintptr_t)address;
    return current_result(TOLD(result));
}

API(int, cudaIpcCloseMemHandle, void *pointer)
{
    TELL(cudaIpcCloseMemHandle, told_word(pointer));
    return current_result(TOLD(cuIpcCloseMemHandle(told_word(pointer))));
}

/* ---- events ---- */

API(int, cudaIpcGetEventHandle, struct shared *shared, const void *event)
{
    (void)event;
    *shared = (struct shared){.magic = HANDLE_MAGIC};
    return CUDA_FINE;
}

API(int, cudaIpcOpenEventHandle, void **event, struct shared shared)
{
    (void)shared;
    *event = event_new(0);
    return current_result(*event ? CUDA_FINE : CUDA_OUT_OF_MEMORY);
}
