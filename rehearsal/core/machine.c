/*
 * machine.c - see machine.h.
 *
 * Three spaces of addresses: `pages` for pieces of a megabyte and more, page by page; for each
 * device `small`, cut out of single pages, which go back to `pages` once they are empty; and
 * `reserved`, from which a program reserves addresses to map memory into.
 */
#include "machine.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "error.h"
#include "machine_state.h"

#define ADDRESSES_USUAL (UINT64_C(16) << 40)
#define SMALL_BELOW (MACHINE_PAGE / 2)
#define SMALL_ALIGN UINT64_C(512)
struct machine machine = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Addresses that nobody else gets. They take no memory, and no part in a limit on it. */
static uint64_t arena(uint64_t bytes)
{
    void *got = mmap(NULL, bytes + MACHINE_PAGE, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED)
        return 0;
    madvise(got, bytes + MACHINE_PAGE, MADV_DONTDUMP);
    return (uint64_t)(uintptr_t)got;
}

static void drop_arena(uint64_t base)
{
    if (base)
        munmap((void *)(uintptr_t)base, machine.options.addresses + MACHINE_PAGE);
}

static int open_arenas(void)
{
    uint64_t bytes = machine.options.addresses;
    machine.arena = arena(bytes);
    machine.reserved_arena = arena(bytes);
    if (!machine.arena || !machine.reserved_arena ||
        !space_give(&machine.pages, machine_round_up(machine.arena, MACHINE_PAGE), bytes) ||
        !space_give(&machine.reserved, machine_round_up(machine.reserved_arena, MACHINE_PAGE),
                    bytes))
        return ERR_NOMEM;
    return BASE_OK;
}

int machine_start(const struct machine_options *options)
{
    if (options->devices < 0 || options->devices > MACHINE_DEVICES_MAX ||
        options->context > options->memory)
        return ERR_ARG;
    machine_stop();
    pthread_mutex_lock(&machine.lock);
    machine.options = *options;
    if (!machine.options.addresses)
        machine.options.addresses = ADDRESSES_USUAL;
    int err = open_arenas();
    pthread_mutex_unlock(&machine.lock);
    if (err)
        machine_stop();
    return err;
}

void machine_stop(void)
{
    pthread_mutex_lock(&machine.lock);
    for (size_t i = 0; i < machine.extents.count; i++)
        machine_free_pinned(&machine.extents.list[i]);
    for (int32_t i = 0; i < MACHINE_DEVICES_MAX; i++)
        space_clear(&machine.devices[i].small);
    memset(machine.devices, 0, sizeof machine.devices);
    space_clear(&machine.pages);
    space_clear(&machine.reserved);
    extents_clear(&machine.extents);
    extents_clear(&machine.reservations);
    drop_arena(machine.arena);
    drop_arena(machine.reserved_arena);
    machine.arena = machine.reserved_arena = 0;
    machine.options = (struct machine_options){0};
    pthread_mutex_unlock(&machine.lock);
}

int32_t machine_devices(void)
{
    return machine.options.devices;
}

/* ---- what a device has in use ---- */

static uint64_t in_use(const struct device *device)
{
    return device->used + (device->touched ? machine.options.context : 0);
}

bool machine_charge(struct device *device, uint64_t bytes)
{
    uint64_t used = in_use(device);
    if (bytes > machine.options.memory - used)
        return false;
    device->used += bytes;
    if (used + bytes > device->peak)
        device->peak = used + bytes;
    return true;
}

void machine_uncharge(struct device *device, uint64_t bytes)
{
    assert(device->used >= bytes);
    device->used -= bytes;
}

int machine_touch(int32_t device)
{
    if (!machine_is_device(device))
        return ERR_ARG;
    pthread_mutex_lock(&machine.lock);
    struct device *it = &machine.devices[device];
    bool fits = it->touched || machine.options.context <= machine.options.memory - it->used;
    it->touched = fits;
    if (fits && in_use(it) > it->peak)
        it->peak = in_use(it);
    pthread_mutex_unlock(&machine.lock);
    return fits ? BASE_OK : ERR_NOMEM;
}

bool machine_is_touched(int32_t device)
{
    pthread_mutex_lock(&machine.lock);
    bool touched = machine_is_device(device) && machine.devices[device].touched;
    pthread_mutex_unlock(&machine.lock);
    return touched;
}

void machine_memory(int32_t device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    pthread_mutex_lock(&machine.lock);
    *total_bytes = machine.options.memory;
    *free_bytes = machine_is_device(device) ? *total_bytes - in_use(&machine.devices[device]) : 0;
    pthread_mutex_unlock(&machine.lock);
}

uint64_t machine_peak(int32_t device)
{
    pthread_mutex_lock(&machine.lock);
    uint64_t peak = machine_is_device(device) ? machine.devices[device].peak : 0;
    pthread_mutex_unlock(&machine.lock);
    return peak;
}

/* ---- memory with an address ---- */

static uint64_t take_pages(struct device *device, uint64_t bytes)
{
    if (!machine_charge(device, bytes))
        return 0;
    uint64_t address = space_take(&machine.pages, bytes, MACHINE_PAGE);
    if (!address)
        machine_uncharge(device, bytes);
    return address;
}

