/* cupti_buffers.c - see cupti_buffers.h. */
#include "cupti_buffers.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "cupti_life.h"
#include "cupti_api.h"
#include "cupti_late.h"
#include "cupti_records.h"
#include "guest.h"
#include "fork_lock.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define SPARE 64   /* buffers that wait to be used again; more are given back */
#define OWNED 1024 /* at one time; CUPTI drops records, and counts them, where it gets no more */
#define FLUSH_NS (100 * NS_PER_MS)
#define PATIENCE_NS (50 * NS_PER_MS)

static const int work_kinds[] = {ABI_CONCURRENT_KERNEL, ABI_MEMCPY, ABI_MEMCPY_PEER, ABI_MEMSET,
                                 ABI_GRAPH_TRACE};
static const int memory_kinds[] = {ABI_MEMORY2};

static _Atomic unsigned on;   /* enum activity_what */
static uint8_t *owned[OWNED]; /* the first `buffers`: all that exist */
static uint8_t *spare[SPARE]; /* of them */
static uint32_t spare_count;
static _Atomic uint32_t lock; /* of these */
static _Atomic uint32_t buffers;
static _Atomic uint32_t came_back; /* how often one did */
static _Atomic uint64_t dropped, unread, strayed;
static _Atomic uint64_t next_flush_ns;
static _Atomic uint32_t flushing;

/* ---- buffers ---- */

static bool hold(void)
{
    return fork_lock_take(&lock) != FORK_LOCK_NOT_HELD;
}

static uint8_t *take_spare(bool *room)
{
    uint8_t *buffer = NULL;
    if (!hold())
        return NULL;
    if (spare_count)
        buffer = spare[--spare_count];
    *room = atomic_load(&buffers) < OWNED;
    fork_lock_give(&lock);
    return buffer;
}

static uint8_t *make_buffer(void)
{
    bool kept = false;
    void *memory = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (hold()) {
        uint32_t count = atomic_load(&buffers);
        kept = count < OWNED;
        if (kept) {
            owned[count] = memory;
            atomic_store(&buffers, count + 1);
        }
        fork_lock_give(&lock);
    }
    if (!kept)
        munmap(memory, BUFFER_BYTES);
    return kept ? memory : NULL;
}

/* Under the lock: its place among those that exist, or their number. */
static uint32_t place_of(const uint8_t *buffer)
{
    uint32_t count = atomic_load(&buffers), i = 0;
    while (i < count && owned[i] != buffer)
        i++;
    return i;
}

static bool is_ours(const uint8_t *buffer)
{
    bool ours = false;
    if (hold()) {
        ours = place_of(buffer) < atomic_load(&buffers);
        fork_lock_give(&lock);
    }
    return ours; /* not known: never used again, and never given back */
}

/* False: it exists no more. */
static bool put_spare(uint8_t *buffer)
{
    bool keep;
    if (!hold())
        return true; /* it is lost, which is better than used by two */
    atomic_fetch_add(&came_back, 1);
    keep = spare_count < SPARE;
    if (keep) {
        spare[spare_count++] = buffer;
    } else {
        uint32_t last = atomic_load(&buffers) - 1;
        owned[place_of(buffer)] = owned[last];
        atomic_store(&buffers, last);
    }
    fork_lock_give(&lock);
    return keep;
}

void activity_request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
    int saved = errno;
    bool room = false;
    *buffer = take_spare(&room);
    *bytes = 0;
    *max_records = 0;
    if (!*buffer && room)
        *buffer = make_buffer();
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
    if (is_ours(buffer)) {
        memset(buffer, 0, BUFFER_BYTES);
        if (!put_spare(buffer))
            munmap(buffer, BUFFER_BYTES);
    }
    errno = saved;
}

uint32_t activity_buffers(void)
{
    return atomic_load(&buffers);
}

/* ---- on and off ---- */

static void set_attribute(int attribute, uint8_t value)
{
    size_t bytes = sizeof value;
    if (cupti_api.set_attribute)
        cupti_api.set_attribute(attribute, &bytes, &value);
}

