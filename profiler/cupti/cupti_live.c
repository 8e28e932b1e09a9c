/*
 * cupti_live.c - see cupti_live.h.
 *
 * Everything happens in two steps: under the lock the table is changed and the events are put into
 * a list; then the list is sent. The order of events of one address does not need the lock: whoever
 * gets an address from the driver got it after the thread that gave it back had sent its event.
 */
#include "cupti_live.h"

#include <sched.h>
#include <stddef.h>

#include "clock.h"
#include "cupti_live_inner.h"
#include "guest.h"
#include "fork_lock.h"

struct live_table live_table;
static _Atomic uint32_t lock;
static _Atomic uint32_t numbers;
static _Atomic uint64_t sampled_pool; /* 0 = none */
static _Atomic uint64_t missed;

#define PATIENCE_NS (20 * NS_PER_MS) /* for a pool that is being sampled */

/* ---- the lock, and what is owed to its next holder ---- */

/* A free whose entry could not be marked. Whoever fills one takes it from FREE to FILLED, the next
 * holder of the lock back to FREE. */
enum { OWED_FREE, OWED_FILLING, OWED_FILLED };
static struct owed {
    _Atomic uint32_t state;
    uint32_t number; /* of the call */
    uint64_t key;
    enum live_space space;
} owed[16];
static _Atomic uint32_t owing; /* how many are filled, or are about to be */

static void owe(enum live_space space, uint64_t key, uint32_t number)
{
    for (size_t i = 0; i < sizeof owed / sizeof *owed; i++) {
        uint32_t want = OWED_FREE;
        if (!atomic_compare_exchange_strong(&owed[i].state, &want, OWED_FILLING))
            continue;
        owed[i].number = number;
        owed[i].key = key;
        owed[i].space = space;
        atomic_store(&owed[i].state, OWED_FILLED);
        atomic_fetch_add(&owing, 1);
        return;
    }
    atomic_fetch_add(&missed, 1);
}

static void settle_owed(void)
{
    for (size_t i = 0; i < sizeof owed / sizeof *owed; i++) {
        if (atomic_load(&owed[i].state) != OWED_FILLED)
            continue;
        struct live_entry *entry = live_table_find(&live_table, owed[i].space, owed[i].key);
        if (entry && !entry->leaving)
            entry->leaving = owed[i].number;
        atomic_fetch_sub(&owing, 1);
        atomic_store(&owed[i].state, OWED_FREE);
    }
}

bool live_hold(void)
{
    if (fork_lock_take(&lock) == FORK_LOCK_NOT_HELD)
        return false;
    if (atomic_load(&owing))
        settle_owed();
    return true;
}

bool live_hold_to_note(void)
{
    bool held = live_hold();
    if (!held)
        atomic_fetch_add(&missed, 1);
    return held;
}

void live_let_go(void)
{
    fork_lock_give(&lock);
}

uint64_t live_missed(void)
{
    return atomic_load(&missed);
}

/* ---- lists ---- */

void live_add(struct live_list *list, struct event event)
{
    if (list->count < LIVE_LIST)
        list->events[list->count++] = event;
}

void live_send(struct live_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        guest_emit(&list->events[i]);
    list->count = 0;
}

uint32_t live_number(void)
{
    uint32_t number = atomic_fetch_add(&numbers, 1) + 1;
    return number ? number : live_number();
}

/* ---- events ---- */

struct event live_alloc_event(const struct live_entry *entry)
{
    return (struct event){
        .kind = EVENT_DRIVER_ALLOC,
        .flags = live_flags(),
        .heap = entry->heap & EVENT_MAX_HEAP,
        .site = entry->site,
        .name = entry->name,
        .addr = entry->key,
        .size = entry->bytes,
        .a = entry->memory | (uint64_t)entry->library << 32,
        .b = entry->memory == DRIVER_GRAPH ? 0 : entry->of,
    };
}

struct event live_free_event(const struct live_entry *entry, uint32_t name)
{
    return (struct event){
        .kind = EVENT_DRIVER_FREE,
        .flags = live_flags(),
        .heap = entry->heap & EVENT_MAX_HEAP,
        .name = name,
        .addr = entry->key,
        .a = entry->memory,
    };
}

/* ---- given and taken ---- */

void live_given(const struct live_entry *entry)
{
    struct event event = live_alloc_event(entry);
    if (live_hold_to_note()) {
        live_table_put(&live_table, entry);
        live_note_told((enum live_space)entry->space, entry->key);
        live_let_go();
    }
    guest_emit(&event);
}

