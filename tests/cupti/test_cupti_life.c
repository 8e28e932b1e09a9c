/*
 * The life of the source between a CUPTI and a driver of our own: injected, subscribed, refused,
 * yielding and coming back, forked, ended.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cupti_buffers.h"
#include "cupti_sample.h"
#include "life_support.h"
#include "occasion.h"
#include "notes.h"

TEST(injected_and_subscribed)
{
    struct life life = begin();
    CHECK(!cupti_is_here());
    CHECK_INT(InitializeInjection(), 1);
    check_note(&life, "cupti 130001: driver callbacks", 0);
    CHECK(cupti_is_here());
    CHECK_INT(cupti_life(), CUPTI_ON);
    CHECK_INT(life.cupti->subscribed, 1);
    CHECK(life.cupti->enabled > 60);
    CHECK_INT(life.cupti->kinds, 0); /* no activity, no buffers */
    CHECK_INT(InitializeInjection(), 1);
    CHECK_INT(life.cupti->subscribed, 1); /* once */
}

TEST(held_by_another_tool)
{
    struct life life = begin();
    life.cupti->subscribe_result = ABI_HELD;
    life.cupti->holder = "CUPTI for Nsight";
    CHECK_INT(InitializeInjection(), 1);
    check_note(&life, "cupti 130001: held by another tool, CUPTI for Nsight", 1);
    CHECK_INT(cupti_life(), CUPTI_OFF);
    CHECK_INT(life.cupti->kinds, 0); /* its buffers are its own */
}

TEST(refused_for_another_reason)
{
    struct life life = begin();
    life.cupti->subscribe_result = 35;
    life.cupti->activity_result = 35;
    CHECK_INT(InitializeInjection(), 1);
    check_note(&life, "cupti 130001: refused: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", 1);
    CHECK(!cupti_is_here());
}

TEST(memory_records_where_callbacks_are_refused)
{
    struct life life = begin();
    life.cupti->subscribe_result = 35;
    CHECK_INT(InitializeInjection(), 1);
    check_note(&life,
               "cupti 130001: memory records, reported late and without stacks; callbacks were "
               "refused: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
               0);
    CHECK_INT(life.cupti->kinds, 1ull << ABI_MEMORY2);
    struct abi_memory record = {
        .kind = ABI_MEMORY2, .operation = 1, .memory_kind = 3, .address = 0x7000, .bytes = 5};
    memcpy(life.cupti->queued[0], &record, sizeof record);
    life.cupti->queued_count = 1;
    occasion_point();
    take(&life);
    const struct event *event = NULL;
    REQUIRE(seen(&life, EVENT_DRIVER_ALLOC, &event) == 1);
    CHECK_EVENT(*event, EVENT_DRIVER_ALLOC, 0x7000, 5);
}

TEST(a_library_that_is_too_old)
{
    struct life life = begin();
    life.cupti->version = 17;
    REQUIRE(setenv("CUDA_HOME", "/nonexistent", 1) == 0);
    REQUIRE(setenv("FAKE_CUPTI_VERSION", "17", 1) == 0);
    CHECK_INT(InitializeInjection(), 1);
    CHECK_INT(life.cupti->subscribed, 0);
    CHECK(cupti_life() != CUPTI_ON);
}

TEST(turned_off)
{
    struct life life = begin();
    REQUIRE(setenv("TIDEMARK_CUPTI", "0", 1) == 0);
    CHECK_INT(InitializeInjection(), 1);
    CHECK_INT(life.cupti->subscribed, 0);
    cupti_say_why_not();
    check_note(&life, "cupti: turned off", 1);
    cupti_say_why_not(); /* once */
    CHECK_INT(take(&life), 0);
}

TEST(nobody_records)
{
    struct life life = begin();
    guest_use_ring(NULL);
    CHECK_INT(InitializeInjection(), 1);
    CHECK_INT(life.cupti->subscribed, 0);
    CHECK_INT(cupti_life(), CUPTI_NONE);
}

