/* The stacks of blocks whose threads have no Python: threads of the autograd engine, by name and by
 * the function that they begin in, get that of the open backward call; all others their name. There
 * is no interpreter here, so the stack of a backward call is the name of the thread that makes it.
 */
#include "torch_site.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_support.h"
#include "intern.h"
#include "torch_thread.h"

#define MOST_FRAMES 8

/* Where the engine's threads begin; exported by the test program, which stands for libtorch_cpu. */
__attribute__((visibility("default"), noinline)) void
engine_begins(void (*work)(void *),
              void *argument) __asm__("_ZN5torch8autograd6Engine21reentrant_thread_initEv");

void engine_begins(void (*work)(void *), void *argument)
{
    work(argument);
    __asm__ volatile("" ::: "memory"); /* not the last call: it stays on the stack */
}

static struct own_recorder own;

static void begin(void)
{
    own = begin_recording(6, 1 << 20);
    torch_thread_bind();
    torch_backward_forget();
    prctl(PR_SET_NAME, "main");
}

/* The functions of a site in one string: "autograd < [thread main]". Frames must have no file. */
static const char *text_of(uint32_t site)
{
    static __thread char text[256];
    uint32_t numbers[MOST_FRAMES];
    struct arena_frame frame;
    size_t bytes = 0, used = 0;
    text[0] = '\0';
    if (!site || definition(own.ring, site, numbers, sizeof numbers, &bytes) != ARENA_SITE)
        return text;
    for (size_t i = 0; i < bytes / sizeof *numbers; i++) {
        size_t size;
        REQUIRE(definition(own.ring, numbers[i], &frame, sizeof frame, &size) == ARENA_FRAME);
        CHECK_INT(frame.file, 0);
        CHECK_INT(frame.line, 0);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " < " : "",
                                 string_of(own.ring, frame.function));
    }
    return text;
}

/* ---- threads ---- */

struct worker {
    const char *name; /* NULL: as its creator */
    bool engine;      /* begins in the engine's function */
    char text[256];   /* of the site of a block */
    enum torch_thread kind;
};

static void ask(void *argument)
{
    struct worker *worker = argument;
    errno = EDOM;
    uint32_t site = torch_site();
    CHECK_INT(torch_site(), site);
    CHECK_INT(errno, EDOM);
    snprintf(worker->text, sizeof worker->text, "%s", text_of(site));
    worker->kind = torch_thread_mine;
}

static void *run(void *argument)
{
    struct worker *worker = argument;
    if (worker->name)
        prctl(PR_SET_NAME, worker->name);
    if (worker->engine)
        engine_begins(ask, worker);
    else
        ask(worker);
    return NULL;
}

static struct worker in_a_thread(struct worker worker)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, run, &worker) == 0);
    pthread_join(thread, NULL);
    return worker;
}

static void engine_sees(const char *wanted)
{
    struct worker by_name = in_a_thread((struct worker){.name = "pt_autograd_3"});
    struct worker by_root = in_a_thread((struct worker){.engine = true});
    CHECK_STR(by_name.text, wanted);
    CHECK_STR(by_root.text, wanted);
    CHECK_INT(by_name.kind, TORCH_THREAD_ENGINE);
    CHECK_INT(by_root.kind, TORCH_THREAD_ENGINE);
}

TEST(a_thread_without_python_has_its_name)
{
    begin();
    CHECK_STR(text_of(torch_site()), "[thread main]");
    struct worker named = in_a_thread((struct worker){.name = "pt_gloo_runloop"});
    CHECK_STR(named.text, "[thread pt_gloo_runloop]");
    CHECK_INT(named.kind, TORCH_THREAD_ANY);
    struct worker nameless = in_a_thread((struct worker){0});
    CHECK_STR(nameless.text, "[thread main]");
    struct worker longest = in_a_thread((struct worker){.name = "fifteen letters and more"});
    CHECK_STR(longest.text, "[thread fifteen letters]");
}

TEST(a_ring_of_other_definitions_has_sites_of_its_own)
{
    begin();
    uint32_t before = torch_site();
    intern_string("something that comes first");
    CHECK_INT(torch_site(), before);
    own = begin_recording(6, 1 << 20);
    intern_string("the numbers are others now");
    CHECK_STR(text_of(torch_site()), "[thread main]");
}

TEST(the_engine_has_the_stack_of_the_open_call)
{
    begin();
    engine_sees("autograd");
    torch_backward_begin();
    engine_sees("autograd < [thread main]");
    CHECK_STR(text_of(torch_site()), "[thread main]"); /* it makes the call itself */
    CHECK_STR(in_a_thread((struct worker){0}).text, "[thread main]");
    torch_backward_end();
    engine_sees("autograd");
    CHECK(torch_site_is_valid());
}

/* A thread that makes a call and is inside of it until it is told to end it. */
struct calling {
    const char *name, *wanted; /* what its own blocks have meanwhile */
    pthread_t thread;
    pthread_barrier_t barrier;
};

static void *call_and_wait(void *argument)
{
    struct calling *calling = argument;
    prctl(PR_SET_NAME, calling->name);
    torch_backward_begin();
    CHECK_STR(text_of(torch_site()), calling->wanted);
    pthread_barrier_wait(&calling->barrier);
    pthread_barrier_wait(&calling->barrier);
    torch_backward_end();
    return NULL;
}

static void begin_call(struct calling *calling)
{
    REQUIRE(pthread_barrier_init(&calling->barrier, NULL, 2) == 0);
    REQUIRE(pthread_create(&calling->thread, NULL, call_and_wait, calling) == 0);
    pthread_barrier_wait(&calling->barrier);
    CHECK(torch_site_is_valid());
}

