/*
 * Sizes by the rules, on heaps made by hand: where a block ends, case by case.
 */
#include <string.h>

#include "error.h"
#include "mem.h"
#include "rebuild.h"
#include "test.h"

#define MIB ((uint64_t)1 << 20)
#define AT UINT64_C(0x700000000000)
#define MAX_ENTRIES 32
#define MAX_BLOCKS 16

struct fixture {
    struct snapshot snapshot;
    struct trace_entry entries[MAX_ENTRIES];
    struct snapshot_block blocks[MAX_BLOCKS];
    struct snapshot_segment segment;
    struct snapshot_trace trace;
    struct rebuild rebuild;
};

/* One segment that is there at the end. */
static void begin(struct fixture *f, uint64_t size)
{
    *f = (struct fixture){.snapshot.budget.limit = SIZE_MAX / 2};
    alloc_config_default(&f->snapshot.settings.config);
    f->segment = (struct snapshot_segment){.address = AT, .size = size};
    f->snapshot.segments = &f->segment;
    f->snapshot.segment_count = f->snapshot.listed_count = 1;
    f->snapshot.has_segments = true;
    f->snapshot.entries = f->entries;
    f->snapshot.blocks = f->blocks;
    f->snapshot.traces = &f->trace;
    f->snapshot.trace_count = 1;
}

static void add(struct fixture *f, enum trace_action action, uint64_t offset, uint64_t size)
{
    REQUIRE(f->trace.count < MAX_ENTRIES);
    f->entries[f->trace.count++] =
        (struct trace_entry){.addr = AT + offset, .size = size, .action = (uint32_t)action & 0x7f};
    f->snapshot.entry_count = f->trace.count;
}

static void add_free(struct fixture *f, uint64_t offset, uint64_t requested)
{
    add(f, TRACE_FREE_REQUESTED, offset, requested);
    add(f, TRACE_FREE_COMPLETED, offset, requested);
}

static void lives_at_end(struct fixture *f, uint64_t offset, uint64_t size, uint64_t requested)
{
    REQUIRE(f->segment.block_count < MAX_BLOCKS);
    f->blocks[f->segment.block_count++] = (struct snapshot_block){
        .address = AT + offset, .size = size, .requested = requested, .life = BLOCK_ACTIVE};
    f->snapshot.block_count = f->segment.block_count;
}

static void run(struct fixture *f)
{
    CHECK_INT(rebuild_run(&f->rebuild, &f->snapshot, 0), BASE_OK);
    CHECK(rebuild_is_valid(&f->rebuild));
}

static void end(struct fixture *f)
{
    rebuild_clear(&f->rebuild);
    intern_clear(&f->snapshot.places);
}

/* A block of `requested` bytes at the begin of a free segment. */
static uint64_t size_in(uint64_t segment, uint64_t requested)
{
    struct fixture f;
    begin(&f, segment);
    add(&f, TRACE_ALLOC, 0, requested);
    add_free(&f, 0, requested);
    run(&f);
    CHECK_INT(f.rebuild.counts.misplaced, 0);
    uint64_t size = f.entries[0].block;
    end(&f);
    return size;
}

TEST(the_rule_for_splitting)
{
    CHECK_INT(size_in(2 * MIB, 1), 512);
    CHECK_INT(size_in(2 * MIB, 2 * MIB - 512), 2 * MIB); /* large by its size, if not by its pool */
    CHECK_INT(size_in(2 * MIB, MIB), MIB);
    CHECK_INT(size_in(MIB, MIB - 512), MIB - 512); /* small: what is left may be 512 bytes */
    CHECK_INT(size_in(MIB, MIB), MIB);
    CHECK_INT(size_in(20 * MIB, 19 * MIB), 20 * MIB); /* large: what is left must be above 1 MiB */
    CHECK_INT(size_in(20 * MIB, 19 * MIB - 512), 19 * MIB - 512);
    CHECK_INT(size_in(20 * MIB, 19 * MIB - 511), 20 * MIB);
}

