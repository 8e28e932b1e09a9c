#include "timeline.h"

#include <assert.h>
#include <string.h>

#include "ledger.h"
#include "phase.h"
#include "mem.h"

/* ---- how the devices stand ---- */

static struct timeline_part part_of(const struct heap_device *device)
{
    return (struct timeline_part){
        .allocated = device->allocated,
        .requested = device->requested_unknown ? BATCH_NULL : device->requested,
        .active = heap_active(device),
        .reserved = heap_reserved(device),
        .split = device->segments_known ? device->split : BATCH_NULL,
        .max_allocated = device->max_allocated,
        .max_allocated_seq = device->max_allocated_seq,
        .max_reserved = device->max_reserved,
        .allocs = device->allocs,
        .frees = device->frees,
        .alloc_bytes = device->alloc_bytes,
        .peak = {device->allocated, BATCH_NULL, BATCH_NULL, heap_reserved(device)},
    };
}

static void take_parts(const struct phases *phases, struct timeline_part *parts)
{
    assert(phases->heaps->device_count <= HEAP_MAX_DEVICES);
    for (size_t i = 0; i < phases->heaps->device_count; i++)
        parts[i] = part_of(phases->heaps->devices[i]);
}

/* ---- stretches ---- */

/* For one more: then adding it cannot fail. Without it the labels make no boundary. */
static bool make_room(void *context)
{
    struct phases *phases = context;
    struct timeline *timeline = &phases->timeline;
    if (timeline->head && timeline->head >= timeline->count) {
        memmove(timeline->stretches, timeline->stretches + timeline->head,
                timeline->count * sizeof *timeline->stretches);
        timeline->head = 0;
    }
    return MEM_GROW(timeline->stretches, timeline->cap, timeline->head + timeline->count + 1) &&
           MEM_GROW(timeline->spare.parts, timeline->spare.part_cap, phases->heaps->device_count);
}

/* The stretch that the labels have and we do not yet. */
static void follow(struct phases *phases)
{
    struct timeline *timeline = &phases->timeline;
    assert(timeline->labels.count <= timeline->count + 1);
    if (timeline->count == timeline->labels.count)
        return;
    struct timeline_stretch fresh = timeline->spare;
    fresh.part_count = phases->heaps->device_count;
    fresh.own_step = phases->step;
    fresh.entered = false;
    timeline->spare = (struct timeline_stretch){0};
    take_parts(phases, fresh.parts);
    timeline->stretches[timeline->head + timeline->count++] = fresh;
}

static struct timeline_end at_present(struct phases *phases, int64_t seq, int64_t ns)
{
    struct timeline *timeline = &phases->timeline;
    struct timeline_end end = {.seq = seq, .ns = ns};
    if (MEM_GROW(timeline->now, timeline->now_cap, phases->heaps->device_count)) {
        take_parts(phases, timeline->now);
        end.parts = timeline->now;
        end.part_count = phases->heaps->device_count;
    } else if (phases->heaps->device_count) {
        note_owed(phases->account, OWED_FACT, 1);
    }
    return end;
}

static void after_boundary(struct phases *phases, enum label_result result)
{
    if (result == LABEL_NO_MEMORY)
        note_owed(phases->account, OWED_FACT, 1);
    follow(phases);
    timeline_write_settled(phases, NULL);
    timeline_reach(phases, phases->ledger->seq + 1);
}

static void set_limit(struct phases *phases)
{
    size_t bytes = sizeof(struct timeline_stretch) + sizeof(struct label_stretch) +
                   sizeof(struct label_node) +
                   (phases->heaps->device_count + 1) * sizeof(struct timeline_part);
    size_t limit = TIMELINE_BYTES / bytes;
    if (limit > LABEL_WINDOW)
        limit = LABEL_WINDOW;
    phases->timeline.labels.limit = limit < TIMELINE_MIN_WINDOW ? TIMELINE_MIN_WINDOW : limit;
}

void timeline_fold(struct timeline *timeline, size_t device, const struct heap_window *window)
{
    if (!timeline->count)
        return;
    struct timeline_stretch *last = &timeline->stretches[timeline->head + timeline->count - 1];
    if (device < last->part_count && window->peak > last->parts[device].peak.peak)
        last->parts[device].peak = *window;
}

