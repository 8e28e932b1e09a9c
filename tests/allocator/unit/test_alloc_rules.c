/*
 * The rules with default settings: rounding, pools, segments, best fit, splitting, merging, and the
 * statistics of each, by worked examples.
 */
#include "bed.h"

static struct bed bed;

static void begin(void)
{
    bed_begin(&bed, &(struct bed_options){0});
}

struct totals {
    int64_t allocated, requested, segments, reserved, split, split_bytes;
};

static void check_totals(const struct totals *want)
{
    struct alloc_stats stats = bed_stats(&bed);
    CHECK_INT(stats.allocated_bytes[ALLOC_ALL].current, want->allocated);
    CHECK_INT(stats.active_bytes[ALLOC_ALL].current, want->allocated);
    CHECK_INT(stats.requested_bytes[ALLOC_ALL].current, want->requested);
    CHECK_INT(stats.segment[ALLOC_ALL].current, want->segments);
    CHECK_INT(stats.reserved_bytes[ALLOC_ALL].current, want->reserved);
    CHECK_INT(stats.inactive_split[ALLOC_ALL].current, want->split);
    CHECK_INT(stats.inactive_split_bytes[ALLOC_ALL].current, want->split_bytes);
}

TEST(the_worked_example)
{
    begin();
    uint64_t a = bed_malloc(&bed, 100, 0);
    CHECK_INT(alloc_block_size(bed.alloc, a), 512);
    check_totals(&(struct totals){512, 100, 1, 2097152, 1, 2096640});
    uint64_t b = bed_malloc(&bed, 3 * MIB, 0);
    CHECK_INT(alloc_block_size(bed.alloc, b), 3145728);
    check_totals(&(struct totals){3146240, 3145828, 2, 23068672, 2, 19922432});
    uint64_t c = bed_malloc(&bed, 17 * MIB, 0);
    CHECK_INT(c, b + 3 * MIB);
    check_totals(&(struct totals){20972032, 20971620, 2, 23068672, 1, 2096640});
    bed_give(&bed, b);
    check_totals(&(struct totals){17826304, 17825892, 2, 23068672, 2, 5242368});
    uint64_t d = bed_malloc(&bed, 5 * MIB / 2, 0);
    CHECK_INT(d, b);
    CHECK_INT(alloc_block_size(bed.alloc, d), 3145728);
    check_totals(&(struct totals){20972032, 20447332, 2, 23068672, 1, 2096640});
    uint64_t e = bed_malloc(&bed, 700, 0);
    CHECK_INT(alloc_block_size(bed.alloc, e), 1024);
    CHECK_INT(e, a + 512);
    check_totals(&(struct totals){20973056, 20448032, 2, 23068672, 1, 2095616});
    bed_give(&bed, a);
    check_totals(&(struct totals){20972544, 20447932, 2, 23068672, 2, 2096128});
    bed_give(&bed, e);
    check_totals(&(struct totals){20971520, 20447232, 2, 23068672, 0, 0});
    bed_give(&bed, d);
    check_totals(&(struct totals){17825792, 17825792, 2, 23068672, 1, 3145728});
    bed_give(&bed, c);
    check_totals(&(struct totals){0, 0, 2, 23068672, 0, 0});
    bed_end(&bed);
}

TEST(the_classes_of_the_worked_example)
{
    begin();
    uint64_t a = bed_malloc(&bed, 100, 0), b = bed_malloc(&bed, 3 * MIB, 0);
    bed_give(&bed, a);
    struct alloc_stats stats = bed_stats(&bed);
    struct alloc_stat all = stats.allocated_bytes[ALLOC_ALL];
    struct alloc_stat small = stats.allocated_bytes[ALLOC_SMALL];
    struct alloc_stat large = stats.allocated_bytes[ALLOC_LARGE];
    CHECK_INT(all.current, 3145728);
    CHECK_INT(all.peak, 3146240);
    CHECK_INT(all.allocated, 3146240);
    CHECK_INT(all.freed, 512);
    CHECK_INT(small.current, 0);
    CHECK_INT(small.peak, 512);
    CHECK_INT(small.freed, 512);
    CHECK_INT(large.current, 3145728);
    CHECK_INT(large.freed, 0);
    CHECK_INT(stats.segment[ALLOC_SMALL].current, 1);
    CHECK_INT(stats.segment[ALLOC_LARGE].current, 1);
    CHECK_INT(stats.num_device_alloc, 2);
    CHECK_INT(stats.num_device_free, 0);
    alloc_reset_accumulated(bed.alloc);
    stats = bed_stats(&bed);
    CHECK_INT(stats.allocated_bytes[ALLOC_ALL].allocated, 0);
    CHECK_INT(stats.allocated_bytes[ALLOC_ALL].freed, 0);
    CHECK_INT(stats.allocated_bytes[ALLOC_ALL].current, 3145728);
    CHECK_INT(stats.allocated_bytes[ALLOC_ALL].peak, 3146240);
    CHECK_INT(stats.num_device_alloc, 0);
    alloc_reset_peaks(bed.alloc);
    CHECK_INT(bed_stats(&bed).allocated_bytes[ALLOC_ALL].peak, 3145728);
    CHECK_INT(bed_stats(&bed).allocated_bytes[ALLOC_SMALL].peak, 0);
    bed_give(&bed, b);
    CHECK_INT(bed_stats(&bed).allocated_bytes[ALLOC_ALL].freed, 3145728);
    bed_end(&bed);
}