TEST(blocks_that_are_not_split_at_all)
{
    struct fixture f;
    begin(&f, 100 * MIB);
    f.snapshot.settings.config.max_split_size = 30 * MIB;
    add(&f, TRACE_ALLOC, 0, 30 * MIB);
    add_free(&f, 0, 30 * MIB);
    add(&f, TRACE_ALLOC, 0, 30 * MIB - 512);
    add_free(&f, 0, 30 * MIB - 512);
    run(&f);
    CHECK_INT(f.entries[0].block, 100 * MIB);
    CHECK_INT(f.entries[3].block, 30 * MIB - 512);
    end(&f);
}

TEST(expandable_segments_split_always)
{
    struct fixture f;
    begin(&f, 20 * MIB);
    f.segment.expandable = true;
    add(&f, TRACE_ALLOC, 0, 20 * MIB - 1024);
    add_free(&f, 0, 20 * MIB - 1024);
    run(&f);
    CHECK_INT(f.entries[0].block, 20 * MIB - 1024);
    end(&f);
}

TEST(free_neighbours_are_one_range)
{
    struct fixture f;
    begin(&f, 20 * MIB);
    add(&f, TRACE_ALLOC, 0, 4 * MIB);
    add(&f, TRACE_ALLOC, 4 * MIB, 4 * MIB);
    add(&f, TRACE_ALLOC, 8 * MIB, 12 * MIB);
    add_free(&f, 0, 4 * MIB);
    add_free(&f, 4 * MIB, 4 * MIB);
    add(&f, TRACE_ALLOC, 0, 7 * MIB + 512 * 1024); /* 512 KiB are left: it takes them */
    add_free(&f, 0, 7 * MIB + 512 * 1024);
    add_free(&f, 8 * MIB, 12 * MIB);
    run(&f);
    CHECK_INT(f.entries[7].block, 8 * MIB);
    CHECK_INT(f.rebuild.counts.misplaced, 0);
    end(&f);
}

/* A block that waits is no room. */
TEST(a_waiting_block_is_in_the_way)
{
    struct fixture f;
    begin(&f, 20 * MIB);
    add(&f, TRACE_ALLOC, 0, 4 * MIB);
    add(&f, TRACE_ALLOC, 4 * MIB, 3 * MIB);
    add(&f, TRACE_FREE_REQUESTED, 4 * MIB, 3 * MIB);
    add_free(&f, 0, 4 * MIB);
    add(&f, TRACE_ALLOC, 0, 3 * MIB + 512 * 1024);
    add(&f, TRACE_FREE_COMPLETED, 4 * MIB, 3 * MIB);
    add_free(&f, 0, 3 * MIB + 512 * 1024);
    run(&f);
    CHECK_INT(f.entries[5].block, 4 * MIB);
    end(&f);
}

/* ---- blocks that lived before the trace, and are freed in it ---- */

TEST(slack_of_a_block_before_the_trace)
{
    struct fixture f;
    begin(&f, 20 * MIB);
    add_free(&f, 0, 3 * MIB);              /* 1 MiB up to the next: its own */
    add_free(&f, 4 * MIB, 2 * MIB);        /* 2 MiB: a free block may be there */
    add_free(&f, 8 * MIB, 12 * MIB - 100); /* up to the end */
    run(&f);
    REQUIRE(f.rebuild.first_block_count == 3);
    CHECK_INT(f.rebuild.first_blocks[0].size, 4 * MIB);
    CHECK_INT(f.rebuild.first_blocks[1].size, 2 * MIB);
    CHECK_INT(f.rebuild.first_blocks[2].size, 12 * MIB);
    CHECK_INT(f.rebuild.first_blocks[0].requested, 3 * MIB);
    CHECK(!f.rebuild.first_blocks[0].pending);
    end(&f);
}