/* The device is new: as the stretch began it had nothing. */
void timeline_add_device(struct phases *phases)
{
    struct timeline *timeline = &phases->timeline;
    size_t at = phases->heaps->device_count;
    if (!timeline->count)
        return;
    struct timeline_stretch *last = &timeline->stretches[timeline->head + timeline->count - 1];
    if (last->part_count == at && MEM_GROW(last->parts, last->part_cap, at + 1)) {
        last->parts[at] = part_of(phases->heaps->devices[at]);
        last->part_count = at + 1;
    } else if (last->part_count == at) {
        note_owed(phases->account, OWED_FACT, 1);
    }
    set_limit(phases);
}

/* ---- boundaries ---- */

void timeline_before(struct phases *phases, int64_t ns)
{
    const struct labels *labels = &phases->timeline.labels;
    const struct label_stretch *last = label_at(labels, labels->count - 1);
    assert(labels->count > 0);
    if (phases->ledger->seq < last->begin_seq && ns > last->begin_ns)
        phases->ledger->seq++;
}

static void note_result(struct phases *phases, enum label_result result, const struct event *event)
{
    if (result == LABEL_NOT_OPEN)
        note(phases->account, NOTE_MARK_END_WITHOUT_BEGIN, NOTE_NO_ADDRESS, "mark %llu",
             (unsigned long long)event->size);
    if (result == LABEL_IGNORED && event->kind == EVENT_ENTER)
        note(phases->account, NOTE_TOO_MANY_PHASES, NOTE_NO_ADDRESS, "mark %llu",
             (unsigned long long)event->size);
}

static struct label_mark mark_of(const struct event *event)
{
    return (struct label_mark){
        .kind = (unsigned)event->size,
        .flags = (unsigned)(event->b & 0xff),
        .identity = event->a,
        .thread = event->thread,
        .exception = event->flags & EVENT_F_EXCEPTION,
    };
}

static void end_mark(struct phases *phases, const struct event *event, int64_t ns)
{
    struct labels *labels = &phases->timeline.labels;
    struct label_mark mark = mark_of(event);
    assert(event->kind == EVENT_EXIT);
    phase_fold_windows(phases);
    phases->ends(phases->context);
    enum label_result result = label_exit(labels, &mark, phases->ledger->seq + 1, ns);
    note_result(phases, result, event);
    after_boundary(phases, result);
}

static void end_held(struct phases *phases)
{
    struct event event = phases->timeline.held;
    assert(event.kind == EVENT_EXIT);
    phases->timeline.held.kind = EVENT_NONE;
    end_mark(phases, &event, phases->account->last_ns);
}

void phase_release_all(struct phases *phases)
{
    if (phases->timeline.held.kind != EVENT_NONE)
        end_held(phases);
}

static bool is_outermost_forward(const struct timeline *timeline, const struct event *event)
{
    return event->size == MARK_FORWARD && !(event->flags & EVENT_F_EXCEPTION) &&
           timeline->labels.open_count == 1 && timeline->labels.open_marks == 1;
}

/* Marks divide the time from now on, and count the steps where nobody else does. */
static void begin_marks(struct phases *phases, uint32_t thread)
{
    struct timeline *timeline = &phases->timeline;
    assert(!timeline_is_marked(timeline));
    timeline->thread = thread;
    for (size_t i = 0; i < timeline->user_count && !phases->own_steps; i++)
        timeline->users[i].placed = false;
    range_hand_over(phases, &timeline->labels.steps);
    label_marks_begin(&timeline->labels, phases->own_steps);
}

static void enter_mark(struct phases *phases, const struct event *event, int64_t ns)
{
    struct label_mark mark = mark_of(event);
    assert(event->kind == EVENT_ENTER && phases->timeline.held.kind == EVENT_NONE);
    phase_fold_windows(phases);
    enum label_result result =
        label_enter(&phases->timeline.labels, &mark, phases->ledger->seq, ns);
    note_result(phases, result, event);
    after_boundary(phases, result);
}

