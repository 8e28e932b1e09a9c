/*
 * Blocks that other streams use: what waits and until when, what a begun pool puts off, and devices
 * that fail in the middle of it.
 */
#include <string.h>

#include "bed.h"

static struct bed bed;

static void begin(void)
{
    bed_begin(&bed, &(struct bed_options){.manual = true});
}

TEST(a_free_waits_for_the_other_stream)
{
    begin();
    uint64_t a = bed_malloc(&bed, 1000, 1);
    bed_use(&bed, a, 2);
    bed_use(&bed, a, 2);
    bed_forget(&bed);
    bed_give(&bed, a);
    CHECK_INT(bed_counts(&bed).events, 1);
    CHECK(bed_last(&bed, ALLOC_EVENT_FREE)->waits);
    struct alloc_stats stats = bed_stats(&bed);
    CHECK_INT(stats.allocation[ALLOC_ALL].current, 0);
    CHECK_INT(stats.allocated_bytes[ALLOC_ALL].current, 0);
    CHECK_INT(stats.active[ALLOC_ALL].current, 1);
    CHECK_INT(stats.active_bytes[ALLOC_ALL].current, 1024);
    CHECK_INT(stats.requested_bytes[ALLOC_ALL].current, 1000);
    CHECK_STR(bed_picture(&bed), "2097152: wait1024 free2096128;");
    CHECK_INT(alloc_give(bed.alloc, a), ERR_NOTFOUND);
    CHECK_INT(alloc_record_stream(bed.alloc, a, 3), ERR_NOTFOUND);
    CHECK_INT(alloc_block_size(bed.alloc, a), 0);
    uint64_t b = bed_malloc(&bed, 1000, 1);
    CHECK_INT(b, a + 1024);
    CHECK_INT(bed_seen(&bed, ALLOC_EVENT_IDLE), 0);
    virtual_reach(bed.device, 2, 1);
    uint64_t c = bed_malloc(&bed, 1000, 1);
    CHECK_INT(c, a);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_IDLE)->address, a);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_IDLE)->requested, 1000);
    CHECK_INT(bed_counts(&bed).events, 0);
    bed_end(&bed);
}

TEST(its_own_stream_is_no_other)
{
    begin();
    uint64_t a = bed_malloc(&bed, 512, 1);
    bed_use(&bed, a, 1);
    bed_give(&bed, a);
    CHECK_INT(bed_stats(&bed).active[ALLOC_ALL].current, 0);
    CHECK_INT(bed_counts(&bed).events, 0);
    CHECK_INT(alloc_record_stream(bed.alloc, a, 2), ERR_NOTFOUND);
    bed_end(&bed);
}

TEST(several_streams_all_must_be_done)
{
    begin();
    uint64_t a = bed_malloc(&bed, 512, 1);
    for (uint64_t stream = 2; stream < 6; stream++)
        bed_use(&bed, a, stream);
    bed_give(&bed, a);
    CHECK_INT(bed_counts(&bed).events, 4);
    for (uint64_t stream = 5; stream >= 2; stream--) {
        CHECK_INT(bed_stats(&bed).active[ALLOC_ALL].current, 1);
        virtual_reach(bed.device, stream, 1);
        bed_give(&bed, bed_malloc(&bed, 2 * MIB, 9));
    }
    CHECK_INT(bed_stats(&bed).active[ALLOC_ALL].current, 0);
    bed_end(&bed);
}

TEST(a_queue_goes_in_order)
{
    begin();
    uint64_t at[4];
    for (int i = 0; i < 4; i++) {
        at[i] = bed_malloc(&bed, 512, 1);
        bed_use(&bed, at[i], 2);
    }
    bed_use(&bed, at[1], 3);
    for (int i = 0; i < 4; i++)
        bed_give(&bed, at[i]);
    virtual_reach(bed.device, 2, 3);
    bed_forget(&bed);
    CHECK_INT(bed_malloc(&bed, 512, 1), at[0]);
    CHECK_INT(bed_seen(&bed, ALLOC_EVENT_IDLE), 2); /* 0 and 2; 1 waits for stream 3 */
    CHECK_STR(bed_picture(&bed), "2097152: 512 wait512 free512 wait512 free2095104;");
    virtual_reach(bed.device, 3, 1);
    CHECK_INT(bed_malloc(&bed, 1024, 1), at[1]);
    bed_end(&bed);
}