static void give_pages(struct device *device, uint64_t address, uint64_t bytes)
{
    (void)!space_give(&machine.pages, address, bytes); /* without memory: these are lost */
    machine_uncharge(device, bytes);
}

static uint64_t take_small(struct device *device, uint64_t bytes)
{
    uint64_t address = space_take(&device->small, bytes, SMALL_ALIGN);
    if (address)
        return address;
    uint64_t page = take_pages(device, MACHINE_PAGE);
    if (!page)
        return 0;
    if (!space_give(&device->small, page, MACHINE_PAGE)) {
        give_pages(device, page, MACHINE_PAGE);
        return 0;
    }
    return space_take(&device->small, bytes, SMALL_ALIGN);
}

/* Pages that lie side by side are one hole, so a piece may lie in two of them. */
static void give_small(struct device *device, uint64_t address, uint64_t bytes)
{
    uint64_t page = address & ~(MACHINE_PAGE - 1);
    if (!space_give(&device->small, address, bytes))
        return;
    for (; page < address + bytes; page += MACHINE_PAGE)
        if (space_take_at(&device->small, page, MACHINE_PAGE))
            give_pages(device, page, MACHINE_PAGE);
}

static void give_back(const struct extent *extent)
{
    struct device *device = &machine.devices[extent->device];
    if (extent->bytes < SMALL_BELOW)
        give_small(device, extent->base, extent->bytes);
    else
        give_pages(device, extent->base, extent->bytes);
}

int machine_take(int32_t device, uint64_t bytes, uint64_t *address)
{
    struct extent extent = {.device = device, .kind = EXTENT_DEVICE};
    *address = 0;
    if (!machine_is_device(device) || bytes == 0)
        return ERR_ARG;
    if (bytes > machine.options.memory)
        return ERR_NOMEM;
    int err = machine_touch(device);
    if (err)
        return err;
    bool small = bytes < SMALL_BELOW;
    extent.bytes = machine_round_up(bytes, small ? SMALL_ALIGN : MACHINE_PAGE);
    small = extent.bytes < SMALL_BELOW;
    if (!small)
        extent.bytes = machine_round_up(extent.bytes, MACHINE_PAGE);
    pthread_mutex_lock(&machine.lock);
    extent.base = small ? take_small(&machine.devices[device], extent.bytes)
                        : take_pages(&machine.devices[device], extent.bytes);
    if (extent.base && !extents_add(&machine.extents, &extent)) {
        give_back(&extent);
        extent.base = 0;
    }
    pthread_mutex_unlock(&machine.lock);
    *address = extent.base;
    return extent.base ? BASE_OK : ERR_NOMEM;
}

bool machine_remove(uint64_t address, enum extent_kind kind, struct extent *extent)
{
    const struct extent *found = extents_at(&machine.extents, address);
    return found && found->kind == kind && extents_remove(&machine.extents, address, extent);
}

int machine_give(uint64_t address)
{
    struct extent extent;
    pthread_mutex_lock(&machine.lock);
    bool found = machine_remove(address, EXTENT_DEVICE, &extent);
    if (found)
        give_back(&extent);
    pthread_mutex_unlock(&machine.lock);
    return found ? BASE_OK : ERR_NOTFOUND;
}

/* ---- what lies there ---- */

bool machine_look(uint64_t address, struct extent *extent)
{
    pthread_mutex_lock(&machine.lock);
    const struct extent *found = extents_at(&machine.extents, address);
    if (found)
        *extent = *found;
    pthread_mutex_unlock(&machine.lock);
    return found != NULL;
}

bool machine_keep(uint64_t address, void *of)
{
    pthread_mutex_lock(&machine.lock);
    bool kept = extents_keep(&machine.extents, address, of);
    pthread_mutex_unlock(&machine.lock);
    return kept;
}

bool machine_is_on_device(const void *at)
{
    uint64_t address = (uint64_t)(uintptr_t)at, bytes = machine.options.addresses + MACHINE_PAGE;
    return (machine.arena && address - machine.arena < bytes) ||
           (machine.reserved_arena && address - machine.reserved_arena < bytes);
}

static uint64_t used_by_all(void)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < machine.options.devices; i++)
        sum += machine.devices[i].used;
    return sum;
}

bool machine_is_valid(void)
{
    pthread_mutex_lock(&machine.lock);
    bool valid = space_is_valid(&machine.pages) && space_is_valid(&machine.reserved) &&
                 extents_are_valid(&machine.extents) && extents_are_valid(&machine.reservations);
    for (int32_t i = 0; valid && i < machine.options.devices; i++)
        valid = space_is_valid(&machine.devices[i].small) &&
                in_use(&machine.devices[i]) <= machine.options.memory &&
                in_use(&machine.devices[i]) <= machine.devices[i].peak;
    /* Pages that are out belong to devices; physical memory comes on top of them. */
    valid = valid && machine.options.addresses - space_free_bytes(&machine.pages) <= used_by_all();
    pthread_mutex_unlock(&machine.lock);
    return valid;
}
