/*
 * feed.h - a run with one or more processes that a test feeds with events, line by line.
 */
#ifndef TIDEMARK_TESTS_FEED_H
#define TIDEMARK_TESTS_FEED_H

#include <stdint.h>

#include "rows.h"
#include "state.h"

#define FEED_START 1000000000ull /* CLOCK_MONOTONIC of the run's 0 */

struct feed { /* one process; time goes on by 10 ns with each event */
    struct state *state;
    struct state_process *process;
    struct rows *rows;
    uint64_t now; /* CLOCK_MONOTONIC */
    uint32_t definitions;
    uint32_t thread;
};

struct state *feed_state(uint64_t keyframe_events);
/* A process of its own state, or of a state that is there. */
void feed_begin(struct feed *feed, struct state *state, struct rows *rows);
void feed_flush(struct feed *feed); /* into feed->rows */
/* Ends the process and flushes; frees the state when `state_too`. */
void feed_end(struct feed *feed, bool state_too);

uint32_t feed_define(struct feed *feed, uint32_t kind, const void *payload, size_t bytes);
uint32_t feed_string(struct feed *feed, const char *text);
uint32_t feed_site(struct feed *feed, const char *function, uint32_t line); /* one frame */
uint32_t feed_heap(struct feed *feed, int32_t kind, int32_t index, uint64_t stream);

/* Each returns the seq. */
int64_t feed_event(struct feed *feed, struct event event); /* fills in time and thread */
int64_t feed_alloc(struct feed *feed, uint32_t heap, uint64_t address, uint64_t size);
int64_t feed_free(struct feed *feed, uint32_t heap, uint64_t address);
int64_t feed_phase(struct feed *feed, uint32_t name);
int64_t feed_phase_end(struct feed *feed, uint32_t name);
int64_t feed_step(struct feed *feed, uint64_t number);

#endif
