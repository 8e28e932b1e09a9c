/*
 * feed.h - a snapshot, rebuilt, goes into the heap state as the events that it tells of.
 *
 * First, at time 0, what was there before the trace began: segments, blocks, blocks that were given
 * back and waited. Then the events of all devices, merged by time, each device's in its order. An
 * annotation of PyTorch's becomes a step (ProfilerStep#n), a mark of an optimizer, or a phase; so
 * does the text that events in a row have in common.
 */
#ifndef TIDEMARK_IMPORT_FEED_H
#define TIDEMARK_IMPORT_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "event.h"
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

/* ---- texts that events have in common (feed_texts.c) ---- */

/*
 * Events have two texts: the one that their thread set with _set_memory_metadata, and the region of
 * torch.compile that they were in. Events in a row, as those of all devices are merged, that have
 * the same text are a run, and a run is a phase: it begins before its first event and ends behind
 * its last. What is compiled is inside of what the program set. An event without a text ends the
 * run, but where its device has no such text at all, or it is an annotation of a block, whose text
 * is another thing: those say nothing.
 *
 * A run's phase is one of the thread of lane 0, and nests with the annotations there: what has to
 * end while others are open inside of it ends those first, and annotations then begin anew, but not
 * inside of an optimizer's mark that was inside of them. The run goes on in another phase, with the
 * next event: phases that cross are cut. As the text may have been set any time between two events,
 * a run begins, or ends, before an annotation that begins between them, but begins inside of a
 * step, and ends there.
 *
 * Memory and work: `open` has room for each annotation and both texts. An annotation begins anew
 * once for each text that was around it, for then it is around the text.
 *
 * Invariants: `open` has what is open in lane 0, steps left out, each text at most once, a compiled
 * region above the program's text; a text that is open is that of `run`, which goes on where its
 * phase was cut.
 */
enum feed_text_kind { FEED_USER, FEED_COMPILED, FEED_TEXTS };

enum feed_open_kind { OPEN_USER = FEED_USER, OPEN_COMPILED = FEED_COMPILED, OPEN_RANGE, OPEN_MARK };
struct feed_open {
    uint32_t note; /* which annotation; of a text: its string */
    uint8_t kind;  /* enum feed_open_kind */
    bool waits;    /* a range that was cut, until the mark that is inside of it ends */
};

struct feed_wish { /* strings; 0 = none */
    uint32_t text[FEED_TEXTS];
};

struct feed_texts {
    struct feed_open *open; /* outermost first */
    size_t count;
    size_t at[FEED_TEXTS]; /* index in `open` + 1; 0 = it is not open */
    struct feed_wish run;
    bool (*tells)[FEED_TEXTS]; /* of each device: it has such texts */
    uint32_t *regions;         /* names of compiled regions, by string; 0 = not defined yet */
};

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
    struct feed_texts texts;
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

/* feed.c */
struct event feed_event(struct feed *feed, enum event_kind kind, int64_t at_us); /* 0: now */
int feed_give(struct feed *feed, const struct event *event);

/* feed_texts.c */
int feed_texts_begin(struct feed *feed); /* behind the notes */
void feed_texts_clear(struct feed_texts *texts);
/* What is to come next is this event; device == device_count: none. */
int feed_texts_before_entry(struct feed *feed, size_t device);
/* Around an annotation of lane 0, and before the next event. */
int feed_texts_before_note(struct feed *feed, size_t note, size_t device);
int feed_texts_after_note(struct feed *feed, size_t note);

/* feed_define.c: numbers of definitions, made at the first use; 0 for none. */
uint32_t feed_text(struct feed *feed, const char *text, size_t bytes); /* always a new one */
uint32_t feed_string(struct feed *feed, uint32_t string);
uint32_t feed_site(struct feed *feed, uint32_t site);
uint32_t feed_place(struct feed *feed, uint32_t place);
int feed_define_begin(struct feed *feed);
void feed_define_clear(struct feed *feed);

#endif
