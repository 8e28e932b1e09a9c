/*
 * cupti_sample.c - see cupti_sample.h.
 *
 * One thread samples at a time: `busy`. A context is made current only while it stands in the
 * table; who takes it out then waits for `busy`. Both sides write before they read, so one of them
 * sees the other. The wait is bounded, for the driver may have the sampler wait for the very call
 * that destroys the context; it then answers that the context is gone.
 */
#include "cupti_sample.h"

#include <sched.h>
#include <stddef.h>

#include "clock.h"
#include "cupti_api.h"
#include "cupti_device.h"
#include "cupti_live.h"
#include "guest.h"
#include "intern.h"
#include "occasion.h"

#define LEAST_NS NS_PER_MS
#define MOST_NS NS_PER_S
#define BLOCKS_NS (100 * NS_PER_MS) /* blocks alone are an occasion so often */
#define SHARE 100                   /* of the time that one sample took, until the next */
#define CONTEXTS 64
#define DEVICES 64               /* that are told apart */
#define GOES_NS (20 * NS_PER_MS) /* waited for a sample of what goes */

_Atomic bool sample_waited_for;
static _Atomic uint64_t next_ns; /* none before, at whatever occasion */
static _Atomic uint32_t busy;    /* 1: a thread samples */

static void lower(_Atomic uint64_t *word, uint64_t value)
{
    uint64_t was = atomic_load(word);
    while (was > value && !atomic_compare_exchange_weak(word, &was, value))
        ;
}

void sample_soon(void)
{
    atomic_store_explicit(&sample_waited_for, true, memory_order_relaxed);
    lower(&occasion_due_ns, atomic_load(&next_ns));
}

static void emit(const char *what, uint32_t heap, uint64_t value)
{
    struct event event = {.kind = EVENT_SAMPLE,
                          .heap = heap & EVENT_MAX_HEAP,
                          .name = intern_string(what),
                          .a = value};
    guest_emit(&event);
}

/* ---- which contexts there are ---- */

/* A place is taken by storing the context last, and released by storing NULL. */
static struct {
    _Atomic(const void *) context;
    _Atomic int32_t device;
} seen[CONTEXTS];
static _Atomic uint32_t table_busy; /* who adds */
static _Atomic bool hear;           /* callbacks tell when a context goes */

static bool is_seen(const void *context)
{
    for (int i = 0; i < CONTEXTS; i++)
        if (atomic_load(&seen[i].context) == context)
            return true;
    return false;
}

void sample_context_seen(const void *context, int32_t device)
{
    int place = 0;
    if (!context || device < 0 || !atomic_load(&hear) || is_seen(context) ||
        atomic_exchange(&table_busy, 1))
        return;
    while (place < CONTEXTS && atomic_load(&seen[place].context))
        place++;
    if (place < CONTEXTS && !is_seen(context)) {
        atomic_store(&seen[place].device, device);
        atomic_store(&seen[place].context, context);
    }
    atomic_store(&table_busy, 0);
}

void sample_context_goes(const void *context)
{
    bool any = false;
    for (int i = 0; i < CONTEXTS; i++) {
        const void *here = atomic_load(&seen[i].context);
        if (!here || (context && here != context))
            continue;
        atomic_store(&seen[i].context, NULL);
        any = true;
    }
    uint64_t until = any && atomic_load(&busy) ? clock_now_ns() + GOES_NS : 0;
    while (until && atomic_load(&busy) && clock_now_ns() < until)
        sched_yield();
}

void sample_contexts_heard(bool heard)
{
    atomic_store(&hear, heard);
    if (!heard)
        sample_context_goes(NULL);
}

/* ---- pools and graphs ---- */

/* Devices of which something was told: told again until it is nothing. */
static _Atomic uint64_t told_pools, told_graphs;

static bool is_worth(_Atomic uint64_t *told, int32_t device, bool something)
{
    uint64_t bit = (uint64_t)1 << ((uint32_t)device % DEVICES);
    uint64_t before = something ? atomic_fetch_or(told, bit) : atomic_fetch_and(told, ~bit);
    return something || (before & bit);
}

struct sum {
    uint64_t reserved, used;
};

static void add_pool(struct sum *sum, uint64_t pool)
{
    uint64_t reserved = 0, used = 0;
    if (driver_api.pool_attribute(pool, ABI_POOL_RESERVED, &reserved) == 0)
        sum->reserved += reserved;
    if (driver_api.pool_attribute(pool, ABI_POOL_USED, &used) == 0)
        sum->used += used;
}

/* The device's default pool, and those that the program made. A device whose pools were never used
 * has none to tell of; once told, they are told until they are empty again. */
