/*
 * tidemark arm: records a program that runs, and was started by `tidemark record --armed`.
 */
#include "arm_call.h"

static int cmd_arm(const struct command_call *call)
{
    return arm_call_run(call, armed_find);
}

const struct command command_arm = {
    .name = "arm",
    .group = COMMAND_RECORD,
    .run = cmd_arm,
    .summary = "record a program that runs, from now on",
    .arguments = "PID",
    .options = arm_call_options,
    .takes = TAKES_PROCESS,
    .least = 1,
    .most = 1,
    .description =
        "PID is any process of a program that was started by 'tidemark record --armed'; all of its "
        "processes are recorded, until Ctrl-C, --for or --steps ends the recording. The program "
        "goes "
        "on, and can be armed again. What it had allocated before is in the recording, with the "
        "call site 'allocated before the recording'.",
    .examples =
        {
            {"tidemark arm $PID --for 2", "two seconds; then: tidemark peak"},
            {"tidemark arm $PID --for 1 --steps 3 -o now.db",
             "three steps, if they take no longer"},
        },
};
