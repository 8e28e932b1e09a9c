/*
 * guest_support.h - a program that is its own recorder: a ring without a memfd under the guest, and
 * the definitions read back.
 */
#ifndef TIDEMARK_TESTS_GUEST_SUPPORT_H
#define TIDEMARK_TESTS_GUEST_SUPPORT_H

#include <string.h>

#include "arena.h"
#include "clock.h"
#include "guest.h"
#include "test.h"
#define TIDEMARK_NO_CLIENT
#include "tidemark.h"

struct own_recorder {
    struct ring_shared *ring;
    struct ring_reader reader;
    const struct tidemark_api *api;
};

static inline struct own_recorder begin_recording(unsigned bits, uint64_t arena)
{
    struct own_recorder own = {0};
    REQUIRE(ring_create(&own.ring, bits, arena, RING_NO_FD) == 0);
    ring_reader_init(&own.reader, own.ring);
    guest_use_ring(own.ring);
    own.api = tidemark_attach(TIDEMARK_API_VERSION);
    REQUIRE(own.api != NULL);
    return own;
}

static inline size_t drain(struct own_recorder *own, struct event *out, size_t max)
{
    struct ring_torn torn[1];
    size_t torn_n;
    size_t n = ring_reader_take(&own->reader, out, max, clock_now_ns(), false, torn, 1, &torn_n);
    ring_reader_release(&own->reader);
    return n;
}

/* Copies definition `number`; returns its kind, 0 if there is none. */
static inline uint32_t definition(const struct ring_shared *ring, uint32_t number, void *out,
                                  size_t size, size_t *bytes)
{
    struct arena_reader reader;
    struct arena_record record;
    const void *payload;
    arena_reader_init(&reader, ring);
    while (arena_next(&reader, &record, &payload) == 1) {
        if (reader.number != number)
            continue;
        REQUIRE(record.bytes <= size);
        memcpy(out, payload, record.bytes);
        *bytes = record.bytes;
        return record.kind;
    }
    return 0;
}

/* Definition `number` as a string; "" if it is none. Valid until the next call. */
static inline const char *string_of(const struct ring_shared *ring, uint32_t number)
{
    static char text[4096];
    size_t bytes = 0;
    if (definition(ring, number, text, sizeof text - 1, &bytes) != ARENA_STRING)
        bytes = 0;
    text[bytes] = '\0';
    return text;
}

#endif
