/*
 * pyframes_layout.h - where CPython keeps what a stack is made of: offsets in bytes, for 64-bit
 * release builds with the GIL.
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
    /* thread state */
    uint16_t first, cframe_current;
    /* frame */
    uint16_t code, previous, position, owner;
    uint64_t code_tag; /* bits of the pointer at `code` that are not part of it */
    /* code object; 0 = it has none */
    uint16_t flags, first_line, file, name, qualified, line_table, first_traceable, instructions;
    uint16_t bytecode; /* the bytes object of 3.9 and 3.10, where instructions are not within */
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

/* Parts of objects that are the same in all versions. */
enum {
    PY_TYPE_OF = 8,     /* of any object */
    PY_SIZE_OF = 16,    /* of an object of variable size; a str's length */
    PY_BYTES_DATA = 32, /* of a bytes object */
    PY_CELL_CONTENT = 16,
    PY_STR_STATE = 32, /* of a str */
    PY_TYPE_BASIC_SIZE = 32,
    PY_TYPE_ITEM_SIZE = 40,
    PY_TYPE_DEALLOC = 48,
    PY_TYPE_FLAGS = 168,
    PY_TYPE_MEMBERS = 240,
};
/* Flags of a type: it is, or is made of, bytes or str. */
#define PY_FLAG_BYTES (1ull << 27)
#define PY_FLAG_STR (1ull << 28)

#endif
