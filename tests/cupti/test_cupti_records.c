/*
 * Activity records with the toolkit's own structs, stepped over by its own library, as events.
 */
#include "cupti_newest.h"

#include <dlfcn.h>

#include "cupti_buffers.h"
#include "cupti_late.h"
#include "cupti_records.h"
#include "cupti_support.h"

/* The clock that the records were made by: two hours ahead of ours, and steps when told to. */
/* Less than half of what the wall clock is set by, and more than any machine is behind. */
#define MOMENT_NS (1000 * NS_PER_S)

static int64_t ahead = 7200 * (int64_t)NS_PER_S;

static int their_clock(uint64_t *ns)
{
    *ns = clock_now_ns() + (uint64_t)ahead;
    return ABI_OK;
}

static struct driven begin_records(void)
{
    struct driven driven = begin_driven();
    if (!cupti_has_its_driver())
        SKIP("this libcupti steps over records only where there is a libcuda.so.1");
    void *library = dlopen(TEST_CUPTI, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        SKIP("the toolkit's libcupti cannot be opened");
    void *address = dlsym(library, "cuptiActivityGetNextRecord");
    REQUIRE(address != NULL);
    memcpy(&cupti_api.next_record, &address, sizeof address);
    cupti_api.get_timestamp = their_clock;
    records_clock();
    return driven;
}

struct filler {
    uint8_t *buffer;
    size_t bytes, used;
};

static struct filler open_buffer(void)
{
    struct filler filler = {0};
    size_t most = 9;
    activity_request(&filler.buffer, &filler.bytes, &most);
    REQUIRE(filler.buffer != NULL && (uintptr_t)filler.buffer % 8 == 0);
    CHECK_INT(most, 0);
    for (size_t i = 0; i < filler.bytes; i++)
        if (filler.buffer[i]) {
            CHECK_INT(filler.buffer[i], 0); /* CUPTI was told that it is zeroed */
            break;
        }
    return filler;
}

static void put(struct filler *filler, const void *record, size_t bytes)
{
    REQUIRE(filler->used + bytes <= filler->bytes);
    memcpy(filler->buffer + filler->used, record, bytes);
    filler->used += bytes;
}

static void close_buffer(const struct filler *filler)
{
    activity_complete(NULL, 0, filler->buffer, filler->bytes, filler->used);
}

TEST(work_of_every_kind)
{
    struct driven driven = begin_records();
    struct filler filler = open_buffer();
    uint64_t now = 0;
    their_clock(&now);
    put(&filler,
        &(newest_kernel){.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                         .start = now,
                         .end = now + 500,
                         .deviceId = 1,
                         .streamId = 7,
                         .name = "gemm"},
        sizeof(newest_kernel));
    put(&filler,
        &(newest_memcpy){.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                         .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                         .bytes = 1ull << 31,
                         .start = now + 600,
                         .end = now + 700},
        sizeof(newest_memcpy));
    put(&filler,
        &(newest_memset){
            .kind = CUPTI_ACTIVITY_KIND_MEMSET, .bytes = 64, .start = now + 800, .end = now + 801},
        sizeof(newest_memset));
    put(&filler,
        &(CUpti_ActivityMemcpyPtoP4){.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                     .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
                                     .bytes = 10,
                                     .start = now + 802,
                                     .end = now + 803},
        sizeof(CUpti_ActivityMemcpyPtoP4));
    put(&filler,
        &(newest_graph_trace){
            .kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE, .start = now + 900, .end = now + 990},
        sizeof(newest_graph_trace));
    put(&filler, &(CUpti_ActivityName){.kind = CUPTI_ACTIVITY_KIND_NAME},
        sizeof(CUpti_ActivityName)); /* not ours */
    close_buffer(&filler);
    static const char *const names[] = {"gemm", "memcpy HtoD", "memset", "memcpy PtoP", "graph"};
    static const int kinds[] = {ACTIVITY_KERNEL, ACTIVITY_COPY, ACTIVITY_SET, ACTIVITY_COPY,
                                ACTIVITY_GRAPH};
    static const uint64_t bytes[] = {0, 1ull << 31, 64, 10, 0};
    REQUIRE(look(&driven) == 5);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(driven.events[i].kind, EVENT_ACTIVITY);
        CHECK_INT(driven.events[i].a & 0xff, kinds[i]);
        CHECK_INT(driven.events[i].b, bytes[i]);
        CHECK_STR(string_of(driven.own.ring, driven.events[i].name), names[i]);
    }
    CHECK_INT(driven.events[0].a >> 8, 7);
    CHECK_INT(driven.events[0].size, 500);
    CHECK_INT(device_of(&driven, &driven.events[0]), 1);
    /* On our clock: within the two readings of it, a moment on a slow machine. */
    CHECK(driven.events[0].addr + MOMENT_NS > now - (uint64_t)ahead);
    CHECK(driven.events[0].addr < now - (uint64_t)ahead + MOMENT_NS);
    CHECK_INT(driven.events[1].addr - driven.events[0].addr, 600);
}

TEST(records_without_a_time_are_counted)
{
    struct driven driven = begin_records();
    struct filler filler = open_buffer();
    put(&filler, &(newest_memset){.kind = CUPTI_ACTIVITY_KIND_MEMSET}, sizeof(newest_memset));
    put(&filler, &(newest_memset){.kind = CUPTI_ACTIVITY_KIND_MEMSET, .start = 9, .end = 8},
        sizeof(newest_memset));
    close_buffer(&filler);
    CHECK_INT(look(&driven), 0);
    CHECK_INT(activity_lost().timeless, 2);
    CHECK_INT(activity_lost().unread, 0);
}

