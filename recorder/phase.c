#include "phase.h"

#include <string.h>

#include "mem.h"
#include "state_process.h"
#include "state_types.h"
#include "timeline.h"

/* ---- stacks of threads ---- */

static uint64_t key_of(uint32_t thread, uint32_t domain)
{
    return thread | (uint64_t)domain << 32;
}

static struct phase_stack *find_stack(const struct phases *phases, uint32_t thread, uint32_t domain)
{
    uint64_t at = map_get(&phases->by_thread, key_of(thread, domain));
    return at == MAP_NONE ? NULL : &phases->stacks[at];
}

static struct phase_stack *get_stack(struct phases *phases, uint32_t thread, uint32_t domain)
{
    struct phase_stack *stack = find_stack(phases, thread, domain);
    if (stack)
        return stack;
    if (!MEM_GROW(phases->stacks, phases->stack_cap, phases->stack_count + 1) ||
        !map_put(&phases->by_thread, key_of(thread, domain), phases->stack_count, NULL))
        return NULL;
    stack = &phases->stacks[phases->stack_count++];
    *stack = (struct phase_stack){.thread = thread, .domain = domain};
    return stack;
}

/* The last stack moves into its place. Its key is taken out before it is put again, so that the map
 * cannot want to grow. */
static void drop_stack(struct phases *phases, struct phase_stack *stack)
{
    struct phase_stack *last = &phases->stacks[--phases->stack_count];
    map_remove(&phases->by_thread, key_of(stack->thread, stack->domain));
    if (stack == last)
        return;
    uint64_t key = key_of(last->thread, last->domain);
    map_remove(&phases->by_thread, key);
    map_put(&phases->by_thread, key, (uint64_t)(stack - phases->stacks), NULL);
    *stack = *last;
}

const struct phase *phase_here(const struct state_process *process)
{
    return process->phases.process_top ? process->phases.process_top : process->phases.other;
}

const struct phase *phase_top_of(const struct state_process *process, uint32_t thread,
                                 uint32_t domain)
{
    const struct phase_stack *stack = find_stack(&process->phases, thread, domain);
    return stack ? stack->top : NULL;
}

/* Beside a framework's marks a range that a thread has for itself says less than they do: a
 * backward's threads work for all. */
static const struct phase *phase_of_thread(const struct state_process *process, uint32_t thread)
{
    const struct phase *phase = phase_top_of(process, thread, 0);
    while (phase && phase->nvtx && process->phases.timeline)
        phase = phase->below;
    return phase && phase->scope == PHASE_THREAD ? phase : NULL;
}

void phase_put_block(struct state_process *process, uint32_t thread, int64_t seq)
{
    const struct phase *phase = phase_of_thread(process, thread);
    if (phase &&
        !batch_put(process->state->ledger.batch, SCH_ALLOCATION_PHASE, "ii", seq, phase->id))
        note_owed(&process->account, OWED_FACT, 1);
}

void phase_take_highest(const struct state_process *process, struct heap_device *device)
{
    const struct phase *here = phase_here(process);
    device->max_phase = here->name;
    device->max_step = here->step;
}

/* ---- one phase ---- */

/* A record with parts for all devices; begun now: windows must have been folded. */
static struct phase *new_phase(struct state_process *process)
{
    struct phases *phases = &process->phases;
    struct phase *phase = phases->spare;
    if (!phase && !(phase = mem_alloc(1, sizeof *phase)))
        return NULL;
    phases->spare = phase->below;
    if (!MEM_GROW(phase->parts, phase->part_cap, process->heaps.device_count)) {
        phase->below = phases->spare;
        phases->spare = phase;
        return NULL;
    }
    *phase = (struct phase){.parts = phase->parts, .part_cap = phase->part_cap};
    phase->parent = BATCH_NULL;
    phase->step = phases->step;
    for (size_t i = 0; i < process->heaps.device_count; i++)
        phase_part_begin(&phase->parts[i], process->heaps.devices[i]);
    return phase;
}

static void give_back(struct phases *phases, struct phase *phase)
{
    phase->below = phases->spare;
    phases->spare = phase;
}

static void put_stretch(struct state_process *process, int64_t begin_seq, int64_t phase)
{
    if (!batch_put(process->state->ledger.batch, SCH_STRETCH, "iii", process->account.id, begin_seq,
                   phase))
        note_owed(&process->account, EVENT_PHASE_BEGIN, 1);
}

