/*
 * The guest's life against a recorder: hello, the ring at the first event, forks, refusals, a
 * sandbox, threads.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_recorder.h"
#include "guest_program.h"
#include "guest_support.h"

static int open_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    closedir(folder);
    return count;
}

TEST(hello_first_ring_at_the_first_event)
{
    if (in_the_program()) {
        int before = open_descriptors();
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        REQUIRE(api != NULL);
        REQUIRE(guest.ring == NULL); /* nothing is fetched for nothing */
        api->mark("one", 1);
        api->mark("two", 2);
        REQUIRE(guest.ring != NULL);
        CHECK_INT(open_descriptors(), before);
        return;
    }
    static struct fake_recorder fake;
    setenv("RANK", "3", 1);
    setenv("LOCAL_RANK", "x", 1);
    fake_start(&fake, "first");
    CHECK_INT(run_program("hello_first_ring_at_the_first_event"), 0);
    fake_wait(&fake, 2);
    CHECK_INT(fake.count, 2);
    CHECK_INT(fake.said[0].hello.what, HELLO_HELLO);
    CHECK_INT(fake.said[0].hello.how, HELLO_BY_EXEC);
    CHECK_INT(fake.said[0].hello.pid, fake.said[0].peer);
    CHECK_INT(fake.said[0].hello.rank, 3);
    CHECK_INT(fake.said[0].hello.local_rank, HELLO_UNKNOWN);
    CHECK_STR(fake.said[0].hello.text, "test_guest");
    CHECK_STR(fake.said[0].hello.text + strlen("test_guest") + 1, "--no-fork");
    CHECK_INT(fake.said[1].hello.what, HELLO_FETCH);
    struct event out[8];
    REQUIRE(events_of(&fake.said[1], out, 8) == 2);
    CHECK_STR(string_of(fake.said[1].ring, out[0].name), "one");
    CHECK_STR(string_of(fake.said[1].ring, out[1].name), "two");
    fake_stop(&fake);
}

/* The child has a ring of its own, says who it is, and numbers given out before the fork still name
 * the same things; the parent goes on in its ring. */
TEST(a_forked_child_is_born_anew)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        struct tidemark_heap_desc desc = {.size = sizeof desc, .name = "heap of the parent"};
        tidemark_heap_t heap = api->heap_open(&desc);
        api->mark("parent", 1);
        pid_t child = fork();
        if (child == 0) {
            api->block_free(heap, (void *)0x10);
            api->mark("child", 2);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        api->mark("parent", 3);
        return;
    }
    static struct fake_recorder fake;
    fake_start(&fake, "fork");
    CHECK_INT(run_program("a_forked_child_is_born_anew"), 0);
    fake_wait(&fake, 4);
    CHECK_INT(fake.count, 4);
    struct fake_said *parent = &fake.said[1], *hello = &fake.said[2], *child = &fake.said[3];
    CHECK_INT(hello->hello.what, HELLO_HELLO);
    CHECK_INT(hello->hello.how, HELLO_BY_FORK);
    CHECK(hello->peer != parent->peer);
    CHECK_INT(hello->hello.ppid, parent->peer);
    CHECK_INT(child->peer, hello->peer);
    struct event out[8];
    REQUIRE(events_of(parent, out, 8) == 2);
    CHECK_INT(out[0].a, 1);
    CHECK_INT(out[1].a, 3);
    REQUIRE(events_of(child, out, 8) == 2);
    CHECK_INT(out[0].thread, child->peer); /* not the parent's cached thread id */
    struct arena_heap heap;
    size_t bytes;
    REQUIRE(definition(child->ring, out[0].heap, &heap, sizeof heap, &bytes) == ARENA_HEAP);
    CHECK_STR(string_of(child->ring, heap.name), "heap of the parent");
    CHECK_STR(string_of(child->ring, out[1].name), "child");
    fake_stop(&fake);
}

/* By reference: the child's own arena has what is new, with the numbers behind the parent's; its
 * own child goes on from there. */
