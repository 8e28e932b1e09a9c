/*
 * tidemark check: a recording against its limits, for those who guard a training job.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "rehearsed.h"
#include "buf.h"
#include "check_run.h"
#include "error.h"
#include "log.h"
#include "mates.h"
#include "mem.h"
#include "query.h"

/* ---- the limits ---- */

enum { LARGEST_FILE = 1 << 20 }; /* nobody writes a megabyte of limits */

static int cannot_read(const char *path, int number)
{
    log_say(LOG_ERROR, "cannot read %s: %s", path, strerror(number));
    return EXIT_INPUT;
}

static int read_text(const char *path, struct buf *text)
{
    char part[4096];
    size_t n;
    FILE *file = fopen(path, "rb");
    if (!file)
        return cannot_read(path, errno);
    errno = 0;
    while (text->count <= LARGEST_FILE && (n = fread(part, 1, sizeof part, file)) > 0)
        buf_add(text, part, n);
    int number = ferror(file) ? errno : 0;
    fclose(file);
    if (number)
        return cannot_read(path, number);
    if (text->broken)
        return report_failed(path, ERR_NOMEM, NULL);
    return text->count > LARGEST_FILE ? cannot_read(path, EFBIG) : 0;
}

static int read_file(const struct command_call *call, const char *path, struct check_limits *limits,
                     struct check_file *file)
{
    struct buf text = {0};
    char message[640];
    int code = read_text(path, &text);
    if (code == 0) {
        int err = check_file_read(path, buf_string(&text), text.count, limits, file, message,
                                  sizeof message);
        if (err == ERR_ARG)
            code = command_misused(call->command, "%s", message);
        else if (err < 0)
            code = report_failed(path, err, NULL);
    }
    buf_clear(&text);
    return code;
}

/* -1: help was all that was wanted. */
static int read_options(const struct command_call *call, struct check_options *options,
                        char ***arguments, int *count)
{
    int code;
    mem_free(*arguments);
    if (command_parse(call, options, arguments, count, &code))
        return 0;
    return code ? code : -1;
}

/* The command line is read twice where it names a file: what it says wins over the file. */
static int read_limits(const struct command_call *call, struct check_options *options,
                       struct check_file *file, char ***arguments, int *count)
{
    char message[320];
    int code = read_options(call, options, arguments, count);
    if (code == 0 && options->file) {
        options->limits = (struct check_limits)CHECK_LIMITS;
        code = read_file(call, options->file, &options->limits, file);
        if (code == 0)
            code = read_options(call, options, arguments, count);
    }
    if (code)
        return code;
    if (!options->common.device)
        options->common.device = options->limits.device;
    if (!check_limits_settle(&options->limits, message, sizeof message))
        return command_misused(call->command, "--%s", message);
    if (!check_limits_fit(&options->limits, message, sizeof message))
        return command_misused(call->command, "%s", message);
    return 0;
}

/* ---- the checks ---- */

typedef int check_function(const struct check_scope *scope, struct check_finding *out);

static struct check_row *new_row(struct check_run *run, const struct report_process *process,
                                 const struct report_scope *scope, const char *check, int64_t limit)
{
    if (!MEM_GROW(run->rows, run->cap, run->count + 1))
        return NULL;
    struct check_row *row = &run->rows[run->count++];
    *row = (struct check_row){
        process,
        scope,
        {.check = check, .limit = limit, .step = GROUP_NONE, .result = CHECK_UNKNOWN}};
    if (!process)
        row->finding.why_not = "no memory was reported";
    return row;
}

static struct check_scope scope_of(const struct check_run *run, const struct check_row *row)
{
    const struct option_range *steps = &run->options->common.steps;
    return (struct check_scope){run->report->db, row->process->id,
                                row->scope ? row->scope->device : 0, steps->first, steps->last};
}

static int measure(struct check_run *run, struct check_row *row, check_function *function)
{
    const char *missing = NULL;
    int err = 0;
    if (row->process) {
        const struct check_scope where = scope_of(run, row);
        err = function(&where, &row->finding);
        if (err == 0)
            err = check_missing(&where, &missing);
        if (err == 0 && function != check_lost)
            err = check_rehearsed(&where, function == check_oom ? CHECK_BY_ALL : CHECK_BY_ALLOCATOR,
                                  &missing);
    }
    check_judge(&row->finding, missing);
    return err;
}

