/*
 * bench_allocator - what a malloc and a free from the cache cost, and how many events a second a
 * replay gets through, beside glibc's malloc and free on the same sequence of sizes and frees
 * (neither touches the memory).
 *
 *   pairs    10,000 blocks live; a block is taken and given back at once
 *            (the goal of 60 ns means this row)
 *   churn    10,000 blocks live; a random one of them is given back, one of another size is taken
 *            (for the record: nearly each of its blocks is far from the caches of the processor)
 *   steps    training steps: 1,500 blocks are taken, half of them die soon, the others in the
 *            opposite order at the end of the step; sizes come again in each step
 *   random   2,000 blocks live on the average, of any size up to 64 MiB, on two streams
 *
 * The first two with the lock, while another thread exists (a lock is cheaper in a process of one
 * thread), in ns for a malloc and a free; the other two without it, in millions of events a second.
 * CPU time of the thread throughout: neither player ever waits.
 * glibc takes a sixteenth of each size: it is asked for nothing that it would map, and the blocks
 * of all sequences fit into memory.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"
#include "bench.h"
#include "clock.h"
#include "virtual.h"

enum { ROUNDS = 15, LIVE = 10000, PAIRS = 200000, STEPS = 60, STEP_BLOCKS = 1500, RANDOM = 400000 };
enum { SLOTS = 20000 };

/* Takes the slot's block, or gives it back if `size` is 0. */
struct event {
    uint32_t slot;
    uint32_t stream;
    uint64_t size;
};

struct sequence {
    struct event *events; /* the first `warm` fill the heap and are not timed */
    size_t count, warm;
};

static uint64_t seed = 1;

static uint64_t below(uint64_t bound)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % bound;
}

static void add(struct sequence *to, uint64_t slot, uint64_t size, uint32_t stream)
{
    to->events[to->count++] = (struct event){(uint32_t)slot, stream, size};
}

static void sequence_new(struct sequence *sequence, size_t room)
{
    *sequence = (struct sequence){.events = calloc(room, sizeof(struct event))};
    if (!sequence->events)
        abort();
}

/* As tensors are: many of a few sizes, small ones more often. */
static uint64_t tensor_size(void)
{
    static const uint64_t common[] = {512, 1024, 2048, 4096, 16384, 65536, 262144, 786432};
    if (below(3))
        return common[below(8)];
    return 1 + below(UINT64_C(512) << below(12));
}

static void fill(struct sequence *sequence)
{
    for (uint64_t slot = 0; slot < LIVE; slot++)
        add(sequence, slot, tensor_size(), 0);
}

/* Both halves of a churn's step are events of random slots, so holes are everywhere. */
static void churn(struct sequence *sequence, size_t steps)
{
    for (size_t i = 0; i < steps; i++) {
        uint64_t slot = below(LIVE);
        add(sequence, slot, 0, 0);
        add(sequence, slot, tensor_size(), 0);
    }
}

static void make_pairs(struct sequence *sequence)
{
    sequence_new(sequence, LIVE + 6 * PAIRS);
    fill(sequence);
    churn(sequence, PAIRS);
    sequence->warm = sequence->count;
    for (size_t i = 0; i < PAIRS; i++) {
        add(sequence, LIVE, tensor_size(), 0);
        add(sequence, LIVE, 0, 0);
    }
}

static void make_churn(struct sequence *sequence)
{
    sequence_new(sequence, LIVE + 6 * PAIRS);
    fill(sequence);
    churn(sequence, PAIRS);
    sequence->warm = sequence->count;
    churn(sequence, PAIRS);
}

static void make_steps(struct sequence *sequence)
{
    static uint64_t sizes[STEP_BLOCKS];
    sequence_new(sequence, 2 * STEPS * STEP_BLOCKS);
    for (int i = 0; i < STEP_BLOCKS; i++)
        sizes[i] = below(4) ? tensor_size() : (UINT64_C(1) << 20) + below(UINT64_C(24) << 20);
    for (int step = 0; step < STEPS; step++) {
        for (uint64_t i = 0; i < STEP_BLOCKS; i++) {
            add(sequence, i, sizes[i], 0);
            if (i % 2 && i > 8)
                add(sequence, i - 6, 0, 0);
        }
        for (uint64_t i = STEP_BLOCKS; i-- > 0;) {
            if (i % 2 == 0 || i < 3 || i + 6 >= STEP_BLOCKS)
                add(sequence, i, 0, 0);
        }
        if (step == 1)
            sequence->warm = sequence->count;
    }
}

