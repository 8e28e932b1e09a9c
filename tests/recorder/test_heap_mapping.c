/* Pages that are mapped and taken out, in any part and any order. */
#include "feed.h"
#include "state_types.h"
#include "test.h"

static struct rows rows;
static struct feed feed;
static uint32_t heap, other, forward;

static void begin(void)
{
    feed_begin(&feed, NULL, &rows);
    forward = feed_string(&feed, "forward");
    heap = feed_heap(&feed, DEVICE_CUDA, 0, 0);
    other = feed_heap(&feed, DEVICE_CUDA, 0, 9);
    feed_alloc(&feed, heap, 0x1, 1); /* phases tell of devices with blocks */
}

static int64_t map(uint32_t of, uint64_t address, uint64_t size)
{
    int64_t seq = feed_event(&feed, (struct event){.kind = EVENT_SEGMENT_ALLOC,
                                                   .flags = EVENT_F_MAP,
                                                   .heap = of & 0xffffff,
                                                   .addr = address,
                                                   .size = size});
    CHECK(state_is_valid(feed.state));
    return seq;
}

static int64_t unmap(uint32_t of, uint64_t address, uint64_t size)
{
    int64_t seq = feed_event(&feed, (struct event){.kind = EVENT_SEGMENT_FREE,
                                                   .flags = EVENT_F_MAP,
                                                   .heap = of & 0xffffff,
                                                   .addr = address,
                                                   .size = size});
    CHECK(state_is_valid(feed.state));
    return seq;
}

static int64_t run_ns(void)
{
    return (int64_t)(feed.now - FEED_START);
}

static const struct heap_device *device(void)
{
    return feed.process->heaps.devices[0];
}

/* The ranges now: as many as there are pairs of an address and a size. */
static void check_ranges(size_t count, const uint64_t (*wanted)[2])
{
    struct order_cursor cursor = order_seek(&device()->mapped, 0);
    const struct order_entry *entry;
    size_t i = 0;
    while ((entry = order_next(&device()->mapped, &cursor))) {
        const struct heap_range *range = (const struct heap_range *)(uintptr_t)entry->value;
        REQUIRE(i < count);
        CHECK_INT(range->address, wanted[i][0]);
        CHECK_INT(range->size, wanted[i][1]);
        i++;
    }
    CHECK_INT(i, count);
}
#define CHECK_RANGES(...)                                                                          \
    check_ranges(sizeof((const uint64_t[][2]){__VA_ARGS__}) / sizeof(uint64_t[2]),                 \
                 (const uint64_t[][2]){__VA_ARGS__})

static const struct row *part(size_t nth_forward)
{
    const struct row *phase = rows_phase(&rows, "forward", nth_forward);
    REQUIRE(phase != NULL);
    const struct row *row = rows_phase_device(&rows, phase->at[0], 1);
    REQUIRE(row != NULL);
    return row;
}

static void check_row(size_t nth, int64_t seq, int64_t ns, uint64_t address, int64_t size,
                      int64_t mapped)
{
    REQUIRE(nth < rows.tables[SCH_MAPPING].count);
    const struct row *row = &rows.tables[SCH_MAPPING].rows[nth];
    CHECK_INT(row->at[0], seq);
    CHECK_INT(row->at[2], address);
    CHECK_INT(row->at[3], size);
    CHECK_INT(row->at[4], ns);
    CHECK_INT(row->at[5], mapped);
}

