/*
 * live_look.h - one look of --follow on a terminal. What does not fit on the screen scrolls away at
 * each look, so a look is never more than that: it shows the processes and devices with the highest
 * peaks, as many as have room, and says how many it leaves out.
 */
#ifndef TIDEMARK_VIEWER_LIVE_LOOK_H
#define TIDEMARK_VIEWER_LIVE_LOOK_H

#include "emit.h"
#include "report.h"

/* Invariants: shown <= kept <= all; what stands in the emitter is not more than `room` lines once
 * more than one was shown. */
struct live_look {
    struct report *report;
    size_t all, kept; /* scopes of the report: before, and now */
    size_t shown;
    unsigned room; /* lines of the screen that scopes may take */
    bool full;     /* one did not fit */
    struct emit_mark mark;
};

/* Leaves the scopes in the report that have room where each takes `least` lines. 0 or an error. */
int live_begin(struct live_look *look, struct report *report, unsigned height, unsigned least);
/* That each of them may take. */
unsigned live_lines(const struct live_look *look);
/* Around what a scope prints. What does not fit any more is taken back. */
void live_scope_begin(struct live_look *look);
void live_scope_end(struct live_look *look);
void live_end(struct live_look *look);

#endif
