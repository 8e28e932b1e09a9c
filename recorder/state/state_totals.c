/* The sums of a run, of what its processes hold and of those that have ended. */
#include <stdio.h>

#include "state_process.h"
#include "state_types.h"
#include "utf8.h"

static void take_peak(struct state_peak *peak, const struct state_process *process,
                      const struct heap_device *device)
{
    uint64_t allocated = (uint64_t)device->max_allocated;
    int rank = names_device_rank(&process->state->names, device->id);
    bool same = peak->allocated && peak->rank == rank;
    if (!allocated || (peak->allocated && peak->rank < rank) ||
        (same && allocated < peak->allocated) ||
        (same && allocated == peak->allocated && peak->seq <= device->max_allocated_seq))
        return;
    *peak = (struct state_peak){
        .rank = rank,
        .allocated = allocated,
        .process = process->account.id,
        .device = device->id,
        .seq = device->max_allocated_seq,
        .step = device->max_step,
        .phase = device->max_phase,
    };
}

void state_take_peaks(struct state_peak *peak, const struct state_process *process)
{
    for (size_t i = 0; i < process->heaps.device_count; i++)
        take_peak(peak, process, process->heaps.devices[i]);
}

void state_take_given(struct state_peak *given, const struct state_process *process)
{
    for (size_t i = 0; i < process->heaps.device_count; i++) {
        const struct heap_device *device = process->heaps.devices[i];
        uint64_t highest = driver_highest(&process->driver, device);
        if (highest <= given->allocated)
            continue;
        given->allocated = highest;
        given->process = process->account.id;
        given->device = device->id;
    }
}

static uint64_t allocated_now(const struct state_process *process)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < process->heaps.device_count; i++) {
        uint64_t allocated = (uint64_t)process->heaps.devices[i]->allocated;
        sum = allocated > UINT64_MAX - sum ? UINT64_MAX : sum + allocated;
    }
    return sum;
}

/* Where there are ranks, what all of them have done. */
static uint64_t steps_done(const struct state *state)
{
    uint64_t least = 0;
    int64_t ranks = 0, world = 0;
    for (const struct state_process *p = state->processes; p; p = p->next) {
        uint64_t steps = p->ended ? 0 : phase_steps(&p->phases);
        if (!steps)
            continue;
        least = !least || steps < least ? steps : least;
        ranks++;
        world = p->hello.world_size > world ? p->hello.world_size : world;
    }
    return ranks < world ? 0 : least;
}

void state_totals(const struct state *state, struct state_totals *out)
{
    struct state_peak peak = state->peak, given = state->given;
    *out = (struct state_totals){
        .events = state->events,
        .allocs = state->pool.allocs,
        .frees = state->pool.frees,
        .living = state->pool.allocs - state->pool.frees,
        .lost = state->ledger.lost,
        .torn = state->torn,
        .anomalies = state->ledger.anomalies,
        .peak_process = BATCH_NULL,
        .peak_device = BATCH_NULL,
        .peak_seq = BATCH_NULL,
        .peak_step = BATCH_NULL,
        .steps = steps_done(state),
    };
    for (const struct state_process *p = state->processes; p; p = p->next) {
        uint64_t allocated = allocated_now(p);
        out->allocated =
            allocated > UINT64_MAX - out->allocated ? UINT64_MAX : out->allocated + allocated;
        state_take_peaks(&peak, p);
        state_take_given(&given, p);
    }
    out->has_source = state->has_source;
    out->unseen = state->unseen;
    out->peak_given = given.allocated;
    if (given.allocated)
        names_print_device(&state->names, given.device, out->given_device_name,
                           sizeof out->given_device_name);
    if (!peak.allocated)
        return;
    out->peak_allocated = peak.allocated;
    out->peak_process = peak.process;
    out->peak_device = peak.device;
    out->peak_seq = peak.seq;
    out->peak_step = peak.step;
    const char *name = phase_name(&state->names, peak.phase);
    snprintf(out->peak_phase, sizeof out->peak_phase, "%.*s",
             (int)utf8_cut(name, sizeof out->peak_phase - 1), name);
    names_print_device(&state->names, peak.device, out->peak_device_name,
                       sizeof out->peak_device_name);
}
