/*
 * pyapi.c - what the Python helper (python/tidemark/_native.py) calls, through ctypes or, what is
 * frequent, through pymethod.c.
 *
 * Few functions, integers only but for names, no result that could be an error: each is one event,
 * or nothing when nobody records. They are called with the GIL held, where there is one, and take
 * no time that matters beside the call itself.
 */
#include <stddef.h>

#include "cupti_source.h"
#include "guest.h"
#include "here.h"
#include "intern.h"
#include "notes.h"
#include "occasion.h"
#include "open_marks.h"
#include "pyapi.h"
#include "pyboot.h"
#include "pycall.h"
#include "pyframes.h"
#include "pymodules.h"
#include "torch_hook.h"
#include "torch_site.h"
#include "torch_thread.h"

#define PYAPI_VERSION 5u

EXPORT int tidemark_py_attach(uint32_t version, int takes_over);
EXPORT uint32_t tidemark_py_string(const char *text);
EXPORT uint32_t tidemark_py_heap(int32_t kind, int32_t index);
EXPORT void tidemark_py_forked(void);
EXPORT int tidemark_py_is_engine(void);
EXPORT uint32_t *tidemark_py_inner(void);
EXPORT int tidemark_py_shorten(void *wrapper, void *original, pycall_function *plain,
                               pycall_set *set, uint32_t head);
EXPORT int tidemark_py_modules(const void *forward, const void *call, const void *engine,
                               const void *first_local);
EXPORT uint32_t tidemark_py_module(uint64_t object, const char *path, const char *class_name);
EXPORT void tidemark_py_module_gone(uint64_t object);
EXPORT _Atomic uint32_t *tidemark_py_modules_unknown(void);
EXPORT _Atomic uint32_t *tidemark_py_recording(void);
EXPORT void tidemark_py_tag(uint64_t place, uint64_t addr, uint64_t bytes, uint32_t heap,
                            uint32_t category, uint32_t name);
EXPORT void tidemark_py_phase(int begins, uint32_t name, int failed);
EXPORT void tidemark_py_step(uint64_t number);
EXPORT void tidemark_py_over(void);
EXPORT void tidemark_py_mark(uint32_t name, int64_t value);
EXPORT void tidemark_py_held(uint32_t name, int64_t value);
EXPORT uint32_t tidemark_py_pool(int32_t kind, int32_t index, uint64_t pool);
EXPORT void tidemark_py_profiler(int begins);
EXPORT void tidemark_py_setting(const char *text);
EXPORT void tidemark_py_note(const char *text, int why_not);
EXPORT int tidemark_py_watch(void);
EXPORT uint32_t tidemark_py_watched(struct watched *out, uint32_t max);

static bool live(void)
{
    return guest.page && guest_live();
}

/* For what the program itself calls: package tidemark, beside its helpers. */
static bool live_for_program(void)
{
    return guest.page && guest_live_for_api();
}

/* 1: recorded, 0: not, -1: another version of the helper. `takes_over` says that the helper has
 * installed itself in torch. */
int tidemark_py_attach(uint32_t version, int takes_over)
{
    if (version != PYAPI_VERSION)
        return -1;
    if (takes_over) {
        torch_hook_bind();
        pyboot_arrived();
    }
    return live();
}

uint32_t tidemark_py_string(const char *text)
{
    return live() ? intern_string(text) : 0;
}

uint32_t tidemark_py_heap(int32_t kind, int32_t index)
{
    struct arena_heap heap = {.device_kind = kind, .device_index = index};
    return live() ? intern(ARENA_HEAP, &heap, sizeof heap) & EVENT_MAX_HEAP : 0;
}

static __thread struct open_marks entered, begun;

void tidemark_py_enter(uint32_t mark, uint64_t identity, uint64_t flags, uint32_t name)
{
    if (!live())
        return;
    notes_send();
    struct event event = {
        .word = open_marks_begin(&entered),
        .kind = EVENT_ENTER,
        .name = name,
        .size = mark,
        .a = identity,
        .b = flags,
    };
    guest_emit(&event);
}

