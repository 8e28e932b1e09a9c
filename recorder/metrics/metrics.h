/*
 * metrics.h - `record --metrics`: the thread that writes the file, or answers those who ask.
 *
 * It looks at the recording once a second and keeps what it saw: so a question costs nobody but
 * this thread, however many ask. The recorded program has no part in it.
 *
 *     metrics_open    before anything starts: what cannot be opened is an error
 *     metrics_start   with the drain
 *     metrics_end     the program has ended: the last values go into the file
 *     metrics_close   at any time; the name of a Unix socket goes
 */
#ifndef TIDEMARK_RECORDER_METRICS_H
#define TIDEMARK_RECORDER_METRICS_H

#include <stdint.h>

#include "buf.h"
#include "meters.h"

struct metrics;

struct metrics_options {
    const char *place;   /* as place.h reads it */
    const char *run;     /* the label of all */
    const char *version; /* of the recorder */
    /* What the recording is now, or was a moment ago; from the thread. */
    void (*look)(void *context, struct meters *out);
    /* The file can no longer be written; from the thread, once. */
    void (*warn)(void *context, const char *text);
    void *context;
};

/* A base_err; ERR_ARG: the place is none. *why says it for a person. Texts are copied. */
int metrics_open(struct metrics **out, const struct metrics_options *options, struct buf *why);
/* Where they are, in words, if a free port was taken; else "". */
const char *metrics_address(const struct metrics *metrics);
int metrics_start(struct metrics *metrics);
void metrics_stop(struct metrics *metrics); /* it looks no more; nobody is answered */
/* After metrics_stop: the last values. */
void metrics_end(struct metrics *metrics, const struct meters *last);
void metrics_close(struct metrics *metrics); /* NULL is none */

#endif
