/* What the driver did, told behind the blocks that lie in it. */
#include "feed.h"
#include "state_types.h"
#include "test.h"

#define MIB ((uint64_t)1 << 20)
#define AT 0x7f0000000000ull

static struct rows rows;
static struct feed feed;
static uint32_t heap, forward, call;

static void begin(void)
{
    feed_begin(&feed, NULL, &rows);
    forward = feed_string(&feed, "forward");
    call = feed_string(&feed, "memory record");
    heap = feed_heap(&feed, DEVICE_CUDA, 0, 0);
}

static int64_t send(struct event event)
{
    int64_t seq = feed_event(&feed, event);
    CHECK(state_is_valid(feed.state));
    return seq;
}

static int64_t driver_takes(unsigned kind, uint64_t address, uint64_t size, uint8_t flags)
{
    return send((struct event){.kind = EVENT_DRIVER_ALLOC,
                               .flags = flags,
                               .heap = heap & 0xffffff,
                               .name = call,
                               .addr = address,
                               .size = size,
                               .a = kind});
}

static int64_t driver_gives(unsigned kind, uint64_t address, uint8_t flags)
{
    return send((struct event){.kind = EVENT_DRIVER_FREE,
                               .flags = flags,
                               .heap = heap & 0xffffff,
                               .addr = address,
                               .a = kind});
}

static const struct heap_device *device(void)
{
    return feed.process->heaps.devices[0];
}

static int64_t block(uint64_t address, uint64_t size, uint64_t reserved)
{
    uint64_t before = feed.process->heaps.device_count ? (uint64_t)device()->allocated : 0;
    return send((struct event){.kind = EVENT_BLOCK_ALLOC,
                               .flags = EVENT_F_TOTALS,
                               .heap = heap & 0xffffff,
                               .addr = address,
                               .size = size,
                               .a = before + size,
                               .b = reserved});
}

static int64_t free_block(uint64_t address)
{
    return send((struct event){.kind = EVENT_BLOCK_FREE, .heap = heap & 0xffffff, .addr = address});
}

static const struct row *memory(int64_t seq)
{
    const struct row *row = rows_find(&rows, SCH_DRIVER_MEMORY, 1, &seq);
    REQUIRE(row != NULL);
    return row;
}

