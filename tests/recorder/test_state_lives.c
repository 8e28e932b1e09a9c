/*
 * Thousands of processes that come and go leave nothing behind in the heap state, however they end.
 */
#include <malloc.h>
#include <stdio.h>

#include "feed.h"
#include "test.h"

enum { WARM = 1200, LIVES = 3000, NAMES = 40 };

/* Bytes handed out by malloc. */
static size_t in_use(void)
{
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    struct mallinfo info = mallinfo();
    return (size_t)info.uordblks + (size_t)info.hblkhd;
#endif
}

static void flush(struct state *state, bool commit)
{
    struct batch *batch = state_flush(state, FEED_START + 1, commit);
    REQUIRE(batch);
    batch_free(batch);
}

/* Names that all processes have, blocks, tags, a step; some die inside phases, with blocks. */
static void live(struct state *state, unsigned number)
{
    struct feed feed;
    char name[32];
    feed_begin(&feed, state, NULL);
    uint32_t heap = feed_heap(&feed, DEVICE_VIRTUAL, 0, 0), names[NAMES];
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "name %u", i);
        names[i] = feed_string(&feed, name);
        feed_site(&feed, name, i);
    }
    feed_step(&feed, 1);
    for (unsigned i = 0; i < 100; i++) {
        feed.thread = 1 + i % 3;
        if (i % 10 == 0)
            feed_phase(&feed, names[i / 10 + number % 20]);
        feed_alloc(&feed, heap, 4096 * (i + 1), 64 + i);
        feed_event(&feed, (struct event){.kind = EVENT_TAG,
                                         .heap = heap & EVENT_MAX_HEAP,
                                         .addr = 4096 * (i + 1),
                                         .size = 1,
                                         .name = names[i % NAMES],
                                         .a = 1 + i % 8});
        if (number % 3 || i % 2)
            feed_free(&feed, heap, 4096 * (i + 1));
        if (i % 10 == 9 && number % 4)
            feed_phase_end(&feed, names[i / 10 + number % 20]);
    }
    struct state_end end = {feed.now, number % 5 ? "exit" : "signal", 0, BATCH_NULL};
    state_process_end(feed.process, &end);
}

TEST(nothing_is_left_of_processes_that_ended)
{
    struct state *state = feed_state(0);
    struct state_totals totals;
    size_t before = 0;
    for (unsigned i = 0; i < WARM + LIVES; i++) {
        live(state, i);
        flush(state, i % 4 == 0);
        if (i + 1 == WARM) /* after a process of the same kind as the last one */
            before = in_use();
    }
    size_t behind = in_use();
    if (before == 0)
        SKIP("this malloc does not say what is in use");
    state_totals(state, &totals);
    CHECK_INT(totals.allocs, 100 * (WARM + LIVES));
    CHECK(state_is_valid(state));
    fprintf(stderr, "%zu bytes in use after %d processes, %zu after %d\n", before, WARM, behind,
            WARM + LIVES);
    CHECK(behind < before + 4096);
    state_free(state);
}

TEST_MAIN(TEST_CASE(nothing_is_left_of_processes_that_ended))
