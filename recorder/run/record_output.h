/*
 * record_output.h - where the recording goes: a new file, under the name wanted from the start, or,
 * where that lies on a network file system, in $TMPDIR, to be moved at the end. SQLite's log needs
 * shared memory and locks that such file systems only promise.
 */
#ifndef TIDEMARK_RECORDER_RECORD_OUTPUT_H
#define TIDEMARK_RECORDER_RECORD_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

#include "buf.h"

struct record_output {
    char wanted[PATH_MAX]; /* what the user asked for */
    char work[PATH_MAX];   /* what is written; the same, or the staged file */
    bool staged;
};

/* Chooses the paths; nothing is left on the disk. `name` NULL: tidemark.YYYYmmdd-HHMMSS-PID.db.
 * Refuses what exists (ERR_EXISTS) and what cannot be created; *why says it for a person. */
int record_output_choose(struct record_output *output, const char *name, bool stage,
                         struct buf *why);
/* The file system types on which a database is not written directly, by statfs's f_type. */
bool record_output_is_remote(unsigned long type);
/* After the end: moves a staged file. On failure it stays in `work`, and *why says so. */
int record_output_move(const struct record_output *output, struct buf *why);
/* Removes the file and what SQLite keeps beside it. */
void record_output_discard(const struct record_output *output);

#endif