static int add_bytes(struct check_run *run, const struct report_scope *scope, const char *check,
                     int64_t limit, check_function *function)
{
    if (limit == CHECK_NONE)
        return 0;
    struct check_row *row = new_row(run, scope ? &scope->process : NULL, scope, check, limit);
    return row ? measure(run, row, function) : ERR_NOMEM;
}

static int find_gpus(struct check_run *run)
{
    return query_read(run->report->db,
                      "SELECT EXISTS (SELECT 1 FROM heap h JOIN device d ON d.id = h.device"
                      "                WHERE d.kind <> 'cpu') AS has_gpu",
                      Q_NOTHING, Q_OUT(Q_INT(run->has_gpu)));
}

/* Of the host's memory nobody knows what was reserved: a limit on that is of the GPUs, where there
 * is one and no --device asks for the host. */
static bool is_of_gpus(const struct check_run *run, const struct check_row *row)
{
    return run->has_gpu && row->scope && !row->finding.known && !run->options->common.device &&
           report_is_host(row->scope);
}

/* The newest row, where it says nothing of this device. */
static void drop_if_of_gpus(struct check_run *run)
{
    struct check_row *row = &run->rows[run->count - 1];
    if (!is_of_gpus(run, row))
        return;
    check_clear(&row->finding);
    run->count--;
}

static int add_reserved(struct check_run *run, const struct report_scope *scope)
{
    int64_t limit = run->options->limits.max_reserved;
    int err = add_bytes(run, scope, "max-reserved", limit, check_reserved);
    if (err == 0 && limit != CHECK_NONE)
        drop_if_of_gpus(run);
    return err;
}

static int add_fragmentation(struct check_run *run, const struct report_scope *scope)
{
    if (!run->options->limits.fragmentation)
        return 0;
    struct check_row *row =
        new_row(run, scope ? &scope->process : NULL, scope, "max-fragmentation", 0);
    if (!row)
        return ERR_NOMEM;
    row->finding.unit = CHECK_RATIO;
    row->finding.limit_ratio = run->options->limits.max_fragmentation;
    int err = measure(run, row, check_fragmentation);
    if (err == 0)
        drop_if_of_gpus(run);
    return err;
}

static int what_is_missing(const struct check_scope *scope, const char **why)
{
    int err = check_missing(scope, why);
    return err || *why ? err : check_rehearsed(scope, CHECK_BY_ALLOCATOR, why);
}

static int against_baseline(struct check_run *run, struct check_row *row, const char **missing)
{
    const struct check_scope here = scope_of(run, row);
    struct check_finding *finding = &row->finding;
    size_t mate = run->mates[row->scope - run->report->scopes];
    if (mate == DIFF_ALONE) {
        finding->why_not = "the baseline has no such process and device";
        return 0;
    }
    const struct report_scope *base = &run->baseline->scopes[mate];
    struct diff_side sides[DIFF_SIDES] = {
        {run->baseline->db, base->process.id, base->device, 0},
        {here.db, here.process, here.device, 0},
    };
    struct check_scope there = {sides[DIFF_A].db, sides[DIFF_A].process, sides[DIFF_A].device,
                                here.first_step, here.last_step};
    int err = check_against(sides, &run->options->limits.max_increase, here.first_step,
                            here.last_step, finding);
    if (sides[DIFF_A].err < 0)
        run->report->at_fault = run->baseline;
    if (err == 0)
        err = what_is_missing(&here, missing);
    if (err == 0 && !*missing && (err = what_is_missing(&there, missing)) < 0)
        run->report->at_fault = run->baseline;
    return err;
}

static int add_increase(struct check_run *run, const struct report_scope *scope)
{
    const char *missing = NULL;
    if (!run->baseline)
        return 0;
    struct check_row *row = new_row(run, scope ? &scope->process : NULL, scope, "max-increase", 0);
    if (!row)
        return ERR_NOMEM;
    row->finding.relative = true;
    int err = scope ? against_baseline(run, row, &missing) : 0;
    check_judge(&row->finding, missing);
    return err;
}

