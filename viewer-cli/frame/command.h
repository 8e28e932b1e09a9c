/*
 * command.h - what a command of tidemark is: its name, its options, what it says of itself.
 * Dispatch,
 * --help, man pages and completions are made from it; commands.h has the table of all.
 */
#ifndef TIDEMARK_VIEWER_COMMAND_H
#define TIDEMARK_VIEWER_COMMAND_H

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

/* Options that several commands take: those of every report, of every recording. */
struct command_shared {
    const char *title; /* above them, in --help */
    const struct option *options;
};

enum command_takes {                 /* what its arguments are */
                     TAKES_DATABASE, /* the first is one; least = 0: the newest one here where it is
                                        not named */
                     TAKES_DATABASES, /* each is one */
                     TAKES_FILE,      /* of another tool, of any name */
                     TAKES_PROCESS,   /* the number of one that runs */
                     TAKES_PROGRAM    /* the first begins another program's command line, and unless
                                         the command    `judges` the program's status becomes its own
                                       */
};

enum { COMMAND_EXAMPLES = 12 }; /* at most */

struct command {
    const char *name;
    enum command_group group;
    int (*run)(const struct command_call *call); /* returns an enum base_exit */
    const char *summary;                         /* one line, no full stop */
    const char *arguments;                       /* as in the usage line */
    const struct option *options;                /* NULL = none of its own */
    const struct command_shared *shared;         /* taken beside its own; NULL = none */
    const char *thinned; /* "blocks" or "phases": it needs all of them, and says so where some were
                            thinned; NULL: what is kept is enough */
    bool judges;         /* exits with EXIT_CHECK_FAILED where something is not as it should be */
    enum command_takes takes;
    int least, most; /* arguments; most < 0 = any number */
    const char *description;
    struct command_example examples[COMMAND_EXAMPLES + 1]; /* ends with one without a line */
};

/* Parses into options, whose first member is the struct that the shared options are for, if there
 * are some. The arguments come back in *arguments, which the caller frees with mem_free. False: the
 * command is over, after --help or a mistake, with *exit_code. */
bool command_parse(const struct command_call *call, void *options, char ***arguments, int *count,
                   int *exit_code);

/* The shared options; NULL: none. */
const struct option *command_shared_options(const struct command *command);

/* Prints to stderr what was wrong and where help is. Returns EXIT_USAGE. */
int command_misused(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
