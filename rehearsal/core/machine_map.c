/*
 * machine_map.c - addresses without memory, memory without addresses, and the one in the other.
 */
#include <assert.h>

#include "error.h"
#include "machine_state.h"
#include "mem.h"

int machine_reserve(uint64_t bytes, uint64_t align, uint64_t wish, uint64_t *address)
{
    struct extent extent = {.device = -1, .kind = EXTENT_MAPPED};
    *address = 0;
    if (bytes == 0 || bytes % MACHINE_PAGE || (align & (align - 1)))
        return ERR_ARG;
    pthread_mutex_lock(&machine.lock);
    extent.bytes = bytes;
    if (wish && wish % MACHINE_PAGE == 0 && space_take_at(&machine.reserved, wish, bytes))
        extent.base = wish;
    else
        extent.base =
            space_take(&machine.reserved, bytes, align > MACHINE_PAGE ? align : MACHINE_PAGE);
    if (extent.base && !extents_add(&machine.reservations, &extent)) {
        (void)!space_give(&machine.reserved, extent.base, bytes);
        extent.base = 0;
    }
    pthread_mutex_unlock(&machine.lock);
    *address = extent.base;
    return extent.base ? BASE_OK : ERR_NOMEM;
}

/* Anything that has memory in [address, address + bytes). */
static bool is_mapped(uint64_t address, uint64_t bytes)
{
    for (uint64_t at = address; at < address + bytes; at += MACHINE_PAGE)
        if (extents_at(&machine.extents, at))
            return true;
    return false;
}

int machine_unreserve(uint64_t address, uint64_t bytes)
{
    struct extent extent;
    int err = ERR_NOTFOUND;
    pthread_mutex_lock(&machine.lock);
    const struct extent *found = extents_at(&machine.reservations, address);
    if (found && found->base == address && found->bytes == bytes) {
        err = ERR_BUSY;
        if (!is_mapped(address, bytes) && extents_remove(&machine.reservations, address, &extent)) {
            (void)!space_give(&machine.reserved, address, bytes);
            err = BASE_OK;
        }
    }
    pthread_mutex_unlock(&machine.lock);
    return err;
}

static int make(int32_t device, uint64_t bytes, bool borrowed, struct physical **made)
{
    *made = NULL;
    if (!machine_is_device(device) || bytes == 0 || bytes % MACHINE_PAGE)
        return ERR_ARG;
    int err = machine_touch(device);
    if (err)
        return err;
    struct physical *physical = mem_alloc(1, sizeof *physical);
    if (!physical)
        return ERR_NOMEM;
    *physical =
        (struct physical){.bytes = bytes, .device = device, .references = 1, .borrowed = borrowed};
    pthread_mutex_lock(&machine.lock);
    bool fits = borrowed || machine_charge(&machine.devices[device], bytes);
    pthread_mutex_unlock(&machine.lock);
    if (!fits) {
        mem_free(physical);
        return ERR_NOMEM;
    }
    *made = physical;
    return BASE_OK;
}

int machine_create(int32_t device, uint64_t bytes, struct physical **made)
{
    return make(device, bytes, false, made);
}

int machine_borrow(int32_t device, uint64_t bytes, struct physical **made)
{
    return make(device, bytes, true, made);
}

static void let_go(struct physical *physical)
{
    assert(physical->references > 0);
    if (--physical->references)
        return;
    if (!physical->borrowed)
        machine_uncharge(&machine.devices[physical->device], physical->bytes);
    mem_free(physical);
}

void machine_release(struct physical *physical)
{
    pthread_mutex_lock(&machine.lock);
    let_go(physical);
    pthread_mutex_unlock(&machine.lock);
}

int machine_map(uint64_t address, uint64_t bytes, struct physical *physical)
{
    struct extent extent = {.base = address,
                            .bytes = bytes,
                            .device = physical->device,
                            .kind = EXTENT_MAPPED,
                            .of = physical};
    int err = ERR_ARG;
    pthread_mutex_lock(&machine.lock);
    const struct extent *within = extents_at(&machine.reservations, address);
    if (bytes && bytes <= physical->bytes && bytes % MACHINE_PAGE == 0 && within &&
        bytes <= within->base + within->bytes - address) {
        err = extents_add(&machine.extents, &extent) ? BASE_OK : ERR_BUSY;
        physical->references += err == BASE_OK;
    }
    pthread_mutex_unlock(&machine.lock);
    return err;
}

/* The driver takes whole mappings only, one or several that lie side by side. */
static bool are_whole(uint64_t address, uint64_t bytes)
{
    uint64_t at = address, end = address + bytes;
    while (at < end) {
        const struct extent *extent = extents_at(&machine.extents, at);
        if (!extent || extent->kind != EXTENT_MAPPED || extent->base != at ||
            extent->bytes > end - at)
            return false;
        at += extent->bytes;
    }
    return bytes > 0;
}

int machine_unmap(uint64_t address, uint64_t bytes)
{
    struct extent extent;
    pthread_mutex_lock(&machine.lock);
    bool whole = are_whole(address, bytes);
    for (uint64_t at = address; whole && at < address + bytes; at += extent.bytes) {
        if (!extents_remove(&machine.extents, at, &extent))
            break;
        let_go(extent.of);
    }
    pthread_mutex_unlock(&machine.lock);
    return whole ? BASE_OK : ERR_ARG;
}
