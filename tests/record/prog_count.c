/*
 * prog_count.c - threads that allocate and free, and count in a file each event that was published.
 *
 *     prog_count FILE THREADS MS EXIT_STATUS
 *
 * FILE, one page: a counter for each thread, 64 bytes apart; at 4080 the longest time in ns that
 * one call took, at 4088 the pid (stored last, when all is ready). Runs MS milliseconds.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
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
    char pad[48];
    _Atomic uint64_t longest_ns;
    _Atomic uint64_t pid;
};
_Static_assert(sizeof(struct page) == PAGE, "as the shell reads it");

static struct page *page;
static uint64_t until_ns;

static uint64_t now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static uint64_t count_one(int thread, uint64_t before)
{
    atomic_fetch_add(&page->threads[thread].events, 1);
    uint64_t after = now_ns();
    uint64_t longest = atomic_load(&page->longest_ns);
    while (after - before > longest &&
           !atomic_compare_exchange_weak(&page->longest_ns, &longest, after - before))
        continue;
    return after;
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
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) != 0)
            return 99;
    atomic_store(&page->pid, (uint64_t)getpid());
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return atoi(argv[4]);
}
