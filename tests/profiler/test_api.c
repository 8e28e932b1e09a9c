/* Each call of include/tidemark.h becomes the event that ring/event.h describes. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest_support.h"
#include "intern.h"

void tidemark_py_phase(int begins, uint32_t name, int failed);

static struct tidemark_heap_desc cpu_heap(void)
{
    return (struct tidemark_heap_desc){.size = sizeof(struct tidemark_heap_desc),
                                       .device_kind = TIDEMARK_DEVICE_CPU,
                                       .stream = 7,
                                       .pool = 9,
                                       .name = "tensors"};
}

TEST(a_heap_is_defined_once)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    struct tidemark_heap_desc desc = cpu_heap();
    tidemark_heap_t heap = own.api->heap_open(&desc);
    CHECK(heap != 0);
    CHECK_INT(own.api->heap_open(&desc), heap);
    struct arena_heap stored;
    size_t bytes;
    REQUIRE(definition(own.ring, heap, &stored, sizeof stored, &bytes) == ARENA_HEAP);
    CHECK_INT(stored.stream, 7);
    CHECK_INT(stored.pool, 9);
    CHECK_STR(string_of(own.ring, stored.name), "tensors");
    desc.stream = 8;
    CHECK(own.api->heap_open(&desc) != heap);
    desc.size = 4; /* a struct of nobody's version */
    CHECK_INT(own.api->heap_open(&desc), 0);
}

TEST(blocks_and_segments_say_what_they_are)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    struct tidemark_heap_desc desc = cpu_heap();
    tidemark_heap_t heap = own.api->heap_open(&desc);
    struct tidemark_block block = {.size = sizeof block,
                                   .heap = heap,
                                   .site = own.api->site("f", "f.c", 1),
                                   .has_requested = 1,
                                   .address = (void *)0x1000,
                                   .bytes = 512,
                                   .requested = 500};
    uint64_t before = clock_now_ns();
    own.api->segment_alloc(heap, (void *)0x1000, 4096);
    own.api->block_alloc(&block);
    own.api->block_free(heap, (void *)0x1000);
    own.api->segment_free(heap, (void *)0x1000);
    own.api->oom(heap, 1ull << 40, block.site);
    struct event out[8];
    REQUIRE(drain(&own, out, 8) == 5);
    static const int kinds[] = {EVENT_SEGMENT_ALLOC, EVENT_BLOCK_ALLOC, EVENT_BLOCK_FREE,
                                EVENT_SEGMENT_FREE, EVENT_OOM};
    for (int i = 0; i < 5; i++) {
        CHECK_INT(out[i].kind, kinds[i]);
        CHECK_INT(out[i].heap, heap);
        CHECK_INT(out[i].thread, syscall(SYS_gettid));
        CHECK(out[i].time_ns >= before && out[i].time_ns <= clock_now_ns());
    }
    CHECK_INT(out[0].size, 4096);
    CHECK_INT(out[1].flags, EVENT_F_REQUESTED);
    CHECK_INT(out[1].addr, 0x1000);
    CHECK_INT(out[1].size, 512);
    CHECK_INT(out[1].a, 500);
    CHECK_INT(out[1].site, block.site);
    CHECK_INT(out[2].addr, 0x1000);
    CHECK_INT(out[4].size, 1ll << 40);
}

TEST(what_an_allocator_with_streams_says)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    struct tidemark_heap_desc desc = cpu_heap();
    tidemark_heap_t heap = own.api->heap_open(&desc);
    own.api->block_free_waits(heap, (void *)0x1000);
    own.api->block_idle(heap, (void *)0x1000);
    own.api->segment_map(heap, (void *)0x200000, 2 << 20);
    own.api->segment_unmap(heap, (void *)0x200000, 2 << 20);
    own.api->setting(heap, "limit", "1048576");
    own.api->setting(0, "allocator", "mine");
    struct event out[8];
    REQUIRE(drain(&own, out, 8) == 6);
    static const struct {
        int kind, flags;
        int64_t address, size;
    } want[] = {{EVENT_BLOCK_FREE, EVENT_F_WAITS, 0x1000, 0},
                {EVENT_BLOCK_IDLE, 0, 0x1000, 0},
                {EVENT_SEGMENT_ALLOC, EVENT_F_MAP, 0x200000, 2 << 20},
                {EVENT_SEGMENT_FREE, EVENT_F_MAP, 0x200000, 2 << 20},
                {EVENT_MARK, EVENT_F_SETTING, 0, 0}};
    for (int i = 0; i < 5; i++) {
        CHECK_INT(out[i].kind, want[i].kind);
        CHECK_INT(out[i].flags, want[i].flags);
        CHECK_INT(out[i].addr, want[i].address);
        CHECK_INT(out[i].size, want[i].size);
        CHECK_INT(out[i].heap, heap);
    }
    CHECK_STR(string_of(own.ring, out[4].name), "limit=1048576");
    CHECK_INT(out[5].heap, 0);
    CHECK_STR(string_of(own.ring, out[5].name), "allocator=mine");
}

