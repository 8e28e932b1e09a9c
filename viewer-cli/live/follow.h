/*
 * follow.h - reports on a recording that is still being written: look, close, wait, look again.
 *
 * Each look opens the database, reads, and closes it, so that the recorder's log never waits for a
 * reader. It is over when the recording says so or its recorder is gone; Ctrl-C, SIGTERM and a
 * reader of our output that went away end it, too, and are no failure.
 */
#ifndef TIDEMARK_VIEWER_FOLLOW_H
#define TIDEMARK_VIEWER_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"

void follow_begin(void); /* from now on signals end the waiting instead of the process */
/* Begins, and waits until there is a recording of that name, or for NULL any in this folder; says
 * so once. False: it is to end. */
bool follow_await(const char *named);
/* False: it is to end. A look at a long run may take a while: it waits the longer. */
bool follow_wait(void);
/* Has the recording ended? A recorder on another machine is believed to live; one without a name of
 * its machine (record --private) is looked for on this one. */
int follow_is_over(struct db *db, bool *over);
/* For redrawing: the cursor goes to the upper left corner, and what was there is cleared. */
void follow_home(void);

#endif
