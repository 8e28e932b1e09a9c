/* Which interpreters are accepted: a made-up PyCode_Type and table of offsets, right at first and
 * then wrong in one place at a time. Strings of each form. */
#include "pyframes_layout.h"

#include <stddef.h>
#include <string.h>

#include "pyframes_text.h"
#include "test.h"

enum { NEWEST = 15, TYPE_BYTES = 320, MEMBERS = 8, WORDS = 128 };

struct member {
    const char *name;
    uint64_t type;
    uint64_t offset;
    uint64_t rest[2];
};

struct made {
    char type[TYPE_BYTES];
    struct member members[MEMBERS];
    uint64_t runtime[WORDS];
};

static void put_word(void *base, size_t offset, uint64_t value)
{
    memcpy((char *)base + offset, &value, sizeof value);
}

static struct made *make(const struct pyframes_layout *row)
{
    static struct made made;
    const char *table = row->minor < 10 ? "co_lnotab" : "co_linetable";
    memset(&made, 0, sizeof made);
    struct member members[MEMBERS] = {
        {"co_argcount", 0, row->arguments, {0, 0}},     {"co_flags", 0, row->flags, {0, 0}},
        {"co_filename", 0, row->file, {0, 0}},          {"co_name", 0, row->name, {0, 0}},
        {"co_firstlineno", 0, row->first_line, {0, 0}}, {table, 0, row->line_table, {0, 0}}};
    if (row->qualified)
        members[6] = (struct member){"co_qualname", 0, row->qualified, {0, 0}};
    memcpy(made.members, members, sizeof members);
    struct member *first = made.members;
    memcpy(made.type + pyframes_part(row, PY_TYPE_MEMBERS), &first, sizeof first);
    put_word(made.type, pyframes_part(row, PY_TYPE_BASIC_SIZE),
             row->instructions ? row->instructions : 200);
    put_word(made.type, pyframes_part(row, PY_TYPE_ITEM_SIZE), 2);
    memcpy(made.runtime, "xdebugpy", 8);
    made.runtime[1] = 0x030000f0u | (uint64_t)row->minor << 16;
    return &made;
}

/* Which words are looked at, as 3.13, 3.14 and 3.15 number them. */
enum word { CURRENT_FRAME, PREVIOUS, CODE, OWNER, NAME, COPY, COPIES, LOOKED_AT = 15 };
static const uint8_t word_of[3][LOOKED_AT] = {
    {23, 29, 30, 33, 36, 0, 0, 31, 35, 37, 38, 39, 43, 70, 32},
    {26, 32, 33, 36, 41, 38, 49, 34, 40, 42, 43, 44, 48, 80, 35},
    {26, 40, 41, 44, 49, 46, 57, 42, 48, 50, 51, 52, 56, 92, 43},
};

static void fill_runtime(struct made *made, const struct pyframes_layout *row)
{
    const uint64_t values[LOOKED_AT] = {
        row->first,      row->previous,   row->code,         row->owner,      row->name,
        row->copy,       row->copies,     row->position,     row->file,       row->qualified,
        row->line_table, row->first_line, row->instructions, row->ascii_data, row->locals};
    for (int i = 0; row->minor >= 13 && i < LOOKED_AT; i++)
        if (word_of[row->minor - 13][i])
            made->runtime[word_of[row->minor - 13][i]] = values[i];
}

static const struct pyframes_layout *row_of(int minor)
{
    char version[] = "3.09.1 (main)";
    version[2] = (char)('0' + minor / 10);
    version[3] = (char)('0' + minor % 10);
    return pyframes_layout_of(version);
}

