/*
 * Our own memory fails, at each allocation in turn, once or for a while: every call says so or
 * succeeds, nothing is changed halfway, and afterwards all goes on.
 */
#include <string.h>

#include "bed.h"
#include "mem.h"

enum { EVENTS = 700, LIVE = 120 };

struct play {
    struct bed bed;
    uint64_t seed, address[LIVE];
    size_t live;
    bool begun;
    int failures;
};

static struct play play;

static uint64_t below(uint64_t bound)
{
    return test_random(&play.seed) % bound;
}

/* A call that must have changed nothing if it failed. */
static bool went_well(int err)
{
    if (err == BASE_OK)
        return true;
    CHECK_INT(err, ERR_NOMEM);
    play.failures++;
    return false;
}

static void take(void)
{
    struct alloc_refusal refusal;
    uint64_t address, bytes = below(4) ? 1 + below(100 * KIB) : 1 + below(30 * MIB);
    if (play.live == LIVE)
        return;
    int64_t ooms = bed_stats(&play.bed).num_ooms;
    if (went_well(alloc_malloc(play.bed.alloc, bytes, below(8), &address, &refusal)))
        play.address[play.live++] = address;
    else if (bed_stats(&play.bed).num_ooms == ooms)
        CHECK_INT(refusal.rounded, 0); /* not the device's fault */
}

static void divert(void)
{
    uint64_t id = 1 + below(40);
    if (play.begun) {
        CHECK_INT(alloc_pool_end(play.bed.alloc, 99), BASE_OK);
        CHECK_INT(alloc_pool_release(play.bed.alloc, 99), BASE_OK);
        play.begun = false;
    } else if (went_well(alloc_pool_begin(play.bed.alloc, id, NULL, NULL))) {
        CHECK_INT(alloc_pool_end(play.bed.alloc, id), BASE_OK);
        play.begun = went_well(alloc_pool_begin(play.bed.alloc, 99, NULL, NULL));
    }
}

static void adopt(void)
{
    uint64_t at = UINT64_C(0x100000000000) + below(1000) * 4 * MIB;
    struct alloc_block_view blocks[2] = {{at, 512, 5, ALLOC_LIVING},
                                         {at + 512, 2 * MIB - 512, 0, ALLOC_FREE}};
    struct alloc_segment_view view = {.address = at,
                                      .size = 2 * MIB,
                                      .stream = below(20),
                                      .pool = below(3) * 7,
                                      .small = true,
                                      .blocks = blocks,
                                      .block_count = 2};
    if (virtual_hold(play.bed.device, at, 2 * MIB, false) != BASE_OK)
        return;
    const struct alloc_device *seam = virtual_seam(play.bed.device);
    if (!went_well(alloc_adopt(play.bed.alloc, &view)))
        CHECK_INT(seam->give(seam->self, at, 2 * MIB), BASE_OK);
    else
        CHECK_INT(alloc_give(play.bed.alloc, at), BASE_OK);
}

static bool see(void *self, const struct alloc_segment_view *segment)
{
    ++*(size_t *)self;
    return segment->block_count > 0;
}

static void step(void)
{
    uint64_t r = below(100), at = play.live ? below(play.live) : 0;
    size_t seen = 0;
    if (r < 50)
        take();
    else if (r < 75 && play.live) { /* giving back takes no memory of ours */
        int err = alloc_give(play.bed.alloc, play.address[at]);
        CHECK(err == BASE_OK || (err == ERR_NOMEM && ++play.failures)); /* the device's event */
        play.address[at] = play.address[--play.live];
    } else if (r < 88 && play.live)
        went_well(alloc_record_stream(play.bed.alloc, play.address[at], below(30)));
    else if (r < 90)
        virtual_reach(play.bed.device, below(30), UINT64_MAX);
    else if (r < 92)
        went_well(alloc_empty_cache(play.bed.alloc));
    else if (r < 94)
        divert();
    else if (r < 97)
        adopt();
    else
        went_well(alloc_walk(play.bed.alloc, see, &seen));
}

/* Fails from the nth allocation on, for so many steps behind the first failure. */
static int run(long n, int steps, const char *config)
{
    memset(&play, 0, sizeof play);
    play.seed = 17;
    bed_begin(&play.bed,
              &(struct bed_options){.capacity = 300 * MIB, .manual = true, .config = config});
    alloc_delete(play.bed.alloc); /* without the observer's array it is the same, and quicker */
    struct alloc_config settings;
    alloc_config_default(&settings);
    CHECK_INT(alloc_config_parse(&settings, config, NULL, 0), BASE_OK);
    struct alloc_options options = {.device = virtual_seam(play.bed.device), .config = &settings};
    CHECK_INT(alloc_new(&play.bed.alloc, &options), BASE_OK);
    int until = EVENTS, ours = 0;
    mem_fail_after(n);
    for (int i = 0; i < EVENTS; i++) {
        int64_t ooms = bed_stats(&play.bed).num_ooms;
        int failures = play.failures;
        step();
        ours += play.failures - failures > bed_stats(&play.bed).num_ooms - ooms;
        if (ours && until == EVENTS)
            until = i + steps;
        if (i >= until)
            mem_fail_after(0);
        if (i % 20 == 0)
            REQUIRE(alloc_is_valid(play.bed.alloc));
    }
    mem_fail_after(0);
    bed_end(&play.bed);
    return ours;
}

/* In the short form, behind the first ten, each fourth. */
static void each_fails(int steps, const char *config)
{
    int clean = 0, failed = 0;
    const int enough = test_is_long() ? 30 : 8;
    for (long n = 1; clean < enough; n += test_is_long() || n < 10 ? 1 : 4) {
        bool some = run(n, steps, config) > 0;
        failed += some;
        clean = some ? 0 : clean + 1;
    }
    CHECK(failed > (test_is_long() ? 20 : 10));
}

TEST(each_allocation_fails_once)
{
    CHECK_INT(run(0, 0, ""), 0);
    each_fails(0, "");
}

TEST(each_allocation_fails_for_a_while)
{
    each_fails(40, "max_split_size_mb:20");
}

TEST(each_allocation_fails_with_pages)
{
    each_fails(3, "expandable_segments:True");
}

TEST(beginning_without_memory)
{
    struct alloc *alloc = NULL;
    struct virtual_device *device;
    REQUIRE(virtual_new(&device, &(struct virtual_options){.capacity = GIB}) == BASE_OK);
    for (long n = 1;; n++) {
        mem_fail_after(n);
        int err = alloc_new(&alloc, &(struct alloc_options){.device = virtual_seam(device)});
        mem_fail_after(0);
        if (err == BASE_OK) {
            CHECK(n > 2);
            break;
        }
        CHECK_INT(err, ERR_NOMEM);
        CHECK(alloc == NULL);
        REQUIRE(n < 20);
    }
    alloc_delete(alloc);
    alloc_delete(NULL);
    virtual_delete(device);
}

TEST_MAIN(TEST_CASE(each_allocation_fails_once), TEST_CASE(each_allocation_fails_for_a_while),
          TEST_CASE(each_allocation_fails_with_pages), TEST_CASE(beginning_without_memory))
