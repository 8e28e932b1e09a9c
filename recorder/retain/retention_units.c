/*
 * Units: what the facts of a batch say of steps, peaks and blocks that outlived their unit.
 */
#include <assert.h>
#include <string.h>

#include "mem.h"
#include "pqueue.h"
#include "retention_types.h"

struct retention_process *retention_process_find(const struct retention *retention, int64_t id)
{
    uint64_t place = map_get(&retention->places, (uint64_t)id);
    return place == MAP_NONE ? NULL : &retention->processes[place];
}

struct retention_process *retention_process_of(struct retention *retention, int64_t id)
{
    struct retention_process *known = retention_process_find(retention, id);
    if (known)
        return known;
    if (!MEM_GROW(retention->processes, retention->process_cap, retention->process_count + 1) ||
        !map_put(&retention->places, (uint64_t)id, retention->process_count, NULL))
        return NULL;
    struct retention_process *made = &retention->processes[retention->process_count++];
    *made = (struct retention_process){.id = id, .decided = RETENTION_NONE};
    return made;
}

void retention_process_forget(struct retention *retention, size_t place)
{
    struct retention_process *process = &retention->processes[place];
    assert(place < retention->process_count);
    retention->ended_waiting -= process->ended;
    for (size_t i = 0; i < process->heap_count; i++)
        map_remove(&retention->heaps, (uint64_t)process->heaps[i]);
    map_remove(&retention->places, (uint64_t)process->id);
    mem_free(process->units);
    mem_free(process->kept);
    mem_free(process->peaks);
    mem_free(process->ooms);
    mem_free(process->late.at);
    mem_free(process->spared.at);
    mem_free(process->left);
    mem_free(process->over);
    mem_free(process->heaps);
    const struct retention_process *last = &retention->processes[--retention->process_count];
    if (process == last)
        return;
    *process = *last;
    map_put(&retention->places, (uint64_t)process->id, place, NULL); /* it is there: no memory */
}

/* ---- blocks that outlived their unit ---- */

static bool append(struct retention_blocks *blocks, int64_t seq, int64_t free_seq)
{
    if (!MEM_GROW(blocks->at, blocks->cap, blocks->count + 1))
        return false;
    blocks->at[blocks->count++] = (struct retention_block){free_seq, seq};
    return true;
}

static bool dies_before(const struct retention_block *one, const struct retention_block *other)
{
    return one->free_seq < other->free_seq;
}

bool retention_late_push(struct retention_process *process, int64_t seq, int64_t free_seq)
{
    struct retention_blocks *late = &process->late;
    if (!append(late, seq, free_seq))
        return false;
    PQUEUE_RISE(late->at, late->count - 1, dies_before);
    return true;
}

bool retention_late_pop(struct retention_process *process, int64_t end, struct retention_block *out)
{
    struct retention_blocks *late = &process->late;
    if (!late->count || late->at[0].free_seq >= end)
        return false;
    *out = late->at[0];
    late->at[0] = late->at[--late->count];
    PQUEUE_SINK(late->at, 0, late->count, dies_before);
    return true;
}

/* ---- units ---- */

bool retention_add_unit(struct retention_process *process, int64_t step, int64_t begin)
{
    assert(process->head <= process->count);
    if (process->head > 1024 && process->head > process->count / 2) {
        process->count -= process->head;
        memmove(process->units, process->units + process->head,
                process->count * sizeof *process->units);
        process->head = 0;
    }
    if (!MEM_GROW(process->units, process->cap, process->count + 1))
        return false;
    process->units[process->count++] =
        (struct retention_unit){step, begin, RETENTION_NONE, RETENTION_NONE};
    return true;
}

static void add_phase(struct retention_unit *unit, int64_t phase)
{
    assert(phase > 0 && unit->first_phase <= unit->last_phase);
    if (unit->first_phase == RETENTION_NONE || phase < unit->first_phase)
        unit->first_phase = phase;
    if (unit->last_phase == RETENTION_NONE || phase > unit->last_phase)
        unit->last_phase = phase;
}

/* Marks of a framework are labelled late: a phase may come after one that began behind it, and may
 * begin its step earlier than was known. Never before the unit that stands in front. */
