/*
 * test_torch_hook.c - the hook between a libc10 of our own and a ring: every variant, devices,
 * streams, totals, and what is handed on. The test program stands where libtidemark.so does: its
 * definitions come before those of the library, which is opened with local scope as Python does.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_c10.h"
#include "guest_support.h"
#include "notes.h"
#include "torch_cpu.h"

#define EVENTS 64

struct fixture {
    struct own_recorder own;
    struct event events[EVENTS];
    void *c10;
    void *cuda;
    struct fake_c10 *seen;
};

static void *function(void *handle, const char *name)
{
    void *found = dlsym(handle, name);
    REQUIRE(found != NULL);
    return found;
}

/* The call of a function of the fake libraries, by its declared type. */
#define CALL(handle, name) (*(__typeof__(name) **)&(void *){function((handle), #name)})

static struct fixture begin(void)
{
    struct fixture fix = {0};
    fix.own = begin_recording(10, 1 << 16);
    fix.c10 = dlopen(FAKE_C10, RTLD_NOW | RTLD_LOCAL);
    fix.cuda = dlopen(FAKE_C10_CUDA, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(fix.c10 && fix.cuda);
    fix.seen = CALL(fix.c10, fake_c10)();
    return fix;
}

/* The events that came, without the notes on what is live. */
static size_t take(struct fixture *fix)
{
    size_t n = drain(&fix->own, fix->events, EVENTS), kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!(fix->events[i].flags & EVENT_F_SOURCE))
            fix->events[kept++] = fix->events[i];
    return kept;
}

static struct arena_heap heap_of(const struct fixture *fix, const struct event *event)
{
    struct arena_heap heap = {0};
    size_t bytes = 0;
    CHECK_INT(definition(fix->own.ring, (uint32_t)event->heap, &heap, sizeof heap, &bytes),
              ARENA_HEAP);
    CHECK_INT(bytes, sizeof heap);
    return heap;
}

static void *at(uintptr_t address)
{
    return (void *)address;
}

TEST(a_cpu_block_comes_and_goes)
{
    struct fixture fix = begin();
    CHECK(CALL(fix.c10, fake_cpu)(at(64), 100));
    CHECK(CALL(fix.c10, fake_cpu)(at(64), -100));
    REQUIRE(take(&fix) == 2);
    struct arena_heap heap = heap_of(&fix, &fix.events[0]);
    CHECK_INT(fix.events[0].kind, EVENT_BLOCK_ALLOC);
    CHECK_INT(fix.events[1].kind, EVENT_BLOCK_FREE);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(fix.events[i].addr, 64);
        CHECK_INT(fix.events[i].size, 100);
        CHECK_INT(fix.events[i].flags, 0); /* libc10's count of the CPU is not that of all blocks */
        CHECK_INT(fix.events[i].a, 0);
    }
    CHECK_INT(heap.device_kind, DEVICE_CPU);
    CHECK_INT(heap.device_index, 0);
}

TEST(the_cpu_is_handed_on_to_who_profiles)
{
    struct fixture fix = begin();
    CALL(fix.c10, fake_cpu)(at(64), 100);
    CHECK_INT(fix.seen->usage, 0);
    fix.seen->profiling = true;
    CALL(fix.c10, fake_cpu)(at(128), 200);
    CHECK_INT(fix.seen->usage, 1);
    CHECK_INT(fix.seen->size, 200);
    CHECK_INT(fix.seen->allocated, 5); /* as libc10 said, though we do not store it */
    CHECK_INT(fix.seen->device.index, -1);
    CHECK_INT(take(&fix), 2);
}

TEST(a_device_is_handed_on_always)
{
    struct fixture fix = begin();
    CALL(fix.c10, fake_cpu)(at(64), 100); /* where the originals are found */
    CALL(fix.c10, fake_device)(C10_CUDA, 3, at(512), 1024, 5000, 9000);
    CHECK_INT(fix.seen->usage, 1);
    CHECK_INT(fix.seen->allocated, 5000);
    CHECK_INT(fix.seen->reserved, 9000);
    CHECK_INT(fix.seen->device.type, C10_CUDA);
    CHECK_INT(fix.seen->device.index, 3);
}