/* Bounded: a sampler that does not come back is not waited for. */
static void wait_for_sampler(uint64_t pool)
{
    uint64_t deadline = clock_now_ns() + PATIENCE_NS;
    while (atomic_load(&sampled_pool) == pool && clock_now_ns() < deadline)
        sched_yield();
}

static void send_unknown(uint64_t key, const struct live_call *call, uint32_t memory)
{
    const struct live_entry unknown = {.key = key, .memory = (uint8_t)memory, .heap = call->heap};
    struct event event = live_free_event(&unknown, call->name);
    guest_emit(&event);
}

bool live_leave(enum live_space space, uint64_t key, const struct live_call *call, uint32_t memory)
{
    struct live_list list = {.count = 0};
    if (!live_hold()) {
        owe(space, key, call->number);
        send_unknown(key, call, memory);
        return true;
    }
    struct live_entry *entry = live_table_find(&live_table, space, key);
    bool known = entry != NULL;
    if (known && !entry->leaving) {
        entry->leaving = call->number;
        live_add(&list, live_free_event(entry, call->name));
    }
    live_note_told(space, key);
    live_let_go();
    live_send(&list);
    if (known && space == SPACE_POOL)
        wait_for_sampler(key);
    return known;
}

void live_left(enum live_space space, uint64_t key, const struct live_call *call, bool known,
               bool failed, uint32_t memory)
{
    struct live_list list = {.count = 0};
    bool held = failed ? live_hold_to_note() : live_hold();
    struct live_entry *entry = held ? live_table_find(&live_table, space, key) : NULL;
    bool unknown = !entry && !known && !failed;
    if (entry && entry->leaving == call->number && failed) {
        entry->leaving = 0;
        live_add(&list, live_alloc_event(entry));
    } else if (entry && entry->leaving == call->number) {
        live_table_remove(&live_table, entry);
    }
    if (held)
        live_let_go();
    live_send(&list);
    if (unknown)
        send_unknown(key, call, memory);
}

/* ---- contexts, pools ---- */

/* Under the lock: as much as the list has room for. Returns how far it came. */
static size_t take_some(live_goes *goes, uint64_t of, uint32_t name, size_t i,
                        struct live_list *list)
{
    while (i < live_table.capacity && list->count < LIVE_LIST) {
        struct live_entry *entry = &live_table.slots[i];
        if (!goes(entry, of)) {
            i++;
            continue;
        }
        if (!entry->leaving)
            live_add(list, live_free_event(entry, name));
        live_table_remove(&live_table, entry); /* another may have moved into its place */
    }
    return i;
}

void live_take_all(live_goes *goes, uint64_t of, uint32_t name)
{
    struct live_list list = {.count = 0};
    size_t at = 0;
    uint64_t changes = 0;
    bool more = true;
    while (more && live_hold_to_note()) {
        at = take_some(goes, of, name, live_table_resume(&live_table, at, changes), &list);
        changes = live_table.changes;
        live_let_go();
        more = list.count == LIVE_LIST;
        live_send(&list);
    }
}

static bool is_in_context(const struct live_entry *entry, uint64_t context)
{
    return entry->used && entry->context == context;
}

void live_context_gone(uint64_t context, uint32_t name)
{
    if (!context)
        return;
    if (live_hold_to_note()) {
        live_captures_gone(context);
        live_let_go();
    }
    live_take_all(is_in_context, context, name);
}

bool live_pool_next(uint64_t after, uint64_t *pool, uint32_t *heap)
{
    uint64_t next = 0;
    if (!live_hold())
        return false;
    size_t slots = live_table.of_space[SPACE_POOL] ? live_table.capacity : 0;
    for (size_t i = 0; i < slots; i++) {
        const struct live_entry *entry = &live_table.slots[i];
        if (!entry->used || entry->space != SPACE_POOL || entry->leaving || entry->key <= after ||
            (next && entry->key >= next))
            continue;
        next = entry->key;
        *heap = entry->heap;
    }
    atomic_store(&sampled_pool, next);
    live_let_go();
    *pool = next;
    return next != 0;
}

void live_pool_done(void)
{
    atomic_store(&sampled_pool, 0);
}

bool live_is_valid(void)
{
    return atomic_load(&lock) == 0 && live_table_is_valid(&live_table);
}

void live_hold_for_test(bool hold)
{
    if (hold)
        live_hold();
    else
        live_let_go();
}

uint64_t live_count(void)
{
    return live_table.used;
}
