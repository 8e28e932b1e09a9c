/* torch_cpu.c - see torch_cpu.h. */
#include "torch_cpu.h"

#include <stddef.h>
#include <stdint.h>

#include "symbols.h"
#include "torch_census.h"
#include "torch_hook_inner.h"

#define EXPORT __attribute__((visibility("default")))
#define MANGLED(name) __asm__(name) EXPORT
#define NEW "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm"
#define DELETE "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv"
/* A switch of libc10's: its reporter logs each block, whether somebody profiles or not. */
#define LOGS "_ZN3fLB36FLAGS_caffe2_report_cpu_memory_usageE"

void cpu_new(void *reporter, void *ptr, size_t bytes) MANGLED(NEW);
void cpu_delete(void *reporter, void *ptr) MANGLED(DELETE);

typedef void (*new_fn)(void *reporter, void *ptr, size_t bytes);

_Atomic bool torch_cpu_direct;
__thread bool torch_cpu_inside;

/* libc10's own; `sought` is stored last. */
static _Atomic uintptr_t original_new, original_delete, original_logs;
static _Atomic bool sought;

/* The library that calls has both. If not, there is nothing to hand on to. */
static __attribute__((noinline)) void seek(const void *caller)
{
    struct symbol found[] = {{.name = NEW}, {.name = DELETE}, {.name = LOGS}};
    symbols_find_around(caller, found, sizeof found / sizeof *found);
    atomic_store(&original_new, (uintptr_t)found[0].address);
    atomic_store(&original_delete, (uintptr_t)found[1].address);
    atomic_store(&original_logs, (uintptr_t)found[2].address);
    if (!found[0].address || !found[1].address)
        atomic_store(&torch_cpu_direct, true);
    atomic_store_explicit(&sought, true, memory_order_release);
}

static void seek_once(const void *caller)
{
    if (__builtin_expect(!atomic_load_explicit(&sought, memory_order_acquire), 0))
        seek(caller);
}

/* Whether libc10's own function has something to do. */
static bool is_wanted(void)
{
    uintptr_t enabled = torch_hook_original(TORCH_ENABLED);
    const bool *logs = (const bool *)atomic_load_explicit(&original_logs, memory_order_relaxed);
    return !enabled || ((torch_enabled_fn)enabled)() || (logs && *logs);
}

static __attribute__((noinline)) void hand_on_new(void *reporter, void *ptr, size_t bytes)
{
    uintptr_t theirs = atomic_load_explicit(&original_new, memory_order_relaxed);
    torch_cpu_inside = torch_cpu_is_direct();
    if (theirs)
        ((new_fn)theirs)(reporter, ptr, bytes);
    torch_cpu_inside = false;
}

static __attribute__((noinline)) void hand_on_delete(void *reporter, void *ptr)
{
    uintptr_t theirs = atomic_load_explicit(&original_delete, memory_order_relaxed);
    torch_cpu_inside = torch_cpu_is_direct();
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

void cpu_new(void *reporter, void *ptr, size_t bytes)
{
    seek_once(__builtin_return_address(0));
    if (__builtin_expect(!torch_cpu_is_direct(), 0)) {
        hand_on_new(reporter, ptr, bytes);
        return;
    }
    tell_new(ptr, bytes);
    if (__builtin_expect(is_wanted(), 0))
        hand_on_new(reporter, ptr, bytes);
}

void cpu_delete(void *reporter, void *ptr)
{
    seek_once(__builtin_return_address(0));
    if (__builtin_expect(torch_cpu_is_direct(), 1)) {
        tell_delete(ptr);
        if (__builtin_expect(is_wanted(), 0))
            hand_on_delete(reporter, ptr);
        return;
    }
    hand_on_delete(reporter, ptr);
    if (!census_is_kept() && torch_hook_is_settled())
        atomic_store(&torch_cpu_direct, true);
}
