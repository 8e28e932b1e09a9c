/* What an allocator's history adds later: each rule by itself, then an allocator that plays. */
#include <string.h>

#include "feed.h"
#include "state_types.h"
#include "test.h"

static struct rows rows;
static struct feed feed;
static uint32_t heap, stream, told, pool; /* the hook's heaps; the history's */

static int64_t send(struct event event, uint32_t of)
{
    event.heap = of & 0xffffff;
    int64_t seq = feed_event(&feed, event);
    CHECK(state_is_valid(feed.state));
    return seq;
}

static void begin(void)
{
    feed_begin(&feed, NULL, &rows);
    heap = feed_heap(&feed, DEVICE_CUDA, 0, 0);
    stream = feed_heap(&feed, DEVICE_CUDA, 0, 35);
    told = heap;
    struct arena_heap private = {.device_kind = DEVICE_CUDA, .pool = 6};
    pool = feed_define(&feed, ARENA_HEAP, &private, sizeof private);
    uint32_t name = feed_string(&feed, "history=1");
    send((struct event){.kind = EVENT_MARK, .flags = EVENT_F_SETTING, .name = name}, 0);
}

static int64_t hook_alloc(uint32_t of, uint64_t address, uint64_t size)
{
    uint64_t before = 0;
    if (feed.process->heaps.device_count)
        before = (uint64_t)feed.process->heaps.devices[0]->allocated;
    return send((struct event){.kind = EVENT_BLOCK_ALLOC,
                               .flags = EVENT_F_TOTALS,
                               .addr = address,
                               .size = size,
                               .a = before + size,
                               .b = 1 << 20},
                of);
}

static int64_t hook_free(uint64_t address)
{
    return send((struct event){.kind = EVENT_BLOCK_FREE, .addr = address}, heap);
}

static int64_t tell_at(enum history_action action, uint32_t of, uint64_t address, uint64_t size,
                       uint64_t ns)
{
    return send((struct event){.kind = EVENT_HISTORY,
                               .addr = address,
                               .size = size,
                               .a = ns ? FEED_START + ns : 0,
                               .b = action},
                of);
}

static int64_t tell(enum history_action action, uint64_t address, uint64_t size)
{
    return tell_at(action, told, address, size, feed.now - FEED_START);
}

static const struct row *find(enum sch_statement table, int64_t key)
{
    const struct row *row = rows_find(&rows, table, 1, &key);
    REQUIRE(row != NULL);
    return row;
}

static int64_t stream_of(int64_t heap_id)
{
    return find(SCH_HEAP, heap_id)->at[3];
}

