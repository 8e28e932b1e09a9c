/* pymodules.c - see pymodules.h: open addressing by the object's address, 0 = empty, 1 = was taken
 * out. */
#include "pymodules.h"

#include <stddef.h>
#include <sys/mman.h>

#include "arena.h"
#include "pyframes_life.h"

enum { FIRST_CAPACITY = 1024, GONE = 1, TAGGED_INT = 3 };

struct entry {
    _Atomic uint64_t object;
    _Atomic uint32_t number;
};

struct table {
    uint64_t capacity; /* a power of two */
    struct entry entry[];
};

static _Atomic(struct table *) table;
static uint32_t used; /* entries that are not empty */
static _Atomic uint32_t living;
static struct pymodules_marks marks;
static _Atomic bool begun;
static _Atomic uint32_t unknown;

/* ---- the table ---- */

static uint64_t home_of(const struct table *in, uint64_t object)
{
    uint64_t hash = (object >> 4) * 0x9e3779b97f4a7c15ull;
    return (hash ^ hash >> 32) & (in->capacity - 1);
}

static struct entry *entry_of(struct table *in, uint64_t object)
{
    for (uint64_t at = home_of(in, object);; at = (at + 1) & (in->capacity - 1)) {
        uint64_t key = atomic_load_explicit(&in->entry[at].object, memory_order_acquire);
        if (key == object)
            return &in->entry[at];
        if (!key)
            return NULL;
    }
}

uint32_t pymodules_find(uint64_t object)
{
    struct table *in = atomic_load_explicit(&table, memory_order_acquire);
    struct entry *entry = in && object > GONE ? entry_of(in, object) : NULL;
    return entry ? atomic_load_explicit(&entry->number, memory_order_relaxed) : 0;
}

/* Of an object that is not in it: into the first place that is empty, or whose object is gone. */
static void enter(struct table *in, uint64_t object, uint32_t number)
{
    uint64_t at = home_of(in, object), there;
    while ((there = atomic_load_explicit(&in->entry[at].object, memory_order_relaxed)) > GONE)
        at = (at + 1) & (in->capacity - 1);
    atomic_store_explicit(&in->entry[at].number, number, memory_order_relaxed);
    atomic_store_explicit(&in->entry[at].object, object, memory_order_release);
    used += there != GONE;
}

static struct table *new_table(uint64_t capacity)
{
    size_t bytes = sizeof(struct table) + capacity * sizeof(struct entry);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    struct table *made = memory;
    made->capacity = capacity;
    return made;
}

/* The next table takes over what lives. */
static struct table *with_room(void)
{
    struct table *old = atomic_load_explicit(&table, memory_order_relaxed);
    if (old && used < old->capacity / 2)
        return old;
    struct table *next = new_table(old ? old->capacity * 2 : FIRST_CAPACITY);
    if (!next)
        return NULL;
    used = 0;
    for (uint64_t i = 0; old && i < old->capacity; i++) {
        uint64_t object = atomic_load_explicit(&old->entry[i].object, memory_order_relaxed);
        if (object > GONE)
            enter(next, object, atomic_load_explicit(&old->entry[i].number, memory_order_relaxed));
    }
    atomic_store_explicit(&table, next, memory_order_release);
    return next;
}

bool pymodules_put(uint64_t object, uint32_t number)
{
    struct table *in = atomic_load_explicit(&table, memory_order_relaxed);
    struct entry *known = in && object > GONE ? entry_of(in, object) : NULL;
    if (known) {
        atomic_store_explicit(&known->number, number, memory_order_relaxed);
        return true;
    }
    in = object > GONE ? with_room() : NULL;
    if (!in)
        return false;
    enter(in, object, number);
    living++;
    return true;
}

void pymodules_drop(uint64_t object)
{
    struct table *in = atomic_load_explicit(&table, memory_order_relaxed);
    struct entry *known = in && object > GONE ? entry_of(in, object) : NULL;
    if (!known)
        return;
    atomic_store_explicit(&known->object, GONE, memory_order_release);
    living--;
}

_Atomic uint32_t *pymodules_unknown(void)
{
    return &unknown;
}

uint32_t pymodules_count(void)
{
    return atomic_load_explicit(&living, memory_order_relaxed);
}

/* ---- frames ---- */

/* In 3.9 and 3.10 an argument that a nested function uses stands among the cells, and its own place
 * is empty. */
