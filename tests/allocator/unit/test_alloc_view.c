/*
 * A heap looked at, and taken over: adopted segments count, are handed out from, merge, and go back
 * to the device like any others.
 */
#include <string.h>

#include "bed.h"

static struct bed bed;

#define AT (BED_BASE + 100 * MIB)

static int adopt(const struct alloc_segment_view *view)
{
    CHECK_INT(virtual_hold(bed.device, view->address, view->size, view->expandable), BASE_OK);
    for (size_t i = 0; i < view->block_count && view->expandable; i++) {
        const struct alloc_block_view *block = &view->blocks[i];
        const struct alloc_device *seam = virtual_seam(bed.device);
        if (block->state != ALLOC_UNMAPPED)
            CHECK_INT(seam->map(seam->self, block->address, block->size), BASE_OK);
    }
    int err = alloc_adopt(bed.alloc, view);
    REQUIRE(alloc_is_valid(bed.alloc));
    return err;
}

TEST(an_adopted_segment)
{
    static const struct alloc_block_view blocks[] = {
        {AT, 3 * MIB, 3 * MIB - 5, ALLOC_LIVING}, {AT + 3 * MIB, 2 * MIB, 0, ALLOC_FREE},
        {AT + 5 * MIB, 2 * MIB, 0, ALLOC_FREE}, /* joined with the one before */
        {AT + 7 * MIB, MIB, 77, ALLOC_AWAITING},  {AT + 8 * MIB, 12 * MIB, 0, ALLOC_FREE},
    };
    struct alloc_segment_view view = {
        .address = AT, .size = 20 * MIB, .stream = 4, .blocks = blocks, .block_count = 5};
    bed_begin(&bed, &(struct bed_options){0});
    CHECK_INT(adopt(&view), BASE_OK);
    CHECK_STR(bed_picture(&bed), "20971520: 3145728 free4194304 wait1048576 free12582912;");
    CHECK_INT(bed.event_count, 0);
    struct alloc_stats stats = bed_stats(&bed);
    CHECK_INT(stats.allocation[ALLOC_LARGE].current, 1);
    CHECK_INT(stats.allocated_bytes[ALLOC_LARGE].current, 3 * MIB);
    CHECK_INT(stats.active_bytes[ALLOC_LARGE].current, 4 * MIB);
    CHECK_INT(stats.requested_bytes[ALLOC_LARGE].current, 3 * MIB - 5 + 77);
    CHECK_INT(stats.segment[ALLOC_LARGE].current, 1);
    CHECK_INT(stats.reserved_bytes[ALLOC_LARGE].current, 20 * MIB);
    CHECK_INT(stats.inactive_split[ALLOC_LARGE].current, 2);
    CHECK_INT(stats.inactive_split_bytes[ALLOC_LARGE].current, 16 * MIB);
    CHECK_INT(stats.num_device_alloc, 1);
    CHECK_INT(bed_malloc(&bed, 4 * MIB, 4), AT + 3 * MIB);
    bed_give(&bed, AT);
    bed_give(&bed, AT + 3 * MIB);
    CHECK_INT(alloc_settle(bed.alloc, AT + 7 * MIB), BASE_OK);
    CHECK_STR(bed_picture(&bed), "20971520: free20971520;");
    bed_empty(&bed);
    CHECK_INT(bed_counts(&bed).taken, 0);
    bed_end(&bed);
}

TEST(an_adopted_expandable_segment)
{
    static const struct alloc_block_view blocks[] = {
        {AT, 512, 1, ALLOC_LIVING},
        {AT + 512, 2 * MIB - 512, 0, ALLOC_FREE},
        {AT + 2 * MIB, 4 * MIB, 0, ALLOC_UNMAPPED},
        {AT + 6 * MIB, 2 * MIB, 2 * MIB, ALLOC_LIVING},
        {AT + 8 * MIB, 2 * MIB, 0, ALLOC_UNMAPPED},
    };
    struct alloc_segment_view view = {.address = AT,
                                      .size = 10 * MIB,
                                      .small = true,
                                      .expandable = true,
                                      .blocks = blocks,
                                      .block_count = 5};
    bed_begin(&bed, &(struct bed_options){.config = "expandable_segments:True"});
    static const struct alloc_block_view pages[] = {{AT, 2 * MIB, 0, ALLOC_FREE},
                                                    {AT + 6 * MIB, 2 * MIB, 0, ALLOC_FREE}};
    const struct alloc_device *seam = virtual_seam(bed.device);
    CHECK_INT(virtual_hold(bed.device, AT, 10 * MIB, true), BASE_OK);
    for (int i = 0; i < 2; i++)
        CHECK_INT(seam->map(seam->self, pages[i].address, pages[i].size), BASE_OK);
    CHECK_INT(alloc_adopt(bed.alloc, &view), BASE_OK);
    REQUIRE(alloc_is_valid(bed.alloc));
    CHECK_INT(bed_stats(&bed).reserved_bytes[ALLOC_SMALL].current, 4 * MIB);
    CHECK_INT(bed_stats(&bed).segment[ALLOC_SMALL].current, 0);
    CHECK_INT(bed_stats(&bed).inactive_split[ALLOC_SMALL].current, 0);
    CHECK_INT(bed_malloc(&bed, MIB, 0), AT + 512);
    CHECK_INT(bed_malloc(&bed, MIB, 0), AT + 512 + MIB); /* MIB - 512 is there: a page is mapped */
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_MAP)->address, AT + 2 * MIB);
    bed_end(&bed);
}

