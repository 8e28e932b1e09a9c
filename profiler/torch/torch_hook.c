/*
 * torch_hook.c - the reporters of c10. See torch_hook.h.
 *
 * CPU reports carry libc10's own count of what it reported, which is not kept while nobody
 * profiles, and no reserved memory: the recorder sums. CUDA reports carry the totals of the device
 * after the event.
 *
 * On the CPU libc10 asks memoryProfilingEnabled before it reports. We say yes while we record; so a
 * report is handed on only if the original says that somebody else profiles, too. Other devices
 * report always, and are handed on always.
 */
#include "torch_hook.h"

#include <errno.h>
#include <stdlib.h>

#include "guest.h"
#include "hello.h"
#include "here.h"
#include "intern.h"
#include "notes.h"
#include "occasion.h"
#include "pyframes.h"
#include "stand_in.h"
#include "torch_census.h"
#include "torch_cpu.h"
#include "torch_hook_inner.h"
#include "torch_late.h"

#define EXPORT __attribute__((visibility("default")))
#define MANGLED(name) __asm__(name) EXPORT
#define USAGE_UNSIGNED "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define USAGE_SIGNED "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"
#define OOM_UNSIGNED "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"
#define OOM_SIGNED "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE"
#define ENABLED "_ZN3c1022memoryProfilingEnabledEv"
#define DELETE "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv"

void report_unsigned(void *ptr, int64_t size, uint64_t allocated, uint64_t reserved,
                     struct c10_device device) MANGLED(USAGE_UNSIGNED);
void report_signed(void *ptr, int64_t size, int64_t allocated, int64_t reserved,
                   struct c10_device device) MANGLED(USAGE_SIGNED);
void report_old(void *ptr, int64_t size, struct c10_device device)
    MANGLED("_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE");
void oom_unsigned(int64_t size, uint64_t allocated, uint64_t reserved, struct c10_device device)
    MANGLED(OOM_UNSIGNED);
void oom_signed(int64_t size, int64_t allocated, int64_t reserved, struct c10_device device)
    MANGLED(OOM_SIGNED);
bool profiling_enabled(void) MANGLED(ENABLED);

/* The heap of the last event of this thread, of one ring. Blocks of a device and a stream nearly
 * always follow each other; intern() is the second level. */
struct heap_cache {
    uint32_t generation; /* 0: empty */
    uint32_t heap;
    int32_t kind;
    int32_t index;
    uint64_t stream;
};
static __thread struct heap_cache heap_of_alloc, heap_of_free;

/* What else is to be tried at the first reports. */
static bool (*also)(void);

void torch_hook_at_first_reports(bool (*attempt)(void))
{
    also = attempt;
}

/* ---- heaps ---- */

static int32_t kind_of(struct c10_device device)
{
    if (device.type == C10_CPU)
        return DEVICE_CPU;
    if (device.type == C10_XPU)
        return DEVICE_XPU;
    return device.type == C10_CUDA ? DEVICE_CUDA : DEVICE_OTHER;
}

uint32_t torch_hook_heap(const struct arena_heap *heap)
{
    if (heap->device_kind == DEVICE_CPU)
        notes_live("torch-cpu");
    else if (heap->device_kind == DEVICE_CUDA)
        notes_live("torch-cuda");
    notes_send();
    return intern(ARENA_HEAP, heap, sizeof *heap) & EVENT_MAX_HEAP;
}

/* The slow side of heap_of: a new heap, or the first event of a thread or of a forked child. */
static uint32_t find_heap(struct heap_cache *cache, const struct arena_heap *heap,
                          uint32_t generation)
{
    *cache = (struct heap_cache){
        .generation = generation,
        .heap = torch_hook_heap(heap),
        .kind = heap->device_kind,
        .index = heap->device_index,
        .stream = heap->stream,
    };
    return cache->heap;
}