TEST(a_request_of_a_block_wherever_it_is)
{
    begin();
    tell(HISTORY_RESTART, 0, 0);
    int64_t flushed = hook_alloc(heap, 0x1000, 512);
    int64_t flushed_dead = hook_alloc(heap, 0x2000, 512);
    hook_free(0x2000);
    feed_flush(&feed);
    int64_t living = hook_alloc(heap, 0x3000, 1024);
    int64_t dead = hook_alloc(heap, 0x4000, 1024);
    hook_free(0x4000);
    int64_t untold = hook_alloc(heap, 0x5000, 512);
    tell(HISTORY_ALLOC, 0x1000, 500);
    tell(HISTORY_ALLOC, 0x2000, 501);
    tell(HISTORY_FREE, 0x2000, 501);
    tell(HISTORY_IDLE, 0x2000, 501);
    tell(HISTORY_ALLOC, 0x3000, 1000);
    tell(HISTORY_ALLOC, 0x4000, 1001);
    const struct heap_device *device = feed.process->heaps.devices[0];
    CHECK_INT(device->requested, 1500);
    CHECK_INT(device->requested_unknown, 1);
    feed_end(&feed, true);
    CHECK_INT(rows_alloc(&rows, flushed)->requested, 500);
    CHECK_INT(rows_alloc(&rows, flushed_dead)->requested, 501);
    CHECK_INT(rows_alloc(&rows, living)->requested, 1000);
    CHECK_INT(rows_alloc(&rows, dead)->requested, 1001);
    CHECK_INT(rows_alloc(&rows, untold)->requested, BATCH_NOT_KNOWN);
    CHECK_INT(rows.tables[SCH_IDLE].count, 0);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

TEST(lives_of_one_address_are_told_apart)
{
    begin();
    int64_t seqs[4];
    for (uint64_t i = 0; i < 4; i++) {
        seqs[i] = hook_alloc(heap, 0x1000, 512);
        hook_free(0x1000);
        if (i == 1)
            feed_flush(&feed);
    }
    for (uint64_t i = 0; i < 4; i++) {
        tell(HISTORY_ALLOC, 0x1000, 100 + i);
        tell(HISTORY_FREE, 0x1000, 100 + i);
        tell(HISTORY_IDLE, 0x1000, 100 + i);
    }
    feed_end(&feed, true);
    for (int i = 0; i < 4; i++)
        CHECK_INT(rows_alloc(&rows, seqs[i])->requested, 100 + i);
}

TEST(a_segment_is_from_the_block_that_needed_it)
{
    begin();
    tell(HISTORY_RESTART, 0, 0);
    int64_t first = hook_alloc(stream, 0x10000, 512);
    int64_t second = hook_alloc(stream, 0x10200, 512);
    feed_flush(&feed);
    hook_free(0x10000);
    hook_free(0x10200);
    int64_t third = hook_alloc(heap, 0x10000, 1024); /* of another segment at that address */
    tell_at(HISTORY_SEGMENT_ALLOC, told, 0x10000, 0x2000, 11);
    tell(HISTORY_ALLOC, 0x10000, 500);
    tell(HISTORY_ALLOC, 0x10200, 500);
    tell(HISTORY_FREE, 0x10000, 500);
    tell(HISTORY_IDLE, 0x10000, 500);
    tell(HISTORY_FREE, 0x10200, 500);
    tell(HISTORY_IDLE, 0x10200, 500);
    tell_at(HISTORY_SEGMENT_FREE, told, 0x10000, 0x2000, 61);
    tell_at(HISTORY_SEGMENT_ALLOC, pool, 0x10000, 0x1000, 62);
    tell(HISTORY_ALLOC, 0x10000, 1000);
    int64_t later = hook_alloc(heap, 0x10800, 512); /* in a segment that is known by now */
    feed_end(&feed, true);
    const struct row *row = find(SCH_SEGMENT, first);
    CHECK_INT(row->at[2], 0x10000);
    CHECK_INT(row->at[3], 0x2000);
    CHECK_INT(row->at[4], 11);
    CHECK_INT(row->at[5], 50);
    CHECK_INT(row->at[6], third);
    CHECK_INT(stream_of(row->at[1]), 35);
    row = find(SCH_SEGMENT, third);
    CHECK_INT(row->at[6], ROW_NULL);
    CHECK_INT(find(SCH_HEAP, row->at[1])->at[4], 6); /* the pool */
    CHECK_INT(rows_alloc(&rows, first)->segment, first);
    CHECK_INT(rows_alloc(&rows, second)->segment, first);
    CHECK_INT(rows_alloc(&rows, third)->segment, third);
    CHECK_INT(rows_alloc(&rows, later)->segment, third);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

TEST(reserved_is_what_the_hook_says)
{
    begin();
    uint32_t forward = feed_string(&feed, "forward");
    feed_phase(&feed, forward);
    hook_alloc(heap, 0x10000, 512);
    tell(HISTORY_SEGMENT_ALLOC, 0x10000, 0x2000);
    tell(HISTORY_SEGMENT_MAP, 0x80000, 0x2000);
    tell(HISTORY_ALLOC, 0x10000, 500);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    const struct row *part = rows_phase_device(&rows, rows_phase(&rows, "forward", 0)->at[0], 1);
    REQUIRE(part != NULL);
    CHECK_INT(part->at[PART_RESERVED], 1 << 20);
    CHECK_INT(part->at[PART_MAX_RESERVED], 1 << 20);
    CHECK_INT(part->at[PART_SPLIT], ROW_NULL); /* what is told late is not known now */
    CHECK_INT(rows.tables[SCH_SEGMENT].count, 1);
    CHECK_INT(rows.tables[SCH_MAPPING].count, 1);
}

TEST(segments_that_another_source_tells_are_left_alone)
{
    begin();
    int64_t segment =
        send((struct event){.kind = EVENT_SEGMENT_ALLOC, .addr = 0x10000, .size = 0x1000}, heap);
    int64_t block = hook_alloc(heap, 0x10000, 512);
    tell(HISTORY_SEGMENT_ALLOC, 0x10000, 0x1000);
    tell(HISTORY_ALLOC, 0x10000, 500);
    feed_end(&feed, true);
    CHECK_INT(rows.tables[SCH_SEGMENT].count, 1);
    CHECK_INT(rows_alloc(&rows, block)->segment, segment);
    CHECK_INT(rows_alloc(&rows, block)->requested, 500);
}

TEST(a_block_that_waited_has_a_row)
{
    begin();
    int64_t block = hook_alloc(heap, 0x1000, 512);
    hook_free(0x1000);
    hook_alloc(heap, 0x2000, 512);
    int64_t before = hook_alloc(heap, 0x3000, 512);
    tell(HISTORY_ALLOC, 0x1000, 500);
    tell(HISTORY_FREE, 0x1000, 500);
    tell(HISTORY_ALLOC, 0x2000, 500);
    tell_at(HISTORY_IDLE, told, 0x1000, 500, 37);
    tell(HISTORY_ALLOC, 0x3000, 500);
    feed_end(&feed, true);
    CHECK_INT(rows.tables[SCH_IDLE].count, 1);
    CHECK_INT(find(SCH_IDLE, block)->at[1], before);
    CHECK_INT(find(SCH_IDLE, block)->at[2], 37);
}

TEST(what_waits_at_the_end_was_when_it_was_told)
{
    begin();
    int64_t block = hook_alloc(heap, 0x1000, 512);
    hook_free(0x1000);
    tell(HISTORY_ALLOC, 0x1000, 500);
    tell(HISTORY_FREE, 0x1000, 500);
    tell(HISTORY_SEGMENT_ALLOC, 0x90000, 0x1000);
    int64_t first = tell(HISTORY_SEGMENT_ALLOC, 0xa0000, 0x1000);
    tell(HISTORY_SEGMENT_FREE, 0x90000, 0x1000);
    int64_t idle = tell(HISTORY_IDLE, 0x1000, 500);
    feed_end(&feed, true);
    CHECK_INT(find(SCH_IDLE, block)->at[1], idle);
    CHECK_INT(find(SCH_SEGMENT, first)->at[6], ROW_NULL);
    CHECK_INT(find(SCH_SEGMENT, first - 1)->at[6], first + 1);
}

TEST(pages_are_rows)
{
    begin();
    hook_alloc(heap, 0x1000, 512);
    int64_t second = hook_alloc(heap, 0x20000, 512);
    tell(HISTORY_ALLOC, 0x1000, 500);
    tell_at(HISTORY_SEGMENT_MAP, told, 0x20000, 0x4000, 12);
    tell_at(HISTORY_SEGMENT_UNMAP, told, 0x22000, 0x2000, 13);
    tell(HISTORY_ALLOC, 0x20000, 500);
    int64_t again = tell(HISTORY_RESTART, 0, 0);
    int64_t mapped = tell_at(HISTORY_SEGMENT_MAP, told, 0x20000, 0x1000, 0);
    feed_end(&feed, true);
    static const int64_t sizes[] = {0x4000, 0x2000, 0x2000, 0x1000}, maps[] = {1, 0, 0, 1};
    const int64_t seqs[] = {second, second, again, mapped};
    REQUIRE(rows.tables[SCH_MAPPING].count == 4);
    for (size_t i = 0; i < 4; i++) {
        CHECK_INT(rows.tables[SCH_MAPPING].rows[i].at[0], seqs[i]);
        CHECK_INT(rows.tables[SCH_MAPPING].rows[i].at[3], sizes[i]);
        CHECK_INT(rows.tables[SCH_MAPPING].rows[i].at[5], maps[i]);
    }
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

/* A history that begins late, or that begins again, first tells the segments that are there. */
TEST(segments_from_before_take_their_blocks)
{
    begin();
    int64_t low = hook_alloc(stream, 0x10000, 512);
    feed_flush(&feed);
    int64_t high = hook_alloc(stream, 0x10e00, 512);
    int64_t outside = hook_alloc(heap, 0x11000, 512);
    tell(HISTORY_RESTART, 0, 0);
    int64_t segment = tell_at(HISTORY_SEGMENT_ALLOC, told, 0x10000, 0x1000, 0);
    int64_t empty = tell_at(HISTORY_SEGMENT_ALLOC, told, 0x90000, 0x1000, 0);
    int64_t block = hook_alloc(heap, 0x10400, 512);
    tell(HISTORY_ALLOC, 0x10400, 400);
    feed_end(&feed, true);
    CHECK_INT(rows_alloc(&rows, low)->segment, segment);
    CHECK_INT(rows_alloc(&rows, high)->segment, segment);
    CHECK_INT(rows_alloc(&rows, outside)->segment, BATCH_NOT_KNOWN);
    CHECK_INT(rows_alloc(&rows, block)->segment, segment);
    CHECK_INT(rows_alloc(&rows, low)->requested, BATCH_NOT_KNOWN);
    CHECK_INT(stream_of(find(SCH_SEGMENT, segment)->at[1]), 35);
    CHECK_INT(stream_of(find(SCH_SEGMENT, empty)->at[1]), 0);
}

TEST(a_restart_forgets_what_was_not_told)
{
    begin();
    int64_t before = hook_alloc(heap, 0x1000, 512);
    hook_free(0x1000);
    tell(HISTORY_RESTART, 0, 0);
    int64_t after = hook_alloc(heap, 0x1000, 512);
    tell(HISTORY_ALLOC, 0x1000, 500);
    feed_end(&feed, true);
    CHECK_INT(rows_alloc(&rows, before)->requested, BATCH_NOT_KNOWN);
    CHECK_INT(rows_alloc(&rows, after)->requested, 500);
}

/* ---- what does not fit ---- */

TEST(what_has_no_event_is_counted)
{
    begin();
    int64_t block = hook_alloc(heap, 0x1000, 512);
    tell(HISTORY_ALLOC, 0x7000, 500);
    tell(HISTORY_ALLOC, 0x1000, 513); /* more than the block has */
    tell(HISTORY_FREE, 0x1000, 500);
    tell(HISTORY_FREE, 0x7000, 500);
    tell(HISTORY_IDLE, 0x8000, 500);
    tell(HISTORY_ALLOC, 0x1000, 512);
    tell(99, 0x1000, 512);
    feed_end(&feed, true);
    CHECK_INT(rows_alloc(&rows, block)->requested, 512);
    REQUIRE(rows_anomalies(&rows, "history without event") == 1);
    CHECK_STR(rows_anomaly(&rows, "history without event", 0)->text[ANOMALY_DETAIL],
              "cuda:0: 5 of 6 entries");
    CHECK_STR(rows_anomaly(&rows, "unknown event", 0)->text[ANOMALY_DETAIL], "history action 99");
}

TEST(one_lost_event_does_not_take_the_rest_with_it)
{
    begin();
    int64_t seqs[200];
    for (uint64_t i = 0; i < 200; i++)
        seqs[i] = hook_alloc(heap, 0x1000 + i * 0x1000, 512);
    hook_free(0x1000);
    int64_t again = hook_alloc(heap, 0x1000, 512);
    tell(HISTORY_ALLOC, 0x1000, 500);
    tell(HISTORY_FREE, 0x1000, 500); /* its event is 200 ahead; that of this one was lost */
    for (uint64_t i = 1; i < 200; i++)
        tell(HISTORY_ALLOC, 0x1000 + i * 0x1000, i);
    feed_end(&feed, true);
    for (int i = 1; i < 200; i++)
        CHECK_INT(rows_alloc(&rows, seqs[i])->requested, i);
    CHECK_INT(rows_alloc(&rows, again)->requested, BATCH_NOT_KNOWN);
}

TEST(a_gap_of_any_length_is_crossed)
{
    begin();
    for (uint64_t i = 0; i < 5000; i++)
        feed_alloc(&feed, heap, 0x1000 + i * 0x200, 512);
    int64_t seqs[20], found = 0;
    for (uint64_t i = 0; i < 20; i++)
        seqs[i] = hook_alloc(heap, 0x10000000 + i * 0x200, 512);
    for (uint64_t i = 0; i < 20; i++)
        tell(HISTORY_ALLOC, 0x10000000 + i * 0x200, 100 + i);
    feed_end(&feed, true);
    for (int i = 0; i < 20; i++)
        found += rows_alloc(&rows, seqs[i])->requested == 100 + i;
    CHECK_INT(found, 13);
}

TEST(other_devices_and_processes_without_a_history_keep_nothing)
{
    begin();
    uint32_t cpu = feed_heap(&feed, DEVICE_CPU, 0, 0), other = feed_heap(&feed, DEVICE_CUDA, 1, 0);
    feed_alloc(&feed, cpu, 0x1000, 1);
    feed_alloc(&feed, other, 0x1000, 1);
    REQUIRE(feed.process->heaps.device_count == 3);
    CHECK_INT(feed.process->heaps.devices[0]->history->count, 0);
    CHECK(feed.process->heaps.devices[1]->history == NULL);
    CHECK_INT(feed.process->heaps.devices[2]->history->count, 1);
    tell_at(HISTORY_ALLOC, cpu, 0x1000, 1, 0); /* nobody should */
    feed_end(&feed, true);
    CHECK_INT(rows_lost(&rows, "history"), 1);
    feed_begin(&feed, NULL, &rows);
    feed_alloc(&feed, feed_heap(&feed, DEVICE_CUDA, 0, 0), 0x1000, 1);
    CHECK(feed.process->heaps.devices[0]->history == NULL);
    state_free(feed.state);
}

TEST(the_queue_has_an_end)
{
    begin();
    for (uint64_t i = 0; i < HISTORY_BLOCKS + 5; i++) {
        struct event event = {.kind = EVENT_BLOCK_ALLOC, .heap = heap & 0xffffff, .size = 64};
        event.addr = 0x1000 + i % 7 * 0x100;
        feed_event(&feed, event);
        event.kind = EVENT_BLOCK_FREE;
        feed_event(&feed, event);
        if (i % 8192 == 0)
            batch_free(state_flush(feed.state, feed.now, false));
    }
    const struct history *history = feed.process->heaps.devices[0]->history;
    CHECK_INT(history->count, HISTORY_BLOCKS);
    CHECK_INT(history->cap, HISTORY_BLOCKS);
    CHECK(state_is_valid(feed.state));
    state_free(feed.state);
}

TEST(is_valid_sees_a_broken_history)
{
    begin();
    hook_alloc(heap, 0x1000, 512);
    hook_alloc(heap, 0x2000, 512);
    tell(HISTORY_SEGMENT_ALLOC, 0x1000, 0x1000);
    struct history *history = feed.process->heaps.devices[0]->history;
    history->blocks[1].seq = history->blocks[0].seq;
    CHECK(!state_is_valid(feed.state));
    history->blocks[1].seq++;
    CHECK(state_is_valid(feed.state));
    history->waiting[0].seq = 1000;
    CHECK(!state_is_valid(feed.state));
    state_free(feed.state);
}

TEST_MAIN(TEST_CASE(a_request_of_a_block_wherever_it_is),
          TEST_CASE(lives_of_one_address_are_told_apart),
          TEST_CASE(a_segment_is_from_the_block_that_needed_it),
          TEST_CASE(reserved_is_what_the_hook_says),
          TEST_CASE(segments_that_another_source_tells_are_left_alone),
          TEST_CASE(a_block_that_waited_has_a_row),
          TEST_CASE(what_waits_at_the_end_was_when_it_was_told), TEST_CASE(pages_are_rows),
          TEST_CASE(segments_from_before_take_their_blocks),
          TEST_CASE(a_restart_forgets_what_was_not_told), TEST_CASE(what_has_no_event_is_counted),
          TEST_CASE(one_lost_event_does_not_take_the_rest_with_it),
          TEST_CASE(a_gap_of_any_length_is_crossed),
          TEST_CASE(other_devices_and_processes_without_a_history_keep_nothing),
          TEST_CASE(the_queue_has_an_end), TEST_CASE(is_valid_sees_a_broken_history))
