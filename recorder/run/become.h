/* become.h - how `tidemark record` becomes the program, where no recorder of its own is to be
 * there. */
#ifndef TIDEMARK_RECORDER_BECOME_H
#define TIDEMARK_RECORDER_BECOME_H

#include "buf.h"
#include "launch_env.h"

struct record_options;

/* With the words, and the guest, helper and wants of the options; `note` is said before (NULL:
 * nothing). Where the guest cannot be loaded, the program runs without it, and a warning says so.
 * It returns only if it could not: the exit code, and *why. */
int become(const struct record_options *options, const struct launch_words *words, const char *note,
           struct buf *why);

#endif
