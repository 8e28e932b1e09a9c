/* occasion.c - see occasion.h. */
#include "occasion.h"

_Atomic(const struct occasion_listener *) occasion_listeners[OCCASION_LISTENERS];
_Atomic uint64_t occasion_due_ns = UINT64_MAX;

static bool take(int place, const struct occasion_listener *listener)
{
    const struct occasion_listener *nobody = NULL;
    return atomic_compare_exchange_strong(&occasion_listeners[place], &nobody, listener) ||
           nobody == listener;
}

bool occasion_listen(const struct occasion_listener *listener)
{
    for (int place = 0; place < OCCASION_LISTENERS; place++)
        if (occasion_heard(place) == listener)
            return true;
    for (int place = 0; place < OCCASION_LISTENERS; place++)
        if (take(place, listener))
            return true;
    return false;
}

void occasion_leave(const struct occasion_listener *listener)
{
    for (int place = 0; place < OCCASION_LISTENERS; place++) {
        const struct occasion_listener *is = listener;
        atomic_compare_exchange_strong(&occasion_listeners[place], &is, NULL);
    }
}
