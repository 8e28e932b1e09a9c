/*
 * pyframes.c - from the thread's frames to a site number: see pyframes.h. The way of a known stack
 * is short and takes no lock; a new one is read frame by frame, its names are interned, and the
 * table remembers the number. The thread's frames, and so their code objects, live as long as it
 * is in here.
 */
#include "pyframes.h"

#include <errno.h>
#include <string.h>

#include "guest.h"
#include "intern.h"
#include "pyframes_life.h"
#include "pyframes_table.h"
#include "pyframes_text.h"
#include "pyframes_walk.h"

static uint32_t intern_text(const void *object)
{
    char text[PYFRAMES_TEXT];
    size_t bytes = pyframes_text(&pyframes.python.layout, object, text, sizeof text);
    return intern(ARENA_STRING, text, bytes);
}

static uint32_t intern_frame(const struct pyframes_frame *read)
{
    const struct pyframes_layout *layout = &pyframes.python.layout;
    uint16_t name = layout->qualified ? layout->qualified : layout->name;
    struct arena_frame frame = {.line = read->line};
    frame.function = intern_text(pyframes_pointer(read->code, name));
    frame.file = intern_text(pyframes_pointer(read->code, layout->file));
    return frame.function && frame.file ? intern(ARENA_FRAME, &frame, sizeof frame) : 0;
}

/* The helper's wrappers around a module's call, an optimizer's step and the autograd engine stand
 * in every stack; nobody asks for them. Its files are all named like tidemark/_marks.py, in the
 * folder beside the library as in site-packages. */
static bool is_helper(const struct pyframes_frame *read)
{
    static const char mark[] = "/tidemark/_";
    char text[PYFRAMES_TEXT];
    const struct pyframes_layout *layout = &pyframes.python.layout;
    size_t bytes =
        pyframes_text(layout, pyframes_pointer(read->code, layout->file), text, sizeof text);
    size_t at = bytes;
    for (int slashes = 0; at > 0; at--) {
        slashes += text[at - 1] == '/';
        if (slashes == 2)
            break;
    }
    return at > 0 && bytes - at + 1 >= sizeof mark - 1 &&
           memcmp(text + at - 1, mark, sizeof mark - 1) == 0;
}

/* The place of the stack; 0 with *known false if it could not be stored. */
static uint64_t intern_stack(const struct pyframes_frame *frames, int count, bool *known)
{
    uint32_t numbers[ARENA_MAX_DEPTH];
    uint32_t shown = 0;
    uint64_t site = 0;
    *known = true;
    for (int i = 0; i < count && *known; i++) {
        if (frames[i].hidden || is_helper(&frames[i]))
            continue;
        numbers[shown] = intern_frame(&frames[i]);
        *known = numbers[shown++] != 0;
    }
    if (*known && shown) {
        site = intern_place(ARENA_SITE, numbers, shown * sizeof *numbers);
        *known = site != 0;
    }
    return site;
}

/* What the table has of a stack for which the arena had no room. */
#define PYFRAMES_NO_ROOM UINT64_MAX

/* A stack may have no frame that is shown. */
static enum pyframes_found found(uint64_t site)
{
    if (site == PYFRAMES_NO_ROOM)
        return PYFRAMES_UNREAD;
    return site ? PYFRAMES_FOUND : PYFRAMES_NONE;
}

static bool arena_is_full(void)
{
    return atomic_load_explicit(&guest.ring->shared->arena_full, memory_order_relaxed) != 0;
}

