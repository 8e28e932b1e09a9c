/*
 * page.h - man pages, made of the table of commands and of the kept text.
 */
#ifndef TIDEMARK_MANUAL_PAGE_H
#define TIDEMARK_MANUAL_PAGE_H

#include <stdbool.h>

#include "buf.h"
#include "commands.h"
#include "prose.h"

/* The page of one command. prose: NULL if nothing is kept for it. False: *message has why not. */
bool page_command(struct buf *out, const struct command *command, const struct prose *prose,
                  struct buf *message);
/* tidemark(1), which lists the commands. */
bool page_overview(struct buf *out, const struct prose *prose, struct buf *message);

#endif
