/* state_meters.c - what the state holds, as the numbers of meters.h. */
#include "state_meters.h"

#include <assert.h>
#include <stdio.h>

#include "driver.h"
#include "heap.h"
#include "ledger.h"
#include "meters.h"
#include "names.h"
#include "phase.h"
#include "utf8.h"

static int64_t number(int64_t value)
{
    return value == BATCH_NULL ? METER_UNKNOWN : value;
}

static int64_t number_if(bool known, int64_t value)
{
    return known ? value : METER_UNKNOWN;
}

static int64_t rank_of(const struct metered *process)
{
    return process->rank == BATCH_NULL ? METER_NO_RANK : process->rank;
}

static void take_rank(const struct metered *process, struct meters *out, bool ended)
{
    struct meter_rank *row = meters_rank(out, rank_of(process));
    const struct phases *phases = process->phases;
    int64_t steps = (int64_t)process->steps_seen;
    if (!row)
        return;
    bool known = steps > 0 || phases->own_steps;
    int64_t now = phases->own_steps ? number(phases->step) : steps;
    meter_rank_take(row, METER_RANK_PROCESSES, 1, ended);
    meter_rank_take(row, METER_RANK_STEP, number_if(known, now), ended);
    meter_rank_take(row, METER_RANK_STEPS, number_if(known, steps), ended);
    meter_rank_take(row, METER_RANK_LOST, ledger_cut(process->lost), ended);
}

static void take_step(struct meter_device *row, const struct heap_device *device, bool ended)
{
    const struct heap_step *step = &device->last_step;
    if (!device->has_last_step)
        return;
    meter_device_take(row, METER_DEVICE_STEP_PEAK, step->peak, ended);
    meter_device_take(row, METER_DEVICE_STEP_RESERVED, number(step->reserved), ended);
    meter_device_take(row, METER_DEVICE_STEP_LARGEST, step->largest, ended);
}

/* An allocator's history is read as a step ends: until the next it is as old as that. */
static int64_t requested_of(const struct heap_device *device)
{
    if (!device->requested_unknown)
        return device->requested;
    if (device->step.requested != BATCH_NULL)
        return device->step.requested;
    return device->has_last_step ? number(device->last_step.requested) : METER_UNKNOWN;
}

static void take_device(const struct driver *told, const struct heap_device *device,
                        struct meter_device *row, bool ended)
{
    const struct driver_device *driver = told->devices ? &told->devices[device->index] : NULL;
    const int64_t values[METER_DEVICE_VALUES] = {
        [METER_DEVICE_ALLOCATED] = device->allocated,
        [METER_DEVICE_REQUESTED] = requested_of(device),
        [METER_DEVICE_WAITING] =
            device->waits ? device->waiting_bytes : number(history_waiting(device)),
        [METER_DEVICE_RESERVED] = number(heap_reserved(device)),
        [METER_DEVICE_SPLIT] = number_if(device->segments_known, device->split),
        [METER_DEVICE_MAX_ALLOCATED] = device->max_allocated,
        [METER_DEVICE_MAX_RESERVED] = number(device->max_reserved),
        [METER_DEVICE_STEP_PEAK] = METER_UNKNOWN,
        [METER_DEVICE_STEP_RESERVED] = METER_UNKNOWN,
        [METER_DEVICE_STEP_LARGEST] = METER_UNKNOWN,
        [METER_DEVICE_USED] = number_if(driver && driver->used_known, driver ? driver->used : 0),
        [METER_DEVICE_TOTAL] = number_if(driver && driver->total, driver ? driver->total : 0),
        [METER_DEVICE_BLOCKS] = ledger_cut(device->allocs),
        [METER_DEVICE_OOM] = ledger_cut(device->ooms),
    };
    assert(device->index < HEAP_MAX_DEVICES);
    for (size_t i = 0; i < METER_DEVICE_VALUES; i++)
        meter_device_take(row, i, values[i], ended);
    take_step(row, device, ended);
}

static void take_phases(const struct metered *process, struct meters *out)
{
    const struct phase_highs *highs = &process->phases->highs;
    const struct heaps *heaps = process->phases->heaps;
    const struct names *names = process->phases->names;
    for (size_t i = 0; i < highs->count; i++) {
        const struct phase_high *high = &highs->list[i];
        struct meter_phase row = {.rank = rank_of(process), .peak = high->peak};
        const char *name = phase_name(names, high->name);
        snprintf(row.phase, sizeof row.phase, "%.*s", (int)utf8_cut(name, sizeof row.phase - 1),
                 name);
        names_print_device(names, heaps->devices[high->device]->id, row.device, sizeof row.device);
        meters_phase(out, &row);
    }
    out->run[METER_RUN_LEFT_OUT] += ledger_cut(highs->passed_over);
}

void meters_take(struct meters *out, const struct metered *process, bool ended)
{
    const struct heaps *heaps = process->phases->heaps;
    assert(process->driver->heaps == process->phases->heaps);
    take_rank(process, out, ended);
    for (size_t i = 0; i < heaps->device_count; i++) {
        const struct heap_device *device = heaps->devices[i];
        char name[sizeof((struct meter_device *)0)->device];
        names_print_device(process->phases->names, device->id, name, sizeof name);
        struct meter_device *row = meters_device(out, rank_of(process), name);
        if (row)
            take_device(process->driver, device, row, ended);
    }
    take_phases(process, out);
}