TEST(memory_and_samples)
{
    struct life life = begin();
    uint64_t address = 0;
    start_with_context(&life);
    CHECK_INT(DRIVER(&life, cuMemAlloc_v2)(&address, 1 << 20), 0);
    take(&life);
    const struct event *event = NULL;
    REQUIRE(seen(&life, EVENT_DRIVER_ALLOC, &event) == 1);
    CHECK_EVENT(*event, EVENT_DRIVER_ALLOC, address, 1 << 20);
    CHECK_INT(seen(&life, EVENT_SAMPLE, NULL), 0); /* not in a callback */
    CHECK(atomic_load(&sample_waited_for));
    life.own.api->phase_end("forward");
    take(&life);
    static const char *const names[] = {"device used", "device total", "pool reserved",
                                        "pool used"};
    static const uint64_t values[] = {(301ull << 20), 8ull << 30, 32 << 20, 1000};
    int n = 0;
    CHECK_INT(life.events[life.count - 1].kind,
              EVENT_PHASE_END); /* what is sampled is the phase's */
    for (size_t i = 0; i < life.count; i++) {
        if (life.events[i].kind != EVENT_SAMPLE)
            continue;
        REQUIRE(n < 4);
        CHECK_STR(text_of(&life, &life.events[i]), names[n]);
        CHECK_INT(life.events[i].a, values[n]);
        n++;
    }
    CHECK_INT(n, 4);
    CHECK(!atomic_load(&sample_waited_for));
}

TEST(a_context_that_goes)
{
    struct life life = begin();
    uint64_t address = 0;
    void *context = start_with_context(&life);
    DRIVER(&life, cuMemAlloc_v2)(&address, 1000);
    DRIVER(&life, cuCtxDestroy_v2)(context);
    take(&life);
    const struct event *event = NULL;
    REQUIRE(seen(&life, EVENT_DRIVER_FREE, &event) == 1);
    CHECK_INT(event->addr, address);
    CHECK_STR(text_of(&life, event), "cuCtxDestroy");
    life.own.api->phase_end("forward"); /* there is no device to ask about any more */
    take(&life);
    CHECK_INT(seen(&life, EVENT_SAMPLE, NULL), 0);
}

/* ---- torch.profiler ---- */

TEST(a_profiler_gets_cupti_and_gives_it_back)
{
    struct life life = begin();
    uint64_t address = 0;
    start_with_context(&life);
    take(&life);
    cupti_yield();
    cupti_yield(); /* one inside of another */
    CHECK_INT(cupti_life(), CUPTI_YIELDED);
    CHECK(life.cupti->callback == NULL);
    DRIVER(&life, cuMemAlloc_v2)(&address, 1000);
    take(&life);
    const struct event *gap = NULL;
    REQUIRE(seen(&life, EVENT_GAP, &gap) == 1);
    CHECK_INT(gap->a, 1);
    CHECK_STR(text_of(&life, gap), "cupti: torch.profiler");
    CHECK_INT(seen(&life, EVENT_DRIVER_ALLOC, NULL), 0);
    cupti_return();
    CHECK_INT(cupti_life(), CUPTI_YIELDED);
    cupti_return();
    CHECK_INT(cupti_life(), CUPTI_ON);
    take(&life);
    REQUIRE(seen(&life, EVENT_GAP, &gap) == 1);
    CHECK_INT(gap->a, 0);
    DRIVER(&life, cuMemFree_v2)(address); /* of what was not seen */
    take(&life);
    CHECK_INT(seen(&life, EVENT_DRIVER_FREE, NULL), 1);
    CHECK_INT(life.cupti->subscribed, 2);
    CHECK_INT(life.cupti->unsubscribed, 1);
}

