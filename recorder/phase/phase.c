#include "phase.h"

#include <assert.h>
#include <string.h>

#include "ledger.h"
#include "mem.h"
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
    assert(stack >= phases->stacks && stack <= last && !stack->top);
    map_remove(&phases->by_thread, key_of(stack->thread, stack->domain));
    if (stack == last)
        return;
    uint64_t key = key_of(last->thread, last->domain);
    map_remove(&phases->by_thread, key);
    map_put(&phases->by_thread, key, (uint64_t)(stack - phases->stacks), NULL);
    *stack = *last;
}

const struct phase *phase_top_of(const struct phases *phases, uint32_t thread, uint32_t domain)
{
    const struct phase_stack *stack = find_stack(phases, thread, domain);
    return stack ? stack->top : NULL;
}

/* Beside a framework's marks a range that a thread has for itself says less than they do: a
 * backward's threads work for all. */
static const struct phase *phase_of_thread(const struct phases *phases, uint32_t thread)
{
    const struct phase *phase = phase_top_of(phases, thread, 0);
    while (phase && phase->nvtx && timeline_is_marked(&phases->timeline))
        phase = phase->below;
    return phase && phase->scope == PHASE_THREAD ? phase : NULL;
}

void phase_put_of_thread(struct phases *phases, uint32_t thread, int64_t seq)
{
    const struct phase *phase = phase_of_thread(phases, thread);
    if (!phase)
        return;
    struct row_allocation_phase row = {.allocation = seq, .phase = phase->id};
    if (!batch_put_allocation_phase(phases->ledger->batch, &row))
        note_owed(phases->account, OWED_FACT, 1);
}

void phase_take_highest(const struct phases *phases, struct heap_device *device)
{
    const struct phase *here = phases->process_top;
    device->max_phase = here ? here->name : PHASE_NAME_OTHER;
    device->max_step = here ? here->step : phases->step;
}

/* ---- one phase ---- */

/* A record with parts for all devices; begun now: windows must have been folded. */
static struct phase *new_phase(struct phases *phases)
{
    struct phase *phase = phases->spare;
    if (!phase && !(phase = mem_alloc(1, sizeof *phase)))
        return NULL;
    phases->spare = phase->below;
    if (!MEM_GROW(phase->parts, phase->part_cap, phases->heaps->device_count)) {
        phase->below = phases->spare;
        phases->spare = phase;
        return NULL;
    }
    *phase = (struct phase){.parts = phase->parts, .part_cap = phase->part_cap};
    phase->parent = BATCH_NULL;
    phase->step = phases->step;
    for (size_t i = 0; i < phases->heaps->device_count; i++)
        phase_part_begin(&phase->parts[i], phases->heaps->devices[i]);
    return phase;
}

static void give_back(struct phases *phases, struct phase *phase)
{
    assert(phase != phases->process_top);
    phase->below = phases->spare;
    phases->spare = phase;
}

static void end_phase(struct phases *phases, const struct phase *phase, int64_t end_seq, int64_t ns,
                      const char *ended)
{
    struct phase_end end = {end_seq, ns, ended, true};
    if (phase->user)
        timeline_user_end(phases, phase, end_seq, ns, ended);
    bool row = phase->user || phase_put_row(phases, phase, &end);
    if (!phase_put_parts(phases, phase) || !row)
        note_owed(phases->account, EVENT_PHASE_END, 1);
}

bool phase_start(struct phases *phases, int64_t ns)
{
    phases->step = phases->ordinals.step = phases->beside.step = BATCH_NULL;
    return timeline_start(phases, ns);
}

/* ---- begin ---- */

/* What is begun on top of a phase that is not stored is not stored either: else the ends would
 * close the wrong ones. */
static void leave_unstored(struct phases *phases, struct phase_stack *stack, bool too_many)
{
    if (too_many)
        note(phases->account, NOTE_TOO_MANY_PHASES, NOTE_NO_ADDRESS, "more than %d",
             PHASE_MAX_OPEN);
    else
        note_owed(phases->account, EVENT_PHASE_BEGIN, 1);
    if (stack && stack->top)
        stack->unstored++;
    else if (stack)
        drop_stack(phases, stack);
}

static struct phase *make_phase(struct phases *phases, const struct phase_beginning *what,
                                int64_t ns)
{
    assert(phases->open < PHASE_MAX_OPEN);
    phase_fold_windows(phases);
    struct phase *phase = new_phase(phases);
    if (!phase)
        return NULL;
    phase->name = what->name;
    phase->domain = what->domain;
    if (phase->domain)
        phase->step = BATCH_NULL;
    phase->thread = what->thread;
    phase->nvtx = what->nvtx;
    phase->mark = what->mark;
    phase->begin_seq = phases->ledger->seq;
    phase->begin_ns = ns;
    phase->id = ++phases->ledger->phase_count;
    return phase;
}

static enum phase_scope scope_of(const struct phases *phases, const struct phase_beginning *what)
{
    const struct phase *owner = phases->process_top;
    uint32_t thread = phases->timeline.thread; /* 0: none yet */
    if (what->domain || timeline_is_apart(&phases->timeline, what->thread))
        return PHASE_THREAD;
    if (owner)
        return owner->thread == what->thread ? PHASE_PROCESS : PHASE_THREAD;
    return !thread || thread == what->thread ? PHASE_PROCESS : PHASE_THREAD;
}

