#include "help.h"

#include <stdio.h>
#include <string.h>

enum { HELP_WIDTH = 79 };

static const char *const group_titles[COMMAND_GROUPS] = {
    [COMMAND_RECORD] = "Recordings",
    [COMMAND_LOOK] = "Look",
    [COMMAND_ASK] = "Ask",
};

/* Text in paragraphs; lines that begin with a blank are kept as they are. */
static void put_paragraphs(FILE *out, const char *text)
{
    while (*text) {
        size_t line = strcspn(text, "\n");
        if (line == 0 || *text == ' ') {
            fprintf(out, "%.*s\n", (int)line, text);
        } else {
            for (size_t at = 0; at < line;) {
                size_t n = line - at;
                if (n > HELP_WIDTH) {
                    n = HELP_WIDTH;
                    while (n > 1 && text[at + n] != ' ')
                        n--;
                }
                fprintf(out, "%.*s\n", (int)n, text + at);
                at += n;
                while (at < line && text[at] == ' ')
                    at++;
            }
        }
        text += line + (text[line] == '\n');
    }
}

static int option_label(char *text, size_t size, const struct option *option)
{
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    return snprintf(text, size, "%s--%s%s%s", letter, option->name, option->value ? " " : "",
                    option->value ? option->value : "");
}

static void put_options(FILE *out, const char *title, const struct option *options)
{
    char label[96];
    int widest = 0;
    if (!options || !options->name)
        return;
    for (const struct option *o = options; o->name; o++) {
        int n = option_label(label, sizeof label, o);
        widest = n > widest ? n : widest;
    }
    fprintf(out, "\n%s\n", title);
    for (const struct option *o = options; o->name; o++) {
        option_label(label, sizeof label, o);
        size_t line = strcspn(o->help, "\n");
        fprintf(out, "  %-*s  %.*s\n", widest, label, (int)line, o->help);
        for (const char *at = o->help + line; *at; at += line) {
            line = strcspn(++at, "\n");
            fprintf(out, "  %-*s  %.*s\n", widest, "", (int)line, at);
        }
    }
}

const char *help_group_title(enum command_group group)
{
    return group_titles[group];
}

const char *help_database_text(void)
{
    return "DATABASE is a file that 'tidemark record' wrote; when it is not named, the\n"
           "newest tidemark.*.db in this folder.";
}

const char *help_exit_text(const struct command *command)
{
    if (command->takes == TAKES_PROGRAM && command->judges)
        return "0 something fits, 1 nothing does, 2 wrong usage, 3 it is not\n"
               "known, for the program failed, 4 internal error.";
    if (command->takes == TAKES_PROGRAM)
        return "the program's own; 2 wrong usage, 3 the database cannot\n"
               "be made, 126 or 127 the program cannot be run, 4 internal error.";
    if (command->judges)
        return "0 fine, 1 the check failed, 2 wrong usage, 3 unreadable or\n"
               "damaged input, 4 internal error.";
    return "0 fine, 2 wrong usage, 3 unreadable or damaged input,\n"
           "4 internal error.";
}

void help_overview(FILE *out, const struct command *const *commands)
{
    fputs("usage: tidemark COMMAND [OPTIONS] [ARGUMENTS]\n\n"
          "Records what a training run does with its memory, and explains the peak.\n\n"
          "  tidemark record -- python3 train.py\n"
          "  tidemark peak\n\n"
          "Without a command: the recordings here. With a recording alone: the peak.\n",
          out);
    for (int group = 0; group < COMMAND_GROUPS; group++) {
        fprintf(out, "\n%s\n", group_titles[group]);
        for (const struct command *const *at = commands; *at; at++)
            if ((*at)->group == (enum command_group)group)
                fprintf(out, "  %-9s %s\n", (*at)->name, (*at)->summary);
    }
    fputs("\n'tidemark help COMMAND' says more about one, 'tidemark help glossary' about\n"
          "terms; 'tidemark --version' says what is in.\n",
          out);
}

void help_command(FILE *out, const struct command *command)
{
    fprintf(out, "usage: tidemark %s [OPTIONS]%s%s\n\n", command->name,
            *command->arguments ? " " : "", command->arguments);
    put_paragraphs(out, command->description);
    put_options(out, "Options", command->options);
    if (command->shared)
        put_options(out, command->shared->title, command->shared->options);
    if (command->takes == TAKES_DATABASE && command->least == 0 && command->most == 1)
        fprintf(out, "\n%s\n", help_database_text());
    if (command->examples[0].line)
        fputs("\nExamples\n", out);
    for (const struct command_example *at = command->examples; at->line; at++)
        fprintf(out, "  %s\n      %s\n", at->line, at->what);
    fprintf(out, "\nExit status: %s\n", help_exit_text(command));
    fputs("\nTerms: 'tidemark help glossary' explains each in one line.\n", out);
}
