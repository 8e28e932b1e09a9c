/*
 * Random requests, frees, streams, settings and limits: whatever comes, all structures stay valid,
 * no two blocks overlap, and at the end the device has everything back. (What addresses come out is
 * compared in model/.)
 */
#include <string.h>

#include "bed.h"

enum { LIVE = 300, STEPS = 6000 };

struct play {
    struct bed bed;
    uint64_t seed;
    uint64_t address[LIVE];
    size_t live;
    uint64_t begun;
};

static uint64_t below(struct play *play, uint64_t bound)
{
    return test_random(&play->seed) % bound;
}

static uint64_t some_size(struct play *play)
{
    switch (below(play, 6)) {
    case 0:
        return 1 + below(play, 4096);
    case 1:
        return 1 + below(play, MIB + 4096);
    case 2:
        return MIB + below(play, 10 * MIB);
    case 3:
        return 10 * MIB + below(play, 60 * MIB);
    default:
        return 512 * (1 + below(play, 64));
    }
}

static void take(struct play *play)
{
    uint64_t address;
    if (play->live == LIVE)
        return;
    int err = alloc_malloc(play->bed.alloc, some_size(play), below(play, 3), &address, NULL);
    CHECK(err == BASE_OK || err == ERR_NOMEM);
    if (err == BASE_OK)
        play->address[play->live++] = address;
}

static void give(struct play *play)
{
    if (!play->live)
        return;
    size_t at = below(play, play->live);
    int err = below(play, 20) ? alloc_give(play->bed.alloc, play->address[at])
                              : alloc_give_awaiting(play->bed.alloc, play->address[at]);
    CHECK_INT(err, BASE_OK);
    play->address[at] = play->address[--play->live];
}

static bool settle_one(void *self, const struct alloc_segment_view *segment)
{
    uint64_t *address = self;
    for (size_t i = 0; i < segment->block_count; i++) {
        if (segment->blocks[i].state == ALLOC_AWAITING)
            *address = segment->blocks[i].address;
    }
    return *address == 0;
}

static void settle(struct play *play)
{
    uint64_t address = 0;
    CHECK_INT(alloc_walk(play->bed.alloc, settle_one, &address), BASE_OK);
    if (address)
        CHECK_INT(alloc_settle(play->bed.alloc, address), BASE_OK);
}

static void configure(struct play *play)
{
    static const char *const configs[] = {
        "",
        "max_split_size_mb:20",
        "max_split_size_mb:32,garbage_collection_threshold:0.6",
        "expandable_segments:True",
        "roundup_power2_divisions:[1:8,2:4,64:2,>:1]",
        "expandable_segments:True,large_segment_size_mb:32",
        "garbage_collection_threshold:0.3",
    };
    struct alloc_config config = {0};
    CHECK_INT(alloc_config_parse(&config, configs[below(play, sizeof configs / sizeof *configs)],
                                 NULL, 0),
              BASE_OK);
    CHECK_INT(alloc_configure(play->bed.alloc, &config), BASE_OK);
    alloc_limit(play->bed.alloc, below(play, 3) ? 0 : 200 * MIB + below(play, GIB));
}

static bool odd_streams(void *self, uint64_t stream)
{
    (void)self;
    return stream % 2;
}

static void divert(struct play *play)
{
    if (play->begun) {
        CHECK_INT(alloc_pool_end(play->bed.alloc, play->begun), BASE_OK);
        CHECK_INT(alloc_pool_release(play->bed.alloc, play->begun), BASE_OK);
        play->begun = 0;
        return;
    }
    play->begun = 1 + below(play, 3);
    CHECK_INT(
        alloc_pool_begin(play->bed.alloc, play->begun, below(play, 2) ? odd_streams : NULL, NULL),
        BASE_OK);
}

static void step(struct play *play)
{
    uint64_t r = below(play, 400);
    if (r < 180)
        take(play);
    else if (r < 340)
        give(play);
    else if (r < 370 && play->live)
        CHECK_INT(alloc_record_stream(play->bed.alloc, play->address[below(play, play->live)],
                                      below(play, 4)),
                  BASE_OK);
    else if (r < 385)
        virtual_reach(play->bed.device, below(play, 4), 1 + below(play, 5));
    else if (r < 390)
        settle(play);
    else if (r < 393)
        divert(play);
    else if (r < 394)
        CHECK_INT(alloc_empty_cache(play->bed.alloc), BASE_OK);
    else if (r < 396)
        configure(play);
    else if (r < 397)
        alloc_reset_accumulated(play->bed.alloc);
    else if (r < 398)
        alloc_reset_peaks(play->bed.alloc);
}

static void play_game(uint64_t seed, unsigned flags)
{
    static struct play play;
    memset(&play, 0, sizeof play);
    play.seed = seed;
    bed_begin(&play.bed,
              &(struct bed_options){.capacity = 2 * GIB, .manual = true, .flags = flags});
    for (int i = 0; i < STEPS; i++) {
        step(&play);
        if (i % 16 == 0) {
            REQUIRE(alloc_is_valid(play.bed.alloc));
            REQUIRE(virtual_is_valid(play.bed.device));
        }
    }
    struct alloc_stats stats = bed_stats(&play.bed);
    CHECK_INT(stats.allocation[ALLOC_ALL].current, play.live);
    CHECK_INT(stats.reserved_bytes[ALLOC_ALL].current, bed_counts(&play.bed).taken);
    bed_end(&play.bed);
}

TEST(random_games)
{
    for (uint64_t seed = 1; seed <= 12; seed++)
        play_game(seed, seed % 2 ? ALLOC_ONE_THREAD : 0);
}

TEST_MAIN(TEST_CASE(random_games))
