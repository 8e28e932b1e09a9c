/*
 * tidemark merge: recordings of several nodes become one. All the work is recorder/merge's; here
 * are the options, the output file and what is said of it.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "db.h"
#include "error.h"
#include "human.h"
#include "log.h"
#include "mem.h"
#include "merge.h"
#include "record_output.h"
#include "report.h"

struct merge_command {
    const char *output;
    bool mixed;
};

enum { SAID = 8 }; /* inputs of which a line is said */

/* ---- what is said ---- */

static void put_error(struct buf *text, int64_t error_ns)
{
    char ns[HUMAN_MAX];
    if (error_ns == MERGE_UNKNOWN)
        buf_text(text, ", its error is not known");
    else
        buf_print(text, ", to %s", human_ns(ns, error_ns));
}

static void put_way(struct buf *text, const struct merge_told *told)
{
    char count[HUMAN_MAX];
    switch (told->way) {
    case MERGE_WAY_FIRST:
        buf_text(text, "the others are aligned to this clock");
        break;
    case MERGE_WAY_SAME:
        buf_text(text, "by the clock of the same machine");
        put_error(text, told->error_ns);
        break;
    case MERGE_WAY_COLLECTIVES:
        buf_print(text, "by %s %s", human_count(count, told->meetings), told->meeting);
        put_error(text, told->error_ns);
        if (told->drift_ppb)
            buf_print(text, ", drift %.1f ppm", (double)told->drift_ppb / 1000);
        break;
    case MERGE_WAY_CALENDAR:
        buf_text(text, "by the calendar: how far the nodes' calendars are apart is not known");
        break;
    default:
        buf_text(text, "by nothing: a recording without a date begins as the first one");
    }
}

static void say_input(const struct merge_told *told)
{
    struct buf text = {0};
    buf_print(&text, "%s: ", told->path);
    if (told->host)
        buf_print(&text, "%s, ", told->host);
    put_way(&text, told);
    if (!told->finished)
        buf_text(&text, "; not finished");
    log_say(LOG_NOTE, "%s", buf_string(&text));
    buf_clear(&text);
}

/* Of many the ways and the largest error. */
static void say_rest(const struct merge_result *result)
{
    struct buf text = {0};
    char count[HUMAN_MAX];
    buf_print(&text, "and %s more", human_count(count, (int64_t)result->count - SAID));
    for (int way = MERGE_WAY_SAME; way < MERGE_WAYS; way++) {
        int64_t inputs = 0, error_ns = 0;
        for (size_t i = SAID; i < result->count; i++) {
            const struct merge_told *told = &result->told[i];
            inputs += (int)told->way == way;
            if ((int)told->way == way && error_ns != MERGE_UNKNOWN)
                error_ns = told->error_ns == MERGE_UNKNOWN || told->error_ns > error_ns
                               ? told->error_ns
                               : error_ns;
        }
        if (inputs)
            buf_print(&text, ", %s by %s%s", human_count(count, inputs),
                      way == MERGE_WAY_SAME ? "the " : "", merge_way_text((enum merge_way)way));
        if (inputs && way <= MERGE_WAY_COLLECTIVES)
            put_error(&text, error_ns);
    }
    log_say(LOG_NOTE, "%s", buf_string(&text));
    buf_clear(&text);
}

static void say_versions(const struct merge_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        if (result->told[i].version >= DB_VERSION)
            continue;
        log_say(LOG_NOTE, "%s is of schema version %" PRId64 ": what it lacks is not known",
                result->told[i].path, result->told[i].version);
        return;
    }
}

static void say_done(const struct merge_result *result, const char *path)
{
    char blocks[HUMAN_MAX];
    for (size_t i = 0; i < result->count && i < SAID; i++)
        say_input(&result->told[i]);
    if (result->count > SAID)
        say_rest(result);
    say_versions(result);
    log_say(LOG_NOTE, "merged %zu recordings into %s: %s blocks", result->count, path,
            human_count(blocks, (int64_t)result->blocks));
    log_say(LOG_NOTE, "next: tidemark skew %s", path);
}