static uint32_t heap_of(struct heap_cache *cache, struct c10_device device, uint64_t stream)
{
    uint32_t generation = atomic_load_explicit(&guest.generation, memory_order_relaxed);
    int32_t kind = kind_of(device);
    int32_t index = device.type == C10_CPU ? 0 : device.index;
    if (__builtin_expect(cache->generation == generation && cache->kind == kind &&
                             cache->index == index && cache->stream == stream && cache->heap,
                         1))
        return cache->heap;
    struct arena_heap heap = {.device_kind = kind, .device_index = index, .stream = stream};
    return find_heap(cache, &heap, generation);
}

static uint64_t stream_of(struct c10_device device)
{
    uintptr_t ask = device.type == C10_CUDA ? torch_hook_original(TORCH_STREAM) : 0;
    return ask ? (uint64_t)((torch_stream_fn)ask)(device.index).id : 0;
}

/* ---- events ---- */

/* A report, as far as its variant tells. */
struct report {
    void *ptr;
    int64_t size; /* > 0 handed out, < 0 given back */
    uint64_t allocated, reserved;
    bool has_totals;
    struct c10_device device;
};

static void emit_alloc(const struct report *report, uint32_t flags, uint32_t recording)
{
    uint32_t module, site = torch_hook_site(&module);
    struct event event = {
        .word = recording,
        .kind = EVENT_BLOCK_ALLOC,
        .flags = flags & 0xff,
        .heap = heap_of(&heap_of_alloc, report->device, stream_of(report->device)) & EVENT_MAX_HEAP,
        .site = site,
        .name = module,
        .addr = (uint64_t)(uintptr_t)report->ptr,
        .size = (uint64_t)report->size,
        .a = report->allocated,
        .b = report->reserved,
    };
    if (event.heap)
        guest_emit(&event);
    if (report->device.type == C10_CUDA)
        occasion_block(event.time_ns);
}

/* The thread that frees may be on another stream than the block: its heap is found by address. */
static void emit_free(const struct report *report, uint32_t flags, uint32_t recording)
{
    struct event event = {
        .word = recording,
        .kind = EVENT_BLOCK_FREE,
        .flags = flags & 0xff,
        .heap = heap_of(&heap_of_free, report->device, 0) & EVENT_MAX_HEAP,
        .addr = (uint64_t)(uintptr_t)report->ptr,
        .size = -(uint64_t)report->size,
        .a = report->allocated,
        .b = report->reserved,
    };
    if (event.heap)
        guest_emit(&event);
    if (report->device.type == C10_CUDA)
        occasion_block(event.time_ns);
}

/* What lives has to be known before somebody records. The recording that is to have the event. */
static __attribute__((noinline)) uint32_t note_in_census(const struct report *report)
{
    const struct arena_heap heap = {
        .device_kind = kind_of(report->device),
        .device_index = report->device.type == C10_CPU ? 0 : report->device.index,
        .stream = report->size > 0 ? stream_of(report->device) : 0,
    };
    return census_note((uint64_t)(uintptr_t)report->ptr, report->size, &heap);
}

static void take(struct report report)
{
    bool totals = report.has_totals && report.device.type != C10_CPU;
    if (report.size == 0 || (torch_cpu_inside && report.device.type == C10_CPU))
        return;
    bool live = torch_hook_is_recording();
    uint32_t only = 0;
    if (__builtin_expect(census_is_kept(), 0))
        live = (only = note_in_census(&report)) != 0;
    if (!live)
        return;
    if (!totals)
        report.allocated = report.reserved = 0;
    if (__builtin_expect(torch_watch_is_on(), 0))
        torch_watch_take((uint64_t)(uintptr_t)report.ptr, report.size);
    if (report.size > 0 && report.device.type == C10_CUDA)
        stand_in_fresh((uint64_t)(uintptr_t)report.ptr, (uint64_t)report.size);
    if (report.size > 0)
        emit_alloc(&report, totals ? EVENT_F_TOTALS : 0, only);
    else
        emit_free(&report, totals ? EVENT_F_TOTALS : 0, only);
}

static void take_oom(const struct report *report)
{
    uint32_t module;
    bool totals = report->device.type != C10_CPU;
    if (!torch_hook_is_recording())
        return;
    struct event event = {
        .kind = EVENT_OOM,
        .flags = totals ? EVENT_F_TOTALS : 0,
        .heap = heap_of(&heap_of_alloc, report->device, stream_of(report->device)) & EVENT_MAX_HEAP,
        .site = torch_hook_site(&module),
        .size = (uint64_t)report->size,
        .a = totals ? report->allocated : 0,
        .b = totals ? report->reserved : 0,
    };
    if (event.heap)
        guest_emit(&event);
}

