/*
 * Expandable segments: pages, where a request goes, what is unmapped, what is counted, and the
 * setting switched on and off in between.
 */
#include <stdio.h>
#include <string.h>

#include "bed.h"

static struct bed bed;

static void begin(uint64_t capacity)
{
    bed_begin(&bed,
              &(struct bed_options){.config = "expandable_segments:True", .capacity = capacity});
}

TEST(pages_of_both_halves)
{
    begin(160 * MIB);
    uint64_t a = bed_malloc(&bed, 1000, 0);
    CHECK_STR(bed_picture(&bed), "188743680: 1024 free2096128 none186646528;"); /* 180 MiB */
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_MAP)->size, 2 * MIB);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_MAP)->address, a);
    uint64_t b = bed_malloc(&bed, 21 * MIB, 0);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_MAP)->size, 40 * MIB);
    CHECK_INT(alloc_block_size(bed.alloc, b), 21 * MIB);
    struct alloc_stats stats = bed_stats(&bed);
    CHECK_INT(stats.segment[ALLOC_ALL].current, 0);
    CHECK_INT(stats.segment[ALLOC_ALL].allocated, 0);
    CHECK_INT(stats.reserved_bytes[ALLOC_SMALL].current, 2 * MIB);
    CHECK_INT(stats.reserved_bytes[ALLOC_LARGE].current, 40 * MIB);
    CHECK_INT(stats.inactive_split[ALLOC_ALL].current, 0);
    CHECK_INT(stats.inactive_split_bytes[ALLOC_ALL].peak, 0);
    CHECK_INT(stats.num_device_alloc, 2);
    CHECK_INT(bed_counts(&bed).reserved, 2);
    uint64_t size;
    CHECK_INT(alloc_base(bed.alloc, b, &size), b);
    CHECK_INT(size, 180 * MIB);
    bed_end(&bed);
}

TEST(the_range_is_an_eighth_larger_rounded_up_to_pages)
{
    begin(100 * MIB);
    bed_malloc(&bed, 2 * MIB, 0);
    uint64_t size;
    alloc_base(bed.alloc, bed_malloc(&bed, 512, 0), &size);
    CHECK_INT(size, 114 * MIB); /* 112.5 */
    alloc_base(bed.alloc, bed_malloc(&bed, 2 * MIB, 0), &size);
    CHECK_INT(size, 120 * MIB);
    bed_end(&bed);
}

TEST(a_rest_of_512_is_cut_off_everywhere)
{
    begin(0);
    uint64_t a = bed_malloc(&bed, 20 * MIB - 512, 0);
    CHECK_INT(alloc_block_size(bed.alloc, a), 20 * MIB - 512);
    bed_give(&bed, a);
    CHECK_INT(bed_malloc(&bed, 20 * MIB - 511, 0), a);
    CHECK_INT(alloc_block_size(bed.alloc, a), 20 * MIB);
    bed_end(&bed);
}

TEST(growing_takes_the_free_block_before)
{
    begin(0);
    uint64_t a = bed_malloc(&bed, 30 * MIB, 0); /* 40 are mapped */
    bed_forget(&bed);
    uint64_t b = bed_malloc(&bed, 15 * MIB, 0); /* 10 are there: one more page */
    CHECK_INT(b, a + 30 * MIB);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_MAP)->size, 20 * MIB);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_MAP)->address, a + 40 * MIB);
    CHECK_INT(bed_seen(&bed, ALLOC_EVENT_MAP), 1);
    bed_end(&bed);
}