static void end_call(struct calling *calling)
{
    pthread_barrier_wait(&calling->barrier);
    pthread_join(calling->thread, NULL);
    pthread_barrier_destroy(&calling->barrier);
    CHECK(torch_site_is_valid());
}

/* Such a call is itself inside of one. */
TEST(calls_nest_in_threads_of_the_engine)
{
    struct calling engine = {.name = "pt_autograd_0", .wanted = "autograd < [thread main]"};
    begin();
    torch_backward_begin();
    begin_call(&engine);
    engine_sees("autograd < autograd < [thread main]");
    end_call(&engine);
    engine_sees("autograd < [thread main]");
    torch_backward_end();
    engine_sees("autograd");
}

TEST(the_last_of_several_threads_counts)
{
    struct calling other = {.name = "other", .wanted = "[thread other]"};
    begin();
    torch_backward_begin();
    begin_call(&other);
    engine_sees("autograd < [thread other]");
    torch_backward_begin(); /* nested, and later */
    engine_sees("autograd < [thread main]");
    torch_backward_end();
    engine_sees("autograd < [thread other]");
    torch_backward_end();
    engine_sees("autograd < [thread other]");
    end_call(&other);
    engine_sees("autograd");
}

TEST(calls_nest_deeper_than_is_kept)
{
    enum { DEPTH = 3 * TORCH_NESTED };
    begin();
    for (int i = 0; i < DEPTH; i++) {
        torch_backward_begin();
        REQUIRE(torch_site_is_valid());
    }
    for (int i = 0; i < DEPTH; i++) {
        engine_sees("autograd < [thread main]");
        torch_backward_end();
        REQUIRE(torch_site_is_valid());
    }
    engine_sees("autograd");
    torch_backward_end(); /* of a call that never began */
    CHECK(torch_site_is_valid());
    torch_backward_begin();
    engine_sees("autograd < [thread main]");
    torch_backward_end();
}

/* ---- many at once ---- */

enum { CALLERS = TORCH_CALLERS + 8, ROUNDS = 200 };
static pthread_barrier_t barrier;
static _Atomic bool over;
static _Atomic uint32_t wrong;

static void *calls_often(void *argument)
{
    (void)argument;
    prctl(PR_SET_NAME, "caller");
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < ROUNDS; i++) {
        torch_backward_begin();
        torch_backward_begin();
        torch_backward_end();
        torch_backward_end();
    }
    return NULL;
}

static void *looks_often(void *argument)
{
    uint32_t without = *(uint32_t *)argument, with = 0;
    prctl(PR_SET_NAME, "pt_autograd_1");
    while (!atomic_load(&over)) {
        uint32_t site = torch_site();
        if (site == without)
            continue;
        if (with && site != with)
            atomic_fetch_add(&wrong, 1);
        with = site;
    }
    if (with && strcmp(text_of(with), "autograd < [thread caller]") != 0)
        atomic_fetch_add(&wrong, 1);
    return NULL;
}

TEST(more_threads_call_than_are_kept)
{
    pthread_t threads[CALLERS], looking;
    begin();
    uint32_t frame = intern(ARENA_FRAME, &(struct arena_frame){intern_string("autograd"), 0, 0, 0},
                            sizeof(struct arena_frame));
    uint32_t without = intern(ARENA_SITE, &frame, sizeof frame);
    REQUIRE(pthread_barrier_init(&barrier, NULL, CALLERS) == 0);
    REQUIRE(pthread_create(&looking, NULL, looks_often, &without) == 0);
    for (int i = 0; i < CALLERS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, calls_often, NULL) == 0);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&over, true);
    pthread_join(looking, NULL);
    CHECK_INT(wrong, 0);
    CHECK(torch_site_is_valid());
    engine_sees("autograd");
}

TEST(a_full_arena_gives_no_site)
{
    begin();
    own = begin_recording(6, 4096);
    char name[64];
    for (int i = 0; !atomic_load(&own.ring->arena_full); i++) {
        snprintf(name, sizeof name, "a name that takes room, number %d", i);
        intern_string(name);
    }
    for (int i = 0; i < 3; i++)
        CHECK_INT(torch_site(), 0);
    torch_backward_begin();
    CHECK_STR(in_a_thread((struct worker){.engine = true}).text, "");
    torch_backward_end();
}

TEST(a_child_begins_with_nothing_open)
{
    int status;
    begin();
    torch_backward_begin();
    pid_t child = fork();
    if (child == 0) {
        torch_backward_forget();
        struct worker worker = {.name = "pt_autograd_0"};
        pthread_t thread;
        pthread_create(&thread, NULL, run, &worker);
        pthread_join(thread, NULL);
        _exit(strcmp(worker.text, "autograd") != 0 || !torch_site_is_valid());
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    engine_sees("autograd < [thread main]");
    torch_backward_end();
}

TEST_MAIN(TEST_CASE(a_thread_without_python_has_its_name),
          TEST_CASE(a_ring_of_other_definitions_has_sites_of_its_own),
          TEST_CASE(the_engine_has_the_stack_of_the_open_call),
          TEST_CASE(calls_nest_in_threads_of_the_engine),
          TEST_CASE(the_last_of_several_threads_counts), TEST_CASE(calls_nest_deeper_than_is_kept),
          TEST_CASE(more_threads_call_than_are_kept), TEST_CASE(a_full_arena_gives_no_site),
          TEST_CASE(a_child_begins_with_nothing_open))
