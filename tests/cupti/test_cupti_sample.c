/* What is asked of the driver, when, and what is told of it. */
#include "cupti_sample.h"

#include "cupti_support.h"

enum { POOL_CREATE = 607, POOL_DESTROY = 608 };

static struct {
    const void *context;
    int device, mode, exchanges, infos;
    uint64_t pool_bytes, graph_bytes;
} driver;

static int get_info(size_t *free_bytes, size_t *total)
{
    driver.infos++;
    CHECK_INT(driver.mode, ABI_CAPTURE_RELAXED);
    *free_bytes = 600;
    *total = 1000;
    return 0;
}

static int get_context(const void **context)
{
    *context = driver.context;
    return 0;
}

static int get_device(int *device)
{
    *device = driver.device;
    return 0;
}

static int default_pool(uint64_t *pool, int device)
{
    *pool = 0x9000 + (uint64_t)device;
    return 0;
}

static int pool_attribute(uint64_t pool, int attribute, uint64_t *value)
{
    *value = attribute == ABI_POOL_RESERVED ? driver.pool_bytes : 1;
    return pool == 0xbad;
}

static int graph_attribute(int device, int attribute, uint64_t *value)
{
    (void)attribute;
    *value = driver.graph_bytes;
    return device != driver.device;
}

static int capture_mode(int *mode)
{
    int before = driver.mode;
    driver.mode = *mode;
    *mode = before;
    driver.exchanges++;
    return 0;
}

static struct driven begin_samples(void)
{
    struct driven driven = begin_driven();
    driver_api.get_info = get_info;
    driver_api.context = get_context;
    driver_api.device = get_device;
    driver_api.capture_mode = capture_mode;
    driver.context = (const void *)0x10;
    return driven;
}

static void check_sample(const struct driven *driven, size_t at, const char *what, uint64_t value)
{
    REQUIRE(at < driven->count);
    CHECK_INT(driven->events[at].kind, EVENT_SAMPLE);
    CHECK_STR(string_of(driven->own.ring, driven->events[at].name), what);
    CHECK_INT(driven->events[at].a, value);
    CHECK_INT(device_of(driven, &driven->events[at]), driver.device);
}

TEST(the_device_of_the_current_context)
{
    struct driven driven = begin_samples();
    driver.device = 3;
    sample_soon();
    sample_take(false);
    REQUIRE(look(&driven) == 2);
    check_sample(&driven, 0, "device used", 400);
    check_sample(&driven, 1, "device total", 1000);
    CHECK(!atomic_load(&sample_waited_for));
    CHECK_INT(driver.mode, 0); /* as it was */
    CHECK_INT(driver.exchanges, 2);
}

TEST(without_a_context_nothing_is_asked)
{
    struct driven driven = begin_samples();
    driver.context = NULL;
    sample_soon();
    sample_take(true);
    CHECK_INT(look(&driven), 0);
    CHECK_INT(driver.infos, 0);
    CHECK(atomic_load(&sample_waited_for)); /* it is waited for still */
    driver_api.get_info = NULL;
    driver.context = (const void *)0x10;
    sample_take(true);
    CHECK_INT(look(&driven), 0);
}

TEST(not_too_often)
{
    struct driven driven = begin_samples();
    uint64_t begin = clock_now_ns();
    for (int i = 0; i < 1000; i++)
        sample_take(false);
    CHECK(driver.infos >= 1);
    CHECK((uint64_t)driver.infos <= (clock_now_ns() - begin) / NS_PER_MS + 1);
    int before = driver.infos;
    sample_take(true);
    CHECK_INT(driver.infos, before + 1);
    CHECK(look(&driven) > 0);
}

TEST(pools_of_the_device_and_graphs)
{
    struct driven driven = begin_samples();
    uint64_t pool = 0xa000;
    struct {
        uint64_t *pool;
        const void *properties;
    } params = {&pool, NULL};
    driver_api.default_pool = default_pool;
    driver_api.pool_attribute = pool_attribute;
    driver_api.graph_attribute = graph_attribute;
    call_driver(&driven, POOL_CREATE, &params, 0);
    pool = 0xb000;
    driven.context = (const void *)0x11; /* of another device */
    call_driver(&driven, POOL_CREATE, &params, 0);
    sample_take(true);
    CHECK_INT(look(&driven), 4); /* two pools that were made; nothing in them to tell of */
    driver.pool_bytes = 32;
    driver.graph_bytes = 7;
    sample_take(true);
    REQUIRE(look(&driven) == 6);
    check_sample(&driven, 2, "pool reserved", 64);
    check_sample(&driven, 3, "pool used", 2);
    check_sample(&driven, 4, "graph reserved", 7);
    driver.pool_bytes = driver.graph_bytes = 0;
    sample_take(true);
    REQUIRE(look(&driven) == 6); /* that they are empty is told */
    check_sample(&driven, 2, "pool reserved", 0);
    sample_take(true);
    CHECK_INT(look(&driven), 2); /* once */
}

TEST_MAIN(TEST_CASE(the_device_of_the_current_context),
          TEST_CASE(without_a_context_nothing_is_asked), TEST_CASE(not_too_often),
          TEST_CASE(pools_of_the_device_and_graphs))
