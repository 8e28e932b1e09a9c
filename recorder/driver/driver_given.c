/*
 * driver_given.c - how much the driver has given on a device, and the highest that this ever was:
 * the one figure of a program without a framework that a run can close with. Reports count the same
 * way from the rows.
 */
#include <assert.h>
#include <string.h>

#include "driver.h"
#include "heap.h"
#include "ledger.h"

static uint64_t *sum_of(struct driver_given *given, unsigned kind)
{
    switch (kind) {
    case DRIVER_DEVICE:
    case DRIVER_ARRAY:
    case DRIVER_PHYSICAL:
        return &given->memory;
    case DRIVER_ASYNC:
        return &given->parts;
    default:
        return NULL;
    }
}

static void see_highest(struct driver_given *given)
{
    uint64_t pools = given->pools > given->parts ? given->pools : given->parts;
    uint64_t now = given->memory + pools + given->graphs;
    given->highest = now > given->highest ? now : given->highest;
}

void driver_given(struct driver *driver, const struct driver_piece *piece, bool comes)
{
    struct driver_given *given =
        piece->device ? &driver->devices[piece->device->index].given : NULL;
    uint64_t *sum = given ? sum_of(given, piece->kind) : NULL;
    assert(!piece->device || driver->devices);
    if (!sum)
        return;
    *sum += comes ? (uint64_t)piece->size : -(uint64_t)piece->size;
    see_highest(given);
}

void driver_given_sample(struct driver *driver, const struct heap_device *device, const char *what,
                         uint64_t bytes)
{
    bool pools = strcmp(what, "pool reserved") == 0;
    if (!pools && strcmp(what, "graph reserved") != 0)
        return;
    struct driver_device *own = driver_device(driver, device);
    if (!own) {
        note_owed(driver->account, EVENT_SAMPLE, 1);
        return;
    }
    *(pools ? &own->given.pools : &own->given.graphs) = bytes;
    see_highest(&own->given);
}

uint64_t driver_highest(const struct driver *driver, const struct heap_device *device)
{
    return driver->devices ? driver->devices[device->index].given.highest : 0;
}

/* ---- the check ---- */

static void add_up(const struct driver_piece *piece, const struct heap_device *device,
                   struct driver_given *given)
{
    uint64_t *sum = piece->device == device ? sum_of(given, piece->kind) : NULL;
    if (sum)
        *sum += (uint64_t)piece->size;
}

/* Physical memory that was released is there as long as it is mapped: its first range stands for
 * it. */
static void add_released(const struct driver *driver, const struct heap_device *device,
                         struct driver_given *given)
{
    struct order_cursor cursor = order_seek(&driver->mapped, 0), earlier;
    const struct driver_range *range, *other;
    while ((range = driver_range_from(order_next(&driver->mapped, &cursor)))) {
        if (!range->memory || !range->memory->released)
            continue;
        earlier = order_seek(&driver->mapped, 0);
        while ((other = driver_range_from(order_next(&driver->mapped, &earlier))) != range &&
               other->memory != range->memory)
            ;
        if (other == range)
            add_up(range->memory, device, given);
    }
}

static bool device_is_valid(const struct driver *driver, const struct heap_device *device)
{
    struct driver_given given = {0};
    struct order_cursor cursor = order_seek(&driver->memory, 0);
    const struct driver_piece *piece;
    while ((piece = driver_piece_from(order_next(&driver->memory, &cursor))))
        add_up(piece, device, &given);
    for (unsigned kind = 0; kind < DRIVER_MEMORY_COUNT; kind++) {
        size_t at = 0;
        const struct map_entry *found;
        while ((found = map_next(&driver->handles[kind], &at)))
            add_up((const struct driver_piece *)(uintptr_t)found->value, device, &given);
    }
    add_released(driver, device, &given);
    const struct driver_given *told = &driver->devices[device->index].given;
    return given.memory == told->memory && given.parts == told->parts;
}

bool driver_given_is_valid(const struct driver *driver)
{
    for (size_t i = 0; driver->devices && i < driver->heaps->device_count; i++)
        if (!device_is_valid(driver, driver->heaps->devices[i]))
            return false;
    return true;
}
