/* Which module made a node: numbers of one thread, of many, of long ago, of threads that
 * ended, and of forked children. */
#include "torch_made.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "test.h"

TEST(each_node_has_the_module_of_its_stretch)
{
    enum { NODES = 4000 };
    for (uint64_t i = 0; i < NODES; i++)
        torch_made(7, i, (uint32_t)(i / 3 % 50));
    for (uint64_t i = 0; i < NODES; i++)
        REQUIRE(torch_made_by(7, i) == i / 3 % 50);
    CHECK_INT(torch_made_by(7, NODES), 0); /* not made yet */
    CHECK_INT(torch_made_by(8, 1), 0);
    CHECK(torch_has_made(7, NODES - 1) && !torch_has_made(7, NODES) && !torch_has_made(0, 0));
}

TEST(numbers_before_the_first_are_nobodys)
{
    torch_made(7, 100, 4);
    CHECK_INT(torch_made_by(7, 99), 0);
    CHECK_INT(torch_made_by(7, 100), 4);
}

TEST(of_long_ago_nothing_is_known)
{
    const uint64_t nodes = 3 * MADE_STRETCHES;
    for (uint64_t i = 0; i < nodes; i++)
        torch_made(7, i, (uint32_t)(1 + i % 1000));
    for (uint64_t i = 0; i < nodes; i++) {
        uint32_t module = torch_made_by(7, i);
        REQUIRE(module == 1 + i % 1000 || (module == 0 && i <= nodes - MADE_STRETCHES));
    }
    CHECK_INT(torch_made_by(7, nodes - MADE_STRETCHES + 1),
              1 + (nodes - MADE_STRETCHES + 1) % 1000);
}

static void *make_some(void *argument)
{
    uint64_t thread = *(const uint64_t *)argument;
    for (uint64_t i = 0; i < 100; i++)
        torch_made(thread, i, (uint32_t)thread);
    return NULL;
}

/* Nodes outlive the threads that made them, as DataParallel's do. */
TEST(threads_that_ended_give_way_to_others)
{
    enum { THREADS = 4 * MADE_MAKERS };
    for (uint64_t thread = 1; thread <= THREADS; thread++) {
        pthread_t handle;
        REQUIRE(pthread_create(&handle, NULL, make_some, &thread) == 0);
        REQUIRE(pthread_join(handle, NULL) == 0);
        CHECK_INT(torch_made_by(thread, 50), thread);
    }
    for (uint64_t thread = 1; thread <= THREADS; thread++) {
        uint32_t module = torch_made_by(thread, 99);
        REQUIRE(module == thread || (module == 0 && thread + MADE_MAKERS / 2 < THREADS));
    }
}

static pthread_barrier_t all_are_there;

static void *make_beside(void *argument)
{
    uint64_t thread = *(const uint64_t *)argument;
    pthread_barrier_wait(&all_are_there);
    for (uint64_t i = 0; i < 5000; i++)
        torch_made(thread, i, (uint32_t)(thread * 10000 + i));
    pthread_barrier_wait(&all_are_there);
    return NULL;
}

/* More threads than makers: some are refused, none has another's. */
TEST(more_threads_than_there_is_room_for)
{
    enum { THREADS = MADE_MAKERS + 10 };
    static uint64_t numbers[THREADS];
    pthread_t handles[THREADS];
    REQUIRE(pthread_barrier_init(&all_are_there, NULL, THREADS) == 0);
    for (uint64_t i = 0; i < THREADS; i++) {
        numbers[i] = i + 1;
        REQUIRE(pthread_create(&handles[i], NULL, make_beside, &numbers[i]) == 0);
    }
    for (uint64_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(handles[i], NULL) == 0);
    int known = 0;
    for (uint64_t thread = 1; thread <= THREADS; thread++) {
        uint32_t module = torch_made_by(thread, 4999);
        REQUIRE(module == 0 || module == thread * 10000 + 4999);
        known += module != 0;
    }
    CHECK(known > 0 && known <= (int)MADE_MAKERS);
}

static void *make_one(void *thread)
{
    torch_made((uint64_t)(uintptr_t)thread, 0, 9);
    return NULL;
}

static void in_another_thread(uint64_t thread)
{
    pthread_t other;
    if (pthread_create(&other, NULL, make_one, (void *)(uintptr_t)thread) == 0) /* NOLINT */
        pthread_join(other, NULL);
}

static _Atomic bool over;

static void *take_without_end(void *unused)
{
    (void)unused;
    for (uint64_t thread = 1000; !atomic_load(&over); thread++)
        in_another_thread(thread);
    return NULL;
}

static int status_of(pid_t child)
{
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_fork_while_another_thread_takes_a_maker)
{
    pthread_t other;
    int without = 0;
    atomic_store(&over, false);
    REQUIRE(pthread_create(&other, NULL, take_without_end, NULL) == 0);
    for (int round = 0; round < 100; round++) {
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            atomic_fetch_add(&guest.generation, 1);
            torch_made(77, 5, 4);
            _exit(torch_made_by(77, 5) == 4 ? 0 : 1);
        }
        without += status_of(child) != 0;
    }
    atomic_store(&over, true);
    pthread_join(other, NULL);
    CHECK_INT(without, 0);
}

/* All makers are taken, this thread's is the oldest, and in a child it has another number. */
TEST(a_child_keeps_the_maker_of_the_thread_that_forked)
{
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        torch_made(500, 0, 6);
        for (uint64_t i = 0; i < 3 * MADE_MAKERS; i++)
            in_another_thread(600 + i);
        pid_t inner = fork();
        if (inner == 0) {
            atomic_fetch_add(&guest.generation, 1);
            torch_made(500, 1, 7);
            for (uint64_t i = 0; i < 3 * MADE_MAKERS; i++)
                in_another_thread(900 + i);
            _exit(torch_made_by(500, 0) == 6 && torch_made_by(500, 1) == 7 ? 0 : 1);
        }
        _exit(inner > 0 ? status_of(inner) : 2);
    }
    CHECK_INT(status_of(child), 0);
}

TEST_MAIN(TEST_CASE(each_node_has_the_module_of_its_stretch),
          TEST_CASE(numbers_before_the_first_are_nobodys), TEST_CASE(of_long_ago_nothing_is_known),
          TEST_CASE(threads_that_ended_give_way_to_others),
          TEST_CASE(more_threads_than_there_is_room_for),
          TEST_CASE(a_fork_while_another_thread_takes_a_maker),
          TEST_CASE(a_child_keeps_the_maker_of_the_thread_that_forked))
