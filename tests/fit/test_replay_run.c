/*
 * Replays of traces that are written down here, operation by operation.
 */
#include <string.h>

#include "replay.h"
#include "error.h"
#include "mem.h"
#include "test.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

static struct replay_heap heaps[] = {{.id = 1, .name = 0}, {.id = 2, .stream = 4, .name = 4}};

/* Room for the parts of a trace; what is in them is said by the functions below. */
static struct replay_op ops[64];
static struct replay_block blocks[64];
static struct replay_adopted adopted[64];
static struct replay_segment segments[16];
static struct replay_trace trace;

static void begin(void)
{
    trace = (struct replay_trace){
        .ops = ops,
        .blocks = blocks,
        .adopted_blocks = adopted,
        .segments = segments,
        .heaps = heaps,
        .heap_count = 2,
    };
}

static void op(enum replay_kind kind, uint32_t block)
{
    ops[trace.op_count++] = (struct replay_op){.kind = (uint8_t)kind, .block = block};
}

static uint32_t ask_on(uint16_t heap, uint64_t bytes)
{
    uint32_t block = (uint32_t)trace.block_count++;
    op(REPLAY_ALLOC, block);
    ops[trace.op_count - 1].size = bytes;
    ops[trace.op_count - 1].heap = heap;
    blocks[block] = (struct replay_block){.seq = 100 + block};
    return block;
}

static uint32_t ask(uint64_t bytes)
{
    return ask_on(0, bytes);
}

/* Before any ask(). */
static void had(uint64_t address, uint64_t size, enum replay_state state)
{
    uint32_t block = (uint32_t)trace.block_count++;
    blocks[block] = (struct replay_block){.seq = 50 + block, .address = address};
    adopted[trace.adopted++] =
        (struct replay_adopted){.size = size, .requested = size, .state = (uint8_t)state};
    trace.rebuilt_until = 99;
}

static void had_segment(uint64_t address, uint64_t size)
{
    int64_t seq = 1 + (int64_t)trace.segment_count;
    segments[trace.segment_count++] = (struct replay_segment){
        .seq = seq, .first = seq, .free_seq = INT64_MAX, .address = address, .size = size};
    trace.adopted_segments = trace.segment_count;
    trace.rebuilt_until = 99;
}

static struct replay_outcome run_with(const struct replay_setup *setup, uint64_t *addresses)
{
    struct replay_scratch scratch = {0};
    struct replay_outcome outcome;
    struct alloc_config config;
    struct replay_setup with = *setup;
    alloc_config_default(&config);
    with.config = &config;
    CHECK(replay_trace_is_valid(&trace));
    REQUIRE(replay_run(&trace, &with, &scratch, NULL, &outcome) == 0);
    if (addresses)
        memcpy(addresses, scratch.addresses, trace.block_count * sizeof *addresses);
    replay_scratch_clear(&scratch);
    return outcome;
}

static struct replay_outcome run(uint64_t *addresses)
{
    return run_with(&(struct replay_setup){0}, addresses);
}

static struct replay_outcome run_in(uint64_t memory)
{
    return run_with(&(struct replay_setup){.memory = memory}, NULL);
}

/* ---- operations ---- */

TEST(what_was_given_back_is_used_again)
{
    uint64_t at[3];
    begin();
    uint32_t a = ask(3 * MIB);
    op(REPLAY_FREE, a);
    ask(3 * MIB);
    struct replay_outcome out = run(at);
    CHECK(out.survived);
    CHECK_INT(at[0], 0);
    CHECK(at[1] != 0);
    CHECK_INT(out.peak_allocated, 3 * MIB);
    CHECK_INT(out.peak_reserved, 20 * MIB);
    CHECK_INT(out.segments_taken, 1);
    CHECK_INT(out.ops, 3);
    CHECK_INT(out.compared, 2);
}

