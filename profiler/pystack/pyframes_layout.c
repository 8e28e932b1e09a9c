/*
 * pyframes_layout.c - the rows, and how a row is checked: see pyframes_layout.h.
 *
 * Every version publishes where PyCode_Type keeps its members (a table that `inspect` and `dis`
 * rely on), and its basic size. Since 3.13 the runtime also begins with a table of offsets for
 * debuggers; it knows its own build better than a row does, so its values replace the row's.
 */
#include "pyframes_layout.h"

#include <stddef.h>

#define NO_OWNER 255
enum { HEAD = 16, STR_STATE = 2 };

static const struct pyframes_layout rows[] = {
    {.minor = 9,
     .head = HEAD,
     .str_state = STR_STATE,
     .locals = 360,
     .arguments = 16,
     .local_count = 28,
     .cell_names = 88,
     .cell_arguments = 96,
     .lines = LINES_LNOTAB,
     .shim = NO_OWNER,
     .generator = NO_OWNER,
     .position_unit = 1,
     .first = 24,
     .code = 32,
     .previous = 24,
     .position = 104,
     .flags = 36,
     .first_line = 40,
     .bytecode = 48,
     .file = 104,
     .name = 112,
     .line_table = 120,
     .ascii_data = 48,
     .compact_data = 72},
    {.minor = 10,
     .head = HEAD,
     .str_state = STR_STATE,
     .locals = 352,
     .arguments = 16,
     .local_count = 28,
     .cell_names = 88,
     .cell_arguments = 96,
     .lines = LINES_RANGES,
     .shim = NO_OWNER,
     .generator = NO_OWNER,
     .position_unit = 2,
     .first = 24,
     .code = 32,
     .previous = 24,
     .position = 96,
     .flags = 36,
     .first_line = 40,
     .bytecode = 48,
     .file = 104,
     .name = 112,
     .line_table = 120,
     .ascii_data = 48,
     .compact_data = 72},
    {.minor = 11,
     .head = HEAD,
     .str_state = STR_STATE,
     .locals = 72,
     .arguments = 56,
     .lines = LINES_LOCATIONS,
     .shim = NO_OWNER,
     .generator = 1,
     .via_cframe = true,
     .position_is_pointer = true,
     .first = 56,
     .cframe_current = 8,
     .code = 32,
     .previous = 48,
     .position = 56,
     .owner = 69,
     .flags = 48,
     .first_line = 72,
     .file = 112,
     .name = 120,
     .qualified = 128,
     .line_table = 136,
     .first_traceable = 168,
     .instructions = 184,
     .ascii_data = 48,
     .compact_data = 72},
    {.minor = 12,
     .head = HEAD,
     .str_state = STR_STATE,
     .locals = 72,
     .arguments = 52,
     .lines = LINES_LOCATIONS,
     .shim = 3,
     .generator = 1,
     .via_cframe = true,
     .position_is_pointer = true,
     .first = 56,
     .cframe_current = 0,
     .code = 0,
     .previous = 8,
     .position = 56,
     .owner = 70,
     .flags = 48,
     .first_line = 68,
     .file = 112,
     .name = 120,
     .qualified = 128,
     .line_table = 136,
     .first_traceable = 176,
     .instructions = 192,
     .ascii_data = 40,
     .compact_data = 56},
    {.minor = 13,
     .head = HEAD,
     .str_state = STR_STATE,
     .locals = 72,
     .arguments = 52,
     .lines = LINES_LOCATIONS,
     .shim = 3,
     .generator = 1,
     .position_is_pointer = true,
     .first = 72,
     .code = 0,
     .previous = 8,
     .position = 56,
     .owner = 70,
     .flags = 48,
     .first_line = 68,
     .file = 112,
     .name = 120,
     .qualified = 128,
     .line_table = 136,
     .first_traceable = 184,
     .instructions = 200,
     .ascii_data = 40,
     .compact_data = 56},
    {.minor = 14,
     .head = HEAD,
     .str_state = STR_STATE,
     .locals = 80,
     .arguments = 52,
     .lines = LINES_LOCATIONS,
     .shim = 3,
     .generator = 1,
     .position_is_pointer = true,
     .first = 72,
     .code = 0,
     .code_tag = 3,
     .previous = 8,
     .position = 56,
     .owner = 74,
     .flags = 48,
     .first_line = 68,
     .file = 112,
     .name = 120,
     .qualified = 128,
     .line_table = 136,
     .first_traceable = 192,
     .instructions = 208,
     .ascii_data = 40,
     .compact_data = 56},
    {.minor = 15,
     .head = HEAD,
     .str_state = STR_STATE,
     .locals = 80,
     .arguments = 52,
     .lines = LINES_LOCATIONS,
     .shim = 3,
     .generator = 1,
     .position_is_pointer = true,
     .first = 72,
     .code = 0,
     .code_tag = 3,
     .previous = 8,
     .position = 56,
     .owner = 74,
     .flags = 48,
     .first_line = 68,
     .file = 112,
     .name = 120,
     .qualified = 128,
     .line_table = 136,
     .first_traceable = 192,
     .instructions = 208,
     .ascii_data = 40,
     .compact_data = 56},
};

