/*
 * The heap state without memory: a script of everything runs again and again, each time with a
 * later allocation failing, and all after it until the script is some events further. Nothing may
 * crash, the state stays valid, and every allocation and free that was fed is either a row or
 * counted in a `lost` fact.
 */
#include <string.h>

#include "feed.h"
#include "mem.h"
#include "state_types.h"
#include "test.h"

enum { EVENTS = 900, BLOCKS = 40 };

static const char *const names[] = {"forward", "backward", "mine=1"};

struct script {
    struct feed feed;
    struct rows rows;
    uint64_t seed;
    uint32_t heaps[2], strings[3], site;
    int64_t living[2][BLOCKS];    /* seq, 0 = none */
    int64_t free_seq[2 * EVENTS]; /* of the block with that seq; 0 = it lives; -1 = no block */
    int64_t allocs;
    struct batch *batches[EVENTS];
    size_t batch_count;
};

static void define(struct script *s)
{
    for (size_t i = 0; i < 3; i++)
        s->strings[i] = feed_string(&s->feed, names[i]);
    s->site = feed_site(&s->feed, "main", (uint32_t)(test_random(&s->seed) % 5));
}

static void block(struct script *s, uint64_t r)
{
    size_t h = r % 2, at = r / 2 % BLOCKS;
    struct event event = {
        .heap = s->heaps[h] & 0xffffff, .addr = 0x1000 + at * 0x100, .site = s->site};
    if (s->living[h][at]) {
        event.kind = EVENT_BLOCK_FREE;
        event.flags = r >> 40 & 1 ? EVENT_F_WAITS & 0xff : 0;
        s->free_seq[s->living[h][at]] = feed_event(&s->feed, event);
        s->living[h][at] = 0;
    } else {
        event.kind = EVENT_BLOCK_ALLOC;
        event.size = 0x80;
        event.flags = r >> 41 & 1 ? EVENT_F_TOTALS & 0xff : 0;
        s->allocs++;
        s->living[h][at] = feed_event(&s->feed, event);
        REQUIRE(s->living[h][at] < 2 * EVENTS);
        s->free_seq[s->living[h][at]] = 0;
    }
}

/* On the device that has no segments of its own. */
static void history(struct script *s, struct event *event, uint64_t r)
{
    event->kind = EVENT_HISTORY;
    event->flags = 0;
    event->heap = s->heaps[1] & 0xffffff;
    event->b = HISTORY_RESTART + r % (HISTORY_ACTION_COUNT - HISTORY_RESTART);
    event->a = r / 16 % 4 ? s->feed.now : 0;
    event->size = 0x80;
    feed_event(&s->feed, *event);
}

/* Memory of the driver around the blocks, pages of it, and what is only stored. */
static void driver(struct script *s, struct event *event, uint64_t r)
{
    static const unsigned char kinds[] = {EVENT_DRIVER_ALLOC, EVENT_DRIVER_FREE, EVENT_DRIVER_MAP,
                                          EVENT_DRIVER_UNMAP, EVENT_SAMPLE,      EVENT_GAP,
                                          EVENT_ACTIVITY};
    event->kind = kinds[r % sizeof kinds];
    event->flags = 0;
    event->heap = s->heaps[r / 8 % 2] & 0xffffff;
    event->addr = 0x1000 + r / 16 % 10 * 0x400;
    event->size = 0x400 + r / 256 % 3 * 0x400;
    event->a = event->kind == EVENT_GAP ? r / 1024 % 2 : 1 + r / 1024 % (DRIVER_MEMORY_COUNT - 1);
    event->b = 0x1000 + r / 65536 % 10 * 0x400;
    feed_event(&s->feed, *event);
}

static void other_event(struct script *s, uint64_t r)
{
    uint32_t name = s->strings[r / 16 % 3];
    struct event event = {.heap = s->heaps[0] & 0xffffff,
                          .addr = 0x1000 + r / 16 % BLOCKS * 0x100,
                          .size = 0x200,
                          .name = name,
                          .a = 1,
                          .flags = r >> 50 & 1   ? EVENT_F_MAP
                                   : r >> 51 & 1 ? EVENT_F_SETTING
                                                 : 0};
    static const unsigned char kinds[] = {EVENT_TAG,        EVENT_SEGMENT_ALLOC, EVENT_SEGMENT_FREE,
                                          EVENT_MARK,       EVENT_OOM,           EVENT_BLOCK_IDLE,
                                          EVENT_STEP_BEGIN, EVENT_STEP_END};
    if (r >> 53 & 1) {
        driver(s, &event, r >> 16 & 0xffffffff);
        return;
    }
    if (r >> 52 & 1) {
        history(s, &event, r >> 54);
        return;
    }
    s->feed.thread = 100 + (uint32_t)(r / 1024 % 3);
    if (r % 16 < 5)
        feed_phase(&s->feed, name);
    else if (r % 16 < 10)
        feed_phase_end(&s->feed, r / 512 % 2 ? name : 0);
    else {
        event.kind = kinds[r / 4096 % sizeof kinds];
        feed_event(&s->feed, event);
    }
}

