/*
 * The allocator's lock: what it protects is whole, and who waits gets it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "lock.h"
#include "test.h"

enum { THREADS = 4, TIMES = 20000 };

static struct lock lock;
static uint64_t first, second; /* equal whenever the lock is free */
static bool differed;

static void *count(void *arg)
{
    (void)arg;
    for (int i = 0; i < TIMES; i++) {
        lock_take(&lock);
        differed = differed || first != second;
        first++;
        if (i % 512 == 0) /* so that others have to sleep */
            nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
        second++;
        lock_give(&lock);
    }
    return NULL;
}

TEST(what_it_protects_is_whole)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, count, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    CHECK(!differed);
    CHECK_INT(first, THREADS * TIMES);
    CHECK_INT(second, THREADS * TIMES);
    CHECK_INT(lock.state, LOCK_FREE);
}

static void *take(void *arg)
{
    int *seen = arg;
    errno = ERANGE;
    lock_take(&lock);
    *seen = errno;
    lock_give(&lock);
    return NULL;
}

TEST(who_sleeps_is_woken_and_keeps_errno)
{
    pthread_t threads[THREADS];
    int seen[THREADS] = {0};
    lock_take(&lock);
    CHECK_INT(lock.state, LOCK_HELD);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, take, &seen[i]) == 0);
    while (atomic_load(&lock.state) != LOCK_AWAITED)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    lock_give(&lock);
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        CHECK_INT(seen[i], ERANGE);
    }
    CHECK_INT(lock.state, LOCK_FREE);
}

TEST(nobody_waits_nobody_is_woken)
{
    for (int i = 0; i < 10; i++) {
        lock_take(&lock);
        CHECK_INT(lock.state, LOCK_HELD);
        lock_give(&lock);
        CHECK_INT(lock.state, LOCK_FREE);
    }
}

TEST_MAIN(TEST_CASE(what_it_protects_is_whole), TEST_CASE(who_sleeps_is_woken_and_keeps_errno),
          TEST_CASE(nobody_waits_nobody_is_woken))
