/*
 * cupti_records.c - see cupti_records.h.
 *
 * CUPTI's clock is the wall clock, which may be set. It is compared with ours at each flush; a time
 * from before the last comparison is converted by the one before that, so that a step of the wall
 * clock moves at most what happened between two flushes.
 */
#include "cupti_records.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "clock.h"
#include "cupti_api.h"
#include "cupti_device.h"
#include "cupti_late.h"
#include "event.h"
#include "guest.h"
#include "intern.h"

static _Atomic uint64_t compared_at;            /* on their clock; 0 = never */
static _Atomic int64_t shift_before, shift_now; /* from theirs to ours */
static _Atomic uint64_t timeless;

void records_clock(void)
{
    uint64_t theirs = 0, ours = clock_now_ns();
    if (!cupti_api.get_timestamp || cupti_api.get_timestamp(&theirs) != ABI_OK || !theirs)
        theirs = clock_read_ns(CLOCK_REALTIME);
    ours = ours / 2 + clock_now_ns() / 2; /* the middle of the reading */
    int64_t shift = (int64_t)(ours - theirs);
    bool first = atomic_load(&compared_at) == 0;
    atomic_store(&shift_before, first ? shift : atomic_load(&shift_now));
    atomic_store(&shift_now, shift);
    atomic_store(&compared_at, theirs);
}

uint64_t records_time(uint64_t theirs)
{
    bool before = theirs < atomic_load(&compared_at);
    return theirs + (uint64_t)(before ? atomic_load(&shift_before) : atomic_load(&shift_now));
}

uint64_t records_timeless(void)
{
    return atomic_load(&timeless);
}

/* What all kinds of work have. */
struct work {
    enum activity_kind kind;
    const char *name;
    uint64_t begin, end, bytes;
    uint32_t device, stream;
};

static void emit(const struct work *work)
{
    if (!work->begin || work->end < work->begin) {
        atomic_fetch_add(&timeless, 1);
        return;
    }
    struct event event = {
        .kind = EVENT_ACTIVITY,
        .heap = device_heap((int32_t)work->device) & EVENT_MAX_HEAP,
        .name = intern_string(work->name),
        .addr = records_time(work->begin),
        .size = work->end - work->begin,
        .a = (uint64_t)work->kind | (uint64_t)work->stream << 8,
        .b = work->bytes,
    };
    guest_emit(&event);
}

/* Of CUpti_ActivityMemcpyKind. */
static const char *copy_name(uint8_t kind)
{
    static const char *const names[] = {
        "memcpy",      "memcpy HtoD", "memcpy DtoH", "memcpy HtoA", "memcpy AtoH", "memcpy AtoA",
        "memcpy AtoD", "memcpy DtoA", "memcpy DtoD", "memcpy HtoH", "memcpy PtoP",
    };
    return names[kind < sizeof names / sizeof *names ? kind : 0];
}

static void take_kernel(const struct abi_record *record)
{
    struct abi_kernel kernel;
    memcpy(&kernel, record, sizeof kernel);
    emit(&(struct work){.kind = ACTIVITY_KERNEL,
                        .name = kernel.name ? kernel.name : "kernel",
                        .begin = kernel.begin,
                        .end = kernel.end,
                        .device = kernel.device,
                        .stream = kernel.stream});
}

static void take_copy(const struct abi_record *record)
{
    struct abi_memcpy copy;
    memcpy(&copy, record, sizeof copy);
    emit(&(struct work){.kind = ACTIVITY_COPY,
                        .name = copy_name(copy.copy_kind),
                        .begin = copy.begin,
                        .end = copy.end,
                        .bytes = copy.bytes,
                        .device = copy.device,
                        .stream = copy.stream});
}

static void take_set(const struct abi_record *record)
{
    struct abi_memset set;
    memcpy(&set, record, sizeof set);
    emit(&(struct work){.kind = ACTIVITY_SET,
                        .name = "memset",
                        .begin = set.begin,
                        .end = set.end,
                        .bytes = set.bytes,
                        .device = set.device,
                        .stream = set.stream});
}

static void take_graph(const struct abi_record *record)
{
    struct abi_graph_trace graph;
    memcpy(&graph, record, sizeof graph);
    emit(&(struct work){.kind = ACTIVITY_GRAPH,
                        .name = "graph",
                        .begin = graph.begin,
                        .end = graph.end,
                        .device = graph.device,
                        .stream = graph.stream});
}

void records_take(const struct abi_record *record)
{
    switch (record->kind) {
    case ABI_KERNEL:
    case ABI_CONCURRENT_KERNEL:
        take_kernel(record);
        break;
    case ABI_MEMCPY:
    case ABI_MEMCPY_PEER:
        take_copy(record);
        break;
    case ABI_MEMSET:
        take_set(record);
        break;
    case ABI_GRAPH_TRACE:
        take_graph(record);
        break;
    case ABI_MEMORY2:
        late_take(record);
        break;
    default:
        break;
    }
}
