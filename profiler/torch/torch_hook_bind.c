/*
 * torch_hook_bind.c - libc10's own functions.
 *
 * Python loads torch with local scope, so they cannot be reached by RTLD_NEXT: the path of libc10
 * is taken from the list of loaded objects, and dlopen with RTLD_NOLOAD gives a handle to that very
 * object. The handle is kept, so that the object stays as long as its functions can be called.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "dynlink.h"
#include "stand_in.h"
#include "torch_hook.h"
#include "torch_thread.h"

struct origin {
    const char *library; /* how its file name begins */
    const char *names[2];
};

static const struct origin origins[TORCH_ORIGINALS] = {
    [TORCH_USAGE] = {"libc10.so",
                     {"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
                      "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"}},
    [TORCH_USAGE_OLD] = {"libc10.so",
                         {"_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE", NULL}},
    [TORCH_OOM] = {"libc10.so",
                   {"_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
                    "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE"}},
    [TORCH_ENABLED] = {"libc10.so", {"_ZN3c1022memoryProfilingEnabledEv", NULL}},
    [TORCH_DELETE] = {"libc10.so", {"_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv", NULL}},
    [TORCH_STREAM] = {"libc10_cuda.so", {"_ZN3c104cuda20getCurrentCUDAStreamEa", NULL}},
};

_Atomic uintptr_t torch_hook_originals[TORCH_ORIGINALS];
static _Atomic uint32_t binding; /* 1 while a thread is at it */

static void bind_one(enum torch_original which)
{
    const struct origin *origin = &origins[which];
    void *handle = torch_hook_original(which) ? NULL : dynlink_loaded(origin->library);
    void *found = NULL;
    for (int i = 0; handle && i < 2 && origin->names[i] && !found; i++)
        found = dynlink_dlsym(handle, origin->names[i]);
    if (found)
        atomic_store_explicit(&torch_hook_originals[which], (uintptr_t)found, memory_order_release);
}

void torch_hook_bind(void)
{
    uint32_t free_now = 0;
    int saved = errno;
    if (!atomic_compare_exchange_strong(&binding, &free_now, 1))
        return;
    for (int i = 0; i < TORCH_STREAM; i++)
        bind_one((enum torch_original)i);
    /* A torch that does not report when memory is out (before 1.13) has stream numbers of 32 bits,
     * in a struct that comes back in one register. */
    if (torch_hook_original(TORCH_OOM))
        bind_one(TORCH_STREAM);
    torch_thread_bind();
    stand_in_bind();
    atomic_store(&binding, 0);
    errno = saved;
}
