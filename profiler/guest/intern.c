/*
 * intern.c - see intern.h. Readers take no lock; a writer holds the arena's lock while it looks
 * again, defines and enters. The lock is that of guest.ring, which nobody changes while it is held
 * (guest.h): so one writer at a time is at the table, too.
 */
#include "intern.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "guest.h"
#include "pages.h"

#define FIRST_CAPACITY 4096u

struct entry {
    _Atomic uint64_t hash; /* 0 = empty; stored last */
    uint32_t number;
    uint32_t at; /* offset of the record in the arena, in units of 8 bytes */
};

struct table {
    uint64_t capacity; /* a power of two */
    uint64_t count;    /* under the arena's lock */
    struct entry entries[];
};

static _Atomic(struct table *) table;
static _Atomic uint32_t epoch;

static uint64_t hash_of(uint32_t kind, const void *payload, size_t bytes)
{
    const unsigned char *at = payload;
    uint64_t hash = 0x9e3779b97f4a7c15ull * (kind + 1) ^ bytes;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * 0xbf58476d1ce4e5b9ull;
        hash ^= hash >> 29;
    }
    uint64_t rest = 0;
    memcpy(&rest, at, bytes);
    hash = (hash ^ rest) * 0x94d049bb133111ebull;
    hash ^= hash >> 31;
    return hash ? hash : 1;
}

static bool same(const struct ring *ring, const struct entry *entry, uint32_t kind,
                 const void *payload, size_t bytes)
{
    struct arena_record header;
    const char *known = arena_at(&ring->arena, (uint64_t)entry->at * 8, &header);
    return known && header.kind == kind && header.bytes == bytes &&
           memcmp(known, payload, bytes) == 0;
}

static uint64_t place(uint32_t number, uint64_t at)
{
    return number | at << 32;
}

/* A place means the same in each ring that has it; in one that has not, nothing is there. */
static uint64_t find(const struct ring *ring, struct table *in, uint64_t hash, uint32_t kind,
                     const void *payload, size_t bytes)
{
    if (!in)
        return 0;
    for (uint64_t at = hash & (in->capacity - 1);; at = (at + 1) & (in->capacity - 1)) {
        uint64_t seen = atomic_load_explicit(&in->entries[at].hash, memory_order_acquire);
        if (seen == 0)
            return 0;
        if (seen == hash && same(ring, &in->entries[at], kind, payload, bytes))
            return place(in->entries[at].number, in->entries[at].at);
    }
}

static void enter(struct table *in, uint64_t hash, uint32_t number, uint32_t at_offset)
{
    uint64_t at = hash & (in->capacity - 1);
    while (atomic_load_explicit(&in->entries[at].hash, memory_order_relaxed) != 0)
        at = (at + 1) & (in->capacity - 1);
    in->entries[at].number = number;
    in->entries[at].at = at_offset;
    atomic_store_explicit(&in->entries[at].hash, hash, memory_order_release);
    in->count++;
}

static struct table *new_table(uint64_t capacity)
{
    struct table *made = pages_new(sizeof *made + capacity * sizeof(struct entry));
    if (made)
        made->capacity = capacity;
    return made;
}

/* The table with room for one more entry, or NULL. Under the lock. */
static struct table *with_room(void)
{
    struct table *old = atomic_load_explicit(&table, memory_order_relaxed);
    if (old && old->count < old->capacity / 2)
        return old;
    struct table *bigger = new_table(old ? old->capacity * 2 : FIRST_CAPACITY);
    if (!bigger)
        return old && old->count < old->capacity - old->capacity / 8 ? old : NULL;
    for (uint64_t i = 0; old && i < old->capacity; i++) {
        uint64_t hash = atomic_load_explicit(&old->entries[i].hash, memory_order_relaxed);
        if (hash)
            enter(bigger, hash, old->entries[i].number, old->entries[i].at);
    }
    atomic_store_explicit(&table, bigger, memory_order_release);
    return bigger;
}

static uint64_t define(struct ring *ring, uint64_t hash, enum arena_kind kind, const void *payload,
                       size_t bytes)
{
    uint64_t offset = 0;
    struct table *in = with_room();
    uint64_t known = find(ring, in, hash, kind, payload, bytes); /* another thread was first */
    if (known)
        return known;
    uint32_t number = arena_append(&ring->arena, kind, payload, bytes, &offset);
    if (number && in)
        enter(in, hash, number, (uint32_t)(offset / 8));
    return place(number, number ? offset / 8 : 0);
}

/* In the ring that still is the guest's once its lock is held. A handler that forked meanwhile left
 * the child with its parent's, in whose memory it has nothing to write. */
static uint64_t define_in_ring(uint64_t hash, enum arena_kind kind, const void *payload,
                               size_t bytes)
{
    struct arena_hold hold;
    uint64_t number = 0;
    for (bool is_it = false; !is_it;) {
        struct ring *ring = guest.ring;
        if (!arena_lock(&ring->arena, &hold))
            return 0;
        is_it = ring == guest.ring;
        if (is_it && atomic_load(&guest.page->mapped))
            number = define(ring, hash, kind, payload, bytes);
        arena_unlock(&ring->arena, &hold);
    }
    return number;
}

uint64_t intern_place(enum arena_kind kind, const void *payload, size_t bytes)
{
    uint64_t hash = hash_of(kind, payload, bytes);
    struct table *in = atomic_load_explicit(&table, memory_order_acquire);
    uint64_t known = find(guest.ring, in, hash, kind, payload, bytes);
    return known ? known : define_in_ring(hash, kind, payload, bytes);
}

uint32_t intern(enum arena_kind kind, const void *payload, size_t bytes)
{
    return (uint32_t)intern_place(kind, payload, bytes);
}

uint32_t intern_frames_of(uint64_t site, uint32_t *frames, uint32_t max)
{
    const struct ring *ring = guest.ring;
    struct arena_record header;
    if (site >> 32 == 0)
        return 0;
    const char *record = arena_at(&ring->arena, (site >> 32) * 8, &header);
    if (!record || header.kind != ARENA_SITE)
        return 0;
    uint32_t count = header.bytes / (uint32_t)sizeof *frames;
    count = count < max ? count : max;
    memcpy(frames, record, count * sizeof *frames);
    return ring == guest.ring ? count : 0; /* what it was copied from may be given back */
}

uint32_t intern_known_string(const char *text, size_t bytes)
{
    return (uint32_t)find(guest.ring, atomic_load_explicit(&table, memory_order_acquire),
                          hash_of(ARENA_STRING, text, bytes), ARENA_STRING, text, bytes);
}

uint32_t intern_string(const char *text)
{
    if (!text)
        return 0;
    return intern(ARENA_STRING, text, strnlen(text, ARENA_MAX_PAYLOAD));
}

uint32_t intern_site(const char *function, const char *file, uint32_t line)
{
    struct arena_frame frame = {intern_string(function), intern_string(file), line, 0};
    uint32_t number = intern(ARENA_FRAME, &frame, sizeof frame);
    return number ? intern(ARENA_SITE, &number, sizeof number) : 0;
}

void intern_forget(void)
{
    struct table *old = atomic_exchange(&table, NULL);
    if (old)
        munmap(old, sizeof *old + old->capacity * sizeof(struct entry));
    atomic_fetch_add(&epoch, 1);
}

uint32_t intern_epoch(void)
{
    return atomic_load(&epoch);
}
