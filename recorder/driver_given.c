/*
 * driver_given.c - how much the driver has given on a device, and the highest that this ever was:
 * the one figure of a program without a framework that a run can close with. Reports count the same
 * way from the rows.
 */
#include <string.h>

#include "driver.h"
#include "state_types.h"

static uint64_t *sum_of(struct heap_given *given, unsigned kind)
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

static void see_highest(struct heap_given *given)
{
    uint64_t pools = given->pools > given->parts ? given->pools : given->parts;
    uint64_t now = given->memory + pools + given->graphs;
    given->highest = now > given->highest ? now : given->highest;
}

void driver_given(const struct driver_piece *piece, bool comes)
{
    uint64_t *sum = piece->device ? sum_of(&piece->device->given, piece->kind) : NULL;
    if (!sum)
        return;
    *sum += comes ? (uint64_t)piece->size : -(uint64_t)piece->size;
    see_highest(&piece->device->given);
}

void driver_given_sample(struct heap_device *device, const char *what, uint64_t bytes)
{
    if (strcmp(what, "pool reserved") == 0)
        device->given.pools = bytes;
    else if (strcmp(what, "graph reserved") == 0)
        device->given.graphs = bytes;
    else
        return;
    see_highest(&device->given);
}

/* ---- the check ---- */

static void add_up(const struct driver_piece *piece, const struct heap_device *device,
                   struct heap_given *given)
{
    uint64_t *sum = piece->device == device ? sum_of(given, piece->kind) : NULL;
    if (sum)
        *sum += (uint64_t)piece->size;
}

/* Physical memory that was released is there as long as it is mapped: its first range stands for
 * it. */
static void add_released(const struct driver *driver, const struct heap_device *device,
                         struct heap_given *given)
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
    struct heap_given given = {0};
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
    return given.memory == device->given.memory && given.parts == device->given.parts;
}

bool driver_given_is_valid(const struct state_process *process)
{
    for (size_t i = 0; i < process->device_count; i++)
        if (!device_is_valid(process->driver, process->devices[i]))
            return false;
    return true;
}
