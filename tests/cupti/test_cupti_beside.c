/*
 * torch.profiler beside us: it keeps its subscription, or lets it go; what comes of the memory of
 * before, of the buffers of both, and of the moment in which callbacks take over again.
 */
#include <unistd.h>

#include "cupti_ask.h"
#include "cupti_buffers.h"
#include "life_support.h"
#include "occasion.h"

/* ---- the other tool ---- */

static uint8_t theirs[4096];
static int got_theirs, got_unknown;

static void their_callback(void *own, int domain, uint32_t cbid, const void *data)
{
    (void)own, (void)domain, (void)cbid, (void)data;
}

static void their_request(uint8_t **buffer, size_t *bytes, size_t *most)
{
    memset(theirs, 0xee, sizeof theirs); /* not zeroed */
    *buffer = theirs;
    *bytes = sizeof theirs;
    *most = 0;
}

static void their_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                           size_t valid)
{
    (void)context, (void)stream, (void)bytes, (void)valid;
    *(buffer == theirs ? &got_theirs : &got_unknown) += 1;
}

static void flush_theirs(struct life *life)
{
    int (*flush)(uint32_t flags);
    void *address = dlsym(dlopen(FAKE_CUPTI, RTLD_NOW | RTLD_NOLOAD), "cuptiActivityFlushAll");
    (void)life;
    memcpy(&flush, &address, sizeof flush);
    flush(ABI_FLUSH_FORCED);
}

static void profile_begins(struct life *life)
{
    cupti_yield();
    CHECK(life->cupti->callback == NULL || life->cupti->callback == their_callback);
    CHECK_INT(life->cupti->kinds, 0);
    CHECK_INT(life->cupti->attributes & 1ull << ABI_ATTR_ZEROED_BUFFERS, 0);
    life->cupti->callback = their_callback;
    life->cupti->request = their_request;
    life->cupti->complete = their_complete;
    life->cupti->kinds |= 1ull << ABI_CONCURRENT_KERNEL;
}

/* Its kernels come into its buffers, then it ends. */
static void profile_ends(struct life *life, bool lets_go)
{
    const struct abi_kernel kernel = {
        .kind = ABI_CONCURRENT_KERNEL, .begin = 1000, .end = 1500, .name = "theirs"};
    int got = got_theirs;
    memcpy(life->cupti->queued[life->cupti->queued_count++], &kernel, sizeof kernel);
    life->cupti->kinds &= ~(1ull << ABI_CONCURRENT_KERNEL);
    flush_theirs(life);
    CHECK_INT(got_theirs, got + 1);
    if (lets_go)
        life->cupti->callback = NULL;
    cupti_return();
}

static void go_on(enum cupti_life wanted)
{
    for (int i = 0; i < 20 && cupti_life() != wanted; i++) {
        cupti_hasten();
        occasion_point();
    }
    CHECK_INT(cupti_life(), wanted);
}

static void flush_ours(void)
{
    activity_flush(true, false);
}

static uint64_t allocate(struct life *life, size_t bytes)
{
    uint64_t address = 0;
    CHECK_INT(DRIVER(life, cuMemAlloc_v2)(&address, bytes), 0);
    return address;
}

/* Events of a kind and an address. */
static int told(const struct life *life, int kind, uint64_t address)
{
    int n = 0;
    for (size_t i = 0; i < life->count; i++)
        n += life->events[i].kind == (unsigned)kind && life->events[i].addr == address;
    return n;
}

/* Whether all that is told of the driver is told as late. */
static bool are_late(const struct life *life)
{
    bool all = true;
    for (size_t i = 0; i < life->count; i++)
        if (life->events[i].kind == EVENT_DRIVER_ALLOC || life->events[i].kind == EVENT_DRIVER_FREE)
            all = all && life->events[i].flags & EVENT_F_LATE;
    return all;
}

