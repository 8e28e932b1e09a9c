/*
 * prog_count.c - threads that allocate and free, and count in a file each event that was published.
 *
 *     prog_count FILE THREADS MS EXIT_STATUS
 *
 * FILE, one page: a counter for each thread, 64 bytes apart; at 4072 the longest time in ns that
 * one call took while nobody took the processor away from its thread, at 4080 the longest at all,
 * at 4088 the pid (stored last, when all is ready). Runs MS milliseconds, or until SIGUSR1.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tidemark.h"

#define PAGE 4096
#define THREADS_MAX 60

struct page {
    struct {
        _Atomic uint64_t events;
        char pad[56];
    } threads[63];
    char pad[40];
    _Atomic uint64_t longest_quiet_ns;
    _Atomic uint64_t longest_ns;
    _Atomic uint64_t pid;
};
_Static_assert(sizeof(struct page) == PAGE, "as the shell reads it");

static struct page *page;
static _Atomic uint64_t until_ns;

static uint64_t now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static void raise_to(_Atomic uint64_t *longest, uint64_t ns)
{
    uint64_t now = atomic_load(longest);
    while (ns > now && !atomic_compare_exchange_weak(longest, &now, ns))
        continue;
}

/* How often the processor was taken away from this thread. */
static long times_preempted(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : -1;
}

#define LOOK_EVERY 1024 /* calls: asking is dearer than what is measured */

static uint64_t count_one(int thread, uint64_t before)
{
    static _Thread_local long preempted;
    uint64_t events = atomic_fetch_add(&page->threads[thread].events, 1);
    uint64_t after = now_ns(), took = after - before;
    raise_to(&page->longest_ns, took);
    if (events % LOOK_EVERY && took <= atomic_load(&page->longest_quiet_ns))
        return after;
    long now = times_preempted();
    if (events > 0 && now == preempted && now >= 0)
        raise_to(&page->longest_quiet_ns, took);
    preempted = now;
    return events % LOOK_EVERY ? now_ns() : after;
}

static void *work(void *argument)
{
    int thread = (int)(intptr_t)argument;
    tidemark_heap_t heap = tidemark_heap_open(TIDEMARK_DEVICE_VIRTUAL, 0, "count");
    uintptr_t address = (uintptr_t)(thread + 1) << 32;
    uint64_t at = now_ns();
    while (at < until_ns) {
        tidemark_alloc(heap, (void *)address, 512);
        at = count_one(thread, at);
        tidemark_free(heap, (void *)address);
        at = count_one(thread, at);
        address += 512;
    }
    return NULL;
}

static void end_now(int number)
{
    (void)number;
    until_ns = 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX];
    if (argc != 5)
        return 99;
    int count = atoi(argv[2]);
    int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, PAGE) != 0 || count < 1 || count > THREADS_MAX)
        return 99;
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return 99;
    until_ns = now_ns() + (uint64_t)atol(argv[3]) * 1000000u;
    signal(SIGUSR1, end_now);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) != 0)
            return 99;
    atomic_store(&page->pid, (uint64_t)getpid());
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return atoi(argv[4]);
}
