/* Blocks, segments, tags, totals: each rule of the heap by itself. */
#include <string.h>

#include "feed.h"
#include "heap.h"
#include "state_types.h"
#include "test.h"

static struct rows rows;
static struct feed feed;
static uint32_t heap, forward;

static void begin(void)
{
    feed_begin(&feed, NULL, &rows);
    forward = feed_string(&feed, "forward");
    heap = feed_heap(&feed, DEVICE_CUDA, 0, 0);
}

static int64_t put(struct event event)
{
    event.heap = heap & 0xffffff;
    return feed_event(&feed, event);
}

/* The device's values at the end of the phase. */
static const struct row *part(size_t nth_forward)
{
    const struct row *phase = rows_phase(&rows, "forward", nth_forward);
    REQUIRE(phase != NULL);
    const struct row *row = rows_phase_device(&rows, phase->at[0], 1);
    REQUIRE(row != NULL);
    return row;
}

static void check_detail(const char *kind, const char *detail)
{
    REQUIRE(rows_anomaly(&rows, kind, 0) != NULL);
    CHECK_STR(rows_anomaly(&rows, kind, 0)->text[ANOMALY_DETAIL], detail);
}

TEST(a_short_life_is_one_row)
{
    begin();
    int64_t seq = feed_alloc(&feed, heap, 0x1000, 512);
    int64_t end = feed_free(&feed, heap, 0x1000);
    struct batch *batch = state_flush(feed.state, feed.now, true);
    REQUIRE(batch && batch->alloc_count == 1);
    CHECK(batch->commit);
    CHECK_INT(batch->end_count, 0);
    CHECK_INT(batch->event_count, 2);
    CHECK_INT(batch->allocs[0].seq, seq);
    CHECK_INT(batch->allocs[0].free_seq, end);
    CHECK_INT(batch->allocs[0].life_ns, 10);
    rows_apply(&rows, batch);
    batch_free(batch);
    feed_end(&feed, true);
}

TEST(a_life_over_a_flush_gets_an_end)
{
    begin();
    int64_t first = feed_alloc(&feed, heap, 0x1000, 512);
    feed_flush(&feed);
    CHECK_INT(rows_alloc(&rows, first)->life_ns, DB_LIVING_NS);
    int64_t end = feed_free(&feed, heap, 0x1000);
    int64_t second = feed_alloc(&feed, heap, 0x1000, 256); /* the record is used again */
    feed_flush(&feed);
    CHECK_INT(rows_alloc(&rows, first)->free_seq, end);
    CHECK_INT(rows_alloc(&rows, second)->free_seq, DB_LIVING_SEQ);
    feed_end(&feed, true);
    CHECK_INT(rows_alloc(&rows, second)->free_seq, DB_LIVING_SEQ);
}

TEST(requested_is_known_only_when_all_are)
{
    begin();
    feed_phase(&feed, forward);
    int64_t seq = put((struct event){.kind = EVENT_BLOCK_ALLOC,
                                     .flags = EVENT_F_REQUESTED,
                                     .addr = 0x1000,
                                     .size = 512,
                                     .a = 300});
    feed_phase_end(&feed, forward);
    feed_phase(&feed, forward);
    feed_alloc(&feed, heap, 0x2000, 512);
    feed_phase_end(&feed, forward);
    feed_phase(&feed, forward);
    feed_free(&feed, heap, 0x2000);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(rows_alloc(&rows, seq)->requested, 300);
    CHECK_INT(part(0)->at[PART_REQUESTED], 300);
    CHECK_INT(part(1)->at[PART_REQUESTED], ROW_NULL);
    CHECK_INT(part(2)->at[PART_REQUESTED], 300);
}