static bool said(const struct life *life, const char *text, int why_not)
{
    for (size_t i = 0; i < life->count; i++)
        if (life->events[i].kind == EVENT_MARK && life->events[i].a == (uint64_t)why_not &&
            strcmp(text_of(life, &life->events[i]), text) == 0)
            return true;
    return false;
}

static const char kept[] = "cupti: while torch.profiler kept it, mapped, imported, graphs' and "
                           "registered memory was not observed; TEARDOWN_CUPTI=1 makes it let go";

/* ---- it keeps its subscription ---- */

TEST(records_where_the_subscription_is_kept)
{
    struct life life = begin();
    start_with_context(&life);
    uint64_t before = allocate(&life, 1000), stays = allocate(&life, 2000);
    take(&life);
    profile_begins(&life);
    DRIVER(&life, cuMemFree_v2)(before);
    uint64_t meanwhile = allocate(&life, 3000);
    profile_ends(&life, false);
    CHECK_INT(cupti_life(), CUPTI_RETURNING);
    go_on(CUPTI_BESIDE);
    CHECK_INT(life.cupti->kinds, 1ull << ABI_MEMORY2);
    CHECK_INT(life.cupti->subscribed, 1);
    take(&life);
    CHECK_INT(seen(&life, EVENT_GAP, NULL), 2);
    CHECK(said(&life, "cupti 130001: memory records since torch.profiler", 0));
    CHECK(said(&life, kept, 1));
    CHECK(sizeof kept <= 160); /* it is not cut */
    CHECK_INT(told(&life, EVENT_DRIVER_FREE, before), 1);
    CHECK_INT(seen(&life, EVENT_DRIVER_FREE, NULL), 1);
    CHECK(are_late(&life));
    uint64_t after = allocate(&life, 4000);
    DRIVER(&life, cuMemFree_v2)(stays);
    DRIVER(&life, cuMemFree_v2)(meanwhile);
    take(&life);
    CHECK_INT(seen(&life, EVENT_DRIVER_ALLOC, NULL), 0); /* with a flush, and not before */
    flush_ours();
    take(&life);
    CHECK_INT(seen(&life, EVENT_DRIVER_ALLOC, NULL), 1);
    CHECK_INT(told(&life, EVENT_DRIVER_ALLOC, after), 1);
    CHECK(are_late(&life));
    CHECK_INT(told(&life, EVENT_DRIVER_FREE, stays), 1);
    CHECK_INT(told(&life, EVENT_DRIVER_FREE, meanwhile), 1); /* nobody had told of it */
    CHECK_INT(live_count(), 1);
    CHECK(live_is_valid());
}

/* What went is told inside of the gap. */
TEST(the_gap_ends_behind_what_went_in_it)
{
    struct life life = begin();
    start_with_context(&life);
    uint64_t before = allocate(&life, 1000);
    take(&life);
    profile_begins(&life);
    DRIVER(&life, cuMemFree_v2)(before);
    profile_ends(&life, true);
    CHECK_INT(cupti_life(), CUPTI_ON);
    take(&life);
    int order[3] = {0}, n = 0;
    for (size_t i = 0; i < life.count; i++)
        if (life.events[i].kind != EVENT_MARK && n < 3)
            order[n++] = life.events[i].kind;
    CHECK_INT(order[0], EVENT_GAP);
    CHECK_INT(order[1], EVENT_DRIVER_FREE);
    CHECK_INT(order[2], EVENT_GAP);
}

TEST(two_profiles_in_a_row)
{
    struct life life = begin();
    start_with_context(&life);
    take(&life);
    for (int i = 0; i < 2; i++) {
        profile_begins(&life);
        CHECK_INT(cupti_life(), CUPTI_YIELDED);
        allocate(&life, 10);
        take(&life);
        CHECK_INT(told(&life, EVENT_GAP, 0), 1);
        CHECK_INT(seen(&life, EVENT_DRIVER_ALLOC, NULL), i); /* flushed before it began */
        profile_ends(&life, false);
        go_on(CUPTI_BESIDE);
        take(&life);
        CHECK_INT(told(&life, EVENT_GAP, 0), 1);
        allocate(&life, 100);
    }
    CHECK_INT(got_theirs, 2);
    CHECK_INT(got_unknown, 0);
    CHECK_INT(life.cupti->dirty, 0);
    CHECK_INT(life.cupti->left_out, 0);
}

