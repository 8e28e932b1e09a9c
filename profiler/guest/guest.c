/*
 * guest.c - the state word, the ring's arrival, the way of an event. See guest.h.
 */
#include "guest.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "futex.h"
#include "greeting.h"
#include "intern.h"
#include "pages.h"
#include "ring_fast.h"
#include "rings.h"

#define FETCH_PATIENCE_NS (4 * NS_PER_S) /* of threads that wait for the one that fetches */
#define FETCH_TRIES 5u                   /* with a second between them */
#define PAGE 4096u
#define ASLEEP_NS (NS_PER_S / 4)         /* between two tries of an armed program */
#define LOCK_TRIES 20                    /* of 50 ms */
#define LONGEST_SLEEP_NS (64 * NS_PER_S) /* where there is somebody who does not answer */

struct guest guest;

/* Threads: the kernel's id is asked for once for each thread and ring. */
static __thread uint32_t thread_id;
static __thread uint32_t thread_generation;
/* True in the thread that is fetching, against events from within. */
static __thread bool fetching;

static _Atomic uintptr_t at_wake; /* a function; 0: nobody asked */

/* ---- start ---- */

static struct guest_page *new_page(void)
{
    void *page = pages_new(PAGE);
    if (!page)
        return NULL;
    if (madvise(page, PAGE, MADV_WIPEONFORK) == 0)
        return page;
    munmap(page, PAGE); /* a kernel before 4.14: a child could not be told from its parent */
    return NULL;
}

bool guest_init(int argc, char **argv)
{
    static _Atomic uint32_t begun; /* 0 = no, 1 = somebody is at it, 2 = done */
    uint32_t none = 0;
    int saved = errno;
    if (atomic_load(&begun) != 2 && atomic_compare_exchange_strong(&begun, &none, 1)) {
        struct guest_page *page = greeting_prepare(argc, argv) ? new_page() : NULL;
        if (page) {
            guest.armed = greeting_is_armed();
            guest.page = page;
            if (guest.armed)
                rings_watch_forks();
            else
                greeting_hello();
        }
        atomic_store(&begun, 2);
    }
    errno = saved;
    return atomic_load(&begun) == 2 && guest.page;
}

bool guest_arm(const char *name)
{
    if (guest_init(0, NULL))
        return guest.armed;
    struct guest_page *page = greeting_prepare_armed(name) ? new_page() : NULL;
    if (!page)
        return false;
    rings_watch_forks();
    atomic_store(&page->retry_ns, UINT64_MAX);
    guest.armed = true;
    __atomic_store_n(&guest.page, page, __ATOMIC_RELEASE);
    return true;
}

void guest_let(void)
{
    atomic_store(&guest.page->retry_ns, 0);
}

__attribute__((constructor)) static void constructor(int argc, char **argv)
{
    guest_init(argc, argv);
}

/* ---- the first event ---- */

/* What was missed is counted as dropped events of a kind that is not known. */
static void count_missed(struct ring_shared *shared)
{
    uint64_t missed = atomic_exchange(&guest.missed, 0);
    if (missed)
        atomic_fetch_add(&shared->dropped[EVENT_NONE], missed);
}

/* Numbers given out before the fork keep their meaning. False: the recorder has accepted another
 * number of them than there are. */
static bool inherit(struct ring *ring, const struct ring *from, uint32_t count)
{
    if (ring->arena_first != 0) {
        if (!from || ring->arena_first != count)
            return false;
        arena_continue(&ring->arena, &from->arena);
    } else if (from) {
        arena_inherit(&ring->arena, &from->arena);
    }
    return true;
}

static void publish(struct ring *ring)
{
    uint32_t number = atomic_load(&guest.generation) + 1;
    bool first = !atomic_load(&guest.page->mapped);
    ring->generation = number;
    atomic_store_explicit(&ring->shared->attached, 1, memory_order_relaxed);
    count_missed(ring->shared);
    rings_add(ring, first);
    atomic_store(&guest.ring, ring);
    atomic_store(&guest.generation, number);
    atomic_store(&guest.page->mapped, 1);
}