TEST(only_whole_free_pages_are_unmapped)
{
    begin(0);
    uint64_t at[6];
    for (int i = 0; i < 6; i++)
        at[i] = bed_malloc(&bed, 15 * MIB, 0); /* 90 of 100 MiB */
    bed_give(&bed, at[1]);
    bed_give(&bed, at[2]);
    bed_give(&bed, at[3]); /* 15 to 60: pages 1 and 2 lie inside */
    bed_forget(&bed);
    bed_empty(&bed);
    CHECK_INT(bed_seen(&bed, ALLOC_EVENT_UNMAP), 1);
    CHECK_INT(bed.events[0].address, at[0] + 20 * MIB);
    CHECK_INT(bed.events[0].size, 40 * MIB);
    char want[200];
    uint64_t rest = 64 * GIB + 8 * GIB;
    rest = (rest + 20 * MIB - 1) / (20 * MIB) * 20 * MIB;
    snprintf(want, sizeof want,
             "%llu: 15728640 free5242880 none41943040 15728640 15728640 free10485760 none%llu;",
             (unsigned long long)rest, (unsigned long long)(rest - 100 * MIB));
    CHECK_STR(bed_picture(&bed), want);
    CHECK_INT(bed_stats(&bed).reserved_bytes[ALLOC_ALL].current, 60 * MIB);
    CHECK_INT(bed_stats(&bed).num_device_free, 1);
    CHECK_INT(bed_counts(&bed).stream_waits, 1);
    /* 25 MiB fit from the free block before the hole on: one page is mapped again */
    uint64_t b = bed_malloc(&bed, 25 * MIB, 0);
    CHECK_INT(b, at[1]);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_MAP)->size, 20 * MIB);
    uint64_t c = bed_malloc(&bed, 21 * MIB, 0); /* 20 are left in the hole: not enough */
    CHECK_INT(c, at[5] + 15 * MIB);
    uint64_t d = bed_malloc(&bed, 20 * MIB, 0);
    CHECK_INT(d, b + 25 * MIB);
    bed_end(&bed);
}

TEST(an_empty_segment_goes)
{
    begin(0);
    uint64_t a = bed_malloc(&bed, 5 * MIB, 1), b = bed_malloc(&bed, 5 * MIB, 2);
    CHECK_INT(bed_counts(&bed).reserved, 2);
    bed_give(&bed, a);
    bed_empty(&bed);
    CHECK_INT(bed_counts(&bed).reserved, 1);
    bed_give(&bed, b);
    bed_empty(&bed);
    CHECK_INT(bed_counts(&bed).reserved, 0);
    CHECK_STR(bed_picture(&bed), "");
    CHECK_INT(bed_malloc(&bed, 5 * MIB, 1), a);
    bed_end(&bed);
}

TEST(best_fit_looks_at_what_a_block_could_become)
{
    begin(0);
    uint64_t a = bed_malloc(&bed, 4 * MIB, 0), b = bed_malloc(&bed, 6 * MIB, 0);
    uint64_t c = bed_malloc(&bed, 4 * MIB, 0), d = bed_malloc(&bed, 2 * MIB, 0);
    /* 4 MiB are free at the end of the page, and could grow; b's 6 could not */
    bed_give(&bed, b);
    CHECK_INT(bed_malloc(&bed, 3 * MIB, 0), b);
    (void)a;
    (void)c;
    (void)d;
    bed_end(&bed);
}

TEST(a_partly_refused_request_keeps_its_pages)
{
    begin(50 * MIB);
    uint64_t a = bed_malloc(&bed, 15 * MIB, 0);
    uint64_t b = bed_malloc(&bed, 25 * MIB, 0); /* 40 MiB mapped in all */
    bed_give(&bed, a);
    /* 41 MiB: the range is 60, free and unmapped space is not joined: no place */
    bed_refused(&bed, 41 * MIB, 0);
    CHECK_INT(bed_stats(&bed).num_ooms, 1);
    CHECK_INT(bed_stats(&bed).reserved_bytes[ALLOC_ALL].current, 40 * MIB);
    bed_give(&bed, b);
    CHECK_INT(bed_malloc(&bed, 40 * MIB, 0), a);
    bed_end(&bed);
}

TEST(the_limit_is_tested_against_the_segment_size)
{
    bed_begin(&bed, &(struct bed_options){.config = "expandable_segments:True", .limit = 21 * MIB});
    bed_malloc(&bed, 512, 0); /* 2 MiB */
    CHECK_INT(bed_refused(&bed, 2 * MIB, 0), 20 * MIB);
    bed_malloc(&bed, 12 * MIB, 0); /* 12 + 2 <= 21, though a page of 20 is mapped */
    CHECK_INT(bed_stats(&bed).reserved_bytes[ALLOC_ALL].current, 22 * MIB);
    bed_end(&bed);
}

TEST(a_request_larger_than_the_range)
{
    begin(64 * MIB);
    bed_refused(&bed, 200 * MIB, 0);
    bed_refused(&bed, 70 * MIB, 0); /* the range would do, the device does not */
    bed_malloc(&bed, 60 * MIB, 0);
    bed_end(&bed);
}

