/*
 * ring_fast.h - the hot path of a producer: reserve a ticket, fill the slot, publish. Nothing else
 * is here; ring.h explains the protocol, ring.c has the slow path.
 */
#ifndef TIDEMARK_RING_RING_FAST_H
#define TIDEMARK_RING_RING_FAST_H

#include "ring.h"

/* The drain's core had the slot's line last, and fetching it back takes as long as several events
 * where the cores are far apart: so each event asks for the line of a later one. */
#define RING_AHEAD 12u

enum ring_try { TRY_PUSHED, TRY_LATE, TRY_FULL };

/* For writing: the compiler's builtin asks for a line to read unless it is built for a newer
 * processor. Where the instruction is not known it does nothing. */
static inline void ring_ask_for(const struct event *slot)
{
#ifdef __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(*slot));
#else
    __builtin_prefetch(slot, 1);
#endif
}

/* The ticket's slot is not free for it. True: the drain fenced this very ticket. False: the slot is
 * out of service because of an earlier one. */
static inline bool ring_mark_late(struct ring_shared *ring, struct event *slot, uint64_t ticket)
{
    uint64_t fenced = RING_FENCED | (ticket + 1);
    if (!__atomic_compare_exchange_n(&slot->word, &fenced, RING_LATE | (ticket + 1), false,
                                     __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        return false;
    atomic_fetch_add_explicit(&ring->late, 1, memory_order_relaxed);
    return true;
}

/* Nobody gives up more tickets in a row than there are slots, unless the memory was scribbled over:
 * then it ends here all the same. */
static inline enum ring_try ring_try(const struct ring *ring, const struct event *event)
{
    struct ring_shared *shared = ring->shared;
    struct event *slots = ring->slots;
    const uint64_t mask = ring->mask;
    uint64_t given_up = 0;
    uint64_t ticket = atomic_load_explicit(&shared->head, memory_order_relaxed);
    for (;;) {
        if (ticket >= atomic_load_explicit(&shared->limit, memory_order_acquire))
            return TRY_FULL;
        if (!atomic_compare_exchange_weak_explicit(&shared->head, &ticket, ticket + 1,
                                                   memory_order_relaxed, memory_order_relaxed))
            continue;
        struct event *slot = &slots[ticket & mask];
        ring_ask_for(&slots[(ticket + RING_AHEAD) & mask]);
        uint64_t free = ticket <= mask ? 0 : ticket - mask;
        uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_ACQUIRE);
        if ((word & ~RING_FREED) == free) {
            const uint64_t *from = (const uint64_t *)event;
            uint64_t *to = (uint64_t *)slot;
            for (int i = 1; i < 8; i++)
                to[i] = from[i];
            if (__atomic_compare_exchange_n(&slot->word, &word, ticket + 1, false, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED))
                return TRY_PUSHED;
        }
        if (__atomic_load_n(&slot->word, __ATOMIC_RELAXED) == ticket + 1)
            return TRY_PUSHED; /* a handler forked in between: the twin published the same event */
        if (ring_mark_late(shared, slot, ticket))
            return TRY_LATE;
        if (++given_up > mask)
            return TRY_FULL;
        ticket = atomic_load_explicit(&shared->head, memory_order_relaxed);
    }
}

/* The event's `word` is not used; everything else is stored as it is. */
static inline enum ring_push ring_push(const struct ring *ring, const struct event *event)
{
    enum ring_try tried = ring_try(ring, event);
    if (__builtin_expect(tried == TRY_PUSHED, 1))
        return RING_PUSHED;
    return tried == TRY_LATE ? RING_DROPPED : ring_push_slow(ring, event);
}

#endif