TEST(a_child_goes_on_with_its_parents_numbers)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        api->mark("old", 1);
        if (fork() == 0) {
            api->mark("old", 2);
            api->mark("new", 3);
            if (fork() == 0) {
                api->mark("old", 4);
                api->mark("new", 5);
                api->mark("newest", 6);
                CHECK_INT(atomic_load(&guest.page->state), GUEST_ON);
                _exit(0);
            }
            wait(NULL);
            _exit(0);
        }
        wait(NULL);
        return;
    }
    static struct fake_recorder fake = {.refer = true};
    struct event out[8];
    fake_start(&fake, "refer");
    CHECK_INT(run_program("a_child_goes_on_with_its_parents_numbers"), 0);
    fake_wait(&fake, 6);
    struct fake_said *parent = &fake.said[1], *child = &fake.said[3], *last = &fake.said[5];
    CHECK_INT(parent->hello.from_key, 0);
    CHECK_INT(child->hello.from_key, parent->ring->key);
    CHECK_INT(child->hello.from_count, 1);
    CHECK_INT(last->hello.from_key, child->ring->key);
    CHECK_INT(last->hello.from_count, 2);
    REQUIRE(events_of(child, out, 8) == 2);
    CHECK_INT(out[0].name, 1); /* the parent's */
    CHECK_INT(out[1].name, 2);
    CHECK_STR(string_of(child->ring, 1), "new"); /* alone in its own arena */
    CHECK_STR(string_of(child->ring, 2), "");
    REQUIRE(events_of(last, out, 8) == 3);
    CHECK_INT(out[0].name, 1);
    CHECK_INT(out[1].name, 2);
    CHECK_INT(out[2].name, 3);
    CHECK_STR(string_of(last->ring, 1), "newest");
    fake_stop(&fake);
}

/* Two meanings of one number would be worse than no recording. */
TEST(a_recorder_that_counts_otherwise_is_not_believed)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        api->mark("old", 1);
        pid_t child = fork();
        if (child == 0) {
            api->mark("new", 2);
            _exit(atomic_load(&guest.page->state) == GUEST_OFF ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK_INT(status, 0);
        return;
    }
    static struct fake_recorder fake = {.refer = true, .too_many = 1};
    fake_start(&fake, "count");
    CHECK_INT(run_program("a_recorder_that_counts_otherwise_is_not_believed"), 0);
    fake_wait(&fake, 4);
    fake_stop(&fake);
}

TEST(a_child_of_a_parent_without_events_says_hello)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        pid_t child = fork();
        if (child == 0) {
            api->mark("child", 1);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        return;
    }
    static struct fake_recorder fake;
    fake_start(&fake, "quiet");
    CHECK_INT(run_program("a_child_of_a_parent_without_events_says_hello"), 0);
    fake_wait(&fake, 3);
    CHECK_INT(fake.count, 3);
    CHECK_INT(fake.said[1].hello.how, HELLO_BY_FORK);
    CHECK(fake.said[1].peer != fake.said[0].peer);
    CHECK_INT(fake.said[2].hello.what, HELLO_FETCH);
    fake_stop(&fake);
}

TEST(a_refusal_turns_it_off)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        api->mark("one", 1);
        CHECK_INT(atomic_load(&guest.page->state), GUEST_OFF);
        api->mark("two", 2);
        return;
    }
    static struct fake_recorder fake = {.refuse = true};
    fake_start(&fake, "refuse");
    CHECK_INT(run_program("a_refusal_turns_it_off"), 0);
    fake_wait(&fake, 2);
    CHECK_INT(fake.count, 2); /* asked once */
    fake_stop(&fake);
}

TEST(without_a_recorder_it_is_off)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        REQUIRE(api != NULL);
        errno = 77;
        api->mark("one", 1);
        CHECK_INT(errno, 77);
        CHECK_INT(atomic_load(&guest.page->state), GUEST_OFF);
        return;
    }
    setenv(HELLO_ENV, "tidemark-test-nobody-listens", 1);
    CHECK_INT(run_program("without_a_recorder_it_is_off"), 0);
    unsetenv(HELLO_ENV);
    CHECK(tidemark_attach(TIDEMARK_API_VERSION) == NULL);
}

/* A sandbox in which socket() fails: off, and the program goes on. */
TEST(a_sandbox_without_sockets_turns_it_off)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        struct sock_filter rules[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {4, rules};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            SKIP("no seccomp filters here");
        api->mark("one", 1);
        CHECK_INT(atomic_load(&guest.page->state), GUEST_OFF);
        return;
    }
    static struct fake_recorder fake;
    fake_start(&fake, "seccomp");
    int status = run_program("a_sandbox_without_sockets_turns_it_off");
    fake_wait(&fake, 1);
    fake_stop(&fake);
    if (status == 77)
        SKIP("no seccomp filters here");
    CHECK_INT(status, 0);
    CHECK_INT(fake.count, 1);
}

