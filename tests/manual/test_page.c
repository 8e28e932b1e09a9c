/* Pages and completions of commands that are made up here, with what real ones have not. */
#include "page.h"
#include "report.h"

#include <string.h>

#include "complete.h"
#include "test.h"

static const char *const kinds[] = {"one", "two", NULL};
static const struct option options[] = {
    {"kind", 'k', OPT_CHOICE, 0, "KIND", "which:\none: it's [this]\ntwo: that", kinds, 0},
    {"file", 0, OPT_FILE, 0, "FILE", "a file", NULL, 0},
    {"flag", 'x', OPT_FLAG, 0, NULL, "a flag", NULL, 0},
    {"baseline", 0, OPT_DATABASE, 0, "DATABASE", "another", NULL, 0},
    {"device", 'd', OPT_TEXT, 0, "NAME", "a device", kinds, 0},
    {"top", 'n', OPT_INT, 0, "N", "many", NULL, 1},
    {0},
};
static const struct command made_up = {
    .name = "made",
    .summary = "does what it's told",
    .arguments = "[DATABASE]",
    .options = options,
    .most = 1,
    .description = "First.\n\nThen:\n\n  .code",
    .examples = {{"tidemark made --top 3", "three"}},
};

static void page(struct buf *out, const struct command *command, const char *text)
{
    struct prose prose;
    struct buf message = {0};
    if (text)
        REQUIRE(prose_split(&prose, "made.md", text, &message));
    CHECK(page_command(out, command, text ? &prose : NULL, &message));
    CHECK_STR(buf_string(&message), "");
    buf_clear(&message);
}

/* The places of texts in a page, in this order. */
static void check_order(const char *text, const char *const *wanted)
{
    const char *at = text;
    for (; *wanted; wanted++) {
        const char *found = strstr(at, *wanted);
        if (!found)
            CHECK_STR(at, *wanted);
        else
            at = found + strlen(*wanted);
    }
}

TEST(sections_have_their_order)
{
    static const char *const order[] = {
        ".TH TIDEMARK\\-MADE 1",
        ".SH NAME\ntidemark\\-made \\- does what it\\(aqs told\n",
        ".SH SYNOPSIS\n",
        ".SH DESCRIPTION\nThe question.\n.PP\nFirst.\n.PP\nThen:\n.PP\n.RS 4\n.EX\n\\&.code\n",
        "DATABASE is a file",
        ".SH OPTIONS\n",
        ".SH READING IT\nLines.\n",
        ".SH EXAMPLES\n.TP\n\\fBtidemark made \\-\\-top 3\\fR\nthree\n.PP\nMore.\n",
        ".SH EXIT STATUS\n0 fine",
        "And so on.\n",
        ".SH SEE ALSO\n",
        NULL,
    };
    struct buf out = {0};
    page(&out, &made_up,
         "# t\n\nThe question.\n\n## Examples\n\nMore.\n\n## Reading it\n\nLines.\n\n"
         "## Exit status\n\nAnd so on.\n");
    check_order(buf_string(&out), order);
    buf_clear(&out);
}

TEST(options_are_written)
{
    struct buf out = {0};
    page(&out, &made_up, NULL);
    static const char *const order[] = {
        ".TP\n\\fB\\-k\\fR, \\fB\\-\\-kind\\fR \\fIKIND\\fR\nwhich:\n.br\none: it\\(aqs [this]\n"
        ".br\ntwo: that\n",
        ".TP\n\\fB\\-\\-file\\fR \\fIFILE\\fR\na file\n",
        ".TP\n\\fB\\-x\\fR, \\fB\\-\\-flag\\fR\na flag\n",
        ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n",
        NULL,
    };
    check_order(buf_string(&out), order);
    CHECK(!strstr(buf_string(&out), "Options of every report"));
    buf_clear(&out);
}

TEST(reports_have_the_common_options)
{
    struct buf out = {0};
    struct command command = made_up;
    command.shared = &report_shared;
    command.options = NULL;
    page(&out, &command, NULL);
    CHECK(strstr(buf_string(&out), ".SS Options of every report\n.TP\n\\fB\\-p\\fR, "
                                   "\\fB\\-\\-process\\fR \\fIN\\fR\n"));
    buf_clear(&out);
}

