/*
 * Annotations. Halves are paired by name, the innermost first. They may come from several threads,
 * which the snapshot does not tell apart: those that do not nest are put into lanes of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "feed.h"
#include "mem.h"

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Optimizer.step#AdamW.step and Optimizer.zero_grad#AdamW.zero_grad are of the same optimizer. */
static uint64_t class_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text && *text != '.'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

enum feed_note_kind feed_note_kind(const char *name, uint64_t *number)
{
    static const char step[] = "ProfilerStep#", optimizer[] = "Optimizer.step#",
                      zero_grad[] = "Optimizer.zero_grad#";
    char *end;
    if (begins(name, step) && name[sizeof step - 1] >= '0' && name[sizeof step - 1] <= '9') {
        *number = strtoull(name + sizeof step - 1, &end, 10);
        if (!*end && *number <= INT64_MAX)
            return NOTE_IS_STEP;
    }
    if (begins(name, optimizer)) {
        *number = class_of(name + sizeof optimizer - 1);
        return NOTE_IS_OPTIMIZER;
    }
    if (begins(name, zero_grad)) {
        *number = class_of(name + sizeof zero_grad - 1);
        return NOTE_IS_ZERO_GRAD;
    }
    return NOTE_IS_PHASE;
}

/* The open starts of a name are a chain through `below`, which lanes use only after this. */
static bool pair_halves(struct feed_notes *notes, const struct snapshot *snapshot)
{
    struct map open = {0};
    bool fine = true;
    for (size_t i = 0; fine && i < notes->count; i++) {
        const struct snapshot_note *from = &snapshot->notes[i];
        struct feed_note *note = &notes->at[i];
        uint64_t start = map_get(&open, from->name);
        *note = (struct feed_note){.other = FEED_NONE, .below = FEED_NONE};
        if (!from->known) {
            note->skipped = true;
        } else if (!from->end) {
            note->below = start == MAP_NONE ? FEED_NONE : (uint32_t)start;
            fine = map_put(&open, from->name, i, NULL);
        } else if (start == MAP_NONE) {
            note->skipped = true;
        } else {
            note->other = (uint32_t)start;
            notes->at[start].other = (uint32_t)i;
            if (notes->at[start].below == FEED_NONE)
                map_remove(&open, from->name);
            else
                fine = map_put(&open, from->name, notes->at[start].below, NULL);
        }
        notes->unmatched += note->skipped;
    }
    map_clear(&open);
    return fine;
}

static bool fits(const struct feed_notes *notes, uint32_t top, const struct feed_note *note)
{
    return top == FEED_NONE || notes->at[top].other == FEED_NONE ||
           (note->other != FEED_NONE && note->other < notes->at[top].other);
}

static void choose_lanes(struct feed_notes *notes, const struct snapshot *snapshot)
{
    uint32_t top[FEED_LANES];
    for (size_t i = 0; i < FEED_LANES; i++)
        top[i] = FEED_NONE;
    for (size_t i = 0; i < notes->count; i++) {
        struct feed_note *note = &notes->at[i];
        if (note->skipped)
            continue;
        if (snapshot->notes[i].end) {
            const struct feed_note *start = &notes->at[note->other];
            note->lane = start->lane;
            note->skipped = start->skipped;
            if (!note->skipped)
                top[note->lane] = start->below;
            continue;
        }
        uint8_t lane = 0;
        while (lane < FEED_LANES && !fits(notes, top[lane], note))
            lane++;
        note->skipped = lane == FEED_LANES;
        notes->unmatched += note->skipped;
        if (note->skipped)
            continue;
        note->lane = lane;
        note->below = top[lane];
        top[lane] = (uint32_t)i;
    }
}

int feed_notes_pair(struct feed_notes *notes, const struct snapshot *snapshot)
{
    uint64_t ignored;
    *notes = (struct feed_notes){.count = snapshot->note_count};
    notes->at = mem_alloc(notes->count, sizeof *notes->at);
    if (!notes->at)
        return ERR_NOMEM;
    if (!pair_halves(notes, snapshot))
        return ERR_NOMEM;
    choose_lanes(notes, snapshot);
    for (size_t i = 0; i < notes->count && !notes->steps; i++)
        notes->steps = feed_note_kind(snapshot_text(snapshot, snapshot->notes[i].name), &ignored) ==
                       NOTE_IS_STEP;
    return BASE_OK;
}

void feed_notes_clear(struct feed_notes *notes)
{
    mem_free(notes->at);
    *notes = (struct feed_notes){0};
}