TEST(a_profiler_that_lets_go_late)
{
    struct life life = begin();
    start_with_context(&life);
    cupti_yield();
    take(&life);
    life.cupti->subscribe_result = ABI_HELD;
    cupti_return();
    CHECK_INT(cupti_life(), CUPTI_RETURNING);
    take(&life);
    CHECK_INT(seen(&life, EVENT_GAP, NULL), 0);
    life.cupti->subscribe_result = ABI_OK;
    for (int i = 0; i < 1000 && cupti_life() != CUPTI_ON; i++) {
        usleep(5000);
        occasion_point();
    }
    CHECK_INT(cupti_life(), CUPTI_ON);
    take(&life);
    CHECK_INT(seen(&life, EVENT_GAP, NULL), 1);
}

/* The profiler is the first to start CUDA: we must not take from it what it is about to take. */
TEST(a_profiler_that_is_first)
{
    struct life life = begin();
    cupti_yield();
    CHECK_INT(InitializeInjection(), 1);
    CHECK_INT(life.cupti->subscribed, 0);
    CHECK_INT(cupti_life(), CUPTI_YIELDED);
    cupti_return();
    CHECK_INT(cupti_life(), CUPTI_ON);
    take(&life);
    CHECK_INT(seen(&life, EVENT_GAP, NULL), 2);
    CHECK_INT(life.cupti->subscribed, 1);
    cupti_return(); /* one too many */
    CHECK_INT(cupti_life(), CUPTI_ON);
}

/* The context came while the profiler had CUPTI: it is looked at all the same. */
TEST(a_context_that_came_meanwhile)
{
    struct life life = begin();
    void *context = NULL;
    const struct event *event = NULL;
    cupti_yield();
    DRIVER(&life, cuInit)(0);
    CHECK_INT(InitializeInjection(), 1);
    CHECK_INT(cupti_life(), CUPTI_YIELDED);
    CHECK_INT(DRIVER(&life, cuCtxCreate_v2)(&context, 0, 0), 0);
    cupti_return();
    CHECK_INT(cupti_life(), CUPTI_ON);
    take(&life);
    life.own.api->phase_end("forward");
    take(&life);
    REQUIRE(seen(&life, EVENT_SAMPLE, &event) > 0);
    DRIVER(&life, cuCtxDestroy_v2)(context);
    life.own.api->phase_end("forward");
    take(&life);
    CHECK_INT(seen(&life, EVENT_SAMPLE, NULL), 0);
}

/* While a callback is asked for: a profiler begins, in the midst of our own beginning. */
static void begin_profile(int domain, uint32_t cbid)
{
    static bool begun;
    (void)domain, (void)cbid;
    if (!begun)
        cupti_yield();
    begun = true;
}

TEST(a_profiler_that_begins_while_we_come_back)
{
    struct life life = begin();
    const struct event *note = NULL;
    start_with_context(&life);
    cupti_yield();
    take(&life);
    life.cupti->on_enable = begin_profile; /* its yield cannot have the lock */
    cupti_return();
    CHECK_INT(cupti_life(), CUPTI_YIELDED);
    CHECK(life.cupti->callback == NULL);
    take(&life);
    CHECK_INT(seen(&life, EVENT_GAP, &note), 2);
    CHECK_INT(note->a, 1); /* the one ends, the next begins */
    notes_send();
    take(&life);
    cupti_return();
    CHECK_INT(cupti_life(), CUPTI_ON);
    CHECK(life.cupti->callback != NULL);
    take(&life);
    REQUIRE(seen(&life, EVENT_GAP, &note) == 1);
    CHECK_INT(note->a, 0);
}

TEST(a_profiler_that_begins_while_we_begin)
{
    struct life life = begin();
    life.cupti->on_enable = begin_profile;
    CHECK_INT(InitializeInjection(), 1);
    CHECK_INT(cupti_life(), CUPTI_YIELDED);
    CHECK(life.cupti->callback == NULL);
    cupti_return();
    CHECK_INT(cupti_life(), CUPTI_ON);
    take(&life);
    CHECK_INT(seen(&life, EVENT_GAP, NULL), 2);
}