static void end_phase(struct state_process *process, struct phase *phase, int64_t end_seq,
                      int64_t ns, const char *ended)
{
    bool row = phase->on_timeline || phase_put_row(process, phase, end_seq, ns, ended);
    if (!phase_put_parts(process, phase) || !row)
        note_owed(&process->account, EVENT_PHASE_END, 1);
}

/* ---- `other`: what is between ---- */

static bool has_number(const struct state_process *process)
{
    return process->state->ledger.seq >= process->phases.other->begin_seq;
}

void phase_confirm(struct state_process *process)
{
    struct phases *phases = &process->phases;
    struct phase *other = phases->other;
    if (other->id || phases->timeline || !has_number(process))
        return;
    other->id = ++process->state->ledger.phase_count;
    if (!ordinal_take(&phases->ordinals, other->step, other->name, &other->ordinal))
        note_owed(&process->account, EVENT_PHASE_BEGIN, 1);
    phase_put_row(process, other, BATCH_NULL, BATCH_NULL, NULL);
    put_stretch(process, other->begin_seq, other->id);
}

void phase_before(struct state_process *process, int64_t ns)
{
    const struct phase *other = process->phases.other;
    if (process->phases.timeline)
        timeline_before(process, ns);
    else if (other && !has_number(process) && ns > other->begin_ns)
        process->state->ledger.seq++;
}

/* The record of the next `other` is always at hand, so that a process is never without a phase. */
static void begin_other(struct state_process *process, struct phase *other, int64_t begin_seq,
                        int64_t ns)
{
    other->scope = PHASE_OTHER;
    other->name = PHASE_NAME_OTHER;
    other->begin_seq = begin_seq;
    other->begin_ns = ns;
    process->phases.other = other;
}

static void end_other(struct state_process *process, int64_t end_seq, int64_t ns, const char *ended)
{
    struct phases *phases = &process->phases;
    struct phase *other = phases->other;
    if (end_seq >= other->begin_seq && !phases->timeline) {
        phase_confirm(process);
        end_phase(process, other, end_seq, ns, ended);
    }
    phases->other = NULL;
    give_back(phases, other);
}

/* A record was given back just now, and it had parts for all devices: new_phase cannot fail. */
static void next_other(struct state_process *process, int64_t begin_seq, int64_t ns)
{
    begin_other(process, new_phase(process), begin_seq, ns);
}

bool phase_start(struct state_process *process)
{
    struct phases *phases = &process->phases;
    phases->step = phases->ordinals.step = BATCH_NULL;
    struct phase *other = new_phase(process);
    if (other)
        begin_other(process, other, process->state->ledger.seq + 1, process->start_ns);
    return other != NULL;
}

/* ---- begin ---- */

/* What is begun on top of a phase that is not stored is not stored either: else the ends would
 * close the wrong ones. */
static void leave_unstored(struct state_process *process, struct phase_stack *stack, bool too_many)
{
    if (too_many)
        note(&process->account, NOTE_TOO_MANY_PHASES, NOTE_NO_ADDRESS, "more than %d",
             PHASE_MAX_OPEN);
    else
        note_owed(&process->account, EVENT_PHASE_BEGIN, 1);
    if (stack && stack->top)
        stack->unstored++;
    else if (stack)
        drop_stack(&process->phases, stack);
}

static struct phase *make_phase(struct state_process *process, const struct phase_beginning *what,
                                int64_t ns)
{
    phase_fold_windows(process);
    struct phase *phase = new_phase(process);
    if (!phase)
        return NULL;
    phase->name = what->name;
    phase->domain = what->domain;
    if (phase->domain)
        phase->step = BATCH_NULL;
    phase->thread = what->thread;
    phase->nvtx = what->nvtx;
    phase->mark = what->mark;
    phase->begin_seq = process->state->ledger.seq;
    phase->begin_ns = ns;
    phase->id = ++process->state->ledger.phase_count;
    return phase;
}

static enum phase_scope scope_of(const struct phases *phases, const struct phase_beginning *what)
{
    const struct phase *owner = phases->process_top;
    if (what->domain || (phases->timeline && timeline_is_apart(phases->timeline, what->thread)))
        return PHASE_THREAD;
    if (owner)
        return owner->thread == what->thread ? PHASE_PROCESS : PHASE_THREAD;
    return !phases->timeline || phases->timeline->thread == what->thread ? PHASE_PROCESS
                                                                         : PHASE_THREAD;
}

