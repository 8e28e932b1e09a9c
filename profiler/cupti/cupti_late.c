/* cupti_late.c - see cupti_late.h. */
#include "cupti_late.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "cupti_device.h"
#include "cupti_live.h"
#include "event.h"
#include "intern.h"
#include "fork_lock.h"
#include "pages.h"
#include "pqueue.h"

#define KEPT ((size_t)32768)

struct late {
    uint64_t time, address, bytes;
    uint32_t operation, memory_kind, correlation, device, stream, is_async;
};

/* One half is filled, under the lock; the other belongs to whoever flushes. */
static struct late *filling; /* NULL: not started */
static size_t filled;
static struct late *kept;
static size_t count;
static _Atomic uint32_t lock;
static _Atomic uint64_t lost;

bool late_start(void)
{
    if (filling)
        return true;
    if (!(filling = pages_new(2 * KEPT * sizeof *kept)))
        return false;
    kept = filling + KEPT;
    return true;
}

void late_take(const struct abi_record *record)
{
    struct abi_memory memory;
    memcpy(&memory, record, sizeof memory);
    if (!filling || fork_lock_take(&lock) == FORK_LOCK_NOT_HELD) {
        atomic_fetch_add(&lost, 1);
        return;
    }
    if (filled < KEPT)
        filling[filled++] = (struct late){
            .time = memory.time,
            .address = memory.address,
            .bytes = memory.bytes,
            .operation = memory.operation,
            .memory_kind = memory.memory_kind,
            .correlation = memory.correlation,
            .device = memory.device,
            .stream = memory.stream,
            .is_async = memory.is_async,
        };
    else
        atomic_fetch_add(&lost, 1);
    fork_lock_give(&lock);
}

uint64_t late_lost(void)
{
    return atomic_load(&lost);
}

/* ---- order: a heap sort, for libc's may ask for memory ---- */

/* The latest first, so that it goes to the end. */
static bool is_later(const struct late *a, const struct late *b)
{
    return a->time > b->time;
}

static void put_in_order(void)
{
    for (size_t i = count / 2; i-- > 0;)
        PQUEUE_SINK(kept, i, count, is_later);
    for (size_t end = count; end > 1;) {
        struct late last = kept[--end];
        kept[end] = kept[0];
        kept[0] = last;
        PQUEUE_SINK(kept, 0, end, is_later);
    }
}

/* ---- events ---- */

static bool same_call(const struct late *a, const struct late *b)
{
    return a->correlation == b->correlation && a->address == b->address &&
           a->operation == b->operation && a->device == b->device;
}

/* The contexts' records of one call follow each other by microseconds. */
static bool is_repeated(size_t at)
{
    enum { NEAR = 64 };
    for (size_t i = at > NEAR ? at - NEAR : 0; i < at; i++)
        if (same_call(&kept[i], &kept[at]))
            return true;
    return false;
}

static uint8_t memory_of(const struct late *late)
{
    if (late->is_async)
        return DRIVER_ASYNC;
    switch (late->memory_kind) {
    case ABI_MEMORY_PINNED:
        return DRIVER_HOST;
    case ABI_MEMORY_ARRAY:
        return DRIVER_ARRAY;
    case ABI_MEMORY_MANAGED:
        return DRIVER_MANAGED;
    default:
        return DRIVER_DEVICE;
    }
}

static void tell(const struct late *late, uint32_t name)
{
    uint8_t memory = memory_of(late);
    enum live_space space = memory == DRIVER_ARRAY ? SPACE_ARRAY : SPACE_ADDRESS;
    uint32_t heap = memory == DRIVER_HOST ? 0 : device_heap((int32_t)late->device);
    if (live_was_told(space, late->address))
        return;
    if (late->operation == ABI_MEMORY_ALLOCATION) {
        live_given(&(struct live_entry){.key = late->address,
                                        .bytes = late->bytes,
                                        .of = late->is_async ? late->stream : 0,
                                        .heap = heap,
                                        .name = name,
                                        .space = (uint8_t)space,
                                        .memory = memory});
        return;
    }
    struct live_call who = {.number = live_number(), .name = name, .heap = heap};
    bool known = live_leave(space, late->address, &who, memory);
    live_left(space, late->address, &who, known, false, memory);
}

void late_send(void)
{
    if (!filling || fork_lock_take(&lock) == FORK_LOCK_NOT_HELD)
        return;
    struct late *full = filling;
    filling = kept;
    kept = full;
    count = filled;
    filled = 0;
    fork_lock_give(&lock);
    uint32_t name = intern_string("memory record");
    live_late(true);
    put_in_order();
    for (size_t i = 0; i < count; i++)
        if (kept[i].address && !is_repeated(i))
            tell(&kept[i], name);
    live_late(false);
}
