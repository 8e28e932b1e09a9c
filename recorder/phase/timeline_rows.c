/* Stretches into rows: the writer's open phases, and the guess of what is not settled. */
#include <string.h>

#include "ledger.h"
#include "phase.h"
#include "mem.h"
#include "timeline.h"

/* ---- what a stretch is part of ---- */

static size_t path_of(struct timeline *timeline, const struct label_stretch *stretch)
{
    size_t count = 0;
    for (uint32_t at = stretch->node; at; at = label_node(&timeline->labels, at)->parent) {
        if (!MEM_GROW(timeline->path, timeline->path_cap, count + 1))
            return 0;
        timeline->path[count++] = at;
    }
    return count;
}

static bool add_item(struct timeline *timeline, struct timeline_item item)
{
    if (!MEM_GROW(timeline->items, timeline->item_cap, timeline->item_count + 1))
        return false;
    timeline->items[timeline->item_count++] = item;
    return true;
}

/* The phases that the stretch is in, outermost first: marks that are something else than the mark
 * around them, the program's own phases, and the gap if it is something. */
static bool items_of(struct timeline *timeline, const struct label_stretch *stretch)
{
    const struct labels *labels = &timeline->labels;
    size_t count = path_of(timeline, stretch);
    enum label around = LABEL_COUNT;
    timeline->item_count = 0;
    if (stretch->node && !count)
        return false;
    while (count) {
        const struct label_node *node = label_node(labels, timeline->path[--count]);
        struct timeline_item item = {.node = node->id, .label = (enum label)node->label};
        bool user = node->kind == LABEL_USER;
        if (user)
            item = (struct timeline_item){.user = (size_t)node->user + 1};
        else if (item.label == around)
            continue;
        around = user ? LABEL_COUNT : item.label;
        if (!add_item(timeline, item))
            return false;
    }
    const struct label_node *owner = label_node(labels, stretch->owner);
    bool gap = stretch->owner == LABEL_ROOT || label_is_step(owner);
    bool nothing = stretch->label == label_fallback(owner) && timeline->item_count;
    struct timeline_item last = {.label = (enum label)stretch->label};
    return !gap || nothing || add_item(timeline, last);
}

static int64_t step_of(const struct timeline *timeline, const struct timeline_stretch *stretch,
                       const struct label_stretch *label)
{
    if (timeline->labels.steps.off)
        return stretch->own_step;
    return label->step == LABEL_NO_STEP ? BATCH_NULL : label->step;
}

static bool continues(const struct timeline_open *open, const struct timeline_item *item,
                      int64_t step)
{
    if (open->failed || open->user != item->user)
        return false;
    if (item->user)
        return true;
    bool same = item->node && open->node == item->node;
    return open->label == item->label && (same || open->step == step);
}

/* ---- parts ---- */

/* Those of a device that came later begin with nothing. */
static bool fold_parts(struct timeline_open *open, const struct timeline_part *parts, size_t count)
{
    if (!MEM_GROW(open->parts, open->part_cap, count))
        return false;
    for (; open->part_count < count; open->part_count++)
        open->parts[open->part_count] =
            (struct timeline_part){.peak = parts[open->part_count].peak};
    for (size_t i = 0; i < count; i++)
        if (parts[i].peak.peak > open->parts[i].peak.peak)
            open->parts[i].peak = parts[i].peak;
    return true;
}

static bool put_part(struct phases *phases, const struct timeline_open *open,
                     const struct timeline_end *end, size_t device)
{
    static const struct timeline_part nothing;
    const struct timeline_part *now = &end->parts[device];
    const struct timeline_part *begin = device < open->part_count ? &open->parts[device] : &nothing;
    struct row_phase_device row = {
        .phase = open->id,
        .device = phases->heaps->devices[device]->id,
        .begin_allocated = begin->allocated,
        .allocated = now->allocated,
        .requested = row_opt(now->requested),
        .active = row_opt(now->active),
        .reserved = row_opt(now->reserved),
        .inactive_split = row_opt(now->split),
        .max_allocated = now->max_allocated,
        .max_allocated_seq = row_opt(now->max_allocated_seq),
        .max_reserved = row_opt(now->max_reserved),
        .peak_allocated = begin->peak.peak,
        .peak_seq = row_opt(begin->peak.seq),
        .peak_ns = row_opt(begin->peak.ns),
        .peak_reserved = row_opt(begin->peak.reserved),
        .allocs = ledger_cut(now->allocs - begin->allocs),
        .frees = ledger_cut(now->frees - begin->frees),
        .alloc_bytes = ledger_cut(now->alloc_bytes - begin->alloc_bytes),
    };
    return batch_put_phase_device(phases->ledger->batch, &row);
}

