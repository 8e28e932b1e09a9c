/*
 * ring_support.h - what the ring's tests share: a ring without a memfd, events that carry a number,
 * one call that drains all there is.
 */
#ifndef TIDEMARK_TESTS_RING_SUPPORT_H
#define TIDEMARK_TESTS_RING_SUPPORT_H

#include "clock.h"
#include "ring_fast.h"
#include "test.h"

#define ARENA_BYTES 65536u

static inline struct ring_shared *new_ring(unsigned bits)
{
    struct ring_shared *ring = NULL;
    REQUIRE(ring_create(&ring, bits, ARENA_BYTES, RING_NO_FD) == 0);
    REQUIRE(ring_is_valid(ring));
    return ring;
}

/* One event, by a producer that sees the ring for the first time. */
static inline enum ring_push push(struct ring_shared *shared, const struct event *event)
{
    struct ring ring;
    ring_use(&ring, shared);
    return ring_push(&ring, event);
}

static inline struct event numbered(uint64_t number)
{
    return (struct event){.kind = EVENT_MARK, .time_ns = clock_now_ns(), .a = number};
}

/* Takes everything that can be taken now, without giving room back. */
static inline size_t take(struct ring_reader *reader, struct event *out, size_t max, bool dead,
                          struct ring_torn *torn, size_t torn_max, size_t *torn_n)
{
    return ring_reader_take(reader, out, max, clock_now_ns(), dead, torn, torn_max, torn_n);
}

/* The same for tests in which nothing may be torn. */
static inline size_t take_whole(struct ring_reader *reader, struct event *out, size_t max)
{
    struct ring_torn torn[1];
    size_t torn_n = 0;
    size_t taken = take(reader, out, max, false, torn, 1, &torn_n);
    CHECK_INT(torn_n, 0);
    return taken;
}

#endif
