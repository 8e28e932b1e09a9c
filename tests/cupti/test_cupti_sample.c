/* What is asked of the driver, when, and what is told of it. */
#include "cupti_sample.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "cupti_support.h"
#include "occasion.h"

enum { POOL_CREATE = 607, POOL_DESTROY = 608 };

static struct {
    const void *context;
    int device, mode, exchanges, infos;
    uint64_t pool_bytes, graph_bytes, slow_ns;
    const void *pushed[4]; /* contexts that the thread had before */
    int depth, pushes;
    bool fails; /* to make a context current */
} driver;

static int get_info(size_t *free_bytes, size_t *total)
{
    driver.infos++;
    if (driver.slow_ns) {
        uint64_t until = clock_now_ns() + driver.slow_ns;
        while (clock_now_ns() < until)
            ;
    }
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

/* Contexts are of the device that their number says. */
static int push(const void *context)
{
    driver.pushes++;
    if (driver.fails)
        return 201;
    REQUIRE(driver.depth < 4);
    driver.pushed[driver.depth++] = driver.context;
    driver.context = context;
    driver.device = (int)(uintptr_t)context & 0xf;
    return 0;
}

static int pop(const void **context)
{
    REQUIRE(driver.depth > 0);
    *context = driver.context;
    driver.context = driver.pushed[--driver.depth];
    driver.device = (int)(uintptr_t)driver.context & 0xf;
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
    driver_api.push = push;
    driver_api.pop = pop;
    driver.context = (const void *)0x10;
    return driven;
}

static void check_sample_of(const struct driven *driven, size_t at, int device, const char *what,
                            uint64_t value)
{
    REQUIRE(at < driven->count);
    CHECK_INT(driven->events[at].kind, EVENT_SAMPLE);
    CHECK_STR(string_of(driven->own.ring, driven->events[at].name), what);
    CHECK_INT(driven->events[at].a, value);
    CHECK_INT(device_of(driven, &driven->events[at]), device);
}

static void check_sample(const struct driven *driven, size_t at, const char *what, uint64_t value)
{
    check_sample_of(driven, at, driver.device, what, value);
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

/* ---- several devices ---- */

enum { MEM_ALLOC = 243, MEM_FREE = 245, CTX_DESTROY = 322 };

/* A call for memory in a context, by a thread that is not this one. */
static void call_in(struct driven *driven, uintptr_t context)
{
    uint64_t address = 0x1000 * context;
    struct {
        uint64_t *address;
        size_t bytes;
    } params = {&address, 64};
    driven->context = (const void *)context;
    call_driver(driven, MEM_ALLOC, &params, 0);
    look(driven);
}

static void take(struct driven *driven, size_t want)
{
    sample_take(true);
    CHECK_INT(look(driven), want);
    CHECK_INT(driver.depth, 0);
}

TEST(each_device_with_a_context)
{
    struct driven driven = begin_samples();
    sample_contexts_heard(true);
    take(&driven, 2); /* the current one's */
    CHECK_INT(driver.pushes, 0);
    call_in(&driven, 0x11);
    call_in(&driven, 0x21); /* another context of the same device: one is enough */
    call_in(&driven, 0x13);
    take(&driven, 6);
    CHECK_INT(driver.pushes, 2);
    check_sample_of(&driven, 0, 0, "device used", 400);
    check_sample_of(&driven, 2, 1, "device used", 400);
    check_sample_of(&driven, 3, 1, "device total", 1000);
    check_sample_of(&driven, 4, 3, "device used", 400);
    CHECK(driver.context == (const void *)0x10);
    driver.context = NULL; /* a thread without one asks all the same, and has none behind it */
    take(&driven, 6);
    CHECK(!driver.context);
    driver.fails = true;
    take(&driven, 0);
    sample_contexts_heard(false);
}

TEST(a_context_that_goes_is_not_made_current)
{
    struct driven driven = begin_samples();
    const void *gone = (const void *)0x11;
    sample_contexts_heard(true);
    call_in(&driven, 0x11);
    call_in(&driven, 0x12);
    take(&driven, 6);
    tell_context(&driven, ABI_CONTEXT_DESTROY_STARTING, gone);
    look(&driven);
    take(&driven, 4);
    call_driver(&driven, CTX_DESTROY, &gone, 0); /* whichever it destroys: all are forgotten */
    look(&driven);
    take(&driven, 2);
    call_in(&driven, 0x12);
    take(&driven, 4);
    sample_contexts_heard(false); /* nobody tells any more */
    call_in(&driven, 0x12);
    take(&driven, 2);
    sample_contexts_heard(true); /* what there was meanwhile is not known */
    take(&driven, 2);
    sample_contexts_heard(false);
}

/* Memory that a context gives back while it goes. */
TEST(what_goes_is_not_seen)
{
    struct driven driven = begin_samples();
    const void *gone = (const void *)0x11;
    uint64_t address = 0x11000;
    sample_contexts_heard(true);
    call_in(&driven, 0x11);
    take(&driven, 4);
    uint32_t outer = enter(&driven, ABI_DRIVER, CTX_DESTROY, &gone);
    tell_context(&driven, ABI_CONTEXT_DESTROY_STARTING, gone);
    call_driver(&driven, MEM_FREE, &address, 0);
    leave_call(&driven, ABI_DRIVER, CTX_DESTROY, &gone, outer, 0);
    look(&driven);
    take(&driven, 2);
    sample_contexts_heard(false);
}

/* Whatever may destroy one: nobody says whether its end is told. */
TEST(each_call_that_may_destroy_a_context)
{
    static const uint32_t closing[] = {11, 13, 322, 387, 389, 544, 545, 744};
    struct driven driven = begin_samples();
    const void *gone = (const void *)0x11;
    sample_contexts_heard(true);
    for (size_t i = 0; i < sizeof closing / sizeof *closing; i++) {
        call_in(&driven, 0x11);
        take(&driven, 4);
        call_driver(&driven, closing[i], &gone, 0);
        look(&driven);
        take(&driven, 2);
    }
    sample_contexts_heard(false);
}

/* A context that went is still the current one of some thread: whose calls fail. */
TEST(a_call_that_does_not_succeed_shows_no_context)
{
    struct driven driven = begin_samples();
    const void *gone = (const void *)0x11;
    uint64_t address = 0x11000;
    struct {
        uint64_t *address;
        size_t bytes;
    } params = {&address, 64};
    sample_contexts_heard(true);
    call_in(&driven, 0x11);
    tell_context(&driven, ABI_CONTEXT_DESTROY_STARTING, gone);
    look(&driven);
    uint32_t begun = enter(&driven, ABI_DRIVER, MEM_FREE, &address);
    look(&driven);
    take(&driven, 2);
    leave_call(&driven, ABI_DRIVER, MEM_FREE, &address, begun, 709);
    call_driver(&driven, MEM_ALLOC, &params, 709);
    look(&driven);
    take(&driven, 2);
    CHECK_INT(driver.pushes, 0);
    call_driver(&driven, MEM_ALLOC, &params, 0); /* another one at its address */
    look(&driven);
    take(&driven, 4);
    sample_contexts_heard(false);
}

TEST(pools_of_each_device)
{
    struct driven driven = begin_samples();
    driver_api.default_pool = default_pool;
    driver_api.pool_attribute = pool_attribute;
    sample_contexts_heard(true);
    call_in(&driven, 0x11);
    driver.pool_bytes = 32;
    take(&driven, 8);
    check_sample_of(&driven, 2, 0, "pool reserved", 32);
    check_sample_of(&driven, 6, 1, "pool reserved", 32);
    driver.pool_bytes = 0;
    take(&driven, 8); /* each is told to be empty */
    check_sample_of(&driven, 2, 0, "pool reserved", 0);
    check_sample_of(&driven, 6, 1, "pool reserved", 0);
    take(&driven, 4);
    sample_contexts_heard(false);
}

TEST(more_contexts_than_there_is_room_for)
{
    struct driven driven = begin_samples();
    sample_contexts_heard(true);
    for (uintptr_t i = 0; i < 100; i++)
        call_in(&driven, 0x11 + 0x10 * i);
    take(&driven, 4);
    sample_contexts_heard(false);
    take(&driven, 2);
}

/* ---- a context goes while it is sampled ---- */

static struct {
    pthread_t destroyer;
    atomic_int begun, gone, sampled; /* 1: so far */
    uint64_t waited_ns;
    bool stuck; /* the driver has the sampler wait for the call that destroys */
} race;

static void *destroy(void *unused)
{
    (void)unused;
    uint64_t begin = clock_now_ns();
    atomic_store(&race.begun, 1);
    sample_context_goes((const void *)0x11);
    race.waited_ns = clock_now_ns() - begin;
    CHECK(atomic_load(&race.sampled) || race.waited_ns >= 20 * NS_PER_MS);
    atomic_store(&race.gone, 1);
    return NULL;
}

/* Of device 1: in the midst of it, somebody begins to destroy its context. */
static int get_info_of_what_goes(size_t *free_bytes, size_t *total)
{
    if (driver.device == 1) {
        REQUIRE(pthread_create(&race.destroyer, NULL, destroy, NULL) == 0);
        while (!atomic_load(race.stuck ? &race.gone : &race.begun))
            sched_yield();
        usleep(1000);
    }
    *free_bytes = *total = 1;
    return race.stuck && driver.device == 1 ? 709 : 0;
}

static int pop_behind(const void **context)
{
    int result = pop(context);
    atomic_store(&race.sampled, 1);
    return result;
}

static void sample_while_it_goes(bool stuck, size_t samples)
{
    struct driven driven = begin_samples();
    driver_api.get_info = get_info_of_what_goes;
    driver_api.pop = pop_behind;
    race.stuck = stuck;
    sample_contexts_heard(true);
    call_in(&driven, 0x11);
    take(&driven, samples);
    REQUIRE(pthread_join(race.destroyer, NULL) == 0);
    take(&driven, 2); /* it is not known any more */
    sample_contexts_heard(false);
}

TEST(who_destroys_a_context_waits_for_its_sample)
{
    sample_while_it_goes(false, 4);
}

TEST(but_not_for_ever)
{
    sample_while_it_goes(true, 2);
}

/* ---- when ---- */

static bool is_due(uint64_t ns)
{
    return ns >= atomic_load(&occasion_due_ns);
}

TEST(blocks_are_an_occasion_now_and_then)
{
    struct driven driven = begin_samples();
    uint64_t before = clock_now_ns();
    sample_take(true);
    uint64_t after = clock_now_ns(), most = 100 * (after - before);
    look(&driven);
    CHECK(!is_due(before + 99 * NS_PER_MS)); /* nothing happened */
    CHECK(is_due(after + NS_PER_S));
    sample_soon(); /* a hundred times its length behind it */
    CHECK(is_due(after + (most > NS_PER_MS ? most : NS_PER_MS)));
}

/* Its rate may put it off: asked again until it comes. */
static bool takes_sample(struct driven *driven, void (*occasion)(const struct tidemark_api *api))
{
    for (int i = 0; i < 1000; i++) {
        atomic_store(&occasion_due_ns, 0);
        occasion(driven->own.api);
        if (look(driven) >= 2)
            return true;
        usleep(1000);
    }
    return false;
}

static void allocate(const struct tidemark_api *api)
{
    const struct tidemark_heap_desc info = {.size = sizeof info,
                                            .device_kind = TIDEMARK_DEVICE_CUDA};
    struct tidemark_block block = {
        .size = sizeof block, .heap = api->heap_open(&info), .address = &block, .bytes = 8};
    api->block_alloc(&block);
}

static void set_mark(const struct tidemark_api *api)
{
    api->mark("here", 1);
}

TEST(blocks_take_samples)
{
    struct driven driven = begin_samples();
    tell_context(&driven, ABI_CONTEXT_CREATED, (const void *)0x10);
    cupti_listen(true);
    sample_take(true);
    look(&driven);
    REQUIRE(takes_sample(&driven, allocate));
    CHECK_INT(driven.count, 3);
    CHECK_INT(driven.events[0].kind, EVENT_BLOCK_ALLOC);
    check_sample(&driven, 1, "device used", 400);
    allocate(driven.own.api);
    CHECK_INT(look(&driven), 1);              /* the next is not due yet */
    REQUIRE(takes_sample(&driven, set_mark)); /* a mark is an occasion, too */
    check_sample(&driven, 0, "device used", 400);
    cupti_listen(false);
}

/* A lock of the allocator's is held there: no other context is made current. */
TEST(blocks_ask_the_current_device_alone)
{
    struct driven driven = begin_samples();
    tell_context(&driven, ABI_CONTEXT_CREATED, (const void *)0x10);
    sample_contexts_heard(true);
    call_in(&driven, 0x11);
    cupti_listen(true);
    REQUIRE(takes_sample(&driven, allocate));
    CHECK_INT(driven.count, 3);
    CHECK_INT(driver.pushes, 0);
    check_sample_of(&driven, 1, 0, "device used", 400);
    REQUIRE(takes_sample(&driven, set_mark)); /* nothing is held at a mark */
    CHECK_INT(driven.count, 4);
    CHECK_INT(driver.pushes, 1);
    check_sample_of(&driven, 2, 1, "device used", 400);
    cupti_listen(false);
    sample_contexts_heard(false);
}

/* One that took long puts the next one off, but not for minutes. */
TEST(a_slow_sample)
{
    struct driven driven = begin_samples();
    driver.slow_ns = 50 * NS_PER_MS;
    uint64_t before = clock_now_ns();
    sample_take(true);
    uint64_t after = clock_now_ns();
    look(&driven);
    for (int i = 0; i < 2; i++) {
        CHECK(!is_due(before + NS_PER_S - 1));
        CHECK(is_due(after + NS_PER_S));
        sample_soon(); /* it changes nothing */
    }
}

TEST_MAIN(TEST_CASE(the_device_of_the_current_context),
          TEST_CASE(without_a_context_nothing_is_asked), TEST_CASE(not_too_often),
          TEST_CASE(pools_of_the_device_and_graphs), TEST_CASE(each_device_with_a_context),
          TEST_CASE(a_context_that_goes_is_not_made_current), TEST_CASE(what_goes_is_not_seen),
          TEST_CASE(each_call_that_may_destroy_a_context),
          TEST_CASE(a_call_that_does_not_succeed_shows_no_context), TEST_CASE(pools_of_each_device),
          TEST_CASE(more_contexts_than_there_is_room_for),
          TEST_CASE(who_destroys_a_context_waits_for_its_sample), TEST_CASE(but_not_for_ever),
          TEST_CASE(blocks_are_an_occasion_now_and_then), TEST_CASE(blocks_take_samples),
          TEST_CASE(blocks_ask_the_current_device_alone), TEST_CASE(a_slow_sample))
