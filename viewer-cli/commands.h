/*
 * commands.h - the table of commands. Dispatch, --help and whatever else lists commands or options
 * comes from it.
 *
 * To add a report:
 *   1. viewer-cli/reports/cmd_NAME.c, and its name in the CMakeLists.txt there: an options struct
 *      whose first member is struct report_options, an array of struct option for the rest,
 *      `int cmd_NAME(const struct command_call *call)`, and a `const struct command command_NAME`
 *      that describes it. Queries and emit_* calls only; what is worth a test of its own goes to
 *      viewer-cli/analysis/, which prints nothing.
 *   2. commands.def: a line, at its place in the help.
 *   3. tests/cli/NAME/: golden outputs as table, csv and json, of an empty and a damaged database,
 *      too.
 *   4. docs/manual/NAME.md: what a user needs to read the report, in the markup of
 *      manual/prose.h; a test runs its examples. Options, man page and completion follow from
 *      the tables.
 *
 * tests/cli/help checks that each command has its help and that every example's command exists.
 */
#ifndef TIDEMARK_VIEWER_COMMANDS_H
#define TIDEMARK_VIEWER_COMMANDS_H

#include <stdbool.h>

#include "command.h"

extern const struct command *const commands[]; /* ends with NULL */

/* The command of that name, or NULL with the nearest one in *near (NULL: none is near). */
const struct command *command_find(const char *name, const char **near);

/* Without a word, or with --color=WHEN alone: the recordings of this folder. False: there are none.
 */
bool commands_alone(int argc, char **argv, int *code);

#endif