static void make_random(struct sequence *sequence)
{
    static unsigned char taken[4000];
    sequence_new(sequence, 2 * RANDOM);
    for (size_t i = 0; i < 2 * RANDOM; i++) {
        uint64_t slot = below(4000);
        uint64_t size = below(8) ? tensor_size() : 1 + below(UINT64_C(1) << (20 + below(7)));
        add(sequence, slot, taken[slot] ? 0 : size, (uint32_t)(slot % 2));
        taken[slot] ^= 1;
        if (i == RANDOM)
            sequence->warm = sequence->count;
    }
}

/* ---- players: CPU seconds for the events behind `warm` ---- */

static double play_allocator(const struct sequence *sequence, unsigned flags)
{
    static uint64_t address[SLOTS];
    struct virtual_options virtual = {.capacity = UINT64_C(1) << 50};
    struct virtual_device *device;
    struct alloc *alloc;
    uint64_t start = 0;
    if (virtual_new(&device, &virtual) != 0)
        abort();
    struct alloc_options options = {.device = virtual_seam(device), .flags = flags};
    if (alloc_new(&alloc, &options) != 0)
        abort();
    for (size_t i = 0; i < sequence->count; i++) {
        const struct event *event = &sequence->events[i];
        if (i == sequence->warm)
            start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
        int err = event->size
                      ? alloc_malloc(alloc, event->size, event->stream, &address[event->slot], NULL)
                      : alloc_give(alloc, address[event->slot]);
        if (err != 0)
            abort();
    }
    double seconds = (double)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - start) / 1e9;
    alloc_delete(alloc);
    virtual_delete(device);
    return seconds;
}

static double play_glibc(const struct sequence *sequence)
{
    static void *volatile memory[SLOTS];
    uint64_t start = 0;
    for (size_t i = 0; i < sequence->count; i++) {
        const struct event *event = &sequence->events[i];
        if (i == sequence->warm)
            start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
        if (event->size) {
            memory[event->slot] = malloc(event->size / 16 + 1);
        } else {
            free(memory[event->slot]);
            memory[event->slot] = NULL;
        }
    }
    double seconds = (double)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - start) / 1e9;
    for (size_t slot = 0; slot < SLOTS; slot++) {
        free(memory[slot]);
        memory[slot] = NULL;
    }
    return seconds;
}

static void measure(const char *what, void (*make)(struct sequence *sequence), unsigned flags,
                    const char *goal)
{
    struct sequence sequence;
    struct bench_series series = {0};
    make(&sequence);
    double events = (double)(sequence.count - sequence.warm);
    for (int round = 0; round < ROUNDS; round++) {
        double floor = play_glibc(&sequence), subject = play_allocator(&sequence, flags);
        if (flags & ALLOC_ONE_THREAD)
            bench_add(&series, events / floor / 1e6, events / subject / 1e6);
        else
            bench_add(&series, floor / events * 2e9, subject / events * 2e9);
    }
    bench_row(what, &series, flags & ALLOC_ONE_THREAD ? "M/s" : "ns", goal);
    free(sequence.events);
}

static void *wait_for_lock(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

int main(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    pthread_mutex_lock(&lock);
    if (pthread_create(&thread, NULL, wait_for_lock, &lock) != 0)
        abort();
    measure("malloc + free from the cache, 10,000 live, pairs", make_pairs, 0, "<= 60 ns");
    measure("malloc + free from the cache, 10,000 live, churn", make_churn, 0, "for the record");
    measure("replay, training steps", make_steps, ALLOC_ONE_THREAD, ">= 10 M/s");
    measure("replay, random", make_random, ALLOC_ONE_THREAD, ">= 10 M/s");
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