TEST(a_device_block_carries_totals)
{
    struct fixture fix = begin();
    CALL(fix.c10, fake_device)(C10_CUDA, 2, at(512), 1024, 5000, 9000);
    CALL(fix.c10, fake_device)(C10_CUDA, 2, at(512), -1024, 3976, 9000);
    REQUIRE(take(&fix) == 2);
    for (int i = 0; i < 2; i++) {
        struct arena_heap heap = heap_of(&fix, &fix.events[i]);
        CHECK_INT(heap.device_kind, DEVICE_CUDA);
        CHECK_INT(heap.device_index, 2);
        CHECK_INT(fix.events[i].flags, EVENT_F_TOTALS);
        CHECK_INT(fix.events[i].size, 1024);
        CHECK_INT(fix.events[i].b, 9000);
    }
    CHECK_INT(fix.events[0].a, 5000);
    CHECK_INT(fix.events[1].a, 3976);
}

TEST(the_stream_is_that_of_the_thread)
{
    struct fixture fix = begin();
    torch_hook_bind();
    for (int i = 0; i < 4; i++) {
        CALL(fix.cuda, fake_stream)(i % 2 ? 35 : 0);
        CALL(fix.c10, fake_device)(C10_CUDA, 0, at(512 + (uintptr_t)i), 8, 8, 8);
    }
    REQUIRE(take(&fix) == 4);
    for (int i = 0; i < 4; i++)
        CHECK_INT(heap_of(&fix, &fix.events[i]).stream, i % 2 ? 35 : 0);
    CHECK_INT(fix.events[0].heap, fix.events[2].heap);
    CHECK_INT(fix.events[1].heap, fix.events[3].heap);
}

TEST(older_variants_are_the_same)
{
    struct fixture fix = begin();
    torch_hook_bind();
    CALL(fix.c10, fake_device_signed)(C10_CUDA, 1, at(512), 1024, 5000, 9000);
    CHECK_INT(fix.seen->allocated, 5000);
    CALL(fix.c10, fake_device_old)(C10_CUDA, 1, at(1024), 2048);
    CHECK_INT(fix.seen->usage, 2);
    CHECK_INT(fix.seen->allocated, -1);
    REQUIRE(take(&fix) == 2);
    CHECK_INT(fix.events[0].flags, EVENT_F_TOTALS);
    CHECK_INT(fix.events[0].a, 5000);
    CHECK_INT(fix.events[1].flags, 0);
    CHECK_INT(fix.events[1].size, 2048);
}

TEST(out_of_memory_carries_what_was_asked)
{
    struct fixture fix = begin();
    torch_hook_bind();
    CALL(fix.c10, fake_oom)(C10_CUDA, 0, 1ll << 40, 700, 800);
    CALL(fix.c10, fake_oom)(C10_CPU, -1, 1ll << 50, 0, 0);
    CHECK_INT(fix.seen->oom, 1);
    REQUIRE(take(&fix) == 2);
    CHECK_INT(fix.events[0].kind, EVENT_OOM);
    CHECK_INT(fix.events[0].size, 1ll << 40);
    CHECK_INT(fix.events[0].a, 700);
    CHECK_INT(fix.events[0].b, 800);
    CHECK_INT(fix.events[0].flags, EVENT_F_TOTALS);
    CHECK_INT(fix.events[1].flags, 0);
}

TEST(other_accelerators_have_heaps_too)
{
    struct fixture fix = begin();
    CALL(fix.c10, fake_device)(12, 1, at(512), 1024, 1024, 2048);
    CALL(fix.c10, fake_device)(13, 0, at(512), 1024, 1024, 2048);
    REQUIRE(take(&fix) == 2);
    CHECK_INT(heap_of(&fix, &fix.events[0]).device_kind, DEVICE_XPU);
    CHECK_INT(heap_of(&fix, &fix.events[0]).device_index, 1);
    CHECK_INT(heap_of(&fix, &fix.events[1]).device_kind, DEVICE_OTHER);
}

