/*
 * help.h - everything that --help and --version print, made from the command table.
 */
#ifndef TIDEMARK_VIEWER_HELP_H
#define TIDEMARK_VIEWER_HELP_H

#include <stdio.h>

#include "commands.h"

void help_overview(FILE *out);
void help_command(FILE *out, const struct command *command);
void help_version(FILE *out);

/* Parts of it, for the manuals. */
const char *help_group_title(enum command_group group);
/* Above the options that a command shares with others. */
const char *help_shared_title(const struct command *command);
const char *help_database_text(void);
const char *help_exit_text(const struct command *command);

#endif
