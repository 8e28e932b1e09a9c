/* What a phase did on each device, its rows, and the end of a process's phases. */
#include <assert.h>
#include <string.h>

#include "ledger.h"
#include "phase.h"
#include "mem.h"
#include "range_name.h"
#include "timeline.h"

static bool is_label(uint32_t name)
{
    return name > PHASE_NAME_LABEL(LABEL_COUNT);
}

const char *phase_name(const struct names *names, uint32_t name)
{
    return is_label(name) ? label_name((enum label)(UINT32_MAX - name)) : names_text(names, name);
}

/* A program that names its own phases so means the same; one whose framework sends marks does not
 * mean it of its ranges. */
const char *phase_kind_of(const struct phases *phases, const struct phase *phase)
{
    bool ours =
        phase->scope != PHASE_RANGE && !phase->domain && !timeline_is_marked(&phases->timeline);
    enum label label = LABEL_OTHER;
    if (is_label(phase->name))
        return label_kind((enum label)(UINT32_MAX - phase->name));
    const char *text = phase_name(phases->names, phase->name);
    if (phase->nvtx || phase->scope == PHASE_RANGE)
        label = ours ? range_name_label(text) : LABEL_OTHER;
    else
        for (label = LABEL_OTHER + 1; label < LABEL_COUNT && strcmp(text, label_kind(label)) != 0;)
            label++;
    return label == LABEL_OTHER || label == LABEL_COUNT ? "user" : label_kind(label);
}

/* ---- peaks ---- */

void phase_part_begin(struct phase_part *part, const struct heap_device *device)
{
    *part = (struct phase_part){
        .begin_allocated = device->allocated,
        .begin_allocs = device->allocs,
        .begin_frees = device->frees,
        .begin_bytes = device->alloc_bytes,
        .peak = {device->allocated, BATCH_NULL, BATCH_NULL, heap_reserved(device)},
    };
}

static void fold(struct phase_part *part, const struct heap_window *peak)
{
    if (peak->peak > part->peak.peak)
        part->peak = *peak;
}

void phase_fold_windows(struct phases *phases)
{
    for (size_t i = 0; i < phases->heaps->device_count; i++) {
        struct heap_device *device = phases->heaps->devices[i];
        for (size_t k = 0; device->window.seq != BATCH_NULL && k < phases->stack_count; k++)
            if (phases->stacks[k].top)
                fold(&phases->stacks[k].top->parts[i], &device->window);
        if (device->window.seq != BATCH_NULL)
            timeline_fold(&phases->timeline, i, &device->window);
        heap_step_sees(device);
        device->window =
            (struct heap_window){device->allocated, BATCH_NULL, BATCH_NULL, heap_reserved(device)};
    }
}

void phase_fold_down(const struct phases *phases, const struct phase *from, struct phase *into)
{
    assert(from->below == into);
    for (size_t i = 0; i < phases->heaps->device_count; i++)
        fold(&into->parts[i], &from->parts[i].peak);
}

bool phase_add_device(struct phases *phases)
{
    size_t index = phases->heaps->device_count;
    assert(index < HEAP_MAX_DEVICES);
    for (size_t k = 0; k < phases->stack_count; k++) {
        for (struct phase *phase = phases->stacks[k].top; phase; phase = phase->below) {
            if (!MEM_GROW(phase->parts, phase->part_cap, index + 1))
                return false;
            phase_part_begin(&phase->parts[index], phases->heaps->devices[index]);
        }
    }
    timeline_add_device(phases);
    return true;
}

/* ---- rows ---- */

bool phase_put_row(struct phases *phases, const struct phase *phase, const struct phase_end *end)
{
    static const char *const scopes[] = {
        [PHASE_OTHER] = "process",
        [PHASE_PROCESS] = "process",
        [PHASE_THREAD] = "thread",
        [PHASE_RANGE] = "range",
    };
    bool other = phase->scope == PHASE_OTHER;
    struct ledger *ledger = phases->ledger;
    struct row_phase row = {
        .id = phase->id,
        .process = phases->account->id,
        .thread = row_opt_if(!other, phase->thread),
        .parent = row_opt(phase->parent),
        .ordinal = phase->ordinal,
        .kind = phase->kind ? phase->kind : phase_kind_of(phases, phase),
        .name = phase_name(phases->names, phase->name),
        .step = row_opt(phase->step),
        .begin_seq = phase->begin_seq,
        .end_seq = row_opt(end->seq),
        .begin_ns = phase->begin_ns,
        .end_ns = row_opt(end->ns),
        .scope = scopes[phase->scope],
        .ended = end->ended,
        .domain = phase->domain ? names_text(phases->names, phase->domain) : NULL,
        .settled = row_opt_if(end->settled, ledger->settled_count + 1),
    };
    bool done = batch_put_phase(ledger->batch, &row);
    ledger->settled_count += done && end->settled;
    return done;
}