static __attribute__((noinline)) enum pyframes_found name_stack(const struct pyframes_stack *stack,
                                                                const void *state, uint64_t *site)
{
    struct pyframes_frame frames[ARENA_MAX_DEPTH];
    const void *codes[ARENA_MAX_DEPTH];
    const char *wrong = NULL;
    bool known;
    int count = pyframes_read(&pyframes.python, state, frames, false, &wrong);
    if (count < 0 || (uint32_t)count != stack->depth) {
        pyframes_turn_off(wrong ? wrong : "a stack changed while it was read");
        return PYFRAMES_UNREAD;
    }
    bool passing = false;
    for (int i = 0; i < count; i++) {
        codes[i] = frames[i].code;
        passing |= frames[i].passing;
    }
    *site = intern_stack(frames, count, &known);
    struct pyframes_known now = {known ? *site : PYFRAMES_NO_ROOM,
                                 pymodules_way(&pyframes.python, state)};
    if ((known || arena_is_full()) && !passing)
        pyframes_table_add(stack, codes, now);
    return known ? found(*site) : PYFRAMES_UNREAD;
}

/* The first stacks are read with care before they are walked. */
static __attribute__((noinline)) bool try_carefully(const void *state)
{
    struct pyframes_frame frames[ARENA_MAX_DEPTH];
    const char *wrong = NULL;
    if (pyframes_read(&pyframes.python, state, frames, true, &wrong) < 0) {
        pyframes_turn_off(wrong);
        return false;
    }
    int32_t left = atomic_load(&pyframes.trials);
    if (left > 0)
        atomic_compare_exchange_strong(&pyframes.trials, &left, left - 1);
    return true;
}

static enum pyframes_found capture(struct pyframes_here *here)
{
    struct pyframes_stack stack;
    const void *state = pyframes.python.this_state();
    if (!state)
        return PYFRAMES_NONE;
    if (atomic_load_explicit(&pyframes.trials, memory_order_relaxed) > 0 && !try_carefully(state))
        return PYFRAMES_UNREAD;
    pyframes_walk(&pyframes.python.layout, state, &stack);
    if (stack.depth == 0)
        return PYFRAMES_NONE;
    struct pyframes_known known;
    if (__builtin_expect(pyframes_table_find(&stack, &known), 1)) {
        here->site = known.site;
        if (known.way)
            here->module = pymodules_go(&pyframes.python, state, known.way);
        return found(here->site);
    }
    here->module = pymodules_look(&pyframes.python, state);
    int saved = errno;
    pyframes_ask_for_call();
    enum pyframes_found result =
        pyframes_is_guarded() ? name_stack(&stack, state, &here->site) : PYFRAMES_UNREAD;
    errno = saved;
    return result;
}

static bool table_is_current(void)
{
    return atomic_load_explicit(&pyframes.generation, memory_order_relaxed) ==
               atomic_load_explicit(&guest.generation, memory_order_relaxed) &&
           !atomic_load_explicit(&pyframes_table_stale, memory_order_relaxed);
}

/* Where captures do not work: without an interpreter, or after it has ended, no thread has frames.
 */
static enum pyframes_found no_capture(void)
{
    return pyframes_why_not() ? PYFRAMES_UNREAD : PYFRAMES_NONE;
}

enum pyframes_found pyframes_look(struct pyframes_here *here)
{
    here->module = (struct pymodules_found){0, false};
    if (atomic_load_explicit(&pyframes.state, memory_order_relaxed) != PYFRAMES_READY &&
        !pyframes_start())
        return no_capture();
    if (__builtin_expect(!table_is_current(), 0) && !pyframes_renew())
        return PYFRAMES_UNREAD;
    if (!pyframes_enter())
        return no_capture();
    enum pyframes_found result = capture(here);
    pyframes_leave();
    return result;
}

uint32_t pyframes_site(void)
{
    struct pyframes_here here;
    return pyframes_look(&here) == PYFRAMES_FOUND ? (uint32_t)here.site : 0;
}

/* Not before a stack was read with care: the same interpreter's frames. */
struct pymodules_found pyframes_module(void)
{
    struct pymodules_found found = {0, false};
    if (atomic_load_explicit(&pyframes.state, memory_order_relaxed) != PYFRAMES_READY ||
        !pyframes_enter())
        return found;
    const void *state = pyframes.python.this_state();
    if (state)
        found = pymodules_look(&pyframes.python, state);
    pyframes_leave();
    return found;
}
