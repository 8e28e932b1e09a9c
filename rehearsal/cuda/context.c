/* context.c - see context.h. */
#include "context.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "error.h"
#include "machine.h"
#include "tell.h"

/* A context is the place of its device in this array; nothing reads what is there. */
static char contexts[MACHINE_DEVICES_MAX];
static _Atomic bool made[MACHINE_DEVICES_MAX];

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool started;
static _Thread_local bool starting; /* what is injected may call the driver itself */

/* What cannot be loaded or says no is left alone, as the driver does it. */
static void inject(const char *path)
{
    int (*initialize)(void);
    void *library = path && *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    void *found = library ? dlsym(library, "InitializeInjection") : NULL;
    memcpy(&initialize, &found, sizeof initialize);
    if (initialize)
        initialize();
}

void context_start_driver(void)
{
    if (atomic_load(&started) || starting)
        return;
    pthread_mutex_lock(&start_lock);
    if (!atomic_load(&started)) {
        starting = true;
        inject(getenv("CUDA_INJECTION64_PATH"));
        starting = false;
        atomic_store(&started, true);
    }
    pthread_mutex_unlock(&start_lock);
}

bool context_driver_is_started(void)
{
    return atomic_load(&started) && device_open();
}

int context_open(int32_t device)
{
    context_start_driver();
    if (device < 0 || device >= machine_devices())
        return ERR_ARG;
    if (atomic_load(&made[device]))
        return BASE_OK;
    void *context = &contexts[device];
    TELL(cuDevicePrimaryCtxRetain, told_word(&context), (uint64_t)device);
    int err = machine_touch(device);
    if (!err && !atomic_exchange(&made[device], true))
        told_context(context);
    (void)TOLD(err ? 2 : 0);
    return err;
}

void *context_made(int32_t device)
{
    return device >= 0 && device < MACHINE_DEVICES_MAX && atomic_load(&made[device])
               ? &contexts[device]
               : NULL;
}

int32_t context_device(const void *context)
{
    for (int32_t i = 0; i < machine_devices(); i++)
        if (context == &contexts[i])
            return i;
    return -1;
}
