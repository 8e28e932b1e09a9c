/* torch_cpu.c - see torch_cpu.h. */
#include "torch_cpu.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "dynlink.h"
#include "symbols.h"
#include "torch_hook_inner.h"
#include "torch_slots.h"

#define EXPORT __attribute__((visibility("default")))
#define MANGLED(name) __asm__(name) EXPORT
#define NEW "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm"
#define DELETE "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv"
/* A switch of libc10's: its reporter logs each block, whether somebody profiles or not. Its name is
 * that of one of the libraries that can hold switches. */
#define LOGS "FLAGS_caffe2_report_cpu_memory_usage"
static const char *const logs_names[] = {LOGS, "_ZN3fLB36" LOGS "E", "_ZN3c1036" LOGS "E"};
enum { LOGS_NAMES = sizeof logs_names / sizeof *logs_names };

void cpu_new(void *reporter, void *ptr, size_t bytes) MANGLED(NEW);
void cpu_delete(void *reporter, void *ptr) MANGLED(DELETE);

typedef void (*new_fn)(void *reporter, void *ptr, size_t bytes);

_Atomic uint32_t torch_cpu_way;
__thread bool torch_cpu_inside;

/* libc10's own, stored before the way is. */
static _Atomic uintptr_t original_new, original_delete, original_logs;

/* ---- which way ---- */

/* Who calls is libc10, as a rule; or a library that uses its reporter. */
static void seek(const void *caller)
{
    struct symbol found[] = {{.name = NEW}, {.name = DELETE}};
    symbols_find_around(caller, found, 2);
    bool is_theirs = found[0].address && (uintptr_t)found[0].address != (uintptr_t)&cpu_new;
    void *handle = is_theirs ? NULL : dynlink_loaded("libc10.so");
    for (int i = 0; !is_theirs && i < 2; i++)
        found[i].address = handle ? dynlink_dlsym(handle, found[i].name) : NULL;
    struct symbol logs[LOGS_NAMES] = {0};
    for (int i = 0; i < LOGS_NAMES; i++)
        logs[i].name = logs_names[i];
    symbols_find_around(found[0].address, logs, LOGS_NAMES);
    for (int i = 0; i < LOGS_NAMES; i++)
        if (logs[i].address)
            atomic_store(&original_logs, (uintptr_t)logs[i].address);
    atomic_store(&original_delete, (uintptr_t)found[1].address);
    atomic_store(&original_new, (uintptr_t)found[0].address);
}

enum { CALLS_NEW = 1, CALLS_DELETE = 2, CALLS_BOTH = 3 };

static void see_slot(void *self, const struct torch_slot *slot)
{
    if (strcmp(slot->name, NEW) == 0)
        *(int *)self |= CALLS_NEW;
    else if (strcmp(slot->name, DELETE) == 0)
        *(int *)self |= CALLS_DELETE;
}

/* A static initialiser may come here before the guest's own. Of threads that come at once the first
 * decides. */
static __attribute__((noinline)) uint32_t decide(const void *caller)
{
    const int saved = errno;
    int calls = 0;
    seek(caller);
    const uintptr_t theirs = atomic_load(&original_new);
    if (theirs && atomic_load(&original_delete))
        torch_slots_each(theirs, see_slot, &calls);
    const bool direct = guest_init(0, NULL) && calls == CALLS_BOTH && !guest.armed;
    uint32_t way = direct ? TORCH_CPU_DIRECT : TORCH_CPU_ASKED, before = TORCH_CPU_OPEN;
    if (theirs && !atomic_compare_exchange_strong(&torch_cpu_way, &before, way))
        way = before;
    errno = saved;
    return way;
}

static bool is_direct(const void *caller)
{
    uint32_t way = atomic_load_explicit(&torch_cpu_way, memory_order_acquire);
    if (__builtin_expect(way == TORCH_CPU_OPEN, 0))
        way = decide(caller);
    return __builtin_expect(way == TORCH_CPU_DIRECT, 1);
}

