/*
 * cupti_unseen.c - the table where nobody listened for a while, and where two listen at once. See
 * cupti_live.h.
 */
#include "cupti_live_inner.h"

/* ---- watching callbacks ---- */

#define WATCHED 256
static struct {
    bool on, full;
    uint32_t count;
    struct {
        uint64_t key;
        enum live_space space;
    } told[WATCHED];
} watch; /* under the lock */
static __thread bool late;

void live_late(bool yes)
{
    late = yes;
}

uint8_t live_flags(void)
{
    return late ? EVENT_F_LATE : 0;
}

void live_watch(bool on)
{
    if (!live_hold_to_note())
        return;
    watch.on = on;
    watch.full = false;
    watch.count = 0;
    live_let_go();
}

void live_note_told(enum live_space space, uint64_t key)
{
    if (!watch.on || late)
        return;
    watch.full = watch.full || watch.count == WATCHED;
    if (watch.full)
        return;
    watch.told[watch.count].space = space;
    watch.told[watch.count++].key = key;
}

/* Where not all could be noted, of everything: a record that is left out is a smaller mistake than
 * memory that never goes. */
bool live_was_told(enum live_space space, uint64_t key)
{
    bool told = false;
    if (!live_hold())
        return true;
    told = watch.on && watch.full;
    for (uint32_t i = 0; watch.on && i < watch.count && !told; i++)
        told = watch.told[i].space == space && watch.told[i].key == key;
    live_let_go();
    return told;
}

/* ---- before and behind a gap ---- */

void live_settle(void)
{
    if (!live_hold())
        return;
    size_t i = 0;
    live_captures_gone(0);
    while (i < live_table.capacity) {
        struct live_entry *entry = &live_table.slots[i];
        if (entry->used && entry->leaving)
            live_table_remove(&live_table, entry);
        else
            i++;
    }
    live_let_go();
}

void live_forget_pools(void)
{
    if (!live_hold_to_note())
        return;
    size_t i = 0;
    while (i < live_table.capacity) {
        struct live_entry *entry = &live_table.slots[i];
        if (entry->used && entry->space == SPACE_POOL)
            live_table_remove(&live_table, entry);
        else
            i++;
    }
    live_let_go();
}

size_t live_keys(struct live_key *keys, size_t room)
{
    size_t count = 0;
    if (!live_hold())
        return 0;
    for (size_t i = 0; i < live_table.capacity; i++) {
        const struct live_entry *entry = &live_table.slots[i];
        if (!entry->used || entry->leaving ||
            (entry->space != SPACE_ADDRESS && entry->space != SPACE_MAPPING))
            continue;
        if (count++ < room)
            keys[count - 1] = (struct live_key){
                .key = entry->key,
                .bytes = entry->bytes,
                .serial = entry->serial,
                .space = entry->space,
                .memory = entry->memory,
            };
    }
    live_let_go();
    return count;
}

bool live_vanished(const struct live_key *key, uint32_t name)
{
    struct live_list list = {.count = 0};
    if (!live_hold_to_note())
        return false;
    struct live_entry *entry = live_table_find(&live_table, (enum live_space)key->space, key->key);
    bool same = entry && entry->serial == key->serial && !entry->leaving;
    if (same && key->space == SPACE_MAPPING) {
        live_mapping_vanished(entry, name, &list);
    } else if (same) {
        live_add(&list, live_free_event(entry, name));
        live_table_remove(&live_table, entry);
    }
    live_let_go();
    live_send(&list);
    return same;
}
