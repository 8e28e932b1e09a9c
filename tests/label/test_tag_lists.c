/* Lists of tags: they hold when they are said to, for the blocks that live then and contain the
 * addresses. */
#include "feed.h"
#include "state_types.h"
#include "test.h"

struct run {
    struct feed feed;
    struct rows rows;
    uint32_t heaps[2];
};

static void begin(struct run *run)
{
    *run = (struct run){.feed = {0}};
    feed_begin(&run->feed, NULL, &run->rows);
    for (size_t i = 0; i < 2; i++)
        run->heaps[i] = feed_heap(&run->feed, DEVICE_CUDA, (int32_t)i, 0);
}

static void end(struct run *run)
{
    feed_end(&run->feed, true);
    rows_clear(&run->rows);
}

static void set(struct run *run, uint64_t list, uint64_t place, uint64_t address, uint64_t size,
                uint64_t category, const char *name)
{
    feed_event(&run->feed, (struct event){.kind = EVENT_TAG,
                                          .heap = run->heaps[0] & 0xffffff,
                                          .addr = address,
                                          .size = size,
                                          .a = category,
                                          .b = list << 32 | (place + 1),
                                          .name = feed_string(&run->feed, name)});
}

static void hold(struct run *run, uint64_t list)
{
    feed_event(&run->feed, (struct event){.kind = EVENT_TAGS_HOLD, .a = list});
}

/* "category name" of a block's tag, or "none". */
static const char *tag_of(struct run *run, int64_t seq)
{
    feed_flush(&run->feed);
    const struct batch_alloc *row = rows_alloc(&run->rows, seq);
    REQUIRE(row != NULL);
    const struct row *tag = rows_find(&run->rows, SCH_TAG, 1, (const int64_t[]){row->tag});
    return tag ? tag->text[2] : "none";
}

TEST(a_list_holds_when_it_is_said_to)
{
    struct run run;
    begin(&run);
    int64_t first = feed_alloc(&run.feed, run.heaps[0], 0x1000, 0x100);
    int64_t other_device = feed_alloc(&run.feed, run.heaps[1], 0x1000, 0x100);
    set(&run, 3, 0, 0x1000, 0x100, CATEGORY_GRADIENT, "a.grad");
    CHECK_STR(tag_of(&run, first), "none");
    hold(&run, 3);
    CHECK_STR(tag_of(&run, first), "a.grad");
    CHECK_STR(tag_of(&run, other_device), "none");
    /* the same address is not the same block */
    feed_free(&run.feed, run.heaps[0], 0x1000);
    int64_t second = feed_alloc(&run.feed, run.heaps[0], 0x1000, 0x100);
    CHECK_STR(tag_of(&run, second), "none");
    hold(&run, 3);
    CHECK_STR(tag_of(&run, second), "a.grad");
    CHECK_STR(tag_of(&run, first), "a.grad");
    end(&run);
}

TEST(places_change)
{
    struct run run;
    begin(&run);
    int64_t a = feed_alloc(&run.feed, run.heaps[0], 0x1000, 0x100);
    int64_t b = feed_alloc(&run.feed, run.heaps[0], 0x2000, 0x100);
    int64_t c = feed_alloc(&run.feed, run.heaps[0], 0x3000, 0x100);
    set(&run, 1, 0, 0x1000, 0x100, CATEGORY_PARAMETER, "a");
    set(&run, 1, 7, 0x2000, 0x100, CATEGORY_PARAMETER, "b"); /* those between are empty */
    set(&run, 1, 0, 0x3000, 0x100, CATEGORY_PARAMETER, "c");
    set(&run, 1, 7, 0, 0, CATEGORY_OTHER, "");
    hold(&run, 1);
    CHECK_STR(tag_of(&run, a), "none");
    CHECK_STR(tag_of(&run, b), "none");
    CHECK_STR(tag_of(&run, c), "c");
    end(&run);
}

TEST(views)
{
    struct run run;
    begin(&run);
    int64_t flat = feed_alloc(&run.feed, run.heaps[0], 0x10000, 0x1000);
    set(&run, 1, 0, 0x10100, 0x100, CATEGORY_PARAMETER, "first");
    set(&run, 1, 1, 0x10200, 0x100, CATEGORY_PARAMETER, "second");
    set(&run, 1, 2, 0x11000, 0x100, CATEGORY_PARAMETER, "behind the end");
    hold(&run, 1);
    CHECK_STR(tag_of(&run, flat), "first");
    hold(&run, 1);
    CHECK_STR(tag_of(&run, flat), "first");
    /* a block that is a bucket as a whole, whatever is in it */
    set(&run, 2, 0, 0x10000, 0x1000, CATEGORY_BUCKET, "bucket");
    hold(&run, 2);
    hold(&run, 1);
    set(&run, 3, 0, 0x10000, 0x80, CATEGORY_GRADIENT, "at its begin");
    hold(&run, 3);
    CHECK_STR(tag_of(&run, flat), "bucket");
    end(&run);
}

TEST(a_tag_without_a_list_holds_at_once)
{
    struct run run;
    begin(&run);
    int64_t a = feed_alloc(&run.feed, run.heaps[0], 0x1000, 0x100);
    feed_event(&run.feed, (struct event){.kind = EVENT_TAG,
                                         .heap = run.heaps[0] & 0xffffff,
                                         .addr = 0x1000,
                                         .size = 0x100,
                                         .a = CATEGORY_INPUT,
                                         .name = feed_string(&run.feed, "batch")});
    CHECK_STR(tag_of(&run, a), "batch");
    end(&run);
}

TEST(lists_that_cannot_be)
{
    struct run run;
    begin(&run);
    hold(&run, 9);
    CHECK_INT(rows_anomalies(&run.rows, "unknown name"), 0);
    set(&run, 1, TAG_MAX_PLACES, 0x1000, 1, CATEGORY_INPUT, "far");
    feed_event(&run.feed, (struct event){.kind = EVENT_TAG,
                                         .heap = run.heaps[0] & 0xffffff,
                                         .addr = 0x1000,
                                         .a = CATEGORY_INPUT,
                                         .b = 5ull << 32});
    feed_flush(&run.feed);
    CHECK_INT(rows_anomalies(&run.rows, "unknown name"), 1);
    CHECK_INT(rows_anomalies(&run.rows, "too many tags"), 2);
    end(&run);
}

/* Thousands of places each step: those that changed nothing write nothing. */
TEST(large_lists)
{
    enum { PLACES = 5000, STEPS = 200 };
    struct run run;
    begin(&run);
    for (uint64_t i = 0; i < PLACES; i++) {
        feed_alloc(&run.feed, run.heaps[0], 0x100000 + i * 0x1000, 0x800);
        set(&run, 1, i, 0x100000 + i * 0x1000, 0x800, CATEGORY_PARAMETER, "p");
    }
    hold(&run, 1);
    feed_flush(&run.feed);
    for (int i = 0; i < STEPS; i++)
        hold(&run, 1);
    CHECK_INT(state_batch(run.feed.state)->late_tag_count, 0);
    CHECK(!run.feed.process->heaps.devices[0]->ordered); /* no view was there */
    for (size_t i = 0; i < PLACES; i++)
        CHECK(run.rows.allocs[i].tag != BATCH_NOT_KNOWN);
    end(&run);
}

TEST_MAIN(TEST_CASE(a_list_holds_when_it_is_said_to), TEST_CASE(places_change), TEST_CASE(views),
          TEST_CASE(a_tag_without_a_list_holds_at_once), TEST_CASE(lists_that_cannot_be),
          TEST_CASE(large_lists))