TEST(what_waits_is_not)
{
    uint64_t at[3];
    begin();
    uint32_t a = ask(20 * MIB);
    op(REPLAY_GIVE, a);
    ask(20 * MIB);
    op(REPLAY_IDLE, a);
    ask(20 * MIB);
    struct replay_outcome out = run(at);
    CHECK_INT(out.peak_reserved, 40 * MIB); /* the third is where the first was */
    CHECK_INT(out.peak_allocated, 40 * MIB);
    CHECK_INT(out.peak_active, 40 * MIB);
    CHECK_INT(out.segments_taken, 2);
    CHECK(at[1] != at[2]);
}

TEST(streams_share_nothing)
{
    begin();
    uint32_t a = ask_on(0, 20 * MIB);
    op(REPLAY_FREE, a);
    ask_on(1, 20 * MIB);
    CHECK_INT(run(NULL).peak_reserved, 40 * MIB);
}

TEST(an_emptied_cache_gives_its_segments_back)
{
    begin();
    uint32_t a = ask(20 * MIB);
    op(REPLAY_FREE, a);
    op(REPLAY_EMPTY, 1);
    ask(30 * MIB);
    CHECK_INT(run(NULL).peak_reserved, 30 * MIB);
    ops[2].kind = REPLAY_FULL; /* what was full then need not be now */
    CHECK_INT(run(NULL).peak_reserved, 50 * MIB);
    struct replay_outcome out =
        run_with(&(struct replay_setup){.recorded = true, .addresses = true}, NULL);
    CHECK_INT(out.peak_reserved, 30 * MIB);
    CHECK_INT(out.retries, 0);
}

TEST(a_device_that_was_short_once)
{
    begin();
    uint32_t a = ask(20 * MIB);
    op(REPLAY_FREE, a);
    op(REPLAY_SHORT, 1);
    ask(30 * MIB);
    struct replay_outcome out =
        run_with(&(struct replay_setup){.recorded = true, .addresses = true}, NULL);
    CHECK(out.survived);
    CHECK_INT(out.peak_reserved, 30 * MIB);
    CHECK_INT(out.retries, 1);
    out = run(NULL);
    CHECK_INT(out.peak_reserved, 50 * MIB);
    CHECK_INT(out.retries, 0);
}

TEST(nothing_asked_for)
{
    uint64_t at[2];
    begin();
    uint32_t a = ask(0);
    op(REPLAY_FREE, a);
    uint32_t b = ask(0);
    op(REPLAY_GIVE, b);
    op(REPLAY_IDLE, b);
    struct replay_outcome out = run(at);
    CHECK(out.survived);
    CHECK_INT(out.peak_reserved, 0);
    CHECK_INT(out.peak_block, UINT32_MAX);
}

/* ---- refusals ---- */

struct seen {
    int calls;
    uint64_t first;
    uint64_t segments;
    struct alloc_refusal why;
};

static bool count_segment(void *self, const struct alloc_segment_view *segment)
{
    struct seen *seen = self;
    seen->segments += segment->size;
    return true;
}

static int look(void *self, const struct replay_trace *of, struct alloc *alloc,
                const uint64_t *addresses, const struct alloc_refusal *why)
{
    struct seen *seen = self;
    CHECK(of == &trace);
    CHECK(alloc_is_valid(alloc));
    seen->calls++;
    seen->first = addresses[0];
    seen->why = *why;
    return alloc_walk(alloc, count_segment, seen);
}

TEST(the_first_refusal_ends_it)
{
    struct replay_scratch scratch = {0};
    struct replay_outcome out;
    struct alloc_config config;
    struct seen seen = {0};
    const struct replay_witness witness = {&seen, look};
    alloc_config_default(&config);
    const struct replay_setup setup = {.config = &config, .memory = 40 * MIB};
    begin();
    ask(20 * MIB);
    uint32_t b = ask(20 * MIB);
    op(REPLAY_FREE, b);
    uint32_t c = ask(22 * MIB);
    ask(1 * KIB);
    CHECK_INT(replay_run(&trace, &setup, &scratch, &witness, &out), 0);
    CHECK(!out.survived);
    CHECK_INT(out.refusals, 1);
    CHECK_INT(out.refused, c);
    CHECK_INT(out.refused_op, 3);
    CHECK_INT(out.ops, 4);
    CHECK_INT(out.refusal.requested, 22 * MIB);
    CHECK_INT(out.refusal.reserved, 20 * MIB); /* what was cached went first */
    CHECK_INT(out.retries, 1);
    CHECK_INT(seen.calls, 1);
    CHECK(seen.first != 0);
    CHECK_INT(seen.segments, 20 * MIB);
    CHECK_INT(seen.why.requested, 22 * MIB);
    CHECK_INT(out.peak_reserved, 40 * MIB);
    CHECK_INT(out.peak_block, b);
    replay_scratch_clear(&scratch);
}