/* ---- rows ---- */

static void see_highs(struct phases *phases, const struct timeline_open *open, size_t devices)
{
    for (size_t i = 0; i < devices && i < open->part_count; i++) {
        struct phase_high high = {PHASE_NAME_LABEL(open->label), (uint32_t)i,
                                  open->parts[i].peak.peak};
        if (phases->heaps->devices[i]->allocs)
            phase_high_take(&phases->highs, &high);
    }
}

/* The row of a phase of the program's own says how that ended, as soon as it did. */
static struct phase row_of(const struct timeline *timeline, const struct timeline_open *open)
{
    const struct timeline_user *user = open->user ? &timeline->users[open->user - 1] : NULL;
    bool other = !user && open->label == LABEL_OTHER;
    return (struct phase){
        .id = open->id,
        .parent = open->parent,
        .scope = other ? PHASE_OTHER : PHASE_PROCESS,
        .name = user ? user->name : PHASE_NAME_LABEL(open->label),
        .nvtx = user && user->nvtx,
        .kind = user ? user->kind : NULL,
        .thread = user ? user->thread : open->thread,
        .ordinal = open->ordinal,
        .step = open->step,
        .begin_seq = user ? user->begin_seq : open->begin_seq,
        .begin_ns = user ? user->begin_ns : open->begin_ns,
    };
}

/* With `ended` NULL as it stands. Phases of the program's own have their parts from elsewhere, and
 * are settled once the writer has met their end: where phases cross they are closed before. */
static void put_phase(struct phases *phases, const struct timeline_writer *writer,
                      const struct timeline_open *open, const struct timeline_end *end,
                      const char *ended)
{
    const struct timeline_user *user = open->user ? &phases->timeline.users[open->user - 1] : NULL;
    struct phase row = row_of(&phases->timeline, open);
    struct phase_end how = {BATCH_NULL, BATCH_NULL, NULL, false};
    if (user)
        how = (struct phase_end){user->end_seq, user->end_ns, user->ended, user->over};
    else if (ended)
        how = (struct phase_end){end->seq - 1, end->ns, ended, true};
    how.settled = how.settled && !writer->guesses;
    bool all = phase_put_row(phases, &row, &how);
    for (size_t i = 0; !user && i < end->part_count; i++)
        if (end->parts[i].allocs)
            all = put_part(phases, open, end, i) && all;
    if (how.settled && !user)
        see_highs(phases, open, end->part_count);
    if (!all)
        note_owed(phases->account, OWED_FACT, 1);
}

static void put_stretch(struct phases *phases, struct timeline_writer *writer, int64_t begin_seq)
{
    struct timeline_loose *loose = &phases->timeline.loose;
    const struct timeline_open *top = &writer->open[writer->count - 1];
    if (top->id == writer->innermost)
        return;
    writer->innermost = top->id;
    if (writer->guesses && !loose->stretch)
        loose->stretch = begin_seq;
    struct row_stretch row = {
        .process = phases->account->id, .begin_seq = begin_seq, .phase = top->id};
    if (!batch_put_stretch(phases->ledger->batch, &row))
        note_owed(phases->account, OWED_FACT, 1);
}

/* ---- open phases ---- */

static struct timeline_open *new_open(struct timeline_writer *writer)
{
    if (!MEM_GROW(writer->open, writer->cap, writer->count + 1))
        return NULL;
    if (writer->records == writer->count)
        writer->open[writer->records++] = (struct timeline_open){0};
    return &writer->open[writer->count];
}

static void free_user(struct timeline *timeline, size_t number)
{
    timeline->users[number - 1].used = false;
    if (number - 1 < timeline->first_free)
        timeline->first_free = number - 1;
}

static void close_down(struct phases *phases, struct timeline_writer *writer, size_t keep,
                       const struct timeline_end *end, const char *ended)
{
    struct timeline *timeline = &phases->timeline;
    while (writer->count > keep) {
        struct timeline_open *open = &writer->open[--writer->count];
        put_phase(phases, writer, open, end, open->failed ? "exception" : ended);
        if (writer->count && !fold_parts(open - 1, open->parts, open->part_count))
            note_owed(phases->account, OWED_FACT, 1);
        if (open->user && !writer->guesses && timeline->users[open->user - 1].over)
            free_user(timeline, open->user);
    }
}

