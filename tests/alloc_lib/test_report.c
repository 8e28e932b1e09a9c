/* What the caching allocator tells a recorder; fake_attach, in this program, stands in for one. */
#include "alloc.h"
#include "fake_attach.h"
#include "test.h"
#include "tidemark.h"
#include "virtual.h"
#include "wrap.h"

#include <string.h>

static const uint64_t MIB = 1 << 20;

static struct tidemark_allocator *open_with(struct tidemark_allocator_desc desc)
{
    struct tidemark_allocator *allocator = NULL;
    desc.size = sizeof desc;
    desc.device_kind = TIDEMARK_DEVICE_VIRTUAL;
    desc.device_index = 3;
    REQUIRE(tidemark_allocator_new(&allocator, &desc) == TIDEMARK_OK);
    return allocator;
}

static struct tidemark_allocator *open_default(void)
{
    return open_with((struct tidemark_allocator_desc){.name = "tensors"});
}

TEST(a_block_is_told_as_asked_and_as_given)
{
    struct tidemark_allocator *allocator = open_default();
    void *p = tidemark_malloc(allocator, 1000, 5);
    uint64_t line = __LINE__ - 1;
    CHECK_INT(fake_counts.number, line);
    CHECK_INT(fake_counts.allocs, 1);
    CHECK(fake_counts.block.address == p);
    CHECK_INT(fake_counts.block.bytes, 1024);
    CHECK_INT(fake_counts.block.has_requested, 1);
    CHECK_INT(fake_counts.block.requested, 1000);
    CHECK_INT(fake_counts.block.site, fake_counts.sites);
    CHECK_INT(fake_counts.heap.device_kind, TIDEMARK_DEVICE_VIRTUAL);
    CHECK_INT(fake_counts.heap.device_index, 3);
    CHECK_INT(fake_counts.heap.stream, 5);
    CHECK_INT(fake_counts.heap.pool, 0);
    CHECK_INT(fake_counts.reserved, 2 * MIB);
    tidemark_allocator_free(allocator, p);
    CHECK_INT(fake_counts.frees, 1);
    CHECK_INT(fake_counts.waits, 0);
    CHECK_INT(fake_counts.idles, 0);
    tidemark_allocator_empty_cache(allocator);
    CHECK_INT(fake_counts.reserved, 0);
    CHECK_INT(fake_counts.segment_frees, 1);
    tidemark_allocator_delete(allocator);
    CHECK_INT(fake_counts.errors, 0);
}

/* The site of one request is not that of the next. */
TEST(a_block_without_a_site_has_none)
{
    struct tidemark_allocator *allocator = open_default();
    struct tidemark_request request = {.size = sizeof request, .bytes = 1};
    void *address;
    tidemark_malloc(allocator, 1000, 0);
    CHECK(fake_counts.block.site != 0);
    tidemark_allocator_malloc(allocator, &request, &address);
    CHECK_INT(fake_counts.block.site, 0);
    tidemark_allocator_delete(allocator);
}

TEST(a_free_that_waits_is_told_twice)
{
    struct tidemark_allocator *allocator = open_default();
    void *p = tidemark_malloc(allocator, 4 * MIB, 1);
    REQUIRE(tidemark_allocator_record_stream(allocator, p, 2) == TIDEMARK_OK);
    tidemark_allocator_free(allocator, p);
    CHECK_INT(fake_counts.waits, 1);
    CHECK_INT(fake_counts.frees, 0);
    CHECK_INT(fake_counts.idles, 0);
    tidemark_allocator_empty_cache(allocator); /* waits for the stream */
    CHECK_INT(fake_counts.idles, 1);
    CHECK_INT(fake_counts.reserved, 0);
    tidemark_allocator_delete(allocator);
    CHECK_INT(fake_counts.errors, 0);
}

/* A stream and a pool are a heap, looked up once. */
TEST(each_stream_is_a_heap_of_its_own)
{
    struct tidemark_allocator *allocator = open_default();
    unsigned before = fake_counts.heaps;
    tidemark_heap_t heap_of[4];
    for (uint64_t stream = 0; stream < 4; stream++) {
        tidemark_malloc(allocator, 100, stream);
        heap_of[stream] = fake_counts.block.heap;
        for (uint64_t i = 0; i < stream; i++)
            CHECK(heap_of[i] != heap_of[stream]);
    }
    CHECK_INT(fake_counts.heaps, before + 4);
    for (uint64_t stream = 0; stream < 4; stream++) {
        tidemark_malloc(allocator, 100, stream);
        CHECK_INT(fake_counts.block.heap, heap_of[stream]);
    }
    CHECK_INT(fake_counts.heaps, before + 4);
    CHECK(report_is_valid(&allocator->report));
    REQUIRE(alloc_pool_begin(allocator->alloc, 77, NULL, NULL) == 0);
    tidemark_malloc(allocator, 100, 0);
    CHECK_INT(fake_counts.heap.pool, 77);
    CHECK(fake_counts.block.heap != heap_of[0]);
    alloc_pool_end(allocator->alloc, 77);
    CHECK(report_is_valid(&allocator->report));
    tidemark_allocator_delete(allocator);
    CHECK_INT(fake_counts.errors, 0);
}