TEST(without_a_recorder_libc10_is_as_it_was)
{
    struct fixture fix = begin();
    guest_use_ring(NULL);
    CHECK(!CALL(fix.c10, fake_cpu)(at(64), 100));
    fix.seen->profiling = true;
    CHECK(CALL(fix.c10, fake_cpu)(at(64), 100));
    CHECK_INT(fix.seen->usage, 1);
    CALL(fix.c10, fake_device)(C10_CUDA, 0, at(512), 1024, 1024, 2048);
    CHECK_INT(fix.seen->usage, 2);
    CHECK_INT(take(&fix), 0);
}

/* How often a source is named in what came. */
static int named(struct fixture *fix, const char *source, uint64_t why_not)
{
    int count = 0;
    size_t n = 0;
    while ((n = drain(&fix->own, fix->events, EVENTS)) > 0)
        for (size_t i = 0; i < n; i++)
            count += fix->events[i].kind == EVENT_MARK && (fix->events[i].flags & EVENT_F_SOURCE) &&
                     fix->events[i].a == why_not &&
                     strcmp(string_of(fix->own.ring, fix->events[i].name), source) == 0;
    return count;
}

/* At its place of the functions at exit stands the end of libc10's table. */
static struct fixture *at_exit;

static void look_at_exit(void)
{
    bool first = CALL(at_exit->c10, fake_cpu)(at(128), 200);
    at_exit->seen->profiling = true;
    bool second = CALL(at_exit->c10, fake_cpu)(at(192), 200);
    _exit(take(at_exit) == 2 && !first && second ? 42 : 43);
}

TEST(at_exit_libc10_is_as_it_was)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        struct fixture fix = begin();
        at_exit = &fix;
        atexit(look_at_exit);
        exit(CALL(fix.c10, fake_cpu)(at(64), 100) ? 44 : 45);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 42);
}

TEST(each_ring_gets_each_note_once)
{
    struct fixture fix = begin();
    for (int i = 0; i < 3; i++)
        CALL(fix.c10, fake_device)(C10_CUDA, (int8_t)i, at(512), 8, 8, 8);
    CHECK_INT(named(&fix, "torch-cuda", 0), 1);
    fix.own = begin_recording(10, 1 << 16);
    CALL(fix.c10, fake_device)(C10_CUDA, 0, at(512), -8, 8, 8);
    CHECK_INT(named(&fix, "torch-cuda", 0), 1);
    notes_why_not("no such thing");
    notes_why_not("no such thing");
    notes_send();
    CHECK_INT(named(&fix, "no such thing", 1), 1);
}

TEST(more_notes_than_fit_do_no_harm)
{
    struct fixture fix = begin();
    char text[] = "note 00";
    for (int i = 0; i < 90; i++) {
        text[5] = (char)('0' + i / 10);
        text[6] = (char)('0' + i % 10);
        notes_live(text);
    }
    notes_send();
    CHECK_INT(drain(&fix.own, fix.events, EVENTS), 24);
}

/* torch_cpu.c's, as an extension calls it. */
void cpu_new(void *reporter, void *ptr,
             size_t bytes) __asm__("_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm");

static void cpu_new_first(void *ptr, size_t bytes)
{
    cpu_new(NULL, ptr, bytes);
}

static struct fixture begin_anew(void)
{
    struct fixture fix = begin();
    atomic_store(&torch_cpu_way, TORCH_CPU_OPEN);
    return fix;
}

TEST(libc10_keeps_no_table_for_us)
{
    struct fixture fix = begin_anew();
    CALL(fix.c10, fake_cpu_new)(at(128), 200);
    CALL(fix.c10, fake_cpu_new)(at(192), 0);
    CALL(fix.c10, fake_cpu_delete)(at(128));
    CHECK_INT(torch_cpu_way, TORCH_CPU_DIRECT);
    REQUIRE(take(&fix) == 2);
    CHECK_INT(fix.seen->kept + fix.seen->usage + fix.seen->complaints, 0);
    CHECK_INT(fix.events[0].kind, EVENT_BLOCK_ALLOC);
    CHECK_INT(fix.events[0].size, 200);
    CHECK_INT(heap_of(&fix, &fix.events[0]).device_kind, DEVICE_CPU);
    CHECK_INT(fix.events[1].kind, EVENT_BLOCK_FREE);
    CHECK_INT(fix.events[1].size, 0);
    CHECK_INT(fix.events[1].heap, fix.events[0].heap);
    CHECK_INT(fix.events[0].addr, 128);
    CHECK_INT(fix.events[1].addr, 128);
}

