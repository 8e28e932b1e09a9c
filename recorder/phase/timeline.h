/*
 * timeline.h - the phases of a process: what they did, while it is not yet known what they were.
 *
 * Each boundary (a mark, a phase of the program's own, a step) begins a stretch, which keeps how
 * the devices stood then and their peaks inside it. label.h says, later, what the stretch was. A
 * settled stretch goes to the writer (timeline_rows.c): it has a stack of open phases; a stretch
 * that is part of the same continues them, else it closes some and opens others. Without a mark
 * each stretch is settled as it begins, so a phase of the program's own is open there at once. So
 *   - adjacent stretches with one label in one step are one phase;
 *   - a mark's phase has the whole mark, what was different inside it is a phase in that phase;
 *     what was the same is part of it;
 *   - a phase of the program's own is a child of the mark that it is in; between marks it stands
 *     beside what is before and after it, and what is inside it, if it is not just `other`, is its
 *     child;
 *   - phases that cross are cut.
 *
 * Threads. The marks of one thread at a time make the timeline, and those of threads of the
 * autograd engine, which work for it. Another thread takes over when it begins a mark while the
 * first has none open. One that calls modules while the first is in a forward works for it, too (as
 * replicas do): its marks are passed over. Any other mark beside an open one means that two threads
 * train, or one evaluates while the other trains: from then on one of the two is apart. The marks
 * of a thread that is apart are phases of scope 'thread', named without knowing what follows, and
 * have no step. The thread that began a backward or a step last stays on the timeline.
 *
 * The outermost forward ends behind the frees that follow its return (phase_release).
 *
 * A phase has the step in which it began, but one of the program's own that goes beyond that step
 * has none; where the program counts the steps itself, the step in which it began.
 *
 * Rows. What the writer closes is settled: its row has a number in `settled`, and stays. With each
 * commit the phases that it has open, and all that is not settled, are written as they would be if
 * the run ended there, with NULL in `settled`. Of these rows those that the writer has not opened
 * are loose: their ids are of a range of their own, DB_LOOSE_PHASE, and they are taken out, with
 * their stretches, before anything behind them is written. So nothing that is settled depends on
 * when there were commits, but which ids it has where phases of the program's own are among marks.
 *
 * Invariants (timeline_is_valid): one record for each stretch of `labels`, in order; only the first
 * can have been entered; numbers and times never run backwards; the writer's open phases have ids
 * below DB_LOOSE_PHASE; an id that was settled is put no more.
 */
#ifndef TIDEMARK_RECORDER_TIMELINE_H
#define TIDEMARK_RECORDER_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap.h"
#include "label.h"
#include "phase_ordinal.h"

struct phase;
struct phases;

#define TIMELINE_BYTES ((size_t)64 << 20) /* of what waits */
#define TIMELINE_MIN_WINDOW 64u

struct timeline_part {                                     /* of one device, as a stretch began */
    int64_t allocated, requested, active, reserved, split; /* BATCH_NULL = not known */
    int64_t max_allocated, max_allocated_seq, max_reserved;
    uint64_t allocs, frees, alloc_bytes;
    struct heap_window peak; /* inside the stretch, or phase */
};

struct timeline_stretch {
    struct timeline_part *parts; /* of the devices that were there */
    size_t part_count, part_cap;
    int64_t own_step; /* the program's own, BATCH_NULL */
    bool entered;     /* the writer has its phases open */
};

struct timeline_user { /* a phase of the program's own */
    bool used;
    bool over;     /* the writer has met its end */
    bool nvtx;     /* see range.h */
    uint64_t node; /* its id among the labels */
    uint32_t name, thread;
    int64_t id, parent, ordinal, step;
    int64_t begin_seq, begin_ns;
    int64_t end_seq, end_ns; /* BATCH_NULL while it is open */
    const char *ended, *kind;
    bool placed; /* parent, ordinal and step were given */
};

struct timeline_item { /* a phase that a stretch is in */
    size_t user;       /* number of a timeline_user + 1, 0 = none: then */
    uint64_t node;     /* id of the mark, 0 = a gap */
    enum label label;
};

struct timeline_open { /* a phase that the writer has open */
    uint64_t node;     /* id of the mark that it is now, 0 = it is a gap now */
    size_t user;       /* number of a timeline_user + 1, 0 = none: then */
    enum label label;
    bool failed;
    uint32_t thread;
    int64_t id, parent, ordinal, step;
    int64_t begin_seq, begin_ns;
    struct timeline_part *parts; /* as it began, and its peaks so far */
    size_t part_count, part_cap;
};

struct timeline_writer {
    struct timeline_open *open; /* records beyond `count` keep their parts for the next */
    size_t count, records, cap;
    int64_t innermost; /* id of the phase in the last row of table stretch */
    int64_t last_step; /* of the last stretch that has one; BATCH_NULL */
    bool guesses;
};