/* ---- kernels ---- */

static void queue_kernel(struct fake_cupti *cupti, const char *name)
{
    struct abi_kernel kernel = {
        .kind = ABI_CONCURRENT_KERNEL, .begin = 1000, .end = 1500, .name = name};
    memcpy(cupti->queued[cupti->queued_count++], &kernel, sizeof kernel);
}

TEST(kernels_on_demand)
{
    struct life life = begin();
    REQUIRE(setenv("TIDEMARK_KERNELS", "1", 1) == 0);
    start_with_context(&life);
    check_note(&life, "cupti 130001: driver callbacks, kernels and copies", 0);
    CHECK(life.cupti->kinds & 1ull << ABI_CONCURRENT_KERNEL);
    CHECK(life.cupti->kinds & 1ull << ABI_GRAPH_TRACE);
    CHECK(life.cupti->attributes & 1ull << ABI_ATTR_HOST_PINNED);
    CHECK(life.cupti->attributes & 1ull << ABI_ATTR_ZEROED_BUFFERS);
    queue_kernel(life.cupti, "one");
    life.cupti->dropped = 3;
    occasion_point();
    take(&life);
    const struct event *event = NULL;
    REQUIRE(seen(&life, EVENT_ACTIVITY, &event) == 1);
    CHECK_STR(text_of(&life, event), "one");
    CHECK_INT(activity_lost().dropped, 3);
    queue_kernel(life.cupti, "two");
    occasion_point(); /* too soon */
    take(&life);
    CHECK_INT(seen(&life, EVENT_ACTIVITY, NULL), 0);
    cupti_yield(); /* buffers come back first */
    CHECK_INT(life.cupti->kinds, 0);
    CHECK_INT(life.cupti->forced, 1);
    take(&life);
    CHECK_INT(seen(&life, EVENT_ACTIVITY, NULL), 1);
    cupti_return();
    CHECK(life.cupti->kinds != 0);
}

/* ---- ends ---- */

TEST(a_fatal_error_ends_it)
{
    struct life life = begin();
    uint64_t address = 0;
    REQUIRE(setenv("TIDEMARK_KERNELS", "1", 1) == 0);
    start_with_context(&life);
    const struct event *gap = NULL;
    take(&life);
    DRIVER(&life, fake_driver_fatal)();
    DRIVER(&life, fake_driver_fatal)(); /* each call after it may say so again */
    check_note(&life, "cupti: ended by a fatal error of CUDA's", 1);
    REQUIRE(seen(&life, EVENT_GAP, &gap) == 1);
    CHECK_INT(gap->a, 1);
    CHECK_STR(text_of(&life, gap), "cupti: a fatal error of CUDA's");
    int flushes = life.cupti->flushes;
    DRIVER(&life, cuMemAlloc_v2)(&address, 1000);
    occasion_point();
    cupti_yield();
    cupti_return();
    CHECK_INT(life.cupti->flushes, flushes);
    CHECK_INT(cupti_life(), CUPTI_OFF);
}

/* As the real guest has it: a page that the kernel wipes in a child, which then fetches its ring.
 */
static void wipe_on_fork(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED && madvise(page, 4096, MADV_WIPEONFORK) == 0);
    memcpy(page, guest.page, sizeof *guest.page);
    guest.page = page;
}