TEST(small_blocks_have_no_slack)
{
    struct fixture f;
    begin(&f, 2 * MIB);
    add_free(&f, 0, 100);
    add_free(&f, 1024, 513);
    run(&f);
    REQUIRE(f.rebuild.first_block_count == 2);
    CHECK_INT(f.rebuild.first_blocks[0].size, 512);
    CHECK_INT(f.rebuild.first_blocks[1].size, 1024);
    end(&f);
}

/* A later block shows where the free one began, so what is before it was slack. */
TEST(slack_that_shows_later)
{
    struct fixture f;
    begin(&f, 20 * MIB);
    add(&f, TRACE_ALLOC, 4 * MIB + 1024, 2 * MIB);
    add_free(&f, 0, 4 * MIB);
    add_free(&f, 4 * MIB + 1024, 2 * MIB);
    run(&f);
    REQUIRE(f.rebuild.first_block_count == 1);
    CHECK_INT(f.rebuild.first_blocks[0].size, 4 * MIB + 1024);
    CHECK_INT(f.entries[0].block, 2 * MIB);
    CHECK_INT(f.rebuild.counts.misplaced, 0);
    end(&f);
}

TEST(more_than_slack_is_misplaced)
{
    struct fixture f;
    begin(&f, 20 * MIB);
    add(&f, TRACE_ALLOC, 4 * MIB + MIB + 512, 2 * MIB);
    add_free(&f, 0, 4 * MIB);
    add_free(&f, 4 * MIB + MIB + 512, 2 * MIB);
    run(&f);
    CHECK_INT(f.rebuild.first_blocks[0].size, 4 * MIB);
    CHECK_INT(f.rebuild.counts.misplaced, 1);
    CHECK_INT(f.entries[0].block, 2 * MIB);
    end(&f);
}

/* Requests that do not fit where they are said to be are cut to the room. */
TEST(a_block_that_is_larger_than_its_room)
{
    struct fixture f;
    begin(&f, 2 * MIB);
    add_free(&f, MIB, 5 * MIB);
    run(&f);
    CHECK_INT(f.rebuild.first_blocks[0].size, MIB);
    end(&f);
}

TEST(a_block_that_waited_when_the_trace_began)
{
    struct fixture f;
    begin(&f, 2 * MIB);
    add(&f, TRACE_FREE_COMPLETED, 0, 100);
    run(&f);
    REQUIRE(f.rebuild.first_block_count == 1);
    CHECK(f.rebuild.first_blocks[0].pending);
    CHECK_INT(f.rebuild.first_blocks[0].size, 512);
    end(&f);
}

/* ---- sizes that the end tells ---- */

TEST(the_end_tells_sizes)
{
    struct fixture f;
    begin(&f, 20 * MIB);
    lives_at_end(&f, 0, 4 * MIB, 3 * MIB);
    lives_at_end(&f, 4 * MIB, 2 * MIB, 2 * MIB);
    lives_at_end(&f, 6 * MIB, 14 * MIB, 13 * MIB);
    add(&f, TRACE_ALLOC, 4 * MIB, 2 * MIB);
    add(&f, TRACE_ALLOC, 6 * MIB, 13 * MIB);
    run(&f);
    REQUIRE(f.rebuild.first_block_count == 1);
    CHECK_INT(f.rebuild.first_blocks[0].size, 4 * MIB); /* against no rule, as it is the end's */
    CHECK_INT(f.entries[0].block, 2 * MIB);
    CHECK_INT(f.entries[1].block, 14 * MIB);
    CHECK_INT(f.rebuild.counts.sizes_checked, 2);
    CHECK_INT(f.rebuild.counts.sizes_differ, 0);
    end(&f);
}

TEST(the_end_is_right_against_the_rules)
{
    struct fixture f;
    begin(&f, 20 * MIB);
    lives_at_end(&f, 0, 5 * MIB, 3 * MIB);
    add(&f, TRACE_ALLOC, 0, 3 * MIB);
    run(&f);
    CHECK_INT(f.entries[0].block, 5 * MIB);
    CHECK_INT(f.rebuild.counts.sizes_differ, 1);
    end(&f);
}