TEST(mapped_pages_come_and_go)
{
    struct tidemark_allocator *allocator =
        open_with((struct tidemark_allocator_desc){.config = "expandable_segments:True"});
    void *p = tidemark_malloc(allocator, 30 * MIB, 0);
    REQUIRE(p != NULL);
    CHECK(fake_counts.maps > 0);
    CHECK_INT(fake_counts.segment_allocs, 0);
    CHECK_INT(fake_counts.reserved, 40 * MIB);
    tidemark_allocator_free(allocator, p);
    tidemark_allocator_empty_cache(allocator);
    CHECK(fake_counts.unmaps > 0);
    CHECK_INT(fake_counts.reserved, 0);
    tidemark_allocator_delete(allocator);
    CHECK_INT(fake_counts.errors, 0);
}

TEST(a_refusal_is_told)
{
    struct tidemark_allocator *allocator =
        open_with((struct tidemark_allocator_desc){.limit = 32 * MIB});
    CHECK(tidemark_malloc(allocator, 33 * MIB + 1, 0) == NULL);
    CHECK_INT(fake_counts.ooms, 1);
    CHECK_INT(fake_counts.number, 33 * MIB + 1);
    CHECK_INT(fake_counts.allocs, 0);
    tidemark_allocator_delete(allocator);
    CHECK_INT(fake_counts.errors, 0);
}

/* Each of the settings, in the words of schema/README.md. */
TEST(settings_are_told)
{
    struct tidemark_allocator *allocator = open_with(
        (struct tidemark_allocator_desc){.config = "max_split_size_mb:200", .limit = 100 * MIB});
    CHECK_INT(fake_counts.settings, 4);
    CHECK_STR(fake_counts.setting, "limit=104857600");
    CHECK(fake_counts.setting_heap != 0);
    tidemark_allocator_set_limit(allocator, 0);
    CHECK_STR(fake_counts.setting, "limit=0");
    tidemark_allocator_configure(allocator, "garbage_collection_threshold:0.5");
    CHECK_STR(fake_counts.setting, "alloc_conf=garbage_collection_threshold:0.5");
    tidemark_allocator_configure(allocator, "nonsense");
    CHECK_STR(fake_counts.setting, "alloc_conf=garbage_collection_threshold:0.5");
    tidemark_allocator_delete(allocator);
    struct tidemark_allocator *small =
        open_with((struct tidemark_allocator_desc){.capacity = 7 * MIB});
    CHECK_STR(fake_counts.setting, "limit=7340032");
    tidemark_allocator_set_limit(small, 5 * MIB);
    CHECK_STR(fake_counts.setting, "limit=5242880");
    tidemark_allocator_set_limit(small, 9 * MIB); /* the device has no more than its capacity */
    CHECK_STR(fake_counts.setting, "limit=7340032");
    tidemark_allocator_set_limit(small, 0);
    CHECK_STR(fake_counts.setting, "limit=7340032");
    tidemark_allocator_delete(small);
}

/* A recording ends with nothing alive. */
TEST(deleting_gives_all_back)
{
    struct tidemark_allocator *allocator = open_default();
    for (uint64_t i = 0; i < 50; i++) {
        void *p = tidemark_malloc(allocator, 700 * 1024 * (1 + i % 5), i % 2);
        if (i % 7 == 0)
            tidemark_allocator_record_stream(allocator, p, 9);
        if (i % 3 == 0)
            tidemark_allocator_free(allocator, p);
    }
    CHECK(fake_counts.allocated > 0);
    tidemark_allocator_delete(allocator);
    CHECK_INT(fake_counts.allocated, 0);
    CHECK_INT(fake_counts.reserved, 0);
    CHECK_INT(fake_counts.allocs, fake_counts.frees + fake_counts.waits);
    CHECK_INT(fake_counts.segment_allocs, fake_counts.segment_frees);
    CHECK_INT(fake_counts.waits, fake_counts.idles);
    CHECK_INT(fake_counts.errors, 0);
}

/* The same requests of an allocator that nobody watches get the same addresses. */
TEST(watching_changes_no_address)
{
    struct tidemark_allocator *watched = open_with((struct tidemark_allocator_desc){0});
    struct tidemark_allocator *alone = open_with((struct tidemark_allocator_desc){0});
    REQUIRE(watched->alloc != NULL);
    alloc_delete(alone->alloc);
    struct alloc_options options = {.device = alone->device};
    REQUIRE(alloc_new(&alone->alloc, &options) == 0);
    enum { KEPT = 40 };
    void *kept[2][KEPT] = {{0}};
    uint64_t seed = 5;
    for (int i = 0; i < 4000; i++) {
        uint64_t slot = test_random(&seed) % KEPT, bytes = 1 + test_random(&seed) % (6 * MIB);
        tidemark_allocator_free(watched, kept[0][slot]);
        tidemark_allocator_free(alone, kept[1][slot]);
        kept[0][slot] = tidemark_malloc(watched, bytes, slot % 2);
        kept[1][slot] = tidemark_malloc(alone, bytes, slot % 2);
        REQUIRE(kept[0][slot] == kept[1][slot]);
    }
    CHECK(report_is_valid(&watched->report));
    CHECK(fake_counts.allocs == 4000);
    tidemark_allocator_delete(watched);
    tidemark_allocator_delete(alone);
    CHECK_INT(fake_counts.errors, 0);
}

TEST_MAIN(TEST_CASE(a_block_is_told_as_asked_and_as_given),
          TEST_CASE(a_block_without_a_site_has_none), TEST_CASE(a_free_that_waits_is_told_twice),
          TEST_CASE(each_stream_is_a_heap_of_its_own), TEST_CASE(mapped_pages_come_and_go),
          TEST_CASE(a_refusal_is_told), TEST_CASE(settings_are_told),
          TEST_CASE(deleting_gives_all_back), TEST_CASE(watching_changes_no_address))
