/*
 * join.h - a program that reports into a recording that is being made: `tidemark record --join`
 * becomes it, and its processes say hello to the recorder that is there.
 *
 * The recorder of a database is the process that its meta names, if that has the database open and
 * listens under a name of ours: all three are looked at, for a file can be a copy, and a process id
 * another's by now.
 */
#ifndef TIDEMARK_RECORDER_JOIN_H
#define TIDEMARK_RECORDER_JOIN_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "buf.h"

#define JOIN_NAME 64

struct join {
    pid_t recorder;
    char socket[JOIN_NAME];
    char database[PATH_MAX]; /* without links */
};

/* False: nobody records into it, *why says so. */
bool join_find(struct join *out, const char *database, struct buf *why);

struct record_options;
/* Becomes the program. It returns only if it could not: the exit code, and *why. */
int join_become(const struct record_options *options, const struct join *join, struct buf *why);

#endif