TEST(who_profiles_sees_what_it_would_see)
{
    struct fixture fix = begin_anew();
    CALL(fix.c10, fake_cpu_new)(at(128), 200);
    fix.seen->profiling = true;
    CALL(fix.c10, fake_cpu_new)(at(192), 300);
    CHECK_INT(fix.seen->usage, 1);
    CHECK_INT(fix.seen->size, 300);
    CALL(fix.c10, fake_cpu_delete)(at(192));
    CHECK_INT(fix.seen->usage, 2);
    CHECK_INT(fix.seen->size, -300);
    CALL(fix.c10, fake_cpu_delete)(at(128)); /* from before it profiled */
    CHECK_INT(fix.seen->complaints, 1);
    CHECK_INT(take(&fix), 4); /* each once */
}

/* libc10's own switch: its functions log, and ask whether somebody profiles beside that. */
TEST(blocks_are_logged_as_without_us)
{
    struct fixture fix = begin_anew();
    bool *logs = function(fix.c10, "FLAGS_caffe2_report_cpu_memory_usage");
    *logs = true;
    CALL(fix.c10, fake_cpu_new)(at(64), 100);
    CALL(fix.c10, fake_cpu_delete)(at(64));
    *logs = false;
    CALL(fix.c10, fake_cpu_new)(at(64), 100);
    CHECK_INT(fix.seen->logged, 2);
    CHECK_INT(fix.seen->kept + fix.seen->usage, 0);
    CHECK_INT(take(&fix), 3);
}

TEST(what_asks_otherwise_hears_yes)
{
    struct fixture fix = begin_anew();
    CALL(fix.c10, fake_cpu_new)(at(64), 100);
    CALL(fix.c10, fake_cpu_oom)(1ull << 40);
    CHECK_INT(fix.seen->oom, 0);
    REQUIRE(take(&fix) == 2);
    CHECK_INT(fix.events[1].kind, EVENT_OOM);
    CHECK_INT(fix.events[1].size, 1ll << 40);
}

/* As where libc10 calls one of them without its name. */
TEST(where_libc10_is_asked_it_keeps_sizes)
{
    struct fixture fix = begin_anew();
    CALL(fix.c10, fake_cpu_new)(at(64), 100); /* which finds libc10's own */
    CHECK_INT(take(&fix), 1);
    atomic_store(&torch_cpu_way, TORCH_CPU_ASKED);
    CALL(fix.c10, fake_cpu_new)(at(128), 200);
    CHECK_INT(fix.seen->kept, 1);
    CALL(fix.c10, fake_cpu_delete)(at(128));
    CHECK_INT(fix.seen->kept, 0);
    REQUIRE(take(&fix) == 2);
    CHECK_INT(fix.events[1].size, 200);
}

/* An extension that uses the reporter before libc10 itself does. */
TEST(who_calls_first_need_not_be_libc10)
{
    struct fixture fix = begin_anew();
    fix.seen->profiling = true;
    cpu_new_first(at(64), 100);
    CALL(fix.c10, fake_cpu_new)(at(128), 200);
    CHECK_INT(torch_cpu_way, TORCH_CPU_DIRECT);
    CHECK_INT(fix.seen->usage, 2);
    CHECK_INT(take(&fix), 2);
}

static uint32_t way_in_child(bool (*prepare)(void), bool is_ours)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        struct fixture fix = begin_anew();
        struct guest_page *page = guest.page;
        if (!is_ours)
            guest.page = NULL;
        if (prepare && !prepare())
            _exit(99);
        CALL(fix.c10, fake_cpu_new)(at(64), 100);
        guest.page = page;
        CALL(fix.c10, fake_cpu_delete)(at(64));
        CALL(fix.c10, fake_cpu_new)(at(128), 100);
        _exit((int)torch_cpu_way);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return (uint32_t)WEXITSTATUS(status);
}

static bool arm(void)
{
    guest.armed = true;
    return torch_hook_keep();
}

TEST(who_may_be_recorded_later_needs_the_sizes)
{
    CHECK_INT(way_in_child(arm, true), TORCH_CPU_ASKED);
    CHECK_INT(way_in_child(NULL, false), TORCH_CPU_ASKED);
    CHECK_INT(way_in_child(NULL, true), TORCH_CPU_DIRECT);
}