static int64_t take_ordinal(struct phases *phases, const struct timeline_writer *writer,
                            int64_t step, uint32_t name)
{
    struct timeline *timeline = &phases->timeline;
    int64_t ordinal;
    bool counted = writer->guesses
                       ? ordinal_guess(&timeline->guessed, &phases->ordinals, step, name, &ordinal)
                       : ordinal_take(&phases->ordinals, step, name, &ordinal);
    if (!counted)
        note_owed(phases->account, OWED_FACT, 1);
    return ordinal;
}

/* Where the program counts, its step was known as it began. */
static void count_user(struct phases *phases, const struct timeline_writer *writer,
                       struct timeline_open *open, int64_t step)
{
    struct timeline *timeline = &phases->timeline;
    struct timeline_user *user = &timeline->users[open->user - 1];
    open->step = timeline->labels.steps.off ? user->step : step;
    open->ordinal = take_ordinal(phases, writer, open->step, user->name);
    if (writer->guesses)
        return;
    user->parent = open->parent;
    user->step = open->step;
    user->ordinal = open->ordinal;
    user->placed = true;
}

/* The first time that a phase of the program's own is met; it is met again if phases cross. */
static void open_user(struct phases *phases, const struct timeline_writer *writer,
                      struct timeline_open *open)
{
    const struct timeline_user *user = &phases->timeline.users[open->user - 1];
    open->id = user->id;
    if (!user->placed) {
        if (open->parent == BATCH_NULL)
            open->parent = user->parent;
        count_user(phases, writer, open, open->step);
        return;
    }
    open->parent = user->parent;
    open->step = user->step;
    open->ordinal = user->ordinal;
}

/* Those that go on beyond the step in which they began; what is between marks does not tell. */
static void leave_step(struct phases *phases, struct timeline_writer *writer,
                       const struct label_stretch *label, int64_t step)
{
    if (phases->timeline.labels.steps.off || label->label == LABEL_OTHER)
        return;
    for (size_t i = 0; i < writer->count; i++) {
        struct timeline_open *open = &writer->open[i];
        if (open->user && open->step != step && open->step != BATCH_NULL)
            count_user(phases, writer, open, BATCH_NULL);
    }
}

static int64_t new_id(struct phases *phases, const struct timeline_writer *writer)
{
    struct timeline_loose *loose = &phases->timeline.loose;
    if (!writer->guesses)
        return ++phases->ledger->phase_count;
    int64_t id = DB_LOOSE_PHASE + phases->ledger->loose_count++;
    if (loose->first == loose->end)
        loose->first = id;
    loose->end = id + 1;
    return id;
}

static bool open_item(struct phases *phases, struct timeline_writer *writer,
                      const struct timeline_item *item, const struct timeline_stretch *stretch,
                      const struct label_stretch *label)
{
    struct timeline *timeline = &phases->timeline;
    struct timeline_open *open = new_open(writer);
    if (!open || !MEM_GROW(open->parts, open->part_cap, stretch->part_count))
        return false;
    *open = (struct timeline_open){
        .node = item->node,
        .user = item->user,
        .label = item->label,
        .thread = label->thread,
        .parent = writer->count ? open[-1].id : BATCH_NULL,
        .step = step_of(timeline, stretch, label),
        .begin_seq = label->begin_seq,
        .begin_ns = label->begin_ns,
        .parts = open->parts,
        .part_count = stretch->part_count,
        .part_cap = open->part_cap,
    };
    for (size_t i = 0; i < stretch->part_count; i++) {
        open->parts[i] = stretch->parts[i];
        open->parts[i].peak = (struct heap_window){stretch->parts[i].allocated, BATCH_NULL,
                                                   BATCH_NULL, stretch->parts[i].reserved};
    }
    if (item->user) {
        open_user(phases, writer, open);
    } else {
        open->id = new_id(phases, writer);
        open->ordinal = take_ordinal(phases, writer, open->step, PHASE_NAME_LABEL(open->label));
    }
    writer->count++;
    return true;
}

/* ---- one stretch ---- */

/* Where a device was at its highest so far. */
static void name_peaks(struct phases *phases, const struct timeline_writer *writer,
                       int64_t begin_seq, int64_t end_seq)
{
    const struct timeline_open *top = &writer->open[writer->count - 1];
    const struct timeline_user *user = top->user ? &phases->timeline.users[top->user - 1] : NULL;
    for (size_t i = 0; i < phases->heaps->device_count; i++) {
        struct heap_device *device = phases->heaps->devices[i];
        if (device->max_allocated_seq < begin_seq || device->max_allocated_seq >= end_seq)
            continue;
        device->max_phase = user ? user->name : PHASE_NAME_LABEL(top->label);
        device->max_step = top->step;
    }
}

