/*
 * machine_host.c - the host's memory, as CUDA pins it.
 */
#include <sys/mman.h>

#include "error.h"
#include "machine_state.h"

#define HOST_PAGE UINT64_C(4096)

void machine_free_pinned(const struct extent *extent)
{
    if (extent->kind == EXTENT_PINNED)
        munmap((void *)(uintptr_t)extent->base, extent->bytes);
}

static int add_host(int32_t device, uint64_t address, uint64_t bytes, enum extent_kind kind)
{
    struct extent extent = {.base = address, .bytes = bytes, .device = device, .kind = kind};
    pthread_mutex_lock(&machine.lock);
    bool added = extents_add(&machine.extents, &extent);
    pthread_mutex_unlock(&machine.lock);
    return added ? BASE_OK : ERR_EXISTS;
}

int machine_pin(int32_t device, uint64_t bytes, uint64_t *address)
{
    uint64_t room = machine_round_up(bytes ? bytes : 1, HOST_PAGE);
    *address = 0;
    void *got = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED)
        return ERR_NOMEM;
    if (add_host(device, (uint64_t)(uintptr_t)got, room, EXTENT_PINNED) != BASE_OK) {
        munmap(got, room);
        return ERR_NOMEM;
    }
    *address = (uint64_t)(uintptr_t)got;
    return BASE_OK;
}

int machine_unpin(uint64_t address)
{
    struct extent extent;
    pthread_mutex_lock(&machine.lock);
    bool found = machine_remove(address, EXTENT_PINNED, &extent);
    pthread_mutex_unlock(&machine.lock);
    if (found)
        machine_free_pinned(&extent);
    return found ? BASE_OK : ERR_NOTFOUND;
}

int machine_register(int32_t device, uint64_t address, uint64_t bytes)
{
    return address && bytes ? add_host(device, address, bytes, EXTENT_REGISTERED) : ERR_ARG;
}

int machine_unregister(uint64_t address)
{
    struct extent extent;
    pthread_mutex_lock(&machine.lock);
    bool found = machine_remove(address, EXTENT_REGISTERED, &extent);
    pthread_mutex_unlock(&machine.lock);
    return found ? BASE_OK : ERR_NOTFOUND;
}