/* Applied later: making the tables takes memory of its own. */
static void flush(struct script *s)
{
    struct batch *batch = state_flush(s->feed.state, s->feed.now, false);
    if (batch)
        s->batches[s->batch_count++] = batch;
}

static void apply(struct script *s)
{
    for (size_t i = 0; i < s->batch_count; i++) {
        rows_apply(&s->rows, s->batches[i]);
        batch_free(s->batches[i]);
    }
}

static void step(struct script *s, int i)
{
    uint64_t r = test_random(&s->seed);
    if (i % 150 == 20)
        define(s);
    else if (r % 10 < 7)
        block(s, r / 16);
    else
        other_event(s, r / 16);
    if (i % 20 == 0)
        REQUIRE(state_is_valid(s->feed.state));
}

static void check(const struct script *s)
{
    int64_t without_end = 0;
    for (size_t i = 0; i < s->rows.alloc_count; i++) {
        const struct batch_alloc *row = &s->rows.allocs[i];
        int64_t fed = s->free_seq[row->seq];
        CHECK(fed >= 0);
        if (row->free_seq == DB_LIVING_SEQ)
            without_end += fed != 0;
        else
            CHECK_INT(row->free_seq, fed);
    }
    CHECK_INT((int64_t)s->rows.alloc_count + rows_lost(&s->rows, "block_alloc"), s->allocs);
    CHECK_INT(without_end, rows_lost(&s->rows, "block_free"));
    struct state_totals totals;
    state_totals(s->feed.state, &totals);
    int64_t sum = 0;
    for (size_t i = 0; i < s->rows.tables[SCH_LOST].count; i++)
        sum += s->rows.tables[SCH_LOST].rows[i].at[6];
    CHECK_INT(totals.lost, sum);
}

/* Fails from the nth allocation on, for `events` events. Returns whether any failed. */
static bool run(long n, int events)
{
    static struct script s;
    memset(&s, 0, sizeof s);
    feed_begin(&s.feed, feed_state(200), &s.rows);
    s.seed = 11;
    memset(s.free_seq, 0xff, sizeof s.free_seq);
    s.heaps[0] = feed_heap(&s.feed, DEVICE_CUDA, 0, 0);
    s.heaps[1] = feed_heap(&s.feed, DEVICE_CUDA, 1, 0);
    define(&s);
    mem_fail_after(n);
    int failing_until = EVENTS;
    for (int i = 0; i < EVENTS; i++) {
        struct state_totals totals;
        step(&s, i);
        state_totals(s.feed.state, &totals);
        if (totals.lost && failing_until == EVENTS)
            failing_until = i + events;
        if (i == failing_until)
            mem_fail_after(0);
        if (i % 110 == 100)
            flush(&s);
    }
    mem_fail_after(0);
    apply(&s);
    feed_end(&s.feed, false);
    check(&s);
    bool lost = s.rows.tables[SCH_LOST].count > 0;
    state_free(s.feed.state);
    rows_clear(&s.rows);
    return lost;
}

/* Until the script has made all its allocations before the nth: many runs in a row without a loss.
 */
static void each_fails(int events)
{
    int clean = 0, lossy = 0;
    for (long n = 1; clean < 60; n++) {
        bool lost = run(n, events);
        lossy += lost;
        clean = lost ? 0 : clean + 1;
    }
    CHECK(lossy > 100);
}

TEST(each_allocation_fails_once)
{
    CHECK(!run(0, 0));
    each_fails(0);
}

TEST(each_allocation_fails_for_long)
{
    each_fails(90);
}

TEST(beginning_without_memory)
{
    struct state_options options = {.start_ns = FEED_START};
    struct state_hello hello = {.origin = "root", .host = "h", .argv = "a", .live = "l"};
    struct state *state = NULL;
    long n = 1;
    for (;; n++) {
        mem_fail_after(n);
        int result = state_new(&state, &options);
        mem_fail_after(0);
        if (result == 0)
            break;
        REQUIRE(n < 50);
    }
    CHECK(n > 3);
    for (n = 1;; n++) {
        mem_fail_after(n);
        struct state_process *process = state_process_begin(state, &hello);
        mem_fail_after(0);
        CHECK(state_is_valid(state));
        if (process)
            break;
        REQUIRE(n < 50);
    }
    CHECK(n > 6);
    CHECK_INT(state_batch(state)->fact_count, 1);
    state_free(state);
}

