#include "operation.h"

#include <inttypes.h>
#include <stdio.h>

#include "test.h"

#define MIB (UINT64_C(1) << 20)

/* The default stream, small numbers, and handles that look like pointers, one of them negative to
 * whoever compares them signed. */
static const uint64_t streams[OPERATION_STREAMS] = {0, 7, 1, UINT64_C(0x7f3300451200),
                                                    UINT64_C(0xfffffffffff00010)};

uint64_t operation_stream(unsigned number)
{
    return streams[number % OPERATION_STREAMS];
}

unsigned operation_stream_number(uint64_t stream)
{
    unsigned number = 0;
    while (number < OPERATION_STREAMS && streams[number] != stream)
        number++;
    return number;
}

/* ---- settings ---- */

static uint64_t one_of(uint64_t *seed, const uint64_t *values, size_t count)
{
    return values[test_random(seed) % count];
}

static void choose_roundup(uint64_t *seed, struct alloc_config *config)
{
    static const uint64_t divisions[] = {0, 1, 2, 4, 8, 16, 32};
    bool same = test_random(seed) % 2 == 0;
    uint32_t value = (uint32_t)one_of(seed, divisions, 7);
    for (int i = 0; i < ALLOC_ROUNDUP_SLOTS; i++)
        config->roundup[i] = same ? value : (uint32_t)one_of(seed, divisions, 7);
}

void operation_settings(uint64_t number, struct alloc_config *config)
{
    static const uint64_t split[] = {20 * MIB, 21 * MIB, 32 * MIB, 64 * MIB, 100 * MIB};
    static const uint64_t rounding[] = {20 * MIB, 24 * MIB, 50 * MIB};
    static const uint64_t large[] = {22 * MIB, 24 * MIB, 32 * MIB, 64 * MIB};
    uint64_t seed = number * UINT64_C(0x9e3779b97f4a7c15) + 1;
    *config = (struct alloc_config){
        .max_split_size = UINT64_MAX,
        .max_non_split_rounding = ALLOC_LARGE_SEGMENT,
        .large_segment_size = ALLOC_LARGE_SEGMENT,
        .memory_fraction = 1,
    };
    if (number == 0)
        return;
    if (test_random(&seed) % 4 == 0)
        config->large_segment_size = one_of(&seed, large, 4);
    if (test_random(&seed) % 2 == 0) {
        config->max_split_size = one_of(&seed, split, 5);
        if (config->max_split_size < config->large_segment_size)
            config->max_split_size = config->large_segment_size;
    }
    if (test_random(&seed) % 3 == 0)
        config->max_non_split_rounding = one_of(&seed, rounding, 3);
    if (test_random(&seed) % 2 == 0)
        config->gc_threshold = (double)(1 + test_random(&seed) % 99) / 100;
    if (test_random(&seed) % 3 == 0)
        choose_roundup(&seed, config);
    config->expandable_segments = test_random(&seed) % 5 < 2;
}

/* ---- printing ---- */

static void print_settings(uint64_t number)
{
    struct alloc_config config;
    operation_settings(number, &config);
    printf("settings %" PRIu64 ": max_split %" PRId64 ", non_split_rounding %" PRIu64
           ", large_segment %" PRIu64 ", gc %.2f, expandable %d, roundup",
           number, (int64_t)config.max_split_size, config.max_non_split_rounding,
           config.large_segment_size, config.gc_threshold, config.expandable_segments);
    for (int i = 0; i < ALLOC_ROUNDUP_SLOTS; i++)
        printf(" %" PRIu32, config.roundup[i]);
    printf("\n");
}

void operation_print_setup(const struct setup *setup)
{
    printf("    device of %" PRIu64 " bytes (total %" PRIu64 "), addresses %s, limit %" PRIu64 ", ",
           setup->capacity, setup->total, setup->downwards ? "from above" : "from below",
           setup->limit);
    print_settings(setup->settings);
}

static const char *const names[] = {
    [OP_MALLOC] = "malloc",
    [OP_GIVE] = "give",
    [OP_RECORD] = "record_stream",
    [OP_LOOK] = "block_size, base",
    [OP_COMPLETE] = "complete",
    [OP_EMPTY] = "empty_cache",
    [OP_LIMIT] = "limit",
    [OP_CONFIGURE] = "configure",
    [OP_CAPACITY] = "capacity",
    [OP_FAIL] = "fail the next take or map with",
    [OP_FAIL_QUERY] = "fail the next event_query with",
    [OP_BEGIN] = "pool_begin",
    [OP_END] = "pool_end",
    [OP_RELEASE] = "pool_release",
    [OP_RESET_PEAKS] = "reset_peaks",
    [OP_RESET_ACCUMULATED] = "reset_accumulated",
    [OP_GIVE_AWAITING] = "give_awaiting",
    [OP_SETTLE] = "settle",
};

void operation_print(const struct operation *operation)
{
    uint64_t a = operation->a, b = operation->b;
    printf("    %5u %s", operation->slot, names[operation->kind]);
    switch (operation->kind) {
    case OP_MALLOC:
        printf(" %" PRIu64 " bytes, stream %" PRIx64 "\n", a, b);
        break;
    case OP_GIVE:
    case OP_LOOK:
        printf(" block of %" PRIu64 " + %" PRIu64 "\n", a, b);
        break;
    case OP_RECORD:
        printf(" block of %" PRIu64 ", stream %" PRIx64 "\n", a, b);
        break;
    case OP_GIVE_AWAITING:
    case OP_SETTLE:
        printf(" block of %" PRIu64 "\n", a);
        break;
    case OP_COMPLETE:
        printf(" stream %" PRIx64 ", %" PRIu64 " events\n", a, b);
        break;
    case OP_CONFIGURE:
        printf(": ");
        print_settings(a);
        break;
    case OP_BEGIN:
        printf(" %" PRIu64 ", streams' mask %" PRIx64 "\n", a, b);
        break;
    default:
        printf(" %" PRIu64 "\n", a);
    }
}