static void phase_of_step(struct retention_process *process, int64_t phase, int64_t step,
                          int64_t begin)
{
    if (!process->has_steps) {
        process->has_steps = true;
        process->head = process->count; /* what came before the first step is part of it */
    }
    size_t at = process->count;
    while (at > process->head && process->units[at - 1].step > step)
        at--;
    struct retention_unit *unit = at > process->head ? &process->units[at - 1] : NULL;
    if (unit && unit->step == step) {
        int64_t least = at - 1 > process->head ? process->units[at - 2].begin + 1 : RETENTION_NONE;
        if (begin < unit->begin && begin >= least && begin >= process->decided)
            unit->begin = begin;
        add_phase(unit, phase);
        return;
    }
    bool newest = at == process->count && (!unit || begin > unit->begin);
    if (!newest || begin < process->decided || !retention_add_unit(process, step, begin))
        return; /* of a unit that is decided: it stays */
    add_phase(&process->units[process->count - 1], phase);
}

/* Before the first step, or without any. */
static void phase_of_none(struct retention_process *process, int64_t phase)
{
    if (!process->has_steps && process->count > process->head)
        add_phase(&process->units[process->count - 1], phase);
}

static void see_phase(struct retention *retention, const struct batch_cell *cells)
{
    int64_t id = cells[SCH_AT(phase, id)].value;
    const struct batch_cell *step = &cells[SCH_AT(phase, step)];
    retention->phase = id;
    retention->of_process = cells[SCH_AT(phase, process)].value;
    struct retention_process *process = retention_process_of(retention, retention->of_process);
    if (!process) {
        retention->blind = true;
        return;
    }
    if (cells[SCH_AT(phase, settled)].kind != CELL_INT)
        return; /* what it is, and its step, may change */
    if (step->kind == CELL_INT)
        phase_of_step(process, id, step->value, cells[SCH_AT(phase, begin_seq)].value);
    else
        phase_of_none(process, id);
}

/* ---- peaks ---- */

static struct retention_peak *newest_peak(struct retention_process *process, int64_t device)
{
    for (size_t i = process->peak_count; i-- > 0;)
        if (process->peaks[i].device == device)
            return &process->peaks[i];
    return NULL;
}

/* A phase's parts mostly follow its row; else it is asked of the database. */
static struct retention_process *process_of_phase(struct retention *retention, int64_t phase)
{
    int64_t process = -1;
    if (retention->phase == phase)
        return retention_process_find(retention, retention->of_process);
    int err =
        retention_first(retention, RETENTION_PROCESS_OF_PHASE, Q_IN(phase), Q_OUT(Q_INT(process)));
    retention->blind |= err < 0;
    retention->phase = phase;
    retention->of_process = process;
    return retention_process_find(retention, process);
}

static void see_part(struct retention *retention, const struct batch_cell *cells)
{
    const struct batch_cell *highest = &cells[SCH_AT(phase_device, max_allocated_seq)];
    struct retention_peak peak = {cells[SCH_AT(phase_device, device)].value, highest->value};
    if (highest->kind != CELL_INT)
        return;
    struct retention_process *process =
        process_of_phase(retention, cells[SCH_AT(phase_device, phase)].value);
    struct retention_peak *known = process ? newest_peak(process, peak.device) : NULL;
    if (!process || (known && known->seq >= peak.seq))
        return;
    if (known && retention_has_limit(retention)) {
        *known = peak;
        return;
    }
    if (MEM_GROW(process->peaks, process->peak_cap, process->peak_count + 1))
        process->peaks[process->peak_count++] = peak;
    else
        retention->blind = true;
}

static void see_oom(struct retention *retention, const struct batch_cell *cells)
{
    struct retention_process *process =
        retention_process_of(retention, cells[SCH_AT(oom, process)].value);
    if (process && MEM_GROW(process->ooms, process->oom_cap, process->oom_count + 1))
        process->ooms[process->oom_count++] = cells[SCH_AT(oom, seq)].value;
    else
        retention->blind = true;
}

/* ---- heaps and ends ---- */

bool retention_add_heap(struct retention *retention, struct retention_process *process,
                        int64_t heap)
{
    uint64_t before = MAP_NONE;
    assert(heap > 0 && process->id > 0);
    if (!MEM_GROW(process->heaps, process->heap_cap, process->heap_count + 1) ||
        !map_put(&retention->heaps, (uint64_t)heap, (uint64_t)process->id, &before))
        return false;
    if (before == MAP_NONE)
        process->heaps[process->heap_count++] = heap;
    return true;
}