TEST(awaiting_blocks_do_not_merge)
{
    begin();
    uint64_t a = bed_malloc(&bed, 512, 1), b = bed_malloc(&bed, 512, 1);
    bed_use(&bed, b, 2);
    bed_give(&bed, b);
    bed_give(&bed, a);
    CHECK_STR(bed_picture(&bed), "2097152: free512 wait512 free2096128;");
    CHECK_INT(bed_stats(&bed).inactive_split[ALLOC_ALL].current, 2);
    bed_empty(&bed); /* waits for all */
    CHECK_STR(bed_picture(&bed), "");
    CHECK_INT(bed_stats(&bed).num_sync_all_streams, 1);
    CHECK_INT(bed_stats(&bed).segment[ALLOC_ALL].current, 0);
    bed_end(&bed);
}

TEST(no_event_is_asked_while_a_pool_is_begun)
{
    begin();
    uint64_t a = bed_malloc(&bed, 512, 1), b = bed_malloc(&bed, 512, 1);
    bed_use(&bed, a, 2);
    bed_use(&bed, b, 2);
    bed_give(&bed, a);
    CHECK_INT(alloc_pool_begin(bed.alloc, 7, NULL, NULL), BASE_OK);
    bed_give(&bed, b); /* deferred: no event yet */
    CHECK_INT(bed_counts(&bed).events, 1);
    virtual_reach(bed.device, 2, UINT64_MAX);
    bed_malloc(&bed, 512, 1);
    CHECK_INT(bed_stats(&bed).active[ALLOC_ALL].current, 3);
    CHECK_INT(alloc_pool_end(bed.alloc, 7), BASE_OK);
    uint64_t c = bed_malloc(&bed, 512, 1);
    CHECK_INT(c, a);
    CHECK_INT(bed_counts(&bed).events, 1); /* b's, recorded now */
    virtual_reach(bed.device, 2, UINT64_MAX);
    CHECK_INT(bed_malloc(&bed, 512, 1), b);
    bed_end(&bed);
}

TEST(settling_by_hand)
{
    begin();
    uint64_t at[4];
    for (int i = 0; i < 4; i++)
        at[i] = bed_malloc(&bed, 512, 1);
    CHECK_INT(alloc_settle(bed.alloc, at[0]), ERR_NOTFOUND);
    bed_use(&bed, at[0], 2);
    CHECK_INT(alloc_give_awaiting(bed.alloc, at[0]), BASE_OK);
    CHECK_INT(alloc_give_awaiting(bed.alloc, at[0]), ERR_NOTFOUND);
    CHECK_INT(bed_counts(&bed).events, 0);
    bed_malloc(&bed, 512, 1);
    CHECK_INT(bed_stats(&bed).active[ALLOC_ALL].current, 5);
    CHECK_INT(alloc_settle(bed.alloc, at[0]), BASE_OK);
    CHECK_INT(bed_malloc(&bed, 512, 1), at[0]);
    /* one with events, in the middle of a queue */
    for (int i = 1; i < 4; i++) {
        bed_use(&bed, at[i], 2);
        bed_use(&bed, at[i], 3);
        bed_give(&bed, at[i]);
    }
    CHECK_INT(alloc_settle(bed.alloc, at[2]), BASE_OK);
    REQUIRE(alloc_is_valid(bed.alloc));
    CHECK_INT(bed_counts(&bed).events, 4);
    CHECK_INT(alloc_settle(bed.alloc, at[3]), BASE_OK);
    REQUIRE(alloc_is_valid(bed.alloc));
    virtual_reach(bed.device, 2, UINT64_MAX);
    virtual_reach(bed.device, 3, UINT64_MAX);
    CHECK_INT(bed_malloc(&bed, 1536, 1), at[1]);
    /* and one that is deferred */
    CHECK_INT(alloc_pool_begin(bed.alloc, 7, NULL, NULL), BASE_OK);
    uint64_t b[3];
    for (int i = 0; i < 3; i++) {
        b[i] = bed_malloc(&bed, 512, 1);
        bed_use(&bed, b[i], 2);
        bed_give(&bed, b[i]);
    }
    CHECK_INT(alloc_settle(bed.alloc, b[1]), BASE_OK);
    REQUIRE(alloc_is_valid(bed.alloc));
    CHECK_INT(alloc_settle(bed.alloc, b[2]), BASE_OK);
    CHECK_INT(alloc_settle(bed.alloc, b[0]), BASE_OK);
    CHECK_INT(alloc_pool_end(bed.alloc, 7), BASE_OK);
    bed_end(&bed);
}