TEST(requested_goes_with_its_block)
{
    begin();
    put((struct event){.kind = EVENT_BLOCK_ALLOC,
                       .flags = EVENT_F_REQUESTED,
                       .addr = 1,
                       .size = 8,
                       .a = UINT64_MAX});
    put((struct event){
        .kind = EVENT_BLOCK_ALLOC, .flags = EVENT_F_REQUESTED, .addr = 2, .size = 8, .a = 7});
    feed_free(&feed, heap, 1);
    feed_phase(&feed, forward);
    feed_end(&feed, true); /* with an open phase */
    CHECK_INT(rows_alloc(&rows, 1)->requested, HEAP_LARGEST);
    CHECK_INT(rows_alloc(&rows, 2)->requested, 7);
    CHECK_INT(part(0)->at[PART_REQUESTED], 7);
}

TEST(odd_frees_are_facts)
{
    begin();
    feed_free(&feed, heap, 0x1000);
    put((struct event){.kind = EVENT_BLOCK_FREE, .addr = 0x2000, .size = 77});
    feed_alloc(&feed, heap, 0x3000, 100);
    put((struct event){.kind = EVENT_BLOCK_FREE, .addr = 0x3000, .size = 99});
    put((struct event){.kind = EVENT_BLOCK_IDLE, .addr = 0x3000});
    feed_end(&feed, true);
    CHECK_INT(rows_anomalies(&rows, "free without allocation"), 2);
    const struct row *row = rows_anomaly(&rows, "free without allocation", 0);
    CHECK_INT(row->at[ANOMALY_ADDRESS], 0x1000);
    CHECK(row->text[ANOMALY_DETAIL] == NULL);
    row = rows_anomaly(&rows, "free without allocation", 1);
    CHECK_STR(row->text[ANOMALY_DETAIL], "77 bytes");
    check_detail("free of another size", "99 bytes, allocated 100");
    CHECK_INT(rows_anomalies(&rows, "idle without free"), 1);
}

TEST(an_address_handed_out_twice_ends_the_first)
{
    begin();
    feed_phase(&feed, forward);
    int64_t first = feed_alloc(&feed, heap, 0x1000, 100);
    int64_t second = feed_alloc(&feed, heap, 0x1000, 200);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(rows_alloc(&rows, first)->free_seq, second);
    CHECK_INT(rows_alloc(&rows, second)->free_seq, DB_LIVING_SEQ);
    CHECK_INT(part(0)->at[PART_ALLOCATED], 200);
    CHECK_INT(part(0)->at[PART_FREES], 1);
    CHECK_INT(part(0)->at[PART_PEAK], 200);
    CHECK_INT(rows_anomalies(&rows, "address allocated twice"), 1);
}

TEST(a_maximum_is_where_it_was_first)
{
    begin();
    int64_t first = feed_alloc(&feed, heap, 1, 100);
    feed_free(&feed, heap, 1);
    feed_phase(&feed, forward);
    int64_t again = feed_alloc(&feed, heap, 1, 100);
    feed_free(&feed, heap, 1);
    feed_alloc(&feed, heap, 1, 100);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(part(0)->at[PART_MAX], 100);
    CHECK_INT(part(0)->at[PART_MAX_SEQ], first);
    CHECK_INT(part(0)->at[PART_PEAK_SEQ], again);
}

