/* runtime_stream.c - streams, events and graphs of the runtime. */
#include "clock.h"
#include "cuda_abi.h"
#include "current.h"
#include "error.h"
#include "stream.h"
#include "tell.h"

/* ---- streams ---- */

API(int, cudaStreamCreateWithPriority, void **stream, unsigned flags, int priority)
{
    *stream = stream_new(current_device(), flags, priority);
    return current_result(*stream ? CUDA_FINE : CUDA_OUT_OF_MEMORY);
}

API(int, cudaStreamCreateWithFlags, void **stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

API(int, cudaStreamCreate, void **stream)
{
    return cudaStreamCreateWithPriority(stream, 0, 0);
}

API(int, cudaStreamDestroy, void *stream)
{
    stream_delete(stream);
    return CUDA_FINE;
}

API(int, cudaStreamGetPriority, void *stream, int *priority)
{
    *priority = stream_of(stream)->priority;
    return CUDA_FINE;
}

API(int, cudaStreamGetFlags, void *stream, unsigned *flags)
{
    *flags = stream_of(stream)->flags;
    return CUDA_FINE;
}

API(int, cudaStreamGetId, void *stream, unsigned long long *id)
{
    *id = stream_of(stream)->id;
    return CUDA_FINE;
}

API(int, cudaStreamGetDevice, void *stream, int *device)
{
    *device = stream_of(stream)->device;
    return CUDA_FINE;
}

API(int, cudaStreamWaitEvent, void *stream, void *event, unsigned flags)
{
    (void)flags;
    stream_wait_event(stream, event);
    return CUDA_FINE;
}

/* ---- waiting: only what ranks do together takes until the others have come ---- */

API(int, cudaStreamSynchronize, void *stream)
{
    if (works_exist())
        works_wait(&stream_of(stream)->works);
    return CUDA_FINE;
}

API(int, cudaStreamQuery, void *stream)
{
    bool done = !works_exist() || works_are_done(&stream_of(stream)->works);
    return current_result(done ? CUDA_FINE : CUDA_NOT_READY);
}

API(int, cudaEventSynchronize, void *event)
{
    if (works_exist())
        works_wait(&((struct event *)event)->works);
    return CUDA_FINE;
}

API(int, cudaEventQuery, void *event)
{
    bool done = !works_exist() || works_are_done(&((struct event *)event)->works);
    return current_result(done ? CUDA_FINE : CUDA_NOT_READY);
}

API(int, cudaDeviceSynchronize, void)
{
    if (works_exist())
        meeting_wait_all();
    return CUDA_FINE;
}

API(int, cuStreamSynchronize, void *stream)
{
    return cudaStreamSynchronize(stream);
}

API(int, cuCtxSynchronize, void)
{
    return cudaDeviceSynchronize();
}

API(int, cudaLaunchHostFunc, void *stream, void (*function)(void *), void *data)
{
    if (!stream_put(stream))
        function(data);
    return CUDA_FINE;
}

API(int, cudaStreamAddCallback, void *stream, void (*function)(void *, int, void *), void *data,
    unsigned flags)
{
    (void)flags;
    function(stream, CUDA_FINE, data);
    return CUDA_FINE;
}

/* ---- events ---- */

API(int, cudaEventCreateWithFlags, void **event, unsigned flags)
{
    *event = event_new(flags);
    return current_result(*event ? CUDA_FINE : CUDA_OUT_OF_MEMORY);
}

API(int, cudaEventCreate, void **event)
{
    return cudaEventCreateWithFlags(event, 0);
}

API(int, cudaEventDestroy, void *event)
{
    if (event)
        event_delete(event);
    return CUDA_FINE;
}

API(int, cudaEventRecordWithFlags, void *event, void *stream, unsigned flags)
{
    (void)flags;
    event_record(event, stream);
    return CUDA_FINE;
}

API(int, cudaEventRecord, void *event, void *stream)
{
    return cudaEventRecordWithFlags(event, stream, 0);
}

/* Nothing takes time on the device: what is measured is the host's. */
API(int, cudaEventElapsedTime, float *ms, void *begin, void *end)
{
    const struct event *from = begin, *to = end;
    if (!from->at_ns || !to->at_ns)
        return current_result(CUDA_INVALID_VALUE);
    *ms = (float)((double)(int64_t)(to->at_ns - from->at_ns) / 1e6);
    return CUDA_FINE;
}

/* ---- captures ---- */

static int capture_result(int err)
{
    return current_result(err == ERR_BUSY || err == ERR_NOTFOUND ? CUDA_CAPTURE_UNMATCHED
                                                                 : cuda_from_err(err));
}

API(int, cudaStreamBeginCapture, void *stream, int mode)
{
    TELL(cuStreamBeginCapture_v2, told_word(stream), (uint64_t)mode);
    return TOLD(capture_result(stream_begin_capture(stream, NULL)));
}

API(int, cudaStreamBeginCaptureToGraph, void *stream, void *graph, const void *depends,
    const void *edges, size_t count, int mode)
{
    TELL(cuStreamBeginCaptureToGraph, told_word(stream), told_word(graph), told_word(depends),
         told_word(edges), count, (uint64_t)mode);
    return TOLD(capture_result(stream_begin_capture(stream, graph)));
}

API(int, cudaStreamEndCapture, void *stream, void **graph)
{
    struct graph *made;
    TELL(cuStreamEndCapture, told_word(stream), told_word(graph));
    int err = stream_end_capture(stream, &made);
    *graph = made;
    return TOLD(capture_result(err));
}

API(int, cudaStreamIsCapturing, void *stream, int *status)
{
    *status = stream_capture(stream_of(stream)) != NULL;
    return CUDA_FINE;
}

static void say_capture(void *stream, int *status, unsigned long long *id, void **graph)
{
    const struct capture *capture = stream_capture(stream_of(stream));
    *status = capture != NULL;
    if (id)
        *id = capture ? capture->id : 0;
    if (graph)
        *graph = capture ? capture->graph : NULL;
}

/* What a captured stream depends on is not kept: a graph here is a number of nodes. */
static const void *const no_nodes[1];

/* Of CUDA 12. */
API(int, cudaStreamGetCaptureInfo_v2, void *stream, int *status, unsigned long long *id,
    void **graph, const void *const **depends, size_t *count)
{
    say_capture(stream, status, id, graph);
    if (depends)
        *depends = no_nodes;
    if (count)
        *count = 0;
    return CUDA_FINE;
}

/* Of CUDA 12.3 and later; from 13 on under the plain name. */
API(int, cudaStreamGetCaptureInfo_v3, void *stream, int *status, unsigned long long *id,
    void **graph, const void *const **depends, const void **edges, size_t *count)
{
    if (edges)
        *edges = NULL;
    return cudaStreamGetCaptureInfo_v2(stream, status, id, graph, depends, count);
}

API(int, cudaStreamGetCaptureInfo, void *stream, int *status, unsigned long long *id, void **graph,
    const void *const **depends, const void **edges, size_t *count)
{
    if (cuda_major() >= 13)
        return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, depends, edges, count);
    say_capture(stream, status, id, NULL); /* three arguments, before 13 */
    return CUDA_FINE;
}

