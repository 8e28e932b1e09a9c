/*
 * state_event.c - the conductor: each event goes to the rooms that it concerns, in order, and what
 * one has to know of another is handed from here.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "late.h"
#include "state_process.h"
#include "state_types.h"

/* Never backwards. The hello may have been read after the first event was made: then the process
 * began with that event. */
static int64_t event_time(struct state_process *process, uint64_t time_ns)
{
    int64_t ns = ledger_ns(&process->state->ledger, time_ns);
    if (!process->events && ns < process->start_ns) {
        process->start_ns = process->account.last_ns = ns;
        phase_start_earlier(&process->phases, ns);
    }
    if (ns < process->account.last_ns)
        ns = process->account.last_ns;
    process->account.last_ns = ns;
    return ns;
}

/* "key=value", of the whole process or, with a heap, of its device. */
static void put_setting(struct state_process *process, const struct event *event, const char *text)
{
    char key[64];
    const char *value = strchr(text, '=');
    if (!value || value == text || (size_t)(value - text) >= sizeof key) {
        note(&process->account, NOTE_UNKNOWN_NAME, NOTE_NO_ADDRESS, "a setting without a key: %s",
             text);
        return;
    }
    snprintf(key, sizeof key, "%.*s", (int)(value - text), text);
    if (process_rank(process, key, value + 1))
        return;
    if (strcmp(key, "allocator") == 0 && strcmp(value, "=cudaMallocAsync") == 0)
        process->state->unseen = true;
    if (strcmp(key, "history") == 0 && strcmp(value, "=1") == 0)
        history_begin(&process->heaps);
    const struct heap *heap = event->heap ? heap_of_event(&process->heaps, event) : NULL;
    if (strcmp(key, "waiting") == 0 && strcmp(value, "=1") == 0)
        *(heap ? &heap->device->waits : &process->heaps.tells_waiting) = true;
    struct row_setting row = {
        .process = process->account.id,
        .device = row_opt(heap ? heap->device->id : ROW_UNKNOWN),
        .key = key,
        .value = value + 1,
    };
    if (!batch_put_setting(process->state->ledger.batch, &row))
        note_owed(&process->account, EVENT_MARK, 1);
}

static void put_mark(struct state_process *process, const struct event *event, int64_t ns)
{
    const struct state *state = process->state;
    uint32_t name = range_name_of(&process->phases, event),
             domain = range_domain_of(&process->phases, event);
    if (event->flags & EVENT_F_SOURCE) {
        process_source(process, names_text(&state->names, name), !event->a);
        return;
    }
    if (event->flags & EVENT_F_SETTING) {
        put_setting(process, event, names_text(&state->names, name));
        return;
    }
    int64_t value = (int64_t)event->a;
    if (event->site)
        value = names_lookup(process->defs, event->site, ARENA_SITE);
    struct row_mark row = {
        .seq = state->ledger.seq,
        .process = process->account.id,
        .thread = event->thread,
        .at_ns = ns,
        .name = names_text(&state->names, name),
        .value = value,
        .domain = domain ? names_text(&state->names, domain) : NULL,
    };
    if (!batch_put_mark(state->ledger.batch, &row))
        note_owed(&process->account, EVENT_MARK, 1);
}

/* ---- blocks and segments: who is asked, and told, in which order ---- */

/* A device that a heap saw for the first time: phases count on it, too. */
bool state_device_comes(void *context, struct heap_device *device)
{
    (void)device;
    struct state_process *process = context;
    return phase_add_device(&process->phases);
}

/* A block came with the highest that its device ever had, or in a phase that is its thread's alone.
 */
static void place_block(struct state_process *process, const struct event *event,
                        struct heap_device *device, const struct block *block)
{
    if (device->max_allocated_seq == block->seq)
        phase_take_highest(&process->phases, device);
    phase_put_block(&process->phases, event->thread, block->seq);
}

