/*
 * ladder_stack.h - the processes of one device at one moment, one upon the other.
 *
 * Each process has its ladder at a moment of its own; what they hold together is asked at one: of
 * the moments whose ladders were shown, the one at which the device's processes had the most
 * allocated, counted in live blocks. Where a device has a single process there is nothing to stack.
 */
#ifndef TIDEMARK_VIEWER_LADDER_STACK_H
#define TIDEMARK_VIEWER_LADDER_STACK_H

#include "instant.h"
#include "report.h"

struct ladder_seen {
    const struct report_scope *scope;
    struct instant instant;
};

struct ladder_stack { /* the ladders that were shown; all zero is empty */
    struct ladder_seen *seen;
    size_t count, cap;
};

/* A ladder that was shown. 0 or an error. */
int ladder_stack_see(struct ladder_stack *stack, const struct report_scope *scope,
                     const struct instant *instant);
/* The section "stack", of each device with several; in tables and json. 0 or an error. */
int ladder_stack_put(struct report *report, const struct ladder_stack *stack);
void ladder_stack_clear(struct ladder_stack *stack);

#endif