TEST(a_long_setting_is_cut)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    static char text[5000];
    memset(text, 'x', sizeof text - 1);
    own.api->setting(0, text, text);
    own.api->setting(0, "key", text);
    own.api->setting(0, NULL, text);
    own.api->setting(0, "key", NULL);
    struct event out[8];
    REQUIRE(drain(&own, out, 8) == 2);
    const char *first = string_of(own.ring, out[0].name);
    CHECK_INT(strlen(first), 1023);
    CHECK_INT(strcspn(first, "="), 512);
    CHECK_INT(strlen(string_of(own.ring, out[1].name)), 1023);
    CHECK(strncmp(string_of(own.ring, out[1].name), "key=xxx", 7) == 0);
}

/* Of a thread without Python it is the thread's name, and that is the same every time. */
TEST(the_python_stack_is_a_site)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    tidemark_site_t here = own.api->python_site();
    CHECK(here != 0);
    CHECK_INT(own.api->python_site(), here);
    CHECK(own.api->site(NULL, NULL, 0) != here); /* a place without a name is another one */
    uint32_t frames[8];
    size_t bytes = 0;
    CHECK_INT(definition(own.ring, here, frames, sizeof frames, &bytes), ARENA_SITE);
    CHECK_INT(bytes, sizeof *frames);
}

/* Programs that were compiled with the first version of the header go on. */
TEST(the_first_version_is_served)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    const struct tidemark_api *first = tidemark_attach(1);
    REQUIRE(first != NULL);
    CHECK(first->size >= offsetof(struct tidemark_api, block_free_waits));
    first->mark("m", 1);
    struct event out[8];
    CHECK_INT(drain(&own, out, 8), 1);
    CHECK(tidemark_attach(0) == NULL);
}

TEST(phases_steps_marks_and_tags_carry_names)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    struct tidemark_heap_desc desc = cpu_heap();
    tidemark_heap_t heap = own.api->heap_open(&desc);
    own.api->step_begin(3);
    own.api->phase_begin("forward");
    own.api->mark("loss", -5);
    own.api->tag(heap, (void *)0x2000, 64, TIDEMARK_PARAMETER, "weight");
    own.api->phase_end(NULL);
    own.api->step_end();
    struct event out[8];
    REQUIRE(drain(&own, out, 8) == 6);
    CHECK_INT(out[0].kind, EVENT_STEP_BEGIN);
    CHECK_INT(out[0].a, 3);
    CHECK_INT(out[1].kind, EVENT_PHASE_BEGIN);
    CHECK_STR(string_of(own.ring, out[1].name), "forward");
    CHECK_INT((int64_t)out[2].a, -5);
    CHECK_STR(string_of(own.ring, out[2].name), "loss");
    CHECK_INT(out[3].kind, EVENT_TAG);
    CHECK_INT(out[3].a, CATEGORY_PARAMETER);
    CHECK_INT(out[3].size, 64);
    CHECK_INT(out[4].kind, EVENT_PHASE_END);
    CHECK_INT(out[4].name, 0);
    CHECK_INT(out[5].kind, EVENT_STEP_END);
}

TEST(nonsense_is_ignored)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    struct tidemark_block no_heap = {.size = sizeof no_heap, .address = (void *)1, .bytes = 1};
    struct tidemark_block old = {.size = 8, .heap = 1};
    own.api->block_alloc(NULL);
    own.api->block_alloc(&no_heap);
    own.api->block_alloc(&old);
    own.api->block_free(0, (void *)1);
    own.api->tag(1, (void *)1, 1, 99, "x");
    own.api->tag(1, (void *)1, 1, 0, "x");
    CHECK_INT(own.api->heap_open(NULL), 0);
    struct event out[8];
    CHECK_INT(drain(&own, out, 8), 0);
    CHECK(tidemark_attach(TIDEMARK_API_VERSION + 1) == NULL);
}

TEST(errno_is_left_alone)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    struct event out[64];
    errno = 12345;
    for (int i = 0; i < 65; i++) /* the last one finds the ring full and waits */
        own.api->mark("m", i);
    CHECK_INT(errno, 12345);
    drain(&own, out, 64);
}

TEST(a_closed_ring_turns_the_guest_off)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    ring_close(own.ring);
    own.api->mark("m", 1);
    CHECK_INT(atomic_load(&guest.page->state), GUEST_OFF);
    own.api->mark("m", 2);
    CHECK_INT(own.api->site("f", "f", 1), 0);
    CHECK_INT(ring_reader_backlog(&own.reader), 0);
}