/* What the driver gave there is the block's heap's before the block is in it; a history that is
 * told later finds it, and it is in a phase, as soon as it is there. */
static void block_alloc(struct state_process *process, const struct event *event, int64_t ns)
{
    struct heap *heap = heap_of_event(&process->heaps, event);
    if (!heap) {
        note_owed(&process->account, EVENT_BLOCK_ALLOC, 1);
        return;
    }
    struct driver *driver = &process->driver;
    struct heap_device *device = heap->device;
    bool totals = event->flags & EVENT_F_TOTALS;
    if (totals)
        heap_take_reserved(heap, event, ns);
    if (driver_has(driver, device)) {
        driver_block(driver, heap, event->addr, event->size);
        if (totals)
            driver_totals(driver, device);
    }
    const struct block *block = heap_block_alloc(heap, event, ns);
    if (!block)
        return;
    if (device->history)
        history_block(heap, event->addr, block->size, block->seq);
    place_block(process, event, device, block);
}

static void block_free(struct state_process *process, const struct event *event, int64_t ns)
{
    struct heap *told = heap_of_event(&process->heaps, event), *heap = NULL;
    if (!told) {
        note_owed(&process->account, EVENT_BLOCK_FREE, 1);
        return;
    }
    if (event->flags & EVENT_F_TOTALS)
        heap_take_reserved(told, event, ns);
    int64_t allocation = heap_block_free(told, event, ns, &heap);
    if (heap && heap->device->history)
        history_block(heap, event->addr, 0, allocation);
}

static void segment_event(struct state_process *process, const struct event *event, int64_t ns)
{
    struct heap *heap = heap_of_event(&process->heaps, event);
    if (!heap) {
        note_owed(&process->account, event->kind, 1);
    } else if (event->kind == EVENT_SEGMENT_FREE) {
        heap_segment_free(heap, event, ns);
    } else {
        if (driver_has(&process->driver, heap->device))
            driver_segment(&process->driver, heap, event->addr, event->size);
        heap_segment_alloc(heap, event, ns);
    }
}

/* At the end of each phase: what the source says of itself beside what we counted. */
void state_phase_ends(void *context)
{
    struct state_process *process = context;
    for (size_t i = 0; i < process->heaps.device_count; i++) {
        driver_compare(&process->driver, process->heaps.devices[i]);
        heap_compare_totals(process->heaps.devices[i]);
    }
}

static void driver_event(struct driver *driver, const struct event *event, int64_t ns)
{
    assert(driver->account && driver->heaps);
    switch ((enum event_kind)event->kind) {
    case EVENT_DRIVER_ALLOC:
        driver_alloc(driver, event, ns);
        if (event->flags & EVENT_F_LATE)
            late_alloc(driver, event);
        break;
    case EVENT_DRIVER_FREE:
        driver_free(driver, event, ns);
        break;
    case EVENT_DRIVER_MAP:
        driver_map(driver, event, ns);
        break;
    default:
        driver_unmap(driver, event, ns);
    }
}

/* A training step may have ended. */
static void see_step(struct state_process *process)
{
    uint64_t steps = phase_steps(&process->phases);
    if (steps <= process->steps_seen)
        return;
    process->steps_seen = steps;
    phase_fold_windows(&process->phases);
    heap_step_ends(&process->heaps);
}

/* Those that tell when something of the program began or ended. */
static void course_event(struct state_process *process, const struct event *event, int64_t ns)
{
    switch ((enum event_kind)event->kind) {
    case EVENT_PHASE_BEGIN:
        phase_begin(&process->phases, event, ns);
        break;
    case EVENT_PHASE_END:
        phase_end(&process->phases, event, ns);
        process->ends++;
        break;
    case EVENT_ENTER:
    case EVENT_EXIT:
        phase_mark(&process->phases, event, ns);
        process->ends += event->kind == EVENT_EXIT;
        break;
    default: /* a step's begin or end */
        phase_step(&process->phases, event, ns);
        process->ends++;
    }
    see_step(process);
}

