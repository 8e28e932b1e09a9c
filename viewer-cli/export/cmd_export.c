/*
 * tidemark export: a recording for other people's tools. The formats are to_*.c; here are the
 * options, the file, and what is said at the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driven.h"
#include "error.h"
#include "export.h"
#include "human.h"
#include "instant.h"
#include "log.h"
#include "mem.h"

struct export_options {
    struct report_options common;
    int to;
    const char *output, *moment, *run, *commit;
    int64_t blocks;
};

/* In the order of `names`. */
static const char *const names[] = {"memory_viz", "perfetto", "chrome",  "pprof", "speedscope",
                                    "collapsed",  "csv",      "parquet", NULL};
static const struct format {
    export_writer *write;
    const char *ending;
    const char *open; /* how to look at it; %s is the file */
    bool binary, has_moment, has_blocks;
} formats[] = {
    {export_memory_viz, "pickle", "drop it on https://pytorch.org/memory_viz", true, true, false},
    {export_perfetto, "pftrace", "open it in https://ui.perfetto.dev", true, true, true},
    {export_chrome, "trace.json", "open it in https://ui.perfetto.dev", false, false, false},
    {export_pprof, "pb.gz", "go tool pprof -http=: %s", true, true, false},
    {export_speedscope, "speedscope.json", "drop it on https://www.speedscope.app", false, true,
     false},
    {export_collapsed, "collapsed", "flamegraph.pl %s > %s.svg", false, true, false},
    {export_csv, "csv", "any spreadsheet, pandas or DuckDB reads it", false, true, false},
    {NULL, "parquet", NULL, true, false, false}, /* a folder, made by the Python package */
};

const char *export_scope_text(char text[EXPORT_SCOPE_TEXT], const struct report_scope *scope)
{
    char rank[32] = "";
    if (scope->process.rank != REPORT_ANY)
        snprintf(rank, sizeof rank, " (rank %" PRId64 ")", scope->process.rank);
    snprintf(text, EXPORT_SCOPE_TEXT, "process %" PRId64 "%s, %s", scope->process.id, rank,
             scope->device_text);
    return text;
}

/* ---- the file ---- */

/* run.db as run.ENDING, in the same folder. */
static char *name_beside(const char *path, const char *ending)
{
    struct buf name = {0};
    size_t bytes = strlen(path);
    if (bytes > 3 && strcmp(path + bytes - 3, ".db") == 0)
        bytes -= 3;
    buf_add(&name, path, bytes);
    buf_print(&name, ".%s", ending);
    if (name.broken)
        buf_clear(&name);
    return name.data;
}

static int refuse_terminal(const struct command_call *call, const struct export_options *options)
{
    return command_misused(call->command,
                           "%s is no text for a terminal: name a file with --output, or pipe it",
                           names[options->to]);
}

static void say_done(const struct export *export, const struct format *format)
{
    char size[HUMAN_MAX], bytes[HUMAN_MAX], count[HUMAN_MAX], of[2 * HUMAN_MAX + 64] = "";
    const char *path = export->out->path;
    if (!path)
        return;
    if (export->what && export->bytes)
        snprintf(of, sizeof of, "; %s: %s (%s)", export->what, human_count(count, export->blocks),
                 human_bytes(bytes, export->bytes));
    else if (export->what)
        snprintf(of, sizeof of, "; %s: %s", export->what, human_count(count, export->blocks));
    log_say(LOG_NOTE, "wrote %s, %s%s", path, human_bytes(size, (int64_t) export->out->bytes), of);
    struct buf open = {0};
    for (const char *at = format->open; *at; at++) {
        if (at[0] == '%' && at[1] == 's') {
            buf_text(&open, path);
            at++;
        } else {
            buf_add(&open, at, 1);
        }
    }
    log_say(LOG_NOTE, "%s", buf_string(&open));
    buf_clear(&open);
}

/* A device of which only the driver told has no blocks to write; pictures over time have it. */
static int note_driven(struct report *report)
{
    bool driven = false;
    int err = 0;
    for (size_t i = 0; i < report->scope_count && err >= 0 && !driven; i++)
        err =
            driven_is(report->db, report->scopes[i].process.id, report->scopes[i].device, &driven);
    if (err >= 0 && driven)
        report_note_driven(report);
    return err;
}

/* Writes it, and closes the report, whose last lines go where messages go. */
static int write_out(struct report *report, const struct export_options *options, const char *path)
{
    const struct format *format = &formats[options->to];
    struct export_out out;
    struct export export = {
        .report = report, .out = &out, .moment = options->moment, .least = options->blocks};
    struct buf why = {0};
    int err = out_open(&out, path, &why);
    if (err >= 0) {
        err = format->write(&export);
        if (err >= 0 && export.blocks)
            err = note_driven(report);
        if (err >= 0 && report->absent)
            err = ERR_NOTFOUND;
        err = out_close(&out, err, &why);
    }
    bool nothing = report->absent || err == ERR_NOTFOUND,
         unwritten = !out.path && out.err == ERR_IO;
    int code = report_end(report, why.count || nothing || unwritten ? 0 : err);
    if (code && err >= 0)
        out_take_back(&out);
    if (why.count)
        log_say(LOG_ERROR, "%s", buf_string(&why));
    else if (code == EXIT_FINE && !nothing && !unwritten)
        say_done(&export, format);
    code = code ? code : why.count || nothing ? EXIT_INPUT : EXIT_FINE;
    buf_clear(&why);
    errno = out.number; /* of standard output; main.c says it, as of every report */
    return code;
}