/* A timer's handler reports while the main flow reports: every event comes out once, and what the
 * handler interrupted is whole. */
static const struct tidemark_api *signal_api;
static volatile sig_atomic_t from_handler;

static void on_alarm(int number)
{
    (void)number;
    signal_api->mark("handler", from_handler++);
}

TEST(a_signal_handler_may_report)
{
    enum { BITS = 20, MAIN = 400000 };
    struct own_recorder own = begin_recording(BITS, 1 << 16);
    signal_api = own.api;
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    own.api->mark("handler", -1); /* defined before the handler needs it */
    struct itimerspec every = {{0, 50000}, {0, 50000}};
    timer_t timer;
    REQUIRE(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0);
    timer_settime(timer, 0, &every, NULL);
    for (int i = 0; i < MAIN; i++)
        own.api->mark("main", i);
    timer_delete(timer);
    static struct event out[1 << BITS];
    size_t n = drain(&own, out, 1 << BITS);
    int64_t next_main = 0, next_handler = -1;
    uint32_t handler_name = out[0].name;
    for (size_t i = 0; i < n; i++) {
        if (out[i].name == handler_name)
            CHECK_INT((int64_t)out[i].a, next_handler++);
        else
            CHECK_INT((int64_t)out[i].a, next_main++);
    }
    CHECK_INT(next_main, MAIN);
    CHECK_INT(next_handler, from_handler);
}

/* A handler that defines new names at each tick of a fast timer, while the main flow does so, too:
 * it never waits for its own thread, and the program comes to its end. */
static volatile sig_atomic_t names_from_handler;

static void define_on_alarm(int number)
{
    char text[32];
    (void)number;
    snprintf(text, sizeof text, "handler %d", (int)names_from_handler++);
    signal_api->mark(text, 0);
}

TEST(a_signal_handler_may_define_names)
{
    enum { BITS = 20, MAIN = 60000 };
    struct own_recorder own = begin_recording(BITS, 16 << 20);
    signal_api = own.api;
    struct sigaction action = {.sa_handler = define_on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerspec every = {{0, 100000}, {0, 100000}};
    timer_t timer;
    REQUIRE(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0);
    timer_settime(timer, 0, &every, NULL);
    for (int i = 0; i < MAIN; i++) {
        char text[32];
        snprintf(text, sizeof text, "main %d", i);
        own.api->mark(text, 0);
    }
    timer_delete(timer);
    static struct event out[1 << BITS];
    size_t n = drain(&own, out, 1 << BITS), unnamed = 0;
    for (size_t i = 0; i < n; i++)
        unnamed += out[i].name == 0;
    CHECK_INT(n, MAIN + names_from_handler);
    CHECK(names_from_handler > 0);
    CHECK_INT(unnamed, 0);
    CHECK_INT(atomic_load(&own.ring->arena_busy), 0);
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    CHECK(sigisemptyset(&mask)); /* as it was */
}

/* Of an armed program. */
TEST(a_phase_from_before_the_recording_ends_silently)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    struct event out[8];
    guest.armed = true;
    own.api->phase_begin("outer");
    guest_use_ring(NULL);
    own = begin_recording(6, 1 << 16);
    own.api->phase_begin("inner");
    own.api->phase_end("inner");
    own.api->phase_end("outer");
    tidemark_py_phase(0, 0, 0); /* Python's are counted by themselves */
    tidemark_py_phase(1, intern_string("with"), 0);
    tidemark_py_phase(0, 0, 0);
    REQUIRE(drain(&own, out, 8) == 4);
    CHECK_STR(string_of(own.ring, out[1].name), "inner");
    CHECK_STR(string_of(own.ring, out[2].name), "with");
    guest.armed = false; /* a mistake of the program's own is told */
    own.api->phase_end("nothing");
    CHECK_INT(drain(&own, out, 8), 1);
}

TEST_MAIN(TEST_CASE(a_heap_is_defined_once), TEST_CASE(blocks_and_segments_say_what_they_are),
          TEST_CASE(what_an_allocator_with_streams_says), TEST_CASE(a_long_setting_is_cut),
          TEST_CASE(the_python_stack_is_a_site), TEST_CASE(the_first_version_is_served),
          TEST_CASE(phases_steps_marks_and_tags_carry_names), TEST_CASE(nonsense_is_ignored),
          TEST_CASE(a_phase_from_before_the_recording_ends_silently),
          TEST_CASE(errno_is_left_alone), TEST_CASE(a_closed_ring_turns_the_guest_off),
          TEST_CASE(a_signal_handler_may_report), TEST_CASE(a_signal_handler_may_define_names))