static void push(struct state_process *process, struct phase_stack *stack, struct phase *phase)
{
    struct phases *phases = &process->phases;
    const struct phase *owner = phases->process_top;
    const struct phase *around = stack->top;
    if (!around && phase->domain)
        around = phase_top_of(process, phase->thread, 0);
    if (around)
        phase->parent = around->id;
    else if (phase->scope == PHASE_THREAD && owner)
        phase->parent = owner->id;
    phase->below = stack->top;
    stack->top = phase;
    phases->open++;
    if (phase->scope == PHASE_PROCESS)
        phases->process_top = phase;
    else
        phases->thread_scope_open++;
}

static void begin_row(struct state_process *process, struct phase *phase)
{
    struct phases *phases = &process->phases;
    if (!ordinal_take(&phases->ordinals, phase->step, phase->name, &phase->ordinal))
        note_owed(&process->account, OWED_FACT, 1);
    phase_put_row(process, phase, BATCH_NULL, BATCH_NULL, NULL);
    if (phase->scope == PHASE_PROCESS && !phases->timeline)
        put_stretch(process, phase->begin_seq, phase->id);
}

void phase_open(struct state_process *process, const struct phase_beginning *what, int64_t ns)
{
    struct phases *phases = &process->phases;
    struct phase_stack *stack = find_stack(phases, what->thread, what->domain);
    bool too_many = phases->open >= PHASE_MAX_OPEN;
    if (too_many || (stack && stack->unstored)) {
        leave_unstored(process, stack, too_many);
        return;
    }
    if (!stack)
        stack = get_stack(phases, what->thread, what->domain);
    struct phase *phase = stack ? make_phase(process, what, ns) : NULL;
    if (!phase) {
        leave_unstored(process, stack, false);
        return;
    }
    phase->scope = scope_of(phases, what);
    bool process_scope = phase->scope == PHASE_PROCESS;
    if (phases->other && process_scope)
        end_other(process, phase->begin_seq - 1, ns, "end");
    push(process, stack, phase);
    if (phases->timeline && process_scope)
        timeline_user_begin(process, phase, ns);
    if (!phase->on_timeline)
        begin_row(process, phase);
}

void phase_begin(struct state_process *process, const struct event *event, int64_t ns)
{
    struct phase_beginning what = {.thread = event->thread};
    if (event->flags & EVENT_F_DOMAIN) {
        range_begin(process, event, ns);
        return;
    }
    what.name = names_lookup(process->defs, event->name, ARENA_STRING);
    phase_open(process, &what, ns);
}

/* What is known of a mark as it begins. */
static enum label label_of_mark(const struct event *event)
{
    static const enum label labels[MARK_KIND_COUNT] = {
        [MARK_BACKWARD] = LABEL_BACKWARD,   [MARK_ZERO_GRAD] = LABEL_ZERO_GRAD,
        [MARK_OPTIMIZER] = LABEL_OPTIMIZER, [MARK_SCALER] = LABEL_OPTIMIZER,
        [MARK_FORWARD] = LABEL_FORWARD,
    };
    if (event->size != MARK_FORWARD)
        return labels[event->size];
    if (!(event->b & MARK_F_GRAD))
        return LABEL_NO_GRAD;
    return event->b & MARK_F_LOSS_CLASS ? LABEL_LOSS : LABEL_FORWARD;
}

/* ---- end ---- */

static void pop(struct state_process *process, struct phase_stack *stack)
{
    struct phases *phases = &process->phases;
    struct phase *phase = stack->top;
    struct phase *below = phase->below;
    if (below)
        phase_fold_down(process, phase, below);
    if (phase->scope == PHASE_PROCESS)
        phases->process_top = below && below->scope == PHASE_PROCESS ? below : NULL;
    else
        phases->thread_scope_open--;
    stack->top = below;
    phases->open--;
    give_back(phases, phase);
}

