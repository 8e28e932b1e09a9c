/* The driver's memory, and whose it is: stories of programs on a GPU. */
#include "feed.h"
#include "state_types.h"
#include "test.h"

#define MIB ((uint64_t)1 << 20)
#define AT 0x7f0000000000ull

static struct rows rows;
static struct feed feed;
static uint32_t heap, side, driver, forward, torch, nccl, call;

static void begin(void)
{
    feed_begin(&feed, NULL, &rows);
    forward = feed_string(&feed, "forward");
    torch = feed_string(&feed, "/opt/torch/lib/libc10_cuda.so");
    nccl = feed_string(&feed, "/opt/nccl/lib/libnccl.so.2");
    call = feed_string(&feed, "cudaMalloc");
    heap = feed_heap(&feed, DEVICE_CUDA, 0, 0);
    side = feed_heap(&feed, DEVICE_CUDA, 0, 9);
    driver = feed_heap(&feed, DEVICE_CUDA, 0, 77);
}

static int64_t send(struct event event)
{
    int64_t seq = feed_event(&feed, event);
    CHECK(state_is_valid(feed.state));
    return seq;
}

static int64_t take(unsigned kind, uint32_t library, uint64_t address, uint64_t size)
{
    bool host = kind == DRIVER_HOST || kind == DRIVER_REGISTERED;
    return send((struct event){.kind = EVENT_DRIVER_ALLOC,
                               .heap = host ? 0 : driver & 0xffffff,
                               .name = call,
                               .addr = address,
                               .size = size,
                               .a = (uint64_t)library << 32 | kind,
                               .b = 35});
}

static int64_t give(unsigned kind, uint64_t address)
{
    return send((struct event){
        .kind = EVENT_DRIVER_FREE, .heap = driver & 0xffffff, .addr = address, .a = kind});
}

static int64_t map(uint64_t address, uint64_t size, uint64_t handle)
{
    return send((struct event){.kind = EVENT_DRIVER_MAP,
                               .heap = driver & 0xffffff,
                               .addr = address,
                               .size = size,
                               .b = handle});
}

static int64_t unmap(uint64_t address, uint64_t size)
{
    return send((struct event){
        .kind = EVENT_DRIVER_UNMAP, .heap = driver & 0xffffff, .addr = address, .size = size});
}

/* As PyTorch tells of one: with what is allocated and reserved afterwards. */
static int64_t block(uint64_t address, uint64_t size, uint64_t reserved)
{
    const struct heap_device *device = feed.process->heaps.devices[0];
    return send((struct event){.kind = EVENT_BLOCK_ALLOC,
                               .flags = EVENT_F_TOTALS,
                               .heap = heap & 0xffffff,
                               .addr = address,
                               .size = size,
                               .a = (uint64_t)device->allocated + size,
                               .b = reserved});
}

static const struct row *memory(int64_t seq)
{
    const struct row *row = rows_find(&rows, SCH_DRIVER_MEMORY, 1, &seq);
    REQUIRE(row != NULL);
    return row;
}

static const struct row *segment(int64_t seq)
{
    return rows_find(&rows, SCH_SEGMENT, 1, &seq);
}

static const struct row *part(size_t nth_forward)
{
    const struct row *phase = rows_phase(&rows, "forward", nth_forward);
    REQUIRE(phase != NULL);
    const struct row *row = rows_phase_device(&rows, phase->at[0], 1);
    REQUIRE(row != NULL);
    return row;
}