TEST(recorded_settings_go_on)
{
    begin();
    ask(20 * MIB);
    uint32_t b = ask(20 * MIB);
    uint32_t c = ask(1 * KIB);
    op(REPLAY_FREE, b); /* of what was never had */
    op(REPLAY_FREE, c);
    struct replay_outcome out =
        run_with(&(struct replay_setup){.recorded = true, .limit = 30 * MIB}, NULL);
    CHECK_INT(out.refusals, 1);
    CHECK_INT(out.refused, b);
    CHECK_INT(out.ops, trace.op_count);
    CHECK_INT(out.peak_reserved, 22 * MIB);
}

TEST(an_error_of_the_witness_is_told)
{
    struct replay_scratch scratch = {0};
    struct replay_outcome out;
    struct alloc_config config;
    struct seen seen = {0};
    const struct replay_witness witness = {&seen, look};
    alloc_config_default(&config);
    const struct replay_setup setup = {.config = &config, .memory = 2 * MIB};
    begin();
    ask(20 * MIB);
    REQUIRE(replay_run(&trace, &setup, &scratch, NULL, &out) == 0); /* makes its room */
    long n = 1;
    for (int err = ERR_NOMEM; err < 0 && n < 1000; n++) {
        mem_fail_after(n);
        err = replay_run(&trace, &setup, &scratch, &witness, &out);
        mem_fail_after(0);
        CHECK(err == 0 || err == ERR_NOMEM);
    }
    CHECK(n > 3);
    CHECK(!out.survived);
    replay_scratch_clear(&scratch);
}

TEST(scratch_serves_one_trace_after_another)
{
    struct replay_scratch scratch = {0};
    struct replay_outcome out;
    struct alloc_config config;
    alloc_config_default(&config);
    const struct replay_setup setup = {.config = &config};
    for (int size = 1; size < 41; size = size * 3 % 41) {
        begin();
        for (int i = 0; i < size; i++)
            ask(1 * MIB);
        CHECK_INT(replay_run(&trace, &setup, &scratch, NULL, &out), 0);
        CHECK_INT(out.peak_allocated, size * (int64_t)MIB);
        if (size == 1 && scratch.count > 1)
            break;
    }
    CHECK_INT(scratch.count, 40);
    replay_scratch_clear(&scratch);
}

/* ---- what lived before ---- */

#define OLD (UINT64_C(1) << 35)

/* Two blocks of 6 MiB with 4 between and 4 behind them. */
static void before(void)
{
    begin();
    had_segment(OLD, 20 * MIB);
    had(OLD, 6 * MIB, REPLAY_LIVING);
    had(OLD + 10 * MIB, 6 * MIB, REPLAY_LIVING);
}

TEST(holes_of_old_segments_are_filled)
{
    uint64_t at[4];
    before();
    ask(4 * MIB);
    uint32_t b = ask(4 * MIB);
    struct replay_outcome out = run(at);
    CHECK_INT(at[0], OLD);
    CHECK_INT(at[2], OLD + 6 * MIB); /* the lower one */
    CHECK_INT(at[b], OLD + 16 * MIB);
    CHECK_INT(out.peak_reserved, 20 * MIB);
    CHECK_INT(out.peak_allocated, 20 * MIB);
    CHECK_INT(out.segments_taken, 0);
    CHECK_INT(out.compared, 2);
}

TEST(old_blocks_are_given_back)
{
    uint64_t at[3];
    before();
    op(REPLAY_FREE, 0);
    ask(10 * MIB);
    run(at);
    CHECK_INT(at[0], 0);
    CHECK_INT(at[2], OLD);
}

