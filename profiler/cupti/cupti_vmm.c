/*
 * cupti_vmm.c - physical memory and its mappings: handles with references, and what is seen of them
 * at which addresses. See cupti_live.h.
 */
#include "cupti_live_inner.h"

#include "guest.h"

static struct event event_of_map(const struct live_entry *entry)
{
    return (struct event){
        .kind = EVENT_DRIVER_MAP,
        .heap = entry->heap & EVENT_MAX_HEAP,
        .site = entry->site,
        .name = entry->name,
        .addr = entry->key,
        .size = entry->bytes,
        .b = entry->of,
    };
}

/* ---- handles ---- */

void live_retained(uint64_t handle)
{
    if (!live_hold_to_note())
        return;
    struct live_entry *entry = live_table_find(&live_table, SPACE_HANDLE, handle);
    if (entry)
        entry->refs++;
    live_let_go();
}

/* Under the lock: a handle that nothing holds any more leaves with this call. */
static void leave_if_last(struct live_entry *entry, const struct live_call *call,
                          struct live_list *list)
{
    if (entry->refs || entry->mapped || entry->leaving)
        return;
    entry->leaving = call->number;
    live_add(list, live_free_event(entry, call->name));
}

/* Under the lock: the call that let it leave has ended. */
static void settle_handle(struct live_entry *entry, const struct live_call *call, bool failed,
                          struct live_list *list)
{
    if (entry->leaving != call->number)
        return;
    entry->leaving = 0;
    if (failed)
        live_add(list, live_alloc_event(entry));
    else
        live_table_remove(&live_table, entry);
}

void live_release(uint64_t handle, const struct live_call *call)
{
    struct live_list list = {.count = 0};
    if (!live_hold_to_note())
        return;
    struct live_entry *entry = live_table_find(&live_table, SPACE_HANDLE, handle);
    if (entry && entry->refs) {
        entry->refs--;
        leave_if_last(entry, call, &list);
    }
    live_let_go();
    live_send(&list);
}

void live_released(uint64_t handle, const struct live_call *call, bool failed)
{
    struct live_list list = {.count = 0};
    if (!live_hold_to_note())
        return;
    struct live_entry *entry = live_table_find(&live_table, SPACE_HANDLE, handle);
    if (entry && failed)
        entry->refs++;
    if (entry)
        settle_handle(entry, call, failed, &list);
    live_let_go();
    live_send(&list);
}

/* ---- mappings ---- */

static struct live_entry *handle_of(const struct live_entry *mapping)
{
    enum live_space space = mapping->memory ? (enum live_space)mapping->memory : SPACE_HANDLE;
    struct live_entry *handle = live_table_find(&live_table, space, mapping->of);
    return handle && handle->serial == mapping->of_serial ? handle : NULL;
}

/* Under the lock. A mapping that still stands there was taken away unseen. */
static void put_mapping(struct live_entry *mapping)
{
    struct live_entry *older = live_table_find(&live_table, SPACE_MAPPING, mapping->key);
    struct live_entry *handle = older && !older->leaving ? handle_of(older) : NULL;
    if (handle && handle->mapped)
        handle->mapped--;
    handle = live_table_find(&live_table, (enum live_space)mapping->memory, mapping->of);
    if (handle) {
        handle->mapped++;
        mapping->of_serial = handle->serial;
        mapping->heap = handle->heap;
    }
    live_table_put(&live_table, mapping);
}

void live_mapped(uint64_t address, uint64_t bytes, enum live_space of, uint64_t handle,
                 const struct live_call *call)
{
    struct live_entry mapping = {
        .key = address,
        .bytes = bytes,
        .of = handle,
        .heap = call->heap,
        .name = call->name,
        .site = call->site,
        .space = SPACE_MAPPING,
        .memory = (uint8_t)of,
    };
    if (live_hold_to_note()) {
        put_mapping(&mapping);
        live_let_go();
    }
    struct event event = event_of_map(&mapping);
    guest_emit(&event);
}

