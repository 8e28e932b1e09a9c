/*
 * bench_hook - what one reported block costs the program, beside the floor: read the clock and
 * store 64 bytes in a buffer as large as the ring.
 *
 *   keeping up  a drain on another core empties the ring; the program reports in bursts that are
 *               shorter than the ring, as a training step does
 *   behind      the drain takes the older half only when the newer one is full: each event goes to
 *               a line that the drain had last
 *   nobody records  the inline calls of include/tidemark.h when no recorder is there
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "bench.h"
#include "clock.h"
#include "guest.h"
#include "ring.h"
#include "ticks.h"
#include "tidemark.h"

enum { BITS = RING_DEFAULT_BITS, SLOTS = 1 << BITS, HALF = SLOTS / 2, BURST = 20000 };

static const struct tidemark_api *api;
static tidemark_heap_t heap;
static struct ring_reader reader;

/* What the drain thread is asked to do: take until its tail reaches this ticket. */
static _Atomic uint64_t wanted;
static _Atomic uint64_t taken;
static _Atomic int steady; /* 1: take whatever comes, each millisecond */
static _Atomic int ended;

static void pin(unsigned cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void take_up_to(uint64_t ticket)
{
    static struct event out[4096];
    struct ring_torn torn[1];
    size_t torn_n;
    while (reader.tail < ticket) {
        uint64_t left = ticket - reader.tail;
        size_t max = left < 4096 ? (size_t)left : 4096;
        if (!ring_reader_take(&reader, out, max, clock_now_ns(), false, torn, 1, &torn_n))
            break;
    }
    ring_reader_release(&reader);
    atomic_store(&taken, reader.tail);
}

/* Looks at the clocks as the recorder does. */
static void *drain(void *unused)
{
    struct ticks ticks;
    (void)unused;
    pin(1);
    ticks_begin(&ticks);
    while (!atomic_load(&ended)) {
        if (ticks_look(&ticks, clock_now_ns()))
            ticks_tell(&ticks, &reader.ring->clock);
        take_up_to(atomic_load(&steady) ? UINT64_MAX : atomic_load(&wanted));
        usleep(1000);
    }
    return NULL;
}

static double report_burst(int count)
{
    struct tidemark_block block = {.size = sizeof block, .heap = heap, .site = 1, .bytes = 4096};
    uint64_t start = clock_now_ns();
    for (int i = 0; i < count; i++) {
        block.address = (void *)(uintptr_t)(0x7f0000000000ull + (uint64_t)i * 4096);
        api->block_alloc(&block);
    }
    return (double)(clock_now_ns() - start) / count;
}

static double floor_burst(int count)
{
    static struct event lines[SLOTS];
    static uint32_t at;
    uint64_t start = clock_now_ns();
    for (int i = 0; i < count; i++) {
        struct event event = {.time_ns = clock_now_ns(), .addr = (uint64_t)i, .size = 4096};
        volatile uint64_t *to = (volatile uint64_t *)&lines[at++ & (SLOTS - 1)];
        const uint64_t *from = (const uint64_t *)&event;
        for (int word = 0; word < 8; word++)
            to[word] = from[word];
    }
    return (double)(clock_now_ns() - start) / count;
}

static void wait_until_taken(uint64_t ticket)
{
    while (atomic_load(&taken) < ticket)
        usleep(200);
}

static uint64_t head(void)
{
    return atomic_load(&guest.ring->shared->head);
}

static void measure_keeping_up(void)
{
    struct bench_series series = {0};
    atomic_store(&steady, 1);
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        double floor = floor_burst(BURST);
        bench_add(&series, floor, report_burst(BURST));
        wait_until_taken(head());
    }
    atomic_store(&steady, 0);
    bench_row("hook, no stack, drain keeping up", &series, "ns", "<= 2.5");
}

static void measure_behind(void)
{
    struct bench_series series = {0};
    atomic_store(&wanted, head());
    wait_until_taken(head());
    report_burst(HALF);
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        double floor = floor_burst(HALF - 64);
        bench_add(&series, floor, report_burst(HALF - 64));
        atomic_store(&wanted, head() - HALF);
        wait_until_taken(head() - HALF);
    }
    bench_row("hook, no stack, drain behind", &series, "ns", "<= 2.5");
}

static void *report_in_thread(void *argument)
{
    (void)argument;
    report_burst(BURST / 2);
    return NULL;
}

/* Two threads of the program at once on one ring: wall time for each event of a thread. */
static void measure_with_threads(void)
{
    struct bench_series series = {0};
    atomic_store(&steady, 1);
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        pthread_t other;
        double floor = floor_burst(BURST / 2);
        if (pthread_create(&other, NULL, report_in_thread, NULL) != 0)
            return;
        double subject = report_burst(BURST / 2);
        pthread_join(other, NULL);
        bench_add(&series, floor, subject);
        wait_until_taken(head());
    }
    atomic_store(&steady, 0);
    bench_row("hook, two threads at once", &series, "ns", "for the record");
}

static __attribute__((noinline)) double inline_calls(int count)
{
    uint64_t start = clock_now_ns();
    for (int i = 0; i < count; i++)
        tidemark_free(1, (const void *)(uintptr_t)i);
    return (double)(clock_now_ns() - start) / count;
}

static __attribute__((noinline)) double empty_loop(int count)
{
    static volatile int state;
    uint64_t start = clock_now_ns();
    for (int i = 0; i < count; i++)
        if (state)
            abort();
    return (double)(clock_now_ns() - start) / count;
}

static void measure_nobody(void)
{
    struct bench_series series = {0};
    tidemark_recording(); /* looks once */
    for (int i = 0; i < BENCH_ROUNDS; i++)
        bench_add(&series, empty_loop(1000000), inline_calls(1000000));
    bench_row("call when nobody records, beside a load and a branch", &series, "ns",
              "for the record");
}

int main(void)
{
    struct ring_shared *ring = NULL;
    pthread_t thread;
    pin(0);
    if (ring_create(&ring, BITS, 1 << 20, RING_NO_FD) != 0)
        return 1;
    measure_nobody(); /* the header has looked before main: nobody was there */
    ring_reader_init(&reader, ring);
    guest_use_ring(ring);
    api = tidemark_attach_(TIDEMARK_API_VERSION);
    struct tidemark_heap_desc desc = {.size = sizeof desc, .name = "bench"};
    heap = api ? api->heap_open(&desc) : 0;
    if (!heap || pthread_create(&thread, NULL, drain, NULL) != 0)
        return 1;
    usleep(100000); /* the first look at the clocks takes a while */
    measure_keeping_up();
    measure_behind();
    measure_with_threads();
    atomic_store(&ended, 1);
    pthread_join(thread, NULL);
    if (atomic_load(&ring->drops_begun))
        printf("drop mode was entered: the figures above are not valid\n");
    return atomic_load(&ring->drops_begun) ? 1 : 0;
}