TEST(a_wrong_text_is_said)
{
    struct buf out = {0}, message = {0};
    struct prose prose;
    REQUIRE(prose_split(&prose, "made.md", "# t\n\n## Reading it\n\n| a |\n", &message));
    CHECK(!page_command(&out, &made_up, &prose, &message));
    CHECK_STR(buf_string(&message), "made.md:5: is nothing that viewer-cli/manual/prose.h knows");
    buf_clear(&out);
    buf_clear(&message);
}

TEST(the_overview_has_every_command)
{
    struct buf out = {0}, message = {0}, line = {0};
    CHECK(page_overview(&out, NULL, &message));
    for (const struct command *const *at = commands; *at; at++) {
        buf_clear(&line);
        buf_print(&line, ".TP\n\\fBtidemark %s\\fR\n", (*at)->name);
        CHECK(strstr(buf_string(&out), buf_string(&line)) != NULL);
    }
    buf_clear(&out);
    buf_clear(&message);
    buf_clear(&line);
}

TEST(values_are_told_apart)
{
    static const enum complete_what wanted[] = {COMPLETE_CHOICES, COMPLETE_FILES,
                                                COMPLETE_NOTHING, COMPLETE_DATABASES,
                                                COMPLETE_CHOICES, COMPLETE_NOTHING};
    for (size_t i = 0; options[i].name; i++)
        if (options[i].kind != OPT_FLAG)
            CHECK_INT(complete_value(&options[i]), wanted[i]);
}

TEST(arguments_are_told_apart)
{
    static const struct {
        enum command_takes takes;
        enum complete_what what;
        bool many;
    } cases[] = {
        {TAKES_DATABASE, COMPLETE_DATABASES, false}, {TAKES_DATABASES, COMPLETE_DATABASES, true},
        {TAKES_FILE, COMPLETE_FILES, false},         {TAKES_PROCESS, COMPLETE_NOTHING, false},
        {TAKES_PROGRAM, COMPLETE_PROGRAM, false},
    };
    struct command command = made_up;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        command.takes = cases[i].takes;
        CHECK_INT(complete_argument(&command), cases[i].what);
        CHECK(complete_many(&command) == cases[i].many);
    }
}

static void check_words(const struct option *table)
{
    for (const struct option *o = table; o && o->name; o++) {
        const char *word = o->value ? o->value : "";
        CHECK((o->kind == OPT_FLAG) == !o->value);
        CHECK((o->kind == OPT_FILE) == (strcmp(word, "FILE") == 0 || strcmp(word, "FOLDER") == 0));
        CHECK((o->kind == OPT_DATABASE) == (strcmp(word, "DATABASE") == 0));
    }
}

/* What people read of a value and of an argument is what its kind says. */
TEST(words_and_kinds_agree)
{
    static const char *const words[] = {[TAKES_DATABASE] = "DATABASE",
                                        [TAKES_DATABASES] = "A B",
                                        [TAKES_FILE] = "FILE",
                                        [TAKES_PROCESS] = "PID",
                                        [TAKES_PROGRAM] = "COMMAND"};
    for (const struct command *const *at = commands; *at; at++) {
        bool compares =
            strstr((*at)->arguments, "[OTHER]") != NULL; /* DATABASE, and OTHER beside it */
        for (size_t i = 0; i < sizeof words / sizeof *words && !compares; i++)
            CHECK((strstr((*at)->arguments, words[i]) != NULL) == ((size_t)(*at)->takes == i));
        CHECK(!compares || (*at)->takes == TAKES_DATABASES);
        CHECK((*at)->most != 0);
        check_words((*at)->options);
        check_words(command_shared_options(*at));
    }
}

TEST_MAIN(TEST_CASE(sections_have_their_order), TEST_CASE(options_are_written),
          TEST_CASE(reports_have_the_common_options), TEST_CASE(a_wrong_text_is_said),
          TEST_CASE(the_overview_has_every_command), TEST_CASE(values_are_told_apart),
          TEST_CASE(arguments_are_told_apart), TEST_CASE(words_and_kinds_agree))
