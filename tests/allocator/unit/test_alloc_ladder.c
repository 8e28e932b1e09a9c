/*
 * What happens when there is no room: limit and capacity, each rung by itself and their order, what
 * is counted and said, max_split_size, garbage collection.
 */
#include "bed.h"

static struct bed bed;

TEST(the_limit_counts_whole_segments)
{
    bed_begin(&bed, &(struct bed_options){.limit = 22 * MIB});
    uint64_t a = bed_malloc(&bed, 2 * MIB, 0); /* 20 MiB */
    bed_malloc(&bed, 512, 0);                  /* and 2 */
    bed_forget(&bed);
    CHECK_INT(bed_refused(&bed, 19 * MIB, 0), 20 * MIB);
    struct alloc_stats stats = bed_stats(&bed);
    CHECK_INT(stats.num_ooms, 1);
    CHECK_INT(stats.num_alloc_retries, 1);
    CHECK_INT(stats.num_sync_all_streams, 1);
    CHECK_INT(stats.num_device_alloc, 2);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_OOM)->size, 19 * MIB);
    bed_give(&bed, a);
    CHECK_INT(bed_malloc(&bed, 19 * MIB, 0), a);
    alloc_limit(bed.alloc, 0);
    bed_malloc(&bed, 19 * MIB, 0);
    bed_end(&bed);
}

/* A part of the device, taken when the allocator begins: later settings leave the limit alone. */
TEST(the_limit_may_be_a_part_of_the_device)
{
    bed_begin(&bed, &(struct bed_options){.capacity = 100 * MIB,
                                          .config = "per_process_memory_fraction:0.5"});
    uint64_t a = bed_malloc(&bed, 30 * MIB, 1);
    CHECK_INT(bed_refused(&bed, 30 * MIB, 2), 30 * MIB);
    bed_give(&bed, a);
    bed_malloc(&bed, 30 * MIB, 2);
    CHECK_INT(bed_stats(&bed).num_alloc_retries, 2);
    bed_configure(&bed, "");
    CHECK_INT(bed_refused(&bed, 30 * MIB, 2), 30 * MIB);
    bed_end(&bed);
    bed_begin(&bed, &(struct bed_options){.capacity = 100 * MIB,
                                          .config = "per_process_memory_fraction:0"});
    CHECK_INT(bed_refused(&bed, 1, 0), 2 * MIB);
    bed_end(&bed);
}

/* As PyTorch 2.12 to 2.14 do: what the device could give, but not beside the cache. */
TEST(throwing_leaves_the_cache_alone)
{
    bed_begin(&bed, &(struct bed_options){.capacity = 40 * MIB,
                                          .config = "throw_on_cudamalloc_oom:True"});
    uint64_t a = bed_malloc(&bed, 30 * MIB, 1);
    bed_give(&bed, a);
    bed_forget(&bed);
    CHECK_INT(bed_refused(&bed, 30 * MIB, 2), 30 * MIB);
    struct alloc_stats stats = bed_stats(&bed);
    CHECK_INT(stats.num_alloc_retries, 0);
    CHECK_INT(stats.num_sync_all_streams, 0);
    CHECK_INT(stats.num_ooms, 0);
    CHECK_INT(stats.num_oom_rejections, 1);
    CHECK_INT(bed_counts(&bed).taken, 30 * MIB);
    CHECK_INT(bed_seen(&bed, ALLOC_EVENT_OOM), 0);
    bed_malloc(&bed, 10 * MIB, 2); /* 40 in all */
    CHECK_INT(bed_malloc(&bed, 30 * MIB, 1), a);
    bed_end(&bed);
}

/* The part in the settings is a limit, too, and that one is in the way first: the cache goes. */
TEST(a_limit_comes_before_throwing)
{
    bed_begin(&bed, &(struct bed_options){.capacity = 100 * MIB,
                                          .config = "per_process_memory_fraction:0.5,"
                                                    "throw_on_cudamalloc_oom:True"});
    bed_give(&bed, bed_malloc(&bed, 30 * MIB, 1));
    bed_give(&bed, bed_malloc(&bed, 30 * MIB, 2));
    CHECK_INT(bed_stats(&bed).num_alloc_retries, 1);
    CHECK_INT(bed_refused(&bed, 51 * MIB, 2), 52 * MIB);
    CHECK_INT(bed_stats(&bed).num_alloc_retries, 2);
    CHECK_INT(bed_stats(&bed).num_ooms, 1);
    CHECK_INT(bed_stats(&bed).num_oom_rejections, 0);
    /* The program takes the limit off, and the settings' part stays. */
    alloc_limit(bed.alloc, 0);
    bed_malloc(&bed, 31 * MIB, 1);
    CHECK_INT(bed_refused(&bed, 5 * MIB, 2), 20 * MIB); /* 32 and 20 */
    CHECK_INT(bed_stats(&bed).num_oom_rejections, 1);
    bed_end(&bed);
}