TEST(what_is_mapped_is_reserved_and_no_segment)
{
    begin();
    feed_phase(&feed, forward);
    int64_t first = map(heap, 0x10000, 0x4000), first_ns = run_ns();
    int64_t block = feed_alloc(&feed, heap, 0x10000, 0x100);
    feed_phase_end(&feed, forward);
    feed_phase(&feed, forward);
    int64_t second = unmap(heap, 0x11000, 0x3000), second_ns = run_ns();
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(rows_alloc(&rows, block)->segment, BATCH_NOT_KNOWN);
    CHECK_INT(part(0)->at[PART_RESERVED], 0x4000);
    CHECK_INT(part(0)->at[PART_SPLIT], 0);
    CHECK_INT(part(0)->at[PART_PEAK_RESERVED], 0x4000);
    CHECK_INT(part(1)->at[PART_RESERVED], 0x1000);
    CHECK_INT(part(1)->at[PART_MAX_RESERVED], 0x4000);
    CHECK_INT(rows.tables[SCH_SEGMENT].count, 0);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
    check_row(0, first, first_ns, 0x10000, 0x4000, 1);
    check_row(1, second, second_ns, 0x11000, 0x3000, 0);
}

TEST(ranges_join_and_are_cut)
{
    begin();
    map(heap, 0x1000, 0x1000);
    map(heap, 0x3000, 0x1000);
    CHECK_RANGES({0x1000, 0x1000}, {0x3000, 0x1000});
    map(heap, 0x2000, 0x1000);
    CHECK_RANGES({0x1000, 0x3000});
    map(heap, 0x0, 0x1000);
    CHECK_RANGES({0x0, 0x4000});
    unmap(heap, 0x1000, 0x800);
    CHECK_RANGES({0x0, 0x1000}, {0x1800, 0x2800});
    unmap(heap, 0x3800, 0x800);
    CHECK_RANGES({0x0, 0x1000}, {0x1800, 0x2000});
    unmap(heap, 0x0, 0x100);
    CHECK_RANGES({0x100, 0xf00}, {0x1800, 0x2000});
    unmap(heap, 0x1800, 0x2000);
    CHECK_RANGES({0x100, 0xf00});
    feed_end(&feed, true);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

TEST(an_unmap_over_many_ranges)
{
    begin();
    for (uint64_t i = 0; i < 600; i++) /* 379 is prime to 600: in a wild order */
        map(heap, 0x100000 + i * 379 % 600 * 0x2000, 0x1000);
    CHECK_INT(device()->mapped_bytes, 600 * 0x1000);
    unmap(heap, 0x100800, 599 * 0x2000); /* half of the first to half of the last */
    CHECK_RANGES({0x100000, 0x800}, {0x100800 + 599 * 0x2000, 0x800});
    feed_end(&feed, true);
    CHECK_INT(rows_anomalies(&rows, "unmapped without mapping"), 1);
    CHECK_STR(rows_anomaly(&rows, "unmapped without mapping", 0)->text[ANOMALY_DETAIL],
              "2453504 of 4907008 bytes");
}

TEST(ranges_of_two_heaps_do_not_join)
{
    begin();
    map(heap, 0x1000, 0x1000);
    map(other, 0x2000, 0x1000);
    CHECK_RANGES({0x1000, 0x1000}, {0x2000, 0x1000});
    CHECK_INT(feed.process->heaps.all[0]->segment_bytes, 0x1000);
    CHECK_INT(feed.process->heaps.all[1]->segment_bytes, 0x1000);
    unmap(heap, 0x1800, 0x1000); /* whoever says so */
    CHECK_INT(feed.process->heaps.all[0]->segment_bytes, 0x800);
    CHECK_INT(feed.process->heaps.all[1]->segment_bytes, 0x800);
    unmap(heap, 0x2800, 0x800);
    feed_end(&feed, true);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
    /* A row is of the heap whose memory it was. */
    const struct row *first = &rows.tables[SCH_MAPPING].rows[0];
    const struct row *second = &rows.tables[SCH_MAPPING].rows[1];
    CHECK_INT(rows.tables[SCH_MAPPING].rows[2].at[1], first->at[1]);
    CHECK_INT(rows.tables[SCH_MAPPING].rows[3].at[1], second->at[1]);
}

TEST(what_was_not_mapped_does_not_count)
{
    begin();
    unmap(heap, 0x1000, 0x1000);
    map(heap, 0x1000, 0x1000);
    unmap(heap, 0x0, 0x10000);
    unmap(heap, 0x0, 0);
    CHECK_INT(device()->segment_bytes, 0);
    map(heap, 0x1000, 0x1000);
    map(other, 0x1800, 0x1000);
    CHECK_INT(device()->segment_bytes, 0x1800);
    CHECK_INT(feed.process->heaps.all[1]->segment_bytes, 0x1000);
    feed_end(&feed, true);
    CHECK_INT(rows_anomalies(&rows, "unmapped without mapping"), 3);
    CHECK_INT(rows_anomalies(&rows, "mapped twice"), 1);
    CHECK_STR(rows_anomaly(&rows, "mapped twice", 0)->text[ANOMALY_DETAIL], "2048 of 4096 bytes");
    CHECK_INT(rows.tables[SCH_MAPPING].count, 6);
}

TEST(after_a_loss_an_odd_unmap_is_counted)
{
    begin();
    struct state_loss loss = {.by_kind = {[EVENT_SEGMENT_ALLOC] = 1}};
    state_lost(feed.process, &loss);
    unmap(heap, 0x1000, 0x1000);
    feed_end(&feed, true);
    CHECK_STR(rows_anomaly(&rows, "unmapped without mapping", 0)->text[ANOMALY_DETAIL],
              "1 after a loss of events");
}

TEST(addresses_and_sizes_at_their_ends)
{
    begin();
    map(heap, UINT64_MAX - 0xfff, 0x2000);
    CHECK_RANGES({UINT64_MAX - 0xfff, 0xfff});
    unmap(heap, UINT64_MAX - 0xfff, 0xfff);
    map(heap, 0, UINT64_MAX);
    CHECK_RANGES({0, HEAP_LARGEST});
    map(heap, 1ull << 63, HEAP_LARGEST + 1);
    CHECK_RANGES({0, HEAP_LARGEST}, {1ull << 63, HEAP_LARGEST});
    unmap(heap, 1ull << 63, HEAP_LARGEST);
    unmap(heap, 0, HEAP_LARGEST);
    CHECK_INT(device()->mapped_bytes, 0);
    feed_end(&feed, true);
    CHECK_INT(rows_anomalies(&rows, "size too large"), 2);
    CHECK_INT(rows_anomalies(&rows, "unmapped without mapping"), 0);
}

/* Of a size that no address space has no more is stored than of a block: reports add them up. */
TEST(unmapped_sizes_are_cut)
{
    begin();
    map(heap, 0x1000, 0x1000);
    unmap(heap, 0, SIZE_MAX >> 1);
    unmap(heap, 0, UINT64_MAX);
    feed_end(&feed, true);
    REQUIRE(rows.tables[SCH_MAPPING].count == 3);
    CHECK_INT(rows.tables[SCH_MAPPING].rows[1].at[3], HEAP_LARGEST);
    CHECK_INT(rows.tables[SCH_MAPPING].rows[2].at[3], HEAP_LARGEST);
}

TEST(segments_and_pages_add_up)
{
    begin();
    feed_event(&feed, (struct event){.kind = EVENT_SEGMENT_ALLOC,
                                     .heap = heap & 0xffffff,
                                     .addr = 0x100000,
                                     .size = 1000});
    map(heap, 0x200000, 50);
    feed_phase(&feed, forward);
    feed_alloc(&feed, heap, 0x100000, 300);
    feed_alloc(&feed, heap, 0x200000, 20);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(part(0)->at[PART_RESERVED], 1050);
    CHECK_INT(part(0)->at[PART_SPLIT], 700);
}

TEST_MAIN(TEST_CASE(what_is_mapped_is_reserved_and_no_segment), TEST_CASE(ranges_join_and_are_cut),
          TEST_CASE(an_unmap_over_many_ranges), TEST_CASE(ranges_of_two_heaps_do_not_join),
          TEST_CASE(what_was_not_mapped_does_not_count),
          TEST_CASE(after_a_loss_an_odd_unmap_is_counted),
          TEST_CASE(addresses_and_sizes_at_their_ends), TEST_CASE(unmapped_sizes_are_cut),
          TEST_CASE(segments_and_pages_add_up))
