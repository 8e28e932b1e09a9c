/*
 * torch_site.c - see torch_site.h.
 *
 * Each thread with open backward calls has a record, found by the address of a variable of that
 * thread. The record's `innermost` is what others read: order 0 = nothing is open. The owner alone
 * writes it, order 0 first and the new order last; a reader takes the site only if the order was
 * the same before and after. An order is never given out twice, and whoever meets a call that has
 * just ended has a site that was right a moment ago: sites stay readable for good.
 */
#include "torch_site.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "arena.h"
#include "intern.h"
#include "pyframes.h"
#include "torch_node.h"
#include "torch_thread.h"

struct call {
    uint64_t order; /* 1, 2, ... in the order of their beginning */
    uint64_t site;  /* as intern_place gave it; 0 = it has no stack */
};

struct caller {
    _Alignas(64) _Atomic(const char *) owner; /* NULL = free */
    _Atomic uint64_t order, site;             /* the innermost call */
    uint32_t depth;                           /* open calls; the owner's, as what follows */
    struct call outer[TORCH_NESTED - 1];      /* those around it, outermost first */
};

static struct caller callers[TORCH_CALLERS];
static _Atomic uint32_t callers_seen; /* records that were ever used */
static _Atomic uint64_t last_order;

static __thread char me;

/* The last site that was put together in this thread, of what, and in which numbers. */
static __thread struct {
    uint64_t own, call, site;
    uint32_t epoch; /* intern_epoch() + 1; 0 = none */
} composed;

/* ---- backward calls ---- */

static struct caller *my_record(void)
{
    uint32_t seen = atomic_load(&callers_seen);
    for (uint32_t i = 0; i < seen; i++)
        if (atomic_load_explicit(&callers[i].owner, memory_order_relaxed) == &me)
            return &callers[i];
    return NULL;
}

static struct caller *new_record(void)
{
    for (uint32_t i = 0; i < TORCH_CALLERS; i++) {
        const char *nobody = NULL;
        if (!atomic_compare_exchange_strong(&callers[i].owner, &nobody, &me))
            continue;
        uint32_t seen = atomic_load(&callers_seen);
        while (seen <= i && !atomic_compare_exchange_weak(&callers_seen, &seen, i + 1))
            ;
        return &callers[i];
    }
    return NULL;
}

static void show(struct caller *mine, struct call call)
{
    atomic_store(&mine->order, 0);
    atomic_store(&mine->site, call.site);
    atomic_store(&mine->order, call.order);
}

/* The open call that another thread made last. */
static struct call last_of_others(void)
{
    struct call last = {0};
    uint32_t seen = atomic_load_explicit(&callers_seen, memory_order_acquire);
    for (uint32_t i = 0; i < seen; i++) {
        struct caller *caller = &callers[i];
        uint64_t order = atomic_load(&caller->order);
        if (order <= last.order || atomic_load(&caller->owner) == &me)
            continue;
        uint64_t site = atomic_load(&caller->site);
        if (atomic_load(&caller->order) == order)
            last = (struct call){order, site};
    }
    return last;
}

/* ---- sites ---- */

static uint32_t autograd_frame(void)
{
    struct arena_frame frame = {.function = intern_string("autograd")};
    return frame.function ? intern(ARENA_FRAME, &frame, sizeof frame) : 0;
}

static uint64_t compose(uint64_t own, uint64_t call)
{
    uint32_t frames[ARENA_MAX_DEPTH];
    uint32_t autograd = autograd_frame();
    uint32_t count = own ? intern_frames_of(own, frames, ARENA_MAX_DEPTH - 1) : 0;
    if (!autograd || (own && !count))
        return own;
    frames[count++] = autograd;
    if (call)
        count += intern_frames_of(call, frames + count, ARENA_MAX_DEPTH - count);
    uint64_t site = intern_place(ARENA_SITE, frames, count * sizeof *frames);
    return site ? site : own;
}