TEST(a_refusal_says_why)
{
    bed_begin(&bed, &(struct bed_options){.limit = 60 * MIB, .capacity = 100 * MIB});
    struct alloc_refusal refusal;
    uint64_t address;
    bed_malloc(&bed, 30 * MIB, 0);
    uint64_t a = bed_malloc(&bed, 2 * MIB, 0), b = bed_malloc(&bed, 3 * MIB, 0);
    bed_malloc(&bed, 11 * MIB, 0);
    bed_give(&bed, a);
    (void)b;
    CHECK_INT(alloc_malloc(bed.alloc, 11 * MIB - 7, 0, &address, &refusal), ERR_NOMEM);
    CHECK_INT(refusal.requested, 11 * MIB - 7);
    CHECK_INT(refusal.rounded, 11 * MIB);
    CHECK_INT(refusal.segment_size, 12 * MIB);
    CHECK_INT(refusal.allocated, 44 * MIB);
    CHECK_INT(refusal.reserved, 50 * MIB);
    CHECK_INT(refusal.largest_free, 4 * MIB);
    CHECK_INT(refusal.device_free, 50 * MIB);
    CHECK_INT(refusal.limit, 60 * MIB);
    alloc_limit(bed.alloc, 0);
    CHECK_INT(alloc_malloc(bed.alloc, 52 * MIB, 0, &address, &refusal), ERR_NOMEM);
    CHECK_INT(refusal.limit, 0);
    bed_end(&bed);
}

TEST(the_last_rung_gives_back_the_cache)
{
    bed_begin(&bed, &(struct bed_options){.capacity = 64 * MIB});
    uint64_t a = bed_malloc(&bed, 30 * MIB, 1), b = bed_malloc(&bed, 30 * MIB, 2);
    bed_give(&bed, a);
    bed_give(&bed, b);
    bed_forget(&bed);
    bed_malloc(&bed, 40 * MIB, 3); /* of another stream: both must go */
    CHECK_INT(bed_seen(&bed, ALLOC_EVENT_SEGMENT_FREE), 2);
    struct alloc_stats stats = bed_stats(&bed);
    CHECK_INT(stats.num_alloc_retries, 1);
    CHECK_INT(stats.num_ooms, 0);
    CHECK_INT(stats.num_device_free, 2);
    CHECK_INT(stats.segment[ALLOC_LARGE].current, 1);
    CHECK_INT(stats.segment[ALLOC_LARGE].freed, 2);
    bed_end(&bed);
}

/* A known peculiarity: what became free while the ladder waited is not looked at again. */
TEST(the_cache_is_not_searched_again)
{
    bed_begin(&bed, &(struct bed_options){.capacity = 20 * MIB, .manual = true});
    uint64_t a = bed_malloc(&bed, 8 * MIB, 1);
    bed_malloc(&bed, 8 * MIB, 1);
    bed_use(&bed, a, 2);
    bed_give(&bed, a);
    bed_refused(&bed, 8 * MIB, 1);
    CHECK_INT(bed_malloc(&bed, 8 * MIB, 1), a);
    bed_end(&bed);
}

TEST(a_begun_pool_ends_the_ladder_early)
{
    bed_begin(&bed, &(struct bed_options){.capacity = 64 * MIB});
    bed_give(&bed, bed_malloc(&bed, 40 * MIB, 1));
    CHECK_INT(alloc_pool_begin(bed.alloc, 1, NULL, NULL), BASE_OK);
    bed_refused(&bed, 40 * MIB, 1);
    CHECK_INT(bed_stats(&bed).num_alloc_retries, 0);
    CHECK_INT(bed_stats(&bed).num_ooms, 1);
    bed_empty(&bed); /* does nothing now */
    CHECK_STR(bed_picture(&bed), "41943040: free41943040;");
    CHECK_INT(alloc_pool_end(bed.alloc, 1), BASE_OK);
    bed_malloc(&bed, 40 * MIB + 1, 1);
    bed_end(&bed);
}

/* ---- max_split_size ---- */

