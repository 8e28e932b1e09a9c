/* What the state tells of a run that goes on. */
#include <string.h>

#include "feed.h"
#include "meters.h"
#include "state_types.h"
#include "test.h"

#define MIB (INT64_C(1) << 20)

static struct rows rows;
static struct feed feed;
static struct meters meters;
static uint32_t heap;

static void begin(void)
{
    feed_begin(&feed, NULL, &rows);
    heap = feed_heap(&feed, DEVICE_CUDA, 0, 0);
}

static void end(void)
{
    meters_clear(&meters);
    feed_end(&feed, true);
    rows_clear(&rows);
}

static void look(void)
{
    state_meters(feed.state, &meters);
    CHECK(meters_are_valid(&meters));
}

static int64_t of_device(size_t value)
{
    look();
    for (size_t i = 0; i < meters.device_count; i++)
        if (strcmp(meters.devices[i].device, "cuda:0") == 0)
            return meters.devices[i].values[value];
    return METER_UNKNOWN;
}

static int64_t of_rank(size_t value)
{
    look();
    return meters.rank_count == 1 ? meters.ranks[0].values[value] : METER_UNKNOWN;
}

static int64_t of_phase(const char *name)
{
    look();
    for (size_t i = 0; i < meters.phase_count; i++)
        if (strcmp(meters.phases[i].phase, name) == 0)
            return meters.phases[i].peak;
    return METER_UNKNOWN;
}

TEST(nothing_is_known_before_it_was_reported)
{
    feed_begin(&feed, NULL, &rows);
    CHECK(of_device(METER_DEVICE_ALLOCATED) == METER_UNKNOWN);
    heap = feed_heap(&feed, DEVICE_CUDA, 0, 0);
    CHECK(of_rank(METER_RANK_STEP) == METER_UNKNOWN);
    CHECK_INT(of_rank(METER_RANK_PROCESSES), 1);
    feed_alloc(&feed, heap, 0x1000, 5 * MIB);
    CHECK_INT(of_device(METER_DEVICE_ALLOCATED), 5 * MIB);
    CHECK(of_device(METER_DEVICE_RESERVED) == METER_UNKNOWN);
    CHECK(of_device(METER_DEVICE_WAITING) == METER_UNKNOWN);
    CHECK(of_device(METER_DEVICE_STEP_PEAK) == METER_UNKNOWN);
    CHECK(of_device(METER_DEVICE_USED) == METER_UNKNOWN);
    CHECK(of_device(METER_DEVICE_TOTAL) == METER_UNKNOWN);
    CHECK_INT(of_device(METER_DEVICE_OOM), 0);
    end();
}

TEST(segments_samples_and_refusals)
{
    begin();
    feed_event(&feed, (struct event){.kind = EVENT_SEGMENT_ALLOC,
                                     .heap = heap & 0xffffff,
                                     .addr = 0x100000,
                                     .size = 20 * (uint64_t)MIB});
    feed_alloc(&feed, heap, 0x100000, 5 * MIB);
    CHECK_INT(of_device(METER_DEVICE_RESERVED), 20 * MIB);
    CHECK_INT(of_device(METER_DEVICE_SPLIT), 15 * MIB);
    feed_event(&feed, (struct event){.kind = EVENT_SAMPLE,
                                     .heap = heap & 0xffffff,
                                     .name = feed_string(&feed, "device used"),
                                     .a = 77});
    feed_event(&feed, (struct event){.kind = EVENT_SAMPLE,
                                     .heap = heap & 0xffffff,
                                     .name = feed_string(&feed, "device total"),
                                     .a = 99});
    CHECK_INT(of_device(METER_DEVICE_USED), 77);
    CHECK_INT(of_device(METER_DEVICE_TOTAL), 99);
    feed_event(&feed, (struct event){.kind = EVENT_OOM, .heap = heap & 0xffffff, .size = 50});
    CHECK_INT(of_device(METER_DEVICE_OOM), 1);
    CHECK_INT(of_device(METER_DEVICE_BLOCKS), 1);
    end();
}

/* The last step's figures are of what was inside of it, whole. */
TEST(a_step_has_its_own_peak)
{
    begin();
    feed_step(&feed, 0);
    feed_alloc(&feed, heap, 0x1000, 8 * MIB);
    feed_free(&feed, heap, 0x1000);
    feed_event(&feed, (struct event){.kind = EVENT_STEP_END});
    CHECK_INT(of_device(METER_DEVICE_STEP_PEAK), 8 * MIB);
    CHECK_INT(of_device(METER_DEVICE_STEP_LARGEST), 8 * MIB);
    feed_step(&feed, 1);
    feed_alloc(&feed, heap, 0x1000, 3 * MIB);
    feed_alloc(&feed, heap, 0x9000000, 2 * MIB);
    CHECK_INT(of_device(METER_DEVICE_STEP_PEAK), 8 * MIB); /* until it is over */
    CHECK_INT(of_rank(METER_RANK_STEP), 1);
    CHECK_INT(of_rank(METER_RANK_STEPS), 1);
    feed_event(&feed, (struct event){.kind = EVENT_STEP_END});
    CHECK_INT(of_device(METER_DEVICE_STEP_PEAK), 5 * MIB);
    CHECK_INT(of_device(METER_DEVICE_STEP_LARGEST), 3 * MIB);
    CHECK_INT(of_device(METER_DEVICE_MAX_ALLOCATED), 8 * MIB);
    CHECK_INT(of_rank(METER_RANK_STEPS), 2);
    end();
}