/* ---- the command ---- */

static int check_options(const struct command_call *call, const struct export_options *options)
{
    const struct format *format = &formats[options->to < 0 ? 0 : options->to];
    if (options->to < 0)
        return command_misused(call->command, "--to FORMAT is missing");
    if (options->moment && !format->has_moment)
        return command_misused(call->command, "--at: %s has every moment", names[options->to]);
    if (options->moment && !instant_is_name(options->moment))
        return command_misused(call->command, "--at: '%s' is no moment", options->moment);
    if (options->blocks != EXPORT_NONE && !format->has_blocks)
        return command_misused(call->command, "--blocks is for perfetto only");
    bool to_terminal =
        options->output && strcmp(options->output, "-") == 0 && isatty(STDOUT_FILENO);
    if (format->write && (options->run || options->commit))
        return command_misused(call->command, "--run and --commit are for parquet only");
    return format->binary && to_terminal ? refuse_terminal(call, options) : 0;
}

/* Every process of it, into a folder that other recordings may be in. */
static int write_parquet(const struct command_call *call, const struct export_options *options,
                         const char *database)
{
    const struct report_options *common = &options->common;
    if (common->process != REPORT_ANY || common->rank != REPORT_ANY || common->device)
        return command_misused(call->command, "parquet has all processes and devices");
    if (options->output && strcmp(options->output, "-") == 0)
        return command_misused(call->command, "parquet is a folder: -o DIR");
    const struct export_parquet wanted = {.database = database,
                                          .folder = options->output ? options->output : "parquet",
                                          .run = options->run,
                                          .commit = options->commit};
    return export_parquet(&wanted);
}

static int cmd_export(const struct command_call *call)
{
    struct export_options options = {.common = REPORT_OPTIONS, .to = -1, .blocks = EXPORT_NONE};
    struct report report;
    char **arguments;
    int count, code;

    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = check_options(call, &options);
    if (!code && !formats[options.to].write) {
        code = write_parquet(call, &options, count ? arguments[0] : NULL);
        mem_free(arguments);
        return code;
    }
    if (!code)
        code = report_begin(&report, call->command, &options.common, count ? arguments[0] : NULL);
    mem_free(arguments);
    if (code)
        return code;
    report.out = stderr;
    char *beside = options.output ? NULL : name_beside(report.path, formats[options.to].ending);
    if (!options.output && !beside)
        return report_end(&report, ERR_NOMEM);
    code = write_out(&report, &options, options.output ? options.output : beside);
    mem_free(beside);
    return code;
}

static const struct option option_table[] = {
    {"to", 't', OPT_CHOICE, offsetof(struct export_options, to), "FORMAT",
     "memory_viz, perfetto, chrome, pprof, speedscope,\ncollapsed, csv or parquet", names, 0},
    {"output", 'o', OPT_FILE, offsetof(struct export_options, output), "FILE",
     "the file to make (beside the database); - is the\nstandard output; parquet: the folder "
     "(parquet)",
     NULL, 0},
    {"at", 0, OPT_TEXT, offsetof(struct export_options, moment), "MOMENT",
     "what was live then, in place of at the peak; memory_viz:\nthe trace up to it; csv: not all "
     "blocks,\nbut those live then",
     NULL, 0},
    {"blocks", 0, OPT_SIZE, offsetof(struct export_options, blocks), "SIZE",
     "perfetto: each block from this size on, with its call\nstack (a thousandth of the peak)",
     NULL, 0},
    {"run", 0, OPT_TEXT, offsetof(struct export_options, run), "NAME",
     "parquet: what the run is called among others (the\ndatabase's name and eight digits)", NULL, 0},
    {"commit", 0, OPT_TEXT, offsetof(struct export_options, commit), "TEXT",
     "parquet: the program's commit, for questions over runs\n(the recording's)", NULL, 0},
    {0},
};

static const struct option shared_table[] = {
    REPORT_OPTION_PROCESS,
    REPORT_OPTION_RANK,
    REPORT_OPTION_DEVICE,
    {0},
};
static const struct command_shared shared = {"Options of every report", shared_table};

const struct command command_export = {
    .name = "export",
    .group = COMMAND_ASK,
    .run = cmd_export,
    .summary = "a recording as a file for Perfetto, pprof, memory_viz and others",
    .arguments = "--to FORMAT [DATABASE]",
    .options = option_table,
    .shared = &shared,
    .most = 1,
    .description =
        "Writes the recording, or what was live at one moment of it, as a file of another tool. "
        "The "
        "sums are those of the reports.\n"
        "\n"
        "collapsed, speedscope and pprof have the blocks of one moment by call stack; pprof also "
        "what was allocated over the whole run. chrome and perfetto have memory over time, steps "
        "and phases; perfetto also the blocks of one moment as a heap profile, and large blocks "
        "one by one. memory_viz is a snapshot of one process as PyTorch writes it, csv a row for "
        "each block. parquet is a folder of the promised views, by run and rank, for DuckDB, "
        "ClickHouse and Spark; Python writes it, with pip install 'tidemark[parquet]'.",
    .examples =
        {
            {"tidemark export --to perfetto run.db", "makes run.pftrace"},
            {"tidemark export --to pprof run.db -o peak.pb.gz", "for go tool pprof"},
            {"tidemark export --to memory_viz run.db --rank 0", "for pytorch.org/memory_viz"},
            {"tidemark export --to collapsed --at 1/backward run.db",
             "a flame graph of the end of a phase"},
            {"tidemark export --to parquet -o runs run.db", "one run more among those in runs/"},
        },
};