void tidemark_py_exit(uint32_t mark, uint64_t identity, uint64_t flags, int failed)
{
    uint32_t recording;
    if (!live() || !open_marks_end(&entered, &recording))
        return;
    occasion_look();
    struct event event = {
        .word = recording,
        .kind = EVENT_EXIT,
        .flags = failed ? EVENT_F_EXCEPTION : 0,
        .size = mark,
        .a = identity,
        .b = flags,
    };
    guest_emit(&event);
    occasion_point();
}

/* Of each backward call, also of those that are no marks because they nest. */
void tidemark_py_backward(int begins)
{
    if (!here_stacks)
        return;
    if (!begins)
        torch_backward_end(); /* also where the recording ended meanwhile */
    else if (live())
        torch_backward_begin();
}

void tidemark_py_forked(void)
{
    torch_backward_forget();
}

/* Whether the calling thread is one of the autograd engine. */
int tidemark_py_is_engine(void)
{
    return torch_thread_look() == TORCH_THREAD_ENGINE;
}

uint32_t *tidemark_py_inner(void)
{
    return pycall_inner_here();
}

int tidemark_py_shorten(void *wrapper, void *original, pycall_function *plain, pycall_set *set,
                        uint32_t head)
{
    return pycall_shorten(wrapper, original, plain, set, head);
}

/* Of modules from here on; called by a function whose first argument is `first_local`, which it
 * also has in a cell, or not. 0: they cannot be found in this interpreter. */
int tidemark_py_modules(const void *forward, const void *call, const void *engine,
                        const void *first_local)
{
    struct pymodules_marks marks = {forward, call, engine};
    return here_stacks && live() && pyframes_start() && pymodules_begin(&marks, first_local);
}

/* What the module at an address is called; 0: it could not be stored. */
uint32_t tidemark_py_module(uint64_t object, const char *path, const char *class_name)
{
    if (!live())
        return 0;
    struct arena_module module = {intern_string(path), intern_string(class_name)};
    uint32_t number =
        module.path && module.class_name ? intern(ARENA_MODULE, &module, sizeof module) : 0;
    return number && pymodules_put(object, number) ? number : 0;
}

void tidemark_py_module_gone(uint64_t object)
{
    pymodules_drop(object);
}

_Atomic uint32_t *tidemark_py_modules_unknown(void)
{
    return pymodules_unknown();
}

/* Counts rings: a list that was told to another one is not known. */
_Atomic uint32_t *tidemark_py_recording(void)
{
    return &guest.generation;
}

static void tag(uint32_t recording, uint64_t at, const struct place *place)
{
    if (place->category <= CATEGORY_NONE || place->category >= CATEGORY_COUNT || !live())
        return;
    struct event event = {
        .word = recording,
        .kind = EVENT_TAG,
        .heap = (uint32_t)place->heap & EVENT_MAX_HEAP,
        .name = (uint32_t)place->name,
        .addr = place->addr,
        .size = place->bytes,
        .a = place->category,
        .b = at,
    };
    guest_emit(&event);
}

/* `at`: list << 32 | place + 1, or 0 for a tag that holds at once. */
void tidemark_py_tag(uint64_t at, uint64_t addr, uint64_t bytes, uint32_t heap, uint32_t category,
                     uint32_t name)
{
    tag(0, at, &(struct place){addr, bytes, heap, category, name});
}

static bool same_place(const struct place *a, const struct place *b)
{
    if (!a->addr || !b->addr)
        return a->addr == b->addr;
    return a->addr == b->addr && a->bytes == b->bytes && a->heap == b->heap &&
           a->category == b->category && a->name == b->name;
}

/* All places of a list, beside what was sent of them: what differs is sent. A place that becomes
 * empty is sent as what it was, with no address and no bytes. `recording` is the only one that this
 * is for, 0: any; another one has not been told of what was sent before. */