/* Each of them alone: what the block and its segment are. */
TEST(edges_of_sizes)
{
    static const struct {
        uint64_t bytes, block, segment;
    } cases[] = {
        {1, 512, 2 * MIB},
        {511, 512, 2 * MIB},
        {512, 512, 2 * MIB},
        {513, 1024, 2 * MIB},
        {1048575, 1048576, 2 * MIB},
        {1048576, 1048576, 2 * MIB},
        {1048577, 1049088, 20 * MIB},
        {10485247, 10485248, 20 * MIB},
        {10485248, 10485248, 20 * MIB},
        {10485249, 10485760, 10 * MIB},
        {10485759, 10485760, 10 * MIB},
        {10485760, 10485760, 10 * MIB},
        {10485761, 12582912, 12 * MIB}, /* the rest, 2 MiB - 512, is cut: see below */
        {12 * MIB, 12 * MIB, 12 * MIB},
        {GIB + 1, GIB + 2 * MIB, GIB + 2 * MIB},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t size, rest;
        begin();
        uint64_t address = bed_malloc(&bed, cases[i].bytes, 7);
        CHECK_INT(alloc_base(bed.alloc, address, &size), address);
        CHECK_INT(size, cases[i].segment);
        uint64_t rounded = cases[i].bytes < 512 ? 512 : (cases[i].bytes + 511) / 512 * 512;
        rest = cases[i].segment - rounded;
        bool cut = rounded <= MIB ? rest >= 512 : rest > MIB;
        CHECK_INT(alloc_block_size(bed.alloc, address), cut ? rounded : cases[i].segment);
        bed_end(&bed);
    }
}

TEST(nothing_for_nothing)
{
    begin();
    uint64_t address = 1;
    CHECK_INT(alloc_malloc(bed.alloc, 0, 0, &address, NULL), BASE_OK);
    CHECK_INT(address, 0);
    CHECK_INT(bed.event_count, 0);
    CHECK_INT(bed_stats(&bed).num_device_alloc, 0);
    CHECK_INT(alloc_give(bed.alloc, 0), ERR_NOTFOUND);
    bed_end(&bed);
}

TEST(an_exbibyte_is_refused_at_once)
{
    begin();
    struct alloc_refusal refusal;
    uint64_t address;
    CHECK_INT(alloc_malloc(bed.alloc, ALLOC_MAX_REQUEST, 0, &address, &refusal), ERR_NOMEM);
    CHECK_INT(refusal.requested, ALLOC_MAX_REQUEST);
    CHECK_INT(refusal.rounded, 0);
    CHECK_INT(bed_stats(&bed).num_ooms, 0);
    CHECK_INT(bed_stats(&bed).num_alloc_retries, 0);
    bed_refused(&bed, ALLOC_MAX_REQUEST - 1, 0);
    CHECK_INT(bed_stats(&bed).num_ooms, 1);
    CHECK_INT(bed_stats(&bed).num_alloc_retries, 1);
    bed_end(&bed);
}

TEST(best_fit_takes_the_smallest_then_the_lowest)
{
    begin();
    uint64_t at[7];
    static const uint64_t sizes[7] = {4096, 512, 2048, 512, 2048, 512, 4096};
    for (int i = 0; i < 7; i++)
        at[i] = bed_malloc(&bed, sizes[i], 0);
    bed_give(&bed, at[4]);
    bed_give(&bed, at[0]);
    bed_give(&bed, at[2]);
    CHECK_INT(bed_malloc(&bed, 1025, 0), at[2]); /* 1536: cut from the lower of two */
    CHECK_INT(bed_malloc(&bed, 512, 0), at[2] + 1536);
    CHECK_INT(bed_malloc(&bed, 2049, 0), at[0]);
    CHECK_INT(bed_malloc(&bed, 1024, 0), at[0] + 2560); /* 1536 is left there, 2048 at [4] */
    CHECK_INT(bed_malloc(&bed, 2048, 0), at[4]);
    bed_end(&bed);
}

TEST(merging_on_both_sides)
{
    begin();
    uint64_t a = bed_malloc(&bed, 512, 0), b = bed_malloc(&bed, 1024, 0);
    uint64_t c = bed_malloc(&bed, 1536, 0), d = bed_malloc(&bed, 2048, 0);
    CHECK_STR(bed_picture(&bed), "2097152: 512 1024 1536 2048 free2092032;");
    bed_give(&bed, a);
    bed_give(&bed, c);
    CHECK_STR(bed_picture(&bed), "2097152: free512 1024 free1536 2048 free2092032;");
    bed_give(&bed, b);
    CHECK_STR(bed_picture(&bed), "2097152: free3072 2048 free2092032;");
    CHECK_INT(bed_stats(&bed).inactive_split[ALLOC_SMALL].current, 2);
    bed_give(&bed, d);
    CHECK_STR(bed_picture(&bed), "2097152: free2097152;");
    CHECK_INT(bed_stats(&bed).inactive_split[ALLOC_SMALL].current, 0);
    bed_end(&bed);
}

