/*
 * phase.h - the open phases of a process and what happened inside them.
 *
 * Each thread has a stack of open phases. Those of scope 'process' are on the process's timeline
 * (timeline.h), which divides its time and events without rest: among them, what a framework's
 * marks are, and what is between, of kind `other`. The timeline writes their rows; those of phases
 * of scope 'thread' are written here. The thread whose marks came has the phases of scope
 * 'process'; while none came, the one whose phase is open. Marks of threads that are apart are
 * phases of these threads.
 *
 * Sequence numbers. A phase has the events from its PHASE_BEGIN to its PHASE_END, both included;
 * what is around it goes on after the end. An `other` has what is between: from the number after
 * the end (or after STEP_END, or from STEP_BEGIN itself on) to the number before the next begin. If
 * that range would be empty although time passed, the `other` gets a number of its own which no
 * event has: so begin_seq <= end_seq always, and each number belongs to one innermost phase. An
 * `other` with neither is dropped.
 *
 * Losses. Where ends of phases were lost, what they should have ended would be around all that
 * follows. So the next step of a thread ends what was open in it by then and had begun inside of
 * the step before; what was open as a step began before the loss is not one step's, and stays.
 *
 * Peaks. Each device has a window: its maximum since the last boundary. A boundary folds the window
 * into the top of each stack; a phase that ends folds its peak into the one below it. So an event
 * costs the same however many phases are open.
 *
 * Invariants (phase_is_valid): the phases of scope 'process' are the uppermost of one stack, but
 * for those of a thread that is apart; peak of a phase, with all above it and the window >=
 * allocated.
 */
#ifndef TIDEMARK_RECORDER_PHASE_H
#define TIDEMARK_RECORDER_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "heap.h"
#include "label.h"
#include "phase_high.h"
#include "phase_ordinal.h"
#include "range.h"
#include "timeline.h"

#define PHASE_MAX_OPEN 4096 /* of one process; what is begun beyond is noted, not stored */

struct account;
struct ledger;

struct phase_part { /* a phase on one device */
    int64_t begin_allocated;
    uint64_t begin_allocs, begin_frees, begin_bytes; /* the device's counters when it began */
    struct heap_window peak;
};

/* Names that are no strings of the program: see label.h. */
#define PHASE_NAME_LABEL(label) (UINT32_MAX - (uint32_t)(label))
#define PHASE_NAME_OTHER PHASE_NAME_LABEL(LABEL_OTHER)

enum phase_scope { PHASE_OTHER, PHASE_PROCESS, PHASE_THREAD, PHASE_RANGE };

struct phase {
    int64_t id;
    struct phase *below; /* the one around it in its thread; or the next spare record */
    int64_t parent;      /* phase.id, BATCH_NULL */
    enum phase_scope scope;
    uint32_t name;   /* string id, 0 = unknown, PHASE_NAME_OTHER */
    uint32_t domain; /* string id, 0 = none */
    uint32_t thread;
    bool nvtx;    /* see range.h */
    uint8_t mark; /* enum mark_kind of a thread that is apart: timeline.h; 0 = the program's own */
    const char *kind; /* of its row; NULL = what its name says now */
    int64_t ordinal, step, begin_seq, begin_ns;
    size_t user;              /* its number on the timeline + 1, 0 = its row is written here */
    bool across;              /* it was open as a step began: no part of one step */
    struct phase_part *parts; /* one for each device of the process */
    size_t part_cap;
};

struct phase_stack {
    uint32_t thread;
    uint32_t domain; /* of a library: such a stack has nothing but its ranges in the thread */
    struct phase *top;
    uint64_t unstored; /* begun on top of it, but not stored: so many ends are to be ignored */
};

struct phases { /* of a process */
    struct account *account;
    struct ledger *ledger; /* the account's */
    struct names *names;
    struct names_defs *defs; /* of the process */
    struct heaps *heaps;
    void (*ends)(void *context); /* a phase ends: its windows are folded, its rows are not put */
    void *context;

    struct phase *process_top;  /* NULL = no phase of scope 'process' is open */
    struct phase_stack *stacks; /* of threads with an open phase */
    size_t stack_count, stack_cap;
    struct map by_thread; /* thread, and domain << 32 -> index in stacks */
    size_t open;          /* on all stacks */
    size_t thread_scope_open;
    struct phase *spare;
    int64_t step;                   /* the program's own, BATCH_NULL = outside of any */
    bool own_steps;                 /* it has begun one */
    uint64_t own_ended;             /* so many have ended */
    int64_t lost_ends_seq;          /* up to here an end was lost; 0 = none was */
    struct phase_ordinals ordinals; /* of the timeline; until the first mark, of threads as well */
    struct phase_ordinals beside;   /* of threads from then on */
    struct timeline timeline;
    struct ranges ranges;
    struct phase_highs highs;
};

struct phase_end {   /* what the row of a phase says of it */
    int64_t seq, ns; /* BATCH_NULL while it is open */
    const char *ended;
    bool settled; /* the row stays as it is */
};

/* What begins: a phase of the program's own, a range, or a mark of a thread that is apart. */
struct phase_beginning {
    uint32_t thread, name, domain;
    bool nvtx;
    uint8_t mark; /* enum mark_kind, 0 = the program's own */
};