/* Ends the phases of a thread from the top down to `last`, now, at the number `seq`. */
static void end_down_to(struct state_process *process, struct phase_stack *stack,
                        const struct phase *last, int64_t seq, int64_t ns, const char *ended_above,
                        const char *ended)
{
    struct phases *phases = &process->phases;
    const struct phase *before = phases->process_top;
    phase_fold_windows(process);
    state_compare_totals(process);
    for (const struct phase *phase = NULL; phase != last;) {
        phase = stack->top;
        const char *how = phase == last ? ended : ended_above;
        if (phase->user)
            timeline_user_end(process, phase, ns, how);
        end_phase(process, stack->top, seq, ns, how);
        pop(process, stack);
    }
    if (before && !phases->process_top)
        next_other(process, seq + 1, ns);
    else if (phases->process_top != before && !phases->timeline)
        put_stretch(process, seq + 1, phases->process_top->id);
    if (!stack->top)
        drop_stack(phases, stack);
}

static void end_noting(struct state_process *process, struct phase_stack *stack,
                       const struct phase *last, int64_t ns, bool exception)
{
    for (const struct phase *inner = stack->top; inner != last; inner = inner->below)
        note(&process->account, NOTE_PHASE_UNBALANCED, NOTE_NO_ADDRESS,
             "%.60s was open as %.60s ended", phase_name(process->state, inner->name),
             phase_name(process->state, last->name));
    end_down_to(process, stack, last, process->state->ledger.seq, ns, "unbalanced",
                exception ? "exception" : "end");
}

void phase_end_nvtx(struct state_process *process, uint32_t thread, uint32_t domain, int64_t ns)
{
    struct phase_stack *stack = find_stack(&process->phases, thread, domain);
    if (stack && stack->unstored) {
        stack->unstored--;
        return;
    }
    const struct phase *last = stack ? stack->top : NULL;
    while (last && !last->nvtx)
        last = last->below;
    if (last)
        end_noting(process, stack, last, ns, false);
    else
        note(&process->account, NOTE_PHASE_END_WITHOUT_BEGIN, NOTE_NO_ADDRESS, "%s",
             "a range of NVTX");
}

void phase_end(struct state_process *process, const struct event *event, int64_t ns)
{
    if (event->flags & EVENT_F_DOMAIN) {
        range_end(process, event, ns);
        return;
    }
    struct phase_stack *stack = find_stack(&process->phases, event->thread, 0);
    uint32_t name = names_lookup(process->defs, event->name, ARENA_STRING);
    const char *text = name ? names_text(&process->state->names, name) : "";
    if (stack && stack->unstored) {
        stack->unstored--;
        return;
    }
    const struct phase *last = stack ? stack->top : NULL;
    while (last && (last->mark || last->nvtx || (name && last->name != name)))
        last = last->below;
    if (!last) {
        note(&process->account, NOTE_PHASE_END_WITHOUT_BEGIN, NOTE_NO_ADDRESS, "%.120s", text);
        return;
    }
    end_noting(process, stack, last, ns, event->flags & EVENT_F_EXCEPTION);
}

/* One that was open when its thread was set apart is no phase of the thread's: its end is nothing.
 */
static void end_mark(struct state_process *process, const struct event *event, int64_t ns)
{
    struct phase_stack *stack = find_stack(&process->phases, event->thread, 0);
    if (stack && stack->unstored) {
        stack->unstored--;
        return;
    }
    const struct phase *last = stack ? stack->top : NULL;
    while (last && last->mark != event->size)
        last = last->below;
    if (last)
        end_noting(process, stack, last, ns, event->flags & EVENT_F_EXCEPTION);
}

void phase_mark_apart(struct state_process *process, const struct event *event, int64_t ns)
{
    if (event->kind == EVENT_EXIT) {
        end_mark(process, event, ns);
        return;
    }
    struct phase_beginning what = {
        .thread = event->thread,
        .name = PHASE_NAME_LABEL(label_of_mark(event)),
        .mark = (uint8_t)event->size,
    };
    phase_open(process, &what, ns);
}

/* All of a stack's phases, because the thread or the process is gone. */
static void end_stack(struct state_process *process, struct phase_stack *stack, int64_t ns,
                      const char *ended)
{
    const struct phase *bottom = stack->top;
    for (const struct phase *phase = stack->top; phase; phase = phase->below) {
        note(&process->account, NOTE_PHASE_LEFT_OPEN, NOTE_NO_ADDRESS, "%.120s",
             phase_name(process->state, phase->name));
        bottom = phase;
    }
    end_down_to(process, stack, bottom, process->state->ledger.seq, ns, ended, ended);
}

