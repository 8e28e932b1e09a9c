/*
 * state.h - the heap state: events in, rows out. Pure: no thread, no clock, no file of its own, so
 * that the drain, the importers and the tests feed it alike.
 *
 * One struct state for a run; one struct state_process for each process image. All of it belongs to
 * one thread. Rows go into state->batch, which the owner takes away with state_flush().
 *
 * What it holds for each process: living blocks and segments by (device, address); for each device
 * allocated, active, requested, reserved, their running maxima; the stack of open phases of each
 * thread; the timeline, once marks of a framework came (timeline.h); the lists of tags; the numbers
 * of definitions translated into those of the database.
 *
 * Invariants (state_is_valid checks them):
 *   allocated of a device == sum of the sizes of its living blocks
 *   requested likewise, while each living block's is known
 *   peak_allocated of every open phase >= allocated now
 *   every living block is in the batch being filled, or was in a batch flushed before: exactly one
 *   seq, and the time within a process, never run backwards
 */
#ifndef TIDEMARK_RECORDER_STATE_H
#define TIDEMARK_RECORDER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "batch.h"
#include "event.h"
#include "state_totals.h"

struct meters;
struct state;
struct state_process;

struct state_options {
    uint64_t start_ns;        /* CLOCK_MONOTONIC when the run began: 0 in the database */
    uint64_t keyframe_events; /* at least so many events between two keyframes; 0 = the default */
    bool private;             /* no hosts, no command lines; paths as in private.h */
    uint64_t flush_allocs;    /* a batch is full with so many allocations; 0 = the default */
};

int state_new(struct state **out, const struct state_options *options);
void state_free(struct state *state);
bool state_is_valid(const struct state *state);

/* ---- processes ---- */

struct state_hello { /* what table process has; text may be NULL */
    int64_t pid;
    int64_t parent; /* process id or BATCH_NULL */
    const char *origin;
    uint64_t at_ns;                       /* CLOCK_MONOTONIC */
    int64_t rank, local_rank, world_size; /* BATCH_NULL */
    const char *host;
    const char *argv;
    const char *live;
    const char *why_not;
};

/* Opens a process row; returns the process, or NULL without memory. Its id is state_process_id. */
struct state_process *state_process_begin(struct state *state, const struct state_hello *hello);
int64_t state_process_id(const struct state_process *process);
/* Before its first definition: it was forked, and up to `count` its numbers are the parent's, who
 * has not ended yet. NULL: nobody knows what they name. */
void state_process_inherit(struct state_process *process, const struct state_process *parent,
                           uint32_t count);
void state_process_live(struct state_process *process, const char *live, const char *why_not);
void state_process_source(struct state_process *process, const char *live); /* one more */

struct state_end {
    uint64_t at_ns;
    const char *ended; /* as table process says */
    int64_t exit_code; /* BATCH_NULL */
    int64_t signal;    /* BATCH_NULL */
};
/* Closes open phases ('process end'; 'phase left open' is noted for phases other than 'other'),
 * writes the last curve and the process row, forgets the process. Blocks that live stay living. */
void state_process_end(struct state_process *process, const struct state_end *end);
/* A thread that is gone cannot end its phases. */
void state_thread_end(struct state_process *process, uint32_t thread, uint64_t at_ns);
/* Threads with an open phase, at most max; returns how many were put. */
size_t state_open_threads(const struct state_process *process, uint32_t *threads, size_t max);

/* ---- events ---- */

/* The next definition of the process, in order; the payload is not trusted and not kept. */
void state_define(struct state_process *process, const struct arena_record *record,
                  const void *payload);
/* The next event of the process. Returns its seq; of a sample without a heap, which gets none, that
 * of the event before it. */
int64_t state_event(struct state_process *process, const struct event *event);
int64_t state_seq(const struct state *state); /* the last one given out, 0 = none */

struct state_loss {
    int64_t first_seq; /* see table lost; times are CLOCK_MONOTONIC */
    uint64_t first_ns, last_ns;
    uint64_t by_kind[EVENT_KIND_SLOTS];
    uint64_t late;
};
/* Stores the fact. After a loss of events, a free without allocation or an address
 * handed out twice is expected: it is counted, not noted one by one. */
void state_lost(struct state_process *process, const struct state_loss *loss);
/* The same is expected of what comes behind a loss of which the fact is still to be stored. */
void state_unsure(struct state_process *process);
void state_torn(struct state_process *process, uint64_t ticket, uint64_t at_ns, const char *why);

/* How many phases and steps have ended, and requests were refused. */
void state_moments(const struct state_process *process, uint64_t *ends, uint64_t *refusals);

/* Any other fact of the run goes straight into the batch. */
struct batch *state_batch(struct state *state);

/* ---- flushing ---- */

bool state_wants_flush(const struct state *state); /* the batch is full */
/* Adds open phases as they stand, curves and keyframes that are due, and with `commit` a guess of
 * the phases that are not settled; returns the batch and begins a new one. NULL without memory (the
 * old batch stays). */
struct batch *state_flush(struct state *state, uint64_t now_ns, bool commit);
/* A flush with a keyframe takes a while: `beat` is called again and again meanwhile. NULL: nobody.
 */
void state_beat(struct state *state, void (*beat)(void *context), void *context);

/* ---- totals, for the summary at the end and the progress line ---- */

void state_totals(const struct state *state, struct state_totals *out);
/* For who watches the run; without memory *out is as it was. */
void state_meters(const struct state *state, struct meters *out);

#endif
