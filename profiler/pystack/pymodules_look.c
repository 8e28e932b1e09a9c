/*
 * pymodules_look.c - the module that a stack's frames tell: see pymodules.h.
 *
 * What is kept of a stack that was seen before is its way: how many frames up the first few stand
 * in which a module can be. So a known stack costs one word of one frame and one look into the
 * table.
 */
#include <stddef.h>

#include "arena.h"
#include "pyframes_life.h"
#include "pymodules.h"

/* A way: three numbers of frames up, innermost first, how many of them there are, and: */
enum { WAY_MOST = 3, WAY_BITS = 8, WAY_COUNT_AT = 24 };
#define WAY_TO_ENGINE (1u << 26) /* the last of them is the engine's */
#define WAY_UNKNOWN (1u << 27)   /* all frames are to be looked at */
_Static_assert(ARENA_MAX_DEPTH <= 1u << WAY_BITS, "a number of frames fits");

enum { TAGGED_INT = 3 };

/* What was found to be right: an argument at its place, then one in a cell. */
enum sure { SURE_OF_NOTHING, SURE_OF_PLACES, SURE_OF_CELLS };

static struct pymodules_marks marks;
static _Atomic uint32_t sure; /* enum sure */
static _Atomic uint32_t unknown;

_Atomic uint32_t *pymodules_unknown(void)
{
    return &unknown;
}

static bool begun(void)
{
    return atomic_load_explicit(&sure, memory_order_acquire) == SURE_OF_CELLS;
}

/* ---- a frame ---- */

static const void *code_of(const struct pyframes_python *python, const char *frame)
{
    uint64_t tagged = pyframes_word(frame, python->layout.code);
    const void *code = (const void *)(uintptr_t)(tagged & ~python->layout.code_tag); /* NOLINT */
    return code && pyframes_type_of(&python->layout, code) == python->code_type ? code : NULL;
}

/* The frame itself, or the first one above it that is Python's. */
static const char *shown(const struct pyframes_layout *layout, const char *frame)
{
    while (frame && layout->position_is_pointer &&
           pyframes_byte(frame, layout->owner) >= layout->shim)
        frame = pyframes_pointer(frame, layout->previous);
    return frame;
}

static const char *above(const struct pyframes_layout *layout, const char *frame)
{
    return shown(layout, pyframes_pointer(frame, layout->previous));
}

/* What stands at the place of the first argument; 0: nothing, or no object. */
static uint64_t at_first_place(const struct pyframes_layout *layout, const char *frame)
{
    uint64_t word = pyframes_word(frame, layout->locals);
    bool is_int = layout->code_tag && (word & layout->code_tag) == TAGGED_INT;
    return is_int ? 0 : word & ~layout->code_tag;
}

/* In 3.9 and 3.10 an argument that a nested function uses stands among the cells, and its own place
 * is empty. */
struct cells {
    const int64_t *argument; /* which argument each is */
    const void *names;       /* a tuple of as many */
    uint64_t first;          /* in the frame */
};

static struct cells cells_of(const struct pyframes_layout *layout, const void *code)
{
    struct cells cells = {0};
    if (!layout->cell_arguments)
        return cells;
    cells.argument = pyframes_pointer(code, layout->cell_arguments);
    cells.names = pyframes_pointer(code, layout->cell_names);
    cells.first = layout->locals + 8ull * (uint32_t)pyframes_int(code, layout->local_count);
    return cells;
}

static uint64_t cell_of_first(const struct pyframes_layout *layout, const char *frame,
                              const void *code)
{
    struct cells cells = cells_of(layout, code);
    uint64_t count = cells.argument ? pyframes_size_of(layout, cells.names) : 0;
    for (uint64_t i = 0; i < count; i++)
        if (cells.argument[i] == 0)
            return pyframes_word(frame, cells.first + 8 * i);
    return 0;
}

/* Of a frame with arguments: the first, or the cell that it is in; 0 = there is none. */
static uint64_t first_argument(const struct pyframes_layout *layout, const char *frame)
{
    uint64_t word = at_first_place(layout, frame);
    if (word || !layout->cell_arguments)
        return word;
    return cell_of_first(layout, frame, pyframes_pointer(frame, layout->code));
}