static int check_scope(struct check_run *run, const struct report_scope *scope)
{
    const struct check_limits *limits = &run->options->limits;
    int err = add_bytes(run, scope, "max-peak", limits->max_peak, check_peak);
    if (err == 0)
        err = add_reserved(run, scope);
    if (err == 0)
        err = add_fragmentation(run, scope);
    if (err == 0)
        err = add_bytes(run, scope, "max-growth (left)", limits->max_growth, check_left);
    if (err == 0)
        err = add_bytes(run, scope, "max-growth (peaks)", limits->max_growth, check_slope);
    return err ? err : add_increase(run, scope);
}

/* What must not have happened in a process. One without memory of its own, such as the shell that
 * started the others, is only worth a line if it did. */
static int add_count(struct check_run *run, const struct report_process *process, bool has_memory,
                     const char *check, check_function *function)
{
    struct check_row *row = new_row(run, process, NULL, check, 0);
    if (!row)
        return ERR_NOMEM;
    row->finding.unit = CHECK_COUNT;
    int err = measure(run, row, function);
    if (process && !has_memory && row->finding.result != CHECK_FAILED) {
        check_clear(&row->finding);
        run->count--;
    }
    return err;
}

static int check_process(struct check_run *run, const struct report_process *process,
                         bool has_memory)
{
    const struct check_limits *limits = &run->options->limits;
    int err = limits->no_oom ? add_count(run, process, has_memory, "no-oom", check_oom) : 0;
    if (err == 0 && limits->no_lost)
        err = add_count(run, process, has_memory, "no-lost", check_lost);
    return err;
}

static int check_all(struct check_run *run)
{
    struct report *report = run->report;
    int err = run->baseline ? mates_find(report, run->baseline, &run->mates) : 0;
    for (size_t i = 0; i < report->process_count && err == 0; i++) {
        const struct report_process *process = &report->processes[i];
        bool has_memory = false;
        for (size_t j = report_scopes_from(report, process->id); j < report->scope_count; j++) {
            if (report->scopes[j].process.id != process->id || err < 0)
                break;
            err = check_scope(run, &report->scopes[j]);
            has_memory = true;
        }
        if (err == 0)
            err = check_process(run, process, has_memory);
    }
    if (err == 0 && !report->scope_count && !run->count)
        err = check_process(run, NULL, false);
    if (err == 0 && !report->scope_count)
        err = check_scope(run, NULL);
    return err;
}

/* ---- all of it ---- */

static int write_junit(const char *path, const struct buf *text)
{
    errno = 0;
    FILE *file = fopen(path, "wb");
    bool written = file && fwrite(buf_string(text), 1, text->count, file) == text->count;
    int number = errno;
    if (file && fclose(file) != 0 && written) {
        written = false;
        number = errno;
    }
    if (!written)
        log_say(LOG_ERROR, "cannot write %s: %s", path, strerror(number));
    return written ? 0 : EXIT_INTERNAL;
}

static int say_gpus(const struct check_run *run)
{
    struct rehearsed_gpus gpus;
    if (!run->baseline)
        return 0;
    struct db *const dbs[2] = {run->baseline->db, run->report->db};
    int err = rehearsed_compare(dbs, &gpus);
    if (err == 0 && gpus.differ)
        emit_warning(&run->report->emit, "the baseline is of another GPU: %s; here: %s",
                     gpus.texts[0], gpus.texts[1]);
    return err;
}

/* What shows why. */
static void say_next(const struct check_run *run)
{
    struct emit *emit = &run->report->emit;
    const char *path = run->report->path;
    if (check_failed_by(run, true))
        emit_line(emit, "next: tidemark leaks %s", path);
    if (check_failed_by(run, false) && run->baseline)
        emit_line(emit, "next: tidemark diff %s %s", run->baseline->path, path);
    else if (check_failed_by(run, false))
        emit_line(emit, "next: tidemark peak %s", path);
}

