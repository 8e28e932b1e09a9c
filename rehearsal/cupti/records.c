/*
 * records.c - see records.h.
 *
 * The lock is held while a record is written, never while a function of the program's is called.
 */
#include "records.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "entry.h"
#include "told.h"

static struct {
    pthread_mutex_t lock;
    told_request request;
    told_complete complete;
    uint8_t *buffer; /* that is being filled; NULL: none */
    size_t bytes, used;
} open = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic bool on;
static _Atomic uint64_t dropped;
static _Atomic(uint64_t (*)(void)) clock_of_program; /* NULL: CUPTI's own */

bool records_are_on(void)
{
    return atomic_load_explicit(&on, memory_order_relaxed);
}

API(int, cuptiGetTimestamp, uint64_t *ns)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return TOLD_FINE;
}

static uint64_t time_now(void)
{
    uint64_t (*function)(void) = atomic_load(&clock_of_program);
    uint64_t ns;
    if (function)
        return function();
    cuptiGetTimestamp(&ns);
    return ns;
}

/* ---- buffers ---- */

struct full {
    told_complete complete;
    uint8_t *buffer;
    size_t bytes, used;
};

/* Under the lock. */
static struct full detach(void)
{
    struct full full = {open.complete, open.buffer, open.bytes, open.used};
    open.buffer = NULL;
    open.bytes = open.used = 0;
    return full;
}

static void give_back(const struct full *full)
{
    if (full->buffer && full->complete)
        full->complete(NULL, 0, full->buffer, full->bytes, full->used);
}

/* Another thread may have come first: then this buffer goes back as it is. */
static void open_buffer(void)
{
    struct full spare = {0};
    size_t most = 0;
    pthread_mutex_lock(&open.lock);
    told_request request = open.request;
    spare.complete = open.complete;
    pthread_mutex_unlock(&open.lock);
    if (request)
        request(&spare.buffer, &spare.bytes, &most);
    pthread_mutex_lock(&open.lock);
    if (!open.buffer && open.request == request && spare.bytes >= sizeof(struct told_memory)) {
        open.buffer = spare.buffer;
        open.bytes = spare.bytes;
        open.used = 0;
        spare.buffer = NULL;
    }
    pthread_mutex_unlock(&open.lock);
    give_back(&spare);
}

/* False: there is no buffer with room; a full one is given back. */
static bool put(const struct told_memory *memory)
{
    struct full full = {0};
    bool fits = false;
    pthread_mutex_lock(&open.lock);
    if (open.buffer && open.used + sizeof *memory > open.bytes)
        full = detach();
    if (open.buffer) {
        memcpy(open.buffer + open.used, memory, sizeof *memory);
        open.used += sizeof *memory;
        fits = true;
    }
    pthread_mutex_unlock(&open.lock);
    give_back(&full);
    return fits;
}

void records_add(const struct memory_record *record)
{
    if (!records_are_on())
        return;
    struct told_memory memory = {.kind = TOLD_MEMORY2,
                                 .operation = record->operation,
                                 .memory_kind = record->kind,
                                 .correlation = told_outermost(),
                                 .address = record->address,
                                 .bytes = record->bytes,
                                 .time = time_now(),
                                 .process = (uint32_t)getpid(),
                                 .device = (uint32_t)record->device,
                                 .context = (uint32_t)record->device + 1,
                                 .stream = record->is_async ? record->stream : TOLD_NO_STREAM,
                                 .is_async = record->is_async,
                                 .pool_type = record->is_async ? TOLD_POOL_LOCAL : 0};
    if (put(&memory))
        return;
    open_buffer();
    if (!put(&memory))
        atomic_fetch_add(&dropped, 1);
}

/* ---- what a program asks for ---- */

API(int, cuptiActivityRegisterCallbacks, told_request request, told_complete complete)
{
    if (!request || !complete)
        return TOLD_WRONG;
    pthread_mutex_lock(&open.lock);
    open.request = request;
    open.complete = complete;
    pthread_mutex_unlock(&open.lock);
    return TOLD_FINE;
}

API(int, cuptiActivityEnable, uint32_t kind)
{
    if (kind != TOLD_MEMORY2)
        return TOLD_NOT_SUPPORTED;
    atomic_store(&on, true);
    return TOLD_FINE;
}

API(int, cuptiActivityDisable, uint32_t kind)
{
    if (kind == TOLD_MEMORY2)
        atomic_store(&on, false);
    return TOLD_FINE;
}

API(int, cuptiActivityFlushAll, uint32_t flags)
{
    (void)flags;
    pthread_mutex_lock(&open.lock);
    struct full full = detach();
    pthread_mutex_unlock(&open.lock);
    give_back(&full);
    return TOLD_FINE;
}

API(int, cuptiActivityGetNextRecord, uint8_t *buffer, size_t valid, void **record)
{
    uint32_t kind;
    if (!buffer || !record)
        return TOLD_WRONG;
    uint8_t *at = *record ? (uint8_t *)*record + sizeof(struct told_memory) : buffer;
    if (at >= buffer + valid)
        return TOLD_LIMIT;
    memcpy(&kind, at, sizeof kind);
    if (kind != TOLD_MEMORY2 || at + sizeof(struct told_memory) > buffer + valid)
        return TOLD_INVALID_KIND;
    *record = at;
    return TOLD_FINE;
}

API(int, cuptiActivityGetNumDroppedRecords, const void *context, uint32_t stream, size_t *count)
{
    (void)context, (void)stream;
    if (!count)
        return TOLD_WRONG;
    *count = atomic_exchange(&dropped, 0);
    return TOLD_FINE;
}

API(int, cuptiActivityRegisterTimestampCallback, uint64_t (*function)(void))
{
    atomic_store(&clock_of_program, function);
    return TOLD_FINE;
}

/* A tool that is done with CUPTI says so by it; others go on listening. */
API(int, cuptiFinalize, void)
{
    atomic_store(&on, false);
    atomic_store(&clock_of_program, NULL);
    return cuptiActivityFlushAll(1);
}