TEST(with_kernels)
{
    struct life life = begin();
    REQUIRE(setenv("TIDEMARK_KERNELS", "1", 1) == 0);
    start_with_context(&life);
    profile_begins(&life);
    profile_ends(&life, false);
    go_on(CUPTI_BESIDE);
    CHECK(life.cupti->kinds & 1ull << ABI_MEMORY2);
    CHECK(life.cupti->kinds & 1ull << ABI_CONCURRENT_KERNEL);
    take(&life);
    CHECK(said(&life, "cupti 130001: memory records since torch.profiler, kernels and copies", 0));
    life.cupti->callback = NULL;
    go_on(CUPTI_ON);
    CHECK(!(life.cupti->kinds & 1ull << ABI_MEMORY2));
    CHECK(life.cupti->kinds & 1ull << ABI_CONCURRENT_KERNEL);
    cupti_yield();
    CHECK_INT(life.cupti->kinds, 0);
    CHECK_INT(life.cupti->attributes, 0);
}

/* A buffer that was given to CUPTI by the other tool comes to us, with records that are ours. */
TEST(a_buffer_that_is_not_ours)
{
    struct life life = begin();
    start_with_context(&life);
    take(&life);
    profile_begins(&life);
    profile_ends(&life, false);
    go_on(CUPTI_BESIDE);
    their_request(&life.cupti->buffer, &life.cupti->buffer_bytes, &(size_t){0});
    life.cupti->buffer_used = 0;
    uint64_t address = allocate(&life, 1000);
    flush_ours();
    take(&life);
    CHECK_INT(told(&life, EVENT_DRIVER_ALLOC, address), 1);
    CHECK_INT(activity_buffers(), 0);
    CHECK_INT(theirs[sizeof theirs - 1], 0xee); /* as it was */
    allocate(&life, 1000);
    CHECK(life.cupti->buffer && life.cupti->buffer != theirs);
    CHECK_INT(activity_buffers(), 1);
    flush_ours();
}

/* A profiler of which the helper does not know takes the place of our functions. */
TEST(a_tool_that_does_not_say_a_word)
{
    struct life life = begin();
    start_with_context(&life);
    take(&life);
    profile_begins(&life);
    profile_ends(&life, false);
    go_on(CUPTI_BESIDE);
    allocate(&life, 1000);
    activity_flush(true, true);
    CHECK_INT(activity_lost().strayed, 0);
    allocate(&life, 2000);
    life.cupti->request = their_request;
    life.cupti->complete = their_complete;
    activity_flush(true, true);
    CHECK_INT(got_unknown, 1); /* they are told of ours */
    CHECK_INT(activity_lost().strayed, 1);
}

/* ---- it lets go ---- */

TEST(callbacks_again_when_it_lets_go)
{
    struct life life = begin();
    start_with_context(&life);
    profile_begins(&life);
    profile_ends(&life, false);
    go_on(CUPTI_BESIDE);
    take(&life);
    uint64_t by_record = allocate(&life, 1000);
    life.cupti->callback = NULL;
    go_on(CUPTI_ON);
    CHECK_INT(life.cupti->kinds, 0);
    CHECK_INT(life.cupti->subscribed, 2);
    uint64_t by_callback = allocate(&life, 2000);
    DRIVER(&life, cuMemFree_v2)(by_record);
    take(&life);
    CHECK_INT(told(&life, EVENT_DRIVER_ALLOC, by_record), 1);
    CHECK_INT(told(&life, EVENT_DRIVER_ALLOC, by_callback), 1);
    CHECK_INT(told(&life, EVENT_DRIVER_FREE, by_record), 1);
    CHECK(!are_late(&life));
    CHECK_INT(seen(&life, EVENT_GAP, NULL), 0);
    CHECK_INT(live_count(), 1);
}

