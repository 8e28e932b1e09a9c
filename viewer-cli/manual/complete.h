/*
 * complete.h - completion for bash and zsh, made of the table of commands. What an option's value
 * can be says its kind and its choices; what an argument is, the command.
 */
#ifndef TIDEMARK_MANUAL_COMPLETE_H
#define TIDEMARK_MANUAL_COMPLETE_H

#include "buf.h"
#include "commands.h"

enum complete_what {
    COMPLETE_NOTHING, /* a number, a size, a name that nobody can guess */
    COMPLETE_CHOICES,
    COMPLETE_FILES,
    COMPLETE_DATABASES,
    COMPLETE_PROGRAM, /* a command line of its own */
};

enum complete_what complete_value(const struct option *option);      /* not for flags */
enum complete_what complete_argument(const struct command *command); /* the first */
bool complete_many(const struct command *command); /* later arguments are as the first */

void complete_bash(struct buf *out);
void complete_zsh(struct buf *out);

#endif
