/*
 * Private pools: which requests they get, how long they keep what they have, and misuse.
 */
#include "bed.h"

static struct bed bed;

static bool only(void *self, uint64_t stream)
{
    return stream == *(uint64_t *)self;
}

TEST(requests_of_a_begun_pool)
{
    uint64_t seven = 7;
    bed_begin(&bed, &(struct bed_options){0});
    uint64_t a = bed_malloc(&bed, 512, 7);
    bed_give(&bed, a);
    CHECK_INT(alloc_pool_begin(bed.alloc, 5, only, &seven), BASE_OK);
    uint64_t b = bed_malloc(&bed, 512, 7);
    CHECK(b != a);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_ALLOC)->pool, 5);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_SEGMENT_ALLOC)->pool, 5);
    uint64_t c = bed_malloc(&bed, 512, 8);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_ALLOC)->pool, 0);
    CHECK_INT(alloc_pool_end(bed.alloc, 5), BASE_OK);
    CHECK_INT(bed_malloc(&bed, 512, 7), a);
    CHECK_INT(alloc_pool_begin(bed.alloc, 5, NULL, NULL), BASE_OK);
    CHECK_INT(bed_malloc(&bed, 512, 7), b + 512);
    CHECK(bed_malloc(&bed, 512, 8) != c + 512);
    CHECK_INT(bed_stats(&bed).segment[ALLOC_SMALL].current, 4);
    bed_end(&bed);
}

TEST(the_newest_diversion_is_asked_first)
{
    uint64_t one = 1;
    bed_begin(&bed, &(struct bed_options){0});
    CHECK_INT(alloc_pool_begin(bed.alloc, 10, NULL, NULL), BASE_OK);
    CHECK_INT(alloc_pool_begin(bed.alloc, 11, only, &one), BASE_OK);
    bed_malloc(&bed, 512, 1);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_ALLOC)->pool, 11);
    bed_malloc(&bed, 512, 2);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_ALLOC)->pool, 10);
    CHECK_INT(alloc_pool_end(bed.alloc, 10), BASE_OK);
    bed_malloc(&bed, 512, 2);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_ALLOC)->pool, 0);
    bed_malloc(&bed, 512, 1);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_ALLOC)->pool, 11);
    bed_end(&bed);
}

TEST(its_segments_stay_until_nobody_uses_it)
{
    bed_begin(&bed, &(struct bed_options){0});
    for (int i = 0; i < 2; i++) {
        CHECK_INT(alloc_pool_begin(bed.alloc, 5, NULL, NULL), BASE_OK);
        CHECK_INT(alloc_pool_end(bed.alloc, 5), BASE_OK);
    }
    CHECK_INT(alloc_pool_begin(bed.alloc, 5, NULL, NULL), BASE_OK);
    uint64_t a = bed_malloc(&bed, 30 * MIB, 0), b = bed_malloc(&bed, 512, 0);
    CHECK_INT(alloc_pool_end(bed.alloc, 5), BASE_OK);
    bed_give(&bed, a);
    for (int i = 0; i < 3; i++) {
        bed_empty(&bed);
        CHECK_INT(bed_stats(&bed).segment[ALLOC_ALL].current, 2);
        CHECK_INT(alloc_pool_release(bed.alloc, 5), BASE_OK);
    }
    CHECK_INT(alloc_pool_release(bed.alloc, 5), ERR_NOTFOUND);
    bed_empty(&bed);
    CHECK_INT(bed_stats(&bed).segment[ALLOC_ALL].current, 1); /* b lives in it */
    bed_give(&bed, b);
    bed_empty(&bed);
    CHECK_INT(bed_stats(&bed).segment[ALLOC_ALL].current, 0);
    CHECK_INT(alloc_pool_begin(bed.alloc, 5, NULL, NULL), BASE_OK); /* a new one */
    bed_malloc(&bed, 512, 0);
    CHECK_INT(alloc_pool_end(bed.alloc, 5), BASE_OK);
    bed_end(&bed);
}

TEST(a_pool_that_is_begun_again_is_in_use_again)
{
    bed_begin(&bed, &(struct bed_options){0});
    CHECK_INT(alloc_pool_begin(bed.alloc, 5, NULL, NULL), BASE_OK);
    uint64_t a = bed_malloc(&bed, 512, 0);
    CHECK_INT(alloc_pool_end(bed.alloc, 5), BASE_OK);
    CHECK_INT(alloc_pool_release(bed.alloc, 5), BASE_OK);
    CHECK_INT(alloc_pool_begin(bed.alloc, 5, NULL, NULL), BASE_OK);
    CHECK_INT(bed_malloc(&bed, 512, 0), a + 512);
    CHECK_INT(alloc_pool_end(bed.alloc, 5), BASE_OK);
    bed_end(&bed);
}