static int run_checks(struct report *report, struct report *baseline,
                      const struct check_options *options)
{
    struct check_run run = {.report = report, .baseline = baseline, .options = options};
    struct buf junit = {0};
    int err = find_gpus(&run);
    if (err >= 0)
        err = check_all(&run);
    if (err == 0)
        err = check_put_rows(&run);
    if (err == 0)
        err = say_gpus(&run);
    if (err == 0)
        check_say_verdict(&run);
    if (err == 0 && check_any_failure(&run))
        say_next(&run);
    if (err == 0 && options->junit)
        err = check_make_junit(&run, &junit);
    bool failed = check_any_failure(&run);
    int code = report_end(report, err); /* frees the scopes that the rows point to */
    if (code == 0 && options->junit)
        code = write_junit(options->junit, &junit);
    for (size_t i = 0; i < run.count; i++)
        check_clear(&run.rows[i].finding);
    buf_clear(&junit);
    mem_free(run.rows);
    mem_free(run.mates);
    return code ? code : failed ? EXIT_CHECK_FAILED : EXIT_FINE;
}

static int cmd_check(const struct command_call *call)
{
    struct check_options options = {.common = REPORT_OPTIONS, .limits = CHECK_LIMITS};
    struct report report, baseline;
    struct check_file file = {0};
    char **arguments = NULL;
    int count = 0, code = read_limits(call, &options, &file, &arguments, &count);
    bool compares = options.limits.baseline != NULL;
    if (code == 0)
        code = report_begin(&report, call->command, &options.common, count ? arguments[0] : NULL);
    if (code == 0 && compares)
        code = report_begin_beside(&baseline, &report, options.limits.baseline);
    mem_free(arguments);
    if (code == 0)
        code = run_checks(&report, compares ? &baseline : NULL, &options);
    check_file_clear(&file);
    return code < 0 ? EXIT_FINE : code;
}

static const struct option option_table[] = {
    CHECK_LIMIT_OPTIONS(offsetof(struct check_options, limits)),
    {"limits", 'l', OPT_FILE, offsetof(struct check_options, file), "FILE",
     "a file with limits; options win over it", NULL, 0},
    {"junit", 'j', OPT_FILE, offsetof(struct check_options, junit), "FILE",
     "write the results as JUnit XML, too", NULL, 0},
    {0},
};

const struct command command_check = {
    .name = "check",
    .group = COMMAND_LOOK,
    .run = cmd_check,
    .thinned = "phases",
    .summary = "passes or fails: peak, reserved, growth and more against limits",
    .arguments = "[DATABASE]",
    .options = option_table,
    .shared = &report_shared,
    .judges = true,
    .most = 1,
    .description =
        "Holds a recording against limits, one line for each: whether it passed, what was "
        "measured, the limit, and where that was. They hold for each process and each device; "
        "--rank and --device pick one. Sizes are bytes, or as in 512M and 20GiB.\n"
        "\n"
        "--max-growth looks at two things: what call sites leave behind in half of the steps or "
        "more (as 'tidemark leaks' says), and the slope of a straight line through the peaks of "
        "the steps. Neither counts the first step. --max-reserved is the highest since the process "
        "began; it and --max-fragmentation hold for the host only where no GPU is there, or with "
        "--device cpu. --baseline compares the peaks of the processes and devices that belong "
        "together, "
        "as 'tidemark diff' does.\n"
        "\n"
        "Where the recording does not have a number, the answer is 'not known' and the check "
        "fails: a number under its "
        "limit where events were lost, reserved memory where the source does not say it, growth "
        "of fewer than three steps, a number of a rehearsal that rests on sizes which it does not "
        "compute.\n"
        "\n"
        "A file of limits has lines 'name = value', with the names of these options and of "
        "--device, "
        "flags as yes or no, and comments behind #; a baseline in it is looked for in the file's "
        "folder:\n"
        "\n"
        "  # for the 24 GiB card\n"
        "  device = cuda:0\n"
        "  max-peak = 20GiB\n"
        "  no-oom = yes",
    .examples =
        {
            {"tidemark check --max-peak 20GiB --no-oom", "the newest recording in this folder"},
            {"tidemark check run.db --limits ci/limits.txt --junit out.xml", "for a CI job"},
            {"tidemark check run.db --baseline good.db --max-increase 2%",
             "no more than the run that was good"},
            {"tidemark check --max-growth 1M --steps 10..", "once it is warm"},
        },
};