TEST(the_same_address_on_two_devices_is_two_blocks)
{
    begin();
    uint32_t other = feed_heap(&feed, DEVICE_CUDA, 1, 0);
    uint32_t stream = feed_heap(&feed, DEVICE_CUDA, 0, 9);
    int64_t one = feed_alloc(&feed, heap, 0x1000, 100);
    int64_t two = feed_alloc(&feed, other, 0x1000, 100);
    int64_t end = feed_free(&feed, stream, 0x1000); /* another heap of the same device */
    feed_end(&feed, true);
    CHECK_INT(rows_alloc(&rows, one)->free_seq, end);
    CHECK_INT(rows_alloc(&rows, two)->free_seq, DB_LIVING_SEQ);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

TEST(after_a_loss_odd_frees_are_counted)
{
    begin();
    struct state_loss loss = {.first_seq = 0, .first_ns = FEED_START, .last_ns = FEED_START + 5};
    loss.by_kind[EVENT_BLOCK_ALLOC] = 7;
    feed_free(&feed, heap, 0x10);
    state_lost(feed.process, &loss);
    for (uint64_t i = 0; i < 5; i++)
        feed_free(&feed, heap, 0x1000 + i);
    feed_alloc(&feed, heap, 1, 1);
    feed_alloc(&feed, heap, 1, 1);
    feed_end(&feed, true);
    CHECK_INT(rows_anomalies(&rows, "free without allocation"), 2);
    CHECK_STR(rows_anomaly(&rows, "free without allocation", 1)->text[ANOMALY_DETAIL],
              "5 after a loss of events");
    check_detail("address allocated twice", "1 after a loss of events");
    CHECK_INT(rows_lost(&rows, "block_alloc"), 7);
}

TEST(a_forked_child_gives_back_what_its_parent_had)
{
    struct state *state = feed_state(0);
    struct state_hello hello = {.parent = 1, .origin = "fork", .at_ns = FEED_START};
    struct feed child = {state, state_process_begin(state, &hello), &rows, FEED_START, 0, 1};
    REQUIRE(child.process != NULL);
    uint32_t own = feed_heap(&child, DEVICE_CPU, 0, 0);
    for (uint64_t i = 0; i < 5; i++)
        feed_free(&child, own, 0x1000 + i);
    feed_phase_end(&child, 0);
    feed_alloc(&child, own, 1, 1);
    feed_alloc(&child, own, 1, 1); /* no fork explains this */
    feed_end(&child, true);
    CHECK_INT(rows_anomalies(&rows, "free without allocation"), 1);
    check_detail("free without allocation", "5 after a fork");
    check_detail("phase end without begin", "1 after a fork");
    check_detail("address allocated twice", "first as seq 7, 1 bytes");
}

TEST(a_hostile_program_cannot_fill_the_disk_with_anomalies)
{
    begin();
    for (uint64_t i = 0; i < 2500; i++)
        feed_free(&feed, heap, 0x1000 + i);
    struct state_totals totals;
    state_totals(feed.state, &totals);
    CHECK_INT(totals.anomalies, 2500);
    feed_end(&feed, true);
    CHECK_INT(rows_anomalies(&rows, "free without allocation"), 1001);
    CHECK_STR(rows_anomaly(&rows, "free without allocation", 1000)->text[ANOMALY_DETAIL],
              "1500 more of this kind");
}

TEST(large_sizes_work_and_larger_ones_are_cut)
{
    begin();
    feed_phase(&feed, forward);
    int64_t small = feed_alloc(&feed, heap, 1, 1ull << 31);
    int64_t large = feed_alloc(&feed, heap, 2, 1ull << 40);
    int64_t largest = feed_alloc(&feed, heap, 3, HEAP_LARGEST);
    int64_t cut = feed_alloc(&feed, heap, 4, HEAP_LARGEST + 1);
    feed_free(&feed, heap, 4);
    int64_t again = feed_alloc(&feed, heap, 4, UINT64_MAX);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(rows_alloc(&rows, small)->size, 1ll << 31);
    CHECK_INT(rows_alloc(&rows, large)->size, 1ll << 40);
    CHECK_INT(rows_alloc(&rows, largest)->size, HEAP_LARGEST);
    CHECK_INT(rows_alloc(&rows, cut)->size, HEAP_LARGEST);
    CHECK_INT(rows_alloc(&rows, again)->size, HEAP_LARGEST);
    CHECK_INT(rows_anomalies(&rows, "size too large"), 2);
    CHECK_INT(part(0)->at[PART_PEAK], 2 * HEAP_LARGEST + (1ll << 31) + (1ll << 40));
}

/* Whatever a source says of its own, and however often it says too much. */
TEST(sums_stay_below_2_61)
{
    enum { MOST = (1 << 14) + 1 }; /* 2^14 times the largest is 2^60 */
    begin();
    feed_phase(&feed, forward);
    int64_t last = 0;
    for (uint64_t i = 1; i <= MOST; i++)
        last = feed_alloc(&feed, heap, i, UINT64_MAX);
    put((struct event){.kind = EVENT_BLOCK_FREE,
                       .flags = EVENT_F_TOTALS,
                       .addr = 1,
                       .a = UINT64_MAX,
                       .b = UINT64_MAX});
    feed_phase_end(&feed, forward);
    CHECK(state_is_valid(feed.state));
    feed_end(&feed, true);
    CHECK_INT(rows_alloc(&rows, last)->size, 0);
    CHECK_INT(part(0)->at[PART_PEAK], LEDGER_MOST);
}

TEST(active_counts_what_waits)
{
    begin();
    feed_phase(&feed, forward);
    feed_alloc(&feed, heap, 0x1000, 100);
    feed_alloc(&feed, heap, 0x2000, 50);
    feed_phase_end(&feed, forward);
    feed_phase(&feed, forward);
    put((struct event){.kind = EVENT_BLOCK_FREE, .flags = EVENT_F_WAITS, .addr = 0x1000});
    feed_phase_end(&feed, forward);
    feed_phase(&feed, forward);
    put((struct event){.kind = EVENT_BLOCK_IDLE, .addr = 0x1000});
    feed_phase_end(&feed, forward);
    feed_flush(&feed);
    feed_phase(&feed, forward);
    put((struct event){.kind = EVENT_BLOCK_FREE, .flags = EVENT_F_WAITS, .addr = 0x2000});
    feed_alloc(&feed, heap, 0x2000, 10); /* nobody said that it is idle */
    feed_phase_end(&feed, forward);
    feed_flush(&feed);
    put((struct event){.kind = EVENT_BLOCK_FREE, .flags = EVENT_F_WAITS, .addr = 0x2000});
    feed_end(&feed, true); /* with a block that waits */
    CHECK_INT(part(0)->at[PART_ACTIVE], ROW_NULL);
    CHECK_INT(part(1)->at[PART_ALLOCATED], 50);
    CHECK_INT(part(1)->at[PART_ACTIVE], 150);
    CHECK_INT(part(2)->at[PART_ACTIVE], 50);
    CHECK_INT(part(3)->at[PART_ACTIVE], 10);
    CHECK_INT(rows_anomalies(&rows, "allocated while awaiting free"), 1);
}

/* Before any free waits, where the source says that it would tell. */
static void tell_waiting(bool of_device)
{
    begin();
    feed_phase(&feed, forward);
    feed_alloc(&feed, heap, 0x1000, 100);
    feed_phase_end(&feed, forward);
    feed_event(&feed, (struct event){.kind = EVENT_MARK,
                                     .flags = EVENT_F_SETTING,
                                     .heap = of_device ? heap & 0xffffff : 0,
                                     .name = feed_string(&feed, "waiting=1")});
    feed_phase(&feed, forward);
    feed_alloc(&feed, heap, 0x2000, 50);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(part(0)->at[PART_ACTIVE], ROW_NULL);
    CHECK_INT(part(1)->at[PART_ACTIVE], 150);
}

TEST(active_is_known_of_a_device_that_tells)
{
    tell_waiting(true);
}

TEST(active_is_known_of_a_process_that_tells)
{
    tell_waiting(false);
}

TEST(a_block_that_waited_is_idle_once)
{
    begin();
    int64_t said = feed_alloc(&feed, heap, 0x1000, 100);
    int64_t used = feed_alloc(&feed, heap, 0x2000, 50);
    int64_t never = feed_alloc(&feed, heap, 0x3000, 10);
    int64_t plain = feed_alloc(&feed, heap, 0x4000, 10);
    put((struct event){.kind = EVENT_BLOCK_FREE, .flags = EVENT_F_WAITS, .addr = 0x1000});
    put((struct event){.kind = EVENT_BLOCK_FREE, .flags = EVENT_F_WAITS, .addr = 0x2000});
    put((struct event){.kind = EVENT_BLOCK_FREE, .flags = EVENT_F_WAITS, .addr = 0x3000});
    feed_free(&feed, heap, 0x4000);
    feed_flush(&feed);
    int64_t idle = put((struct event){.kind = EVENT_BLOCK_IDLE, .addr = 0x1000});
    put((struct event){.kind = EVENT_BLOCK_IDLE, .addr = 0x1000});
    int64_t again = feed_alloc(&feed, heap, 0x2000, 10);
    feed_end(&feed, true);
    const struct row *row = rows_find(&rows, SCH_IDLE, 1, &said);
    REQUIRE(row != NULL);
    CHECK_INT(row->at[1], idle);
    CHECK_INT(row->at[2], 90);
    row = rows_find(&rows, SCH_IDLE, 1, &used);
    REQUIRE(row != NULL);
    CHECK_INT(row->at[1], again); /* at or before it */
    CHECK(rows_find(&rows, SCH_IDLE, 1, &never) == NULL);
    CHECK(rows_find(&rows, SCH_IDLE, 1, &plain) == NULL);
    CHECK_INT(rows_anomalies(&rows, "idle without free"), 1);
    CHECK_INT(rows_anomalies(&rows, "allocated while awaiting free"), 1);
}

/* ---- segments ---- */

TEST(segments_give_reserved_and_inactive_split)
{
    begin();
    int64_t first = put((struct event){.kind = EVENT_SEGMENT_ALLOC, .addr = 0x10000, .size = 1000});
    int64_t second = put((struct event){.kind = EVENT_SEGMENT_ALLOC, .addr = 0x20000, .size = 500});
    feed_phase(&feed, forward);
    int64_t low = feed_alloc(&feed, heap, 0x10000, 100);
    int64_t last = feed_alloc(&feed, heap, 0x103e7, 1);
    int64_t outside = feed_alloc(&feed, heap, 0x103e8, 1);
    feed_phase_end(&feed, forward);
    feed_phase(&feed, forward);
    feed_free(&feed, heap, 0x10000);
    feed_free(&feed, heap, 0x103e7);
    int64_t gone = put((struct event){.kind = EVENT_SEGMENT_FREE, .addr = 0x20000});
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(rows_alloc(&rows, low)->segment, first);
    CHECK_INT(rows_alloc(&rows, last)->segment, first);
    CHECK_INT(rows_alloc(&rows, outside)->segment, BATCH_NOT_KNOWN);
    CHECK_INT(part(0)->at[PART_RESERVED], 1500);
    CHECK_INT(part(0)->at[PART_SPLIT], 1000 - 101);
    CHECK_INT(part(0)->at[PART_PEAK_RESERVED], 1500);
    CHECK_INT(part(1)->at[PART_RESERVED], 1000);
    CHECK_INT(part(1)->at[PART_MAX_RESERVED], 1500);
    CHECK_INT(part(1)->at[PART_SPLIT], 0);
    const struct row *row = rows_find(&rows, SCH_SEGMENT, 1, &second);
    REQUIRE(row != NULL);
    CHECK_INT(row->at[6], gone);
    CHECK_INT(rows_find(&rows, SCH_SEGMENT, 1, &first)->at[6], ROW_NULL);
}

TEST(a_segment_that_goes_before_its_blocks)
{
    begin();
    int64_t segment =
        put((struct event){.kind = EVENT_SEGMENT_ALLOC, .addr = 0x10000, .size = 1000});
    feed_alloc(&feed, heap, 0x10010, 100);
    int64_t end = put((struct event){.kind = EVENT_SEGMENT_ALLOC, .addr = 0x10000, .size = 300});
    feed_phase(&feed, forward);
    feed_free(&feed, heap, 0x10010);
    feed_alloc(&feed, heap, 0x10020, 250);
    feed_flush(&feed);
    put((struct event){.kind = EVENT_SEGMENT_FREE, .addr = 0x99});
    put((struct event){.kind = EVENT_SEGMENT_FREE, .addr = 0x10000});
    feed_phase_end(&feed, forward);
    feed_end(&feed, true); /* the block of the second one still lives */
    CHECK_INT(rows_find(&rows, SCH_SEGMENT, 1, &segment)->at[6], end);
    CHECK_INT(rows_anomalies(&rows, "segment taken twice"), 1);
    CHECK_INT(rows_anomalies(&rows, "segment free without allocation"), 1);
    CHECK_INT(part(0)->at[PART_RESERVED], 0);
    CHECK_INT(part(0)->at[PART_SPLIT], 0);
}

TEST(the_segment_of_a_block_among_many)
{
    begin();
    int64_t seqs[1000];
    uint64_t seed = 5;
    for (uint64_t i = 0; i < 1000; i++) /* 7919 is prime: all of 0..999 in a wild order */
        seqs[i * 7919 % 1000] = put((struct event){.kind = EVENT_SEGMENT_ALLOC,
                                                   .addr = 0x100000 + i * 7919 % 1000 * 0x1000,
                                                   .size = 0x800});
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t r = test_random(&seed) % (1000 * 0x1000);
        feed_alloc(&feed, heap, 0x100000 + r, 16);
    }
    feed_end(&feed, true);
    for (size_t i = 0; i < rows.alloc_count; i++) {
        uint64_t at = rows.allocs[i].address - 0x100000;
        CHECK_INT(rows.allocs[i].segment,
                  at % 0x1000 < 0x800 ? seqs[at / 0x1000] : BATCH_NOT_KNOWN);
    }
}

