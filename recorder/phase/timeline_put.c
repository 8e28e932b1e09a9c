/*
 * timeline_put.c - the rows of a phase: its own, one of each device, and the stretch that begins.
 */
#include <assert.h>

#include "ledger.h"
#include "mem.h"
#include "phase.h"
#include "timeline_parts.h"

/* ---- parts ---- */

bool timeline_fold_parts(struct timeline_open *open, const struct timeline_part *parts,
                         size_t count)
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
    assert(device < end->part_count);
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

void timeline_put_phase(struct phases *phases, const struct timeline_writer *writer,
                        const struct timeline_open *open, const struct timeline_end *end,
                        const char *ended)
{
    const struct timeline_user *user = open->user ? &phases->timeline.users[open->user - 1] : NULL;
    struct phase row = row_of(&phases->timeline, open);
    struct phase_end how = {BATCH_NULL, BATCH_NULL, NULL, false};
    assert(open->id > 0);
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

void timeline_put_stretch(struct phases *phases, struct timeline_writer *writer, int64_t begin_seq)
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