/* Everything that other threads do while one changes over, at the worst moments. */
static struct life *racing;
static uint64_t by_record_alone, by_both, freed_by_both, freed_early, of_the_end;

static void race_at_enable(int domain, uint32_t cbid)
{
    (void)cbid;
    if (domain == ABI_DRIVER && !by_record_alone) { /* no callback is on yet */
        by_record_alone = allocate(racing, 100);
        freed_by_both = allocate(racing, 200);
        DRIVER(racing, cuMemFree_v2)(freed_early);
    }
}

static void race_at_disable(int kind)
{
    (void)kind;
    if (by_both) /* more than one kind is turned off */
        return;
    by_both = allocate(racing, 300); /* callbacks and records are on */
    DRIVER(racing, cuMemFree_v2)(freed_by_both);
    of_the_end = allocate(racing, 400);
    DRIVER(racing, cuMemFree_v2)(of_the_end);
}

TEST(nothing_is_told_twice_where_callbacks_take_over)
{
    struct life life = begin();
    start_with_context(&life);
    profile_begins(&life);
    profile_ends(&life, false);
    go_on(CUPTI_BESIDE);
    racing = &life;
    freed_early = allocate(&life, 500);
    flush_ours();
    take(&life);
    life.cupti->callback = NULL;
    life.cupti->on_enable = race_at_enable;
    life.cupti->on_disable = race_at_disable;
    go_on(CUPTI_ON);
    life.cupti->on_enable = NULL;
    life.cupti->on_disable = NULL;
    take(&life);
    CHECK_INT(told(&life, EVENT_DRIVER_ALLOC, by_record_alone), 1);
    CHECK_INT(told(&life, EVENT_DRIVER_ALLOC, by_both), 1);
    CHECK_INT(told(&life, EVENT_DRIVER_FREE, freed_early), 1);
    /* Given before callbacks began and freed behind that: the free alone is told. */
    CHECK_INT(told(&life, EVENT_DRIVER_ALLOC, freed_by_both), 0);
    CHECK_INT(told(&life, EVENT_DRIVER_FREE, freed_by_both), 1);
    CHECK_INT(told(&life, EVENT_DRIVER_ALLOC, of_the_end), 1);
    CHECK_INT(told(&life, EVENT_DRIVER_FREE, of_the_end), 1);
    CHECK_INT(live_count(), 2);
    CHECK(live_is_valid());
    DRIVER(&life, cuMemFree_v2)(by_record_alone);
    DRIVER(&life, cuMemFree_v2)(by_both);
    take(&life);
    CHECK_INT(seen(&life, EVENT_DRIVER_FREE, NULL), 2);
    CHECK_INT(live_count(), 0);
}

TEST(more_in_that_moment_than_can_be_noted)
{
    struct life life = begin();
    struct live_entry entry = {.space = SPACE_ADDRESS, .memory = DRIVER_DEVICE, .bytes = 1};
    (void)life;
    live_watch(true);
    CHECK(!live_was_told(SPACE_ADDRESS, 0x1000));
    for (uint64_t i = 0; i < 300; i++) {
        entry.key = 0x1000 + i;
        live_given(&entry);
        CHECK(live_was_told(SPACE_ADDRESS, entry.key));
    }
    CHECK(live_was_told(SPACE_ADDRESS, 0x77)); /* in doubt it was */
    live_watch(false);
    CHECK(!live_was_told(SPACE_ADDRESS, 0x1000));
}

