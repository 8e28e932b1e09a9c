/*
 * prog_pairs THREADS PAIRS [PAUSE_FILE] - each thread reports PAIRS allocations and their frees,
 * eight alive at a time, at addresses of its own. Prints what the totals must be, and the longest
 * time that one call took:
 *
 *     allocations N bytes B longest_us T
 *
 * With PAUSE_FILE the program goes on until that file exists, and says in another one, with .done
 * at the end of its name, how many pairs the first thread has behind it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tidemark.h"

enum { LIVING = 8, MAX_THREADS = 64 };

struct worker {
    pthread_t thread;
    uint64_t number, pairs;
    uint64_t done, bytes, longest_ns;
    const char *pause_file;
    tidemark_heap_t heap;
};

static uint64_t now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static void timed_free(struct worker *self, const void *address)
{
    uint64_t start = now_ns();
    tidemark_free(self->heap, address);
    uint64_t took = now_ns() - start;
    if (took > self->longest_ns)
        self->longest_ns = took;
}

static void pair(struct worker *self)
{
    static const uint64_t sizes[4] = {512, 4096, 1 << 20, 3584};
    uint64_t i = self->done++, bytes = sizes[i % 4];
    uint64_t at = (self->number + 1) << 40 | (i % LIVING) << 24;
    if (i >= LIVING)
        timed_free(self, (const void *)(uintptr_t)at);
    tidemark_alloc(self->heap, (const void *)(uintptr_t)at, bytes);
    self->bytes += bytes;
}

static void say_done(const struct worker *self)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.done", self->pause_file);
    FILE *file = self->number == 0 ? fopen(name, "w") : NULL;
    if (file && (fprintf(file, "%llu\n", (unsigned long long)self->done) < 0 || fclose(file) != 0))
        abort();
}

static bool goes_on(const struct worker *self)
{
    if (self->pause_file && self->done % 4096 == 0)
        say_done(self);
    if (self->done < self->pairs)
        return true;
    return self->pause_file && access(self->pause_file, F_OK) != 0;
}

static void *work(void *argument)
{
    struct worker *self = argument;
    while (goes_on(self))
        for (int i = 0; i < 64 && (self->pause_file || self->done < self->pairs); i++)
            pair(self);
    uint64_t left = self->done < LIVING ? self->done : LIVING;
    for (uint64_t i = 0; i < left; i++)
        timed_free(self, (const void *)(uintptr_t)((self->number + 1) << 40 | i << 24));
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[MAX_THREADS];
    uint64_t threads = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
    if (threads == 0 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: prog_pairs THREADS PAIRS [PAUSE_FILE]\n");
        return 2;
    }
    tidemark_heap_t heap = tidemark_heap_open(TIDEMARK_DEVICE_VIRTUAL, 0, "pairs");
    tidemark_phase_begin("pairs");
    for (uint64_t i = 0; i < threads; i++) {
        workers[i] = (struct worker){.number = i, .heap = heap};
        workers[i].pairs = strtoull(argv[2], NULL, 10);
        workers[i].pause_file = argc > 3 ? argv[3] : NULL;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    }
    uint64_t done = 0, bytes = 0, longest_ns = 0;
    for (uint64_t i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        done += workers[i].done;
        bytes += workers[i].bytes;
        if (workers[i].longest_ns > longest_ns)
            longest_ns = workers[i].longest_ns;
    }
    tidemark_phase_end("pairs");
    printf("allocations %llu bytes %llu longest_us %llu\n", (unsigned long long)done,
           (unsigned long long)bytes, (unsigned long long)(longest_ns / 1000));
    return 0;
}
