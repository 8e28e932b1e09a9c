/* Interning: one number for equal definitions, from any thread, through growth and a full arena. */
#include "intern.h"

#include <pthread.h>
#include <stdio.h>

#include "guarded_ring.h"
#include "guest_support.h"

TEST(equal_strings_have_one_number)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    char copy[] = "forward";
    uint32_t number = intern_string("forward");
    CHECK(number != 0);
    CHECK_INT(intern_string(copy), number);
    CHECK(intern_string("backward") != number);
    CHECK_INT(intern_string(NULL), 0);
    CHECK_STR(string_of(own.ring, number), "forward");
    uint32_t empty = intern_string("");
    CHECK(empty != 0);
    CHECK_INT(intern_string(""), empty);
}

TEST(kinds_do_not_mix)
{
    begin_recording(6, 1 << 16);
    uint32_t four[1] = {7};
    uint32_t as_site = intern(ARENA_SITE, four, sizeof four);
    uint32_t as_string = intern(ARENA_STRING, four, sizeof four);
    CHECK(as_site != as_string);
}

TEST(a_site_is_a_frame_of_two_strings)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    uint32_t site = intern_site("train", "train.c", 12);
    CHECK_INT(intern_site("train", "train.c", 12), site);
    CHECK(intern_site("train", "train.c", 13) != site);
    uint32_t frame_number = 0;
    struct arena_frame frame;
    size_t bytes;
    REQUIRE(definition(own.ring, site, &frame_number, sizeof frame_number, &bytes) == ARENA_SITE);
    REQUIRE(definition(own.ring, frame_number, &frame, sizeof frame, &bytes) == ARENA_FRAME);
    CHECK_INT(frame.line, 12);
    CHECK_STR(string_of(own.ring, frame.function), "train");
    CHECK_STR(string_of(own.ring, frame.file), "train.c");
}

TEST(a_hundred_thousand_names_keep_their_numbers)
{
    enum { NAMES = 100000 };
    static uint32_t numbers[NAMES];
    begin_recording(6, 8 << 20);
    char text[32];
    for (int i = 0; i < NAMES; i++) {
        snprintf(text, sizeof text, "name %d", i);
        numbers[i] = intern_string(text);
        REQUIRE(numbers[i] == (uint32_t)i + 1);
    }
    for (int i = 0; i < NAMES; i++) {
        snprintf(text, sizeof text, "name %d", i);
        REQUIRE(intern_string(text) == numbers[i]);
    }
    CHECK_INT(arena_count(&guest.ring->arena), NAMES);
}

TEST(a_full_arena_gives_zero_for_new_names_only)
{
    struct own_recorder own = begin_recording(6, 4096);
    char text[32];
    uint32_t first = intern_string("first"), number;
    int i = 0;
    do {
        snprintf(text, sizeof text, "name %d", i++);
        number = intern_string(text);
    } while (number && i < 100000);
    CHECK_INT(number, 0);
    CHECK(atomic_load(&own.ring->arena_full) > 0);
    CHECK_INT(intern_string("first"), first);
}

TEST(a_place_leads_back_to_the_frames)
{
    enum { FRAMES = 20 };
    uint32_t frames[FRAMES], got[FRAMES + 1];
    begin_recording(6, 1 << 16);
    intern_string("what comes before");
    for (uint32_t i = 0; i < FRAMES; i++)
        frames[i] = 1000 + i;
    uint64_t site = intern_place(ARENA_SITE, frames, sizeof frames);
    uint64_t string = intern_place(ARENA_STRING, "text", 4);
    CHECK(site >> 32 != 0);
    CHECK(intern_place(ARENA_SITE, frames, sizeof frames) == site); /* found, not defined */
    CHECK_INT(intern(ARENA_SITE, frames, sizeof frames), (uint32_t)site);
    CHECK_INT(intern_frames_of(site, got, FRAMES + 1), FRAMES);
    CHECK(memcmp(got, frames, sizeof frames) == 0);
    CHECK_INT(intern_frames_of(site, got, 3), 3);
    CHECK_INT(got[2], 1002);
    CHECK_INT(intern_frames_of((uint32_t)site, got, FRAMES), 0); /* a number alone */
    CHECK_INT(intern_frames_of(string, got, FRAMES), 0);
}

/* The last record of the arena says that it goes on behind it. */
TEST(a_record_that_lies_is_not_read)
{
    uint32_t frames[2] = {1, 2}, got[ARENA_MAX_DEPTH];
    struct ring_shared *shared = guarded_ring(6, 4096);
    guest_use_ring(shared);
    while (arena_used(&guest.ring->arena) + 16 < 4096)
        arena_define(&guest.ring->arena, ARENA_STRING, "", 0);
    uint64_t site = intern_place(ARENA_SITE, frames, sizeof frames);
    REQUIRE(site >> 32 != 0 && arena_used(&guest.ring->arena) == 4096);
    CHECK_INT(intern_frames_of(site, got, ARENA_MAX_DEPTH), 2);
    struct arena_record lie = {ARENA_MAX_PAYLOAD, ARENA_SITE};
    memcpy(guest.ring->arena.base + (site >> 32) * 8, &lie, sizeof lie);
    CHECK_INT(intern_frames_of(site, got, ARENA_MAX_DEPTH), 0);
    uint32_t again = intern(ARENA_SITE, frames, sizeof frames);
    CHECK_INT(again, 0); /* another one, for which there is no room */
    guest_use_ring(NULL);
}

enum { THREADS = 4, NAMES = 3000 };

struct naming {
    uint32_t numbers[NAMES];
};

static void *name_all(void *argument)
{
    struct naming *self = argument;
    char text[32];
    for (int i = 0; i < NAMES; i++) {
        snprintf(text, sizeof text, "name %d", i);
        /* 0: the lock was not had in time, on a machine with more to do; the next event asks again.
         */
        for (int turn = 0; turn < 1000 && !self->numbers[i]; turn++)
            self->numbers[i] = intern_string(text);
    }
    return NULL;
}

TEST(threads_agree_on_numbers)
{
    static struct naming naming[THREADS];
    begin_recording(6, 1 << 20);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, name_all, &naming[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < NAMES; i++)
        for (int t = 1; t < THREADS; t++)
            REQUIRE(naming[t].numbers[i] == naming[0].numbers[i] && naming[t].numbers[i] != 0);
    CHECK_INT(arena_count(&guest.ring->arena), NAMES);
}

TEST_MAIN(TEST_CASE(equal_strings_have_one_number), TEST_CASE(kinds_do_not_mix),
          TEST_CASE(a_site_is_a_frame_of_two_strings),
          TEST_CASE(a_hundred_thousand_names_keep_their_numbers),
          TEST_CASE(a_full_arena_gives_zero_for_new_names_only),
          TEST_CASE(a_place_leads_back_to_the_frames), TEST_CASE(a_record_that_lies_is_not_read),
          TEST_CASE(threads_agree_on_numbers))
