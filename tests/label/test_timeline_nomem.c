/*
 * Marks without memory: a script of marks, phases, blocks, lists and commits runs again and again,
 * each time with a later allocation failing, and all after it for some events. Nothing may crash,
 * the state stays valid, and what is fed after memory is back is stored.
 */
#include <string.h>

#include "mem.h"
#include "phases.h"
#include "state_types.h"
#include "test.h"

enum { EVENTS = 300 };

static const uint8_t kinds[] = {MARK_ZERO_GRAD, MARK_FORWARD, MARK_FORWARD, MARK_BACKWARD,
                                MARK_OPTIMIZER};

struct script {
    struct feed feed;
    struct rows rows;
    uint32_t heap, name;
    uint64_t seed;
    struct label_mark open[8];
    size_t open_count, phases;
    int64_t allocs;
    struct batch *batches[EVENTS + 2];
    size_t batch_count;
};

static void mark(struct script *s, uint64_t r)
{
    bool leaves = s->open_count == 8 || (s->open_count && r % 2);
    struct label_mark *mark = &s->open[s->open_count - leaves];
    if (leaves)
        s->open_count--;
    else
        s->open[s->open_count++] = (struct label_mark){
            .kind = kinds[r / 2 % sizeof kinds],
            .flags = r / 16 % 16,
            .identity = r / 256 % 3,
        };
    feed_event(&s->feed, (struct event){.kind = leaves ? EVENT_EXIT : EVENT_ENTER,
                                        .flags = r % 31 ? 0 : EVENT_F_EXCEPTION & 0xff,
                                        .size = mark->kind,
                                        .a = mark->identity,
                                        .b = mark->flags});
}

static void step(struct script *s)
{
    uint64_t r = test_random(&s->seed);
    switch (r % 8) {
    case 0:
        feed_phase(&s->feed, s->name);
        break;
    case 1:
        feed_phase_end(&s->feed, 0);
        break;
    case 2:
        feed_event(&s->feed, (struct event){.kind = EVENT_TAG,
                                            .heap = s->heap & 0xffffff,
                                            .addr = 0x1000 * (r / 8 % 50),
                                            .size = 0x100,
                                            .a = 1 + r / 512 % 8,
                                            .b = 1ull << 32 | (1 + r / 8 % 50)});
        feed_event(&s->feed, (struct event){.kind = EVENT_TAGS_HOLD, .a = 1});
        break;
    case 3:
        s->allocs++;
        feed_alloc(&s->feed, s->heap, 0x1000 * (uint64_t)s->allocs, 0x100);
        break;
    default:
        mark(s, r / 8);
    }
    if (r % 37 == 0) {
        struct batch *batch = state_flush(s->feed.state, s->feed.now, r % 2);
        if (batch)
            s->batches[s->batch_count++] = batch;
    }
}

static void begin(struct script *s)
{
    memset(s, 0, sizeof *s);
    feed_begin(&s->feed, feed_state(200), &s->rows);
    s->heap = feed_heap(&s->feed, DEVICE_CUDA, 0, 0);
    s->name = feed_string(&s->feed, "mine");
    s->seed = 5;
}

/* Fails from the nth allocation on, for `events` events. Returns whether any failed. */
static bool run(long n, int events)
{
    static struct script s;
    begin(&s);
    int64_t lost_before = 0;
    mem_fail_after(n);
    bool failed = false;
    for (int i = 0, left = events; i < EVENTS; i++) {
        step(&s);
        struct state_totals totals;
        state_totals(s.feed.state, &totals);
        failed |= (int64_t)totals.lost > lost_before;
        if (failed && left-- == 0)
            mem_fail_after(0);
        lost_before = (int64_t)totals.lost;
    }
    mem_fail_after(0);
    REQUIRE(state_is_valid(s.feed.state));
    struct state_end end = {.at_ns = s.feed.now, .ended = "exit", .signal = BATCH_NULL};
    state_process_end(s.feed.process, &end);
    s.batches[s.batch_count++] = state_flush(s.feed.state, s.feed.now, true);
    for (size_t i = 0; i < s.batch_count; i++) {
        rows_apply(&s.rows, s.batches[i]);
        batch_free(s.batches[i]);
    }
    CHECK_INT((int64_t)s.rows.alloc_count + rows_lost(&s.rows, "block_alloc"), s.allocs);
    for (size_t i = 0; !failed && i < s.rows.tables[SCH_PHASE].count; i++)
        CHECK(s.rows.tables[SCH_PHASE].rows[i].text[PHASE_ENDED] != NULL);
    state_free(s.feed.state);
    rows_clear(&s.rows);
    return failed;
}

TEST(any_allocation_fails)
{
    long last = 0;
    for (long n = 1; n < 600; n++)
        if (run(n, (int)(n % 7)))
            last = n;
    CHECK(last > 50);
}

TEST_MAIN(TEST_CASE(any_allocation_fails))