TEST(blocks_that_were_there_first)
{
    begin();
    feed_phase(&feed, forward);
    block(AT, 4 * MIB, 20 * MIB);
    block(AT + 8 * MIB, 2 * MIB, 20 * MIB);
    int64_t seq = driver_takes(DRIVER_DEVICE, AT, 20 * MIB, EVENT_F_LATE);
    CHECK_INT(device()->segments_known, 1);
    CHECK_INT(device()->segment_bytes, 20 * MIB);
    CHECK_INT(device()->split, 14 * MIB);
    CHECK_INT(device()->source_reserved, 20 * MIB);
    free_block(AT);
    CHECK_INT(device()->split, 18 * MIB);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(rows.tables[SCH_SEGMENT].count, 1);
    CHECK_INT(memory(seq)->at[MEMORY_HEAP], 1);
    CHECK_INT(memory(seq)->at[MEMORY_BLOCKS], 2);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

TEST(told_in_time_it_is_nobodys)
{
    begin();
    block(AT, 4 * MIB, 20 * MIB);
    int64_t seq = driver_takes(DRIVER_DEVICE, AT, 20 * MIB, 0);
    CHECK_INT(device()->segments_known, 0);
    feed_end(&feed, true);
    CHECK(memory(seq)->at[MEMORY_HEAP] == ROW_NULL);
}

TEST(other_memory_is_left_alone)
{
    begin();
    block(AT, 4 * MIB, 20 * MIB);
    int64_t beside = driver_takes(DRIVER_DEVICE, AT + 64 * MIB, 20 * MIB, EVENT_F_LATE);
    int64_t handle = driver_takes(DRIVER_PHYSICAL, AT, 20 * MIB, EVENT_F_LATE);
    int64_t below = driver_takes(DRIVER_DEVICE, AT - 20 * MIB, 20 * MIB, EVENT_F_LATE);
    feed_end(&feed, true);
    CHECK(memory(beside)->at[MEMORY_HEAP] == ROW_NULL);
    CHECK(memory(handle)->at[MEMORY_HEAP] == ROW_NULL);
    CHECK(memory(below)->at[MEMORY_HEAP] == ROW_NULL);
    CHECK_INT(rows.tables[SCH_SEGMENT].count, 0);
}

/* The source's own total has it already. */
TEST(a_late_free_takes_nothing_off_what_is_reserved)
{
    begin();
    for (int late = 0; late < 2; late++) {
        uint64_t at = AT + (uint64_t)late * 256 * MIB;
        driver_takes(DRIVER_DEVICE, at, 20 * MIB, 0);
        driver_takes(DRIVER_DEVICE, at + 64 * MIB, 2 * MIB, 0);
        block(at, 4 * MIB, 22 * MIB);
        block(at + 64 * MIB, MIB, 22 * MIB);
        driver_gives(DRIVER_DEVICE, at + 64 * MIB, late ? EVENT_F_LATE : 0);
        CHECK_INT(device()->source_reserved, late ? 22 * MIB : 20 * MIB);
    }
    CHECK_INT(device()->segment_bytes, 2 * 20 * MIB); /* the segment is gone in both */
    feed_end(&feed, true);
}

/* Given back and taken anew with its blocks in between, and then told. */
TEST(an_address_that_came_again)
{
    begin();
    feed_phase(&feed, forward);
    int64_t first = driver_takes(DRIVER_DEVICE, AT, 20 * MIB, 0);
    block(AT, 4 * MIB, 20 * MIB);
    free_block(AT);
    block(AT, 6 * MIB, 20 * MIB); /* in the next one */
    driver_gives(DRIVER_DEVICE, AT, EVENT_F_LATE);
    CHECK_INT(device()->segment_bytes, 0);
    int64_t second = driver_takes(DRIVER_DEVICE, AT, 20 * MIB, EVENT_F_LATE);
    CHECK_INT(device()->segment_bytes, 20 * MIB);
    CHECK_INT(device()->split, 14 * MIB);
    free_block(AT);
    CHECK_INT(device()->split, 0);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK(memory(first)->at[MEMORY_FREE_SEQ] != ROW_NULL);
    CHECK_INT(memory(second)->at[MEMORY_BLOCKS], 1);
    CHECK_INT(rows.tables[SCH_SEGMENT].count, 2);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

/* Whatever comes in whatever order: what is said in heap.h and driver.h holds (send looks). */
TEST(in_any_order)
{
    enum { PLACES = 12, SLOTS = 4 };
    uint64_t random = 88172645463325252ull;
    bool there[PLACES] = {false}, living[PLACES][SLOTS] = {{false}};
    begin();
    feed_phase(&feed, forward);
    for (int i = 0; i < 4000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint64_t place = random % PLACES, slot = (random >> 8) % SLOTS;
        uint64_t at = AT + place * 64 * MIB;
        uint8_t flags = random >> 16 & 1 ? EVENT_F_LATE : 0;
        if ((random >> 20) % 4 == 0) {
            if (there[place])
                driver_gives(DRIVER_DEVICE, at, flags);
            else
                driver_takes(DRIVER_DEVICE, at, 8 * MIB, flags);
            there[place] = !there[place];
        } else {
            if (living[place][slot])
                free_block(at + slot * 2 * MIB);
            else
                block(at + slot * 2 * MIB, MIB, 8 * MIB);
            living[place][slot] = !living[place][slot];
        }
    }
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(rows.tables[SCH_LOST].count, 0);
}

TEST_MAIN(TEST_CASE(blocks_that_were_there_first), TEST_CASE(told_in_time_it_is_nobodys),
          TEST_CASE(other_memory_is_left_alone),
          TEST_CASE(a_late_free_takes_nothing_off_what_is_reserved),
          TEST_CASE(an_address_that_came_again), TEST_CASE(in_any_order))