static void *report_blocks(void *argument)
{
    struct fixture *fix = argument;
    for (uintptr_t i = 1; i <= 50; i++) {
        CALL(fix->c10, fake_cpu)(at(64 * i), 64);
        CALL(fix->c10, fake_device)(C10_CUDA, 0, at(64 * i), -64, 0, 0);
    }
    return NULL;
}

TEST(threads_report_at_once)
{
    struct fixture fix = begin();
    pthread_t threads[4];
    size_t n, blocks = 0;
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], NULL, report_blocks, &fix) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    while ((n = drain(&fix.own, fix.events, EVENTS)) > 0)
        for (size_t i = 0; i < n; i++)
            blocks += !(fix.events[i].flags & EVENT_F_SOURCE);
    CHECK_INT(blocks, 400);
}

TEST(a_watch_keeps_what_was_not_freed)
{
    struct fixture fix = begin();
    struct watched left[4];
    CALL(fix.c10, fake_cpu)(at(16), 1);
    REQUIRE(torch_watch_begin());
    CHECK(!torch_watch_begin());
    CALL(fix.c10, fake_cpu)(at(64), 100);
    CALL(fix.c10, fake_cpu)(at(128), 200);
    CALL(fix.c10, fake_cpu)(at(64), -100);
    CALL(fix.c10, fake_cpu)(at(16), -1);
    CHECK_INT(torch_watch_end(left, 4), 1);
    CHECK_INT(left[0].addr, 128);
    CHECK_INT(left[0].bytes, 200);
    CHECK_INT(torch_watch_end(left, 4), 0);
    CHECK_INT(take(&fix), 5);
}

#define FULL "tags of buckets: more blocks came at once than are watched"

TEST(a_watch_has_an_end)
{
    struct fixture fix = begin();
    struct watched left[WATCH_MAX + 1];
    REQUIRE(torch_watch_begin());
    for (uintptr_t i = 0; i < 2 * WATCH_MAX; i++)
        CALL(fix.c10, fake_cpu)(at(64 * (i + 1)), 64);
    CHECK_INT(torch_watch_end(left, WATCH_MAX + 1), WATCH_MAX);
    notes_send();
    CHECK_INT(named(&fix, FULL, 1), 1);
    for (uintptr_t round = 0; round < 2; round++) {
        REQUIRE(torch_watch_begin());
        for (uintptr_t i = 0; i < WATCH_MAX + round; i++)
            CALL(fix.c10, fake_cpu)(at(64 * (i + 1 + 3 * WATCH_MAX)), 64);
        CHECK_INT(torch_watch_end(left, WATCH_MAX), WATCH_MAX);
    }
    notes_send();
    CHECK_INT(named(&fix, FULL, 1), 0); /* once */
}

TEST_MAIN(TEST_CASE(a_cpu_block_comes_and_goes), TEST_CASE(the_cpu_is_handed_on_to_who_profiles),
          TEST_CASE(a_device_is_handed_on_always), TEST_CASE(a_device_block_carries_totals),
          TEST_CASE(the_stream_is_that_of_the_thread), TEST_CASE(older_variants_are_the_same),
          TEST_CASE(out_of_memory_carries_what_was_asked),
          TEST_CASE(other_accelerators_have_heaps_too),
          TEST_CASE(without_a_recorder_libc10_is_as_it_was), TEST_CASE(at_exit_libc10_is_as_it_was),
          TEST_CASE(each_ring_gets_each_note_once), TEST_CASE(more_notes_than_fit_do_no_harm),
          TEST_CASE(libc10_keeps_no_table_for_us), TEST_CASE(who_profiles_sees_what_it_would_see),
          TEST_CASE(blocks_are_logged_as_without_us), TEST_CASE(what_asks_otherwise_hears_yes),
          TEST_CASE(where_libc10_is_asked_it_keeps_sizes),
          TEST_CASE(who_calls_first_need_not_be_libc10),
          TEST_CASE(who_may_be_recorded_later_needs_the_sizes), TEST_CASE(threads_report_at_once),
          TEST_CASE(a_watch_keeps_what_was_not_freed), TEST_CASE(a_watch_has_an_end))
