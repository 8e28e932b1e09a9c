/*
 * test_model.c - the model against figures that were worked out by hand.
 */
#include "test.h"

#include "device_script.h"
#include "error.h"
#include "model.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

struct bench {
    struct device_script device;
    struct alloc_config config;
    struct model model;
};

static void open_bench(struct bench *bench, uint64_t capacity)
{
    bench->config = (struct alloc_config){
        .max_split_size = UINT64_MAX,
        .max_non_split_rounding = 20 * MIB,
        .large_segment_size = 20 * MIB,
    };
    device_script_open(&bench->device, capacity, capacity);
    model_open(&bench->model, &bench->device.seam, &bench->config, 0, NULL);
}

static void close_bench(struct bench *bench)
{
    CHECK(model_is_valid(&bench->model));
    CHECK(device_script_is_valid(&bench->device));
    model_close(&bench->model);
    CHECK(device_script_close(&bench->device) == NULL);
}

static uint64_t get(struct bench *bench, uint64_t bytes, uint64_t stream)
{
    uint64_t address = 0;
    CHECK_INT(model_malloc(&bench->model, bytes, stream, &address, NULL), BASE_OK);
    CHECK(model_is_valid(&bench->model));
    return address;
}

static void give(struct bench *bench, uint64_t address)
{
    CHECK_INT(model_give(&bench->model, address), BASE_OK);
    CHECK(model_is_valid(&bench->model));
}

/* ---- sizes ---- */