static void *report_one(void *api)
{
    ((const struct tidemark_api *)api)->mark("thread", 1);
    return NULL;
}

/* Sixteen threads have their first event at once: one ring is fetched, no event is missed. */
TEST(threads_born_together_fetch_once)
{
    enum { THREADS = 16 };
    if (in_the_program()) {
        union {
            const struct tidemark_api *api;
            void *argument;
        } pass = {tidemark_attach(TIDEMARK_API_VERSION)};
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            REQUIRE(pthread_create(&threads[i], NULL, report_one, pass.argument) == 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        CHECK_INT(atomic_load(&guest.missed), 0);
        return;
    }
    static struct fake_recorder fake;
    struct event out[32];
    fake_start(&fake, "threads");
    CHECK_INT(run_program("threads_born_together_fetch_once"), 0);
    fake_wait(&fake, 2);
    CHECK_INT(fake.count, 2);
    CHECK_INT(events_of(&fake.said[1], out, 32), THREADS);
    fake_stop(&fake);
}

/* A recorder that is late at the first event is asked again by a later one; what came in between is
 * counted as lost. */
TEST(a_late_recorder_is_asked_again)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        api->mark("missed", 1);
        REQUIRE(atomic_load(&guest.page->state) == GUEST_LATER);
        api->mark("missed", 2); /* not yet time to ask again: no wait */
        if (clock_now_ns() < atomic_load(&guest.page->retry_ns))
            REQUIRE(atomic_load(&guest.page->state) == GUEST_LATER);
        while (atomic_load(&guest.page->state) == GUEST_LATER) {
            usleep(50000);
            api->mark("at last", 3);
        }
        CHECK_INT(atomic_load(&guest.page->state), GUEST_ON);
        return;
    }
    static struct fake_recorder fake = {.deaf = 1};
    struct event out[8];
    fake_start(&fake, "late");
    CHECK_INT(run_program("a_late_recorder_is_asked_again"), 0);
    fake_wait(&fake, 3);
    CHECK_INT(fake.count, 3);
    struct fake_said *second = &fake.said[2];
    REQUIRE(events_of(second, out, 8) == 1);
    CHECK_STR(string_of(second->ring, out[0].name), "at last");
    CHECK(atomic_load(&second->ring->dropped[EVENT_NONE]) >= 2);
    fake_stop(&fake);
}

static void *mark_cancelled(void *api)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        ((const struct tidemark_api *)api)->mark("cancelled", 1);
    return NULL;
}

/* A thread that is cancelled while it fetches the ring does so to the end. */
TEST(a_cancelled_thread_fetches_to_the_end)
{
#ifdef __SANITIZE_ADDRESS__
    SKIP("AddressSanitizer takes an asynchronous cancel for an overflow of the stack");
#endif
    if (in_the_program()) {
        union {
            const struct tidemark_api *api;
            void *argument;
        } pass = {tidemark_attach(TIDEMARK_API_VERSION)};
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, mark_cancelled, pass.argument) == 0);
        while (atomic_load(&guest.page->state) == GUEST_UNBORN)
            usleep(100);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        CHECK_INT(atomic_load(&guest.page->state), GUEST_ON);
        pass.api->mark("main", 2);
        return;
    }
    static struct fake_recorder fake = {.slow_ms = 300};
    static struct event out[1024];
    fake_start(&fake, "cancel");
    CHECK_INT(run_program("a_cancelled_thread_fetches_to_the_end"), 0);
    fake_wait(&fake, 2);
    size_t n = events_of(&fake.said[1], out, 1024);
    REQUIRE(n > 0);
    CHECK_STR(string_of(fake.said[1].ring, out[n - 1].name), "main");
    fake_stop(&fake);
}

TEST_MAIN(TEST_CASE(hello_first_ring_at_the_first_event), TEST_CASE(a_forked_child_is_born_anew),
          TEST_CASE(a_child_goes_on_with_its_parents_numbers),
          TEST_CASE(a_recorder_that_counts_otherwise_is_not_believed),
          TEST_CASE(a_child_of_a_parent_without_events_says_hello),
          TEST_CASE(a_refusal_turns_it_off), TEST_CASE(without_a_recorder_it_is_off),
          TEST_CASE(a_sandbox_without_sockets_turns_it_off),
          TEST_CASE(threads_born_together_fetch_once), TEST_CASE(a_late_recorder_is_asked_again),
          TEST_CASE(a_cancelled_thread_fetches_to_the_end))
