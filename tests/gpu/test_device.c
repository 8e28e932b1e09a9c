/*
 * The caching allocator on a real GPU: what it hands out can be written and read back, two blocks
 * never share a byte, and the driver's own count agrees with what it says it took. Both kinds of
 * segments.
 */
#include "test.h"
#include "tidemark.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long device_address;

static struct {
    int (*set)(device_address to, unsigned char value, size_t bytes);
    int (*get)(void *to, device_address from, size_t bytes);
    int (*info)(size_t *left, size_t *all);
    int (*retain)(void **context, int device);
    int (*current)(void *context);
} driver;

static void open_driver(void)
{
    const struct {
        const char *name;
        void *function;
    } functions[] = {{"cuMemsetD8_v2", &driver.set},
                     {"cuMemcpyDtoH_v2", &driver.get},
                     {"cuMemGetInfo_v2", &driver.info},
                     {"cuDevicePrimaryCtxRetain", &driver.retain},
                     {"cuCtxSetCurrent", &driver.current}};
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        SKIP("no driver: libcuda.so.1 is not to be found");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(library, functions[i].name);
        if (!symbol)
            SKIP("the driver is not NVIDIA's");
        memcpy(functions[i].function, &symbol, sizeof symbol);
    }
}

static struct tidemark_allocator *open_allocator(const char *config)
{
    char why[256] = "";
    struct tidemark_allocator *allocator = NULL;
    struct tidemark_allocator_desc desc = {.size = sizeof desc,
                                           .device_kind = TIDEMARK_DEVICE_CUDA,
                                           .config = config,
                                           .why = why,
                                           .why_size = sizeof why};
    void *context = NULL;
    int result = tidemark_allocator_new(&allocator, &desc);
    if (result == TIDEMARK_NO_DEVICE)
        SKIP(why);
    if (result != TIDEMARK_OK)
        puts(why);
    REQUIRE(result == TIDEMARK_OK);
    open_driver();
    CHECK_INT(driver.retain(&context, 0), 0);
    CHECK_INT(driver.current(context), 0);
    return allocator;
}

static void *take(struct tidemark_allocator *allocator, uint64_t bytes)
{
    struct tidemark_request request = {.size = sizeof request, .bytes = bytes};
    void *address = NULL;
    REQUIRE(tidemark_allocator_malloc(allocator, &request, &address) == TIDEMARK_OK);
    return address;
}

/* The first and the last byte of a block. */
static void check_ends(const void *block, uint64_t bytes, unsigned char value)
{
    unsigned char ends[2] = {0};
    device_address at = (device_address)(uintptr_t)block;
    CHECK_INT(driver.get(&ends[0], at, 1), 0);
    CHECK_INT(driver.get(&ends[1], at + bytes - 1, 1), 0);
    CHECK_INT(ends[0], value);
    CHECK_INT(ends[1], value);
}

static void write_and_read(const char *config)
{
    enum { BLOCKS = 200 };
    void *block[BLOCKS] = {NULL};
    uint64_t bytes[BLOCKS] = {0}, seed = 1;
    struct tidemark_allocator *allocator = open_allocator(config);
    for (int round = 0; round < 1000; round++) {
        size_t at = test_random(&seed) % BLOCKS;
        if (block[at]) {
            check_ends(block[at], bytes[at], (unsigned char)at);
            REQUIRE(tidemark_allocator_free(allocator, block[at]) == TIDEMARK_OK);
            block[at] = NULL;
            continue;
        }
        bytes[at] = 1 + test_random(&seed) % (1u << (4 + test_random(&seed) % 20));
        block[at] = take(allocator, bytes[at]);
        CHECK_INT(driver.set((device_address)(uintptr_t)block[at], (unsigned char)at, bytes[at]),
                  0);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        if (block[i])
            check_ends(block[i], bytes[i], (unsigned char)i);
    tidemark_allocator_delete(allocator);
}

TEST(blocks_hold_what_is_written)
{
    write_and_read(NULL);
}

TEST(blocks_of_expandable_segments_hold_it_too)
{
    write_and_read("expandable_segments:True");
}

/* Other processes may take memory as well, so the driver's count is a bound. */
static void check_reserved(const char *config)
{
    struct tidemark_allocator_stats stats = {.size = sizeof stats};
    size_t before, after, all;
    struct tidemark_allocator *allocator = open_allocator(config);
    CHECK_INT(driver.info(&before, &all), 0);
    take(allocator, UINT64_C(300) << 20);
    CHECK_INT(driver.info(&after, &all), 0);
    tidemark_allocator_get_stats(allocator, &stats);
    CHECK(stats.reserved_bytes.current >= UINT64_C(300) << 20);
    CHECK(before - after >= stats.reserved_bytes.current);
    CHECK(before - after <= stats.reserved_bytes.current + (UINT64_C(64) << 20));
    tidemark_allocator_delete(allocator);
}

TEST(the_driver_agrees)
{
    check_reserved(NULL);
    check_reserved("expandable_segments:True");
}

/* More than the device has: refused, and told why; what is asked for next is given. */
TEST(too_much_is_refused)
{
    struct tidemark_allocator *allocator = open_allocator(NULL);
    struct tidemark_refusal refusal = {.size = sizeof refusal};
    struct tidemark_request request = {
        .size = sizeof request, .bytes = UINT64_C(1) << 45, .refusal = &refusal};
    void *address = NULL;
    CHECK_INT(tidemark_allocator_malloc(allocator, &request, &address), TIDEMARK_NO_MEMORY);
    CHECK(refusal.requested == request.bytes && refusal.device_free > 0);
    CHECK(take(allocator, 1000));
    tidemark_allocator_delete(allocator);
}

TEST_MAIN(TEST_CASE(blocks_hold_what_is_written),
          TEST_CASE(blocks_of_expandable_segments_hold_it_too), TEST_CASE(the_driver_agrees),
          TEST_CASE(too_much_is_refused))
