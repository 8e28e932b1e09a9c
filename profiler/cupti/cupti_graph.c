/*
 * cupti_graph.c - memory of nodes in graphs, when their graph goes. See cupti_live.h.
 *
 * By CUDA's documentation: a node has its address from the moment it is made to the end of its
 * graph. The memory is there from a launch that passes the node until it is freed: by a node, by
 * cuMemFree or cuMemFreeAsync, or before the next launch by an instantiation that was asked to.
 * Destroying the graph, or what was instantiated of it, frees nothing that a launch left behind. A
 * graph with such nodes cannot be cloned, has one instantiation at a time, loses no node, and is
 * part of another graph only if it was given away to it.
 *
 * So, with what is told being the address and not the moment: a node's memory is told when the node
 * is made, and is over when it is freed, or when its graph is destroyed without ever having been
 * instantiated, for then no launch can have left anything. Of a graph that was, it stays until it
 * is freed: launches are too many to be heard. What is told stays longer than the memory where a
 * graph was instantiated and not launched, or was given away; `graph used` and `graph reserved` are
 * sampled and say what is there.
 *
 * What a stream asks for while it is captured is such a node, too. Its graph is told when the
 * capture ends: until then the capture itself stands for it, by an odd number that no graph has.
 */
#include "cupti_live_inner.h"

#include <stdatomic.h>

#define CAPTURES 64

/* Streams that are being captured; under the lock. Where there are more, what the others ask for
 * counts as memory of their pools. The default streams of threads are left out: all have one name.
 */
static struct capture {
    uint64_t stream; /* 0: free */
    uint64_t of;     /* the graph, or an odd number */
    uint64_t context;
} captures[CAPTURES];
static _Atomic uint32_t capturing; /* how many are taken */
static uint64_t captured;          /* odd numbers so far */

#define LAST_DEFAULT_STREAM 2

static bool is_of(const struct live_entry *entry, uint64_t graph)
{
    return entry->used && entry->memory == DRIVER_GRAPH && entry->space == SPACE_ADDRESS &&
           entry->of == graph;
}

void live_graph_ready(uint64_t graph)
{
    if (!graph || !live_hold_to_note())
        return;
    for (size_t i = 0; i < live_table.capacity; i++)
        if (is_of(&live_table.slots[i], graph))
            live_table.slots[i].of = 0;
    live_let_go();
}

void live_graph_gone(uint64_t graph, uint32_t name)
{
    if (graph)
        live_take_all(is_of, graph, name);
}

/* ---- captures; under the lock ---- */

static struct capture *find_capture(uint64_t stream)
{
    for (int i = 0; i < CAPTURES; i++)
        if (captures[i].stream == stream)
            return &captures[i];
    return NULL;
}

static void forget_capture(struct capture *capture)
{
    capture->stream = 0;
    atomic_fetch_sub(&capturing, 1);
}

void live_captures_gone(uint64_t context)
{
    for (int i = 0; i < CAPTURES && atomic_load(&capturing); i++)
        if (captures[i].stream && (!context || captures[i].context == context))
            forget_capture(&captures[i]);
}

/* ---- without it ---- */

void live_capture_begins(uint64_t stream, uint64_t graph, uint64_t context)
{
    if (stream <= LAST_DEFAULT_STREAM || !live_hold_to_note())
        return;
    struct capture *capture = find_capture(stream);
    if (!capture && (capture = find_capture(0)))
        atomic_fetch_add(&capturing, 1);
    if (capture)
        *capture = (struct capture){stream, graph ? graph : 2 * captured++ + 1, context};
    live_let_go();
}

uint64_t live_captured(uint64_t stream)
{
    if (stream <= LAST_DEFAULT_STREAM || !atomic_load(&capturing) || !live_hold())
        return 0;
    const struct capture *capture = find_capture(stream);
    uint64_t of = capture ? capture->of : 0;
    live_let_go();
    return of;
}

/* Gives the capture's nodes to their graph. */
static void give_to(uint64_t of, uint64_t graph)
{
    for (size_t i = 0; i < live_table.capacity; i++)
        if (is_of(&live_table.slots[i], of))
            live_table.slots[i].of = graph;
}

void live_capture_ends(uint64_t stream, uint64_t graph, uint32_t name)
{
    uint64_t of = 0;
    if (stream <= LAST_DEFAULT_STREAM || !atomic_load(&capturing) || !live_hold_to_note())
        return;
    struct capture *capture = find_capture(stream);
    if (capture) {
        of = capture->of;
        forget_capture(capture);
    }
    if (of % 2 && graph)
        give_to(of, graph);
    live_let_go();
    if (of % 2 && !graph)
        live_graph_gone(of, name);
}
