/*
 * arena.c - the definitions of a process: see arena.h for the format and who may rely on what.
 */
#include "arena.h"

#include <signal.h>
#include <string.h>

#include "clock.h"
#include "error.h"
#include "futex.h"
#include "ring.h"

#define LOCK_PATIENCE_NS (50 * NS_PER_MS)

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) & ~7ull;
}

void arena_begin(struct arena *arena, struct ring_shared *shared, char *base, uint64_t bytes)
{
    arena->shared = shared;
    arena->base = base;
    arena->bytes = bytes;
    atomic_store(&arena->lock, 0);
    atomic_store(&arena->count, 0);
    atomic_store(&arena->used, 0);
}

bool arena_is_valid(const struct arena *arena)
{
    uint64_t used = atomic_load(&arena->used);
    return arena->shared && used <= arena->bytes && used % 8 == 0 && arena->bytes % 8 == 0 &&
           atomic_load(&arena->count) <= used / sizeof(struct arena_record);
}

/* Raw: libc's call leaves out the signal by which it cancels threads. */
static void change_signals(const uint64_t *set, uint64_t *before)
{
    int saved = errno;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, set, before, sizeof *set);
    errno = saved;
}

static bool take_lock(struct arena *arena)
{
    uint32_t state = 0;
    if (atomic_compare_exchange_strong(&arena->lock, &state, 1))
        return true;
    uint64_t deadline = clock_now_ns() + LOCK_PATIENCE_NS;
    do {
        if (atomic_exchange(&arena->lock, 2) == 0)
            return true;
        futex_wait(&arena->lock, 2, LOCK_PATIENCE_NS / 8);
    } while (clock_now_ns() < deadline);
    atomic_fetch_add_explicit(&arena->shared->arena_busy, 1, memory_order_relaxed);
    return false;
}

bool arena_lock(struct arena *arena, struct arena_hold *hold)
{
    const uint64_t all = ~0ull;
    change_signals(&all, &hold->signals);
    if (take_lock(arena))
        return true;
    change_signals(&hold->signals, NULL);
    return false;
}

void arena_unlock(struct arena *arena, const struct arena_hold *hold)
{
    if (atomic_exchange(&arena->lock, 0) == 2)
        futex_wake_all(&arena->lock);
    change_signals(&hold->signals, NULL);
}

/* The order of the stores at the end: see struct arena. */
uint32_t arena_append(struct arena *arena, enum arena_kind kind, const void *payload, size_t bytes,
                      uint64_t *place)
{
    uint64_t used = atomic_load_explicit(&arena->used, memory_order_relaxed);
    uint32_t count = atomic_load_explicit(&arena->count, memory_order_relaxed);
    uint64_t need = sizeof(struct arena_record) + padded(bytes);
    if (bytes > ARENA_MAX_PAYLOAD || need > arena->bytes - used || count == UINT32_MAX) {
        atomic_fetch_add_explicit(&arena->shared->arena_full, 1, memory_order_relaxed);
        return 0;
    }
    char *at = arena->base + used;
    struct arena_record record = {(uint32_t)bytes, kind};
    memcpy(at, &record, sizeof record);
    if (bytes)
        memcpy(at + sizeof record, payload, bytes);
    atomic_store_explicit(&arena->shared->arena_used, used + need, memory_order_release);
    atomic_store_explicit(&arena->used, used + need, memory_order_release);
    atomic_store_explicit(&arena->count, count + 1, memory_order_release);
    if (place)
        *place = used;
    return count + 1;
}

uint32_t arena_define(struct arena *arena, enum arena_kind kind, const void *payload, size_t bytes)
{
    struct arena_hold hold;
    if (!arena_lock(arena, &hold))
        return 0;
    uint32_t number = arena_append(arena, kind, payload, bytes, NULL);
    arena_unlock(arena, &hold);
    return number;
}

/* One load, so that what is checked is what is returned. */
static struct arena_record record_at(const char *at)
{
    uint64_t word = __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
    struct arena_record record;
    memcpy(&record, &word, sizeof record);
    return record;
}

const char *arena_at(const struct arena *arena, uint64_t place, struct arena_record *record)
{
    if (place > arena->bytes || arena->bytes - place < sizeof *record)
        return NULL;
    *record = record_at(arena->base + place);
    if (record->bytes > arena->bytes - place - sizeof *record)
        return NULL;
    return arena->base + place + sizeof *record;
}

void arena_reader_init(struct arena_reader *reader, const struct ring_shared *ring)
{
    *reader = (struct arena_reader){.ring = ring, .bytes = ring->arena_bytes};
    reader->base = (const char *)ring + ring->arena_offset;
}

/* The record at *at of a run of `used` bytes, and *at behind it; 1, or ERR_CORRUPT: there is none
 * that ends before `used`. */
static int take_record(const char *base, uint64_t used, uint64_t *at, struct arena_record *record)
{
    uint64_t left = used - *at;
    if (left < sizeof *record)
        return ERR_CORRUPT;
    *record = record_at(base + *at);
    uint64_t need = sizeof *record + padded(record->bytes);
    if (record->bytes > ARENA_MAX_PAYLOAD || need > left || record->kind == 0 ||
        record->kind >= ARENA_KIND_COUNT)
        return ERR_CORRUPT;
    *at += need;
    return 1;
}

int arena_next(struct arena_reader *reader, struct arena_record *record, const void **payload)
{
    uint64_t used = atomic_load_explicit(&reader->ring->arena_used, memory_order_acquire);
    if (used > reader->bytes || used < reader->at)
        return ERR_CORRUPT;
    if (used == reader->at)
        return 0;
    *payload = reader->base + reader->at + sizeof *record;
    int got = take_record(reader->base, used, &reader->at, record);
    reader->number += got == 1;
    return got;
}

uint32_t arena_inherit(struct arena *arena, const struct arena *from)
{
    uint64_t used = atomic_load_explicit(&from->used, memory_order_acquire);
    uint32_t copied = 0, count = atomic_load_explicit(&from->count, memory_order_relaxed);
    struct arena_record record;
    struct arena_hold hold;
    uint64_t at = 0;
    if (!arena_lock(arena, &hold))
        return 0;
    for (uint64_t begin = 0; at < used && take_record(from->base, used, &at, &record) == 1;
         begin = at) {
        const char *payload = from->base + begin + sizeof record;
        if (arena_append(arena, record.kind, payload, record.bytes, NULL) == 0)
            break;
        copied++;
    }
    if (copied < count)
        atomic_store(&arena->used, arena->bytes);
    arena_unlock(arena, &hold);
    return copied;
}