/* The status of a child that has a ring. */
static int status_of_child(int (*work)(struct life *life), struct life *life)
{
    int status = 1;
    wipe_on_fork();
    pid_t child = fork();
    if (child == 0) {
        atomic_store(&guest.page->state, GUEST_ON);
        _exit(work(life));
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
}

static int start_in_child(struct life *life)
{
    InitializeInjection();
    return cupti_life() != CUPTI_ON || life->cupti->subscribed != 1;
}

/* The parent's profiler is not the child's, which starts CUDA by itself. */
TEST(a_forked_child_has_no_profiler)
{
    struct life life = begin();
    cupti_yield();
    CHECK_INT(status_of_child(start_in_child, &life), 0);
    CHECK_INT(InitializeInjection(), 1);
    CHECK_INT(cupti_life(), CUPTI_YIELDED);
}

static int questions;

static int count_question(const void **context)
{
    questions++;
    *context = NULL;
    return 3; /* CUDA was not started */
}

static int end_in_child(struct life *life)
{
    (void)life;
    cupti_say_why_not();
    return questions;
}

/* CUDA was refused to the parent; the child does not ask its driver, which is not to be asked
 * there, and has nothing to say of it. */
TEST(a_forked_child_asks_nothing_at_its_end)
{
    struct life life = begin();
    life.cupti->subscribe_result = life.cupti->activity_result = 999;
    CHECK_INT(InitializeInjection(), 1);
    CHECK_INT(cupti_life(), CUPTI_OFF);
    driver_api.context = count_question;
    CHECK_INT(status_of_child(end_in_child, &life), 0);
    take(&life);
    cupti_say_why_not();
    CHECK_INT(questions, 1);
    check_note(&life, "cupti: CUDA did not start: its driver found no device that it can use", 1);
}

/* The page that the kernel wipes is the real guest's; here the test does it. */
TEST(a_forked_child_keeps_away)
{
    struct life life = begin();
    int status = 0;
    REQUIRE(setenv("TIDEMARK_KERNELS", "1", 1) == 0);
    start_with_context(&life);
    int flushes = life.cupti->flushes;
    pid_t child = fork();
    if (child == 0) {
        uint64_t address = 0;
        atomic_store(&guest.page->has_cupti, 0);
        DRIVER(&life, cuMemAlloc_v2)(&address, 1000);
        occasion_point();
        cupti_yield();
        cupti_return();
        _exit(life.cupti->flushes != flushes || life.cupti->unsubscribed != 0);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    take(&life);
    CHECK_INT(seen(&life, EVENT_DRIVER_ALLOC, NULL), 0);
}

/* Another ring: a child's, in which the rest of the parent's sources are told again. */
TEST(a_child_does_not_say_that_it_has_it)
{
    struct life life = begin();
    const struct event *note = NULL;
    notes_live("phases");
    start_with_context(&life);
    take(&life);
    CHECK_INT(seen(&life, EVENT_MARK, NULL), 2);
    atomic_fetch_add(&guest.generation, 1);
    notes_send();
    take(&life);
    REQUIRE(seen(&life, EVENT_MARK, &note) == 1);
    CHECK_STR(text_of(&life, note), "phases");
}

TEST_MAIN(TEST_CASE(injected_and_subscribed), TEST_CASE(held_by_another_tool),
          TEST_CASE(refused_for_another_reason),
          TEST_CASE(memory_records_where_callbacks_are_refused),
          TEST_CASE(a_library_that_is_too_old), TEST_CASE(turned_off), TEST_CASE(nobody_records),
          TEST_CASE(memory_and_samples), TEST_CASE(a_context_that_goes),
          TEST_CASE(a_profiler_gets_cupti_and_gives_it_back),
          TEST_CASE(a_profiler_that_lets_go_late), TEST_CASE(a_profiler_that_is_first),
          TEST_CASE(a_context_that_came_meanwhile),
          TEST_CASE(a_profiler_that_begins_while_we_come_back),
          TEST_CASE(a_profiler_that_begins_while_we_begin),
          TEST_CASE(a_forked_child_has_no_profiler),
          TEST_CASE(a_forked_child_asks_nothing_at_its_end), TEST_CASE(kernels_on_demand),
          TEST_CASE(a_fatal_error_ends_it), TEST_CASE(a_forked_child_keeps_away),
          TEST_CASE(a_child_does_not_say_that_it_has_it))