TEST(versions_that_are_known)
{
    for (int minor = 9; minor <= NEWEST; minor++) {
        REQUIRE(row_of(minor) != NULL);
        CHECK_INT(row_of(minor)->minor, minor);
    }
    CHECK(pyframes_layout_of("3.9.18 (main, Nov 20 2023)") == row_of(9));
    CHECK(pyframes_layout_of("3.14.0a1+ (heads)") == row_of(14));
    CHECK(pyframes_layout_of("3.8.10") == NULL);
    CHECK(pyframes_layout_of("3.16.0a2+") == NULL);
    CHECK(pyframes_layout_of("3.100.0") == NULL);
    CHECK(pyframes_layout_of("2.7.18") == NULL);
    CHECK(pyframes_layout_of("") == NULL);
}

TEST(one_version_has_dying_frames)
{
    CHECK(pyframes_layout_has_dying_frames("3.11.0 (main, Oct 24 2022)"));
    CHECK(pyframes_layout_has_dying_frames("3.11.0rc1 (main)"));
    CHECK(pyframes_layout_has_dying_frames("3.11.0+ (heads)"));
    CHECK(!pyframes_layout_has_dying_frames("3.11.1 (main)"));
    CHECK(!pyframes_layout_has_dying_frames("3.11.02"));
    CHECK(!pyframes_layout_has_dying_frames("3.12.0 (main)"));
    CHECK(!pyframes_layout_has_dying_frames(""));
}

TEST(a_right_interpreter_passes)
{
    for (int minor = 9; minor <= NEWEST; minor++) {
        struct pyframes_layout layout = *row_of(minor);
        struct made *made = make(&layout);
        fill_runtime(made, &layout);
        CHECK_STR(pyframes_layout_check(&layout, made->type, made->runtime), NULL);
        CHECK(memcmp(&layout, row_of(minor), sizeof layout) == 0);
    }
}

TEST(one_wrong_member_is_refused)
{
    for (int minor = 9; minor <= NEWEST; minor++) {
        struct pyframes_layout layout = *row_of(minor);
        int members = layout.qualified ? 7 : 6;
        for (int wrong = 1; wrong < members; wrong++) {
            struct made *made = make(&layout);
            fill_runtime(made, &layout);
            made->members[wrong].offset += 8;
            CHECK(pyframes_layout_check(&layout, made->type, made->runtime) != NULL);
            made->members[wrong].offset -= 8;
            made->members[wrong].name = "co_other";
            CHECK(pyframes_layout_check(&layout, made->type, made->runtime) != NULL);
        }
        struct made *made = make(&layout);
        fill_runtime(made, &layout);
        put_word(made->type, pyframes_part(&layout, PY_TYPE_BASIC_SIZE), 64);
        CHECK(pyframes_layout_check(&layout, made->type, made->runtime) != NULL);
        put_word(made->type, pyframes_part(&layout, PY_TYPE_MEMBERS), 0);
        CHECK(pyframes_layout_check(&layout, made->type, made->runtime) != NULL);
    }
}

static bool runtime_is_refused(int minor, int word, uint64_t value)
{
    struct pyframes_layout layout = *row_of(minor);
    struct made *made = make(&layout);
    fill_runtime(made, &layout);
    made->runtime[word] = value;
    return pyframes_layout_check(&layout, made->type, made->runtime) != NULL;
}

TEST(the_table_for_debuggers_is_checked)
{
    for (int minor = 13; minor <= NEWEST; minor++) {
        const uint8_t *words = word_of[minor - 13];
        struct pyframes_layout layout = *row_of(minor);
        CHECK(pyframes_layout_check(&layout, make(&layout)->type, NULL) != NULL);
        CHECK(runtime_is_refused(minor, 0, 1));                     /* the cookie */
        CHECK(runtime_is_refused(minor, 1, 0x030c00f0));            /* another version */
        CHECK(runtime_is_refused(minor, 2, 1));                     /* as if free-threaded */
        CHECK(runtime_is_refused(minor, 2, 2));                     /* neither yes nor no */
        CHECK(runtime_is_refused(minor, words[PREVIOUS], 1 << 20)); /* no offset */
        CHECK(runtime_is_refused(minor, words[NAME], 16));          /* against the members */
    }
}

