/*
 * tidemark peak: where the highest point was, and who held it.
 *
 * Each part is one section. People read one process and device after the other, all parts of it;
 * programs get each section once, with the rows of all of them.
 */
#include <stddef.h>

#include "peak.h"
#include "error.h"
#include "mem.h"
#include "peak_parts.h"
#include "report.h"
#include "workers.h"

struct peak_options {
    struct report_options common;
    int64_t top; /* 0: as many as there is room for */
    bool all, running;
    bool tables[PEAK_TABLES]; /* those that were asked for */
};

enum { HOLDERS = 5, TOP = 10 }; /* rows of the page, of a table */

/* ---- the command ---- */

static bool shows(const struct peak_options *options, size_t table)
{
    return options->all || options->tables[table];
}

/* A refusal that ended the run stands where the highest point would. */
static void put_tables(const struct peak_part *part, const struct peak_options *options)
{
    bool refused = part->peak->refused;
    for (size_t i = 0; i < PEAK_TABLES; i++) {
        if (part->peak->found && shows(options, i) && !(refused && i == PEAK_WHERE))
            peak_tables[i].put(part);
        if (i == PEAK_WHERE && shows(options, i))
            peak_put_oom(part);
    }
}

static void put_for_people(struct report *report, struct peak_part *all,
                           const struct peak_options *options)
{
    for (size_t i = 0; i < report->scope_count; i++) {
        bool ended = all[i].ooms.shown && !all[i].went_on;
        if (peak_part_shows(&all[i]))
            report_heading(report, ended ? "Refused request" : "Peak", all[i].scope);
        if (peak_part_shows(&all[i]))
            peak_put_killed(&all[i]);
        put_tables(&all[i], options);
        if (all[i].peak->found && options->all)
            peak_put_growth(&all[i]);
        if (all[i].peak->found && (options->all || options->running))
            peak_put_running(&all[i]);
        driven_put_peak(report, &all[i].driven);
        peak_put_ladder_of_driven(&all[i]);
        driven_put_held(report, &all[i].driven, all[i].top);
    }
}

/* Where there is such a device. */
static void put_driven(struct report *report, const struct peak_part *all)
{
    for (size_t i = 0; i < report->scope_count; i++)
        driven_put_peak(report, &all[i].driven);
    for (size_t i = 0; i < report->scope_count; i++)
        driven_put_held(report, &all[i].driven, all[i].top);
}

/* The sections are there even without a row. */
static int put_for_programs(struct report *report, struct peak_part *all)
{
    for (size_t p = 0; p < PEAK_TABLES; p++) {
        const struct peak_table *table = &peak_tables[p];
        emit_section(&report->emit, table->key, NULL, EMIT_ROWS, table->columns,
                     table->column_count);
        for (size_t i = 0; i < report->scope_count; i++) {
            if (all[i].peak->found)
                table->put(&all[i]);
            if (p == PEAK_LADDER)
                peak_put_ladder_of_driven(&all[i]);
        }
    }
    for (size_t i = 0; i < report->scope_count; i++)
        peak_put_running(&all[i]);
    int err = peak_put_oom_programs(report, all);
    peak_put_killed_programs(report, all);
    peak_put_growth_programs(report, all);
    put_driven(report, all);
    return err;
}

/* Ranks do the same on memory of their own; a refused request is one rank's. */
static bool is_weighed(const struct peak_part *part, bool host)
{
    return part->scope->process.rank != REPORT_ANY && part->peak->found && !part->peak->refused &&
           report_is_host(part->scope) == host;
}

/* What changes take off the highest rank, where all ranks make them. */
static int weigh(const struct report *report, struct peak_part *all)
{
    const size_t n = report->scope_count;
    const struct levers **ranks = mem_alloc(n + 1, sizeof *ranks);
    for (int host = 0; host < 2 && ranks; host++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            if (is_weighed(&all[i], host))
                ranks[count++] = &all[i].levers;
        for (size_t i = 0; i < n; i++)
            if (is_weighed(&all[i], host))
                levers_over_ranks(&all[i].levers, ranks, count);
    }
    mem_free(ranks);
    return ranks ? 0 : ERR_NOMEM;
}

static int put_all(struct report *report, const struct peak_options *options)
{
    size_t n = report->scope_count;
    struct peak *peaks = mem_alloc(n, sizeof *peaks);
    struct peak_part *all = mem_alloc(n, sizeof *all);
    int err = peaks && all ? 0 : ERR_NOMEM;
    int64_t top = options->top ? options->top : TOP;
    bool any = false;
    report_needs_steps(report);
    for (size_t i = 0; i < n && err >= 0; i++) {
        err = peak_part_read(report, &report->scopes[i], top, &all[i], &peaks[i]);
        any = any || peak_part_shows(&all[i]);
    }
    if (err >= 0)
        err = weigh(report, all);
    if (err >= 0 && !any)
        report_nothing(report);
    if (err >= 0 && report->emit.format == EMIT_TABLE)
        put_for_people(report, all, options);
    else if (err >= 0)
        err = put_for_programs(report, all);
    for (size_t i = 0; i < n && peaks && all; i++) {
        if (err >= 0 && peaks[i].found)
            peak_note_difference(&report->emit, &peaks[i]);
        peak_clear(&peaks[i]);
        peak_part_clear(&all[i]);
    }
    mem_free(peaks);
    mem_free(all);
    return err;
}

