/* stand_in.c - see stand_in.h. */
#include "stand_in.h"

#include <stdatomic.h>

#include "dynlink.h"
#include "event.h"
#include "guest.h"
#include "here.h"
#include "intern.h"

typedef void (*fresh_fn)(uint64_t address, uint64_t bytes);

static _Atomic uintptr_t fresh; /* a fresh_fn of the stand-in; 0: there is none */

void stand_in_bind(void)
{
    if (!atomic_load(&fresh))
        atomic_store(&fresh, (uintptr_t)dynlink_dlsym(NULL, "tidemark_rehearsal_fresh"));
}

void stand_in_fresh(uint64_t address, uint64_t bytes)
{
    uintptr_t call = atomic_load_explicit(&fresh, memory_order_relaxed);
    if (__builtin_expect(call != 0, 0))
        ((fresh_fn)call)(address, bytes);
}

__attribute__((visibility("default"))) void tidemark_stand_in_read(const char *what)
{
    if (!guest_live())
        return;
    struct event event = {.kind = EVENT_MARK,
                          .flags = EVENT_F_DOMAIN,
                          .site = here_site(),
                          .name = intern_string(what),
                          .addr = intern_string(STAND_IN_DOMAIN)};
    guest_emit(&event);
}