TEST(oversize_blocks_are_neither_split_nor_lent)
{
    bed_begin(&bed, &(struct bed_options){.config = "max_split_size_mb:32"});
    uint64_t a = bed_malloc(&bed, 40 * MIB, 0);
    bed_give(&bed, a);
    uint64_t b = bed_malloc(&bed, 12 * MIB, 0); /* small enough to be split: not from a */
    CHECK(b != a);
    uint64_t c = bed_malloc(&bed, 32 * MIB, 0); /* 40 < 32 + 20: as it is */
    CHECK_INT(c, a);
    CHECK_INT(alloc_block_size(bed.alloc, c), 40 * MIB);
    CHECK_INT(bed_stats(&bed).oversize_allocations.current, 1);
    CHECK_INT(bed_stats(&bed).oversize_allocations.allocated, 2);
    CHECK_INT(bed_stats(&bed).oversize_segments.current, 1);
    bed_give(&bed, c);
    CHECK_INT(bed_stats(&bed).oversize_allocations.freed, 2);
    bed_give(&bed, bed_malloc(&bed, 60 * MIB, 0));
    CHECK_INT(bed_malloc(&bed, 40 * MIB, 0), a);
    uint64_t d = bed_malloc(&bed, 40 * MIB, 0); /* 60 is not below 40 + 20 */
    CHECK_INT(bed_stats(&bed).segment[ALLOC_LARGE].current, 4);
    bed_give(&bed, d);
    bed_end(&bed);
}

TEST(the_second_rung_takes_one_that_is_enough)
{
    bed_begin(&bed, &(struct bed_options){.config = "max_split_size_mb:32", .capacity = 200 * MIB});
    uint64_t a = bed_malloc(&bed, 50 * MIB, 0), b = bed_malloc(&bed, 64 * MIB, 0);
    uint64_t c = bed_malloc(&bed, 80 * MIB, 0);
    bed_give(&bed, a);
    bed_give(&bed, b);
    bed_give(&bed, c);
    bed_forget(&bed);
    bed_malloc(&bed, 12 * MIB, 0); /* needs 32: the smallest that is enough is a */
    CHECK_INT(bed_seen(&bed, ALLOC_EVENT_SEGMENT_FREE), 1);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_SEGMENT_FREE)->address, a);
    CHECK_INT(bed_stats(&bed).num_alloc_retries, 0);
    bed_end(&bed);
}

TEST(the_second_rung_sums_from_the_largest)
{
    bed_begin(&bed, &(struct bed_options){.config = "max_split_size_mb:32", .capacity = 160 * MIB});
    uint64_t a = bed_malloc(&bed, 40 * MIB, 0), b = bed_malloc(&bed, 50 * MIB, 0);
    uint64_t c = bed_malloc(&bed, 44 * MIB, 0), other = bed_malloc(&bed, 20 * MIB, 5);
    bed_give(&bed, a);
    bed_give(&bed, b);
    bed_give(&bed, c);
    bed_give(&bed, other);
    bed_forget(&bed);
    bed_malloc(&bed, 90 * MIB, 0);
    CHECK_INT(bed_seen(&bed, ALLOC_EVENT_SEGMENT_FREE), 2);
    CHECK_INT(bed.events[0].address, b);
    CHECK_INT(bed.events[1].address, c);
    CHECK_INT(bed_stats(&bed).num_alloc_retries, 0);
    CHECK_INT(bed_stats(&bed).oversize_segments.freed, 2);
    bed_end(&bed);
}

TEST(not_enough_on_the_second_rung)
{
    bed_begin(&bed, &(struct bed_options){.config = "max_split_size_mb:32", .capacity = 120 * MIB});
    uint64_t a = bed_malloc(&bed, 40 * MIB, 0), b = bed_malloc(&bed, 70 * MIB, 1);
    bed_give(&bed, a);
    bed_give(&bed, b);
    bed_forget(&bed);
    bed_malloc(&bed, 100 * MIB, 0); /* 40 are not enough, but gone; then the third rung */
    CHECK_INT(bed.events[0].address, a);
    CHECK_INT(bed.events[1].address, b);
    CHECK_INT(bed_stats(&bed).num_alloc_retries, 1);
    bed_end(&bed);
}

/* Settings that changed in between left a split block that is oversize now: its segment cannot go.
 */
TEST(a_split_block_stays)
{
    bed_begin(&bed, &(struct bed_options){.capacity = 110 * MIB});
    uint64_t a = bed_malloc(&bed, 100 * MIB, 0);
    bed_give(&bed, a);
    a = bed_malloc(&bed, 2 * MIB, 0);
    bed_configure(&bed, "max_split_size_mb:32");
    bed_refused(&bed, 12 * MIB, 0);
    CHECK_STR(bed_picture(&bed), "104857600: 2097152 free102760448;");
    bed_end(&bed);
}

/* ---- garbage collection ---- */