static void tell(enum history_action action, uint64_t address, uint64_t size)
{
    feed_event(&feed, (struct event){.kind = EVENT_HISTORY,
                                     .heap = heap & 0xffffff,
                                     .addr = address,
                                     .size = size,
                                     .a = feed.now,
                                     .b = action});
    CHECK(state_is_valid(feed.state));
}

/* Which is read as a step ends; in between, figures are those of then. */
TEST(an_allocators_history_says_what_was_requested_and_what_waits)
{
    begin();
    feed_event(&feed, (struct event){.kind = EVENT_MARK,
                                     .flags = EVENT_F_SETTING,
                                     .name = feed_string(&feed, "history=1")});
    feed_step(&feed, 0);
    feed_alloc(&feed, heap, 0x1000, 4096);
    CHECK(of_device(METER_DEVICE_REQUESTED) == METER_UNKNOWN);
    CHECK(of_device(METER_DEVICE_WAITING) == METER_UNKNOWN);
    tell(HISTORY_ALLOC, 0x1000, 4000);
    CHECK_INT(of_device(METER_DEVICE_REQUESTED), 4000);
    CHECK_INT(of_device(METER_DEVICE_WAITING), 0);
    feed_alloc(&feed, heap, 0x9000, 8192);
    CHECK_INT(of_device(METER_DEVICE_REQUESTED), 4000);
    feed_event(&feed, (struct event){.kind = EVENT_STEP_END});
    CHECK_INT(of_device(METER_DEVICE_REQUESTED), 4000);
    feed_step(&feed, 1); /* of which it says nothing */
    feed_event(&feed, (struct event){.kind = EVENT_STEP_END});
    CHECK(of_device(METER_DEVICE_REQUESTED) == METER_UNKNOWN);
    tell(HISTORY_ALLOC, 0x9000, 8000);
    CHECK_INT(of_device(METER_DEVICE_REQUESTED), 12000);
    feed_free(&feed, heap, 0x9000);
    tell(HISTORY_FREE, 0x9000, 8192);
    CHECK_INT(of_device(METER_DEVICE_WAITING), 0); /* the next entry may say that it is idle */
    feed_free(&feed, heap, 0x1000);
    tell(HISTORY_FREE, 0x1000, 4096);
    CHECK_INT(of_device(METER_DEVICE_WAITING), 8192);
    tell(HISTORY_IDLE, 0x1000, 4096);
    CHECK_INT(of_device(METER_DEVICE_WAITING), 8192);
    tell(HISTORY_IDLE, 0x9000, 8192);
    CHECK_INT(of_device(METER_DEVICE_WAITING), 0);
    end();
}

TEST(the_peak_of_a_phase)
{
    begin();
    uint32_t forward = feed_string(&feed, "forward");
    for (int64_t size = 3; size > 0; size--) { /* the first is the highest */
        feed_phase(&feed, forward);
        feed_alloc(&feed, heap, 0x1000, (uint64_t)(size * MIB));
        feed_free(&feed, heap, 0x1000);
        feed_phase_end(&feed, forward);
    }
    CHECK_INT(of_phase("forward"), 3 * MIB);
    end();
}

TEST(names_without_end_are_counted)
{
    begin();
    feed_alloc(&feed, heap, 0x1000, 1);
    for (int i = 0; i < PHASE_HIGHS + 5; i++) {
        char name[16] = "phase ";
        name[6] = (char)('A' + i / 26);
        name[7] = (char)('a' + i % 26);
        uint32_t id = feed_string(&feed, name);
        feed_phase(&feed, id);
        feed_phase_end(&feed, id);
    }
    look();
    CHECK_INT(meters.phase_count, PHASE_HIGHS);
    CHECK(meters.run[METER_RUN_LEFT_OUT] >= 5);
    end();
}

/* What has ended keeps its counts and its highest, and holds nothing. */
TEST(a_process_that_ended)
{
    struct feed other;
    struct state_end over = {.at_ns = FEED_START + 10000, .ended = "exit"};
    begin();
    feed_begin(&other, feed.state, &rows);
    uint32_t its = feed_heap(&other, DEVICE_CUDA, 0, 0);
    feed_alloc(&other, its, 0x1000, 9 * MIB);
    feed_alloc(&feed, heap, 0x1000, 4 * MIB);
    CHECK_INT(of_device(METER_DEVICE_ALLOCATED), 13 * MIB);
    CHECK_INT(of_rank(METER_RANK_PROCESSES), 2);
    state_process_end(other.process, &over);
    CHECK_INT(of_device(METER_DEVICE_ALLOCATED), 4 * MIB);
    CHECK_INT(of_device(METER_DEVICE_MAX_ALLOCATED), 9 * MIB);
    CHECK_INT(of_device(METER_DEVICE_BLOCKS), 2);
    CHECK_INT(of_rank(METER_RANK_PROCESSES), 1);
    end();
}

TEST(what_was_lost)
{
    struct state_loss loss = {.first_ns = FEED_START, .last_ns = FEED_START};
    begin();
    loss.by_kind[EVENT_BLOCK_ALLOC] = 3;
    loss.by_kind[EVENT_PHASE_END] = 4;
    state_lost(feed.process, &loss);
    CHECK_INT(of_rank(METER_RANK_LOST), 7);
    end();
}

TEST_MAIN(TEST_CASE(nothing_is_known_before_it_was_reported),
          TEST_CASE(segments_samples_and_refusals), TEST_CASE(a_step_has_its_own_peak),
          TEST_CASE(an_allocators_history_says_what_was_requested_and_what_waits),
          TEST_CASE(the_peak_of_a_phase), TEST_CASE(names_without_end_are_counted),
          TEST_CASE(a_process_that_ended), TEST_CASE(what_was_lost))
