/*
 * record_call.h - what `record` and `rehearse` share: the options of a recording, how they become
 * the recorder's, and the way out.
 *
 * A command that records has `records` set and a struct whose first member is struct record_call;
 * it calls record_call_prepare and record_call_run.
 */
#ifndef TIDEMARK_VIEWER_RECORD_CALL_H
#define TIDEMARK_VIEWER_RECORD_CALL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command.h"
#include "progress.h"
#include "record.h"

struct record_call {
    const char *output;
    int wait; /* index into waits */
    bool no_stacks;
    int phases; /* index into phase_choices */
    bool history;
    bool private;
    const char *keep; /* NULL: all */
    int64_t max_size; /* 0: no limit */
    int64_t steps;    /* 0: all */
    bool no_nvtx;
    int progress; /* enum progress_when */
    bool no_cupti;
    bool kernels;
};

extern const struct option record_call_option_table[];
extern const struct command_shared record_call_shared; /* the same, beside a command's own */

/* The recorder's options, and what they point to; and what is said behind its closing lines, where
 * the program ran and the recording is there. */
struct record_call_plan {
    struct record_options record;
    void (*closing)(void *context, const struct record_result *result); /* NULL */
    void *context;
    char guest[PATH_MAX], python[PATH_MAX];
};

/* False after a message. The plan stays where it is: its options point into it. */
bool record_call_prepare(const struct command *command, const struct record_call *call,
                         char *const *arguments, struct record_call_plan *plan);
/* Runs, says how it went, and returns the exit code; or ends this process as the program ended. */
int record_call_run(const struct record_call *call, struct record_call_plan *plan);

#endif
