/*
 * record_call.h - what `record` and `rehearse` share: the options of a recording and the way out.
 *
 * A command that records takes these options, into a struct whose first member is struct
 * record_call; it calls record_call_prepare and record_call_run.
 */
#ifndef TIDEMARK_VIEWER_RECORD_CALL_H
#define TIDEMARK_VIEWER_RECORD_CALL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "command.h"
#include "progress.h"
#include "record.h"

struct record_call {
    struct record_options record; /* most options are the recorder's own and go there at once */
    const char *keep;             /* NULL: all */
    bool armed;                   /* the program is started, and recorded later */
    const char *join;             /* the database that is written already; NULL: a new one */
    bool force;                   /* a finished recording of that name is replaced */
    int phases;                   /* index into phase_choices */
    int progress;                 /* enum progress_when */
    /* Said behind the closing lines, where the program ran and the recording is there; NULL. */
    void (*closing)(void *context, const struct record_result *result);
    void *context;
    char guest[PATH_MAX], python[PATH_MAX];
};

extern const struct command_shared record_call_shared; /* beside a command's own */

/* What the options leave to be said. False after a message. The call stays where it is: its
 * options point into it. */
bool record_call_prepare(const struct command *command, struct record_call *call,
                         char *const *arguments);
/* The part of it that is about the file. */
bool record_call_prepare_file(const struct command *command, struct record_call *call);
/* Runs, says how it went, and returns the exit code; or ends this process as the program ended. */
int record_call_run(struct record_call *call);

#endif