/* Holders do no more than a copy, but may have to wait for a processor. */
static bool lock_patiently(struct arena *arena, struct arena_hold *hold)
{
    for (int i = 0; i < LOCK_TRIES; i++)
        if (arena_lock(arena, hold))
            return true;
    return false;
}

/* From the ring before, of this process, to the next. */
static enum guest_state succeed(struct ring *ring, struct ring *from)
{
    struct arena_hold hold;
    if (!lock_patiently(&from->arena, &hold))
        return GUEST_LATER;
    bool whole = inherit(ring, from, 0);
    if (whole)
        publish(ring);
    arena_unlock(&from->arena, &hold);
    return whole ? GUEST_ON : GUEST_OFF;
}

static enum guest_state attach(int fd, struct ring *from, uint32_t count)
{
    struct ring *ring = rings_attach(fd);
    enum guest_state state = GUEST_OFF;
    if (!ring)
        return GUEST_OFF;
    if (atomic_load(&guest.page->mapped)) {
        state = succeed(ring, from);
    } else if (inherit(ring, from, count)) {
        publish(ring);
        state = GUEST_ON;
    }
    if (state != GUEST_ON)
        rings_drop(ring);
    return state;
}

static bool is_over(const struct ring *ring)
{
    return atomic_load(&ring->shared->mode) == RING_CLOSED || ring_recorder_died(ring->shared);
}

/* A fetch that brought nothing. */
static enum guest_state not_yet(int why)
{
    bool silent = why == GREETING_NO_ANSWER;
    if (guest.armed) {
        guest.page->tries = silent ? guest.page->tries + 1 : 0;
        return GUEST_LATER;
    }
    return silent && ++guest.page->tries < FETCH_TRIES ? GUEST_LATER : GUEST_OFF;
}

static enum guest_state map_ring(void)
{
    struct ring *from = guest.ring; /* the parent's; or one from before this process slept */
    bool over = guest.armed && from && is_over(from);
    bool own = atomic_load(&guest.page->mapped); /* then all of it is copied */
    bool refer = from && from->key && !own && !over && arena_can_continue(&from->arena);
    uint32_t count = refer ? arena_count(&from->arena) : 0;
    if (over)
        greeting_forget();
    int fd = greeting_fetch(refer ? from->key : 0, count);
    if (fd < 0)
        return not_yet(fd);
    enum guest_state state = attach(fd, from, count);
    syscall(SYS_close, fd);
    return state;
}

static uint64_t pause_ns(void)
{
    uint32_t tries = guest.page->tries;
    if (!guest.armed)
        return NS_PER_S;
    uint64_t pause = tries ? NS_PER_S << (tries < 6 ? tries : 6) : ASLEEP_NS;
    return pause < LONGEST_SLEEP_NS ? pause : LONGEST_SLEEP_NS;
}

static bool fetch(void)
{
    fetching = true;
    enum guest_state state = map_ring();
    if (guest.armed && atomic_load(&guest.page->mapped))
        rings_give_back();
    fetching = false;
    if (state == GUEST_LATER)
        atomic_store(&guest.page->retry_ns, clock_now_ns() + pause_ns());
    atomic_store(&guest.page->state, state);
    futex_wake_all(&guest.page->state);
    return state == GUEST_ON;
}

/* Waits once: a thread that never comes back from its fetch does not hold up the next event, too.
 */
static bool wait_for_fetch(void)
{
    uint64_t deadline = clock_now_ns() + FETCH_PATIENCE_NS;
    uint32_t state;
    while ((state = atomic_load(&guest.page->state)) == GUEST_FETCHING) {
        if (fetching)
            break;
        if (clock_now_ns() >= deadline) {
            atomic_compare_exchange_strong(&guest.page->state, &state, GUEST_OFF);
            break;
        }
        futex_wait(&guest.page->state, GUEST_FETCHING, 100 * NS_PER_MS);
    }
    return state == GUEST_ON;
}

/* Whether this thread is to fetch; the signals are blocked, so that no handler leaves by longjmp,
 * and no other thread cancels it, between the state's change and the next one. */
