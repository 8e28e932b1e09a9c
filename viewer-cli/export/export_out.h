/*
 * export_out.h - where an export goes: a new file, or the standard output.
 *
 * Bytes leave as they come, through one buffer, so that an export takes no more memory the longer
 * it is. The first error is kept, and what comes behind it is dropped: it is asked for once, at the
 * end. A file that was not finished is removed.
 *
 * Invariants: file is not NULL between out_open and out_close; bytes is what was put so far.
 */
#ifndef TIDEMARK_EXPORT_OUT_H
#define TIDEMARK_EXPORT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "buf.h"

struct export_out {
    FILE *file;
    const char *path; /* NULL: the standard output */
    bool keep;        /* it was there before, a pipe or a device, and stays */
    uint64_t bytes;
    int err; /* the first one, and its errno */
    int number;
};

/* "-" is the standard output. A file that exists is not written over: ERR_EXISTS. *why says it for
 * a person; 0 or an error. */
int out_open(struct export_out *out, const char *path, struct buf *why);
/* Ends it: 0, or the first error with *why. After an error of the caller's (`err`), which is what
 * it returns then, the file is removed. */
int out_close(struct export_out *out, int err, struct buf *why);

/* Of a file that was closed, and of which something is wrong after all. */
void out_take_back(const struct export_out *out);

void out_put(struct export_out *out, const void *bytes, size_t count);
void out_text(struct export_out *out, const char *text);
void out_print(struct export_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* All that is in it, and empties it, keeping its memory. A buf that is broken is ERR_NOMEM. */
void out_buf(struct export_out *out, struct buf *buf);
bool out_is_valid(const struct export_out *out);

#endif
