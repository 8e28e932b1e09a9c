/*
 * cupti_buffers.h - CUPTI's activity: kernels, copies and sets as ACTIVITY events (record
 * --kernels), and memory records where callbacks are not to be had.
 *
 * CUPTI asks for buffers in the threads of the program and gives them back when they are full, in a
 * thread of its own, or when we flush. Ours are small, zeroed, and used again. Names are copied
 * while a buffer is ours: they belong to modules that may be unloaded. We flush at the ends of
 * phases, in the thread that ends one, and never in another: a library that sets up its
 * communicators may hold what CUPTI waits for.
 *
 * A process has one pair of functions for all tools: who registers last gets every buffer, those
 * too that another tool had given. So each buffer of ours is in a list, and one that is not is read
 * and left to its owner. What we told CUPTI of our buffers is taken back when we end: another
 * tool's are not zeroed.
 */
#ifndef TIDEMARK_PROFILER_CUPTI_BUFFERS_H
#define TIDEMARK_PROFILER_CUPTI_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum activity_what { /* bits */
                     ACTIVITY_NOTHING = 0,
                     ACTIVITY_WORK = 1,   /* kernels, copies, sets, graphs */
                     ACTIVITY_MEMORY = 2, /* MEMORY2 */
};

/* Asks CUPTI for all of `what`; false: some is not to be had, and nothing is on. */
bool activity_begin(unsigned what);
/* Ends `what` of it; what CUPTI had of it was taken when this returns. */
void activity_end(unsigned what);
/* What is on. */
unsigned activity_on(void);
/* What has been done since; not closer than `activity_flush_ns` unless `now`. Only while
 * guest_live(), never in a callback for resources or buffers. */
void activity_flush(bool now, bool forced);

/* For tests: the two functions that CUPTI gets, and how many buffers exist. */
void activity_request(uint8_t **buffer, size_t *bytes, size_t *max_records);
void activity_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid);
uint32_t activity_buffers(void);

/* What was lost: records that CUPTI dropped, buffers whose rest could not be read, records without
 * a time, buffers that another tool got. */
struct activity_lost {
    uint64_t dropped, unread, timeless, strayed;
};
struct activity_lost activity_lost(void);

#endif