TEST(segments_never_merge)
{
    begin();
    uint64_t a = bed_malloc(&bed, 10 * MIB, 0), b = bed_malloc(&bed, 10 * MIB, 0);
    CHECK_INT(b, a + 10 * MIB);
    bed_give(&bed, a);
    bed_give(&bed, b);
    CHECK_STR(bed_picture(&bed), "10485760: free10485760; 10485760: free10485760;");
    uint64_t c = bed_malloc(&bed, 11 * MIB, 0);
    CHECK_INT(c, b + 10 * MIB);
    bed_end(&bed);
}

TEST(a_rest_is_cut_off_if_it_is_worth_it)
{
    begin();
    uint64_t a =
        bed_malloc(&bed, 19 * MIB + 512, 0); /* segment of 20 MiB: the rest is 1 MiB - 512 */
    CHECK_INT(alloc_block_size(bed.alloc, a), 20 * MIB);
    bed_give(&bed, a);
    a = bed_malloc(&bed, 19 * MIB, 0); /* the rest is 1 MiB: not more */
    CHECK_INT(alloc_block_size(bed.alloc, a), 20 * MIB);
    bed_give(&bed, a);
    a = bed_malloc(&bed, 19 * MIB - 512, 0);
    CHECK_INT(alloc_block_size(bed.alloc, a), 19 * MIB - 512);
    uint64_t s = bed_malloc(&bed, MIB, 0); /* the small half: 1 MiB is cut off, and 512 are, too */
    CHECK_INT(alloc_block_size(bed.alloc, s), MIB);
    uint64_t t = bed_malloc(&bed, MIB - 512, 0);
    CHECK_INT(alloc_block_size(bed.alloc, t), MIB - 512);
    CHECK_INT(bed_malloc(&bed, 1, 0), t + MIB - 512);
    bed_end(&bed);
}

TEST(streams_and_halves_do_not_share)
{
    begin();
    uint64_t a = bed_malloc(&bed, 512, 1);
    bed_give(&bed, a);
    uint64_t b = bed_malloc(&bed, 512, 2);
    CHECK(a != b);
    CHECK_INT(bed_stats(&bed).segment[ALLOC_SMALL].current, 2);
    uint64_t c = bed_malloc(&bed, 2 * MIB, 1);
    bed_give(&bed, c);
    CHECK_INT(bed_malloc(&bed, 512, 1), a); /* not the large free one */
    CHECK_INT(bed_malloc(&bed, 2 * MIB, 2), c + 20 * MIB);
    CHECK_INT(bed_malloc(&bed, 2 * MIB, 1), c);
    CHECK_INT(alloc_give(bed.alloc, c + 512), ERR_NOTFOUND);
    bed_end(&bed);
}

TEST(events_tell_what_happened)
{
    begin();
    uint64_t a = bed_malloc(&bed, 100, 3);
    CHECK_INT(bed.event_count, 2);
    CHECK_INT(bed.events[0].kind, ALLOC_EVENT_SEGMENT_ALLOC);
    CHECK_INT(bed.events[0].size, 2 * MIB);
    CHECK_INT(bed.events[0].address, a);
    CHECK_INT(bed.events[1].kind, ALLOC_EVENT_ALLOC);
    CHECK_INT(bed.events[1].size, 512);
    CHECK_INT(bed.events[1].requested, 100);
    CHECK_INT(bed.events[1].stream, 3);
    bed_forget(&bed);
    bed_give(&bed, a);
    CHECK_INT(bed.event_count, 1);
    CHECK_INT(bed.events[0].kind, ALLOC_EVENT_FREE);
    CHECK_INT(bed.events[0].requested, 100);
    CHECK_INT(bed.events[0].size, 512);
    CHECK(!bed.events[0].waits);
    bed_empty(&bed);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_SEGMENT_FREE)->address, a);
    CHECK_INT(alloc_give(bed.alloc, a), ERR_NOTFOUND);
    CHECK_INT(alloc_block_size(bed.alloc, a), 0);
    CHECK_INT(alloc_base(bed.alloc, a, NULL), 0);
    bed_end(&bed);
}

TEST_MAIN(TEST_CASE(the_worked_example), TEST_CASE(the_classes_of_the_worked_example),
          TEST_CASE(edges_of_sizes), TEST_CASE(nothing_for_nothing),
          TEST_CASE(an_exbibyte_is_refused_at_once),
          TEST_CASE(best_fit_takes_the_smallest_then_the_lowest), TEST_CASE(merging_on_both_sides),
          TEST_CASE(segments_never_merge), TEST_CASE(a_rest_is_cut_off_if_it_is_worth_it),
          TEST_CASE(streams_and_halves_do_not_share), TEST_CASE(events_tell_what_happened))
