/*
 * pyarm.c - what `tidemark attach` has a program of CPython call (recorder/run/attach.h). All by a
 * thread of the script's, which has just loaded the library:
 *
 *     tidemark_py_arm     armed, asleep; asks the main thread to pause
 *     tidemark_py_paused  until the main thread waits, out of Python, without the GIL
 *     tidemark_py_lived   what lives, as far as Python can tell (python/tidemark/_attach.py)
 *     tidemark_py_noted   whether libc10 reported a block that came just now
 *     tidemark_py_let     the main thread goes on, and from now on a recorder is looked for
 *
 * The main thread pauses so that what Python's objects hold does not change, nor is held longer,
 * while they are looked at; and it is not the one that looks, for a handler of a signal, which runs
 * in the main thread alone, could leave that by an exception.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "clock.h"
#include "dynlink.h"
#include "futex.h"
#include "greeting.h"
#include "guest.h"
#include "pyapi.h"
#include "torch_census.h"
#include "torch_hook.h"
#include "torch_late.h"

#define PAUSE_NS (10 * NS_PER_S) /* the longest, whatever becomes of the other thread */

EXPORT const char *tidemark_py_arm(const char *name);
EXPORT int tidemark_py_paused(void);
EXPORT void tidemark_py_lived(uint64_t addr, uint64_t bytes, int32_t kind, int32_t index,
                              uint64_t stream);
EXPORT int tidemark_py_noted(uint64_t addr);
EXPORT void tidemark_py_let(void);

/* A futex. NOT_ASKED --arm--> ASKED --the main thread comes--> WAITS --let, or in time--> OVER */
enum pause { PAUSE_NOT_ASKED, PAUSE_ASKED, PAUSE_WAITS, PAUSE_OVER };
static _Atomic uint32_t pause_state;

static struct {
    int (*add_pending_call)(int (*call)(void *), void *argument);
    void *(*save_thread)(void);
    void (*restore_thread)(void *state);
} python;

static bool find(void *function, const char *name)
{
    void *address = dynlink_dlsym(NULL, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static int pending_pause(void *unused)
{
    uint32_t asked = PAUSE_ASKED;
    int saved = errno;
    (void)unused;
    if (!atomic_compare_exchange_strong(&pause_state, &asked, PAUSE_WAITS))
        return 0;
    uint64_t deadline = clock_now_ns() + PAUSE_NS;
    void *state = python.save_thread();
    while (atomic_load(&pause_state) == PAUSE_WAITS && clock_now_ns() < deadline)
        futex_wait(&pause_state, PAUSE_WAITS, PAUSE_NS / 100);
    atomic_store(&pause_state, PAUSE_OVER);
    python.restore_thread(state);
    errno = saved;
    return 0;
}

static bool ask_for_pause(void)
{
    atomic_store(&pause_state, PAUSE_ASKED);
    return find(&python.save_thread, "PyEval_SaveThread") &&
           find(&python.restore_thread, "PyEval_RestoreThread") &&
           find(&python.add_pending_call, "Py_AddPendingCall") &&
           python.add_pending_call(pending_pause, NULL) == 0;
}

static const char *arm(const char *name)
{
    static enum { NEW, BOUND, FAILED } got;
    if (got == FAILED || !guest_arm(name))
        return NULL;
    if (got == BOUND)
        return greeting_name();
    got = torch_hook_keep() && ask_for_pause() ? BOUND : FAILED;
    if (got == FAILED) {
        tidemark_py_let();
        return NULL;
    }
    torch_late_bind();
    return greeting_name();
}

/* The name under which it looks for a recorder: that which it was given first. NULL: it is recorded
 * already, or there is no memory, or another thread is in here: ctypes calls without the
 * interpreter's lock, where there is one at all. */
const char *tidemark_py_arm(const char *name)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&busy))
        return NULL;
    const char *found = arm(name);
    atomic_flag_clear(&busy);
    return found;
}

int tidemark_py_paused(void)
{
    return atomic_load(&pause_state) >= PAUSE_WAITS;
}

void tidemark_py_lived(uint64_t addr, uint64_t bytes, int32_t kind, int32_t index, uint64_t stream)
{
    const struct arena_heap heap = {.device_kind = kind, .device_index = index, .stream = stream};
    if (census_is_kept())
        census_lived(addr, bytes, &heap);
}

int tidemark_py_noted(uint64_t addr)
{
    uint64_t bytes;
    return census_is_kept() && census_look(addr, &bytes) == CENSUS_NOTED;
}

void tidemark_py_let(void)
{
    guest_let();
    atomic_store(&pause_state, PAUSE_OVER);
    futex_wake_all(&pause_state);
}