/* ---- the reporters ---- */

/* Whether a report is to be handed on to torch's own profiler. */
static bool somebody_else_profiles(struct c10_device device)
{
    uintptr_t enabled = device.type == C10_CPU ? torch_hook_original(TORCH_ENABLED) : 0;
    return device.type != C10_CPU || (enabled && ((torch_enabled_fn)enabled)());
}

static void take_usage(const struct report *report)
{
    take(*report);
    uintptr_t usage = torch_hook_original(TORCH_USAGE);
    if (usage && somebody_else_profiles(report->device))
        ((torch_usage_fn)usage)(report->ptr, report->size, (int64_t)report->allocated,
                                (int64_t)report->reserved, report->device);
}

void report_unsigned(void *ptr, int64_t size, uint64_t allocated, uint64_t reserved,
                     struct c10_device device)
{
    struct report report = {ptr, size, allocated, reserved, true, device};
    take_usage(&report);
}

void report_signed(void *ptr, int64_t size, int64_t allocated, int64_t reserved,
                   struct c10_device device)
{
    struct report report = {ptr, size, (uint64_t)allocated, (uint64_t)reserved, true, device};
    take_usage(&report);
}

void report_old(void *ptr, int64_t size, struct c10_device device)
{
    struct report report = {ptr, size, 0, 0, false, device};
    take(report);
    uintptr_t usage = torch_hook_original(TORCH_USAGE_OLD);
    if (usage && somebody_else_profiles(device))
        ((torch_usage_old_fn)usage)(ptr, size, device);
}

void oom_unsigned(int64_t size, uint64_t allocated, uint64_t reserved, struct c10_device device)
{
    struct report report = {NULL, size, allocated, reserved, true, device};
    take_oom(&report);
    uintptr_t oom = torch_hook_original(TORCH_OOM);
    if (oom && somebody_else_profiles(device))
        ((torch_oom_fn)oom)(size, (int64_t)allocated, (int64_t)reserved, device);
}

void oom_signed(int64_t size, int64_t allocated, int64_t reserved, struct c10_device device)
{
    oom_unsigned(size, (uint64_t)allocated, (uint64_t)reserved, device);
}

/* ---- whether to report ---- */

/* Where libc10 is told that somebody profiles, it keeps each block in a table, which exit()
 * destroys; threads that go on with their work then would find memory that was freed. The table is
 * made before libc10 first asks, so a function that is registered at its first question comes
 * before the table's own. */
_Atomic bool torch_hook_leaving;

static void leave(void)
{
    atomic_store(&torch_hook_leaving, true);
}

static void see_exit(void)
{
    static _Atomic bool sees;
    if (!atomic_exchange(&sees, true))
        atexit(leave);
}

/* What is left to do at the first reports: until libc10 is found, and the Python helper is there
 * or was given up. It takes the loader's lock and more, so it is tried at the first report, the
 * second, the fourth, and so on; of an armed program anew when a recording begins. */
#define ARMED_REPORTS 64u        /* where a program is in the middle of a step, it soon is not */
static _Atomic uint32_t settled; /* what settling() was; 0: not yet */
static _Atomic uint32_t reports;

static uint32_t settling(void)
{
    return guest.armed ? atomic_load_explicit(&guest.generation, memory_order_relaxed) + 1 : 1;
}

bool torch_hook_is_settled(void)
{
    return atomic_load_explicit(&settled, memory_order_relaxed) == settling();
}

static bool is_due(uint32_t number)
{
    bool again = guest.armed && number > ARMED_REPORTS && number % ARMED_REPORTS == 0;
    return again || (number & (number - 1)) == 0;
}

