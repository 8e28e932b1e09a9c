/*
 * tidemark record: runs a program and records it. All the work is the recorder's; here are its
 * options, the path of the guest library, and the ways out.
 */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "error.h"
#include "guest_path.h"
#include "log.h"
#include "mem.h"
#include "oom_closing.h"
#include "progress.h"
#include "record.h"
#include "safe.h"

struct record_command {
    const char *output;
    int wait; /* index into waits */
    bool no_stacks;
    int phases; /* index into phase_choices */
    bool history;
    bool private;
    const char *keep; /* NULL: all */
    int64_t max_size; /* 0: no limit */
    bool no_nvtx;
    int progress; /* enum progress_when */
    bool no_cupti;
    bool kernels;
};

static const char *const phase_choices[] = {"auto", "off", NULL};

static const char *const waits[] = {"grace", "all", "root", NULL};
static const enum record_wait wait_of[] = {RECORD_WAIT_GRACE, RECORD_WAIT_ALL, RECORD_WAIT_ROOT};

static void warn(void *context, const char *text)
{
    struct buf safe = {0};
    (void)context;
    safe_put(&safe, text, strlen(text));
    log_say(LOG_WARNING, "%s", safe.broken ? text : buf_string(&safe));
    buf_clear(&safe);
}

#define STEPS "steps="

/* False after a message. */
static bool read_retention(const struct command *command, const struct record_command *options,
                           struct retention_options *out)
{
    const char *keep = options->keep ? options->keep : "all";
    *out = (struct retention_options){.max_bytes = options->max_size};
    if (options->max_size && options->max_size < RETENTION_SMALLEST) {
        command_misused(command, "--max-size is at least 16MiB");
        return false;
    }
    if (strcmp(keep, "all") == 0)
        return true;
    if (strncmp(keep, STEPS, strlen(STEPS)) == 0 &&
        option_read_int(keep + strlen(STEPS), &out->keep_steps) &&
        out->keep_steps >= RETENTION_LEAST)
        return true;
    command_misused(command, "--keep is all, or steps=N with an N from %d on, not '%.60s'",
                    RETENTION_LEAST, keep);
    return false;
}

/* Nothing that goes wrong here changes how the recording ends. */
static void explain_failure(const struct record_result *result)
{
    struct buf text = {0};
    if (result->started && result->summary.file.count > 0)
        oom_closing_text(buf_string(&result->summary.file), &text);
    fputs(buf_string(&text), stderr);
    buf_clear(&text);
}

static int leave(struct record_result *result)
{
    int code = result->exit_code, number = result->signal;
    record_print_summary(result);
    explain_failure(result);
    record_result_clear(result);
    if (number)
        record_die_by(number);
    return code;
}

static int cmd_record(const struct command_call *call)
{
    struct record_command options = {0};
    struct record_result result = {0};
    char guest[PATH_MAX], python[PATH_MAX];
    char **arguments;
    int count, code;

    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    struct retention_options retention;
    if (!read_retention(call->command, &options, &retention)) {
        mem_free(arguments);
        return EXIT_USAGE;
    }
    /* Without the library the program runs all the same, and the recording says why it is empty. */
    bool found = guest_path_find(guest, sizeof guest) == 0;
    struct record_options record = {
        .output = options.output,
        .wait = wait_of[options.wait],
        .guest = found ? guest : NULL,
        .python = found && guest_path_python(guest, python, sizeof python) == 0 ? python : NULL,
        .no_stacks = options.no_stacks,
        .no_phases = options.phases == 1,
        .history = options.history,
        .retention = retention,
        .private = options.private,
        .no_nvtx = options.no_nvtx,
        .no_cupti = options.no_cupti,
        .kernels = options.kernels,
        .argv = (const char *const *)arguments,
        .warn = warn,
    };
    struct progress progress;
    if (progress_begin(&progress, (enum progress_when)options.progress)) {
        record.progress = progress_show;
        record.context = &progress;
    }
    record_run(&record, &result); /* what went wrong is in the result, too */
    mem_free(arguments);
    return leave(&result);
}

static const struct option option_table[] = {
    {"output", 'o', OPT_TEXT, offsetof(struct record_command, output), "FILE",
     "the database to make (tidemark.DATE-TIME-PID.db)", NULL, 0},
    {"wait", 'w', OPT_CHOICE, offsetof(struct record_command, wait), "WHOM",
     "whom to wait for when the program has ended:\n"
     "grace: its descendants, for two seconds (the default);\n"
     "all: every descendant; root: none",
     waits, 0},
    {"no-stacks", 0, OPT_FLAG, offsetof(struct record_command, no_stacks), NULL,
     "do not record the Python call stack of each block", NULL, 0},
    {"phases", 0, OPT_CHOICE, offsetof(struct record_command, phases), "HOW",
     "auto: find those of PyTorch, such as forward, loss\n"
     "and backward (the default);\n"
     "off: only the phases that the program reports itself",
     phase_choices, 0},
    {"history", 0, OPT_FLAG, offsetof(struct record_command, history), NULL,
     "turn on the history that PyTorch's CUDA allocator keeps\n"
     "of itself, and add what it tells: the bytes asked for,\n"
     "segments, blocks that waited for a stream",
     NULL, 0},
    {"keep", 0, OPT_TEXT, offsetof(struct record_command, keep), "WHAT",
     "all (the default), or steps=N: blocks in full of the\n"
     "first 10 steps, the last N, and those with a new peak\n"
     "or an out-of-memory event; of the others sums",
     NULL, 0},
    {"max-size", 0, OPT_SIZE, offsetof(struct record_command, max_size), "SIZE",
     "keep the file below this, 16MiB or more: as it fills,\n"
     "steps in the middle go, phases too, to sums",
     NULL, 0},
    {"private", 0, OPT_FLAG, offsetof(struct record_command, private), NULL,
     "to give the file away: no command lines, no host or\n"
     "folder names; of paths only the last part,\n"
     "of Python's libraries from site-packages on",
     NULL, 0},
    {"no-nvtx", 0, OPT_FLAG, offsetof(struct record_command, no_nvtx), NULL,
     "do not record the ranges and marks of NVTX", NULL, 0},
    {"progress", 0, OPT_CHOICE, offsetof(struct record_command, progress), "WHEN",
     "a line on stderr while the program runs, where that is\n"
     "a terminal: events, blocks, allocated, peak, lost;\n"
     "auto (the default): where stdout is there, too, in ever\n"
     "longer silences of the program;\n"
     "always: in each silence, and every ten seconds; never",
     progress_choices, 0},
    {"no-cupti", 0, OPT_FLAG, offsetof(struct record_command, no_cupti), NULL,
     "do not ask CUDA's driver what it gives and takes; for\n"
     "programs that use CUPTI themselves: it serves one tool",
     NULL, 0},
    {"kernels", 0, OPT_FLAG, offsetof(struct record_command, kernels), NULL,
     "record kernels and copies of the GPU, too", NULL, 0},
    {0},
};

const struct command command_record = {
    .name = "record",
    .group = COMMAND_RECORD,
    .run = cmd_record,
    .summary = "run a program and record its memory into a database",
    .arguments = "[--] COMMAND [ARGUMENTS]",
    .options = option_table,
    .runs_program = true,
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