static bool take_fetch(uint32_t state)
{
    if (state == GUEST_LATER && clock_now_ns() < atomic_load(&guest.page->retry_ns))
        return false;
    return (state == GUEST_UNBORN || state == GUEST_LATER) &&
           atomic_compare_exchange_strong(&guest.page->state, &state, GUEST_FETCHING);
}

static bool fetch_once(void)
{
    const uint64_t all = ~0ull;
    uint64_t before;
    /* Raw: libc's call leaves out the signal by which it cancels threads. */
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    bool live = take_fetch(atomic_load(&guest.page->state)) ? fetch() : false;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    return live;
}

/* What an event costs while the program sleeps. The coarse clock is behind the other by some
 * milliseconds. */
static bool sleeps_on(void)
{
    uint64_t retry = atomic_load_explicit(&guest.page->retry_ns, memory_order_relaxed);
    return retry && clock_read_ns(CLOCK_MONOTONIC_COARSE) < retry;
}

static bool wake(void)
{
    if (atomic_load(&guest.page->state) == GUEST_FETCHING || !fetch_once())
        return atomic_load(&guest.page->state) == GUEST_ON;
    uintptr_t woken = atomic_load(&at_wake);
    if (woken)
        ((void (*)(void))woken)();
    return true;
}

void guest_at_wake(void (*woken)(void))
{
    atomic_store(&at_wake, (uintptr_t)woken);
}

bool guest_start(void)
{
    if (guest.armed && sleeps_on())
        return false;
    int saved = errno;
    if (guest.armed) {
        bool live = wake();
        errno = saved;
        return live;
    }
    bool live = fetch_once();
    if (!live)
        live = wait_for_fetch();
    if (!live && atomic_load(&guest.page->state) != GUEST_OFF)
        atomic_fetch_add(&guest.missed, 1);
    errno = saved;
    return live;
}

void guest_use_ring(struct ring_shared *shared)
{
    static struct guest_page own;
    static struct ring ring;
    uint32_t number = atomic_load(&guest.generation) + 1;
    intern_forget();
    if (shared)
        ring_use(&ring, shared);
    ring.generation = number;
    guest.ring = shared ? &ring : NULL;
    if (guest.page != &own)
        guest.page = &own;
    atomic_store(&guest.generation, number);
    atomic_store(&own.mapped, shared != NULL);
    atomic_store(&own.state, shared ? GUEST_ON : GUEST_OFF);
}

/* ---- every event ---- */

static uint32_t this_thread(uint32_t generation)
{
    if (__builtin_expect(thread_generation != generation, 0)) {
        thread_id = (uint32_t)syscall(SYS_gettid);
        thread_generation = generation;
    }
    return thread_id;
}

/* The recorder is gone. Another thread may have another one's ring by now. */
static void end_ring(const struct ring *ring)
{
    uint32_t on = GUEST_ON;
    if (!guest.armed)
        atomic_store(&guest.page->state, GUEST_OFF);
    else if (ring == guest.ring)
        atomic_compare_exchange_strong(&guest.page->state, &on, GUEST_LATER);
}

uint32_t guest_awake(void)
{
    if (atomic_load_explicit(&guest.page->state, memory_order_acquire) != GUEST_ON)
        return 0;
    const struct ring *ring = guest.ring;
    if (__builtin_expect(!ring_recorder_died(ring->shared), 1))
        return ring->generation;
    end_ring(ring);
    return 0;
}

void guest_emit(struct event *event)
{
    const struct ring *ring = atomic_load_explicit(&guest.ring, memory_order_acquire);
    uint64_t only = event->word;
    event->thread = this_thread(ring->generation) & 0xffffff;
    event->time_ns = ticks_now_ns(&ring->shared->clock);
    /* A handler may have forked since guest_live: the child has another ring. */
    if (__builtin_expect(atomic_load_explicit(&guest.page->state, memory_order_relaxed) != GUEST_ON,
                         0))
        return;
    if (__builtin_expect(only && only != ring->generation, 0))
        return;
    if (__builtin_expect(ring_push(ring, event) == RING_OFF, 0))
        end_ring(ring);
}
