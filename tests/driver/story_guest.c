/*
 * story_guest.c - the guest, and a door through which a program sends any event at all: for a
 * program that plays what sources would see.
 */
#include "guest.h"
#include "intern.h"
#include "story_guest.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int story_event(const struct event *event)
{
    struct event copy = *event;
    if (!guest_live())
        return 0;
    guest_emit(&copy);
    return 1;
}

EXPORT uint32_t story_string(const char *text)
{
    return guest_live() ? intern_string(text) : 0;
}

EXPORT uint32_t story_heap(int32_t kind, int32_t index, const char *name)
{
    struct arena_heap heap = {.device_kind = kind, .device_index = index};
    if (!guest_live())
        return 0;
    heap.name = intern_string(name);
    return intern(ARENA_HEAP, &heap, sizeof heap) & EVENT_MAX_HEAP;
}
