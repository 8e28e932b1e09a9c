/*
 * api.c - the table behind include/tidemark.h: each call becomes one event.
 */
#define TIDEMARK_NO_CLIENT
#include "tidemark.h"

#include <string.h>

#include "guest.h"
#include "here.h"
#include "intern.h"
#include "occasion.h"
#include "open_marks.h"
#include "torch_site.h"

static tidemark_heap_t heap_open(const struct tidemark_heap_desc *desc)
{
    if (!desc || desc->size < sizeof *desc || !guest_live_for_api())
        return 0;
    struct arena_heap heap = {
        .device_kind = desc->device_kind,
        .device_index = desc->device_index,
        .stream = desc->stream,
        .pool = desc->pool,
        .name = intern_string(desc->name),
    };
    uint32_t number = intern(ARENA_HEAP, &heap, sizeof heap);
    return number <= EVENT_MAX_HEAP ? number : 0;
}

static tidemark_site_t site(const char *function, const char *file, uint32_t line)
{
    return guest_live_for_api() ? intern_site(function, file, line) : 0;
}

static uint64_t address_of(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

static void block_alloc(const struct tidemark_block *block)
{
    if (!block || block->size < sizeof *block || !block->heap || !guest_live_for_api())
        return;
    struct event event = {
        .kind = EVENT_BLOCK_ALLOC,
        .flags = block->has_requested ? EVENT_F_REQUESTED : 0,
        .heap = block->heap & EVENT_MAX_HEAP,
        .site = block->site,
        .addr = address_of(block->address),
        .size = block->bytes,
        .a = block->requested,
    };
    guest_emit(&event);
    occasion_block(event.time_ns);
}

/* Events that are a kind, flags, a heap, an address and a size. */
static void emit_flagged(enum event_kind kind, enum event_flag flags, tidemark_heap_t heap,
                         const void *address, uint64_t bytes)
{
    if (!heap || !guest_live_for_api())
        return;
    struct event event = {
        .kind = (uint8_t)kind,
        .flags = (uint8_t)flags,
        .heap = heap & EVENT_MAX_HEAP,
        .addr = address_of(address),
        .size = bytes,
    };
    guest_emit(&event);
}

static void emit_range(enum event_kind kind, tidemark_heap_t heap, const void *address,
                       uint64_t bytes)
{
    emit_flagged(kind, 0, heap, address, bytes);
}

static void block_free(tidemark_heap_t heap, const void *address)
{
    emit_range(EVENT_BLOCK_FREE, heap, address, 0);
}

static void segment_alloc(tidemark_heap_t heap, const void *address, uint64_t bytes)
{
    emit_range(EVENT_SEGMENT_ALLOC, heap, address, bytes);
}

static void segment_free(tidemark_heap_t heap, const void *address)
{
    emit_range(EVENT_SEGMENT_FREE, heap, address, 0);
}

static void emit_phase(enum event_kind kind, const char *name, uint32_t recording)
{
    struct event event = {.word = recording, .kind = (uint8_t)kind, .name = intern_string(name)};
    guest_emit(&event);
}

/* Events that are a kind, perhaps a name, perhaps a number. */
static void emit_named(enum event_kind kind, const char *name, uint64_t a)
{
    if (!guest_live_for_api())
        return;
    struct event event = {.kind = (uint8_t)kind, .name = intern_string(name), .a = a};
    guest_emit(&event);
    if (kind == EVENT_MARK)
        occasion_mark(event.time_ns);
}

static __thread struct open_marks begun;

static void phase_begin(const char *name)
{
    if (guest_live_for_api())
        emit_phase(EVENT_PHASE_BEGIN, name, open_marks_begin(&begun));
}

static void phase_end(const char *name)
{
    uint32_t recording;
    if (!guest_live_for_api() || !open_marks_end(&begun, &recording))
        return;
    occasion_look();
    emit_phase(EVENT_PHASE_END, name, recording);
    occasion_point();
}

static void step_begin(uint64_t number)
{
    occasion_look();
    emit_named(EVENT_STEP_BEGIN, NULL, number);
    occasion_point();
}

static void step_end(void)
{
    occasion_look();
    emit_named(EVENT_STEP_END, NULL, 0);
    occasion_point();
}

static void mark(const char *name, int64_t value)
{
    emit_named(EVENT_MARK, name, (uint64_t)value);
}

static void tag(tidemark_heap_t heap, const void *address, uint64_t bytes, int category,
                const char *name)
{
    if (!heap || category <= CATEGORY_NONE || category >= CATEGORY_COUNT || !guest_live_for_api())
        return;
    struct event event = {
        .kind = EVENT_TAG,
        .heap = heap & EVENT_MAX_HEAP,
        .name = intern_string(name),
        .addr = address_of(address),
        .size = bytes,
        .a = (uint64_t)category,
    };
    guest_emit(&event);
}

static void oom(tidemark_heap_t heap, uint64_t asked, tidemark_site_t at)
{
    if (!heap || !guest_live_for_api())
        return;
    struct event event = {
        .kind = EVENT_OOM, .heap = heap & EVENT_MAX_HEAP, .site = at, .size = asked};
    guest_emit(&event);
}

static void block_free_waits(tidemark_heap_t heap, const void *address)
{
    emit_flagged(EVENT_BLOCK_FREE, EVENT_F_WAITS, heap, address, 0);
}

static void block_idle(tidemark_heap_t heap, const void *address)
{
    emit_range(EVENT_BLOCK_IDLE, heap, address, 0);
}

static void segment_map(tidemark_heap_t heap, const void *address, uint64_t bytes)
{
    emit_flagged(EVENT_SEGMENT_ALLOC, EVENT_F_MAP, heap, address, bytes);
}

static void segment_unmap(tidemark_heap_t heap, const void *address, uint64_t bytes)
{
    emit_flagged(EVENT_SEGMENT_FREE, EVENT_F_MAP, heap, address, bytes);
}

/* One string "key=value"; a value that is too long is cut. */
static void setting(tidemark_heap_t heap, const char *key, const char *value)
{
    char text[1024];
    if (!key || !value || !guest_live_for_api())
        return;
    size_t key_bytes = strnlen(key, sizeof text / 2);
    size_t value_bytes = strnlen(value, sizeof text - key_bytes - 2);
    memcpy(text, key, key_bytes);
    text[key_bytes] = '=';
    memcpy(text + key_bytes + 1, value, value_bytes);
    text[key_bytes + 1 + value_bytes] = '\0';
    struct event event = {.kind = EVENT_MARK,
                          .flags = EVENT_F_SETTING,
                          .heap = heap & EVENT_MAX_HEAP,
                          .name = intern_string(text)};
    guest_emit(&event);
}

static tidemark_site_t python_site(void)
{
    return guest_live_for_api() ? here_site() : 0;
}

/* Sources that know no stacks ask for them by here.h. */
__attribute__((constructor)) static void tell_where_sites_are(void)
{
    here_ask(torch_site);
}

static const struct tidemark_api api = {
    .size = sizeof api,
    .version = TIDEMARK_API_VERSION,
    .heap_open = heap_open,
    .site = site,
    .block_alloc = block_alloc,
    .block_free = block_free,
    .segment_alloc = segment_alloc,
    .segment_free = segment_free,
    .phase_begin = phase_begin,
    .phase_end = phase_end,
    .step_begin = step_begin,
    .step_end = step_end,
    .mark = mark,
    .tag = tag,
    .oom = oom,
    .block_free_waits = block_free_waits,
    .block_idle = block_idle,
    .segment_map = segment_map,
    .segment_unmap = segment_unmap,
    .setting = setting,
    .python_site = python_site,
};

__attribute__((visibility("default"))) const struct tidemark_api *tidemark_attach(uint32_t version)
{
    /* A program of version 1 reads the beginning of the table, which is the same. */
    return version >= 1 && version <= TIDEMARK_API_VERSION && guest_init(0, NULL) ? &api : NULL;
}
