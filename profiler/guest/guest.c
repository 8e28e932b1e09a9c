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
#include "ring_fast.h"

#define FETCH_PATIENCE_NS (4 * NS_PER_S) /* of threads that wait for the one that fetches */
#define FETCH_TRIES 5u                   /* with a second between them */
#define PAGE 4096u

struct guest guest;

/* Threads: the kernel's id is asked for once for each thread and ring. */
static __thread uint32_t thread_id;
static __thread uint32_t thread_generation;
/* True in the thread that is fetching, against events from within. */
static __thread bool fetching;

/* ---- start ---- */

static struct guest_page *new_page(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
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
            guest.page = page;
            greeting_hello();
        }
        atomic_store(&begun, 2);
    }
    errno = saved;
    return atomic_load(&begun) == 2 && guest.page;
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

/* Pages of its own for the program's side of a ring. */
static struct ring *new_ring(void)
{
    void *pages =
        mmap(NULL, sizeof(struct ring), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
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

static struct ring *attach(int fd, const struct ring *from, uint32_t count)
{
    struct ring *ring = new_ring();
    if (!ring)
        return NULL;
    if (ring_attach(ring, fd) == 0) {
        if (inherit(ring, from, count))
            return ring;
        ring_detach(ring);
    }
    munmap(ring, sizeof *ring);
    return NULL;
}

static enum guest_state map_ring(void)
{
    const struct ring *from = guest.ring; /* the parent's */
    bool refer = from && from->key && arena_can_continue(&from->arena);
    uint32_t count = refer ? arena_count(&from->arena) : 0;
    int fd = greeting_fetch(refer ? from->key : 0, count);
    if (fd == GREETING_NO_ANSWER && ++guest.page->tries < FETCH_TRIES)
        return GUEST_LATER;
    if (fd < 0)
        return GUEST_OFF;
    struct ring *ring = attach(fd, from, count);
    syscall(SYS_close, fd);
    if (!ring)
        return GUEST_OFF;
    atomic_store_explicit(&ring->shared->attached, 1, memory_order_relaxed);
    count_missed(ring->shared);
    guest.ring = ring;
    atomic_fetch_add(&guest.generation, 1);
    return GUEST_ON;
}

static bool fetch(void)
{
    fetching = true;
    enum guest_state state = map_ring();
    fetching = false;
    if (state == GUEST_LATER)
        atomic_store(&guest.page->retry_ns, clock_now_ns() + NS_PER_S);
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

bool guest_start(void)
{
    const uint64_t all = ~0ull;
    uint64_t before;
    int saved = errno;
    /* Raw: libc's call leaves out the signal by which it cancels threads. */
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    bool live = take_fetch(atomic_load(&guest.page->state)) ? fetch() : false;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
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
    intern_forget();
    if (shared)
        ring_use(&ring, shared);
    guest.ring = shared ? &ring : NULL;
    guest.page = &own;
    atomic_fetch_add(&guest.generation, 1);
    atomic_store(&own.state, shared ? GUEST_ON : GUEST_OFF);
}

/* ---- every event ---- */

static uint32_t this_thread(void)
{
    uint32_t generation = atomic_load_explicit(&guest.generation, memory_order_relaxed);
    if (__builtin_expect(thread_generation != generation, 0)) {
        thread_id = (uint32_t)syscall(SYS_gettid);
        thread_generation = generation;
    }
    return thread_id;
}

void guest_emit(struct event *event)
{
    event->thread = this_thread() & 0xffffff;
    event->time_ns = ticks_now_ns(&guest.ring->shared->clock);
    /* A handler may have forked since guest_live: the child has another ring. */
    if (__builtin_expect(atomic_load_explicit(&guest.page->state, memory_order_relaxed) != GUEST_ON,
                         0))
        return;
    if (__builtin_expect(ring_push(guest.ring, event) == RING_OFF, 0))
        atomic_store(&guest.page->state, GUEST_OFF);
}
