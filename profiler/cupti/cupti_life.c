/* cupti_life.c - see cupti_life.h. */
#include "cupti_life.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cupti_buffers.h"
#include "cupti_api.h"
#include "cupti_ask.h"
#include "cupti_callback.h"
#include "cupti_caller.h"
#include "cupti_device.h"
#include "cupti_late.h"
#include "cupti_live.h"
#include "cupti_sample.h"
#include "cupti_start.h"
#include "guest.h"
#include "intern.h"
#include "fork_lock.h"
#include "gap.h"
#include "notes.h"
#include "occasion.h"

#define NAME_YIELDED "cupti: torch.profiler"
#define NAME_FATAL "cupti: " GAP_FATAL
#define RETRY_NS (20 * NS_PER_MS)
#define RETRY_MOST_NS (5 * NS_PER_S)
#define PATIENCE 3 /* refusals in a row: CUPTI is kept */
#define BESIDE_NS NS_PER_S
#define BESIDE_MOST_NS (60 * NS_PER_S)

static _Atomic uint32_t life; /* enum cupti_life */
static _Atomic uint32_t contexts;
static _Atomic bool fatal;
static _Atomic uint32_t at_work; /* the lock of whoever changes the life after the start */
static _Atomic uint64_t retry_at, retry_wait;
static uint32_t refusals; /* in a row; under at_work */

enum cupti_life cupti_life(void)
{
    return (enum cupti_life)atomic_load(&life);
}

bool cupti_is_here(void)
{
    return guest.page && atomic_load_explicit(&guest.page->has_cupti, memory_order_relaxed);
}

/* A child of a fork finds none: its parent's end in the parent. */
static uint32_t yields(void)
{
    return guest.page ? atomic_load(&guest.page->cupti_yields) : 0;
}

static bool is_listening(void)
{
    uint32_t now = atomic_load(&life);
    return now == CUPTI_ON || now == CUPTI_BESIDE;
}

/* ---- start ---- */

static void flush(bool forced)
{
    if (atomic_load(&contexts) && !atomic_load(&fatal))
        activity_flush(true, forced);
}

static void say_lost(void)
{
    struct activity_lost lost = activity_lost();
    if (lost.dropped)
        notes_why_not_here("cupti: records of kernels, copies or memory were dropped");
    if (lost.unread)
        notes_why_not_here("cupti: records could not be read to the end of their buffer");
    if (lost.timeless)
        notes_why_not_here("cupti: records of kernels or copies came without a time");
    if (lost.strayed)
        notes_why_not_here("cupti: records went into the buffers of another tool in the program");
    if (late_lost())
        notes_why_not_here("cupti: more memory records came than there was room for");
    if (callback_lost())
        notes_why_not_here("cupti: calls of the driver were begun whose ends were never reported");
    if (live_missed())
        notes_why_not_here("cupti: what calls did could not be noted in time");
    if (ask_is_due())
        notes_why_not_here("cupti: what was freed while torch.profiler ran is not known");
}

/* CUPTI's threads may still be there, and the program's: nothing is taken down. But what CUDA takes
 * down from here on is no longer heard: the end of a process gives nothing back that the program
 * had given back, and what lived to its end is to be seen as living. */
static void at_exit(void)
{
    if (!cupti_is_here())
        return;
    if (guest_live() && !atomic_load(&fatal) && atomic_load(&contexts))
        sample_take(true); /* what a program without phases leaves off with */
    if (is_listening())
        flush(true);
    if (atomic_load(&life) == CUPTI_RETURNING)
        notes_why_not_here("cupti: torch.profiler did not let go of it; TEARDOWN_CUPTI=1 makes it");
    say_lost();
    if (guest_live())
        notes_send();
    cupti_listen(false);
    atomic_store(&guest.page->has_cupti, 0);
}