TEST(released_while_begun)
{
    bed_begin(&bed, &(struct bed_options){0});
    CHECK_INT(alloc_pool_begin(bed.alloc, 5, NULL, NULL), BASE_OK);
    CHECK_INT(alloc_pool_release(bed.alloc, 5), BASE_OK);
    bed_give(&bed, bed_malloc(&bed, 512, 0));
    bed_empty(&bed); /* pools that nobody uses are emptied even now */
    CHECK_INT(bed_stats(&bed).segment[ALLOC_ALL].current, 0);
    bed_malloc(&bed, 512, 0);
    CHECK_INT(bed_last(&bed, ALLOC_EVENT_ALLOC)->pool, 5);
    CHECK_INT(alloc_pool_end(bed.alloc, 5), BASE_OK);
    bed_end(&bed);
}

TEST(pages_of_a_private_pool)
{
    bed_begin(&bed,
              &(struct bed_options){.config = "expandable_segments:True", .capacity = 64 * MIB});
    CHECK_INT(alloc_pool_begin(bed.alloc, 5, NULL, NULL), BASE_OK);
    bed_refused(&bed, 70 * MIB, 0); /* leaves a range without a page */
    uint64_t a = bed_malloc(&bed, 5 * MIB, 3);
    CHECK_INT(alloc_pool_end(bed.alloc, 5), BASE_OK);
    CHECK_INT(alloc_pool_release(bed.alloc, 5), BASE_OK);
    bed_give(&bed, a);
    bed_empty(&bed);
    CHECK_INT(bed_counts(&bed).reserved, 0);
    CHECK_STR(bed_picture(&bed), "");
    bed_end(&bed);
}

TEST(many_pools_use_the_same_places)
{
    bed_begin(&bed, &(struct bed_options){0});
    for (uint64_t id = 1; id < 60; id++) {
        CHECK_INT(alloc_pool_begin(bed.alloc, id, NULL, NULL), BASE_OK);
        uint64_t a = bed_malloc(&bed, 512, id), b = bed_malloc(&bed, 3 * MIB, id);
        CHECK_INT(a, BED_BASE);
        CHECK_INT(alloc_pool_end(bed.alloc, id), BASE_OK);
        CHECK_INT(alloc_pool_release(bed.alloc, id), BASE_OK);
        bed_give(&bed, a);
        bed_give(&bed, b);
        bed_empty(&bed);
    }
    bed_end(&bed);
}

TEST(misuse)
{
    bed_begin(&bed, &(struct bed_options){0});
    CHECK_INT(alloc_pool_begin(bed.alloc, 0, NULL, NULL), ERR_ARG);
    CHECK_INT(alloc_pool_end(bed.alloc, 0), ERR_NOTFOUND);
    CHECK_INT(alloc_pool_release(bed.alloc, 0), ERR_NOTFOUND);
    CHECK_INT(alloc_pool_end(bed.alloc, 3), ERR_NOTFOUND);
    CHECK_INT(alloc_pool_release(bed.alloc, 3), ERR_NOTFOUND);
    CHECK_INT(alloc_pool_begin(bed.alloc, 3, NULL, NULL), BASE_OK);
    CHECK_INT(alloc_pool_begin(bed.alloc, 3, NULL, NULL), ERR_EXISTS);
    CHECK_INT(alloc_pool_end(bed.alloc, 3), BASE_OK);
    CHECK_INT(alloc_pool_end(bed.alloc, 3), ERR_NOTFOUND);
    CHECK_INT(alloc_pool_release(bed.alloc, 3), BASE_OK);
    CHECK_INT(alloc_pool_release(bed.alloc, 3), ERR_NOTFOUND);
    bed_end(&bed);
}

TEST_MAIN(TEST_CASE(requests_of_a_begun_pool), TEST_CASE(the_newest_diversion_is_asked_first),
          TEST_CASE(its_segments_stay_until_nobody_uses_it),
          TEST_CASE(a_pool_that_is_begun_again_is_in_use_again), TEST_CASE(released_while_begun),
          TEST_CASE(pages_of_a_private_pool), TEST_CASE(many_pools_use_the_same_places),
          TEST_CASE(misuse))