/* With `account` to `context` set; false without memory. */
bool phase_start(struct phases *phases, int64_t ns);
static inline void phase_start_earlier(struct phases *phases, int64_t ns)
{
    timeline_start_earlier(&phases->timeline, ns);
}
void phase_forget(struct phases *phases);
bool phase_add_device(struct phases *phases); /* a part for one more device, everywhere */

/* phase_event.c */
void phase_refused(struct phases *phases);                       /* memory, just now */
void phase_lost(struct phases *phases, const uint64_t *by_kind); /* so many events, before now */
/* Threads with an open phase, at most max; returns how many were put. */
size_t phase_threads(const struct phases *phases, uint32_t *threads, size_t max);

void phase_begin(struct phases *phases, const struct event *event, int64_t ns);
void phase_end(struct phases *phases, const struct event *event, int64_t ns);
void phase_open(struct phases *phases, const struct phase_beginning *what, int64_t ns);
/* Ends the innermost range of NVTX of a thread, in a domain. */
void phase_end_nvtx(struct phases *phases, uint32_t thread, uint32_t domain, int64_t ns);
/* The innermost phase of a thread, in a domain; NULL = none. */
const struct phase *phase_top_of(const struct phases *phases, uint32_t thread, uint32_t domain);
/* ENTER or EXIT of a thread that is apart. */
void phase_mark_apart(struct phases *phases, const struct event *event, int64_t ns);
void phase_mark(struct phases *phases, const struct event *event, int64_t ns); /* ENTER, EXIT */
/* STEP_BEGIN, STEP_END: the steps are the program's own from the first on. The same for who knows
 * of a step by something else. */
void phase_step(struct phases *phases, const struct event *event, int64_t ns);
void phase_step_begin(struct phases *phases, int64_t number, int64_t ns);
void phase_step_end(struct phases *phases, int64_t ns);
void phase_end_thread(struct phases *phases, uint32_t thread, int64_t ns);
void phase_end_all(struct phases *phases, int64_t ns);
/* With `commit`: writes the open ones as they stand, and a guess of what is not settled. */
void phase_flush(struct phases *phases, bool commit);

/* The device has its highest now. */
void phase_take_highest(const struct phases *phases, struct heap_device *device);
/* Steps that have ended: the program's own, or updates by each of its optimizers. 0: none has, or
 * nothing tells. */
uint64_t phase_steps(const struct phases *phases);
const char *phase_name(const struct names *names, uint32_t name);
const char *phase_kind_of(const struct phases *phases, const struct phase *phase); /* by its name */
bool phase_is_valid(const struct phases *phases);

/* What each event passes through is here, so that those which concern no phase pay next to nothing.
 */

/* Histories, activities, samples and what is told late are of what was before, or of what is no
 * work of a thread. */
static inline bool phase_only_frees(const struct event *event)
{
    unsigned kind = event->kind;
    if (kind == EVENT_DRIVER_ALLOC)
        return event->flags & EVENT_F_LATE;
    return kind == EVENT_BLOCK_FREE || kind == EVENT_BLOCK_IDLE || kind == EVENT_SEGMENT_FREE ||
           kind == EVENT_HISTORY || kind == EVENT_DRIVER_FREE || kind == EVENT_DRIVER_UNMAP ||
           kind == EVENT_SAMPLE || kind == EVENT_GAP || kind == EVENT_ACTIVITY;
}

/* Call before an event gets its time: what was held back ends here, if the event does not go on
 * with it. */
void phase_release_all(struct phases *phases); /* if no event does */
bool phase_is_after_pause(const struct phases *phases, uint64_t time_ns);
static inline void phase_release(struct phases *phases, const struct event *event)
{
    if (phases->timeline.held.kind != EVENT_NONE &&
        (!phase_only_frees(event) || phase_is_after_pause(phases, event->time_ns)))
        phase_release_all(phases);
}

/* Call before it gets its number: what it ends may need one of its own. True: the event is a block
 * that PyTorch makes before it starts a backward, which begins with it though its mark comes later;
 * phase_prepare is to be called when it has its number and is not counted yet. */
bool phase_begins_something(const struct event *event); /* of the kinds that can */
static inline bool phase_make_way(struct phases *phases, const struct event *event, int64_t ns)
{
    unsigned kind = event->kind;
    bool prepares = kind == EVENT_BLOCK_ALLOC && timeline_is_marked(&phases->timeline) &&
                    names_prepares(phases->defs, event->site);
    bool may_begin = kind == EVENT_PHASE_BEGIN || kind == EVENT_STEP_BEGIN || kind == EVENT_ENTER;
    if (prepares || (may_begin && phase_begins_something(event)))
        timeline_before(phases, ns);
    return prepares;
}
void phase_prepare(struct phases *phases, uint32_t thread, int64_t ns);

/* A block of this thread came: where its phase is not what `stretch` says, it is stored. */
void phase_put_of_thread(struct phases *phases, uint32_t thread, int64_t seq);
static inline void phase_put_block(struct phases *phases, uint32_t thread, int64_t seq)
{
    if (phases->thread_scope_open)
        phase_put_of_thread(phases, thread, seq);
}

/* phase_rows.c: what a phase is in the database. */
void phase_fold_windows(struct phases *phases);
void phase_fold_down(const struct phases *phases, const struct phase *from, struct phase *into);
void phase_part_begin(struct phase_part *part, const struct heap_device *device);
/* False without memory. */
bool phase_put_row(struct phases *phases, const struct phase *phase, const struct phase_end *end);
bool phase_put_parts(struct phases *phases, const struct phase *phase);

#endif
