/*
 * attach_site.h - the folder under /tmp with the script for a program, and the script's answer.
 *
 *     /tmp/tidemark-attach-NAMESPACE.COMMAND.START.PROGRAM.START-XXXXXX/attach.py, answer
 *
 * Both files belong to the user who runs the program, and this command. The name has the processes
 * by pid and start, in which namespace of pids. So whoever attaches next can remove what a command
 * that was killed left behind, as soon as its program does not come to the script any more: a
 * folder must not go before, or another user could put a script of that name there.
 */
#ifndef TIDEMARK_RECORDER_ATTACH_SITE_H
#define TIDEMARK_RECORDER_ATTACH_SITE_H

#include <stdbool.h>
#include <stddef.h>

#include "armed.h"

#define ATTACH_ANSWER 512

struct attach_site {
    char folder[160], script[176], answer[176];
};

/* False: errno says why, and nothing is left. */
bool attach_site_make(struct attach_site *site, const struct armed *program);
bool attach_site_write(const struct attach_site *site, const char *text, size_t bytes);
/* False: it is not there yet. One line, without its end. */
bool attach_site_answer(const struct attach_site *site, char text[ATTACH_ANSWER]);
/* The script does nothing from now on. */
void attach_site_empty(const struct attach_site *site);
void attach_site_remove(const struct attach_site *site);

/* Removes the folders of commands that have ended, if their script has answered, or their program
 * has ended, or is this one, which has executed a later script: NULL if it has not. */
void attach_site_sweep(const struct armed *program);

#endif
