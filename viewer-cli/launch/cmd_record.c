/*
 * tidemark record: runs a program and records it.
 */
#include "error.h"
#include "mem.h"
#include "record_call.h"

static int cmd_record(const struct command_call *call)
{
    struct record_call options = {0};
    char **arguments;
    int count, code;
    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = EXIT_USAGE;
    if (record_call_prepare(call->command, &options, arguments))
        code = record_call_run(&options);
    mem_free(arguments);
    return code;
}

const struct command command_record = {
    .name = "record",
    .group = COMMAND_RECORD,
    .run = cmd_record,
    .summary = "run a program and record its memory into a database",
    .arguments = "[--] COMMAND [ARGUMENTS]",
    .options = record_call_option_table,
    .takes = TAKES_PROGRAM,
    .least = 1,
    .most = -1,
    .description =
        "Runs COMMAND with its arguments, and writes what it and its descendants do with memory "
        "into one SQLite file. The program is not changed; its exit status and a death by signal "
        "become those of this command. Ctrl-C belongs to the program. At the end five lines on "
        "stderr say where the recording is and what is in it; where an allocation failed, a few "
        "more say why.",
    .examples =
        {
            {"tidemark record -- python3 train.py", "then: tidemark peak"},
            {"tidemark record -o run.db -- torchrun --nproc-per-node 2 train.py",
             "all ranks in one database"},
        },
};
