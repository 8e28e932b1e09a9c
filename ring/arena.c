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
    arena->first_place = 0;
    arena->part_count = 0;
    atomic_store(&arena->lock, 0);
    atomic_store(&arena->end, 0);
}

bool arena_is_valid(const struct arena *arena)
{
    uint64_t place = 0;
    for (uint32_t i = 0; i < arena->part_count && i < ARENA_PARTS; i++) {
        const struct arena_part *part = &arena->parts[i];
        if (part->first_place != place || part->bytes % 8 != 0)
            return false;
        place += part->bytes;
    }
    return arena->shared && arena->part_count <= ARENA_PARTS && arena->first_place == place &&
           arena->bytes % 8 == 0 && arena_used(arena) <= arena->bytes &&
           (place || arena_count(arena) <= arena_used(arena) / sizeof(struct arena_record));
}

static void set_end(struct arena *arena, uint32_t count, uint64_t used)
{
    atomic_store_explicit(&arena->end, (uint64_t)count << 32 | used / 8, memory_order_release);
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

uint32_t arena_append(struct arena *arena, enum arena_kind kind, const void *payload, size_t bytes,
                      uint64_t *place)
{
    uint64_t used = arena_used(arena);
    uint32_t count = arena_count(arena);
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
    set_end(arena, count + 1, used + need);
    if (place)
        *place = arena->first_place + used;
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

/* The memory at a place, and how many bytes belong to it; NULL: there is none. */
static const char *memory_at(const struct arena *arena, uint64_t place, uint64_t *bytes)
{
    struct arena_part in = {arena->base, arena->first_place, arena->bytes};
    for (uint32_t i = arena->part_count; place < in.first_place && i > 0; i--)
        in = arena->parts[i - 1];
    if (place < in.first_place || place - in.first_place > in.bytes)
        return NULL;
    *bytes = in.bytes - (place - in.first_place);
    return in.base + (place - in.first_place);
}

const char *arena_at(const struct arena *arena, uint64_t place, struct arena_record *record)
{
    uint64_t bytes;
    const char *at = memory_at(arena, place, &bytes);
    if (!at || bytes < sizeof *record)
        return NULL;
    *record = record_at(at);
    return record->bytes > bytes - sizeof *record ? NULL : at + sizeof *record;
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

bool arena_can_continue(const struct arena *from)
{
    return from->part_count < ARENA_PARTS && arena_count(from) > 0 &&
           from->first_place + arena_used(from) < ARENA_MOST_PLACES;
}

void arena_continue(struct arena *arena, const struct arena *from)
{
    uint64_t used = arena_used(from);
    arena->part_count = from->part_count + 1;
    memcpy(arena->parts, from->parts, from->part_count * sizeof *from->parts);
    arena->parts[from->part_count] = (struct arena_part){from->base, from->first_place, used};
    arena->first_place = from->first_place + used;
    set_end(arena, arena_count(from), 0);
}

/* Returns how many records of a part were copied. */
static uint32_t copy_part(struct arena *arena, const char *base, uint64_t bytes)
{
    uint32_t copied = 0;
    struct arena_record record;
    for (uint64_t at = 0, begin = 0; at < bytes; begin = at, copied++)
        if (take_record(base, bytes, &at, &record) != 1 ||
            !arena_append(arena, record.kind, base + begin + sizeof record, record.bytes, NULL))
            break;
    return copied;
}

uint32_t arena_inherit(struct arena *arena, const struct arena *from)
{
    uint32_t copied = 0;
    struct arena_hold hold;
    if (!arena_lock(arena, &hold))
        return 0;
    for (uint32_t i = 0; i < from->part_count; i++)
        copied += copy_part(arena, from->parts[i].base, from->parts[i].bytes);
    copied += copy_part(arena, from->base, arena_used(from));
    if (copied < arena_count(from))
        set_end(arena, copied, arena->bytes);
    arena_unlock(arena, &hold);
    return copied;
}
