/* The definition arena: numbers, order, what happens when it is full or its lock is held. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "ring_support.h"

/* A ring that its program is about to use. */
static struct arena *begin(struct ring *ring, struct ring_shared *shared)
{
    ring_use(ring, shared);
    REQUIRE(arena_is_valid(&ring->arena));
    return &ring->arena;
}

TEST(definitions_are_numbered_and_read_in_order)
{
    struct ring_shared *ring = new_ring(6);
    struct ring writer;
    struct arena *arena = begin(&writer, ring);
    struct arena_reader reader;
    struct arena_record record;
    const void *payload;
    arena_reader_init(&reader, ring);
    CHECK_INT(arena_next(&reader, &record, &payload), 0);
    CHECK_INT(arena_define(arena, ARENA_STRING, "forward", 7), 1);
    struct arena_frame frame = {1, 1, 42, 0};
    CHECK_INT(arena_define(arena, ARENA_FRAME, &frame, sizeof frame), 2);
    CHECK_INT(arena_define(arena, ARENA_STRING, "", 0), 3);
    REQUIRE(arena_next(&reader, &record, &payload) == 1);
    CHECK_INT(reader.number, 1);
    CHECK_INT(record.kind, ARENA_STRING);
    CHECK(record.bytes == 7 && memcmp(payload, "forward", 7) == 0);
    REQUIRE(arena_next(&reader, &record, &payload) == 1);
    CHECK(record.kind == ARENA_FRAME && memcmp(payload, &frame, sizeof frame) == 0);
    REQUIRE(arena_next(&reader, &record, &payload) == 1);
    CHECK_INT(record.bytes, 0);
    CHECK_INT(arena_next(&reader, &record, &payload), 0);
    ring_destroy(ring, 6, ARENA_BYTES);
}

TEST(a_full_arena_gives_zero_and_counts)
{
    struct ring_shared *ring = new_ring(6);
    struct ring writer;
    struct arena *arena = begin(&writer, ring);
    char text[1000] = {0};
    uint32_t given = 0, last;
    while ((last = arena_define(arena, ARENA_STRING, text, sizeof text)) != 0)
        CHECK_INT(last, ++given);
    CHECK_INT(given, ARENA_BYTES / 1008);
    CHECK_INT(atomic_load(&ring->arena_full), 1);
    CHECK_INT(arena_define(arena, ARENA_STRING, text, ARENA_MAX_PAYLOAD + 1), 0);
    CHECK_INT(atomic_load(&ring->arena_full), 2);
    CHECK_INT(arena_define(arena, ARENA_STRING, "x", 1), given + 1); /* a small one still fits */
    ring_destroy(ring, 6, ARENA_BYTES);
}

TEST(a_held_lock_is_given_up_in_time)
{
    struct ring_shared *ring = new_ring(6);
    struct ring writer;
    struct arena *arena = begin(&writer, ring);
    struct arena_hold hold;
    REQUIRE(arena_lock(arena, &hold)); /* as another thread finds it */
    CHECK_INT(arena_define(arena, ARENA_STRING, "x", 1), 0);
    CHECK_INT(atomic_load(&ring->arena_busy), 1);
    arena_unlock(arena, &hold);
    CHECK_INT(arena_define(arena, ARENA_STRING, "x", 1), 1);
    ring_destroy(ring, 6, ARENA_BYTES);
}

enum { THREADS = 4, EACH = 500 };

static void *define_many(void *arena)
{
    for (int i = 0; i < EACH; i++) {
        char text[32];
        int n = snprintf(text, sizeof text, "name %d", i);
        CHECK(arena_define(arena, ARENA_STRING, text, (size_t)n) != 0);
    }
    return NULL;
}