/* What came of an attempt; the source is begun already. */
static void settle(enum start_result result)
{
    bool beside = result == START_BESIDE;
    bool on = result == START_CALLBACKS || result == START_RECORDS || beside;
    if (on)
        notes_live_here(start_text());
    else
        notes_why_not_here(start_text());
    if (beside)
        notes_why_not_here("cupti: while torch.profiler kept it, mapped, imported, graphs' and "
                           "registered memory was not observed; TEARDOWN_CUPTI=1 makes it let go");
    if (result == START_RECORDS || beside)
        atomic_store(&contexts, 1); /* nobody says how many there are */
    atomic_store(&life, beside ? CUPTI_BESIDE : on ? CUPTI_ON : CUPTI_OFF);
    atomic_store(&guest.page->has_cupti, on);
    cupti_listen(on);
    notes_send();
}

static bool is_turned_off(void)
{
    const char *given = getenv("TIDEMARK_CUPTI");
    return given && strcmp(given, "0") == 0;
}

static void emit_gap(const char *name, bool begins)
{
    struct event event = {.kind = EVENT_GAP, .name = intern_string(name), .a = begins};
    guest_emit(&event);
}

/* Under at_work, or where nobody has it: CUPTI is let go of. */
static void let_go(void)
{
    emit_gap(NAME_YIELDED, true);
    start_end();
    live_forget_pools();
    atomic_store(&life, CUPTI_YIELDED);
}

static bool take_work(void)
{
    return cupti_is_here() && guest_live() && fork_lock_take(&at_work) != FORK_LOCK_NOT_HELD;
}

/* A profiler may have begun while its yield could not have the lock: whoever had it lets go. */
static void let_go_if_wanted(void)
{
    if (yields() && is_listening())
        let_go();
}

int InitializeInjection(void)
{
    uint32_t none = CUPTI_NONE;
    int saved = errno;
    if (guest.page && !is_turned_off() && guest_live() &&
        atomic_compare_exchange_strong(&life, &none, CUPTI_STARTING)) {
        atomic_store(&guest.page->has_cupti, 1);
        atomic_store(&guest.page->cuda_called, 1);
        caller_start();
        driver_api_find();
        atexit(at_exit);
        atexit(cupti_say_why_not); /* while the driver can still be asked */
        if (yields()) {            /* torch.profiler is what starts CUDA */
            emit_gap(NAME_YIELDED, true);
            atomic_store(&life, CUPTI_YIELDED);
            cupti_listen(true);
        } else {
            settle(start_begin());
            if (yields() && take_work()) {
                let_go_if_wanted();
                fork_lock_give(&at_work);
            }
        }
    }
    errno = saved;
    return 1;
}

/* ---- yielding ---- */

void cupti_yield(void)
{
    if (cupti_api_is_shared())
        return;
    if (guest.page)
        atomic_fetch_add(&guest.page->cupti_yields, 1);
    if (!cupti_is_here() || !guest_live())
        return;
    if (!take_work()) {
        notes_why_not_here("cupti: torch.profiler began before CUPTI could be let go of");
        return;
    }
    let_go_if_wanted();
    if (atomic_load(&life) == CUPTI_RETURNING)
        atomic_store(&life, CUPTI_YIELDED);
    fork_lock_give(&at_work);
}

/* Contexts that came while nobody told of them: one is enough to be looked at. */
static void find_context(void)
{
    const void *context = NULL;
    if (!atomic_load(&contexts) && driver_api.context && driver_api.context(&context) == 0 &&
        context)
        cupti_contexts(device_context_created(context));
}

static void wait_longer(uint64_t most)
{
    uint64_t wait = atomic_load(&retry_wait);
    atomic_store(&retry_at, clock_now_ns() + wait);
    atomic_store(&retry_wait, 2 * wait < most ? 2 * wait : most);
}

/* Nobody listened: what was under way has ended, and what went is asked for before the gap ends. */
static void arrive(enum start_result result)
{
    live_settle();
    ask_soon();
    emit_gap(NAME_YIELDED, false);
    settle(result);
    find_context();
    sample_soon();
    atomic_store(&retry_wait, BESIDE_NS);
    wait_longer(BESIDE_MOST_NS);
}

/* It lets go at a call of CUDA's in another thread, and ends CUPTI for all: no records are to be on
 * then. */