/* Whether libc10's own function has something to do. */
static bool is_wanted(void)
{
    uintptr_t enabled = torch_hook_original(TORCH_ENABLED);
    const bool *logs = (const bool *)atomic_load_explicit(&original_logs, memory_order_relaxed);
    return !enabled || ((torch_enabled_fn)enabled)() || (logs && *logs);
}

static __attribute__((noinline)) void hand_on_new(void *reporter, void *ptr, size_t bytes,
                                                  bool taken)
{
    uintptr_t theirs = atomic_load_explicit(&original_new, memory_order_relaxed);
    torch_cpu_inside = taken;
    if (theirs)
        ((new_fn)theirs)(reporter, ptr, bytes);
    torch_cpu_inside = false;
}

static __attribute__((noinline)) void hand_on_delete(void *reporter, void *ptr, bool taken)
{
    uintptr_t theirs = atomic_load_explicit(&original_delete, memory_order_relaxed);
    torch_cpu_inside = taken;
    if (theirs)
        ((torch_delete_fn)theirs)(reporter, ptr);
    torch_cpu_inside = false;
}

/* ---- events ---- */

/* The heap of the CPU, as the ring of that generation has it. */
static __thread struct {
    uint32_t generation, heap;
} my_heap;

static uint32_t heap_here(void)
{
    uint32_t generation = atomic_load_explicit(&guest.generation, memory_order_relaxed);
    if (__builtin_expect(my_heap.generation != generation || !my_heap.heap, 0)) {
        struct arena_heap heap = {.device_kind = DEVICE_CPU};
        my_heap.heap = torch_hook_heap(&heap);
        my_heap.generation = generation;
    }
    return my_heap.heap;
}

static bool is_told(void)
{
    if (__builtin_expect(!torch_hook_is_settled(), 0))
        torch_hook_settle();
    return torch_hook_is_recording() &&
           !atomic_load_explicit(&torch_hook_leaving, memory_order_relaxed);
}

static void tell_new(void *ptr, size_t bytes)
{
    if (bytes == 0 || !is_told())
        return;
    if (__builtin_expect(torch_watch_is_on(), 0))
        torch_watch_take((uint64_t)(uintptr_t)ptr, (int64_t)bytes);
    uint32_t module, site = torch_hook_site(&module);
    struct event event = {
        .kind = EVENT_BLOCK_ALLOC,
        .heap = heap_here() & EVENT_MAX_HEAP,
        .site = site,
        .name = module,
        .addr = (uint64_t)(uintptr_t)ptr,
        .size = bytes,
    };
    if (event.heap)
        guest_emit(&event);
}

/* Its size stays open. */
static void tell_delete(void *ptr)
{
    if (!is_told())
        return;
    if (__builtin_expect(torch_watch_is_on(), 0))
        torch_watch_take((uint64_t)(uintptr_t)ptr, -1);
    struct event event = {
        .kind = EVENT_BLOCK_FREE,
        .heap = heap_here() & EVENT_MAX_HEAP,
        .addr = (uint64_t)(uintptr_t)ptr,
    };
    if (event.heap)
        guest_emit(&event);
}

/* ---- in the place of libc10's ---- */

/* An exception of theirs may have passed through here: `inside` begins anew. */
void cpu_new(void *reporter, void *ptr, size_t bytes)
{
    torch_cpu_inside = false;
    bool direct = is_direct(__builtin_return_address(0));
    if (direct)
        tell_new(ptr, bytes);
    if (__builtin_expect(!direct || is_wanted(), 0))
        hand_on_new(reporter, ptr, bytes, direct);
}

void cpu_delete(void *reporter, void *ptr)
{
    torch_cpu_inside = false;
    bool direct = is_direct(__builtin_return_address(0));
    if (direct)
        tell_delete(ptr);
    if (__builtin_expect(!direct || is_wanted(), 0))
        hand_on_delete(reporter, ptr, direct);
}
