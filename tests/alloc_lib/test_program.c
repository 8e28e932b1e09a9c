/* The caching allocator as a C program has it, where nobody records. */
#include "alloc.h"
#include "error.h"
#include "mem.h"
#include "test.h"
#include "tidemark.h"
#include "virtual.h"
#include "wrap.h"

#include <pthread.h>
#include <string.h>

static const uint64_t MIB = 1 << 20;

static struct tidemark_allocator_desc virtual_desc(void)
{
    return (struct tidemark_allocator_desc){.size = sizeof(struct tidemark_allocator_desc),
                                            .device_kind = TIDEMARK_DEVICE_VIRTUAL};
}

static struct tidemark_allocator *open_virtual(uint64_t limit, const char *config)
{
    struct tidemark_allocator_desc desc = virtual_desc();
    struct tidemark_allocator *allocator = NULL;
    desc.limit = limit;
    desc.config = config;
    REQUIRE(tidemark_allocator_new(&allocator, &desc) == TIDEMARK_OK);
    return allocator;
}

static struct tidemark_allocator_stats stats_of(struct tidemark_allocator *allocator)
{
    struct tidemark_allocator_stats stats = {.size = sizeof stats};
    REQUIRE(tidemark_allocator_get_stats(allocator, &stats) == TIDEMARK_OK);
    return stats;
}

/* ---- made and deleted ---- */

TEST(a_wrong_description_is_refused)
{
    struct tidemark_allocator *allocator = (void *)&allocator;
    struct tidemark_allocator_desc desc = virtual_desc();
    desc.size = 8;
    CHECK_INT(tidemark_allocator_new(&allocator, &desc), TIDEMARK_BAD_ARGUMENT);
    desc = virtual_desc();
    desc.device_kind = TIDEMARK_DEVICE_CPU;
    CHECK_INT(tidemark_allocator_new(&allocator, &desc), TIDEMARK_BAD_ARGUMENT);
    desc = virtual_desc();
    desc.device_index = -1;
    CHECK_INT(tidemark_allocator_new(&allocator, &desc), TIDEMARK_BAD_ARGUMENT);
    desc = virtual_desc();
    CHECK_INT(tidemark_allocator_new(NULL, &desc), TIDEMARK_BAD_ARGUMENT);
    CHECK_INT(tidemark_allocator_new(&allocator, NULL), TIDEMARK_BAD_ARGUMENT);
}

TEST(wrong_settings_are_refused_with_a_reason)
{
    struct tidemark_allocator *allocator = NULL;
    struct tidemark_allocator_desc desc = virtual_desc();
    char why[64] = "";
    desc.config = "no_such_key:1";
    CHECK_INT(tidemark_allocator_new(&allocator, &desc), TIDEMARK_BAD_ARGUMENT);
    desc.why = why;
    desc.why_size = sizeof why;
    CHECK_INT(tidemark_allocator_new(&allocator, &desc), TIDEMARK_BAD_ARGUMENT);
    CHECK(strlen(why) > 0);
    CHECK(allocator == NULL);
    char small[4] = "abc";
    desc.why = small;
    desc.why_size = sizeof small;
    CHECK_INT(tidemark_allocator_new(&allocator, &desc), TIDEMARK_BAD_ARGUMENT);
    CHECK_INT(strlen(small), 3);
}

TEST(deleting_nothing_or_living_blocks_is_fine)
{
    tidemark_allocator_delete(NULL);
    struct tidemark_allocator *allocator = open_virtual(0, NULL);
    for (int i = 0; i < 100; i++)
        REQUIRE(tidemark_malloc(allocator, 5 * MIB, (uint64_t)i % 3) != NULL);
    tidemark_allocator_delete(allocator);
}

TEST(a_host_without_memory_is_told)
{
    struct tidemark_allocator_desc desc = virtual_desc();
    struct tidemark_allocator *allocator = NULL;
    int failures = 0;
    for (long nth = 1; !allocator; nth++, failures++) {
        REQUIRE(nth < 1000);
        mem_fail_after(nth);
        int result = tidemark_allocator_new(&allocator, &desc);
        mem_fail_after(0);
        CHECK(result == TIDEMARK_OK || result == TIDEMARK_FAILED || result == TIDEMARK_NO_DEVICE);
        CHECK_INT(result == TIDEMARK_OK, allocator != NULL);
    }
    CHECK(failures > 1);
    tidemark_allocator_delete(allocator);
}

/* ---- blocks ---- */