/* ---- a device whose streams fail ---- */

static struct alloc_device broken;
static int record_result, query_result;

static int record(void *self, uint64_t stream, uint64_t *event)
{
    const struct alloc_device *real = virtual_seam(bed.device);
    return record_result ? record_result : real->event_record(self, stream, event);
}

static int query(void *self, uint64_t event)
{
    const struct alloc_device *real = virtual_seam(bed.device);
    return query_result ? query_result : real->event_query(self, event);
}

TEST(a_device_that_records_no_event)
{
    begin();
    broken = *virtual_seam(bed.device);
    broken.event_record = record;
    broken.event_query = query;
    struct alloc *alloc;
    uint64_t a, b;
    CHECK_INT(alloc_new(&alloc, &(struct alloc_options){.device = &broken}), BASE_OK);
    CHECK_INT(alloc_malloc(alloc, 512, 1, &a, NULL), BASE_OK);
    CHECK_INT(alloc_record_stream(alloc, a, 2), BASE_OK);
    CHECK_INT(alloc_record_stream(alloc, a, 3), BASE_OK);
    record_result = ERR_IO;
    CHECK_INT(alloc_give(alloc, a), ERR_IO); /* given back, and waiting */
    CHECK(alloc_is_valid(alloc));
    CHECK_INT(alloc_give(alloc, a), ERR_NOTFOUND);
    CHECK_INT(alloc_malloc(alloc, 512, 1, &b, NULL), ERR_IO);
    CHECK(alloc_is_valid(alloc));
    record_result = 0;
    query_result = ERR_CLOSED;
    CHECK_INT(alloc_malloc(alloc, 512, 1, &b, NULL), ERR_CLOSED);
    CHECK_INT(b, 0);
    CHECK(alloc_is_valid(alloc));
    query_result = 0;
    virtual_reach(bed.device, 2, 1);
    virtual_reach(bed.device, 3, 1);
    CHECK_INT(alloc_malloc(alloc, 512, 1, &b, NULL), BASE_OK);
    CHECK_INT(a, b);
    alloc_delete(alloc);
    bed_end(&bed);
}

TEST(an_end_with_blocks_that_wait)
{
    begin();
    uint64_t a = bed_malloc(&bed, 512, 1), b = bed_malloc(&bed, 30 * MIB, 1);
    bed_use(&bed, a, 2);
    bed_use(&bed, b, 2);
    bed_give(&bed, a);
    bed_end(&bed);
}

TEST_MAIN(TEST_CASE(a_free_waits_for_the_other_stream), TEST_CASE(its_own_stream_is_no_other),
          TEST_CASE(several_streams_all_must_be_done), TEST_CASE(a_queue_goes_in_order),
          TEST_CASE(awaiting_blocks_do_not_merge),
          TEST_CASE(no_event_is_asked_while_a_pool_is_begun), TEST_CASE(settling_by_hand),
          TEST_CASE(a_device_that_records_no_event), TEST_CASE(an_end_with_blocks_that_wait))
