/*
 * timeline_open.c - the phases that a writer has open: as they begin, are counted, and end.
 */
#include <assert.h>
#include <string.h>

#include "ledger.h"
#include "mem.h"
#include "phase.h"
#include "timeline_parts.h"

int64_t timeline_step_of(const struct timeline *timeline, const struct timeline_stretch *stretch,
                         const struct label_stretch *label)
{
    if (timeline->labels.steps.off)
        return stretch->own_step;
    return label->step == LABEL_NO_STEP ? BATCH_NULL : label->step;
}

static struct timeline_open *new_open(struct timeline_writer *writer)
{
    assert(writer->count <= writer->records);
    if (!MEM_GROW(writer->open, writer->cap, writer->count + 1))
        return NULL;
    if (writer->records == writer->count)
        writer->open[writer->records++] = (struct timeline_open){0};
    return &writer->open[writer->count];
}

void timeline_free_user(struct timeline *timeline, size_t number)
{
    assert(number > 0 && number <= timeline->user_count && timeline->users[number - 1].used);
    timeline->users[number - 1].used = false;
    if (number - 1 < timeline->first_free)
        timeline->first_free = number - 1;
}

void timeline_close_down(struct phases *phases, struct timeline_writer *writer, size_t keep,
                         const struct timeline_end *end, const char *ended)
{
    struct timeline *timeline = &phases->timeline;
    assert(keep <= writer->count);
    while (writer->count > keep) {
        struct timeline_open *open = &writer->open[--writer->count];
        timeline_put_phase(phases, writer, open, end, open->failed ? "exception" : ended);
        if (writer->count && !timeline_fold_parts(open - 1, open->parts, open->part_count))
            note_owed(phases->account, OWED_FACT, 1);
        if (open->user && !writer->guesses && timeline->users[open->user - 1].over)
            timeline_free_user(timeline, open->user);
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

void timeline_count_user(struct phases *phases, const struct timeline_writer *writer,
                         struct timeline_open *open, int64_t step)
{
    struct timeline *timeline = &phases->timeline;
    struct timeline_user *user = &timeline->users[open->user - 1];
    assert(open->user > 0 && open->user <= timeline->user_count);
    open->step = timeline->labels.steps.off ? user->step : step;
    open->ordinal = take_ordinal(phases, writer, open->step, user->name);
    if (writer->guesses)
        return;
    user->parent = open->parent;
    user->step = open->step;
    user->ordinal = open->ordinal;
    user->placed = true;
}

void timeline_open_user(struct phases *phases, const struct timeline_writer *writer,
                        struct timeline_open *open)
{
    const struct timeline_user *user = &phases->timeline.users[open->user - 1];
    assert(user->used && user->id > 0);
    open->id = user->id;
    if (!user->placed) {
        if (open->parent == BATCH_NULL)
            open->parent = user->parent;
        timeline_count_user(phases, writer, open, open->step);
        return;
    }
    open->parent = user->parent;
    open->step = user->step;
    open->ordinal = user->ordinal;
}

void timeline_leave_step(struct phases *phases, struct timeline_writer *writer,
                         const struct label_stretch *label, int64_t step)
{
    if (phases->timeline.labels.steps.off || label->label == LABEL_OTHER)
        return;
    for (size_t i = 0; i < writer->count; i++) {
        struct timeline_open *open = &writer->open[i];
        if (open->user && open->step != step && open->step != BATCH_NULL)
            timeline_count_user(phases, writer, open, BATCH_NULL);
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

bool timeline_open_item(struct phases *phases, struct timeline_writer *writer,
                        const struct timeline_item *item, const struct timeline_stretch *stretch,
                        const struct label_stretch *label)
{
    struct timeline *timeline = &phases->timeline;
    struct timeline_open *open = new_open(writer);
    assert(stretch->part_count <= phases->heaps->device_count);
    if (!open || !MEM_GROW(open->parts, open->part_cap, stretch->part_count))
        return false;
    *open = (struct timeline_open){
        .node = item->node,
        .user = item->user,
        .label = item->label,
        .thread = label->thread,
        .parent = writer->count ? open[-1].id : BATCH_NULL,
        .step = timeline_step_of(timeline, stretch, label),
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
        timeline_open_user(phases, writer, open);
    } else {
        open->id = new_id(phases, writer);
        open->ordinal = take_ordinal(phases, writer, open->step, PHASE_NAME_LABEL(open->label));
    }
    writer->count++;
    return true;
}

/* ---- another writer ---- */

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

bool timeline_copy_writer(struct timeline_writer *into, const struct timeline_writer *from)
{
    assert(into->guesses && !from->guesses);
    into->count = 0;
    into->innermost = from->innermost;
    into->last_step = from->last_step;
    for (size_t i = 0; i < from->count; i++)
        if (!copy_open(into, &from->open[i]))
            return false;
    return true;
}

void timeline_forget_writer(struct timeline_writer *writer)
{
    for (size_t i = 0; i < writer->records; i++)
        mem_free(writer->open[i].parts);
    mem_free(writer->open);
    *writer = (struct timeline_writer){0};
}
