/*
 * occasion.h - moments at which the program tells us something by itself, for who wants to ask or
 * do more then: the driver may not be asked in a callback of its own.
 *
 * A few listeners, of this process, each in a place of its own. Nobody listens: loads and branches.
 */
#ifndef TIDEMARK_PROFILER_OCCASION_H
#define TIDEMARK_PROFILER_OCCASION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each keeps errno, and asks by itself whether this process is its own: a forked child has the
 * listener, too. */
struct occasion_listener {
    void (*look)(void);          /* before the event: a phase or a step ends, a step begins */
    void (*look_at_block)(void); /* a lock of an allocator's is held: the current device alone */
    void (*point)(void);         /* behind the event: to flush, to come back */
};

/* NULL: nobody. A place that was left is taken by the next. */
enum { OCCASION_LISTENERS = 4 };
extern _Atomic(const struct occasion_listener *) occasion_listeners[OCCASION_LISTENERS];
extern _Atomic uint64_t occasion_due_ns; /* from when on a block or a mark is an occasion */

/* False: all places are taken. Who listens already goes on with the one that it has. */
bool occasion_listen(const struct occasion_listener *listener);
void occasion_leave(const struct occasion_listener *listener);

static inline const struct occasion_listener *occasion_heard(int place)
{
    return atomic_load_explicit(&occasion_listeners[place], memory_order_acquire);
}

/* Never in a callback of the driver's, never from a library's own ranges. Before the event, for
 * what the device has then belongs to what ends. */
static inline void occasion_look(void)
{
    for (int place = 0; place < OCCASION_LISTENERS; place++) {
        const struct occasion_listener *listener = occasion_heard(place);
        if (__builtin_expect(listener != NULL, 0))
            listener->look();
    }
}

static inline void occasion_point(void)
{
    for (int place = 0; place < OCCASION_LISTENERS; place++) {
        const struct occasion_listener *listener = occasion_heard(place);
        if (__builtin_expect(listener != NULL, 0))
            listener->point();
    }
}

static inline bool occasion_is_due(uint64_t now_ns)
{
    uint64_t due = atomic_load_explicit(&occasion_due_ns, memory_order_relaxed);
    return __builtin_expect(now_ns >= due, 0);
}

/* Behind the event of a block on a device, whose time is at hand. */
static inline void occasion_block(uint64_t now_ns)
{
    if (!occasion_is_due(now_ns))
        return;
    for (int place = 0; place < OCCASION_LISTENERS; place++) {
        const struct occasion_listener *listener = occasion_heard(place);
        if (__builtin_expect(listener != NULL, 0))
            listener->look_at_block();
    }
}

/* Behind a mark: as rarely, and of all devices. */
static inline void occasion_mark(uint64_t now_ns)
{
    if (occasion_is_due(now_ns))
        occasion_look();
}

#endif