static const void *object_at(uint64_t address)
{
    return (const void *)(uintptr_t)address; /* NOLINT: an address that was read */
}

static uint64_t content_of(const struct pyframes_python *python, uint64_t object)
{
    const void *cell = object_at(object);
    const struct pyframes_layout *layout = &python->layout;
    bool is_cell = pyframes_type_of(layout, cell) == python->cell_type;
    return is_cell ? pyframes_word(cell, pyframes_part(layout, PY_CELL_CONTENT)) : 0;
}

static uint32_t module_of(const struct pyframes_python *python, const char *frame)
{
    uint64_t object = first_argument(&python->layout, frame);
    uint32_t module = pymodules_find(object);
    return module || !object ? module : pymodules_find(content_of(python, object));
}

/* ---- a stack ---- */

enum role { ROLE_NONE, ROLE_FORWARD, ROLE_CALL, ROLE_ENGINE };

static enum role role_of(const struct pyframes_python *python, const char *frame)
{
    const void *code = code_of(python, frame);
    const void *name = code ? pyframes_pointer(code, python->layout.name) : NULL;
    if (code && code == marks.engine)
        return ROLE_ENGINE;
    if (!name || (name != marks.forward && name != marks.call) ||
        pyframes_int(code, python->layout.arguments) < 1)
        return ROLE_NONE;
    return name == marks.call ? ROLE_CALL : ROLE_FORWARD;
}

uint32_t pymodules_way(const struct pyframes_python *python, const void *state)
{
    uint32_t way = 0, count = 0, depth = 0;
    if (!begun())
        return WAY_UNKNOWN;
    const char *frame = shown(&python->layout, pyframes_innermost(&python->layout, state));
    for (; frame && depth < ARENA_MAX_DEPTH && count < WAY_MOST; depth++) {
        enum role role = role_of(python, frame);
        if (role != ROLE_NONE)
            way |= depth << WAY_BITS * count++;
        if (role == ROLE_ENGINE) {
            way |= WAY_TO_ENGINE;
            break;
        }
        frame = above(&python->layout, frame);
    }
    return way | count << WAY_COUNT_AT;
}

static struct pymodules_found look_at_all(const struct pyframes_python *python, const void *state)
{
    struct pymodules_found found = {0, false};
    const char *frame = shown(&python->layout, pyframes_innermost(&python->layout, state));
    for (uint32_t depth = 0; frame && depth < ARENA_MAX_DEPTH && !found.module; depth++) {
        enum role role = role_of(python, frame);
        found.in_engine = role == ROLE_ENGINE;
        if (found.in_engine)
            break;
        if (role != ROLE_NONE)
            found.module = module_of(python, frame);
        if (role == ROLE_CALL && !found.module)
            atomic_fetch_add_explicit(&unknown, 1, memory_order_relaxed);
        frame = above(&python->layout, frame);
    }
    return found;
}

struct pymodules_found pymodules_look(const struct pyframes_python *python, const void *state)
{
    return begun() ? look_at_all(python, state) : (struct pymodules_found){0, false};
}

/* So many frames of Python's above one that is. */
static const char *up(const struct pyframes_layout *layout, const char *frame, uint32_t count)
{
    const uint64_t previous = layout->previous, owner = layout->owner;
    const uint8_t shim = layout->shim;
    if (!layout->position_is_pointer) {
        for (; frame && count; count--)
            frame = pyframes_pointer(frame, previous);
        return frame;
    }
    while (frame && count) {
        frame = pyframes_pointer(frame, previous);
        count -= frame && pyframes_byte(frame, owner) < shim;
    }
    return frame;
}

static __attribute__((noinline)) struct pymodules_found go_on(const struct pyframes_python *python,
                                                              const void *state, uint32_t way)
{
    struct pymodules_found found = {0, false};
    uint32_t count = way >> WAY_COUNT_AT & WAY_MOST;
    const char *first = shown(&python->layout, pyframes_innermost(&python->layout, state));
    for (uint32_t i = 0; i < count; i++) {
        const char *frame = up(&python->layout, first, way >> WAY_BITS * i & (ARENA_MAX_DEPTH - 1));
        found.in_engine = way & WAY_TO_ENGINE && i + 1 == count;
        found.module = frame && !found.in_engine ? module_of(python, frame) : 0;
        if (found.in_engine || found.module)
            return found;
    }
    return pymodules_look(python, state);
}

