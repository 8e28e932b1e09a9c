/* torch_made.c - see torch_made.h. */
#include "torch_made.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fork_lock.h"
#include "guest.h"
#include "pages.h"

struct stretch {
    _Atomic uint64_t first;
    _Atomic uint64_t module;
};

struct maker {
    _Atomic uint64_t thread; /* as torch calls it; 0 = nobody's */
    _Atomic uint64_t next;   /* the number after its last node's */
    _Atomic uint64_t count;  /* of stretches that ever were; the last MADE_STRETCHES are kept */
    _Atomic uint64_t order;  /* in which makers were taken */
    _Atomic int32_t kernel_thread;
    struct stretch *_Atomic stretches;
};

static struct maker makers[MADE_MAKERS];
static _Atomic uint64_t taken;
static _Atomic uint32_t taking; /* while a thread looks for a maker: fork_lock.h */
static __thread struct maker *mine;
static __thread uint32_t
    mine_since; /* guest.generation; a forked child's threads have other numbers */
static __thread uint64_t refused_at; /* `taken` when there was none for this thread */
static __thread bool refused;

static struct stretch *stretch_at(const struct maker *maker, uint64_t number)
{
    struct stretch *all = atomic_load_explicit(&maker->stretches, memory_order_acquire);
    return &all[number % MADE_STRETCHES];
}

static bool has_ended(const struct maker *maker)
{
    int saved = errno;
    long is = syscall(SYS_tgkill, syscall(SYS_getpid), (long)atomic_load(&maker->kernel_thread), 0);
    bool ended = is < 0 && errno == ESRCH;
    errno = saved;
    return ended;
}

/* A maker that nobody had, or that of the thread that ended first. */
static struct maker *free_maker(void)
{
    struct maker *best = NULL;
    for (uint32_t i = 0; i < MADE_MAKERS; i++) {
        struct maker *one = &makers[i];
        if (!atomic_load(&one->thread))
            return one;
        if (has_ended(one) && (!best || atomic_load(&one->order) < atomic_load(&best->order)))
            best = one;
    }
    return best;
}

static bool give_memory(struct maker *maker)
{
    size_t bytes = MADE_STRETCHES * sizeof(struct stretch);
    if (atomic_load(&maker->stretches))
        return true;
    void *memory = pages_new(bytes);
    if (!memory)
        return false;
    atomic_store_explicit(&maker->stretches, memory, memory_order_release);
    return true;
}

static struct maker *take_maker(uint64_t thread)
{
    struct maker *maker = free_maker();
    refused = !maker || !give_memory(maker);
    refused_at = atomic_load(&taken);
    if (!refused) {
        atomic_store(&maker->thread, 0);
        atomic_store(&maker->count, 0);
        atomic_store(&maker->next, 0);
        atomic_store(&maker->kernel_thread, (int32_t)syscall(SYS_gettid));
        atomic_store(&maker->order, atomic_fetch_add(&taken, 1) + 1);
        atomic_store_explicit(&maker->thread, thread, memory_order_release);
    }
    return refused ? NULL : maker;
}

/* In a child the thread that forked goes on with its own. */
static __attribute__((noinline)) struct maker *find_mine(uint64_t thread)
{
    struct maker *found = NULL;
    if (refused && refused_at == atomic_load(&taken))
        return NULL;
    int number = errno;
    if (fork_lock_take(&taking) != FORK_LOCK_NOT_HELD) {
        bool is_mine = mine && atomic_load(&mine->thread) == thread;
        found = is_mine ? mine : take_maker(thread);
        if (is_mine)
            atomic_store(&mine->kernel_thread, (int32_t)syscall(SYS_gettid));
        fork_lock_give(&taking);
    }
    mine_since = atomic_load_explicit(&guest.generation, memory_order_relaxed);
    errno = number;
    return found;
}

static bool is_mine(uint64_t thread)
{
    return mine && atomic_load_explicit(&mine->thread, memory_order_relaxed) == thread &&
           mine_since == atomic_load_explicit(&guest.generation, memory_order_relaxed);
}

void torch_made(uint64_t thread, uint64_t number, uint32_t module)
{
    if (__builtin_expect(!is_mine(thread), 0))
        mine = find_mine(thread);
    if (!mine)
        return;
    uint64_t count = atomic_load_explicit(&mine->count, memory_order_relaxed);
    if (!count || atomic_load_explicit(&stretch_at(mine, count - 1)->module,
                                       memory_order_relaxed) != module) {
        struct stretch *next = stretch_at(mine, count);
        atomic_store_explicit(&next->first, number, memory_order_relaxed);
        atomic_store_explicit(&next->module, module, memory_order_relaxed);
        atomic_store_explicit(&mine->count, count + 1, memory_order_release);
    }
    atomic_store_explicit(&mine->next, number + 1, memory_order_release);
}

static const struct maker *maker_of(uint64_t thread)
{
    for (uint32_t i = 0; thread && i < MADE_MAKERS; i++)
        if (atomic_load_explicit(&makers[i].thread, memory_order_acquire) == thread)
            return &makers[i];
    return NULL;
}

bool torch_has_made(uint64_t thread, uint64_t number)
{
    const struct maker *maker = maker_of(thread);
    return maker && number < atomic_load_explicit(&maker->next, memory_order_acquire);
}

/* The last stretch that begins at or before the number, among those that are kept. */
static uint32_t search(const struct maker *maker, uint64_t number)
{
    uint64_t count = atomic_load_explicit(&maker->count, memory_order_acquire);
    uint64_t low = count < MADE_STRETCHES ? 0 : count - MADE_STRETCHES + 1, high = count;
    uint64_t module = 0, found = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct stretch *at = stretch_at(maker, middle);
        if (atomic_load_explicit(&at->first, memory_order_acquire) > number) {
            high = middle;
            continue;
        }
        module = atomic_load_explicit(&at->module, memory_order_acquire);
        found = middle;
        low = middle + 1;
    }
    /* What was read may have been written over meanwhile. */
    bool kept = found + MADE_STRETCHES > atomic_load_explicit(&maker->count, memory_order_acquire);
    return found < count && kept ? (uint32_t)module : 0;
}

uint32_t torch_made_by(uint64_t thread, uint64_t number)
{
    const struct maker *maker = maker_of(thread);
    if (!maker || number >= atomic_load_explicit(&maker->next, memory_order_acquire))
        return 0;
    uint32_t module = search(maker, number);
    return atomic_load_explicit(&maker->thread, memory_order_acquire) == thread ? module : 0;
}
