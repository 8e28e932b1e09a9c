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

const char *arena_base(const struct ring_shared *ring)
{
    return (const char *)ring + ring->arena_offset;
}

/* Raw: libc's call leaves out the signal by which it cancels threads. */
static void change_signals(const uint64_t *set, uint64_t *before)
{
    int saved = errno;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, set, before, sizeof *set);
    errno = saved;
}

static bool take_lock(struct ring_shared *ring)
{
    uint32_t state = 0;
    if (atomic_compare_exchange_strong(&ring->arena_lock, &state, 1))
        return true;
    uint64_t deadline = clock_now_ns() + LOCK_PATIENCE_NS;
    do {
        if (atomic_exchange(&ring->arena_lock, 2) == 0)
            return true;
        futex_wait(&ring->arena_lock, 2, LOCK_PATIENCE_NS / 8);
    } while (clock_now_ns() < deadline);
    atomic_fetch_add_explicit(&ring->arena_busy, 1, memory_order_relaxed);
    return false;
}

bool arena_lock(struct ring_shared *ring, struct arena_hold *hold)
{
    const uint64_t all = ~0ull;
    change_signals(&all, &hold->signals);
    if (take_lock(ring))
        return true;
    change_signals(&hold->signals, NULL);
    return false;
}

void arena_unlock(struct ring_shared *ring, const struct arena_hold *hold)
{
    if (atomic_exchange(&ring->arena_lock, 0) == 2)
        futex_wake_all(&ring->arena_lock);
    change_signals(&hold->signals, NULL);
}

uint32_t arena_append(struct ring_shared *ring, enum arena_kind kind, const void *payload,
                      size_t bytes, uint64_t *offset)
{
    uint64_t used = atomic_load_explicit(&ring->arena_used, memory_order_relaxed);
    uint64_t need = sizeof(struct arena_record) + padded(bytes);
    if (bytes > ARENA_MAX_PAYLOAD || need > ring->arena_bytes - used) {
        atomic_fetch_add_explicit(&ring->arena_full, 1, memory_order_relaxed);
        return 0;
    }
    char *at = (char *)ring + ring->arena_offset + used;
    struct arena_record record = {(uint32_t)bytes, kind};
    memcpy(at, &record, sizeof record);
    if (bytes)
        memcpy(at + sizeof record, payload, bytes);
    uint32_t number = ++ring->arena_count;
    atomic_store_explicit(&ring->arena_used, used + need, memory_order_release);
    if (offset)
        *offset = used;
    return number;
}

uint32_t arena_define(struct ring_shared *ring, enum arena_kind kind, const void *payload,
                      size_t bytes)
{
    struct arena_hold hold;
    if (!arena_lock(ring, &hold))
        return 0;
    uint32_t number = arena_append(ring, kind, payload, bytes, NULL);
    arena_unlock(ring, &hold);
    return number;
}

void arena_reader_init(struct arena_reader *reader, const struct ring_shared *ring)
{
    *reader =
        (struct arena_reader){.ring = ring, .base = arena_base(ring), .bytes = ring->arena_bytes};
}

int arena_next(struct arena_reader *reader, struct arena_record *record, const void **payload)
{
    uint64_t used = atomic_load_explicit(&reader->ring->arena_used, memory_order_acquire);
    if (used > reader->bytes || used < reader->at)
        return ERR_CORRUPT;
    uint64_t left = used - reader->at;
    if (left == 0)
        return 0;
    if (left < sizeof *record)
        return ERR_CORRUPT;
    memcpy(record, reader->base + reader->at, sizeof *record);
    uint64_t need = sizeof *record + padded(record->bytes);
    if (record->bytes > ARENA_MAX_PAYLOAD || need > left || record->kind == 0 ||
        record->kind >= ARENA_KIND_COUNT)
        return ERR_CORRUPT;
    *payload = reader->base + reader->at + sizeof *record;
    reader->at += need;
    reader->number++;
    return 1;
}

uint32_t arena_inherit(struct ring_shared *ring, const struct ring_shared *from)
{
    struct arena_reader reader;
    struct arena_record record;
    const void *payload;
    arena_reader_init(&reader, from);
    uint32_t copied = 0;
    struct arena_hold hold;
    if (!arena_lock(ring, &hold))
        return 0;
    while (arena_next(&reader, &record, &payload) == 1) {
        if (arena_append(ring, record.kind, payload, record.bytes, NULL) == 0)
            break;
        copied++;
    }
    arena_unlock(ring, &hold);
    return copied;
}