TEST(a_record_that_cannot_be_stepped_over_ends_its_buffer)
{
    struct driven driven = begin_records();
    struct filler filler = open_buffer();
    const uint32_t unknown[24] = {4711};
    put(&filler, &(newest_memset){.kind = CUPTI_ACTIVITY_KIND_MEMSET, .start = 5, .end = 8},
        sizeof(newest_memset));
    put(&filler, unknown, sizeof unknown);
    close_buffer(&filler);
    CHECK_INT(look(&driven), 1);
    CHECK_INT(activity_lost().unread, 1);
}

TEST(buffers_are_used_again_and_clean)
{
    struct driven driven = begin_records();
    struct filler first = open_buffer(), second = open_buffer();
    CHECK_INT(activity_buffers(), 2);
    memset(first.buffer, 0xff, first.bytes);
    activity_complete(NULL, 0, first.buffer, first.bytes, 0);
    struct filler third = open_buffer();
    CHECK(third.buffer == first.buffer);
    close_buffer(&second);
    close_buffer(&third);
    activity_complete(NULL, 0, NULL, 0, 0);
    CHECK_INT(activity_buffers(), 2);
    CHECK_INT(look(&driven), 0);
}

TEST(a_clock_that_steps)
{
    struct driven driven = begin_records();
    (void)driven;
    uint64_t before, after;
    their_clock(&before);
    ahead += 3000 * (int64_t)NS_PER_S; /* the wall clock is set */
    records_clock();
    their_clock(&after);
    uint64_t now = clock_now_ns();
    CHECK(records_time(after) + MOMENT_NS > now && records_time(after) < now + MOMENT_NS);
    CHECK(records_time(before) < now + MOMENT_NS && records_time(before) + MOMENT_NS > now);
}

/* ---- memory records ---- */

static newest_memory memory(uint32_t correlation, uint32_t operation, uint64_t address,
                            uint64_t time)
{
    return (newest_memory){
        .kind = CUPTI_ACTIVITY_KIND_MEMORY2,
        .memoryOperationType = (CUpti_ActivityMemoryOperationType)operation,
        .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
        .correlationId = correlation,
        .address = address,
        .bytes = 100,
        .timestamp = time,
    };
}

TEST(memory_records_in_their_order_and_once)
{
    struct driven driven = begin_records();
    REQUIRE(late_start());
    /* Out of order, and each twice, as of two contexts of a device. */
    static const struct {
        uint32_t correlation, operation;
        uint64_t address, time;
    } said[] = {{3, 1, 0x7000, 30}, {1, 1, 0x7000, 10}, {2, 2, 0x7000, 20},
                {1, 1, 0x7000, 11}, {3, 1, 0x7000, 31}, {2, 2, 0x7000, 21}};
    struct filler filler = open_buffer();
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        newest_memory record =
            memory(said[i].correlation, said[i].operation, said[i].address, said[i].time);
        put(&filler, &record, sizeof record);
    }
    close_buffer(&filler);
    CHECK_INT(look(&driven), 0); /* not before the flush is over */
    late_send();
    REQUIRE(look(&driven) == 3);
    CHECK_EVENT(driven.events[0], EVENT_DRIVER_ALLOC, 0x7000, 100);
    CHECK_EVENT(driven.events[1], EVENT_DRIVER_FREE, 0x7000, 0);
    CHECK_EVENT(driven.events[2], EVENT_DRIVER_ALLOC, 0x7000, 100);
    CHECK_INT(late_lost(), 0);
    late_send();
    CHECK_INT(look(&driven), 0);
}

TEST(memory_of_every_kind)
{
    struct driven driven = begin_records();
    REQUIRE(late_start());
    struct filler filler = open_buffer();
    static const int kinds[] = {DRIVER_HOST, DRIVER_DEVICE, DRIVER_ARRAY, DRIVER_MANAGED};
    for (uint32_t i = 0; i < 4; i++) {
        newest_memory record = memory(i + 1, 1, 0x100 + i, i + 1);
        record.memoryKind = (CUpti_ActivityMemoryKind)(CUPTI_ACTIVITY_MEMORY_KIND_PINNED + i);
        put(&filler, &record, sizeof record);
    }
    newest_memory pooled = memory(9, 1, 0x900, 9);
    pooled.isAsync = 1;
    pooled.streamId = 6;
    put(&filler, &pooled, sizeof pooled);
    close_buffer(&filler);
    late_send();
    REQUIRE(look(&driven) == 5);
    for (int i = 0; i < 4; i++)
        CHECK_INT(driven.events[i].a, kinds[i]);
    CHECK_INT(driven.events[0].heap, 0);
    CHECK_INT(driven.events[4].a, DRIVER_ASYNC);
    CHECK_INT(driven.events[4].b, 6);
}

TEST_MAIN(TEST_CASE(work_of_every_kind), TEST_CASE(records_without_a_time_are_counted),
          TEST_CASE(a_record_that_cannot_be_stepped_over_ends_its_buffer),
          TEST_CASE(buffers_are_used_again_and_clean), TEST_CASE(a_clock_that_steps),
          TEST_CASE(memory_records_in_their_order_and_once), TEST_CASE(memory_of_every_kind))
