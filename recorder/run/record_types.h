/*
 * record_types.h - a recording that goes on, shared by the files that put it together: record.c,
 * record_open.c, record_close.c.
 */
#ifndef TIDEMARK_RECORDER_RECORD_TYPES_H
#define TIDEMARK_RECORDER_RECORD_TYPES_H

#include <limits.h>

#include "held.h"
#include "launch.h"
#include "metrics.h"
#include "record.h"
#include "record_output.h"
#include "record_rate.h"
#include "record_watch.h"
#include "writer.h"

struct recording {
    struct record_options options; /* defaults filled in */
    struct record_result *result;
    struct launch_origin origin;
    struct record_output output;
    struct buf missing;  /* what no process will tell, and why; empty: nothing */
    struct buf no_guest; /* why the guest is not used; empty: it is */
    char host[256];
    struct record_rate rate; /* what a day takes */
    uint64_t shown_ns;       /* when the progress was shown */
    uint64_t start_ns;
    int signal_fd, wake_fd; /* -1 */
    struct witness witness;
    struct hello_server_stats heard;
    int held;            /* the database, by itself; -1: it was not created */
    enum held_fate fate; /* of its name, when it was finished */
    char made[PATH_MAX]; /* its name then, whatever the folder that we are in is called by now */
    struct buf place;    /* where it is then; empty: not known, or nowhere */
    bool whole;          /* it was finished, is one file, and where it was made */
    struct state *state;
    struct queue *queue;
    struct writer *writer;
    struct hello_server *server;
    struct drain *drain;
    struct metrics *metrics; /* NULL: nobody asked for them */
    struct watch watch;
};

/* record_open.c: all parts, in the order in which data will flow; and then the program. */
void record_fill_defaults(struct recording *recording, const struct record_options *options);
int record_open(struct recording *recording);
int record_launch(struct recording *recording, pid_t *pid);

/* record_close.c: the program has ended, and its file is finished; or nothing ran, and nothing is
 * left; then everything else. */
void record_finish(struct recording *recording);
void record_abandon(struct recording *recording);
void record_close(struct recording *recording);

#endif
