/* Of which format a file is, by its first bytes: each is of one at most. */
#include <string.h>

#include "format.h"
#include "test.h"

#define FORMAT(name, plain, about, example, note) &format_##name,
static const struct import_format *const formats[] = {
#include "formats.def"
};
#undef FORMAT

enum { FORMATS = sizeof formats / sizeof *formats };

/* The only one that says yes; NULL: none does. */
static const struct import_format *format_of(const void *bytes, size_t count)
{
    const struct import_format *found = NULL;
    for (int i = 0; i < FORMATS; i++)
        if (formats[i]->is(bytes, count)) {
            CHECK(!found);
            found = formats[i];
        }
    return found;
}

#define OF(text) format_of(text, sizeof(text) - 1)

TEST(a_snapshot_begins_with_its_protocol)
{
    CHECK(OF("\x80") == &format_torch);
    CHECK(OF("\x80\x02}") == &format_torch);
    CHECK(!OF("\x81\x02}"));
    CHECK(!OF(""));
    CHECK(!OF("(dp0"));
}

static const char header[] =
    "Thread,Time,Action,Pointer,Size,Stream"; /* as RMM writes it, without what may follow */

TEST(a_log_begins_with_its_columns)
{
    char text[64] = {0};
    const size_t bytes = sizeof header - 1;
    memcpy(text, header, bytes);
    CHECK(format_of(text, bytes) == &format_rmm);
    text[bytes] = '\n';
    CHECK(!format_of(text, bytes - 1)); /* whatever stands behind it */
    CHECK(format_of(text, bytes + 1) == &format_rmm);
    text[bytes] = '\r';
    CHECK(format_of(text, bytes + 1) == &format_rmm);
    text[bytes] = ',';
    CHECK(!format_of(text, bytes + 1));
    text[bytes] = '\n';
    text[0] = 't';
    CHECK(!format_of(text, bytes + 1));
}

TEST(a_trace_is_an_object_or_an_array)
{
    CHECK(OF("{") == &format_kineto);
    CHECK(OF("[{}]") == &format_kineto);
    CHECK(OF(" \t\r\n{\"a\"") == &format_kineto);
    CHECK(!OF(" \t\r\n"));
    CHECK(!OF("\"text\""));
    CHECK(!OF("\f{"));
    CHECK(!format_of("\0{", 2));
    CHECK(!OF("x {"));
}

TEST(a_database_of_sqlite_has_its_name_and_a_zero)
{
    CHECK(format_of("SQLite format 3", 16) == &format_nsys);
    CHECK(!format_of("SQLite format 3", 15));
    CHECK(!OF("SQLite format 3 "));
    CHECK(!OF("SQLite format 2 and more"));
}

/* The first value's type, a message of one or two numbers: its tag, its bytes, the first's tag. */
TEST(a_profile_begins_with_the_type_of_a_value)
{
    for (int tag = 0; tag < 256; tag++)
        for (int bytes = 0; bytes < 256; bytes++) {
            const unsigned char first[] = {0x0a, (unsigned char)bytes, (unsigned char)tag, 1};
            const bool is = bytes >= 2 && bytes <= 22 && (tag == 0x08 || tag == 0x10);
            CHECK((format_of(first, sizeof first) == &format_pprof) == is);
            CHECK(!formats[FORMATS - 1]->is(first, sizeof first - 1));
        }
    CHECK(formats[FORMATS - 1] == &format_pprof);
    CHECK(!OF("\x0b\x04\x08\x01"));
}

/* What is of none is read by the first, which says so; of a text it is said how one begins. */
TEST(what_is_of_no_format_is_named_so)
{
    const struct import_options options = {.source = "notes", .output = test_path("none.db")};
    struct import_result result;
    CHECK(import_bytes("\1\2 some notes\n", 13, &options, &result) != 0);
    CHECK(formats[0] == &format_torch && result.format == format_torch.name);
    CHECK(*result.message != '\0');
    CHECK(import_bytes("some notes\n", 11, &options, &result) != 0);
    CHECK(result.format != format_torch.name && strstr(result.message, "the file is a text"));
}

TEST_MAIN(TEST_CASE(a_snapshot_begins_with_its_protocol), TEST_CASE(a_log_begins_with_its_columns),
          TEST_CASE(a_trace_is_an_object_or_an_array),
          TEST_CASE(a_database_of_sqlite_has_its_name_and_a_zero),
          TEST_CASE(a_profile_begins_with_the_type_of_a_value),
          TEST_CASE(what_is_of_no_format_is_named_so))