TEST(old_blocks_that_wait)
{
    uint64_t at[4];
    begin();
    had_segment(OLD, 20 * MIB);
    had(OLD, 20 * MIB, REPLAY_AWAITING);
    had(OLD, 20 * MIB, REPLAY_DEAD);
    ask(20 * MIB);
    op(REPLAY_IDLE, 0);
    ask(20 * MIB);
    struct replay_outcome out = run(at);
    CHECK(at[2] != OLD);
    CHECK_INT(at[3], OLD);
    CHECK_INT(out.peak_reserved, 40 * MIB);
    CHECK(run_in(40 * MIB).survived);
    CHECK(!run_in(38 * MIB).survived);
}

TEST(blocks_in_no_segment_are_asked_for)
{
    uint64_t at[4];
    before();
    had(OLD + (UINT64_C(1) << 30), 3 * MIB, REPLAY_LIVING); /* elsewhere */
    had(OLD + 12 * MIB, 1 * MIB, REPLAY_LIVING);            /* over another */
    struct replay_outcome out = run(at);
    CHECK_INT(at[1], OLD + 10 * MIB);
    CHECK_INT(at[2], OLD + 6 * MIB); /* where there was room */
    CHECK(at[3] != 0 && at[3] != OLD + 12 * MIB);
    CHECK_INT(out.peak_reserved, 22 * MIB); /* and a small one */
}

TEST(anew_they_are_all_asked_for)
{
    uint64_t at[2];
    before();
    struct replay_outcome out = run_with(&(struct replay_setup){.anew = true}, at);
    CHECK(at[0] != OLD && at[1] != OLD + 10 * MIB);
    CHECK_INT(at[1] - at[0], 6 * MIB);
    CHECK_INT(out.peak_reserved, 20 * MIB);
    CHECK_INT(out.segments_taken, 1);
}

/* What was cached before counts where there is room, and was given back where there is none. */
TEST(old_segments_without_a_block)
{
    before();
    had_segment(OLD + 64 * MIB, 30 * MIB);
    ask(30 * MIB);
    struct replay_outcome out = run(NULL);
    CHECK_INT(out.peak_reserved, 50 * MIB);
    CHECK_INT(out.segments_taken, 0);
    out = run_in(50 * MIB);
    CHECK(out.survived);
    CHECK_INT(out.segments_taken, 0);
    out = run_in(48 * MIB);
    CHECK(!out.survived);
    CHECK_INT(out.refused, 2);
    out = run_in(18 * MIB);
    CHECK(!out.survived);
    CHECK_INT(out.refused, UINT32_MAX);
    CHECK_INT(out.ops, 0);
}

TEST(old_segments_over_one_another)
{
    uint64_t at[3];
    before();
    had_segment(OLD + 18 * MIB, 20 * MIB);
    had(OLD + 24 * MIB, 4 * MIB, REPLAY_LIVING);
    struct replay_outcome out =
        run_with(&(struct replay_setup){.recorded = true, .addresses = true}, at);
    CHECK_INT(at[0], OLD);
    CHECK_INT(at[2], OLD + 6 * MIB); /* its segment cannot have been */
    CHECK_INT(out.peak_reserved, 20 * MIB);
}

TEST_MAIN(TEST_CASE(what_was_given_back_is_used_again), TEST_CASE(what_waits_is_not),
          TEST_CASE(streams_share_nothing), TEST_CASE(an_emptied_cache_gives_its_segments_back),
          TEST_CASE(a_device_that_was_short_once), TEST_CASE(nothing_asked_for),
          TEST_CASE(the_first_refusal_ends_it), TEST_CASE(recorded_settings_go_on),
          TEST_CASE(an_error_of_the_witness_is_told),
          TEST_CASE(scratch_serves_one_trace_after_another),
          TEST_CASE(holes_of_old_segments_are_filled), TEST_CASE(old_blocks_are_given_back),
          TEST_CASE(old_blocks_that_wait), TEST_CASE(blocks_in_no_segment_are_asked_for),
          TEST_CASE(anew_they_are_all_asked_for), TEST_CASE(old_segments_without_a_block),
          TEST_CASE(old_segments_over_one_another))