/* TEARDOWN_CUPTI=1: it ends CUPTI for everybody at a call to come. */
TEST(one_that_is_to_let_go_is_waited_for)
{
    struct life life = begin();
    REQUIRE(setenv("TEARDOWN_CUPTI", "1", 1) == 0);
    start_with_context(&life);
    profile_begins(&life);
    profile_ends(&life, false);
    for (int i = 0; i < 10; i++) {
        cupti_hasten();
        occasion_point();
    }
    CHECK_INT(cupti_life(), CUPTI_RETURNING);
    CHECK_INT(life.cupti->kinds, 0);
    life.cupti->callback = NULL;
    go_on(CUPTI_ON);
    take(&life);
    CHECK(said(&life, "cupti 130001: driver callbacks", 0));
    CHECK(!said(&life, kept, 1));
}

/* Where callbacks were refused from the start there are records, before and after. */
TEST(records_before_and_after)
{
    struct life life = begin();
    life.cupti->subscribe_result = 35;
    start_with_context(&life);
    CHECK_INT(life.cupti->kinds, 1ull << ABI_MEMORY2);
    allocate(&life, 100);
    cupti_yield();
    take(&life);
    CHECK_INT(seen(&life, EVENT_DRIVER_ALLOC, NULL), 1);
    CHECK_INT(life.cupti->kinds, 0);
    cupti_return();
    go_on(CUPTI_BESIDE);
    CHECK_INT(life.cupti->kinds, 1ull << ABI_MEMORY2);
}

/* ---- what went meanwhile ---- */

TEST(pages_that_were_taken_out_meanwhile)
{
    struct life life = begin();
    uint64_t handles[2] = {0};
    start_with_context(&life);
    for (int i = 0; i < 2; i++) {
        const struct abi_memory_prop prop = {.location = ABI_LOCATION_DEVICE};
        CHECK_INT(DRIVER(&life, cuMemCreate)(&handles[i], 4096, &prop, 0), 0);
        CHECK_INT(DRIVER(&life, cuMemMap)(0xa0000 + 4096 * (uint64_t)i, 4096, 0, handles[i], 0), 0);
    }
    take(&life);
    profile_begins(&life);
    DRIVER(&life, cuMemUnmap)(0xa0000, 4096);
    DRIVER(&life, cuMemRelease)(handles[0]);
    profile_ends(&life, true);
    take(&life);
    CHECK_INT(told(&life, EVENT_DRIVER_UNMAP, 0xa0000), 1);
    CHECK_INT(told(&life, EVENT_DRIVER_FREE, handles[0]), 1);
    CHECK_INT(seen(&life, EVENT_DRIVER_UNMAP, NULL), 1);
    CHECK_INT(seen(&life, EVENT_DRIVER_FREE, NULL), 1);
    CHECK_INT(live_count(), 2);
    DRIVER(&life, cuMemUnmap)(0xa1000, 4096);
    DRIVER(&life, cuMemRelease)(handles[1]);
    take(&life);
    CHECK_INT(told(&life, EVENT_DRIVER_FREE, handles[1]), 1);
    CHECK_INT(live_count(), 0);
    CHECK(live_is_valid());
}

/* Its address lies inside of a larger one by now. */
static int inside_of_another(void *value, int attribute, uint64_t pointer)
{
    uint64_t start = pointer - 512;
    int kind = 2;
    if (attribute == ABI_POINTER_KIND)
        memcpy(value, &kind, sizeof kind);
    else
        memcpy(value, &start, sizeof start);
    return 0;
}

/* It knows the address, and no more of it. */
static int of_some_kind(void *value, int attribute, uint64_t pointer)
{
    int kind = 1;
    (void)pointer;
    memcpy(value, &kind, sizeof kind);
    return attribute == ABI_POINTER_KIND ? 0 : ABI_CUDA_INVALID;
}

static int cannot_say(void *value, int attribute, uint64_t pointer)
{
    (void)value, (void)attribute, (void)pointer;
    return 700;
}

