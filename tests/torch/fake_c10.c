/* fake_c10.c - see fake_c10.h. Built as libc10.so; calls go through the PLT as in the real one. */
#include "fake_c10.h"

#define EXPORT __attribute__((visibility("default")))

static __thread struct fake_c10 seen; /* of the thread: the real one has a mutex */

EXPORT void usage_unsigned(
    void *ptr, int64_t size, int64_t allocated, int64_t reserved,
    struct c10_device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
EXPORT void
usage_old(void *ptr, int64_t size,
          struct c10_device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE");
/* This one is another library's name: our libc10 is of the newer kind. */
void usage_signed(
    void *ptr, int64_t size, int64_t allocated, int64_t reserved,
    struct c10_device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");
EXPORT void
oom(int64_t size, int64_t allocated, int64_t reserved,
    struct c10_device device) __asm__("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");
EXPORT bool enabled(void) __asm__("_ZN3c1022memoryProfilingEnabledEv");

EXPORT void reporter_new(void *reporter, void *ptr,
                         size_t bytes) __asm__("_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm");
EXPORT void reporter_delete(void *reporter,
                            void *ptr) __asm__("_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv");

EXPORT bool logs __asm__("FLAGS_caffe2_report_cpu_memory_usage");
bool logs;

static const struct c10_device cpu = {C10_CPU, -1};

EXPORT struct fake_c10 *fake_c10(void)
{
    return &seen;
}

static void see(int64_t size, int64_t allocated, int64_t reserved, struct c10_device device)
{
    seen.size = size;
    seen.allocated = allocated;
    seen.reserved = reserved;
    seen.device = device;
}

void usage_unsigned(void *ptr, int64_t size, int64_t allocated, int64_t reserved,
                    struct c10_device device)
{
    (void)ptr;
    seen.usage++;
    see(size, allocated, reserved, device);
}

void usage_old(void *ptr, int64_t size, struct c10_device device)
{
    (void)ptr;
    seen.usage++;
    see(size, -1, -1, device);
}

void oom(int64_t size, int64_t allocated, int64_t reserved, struct c10_device device)
{
    seen.oom++;
    see(size, allocated, reserved, device);
}

bool enabled(void)
{
    return seen.profiling;
}

EXPORT bool fake_cpu(void *ptr, int64_t size)
{
    struct c10_device device = {C10_CPU, -1};
    bool asked = enabled();
    if (asked)
        usage_unsigned(ptr, size, 5, 0, device);
    return asked;
}

EXPORT void fake_device(int8_t type, int8_t index, void *ptr, int64_t size, int64_t allocated,
                        int64_t reserved)
{
    struct c10_device device = {type, index};
    usage_unsigned(ptr, size, allocated, reserved, device);
}

EXPORT void fake_device_signed(int8_t type, int8_t index, void *ptr, int64_t size,
                               int64_t allocated, int64_t reserved)
{
    struct c10_device device = {type, index};
    usage_signed(ptr, size, allocated, reserved, device);
}

EXPORT void fake_device_old(int8_t type, int8_t index, void *ptr, int64_t size)
{
    struct c10_device device = {type, index};
    usage_old(ptr, size, device);
}

EXPORT void fake_oom(int8_t type, int8_t index, int64_t size, int64_t allocated, int64_t reserved)
{
    struct c10_device device = {type, index};
    oom(size, allocated, reserved, device);
}

/* ---- the reporter of the CPU ---- */

#define KEPT 64
static __thread struct {
    void *ptr;
    size_t bytes;
} table[KEPT];

void reporter_new(void *reporter, void *ptr, size_t bytes)
{
    (void)reporter;
    seen.logged += logs;
    if (!enabled() || seen.kept == KEPT)
        return;
    table[seen.kept].ptr = ptr;
    table[seen.kept++].bytes = bytes;
    usage_unsigned(ptr, (int64_t)bytes, 5, 0, cpu);
}

void reporter_delete(void *reporter, void *ptr)
{
    (void)reporter;
    seen.logged += logs;
    if (!enabled())
        return;
    for (int i = 0; i < seen.kept; i++) {
        if (table[i].ptr != ptr)
            continue;
        usage_unsigned(ptr, -(int64_t)table[i].bytes, 5, 0, cpu);
        table[i] = table[--seen.kept];
        return;
    }
    seen.complaints++;
}

EXPORT void fake_cpu_new(void *ptr, size_t bytes)
{
    reporter_new(&seen, ptr, bytes);
}

EXPORT void fake_cpu_delete(void *ptr)
{
    reporter_delete(&seen, ptr);
}

EXPORT void fake_cpu_oom(size_t bytes)
{
    if (enabled())
        oom((int64_t)bytes, 5, 0, cpu);
}