/* ---- graphs ---- */

static int copy_graph(void **exec, struct graph *graph)
{
    struct graph *copy = graph_new();
    *exec = copy;
    if (!copy)
        return current_result(CUDA_OUT_OF_MEMORY);
    copy->nodes = graph->nodes;
    record_copy(&copy->writes, &graph->writes);
    return CUDA_FINE;
}

API(int, cudaGraphCreate, void **graph, unsigned flags)
{
    (void)flags;
    *graph = graph_new();
    return current_result(*graph ? CUDA_FINE : CUDA_OUT_OF_MEMORY);
}

API(int, cudaGraphInstantiate, void **exec, void *graph, unsigned long long flags)
{
    TELL(cuGraphInstantiateWithFlags, told_word(exec), told_word(graph), flags);
    return TOLD(copy_graph(exec, graph));
}

API(int, cudaGraphInstantiateWithFlags, void **exec, void *graph, unsigned long long flags)
{
    return cudaGraphInstantiate(exec, graph, flags);
}

/* Nodes are counted, not named: a program that asks for them gets as many without anything in
 * them. */
API(int, cudaGraphGetNodes, void *graph, void **nodes, size_t *count)
{
    const struct graph *it = graph;
    if (!nodes)
        *count = it->nodes;
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = NULL;
    return CUDA_FINE;
}

/* Before CUDA 13 without the edges. */
API(int, cudaGraphNodeGetDependencies, void *node, void **depends, void *edges, size_t *count)
{
    (void)node, (void)depends;
    *(cuda_major() >= 13 ? count : (size_t *)edges) = 0;
    return CUDA_FINE;
}

API(int, cudaGraphDestroy, void *graph)
{
    TELL(cuGraphDestroy, told_word(graph));
    graph_delete(graph);
    return TOLD(CUDA_FINE);
}

API(int, cudaGraphExecDestroy, void *exec)
{
    graph_delete(exec);
    return CUDA_FINE;
}
