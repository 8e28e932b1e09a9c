#include "state.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "late.h"
#include "mem.h"
#include "utf8.h"
#include "state_process.h"
#include "state_types.h"
#include "timeline.h"

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
    state->ledger.batch = batch_new();
    if (state->ledger.batch)
        state->ledger.batch->hide_paths = options->private;
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

/* ---- events ---- */

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
    if (!batch_put(process->state->ledger.batch, SCH_SETTING, "inss", process->account.id,
                   heap ? heap->device->id : BATCH_NULL, key, value + 1))
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
    if (!batch_put(state->ledger.batch, SCH_MARK, "iiiisis", state->ledger.seq, process->account.id,
                   (int64_t)event->thread, ns, names_text(&state->names, name), value,
                   domain ? names_text(&state->names, domain) : NULL))
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
                        const struct block *block)
{
    struct heap_device *device = block->heap->device;
    if (device->max_allocated_seq == block->seq)
        phase_take_highest(&process->phases, device);
    if (process->phases.thread_scope_open)
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
    bool totals = event->flags & EVENT_F_TOTALS;
    if (totals)
        heap_take_reserved(heap, event, ns);
    if (driver_has(driver, heap->device)) {
        driver_block(driver, heap, event->addr, event->size);
        if (totals)
            driver_totals(driver, heap->device);
    }
    const struct block *block = heap_block_alloc(heap, event, ns);
    if (!block)
        return;
    if (heap->device->history)
        history_block(heap, event->addr, block->size, block->seq);
    place_block(process, event, block);
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
        phase_begin(&process->phases, event, ns);
        break;
    case EVENT_PHASE_END:
        phase_end(&process->phases, event, ns);
        break;
    case EVENT_STEP_BEGIN:
    case EVENT_STEP_END:
        phase_step(&process->phases, event, ns);
        break;
    case EVENT_MARK:
        put_mark(process, event, ns);
        break;
    case EVENT_TAG:
        heap_tag(&process->heaps, event);
        break;
    case EVENT_OOM:
        heap_oom(&process->heaps, event, ns);
        if (process->phases.timeline)
            label_refused(&process->phases.timeline->labels);
        break;
    case EVENT_ENTER:
    case EVENT_EXIT:
        timeline_mark(&process->phases, event, ns);
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
        driver_event(&process->driver, event, ns);
        break;
    case EVENT_SAMPLE:
        driver_sample(&process->driver, event, ns);
        break;
    case EVENT_GAP:
        driver_gap(&process->driver, event, ns);
        break;
    case EVENT_ACTIVITY:
        driver_activity(&process->driver, event);
        break;
    case EVENT_NONE:
    case EVENT_KIND_COUNT:
    default:
        note(&process->account, NOTE_UNKNOWN_EVENT, NOTE_NO_ADDRESS, "kind %u",
             (unsigned)event->kind);
    }
}

/* Histories, activities, samples and what is told late are of what was before, or of what is no
 * work of a thread. */
static bool only_frees(const struct event *event)
{
    unsigned kind = event->kind;
    if (kind == EVENT_DRIVER_ALLOC)
        return event->flags & EVENT_F_LATE;
    return kind == EVENT_BLOCK_FREE || kind == EVENT_BLOCK_IDLE || kind == EVENT_SEGMENT_FREE ||
           kind == EVENT_HISTORY || kind == EVENT_DRIVER_FREE || kind == EVENT_DRIVER_UNMAP ||
           kind == EVENT_SAMPLE || kind == EVENT_GAP || kind == EVENT_ACTIVITY;
}

static bool is_after_a_pause(const struct state_process *process, const struct event *event)
{
    int64_t ns = ledger_ns(&process->state->ledger, event->time_ns);
    return ns > process->account.last_ns && ns - process->account.last_ns > TIMELINE_AT_ONCE_NS;
}

/* A backward begins with its first gradient, though its mark comes after it. */
static bool prepares_backward(const struct state_process *process, const struct event *event)
{
    return event->kind == EVENT_BLOCK_ALLOC && process->phases.timeline &&
           names_prepares(process->defs, event->site);
}

int64_t state_event(struct state_process *process, const struct event *event)
{
    struct state *state = process->state;
    if (process->phases.timeline && (!only_frees(event) || is_after_a_pause(process, event)))
        timeline_release(&process->phases);
    int64_t ns = event_time(process, event->time_ns);
    bool prepares = prepares_backward(process, event);
    if ((event->kind == EVENT_PHASE_BEGIN && range_may_end_gap(event)) ||
        event->kind == EVENT_STEP_BEGIN || event->kind == EVENT_ENTER || prepares)
        phase_before(&process->phases, ns);
    int64_t seq = ++state->ledger.seq;
    if (!process->events++)
        process->first_seq = seq;
    process->last_seq = seq;
    process->changed = true;
    state->events++;
    state->ledger.batch->event_count++;
    if (prepares)
        timeline_prepare(&process->phases, event->thread, ns);
    dispatch(process, event, ns);
    return seq;
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

/* ---- what was lost on the way ---- */

static void put_loss(struct state_process *process, const struct state_loss *loss, const char *kind,
                     unsigned owed_as, uint64_t n)
{
    const struct state *state = process->state;
    if (n &&
        !batch_put(state->ledger.batch, SCH_LOST, "iiiiisi", process->account.id, loss->first_seq,
                   state->ledger.seq, ledger_ns(&state->ledger, loss->first_ns),
                   ledger_ns(&state->ledger, loss->last_ns), kind, ledger_cut(n))) {
        note_owed(&process->account, owed_as, n);
        process->state->ledger.lost -= n; /* counted by the caller, or not an event */
    }
}

void state_lost(struct state_process *process, const struct state_loss *loss)
{
    struct state *state = process->state;
    for (unsigned kind = 0; kind < sizeof loss->by_kind / sizeof *loss->by_kind; kind++) {
        state->ledger.lost += loss->by_kind[kind];
        put_loss(process, loss, event_kind_name(kind), kind < EVENT_KIND_COUNT ? kind : OWED_FACT,
                 loss->by_kind[kind]);
        process->account.notes.unsure |= loss->by_kind[kind] > 0;
    }
    put_loss(process, loss, "late", OWED_FACT, loss->late);
    if (loss->by_kind[EVENT_PHASE_END])
        phase_lost_ends(&process->phases);
    if (process->phases.timeline && (loss->by_kind[EVENT_ENTER] || loss->by_kind[EVENT_EXIT]))
        timeline_drop(&process->phases, 0, process->account.last_ns);
}

void state_torn(struct state_process *process, uint64_t ticket, uint64_t at_ns, const char *why)
{
    struct state *state = process->state;
    state->torn++;
    process->account.notes.unsure = true;
    if (!batch_put(state->ledger.batch, SCH_TORN, "iiiis", process->account.id,
                   state->ledger.seq + 1, ledger_cut(ticket), ledger_ns(&state->ledger, at_ns),
                   why))
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
    struct batch *fresh = batch_new();
    if (!fresh)
        return NULL;
    for (struct state_process *process = state->processes; process;) {
        struct state_process *next = process->next;
        process_flush(process, commit);
        process = next;
    }
    keyframe_flush(&state->keyframes, &state->ledger, &state->pool, state->events);
    struct batch *done = state->ledger.batch;
    done->commit = commit;
    fresh->made_ns = now_ns;
    fresh->hide_paths = done->hide_paths;
    state->ledger.batch = fresh;
    state->ledger.serial++;
    return done;
}

/* ---- totals ---- */

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
