/*
 * commands.h - the table of commands. Dispatch, --help and whatever else lists commands or options
 * comes from it.
 *
 * To add a report:
 *   1. viewer-cli/cmd_NAME.c: an options struct whose first member is struct report_options, an
 *      array of struct option for the rest, `int cmd_NAME(const struct command_call *call)`, and a
 *      `const struct command command_NAME` that describes it. Queries and emit_* calls only; what
 *      is worth a test of its own goes to viewer-cli/analysis/, which prints nothing.
 *   2. commands.c: one line in the table. CMakeLists.txt: the file's name.
 *   3. tests/cli/NAME/: golden outputs as table, csv and json, an empty and a damaged database.
 *   4. docs/manual/NAME.md: what a user needs to read the report, in the markup of
 *      manual/prose.h; a test runs its examples. Options, man page and completion follow from
 *      the tables.
 *
 * tests/cli/help checks that each command has its help and that every example's command exists.
 */
#ifndef TIDEMARK_VIEWER_COMMANDS_H
#define TIDEMARK_VIEWER_COMMANDS_H

#include <stdbool.h>

#include "options.h"

enum command_group { COMMAND_RECORD, COMMAND_LOOK, COMMAND_ASK, COMMAND_GROUPS };

struct command;

struct command_call {
    const struct command *command;
    int argc; /* without the command's name */
    char **argv;
};

struct command_example {
    const char *line; /* NULL ends the list */
    const char *what;
};

struct command {
    const char *name;
    enum command_group group;
    int (*run)(const struct command_call *call); /* returns an enum base_exit */
    const char *summary;                         /* one line, no full stop */
    const char *arguments;                       /* as in the usage line */
    const struct option *options;                /* NULL = none of its own */
    bool report;/* takes the options of every report */
    bool records;                                /* takes those of `record` beside its own */
    const char *thinned; /* "blocks" or "phases": it needs all of them, and says so where some were
                            thinned; NULL: what is kept is enough */
    bool judges;         /* exits with EXIT_CHECK_FAILED where something is not as it should be */
    bool runs_program;   /* the first argument begins another program's command line, and unless
                            `judges` the program's status becomes its own */
    int least, most;     /* arguments; most < 0 = any number */
    const char *description;
    struct command_example examples[6]; /* ends with one without a line */
};

extern const struct command *const commands[]; /* ends with NULL */

/* The command of that name, or NULL with the nearest one in *near (NULL: none is near). */
const struct command *command_find(const char *name, const char **near);

/* Parses into options, whose first member is struct report_options if command->report is set,
 * struct record_call if command->records is. The arguments come back in *arguments, which the caller frees with mem_free. False: the command is
 * over, after --help or a mistake, with *exit_code. */
bool command_parse(const struct command_call *call, void *options, char ***arguments, int *count,
                   int *exit_code);

/* Those of every report, or of every recording, that the command takes as well; NULL: none. */
const struct option *command_shared_options(const struct command *command);

/* Prints to stderr what was wrong and where help is. Returns EXIT_USAGE. */
int command_misused(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