static bool put_part(struct phases *phases, const struct phase *phase,
                     const struct heap_device *device)
{
    const struct phase_part *part = &phase->parts[device->index];
    struct phase_high high = {phase->name, device->index, part->peak.peak};
    if (!phase->domain)
        phase_high_take(&phases->highs, &high);
    struct row_phase_device row = {
        .phase = phase->id,
        .device = device->id,
        .begin_allocated = part->begin_allocated,
        .allocated = device->allocated,
        .requested = row_opt_if(!device->requested_unknown, device->requested),
        .active = row_opt(heap_active(device)),
        .reserved = row_opt(heap_reserved(device)),
        .inactive_split = row_opt_if(device->segments_known, device->split),
        .max_allocated = device->max_allocated,
        .max_allocated_seq = row_opt(device->max_allocated_seq),
        .max_reserved = row_opt(device->max_reserved),
        .peak_allocated = part->peak.peak,
        .peak_seq = row_opt(part->peak.seq),
        .peak_ns = row_opt(part->peak.ns),
        .peak_reserved = row_opt(part->peak.reserved),
        .allocs = ledger_cut(device->allocs - part->begin_allocs),
        .frees = ledger_cut(device->frees - part->begin_frees),
        .alloc_bytes = ledger_cut(device->alloc_bytes - part->begin_bytes),
    };
    return batch_put_phase_device(phases->ledger->batch, &row);
}

bool phase_put_parts(struct phases *phases, const struct phase *phase)
{
    bool all = true;
    for (size_t i = 0; i < phases->heaps->device_count; i++)
        if (phases->heaps->devices[i]->allocs)
            all = put_part(phases, phase, phases->heaps->devices[i]) && all;
    return all;
}

static void put_open(struct phases *phases, const struct phase *phase)
{
    if (!phase->user)
        phase_put_row(phases, phase, &(struct phase_end){BATCH_NULL, BATCH_NULL, NULL, false});
    phase_put_parts(phases, phase);
}

/* A row that finds no memory now is written by the next flush, or when the phase ends. */
void phase_flush(struct phases *phases, bool commit)
{
    if (!commit)
        return;
    phase_fold_windows(phases);
    timeline_flush(phases);
    for (size_t k = 0; k < phases->stack_count; k++) {
        for (struct phase *phase = phases->stacks[k].top; phase; phase = phase->below) {
            if (phase->below)
                phase_fold_down(phases, phase, phase->below);
            put_open(phases, phase);
        }
    }
}

/* ---- end and check ---- */

static void free_phases(struct phase *phase)
{
    while (phase) {
        struct phase *below = phase->below;
        mem_free(phase->parts);
        mem_free(phase);
        phase = below;
    }
}

void phase_forget(struct phases *phases)
{
    for (size_t k = 0; k < phases->stack_count; k++)
        free_phases(phases->stacks[k].top);
    free_phases(phases->spare);
    mem_free(phases->stacks);
    map_clear(&phases->by_thread);
    ordinal_clear(&phases->ordinals);
    range_forget(phases);
    ordinal_clear(&phases->beside);
    timeline_forget(&phases->timeline);
    *phases = (struct phases){0};
}

/* Peaks from the top down: each phase's counts for those below it. */
static bool peaks_are_valid(const struct phases *phases, const struct phase *top)
{
    for (size_t i = 0; i < phases->heaps->device_count; i++) {
        int64_t peak = phases->heaps->devices[i]->window.peak;
        for (const struct phase *phase = top; phase; phase = phase->below) {
            const struct phase_part *part = &phase->parts[i];
            if (part->peak.peak > peak)
                peak = part->peak.peak;
            if (peak < phases->heaps->devices[i]->allocated ||
                part->peak.peak < part->begin_allocated)
                return false;
        }
    }
    return true;
}

static bool stack_is_valid(const struct phases *phases, size_t at, size_t *open, size_t *of_thread)
{
    const struct phase_stack *stack = &phases->stacks[at];
    bool apart = timeline_is_apart(&phases->timeline, stack->thread);
    bool seen_process = false, seen_thread = false;
    if (!stack->top ||
        map_get(&phases->by_thread, stack->thread | (uint64_t)stack->domain << 32) != at)
        return false;
    for (const struct phase *phase = stack->top; phase; phase = phase->below) {
        bool process_scope = phase->scope == PHASE_PROCESS;
        if (phase->scope == PHASE_OTHER || phase->thread != stack->thread ||
            phase->domain != stack->domain || (process_scope && stack->domain) ||
            phase->part_cap < phases->heaps->device_count ||
            (process_scope && seen_thread && !apart) ||
            (process_scope && !seen_process && phase != phases->process_top))
            return false;
        seen_process |= process_scope;
        seen_thread |= !process_scope;
        ++*open;
        *of_thread += !process_scope;
    }
    return peaks_are_valid(phases, stack->top);
}

bool phase_is_valid(const struct phases *phases)
{
    size_t open = 0, of_thread = 0;
    if (phases->by_thread.count != phases->stack_count)
        return false;
    for (size_t k = 0; k < phases->stack_count; k++)
        if (!stack_is_valid(phases, k, &open, &of_thread))
            return false;
    return open == phases->open && of_thread == phases->thread_scope_open &&
           timeline_is_valid(phases) && range_is_valid(phases);
}
