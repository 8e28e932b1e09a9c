#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "emit_case.h"
#include "emit_parts.h"
#include "error.h"
#include "mem.h"

static const struct emit_column columns[] = {
    {"id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"bytes", "size", EMIT_BYTES, 0},
    {"reserved", NULL, EMIT_BYTES, EMIT_IF_KNOWN},
    {"name", NULL, EMIT_TEXT, 0},
    {NULL, "note", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE},
};

static void put_row(struct emit *emit, int64_t id, int64_t bytes, const char *name,
                    const char *note)
{
    emit_int(emit, id);
    emit_int(emit, bytes);
    emit_null(emit);
    emit_text(emit, name);
    emit_text(emit, note);
    CHECK(emit_is_valid(emit));
}

static void put_report(struct emit *emit, enum emit_format format)
{
    emit_begin(emit, format, false, "test", "a \"b\".db");
    EMIT_SECTION(emit, "rows", "Rows", EMIT_ROWS, columns);
    put_row(emit, 1, 1048576, "one", "first");
    put_row(emit, 2, 512, NULL, NULL);
    emit_note(emit, "a note");
    emit_warning(emit, "a warning");
}

TEST(a_table_is_aligned)
{
    struct emit emit;
    int result;
    put_report(&emit, EMIT_TABLE);
    CHECK_STR(emit_case_finish(&emit, &result), "Rows\n"
                                                "   size  name  note\n"
                                                "1.0 MiB  one   first\n"
                                                "  512 B  -\n"
                                                "\n"
                                                "- = not known from this source\n"
                                                "a note\n"
                                                "a warning\n");
    CHECK_INT(result, 0);
}

TEST(csv_is_for_programs)
{
    struct emit emit;
    int result;
    put_report(&emit, EMIT_CSV);
    CHECK_STR(emit_case_finish(&emit, &result), "id,bytes,reserved,name\n"
                                                "1,1048576,,one\n"
                                                "2,512,,\n"
                                                "# a warning\n");
}

TEST(json_has_one_shape)
{
    struct emit emit;
    int result;
    put_report(&emit, EMIT_JSON);
    CHECK_STR(emit_case_finish(&emit, &result),
              "{\"command\": \"test\",\n"
              " \"database\": \"a \\\"b\\\".db\",\n"
              " \"tables\": {\n"
              "  \"rows\": [\n"
              "   {\"id\": 1, \"bytes\": 1048576, \"reserved\": null, \"name\": \"one\"},\n"
              "   {\"id\": 2, \"bytes\": 512, \"reserved\": null, \"name\": null}\n"
              "  ]\n"
              " },\n"
              " \"notes\": [\n"
              "  \"a note\",\n"
              "  \"a warning\"\n"
              " ]}\n");
}

TEST(csv_marks_sections_when_there_are_several)
{
    static const struct emit_column one[] = {{"a", NULL, EMIT_PLAIN, 0}};
    struct emit emit;
    int result;
    emit_begin(&emit, EMIT_CSV, false, "test", NULL);
    EMIT_SECTION(&emit, "x", NULL, EMIT_ROWS, one);
    emit_int(&emit, 1);
    EMIT_SECTION(&emit, "y", NULL, EMIT_ROWS, one);
    EMIT_SECTION(&emit, "y", NULL, EMIT_ROWS, one); /* goes on */
    emit_int(&emit, 2);
    CHECK_STR(emit_case_finish(&emit, &result), "# x\na\n1\n\n# y\na\n2\n");
}

TEST(a_key_is_continued_only_if_it_is_the_same)
{
    static const struct emit_column one[] = {{"a", NULL, EMIT_PLAIN, 0}};
    struct emit emit;
    int result;
    emit_begin(&emit, EMIT_JSON, false, "test", NULL);
    EMIT_SECTION(&emit, "by_site", NULL, EMIT_ROWS, one);
    EMIT_SECTION(&emit, "site", NULL, EMIT_ROWS, one); /* the end of the other one's name */
    const char *text = emit_case_finish(&emit, &result);
    CHECK(strstr(text, "\"by_site\": [],\n  \"site\": []") != NULL);
    CHECK(strstr(text, "\"database\": null") != NULL);
}

TEST(csv_quotes_what_could_be_misread)
{
    static const struct emit_column one[] = {{"a,b", NULL, EMIT_TEXT, 0}};
    static const char *const texts[] = {"", "a,b", "say \"x\"", "# x", " x", "x ", "a\nb", "x"};
    struct emit emit;
    int result;
    emit_begin(&emit, EMIT_CSV, false, "test", NULL);
    EMIT_SECTION(&emit, "x", NULL, EMIT_ROWS, one);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        emit_text(&emit, texts[i]);
    emit_null(&emit);
    CHECK_STR(
        emit_case_finish(&emit, &result),
        "\"a,b\"\n\"\"\n\"a,b\"\n\"say \"\"x\"\"\"\n\"# x\"\n\" x\"\n\"x \"\n\"a\nb\"\nx\n\n");
}

/* Into a file the bytes go as they are; what a terminal would obey, on a terminal as in tables. */
TEST(csv_on_a_terminal_is_safe)
{
    static const struct emit_column one[] = {{"a\033b", NULL, EMIT_TEXT, 0}};
    static const char *const texts[] = {"\033[31m,",
                                        ("\xc2\x9b"
                                         "2J"),
                                        "a\nb", "\x9b", "gr\xc3\xbc\xc3\x9f"};
    static const char *const whole[] = {
        "a\033b\n\"\033[31m,\"\n\xc2\x9b"
        "2J\n\"a\nb\"\n\x9b\ngr\xc3\xbc\xc3\x9f\n",
        "a\\x1bb\n\"\\x1b[31m,\"\n\\u009b2J\na\\nb\n\\x9b\ngr\xc3\xbc\xc3\x9f\n",
    };
    for (int safe = 0; safe < 2; safe++) {
        struct emit emit;
        int result;
        emit_begin(&emit, EMIT_CSV, false, "test", NULL);
        emit.safe = safe;
        EMIT_SECTION(&emit, "x", NULL, EMIT_ROWS, one);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            emit_text(&emit, texts[i]);
        CHECK_STR(emit_case_finish(&emit, &result), whole[safe]);
    }
}

/* Any bytes at all: the result has no control character, and each quote inside is escaped. */
TEST(json_strings_are_valid_for_any_bytes)
{
    uint64_t seed = 11;
    for (int round = 0; round < 500; round++) {
        char bytes[40];
        size_t n = test_random(&seed) % sizeof bytes;
        struct buf out = {0};
        for (size_t i = 0; i < n; i++)
            bytes[i] = i && round % 2 && bytes[i - 1] != '\xc2' ? '\xc2' : (char)test_random(&seed);
        emit_json_string(&out, bytes, n);
        size_t at = 1;
        bool good = out.count >= 2 && out.data[0] == '"' && out.data[out.count - 1] == '"';
        while (good && at < out.count - 1) {
            uint32_t code = 0;
            size_t length = emit_utf8(out.data + at, out.count - at, &code);
            good = length > 0 && code >= 0x20 && code != '"' && (code < 0x7f || code >= 0xa0);
            if (code == '\\')
                length = out.data[at + 1] == 'u' ? 6 : 2;
            at += length;
        }
        CHECK(good && at == out.count - 1);
        buf_clear(&out);
    }
}

TEST(what_is_not_known_is_null)
{
    static const struct emit_column two[] = {
        {"a", NULL, EMIT_PLAIN, 0},
        {"b", NULL, EMIT_PLAIN, 0},
    };
    struct emit emit;
    int result;
    emit_begin(&emit, EMIT_CSV, false, "test", NULL);
    EMIT_SECTION(&emit, "x", NULL, EMIT_ROWS, two);
    emit_known(&emit, INT64_MIN);
    emit_known(&emit, INT64_MIN + 1);
    emit_known(&emit, 0);
    emit_known(&emit, INT64_MAX);
    CHECK_STR(emit_case_finish(&emit, &result), "a,b\n"
                                                ",-9223372036854775807\n"
                                                "0,9223372036854775807\n");
    CHECK_INT(result, 0);
}

TEST(a_narrow_terminal_wraps_names_and_cuts_nothing)
{
    static const struct emit_column two[] = {
        {"bytes", NULL, EMIT_BYTES, 0},
        {"site", NULL, EMIT_TEXT, EMIT_NAME},
    };
    struct emit emit;
    int result;
    emit_begin(&emit, EMIT_TABLE, false, "test", NULL);
    emit.width = 30;
    EMIT_SECTION(&emit, "x", NULL, EMIT_ROWS, two);
    emit_int(&emit, INT64_C(1) << 40);
    emit_text(&emit, "forward (/a/long/way/linear.py:114)");
    CHECK_STR(emit_case_finish(&emit, &result), "bytes  site\n"
                                                "1024G  forward (/a/long/way/\n"
                                                "       linear.py:114)\n");
    emit_begin(&emit, EMIT_TABLE, false, "test", NULL);
    EMIT_SECTION(&emit, "x", NULL, EMIT_ROWS, two);
    emit_int(&emit, 1);
    emit_text(&emit, "forward (/a/long/way/linear.py:114)");
    CHECK_STR(emit_case_finish(&emit, &result), "bytes  site\n"
                                                "  1 B  forward (/a/long/way/linear.py:114)\n");
}

TEST(a_wrapped_column_goes_on_below_itself)
{
    static const struct emit_column two[] = {
        {"n", NULL, EMIT_PLAIN, 0},
        {"why", NULL, EMIT_TEXT, EMIT_WRAP},
    };
    struct emit emit;
    int result;
    emit_begin(&emit, EMIT_TABLE, false, "test", NULL);
    emit.width = 30;
    EMIT_SECTION(&emit, "x", NULL, EMIT_ROWS, two);
    emit_int(&emit, 7);
    emit_text(&emit, "no library of that name was found anywhere at all");
    CHECK_STR(emit_case_finish(&emit, &result), "n  why\n"
                                                "7  no library of that name was\n"
                                                "   found anywhere at all\n");
    emit_begin(&emit, EMIT_TABLE, false, "test", NULL);
    emit.width = 30;
    EMIT_SECTION(&emit, "x", NULL, EMIT_ROWS, two);
    emit_int(&emit, 7);
    emit_text(&emit, "optim.CPUOffloadOptimizer(model.parameters())");
    CHECK_STR(emit_case_finish(&emit, &result), "n  why\n"
                                                "7  optim.CPUOffloadOptimizer(\n"
                                                "   model.parameters())\n");
}

TEST(lines_of_a_terminal_fit)
{
    uint64_t seed = 17;
    static const struct emit_column four[] = {
        {"a", NULL, EMIT_TEXT, 0},
        {"n", NULL, EMIT_COUNT, 0},
        {"b", NULL, EMIT_TEXT, EMIT_NAME},
        {"c", NULL, EMIT_TEXT, EMIT_WRAP},
    };
    for (int round = 0; round < 200; round++) {
        struct emit emit;
        int result;
        emit_begin(&emit, EMIT_TABLE, false, "test", NULL);
        emit.width = 60 + (unsigned)(test_random(&seed) % 60);
        EMIT_SECTION(&emit, "x", NULL, EMIT_ROWS, four);
        for (int row = 0; row < 5; row++) {
            for (size_t at = 0; at < 4; at++) {
                char text[100] = "";
                size_t n = test_random(&seed) % 99;
                for (size_t i = 0; i < n; i++)
                    text[i] = "ab c"[test_random(&seed) % 4];
                if (at == 1)
                    emit_int(&emit, (int64_t)(test_random(&seed) % 100000));
                else
                    emit_text(&emit, text);
            }
        }
        unsigned width = emit.width;
        const char *text = emit_case_finish(&emit, &result);
        for (size_t n; *text; text += n + 1) {
            n = strcspn(text, "\n");
            if (n > width)
                CHECK_INT(n, width);
        }
    }
}

TEST(a_record_is_read_downwards)
{
    static const struct emit_column record[] = {
        {"file", NULL, EMIT_TEXT, 0},
        {"bytes", "size", EMIT_BYTES, 0},
        {"host", NULL, EMIT_TEXT, EMIT_IF_KNOWN},
    };
    struct emit emit;
    int result;
    emit_begin(&emit, EMIT_TABLE, false, "test", NULL);
    EMIT_SECTION(&emit, "x", NULL, EMIT_RECORD, record);
    emit_text(&emit, "a.db");
    emit_int(&emit, 2048);
    emit_null(&emit);
    CHECK_STR(emit_case_finish(&emit, &result), "file  a.db\nsize  2.0 KiB\n");
}

TEST(columns_nobody_knows_are_left_out)
{
    struct emit emit;
    int result;
    put_report(&emit, EMIT_TABLE);
    CHECK(strstr(emit_case_finish(&emit, &result), "reserved") == NULL);
    emit_begin(&emit, EMIT_TABLE, false, "test", NULL);
    EMIT_SECTION(&emit, "rows", NULL, EMIT_ROWS, columns);
    put_row(&emit, 1, 1, "x", NULL);
    emit_int(&emit, 2);
    emit_int(&emit, 2);
    emit_int(&emit, 2);
    emit_text(&emit, "y");
    emit_null(&emit);
    CHECK_STR(emit_case_finish(&emit, &result), "size  reserved  name  note\n"
                                                " 1 B         -  x\n"
                                                " 2 B       2 B  y\n"
                                                "\n"
                                                "- = not known from this source\n");
}

TEST(many_rows_stream)
{
    static const struct emit_column one[] = {{"n", NULL, EMIT_ANY, 0}};
    struct emit emit;
    int result;
    FILE *file = tmpfile();
    REQUIRE(file != NULL);
    emit_begin(&emit, EMIT_TABLE, false, "test", NULL);
    emit_stream(&emit, file);
    EMIT_SECTION(&emit, "x", NULL, EMIT_ROWS, one);
    for (int64_t i = 0; i < 100000; i++)
        emit_int(&emit, i);
    CHECK(emit.cell_count <= 1); /* no more than a row is kept */
    CHECK(ftell(file) > 0);
    result = emit_finish(&emit, file);
    CHECK_INT(result, 0);
    rewind(file);
    size_t lines = 0;
    for (int c; (c = getc(file)) != EOF;)
        lines += c == '\n';
    CHECK_INT(lines, 100001);
    fclose(file);
}

static int whole_report(enum emit_format format)
{
    struct emit emit;
    int result;
    emit_begin(&emit, format, false, "test", "x.db");
    EMIT_SECTION(&emit, "rows", "Rows", EMIT_ROWS, columns);
    for (int i = 0; i < 40; i++) {
        emit_int(&emit, i);
        emit_int(&emit, i);
        emit_null(&emit);
        emit_blob(&emit, "\001\002", 2);
        emit_text(&emit, "note");
    }
    EMIT_SECTION(&emit, "more", "More", EMIT_ROWS, columns);
    emit_warning(&emit, "a warning");
    emit_case_finish(&emit, &result);
    return result;
}

/* What does not fit is taken back: nothing of it is left, not even in the last lines. */
TEST(a_report_is_taken_back)
{
    struct emit emit;
    int result;
    put_report(&emit, EMIT_TABLE);
    struct emit_mark mark = emit_here(&emit);
    CHECK_INT(emit_lines(&emit), 4);
    emit_heading(&emit, "More");
    EMIT_SECTION(&emit, "more", "More rows", EMIT_ROWS, columns);
    put_row(&emit, 3, 3, "three", NULL);
    CHECK(emit_lines(&emit) > 6);
    emit_back(&emit, &mark);
    CHECK(emit_is_valid(&emit));
    CHECK_INT(emit_lines(&emit), 4);
    char got[1024];
    snprintf(got, sizeof got, "%s", emit_case_finish(&emit, &result));
    put_report(&emit, EMIT_TABLE);
    CHECK_STR(got, emit_case_finish(&emit, &result));
}

/* The notes stay, for they say what is not shown. */
TEST(a_screen_has_so_many_lines)
{
    for (unsigned most = 1; most < 12; most++) {
        struct emit emit;
        int result;
        unsigned lines = 0;
        put_report(&emit, EMIT_TABLE);
        for (int64_t i = 3; i < 8; i++)
            put_row(&emit, i, i, "row", NULL);
        emit.most_lines = most;
        const char *text = emit_case_finish(&emit, &result);
        CHECK_INT(result, 0);
        for (const char *at = text; *at; at++)
            lines += *at == '\n';
        CHECK(most < 4 || lines == most);
        CHECK(strstr(text, "a note\na warning\n"));
        CHECK(!strstr(text, "row") == (most < 9));
        CHECK(most < 5 || strncmp(text, "Rows\n", 5) == 0);
    }
}

TEST(memory_may_run_out_anywhere)
{
    for (enum emit_format format = EMIT_TABLE; format <= EMIT_JSON; format++) {
        long n = 1;
        for (;; n++) {
            mem_fail_after(n);
            int result = whole_report(format);
            mem_fail_after(0);
            if (result == 0)
                break;
            CHECK_INT(result, ERR_NOMEM);
            REQUIRE(n < 1000);
        }
        CHECK(n > 3);
    }
}

TEST_MAIN(TEST_CASE(a_table_is_aligned), TEST_CASE(csv_is_for_programs),
          TEST_CASE(json_has_one_shape), TEST_CASE(csv_marks_sections_when_there_are_several),
          TEST_CASE(a_key_is_continued_only_if_it_is_the_same),
          TEST_CASE(csv_quotes_what_could_be_misread), TEST_CASE(csv_on_a_terminal_is_safe),
          TEST_CASE(json_strings_are_valid_for_any_bytes), TEST_CASE(what_is_not_known_is_null),
          TEST_CASE(a_narrow_terminal_wraps_names_and_cuts_nothing),
          TEST_CASE(a_wrapped_column_goes_on_below_itself), TEST_CASE(lines_of_a_terminal_fit),
          TEST_CASE(a_record_is_read_downwards), TEST_CASE(columns_nobody_knows_are_left_out),
          TEST_CASE(many_rows_stream), TEST_CASE(a_report_is_taken_back),
          TEST_CASE(a_screen_has_so_many_lines), TEST_CASE(memory_may_run_out_anywhere))
