/*
 * timeline_rows.c - stretches into rows: which phases each is part of, the writer's open phases,
 * and the guess of what is not settled.
 */
#include <assert.h>

#include "ledger.h"
#include "mem.h"
#include "phase.h"
#include "timeline_parts.h"

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

/* ---- one stretch ---- */

/* Where a device was at its highest so far. An evaluation is named with the step that it ran after.
 */
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
        if (top->label == LABEL_EVAL && !user && top->step == BATCH_NULL)
            device->max_step = writer->last_step;
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
        timeline_count_user(phases, writer, open, step);
    user->placed |= !writer->guesses;
}

static void place(struct phases *phases, struct timeline_writer *writer,
                  struct timeline_stretch *stretch, const struct label_stretch *label)
{
    struct timeline *timeline = &phases->timeline;
    int64_t step = timeline_step_of(timeline, stretch, label);
    size_t keep = 0;
    if (step != BATCH_NULL)
        writer->last_step = step;
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
    timeline_close_down(phases, writer, keep, &begin, "end");
    for (; keep < timeline->item_count; keep++) {
        if (!timeline_open_item(phases, writer, &timeline->items[keep], stretch, label)) {
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
    assert(number > 0 && timeline->users[number - 1].used);
    for (size_t i = 0; i < timeline->writer.count; i++)
        if (timeline->writer.open[i].user == number)
            return; /* it is closed with the next stretch that has a number */
    timeline_open_user(phases, &timeline->writer, &open);
    timeline_put_phase(phases, &timeline->writer, &open, &nothing, "end");
    timeline_free_user(timeline, number);
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
    assert(index < timeline->count && (writer->guesses || !stretch->entered));
    if (user && !writer->guesses)
        timeline->users[user - 1].over = true;
    if (label->closed && closed->exception)
        note_failure(writer, closed);
    bool known = has_number && items_of(timeline, label);
    if (has_number && !known && !writer->guesses)
        note_owed(phases->account, OWED_FACT, 1);
    if (known) {
        place(phases, writer, stretch, label);
        timeline_leave_step(phases, writer, label, timeline_step_of(timeline, stretch, label));
        if (writer->count)
            timeline_put_stretch(phases, writer, label->begin_seq);
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
    if (top && !timeline_fold_parts(top, stretch->parts, stretch->part_count))
        note_owed(phases->account, OWED_FACT, 1);
}

static int64_t end_of(const struct timeline *timeline, size_t index,
                      const struct timeline_end *last)
{
    assert(index < timeline->count);
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
    assert(loose->first <= loose->end);
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
    assert(timeline->count > 0 && gone->entered && timeline->labels.settled > 0);
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
    timeline_close_down(phases, &timeline->writer, 0, end, "process end");
    for (size_t i = 0; i < timeline->user_count; i++)
        if (timeline->users[i].used)
            release_user(phases, i + 1);
}

/* ---- a guess ---- */

/* What is not settled, and the phases that are open, as they stand. */
void timeline_write_guess(struct phases *phases, const struct timeline_end *now)
{
    struct timeline *timeline = &phases->timeline;
    struct timeline_writer *guesser = &timeline->guesser;
    assert(timeline->count == timeline->labels.count);
    drop_loose(phases);
    if (!timeline_copy_writer(guesser, &timeline->writer)) {
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
        timeline_put_phase(phases, guesser, open, now, NULL);
        if (i > 1 && !timeline_fold_parts(open - 1, open->parts, open->part_count))
            note_owed(phases->account, OWED_FACT, 1);
    }
}