TEST(without_segments_only_requests_count)
{
    struct fixture f;
    begin(&f, 20 * MIB);
    f.snapshot.has_segments = false;
    f.snapshot.listed_count = 0;
    add(&f, TRACE_ALLOC, 0, 3 * MIB + 1);
    add(&f, TRACE_ALLOC, 8 * MIB, 100);
    add_free(&f, 8 * MIB, 100);
    run(&f);
    CHECK_INT(f.entries[0].block, 3 * MIB + 512);
    CHECK_INT(f.rebuild.counts.misplaced + f.rebuild.counts.allocs_lost, 0);
    CHECK_INT(f.rebuild.gone_count, 0);
    end(&f);
}

TEST(an_empty_list_of_segments_says_nothing)
{
    struct fixture f;
    begin(&f, 20 * MIB);
    f.snapshot.listed_count = 0;
    add(&f, TRACE_ALLOC, 0, 3 * MIB);
    run(&f);
    CHECK_INT(f.rebuild.counts.misplaced + f.rebuild.counts.allocs_lost, 0);
    CHECK_INT(f.rebuild.gone_count, 0);
    end(&f);
}

TEST(segments_that_all_went_say_something)
{
    struct fixture f;
    begin(&f, 20 * MIB);
    f.snapshot.listed_count = 0;
    add(&f, TRACE_SEGMENT_ALLOC, 0, 20 * MIB);
    add(&f, TRACE_ALLOC, 0, 3 * MIB);
    add(&f, TRACE_SEGMENT_FREE, 0, 20 * MIB);
    run(&f);
    CHECK_INT(f.rebuild.counts.allocs_lost, 1);
    end(&f);
}

TEST(a_block_that_vanished)
{
    struct fixture f;
    begin(&f, 20 * MIB);
    add(&f, TRACE_ALLOC, 0, 3 * MIB);
    add(&f, TRACE_ALLOC, 0, 5 * MIB); /* the first must have gone in between */
    run(&f);
    CHECK_INT(f.rebuild.counts.allocs_lost, 2);
    CHECK_INT(f.rebuild.gone_count, 1);
    CHECK_INT(f.rebuild.gone[0].size, 5 * MIB);
    end(&f);
}

TEST(rebuilding_without_memory)
{
    int err = ERR_NOMEM;
    for (long n = 1; n < 200 && err != BASE_OK; n++) {
        struct fixture f;
        begin(&f, 20 * MIB);
        lives_at_end(&f, 0, 4 * MIB, 3 * MIB);
        add(&f, TRACE_ALLOC, 4 * MIB, 2 * MIB);
        add_free(&f, 4 * MIB, 2 * MIB);
        mem_fail_after(n);
        err = rebuild_run(&f.rebuild, &f.snapshot, 0);
        mem_fail_after(0);
        CHECK(err == BASE_OK || err == ERR_NOMEM);
        end(&f);
    }
    CHECK_INT(err, BASE_OK);
}

TEST_MAIN(TEST_CASE(the_rule_for_splitting), TEST_CASE(blocks_that_are_not_split_at_all),
          TEST_CASE(expandable_segments_split_always), TEST_CASE(free_neighbours_are_one_range),
          TEST_CASE(a_waiting_block_is_in_the_way), TEST_CASE(slack_of_a_block_before_the_trace),
          TEST_CASE(small_blocks_have_no_slack), TEST_CASE(slack_that_shows_later),
          TEST_CASE(more_than_slack_is_misplaced), TEST_CASE(a_block_that_is_larger_than_its_room),
          TEST_CASE(a_block_that_waited_when_the_trace_began), TEST_CASE(the_end_tells_sizes),
          TEST_CASE(the_end_is_right_against_the_rules),
          TEST_CASE(without_segments_only_requests_count),
          TEST_CASE(an_empty_list_of_segments_says_nothing),
          TEST_CASE(segments_that_all_went_say_something), TEST_CASE(a_block_that_vanished),
          TEST_CASE(rebuilding_without_memory))