static uint64_t cell_of_first(const struct pyframes_layout *layout, const char *frame,
                              const void *code)
{
    const int64_t *argument =
        layout->cell_arguments ? pyframes_pointer(code, layout->cell_arguments) : NULL;
    uint64_t cells =
        argument ? pyframes_word(pyframes_pointer(code, layout->cell_names), PY_SIZE_OF) : 0;
    uint64_t first = layout->locals + 8ull * (uint32_t)pyframes_int(code, layout->local_count);
    for (uint64_t i = 0; i < cells; i++)
        if (argument[i] == 0)
            return pyframes_word(frame, first + 8 * i);
    return 0;
}

/* The first argument of a frame, or the cell that it is in; 0 = there is none. */
static uint64_t first_argument(const struct pyframes_layout *layout, const char *frame,
                               const void *code)
{
    if (pyframes_int(code, layout->arguments) < 1)
        return 0;
    uint64_t word = pyframes_word(frame, layout->locals);
    if (layout->code_tag && (word & layout->code_tag) == TAGGED_INT)
        return 0;
    word &= ~layout->code_tag;
    return word ? word : cell_of_first(layout, frame, code);
}

static uint64_t content_of(const struct pyframes_python *python, uint64_t object)
{
    const void *cell = (const void *)(uintptr_t)object; /* NOLINT: an address that was read */
    bool is_cell = python->cell_type && pyframes_pointer(cell, PY_TYPE_OF) == python->cell_type;
    return is_cell ? pyframes_word(cell, PY_CELL_CONTENT) : 0;
}

static uint32_t module_of(const struct pyframes_python *python, const char *frame, const void *code)
{
    uint64_t object = first_argument(&python->layout, frame, code);
    uint32_t module = pymodules_find(object);
    return module || !object ? module : pymodules_find(content_of(python, object));
}

static const void *code_of(const struct pyframes_python *python, const char *frame)
{
    const struct pyframes_layout *layout = &python->layout;
    if (layout->position_is_pointer && pyframes_byte(frame, layout->owner) >= layout->shim)
        return NULL;
    uint64_t tagged = pyframes_word(frame, layout->code);
    const void *code = (const void *)(uintptr_t)(tagged & ~layout->code_tag); /* NOLINT */
    return code && pyframes_pointer(code, PY_TYPE_OF) == python->code_type ? code : NULL;
}

bool pymodules_may_stand(const struct pyframes_python *python, const void *state)
{
    bool may = !atomic_load_explicit(&begun, memory_order_acquire);
    const char *frame = pyframes_innermost(&python->layout, state);
    for (uint32_t depth = 0; frame && depth < ARENA_MAX_DEPTH && !may; depth++) {
        const void *code = code_of(python, frame);
        const void *name = code ? pyframes_pointer(code, python->layout.name) : NULL;
        may = code && (code == marks.engine || name == marks.forward || name == marks.call);
        frame = pyframes_pointer(frame, python->layout.previous);
    }
    return may;
}

struct pymodules_found pymodules_look(const struct pyframes_python *python, const void *state)
{
    const struct pyframes_layout *layout = &python->layout;
    struct pymodules_found found = {0, false};
    if (!atomic_load_explicit(&begun, memory_order_acquire))
        return found;
    const char *frame = pyframes_innermost(layout, state);
    for (uint32_t depth = 0; frame && depth < ARENA_MAX_DEPTH && !found.module; depth++) {
        const void *code = code_of(python, frame);
        const void *name = code ? pyframes_pointer(code, layout->name) : NULL;
        found.in_engine = code && code == marks.engine;
        if (found.in_engine)
            break;
        if (name && (name == marks.forward || name == marks.call)) {
            found.module = module_of(python, frame, code);
            if (!found.module && name == marks.call)
                atomic_fetch_add_explicit(&unknown, 1, memory_order_relaxed);
        }
        frame = pyframes_pointer(frame, layout->previous);
    }
    return found;
}

/* ---- the beginning ---- */

/* The innermost frame is the helper's own, and its first argument is `first_local`. */
static bool is_where_it_should_be(const struct pyframes_python *python, const void *first_local)
{
    const void *state = python->this_state();
    const char *frame = state ? pyframes_innermost(&python->layout, state) : NULL;
    const void *code = frame ? code_of(python, frame) : NULL;
    uint64_t wanted = (uint64_t)(uintptr_t)first_local;
    if (!code)
        return false;
    uint64_t object = first_argument(&python->layout, frame, code);
    return object == wanted || (object && content_of(python, object) == wanted);
}

bool pymodules_begin(const struct pymodules_marks *by, const void *first_local)
{
    if (!pyframes_enter())
        return false;
    bool fits = pyframes.python.layout.locals && pyframes.python.cell_type &&
                is_where_it_should_be(&pyframes.python, first_local);
    pyframes_leave();
    if (fits)
        marks = *by;
    atomic_store_explicit(&begun, fits, memory_order_release);
    return fits;
}