TEST(requests_round_to_512)
{
    struct bench bench;
    open_bench(&bench, GIB);
    static const uint64_t cases[][2] = {
        {1, 512},
        {511, 512},
        {512, 512},
        {513, 1024},
        {1200, 1536},
        {1048576, 1048576},
        {1048577, 1049088},
        {10485759, 10485760},
        {10485760, 10485760},
        {10485761, 10486272},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_INT(model_round(&bench.config, cases[i][0]), cases[i][1]);
    close_bench(&bench);
}

TEST(divisions_round_between_powers_of_two)
{
    struct alloc_config config = {.max_split_size = UINT64_MAX};
    for (int i = 0; i < ALLOC_ROUNDUP_SLOTS; i++)
        config.roundup[i] = 4;
    CHECK_INT(model_round(&config, 1200), 1536); /* not more than 4 * 512 */
    CHECK_INT(model_round(&config, 2048), 2048);
    CHECK_INT(model_round(&config, 2049), 2560);
    CHECK_INT(model_round(&config, 4096), 4096);
    CHECK_INT(model_round(&config, 5 * MIB), 5 * MIB);
    CHECK_INT(model_round(&config, 5 * MIB + 1), 6 * MIB);
    CHECK_INT(model_round(&config, 7 * MIB + 1), 8 * MIB);
    config.roundup[0] = 1; /* below 2 MiB: off */
    CHECK_INT(model_round(&config, 2 * MIB - 1), 2 * MIB);
    CHECK_INT(model_round(&config, MIB + 1), MIB + 512);
    config.roundup[ALLOC_ROUNDUP_SLOTS - 1] = 0; /* 32 GiB and more: off */
    CHECK_INT(model_round(&config, 33 * GIB + 1), 33 * GIB + 512);
    CHECK_INT(model_round(&config, 31 * GIB + 1), 32 * GIB);
}

TEST(segments_have_three_sizes)
{
    struct alloc_config config = {.large_segment_size = 20 * MIB};
    CHECK_INT(model_segment_size(&config, 512), 2 * MIB);
    CHECK_INT(model_segment_size(&config, MIB), 2 * MIB);
    CHECK_INT(model_segment_size(&config, MIB + 512), 20 * MIB);
    CHECK_INT(model_segment_size(&config, 10 * MIB - 512), 20 * MIB);
    CHECK_INT(model_segment_size(&config, 10 * MIB), 10 * MIB);
    CHECK_INT(model_segment_size(&config, 10 * MIB + 512), 12 * MIB);
    config.large_segment_size = 32 * MIB;
    CHECK_INT(model_segment_size(&config, MIB + 512), 32 * MIB);
    CHECK_INT(model_segment_size(&config, 10 * MIB), 10 * MIB);
}

TEST(nothing_and_too_much_touch_nothing)
{
    struct bench bench;
    open_bench(&bench, GIB);
    uint64_t address = 7;
    CHECK_INT(model_malloc(&bench.model, 0, 0, &address, NULL), BASE_OK);
    CHECK_INT(address, 0);
    CHECK_INT(model_malloc(&bench.model, UINT64_C(1) << 60, 0, &address, NULL), ERR_NOMEM);
    CHECK_INT(bench.model.stats.num_ooms, 0);
    CHECK_INT(model_malloc(&bench.model, (UINT64_C(1) << 60) - 1, 0, &address, NULL), ERR_NOMEM);
    CHECK_INT(bench.model.stats.num_ooms, 1);
    CHECK_INT(bench.model.stats.num_alloc_retries, 1);
    CHECK_INT(bench.model.segment_count, 0);
    close_bench(&bench);
}

/* ---- a session step by step ---- */

struct row {
    int64_t allocated, requested, segments, reserved, splits, split_bytes;
};

static void check_row(const struct bench *bench, struct row want)
{
    const struct alloc_stats *stats = &bench->model.stats;
    CHECK_INT(stats->allocated_bytes[ALLOC_ALL].current, want.allocated);
    CHECK_INT(stats->requested_bytes[ALLOC_ALL].current, want.requested);
    CHECK_INT(stats->segment[ALLOC_ALL].current, want.segments);
    CHECK_INT(stats->reserved_bytes[ALLOC_ALL].current, want.reserved);
    CHECK_INT(stats->inactive_split[ALLOC_ALL].current, want.splits);
    CHECK_INT(stats->inactive_split_bytes[ALLOC_ALL].current, want.split_bytes);
}

TEST(a_session_counts_as_worked_out)
{
    struct bench bench;
    open_bench(&bench, GIB);
    uint64_t small = get(&bench, 100, 0);
    CHECK_INT(model_block_size(&bench.model, small), 512);
    check_row(&bench, (struct row){512, 100, 1, 2097152, 1, 2096640});
    uint64_t three = get(&bench, 3 * MIB, 0);
    CHECK_INT(model_block_size(&bench.model, three), 3145728);
    check_row(&bench, (struct row){3146240, 3145828, 2, 23068672, 2, 19922432});
    uint64_t tail = get(&bench, 17 * MIB, 0);
    CHECK_INT(model_block_size(&bench.model, tail), 17825792);
    check_row(&bench, (struct row){20972032, 20971620, 2, 23068672, 1, 2096640});
    give(&bench, three);
    check_row(&bench, (struct row){17826304, 17825892, 2, 23068672, 2, 5242368});
    uint64_t slack = get(&bench, 5 * MIB / 2, 0);
    CHECK_INT(slack, three);
    CHECK_INT(model_block_size(&bench.model, slack), 3145728);
    check_row(&bench, (struct row){20972032, 20447332, 2, 23068672, 1, 2096640});
    uint64_t other = get(&bench, 700, 0);
    CHECK_INT(model_block_size(&bench.model, other), 1024);
    check_row(&bench, (struct row){20973056, 20448032, 2, 23068672, 1, 2095616});
    give(&bench, small);
    check_row(&bench, (struct row){20972544, 20447932, 2, 23068672, 2, 2096128});
    give(&bench, other);
    check_row(&bench, (struct row){20971520, 20447232, 2, 23068672, 0, 0});
    give(&bench, slack);
    check_row(&bench, (struct row){17825792, 17825792, 2, 23068672, 1, 3145728});
    give(&bench, tail);
    check_row(&bench, (struct row){0, 0, 2, 23068672, 0, 0});
    CHECK_INT(bench.model.stats.allocation[ALLOC_SMALL].allocated, 2);
    CHECK_INT(bench.model.stats.allocated_bytes[ALLOC_ALL].peak, 20973056);
    close_bench(&bench);
}

/* ---- search ---- */

TEST(neighbouring_segments_never_merge)
{
    struct bench bench;
    open_bench(&bench, GIB);
    uint64_t a = get(&bench, 12 * MIB, 0);
    uint64_t b = get(&bench, 12 * MIB, 0);
    CHECK_INT(b, a + 12 * MIB);
    give(&bench, a);
    give(&bench, b);
    CHECK_INT(bench.model.segment_count, 2);
    CHECK_INT(get(&bench, 12 * MIB, 0), a); /* the lowest address of equals */
    CHECK(get(&bench, 24 * MIB, 0) != b);
    close_bench(&bench);
}

TEST(streams_do_not_share)
{
    struct bench bench;
    open_bench(&bench, GIB);
    uint64_t a = get(&bench, 100, 1);
    give(&bench, a);
    CHECK(get(&bench, 100, 2) != a);
    CHECK_INT(get(&bench, 100, 1), a);
    close_bench(&bench);
}

TEST(a_tail_of_a_mebibyte_is_not_split)
{
    struct bench bench;
    open_bench(&bench, GIB);
    uint64_t a = get(&bench, 20 * MIB, 0);
    give(&bench, a);
    CHECK_INT(get(&bench, 19 * MIB, 0), a);
    CHECK_INT(model_block_size(&bench.model, a), 20 * MIB);
    give(&bench, a);
    CHECK_INT(get(&bench, 19 * MIB - 512, 0), a);
    CHECK_INT(model_block_size(&bench.model, a), 19 * MIB - 512);
    close_bench(&bench);
}

TEST(oversize_blocks_are_kept_for_oversize_requests)
{
    struct bench bench;
    open_bench(&bench, GIB);
    bench.model.config.max_split_size = 40 * MIB;
    uint64_t a = get(&bench, 64 * MIB, 0);
    CHECK_INT(bench.model.stats.oversize_segments.current, 1);
    CHECK_INT(bench.model.stats.oversize_allocations.current, 1);
    give(&bench, a);
    CHECK_INT(bench.model.stats.oversize_allocations.current, 0);
    CHECK(get(&bench, 30 * MIB, 0) != a);
    CHECK(get(&bench, 44 * MIB, 0) != a); /* 20 MiB more than it: too much */
    CHECK_INT(get(&bench, 44 * MIB + 512, 0), a);
    CHECK_INT(model_block_size(&bench.model, a), 64 * MIB);
    close_bench(&bench);
}

/* ---- streams ---- */

TEST(a_block_waits_for_the_streams_that_used_it)
{
    struct bench bench;
    open_bench(&bench, GIB);
    uint64_t a = get(&bench, 100, 1);
    CHECK_INT(model_record_stream(&bench.model, a, 1), BASE_OK); /* its own: ignored */
    CHECK_INT(model_record_stream(&bench.model, a, 2), BASE_OK);
    CHECK_INT(model_record_stream(&bench.model, a, 3), BASE_OK);
    give(&bench, a);
    CHECK_INT(bench.model.event_count, 2);
    CHECK_INT(bench.model.stats.allocated_bytes[ALLOC_ALL].current, 0);
    CHECK_INT(bench.model.stats.active_bytes[ALLOC_ALL].current, 512);
    CHECK_INT(bench.model.stats.requested_bytes[ALLOC_ALL].current, 100);
    CHECK_INT(model_give(&bench.model, a), ERR_NOTFOUND);
    device_script_complete(&bench.device, 3, 1);
    CHECK(get(&bench, 100, 1) != a);
    device_script_complete(&bench.device, 2, 1);
    CHECK_INT(get(&bench, 100, 1), a);
    close_bench(&bench);
}

TEST(a_begun_pool_defers_waiting_frees)
{
    struct bench bench;
    open_bench(&bench, GIB);
    uint64_t a = get(&bench, 100, 1);
    model_record_stream(&bench.model, a, 2);
    CHECK_INT(model_pool_begin(&bench.model, 9, NULL, NULL), BASE_OK);
    CHECK(model_pool_begin(&bench.model, 9, NULL, NULL) != BASE_OK);
    bench.device.forbid_queries = true;
    give(&bench, a);
    CHECK_INT(bench.model.deferred_count, 1);
    uint64_t b = get(&bench, 100, 1); /* in a segment of its own */
    CHECK(b / (2 * MIB) != a / (2 * MIB));
    bench.device.forbid_queries = false;
    CHECK_INT(model_pool_end(&bench.model, 9), BASE_OK);
    get(&bench, 100, 1);
    CHECK_INT(bench.model.deferred_count, 0);
    CHECK_INT(bench.model.event_count, 1);
    give(&bench, b);
    CHECK_INT(model_empty_cache(&bench.model), BASE_OK);
    CHECK_INT(bench.model.segment_count, 2); /* the pool's is kept */
    CHECK_INT(model_pool_release(&bench.model, 9), BASE_OK);
    CHECK_INT(model_empty_cache(&bench.model), BASE_OK);
    CHECK_INT(bench.model.segment_count, 1);
    close_bench(&bench);
}

/* ---- the ladder ---- */

TEST(the_last_rung_gives_everything_back_and_counts)
{
    struct bench bench;
    open_bench(&bench, 64 * MIB);
    give(&bench, get(&bench, 40 * MIB, 1));
    get(&bench, 30 * MIB, 2);
    CHECK_INT(bench.model.stats.num_alloc_retries, 1);
    CHECK_INT(bench.model.stats.num_sync_all_streams, 1);
    CHECK_INT(bench.model.stats.num_device_free, 1);
    uint64_t address;
    struct alloc_refusal refusal;
    CHECK_INT(model_malloc(&bench.model, 35 * MIB, 1, &address, &refusal), ERR_NOMEM);
    CHECK_INT(refusal.segment_size, 36 * MIB);
    CHECK_INT(refusal.device_free, 34 * MIB);
    CHECK_INT(bench.model.stats.num_ooms, 1);
    close_bench(&bench);
}

TEST(rung_three_gives_back_oversize_blocks_of_its_stream)
{
    struct bench bench;
    open_bench(&bench, 200 * MIB);
    bench.model.config.max_split_size = 20 * MIB;
    uint64_t a = get(&bench, 40 * MIB, 1);
    uint64_t b = get(&bench, 60 * MIB, 1);
    uint64_t c = get(&bench, 80 * MIB, 2);
    give(&bench, a);
    give(&bench, b);
    give(&bench, c);
    get(&bench, 82 * MIB, 1); /* 60 and 40 go, 80 of the other stream stays */
    CHECK_INT(bench.model.stats.num_alloc_retries, 0);
    CHECK_INT(bench.model.stats.num_device_free, 2);
    CHECK_INT(get(&bench, 80 * MIB, 2), c);
    close_bench(&bench);
}

TEST(collection_takes_what_is_older_than_the_mean)
{
    struct bench bench;
    open_bench(&bench, GIB);
    bench.model.config.gc_threshold = 0.5;
    bench.model.limit = 100 * MIB;
    uint64_t old = get(&bench, 20 * MIB, 0);
    uint64_t young = get(&bench, 30 * MIB, 0);
    give(&bench, old);
    get(&bench, 12 * MIB, 1); /* two searches pass */
    give(&bench, young);
    get(&bench, 14 * MIB, 1);
    CHECK_INT(bench.model.stats.num_device_free, 1);
    CHECK(model_find(&bench.model, old).segment == NULL ||
          model_find(&bench.model, old).segment->stream == 1);
    CHECK(model_find(&bench.model, young).segment != NULL);
    close_bench(&bench);
}

/* ---- expandable ---- */

TEST(expandable_segments_grow_by_pages)
{
    struct bench bench;
    open_bench(&bench, 160 * MIB);
    bench.model.config.expandable_segments = true;
    uint64_t a = get(&bench, 12 * MIB, 0);
    CHECK_INT(bench.model.stats.reserved_bytes[ALLOC_ALL].current, 20 * MIB);
    CHECK_INT(bench.model.stats.segment[ALLOC_ALL].current, 0);
    uint64_t size;
    model_base(&bench.model, a, &size);
    CHECK_INT(size, 180 * MIB);
    uint64_t b = get(&bench, 30 * MIB, 0); /* 8 there, 22 asked for: two pages */
    CHECK_INT(b, a + 12 * MIB);
    CHECK_INT(bench.model.stats.reserved_bytes[ALLOC_ALL].current, 60 * MIB);
    CHECK_INT(bench.model.stats.num_device_alloc, 2);
    give(&bench, a);
    CHECK_INT(model_empty_cache(&bench.model), BASE_OK); /* no page is wholly free */
    CHECK_INT(bench.model.stats.reserved_bytes[ALLOC_ALL].current, 60 * MIB);
    give(&bench, b);
    CHECK_INT(bench.model.stats.inactive_split[ALLOC_ALL].allocated, 0);
    CHECK_INT(model_empty_cache(&bench.model), BASE_OK);
    CHECK_INT(bench.model.segment_count, 0);
    CHECK_INT(bench.model.stats.num_device_free, 1);
    close_bench(&bench);
}

TEST_MAIN(TEST_CASE(requests_round_to_512), TEST_CASE(divisions_round_between_powers_of_two),
          TEST_CASE(segments_have_three_sizes), TEST_CASE(nothing_and_too_much_touch_nothing),
          TEST_CASE(a_session_counts_as_worked_out), TEST_CASE(neighbouring_segments_never_merge),
          TEST_CASE(streams_do_not_share), TEST_CASE(a_tail_of_a_mebibyte_is_not_split),
          TEST_CASE(oversize_blocks_are_kept_for_oversize_requests),
          TEST_CASE(a_block_waits_for_the_streams_that_used_it),
          TEST_CASE(a_begun_pool_defers_waiting_frees),
          TEST_CASE(the_last_rung_gives_everything_back_and_counts),
          TEST_CASE(rung_three_gives_back_oversize_blocks_of_its_stream),
          TEST_CASE(collection_takes_what_is_older_than_the_mean),
          TEST_CASE(expandable_segments_grow_by_pages))