static uint64_t engine_site(uint64_t own)
{
    uint64_t call = last_of_others().site;
    uint32_t epoch = intern_epoch() + 1;
    if (composed.epoch != epoch || composed.own != own || composed.call != call) {
        composed.site = compose(own, call);
        composed.own = own;
        composed.call = call;
        composed.epoch = composed.site ? epoch : 0;
    }
    return composed.site;
}

static __attribute__((noinline)) uint64_t unusual(enum pyframes_found found, uint64_t own)
{
    enum torch_thread thread = torch_thread_mine;
    if (found == PYFRAMES_UNREAD)
        return 0;
    if (thread == TORCH_THREAD_NEW)
        thread = torch_thread_look();
    if (thread == TORCH_THREAD_ENGINE)
        return engine_site(own);
    return found == PYFRAMES_FOUND ? own : torch_thread_site();
}

static uint64_t site_here(struct pymodules_found *module)
{
    struct pyframes_here here = {0};
    enum pyframes_found found = pyframes_look(&here);
    *module = here.module;
    if (__builtin_expect(found == PYFRAMES_FOUND && torch_thread_mine == TORCH_THREAD_ANY, 1))
        return here.site;
    return unusual(found, found == PYFRAMES_FOUND ? here.site : 0);
}

uint32_t torch_site(void)
{
    struct pymodules_found module;
    return (uint32_t)site_here(&module);
}

/* Where no frame of a module stands, a backward is of the module whose forward made its node. */
uint32_t torch_site_and_module(uint32_t *module)
{
    struct pymodules_found found;
    uint32_t site = (uint32_t)site_here(&found);
    *module = found.module;
    if (!found.module && (found.in_engine || torch_thread_mine == TORCH_THREAD_ENGINE))
        *module = torch_node_module();
    return site;
}

/* ---- the helper's calls ---- */

void torch_backward_begin(void)
{
    struct caller *mine = my_record();
    if (!mine && torch_thread_mine != TORCH_THREAD_ENGINE)
        torch_node_forget(); /* one that was left by an exception */
    if (!mine)
        mine = new_record();
    if (!mine || mine->depth++ >= TORCH_NESTED)
        return;
    if (mine->depth > 1)
        mine->outer[mine->depth - 2] =
            (struct call){atomic_load(&mine->order), atomic_load(&mine->site)};
    struct pymodules_found module;
    uint64_t site = site_here(&module);
    show(mine, (struct call){atomic_fetch_add(&last_order, 1) + 1, site});
}

void torch_backward_end(void)
{
    struct caller *mine = my_record();
    if (!mine || mine->depth-- > TORCH_NESTED)
        return;
    if (mine->depth) {
        show(mine, mine->outer[mine->depth - 1]);
        return;
    }
    atomic_store(&mine->order, 0);
    atomic_store(&mine->owner, NULL);
}

void torch_backward_forget(void)
{
    for (uint32_t i = 0; i < TORCH_CALLERS; i++) {
        atomic_store(&callers[i].order, 0);
        callers[i].depth = 0;
        atomic_store(&callers[i].owner, NULL);
    }
}

bool torch_site_is_valid(void)
{
    uint32_t seen = atomic_load(&callers_seen);
    for (uint32_t i = 0; i < TORCH_CALLERS; i++) {
        struct caller *caller = &callers[i];
        bool used = atomic_load(&caller->owner) != NULL;
        uint64_t order = atomic_load(&caller->order);
        uint32_t outer = caller->depth < TORCH_NESTED ? caller->depth : TORCH_NESTED;
        if (used != (caller->depth > 0) || used != (order > 0) || (used && i >= seen) ||
            order > atomic_load(&last_order))
            return false;
        for (uint32_t k = 0; k + 1 < outer; k++)
            if (caller->outer[k].order >= (k + 2 < outer ? caller->outer[k + 1].order : order))
                return false;
    }
    return true;
}