struct timeline_loose { /* rows of the last commit that are to be taken out */
    int64_t first, end; /* of phases: first <= phase.id < end */
    int64_t stretch;    /* stretch.begin_seq of the first, 0 = none */
};

struct timeline {
    struct labels labels;
    struct timeline_stretch *stretches; /* [head, head + count), as in `labels` */
    size_t head, count, cap;
    struct timeline_stretch spare; /* has memory for the next */
    struct timeline_user *users;
    size_t user_count, user_cap;
    size_t first_free; /* of `users`: those before it are used */
    uint32_t thread;   /* whose marks make it; 0 = none came, and it is whose phase is open */
    uint32_t trainer;  /* that began a backward or a step last; 0 = none did */
    uint64_t passed;   /* marks that were passed over and have not ended */
    uint32_t *apart;   /* threads, in no order */
    size_t apart_count, apart_cap;
    struct timeline_writer writer, guesser;
    struct phase_ordinals guessed;
    struct event held; /* see phase_release; kind EVENT_NONE = none */
    uint32_t *path;    /* of a stretch: nodes, outermost last */
    size_t path_cap;
    struct timeline_item *items; /* of a stretch, outermost first */
    size_t item_count, item_cap;
    struct timeline_part *now; /* as things stand */
    size_t now_cap;
    struct timeline_loose loose;
};

/* From the next number on. False without memory. */
bool timeline_start(struct phases *phases, int64_t ns);
void timeline_start_earlier(struct timeline *timeline, int64_t ns); /* before the first event */
void timeline_forget(struct timeline *timeline);
bool timeline_is_valid(const struct phases *phases);
/* A mark came: the program is one of a framework's. */
static inline bool timeline_is_marked(const struct timeline *timeline)
{
    return timeline->labels.marked;
}
/* What ends before the number seq is over: what is there by then has its phases opened, so that
 * they have lower ids than what begins at seq. */
void timeline_reach(struct phases *phases, int64_t seq);

/* A forward that has returned is not over before something else begins: what the program lets go at
 * once, by giving its variable the new result, was still the forward's. So its end is held back
 * while nothing but frees follow, each at once upon the one before: phase_release. */
#define TIMELINE_AT_ONCE_NS ((int64_t)100 * 1000 * 1000)

/* Call before an event that begins something gets its number. */
void timeline_before(struct phases *phases, int64_t ns);
void timeline_user_begin(struct phases *phases, struct phase *phase, int64_t ns);
/* `seq` is its last number. */
void timeline_user_end(struct phases *phases, const struct phase *phase, int64_t seq, int64_t ns,
                       const char *ended);
void timeline_step(struct phases *phases, int64_t seq, int64_t ns);
/* Updates by each of the optimizers so far. */
uint64_t timeline_steps(const struct timeline *timeline);
/* The program is over: from the number seq on nothing belongs to a step. */
void timeline_no_more_steps(struct phases *phases, int64_t seq, int64_t ns);
/* Marks of a thread that is gone; or (0) of all, after a loss. */
void timeline_drop(struct phases *phases, uint32_t thread, int64_t ns);
/* Ends what a thread has open, here and without a failure: it has become another's timeline. */
void timeline_leave(struct phases *phases, uint32_t thread, int64_t ns);
/* The end of the process: first no mark comes any more, then, when its own phases have ended, all
 * is written. */
void timeline_stop(struct phases *phases, int64_t ns);
void timeline_end(struct phases *phases, int64_t ns);
size_t timeline_threads(const struct timeline *timeline, uint32_t *threads, size_t count,
                        size_t max);

void timeline_fold(struct timeline *timeline, size_t device, const struct heap_window *window);
void timeline_add_device(struct phases *phases); /* the one at device_count */
void timeline_flush(struct phases *phases);

/* timeline_threads.c */
enum timeline_turn { TIMELINE_TAKE, TIMELINE_APART, TIMELINE_PASS };
enum timeline_turn timeline_turn(struct phases *phases, const struct event *event, int64_t ns);
bool timeline_is_apart(const struct timeline *timeline, uint32_t thread);
void timeline_forget_thread(struct timeline *timeline, uint32_t thread);

/* timeline_rows.c */
struct timeline_end { /* where the last stretch that is written ends */
    int64_t seq, ns;
    const struct timeline_part *parts;
    size_t part_count;
};
/* Without `last` the last stretch has no end yet. */
void timeline_write_settled(struct phases *phases, const struct timeline_end *last);
void timeline_write_guess(struct phases *phases, const struct timeline_end *now);
void timeline_close_all(struct phases *phases, const struct timeline_end *end);
void timeline_forget_writer(struct timeline_writer *writer);

#endif