/* Memory is there, but not in one range. */
TEST(the_reserve_is_as_the_settings_say)
{
    static const char *const texts[] = {"0.05", "0.05G", "0.046875G", "50", "64G", "x"};
    static const uint64_t ranges[] = {60, 60, 60, 1140, 1140, 1140}; /* MiB */
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char config[100];
        uint64_t size;
        snprintf(config, sizeof config, "expandable_segments:True,expandable_segments_reserve:%s",
                 texts[i]);
        bed_begin(&bed, &(struct bed_options){.config = config, .capacity = 1000 * MIB});
        uint64_t a = bed_malloc(&bed, 40 * MIB, 0);
        alloc_base(bed.alloc, a, &size);
        CHECK_INT(size, ranges[i] * MIB);
        if (ranges[i] == 60) {
            CHECK_INT(bed_refused(&bed, 61 * MIB, 0), 62 * MIB);
            CHECK_INT(bed_stats(&bed).num_alloc_retries, 1);
            bed_malloc(&bed, 60 * MIB, 0); /* in a range of its own */
            CHECK_INT(bed_counts(&bed).reserved, 2);
        }
        bed_end(&bed);
    }
}

TEST(switched_off_and_on_again)
{
    begin(0);
    uint64_t a = bed_malloc(&bed, 12 * MIB, 0);
    bed_give(&bed, a);
    bed_configure(&bed, "expandable_segments:False");
    uint64_t b = bed_malloc(&bed, 12 * MIB, 0); /* never from the expandable one */
    CHECK(b != a);
    CHECK_INT(bed_stats(&bed).segment[ALLOC_LARGE].current, 1);
    bed_give(&bed, b);
    CHECK_INT(bed_malloc(&bed, 11 * MIB, 0), b);
    bed_configure(&bed, "expandable_segments:True");
    CHECK_INT(bed_malloc(&bed, 12 * MIB, 0), a);
    bed_end(&bed);
}

TEST(other_pages_by_setting)
{
    bed_begin(&bed,
              &(struct bed_options){.config = "expandable_segments:True,large_segment_size_mb:32"});
    bed_malloc(&bed, 33 * MIB, 0);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_MAP)->size, 64 * MIB);
    bed_configure(&bed, "expandable_segments:True");
    bed_malloc(&bed, 33 * MIB, 0); /* a segment keeps its pages */
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_MAP)->size, 32 * MIB);
    bed_end(&bed);
}

TEST(a_device_without_pages)
{
    struct alloc_device plain;
    struct alloc_config config;
    struct alloc *alloc;
    uint64_t address;
    begin(0);
    plain = *virtual_seam(bed.device);
    plain.reserve = NULL;
    alloc_config_default(&config);
    config.expandable_segments = true;
    CHECK_INT(alloc_new(&alloc, &(struct alloc_options){.device = &plain, .config = &config}),
              BASE_OK);
    CHECK_INT(alloc_malloc(alloc, 5 * MIB, 0, &address, NULL), BASE_OK);
    struct alloc_stats stats;
    alloc_stats(alloc, &stats);
    CHECK_INT(stats.segment[ALLOC_LARGE].current, 1);
    alloc_delete(alloc);
    bed_end(&bed);
}

TEST_MAIN(TEST_CASE(pages_of_both_halves),
          TEST_CASE(the_range_is_an_eighth_larger_rounded_up_to_pages),
          TEST_CASE(a_rest_of_512_is_cut_off_everywhere),
          TEST_CASE(growing_takes_the_free_block_before),
          TEST_CASE(only_whole_free_pages_are_unmapped), TEST_CASE(an_empty_segment_goes),
          TEST_CASE(best_fit_looks_at_what_a_block_could_become),
          TEST_CASE(a_partly_refused_request_keeps_its_pages),
          TEST_CASE(the_limit_is_tested_against_the_segment_size),
          TEST_CASE(a_request_larger_than_the_range), TEST_CASE(the_reserve_is_as_the_settings_say),
          TEST_CASE(switched_off_and_on_again), TEST_CASE(other_pages_by_setting),
          TEST_CASE(a_device_without_pages))