/* ---- the source's own totals ---- */

static void with_totals(uint64_t address, uint64_t a, uint64_t b)
{
    put((struct event){.kind = EVENT_BLOCK_ALLOC,
                       .flags = EVENT_F_TOTALS,
                       .addr = address,
                       .size = 100,
                       .a = a,
                       .b = b});
}

TEST(totals_of_the_source_are_reserved_and_compared)
{
    begin();
    feed_phase(&feed, forward);
    with_totals(1, 100, 2000);
    feed_phase_end(&feed, forward);
    feed_phase(&feed, forward);
    with_totals(2, 205, 3000);
    with_totals(3, 304, 2500);
    feed_phase_end(&feed, forward);
    feed_phase(&feed, forward);
    with_totals(4, 404, 2500); /* the difference is the same: nothing new */
    put((struct event){.kind = EVENT_BLOCK_FREE,
                       .flags = EVENT_F_TOTALS | EVENT_F_REQUESTED, /* a free requests nothing */
                       .addr = 4,
                       .a = 304,
                       .b = 2400});
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(part(0)->at[PART_RESERVED], 2000);
    CHECK_INT(part(0)->at[PART_SPLIT], ROW_NULL);
    CHECK_INT(part(1)->at[PART_RESERVED], 2500);
    CHECK_INT(part(1)->at[PART_MAX_RESERVED], 3000);
    CHECK_INT(part(1)->at[PART_PEAK_RESERVED], 2500);
    CHECK_INT(part(2)->at[PART_RESERVED], 2400);
    CHECK_INT(rows_anomalies(&rows, "totals differ"), 1);
    check_detail("totals differ", "cuda:0: allocated 304, our sum 300");
}

