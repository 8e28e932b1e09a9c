/*
 * tidemark attach: records a program of CPython 3.14 that runs, and was started by nobody of ours.
 */
#include <limits.h>

#include "arm_call.h"
#include "attach.h"
#include "guest_path.h"
#include "log.h"
#include "record.h"

static void say_that_it_waits(void *unused)
{
    (void)unused;
    log_say(LOG_NOTE, "the program's main thread is in no Python code; waiting for it");
}

static bool attach_to(struct armed *out, pid_t pid, struct buf *why)
{
    char guest[PATH_MAX], helper[PATH_MAX];
    bool found = guest_path_find(guest, sizeof guest) == 0 &&
                 guest_path_python(guest, helper, sizeof helper) == 0;
    const struct attach attach = {
        .guest = found ? guest : NULL, .helper = found ? helper : NULL, .waits = say_that_it_waits};
    int signal;
    bool attached = attach_program(&attach, out, pid, &signal, why);
    if (signal)
        record_die_by(signal);
    return attached;
}

static int cmd_attach(const struct command_call *call)
{
    return arm_call_run(call, attach_to);
}

const struct command command_attach = {
    .name = "attach",
    .group = COMMAND_RECORD,
    .run = cmd_attach,
    .summary = "record a program of CPython 3.14 that runs already",
    .arguments = "PID",
    .options = arm_call_options,
    .takes = TAKES_PROCESS,
    .least = 1,
    .most = 1,
    .description =
        "PID is a process of CPython 3.14 or newer, started without Tidemark. Its main thread "
        "loads "
        "the library between two lines of Python, and it is recorded until Ctrl-C, --for or "
        "--steps ends the recording. The program goes on, and can be attached to again. What "
        "Python "
        "knows to be allocated then is in the recording, with the call site 'allocated before the "
        "recording'. For programs of an older Python: 'tidemark record --armed'.",
    .examples =
        {
            {"tidemark attach $PID --for 2", "two seconds; then: tidemark peak"},
            {"tidemark attach $PID --for 1 --steps 3 -o now.db",
             "three steps, if they take no longer"},
        },
};