TEST(what_the_driver_says)
{
    struct life life = begin();
    start_with_context(&life);
    uint64_t address = allocate(&life, 1000);
    const struct live_entry others[] = {
        {.key = 0x90000, .bytes = 9, .memory = DRIVER_ASYNC},
        {.key = 0x91000, .bytes = 9, .memory = DRIVER_GRAPH},
        {.key = 0x92000, .bytes = 9, .memory = DRIVER_ARRAY, .space = SPACE_ARRAY},
        {.key = 0x93000, .bytes = 9, .memory = DRIVER_PHYSICAL, .space = SPACE_HANDLE, .refs = 1},
        {.key = 0x94000, .bytes = 9, .memory = DRIVER_HOST},
        {.key = 0x95000, .bytes = 9, .memory = SPACE_EXTERNAL, .space = SPACE_MAPPING},
    };
    for (size_t i = 0; i < 6; i++)
        live_given(&others[i]);
    int (*real)(void *value, int attribute, uint64_t pointer) = driver_api.pointer_attribute;
    take(&life);
    driver_api.pointer_attribute = cannot_say;
    ask_soon();
    CHECK_INT(take(&life), 0);
    driver_api.pointer_attribute = of_some_kind;
    ask_soon();
    CHECK_INT(take(&life), 0);
    driver_api.pointer_attribute = inside_of_another;
    ask_soon();
    take(&life);
    CHECK_INT(seen(&life, EVENT_DRIVER_FREE, NULL), 1); /* a part of a pool lies in something */
    CHECK_INT(told(&life, EVENT_DRIVER_FREE, address), 1);
    driver_api.pointer_attribute = real;
    ask_soon();
    take(&life);
    CHECK_INT(seen(&life, EVENT_DRIVER_FREE, NULL), 2);
    CHECK_INT(told(&life, EVENT_DRIVER_FREE, 0x90000), 1); /* CUDA does not know it */
    CHECK_INT(told(&life, EVENT_DRIVER_FREE, 0x94000), 1);
    CHECK_INT(told(&life, EVENT_DRIVER_UNMAP, 0x95000), 1);
    CHECK_INT(live_count(), 3);
    CHECK(!ask_is_due());
}

/* The lock of the life could not be had when the profiler ended: the next point makes it good. */
TEST(a_return_that_was_not_heard)
{
    struct life life = begin();
    start_with_context(&life);
    cupti_yield();
    CHECK_INT(cupti_life(), CUPTI_YIELDED);
    occasion_point();
    CHECK_INT(cupti_life(), CUPTI_YIELDED); /* it has not ended */
    cupti_lose_for_test();
    occasion_point();
    CHECK_INT(cupti_life(), CUPTI_ON);
}

TEST(without_a_context_it_is_asked_later)
{
    struct life life = begin();
    void *context = NULL;
    CHECK_INT(InitializeInjection(), 1);
    live_given(&(struct live_entry){.key = 0x90000, .bytes = 9, .memory = DRIVER_DEVICE});
    take(&life);
    profile_begins(&life);
    profile_ends(&life, true);
    CHECK(ask_is_due());
    CHECK_INT(DRIVER(&life, cuCtxCreate_v2)(&context, 0, 0), 0);
    occasion_point();
    CHECK(!ask_is_due());
    take(&life);
    CHECK_INT(told(&life, EVENT_DRIVER_FREE, 0x90000), 1);
}

TEST_MAIN(TEST_CASE(records_where_the_subscription_is_kept),
          TEST_CASE(the_gap_ends_behind_what_went_in_it), TEST_CASE(two_profiles_in_a_row),
          TEST_CASE(with_kernels), TEST_CASE(a_buffer_that_is_not_ours),
          TEST_CASE(a_tool_that_does_not_say_a_word), TEST_CASE(callbacks_again_when_it_lets_go),
          TEST_CASE(nothing_is_told_twice_where_callbacks_take_over),
          TEST_CASE(more_in_that_moment_than_can_be_noted),
          TEST_CASE(one_that_is_to_let_go_is_waited_for), TEST_CASE(records_before_and_after),
          TEST_CASE(pages_that_were_taken_out_meanwhile), TEST_CASE(what_the_driver_says),
          TEST_CASE(a_return_that_was_not_heard), TEST_CASE(without_a_context_it_is_asked_later))
