/*
 * held.h - a file known by itself and not by its name: names change hands. While it is held it can
 * be asked what became of it; nothing is read or written through it, and letting it go drops none
 * of the locks that this process has on the file (an ordinary descriptor, when closed, drops them
 * all).
 */
#ifndef TIDEMARK_BASE_HELD_H
#define TIDEMARK_BASE_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

enum held_fate {
    HELD_IN_PLACE,
    HELD_MOVED,  /* it has another name, in the same file system */
    HELD_REMOVED /* it has none: with the last descriptor it is gone */
};

int held_open(const char *path); /* a descriptor, to be closed; -1 and errno */
bool held_is_at(int held, const char *path);
int64_t held_bytes(int held); /* -1 if that cannot be told */
/* `path` is the name that it had. *now, if not NULL, gets the name that it has, nothing if that is
 * not known: without /proc, or where a second name was given to it. */
enum held_fate held_fate(int held, const char *path, struct buf *now);

#endif
