/*
 * pyframes_life.c - see pyframes_life.h.
 *
 * Captures that run are counted in one of several counters, each in a cache line of its own; a
 * thread keeps to one. The end stores the state and then waits until all counters are zero; a
 * capture counts itself and then looks at the state: both orders are total, so one sees the other.
 *
 * The destructor of code objects is wrapped (one store into PyCode_Type): before the memory of a
 * code object is free for another, the table forgets what it knew of it.
 */
#include "pyframes_life.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "futex.h"
#include "guest.h"
#include "here.h"
#include "intern.h"
#include "notes.h"
#include "pyframes.h"
#include "pyframes_api.h"

enum { TRIALS = 8, SELDOM = 1 << 16 };
/* A capture takes microseconds, and longer only where its thread does not get the processor. Who
 * goes on before it has ended frees what it reads. */
#define END_PATIENCE_NS (10000 * (uint64_t)NS_PER_MS)

struct pyframes pyframes;

struct pyframes_counter pyframes_counters[PYFRAMES_COUNTERS];
__thread uint32_t pyframes_my_counter;
static _Atomic uint32_t threads_seen;

static struct pyframes_api api;
static _Atomic bool api_found;
static _Atomic(const char *) why_not;
static void (*_Atomic destroy_code)(void *code); /* the interpreter's own */
static _Atomic uint32_t call_asked;
static uint32_t known_epoch;          /* of intern.h; under the table's lock */
static _Atomic int32_t known_process; /* that last renewed the table */

/* ---- brackets ---- */

uint32_t pyframes_choose_counter(void)
{
    uint32_t number = atomic_fetch_add_explicit(&threads_seen, 1, memory_order_relaxed);
    pyframes_my_counter = 1 + number % PYFRAMES_COUNTERS;
    return pyframes_my_counter;
}

static bool captures_run(void)
{
    for (int i = 0; i < PYFRAMES_COUNTERS; i++)
        if (atomic_load(&pyframes_counters[i].running) > 0)
            return true;
    return false;
}

/* ---- the end ---- */

void pyframes_turn_off(const char *why)
{
    const char *none = NULL;
    atomic_compare_exchange_strong(&why_not, &none, why);
    atomic_store(&pyframes.state, PYFRAMES_OFF);
}

const char *pyframes_why_not(void)
{
    return atomic_load(&why_not);
}

void pyframes_note_why_not(void)
{
    const char *why = pyframes_why_not();
    char text[160] = "stacks: ";
    if (!here_stacks) {
        notes_why_not("stacks: turned off");
    } else if (why) {
        size_t room = sizeof text - sizeof "stacks: ", bytes = strnlen(why, room);
        memcpy(text + sizeof "stacks: " - 1, why, bytes);
        notes_why_not(text);
    }
}

static void end(void)
{
    static _Atomic uint32_t nobody;
    uint64_t deadline = clock_now_ns() + END_PATIENCE_NS;
    uint32_t ready = PYFRAMES_READY;
    int saved = errno;
    atomic_compare_exchange_strong(&pyframes.state, &ready, PYFRAMES_ENDED);
    /* In a child that never captured, counts can only be the parent's. */
    if (atomic_load(&known_process) != (int32_t)syscall(SYS_getpid))
        deadline = 0;
    while (captures_run() && clock_now_ns() < deadline)
        futex_wait(&nobody, 0, NS_PER_MS / 10);
    errno = saved;
}

/* ---- with the interpreter ---- */

static void code_is_destroyed(void *code)
{
    int saved = errno;
    if (atomic_load_explicit(&pyframes.state, memory_order_relaxed) == PYFRAMES_READY)
        pyframes_table_drop(code);
    errno = saved;
    atomic_load_explicit(&destroy_code, memory_order_acquire)(code);
}

static void (*_Atomic *destructor_slot(void *code_type))(void *)
{
    uint64_t at = pyframes_part(&pyframes.python.layout, PY_TYPE_DEALLOC);
    return (void (*_Atomic *)(void *))((char *)code_type + at);
}

bool pyframes_is_guarded(void)
{
    /* A tool that wrapped it again calls us; one that put the interpreter's own back does not. */
    if (atomic_load_explicit(destructor_slot(api.code_type), memory_order_relaxed) !=
        atomic_load_explicit(&destroy_code, memory_order_relaxed))
        return true;
    pyframes_turn_off("another tool took the destructor of code objects back");
    return false;
}