void phase_mark(struct phases *phases, const struct event *event, int64_t ns)
{
    bool enter = event->kind == EVENT_ENTER;
    if (event->size == 0 || event->size >= MARK_KIND_COUNT) {
        note(phases->account, NOTE_UNKNOWN_EVENT, NOTE_NO_ADDRESS, "mark %llu",
             (unsigned long long)event->size);
        return;
    }
    if (enter && !timeline_is_marked(&phases->timeline)) {
        timeline_reach(phases, phases->ledger->seq);
        begin_marks(phases, event->thread);
    }
    enum timeline_turn turn = timeline_turn(phases, event, ns);
    if (turn == TIMELINE_APART)
        phase_mark_apart(phases, event, ns);
    if (turn != TIMELINE_TAKE)
        return;
    if (enter)
        enter_mark(phases, event, ns);
    else if (is_outermost_forward(&phases->timeline, event))
        phases->timeline.held = *event;
    else
        end_mark(phases, event, ns);
}

void phase_prepare(struct phases *phases, uint32_t thread, int64_t ns)
{
    struct timeline *timeline = &phases->timeline;
    if (timeline->thread != thread)
        return;
    phase_fold_windows(phases);
    after_boundary(phases, label_prepare(&timeline->labels, thread, phases->ledger->seq, ns));
}

static struct timeline_user *new_user(struct timeline *timeline)
{
    size_t at = timeline->first_free;
    while (at < timeline->user_count && timeline->users[at].used)
        at++;
    if (at == timeline->user_count) {
        if (!MEM_GROW(timeline->users, timeline->user_cap, at + 1))
            return NULL;
        timeline->user_count++;
    }
    timeline->first_free = at;
    return &timeline->users[at];
}

static enum label_result add_user(struct phases *phases, struct phase *phase, int64_t ns)
{
    struct timeline *timeline = &phases->timeline;
    struct timeline_user *user = new_user(timeline);
    if (!user)
        return LABEL_NO_MEMORY;
    *user = (struct timeline_user){
        .used = true,
        .nvtx = phase->nvtx,
        .name = phase->name,
        .thread = phase->thread,
        .id = phase->id,
        .parent = phase->below && !phase->below->user ? phase->below->id : BATCH_NULL,
        .step = phase->step,
        .begin_seq = phase->begin_seq,
        .begin_ns = phase->begin_ns,
        .end_seq = BATCH_NULL,
        .end_ns = BATCH_NULL,
    };
    size_t number = (size_t)(user - timeline->users);
    enum label_result result = label_user_begin(&timeline->labels, number, phase->thread,
                                                phase->begin_seq, ns, &user->node);
    user->used = result == LABEL_MADE;
    phase->user = user->used ? number + 1 : 0;
    return result;
}

void timeline_user_begin(struct phases *phases, struct phase *phase, int64_t ns)
{
    assert(phase->scope == PHASE_PROCESS && !phase->user);
    after_boundary(phases, add_user(phases, phase, ns));
}

void timeline_user_end(struct phases *phases, const struct phase *phase, int64_t seq, int64_t ns,
                       const char *ended)
{
    struct timeline *timeline = &phases->timeline;
    struct timeline_user *user = &timeline->users[phase->user - 1];
    user->end_seq = seq;
    user->end_ns = ns;
    user->ended = ended;
    user->kind = phase_kind_of(phases, phase);
    if (timeline->labels.ended)
        return;
    after_boundary(phases, label_user_end(&timeline->labels, user->node, seq + 1, ns));
}

void timeline_step(struct phases *phases, int64_t seq, int64_t ns)
{
    struct timeline *timeline = &phases->timeline;
    label_own_steps(&timeline->labels);
    phase_fold_windows(phases);
    after_boundary(phases, label_cut(&timeline->labels, seq, ns));
}

void timeline_no_more_steps(struct phases *phases, int64_t seq, int64_t ns)
{
    struct labels *labels = &phases->timeline.labels;
    label_no_more_steps(labels, seq);
    phase_fold_windows(phases);
    after_boundary(phases, label_cut(labels, seq, ns));
}

void timeline_drop(struct phases *phases, uint32_t thread, int64_t ns)
{
    phase_release_all(phases);
    timeline_forget_thread(&phases->timeline, thread);
    phase_fold_windows(phases);
    after_boundary(phases,
                   label_drop(&phases->timeline.labels, thread, phases->ledger->seq + 1, ns));
}

void timeline_leave(struct phases *phases, uint32_t thread, int64_t ns)
{
    struct labels *labels = &phases->timeline.labels;
    phase_fold_windows(phases);
    for (size_t i = labels->open_count; i > 0; i--) {
        const struct label_node *node = label_node(labels, labels->open[i - 1]);
        if (node->kind == LABEL_USER || node->thread != thread)
            continue;
        struct label_mark mark = {.kind = node->kind, .identity = node->identity, .thread = thread};
        after_boundary(phases, label_exit(labels, &mark, phases->ledger->seq, ns));
    }
}

