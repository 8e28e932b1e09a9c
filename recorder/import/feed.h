/*
 * feed.h - a snapshot, rebuilt, goes into the heap state as the events that it tells of.
 *
 * First, at time 0, what was there before the trace began: segments, blocks, blocks that were given
 * back and waited. Then the events of all devices, merged by time, each device's in its order. An
 * annotation of PyTorch's becomes a step (ProfilerStep#n), a mark of an optimizer, or a phase.
 */
#ifndef TIDEMARK_IMPORT_FEED_H
#define TIDEMARK_IMPORT_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "rebuild.h"
#include "snapshot.h"
#include "state.h"

#define FEED_NONE UINT32_MAX

/* ---- annotations (feed_notes.c) ---- */

#define FEED_LANES 64u

struct feed_note {
    uint32_t other; /* START: its END, or FEED_NONE; END: its START, or FEED_NONE */
    uint32_t below; /* START: what is under it in its lane */
    uint8_t lane;   /* annotations that do not nest are put side by side, as if of threads */
    bool skipped;
};

struct feed_notes {
    struct feed_note *at; /* as snapshot.notes */
    size_t count;
    size_t next;
    uint64_t unmatched; /* ends without a start, and what nests too deep */
    bool steps;         /* ProfilerStep# is there */
};

int feed_notes_pair(struct feed_notes *notes, const struct snapshot *snapshot);
void feed_notes_clear(struct feed_notes *notes);

enum feed_note_kind { NOTE_IS_PHASE, NOTE_IS_STEP, NOTE_IS_OPTIMIZER, NOTE_IS_ZERO_GRAD };
/* *number: of the step, or which optimizer. */
enum feed_note_kind feed_note_kind(const char *name, uint64_t *number);

/* ---- the feed ---- */

struct feed_counts {
    uint64_t events, blocks, segments; /* in the trace */
    uint64_t blocks_before, segments_before;
    uint64_t oom;
    int64_t rebuilt_until; /* seq */
};

struct feed {
    struct snapshot *snapshot;
    struct rebuild *rebuilds; /* one for each device */
    size_t device_count;
    struct state *state;
    const char *source; /* text for the setting imported_from */
    bool all_frames;    /* keep frames of C++, too */
    /* Called now and then, when the state has rows to be taken away. */
    int (*flush)(void *self);
    void *self;

    struct feed_counts counts;
    /* The rest is the feed's own. */
    struct state_process *process;
    struct feed_notes notes;
    size_t *next;      /* of each device, its next event */
    uint32_t *strings; /* numbers of definitions, 0 = not defined yet; likewise */
    uint32_t *frames;
    uint32_t *sites;
    uint32_t *places;
    size_t place_room;
    uint32_t defined;
    int64_t base_us; /* time 0 */
    int64_t now_us;
};

int64_t feed_base_us(const struct snapshot *snapshot); /* 0: no event has a time */
/* A base_err. */
int feed_run(struct feed *feed);
/* The snapshot's settings as PYTORCH_CUDA_ALLOC_CONF has them, with a comma before each. */
void feed_conf(const struct snapshot *snapshot, struct buf *out);

/* feed_define.c: numbers of definitions, made at the first use; 0 for none. */
uint32_t feed_text(struct feed *feed, const char *text, size_t bytes); /* always a new one */
uint32_t feed_string(struct feed *feed, uint32_t string);
uint32_t feed_site(struct feed *feed, uint32_t site);
uint32_t feed_place(struct feed *feed, uint32_t place);
int feed_define_begin(struct feed *feed);
void feed_define_clear(struct feed *feed);

#endif