TEST(threads_define_whole_records)
{
    struct ring_shared *ring = NULL;
    struct ring writer;
    REQUIRE(ring_create(&ring, 6, 1 << 20, RING_NO_FD) == 0);
    struct arena *arena = begin(&writer, ring);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, define_many, arena) == 0);
    struct arena_reader reader;
    struct arena_record record;
    const void *payload;
    arena_reader_init(&reader, ring);
    while (reader.number < THREADS * EACH) {
        int got = arena_next(&reader, &record, &payload);
        REQUIRE(got >= 0);
        if (got == 1)
            REQUIRE(record.bytes >= 6 && memcmp(payload, "name ", 5) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(arena_next(&reader, &record, &payload), 0);
    ring_destroy(ring, 6, 1 << 20);
}

TEST(a_child_inherits_numbers_with_their_meaning)
{
    struct ring_shared *parent = new_ring(6), *child = new_ring(6);
    struct ring writers[2];
    struct arena *from_arena = begin(&writers[0], parent), *to_arena = begin(&writers[1], child);
    struct arena_reader a, b;
    struct arena_record from, to;
    const void *payload_from, *payload_to;
    for (int i = 0; i < 100; i++) {
        char text[32];
        int n = snprintf(text, sizeof text, "%*d", i % 20, i);
        arena_define(from_arena, ARENA_STRING, text, (size_t)n);
    }
    CHECK_INT(arena_inherit(to_arena, from_arena), 100);
    arena_reader_init(&a, parent);
    arena_reader_init(&b, child);
    while (arena_next(&a, &from, &payload_from) == 1) {
        REQUIRE(arena_next(&b, &to, &payload_to) == 1);
        CHECK(from.kind == to.kind && from.bytes == to.bytes);
        CHECK(memcmp(payload_from, payload_to, from.bytes) == 0);
    }
    CHECK_INT(arena_define(to_arena, ARENA_STRING, "new", 3), 101);
    ring_destroy(parent, 6, ARENA_BYTES);
    ring_destroy(child, 6, ARENA_BYTES);
}

/* What was copied keeps its numbers, and nobody gets those of the rest. */
TEST(an_arena_that_cannot_be_copied_whole_is_full)
{
    struct ring_shared *parent = new_ring(6), *child = new_ring(6);
    struct ring writers[2];
    struct arena *from = begin(&writers[0], parent), *to = begin(&writers[1], child);
    uint64_t third = 2 * (sizeof(struct arena_record) + 8), lie = ~0ull;
    for (int i = 0; i < 5; i++)
        REQUIRE(arena_define(from, ARENA_STRING, "a name", 6) == (uint32_t)i + 1);
    memcpy(from->base + third, &lie, sizeof lie);
    CHECK_INT(arena_inherit(to, from), 2);
    CHECK_INT(arena_define(to, ARENA_STRING, "x", 1), 0);
    CHECK_INT(atomic_load(&child->arena_full), 1);
    CHECK(arena_is_valid(to));
    struct arena_record record;
    CHECK(arena_at(from, third, &record) == NULL);
    CHECK(arena_at(from, 0, &record) != NULL && record.bytes == 6);
    CHECK(arena_at(from, ARENA_BYTES, &record) == NULL);
    ring_destroy(parent, 6, ARENA_BYTES);
    ring_destroy(child, 6, ARENA_BYTES);
}

static void check_text(const struct arena *arena, uint64_t place, const char *text)
{
    struct arena_record record;
    const char *payload = arena_at(arena, place, &record);
    REQUIRE(payload != NULL);
    CHECK(record.bytes == strlen(text) && memcmp(payload, text, record.bytes) == 0);
}

/* One definition; its place. */
static uint64_t append(struct arena *arena, const char *text, uint32_t number)
{
    struct arena_hold hold;
    uint64_t place = 0;
    REQUIRE(arena_lock(arena, &hold));
    CHECK_INT(arena_append(arena, ARENA_STRING, text, strlen(text), &place), number);
    arena_unlock(arena, &hold);
    return place;
}

/* A line of forks, each with names of its own, and a copy at its end: the same numbers, the same
 * places. */
TEST(a_line_of_forks_reads_what_its_ancestors_wrote)
{
    enum { LINE = ARENA_PARTS + 1 };
    static struct ring writers[LINE + 1];
    static uint64_t places[LINE];
    char text[32];
    for (uint32_t i = 0; i < LINE; i++) {
        struct arena *arena = begin(&writers[i], new_ring(6));
        if (i > 0) {
            REQUIRE(arena_can_continue(&writers[i - 1].arena));
            arena_continue(arena, &writers[i - 1].arena);
            append(&writers[i - 1].arena, "behind the fork", i + 1); /* the parent's alone */
        }
        snprintf(text, sizeof text, "first of %u", i);
        places[i] = append(arena, text, i + 1);
        CHECK(arena_is_valid(arena));
        CHECK_INT(arena_count(arena), i + 1);
    }
    struct arena *last = &writers[LINE - 1].arena, *copy = begin(&writers[LINE], new_ring(6));
    CHECK(!arena_can_continue(last)); /* the line is long enough */
    CHECK_INT(arena_inherit(copy, last), LINE);
    for (uint32_t i = 0; i < LINE; i++) {
        snprintf(text, sizeof text, "first of %u", i);
        check_text(last, places[i], text);
        check_text(copy, places[i], text);
    }
    append(copy, "new", LINE + 1);
    CHECK(arena_is_valid(copy));
}

TEST_MAIN(TEST_CASE(definitions_are_numbered_and_read_in_order),
          TEST_CASE(a_full_arena_gives_zero_and_counts), TEST_CASE(a_held_lock_is_given_up_in_time),
          TEST_CASE(threads_define_whole_records),
          TEST_CASE(a_child_inherits_numbers_with_their_meaning),
          TEST_CASE(an_arena_that_cannot_be_copied_whole_is_full),
          TEST_CASE(a_line_of_forks_reads_what_its_ancestors_wrote))