TEST(an_adopted_segment_of_a_private_pool)
{
    static const struct alloc_block_view blocks[] = {{AT, 2 * MIB, 0, ALLOC_FREE}};
    struct alloc_segment_view view = {.address = AT,
                                      .size = 2 * MIB,
                                      .pool = 9,
                                      .small = true,
                                      .blocks = blocks,
                                      .block_count = 1};
    bed_begin(&bed, &(struct bed_options){0});
    CHECK_INT(adopt(&view), BASE_OK);
    bed_empty(&bed); /* the pool is in use */
    CHECK_STR(bed_picture(&bed), "2097152: free2097152;");
    CHECK_INT(alloc_pool_begin(bed.alloc, 9, NULL, NULL), BASE_OK);
    CHECK_INT(bed_malloc(&bed, 512, 0), AT);
    CHECK_INT(alloc_pool_end(bed.alloc, 9), BASE_OK);
    CHECK_INT(alloc_pool_release(bed.alloc, 9), BASE_OK);
    CHECK_INT(alloc_pool_release(bed.alloc, 9), BASE_OK);
    bed_give(&bed, AT);
    bed_empty(&bed);
    CHECK_STR(bed_picture(&bed), "");
    bed_end(&bed);
}

TEST(views_that_cannot_be)
{
    struct alloc_block_view blocks[2] = {{AT, 512, 0, ALLOC_FREE},
                                         {AT + 512, 2 * MIB - 512, 0, ALLOC_FREE}};
    struct alloc_segment_view good = {
        .address = AT, .size = 2 * MIB, .small = true, .blocks = blocks, .block_count = 2};
    bed_begin(&bed, &(struct bed_options){0});
    for (int i = 0; i < 11; i++) {
        struct alloc_segment_view view = good;
        struct alloc_block_view first = blocks[0], second = blocks[1];
        switch (i) {
        case 0:
            view.block_count = 1;
            break;
        case 1:
            blocks[1].address += 512;
            break;
        case 2:
            blocks[0].size = 0;
            break;
        case 3:
            blocks[0].size = 100;
            blocks[1].address = AT + 100;
            break;
        case 4:
            blocks[0].state = ALLOC_UNMAPPED;
            break;
        case 5:
            blocks[0].state = ALLOC_LIVING;
            blocks[0].requested = 513;
            break;
        case 6:
            blocks[0].state = (enum alloc_block_state)9;
            break;
        case 7:
            view.size = 0;
            break;
        case 10: /* around all addresses, and back to where it ends */
            blocks[0].size = 0 - UINT64_C(1024);
            blocks[1].address = AT - 1024;
            blocks[1].size = view.size + 1024;
            break;
        case 8:
            view.size = ALLOC_MAX_REQUEST;
            break;
        default:
            view.expandable = true;
            blocks[0].state = ALLOC_UNMAPPED; /* 512 bytes are no page */
            break;
        }
        CHECK_INT(alloc_adopt(bed.alloc, &view), ERR_ARG);
        blocks[0] = first;
        blocks[1] = second;
    }
    CHECK_INT(adopt(&good), BASE_OK);
    CHECK_INT(alloc_adopt(bed.alloc, &good), ERR_ARG); /* it is there already */
    bed_end(&bed);
}

struct order {
    uint64_t last;
    int seen, stop_after;
};

static bool see(void *self, const struct alloc_segment_view *segment)
{
    struct order *order = self;
    CHECK(segment->address > order->last);
    order->last = segment->address;
    return ++order->seen != order->stop_after;
}

TEST(a_walk_is_in_order_and_ends_early)
{
    bed_begin(&bed, &(struct bed_options){0});
    for (uint64_t stream = 0; stream < 9; stream++)
        bed_malloc(&bed, stream % 2 ? 512 : 3 * MIB, 9 - stream);
    struct order order = {0};
    CHECK_INT(alloc_walk(bed.alloc, see, &order), BASE_OK);
    CHECK_INT(order.seen, 9);
    order = (struct order){.stop_after = 4};
    CHECK_INT(alloc_walk(bed.alloc, see, &order), BASE_OK);
    CHECK_INT(order.seen, 4);
    bed_end(&bed);
}

TEST_MAIN(TEST_CASE(an_adopted_segment), TEST_CASE(an_adopted_expandable_segment),
          TEST_CASE(an_adopted_segment_of_a_private_pool), TEST_CASE(views_that_cannot_be),
          TEST_CASE(a_walk_is_in_order_and_ends_early))