/* Under the lock: marks the mappings from `at` on, as many as the list has room for. Returns where
 * it stopped. */
static uint64_t unmap_some(uint64_t at, uint64_t end, const struct live_call *call,
                           struct live_list *list)
{
    while (at < end && list->count < LIVE_LIST) {
        struct live_entry *mapping = live_table_find(&live_table, SPACE_MAPPING, at);
        if (!mapping || !mapping->bytes)
            return end;
        at += mapping->bytes;
        if (mapping->leaving)
            continue;
        mapping->leaving = call->number;
        struct live_entry *handle = handle_of(mapping);
        if (handle && handle->mapped) {
            handle->mapped--;
            leave_if_last(handle, call, list);
        }
    }
    return at;
}

void live_unmap(uint64_t address, uint64_t bytes, const struct live_call *call)
{
    struct live_list list = {.count = 0};
    struct event event = {
        .kind = EVENT_DRIVER_UNMAP, .heap = call->heap & EVENT_MAX_HEAP, .addr = address};
    uint64_t at = address, end = address + bytes;
    event.size = bytes;
    if (live_hold()) {
        const struct live_entry *first = live_table_find(&live_table, SPACE_MAPPING, address);
        if (first)
            event.heap = first->heap & EVENT_MAX_HEAP;
        live_let_go();
    }
    guest_emit(&event);
    while (at < end && live_hold_to_note()) {
        at = unmap_some(at, end, call, &list);
        live_let_go();
        live_send(&list);
    }
}

/* Under the lock. */
static void settle_mapping(struct live_entry *mapping, const struct live_call *call, bool failed,
                           struct live_list *list)
{
    struct live_entry *handle = handle_of(mapping);
    uint64_t key = mapping->key;
    if (mapping->leaving != call->number)
        return;
    if (handle && failed)
        handle->mapped++;
    if (handle)
        settle_handle(handle, call, failed, list);
    mapping = live_table_find(&live_table, SPACE_MAPPING, key); /* a removal moves entries */
    if (!mapping)
        return;
    mapping->leaving = 0;
    if (failed)
        live_add(list, event_of_map(mapping));
    else
        live_table_remove(&live_table, mapping);
}

void live_unmapped(uint64_t address, uint64_t bytes, const struct live_call *call, bool failed)
{
    struct live_list list = {.count = 0};
    uint64_t at = address, end = address + bytes;
    while (at < end && live_hold_to_note()) {
        while (at < end && list.count + 2 <= LIVE_LIST) {
            struct live_entry *mapping = live_table_find(&live_table, SPACE_MAPPING, at);
            if (!mapping || !mapping->bytes) {
                at = end;
                break;
            }
            at += mapping->bytes;
            settle_mapping(mapping, call, failed, &list);
        }
        live_let_go();
        live_send(&list);
    }
}

void live_mapping_vanished(struct live_entry *mapping, uint32_t name, struct live_list *list)
{
    struct live_entry *handle = handle_of(mapping);
    uint64_t key = mapping->key;
    live_add(list, (struct event){.kind = EVENT_DRIVER_UNMAP,
                                  .flags = live_flags(),
                                  .heap = mapping->heap & EVENT_MAX_HEAP,
                                  .addr = key,
                                  .size = mapping->bytes});
    if (handle && handle->mapped)
        handle->mapped--;
    if (handle && !handle->mapped && !handle->leaving && handle->space == SPACE_HANDLE) {
        live_add(list, live_free_event(handle, name));
        live_table_remove(&live_table, handle);
        mapping = live_table_find(&live_table, SPACE_MAPPING, key); /* a removal moves entries */
    }
    live_table_remove(&live_table, mapping);
}

uint64_t live_mapping_at(uint64_t address)
{
    uint64_t bytes = 0;
    if (!live_hold())
        return 0;
    const struct live_entry *mapping = live_table_find(&live_table, SPACE_MAPPING, address);
    if (mapping && !mapping->leaving)
        bytes = mapping->bytes;
    live_let_go();
    return bytes;
}