static void sample_pools(int32_t device, uint32_t heap)
{
    struct sum sum = {0};
    uint64_t pool = 0, standard = 0;
    uint32_t heap_of_pool = 0;
    if (!driver_api.pool_attribute)
        return;
    if (driver_api.default_pool && driver_api.default_pool(&standard, device) == 0)
        add_pool(&sum, standard);
    while (live_pool_next(pool, &pool, &heap_of_pool)) {
        if (pool != standard && heap_of_pool == heap)
            add_pool(&sum, pool);
        live_pool_done();
    }
    if (!is_worth(&told_pools, device, sum.reserved != 0))
        return;
    emit("pool reserved", heap, sum.reserved);
    emit("pool used", heap, sum.used);
}

static void sample_graphs(int32_t device, uint32_t heap)
{
    uint64_t reserved = 0, used = 0;
    if (!driver_api.graph_attribute ||
        driver_api.graph_attribute(device, ABI_GRAPH_RESERVED, &reserved) != 0 ||
        driver_api.graph_attribute(device, ABI_GRAPH_USED, &used) != 0 ||
        !is_worth(&told_graphs, device, reserved != 0))
        return;
    emit("graph reserved", heap, reserved);
    emit("graph used", heap, used);
}

/* ---- devices ---- */

/* The device of the current context. */
static bool sample_device(int32_t device)
{
    size_t free_bytes = 0, total = 0;
    if (driver_api.get_info(&free_bytes, &total) != 0)
        return false;
    uint32_t heap = device_heap(device);
    emit("device used", heap, total - free_bytes);
    emit("device total", heap, total);
    sample_pools(device, heap);
    sample_graphs(device, heap);
    return true;
}

static bool sample_current(uint64_t *done)
{
    const void *context = NULL;
    int device = DEVICE_UNKNOWN;
    if (driver_api.context(&context) != 0 || !context || driver_api.device(&device) != 0 ||
        !sample_device(device))
        return false;
    *done |= (uint64_t)1 << ((uint32_t)device % DEVICES);
    sample_context_seen(context, device);
    return true;
}

/* Where an occasion is. At a block the allocator's lock is held: to make another context current
 * may have to wait there for a call of the driver's whose thread waits for that lock. */
enum sample_place { SAMPLE_PLACE_POINT, SAMPLE_PLACE_BLOCK };

/* By one context of each. */
static bool sample_others(uint64_t *done)
{
    bool any = false;
    if (!driver_api.push || !driver_api.pop || !atomic_load(&hear))
        return false;
    for (int i = 0; i < CONTEXTS; i++) {
        const void *context = atomic_load(&seen[i].context), *popped = NULL;
        int32_t device = atomic_load(&seen[i].device);
        uint64_t bit = (uint64_t)1 << ((uint32_t)device % DEVICES);
        if (!context || *done & bit || driver_api.push(context) != 0)
            continue;
        bool got = sample_device(device);
        driver_api.pop(&popped);
        *done |= got ? bit : 0;
        any = any || got;
    }
    return any;
}

static bool sample_devices(enum sample_place place)
{
    uint64_t done = 0;
    if (!driver_api.get_info || !driver_api.context || !driver_api.device)
        return false;
    bool current = sample_current(&done);
    return (place == SAMPLE_PLACE_POINT && sample_others(&done)) || current;
}

static void take(enum sample_place place, bool now)
{
    uint64_t begin = clock_now_ns();
    int mode = ABI_CAPTURE_RELAXED;
    if ((!now && begin < atomic_load_explicit(&next_ns, memory_order_relaxed)) ||
        atomic_exchange(&busy, 1))
        return;
    /* A stream that is being captured forbids some calls; they do no harm to it. */
    bool exchanged = driver_api.capture_mode && driver_api.capture_mode(&mode) == 0;
    bool taken = sample_devices(place);
    if (exchanged)
        driver_api.capture_mode(&mode);
    uint64_t took = clock_now_ns() - begin;
    uint64_t wait = took > MOST_NS / SHARE ? MOST_NS : took * SHARE;
    wait = wait > LEAST_NS ? wait : LEAST_NS;
    atomic_store(&next_ns, begin + wait);
    if (taken)
        atomic_store_explicit(&sample_waited_for, false, memory_order_relaxed);
    bool waited_for = atomic_load(&sample_waited_for);
    atomic_store(&occasion_due_ns, begin + (waited_for || wait > BLOCKS_NS ? wait : BLOCKS_NS));
    atomic_store(&busy, 0);
}

void sample_take(bool now)
{
    take(SAMPLE_PLACE_POINT, now);
}

void sample_take_at_block(void)
{
    take(SAMPLE_PLACE_BLOCK, false);
}
