#include "wrap_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "tidemark.h"

/* The observer is called by the thread that makes the request. */
static _Thread_local tidemark_site_t site_now;

void report_site(uint32_t site)
{
    site_now = site;
}

uint32_t report_python_site(void)
{
    return tidemark_python_site();
}

uint32_t report_heap(const struct report *report, uint64_t stream, uint64_t pool)
{
    struct tidemark_heap_desc desc = {.size = sizeof desc,
                                      .device_kind = report->device_kind,
                                      .device_index = report->device_index,
                                      .stream = stream,
                                      .pool = pool,
                                      .name = report->name};
    return tidemark_heap_open_desc(&desc);
}

static bool is_heap(const struct report_heap *heap, uint64_t stream, uint64_t pool)
{
    return heap->stream == stream && heap->pool == pool;
}

/* A number that could not be kept is asked for again the next time. */
static uint32_t known_heap(struct report *report, uint64_t stream, uint64_t pool)
{
    if (report->count && is_heap(&report->heaps[report->last], stream, pool))
        return report->heaps[report->last].heap;
    for (size_t i = 0; i < report->count; i++) {
        if (is_heap(&report->heaps[i], stream, pool)) {
            report->last = i;
            return report->heaps[i].heap;
        }
    }
    uint32_t heap = report_heap(report, stream, pool);
    if (heap && MEM_GROW(report->heaps, report->cap, report->count + 1)) {
        report->last = report->count;
        report->heaps[report->count++] = (struct report_heap){stream, pool, heap};
    }
    return heap;
}

static const void *pointer(uint64_t address)
{
    return (const void *)(uintptr_t)address;
}

static void report_block(uint32_t heap, const struct alloc_event *event)
{
    struct tidemark_block block = {.size = sizeof block,
                                   .heap = heap,
                                   .site = site_now,
                                   .has_requested = 1,
                                   .address = pointer(event->address),
                                   .bytes = event->size,
                                   .requested = event->requested};
    tidemark_block_alloc(&block);
}

static void observe(void *self, const struct alloc_event *event)
{
    uint32_t heap = known_heap(self, event->stream, event->pool);
    const void *address = pointer(event->address);
    switch (event->kind) {
    case ALLOC_EVENT_ALLOC:
        report_block(heap, event);
        break;
    case ALLOC_EVENT_FREE:
        if (event->waits)
            tidemark_free_waits(heap, address);
        else
            tidemark_free(heap, address);
        break;
    case ALLOC_EVENT_IDLE:
        tidemark_idle(heap, address);
        break;
    case ALLOC_EVENT_SEGMENT_ALLOC:
        tidemark_segment_alloc(heap, address, event->size);
        break;
    case ALLOC_EVENT_SEGMENT_FREE:
        tidemark_segment_free(heap, address);
        break;
    case ALLOC_EVENT_MAP:
        tidemark_segment_map(heap, address, event->size);
        break;
    case ALLOC_EVENT_UNMAP:
        tidemark_segment_unmap(heap, address, event->size);
        break;
    case ALLOC_EVENT_OOM:
        tidemark_oom(heap, event->requested, site_now);
        break;
    }
}

int report_init(struct report *report, int device_kind, int device_index, const char *name)
{
    *report = (struct report){.device_kind = device_kind, .device_index = device_index};
    report->name = mem_copy(name, strlen(name));
    report->observer = (struct alloc_observer){.self = report, .event = observe};
    return report->name ? BASE_OK : ERR_NOMEM;
}

void report_clear(struct report *report)
{
    mem_free(report->name);
    mem_free(report->heaps);
    *report = (struct report){0};
}

bool report_is_valid(const struct report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        if (!report->heaps[i].heap)
            return false;
        for (size_t j = 0; j < i; j++)
            if (is_heap(&report->heaps[j], report->heaps[i].stream, report->heaps[i].pool))
                return false;
    }
    return report->count <= report->cap && (!report->count || report->last < report->count);
}

const struct alloc_observer *report_observer(struct report *report)
{
    return tidemark_recording() ? &report->observer : NULL;
}

void report_setting(const struct report *report, const char *key, const char *value)
{
    if (tidemark_recording())
        tidemark_setting(report_heap(report, 0, 0), key, value);
}

void report_bytes(const struct report *report, const char *key, uint64_t bytes)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, bytes);
    report_setting(report, key, text);
}

void report_segment_taken(const struct report *report, uint64_t stream, uint64_t address,
                          uint64_t bytes)
{
    tidemark_segment_alloc(report_heap(report, stream, 0), pointer(address), bytes);
}

void report_segment_given(const struct report *report, uint64_t stream, uint64_t address)
{
    tidemark_segment_free(report_heap(report, stream, 0), pointer(address));
}
