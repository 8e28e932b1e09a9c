/* cupti_sample.c - see cupti_sample.h. */
#include "cupti_sample.h"

#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "cupti_api.h"
#include "cupti_device.h"
#include "cupti_live.h"
#include "guest.h"
#include "intern.h"

#define LEAST_NS NS_PER_MS
#define SHARE 100 /* of the time that one sample took, until the next */

_Atomic bool sample_waited_for;
static _Atomic uint64_t next_ns;
static _Atomic uint32_t busy; /* 1: a thread samples */

void sample_soon(void)
{
    atomic_store_explicit(&sample_waited_for, true, memory_order_relaxed);
}

static void emit(const char *what, uint32_t heap, uint64_t value)
{
    struct event event = {.kind = EVENT_SAMPLE,
                          .heap = heap & EVENT_MAX_HEAP,
                          .name = intern_string(what),
                          .a = value};
    guest_emit(&event);
}

/* ---- pools ---- */

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
    static _Atomic bool told;
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
    bool worth = sum.reserved != 0;
    if (!worth && !atomic_load(&told))
        return;
    atomic_store(&told, worth);
    emit("pool reserved", heap, sum.reserved);
    emit("pool used", heap, sum.used);
}

static void sample_graphs(int32_t device, uint32_t heap)
{
    static _Atomic bool told;
    uint64_t reserved = 0, used = 0;
    if (!driver_api.graph_attribute ||
        driver_api.graph_attribute(device, ABI_GRAPH_RESERVED, &reserved) != 0 ||
        driver_api.graph_attribute(device, ABI_GRAPH_USED, &used) != 0)
        return;
    if (!reserved && !atomic_load(&told))
        return;
    atomic_store(&told, reserved != 0);
    emit("graph reserved", heap, reserved);
    emit("graph used", heap, used);
}

/* ---- the device ---- */

static void sample_device(void)
{
    const void *context = NULL;
    int device = DEVICE_UNKNOWN;
    size_t free_bytes = 0, total = 0;
    if (!driver_api.get_info || !driver_api.context || !driver_api.device ||
        driver_api.context(&context) != 0 || !context || driver_api.device(&device) != 0 ||
        driver_api.get_info(&free_bytes, &total) != 0)
        return;
    uint32_t heap = device_heap(device);
    emit("device used", heap, total - free_bytes);
    emit("device total", heap, total);
    sample_pools(device, heap);
    sample_graphs(device, heap);
    atomic_store_explicit(&sample_waited_for, false, memory_order_relaxed);
}

void sample_take(bool now)
{
    uint64_t begin = clock_now_ns();
    int mode = ABI_CAPTURE_RELAXED;
    if ((!now && begin < atomic_load_explicit(&next_ns, memory_order_relaxed)) ||
        atomic_exchange(&busy, 1))
        return;
    /* A stream that is being captured forbids some calls; they do no harm to it. */
    bool exchanged = driver_api.capture_mode && driver_api.capture_mode(&mode) == 0;
    sample_device();
    if (exchanged)
        driver_api.capture_mode(&mode);
    uint64_t took = clock_now_ns() - begin;
    uint64_t wait = took * SHARE > LEAST_NS ? took * SHARE : LEAST_NS;
    atomic_store(&next_ns, begin + wait);
    atomic_store(&busy, 0);
}
