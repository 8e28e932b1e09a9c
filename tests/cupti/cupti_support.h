/*
 * cupti_support.h - the CUPTI source between a hand that calls it and a ring: calls of the driver
 * with their enter and exit, and the events that came of them.
 */
#ifndef TIDEMARK_TESTS_CUPTI_SUPPORT_H
#define TIDEMARK_TESTS_CUPTI_SUPPORT_H

#include "../profiler/guest_support.h"
#include "cupti_life.h"
#include "cupti_api.h"
#include "cupti_callback.h"
#include "cupti_calls.h"
#include "cupti_live.h"

#define SEEN 512

/* A device for each context: context 0x10 is of device 0, 0x11 of device 1. */
static inline int device_by_number(const void *context, uint32_t *device)
{
    *device = (uint32_t)(uintptr_t)context & 0xf;
    return ABI_OK;
}

struct driven {
    struct own_recorder own;
    struct event events[SEEN];
    size_t count;
    const void *context;
    uint32_t correlation; /* of the last call */
};

static inline struct driven begin_driven(void)
{
    struct driven driven = {.own = begin_recording(12, 1 << 20), .context = (const void *)0x10};
    cupti_api.get_device = device_by_number;
    atomic_store(&guest.page->has_cupti, 1);
    return driven;
}

/* The events since the last time, without notes. */
static inline size_t look(struct driven *driven)
{
    size_t n = drain(&driven->own, driven->events, SEEN);
    driven->count = 0;
    for (size_t i = 0; i < n; i++)
        if (driven->events[i].kind != EVENT_MARK)
            driven->events[driven->count++] = driven->events[i];
    return driven->count;
}

static inline void call_place(struct driven *driven, int domain, uint32_t place, uint32_t cbid,
                              const void *params, const int *result, uint32_t correlation)
{
    uint64_t own = 0;
    struct abi_callback data = {
        .place = place,
        .function = "?",
        .params = params,
        .result = result,
        .context = driven->context,
        .own = &own,
        .correlation = correlation,
    };
    callback_take(NULL, domain, cbid, &data);
}

/* Enter of a call; returns what its exit needs. */
static inline uint32_t enter(struct driven *driven, int domain, uint32_t cbid, const void *params)
{
    uint32_t correlation = ++driven->correlation;
    call_place(driven, domain, ABI_ENTER, cbid, params, NULL, correlation);
    return correlation;
}

static inline void leave_call(struct driven *driven, int domain, uint32_t cbid, const void *params,
                              uint32_t correlation, int result)
{
    call_place(driven, domain, ABI_EXIT, cbid, params, &result, correlation);
}

/* A whole call of the driver whose outputs are in place already. */
static inline void call_driver(struct driven *driven, uint32_t cbid, const void *params, int result)
{
    leave_call(driven, ABI_DRIVER, cbid, params, enter(driven, ABI_DRIVER, cbid, params), result);
}

static inline void tell_context(struct driven *driven, uint32_t what, const void *context)
{
    struct abi_resource_data data = {.context = context};
    (void)driven;
    callback_take(NULL, ABI_RESOURCE, what, &data);
}

/* One event's device; -2: of no heap. */
static inline int32_t device_of(const struct driven *driven, const struct event *event)
{
    struct arena_heap heap = {.device_index = -2};
    size_t bytes = 0;
    if (event->heap)
        CHECK_INT(definition(driven->own.ring, event->heap, &heap, sizeof heap, &bytes),
                  ARENA_HEAP);
    return heap.device_index;
}

#define CHECK_EVENT(event, of_kind, at, bytes)                                                     \
    do {                                                                                           \
        CHECK_INT((event).kind, of_kind);                                                          \
        CHECK_INT((event).addr, at);                                                               \
        CHECK_INT((event).size, bytes);                                                            \
    } while (0)

#endif