void tidemark_py_places(uint32_t list, const struct place *now, const struct place *sent,
                        uint32_t count, uint32_t recording)
{
    for (uint32_t i = 0; i < count; i++) {
        struct place is = now[i].addr ? now[i] : sent[i];
        if (same_place(&now[i], &sent[i]) || (!now[i].addr && !sent[i].addr))
            continue;
        if (!now[i].addr)
            is.addr = is.bytes = 0;
        tag(recording, (uint64_t)list << 32 | (i + 1), &is);
    }
}

/* `recording` as above. */
void tidemark_py_hold(uint32_t list, uint32_t recording)
{
    if (!live())
        return;
    pyframes_note_why_not(); /* once a step or so: soon enough */
    struct event event = {.word = recording, .kind = EVENT_TAGS_HOLD, .a = list};
    guest_emit(&event);
}

void tidemark_py_phase(int begins, uint32_t name, int failed)
{
    uint32_t recording;
    if (!live_for_program())
        return;
    if (begins)
        recording = open_marks_begin(&begun);
    else if (!open_marks_end(&begun, &recording))
        return;
    if (!begins)
        occasion_look();
    struct event event = {
        .word = recording,
        .kind = begins ? EVENT_PHASE_BEGIN : EVENT_PHASE_END,
        .flags = failed ? EVENT_F_EXCEPTION : 0,
        .name = name,
    };
    guest_emit(&event);
    if (!begins)
        occasion_point();
}

void tidemark_py_step(uint64_t number)
{
    if (!live_for_program())
        return;
    occasion_look();
    struct event event = {.kind = EVENT_STEP_BEGIN, .a = number};
    guest_emit(&event);
    occasion_point();
}

/* The interpreter is about to take its modules down. */
void tidemark_py_over(void)
{
    if (!live())
        return;
    occasion_look();
    occasion_point();
    cupti_say_why_not();
    struct event event = {.kind = EVENT_STEP_END, .a = 1};
    guest_emit(&event);
}

static void mark(uint32_t name, int64_t value)
{
    struct event event = {.kind = EVENT_MARK, .name = name, .a = (uint64_t)value};
    guest_emit(&event);
}

void tidemark_py_mark(uint32_t name, int64_t value)
{
    if (live_for_program())
        mark(name, value);
}

/* What holds a tensor as the program ends: a mark that the program did not set itself. */
void tidemark_py_held(uint32_t name, int64_t value)
{
    if (live())
        mark(name, value);
}

/* The heap of a device and a pool, without a stream. */
uint32_t tidemark_py_pool(int32_t kind, int32_t index, uint64_t pool)
{
    struct arena_heap heap = {.device_kind = kind, .device_index = index, .pool = pool};
    return live() ? intern(ARENA_HEAP, &heap, sizeof heap) & EVENT_MAX_HEAP : 0;
}

void tidemark_py_history(uint32_t action, uint32_t heap, uint64_t addr, uint64_t bytes, uint64_t ns)
{
    if (!live())
        return;
    struct event event = {
        .kind = EVENT_HISTORY,
        .heap = heap & EVENT_MAX_HEAP,
        .addr = addr,
        .size = bytes,
        .a = ns,
        .b = action,
    };
    guest_emit(&event);
}

/* torch.profiler begins, and has ended. */
void tidemark_py_profiler(int begins)
{
    if (begins)
        cupti_yield();
    else
        cupti_return();
}

void tidemark_py_setting(const char *text)
{
    if (!live())
        return;
    struct event event = {
        .kind = EVENT_MARK, .flags = EVENT_F_SETTING, .name = intern_string(text)};
    guest_emit(&event);
}

void tidemark_py_note(const char *text, int why_not)
{
    if (why_not)
        notes_why_not(text);
    else
        notes_live(text);
    if (live())
        notes_send();
}

int tidemark_py_watch(void)
{
    return torch_watch_begin();
}

uint32_t tidemark_py_watched(struct watched *out, uint32_t max)
{
    uint32_t count = torch_watch_end(out, max);
    if (live())
        notes_send();
    return count;
}
