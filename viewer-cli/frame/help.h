/*
 * help.h - everything that --help prints, made from the command table.
 */
#ifndef TIDEMARK_VIEWER_HELP_H
#define TIDEMARK_VIEWER_HELP_H

#include <stdio.h>

#include "command.h"

void help_overview(FILE *out, const struct command *const *commands); /* ends with NULL */
void help_command(FILE *out, const struct command *command);

/* Parts of it, for the manuals. */
const char *help_group_title(enum command_group group);
const char *help_database_text(void);
const char *help_exit_text(const struct command *command);

#endif