const struct pyframes_layout *pyframes_layout_of(const char *version)
{
    unsigned minor = 0;
    if (version[0] != '3' || version[1] != '.')
        return NULL;
    for (const char *at = version + 2; *at >= '0' && *at <= '9' && minor < 1000; at++)
        minor = minor * 10 + (unsigned)(*at - '0');
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].minor == minor)
            return &rows[i];
    return NULL;
}

bool pyframes_layout_has_dying_frames(const char *version)
{
    static const char first[] = "3.11.0";
    char next = strncmp(version, first, sizeof first - 1) == 0 ? version[sizeof first - 1] : '0';
    return next < '0' || next > '9';
}

/* ---- PyCode_Type ---- */

enum { MEMBER_BYTES = 40, MEMBER_OFFSET = 16, MANY_MEMBERS = 64 };

/* The published offset of a member; -1 if it is not in the table. */
static int64_t member_offset(const struct pyframes_layout *layout, const void *type,
                             const char *name)
{
    const char *member = pyframes_pointer(type, pyframes_part(layout, PY_TYPE_MEMBERS));
    for (int i = 0; member && i < MANY_MEMBERS; i++, member += MEMBER_BYTES) {
        const char *its_name = pyframes_pointer(member, 0);
        if (!its_name)
            break;
        if (strcmp(its_name, name) == 0)
            return (int64_t)pyframes_word(member, MEMBER_OFFSET);
    }
    return -1;
}

static bool members_agree(const struct pyframes_layout *layout, const void *type)
{
    const char *table = layout->lines == LINES_RANGES ? "co_linetable" : "co_lnotab";
    if (layout->lines == LINES_LOCATIONS)
        table = "co_linetable";
    return member_offset(layout, type, "co_flags") == layout->flags &&
           member_offset(layout, type, "co_filename") == layout->file &&
           member_offset(layout, type, "co_name") == layout->name &&
           member_offset(layout, type, "co_firstlineno") == layout->first_line &&
           member_offset(layout, type, table) == layout->line_table &&
           (!layout->qualified || member_offset(layout, type, "co_qualname") == layout->qualified);
}

/* Where arguments are is a matter of modules alone: without them stacks are as good. */
static void take_arguments(struct pyframes_layout *layout, const void *type)
{
    if (member_offset(layout, type, "co_argcount") != layout->arguments)
        layout->locals = 0;
}

static bool size_agrees(const struct pyframes_layout *layout, const void *type)
{
    uint64_t basic_size = pyframes_word(type, pyframes_part(layout, PY_TYPE_BASIC_SIZE));
    if (!layout->instructions)
        return basic_size > layout->line_table;
    return basic_size == layout->instructions &&
           pyframes_word(type, pyframes_part(layout, PY_TYPE_ITEM_SIZE)) == 2;
}

/* ---- free-threaded builds ---- */

/* What a frame has before its owner, and a code object before its instructions, since 3.14. */
enum { FREE_HEAD = 32, FREE_STR_STATE = 8, COPY_NUMBER = 4, COPIES = 8 };

/* A longer head moves what is behind it: in code objects and in strings all, in frames nothing, for
 * these are no objects. */
