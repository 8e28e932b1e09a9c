/*
 * pyframes_layout.h - where CPython keeps what a stack is made of: offsets in bytes, for 64-bit
 * builds, with the GIL or free-threaded.
 */
#ifndef TIDEMARK_PROFILER_PYFRAMES_LAYOUT_H
#define TIDEMARK_PROFILER_PYFRAMES_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum pyframes_lines { LINES_LNOTAB, LINES_RANGES, LINES_LOCATIONS }; /* 3.9; 3.10; since 3.11 */

struct pyframes_layout {
    uint16_t minor; /* of 3.minor */
    uint8_t lines;  /* enum pyframes_lines */
    uint8_t shim;   /* an owner of this value or above is no Python frame; 255: there are none */
    bool via_cframe;
    bool position_is_pointer; /* to an instruction; else an int, counted in position_unit bytes */
    uint8_t position_unit;
    uint8_t generator; /* the owner of a generator's frame; 255: frames have no owner */
    uint8_t head;      /* bytes that each object begins with; the last 8 are its type */
    uint8_t str_state; /* how many low bits of a str's state are of no interest */
    /* thread state */
    uint16_t first, cframe_current;
    /* frame */
    uint16_t code, previous, position, owner;
    uint64_t code_tag; /* bits of the pointer at `code` that are not part of it */
    /* code object; 0 = it has none */
    uint16_t flags, first_line, file, name, qualified, line_table, first_traceable, instructions;
    uint16_t bytecode; /* the bytes object of 3.9 and 3.10, where instructions are not within */
    /* Free-threaded since 3.14, else 0: each thread but the first executes a copy of the code's
     * instructions. Code object: a list, 8 bytes of length and then the address of each copy (the
     * first is the code object's own); frame: which of them its position is in. */
    uint16_t copies, copy;
    /* str */
    uint16_t ascii_data, compact_data;
    /* frame: its first local, 0 = not known; code object: how many of the locals are arguments */
    uint16_t locals, arguments;
    /* code object of 3.9 and 3.10: how many locals, the names of its cells, and which argument each
     * of these is; 0 since 3.11, where the cell stands in the place of the argument */
    uint16_t local_count, cell_names, cell_arguments;
};

/* The row of "3.11.2 (main, ...)"; NULL for a version that is not known. */
const struct pyframes_layout *pyframes_layout_of(const char *version);

/* Whether this version lets destructors run while the frame whose locals they free is still the
 * innermost one: 3.11.0 does, so what its locals point to may be gone. */
bool pyframes_layout_has_dying_frames(const char *version);

/* Completes *layout with what the interpreter says of itself, `code_type` being PyCode_Type and
 * `runtime` _PyRuntime (not looked at before 3.13; may be NULL then). NULL, or what does not fit.
 */
const char *pyframes_layout_check(struct pyframes_layout *layout, const void *code_type,
                                  const void *runtime);

static inline uint64_t pyframes_word(const void *base, uint64_t offset)
{
    uint64_t value;
    memcpy(&value, (const char *)base + offset, sizeof value);
    return value;
}

static inline const void *pyframes_pointer(const void *base, uint64_t offset)
{
    const void *value;
    memcpy(&value, (const char *)base + offset, sizeof value);
    return value;
}

static inline int32_t pyframes_int(const void *base, uint64_t offset)
{
    int32_t value;
    memcpy(&value, (const char *)base + offset, sizeof value);
    return value;
}

static inline uint8_t pyframes_byte(const void *base, uint64_t offset)
{
    return *((const uint8_t *)base + offset);
}

/* Parts of objects that are the same in all versions, counted from the end of the object's head. */
enum {
    PY_TYPE_OF = -8,    /* of any object */
    PY_SIZE_OF = 0,     /* of an object of variable size; a str's length */
    PY_BYTES_DATA = 16, /* of a bytes object */
    PY_CELL_CONTENT = 0,
    PY_STR_STATE = 16, /* of a str */
    PY_TYPE_BASIC_SIZE = 16,
    PY_TYPE_ITEM_SIZE = 24,
    PY_TYPE_DEALLOC = 32,
    PY_TYPE_FLAGS = 152,
    PY_TYPE_MEMBERS = 224,
};

static inline uint64_t pyframes_part(const struct pyframes_layout *layout, int part)
{
    return (uint64_t)(layout->head + part);
}

static inline const void *pyframes_type_of(const struct pyframes_layout *layout, const void *object)
{
    return pyframes_pointer(object, pyframes_part(layout, PY_TYPE_OF));
}

static inline uint64_t pyframes_size_of(const struct pyframes_layout *layout, const void *object)
{
    return pyframes_word(object, pyframes_part(layout, PY_SIZE_OF));
}

/* Flags of a type: it is, or is made of, bytes or str. */
#define PY_FLAG_BYTES (1ull << 27)
#define PY_FLAG_STR (1ull << 28)

#endif
