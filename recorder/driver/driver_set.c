/* All that a process has of the driver's: its last rows, its end, the check. */
#include "driver.h"
#include "heap.h"
#include "ledger.h"
#include "mem.h"

/* ---- the end ---- */

static void put_owners(struct driver *driver)
{
    struct order_cursor cursor = order_seek(&driver->memory, 0);
    struct driver_piece *piece;
    const struct driver_range *range;
    while ((piece = driver_piece_from(order_next(&driver->memory, &cursor))))
        driver_put_owner(driver, piece);
    for (unsigned kind = 0; kind < DRIVER_MEMORY_COUNT; kind++) {
        size_t at = 0;
        const struct map_entry *entry;
        while ((entry = map_next(&driver->handles[kind], &at)))
            driver_put_owner(driver, (struct driver_piece *)(uintptr_t)entry->value);
    }
    cursor = order_seek(&driver->mapped, 0);
    while ((range = driver_range_from(order_next(&driver->mapped, &cursor))))
        if (range->memory && range->memory->released)
            driver_put_owner(driver, range->memory);
}

void driver_end(struct driver *driver)
{
    put_owners(driver);
    if (driver->unknown_frees || driver->unknown_unmaps)
        note(driver->account, NOTE_DRIVER_UNKNOWN, NOTE_NO_ADDRESS,
             "%llu frees and %llu unmaps of what was there before it could be seen",
             (unsigned long long)driver->unknown_frees, (unsigned long long)driver->unknown_unmaps);
}

void driver_forget(struct driver *driver)
{
    struct driver_range *range;
    struct order_cursor cursor = order_seek(&driver->mapped, 0);
    while ((range = driver_range_from(order_next(&driver->mapped, &cursor)))) {
        struct driver_piece *piece = range->memory;
        if (piece) {
            piece->mapped -= range->size;
            if (piece->released && !piece->mapped)
                mem_free(piece);
        }
        mem_free(range);
    }
    order_clear(&driver->mapped);
    cursor = order_seek(&driver->memory, 0);
    const struct order_entry *entry;
    while ((entry = order_next(&driver->memory, &cursor)))
        mem_free(driver_piece_from(entry));
    order_clear(&driver->memory);
    for (unsigned kind = 0; kind < DRIVER_MEMORY_COUNT; kind++) {
        size_t at = 0;
        const struct map_entry *found;
        while ((found = map_next(&driver->handles[kind], &at)))
            mem_free((struct driver_piece *)(uintptr_t)found->value);
        map_clear(&driver->handles[kind]);
    }
    map_clear(&driver->again);
    mem_free(driver->devices);
    driver->devices = NULL;
}

/* ---- the check ---- */

static bool is_of(const struct driver *driver, const struct heap_device *device)
{
    return !device || (device->index < driver->heaps->device_count &&
                       driver->heaps->devices[device->index] == device);
}

static bool piece_is_valid(const struct driver *driver, const struct driver_piece *piece)
{
    int64_t mapped = 0;
    struct order_cursor cursor = order_seek(&driver->mapped, 0);
    const struct driver_range *range;
    while ((range = driver_range_from(order_next(&driver->mapped, &cursor))))
        mapped += range->memory == piece ? range->size : 0;
    return piece->seq <= driver->ledger->seq && piece->size >= 0 && mapped == piece->mapped &&
           is_of(driver, piece->device) &&
           (!piece->device || driver->devices[piece->device->index].driven) &&
           piece->stored <= piece->blocks && (!piece->blocks || piece->heap) &&
           (!piece->heap || piece->heap->device == piece->device) &&
           (!piece->adopted || (piece->heap && !driver_has_handle(piece->kind)));
}

static bool pieces_are_valid(const struct driver *driver)
{
    const struct driver_piece *piece, *before = NULL;
    struct order_cursor cursor = order_seek(&driver->memory, 0);
    const struct order_entry *entry;
    for (; (entry = order_next(&driver->memory, &cursor)); before = piece) {
        piece = driver_piece_from(entry);
        if (entry->address != piece->address || driver_has_handle(piece->kind) || piece->released ||
            !piece_is_valid(driver, piece) ||
            (before && driver_end_at(before->address, (uint64_t)before->size) > piece->address))
            return false;
    }
    for (unsigned kind = 0; kind < DRIVER_MEMORY_COUNT; kind++) {
        size_t at = 0;
        const struct map_entry *found;
        while ((found = map_next(&driver->handles[kind], &at))) {
            piece = (const struct driver_piece *)(uintptr_t)found->value;
            if (found->key != piece->address || piece->kind != kind || !driver_has_handle(kind) ||
                piece->released || !piece_is_valid(driver, piece))
                return false;
        }
    }
    return order_is_valid(&driver->memory);
}

bool driver_is_valid(const struct driver *driver)
{
    const struct driver_range *range, *before = NULL;
    struct order_cursor cursor = order_seek(&driver->mapped, 0);
    for (; (range = driver_range_from(order_next(&driver->mapped, &cursor))); before = range) {
        const struct driver_piece *piece = range->memory;
        if (range->size <= 0 || !is_of(driver, range->device) ||
            (range->heap && range->heap->device != range->device) ||
            (range->adopted && !range->heap) ||
            (piece && (piece->mapped < range->size || !piece_is_valid(driver, piece))) ||
            (before && before->address + (uint64_t)before->size > range->address))
            return false;
    }
    return driver->gap_count <= DRIVER_GAPS && driver->again.count <= DRIVER_RELEASED &&
           order_is_valid(&driver->mapped) && pieces_are_valid(driver) &&
           driver_given_is_valid(driver);
}