TEST(a_block_is_had_and_given_back)
{
    struct tidemark_allocator *allocator = open_virtual(0, NULL);
    char *p = tidemark_malloc(allocator, 1000, 0);
    REQUIRE(p != NULL);
    CHECK_INT(tidemark_allocator_block_size(allocator, p), 1024);
    CHECK_INT(tidemark_allocator_block_size(allocator, p + 512), 0);
    CHECK_INT(tidemark_allocator_free(allocator, p + 512), TIDEMARK_NOT_FOUND);
    CHECK_INT(tidemark_allocator_free(allocator, p), TIDEMARK_OK);
    CHECK_INT(tidemark_allocator_free(allocator, p), TIDEMARK_NOT_FOUND);
    CHECK_INT(tidemark_allocator_free(allocator, NULL), TIDEMARK_OK);
    CHECK(tidemark_malloc(allocator, 1000, 0) == p);
    CHECK_INT(tidemark_allocator_record_stream(allocator, p, 7), TIDEMARK_OK);
    CHECK_INT(tidemark_allocator_record_stream(allocator, p + 1, 7), TIDEMARK_NOT_FOUND);
    tidemark_allocator_delete(allocator);
}

TEST(a_request_of_nothing_gets_nothing)
{
    struct tidemark_allocator *allocator = open_virtual(0, NULL);
    struct tidemark_request request = {.size = sizeof request};
    void *address = &request;
    CHECK_INT(tidemark_allocator_malloc(allocator, &request, &address), TIDEMARK_OK);
    CHECK(address == NULL);
    CHECK_INT(stats_of(allocator).segments.current, 0);
    tidemark_allocator_delete(allocator);
}

TEST(calls_without_an_allocator_are_refused)
{
    struct tidemark_request request = {.size = sizeof request, .bytes = 1};
    struct tidemark_allocator_stats stats = {.size = sizeof stats};
    void *address;
    CHECK_INT(tidemark_allocator_malloc(NULL, &request, &address), TIDEMARK_BAD_ARGUMENT);
    CHECK_INT(tidemark_allocator_free(NULL, &request), TIDEMARK_BAD_ARGUMENT);
    CHECK_INT(tidemark_allocator_record_stream(NULL, &request, 1), TIDEMARK_BAD_ARGUMENT);
    CHECK_INT(tidemark_allocator_empty_cache(NULL), TIDEMARK_BAD_ARGUMENT);
    CHECK_INT(tidemark_allocator_set_limit(NULL, 1), TIDEMARK_BAD_ARGUMENT);
    CHECK_INT(tidemark_allocator_configure(NULL, ""), TIDEMARK_BAD_ARGUMENT);
    CHECK_INT(tidemark_allocator_get_stats(NULL, &stats), TIDEMARK_BAD_ARGUMENT);
    CHECK_INT(tidemark_allocator_block_size(NULL, &request), 0);
    CHECK_INT(tidemark_allocator_heap(NULL, 0), 0);
    tidemark_allocator_reset_peaks(NULL);
    struct tidemark_allocator *allocator = open_virtual(0, NULL);
    request.size = 4; /* a struct of nobody's version */
    CHECK_INT(tidemark_allocator_malloc(allocator, &request, &address), TIDEMARK_BAD_ARGUMENT);
    CHECK_INT(tidemark_allocator_malloc(allocator, NULL, &address), TIDEMARK_BAD_ARGUMENT);
    CHECK_INT(tidemark_allocator_configure(allocator, NULL), TIDEMARK_BAD_ARGUMENT);
    CHECK_INT(tidemark_allocator_configure(allocator, "what:ever"), TIDEMARK_BAD_ARGUMENT);
    tidemark_allocator_delete(allocator);
}

/* ---- limits ---- */

TEST(a_refusal_says_why)
{
    struct tidemark_allocator *allocator = open_virtual(64 * MIB, NULL);
    void *address = allocator, *first = tidemark_malloc(allocator, 30 * MIB, 0);
    REQUIRE(first != NULL);
    struct tidemark_refusal refusal = {.size = sizeof refusal};
    struct tidemark_request request = {
        .size = sizeof request, .bytes = 40 * MIB + 1, .refusal = &refusal};
    CHECK_INT(tidemark_allocator_malloc(allocator, &request, &address), TIDEMARK_NO_MEMORY);
    CHECK(address == NULL);
    CHECK_INT(refusal.requested, 40 * MIB + 1);
    CHECK_INT(refusal.rounded, 40 * MIB + 512);
    CHECK_INT(refusal.segment_size, 42 * MIB);
    CHECK_INT(refusal.allocated, 30 * MIB);
    CHECK_INT(refusal.reserved, 30 * MIB);
    CHECK_INT(refusal.limit, 64 * MIB);
    CHECK_INT(stats_of(allocator).refusals, 1);
    CHECK_INT(tidemark_allocator_set_limit(allocator, 72 * MIB), TIDEMARK_OK);
    CHECK_INT(tidemark_allocator_malloc(allocator, &request, &address), TIDEMARK_OK);
    tidemark_allocator_delete(allocator);
}