/* ---- the command ---- */

static int exit_of(const struct merge_result *result, int err)
{
    if (result->misfit)
        return EXIT_INPUT;
    return err == ERR_NOMEM || err == ERR_INTERNAL ? EXIT_INTERNAL : EXIT_INPUT;
}

static int say_why(struct buf *why)
{
    log_say(LOG_ERROR, "%s", buf_string(why));
    buf_clear(why);
    return EXIT_INPUT;
}

static int merge(char **paths, int count, const struct merge_command *command)
{
    struct record_output output;
    struct merge_result result;
    struct buf why = {0};
    if (record_output_choose(&output, command->output, false, &why) < 0)
        return say_why(&why);
    struct merge_options options = {
        .paths = paths, .count = (size_t)count, .output = output.work, .mixed = command->mixed};
    int err = merge_files(&options, &result), code = EXIT_FINE;
    if (err < 0) {
        log_say(LOG_ERROR, "%s", result.message);
        if (result.damaged)
            report_advise_repair(result.damaged);
        record_output_discard(&output);
        code = exit_of(&result, err);
    } else if (record_output_move(&output, &why) < 0) {
        code = say_why(&why);
    } else {
        say_done(&result, output.wanted);
    }
    merge_result_clear(&result);
    return code;
}

static int cmd_merge(const struct command_call *call)
{
    struct merge_command options = {0};
    char **arguments;
    int count, code;
    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = merge(arguments, count, &options);
    mem_free(arguments);
    return code;
}

static const struct option option_table[] = {
    {"output", 'o', OPT_FILE, offsetof(struct merge_command, output), "FILE",
     "the database to make (tidemark.DATE-TIME-PID.db)", NULL, 0},
    {"mixed", 0, OPT_FLAG, offsetof(struct merge_command, mixed), NULL,
     "recordings that are not of one job, too: ranks may be\nthere twice", NULL, 0},
    {0},
};

const struct command command_merge = {
    .name = "merge",
    .group = COMMAND_RECORD,
    .run = cmd_merge,
    .summary = "make one recording of those of several nodes",
    .arguments = "A B ...",
    .takes = TAKES_DATABASES,
    .options = option_table,
    .least = 2,
    .most = 65536,
    .description =
        "Makes one recording of those that nodes of one job recorded, each on its own machine. "
        "Processes, devices and events get numbers of their own; every report reads the result.\n"
        "\n"
        "Clocks: each recording has its own. They are aligned by collectives that ranks in several "
        "recordings took part in: kernels and calls of NCCL, phases and marks that the program "
        "called after a collective, and ends of backward under DistributedDataParallel or FSDP. "
        "All ranks leave a collective at about the same time; a line through the differences is "
        "offset and drift, and how far the collectives are from it, in 19 of 20, is the error. "
        "Fewer than eight do not show the drift; the error has room for it. "
        "Without three collectives in common the calendar is taken, whose error is not known. It "
        "is said of each recording, and 'tidemark info' and the view node have it.\n"
        "\n"
        "The same recording twice, and one that is merged already, is refused; ranks that are in "
        "two of them, other numbers of ranks, other programs and other times, too, without "
        "--mixed. Of the commands the message names the word that differs; not compared are the "
        "number of a node or a rank (--node-rank, --local-rank, SLURM_PROCID), addresses of "
        "machines (--rdzv-endpoint), names of hosts, and the folders of the program.\n"
        "With --mixed, recordings take part in the same collectives if their numbers of ranks "
        "agree, no rank is in both, and they ran at the same time; others are aligned by the "
        "machine's own clock or by the calendar.\n"
        "\n"
        "Inputs are only read, one after the other. On the disk the work takes about the size of "
        "the inputs beside the output for a while; memory grows little: by names, and by some "
        "0.1 MiB for each input.",
    .examples =
        {
            {"tidemark merge -o job.db run.0.db run.1.db", "two nodes"},
            {"tidemark skew fleet.db", "which rank differs, and by what"},
        },
};
