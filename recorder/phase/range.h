/*
 * range.h - what comes by way of NVTX: ranges that nest, ranges that do not, and steps.
 *
 * The program's own ranges, those of the default domain, are phases of the program's own; until a
 * framework's marks come in, those with a known name (range_name.h) are of that kind, and from then
 * on all are users' phases around the marks. A library's domain has a stack of phases of scope
 * 'thread' for itself in each thread; no block is in such a phase, and it has no step.
 *
 * Steps. A range of the default domain that counts ("iteration 12") is a step and no phase, if it
 * is in no other such range, not in an evaluation, and of the thread that began the first one. It
 * counts if nobody else does: not the program (tidemark_step_begin), not a framework's marks. Its
 * number is the range's own; where that does not grow, as in a second epoch, steps go on from the
 * last one. In another phase of the program's own, it is a phase inside that, too: else what is
 * around it would hide it. When marks come in they count on from there.
 *
 * Ranges that need not nest (EVENT_F_RANGE) are rows with the scope 'range' and nothing else.
 *
 * Invariants (range_is_valid): `open` has each range once, and `by_number` says where.
 */
#ifndef TIDEMARK_RECORDER_RANGE_H
#define TIDEMARK_RECORDER_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"
#include "phase_ordinal.h"

struct event;
struct label_steps;
struct phases;

#define RANGE_MAX_OPEN 65536u
#define RANGE_MAX_NUMBERED                                                                         \
    65536u /* different names with a number; the others are named without                          \
            */

struct range {
    uint64_t number; /* of the event */
    int64_t id;      /* phase.id */
    int64_t ordinal, begin_seq, begin_ns;
    uint32_t name, domain, thread;
};

struct range_steps {
    bool any;        /* a step was begun, and `last` is its number */
    bool open;       /* a range that counts is open */
    bool counts;     /* and it is a step */
    bool phase;      /* and it is a phase */
    uint32_t owner;  /* the thread that has them; 0 = none */
    uint64_t inside; /* ranges of its thread that are open inside it */
    int64_t last, offset;
};

struct ranges { /* of a process */
    struct range *open;
    size_t count, cap;
    struct map by_number; /* number -> index in open */
    struct phase_ordinals ordinals;
    struct range_steps steps;
};

/* PHASE_BEGIN and PHASE_END with EVENT_F_DOMAIN. */
void range_begin(struct phases *phases, const struct event *event, int64_t ns);
void range_end(struct phases *phases, const struct event *event, int64_t ns);
/* The name of an event with EVENT_F_NUMBER, and any other: a string id, 0 = none. */
uint32_t range_name_of(struct phases *phases, const struct event *event);
uint32_t range_domain_of(struct phases *phases, const struct event *event);
/* Whether the event ends the time between phases of the process. */
bool range_may_end_gap(const struct event *event);

/* A framework's marks have come: the steps are theirs, counted from here on. */
void range_hand_over(struct phases *phases, struct label_steps *steps);
void range_end_thread(struct phases *phases, uint32_t thread, int64_t ns);
void range_end_all(struct phases *phases, int64_t ns);
void range_forget(struct phases *phases);
bool range_is_valid(const struct phases *phases);

#endif
