/* cupti_buffers.c - see cupti_buffers.h. */
#include "cupti_buffers.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "cupti_life.h"
#include "cupti_api.h"
#include "cupti_late.h"
#include "cupti_records.h"
#include "guest.h"
#include "pyframes_lock.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define SPARE 64 /* buffers that wait to be used again; more are given back */
#define FLUSH_NS (100 * NS_PER_MS)

static const int work_kinds[] = {ABI_CONCURRENT_KERNEL, ABI_MEMCPY, ABI_MEMCPY_PEER, ABI_MEMSET,
                                 ABI_GRAPH_TRACE};
static const int memory_kinds[] = {ABI_MEMORY2};

static enum activity_what on;
static uint8_t *spare[SPARE];
static uint32_t spare_count;
static _Atomic uint32_t spare_lock;
static _Atomic uint32_t buffers; /* that exist */
static _Atomic uint64_t dropped, unread;
static _Atomic uint64_t next_flush_ns;
static _Atomic uint32_t flushing;

/* ---- buffers ---- */

static uint8_t *take_spare(void)
{
    uint8_t *buffer = NULL;
    if (pyframes_lock_take(&spare_lock) == PYFRAMES_NOT_HELD)
        return NULL;
    if (spare_count)
        buffer = spare[--spare_count];
    pyframes_lock_give(&spare_lock);
    return buffer;
}

static bool put_spare(uint8_t *buffer)
{
    bool kept = false;
    if (pyframes_lock_take(&spare_lock) == PYFRAMES_NOT_HELD)
        return false;
    if (spare_count < SPARE) {
        spare[spare_count++] = buffer;
        kept = true;
    }
    pyframes_lock_give(&spare_lock);
    return kept;
}

void activity_request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
    int saved = errno;
    *buffer = take_spare();
    *bytes = 0;
    *max_records = 0;
    if (!*buffer) {
        void *memory = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        *buffer = memory == MAP_FAILED ? NULL : memory;
        atomic_fetch_add(&buffers, *buffer != NULL);
    }
    if (*buffer)
        *bytes = BUFFER_BYTES;
    errno = saved;
}

static void walk(uint8_t *buffer, size_t valid)
{
    struct abi_record *record = NULL;
    int result;
    while ((result = cupti_api.next_record(buffer, valid, &record)) == ABI_OK && record)
        records_take(record);
    /* What cannot be stepped over ends the buffer. */
    if (result != ABI_LIMIT)
        atomic_fetch_add(&unread, 1);
}

void activity_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    int saved = errno;
    (void)context;
    (void)stream;
    if (!buffer)
        return;
    if (valid && valid <= bytes && cupti_is_here() && guest_live())
        walk(buffer, valid);
    memset(buffer, 0, BUFFER_BYTES);
    if (!put_spare(buffer)) {
        munmap(buffer, BUFFER_BYTES);
        atomic_fetch_sub(&buffers, 1);
    }
    errno = saved;
}

uint32_t activity_buffers(void)
{
    return atomic_load(&buffers);
}

/* ---- on and off ---- */

static void set_attribute(int attribute)
{
    uint8_t yes = 1;
    size_t bytes = sizeof yes;
    if (cupti_api.set_attribute)
        cupti_api.set_attribute(attribute, &bytes, &yes);
}

static const int *kinds_of(enum activity_what what, size_t *count)
{
    *count = what == ACTIVITY_WORK ? sizeof work_kinds / sizeof *work_kinds
                                   : sizeof memory_kinds / sizeof *memory_kinds;
    return what == ACTIVITY_WORK ? work_kinds : memory_kinds;
}

/* Kinds that a library or a device does not have are left out; the first one is needed. */
bool activity_begin(enum activity_what what)
{
    size_t count;
    const int *kinds = kinds_of(what, &count);
    if (!cupti_api.register_buffers || !cupti_api.activity_enable || !cupti_api.activity_disable ||
        !cupti_api.activity_flush || !cupti_api.next_record)
        return false;
    if (what == ACTIVITY_WORK)
        set_attribute(ABI_ATTR_HOST_PINNED);
    set_attribute(ABI_ATTR_ZEROED_BUFFERS);
    records_clock();
    if (cupti_api.register_buffers(activity_request, activity_complete) != ABI_OK ||
        cupti_api.activity_enable(kinds[0]) != ABI_OK)
        return false;
    for (size_t i = 1; i < count; i++)
        cupti_api.activity_enable(kinds[i]);
    on = what;
    return true;
}

void activity_end(void)
{
    size_t count;
    const int *kinds = kinds_of(on, &count);
    if (on == ACTIVITY_NOTHING)
        return;
    for (size_t i = 0; i < count; i++)
        cupti_api.activity_disable(kinds[i]);
    activity_flush(true, true);
    on = ACTIVITY_NOTHING;
}

void activity_flush(bool now, bool forced)
{
    uint64_t at = clock_now_ns();
    size_t lost = 0;
    if (on == ACTIVITY_NOTHING || (!now && at < atomic_load(&next_flush_ns)) ||
        atomic_exchange(&flushing, 1))
        return;
    atomic_store(&next_flush_ns, at + FLUSH_NS);
    records_clock();
    cupti_api.activity_flush(forced ? ABI_FLUSH_FORCED : 0);
    if (cupti_api.dropped && cupti_api.dropped(NULL, 0, &lost) == ABI_OK)
        atomic_fetch_add(&dropped, lost);
    if (on == ACTIVITY_MEMORY)
        late_send();
    atomic_store(&flushing, 0);
}

struct activity_lost activity_lost(void)
{
    return (struct activity_lost){
        .dropped = atomic_load(&dropped),
        .unread = atomic_load(&unread),
        .timeless = records_timeless(),
    };
}
