#include "state.h"

#include <assert.h>
#include <stdio.h>

#include "error.h"
#include "mem.h"
#include "state_process.h"
#include "state_types.h"
#include "utf8.h"

/* ---- the run ---- */

int state_new(struct state **out, const struct state_options *options)
{
    struct state *state = mem_alloc(1, sizeof *state);
    if (!state)
        return ERR_NOMEM;
    state->options = *options;
    state->keyframes.events = options->keyframe_events;
    if (!state->options.flush_allocs)
        state->options.flush_allocs = STATE_FLUSH_ALLOCS;
    state->ledger = (struct ledger){.serial = 1, .start_ns = options->start_ns};
    state->pool.free = BLOCK_END;
    state->peak = (struct state_peak){.process = BATCH_NULL, .device = BATCH_NULL};
    state->ledger.batch = batch_new(options->private);
    if (!names_start(&state->names, &state->ledger) || !state->ledger.batch) {
        state_free(state);
        return ERR_NOMEM;
    }
    state->ledger.batch->made_ns = options->start_ns;
    *out = state;
    return BASE_OK;
}

void state_free(struct state *state)
{
    if (!state)
        return;
    while (state->processes)
        process_free(state->processes);
    names_clear(&state->names);
    mem_free(state->pool.blocks);
    meters_clear(&state->gone);
    batch_free(state->ledger.batch);
    mem_free(state);
}

struct batch *state_batch(struct state *state)
{
    return state->ledger.batch;
}

int64_t state_seq(const struct state *state)
{
    return state->ledger.seq;
}

/* ---- what was lost on the way ---- */

static void put_loss(struct state_process *process, const struct state_loss *loss, const char *kind,
                     unsigned owed_as, uint64_t n)
{
    const struct state *state = process->state;
    struct row_lost row = {
        .process = process->account.id,
        .first_seq = loss->first_seq,
        .last_seq = state->ledger.seq,
        .first_ns = ledger_ns(&state->ledger, loss->first_ns),
        .last_ns = ledger_ns(&state->ledger, loss->last_ns),
        .kind = kind,
        .n = ledger_cut(n),
    };
    if (n && !batch_put_lost(state->ledger.batch, &row)) {
        note_owed(&process->account, owed_as, n);
        process->state->ledger.lost -= n; /* counted by the caller, or not an event */
    }
}

void state_lost(struct state_process *process, const struct state_loss *loss)
{
    struct state *state = process->state;
    for (unsigned kind = 0; kind < sizeof loss->by_kind / sizeof *loss->by_kind; kind++) {
        state->ledger.lost += loss->by_kind[kind];
        process->lost += loss->by_kind[kind];
        put_loss(process, loss, event_kind_name(kind), kind < EVENT_KIND_COUNT ? kind : OWED_FACT,
                 loss->by_kind[kind]);
        process->account.notes.unsure |= loss->by_kind[kind] > 0;
    }
    put_loss(process, loss, "late", OWED_FACT, loss->late);
    phase_lost(&process->phases, loss->by_kind);
}

void state_unsure(struct state_process *process)
{
    process->account.notes.unsure = true;
}

void state_torn(struct state_process *process, uint64_t ticket, uint64_t at_ns, const char *why)
{
    struct state *state = process->state;
    state->torn++;
    process->account.notes.unsure = true;
    struct row_torn row = {
        .process = process->account.id,
        .seq = state->ledger.seq + 1,
        .ticket = ledger_cut(ticket),
        .at_ns = ledger_ns(&state->ledger, at_ns),
        .why = why,
    };
    if (!batch_put_torn(state->ledger.batch, &row))
        note_owed(&process->account, OWED_FACT, 1);
}

/* ---- flushing ---- */

void state_beat(struct state *state, void (*beat)(void *context), void *context)
{
    state->keyframes.beat = beat;
    state->keyframes.context = context;
}

bool state_wants_flush(const struct state *state)
{
    const struct batch *batch = state->ledger.batch;
    return batch->alloc_count >= state->options.flush_allocs ||
           batch->end_count >= state->options.flush_allocs ||
           batch->cell_count * sizeof *batch->cells + batch->text_count >= STATE_FLUSH_BYTES;
}

struct batch *state_flush(struct state *state, uint64_t now_ns, bool commit)
{
    struct batch *fresh = batch_new(state->options.private);
    if (!fresh)
        return NULL;
    for (struct state_process *process = state->processes; process;) {
        struct state_process *next = process->next;
        process_flush(process, commit);
        process = next;
    }
    keyframe_flush(&state->keyframes, &state->ledger, &state->pool, state->events);
    struct batch *done = state->ledger.batch;
    assert(done && state->ledger.serial > 0);
    done->commit = commit;
    fresh->made_ns = now_ns;
    state->ledger.batch = fresh;
    state->ledger.serial++;
    return done;
}

/* ---- totals, of what the processes hold and of those that have ended ---- */

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
        .of_rank = process->hello.rank,
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
        .peak_rank = BATCH_NULL,
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
    out->peak_rank = peak.of_rank;
    out->peak_device = peak.device;
    out->peak_seq = peak.seq;
    out->peak_step = peak.step;
    const char *name = phase_name(&state->names, peak.phase);
    snprintf(out->peak_phase, sizeof out->peak_phase, "%.*s",
             (int)utf8_cut(name, sizeof out->peak_phase - 1), name);
    names_print_device(&state->names, peak.device, out->peak_device_name,
                       sizeof out->peak_device_name);
}

void state_meters(const struct state *state, struct meters *out)
{
    if (!meters_copy(out, &state->gone))
        return;
    out->run[METER_RUN_EVENTS] = ledger_cut(state->events);
    for (const struct state_process *p = state->processes; p; p = p->next)
        if (!p->ended)
            state_take_meters(out, p, false);
}