static void see_heap(struct retention *retention, const struct batch_cell *cells)
{
    struct retention_process *process =
        retention_process_of(retention, cells[SCH_AT(heap, process)].value);
    if (!process || !retention_add_heap(retention, process, cells[SCH_AT(heap, id)].value))
        retention->blind = true;
}

/* It is in the database, where it can be read again: while there is room nothing has to be decided,
 * and of those that wait to be there may be any number. */
static bool may_be_forgotten(const struct retention *retention)
{
    return retention_has_limit(retention) && !retention->options.keep_steps &&
           (!retention->pressed || retention->ended_waiting >= RETENTION_ENDED_WAIT);
}

/* Its row has an end_ns: the facts of it that are to come say nothing of units. */
static void see_process(struct retention *retention, const struct batch_cell *cells)
{
    const struct batch_cell *end = &cells[SCH_AT(process, end_ns)];
    struct retention_process *process =
        retention_process_find(retention, cells[SCH_AT(process, id)].value);
    if (!process || end->kind != CELL_INT || process->ended)
        return;
    process->ended = true;
    retention->ended_waiting++;
    if (!may_be_forgotten(retention))
        return;
    if (end->value > retention->forgotten_ns)
        retention->forgotten_ns = end->value;
    retention_process_forget(retention, (size_t)(process - retention->processes));
}

/* ---- a batch ---- */

static void see_facts(struct retention *retention, const struct batch *batch)
{
    for (size_t i = 0; i < batch->fact_count; i++) {
        const struct batch_cell *cells = batch->cells + batch->facts[i].first_cell;
        switch (batch->facts[i].statement) {
        case SCH_HEAP:
            see_heap(retention, cells);
            break;
        case SCH_PROCESS:
            see_process(retention, cells);
            break;
        case SCH_PHASE:
            see_phase(retention, cells);
            break;
        case SCH_PHASE_DEVICE:
            see_part(retention, cells);
            break;
        case SCH_OOM:
            see_oom(retention, cells);
            break;
        default:
            break;
        }
    }
}

/* Of processes without steps. */
static void see_allocs(struct retention *retention, const struct batch *batch)
{
    int64_t heap = -1;
    struct retention_process *process = NULL;
    for (size_t i = 0; i < batch->alloc_count; i++) {
        const struct batch_alloc *row = &batch->allocs[i];
        if (row->heap != heap) {
            uint64_t id = map_get(&retention->heaps, (uint64_t)row->heap);
            process = id == MAP_NONE ? NULL : retention_process_find(retention, (int64_t)id);
            heap = row->heap;
        }
        if (!process || process->has_steps)
            continue;
        const struct retention_unit *last =
            process->count > process->head ? &process->units[process->count - 1] : NULL;
        if (!last || row->seq - last->begin >= RETENTION_UNIT_SEQS)
            retention_add_unit(process, RETENTION_NONE, row->seq);
    }
}

/* What is decided already died: the process is asked of the database, for ends do not say it. */
static void see_end(struct retention *retention, const struct batch_end *end)
{
    int64_t heap = -1;
    int err = retention_first(retention, RETENTION_ROW, Q_IN(end->seq), Q_OUT(Q_INT(heap), Q_REST));
    retention->blind |= err < 0;
    uint64_t id = err == DB_ROW ? map_get(&retention->heaps, (uint64_t)heap) : MAP_NONE;
    struct retention_process *process =
        id == MAP_NONE ? NULL : retention_process_find(retention, (int64_t)id);
    if (process && end->seq < process->decided &&
        !retention_late_push(process, end->seq, end->free_seq))
        retention->blind = true;
}

void retention_see(struct retention *retention, const struct batch *batch)
{
    if (!retention)
        return;
    see_facts(retention, batch);
    see_allocs(retention, batch);
    int64_t decided = RETENTION_NONE;
    for (size_t i = 0; i < retention->process_count; i++)
        if (retention->processes[i].decided > decided)
            decided = retention->processes[i].decided;
    for (size_t i = 0; i < batch->end_count; i++)
        if (batch->ends[i].seq < decided)
            see_end(retention, &batch->ends[i]);
}