size_t timeline_threads(const struct timeline *timeline, uint32_t *threads, size_t count,
                        size_t max)
{
    const struct labels *labels = &timeline->labels;
    assert(count <= max);
    for (size_t i = 0; i < labels->open_count && count < max; i++) {
        uint32_t thread = label_node(labels, labels->open[i])->thread;
        size_t at = 0;
        while (at < count && threads[at] != thread)
            at++;
        if (at == count)
            threads[count++] = thread;
    }
    return count;
}

/* ---- flush and end ---- */

void timeline_flush(struct phases *phases)
{
    struct timeline *timeline = &phases->timeline;
    label_settle(&timeline->labels, true);
    timeline_write_settled(phases, NULL);
    timeline_reach(phases, phases->ledger->seq + 1);
    struct timeline_end now = at_present(phases, phases->ledger->seq + 1, phases->account->last_ns);
    timeline_write_guess(phases, &now);
}

void timeline_stop(struct phases *phases, int64_t ns)
{
    phase_release_all(phases);
    timeline_before(phases, ns);
    phase_fold_windows(phases);
    label_end(&phases->timeline.labels);
}

void timeline_end(struct phases *phases, int64_t ns)
{
    struct timeline_end end = at_present(phases, phases->ledger->seq + 1, ns);
    timeline_write_settled(phases, &end);
    timeline_close_all(phases, &end);
}

/* ---- begin, forget, check ---- */

bool timeline_start(struct phases *phases, int64_t ns)
{
    struct timeline *timeline = &phases->timeline;
    *timeline = (struct timeline){.guesser = {.guesses = true}};
    timeline->writer.innermost = timeline->guesser.innermost = BATCH_NULL;
    timeline->writer.last_step = timeline->guesser.last_step = BATCH_NULL;
    if (!label_start(&timeline->labels, phases->ledger->seq + 1, ns) || !make_room(phases)) {
        timeline_forget(timeline);
        return false;
    }
    timeline->labels.room = make_room;
    timeline->labels.context = phases;
    set_limit(phases);
    follow(phases);
    return true;
}

void timeline_start_earlier(struct timeline *timeline, int64_t ns)
{
    timeline->labels.stretches[timeline->labels.head].begin_ns = ns;
    for (size_t i = 0; i < timeline->writer.count; i++)
        timeline->writer.open[i].begin_ns = ns;
}

void timeline_forget(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->count; i++)
        mem_free(timeline->stretches[timeline->head + i].parts);
    mem_free(timeline->stretches);
    mem_free(timeline->spare.parts);
    mem_free(timeline->users);
    mem_free(timeline->path);
    mem_free(timeline->items);
    mem_free(timeline->now);
    mem_free(timeline->apart);
    timeline_forget_writer(&timeline->writer);
    timeline_forget_writer(&timeline->guesser);
    ordinal_clear(&timeline->guessed);
    label_clear(&timeline->labels);
    *timeline = (struct timeline){0};
}

bool timeline_is_valid(const struct phases *phases)
{
    const struct timeline *timeline = &phases->timeline;
    const struct labels *labels = &timeline->labels;
    if (timeline->count != labels->count || !label_is_valid(labels))
        return false;
    for (size_t i = 0; i < timeline->count; i++) {
        const struct timeline_stretch *stretch = &timeline->stretches[timeline->head + i];
        if (stretch->part_count > phases->heaps->device_count || (i && stretch->entered))
            return false;
        for (size_t k = 0; k < stretch->part_count; k++)
            if (stretch->parts[k].peak.peak < stretch->parts[k].allocated)
                return false;
    }
    for (size_t i = 0; i < timeline->first_free; i++)
        if (!timeline->users[i].used)
            return false;
    for (size_t i = 0; i < timeline->writer.count; i++) {
        const struct timeline_open *open = &timeline->writer.open[i];
        if (open->id <= 0 || open->id > phases->ledger->phase_count || open->id >= DB_LOOSE_PHASE)
            return false;
    }
    return true;
}

uint64_t timeline_steps(const struct timeline *timeline)
{
    const struct label_steps *steps = &timeline->labels.steps;
    return steps->optimizer_count ? steps->updates_seen / steps->optimizer_count : 0;
}