/* A program that was built with an earlier version has smaller structs. */
/* Our own memory is the host's: that is a trouble, and no refusal of the device. */
TEST(a_host_without_memory_is_no_refusal)
{
    struct tidemark_allocator *allocator = open_virtual(0, NULL);
    struct tidemark_refusal refusal = {.size = sizeof refusal, .requested = 77};
    struct tidemark_request request = {.size = sizeof request, .bytes = 100, .refusal = &refusal};
    void *address = NULL;
    mem_fail_after(1);
    int result = tidemark_allocator_malloc(allocator, &request, &address);
    mem_fail_after(0);
    CHECK_INT(result, TIDEMARK_FAILED);
    CHECK_INT(refusal.requested, 77);
    request.bytes = UINT64_C(1) << 60;
    CHECK_INT(tidemark_allocator_malloc(allocator, &request, &address), TIDEMARK_NO_MEMORY);
    CHECK_INT(refusal.requested, UINT64_C(1) << 60);
    request.bytes = 100;
    REQUIRE(tidemark_allocator_malloc(allocator, &request, &address) == TIDEMARK_OK);
    mem_fail_after(1);
    result = tidemark_allocator_record_stream(allocator, address, 5);
    mem_fail_after(0);
    CHECK_INT(result, TIDEMARK_FAILED);
    tidemark_allocator_delete(allocator);
}

TEST(smaller_structs_are_filled_as_far_as_they_go)
{
    struct tidemark_allocator *allocator = open_virtual(2 * MIB, NULL);
    struct {
        struct tidemark_refusal refusal;
        struct tidemark_allocator_stats stats;
    } guarded;
    memset(&guarded, 0x5a, sizeof guarded);
    guarded.refusal.size = offsetof(struct tidemark_refusal, rounded);
    guarded.stats.size = offsetof(struct tidemark_allocator_stats, allocated_bytes);
    struct tidemark_request request = {
        .size = sizeof request, .bytes = 3 * MIB, .refusal = &guarded.refusal};
    void *address;
    CHECK_INT(tidemark_allocator_malloc(allocator, &request, &address), TIDEMARK_NO_MEMORY);
    CHECK_INT(guarded.refusal.requested, 3 * MIB);
    CHECK_INT(guarded.refusal.rounded, 0x5a5a5a5a5a5a5a5a);
    CHECK_INT(tidemark_allocator_get_stats(allocator, &guarded.stats), TIDEMARK_OK);
    CHECK_INT(guarded.stats.requested_bytes.current, 0);
    CHECK_INT(guarded.stats.allocated_bytes.current, 0x5a5a5a5a5a5a5a5a);
    guarded.stats.size = 0;
    CHECK_INT(tidemark_allocator_get_stats(allocator, &guarded.stats), TIDEMARK_BAD_ARGUMENT);
    tidemark_allocator_delete(allocator);
}

TEST(a_virtual_device_has_the_capacity_that_was_asked_for)
{
    struct tidemark_allocator_desc desc = virtual_desc();
    struct tidemark_allocator *allocator;
    desc.capacity = 40 * MIB;
    REQUIRE(tidemark_allocator_new(&allocator, &desc) == TIDEMARK_OK);
    CHECK(tidemark_malloc(allocator, 40 * MIB, 0) != NULL);
    CHECK(tidemark_malloc(allocator, 1, 0) == NULL);
    tidemark_allocator_delete(allocator);
}

/* ---- what it says of itself ---- */

TEST(statistics_and_the_cache)
{
    struct tidemark_allocator *allocator = open_virtual(0, NULL);
    void *p = tidemark_malloc(allocator, 3 * MIB - 100, 0);
    struct tidemark_allocator_stats stats = stats_of(allocator);
    CHECK_INT(stats.size, sizeof stats);
    CHECK_INT(stats.requested_bytes.current, 3 * MIB - 100);
    CHECK_INT(stats.allocated_bytes.current, 3 * MIB);
    CHECK_INT(stats.active_bytes.current, 3 * MIB);
    CHECK_INT(stats.reserved_bytes.current, 20 * MIB);
    CHECK_INT(stats.inactive_split_bytes.current, 17 * MIB);
    CHECK_INT(stats.inactive_splits.current, 1);
    CHECK_INT(stats.segments.current, 1);
    CHECK_INT(stats.device_allocs, 1);
    tidemark_allocator_free(allocator, p);
    CHECK_INT(tidemark_allocator_empty_cache(allocator), TIDEMARK_OK);
    stats = stats_of(allocator);
    CHECK_INT(stats.reserved_bytes.current, 0);
    CHECK_INT(stats.reserved_bytes.peak, 20 * MIB);
    CHECK_INT(stats.allocated_bytes.decreased, 3 * MIB);
    CHECK_INT(stats.device_frees, 1);
    tidemark_allocator_reset_peaks(allocator);
    CHECK_INT(stats_of(allocator).reserved_bytes.peak, 0);
    tidemark_allocator_delete(allocator);
}