/* Of a backward: what the engine's frame tells stands in the way already. */
static bool is_only_engine(uint32_t way)
{
    const uint32_t one = 1u << WAY_COUNT_AT | WAY_TO_ENGINE;
    return (way & (WAY_MOST << WAY_COUNT_AT | WAY_TO_ENGINE | WAY_UNKNOWN)) == one;
}

/* Nearly always the first frame tells, and its argument is in no cell. */
struct pymodules_found pymodules_go(const struct pyframes_python *python, const void *state,
                                    uint32_t way)
{
    const struct pyframes_layout *layout = &python->layout;
    if (is_only_engine(way))
        return (struct pymodules_found){0, true};
    if (__builtin_expect(way & WAY_UNKNOWN, 0))
        return pymodules_look(python, state);
    const char *frame = shown(layout, pyframes_innermost(layout, state));
    frame = up(layout, frame, way & (ARENA_MAX_DEPTH - 1));
    uint32_t module = frame ? pymodules_find(at_first_place(layout, frame)) : 0;
    if (__builtin_expect(module != 0, 1))
        return (struct pymodules_found){module, false};
    return go_on(python, state, way);
}

/* ---- the beginning ---- */

static bool stands_at_its_place(const struct pyframes_layout *layout, const char *frame,
                                uint64_t wanted)
{
    return pyframes_can_read(frame, layout->locals + 8ull) &&
           at_first_place(layout, frame) == wanted;
}

static bool cells_can_be_read(const struct pyframes_layout *layout, const char *frame,
                              const void *code)
{
    if (!layout->cell_arguments)
        return true;
    if (!pyframes_can_read(code, layout->cell_arguments + 8ull))
        return false;
    struct cells cells = cells_of(layout, code);
    if (!pyframes_can_read(cells.names, layout->head + 8ull))
        return false;
    uint64_t bytes = 8 * pyframes_size_of(layout, cells.names);
    return bytes <= 8ull * ARENA_MAX_DEPTH && pyframes_can_read(cells.argument, bytes) &&
           pyframes_can_read(frame, cells.first + bytes);
}

static bool stands_in_a_cell(const struct pyframes_python *python, const char *frame,
                             const void *code, uint64_t wanted)
{
    if (!pyframes_can_read(frame, python->layout.locals + 8ull) ||
        !cells_can_be_read(&python->layout, frame, code))
        return false;
    uint64_t cell = first_argument(&python->layout, frame);
    return pyframes_can_read(object_at(cell), python->layout.head + 8ull) &&
           content_of(python, cell) == wanted;
}

/* The innermost frame is the helper's own, and its first argument is `wanted`. */
static bool is_where_it_should_be(const struct pyframes_python *python, uint64_t wanted,
                                  enum sure before)
{
    struct pyframes_frame frames[ARENA_MAX_DEPTH];
    const char *wrong;
    const void *state = python->this_state();
    if (!state || pyframes_read(python, state, frames, true, &wrong) < 1)
        return false;
    const char *frame = shown(&python->layout, pyframes_innermost(&python->layout, state));
    const void *code = code_of(python, frame);
    if (!code || pyframes_int(code, python->layout.arguments) < 1)
        return false;
    return before == SURE_OF_PLACES ? stands_in_a_cell(python, frame, code, wanted)
                                    : stands_at_its_place(&python->layout, frame, wanted);
}

bool pymodules_begin(const struct pymodules_marks *by, const void *first_local)
{
    uint32_t before = atomic_load(&sure) == SURE_OF_PLACES ? SURE_OF_PLACES : SURE_OF_NOTHING;
    if (!pyframes_enter())
        return false;
    bool fits = pyframes.python.layout.locals && pyframes.python.cell_type &&
                is_where_it_should_be(&pyframes.python, (uint64_t)(uintptr_t)first_local, before);
    pyframes_leave();
    if (fits)
        marks = *by;
    atomic_store_explicit(&sure, fits ? before + 1 : SURE_OF_NOTHING, memory_order_release);
    return fits;
}
