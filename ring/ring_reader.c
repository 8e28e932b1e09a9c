/*
 * ring_reader.c - the drain's side of a ring. Nothing that the program could have scribbled over is
 * trusted: sizes come from the reader's own copy, head is cut to what fits, times to what can be.
 */
#include <assert.h>
#include <string.h>

#include "clock.h"
#include "error.h"
#include "futex.h"
#include "ring.h"

#define TIME_SLACK_NS NS_PER_S /* an event is published after `now` was read, but not that long */

void ring_reader_init(struct ring_reader *reader, struct ring_shared *ring)
{
    *reader = (struct ring_reader){.ring = ring, .slots = ring_slots(ring)};
    reader->slot_count = 1ull << ring->slot_bits;
}

static uint64_t trusted_head(const struct ring_reader *reader)
{
    uint64_t head = atomic_load_explicit(&reader->ring->head, memory_order_acquire);
    uint64_t most = reader->released + reader->slot_count;
    return head < reader->tail ? reader->tail : head > most ? most : head;
}

/* All but its word, for which a late producer of an earlier ticket may still try to exchange its
 * own mark, in vain. */
static void copy_event(struct ring_reader *reader, const struct event *slot, uint64_t now_ns,
                       struct event *out)
{
    const uint64_t *from = (const uint64_t *)slot;
    uint64_t *to = (uint64_t *)out;
    for (size_t i = 1; i < sizeof *slot / sizeof *from; i++)
        to[i] = from[i];
    out->word = reader->tail + 1;
    if (out->time_ns > now_ns + TIME_SLACK_NS)
        out->time_ns = now_ns;
    if (out->time_ns < reader->last_ns)
        out->time_ns = reader->last_ns;
    reader->last_ns = out->time_ns;
}

/* A slot out of service: its ticket was given up, or will be. One whose late producer came is free
 * again, but not by the word of an event. */
static void pass_skipped(struct ring_reader *reader, struct event *slot, uint64_t word)
{
    assert(word & (RING_FENCED | RING_LATE));
    if (word & RING_LATE)
        __atomic_store_n(&slot->word, RING_FREED | (reader->tail + 1), __ATOMIC_RELEASE);
    reader->skipped++;
    reader->tail++;
}

/* Whether the hole at tail has been there long enough; remembers when it was first seen. */
static bool hole_is_due(struct ring_reader *reader, uint64_t now_ns, uint64_t head)
{
    if (reader->hole_since_ns == 0 || reader->tail >= reader->hole_head) {
        reader->hole_since_ns = now_ns;
        reader->hole_head = head;
    }
    return now_ns - reader->hole_since_ns >= RING_HOLE_NS;
}

static bool fence(struct ring_reader *reader, struct event *slot, uint64_t word,
                  enum ring_torn_why why, struct ring_torn *torn)
{
    uint64_t mark = RING_FENCED | (reader->tail + 1);
    if (!__atomic_compare_exchange_n(&slot->word, &word, mark, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return false; /* published just now */
    *torn = (struct ring_torn){reader->tail, why};
    reader->torn_count++;
    reader->tail++;
    return true;
}

size_t ring_reader_take(struct ring_reader *reader, struct event *out, size_t max, uint64_t now_ns,
                        bool process_dead, struct ring_torn *torn, size_t torn_max, size_t *torn_n)
{
    uint64_t head = trusted_head(reader);
    size_t taken = 0;
    assert(reader->tail >= reader->released &&
           reader->tail - reader->released <= reader->slot_count);
    *torn_n = 0;
    while (taken < max && reader->tail < head) {
        struct event *slot = &reader->slots[reader->tail & (reader->slot_count - 1)];
        uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_ACQUIRE);
        if (word == reader->tail + 1) {
            copy_event(reader, slot, now_ns, &out[taken++]);
            reader->tail++;
            continue;
        }
        if (word & (RING_FENCED | RING_LATE)) {
            pass_skipped(reader, slot, word);
            continue;
        }
        if (!process_dead && !hole_is_due(reader, now_ns, head))
            return taken;
        if (*torn_n == torn_max)
            return taken;
        if (fence(reader, slot, word, process_dead ? TORN_DEAD : TORN_TIMEOUT, &torn[*torn_n]))
            (*torn_n)++;
    }
    return taken;
}

static void wake(struct ring_shared *ring)
{
    atomic_fetch_add(&ring->progress, 1);
    if (atomic_load(&ring->waiters))
        futex_wake_all(&ring->progress);
}

void ring_reader_release(struct ring_reader *reader)
{
    struct ring_shared *ring = reader->ring;
    uint32_t mode = atomic_load(&ring->mode);
    bool half_free = trusted_head(reader) - reader->tail <= reader->slot_count / 2;
    bool reopen = mode == RING_DROPPING && half_free;
    if (mode == RING_CLOSED || (mode == RING_DROPPING && !half_free))
        return;
    if (reader->tail == reader->released && !reopen)
        return;
    reader->released = reader->tail;
    atomic_store_explicit(&ring->limit, reader->tail + reader->slot_count, memory_order_release);
    if (reopen)
        atomic_compare_exchange_strong(&ring->mode, &mode, RING_OPEN);
    wake(ring);
}

void ring_reader_beat(struct ring_reader *reader)
{
    atomic_fetch_add(&reader->ring->progress, 1);
}

uint64_t ring_reader_backlog(const struct ring_reader *reader)
{
    return trusted_head(reader) - reader->tail;
}

uint64_t ring_reader_losses(struct ring_reader *reader, uint64_t lost[EVENT_KIND_SLOTS])
{
    uint64_t sum = 0;
    for (int kind = 0; kind < EVENT_KIND_SLOTS; kind++) {
        uint64_t dropped = atomic_load_explicit(&reader->ring->dropped[kind], memory_order_relaxed);
        uint64_t seen = reader->dropped_seen[kind];
        lost[kind] = dropped > seen && dropped <= RING_MOST_LOST ? dropped - seen : 0;
        reader->dropped_seen[kind] = seen + lost[kind];
        sum += lost[kind];
    }
    return sum;
}

uint64_t ring_reader_drop_ticket(const struct ring_reader *reader)
{
    return atomic_load(&reader->ring->drop_ticket);
}
