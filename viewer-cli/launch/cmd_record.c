/*
 * tidemark record: runs a program and records it.
 */
#include "armed.h"
#include "error.h"
#include "join.h"
#include "log.h"
#include "mem.h"
#include "record_call.h"

/* What is about the file is for who makes it. */
static const char *of_file(const struct record_call *call)
{
    const struct record_options *record = &call->record;
    return record->output                ? "--output"
           : call->keep                  ? "--keep"
           : record->retention.max_bytes ? "--max-size"
           : record->most_steps          ? "--steps"
           : record->metrics             ? "--metrics"
           : record->private             ? "--private"
           : call->force                 ? "--force"
           : record->wait                ? "--wait"
           : call->progress              ? "--progress"
                                         : NULL;
}

/* Who becomes the program does not return. */
static int arm(struct record_call *call, struct buf *why)
{
    call->record.wants.no_cupti = true; /* it could not be left alone until then */
    return armed_become(&call->record, why);
}

static int join(const struct record_call *call, struct buf *why)
{
    static struct join there;
    return join_find(&there, call->join, why) ? join_become(&call->record, &there, why)
                                              : EXIT_INPUT;
}

static int without_recorder(const struct command *command, struct record_call *call)
{
    struct buf why = {0};
    if (call->armed && call->join)
        return command_misused(command, "--armed and --join exclude each other");
    if (of_file(call))
        return command_misused(command, "%s does not go with %s: %s", of_file(call),
                               call->armed ? "--armed" : "--join",
                               call->armed ? "pass it to tidemark arm"
                                           : "it is for the record that makes the file");
    int code = call->armed ? arm(call, &why) : join(call, &why);
    log_say(LOG_ERROR, "%s", buf_string(&why));
    buf_clear(&why);
    return code;
}

static int cmd_record(const struct command_call *call)
{
    struct record_call options = {0};
    char **arguments;
    int count, code;
    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = EXIT_USAGE;
    if (record_call_prepare(call->command, &options, arguments))
        code = options.armed || options.join ? without_recorder(call->command, &options)
                                             : record_call_run(&options);
    mem_free(arguments);
    return code;
}

static const struct option option_table[] = {
    {"armed", 0, OPT_FLAG, offsetof(struct record_call, armed), NULL,
     "start the program, and record nothing until\n"
     "'tidemark arm PID' does",
     NULL, 0},
    {"join", 0, OPT_FILE, offsetof(struct record_call, join), "FILE",
     "record into FILE, which another 'tidemark record' is\n"
     "writing: one recording of all programs on a device",
     NULL, 0},
    {0},
};

const struct command command_record = {
    .name = "record",
    .group = COMMAND_RECORD,
    .run = cmd_record,
    .summary = "run a program and record its memory into a database",
    .arguments = "[--] COMMAND [ARGUMENTS]",
    .options = option_table,
    .shared = &record_call_shared,
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
            {"tidemark record --armed -- python3 train.py",
             "to be recorded later, by tidemark arm PID"},
        },
};