TEST(published_offsets_replace_the_row)
{
    for (int minor = 13; minor <= NEWEST; minor++) {
        struct pyframes_layout layout = *row_of(minor);
        struct made *made = make(&layout);
        fill_runtime(made, &layout);
        made->runtime[word_of[minor - 13][CURRENT_FRAME]] = 88;
        made->runtime[word_of[minor - 13][OWNER]] = 71;
        CHECK_STR(pyframes_layout_check(&layout, made->type, made->runtime), NULL);
        CHECK_INT(layout.first, 88);
        CHECK_INT(layout.owner, 71);
        CHECK_INT(layout.previous, row_of(minor)->previous);
    }
}

/* ---- free-threaded ---- */

/* What `minor` has without a GIL, written down by hand from its headers. */
static struct pyframes_layout free_threaded(int minor)
{
    struct pyframes_layout is = *row_of(minor);
    is.head = 32;
    is.flags = 64;
    is.first_line = 84;
    is.arguments = 68;
    is.file = 128;
    is.name = 136;
    is.qualified = 144;
    is.line_table = 152;
    is.first_traceable = minor == 13 ? 200 : 208;
    is.instructions = minor == 13 ? 216 : 232;
    is.ascii_data = 56;
    is.compact_data = 72;
    if (minor > 13) {
        is.str_state = 8;
        is.owner = 78;
        is.copy = 72;
        is.copies = 224;
    }
    return is;
}

/* Not of what lies between members, which nobody writes. */
static bool is_same(const struct pyframes_layout *one, const struct pyframes_layout *other)
{
    const size_t first = offsetof(struct pyframes_layout, owner) + sizeof one->owner;
    const size_t second = offsetof(struct pyframes_layout, flags);
    const size_t end =
        offsetof(struct pyframes_layout, cell_arguments) + sizeof one->cell_arguments;
    return memcmp(one, other, first) == 0 && one->code_tag == other->code_tag &&
           memcmp((const char *)one + second, (const char *)other + second, end - second) == 0;
}

TEST(free_threaded_builds)
{
    for (int minor = 13; minor <= NEWEST; minor++) {
        struct pyframes_layout wanted = free_threaded(minor), layout = *row_of(minor);
        struct made *made = make(&wanted);
        fill_runtime(made, &wanted);
        made->runtime[2] = 1;
        CHECK_STR(pyframes_layout_check(&layout, made->type, made->runtime), NULL);
        CHECK(is_same(&layout, &wanted));
        if (minor == 13)
            continue;
        layout = *row_of(minor);
        made->runtime[word_of[minor - 13][COPIES]] = 216;
        made->runtime[word_of[minor - 13][COPY]] = 76;
        CHECK_STR(pyframes_layout_check(&layout, made->type, made->runtime), NULL);
        CHECK_INT(layout.copies, 216);
        CHECK_INT(layout.copy, 76);
        layout = *row_of(minor);
        made->runtime[word_of[minor - 13][COPIES]] = 1 << 20;
        CHECK(pyframes_layout_check(&layout, made->type, made->runtime) != NULL);
    }
}

/* ---- strings ---- */

struct string {
    char bytes[512];
};

static const void *str_type(const struct pyframes_layout *layout, uint64_t flags)
{
    static char type[TYPE_BYTES];
    put_word(type, pyframes_part(layout, PY_TYPE_FLAGS), flags);
    return type;
}

static struct string make_string(const struct pyframes_layout *layout, unsigned kind, unsigned form,
                                 const void *data, uint64_t length)
{
    struct string string = {{0}};
    const void *type = str_type(layout, PY_FLAG_STR);
    memcpy(string.bytes + pyframes_part(layout, PY_TYPE_OF), &type, sizeof type);
    put_word(string.bytes, pyframes_part(layout, PY_SIZE_OF), length);
    put_word(string.bytes, pyframes_part(layout, PY_STR_STATE),
             (kind | form << 3) << layout->str_state | 3);
    if (form == 0) /* not compact: the data are elsewhere */
        memcpy(string.bytes + layout->compact_data, &data, sizeof data);
    else
        memcpy(string.bytes + (form == 3 ? layout->ascii_data : layout->compact_data), data,
               length * kind);
    return string;
}

