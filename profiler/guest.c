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

#define FETCH_PATIENCE_NS (3 * NS_PER_S) /* of threads that wait for the one that fetches */
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

static bool map_ring(void)
{
    struct ring_shared *ring = NULL;
    int fd = greeting_fetch();
    if (fd < 0)
        return false;
    int err = ring_attach(&ring, fd);
    syscall(SYS_close, fd);
    if (err)
        return false;
    if (guest.ring) /* the parent's: numbers given out before the fork keep their meaning */
        arena_inherit(ring, guest.ring);
    guest.ring = ring;
    atomic_fetch_add(&guest.generation, 1);
    return true;
}

/* A handler that leaves by longjmp must not leave the state at FETCHING. */
static bool fetch(void)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    fetching = true;
    bool mapped = map_ring();
    fetching = false;
    atomic_store(&guest.page->state, mapped ? GUEST_ON : GUEST_OFF);
    futex_wake_all(&guest.page->state);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return mapped;
}

static bool wait_for_fetch(void)
{
    uint64_t deadline = clock_now_ns() + FETCH_PATIENCE_NS;
    while (atomic_load(&guest.page->state) == GUEST_FETCHING) {
        if (fetching || clock_now_ns() >= deadline) {
            atomic_fetch_add(&guest.missed, 1);
            return false;
        }
        futex_wait(&guest.page->state, GUEST_FETCHING, 100 * NS_PER_MS);
    }
    return atomic_load(&guest.page->state) == GUEST_ON;
}

bool guest_start(void)
{
    uint32_t unborn = GUEST_UNBORN;
    int saved = errno;
    bool live;
    if (atomic_compare_exchange_strong(&guest.page->state, &unborn, GUEST_FETCHING))
        live = fetch();
    else
        live = wait_for_fetch();
    errno = saved;
    return live;
}

void guest_use_ring(struct ring_shared *ring)
{
    static struct guest_page own;
    intern_forget();
    guest.ring = ring;
    guest.page = &own;
    atomic_fetch_add(&guest.generation, 1);
    atomic_store(&own.state, ring ? GUEST_ON : GUEST_OFF);
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
    event->time_ns = clock_now_ns();
    if (__builtin_expect(ring_push(guest.ring, event) == RING_OFF, 0))
        atomic_store(&guest.page->state, GUEST_OFF);
}
