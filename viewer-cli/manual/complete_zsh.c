/*
 * zsh: the specifications of _arguments, one list for each command. In one of them ':' separates
 * its parts and brackets hold the help, so those are written with a backslash; the whole stands in
 * single quotes.
 */
#include "complete.h"

#include <string.h>

/* Text inside of a specification, or of a list of commands. */
static void put_text(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            buf_text(out, "'\\''");
        else if (*text == '\n')
            buf_text(out, " ");
        else if (strchr(":[]\\", *text))
            buf_print(out, "\\%c", *text);
        else
            buf_add(out, text, 1);
    }
}

static void put_what(struct buf *out, enum complete_what what, const struct option *option)
{
    switch (what) {
    case COMPLETE_CHOICES:
        buf_text(out, "(");
        for (size_t i = 0; option->choices[i]; i++) {
            buf_text(out, i ? " " : "");
            put_text(out, option->choices[i]);
        }
        buf_text(out, ")");
        break;
    case COMPLETE_FILES:
        buf_text(out, "_files");
        break;
    case COMPLETE_DATABASES:
        buf_text(out, "_files -g \"*.db\"");
        break;
    default:
        break;
    }
}

static void put_option(struct buf *out, const struct option *option)
{
    const char *value = option->kind == OPT_FLAG ? "" : "=";
    buf_text(out, "            ");
    if (option->letter)
        buf_print(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", option->letter, option->name, option->letter,
                  *value ? "+" : "", option->name, value);
    else
        buf_print(out, "'--%s%s[", option->name, value);
    put_text(out, option->help);
    buf_text(out, "]");
    if (*value) {
        buf_text(out, ":");
        put_text(out, option->value);
        buf_text(out, ":");
        put_what(out, complete_value(option), option);
    }
    buf_text(out, "' \\\n");
}

static void put_arguments(struct buf *out, const struct command *command)
{
    enum complete_what what = complete_argument(command);
    if (what == COMPLETE_PROGRAM) {
        buf_text(out, "            '(-)1:program:_command_names -e' '*::arguments:_normal'\n");
        return;
    }
    buf_print(out, "            '%s:", complete_many(command) ? "*" : "1");
    put_text(out, command->arguments);
    buf_text(out, ":");
    put_what(out, what, NULL);
    buf_text(out, "'\n");
}

static void put_command(struct buf *out, const struct command *command)
{
    buf_print(out, "    %s)\n        _arguments -s \\\n", command->name);
    buf_text(out, "            '(- *)'{-h,--help}'[what it takes, in short]' \\\n");
    for (const struct option *o = command->options; o && o->name; o++)
        put_option(out, o);
    for (const struct option *o = command_shared_options(command); o && o->name; o++)
        put_option(out, o);
    put_arguments(out, command);
    buf_text(out, "        ;;\n");
}

void complete_zsh(struct buf *out)
{
    buf_text(out, "#compdef tidemark\n"
                  "# Made by viewer-cli/manual from the command's own tables.\n"
                  "\n"
                  "_tidemark()\n"
                  "{\n"
                  "    local -a commands\n"
                  "    commands=(\n");
    for (const struct command *const *at = commands; *at; at++) {
        buf_print(out, "        '%s:", (*at)->name);
        put_text(out, (*at)->summary);
        buf_text(out, "'\n");
    }
    buf_text(out, "        'help:say more about one command'\n"
                  "    )\n"
                  "    if ((CURRENT == 2)); then\n"
                  "        _describe -t commands 'command' commands\n"
                  "        _arguments '(- *)--help[list the commands]' "
                  "'(- *)--version[what is in]'\n"
                  "        return\n"
                  "    fi\n"
                  "    local command=$words[2]\n"
                  "    shift words\n"
                  "    ((CURRENT--))\n"
                  "    case $command in\n"
                  "    help) ((CURRENT > 2)) || _describe -t commands 'command' commands ;;\n");
    for (const struct command *const *at = commands; *at; at++)
        put_command(out, *at);
    buf_text(out, "    esac\n"
                  "}\n"
                  "\n"
                  "_tidemark \"$@\"\n");
}