/* A heap, a device, a segment, a tag, a range: each of their allocations fails in turn. */
static bool define_and_use(long n)
{
    static struct rows rows;
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    mem_fail_after(n);
    uint32_t name = feed_string(&feed, "weights");
    struct arena_heap desc = {DEVICE_CUDA, 0, 1, 2, name, 0};
    uint32_t heap = feed_define(&feed, ARENA_HEAP, &desc, sizeof desc);
    struct event event = {.heap = heap & 0xffffff, .addr = 0x1000, .size = 0x100, .a = 1};
    event.kind = EVENT_SEGMENT_ALLOC;
    feed_event(&feed, event);
    event.kind = EVENT_BLOCK_ALLOC;
    int64_t block = feed_event(&feed, event);
    event.kind = EVENT_TAG;
    event.size = 0x10000;
    feed_event(&feed, event);
    event.addr = 0x2000;
    event.kind = EVENT_BLOCK_ALLOC;
    feed_event(&feed, event);
    event.kind = EVENT_BLOCK_FREE;
    event.size = 0;
    feed_event(&feed, event);
    CHECK(state_is_valid(feed.state));
    mem_fail_after(0);
    feed_end(&feed, true);
    CHECK_INT((int64_t)rows.alloc_count + rows_lost(&rows, "block_alloc"), 2);
    const struct batch_alloc *row = rows_alloc(&rows, block);
    bool whole = rows.tables[SCH_LOST].count == 0;
    if (whole) {
        CHECK_INT(row->segment, block - 1);
        CHECK_INT(row->tag, 1);
        CHECK_STR(rows.tables[SCH_HEAP].rows[0].text[5], "weights");
    }
    if (row) /* its heap is there whatever failed */
        CHECK(rows_find(&rows, SCH_HEAP, 1, (int64_t[]){row->heap}) != NULL);
    rows_clear(&rows);
    return whole;
}

TEST(definitions_without_memory)
{
    long n = 1;
    for (int clean = 0; clean < 10; n++)
        clean = define_and_use(n) ? clean + 1 : 0;
    CHECK(n > 30);
}

TEST(a_loss_that_cannot_be_stored_is_still_counted)
{
    static struct rows rows;
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    struct state_loss loss = {.by_kind = {[EVENT_BLOCK_ALLOC] = 5}, .late = 2};
    feed_flush(&feed);
    mem_fail_after(1);
    for (int i = 0; i < 30; i++) {
        state_lost(feed.process, &loss);
        state_torn(feed.process, 1, FEED_START, "dead");
        state_process_live(feed.process, "torch", NULL);
    }
    mem_fail_after(0);
    feed_end(&feed, false);
    CHECK_INT(rows_lost(&rows, "block_alloc"), 150);
    CHECK_INT(rows_lost(&rows, "fact") + rows_lost(&rows, "late") +
                  (int64_t)rows.tables[SCH_TORN].count,
              60 + 30 + 30); /* 30 x 2 late, 30 torn, 30 texts */
    state_free(feed.state);
}

TEST(a_process_that_ended_pays_its_debt_later)
{
    static struct rows rows;
    struct feed feed;
    feed_begin(&feed, NULL, &rows);
    uint32_t heap = feed_heap(&feed, DEVICE_CPU, 0, 0);
    feed_flush(&feed);
    mem_fail_after(1);
    for (uint64_t i = 0; i < 40; i++)
        feed_alloc(&feed, heap, i + 1, 1);
    struct state_end end = {.at_ns = feed.now, .ended = "signal", .exit_code = 0, .signal = 9};
    state_process_end(feed.process, &end);
    CHECK(state_flush(feed.state, feed.now, false) == NULL);
    mem_fail_after(0);
    CHECK(state_is_valid(feed.state));
    CHECK(feed.state->processes != NULL);
    feed_flush(&feed);
    CHECK(feed.state->processes == NULL);
    CHECK_INT(rows_lost(&rows, "block_alloc") + (int64_t)rows.alloc_count, 40);
    CHECK_STR(rows.tables[SCH_PROCESS].rows[0].text[PROCESS_ENDED], "signal");
    state_free(feed.state);
}

TEST_MAIN(TEST_CASE(each_allocation_fails_once), TEST_CASE(each_allocation_fails_for_long),
          TEST_CASE(beginning_without_memory), TEST_CASE(definitions_without_memory),
          TEST_CASE(a_loss_that_cannot_be_stored_is_still_counted),
          TEST_CASE(a_process_that_ended_pays_its_debt_later))
