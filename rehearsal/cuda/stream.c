/* stream.c - see stream.h. */
#include "stream.h"

#include <stdatomic.h>

#include "clock.h"
#include "cuda_abi.h"
#include "error.h"
#include "mem.h"

static _Atomic uint64_t numbers = 3; /* 1 and 2: the streams without an object */
static struct stream legacy = {.id = 1};
static _Thread_local struct stream per_thread = {.id = 2};
static _Atomic uint64_t taken_ns; /* by work that is said to take time */

struct stream *stream_of(void *handle)
{
    if (!handle || handle == STREAM_LEGACY)
        return &legacy;
    return handle == STREAM_PER_THREAD ? &per_thread : handle;
}

struct stream *stream_new(int32_t device, uint32_t flags, int32_t priority)
{
    struct stream *stream = mem_alloc(1, sizeof *stream);
    if (stream)
        *stream = (struct stream){.device = device,
                                  .priority = priority,
                                  .flags = flags,
                                  .id = atomic_fetch_add(&numbers, 1)};
    return stream;
}

/* ---- captures ---- */

static struct capture *hold(struct capture *capture)
{
    if (capture)
        atomic_fetch_add(&capture->references, 1);
    return capture;
}

static void let_go(struct capture **capture)
{
    if (*capture && atomic_fetch_sub(&(*capture)->references, 1) == 1)
        mem_free(*capture);
    *capture = NULL;
}

struct capture *stream_capture(struct stream *stream)
{
    if (stream->capture && atomic_load(&stream->capture->ended))
        let_go(&stream->capture);
    return stream->capture;
}

bool stream_put(void *handle)
{
    struct capture *capture = stream_capture(stream_of(handle));
    if (capture)
        atomic_fetch_add(&capture->graph->nodes, 1);
    return capture != NULL;
}

bool stream_put_writing(void *handle, const void *to, uint64_t bytes)
{
    bool captured = stream_put(handle);
    if (captured && bytes)
        record_add(&stream_capture(stream_of(handle))->graph->writes, (uint64_t)(uintptr_t)to,
                   bytes);
    return captured;
}

struct graph *graph_new(void)
{
    struct graph *graph = mem_alloc(1, sizeof *graph);
    if (graph)
        graph->writes = RECORD_NEW;
    return graph;
}

void graph_delete(struct graph *graph)
{
    if (graph)
        record_drop(&graph->writes);
    mem_free(graph);
}

int stream_begin_capture(void *handle, struct graph *into)
{
    struct stream *stream = stream_of(handle);
    if (stream_capture(stream))
        return ERR_BUSY;
    struct capture *capture = mem_alloc(1, sizeof *capture);
    if (!capture)
        return ERR_NOMEM;
    capture->graph = into ? into : graph_new();
    if (!capture->graph) {
        mem_free(capture);
        return ERR_NOMEM;
    }
    capture->id = atomic_fetch_add(&numbers, 1);
    stream->capture = hold(capture);
    return BASE_OK;
}

int stream_end_capture(void *handle, struct graph **graph)
{
    struct stream *stream = stream_of(handle);
    struct capture *capture = stream_capture(stream);
    *graph = NULL;
    if (!capture)
        return ERR_NOTFOUND;
    *graph = capture->graph;
    /* What cuBLAS does is not put in by anybody: a graph without a node may have that, and PyTorch
     * would warn that it is empty. */
    size_t none = 0;
    atomic_compare_exchange_strong(&capture->graph->nodes, &none, 1);
    atomic_store(&capture->ended, true);
    let_go(&stream->capture);
    return BASE_OK;
}

void stream_delete(void *handle)
{
    struct stream *stream = stream_of(handle);
    if (stream == &legacy || stream == &per_thread)
        return;
    let_go(&stream->capture);
    mem_free(stream);
}

/* ---- events ---- */

struct event *event_new(uint32_t flags)
{
    struct event *event = mem_alloc(1, sizeof *event);
    if (event)
        event->flags = flags;
    return event;
}

void event_delete(struct event *event)
{
    let_go(&event->capture);
    mem_free(event);
}

void event_record(struct event *event, void *stream)
{
    let_go(&event->capture);
    event->capture = hold(stream_capture(stream_of(stream)));
    if (works_exist())
        works_copy(&event->works, &stream_of(stream)->works);
    event->at_ns = clock_now_ns() + atomic_load(&taken_ns);
}

void event_take(uint64_t ns)
{
    atomic_fetch_add(&taken_ns, ns);
}

void stream_wait_event(void *handle, struct event *event)
{
    struct stream *stream = stream_of(handle);
    if (event->capture && atomic_load(&event->capture->ended))
        let_go(&event->capture);
    if (event->capture && !stream_capture(stream))
        stream->capture = hold(event->capture);
    if (works_exist())
        works_add(&stream->works, &event->works);
}
