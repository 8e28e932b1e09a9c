#include "page.h"

#include <ctype.h>
#include <string.h>

#include "help.h"

static void put_upper(struct buf *out, const char *text)
{
    for (; *text; text++) {
        char c = (char)toupper((unsigned char)*text);
        roff_text(out, &c, 1);
    }
}

static void put_string(struct buf *out, const char *text)
{
    roff_text(out, text, strlen(text));
}

static void put_title(struct buf *out, const char *name)
{
    buf_text(out, ".\\\" Made by viewer-cli/manual from the command's own tables and docs/manual.\n"
                  ".TH ");
    put_upper(out, name);
    buf_print(out, " 1 \"\" \"Tidemark %s\" \"Tidemark\"\n.nh\n.ad l\n.SH NAME\n",
              TIDEMARK_VERSION);
    put_string(out, name);
    buf_text(out, " \\- ");
}

static void put_heading(struct buf *out, const char *heading)
{
    buf_text(out, ".SH ");
    put_upper(out, heading);
    buf_text(out, "\n");
}

/* ---- options ---- */

static void put_value(struct buf *out, const char *value)
{
    if (!value)
        return;
    buf_text(out, " \\fI");
    put_string(out, value);
    buf_text(out, "\\fR");
}

/* The help's lines are for a narrow column; here they run on, but for lists as "NAME: text". */
static void put_option_help(struct buf *out, const char *help)
{
    for (bool first = true; *help; first = false) {
        size_t length = strcspn(help, "\n");
        size_t word = strspn(help, "abcdefghijklmnopqrstuvwxyz");
        if (!first && help[word] == ':')
            buf_text(out, ".br\n");
        roff_text(out, help, length);
        buf_text(out, "\n");
        help += length + (help[length] == '\n');
    }
}

static void put_options(struct buf *out, const struct option *options)
{
    for (const struct option *o = options; o && o->name; o++) {
        buf_text(out, ".TP\n");
        if (o->letter) {
            buf_print(out, "\\fB\\-%c\\fR", o->letter);
            buf_text(out, ", ");
        }
        buf_text(out, "\\fB\\-\\-");
        put_string(out, o->name);
        buf_text(out, "\\fR");
        put_value(out, o->value);
        buf_text(out, "\n");
        put_option_help(out, o->help);
    }
}

static void put_all_options(struct buf *out, const struct command *command)
{
    put_heading(out, "options");
    put_options(out, command->options);
    buf_text(out, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint this in short\n");
    if (command->shared) {
        buf_print(out, ".SS %s\n", command->shared->title);
        put_options(out, command->shared->options);
    }
}

/* ---- sections ---- */

static bool is_merged(const char *heading)
{
    return !*heading || strcmp(heading, "Examples") == 0 || strcmp(heading, "Exit status") == 0;
}

/* What is kept under `heading`, if anything is. */
static bool put_part(struct buf *out, const struct prose *prose, const char *heading,
                     struct buf *message)
{
    const struct prose_part *part = prose ? prose_find(prose, heading) : NULL;
    return !part || prose_roff(out, prose, part, message);
}

static bool put_sections(struct buf *out, const struct prose *prose, struct buf *message)
{
    for (int i = 0; prose && i < prose->count; i++) {
        const struct prose_part *part = &prose->parts[i];
        if (is_merged(part->heading))
            continue;
        put_heading(out, part->heading);
        if (!prose_roff(out, prose, part, message))
            return false;
    }
    return true;
}

static bool put_examples(struct buf *out, const struct command *command, const struct prose *prose,
                         struct buf *message)
{
    bool kept = prose && prose_find(prose, "Examples");
    if (!kept && !command->examples[0].line)
        return true;
    put_heading(out, "examples");
    for (const struct command_example *at = command->examples; at->line; at++) {
        buf_text(out, ".TP\n\\fB");
        put_string(out, at->line);
        buf_text(out, "\\fR\n");
        put_string(out, at->what);
        buf_text(out, "\n");
    }
    return put_part(out, prose, "Examples", message);
}

static void put_others(struct buf *out, const struct command *but)
{
    put_heading(out, "see also");
    if (but)
        buf_text(out, "\\fB\\%tidemark\\fR(1)");
    const char *join = but ? ",\n" : "";
    for (const struct command *const *at = commands; *at; at++) {
        if (*at == but)
            continue;
        buf_print(out, "%s\\fB\\%%tidemark\\-", join);
        put_string(out, (*at)->name);
        buf_text(out, "\\fR(1)");
        join = ",\n";
    }
    buf_text(
        out,
        "\n.PP\nPages named docs/ or schema/ lie in share/doc/tidemark of the installation.\n");
}

bool page_command(struct buf *out, const struct command *command, const struct prose *prose,
                  struct buf *message)
{
    char name[64];
    snprintf(name, sizeof name, "tidemark-%s", command->name);
    put_title(out, name);
    put_string(out, command->summary);
    buf_text(out, "\n.SH SYNOPSIS\n\\fBtidemark ");
    put_string(out, command->name);
    buf_text(out, "\\fR [\\fIOPTIONS\\fR] ");
    put_string(out, command->arguments);
    buf_text(out, "\n");
    put_heading(out, "description");
    if (!put_part(out, prose, "", message))
        return false;
    roff_help(out, command->description);
    if (command->takes == TAKES_DATABASE && command->least == 0)
        roff_help(out, help_database_text());
    put_all_options(out, command);
    if (!put_sections(out, prose, message) || !put_examples(out, command, prose, message))
        return false;
    put_heading(out, "exit status");
    roff_help(out, help_exit_text(command));
    if (!put_part(out, prose, "Exit status", message))
        return false;
    put_others(out, command);
    return true;
}

bool page_overview(struct buf *out, const struct prose *prose, struct buf *message)
{
    put_title(out, "tidemark");
    buf_text(out, "record what a training run does with its memory, and explain the peak\n"
                  ".SH SYNOPSIS\n"
                  "\\fBtidemark\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n");
    put_heading(out, "description");
    if (!put_part(out, prose, "", message))
        return false;
    put_heading(out, "commands");
    for (int group = 0; group < COMMAND_GROUPS; group++) {
        buf_text(out, ".SS ");
        put_string(out, help_group_title((enum command_group)group));
        buf_text(out, "\n");
        for (const struct command *const *at = commands; *at; at++) {
            if ((*at)->group != (enum command_group)group)
                continue;
            buf_text(out, ".TP\n\\fBtidemark ");
            put_string(out, (*at)->name);
            buf_text(out, "\\fR\n");
            put_string(out, (*at)->summary);
            buf_text(out, "\n");
        }
    }
    if (!put_sections(out, prose, message))
        return false;
    if (prose && prose_find(prose, "Examples"))
        put_heading(out, "examples");
    if (!put_part(out, prose, "Examples", message))
        return false;
    if (prose && prose_find(prose, "Exit status"))
        put_heading(out, "exit status");
    if (!put_part(out, prose, "Exit status", message))
        return false;
    put_others(out, NULL);
    return true;
}