static void push(struct phases *phases, struct phase_stack *stack, struct phase *phase)
{
    const struct phase *owner = phases->process_top;
    const struct phase *around = stack->top;
    assert(phase->scope != PHASE_OTHER && stack->thread == phase->thread);
    assert(phase->scope != PHASE_PROCESS || !stack->domain);
    if (!around && phase->domain)
        around = phase_top_of(phases, phase->thread, 0);
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

static void begin_row(struct phases *phases, struct phase *phase)
{
    bool marked = timeline_is_marked(&phases->timeline);
    assert(phase->id > 0 && !phase->user);
    if (!ordinal_take(marked ? &phases->beside : &phases->ordinals, phase->step, phase->name,
                      &phase->ordinal))
        note_owed(phases->account, OWED_FACT, 1);
    phase_put_row(phases, phase, &(struct phase_end){BATCH_NULL, BATCH_NULL, NULL, false});
}

void phase_open(struct phases *phases, const struct phase_beginning *what, int64_t ns)
{
    struct phase_stack *stack = find_stack(phases, what->thread, what->domain);
    bool too_many = phases->open >= PHASE_MAX_OPEN;
    if (too_many || (stack && stack->unstored)) {
        leave_unstored(phases, stack, too_many);
        return;
    }
    if (!stack)
        stack = get_stack(phases, what->thread, what->domain);
    timeline_reach(phases, phases->ledger->seq);
    struct phase *phase = stack ? make_phase(phases, what, ns) : NULL;
    if (!phase) {
        leave_unstored(phases, stack, false);
        return;
    }
    phase->scope = scope_of(phases, what);
    push(phases, stack, phase);
    if (phase->scope == PHASE_PROCESS)
        timeline_user_begin(phases, phase, ns);
    if (!phase->user)
        begin_row(phases, phase);
}

void phase_begin(struct phases *phases, const struct event *event, int64_t ns)
{
    struct phase_beginning what = {.thread = event->thread};
    if (event->flags & EVENT_F_DOMAIN) {
        range_begin(phases, event, ns);
        return;
    }
    what.name = names_lookup(phases->defs, event->name, ARENA_STRING);
    phase_open(phases, &what, ns);
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

static void pop(struct phases *phases, struct phase_stack *stack)
{
    struct phase *phase = stack->top;
    struct phase *below = phase->below;
    assert(phases->open > 0 && (phase->scope == PHASE_PROCESS || phases->thread_scope_open > 0));
    assert(phase->scope != PHASE_PROCESS || phase == phases->process_top);
    if (below)
        phase_fold_down(phases, phase, below);
    if (phase->scope == PHASE_PROCESS)
        phases->process_top = below && below->scope == PHASE_PROCESS ? below : NULL;
    else
        phases->thread_scope_open--;
    stack->top = below;
    phases->open--;
    give_back(phases, phase);
}

/* Ends the phases of a thread from the top down to `last`, now, at the number `seq`. */
static void end_down_to(struct phases *phases, struct phase_stack *stack, const struct phase *last,
                        int64_t seq, int64_t ns, const char *ended_above, const char *ended)
{
    assert(last && stack->top);
    phase_fold_windows(phases);
    phases->ends(phases->context);
    for (const struct phase *phase = NULL; phase != last;) {
        phase = stack->top;
        end_phase(phases, phase, seq, ns, phase == last ? ended : ended_above);
        pop(phases, stack);
    }
    if (!stack->top)
        drop_stack(phases, stack);
}

static void end_noting(struct phases *phases, struct phase_stack *stack, const struct phase *last,
                       int64_t ns, bool exception)
{
    for (const struct phase *inner = stack->top; inner != last; inner = inner->below)
        note(phases->account, NOTE_PHASE_UNBALANCED, NOTE_NO_ADDRESS,
             "%.60s was open as %.60s ended", phase_name(phases->names, inner->name),
             phase_name(phases->names, last->name));
    end_down_to(phases, stack, last, phases->ledger->seq, ns, "unbalanced",
                exception ? "exception" : "end");
}

void phase_end_nvtx(struct phases *phases, uint32_t thread, uint32_t domain, int64_t ns)
{
    struct phase_stack *stack = find_stack(phases, thread, domain);
    if (stack && stack->unstored) {
        stack->unstored--;
        return;
    }
    const struct phase *last = stack ? stack->top : NULL;
    while (last && !last->nvtx)
        last = last->below;
    if (last)
        end_noting(phases, stack, last, ns, false);
    else
        note(phases->account, NOTE_PHASE_END_WITHOUT_BEGIN, NOTE_NO_ADDRESS, "%s",
             "a range of NVTX");
}

void phase_end(struct phases *phases, const struct event *event, int64_t ns)
{
    if (event->flags & EVENT_F_DOMAIN) {
        range_end(phases, event, ns);
        return;
    }
    struct phase_stack *stack = find_stack(phases, event->thread, 0);
    uint32_t name = names_lookup(phases->defs, event->name, ARENA_STRING);
    const char *text = name ? names_text(phases->names, name) : "";
    if (stack && stack->unstored) {
        stack->unstored--;
        return;
    }
    const struct phase *last = stack ? stack->top : NULL;
    while (last && (last->mark || last->nvtx || (name && last->name != name)))
        last = last->below;
    if (!last) {
        note(phases->account, NOTE_PHASE_END_WITHOUT_BEGIN, NOTE_NO_ADDRESS, "%.120s", text);
        return;
    }
    end_noting(phases, stack, last, ns, event->flags & EVENT_F_EXCEPTION);
}

/* One that was open when its thread was set apart is no phase of the thread's: its end is nothing.
 */
static void end_mark(struct phases *phases, const struct event *event, int64_t ns)
{
    struct phase_stack *stack = find_stack(phases, event->thread, 0);
    if (stack && stack->unstored) {
        stack->unstored--;
        return;
    }
    const struct phase *last = stack ? stack->top : NULL;
    while (last && last->mark != event->size)
        last = last->below;
    if (last)
        end_noting(phases, stack, last, ns, event->flags & EVENT_F_EXCEPTION);
}

void phase_mark_apart(struct phases *phases, const struct event *event, int64_t ns)
{
    assert(event->size > 0 && event->size < MARK_KIND_COUNT);
    if (event->kind == EVENT_EXIT) {
        end_mark(phases, event, ns);
        return;
    }
    struct phase_beginning what = {
        .thread = event->thread,
        .name = PHASE_NAME_LABEL(label_of_mark(event)),
        .mark = (uint8_t)event->size,
    };
    phase_open(phases, &what, ns);
}

/* All of a stack's phases, because the thread or the process is gone. */
static void end_stack(struct phases *phases, struct phase_stack *stack, int64_t ns,
                      const char *ended)
{
    const struct phase *bottom = stack->top;
    for (const struct phase *phase = stack->top; phase; phase = phase->below) {
        note(phases->account, NOTE_PHASE_LEFT_OPEN, NOTE_NO_ADDRESS, "%.120s",
             phase_name(phases->names, phase->name));
        bottom = phase;
    }
    end_down_to(phases, stack, bottom, phases->ledger->seq, ns, ended, ended);
}

void phase_end_thread(struct phases *phases, uint32_t thread, int64_t ns)
{
    for (size_t i = phases->stack_count; i > 0; i--)
        if (phases->stacks[i - 1].thread == thread)
            end_stack(phases, &phases->stacks[i - 1], ns, "unbalanced");
    range_end_thread(phases, thread, ns);
    timeline_drop(phases, thread, ns);
}

void phase_end_all(struct phases *phases, int64_t ns)
{
    timeline_stop(phases, ns);
    while (phases->stack_count)
        end_stack(phases, &phases->stacks[phases->stack_count - 1], ns, "process end");
    range_end_all(phases, ns);
    phase_fold_windows(phases);
    phases->ends(phases->context);
    timeline_end(phases, ns);
}

/* ---- steps ---- */

/* Before the number of a STEP_BEGIN. */
static void end_what_lost_its_end(struct phases *phases, uint32_t thread, int64_t ns)
{
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
    note(phases->account, NOTE_PHASE_UNBALANCED, NOTE_NO_ADDRESS,
         "the end of %.60s was lost, it seems: it was open as the next step began",
         phase_name(phases->names, last->name));
    end_down_to(phases, stack, last, phases->ledger->seq - 1, ns, "unbalanced", "unbalanced");
}

uint64_t phase_steps(const struct phases *phases)
{
    if (phases->own_steps || !timeline_is_marked(&phases->timeline))
        return phases->own_ended;
    return timeline_steps(&phases->timeline);
}

/* STEP_BEGIN is the first number of the new step, STEP_END the last of the old one. */
void phase_step_begin(struct phases *phases, int64_t number, int64_t ns)
{
    phases->own_ended += phases->step != BATCH_NULL;
    phases->step = number;
    timeline_step(phases, phases->ledger->seq, ns);
}

void phase_step_end(struct phases *phases, int64_t ns)
{
    if (phases->step == BATCH_NULL) {
        note(phases->account, NOTE_STEP_END_WITHOUT_BEGIN, NOTE_NO_ADDRESS, "%s", "");
        return;
    }
    phases->own_ended++;
    phases->step = BATCH_NULL;
    timeline_step(phases, phases->ledger->seq + 1, ns);
}

void phase_step(struct phases *phases, const struct event *event, int64_t ns)
{
    bool no_more = event->a == 1 && phases->step == BATCH_NULL;
    if (event->kind == EVENT_STEP_BEGIN) {
        end_what_lost_its_end(phases, event->thread, ns);
        phases->own_steps = true;
        phase_step_begin(phases, ledger_cut(event->a), ns);
    } else if (!no_more) {
        phase_step_end(phases, ns);
    } else if (!phases->own_steps) {
        timeline_no_more_steps(phases, phases->ledger->seq + 1, ns);
    }
}