TEST(old_segments_are_collected)
{
    bed_begin(&bed, &(struct bed_options){.config = "garbage_collection_threshold:0.5",
                                          .limit = 100 * MIB});
    uint64_t a = bed_malloc(&bed, 30 * MIB, 0), b = bed_malloc(&bed, 24 * MIB, 0);
    uint64_t c = bed_malloc(&bed, 10 * MIB, 0);
    bed_give(&bed, a);
    for (int i = 0; i < 5; i++) /* a gets old */
        bed_give(&bed, bed_malloc(&bed, 2 * MIB, 1));
    bed_give(&bed, b);
    bed_forget(&bed);
    bed_malloc(&bed, 11 * MIB, 2); /* 84 > 50: a is older than the mean, b is not */
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_SEGMENT_FREE)->address, a);
    CHECK_INT(bed_seen(&bed, ALLOC_EVENT_SEGMENT_FREE), 2); /* and the free one of stream 1 */
    CHECK_INT(bed_stats(&bed).num_alloc_retries, 0);
    CHECK_INT(bed_stats(&bed).num_sync_all_streams, 0);
    (void)c;
    bed_end(&bed);
}

TEST(collection_needs_limit_and_threshold)
{
    bed_begin(&bed, &(struct bed_options){.config = "garbage_collection_threshold:0.1"});
    bed_give(&bed, bed_malloc(&bed, 30 * MIB, 0));
    bed_malloc(&bed, 30 * MIB, 1);
    CHECK_INT(bed_seen(&bed, ALLOC_EVENT_SEGMENT_FREE), 0);
    alloc_limit(bed.alloc, 1000 * MIB); /* 60 <= 100 */
    bed_malloc(&bed, 30 * MIB, 1);
    CHECK_INT(bed_seen(&bed, ALLOC_EVENT_SEGMENT_FREE), 0);
    alloc_limit(bed.alloc, 800 * MIB); /* 90 > 80 */
    bed_malloc(&bed, 30 * MIB, 1);
    CHECK_INT(bed_seen(&bed, ALLOC_EVENT_SEGMENT_FREE), 1);
    bed_end(&bed);
}

/* ---- troubles of the device ---- */

static struct alloc_device broken;
static int give_result, take_result;

static int give(void *self, uint64_t address, uint64_t bytes)
{
    return give_result ? give_result : virtual_seam(bed.device)->give(self, address, bytes);
}

static int take(void *self, uint64_t bytes, uint64_t stream, uint64_t *address)
{
    return take_result ? take_result : virtual_seam(bed.device)->take(self, bytes, stream, address);
}

TEST(other_errors_of_the_device_are_handed_on)
{
    bed_begin(&bed, &(struct bed_options){.capacity = 50 * MIB});
    broken = *virtual_seam(bed.device);
    broken.take = take;
    broken.give = give;
    struct alloc *alloc;
    uint64_t a, b;
    CHECK_INT(alloc_new(&alloc, &(struct alloc_options){.device = &broken}), BASE_OK);
    take_result = ERR_IO;
    CHECK_INT(alloc_malloc(alloc, 30 * MIB, 0, &a, NULL), ERR_IO);
    take_result = 0;
    CHECK_INT(alloc_malloc(alloc, 30 * MIB, 0, &a, NULL), BASE_OK);
    CHECK_INT(alloc_give(alloc, a), BASE_OK);
    give_result = ERR_CLOSED;
    CHECK_INT(alloc_malloc(alloc, 40 * MIB, 0, &b, NULL), ERR_CLOSED);
    CHECK_INT(alloc_empty_cache(alloc), ERR_CLOSED);
    CHECK(alloc_is_valid(alloc));
    give_result = 0;
    CHECK_INT(alloc_malloc(alloc, 40 * MIB, 0, &b, NULL), BASE_OK);
    CHECK(alloc_is_valid(alloc));
    alloc_delete(alloc);
    bed_end(&bed);
}

TEST_MAIN(TEST_CASE(the_limit_counts_whole_segments),
          TEST_CASE(the_limit_may_be_a_part_of_the_device),
          TEST_CASE(throwing_leaves_the_cache_alone), TEST_CASE(a_limit_comes_before_throwing),
          TEST_CASE(a_refusal_says_why), TEST_CASE(the_last_rung_gives_back_the_cache),
          TEST_CASE(the_cache_is_not_searched_again), TEST_CASE(a_begun_pool_ends_the_ladder_early),
          TEST_CASE(oversize_blocks_are_neither_split_nor_lent),
          TEST_CASE(the_second_rung_takes_one_that_is_enough),
          TEST_CASE(the_second_rung_sums_from_the_largest),
          TEST_CASE(not_enough_on_the_second_rung), TEST_CASE(a_split_block_stays),
          TEST_CASE(old_segments_are_collected), TEST_CASE(collection_needs_limit_and_threshold),
          TEST_CASE(other_errors_of_the_device_are_handed_on))