static void note_failure(struct timeline_writer *writer, const struct label_node *closed)
{
    for (size_t i = writer->count; i > 0; i--)
        if (writer->open[i - 1].node == closed->id && !writer->open[i - 1].user)
            writer->open[i - 1].failed = true;
}

/* One that was open as the first mark came is in the step of what came then. */
static void place_again(struct phases *phases, const struct timeline_writer *writer,
                        struct timeline_open *open, int64_t step)
{
    struct timeline_user *user = &phases->timeline.users[open->user - 1];
    if (user->placed)
        return;
    if (open->step != step)
        count_user(phases, writer, open, step);
    user->placed |= !writer->guesses;
}

static void place(struct phases *phases, struct timeline_writer *writer,
                  struct timeline_stretch *stretch, const struct label_stretch *label)
{
    struct timeline *timeline = &phases->timeline;
    int64_t step = step_of(timeline, stretch, label);
    size_t keep = 0;
    while (keep < writer->count && keep < timeline->item_count &&
           continues(&writer->open[keep], &timeline->items[keep], step)) {
        struct timeline_open *open = &writer->open[keep];
        open->node = timeline->items[keep].node;
        if (open->user)
            place_again(phases, writer, open, step);
        keep++;
    }
    struct timeline_end begin = {label->begin_seq, label->begin_ns, stretch->parts,
                                 stretch->part_count};
    close_down(phases, writer, keep, &begin, "end");
    for (; keep < timeline->item_count; keep++) {
        if (!open_item(phases, writer, &timeline->items[keep], stretch, label)) {
            note_owed(phases->account, OWED_FACT, 1);
            return;
        }
    }
}

/* No later stretch is in it. Where phases cross, none may be now, or may ever have been. */
static void release_user(struct phases *phases, size_t number)
{
    struct timeline *timeline = &phases->timeline;
    const struct timeline_end nothing = {0};
    struct timeline_open open = {.user = number, .parent = BATCH_NULL, .step = BATCH_NULL};
    for (size_t i = 0; i < timeline->writer.count; i++)
        if (timeline->writer.open[i].user == number)
            return; /* it is closed with the next stretch that has a number */
    open_user(phases, &timeline->writer, &open);
    put_phase(phases, &timeline->writer, &open, &nothing, "end");
    free_user(timeline, number);
}

/* The stretch begins. Without a number it has nothing in it: time did not pass. */
static void enter(struct phases *phases, struct timeline_writer *writer, size_t index,
                  bool has_number)
{
    struct timeline *timeline = &phases->timeline;
    struct timeline_stretch *stretch = &timeline->stretches[timeline->head + index];
    const struct label_stretch *label = label_at(&timeline->labels, index);
    const struct label_node *closed = label_node(&timeline->labels, label->closed);
    size_t user = closed->kind == LABEL_USER && label->closed ? (size_t)closed->user + 1 : 0;
    if (user && !writer->guesses)
        timeline->users[user - 1].over = true;
    if (label->closed && closed->exception)
        note_failure(writer, closed);
    if (has_number && items_of(timeline, label)) {
        place(phases, writer, stretch, label);
        leave_step(phases, writer, label, step_of(timeline, stretch, label));
        if (writer->count)
            put_stretch(phases, writer, label->begin_seq);
    }
    if (writer->guesses)
        return;
    stretch->entered = true;
    if (user && timeline->users[user - 1].used)
        release_user(phases, user);
}

static void take(struct phases *phases, struct timeline_writer *writer, size_t index,
                 int64_t end_seq)
{
    struct timeline *timeline = &phases->timeline;
    const struct timeline_stretch *stretch = &timeline->stretches[timeline->head + index];
    int64_t begin_seq = label_at(&timeline->labels, index)->begin_seq;
    if (!stretch->entered)
        enter(phases, writer, index, end_seq > begin_seq);
    struct timeline_open *top = writer->count ? &writer->open[writer->count - 1] : NULL;
    if (top && end_seq > begin_seq)
        name_peaks(phases, writer, begin_seq, end_seq);
    if (top && !fold_parts(top, stretch->parts, stretch->part_count))
        note_owed(phases->account, OWED_FACT, 1);
}

static int64_t end_of(const struct timeline *timeline, size_t index,
                      const struct timeline_end *last)
{
    if (index + 1 < timeline->count)
        return label_at(&timeline->labels, index + 1)->begin_seq;
    return last->seq;
}

/* ---- settled ---- */