TEST(settings_can_be_changed)
{
    struct tidemark_allocator *allocator = open_virtual(0, "expandable_segments:True");
    void *p = tidemark_malloc(allocator, 3 * MIB, 0);
    CHECK_INT(stats_of(allocator).segments.current, 0); /* PyTorch does not count them */
    CHECK_INT(stats_of(allocator).reserved_bytes.current, 20 * MIB);
    tidemark_allocator_free(allocator, p);
    REQUIRE(tidemark_allocator_configure(allocator, "expandable_segments:False") == TIDEMARK_OK);
    CHECK(tidemark_malloc(allocator, 30 * MIB, 0) != NULL);
    CHECK_INT(stats_of(allocator).segments.current, 1);
    tidemark_allocator_delete(allocator);
}

TEST(results_have_words)
{
    for (int i = TIDEMARK_OK; i <= TIDEMARK_FAILED; i++)
        for (int j = TIDEMARK_OK; j < i; j++)
            CHECK(strcmp(tidemark_result_text(i), tidemark_result_text(j)) != 0);
    CHECK(strcmp(tidemark_result_text(99), tidemark_result_text(-1)) == 0);
    for (int err = ERR_LAST; err <= BASE_OK; err++) {
        int result = wrap_result(err);
        CHECK(result >= TIDEMARK_OK && result <= TIDEMARK_FAILED);
        CHECK_INT(result == TIDEMARK_OK, err == BASE_OK);
    }
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 3000, KEPT = 16 };

static void *allocate_and_free(void *argument)
{
    struct tidemark_allocator *allocator = argument;
    void *kept[KEPT] = {0};
    uint64_t seed = (uint64_t)(uintptr_t)&kept;
    for (int i = 0; i < ROUNDS; i++) {
        void **slot = &kept[test_random(&seed) % KEPT];
        if (*slot)
            REQUIRE(tidemark_allocator_free(allocator, *slot) == TIDEMARK_OK);
        *slot = tidemark_malloc(allocator, 1 + test_random(&seed) % (3 * MIB), (uint64_t)i % 2);
        REQUIRE(*slot != NULL);
        if (i % 16 == 0)
            REQUIRE(tidemark_allocator_record_stream(allocator, *slot, 9) == TIDEMARK_OK);
        if (i % 512 == 0)
            tidemark_allocator_empty_cache(allocator);
    }
    for (int i = 0; i < KEPT; i++)
        tidemark_allocator_free(allocator, kept[i]);
    return NULL;
}

TEST(threads_share_an_allocator)
{
    struct tidemark_allocator *allocator = open_virtual(0, NULL);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, allocate_and_free, allocator) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(stats_of(allocator).allocated_bytes.current, 0);
    CHECK_INT(stats_of(allocator).allocations.increased, THREADS * ROUNDS);
    CHECK(alloc_is_valid(allocator->alloc));
    tidemark_allocator_delete(allocator);
}

TEST_MAIN(TEST_CASE(a_wrong_description_is_refused),
          TEST_CASE(wrong_settings_are_refused_with_a_reason),
          TEST_CASE(deleting_nothing_or_living_blocks_is_fine),
          TEST_CASE(a_host_without_memory_is_told), TEST_CASE(a_block_is_had_and_given_back),
          TEST_CASE(a_request_of_nothing_gets_nothing),
          TEST_CASE(calls_without_an_allocator_are_refused), TEST_CASE(a_refusal_says_why),
          TEST_CASE(a_host_without_memory_is_no_refusal),
          TEST_CASE(smaller_structs_are_filled_as_far_as_they_go),
          TEST_CASE(a_virtual_device_has_the_capacity_that_was_asked_for),
          TEST_CASE(statistics_and_the_cache), TEST_CASE(settings_can_be_changed),
          TEST_CASE(results_have_words), TEST_CASE(threads_share_an_allocator))