/* No table was asked for by its name, and not all of them. */
static bool wants_page(const struct report *report, const struct peak_options *options)
{
    bool any = options->all || options->running;
    for (size_t i = 0; i < PEAK_TABLES; i++)
        any = any || options->tables[i];
    return report->emit.format == EMIT_TABLE && !any;
}

static int cmd_peak(const struct command_call *call)
{
    struct peak_options options = {.common = REPORT_OPTIONS};
    struct report report;
    int code;

    if (!report_start(&report, call, &options, &code))
        return code;
    int err = workers_fold(&report);
    if (err >= 0 && wants_page(&report, &options))
        err = peak_put_page(&report, options.top ? options.top : HOLDERS);
    else if (err >= 0)
        err = put_all(&report, &options);
    return report_end(&report, err);
}

#define TABLE(name, table, help)                                                                   \
    {                                                                                              \
        name, 0, OPT_FLAG, offsetof(struct peak_options, tables) + table * sizeof(bool), NULL,     \
            help, NULL, 0                                                                          \
    }

static const struct option option_table[] = {
    {"top", 'n', OPT_INT, offsetof(struct peak_options, top), "N",
     "N holders on the page (5), N rows of each table (10)", NULL, 1},
    {"all", 'a', OPT_FLAG, offsetof(struct peak_options, all), NULL, "all tables", NULL, 0},
    TABLE("where", PEAK_WHERE, "only the moment of the peak, or the refused request"),
    TABLE("findings", PEAK_FINDINGS, "only what stands out"),
    TABLE("levers", PEAK_LEVERS, "only the changes that lower the peak"),
    TABLE("ladder", PEAK_LADDER, "only requested, allocated, reserved, used on the\ndevice"),
    TABLE("kinds", PEAK_KINDS, "only bytes by kind of memory"),
    TABLE("phases", PEAK_PHASES, "only bytes by the phase that allocated them"),
    TABLE("sites", PEAK_SITES, "only bytes by call site"),
    TABLE("backward", PEAK_BACKWARD, "only what backward allocates"),
    TABLE("change", PEAK_CHANGE, "only the difference to the peak of the step before"),
    {"running", 0, OPT_FLAG, offsetof(struct peak_options, running), NULL,
     "only the kernels and copies that ran then", NULL, 0},
    {0},
};

const struct command command_peak = {
    .name = "peak",
    .group = COMMAND_LOOK,
    .run = cmd_peak,
    .summary = "where the highest point was, and who held the memory then",
    .arguments = "[DATABASE]",
    .options = option_table,
    .shared = &report_shared,
    .most = 1,
    .description =
        "One page about the highest point: bytes, device, step and phase; the kinds of memory; the "
        "largest holders, by module where the module is known, else by call site; the changes that "
        "save most; and whether memory grows. If the run ended out of memory, the page is about "
        "the refused request. With several processes a table of their peaks comes first, then the "
        "page of the fullest.\n"
        "\n"
        "--all prints all tables for each process and device, the other options one table each. "
        "A saving is found by going through the recorded steps once more with that change, and is "
        "what comes off the highest point of the run. A bare figure holds to 1 % where the "
        "program does nothing else; 'about' where a part is computed, not replayed; 'at most' "
        "where the "
        "program would also do other work for it. A change that saves less than 1 %, or is in "
        "force already, is not shown. Changes that make the training compute other numbers stand "
        "apart. Settings of the allocator change reserved only, and are tried by replay.\n"
        "\n"
        "On a device where no framework had a block, the page has the memory that CUDA's driver "
        "allocated, by library and call.\n"
        "\n"
        "In csv and json these are the sections peak, findings, levers, ladder, by_category, "
        "by_phase, by_site, added_by_backward, higher_than_step_before, oom, oom_heaps, oom_sites, "
        "oom_memory and oom_settings, killed, growth, running where kernels were recorded, and "
        "driver_peak and "
        "driver_held where a device had no block; in csv each begins with a line '# NAME'.",
    .examples =
        {
            {"tidemark peak", "the newest recording in this folder"},
            {"tidemark peak run.db --all", "every table"},
            {"tidemark peak run.db --steps 2..", "the peak once training has settled"},
            {"tidemark peak run.db --top 30 --format json", "more rows, for a program"},
        },
};