/* Phases that find no memory now go before the next rows; their stretches would take those along.
 */
static void drop_loose(struct phases *phases)
{
    struct timeline_loose *loose = &phases->timeline.loose;
    struct batch *batch = phases->ledger->batch;
    struct row_stretch_drop stretches = {.process = phases->account->id,
                                         .begin_seq = loose->stretch};
    if (loose->stretch && !batch_put_stretch_drop(batch, &stretches))
        note_owed(phases->account, OWED_FACT, 1);
    loose->stretch = 0;
    for (; loose->first < loose->end; loose->first++) {
        int64_t id = loose->first;
        if (!batch_put_phase_drop(batch, &(struct row_phase_drop){.id = id}) ||
            !batch_put_phase_device_drop(batch, &(struct row_phase_device_drop){.phase = id}))
            return;
    }
}

static void pop(struct timeline *timeline)
{
    struct timeline_stretch *gone = &timeline->stretches[timeline->head++];
    if (gone->part_cap > timeline->spare.part_cap) {
        mem_free(timeline->spare.parts);
        timeline->spare = *gone;
    } else {
        mem_free(gone->parts);
    }
    timeline->count--;
    label_pop(&timeline->labels);
}

void timeline_write_settled(struct phases *phases, const struct timeline_end *last)
{
    struct timeline *timeline = &phases->timeline;
    size_t stay = last ? 0 : 1; /* its end is to come */
    if (timeline->labels.settled && timeline->count > stay)
        drop_loose(phases);
    while (timeline->labels.settled && timeline->count > stay) {
        take(phases, &timeline->writer, 0, end_of(timeline, 0, last));
        pop(timeline);
    }
}

void timeline_reach(struct phases *phases, int64_t seq)
{
    struct timeline *timeline = &phases->timeline;
    if (!timeline->labels.settled || timeline->stretches[timeline->head].entered ||
        label_at(&timeline->labels, 0)->begin_seq >= seq)
        return;
    drop_loose(phases);
    enter(phases, &timeline->writer, 0, true);
}

void timeline_close_all(struct phases *phases, const struct timeline_end *end)
{
    struct timeline *timeline = &phases->timeline;
    for (size_t i = 0; i < timeline->user_count; i++)
        timeline->users[i].over = true;
    close_down(phases, &timeline->writer, 0, end, "process end");
    for (size_t i = 0; i < timeline->user_count; i++)
        if (timeline->users[i].used)
            release_user(phases, i + 1);
}

/* ---- a guess ---- */

static bool copy_open(struct timeline_writer *into, const struct timeline_open *from)
{
    struct timeline_open *open = new_open(into);
    if (!open || !MEM_GROW(open->parts, open->part_cap, from->part_count))
        return false;
    struct timeline_part *parts = open->parts;
    size_t cap = open->part_cap;
    *open = *from;
    open->parts = parts;
    open->part_cap = cap;
    if (from->part_count)
        memcpy(parts, from->parts, from->part_count * sizeof *parts);
    into->count++;
    return true;
}

static bool copy_writer(struct timeline_writer *into, const struct timeline_writer *from)
{
    into->count = 0;
    into->innermost = from->innermost;
    for (size_t i = 0; i < from->count; i++)
        if (!copy_open(into, &from->open[i]))
            return false;
    return true;
}

/* What is not settled, and the phases that are open, as they stand. */
void timeline_write_guess(struct phases *phases, const struct timeline_end *now)
{
    struct timeline *timeline = &phases->timeline;
    struct timeline_writer *guesser = &timeline->guesser;
    drop_loose(phases);
    if (!copy_writer(guesser, &timeline->writer)) {
        note_owed(phases->account, OWED_FACT, 1);
        return;
    }
    ordinal_clear(&timeline->guessed);
    timeline->guessed.step = phases->ordinals.step;
    label_guess(&timeline->labels);
    for (size_t i = 0; i < timeline->count; i++)
        take(phases, guesser, i, end_of(timeline, i, now));
    for (size_t i = guesser->count; i > 0; i--) {
        struct timeline_open *open = &guesser->open[i - 1];
        put_phase(phases, guesser, open, now, NULL);
        if (i > 1 && !fold_parts(open - 1, open->parts, open->part_count))
            note_owed(phases->account, OWED_FACT, 1);
    }
}

void timeline_forget_writer(struct timeline_writer *writer)
{
    for (size_t i = 0; i < writer->records; i++)
        mem_free(writer->open[i].parts);
    mem_free(writer->open);
    *writer = (struct timeline_writer){0};
}