TEST(a_segment_is_the_memory_that_its_block_lies_in)
{
    begin();
    feed_phase(&feed, forward);
    int64_t small = take(DRIVER_DEVICE, torch, AT, 2 * MIB);
    int64_t first = block(AT, 512, 2 * MIB);
    int64_t large = take(DRIVER_DEVICE, torch, AT + 32 * MIB, 20 * MIB);
    int64_t second = block(AT + 32 * MIB, 5 * MIB, 22 * MIB);
    int64_t third = block(AT + 40 * MIB, 3 * MIB, 22 * MIB);
    int64_t outside = take(DRIVER_DEVICE, nccl, AT + 128 * MIB, 8 * MIB);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(rows_alloc(&rows, first)->segment, small);
    CHECK_INT(rows_alloc(&rows, second)->segment, large);
    CHECK_INT(rows_alloc(&rows, third)->segment, large);
    CHECK_INT(rows.tables[SCH_SEGMENT].count, 2);
    CHECK_INT(segment(small)->at[1], 1); /* the block's heap */
    CHECK_INT(segment(small)->at[3], 2 * MIB);
    CHECK_INT(segment(large)->at[4], memory(large)->at[MEMORY_ALLOC_NS]);
    CHECK_INT(memory(small)->at[MEMORY_BLOCKS], 1);
    CHECK_INT(memory(large)->at[MEMORY_BLOCKS], 2);
    CHECK_INT(memory(large)->at[MEMORY_HEAP], 1);
    CHECK_INT(memory(outside)->at[MEMORY_BLOCKS], 0);
    CHECK_INT(memory(outside)->at[MEMORY_HEAP], ROW_NULL);
    CHECK_STR(memory(outside)->text[MEMORY_KIND], "device");
    CHECK(memory(outside)->at[MEMORY_LIBRARY] != memory(large)->at[MEMORY_LIBRARY]);
    CHECK_INT(memory(outside)->at[MEMORY_CALL], memory(large)->at[MEMORY_CALL]);
    CHECK_INT(memory(outside)->at[MEMORY_STREAM], ROW_NULL);
    CHECK_INT(part(0)->at[PART_RESERVED], 22 * MIB);
    CHECK_INT(part(0)->at[PART_SPLIT], 22 * MIB - 512 - 8 * MIB);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

TEST(without_totals_reserved_is_what_blocks_lie_in)
{
    begin();
    feed_phase(&feed, forward);
    take(DRIVER_DEVICE, torch, AT, 20 * MIB);
    take(DRIVER_DEVICE, nccl, AT + 64 * MIB, 20 * MIB);
    feed_alloc(&feed, heap, AT + MIB, MIB);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(part(0)->at[PART_RESERVED], 20 * MIB);
    CHECK_INT(part(0)->at[PART_MAX_RESERVED], 20 * MIB);
}

TEST(an_emptied_cache_is_off_reserved_at_once)
{
    begin();
    int64_t large = take(DRIVER_DEVICE, torch, AT, 20 * MIB);
    take(DRIVER_DEVICE, torch, AT + 64 * MIB, 2 * MIB);
    int64_t gone = block(AT, 20 * MIB, 20 * MIB);
    block(AT + 64 * MIB, 512, 22 * MIB);
    feed_phase(&feed, forward);
    feed_free(&feed, heap, AT);
    int64_t end = give(DRIVER_DEVICE, AT);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(rows_alloc(&rows, gone)->segment, large);
    CHECK_INT(segment(large)->at[6], end);
    CHECK_INT(memory(large)->at[MEMORY_FREE_SEQ], end);
    CHECK_INT(part(0)->at[PART_RESERVED], 2 * MIB);
    CHECK_INT(part(0)->at[PART_PEAK_RESERVED], 22 * MIB);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

TEST(a_total_that_is_not_the_segments_is_a_fact_once)
{
    begin();
    take(DRIVER_DEVICE, torch, AT, 2 * MIB);
    for (int i = 0; i < 3; i++) {
        feed_phase(&feed, forward);
        block(AT + (uint64_t)i * 512, 512, 12 * MIB + (uint64_t)i);
        feed_phase_end(&feed, forward);
    }
    feed_end(&feed, true);
    CHECK_INT(rows_anomalies(&rows, "reserved differs"), 1);
    CHECK_STR(rows_anomaly(&rows, "reserved differs", 0)->text[ANOMALY_DETAIL],
              "cuda:0: the allocator's total is 10485760 bytes above what its blocks lie in");
    CHECK_INT(part(2)->at[PART_RESERVED], 12 * MIB + 2);
}

TEST(expandable_segments_are_pages)
{
    begin();
    feed_phase(&feed, forward);
    int64_t one = take(DRIVER_PHYSICAL, torch, 0x100, 20 * MIB);
    int64_t mapped = map(AT, 20 * MIB, 0x100);
    int64_t two = take(DRIVER_PHYSICAL, torch, 0x101, 20 * MIB);
    map(AT + 20 * MIB, 20 * MIB, 0x101);
    block(AT, 30 * MIB, 40 * MIB); /* over both */
    feed_phase_end(&feed, forward);
    feed_phase(&feed, forward);
    feed_free(&feed, heap, AT);
    unmap(AT + 20 * MIB, 20 * MIB);
    int64_t end = give(DRIVER_PHYSICAL, 0x101);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(rows.tables[SCH_SEGMENT].count, 0);
    CHECK_INT(rows.tables[SCH_MAPPING].count, 3);
    CHECK_INT(rows.tables[SCH_MAPPING].rows[0].at[0], mapped);
    CHECK_INT(rows.tables[SCH_MAPPING].rows[0].at[3], 20 * MIB);
    CHECK_INT(rows.tables[SCH_MAPPING].rows[2].at[5], 0);
    CHECK_INT(memory(one)->at[MEMORY_BLOCKS], 1);
    CHECK_INT(memory(two)->at[MEMORY_FREE_SEQ], end);
    CHECK_INT(part(0)->at[PART_RESERVED], 40 * MIB);
    CHECK_INT(part(1)->at[PART_RESERVED], 20 * MIB);
    CHECK_INT(rows.tables[SCH_DRIVER_MAPPING].count, 3);
    CHECK_INT(rows.tables[SCH_DRIVER_MAPPING].rows[1].at[5], two);
    CHECK_INT(rows.tables[SCH_DRIVER_MAPPING].rows[2].at[5], ROW_NULL);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

/* NCCL asks for the handle of an address, and gives it back twice. */
TEST(physical_memory_lives_while_it_is_mapped)
{
    begin();
    int64_t seq = take(DRIVER_PHYSICAL, nccl, 0x200, 2 * MIB);
    map(AT, 2 * MIB, 0x200);
    give(DRIVER_PHYSICAL, 0x200);
    feed_flush(&feed);
    CHECK_INT(memory(seq)->at[MEMORY_FREE_SEQ], ROW_NULL);
    int64_t end = unmap(AT, 2 * MIB);
    give(DRIVER_PHYSICAL, 0x200);
    int64_t next = take(DRIVER_PHYSICAL, nccl, 0x200, 4 * MIB);
    give(DRIVER_PHYSICAL, 0x200);
    feed_end(&feed, true);
    CHECK_INT(memory(seq)->at[MEMORY_FREE_SEQ], end);
    CHECK_INT(memory(next)->at[MEMORY_SIZE], 4 * MIB);
    CHECK(memory(next)->at[MEMORY_FREE_SEQ] != ROW_NULL);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
    CHECK_INT(rows.tables[SCH_MAPPING].count, 0); /* nobody's heap */
}

TEST(an_allocator_that_tells_of_its_segments_is_believed)
{
    begin();
    feed_phase(&feed, forward);
    int64_t seq = take(DRIVER_DEVICE, torch, AT, 20 * MIB);
    int64_t told = send((struct event){
        .kind = EVENT_SEGMENT_ALLOC, .heap = side & 0xffffff, .addr = AT, .size = 20 * MIB});
    int64_t cached = take(DRIVER_DEVICE, torch, AT + 64 * MIB, 2 * MIB);
    send((struct event){.kind = EVENT_SEGMENT_ALLOC,
                        .heap = side & 0xffffff,
                        .addr = AT + 64 * MIB,
                        .size = 2 * MIB});
    int64_t in = feed_alloc(&feed, side, AT + MIB, MIB);
    feed_phase_end(&feed, forward);
    give(DRIVER_DEVICE, AT);
    send((struct event){.kind = EVENT_SEGMENT_FREE, .heap = side & 0xffffff, .addr = AT});
    feed_end(&feed, true);
    CHECK_INT(rows.tables[SCH_SEGMENT].count, 2);
    CHECK_INT(rows_alloc(&rows, in)->segment, told);
    CHECK_INT(part(0)->at[PART_RESERVED], 22 * MIB);
    CHECK_INT(memory(seq)->at[MEMORY_HEAP], 2);
    CHECK_INT(memory(seq)->at[MEMORY_BLOCKS], 1);
    CHECK_INT(memory(cached)->at[MEMORY_HEAP], 2); /* no block came, but it is a segment */
    CHECK_INT(memory(cached)->at[MEMORY_BLOCKS], 0);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

TEST(pages_that_an_allocator_tells_of_are_not_counted_twice)
{
    begin();
    feed_phase(&feed, forward);
    int64_t seq = take(DRIVER_PHYSICAL, torch, 0x300, 20 * MIB);
    map(AT, 20 * MIB, 0x300);
    send((struct event){.kind = EVENT_SEGMENT_ALLOC,
                        .flags = EVENT_F_MAP,
                        .heap = heap & 0xffffff,
                        .addr = AT,
                        .size = 20 * MIB});
    feed_alloc(&feed, heap, AT, MIB);
    feed_phase_end(&feed, forward);
    send((struct event){.kind = EVENT_SEGMENT_FREE,
                        .flags = EVENT_F_MAP,
                        .heap = heap & 0xffffff,
                        .addr = AT,
                        .size = 20 * MIB});
    unmap(AT, 20 * MIB);
    give(DRIVER_PHYSICAL, 0x300);
    feed_end(&feed, true);
    CHECK_INT(part(0)->at[PART_RESERVED], 20 * MIB);
    CHECK_INT(rows.tables[SCH_MAPPING].count, 2);
    CHECK_INT(memory(seq)->at[MEMORY_HEAP], 1);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

TEST(a_history_tells_of_the_segments)
{
    begin();
    uint32_t name = feed_string(&feed, "history=1");
    send((struct event){.kind = EVENT_MARK, .flags = EVENT_F_SETTING, .name = name});
    int64_t seq = take(DRIVER_DEVICE, torch, AT, 2 * MIB);
    uint64_t taken_ns = feed.now;
    int64_t in = block(AT, 512, 2 * MIB);
    send((struct event){.kind = EVENT_HISTORY,
                        .heap = heap & 0xffffff,
                        .addr = AT,
                        .size = 2 * MIB,
                        .a = taken_ns,
                        .b = HISTORY_SEGMENT_ALLOC});
    send((struct event){.kind = EVENT_HISTORY,
                        .heap = heap & 0xffffff,
                        .addr = AT,
                        .size = 400,
                        .a = feed.now,
                        .b = HISTORY_ALLOC});
    feed_end(&feed, true);
    CHECK_INT(rows.tables[SCH_SEGMENT].count, 1);
    CHECK_INT(rows_alloc(&rows, in)->requested, 400);
    CHECK_INT(rows_alloc(&rows, in)->segment, in); /* as the history numbers them */
    CHECK_INT(memory(seq)->at[MEMORY_BLOCKS], 1);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

TEST(parts_of_pools_are_owned_and_are_no_segments)
{
    begin();
    feed_phase(&feed, forward);
    int64_t pool = take(DRIVER_POOL, torch, 0x400, 0);
    int64_t seq = take(DRIVER_ASYNC, torch, AT, MIB);
    block(AT, MIB, 32 * MIB);
    feed_phase_end(&feed, forward);
    feed_free(&feed, heap, AT);
    give(DRIVER_DEVICE, AT); /* cudaFree takes it, too */
    feed_phase(&feed, forward);
    feed_phase_end(&feed, forward);
    feed_end(&feed, true);
    CHECK_INT(rows.tables[SCH_SEGMENT].count, 0);
    CHECK_INT(memory(seq)->at[MEMORY_HEAP], 1);
    CHECK_INT(memory(seq)->at[MEMORY_STREAM], 35);
    CHECK_STR(memory(seq)->text[MEMORY_KIND], "async");
    CHECK(memory(seq)->at[MEMORY_FREE_SEQ] != ROW_NULL);
    CHECK_INT(memory(pool)->at[MEMORY_FREE_SEQ], ROW_NULL);
    CHECK_INT(part(0)->at[PART_RESERVED], 32 * MIB);
    CHECK_INT(part(1)->at[PART_RESERVED], 32 * MIB); /* the pool keeps it */
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

TEST(blocks_of_the_host_are_not_in_a_device)
{
    begin();
    uint32_t cpu = feed_heap(&feed, DEVICE_CPU, -1, 0);
    int64_t pinned = take(DRIVER_HOST, torch, AT, 2 * MIB);
    int64_t device = take(DRIVER_DEVICE, torch, AT + 64 * MIB, 2 * MIB);
    feed_alloc(&feed, cpu, AT + 64, 64);
    feed_alloc(&feed, cpu, AT + 64 * MIB, 64);
    feed_end(&feed, true);
    CHECK_INT(memory(pinned)->at[MEMORY_DEVICE], ROW_NULL);
    CHECK_INT(memory(pinned)->at[MEMORY_BLOCKS], 0);
    CHECK_INT(memory(device)->at[MEMORY_DEVICE], 1);
    CHECK_INT(memory(device)->at[MEMORY_BLOCKS], 0);
    CHECK_INT(rows.tables[SCH_SEGMENT].count, 0);
}

TEST(what_was_there_before_is_a_fact)
{
    begin();
    give(DRIVER_DEVICE, AT);
    give(DRIVER_PHYSICAL, 0x500);
    give(DRIVER_HOST, AT + MIB);
    unmap(AT, 2 * MIB);
    map(AT, 2 * MIB, 0x500); /* its memory is not known */
    unmap(AT, 2 * MIB);
    feed_end(&feed, true);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 1);
    CHECK_STR(rows_anomaly(&rows, "driver memory not seen to come", 0)->text[ANOMALY_DETAIL],
              "3 frees and 1 unmaps of what was there before it could be seen");
}

TEST(memory_over_memory_ends_the_former)
{
    begin();
    int64_t one = take(DRIVER_DEVICE, torch, AT, 2 * MIB);
    int64_t two = take(DRIVER_DEVICE, torch, AT + 2 * MIB, 2 * MIB);
    block(AT, 512, 4 * MIB);
    int64_t over = take(DRIVER_DEVICE, torch, AT + MIB, 2 * MIB);
    int64_t handle = take(DRIVER_PHYSICAL, torch, 0x600, MIB);
    map(AT + 32 * MIB, MIB, 0x600);
    int64_t again = take(DRIVER_PHYSICAL, torch, 0x600, MIB);
    map(AT + 32 * MIB, MIB, 0x600);
    feed_end(&feed, true);
    CHECK_INT(memory(one)->at[MEMORY_FREE_SEQ], over);
    CHECK_INT(memory(two)->at[MEMORY_FREE_SEQ], over);
    CHECK_INT(segment(one)->at[6], over);
    CHECK_INT(memory(handle)->at[MEMORY_FREE_SEQ], again + 1);
    CHECK_INT(memory(again)->at[MEMORY_FREE_SEQ], ROW_NULL);
    CHECK_INT(rows_anomalies(&rows, "driver memory taken twice"), 4);
}

TEST(imported_memory_is_found_by_its_handle)
{
    begin();
    int64_t opened = take(DRIVER_IMPORTED, nccl, AT, 4 * MIB);
    int64_t shared = take(DRIVER_IMPORTED, nccl, 0x700, 2 * MIB);
    map(AT + 64 * MIB, 2 * MIB, 0x700);
    give(DRIVER_PHYSICAL, 0x700);
    give(DRIVER_IMPORTED, AT);
    feed_flush(&feed);
    CHECK(memory(opened)->at[MEMORY_FREE_SEQ] != ROW_NULL);
    CHECK_INT(memory(shared)->at[MEMORY_FREE_SEQ], ROW_NULL);
    int64_t end = unmap(AT + 64 * MIB, 2 * MIB);
    feed_end(&feed, true);
    CHECK_INT(memory(shared)->at[MEMORY_FREE_SEQ], end);
    CHECK_INT(rows.tables[SCH_ANOMALY].count, 0);
}

TEST(samples_gaps_and_activities_are_stored_as_told)
{
    begin();
    uint32_t used = feed_string(&feed, "device used");
    uint32_t profiler = feed_string(&feed, "cupti: torch.profiler ran");
    uint32_t bare = feed_string(&feed, "nvtx");
    uint32_t gemm = feed_string(&feed, "gemm");
    int64_t device = send((struct event){
        .kind = EVENT_SAMPLE, .heap = driver & 0xffffff, .name = used, .a = 500 * MIB});
    CHECK_INT(send((struct event){.kind = EVENT_SAMPLE, .name = used, .a = 7}), device);
    uint32_t total = feed_string(&feed, "device total");
    for (int i = 0; i < 2; i++) /* of the device, not a sample */
        send((struct event){
            .kind = EVENT_SAMPLE, .heap = driver & 0xffffff, .name = total, .a = 900 * MIB});
    int64_t first = send((struct event){.kind = EVENT_GAP, .name = profiler, .a = 1});
    int64_t open = send((struct event){.kind = EVENT_GAP, .name = bare, .a = 1});
    int64_t last = send((struct event){.kind = EVENT_GAP, .name = profiler});
    int64_t last_ns = (int64_t)(feed.now - FEED_START);
    send((struct event){.kind = EVENT_GAP, .name = profiler});
    int64_t kernel = send((struct event){.kind = EVENT_ACTIVITY,
                                         .heap = driver & 0xffffff,
                                         .name = gemm,
                                         .addr = FEED_START + 5,
                                         .size = 10,
                                         .a = 13 << 8 | ACTIVITY_KERNEL,
                                         .b = 99});
    int64_t copy = send((struct event){
        .kind = EVENT_ACTIVITY, .heap = driver & 0xffffff, .a = ACTIVITY_COPY, .b = 99});
    send((struct event){.kind = EVENT_ACTIVITY, .heap = driver & 0xffffff, .a = 200});
    feed_end(&feed, true);
    const struct row *sample = rows.tables[SCH_SAMPLE].rows;
    CHECK_INT(sample[0].at[1], 1);
    CHECK_INT(sample[0].at[2], 1);
    CHECK_STR(sample[0].text[3], "device used");
    CHECK_INT(sample[0].at[4], 500 * MIB);
    CHECK_INT(sample[1].at[2], ROW_NULL);
    CHECK_INT(rows.tables[SCH_SAMPLE].count, 2);
    CHECK_INT(rows.tables[SCH_DEVICE].rows[0].at[DEVICE_TOTAL_BYTES], 900 * MIB);
    const struct row *gap = rows_find(&rows, SCH_GAP, 1, &first);
    CHECK_STR(gap->text[GAP_SOURCE], "cupti");
    CHECK_STR(gap->text[GAP_WHY], "torch.profiler ran");
    CHECK_INT(gap->at[GAP_LAST_SEQ], last);
    CHECK_INT(gap->at[GAP_END_NS], last_ns);
    gap = rows_find(&rows, SCH_GAP, 1, &open);
    CHECK_STR(gap->text[GAP_SOURCE], "nvtx");
    CHECK(gap->text[GAP_WHY] == NULL);
    CHECK_INT(gap->at[GAP_LAST_SEQ], ROW_NULL);
    const struct row *row = rows_find(&rows, SCH_ACTIVITY, 1, &kernel);
    CHECK_INT(row->at[3], 13);
    CHECK_INT(row->at[4], ACTIVITY_KERNEL);
    CHECK_INT(row->at[6], 5);
    CHECK_INT(row->at[7], 15);
    CHECK_INT(row->at[8], ROW_NULL);
    row = rows_find(&rows, SCH_ACTIVITY, 1, &copy);
    CHECK_INT(row->at[5], ROW_NULL);
    CHECK_INT(row->at[6], ROW_NULL);
    CHECK_INT(row->at[8], 99);
    CHECK_INT(rows_anomalies(&rows, "gap end without begin"), 1);
    CHECK_INT(rows_anomalies(&rows, "unknown event"), 1);
}

TEST(numbers_at_their_ends_do_no_harm)
{
    begin();
    take(DRIVER_DEVICE, torch, UINT64_MAX, UINT64_MAX);
    int64_t large = take(DRIVER_DEVICE, torch, 0, UINT64_MAX);
    block(5, 1, 1);
    block(UINT64_MAX, UINT64_MAX, 1);
    take(DRIVER_PHYSICAL, torch, 0, UINT64_MAX);
    map(0, UINT64_MAX, 0);
    map(0, UINT64_MAX, 0);
    map(UINT64_MAX, UINT64_MAX, 0);
    block(5, 1, 1);
    unmap(1, UINT64_MAX);
    unmap(0, 0);
    map(0, INT64_MAX, 0); /* together more than 2^63 bytes */
    map(INT64_MAX, INT64_MAX, 0);
    unmap(0, UINT64_MAX);
    give(DRIVER_PHYSICAL, 0);
    give(0, 0);
    give(250, 0);
    take(0, 0, 0, 0);
    take(250, 0, 0, 0);
    send((struct event){.kind = EVENT_ACTIVITY,
                        .heap = driver & 0xffffff,
                        .addr = UINT64_MAX,
                        .size = UINT64_MAX,
                        .a = UINT64_MAX - 255 + ACTIVITY_SET,
                        .b = UINT64_MAX});
    feed_end(&feed, true);
    CHECK_INT(rows_anomalies(&rows, "unknown event"), 4);
    CHECK_INT(memory(large)->at[5], HEAP_LARGEST);
}

static void sample(const char *what, uint64_t bytes)
{
    send((struct event){.kind = EVENT_SAMPLE,
                        .heap = driver & 0xffffff,
                        .name = feed_string(&feed, what),
                        .a = bytes});
}

static uint64_t given(void)
{
    struct state_totals totals;
    state_totals(feed.state, &totals);
    if (totals.peak_given)
        CHECK_STR(totals.given_device_name, "cuda:0");
    return totals.peak_given;
}

/* Pools count once, as sampled or as handed out of them, whichever is more. */
TEST(the_most_that_the_driver_gave)
{
    struct feed other;
    begin();
    feed_begin(&other, feed.state, &rows);
    take(DRIVER_HOST, torch, AT, 64 * MIB);
    take(DRIVER_MANAGED, torch, AT + 256 * MIB, 32 * MIB);
    CHECK_INT(given(), 0);
    take(DRIVER_DEVICE, torch, AT + 512 * MIB, 8 * MIB);
    CHECK_INT(given(), 8 * MIB);
    take(DRIVER_ASYNC, nccl, AT + 768 * MIB, 2 * MIB);
    CHECK_INT(given(), 10 * MIB);
    sample("pool reserved", 32 * MIB);
    sample("pool used", 2 * MIB);
    CHECK_INT(given(), 40 * MIB);
    sample("graph reserved", 4 * MIB);
    CHECK_INT(given(), 44 * MIB);
    give(DRIVER_DEVICE, AT + 512 * MIB);
    sample("pool reserved", 2 * MIB);
    take(DRIVER_PHYSICAL, nccl, 901, 40 * MIB); /* 46 */
    CHECK_INT(given(), 46 * MIB);
    map(AT, 4 * MIB, 901);
    give(DRIVER_PHYSICAL, 901); /* it is there as long as it is mapped */
    take(DRIVER_ARRAY, nccl, 77, 1 * MIB);
    CHECK_INT(given(), 47 * MIB);
    unmap(AT, 4 * MIB);
    take(DRIVER_ARRAY, nccl, 78, 40 * MIB);
    CHECK_INT(given(), 47 * MIB);
    take(DRIVER_ARRAY, nccl, 78, 20 * MIB); /* told twice: the former is gone */
    CHECK_INT(given(), 47 * MIB);
    feed_end(&feed, false);
    CHECK_INT(given(), 47 * MIB); /* of one that has ended, too */
    feed_end(&other, true);
}

TEST(more_gaps_at_once_than_anybody_needs)
{
    begin();
    for (unsigned i = 0; i < 3 * DRIVER_GAPS; i++) {
        uint32_t name = feed_string(&feed, i % 2 ? "a: b" : "c: d");
        send((struct event){.kind = EVENT_GAP, .name = name, .a = 1});
    }
    feed_end(&feed, true);
    CHECK_INT(rows.tables[SCH_GAP].count, 3 * DRIVER_GAPS);
}

TEST_MAIN(TEST_CASE(a_segment_is_the_memory_that_its_block_lies_in),
          TEST_CASE(without_totals_reserved_is_what_blocks_lie_in),
          TEST_CASE(an_emptied_cache_is_off_reserved_at_once),
          TEST_CASE(a_total_that_is_not_the_segments_is_a_fact_once),
          TEST_CASE(expandable_segments_are_pages),
          TEST_CASE(physical_memory_lives_while_it_is_mapped),
          TEST_CASE(an_allocator_that_tells_of_its_segments_is_believed),
          TEST_CASE(pages_that_an_allocator_tells_of_are_not_counted_twice),
          TEST_CASE(a_history_tells_of_the_segments),
          TEST_CASE(parts_of_pools_are_owned_and_are_no_segments),
          TEST_CASE(blocks_of_the_host_are_not_in_a_device),
          TEST_CASE(what_was_there_before_is_a_fact), TEST_CASE(memory_over_memory_ends_the_former),
          TEST_CASE(imported_memory_is_found_by_its_handle),
          TEST_CASE(samples_gaps_and_activities_are_stored_as_told),
          TEST_CASE(numbers_at_their_ends_do_no_harm), TEST_CASE(the_most_that_the_driver_gave),
          TEST_CASE(more_gaps_at_once_than_anybody_needs))