/* In a forked child, and where it was found before, the wrapper is there already. */
static void wrap_destructor(void *code_type)
{
    void (*_Atomic *slot)(void *) = destructor_slot(code_type);
    void (*present)(void *) = atomic_load(slot);
    if (present == code_is_destroyed)
        return;
    atomic_store(&destroy_code, present);
    atomic_store(slot, code_is_destroyed);
}

static int on_main_thread(void *unused)
{
    struct pyframes_frame frames[ARENA_MAX_DEPTH];
    const char *wrong = NULL;
    int saved = errno;
    (void)unused;
    if (pyframes_enter()) {
        void *state = pyframes.python.this_state();
        /* In 3.9 a frame that was traced once keeps the line of that moment. */
        bool compare_lines = pyframes.python.layout.minor > 9;
        int count = state ? pyframes_read(&pyframes.python, state, frames, true, &wrong) : 0;
        int same = count >= 0 ? pyframes_api_compare(&api, frames, count, compare_lines) : -1;
        if (same < 0)
            pyframes_turn_off(wrong ? wrong : "the interpreter itself sees another stack");
        else
            atomic_fetch_add(&pyframes.compared, (uint32_t)same);
        pyframes_leave();
        pyframes_api_at_exit(&api, end);
    }
    errno = saved;
    return 0;
}

void pyframes_ask_for_call(void)
{
    if (!api.add_pending_call || atomic_exchange(&call_asked, 1))
        return;
    if (api.add_pending_call(on_main_thread, NULL) != 0) /* the queue is full */
        atomic_store(&call_asked, 0);
}

/* ---- the start ---- */

static const char *check(struct pyframes_python *python)
{
    const struct pyframes_layout *row = pyframes_layout_of(api.version());
    if (!row)
        return "stacks of this version of Python are not known (3.9 to 3.15 are)";
    python->layout = *row;
    if (pyframes_layout_has_dying_frames(api.version()))
        python->layout.locals = 0; /* no modules: stacks read no locals */
    python->code_type = api.code_type;
    python->cell_type = api.cell_type;
    python->this_state = api.this_state;
    python->is_initialized = api.is_initialized;
    return pyframes_layout_check(&python->layout, api.code_type, api.runtime);
}

/* Under the lock. */
static void seek(void)
{
    if (!atomic_load(&api_found)) {
        if (!pyframes_api_find(&api))
            return;
        atomic_store(&api_found, true);
    }
    if (!api.is_initialized())
        return;
    const char *wrong = check(&pyframes.python);
    if (wrong) {
        pyframes_turn_off(wrong);
        return;
    }
    atomic_store(&pyframes.trials, TRIALS);
    wrap_destructor(api.code_type);
    atomic_store(&pyframes.state, PYFRAMES_READY);
}

/* Looking through all loaded objects costs microseconds: it is done less and less often. */
static bool is_worth_a_look(void)
{
    static _Atomic uint32_t asked;
    if (atomic_load_explicit(&api_found, memory_order_acquire))
        return api.is_initialized();
    uint32_t times = atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed) + 1;
    return (times & (times - 1)) == 0 || times % SELDOM == 0;
}

bool pyframes_start(void)
{
    uint32_t state = atomic_load(&pyframes.state);
    if (state != PYFRAMES_UNSOUGHT || !is_worth_a_look())
        return state == PYFRAMES_READY;
    int saved = errno;
    if (pyframes_lock()) {
        if (atomic_load(&pyframes.state) == PYFRAMES_UNSOUGHT)
            seek();
        pyframes_unlock();
    }
    errno = saved;
    return atomic_load(&pyframes.state) == PYFRAMES_READY;
}

/* ---- rings ---- */

/* Counts that a thread of the parent left in its child will never come down. */
static void notice_fork(void)
{
    int32_t process = (int32_t)syscall(SYS_getpid);
    int32_t before = atomic_exchange(&known_process, process);
    if (before && process != before)
        for (int i = 0; i < PYFRAMES_COUNTERS; i++)
            atomic_store(&pyframes_counters[i].running, 0);
}

bool pyframes_renew(void)
{
    uint32_t generation = atomic_load(&guest.generation);
    bool renewed = false;
    int saved = errno;
    if (pyframes_lock()) {
        if (atomic_load(&pyframes.generation) != generation)
            notice_fork();
        bool stale = atomic_load(&pyframes_table_stale) || known_epoch != intern_epoch();
        if (stale)
            pyframes_table_empty();
        known_epoch = intern_epoch();
        atomic_store(&pyframes.generation, generation);
        pyframes_unlock();
        renewed = true;
    }
    errno = saved;
    return renewed;
}
