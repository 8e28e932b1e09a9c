/*
 * stream.h - streams, events and graphs. Nothing runs, so all that was put into a stream is done at
 * once; while a stream is captured it is only counted, for a graph has to have as many nodes.
 *
 * Handles are addresses of ours. A stream that a program destroyed is not touched again; one that
 * it uses after that is its own mistake, as with CUDA.
 */
#ifndef TIDEMARK_REHEARSAL_STREAM_H
#define TIDEMARK_REHEARSAL_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meeting.h"
#include "record.h"

struct graph {
    _Atomic size_t nodes;
    struct record writes; /* where its nodes write */
};

/* A capture begins in one stream, and others join it by waiting for an event that was recorded
 * inside of it. It ends for all of them at once; the last one that looks lets it go. */
struct capture {
    _Atomic uint32_t references;
    _Atomic bool ended;
    uint64_t id;
    struct graph *graph;
};

struct stream {
    int32_t device, priority;
    uint32_t flags;
    uint64_t id;
    struct capture *capture; /* NULL: none that this stream knew of */
    struct works works;      /* of several ranks, that others may not have put in yet */
};

struct event {
    uint64_t at_ns; /* 0: never recorded */
    uint32_t flags;
    struct capture *capture; /* that it was recorded in */
    struct works works;      /* that were in the stream before it */
};

/* The stream behind a handle, also behind those without an object. */
struct stream *stream_of(void *handle);
struct stream *stream_new(int32_t device, uint32_t flags, int32_t priority); /* NULL: no memory */
void stream_delete(void *handle);

/* The capture that this stream is in. NULL: none. */
struct capture *stream_capture(struct stream *stream);
/* A kernel, a copy, a fill, a host function: true if it is captured, so not to be done now. */
bool stream_put(void *handle);
/* The same of one that writes there and nowhere else: a graph remembers where. */
bool stream_put_writing(void *handle, const void *to, uint64_t bytes);
struct graph *graph_new(void); /* NULL: no memory */
void graph_delete(struct graph *graph);
int stream_begin_capture(void *handle, struct graph *into); /* NULL: a graph of its own */
int stream_end_capture(void *handle, struct graph **graph);

struct event *event_new(uint32_t flags); /* NULL: no memory */
void event_delete(struct event *event);
void event_record(struct event *event, void *stream);
/* Work that takes so long by the events around it, and no time. */
void event_take(uint64_t ns);
void stream_wait_event(void *stream, struct event *event);

#endif