static void driver_side_event(struct state_process *process, const struct event *event, int64_t ns)
{
    switch ((enum event_kind)event->kind) {
    case EVENT_SAMPLE:
        driver_sample(&process->driver, event, ns);
        break;
    case EVENT_GAP:
        driver_gap(&process->driver, event, ns);
        break;
    case EVENT_ACTIVITY:
        driver_activity(&process->driver, event);
        break;
    default: /* memory that came or went */
        driver_event(&process->driver, event, ns);
    }
}

static void dispatch(struct state_process *process, const struct event *event, int64_t ns)
{
    switch ((enum event_kind)event->kind) {
    case EVENT_BLOCK_ALLOC:
        block_alloc(process, event, ns);
        break;
    case EVENT_BLOCK_FREE:
        block_free(process, event, ns);
        break;
    case EVENT_BLOCK_IDLE:
        heap_block_idle(&process->heaps, event, ns);
        break;
    case EVENT_SEGMENT_ALLOC:
    case EVENT_SEGMENT_FREE:
        segment_event(process, event, ns);
        break;
    case EVENT_PHASE_BEGIN:
    case EVENT_PHASE_END:
    case EVENT_STEP_BEGIN:
    case EVENT_STEP_END:
    case EVENT_ENTER:
    case EVENT_EXIT:
        course_event(process, event, ns);
        break;
    case EVENT_MARK:
        put_mark(process, event, ns);
        break;
    case EVENT_TAG:
        heap_tag(&process->heaps, event);
        break;
    case EVENT_OOM:
        heap_oom(&process->heaps, event, ns);
        phase_refused(&process->phases);
        process->refusals++;
        break;
    case EVENT_TAGS_HOLD:
        heap_tags_hold(&process->heaps, event);
        break;
    case EVENT_HISTORY:
        history_event(&process->heaps, event);
        break;
    case EVENT_DRIVER_ALLOC:
    case EVENT_DRIVER_FREE:
    case EVENT_DRIVER_MAP:
    case EVENT_DRIVER_UNMAP:
    case EVENT_SAMPLE:
    case EVENT_GAP:
    case EVENT_ACTIVITY:
        driver_side_event(process, event, ns);
        break;
    case EVENT_NONE:
    case EVENT_KIND_COUNT:
    default:
        note(&process->account, NOTE_UNKNOWN_EVENT, NOTE_NO_ADDRESS, "kind %u",
             (unsigned)event->kind);
    }
}

/* A sample of no device says nothing of any heap, and its row has no number: with one of its own it
 * would shift the numbers of all blocks behind it. */
static bool has_no_number(const struct event *event)
{
    return event->kind == EVENT_SAMPLE && event->heap == 0;
}

int64_t state_event(struct state_process *process, const struct event *event)
{
    struct state *state = process->state;
    if (has_no_number(event)) {
        driver_sample(&process->driver, event, event_time(process, event->time_ns));
        return state->ledger.seq;
    }
    phase_release(&process->phases, event);
    int64_t ns = event_time(process, event->time_ns);
    bool prepares = phase_make_way(&process->phases, event, ns);
    int64_t seq = ++state->ledger.seq;
    if (!process->events++)
        process->first_seq = seq;
    process->last_seq = seq;
    process->changed = true;
    state->events++;
    state->ledger.batch->event_count++;
    if (prepares)
        phase_prepare(&process->phases, event->thread, ns);
    dispatch(process, event, ns);
    return seq;
}

void state_moments(const struct state_process *process, uint64_t *ends, uint64_t *refusals)
{
    *ends = process->ends;
    *refusals = process->refusals;
}

void state_define(struct state_process *process, const struct arena_record *record,
                  const void *payload)
{
    struct names_heap defined;
    if (!names_define(process->defs, record, payload, &defined))
        return;
    const struct heap *heap = heap_make(&process->heaps, &defined);
    names_heap_made(process->defs, &defined, heap ? heap->number : 0);
}