static void be_free_threaded(struct pyframes_layout *layout)
{
    const uint16_t longer = FREE_HEAD - HEAD;
    uint16_t *const moved[] = {&layout->flags,      &layout->first_line,      &layout->file,
                               &layout->name,       &layout->qualified,       &layout->line_table,
                               &layout->arguments,  &layout->first_traceable, &layout->instructions,
                               &layout->ascii_data, &layout->compact_data};
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++)
        *moved[i] = (uint16_t)(*moved[i] + longer);
    layout->head = FREE_HEAD;
    if (layout->minor < 14)
        return;
    layout->str_state = FREE_STR_STATE;
    layout->copies = layout->instructions;
    layout->instructions += COPIES;
    layout->copy = (uint16_t)(layout->owner - sizeof(uint16_t));
    layout->owner += COPY_NUMBER;
}

/* ---- the offsets for debuggers ---- */

/* Which word of the table replaces which field: in 3.13, 3.14, 3.15. */
enum { FIRST_PUBLISHED = 13, PUBLISHED = 3 };
struct published {
    uint8_t word[PUBLISHED]; /* 0 = not in this version's */
    uint16_t field;
};

#define FIELD(name) offsetof(struct pyframes_layout, name)
static const struct published published[] = {
    {{23, 26, 26}, FIELD(first)},      {{29, 32, 40}, FIELD(previous)},
    {{30, 33, 41}, FIELD(code)},       {{31, 34, 42}, FIELD(position)},
    {{32, 35, 43}, FIELD(locals)},     {{33, 36, 44}, FIELD(owner)},
    {{35, 40, 48}, FIELD(file)},       {{36, 41, 49}, FIELD(name)},
    {{37, 42, 50}, FIELD(qualified)},  {{38, 43, 51}, FIELD(line_table)},
    {{39, 44, 52}, FIELD(first_line)}, {{43, 48, 56}, FIELD(instructions)},
    {{70, 80, 92}, FIELD(ascii_data)},
};
static const struct published published_of_copies[] = {
    {{0, 38, 46}, FIELD(copy)},
    {{0, 49, 57}, FIELD(copies)},
};
enum { WORD_VERSION = 1, WORD_FREE_THREADED = 2, LARGEST_OFFSET = 4096 };

static bool take_words(struct pyframes_layout *layout, const void *runtime,
                       const struct published *which, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned word = which[i].word[layout->minor - FIRST_PUBLISHED];
        uint64_t value = pyframes_word(runtime, word * 8);
        if (value >= LARGEST_OFFSET)
            return false;
        uint16_t offset = (uint16_t)value;
        memcpy((char *)layout + which[i].field, &offset, sizeof offset);
    }
    return true;
}

static const char *take_published(struct pyframes_layout *layout, const void *runtime)
{
    if (!runtime || memcmp(runtime, "xdebugpy", 8) != 0)
        return "the interpreter's table of offsets is not where it should be";
    if (pyframes_word(runtime, WORD_VERSION * 8) >> 16 != (0x300u | layout->minor))
        return "the interpreter's table of offsets is of another version";
    uint64_t free_threaded = pyframes_word(runtime, WORD_FREE_THREADED * 8);
    if (free_threaded == 1)
        be_free_threaded(layout);
    if (free_threaded > 1 ||
        !take_words(layout, runtime, published, sizeof published / sizeof *published) ||
        (layout->copies && !take_words(layout, runtime, published_of_copies,
                                       sizeof published_of_copies / sizeof *published_of_copies)))
        return "the interpreter's table of offsets does not make sense";
    layout->first_traceable = (uint16_t)(layout->instructions - 16 - (layout->copies ? COPIES : 0));
    return NULL;
}

const char *pyframes_layout_check(struct pyframes_layout *layout, const void *code_type,
                                  const void *runtime)
{
    const char *wrong = layout->minor >= FIRST_PUBLISHED ? take_published(layout, runtime) : NULL;
    if (wrong)
        return wrong;
    if (!members_agree(layout, code_type) || !size_agrees(layout, code_type))
        return "this build of Python keeps its code objects in another form";
    take_arguments(layout, code_type);
    return NULL;
}