static void settle(bool record, bool live)
{
    uint32_t number = atomic_fetch_add_explicit(&reports, 1, memory_order_relaxed) + 1;
    uint32_t now = settling();
    if (!is_due(number))
        return;
    if (record)
        see_exit();
    torch_hook_bind();
    bool booted = !live || !also || also();
    if (live && here_stacks && pyframes_start())
        notes_live("stacks");
    if (live) {
        pyframes_note_why_not();
        notes_send();
    }
    /* A recorder that does not answer yet may do so later. */
    bool is_known = live || guest.armed || !guest.page ||
                    atomic_load_explicit(&guest.page->state, memory_order_relaxed) == GUEST_OFF;
    if (booted && is_known && torch_hook_original(TORCH_ENABLED))
        atomic_store_explicit(&settled, now, memory_order_relaxed);
}

/* Somebody has use for what libc10 reports. */
static bool is_of_use(bool live)
{
    return !atomic_load_explicit(&torch_hook_leaving, memory_order_relaxed) &&
           (live || census_is_kept());
}

void torch_hook_settle(void)
{
    bool live = torch_hook_is_recording();
    settle(is_of_use(live), live);
}

/* A recording of an armed program begins, in the thread whose event found it. */
static void woken(void)
{
    atomic_store(&reports, 0);
    census_tell();
}

bool torch_hook_keep(void)
{
    if (!census_begin())
        return false;
    guest_at_wake(woken);
    return true;
}

__attribute__((constructor)) static void keep_census(void)
{
    if (getenv(HELLO_ARMED_ENV) && guest_init(0, NULL) && guest.armed)
        torch_hook_keep();
}

/* ---- loaded late: see torch_late.h ---- */

static __thread bool quiet; /* libc10 is not to know that we record */

/* In the place of libc10's own, where we were loaded late. What libc10 did not see come it would
 * only complain about. */
static void delete_cpu(void *reporter, void *ptr)
{
    uint64_t bytes = 0;
    uintptr_t theirs = torch_hook_original(TORCH_DELETE);
    enum census_age age = census_look((uint64_t)(uintptr_t)ptr, &bytes);
    if (age == CENSUS_LIVED)
        take((struct report){.ptr = ptr, .size = -(int64_t)bytes, .device = {C10_CPU, 0}});
    quiet = age != CENSUS_NOTED;
    if (theirs)
        ((torch_delete_fn)theirs)(reporter, ptr);
    quiet = false;
}

/* libc10 keeps the size of each block for who is told that it goes: from the start, then, where
 * blocks may be recorded later. Where we need no report of its (torch_cpu.h) it hears the truth. */
bool profiling_enabled(void)
{
    uintptr_t theirs = torch_hook_original(TORCH_ENABLED);
    if (__builtin_expect(quiet || torch_cpu_inside, 0))
        return theirs && ((torch_enabled_fn)theirs)();
    bool live = torch_hook_is_recording(), record = is_of_use(live);
    if (__builtin_expect(!torch_hook_is_settled(), 0))
        settle(record, live);
    if (record)
        return true;
    return theirs && ((torch_enabled_fn)theirs)();
}

/* Our own, whatever else has these names. */
#define OWN(result, name, parameters, symbol)                                                      \
    static result name parameters __attribute__((alias(symbol), used))
OWN(void, own_unsigned, (void *, int64_t, uint64_t, uint64_t, struct c10_device), USAGE_UNSIGNED);
OWN(void, own_signed, (void *, int64_t, int64_t, int64_t, struct c10_device), USAGE_SIGNED);
OWN(void, own_oom_unsigned, (int64_t, uint64_t, uint64_t, struct c10_device), OOM_UNSIGNED);
OWN(void, own_oom_signed, (int64_t, int64_t, int64_t, struct c10_device), OOM_SIGNED);
OWN(bool, own_enabled, (void), ENABLED);

const struct torch_late torch_hook_late[TORCH_HOOK_LATE] = {
    {DELETE, (torch_late_function)delete_cpu},
    {USAGE_UNSIGNED, (torch_late_function)own_unsigned},
    {USAGE_SIGNED, (torch_late_function)own_signed},
    {OOM_UNSIGNED, (torch_late_function)own_oom_unsigned},
    {OOM_SIGNED, (torch_late_function)own_oom_signed},
    {ENABLED, (torch_late_function)own_enabled},
};
