/*
 * cupti_device.c - see cupti_device.h.
 *
 * A few contexts are remembered. A place is taken by storing the context last and released by
 * storing NULL, so a reader sees a device that belongs to the context or asks CUPTI again.
 */
#include "cupti_device.h"

#include <stdatomic.h>
#include <stddef.h>

#include "cupti_api.h"
#include "event.h"
#include "intern.h"

#define CONTEXTS 64

struct known {
    _Atomic(const void *) context;
    _Atomic int32_t device;
};
static struct known known[CONTEXTS];
static _Atomic uint32_t contexts;

static struct known *find(const void *context)
{
    for (int i = 0; context && i < CONTEXTS; i++)
        if (atomic_load_explicit(&known[i].context, memory_order_acquire) == context)
            return &known[i];
    return NULL;
}

static void remember(const void *context, int32_t device)
{
    static _Atomic uint32_t busy;
    if (atomic_exchange(&busy, 1))
        return; /* next time */
    struct known *place = find(context);
    for (int i = 0; !place && i < CONTEXTS; i++)
        if (!atomic_load(&known[i].context))
            place = &known[i];
    if (place) {
        atomic_store(&place->device, device);
        atomic_store_explicit(&place->context, context, memory_order_release);
    }
    atomic_store(&busy, 0);
}

int32_t device_of_context(const void *context)
{
    uint32_t device = 0;
    const struct known *place = find(context);
    if (place)
        return atomic_load(&place->device);
    if (!context || !cupti_api.get_device || cupti_api.get_device(context, &device) != ABI_OK)
        return DEVICE_UNKNOWN;
    remember(context, (int32_t)device);
    return (int32_t)device;
}

int32_t device_only(void)
{
    int32_t only = DEVICE_UNKNOWN;
    for (int i = 0; i < CONTEXTS; i++) {
        if (!atomic_load_explicit(&known[i].context, memory_order_acquire))
            continue;
        int32_t device = atomic_load(&known[i].device);
        if (only != DEVICE_UNKNOWN && device != only)
            return DEVICE_UNKNOWN;
        only = device;
    }
    return only;
}

uint32_t device_context_created(const void *context)
{
    struct known *older = find(context);
    if (older)
        atomic_store(&older->context, NULL);
    device_of_context(context);
    return atomic_fetch_add(&contexts, 1) + 1;
}

uint32_t device_context_gone(const void *context)
{
    struct known *place = find(context);
    uint32_t count = atomic_load(&contexts);
    if (place)
        atomic_store(&place->context, NULL);
    while (count && !atomic_compare_exchange_weak(&contexts, &count, count - 1))
        ;
    return count ? count - 1 : 0;
}

uint32_t device_heap(int32_t device)
{
    struct arena_heap heap = {.device_kind = DEVICE_CUDA, .device_index = device};
    return intern(ARENA_HEAP, &heap, sizeof heap) & EVENT_MAX_HEAP;
}