TEST(with_a_request_the_first_total_is_not_there)
{
    begin();
    put((struct event){.kind = EVENT_BLOCK_ALLOC,
                       .flags = EVENT_F_TOTALS | EVENT_F_REQUESTED,
                       .addr = 1,
                       .size = 100,
                       .a = 90,
                       .b = 5000});
    feed_phase(&feed, forward);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(part(0)->at[PART_RESERVED], 5000);
    CHECK_INT(part(0)->at[PART_REQUESTED], 90);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

/* The last values of all reserved curves of the device. */
static int64_t curve_sum(void)
{
    int64_t sum = 0;
    for (size_t i = 0; i < rows.tables[SCH_CURVE].count; i++) {
        const struct row *row = &rows.tables[SCH_CURVE].rows[i];
        if (strcmp(row->text[SCH_AT(curve, quantity)], "reserved") == 0 &&
            row->at[SCH_AT(curve, level)] == 20)
            sum += row->at[SCH_AT(curve, last)];
    }
    return sum;
}

TEST(reserved_curves_add_up_when_totals_come_after_segments)
{
    begin();
    uint32_t stream = feed_heap(&feed, DEVICE_CUDA, 0, 9);
    put((struct event){.kind = EVENT_SEGMENT_ALLOC, .addr = 0x10000, .size = 1000});
    feed_event(&feed, (struct event){.kind = EVENT_SEGMENT_ALLOC,
                                     .heap = stream & 0xffffff,
                                     .addr = 0x20000,
                                     .size = 500});
    feed_flush(&feed);
    CHECK_INT(curve_sum(), 1500);
    with_totals(1, 100, 1500);
    put((struct event){.kind = EVENT_SEGMENT_ALLOC, .addr = 0x30000, .size = 70});
    feed_flush(&feed);
    CHECK_INT(curve_sum(), 1500);
    with_totals(2, 200, 1570);
    feed_end(&feed, true);
    CHECK_INT(curve_sum(), 1570);
}

TEST(a_failed_allocation_is_a_fact)
{
    begin();
    feed_alloc(&feed, heap, 1, 100);
    int64_t plain = put((struct event){.kind = EVENT_OOM, .size = 1ull << 40});
    int64_t told = put(
        (struct event){.kind = EVENT_OOM, .flags = EVENT_F_TOTALS, .size = 5, .a = 70, .b = 900});
    int64_t nowhere = feed_event(&feed, (struct event){.kind = EVENT_OOM, .size = 5});
    feed_end(&feed, true);
    const struct row *row = rows_find(&rows, SCH_OOM, 1, &plain);
    REQUIRE(row != NULL);
    CHECK_INT(row->at[2], 1);
    CHECK_INT(row->at[5], 1ll << 40);
    CHECK_INT(row->at[6], 100);
    CHECK_INT(row->at[7], ROW_NULL);
    row = rows_find(&rows, SCH_OOM, 1, &told);
    CHECK_INT(row->at[6], 70);
    CHECK_INT(row->at[7], 900);
    row = rows_find(&rows, SCH_OOM, 1, &nowhere);
    CHECK_INT(row->at[2], ROW_NULL);
    CHECK_INT(row->at[6], ROW_NULL);
}

/* ---- tags ---- */

static void tag(uint64_t address, uint64_t size, uint64_t category, uint32_t name)
{
    put((struct event){
        .kind = EVENT_TAG, .addr = address, .size = size, .a = category, .name = name});
}

static int64_t category_of(int64_t seq)
{
    const struct row *row = rows_find(&rows, SCH_TAG, 1, (int64_t[]){rows_alloc(&rows, seq)->tag});
    return row ? row->at[1] : 0;
}

TEST(a_tag_before_and_after_a_flush)
{
    begin();
    uint32_t name = feed_string(&feed, "layer1.weight");
    int64_t early = feed_alloc(&feed, heap, 0x1000, 100);
    int64_t late = feed_alloc(&feed, heap, 0x2000, 100);
    tag(0x1000, 100, CATEGORY_PARAMETER, name);
    feed_flush(&feed);
    tag(0x2000, 0, CATEGORY_GRADIENT, 0);
    tag(0x1000, 100, CATEGORY_PARAMETER, name); /* again: no row */
    struct batch *batch = state_flush(feed.state, feed.now, false);
    REQUIRE(batch != NULL);
    CHECK_INT(batch->late_tag_count, 1);
    rows_apply(&rows, batch);
    batch_free(batch);
    feed_end(&feed, true);
    CHECK_INT(category_of(early), CATEGORY_PARAMETER);
    CHECK_INT(category_of(late), CATEGORY_GRADIENT);
    CHECK_INT(rows.tables[SCH_TAG].count, 2);
    CHECK_STR(rows.tables[SCH_TAG].rows[0].text[2], "layer1.weight");
    CHECK(rows.tables[SCH_TAG].rows[1].text[2] == NULL);
}

TEST(a_range_tags_the_blocks_that_begin_in_it)
{
    begin();
    int64_t seqs[10];
    for (uint64_t i = 0; i < 10; i++)
        seqs[i] = feed_alloc(&feed, heap, 0x1000 + i * 0x100, 0x100);
    tag(0x1010, 0x200, CATEGORY_BUCKET, 0); /* begins inside of block 0 */
    feed_free(&feed, heap, 0x1900);
    int64_t born = feed_alloc(&feed, heap, 0x1900, 0x80);
    tag(0x1800, 0x200, CATEGORY_INPUT, 0);
    feed_end(&feed, true);
    for (size_t i = 0; i < 9; i++)
        CHECK_INT(category_of(seqs[i]), i == 1 || i == 2 ? CATEGORY_BUCKET
                                        : i == 8         ? CATEGORY_INPUT
                                                         : 0);
    CHECK_INT(category_of(seqs[9]), 0);
    CHECK_INT(category_of(born), CATEGORY_INPUT);
}

TEST(a_category_that_is_none_is_other)
{
    begin();
    int64_t seq = feed_alloc(&feed, heap, 0x1000, 100);
    tag(0x1000, 100, 99, 0);
    feed_end(&feed, true);
    CHECK_INT(category_of(seq), CATEGORY_OTHER);
    check_detail("unknown name", "category 99");
}

TEST_MAIN(TEST_CASE(a_short_life_is_one_row), TEST_CASE(a_life_over_a_flush_gets_an_end),
          TEST_CASE(requested_is_known_only_when_all_are), TEST_CASE(requested_goes_with_its_block),
          TEST_CASE(odd_frees_are_facts), TEST_CASE(an_address_handed_out_twice_ends_the_first),
          TEST_CASE(a_maximum_is_where_it_was_first),
          TEST_CASE(the_same_address_on_two_devices_is_two_blocks),
          TEST_CASE(after_a_loss_odd_frees_are_counted),
          TEST_CASE(a_forked_child_gives_back_what_its_parent_had),
          TEST_CASE(a_hostile_program_cannot_fill_the_disk_with_anomalies),
          TEST_CASE(large_sizes_work_and_larger_ones_are_cut), TEST_CASE(sums_stay_below_2_61),
          TEST_CASE(active_counts_what_waits), TEST_CASE(active_is_known_of_a_device_that_tells),
          TEST_CASE(active_is_known_of_a_process_that_tells),
          TEST_CASE(a_block_that_waited_is_idle_once),
          TEST_CASE(segments_give_reserved_and_inactive_split),
          TEST_CASE(a_segment_that_goes_before_its_blocks),
          TEST_CASE(the_segment_of_a_block_among_many),
          TEST_CASE(totals_of_the_source_are_reserved_and_compared),
          TEST_CASE(with_a_request_the_first_total_is_not_there),
          TEST_CASE(reserved_curves_add_up_when_totals_come_after_segments),
          TEST_CASE(a_failed_allocation_is_a_fact), TEST_CASE(a_tag_before_and_after_a_flush),
          TEST_CASE(a_range_tags_the_blocks_that_begin_in_it),
          TEST_CASE(a_category_that_is_none_is_other))