static const char *text_of(const struct pyframes_layout *layout, const struct string *string,
                           size_t room)
{
    static char out[256];
    REQUIRE(pyframes_is_text(layout, string));
    size_t bytes = pyframes_text(layout, string, out, room);
    REQUIRE(bytes <= room);
    out[bytes] = '\0';
    return out;
}

static void check_strings(const struct pyframes_layout *row)
{
    static const uint8_t latin[] = {'a', 0xe9, 0};
    static const uint16_t two[] = {0x65e5, 0xd800, 'x'};
    static const uint32_t four[] = {0x1f600, 0x65e5, 0xe9};
    struct string ascii = make_string(row, 1, 3, "train", 5);
    CHECK_STR(text_of(row, &ascii, 64), "train");
    CHECK_STR(text_of(row, &ascii, 3), "tra");
    struct string one = make_string(row, 1, 1, latin, 3);
    CHECK_STR(text_of(row, &one, 64), "a\xc3\xa9?");
    CHECK_STR(text_of(row, &one, 2), "a"); /* no half character */
    struct string wide = make_string(row, 2, 1, two, 3);
    CHECK_STR(text_of(row, &wide, 64), "\xe6\x97\xa5?x");
    struct string widest = make_string(row, 4, 1, four, 3);
    CHECK_STR(text_of(row, &widest, 64), "\xf0\x9f\x98\x80\xe6\x97\xa5\xc3\xa9");
    struct string elsewhere = make_string(row, 2, 0, two, 3);
    CHECK_STR(text_of(row, &elsewhere, 64), "\xe6\x97\xa5?x");
    struct string empty = make_string(row, 1, 3, "", 0);
    CHECK_STR(text_of(row, &empty, 64), "");
}

TEST(strings_of_every_form)
{
    for (int minor = 9; minor <= NEWEST; minor++)
        check_strings(row_of(minor));
    for (int minor = 13; minor <= NEWEST; minor++) {
        struct pyframes_layout row = free_threaded(minor);
        check_strings(&row);
    }
}

TEST(what_is_no_string_is_refused)
{
    const struct pyframes_layout *row = row_of(11);
    struct string string = make_string(row, 1, 3, "x", 1);
    CHECK(pyframes_is_text(row, &string));
    put_word(string.bytes, pyframes_part(row, PY_STR_STATE), 3 << 2 | 3 << 5); /* no such kind */
    CHECK(!pyframes_is_text(row, &string));
    string = make_string(row, 1, 3, "x", 1);
    put_word(string.bytes, pyframes_part(row, PY_SIZE_OF), 1ull << 40);
    CHECK(!pyframes_is_text(row, &string));
    string = make_string(row, 2, 0, NULL, 1);
    CHECK(!pyframes_is_text(row, &string));
    string = make_string(row, 1, 3, "x", 1);
    str_type(row, 0); /* a type that is not made of str */
    CHECK(!pyframes_is_text(row, &string));
    CHECK(!pyframes_is_text(row, NULL));
}

TEST_MAIN(TEST_CASE(versions_that_are_known), TEST_CASE(one_version_has_dying_frames),
          TEST_CASE(a_right_interpreter_passes), TEST_CASE(one_wrong_member_is_refused),
          TEST_CASE(the_table_for_debuggers_is_checked),
          TEST_CASE(published_offsets_replace_the_row), TEST_CASE(free_threaded_builds),
          TEST_CASE(strings_of_every_form), TEST_CASE(what_is_no_string_is_refused))