void phase_end_thread(struct state_process *process, uint32_t thread, int64_t ns)
{
    struct phases *phases = &process->phases;
    for (size_t i = phases->stack_count; i > 0; i--)
        if (phases->stacks[i - 1].thread == thread)
            end_stack(process, &phases->stacks[i - 1], ns, "unbalanced");
    range_end_thread(process, thread, ns);
    if (process->phases.timeline)
        timeline_drop(process, thread, ns);
}

void phase_end_all(struct state_process *process, int64_t ns)
{
    struct phases *phases = &process->phases;
    if (phases->timeline)
        timeline_stop(process, ns);
    while (phases->stack_count)
        end_stack(process, &phases->stacks[phases->stack_count - 1], ns, "process end");
    range_end_all(process, ns);
    phase_fold_windows(process);
    state_compare_totals(process);
    if (phases->timeline) {
        timeline_end(process, ns);
        return;
    }
    phase_before(process, ns);
    end_other(process, process->state->ledger.seq, ns, "process end");
}

/* ---- steps ---- */

void phase_lost_ends(struct state_process *process)
{
    process->phases.lost_ends_seq = process->state->ledger.seq;
}

/* Before the number of a STEP_BEGIN. */
static void end_what_lost_its_end(struct state_process *process, uint32_t thread, int64_t ns)
{
    struct phases *phases = &process->phases;
    struct phase_stack *stack = find_stack(phases, thread, 0);
    const struct phase *last = NULL;
    for (struct phase *phase = stack ? stack->top : NULL; phase; phase = phase->below) {
        bool may_be_over = phase->begin_seq <= phases->lost_ends_seq;
        if (may_be_over && phase->step != BATCH_NULL && !phase->across)
            last = phase;
        phase->across |= !may_be_over;
    }
    if (!last)
        return;
    note(&process->account, NOTE_PHASE_UNBALANCED, NOTE_NO_ADDRESS,
         "the end of %.60s was lost, it seems: it was open as the next step began",
         phase_name(process->state, last->name));
    end_down_to(process, stack, last, process->state->ledger.seq - 1, ns, "unbalanced",
                "unbalanced");
}

/* STEP_BEGIN is the first number of the new step, STEP_END the last of the old one. */
uint64_t phase_steps(const struct state_process *process)
{
    const struct phases *phases = &process->phases;
    if (phases->own_steps || !phases->timeline)
        return phases->own_ended;
    return timeline_steps(phases->timeline);
}

void phase_step(struct state_process *process, const struct event *event, int64_t ns)
{
    struct phases *phases = &process->phases;
    bool begins = event->kind == EVENT_STEP_BEGIN;
    bool last = !begins && event->a == 1;
    int64_t seq = process->state->ledger.seq;
    if (last && phases->step == BATCH_NULL) {
        if (phases->timeline && !phases->own_steps)
            timeline_no_more_steps(process, seq + 1, ns);
        return;
    }
    if (!begins && phases->step == BATCH_NULL) {
        note(&process->account, NOTE_STEP_END_WITHOUT_BEGIN, NOTE_NO_ADDRESS, "%s", "");
        return;
    }
    phases->own_steps |= begins;
    phases->own_ended += phases->step != BATCH_NULL;
    if (phases->timeline) {
        phases->step = begins ? ledger_cut(event->a) : BATCH_NULL;
        timeline_step(process, begins ? seq : seq + 1, ns);
        return;
    }
    if (begins)
        end_what_lost_its_end(process, event->thread, ns);
    bool between = phases->other != NULL;
    if (between) {
        phase_fold_windows(process);
        end_other(process, begins ? seq - 1 : seq, ns, "end");
    }
    phases->step = begins ? ledger_cut(event->a) : BATCH_NULL;
    if (between)
        next_other(process, begins ? seq : seq + 1, ns);
}

bool phase_hand_over(struct state_process *process, uint32_t thread, int64_t ns)
{
    struct phases *phases = &process->phases;
    struct timeline *timeline = timeline_new(process, thread, ns);
    if (!timeline)
        return false;
    phase_fold_windows(process);
    bool between = phases->other != NULL;
    if (between)
        end_other(process, process->state->ledger.seq - 1, ns, "end");
    range_hand_over(process, &timeline->labels.steps);
    phases->timeline = timeline;
    timeline->ordinals = phases->ordinals;
    phases->ordinals = (struct phase_ordinals){.step = BATCH_NULL};
    if (between)
        next_other(process, process->state->ledger.seq, ns);
    timeline_adopt(process, ns);
    return true;
}