static const struct kinds {
    unsigned what;
    const int *list; /* the first one is needed */
    size_t count;
} kinds[] = {
    {ACTIVITY_WORK, work_kinds, sizeof work_kinds / sizeof *work_kinds},
    {ACTIVITY_MEMORY, memory_kinds, sizeof memory_kinds / sizeof *memory_kinds},
};

/* Kinds that a library or a device does not have are left out. */
static bool enable(unsigned what)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; what & kinds[k].what && i < kinds[k].count; i++)
            if (cupti_api.activity_enable(kinds[k].list[i]) != ABI_OK && i == 0)
                return false;
    return true;
}

static void disable(unsigned what)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; what & kinds[k].what && i < kinds[k].count; i++)
            cupti_api.activity_disable(kinds[k].list[i]);
}

unsigned activity_on(void)
{
    return atomic_load(&on);
}

bool activity_begin(unsigned what)
{
    if (!cupti_api.register_buffers || !cupti_api.activity_enable || !cupti_api.activity_disable ||
        !cupti_api.activity_flush || !cupti_api.next_record)
        return false;
    if (what & ACTIVITY_WORK)
        set_attribute(ABI_ATTR_HOST_PINNED, 1);
    set_attribute(ABI_ATTR_ZEROED_BUFFERS, 1);
    records_clock();
    if (cupti_api.register_buffers(activity_request, activity_complete) == ABI_OK) {
        if (enable(what)) {
            atomic_store(&on, what);
            return true;
        }
        disable(what);
    }
    set_attribute(ABI_ATTR_ZEROED_BUFFERS, 0);
    return false;
}

/* Another thread's flush may be under way; bounded, for what it waits for is not known. */
static void flush_last(void)
{
    uint64_t deadline = clock_now_ns() + PATIENCE_NS;
    while (atomic_load(&flushing) && clock_now_ns() < deadline)
        sched_yield();
    activity_flush(true, true);
}

void activity_end(unsigned what)
{
    unsigned was = atomic_load(&on);
    what &= was;
    if (what == ACTIVITY_NOTHING)
        return;
    disable(what);
    flush_last();
    atomic_store(&on, was & ~what);
    if (was & ~what)
        return;
    set_attribute(ABI_ATTR_ZEROED_BUFFERS, 0);
    set_attribute(ABI_ATTR_HOST_PINNED, 0);
}

static uint32_t given_out(void)
{
    uint32_t count = 0;
    if (hold()) {
        count = atomic_load(&buffers) - spare_count;
        fork_lock_give(&lock);
    }
    return count;
}

/* A forced flush brings all buffers. If none comes, another tool has put its functions in the place
 * of ours without a word, and got them. */
static void flush(bool forced)
{
    uint32_t out = forced ? given_out() : 0, before = atomic_load(&came_back);
    cupti_api.activity_flush(forced ? ABI_FLUSH_FORCED : 0);
    if (out && before == atomic_load(&came_back))
        atomic_store(&strayed, out);
}

void activity_flush(bool now, bool forced)
{
    uint64_t at = clock_now_ns();
    size_t lost = 0;
    unsigned now_on = atomic_load(&on);
    if (now_on == ACTIVITY_NOTHING || (!now && at < atomic_load(&next_flush_ns)) ||
        atomic_exchange(&flushing, 1))
        return;
    atomic_store(&next_flush_ns, at + FLUSH_NS);
    records_clock();
    flush(forced);
    if (cupti_api.dropped && cupti_api.dropped(NULL, 0, &lost) == ABI_OK)
        atomic_fetch_add(&dropped, lost);
    if (now_on & ACTIVITY_MEMORY)
        late_send();
    atomic_store(&flushing, 0);
}

struct activity_lost activity_lost(void)
{
    return (struct activity_lost){
        .dropped = atomic_load(&dropped),
        .unread = atomic_load(&unread),
        .timeless = records_timeless(),
        .strayed = atomic_load(&strayed),
    };
}