static bool is_to_let_go(void)
{
    const char *given = getenv("TEARDOWN_CUPTI");
    return given && strcmp(given, "1") == 0;
}

/* The other tool may let go only at the next call of CUDA's, or never: asked again at later points,
 * ever more seldom. */
static void come_back(void)
{
    if (yields()) { /* the next profiler has begun meanwhile */
        atomic_store(&life, CUPTI_YIELDED);
        return;
    }
    enum start_result result = start_again();
    if (result == START_CALLBACKS || result == START_RECORDS)
        arrive(result);
    else if (result == START_NO_LIBRARY)
        settle(result);
    else if (++refusals >= PATIENCE && !is_to_let_go() && start_beside())
        arrive(START_BESIDE);
    else
        wait_longer(RETRY_MOST_NS);
    let_go_if_wanted();
}

/* Memory that no record tells of may be gone: that is asked for, too. */
static void change_over(void)
{
    if (yields()) {
        let_go();
        return;
    }
    enum start_result result = start_over();
    if (result == START_CALLBACKS)
        settle(result);
    else
        wait_longer(BESIDE_MOST_NS);
    ask_soon();
    let_go_if_wanted();
}

void cupti_lose_for_test(void)
{
    atomic_store(&guest.page->cupti_yields, 0);
}

static void start_returning(void)
{
    atomic_store(&life, CUPTI_RETURNING);
    atomic_store(&retry_wait, RETRY_NS);
    refusals = 0;
}

void cupti_return(void)
{
    uint32_t open = yields();
    while (open && !atomic_compare_exchange_weak(&guest.page->cupti_yields, &open, open - 1))
        ;
    if (open != 1 || !take_work())
        return;
    if (atomic_load(&life) == CUPTI_YIELDED) {
        start_returning();
        come_back();
    }
    fork_lock_give(&at_work);
}

void cupti_hasten(void)
{
    atomic_store(&retry_at, 0);
}

static void try_to_return(void)
{
    if (clock_now_ns() < atomic_load(&retry_at) || !take_work())
        return;
    if (atomic_load(&life) == CUPTI_YIELDED && !yields())
        start_returning(); /* the lock could not be had when it was told */
    if (atomic_load(&life) == CUPTI_RETURNING)
        come_back();
    else if (atomic_load(&life) == CUPTI_BESIDE)
        change_over();
    fork_lock_give(&at_work);
}

/* ---- occasions ---- */

static bool may_sample(void)
{
    return cupti_is_here() && guest_live() && !atomic_load(&fatal) && atomic_load(&contexts);
}

static void look(void)
{
    int saved = errno;
    if (may_sample())
        sample_take(false);
    errno = saved;
}

static void look_at_block(void)
{
    int saved = errno;
    if (may_sample())
        sample_take_at_block();
    errno = saved;
}

static void do_at_point(void)
{
    if (!cupti_is_here() || !guest_live() || atomic_load(&fatal))
        return;
    uint32_t now = atomic_load(&life);
    if (now == CUPTI_RETURNING || now == CUPTI_BESIDE || (now == CUPTI_YIELDED && !yields()))
        try_to_return();
    if (!is_listening())
        return;
    ask_if_due();
    if (atomic_load(&contexts))
        activity_flush(false, false);
}

static void point(void)
{
    int saved = errno;
    do_at_point();
    errno = saved;
}

void cupti_listen(bool listens)
{
    static const struct occasion_listener listener = {look, look_at_block, point};
    if (listens)
        occasion_listen(&listener);
    else
        occasion_leave(&listener);
}

void cupti_fatal(void)
{
    if (atomic_exchange(&fatal, true))
        return;
    emit_gap(NAME_FATAL, true); /* it never ends */
    atomic_store(&life, CUPTI_OFF);
    cupti_listen(false);
    notes_why_not_here("cupti: ended by a fatal error of CUDA's");
    notes_send();
}

void cupti_contexts(uint32_t count)
{
    atomic_store(&contexts, count);
}

void cupti_context_goes(void)
{
    if (atomic_load(&life) == CUPTI_ON)
        flush(false);
}
