/*
 * tidemark diff: two runs beside each other.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "diff_report.h"
#include "error.h"
#include "human.h"
#include "mates.h"
#include "mem.h"
#include "workers.h"

void diff_put_scope(const struct diff_part *part)
{
    emit_int(part->emit, part->scopes[DIFF_A]->process.id);
    emit_text(part->emit, part->scopes[DIFF_A]->device_text);
}

/* ---- all of it ---- */

static const struct diff_table *const tables[] = {&diff_change_table, &diff_phases_table,
                                                  &diff_categories_table, &diff_groups_table};
enum { TABLES = sizeof tables / sizeof *tables };

/* Those of one kind of memory. */
static void put_sections(struct report *report, const struct diff_part *parts, size_t count,
                         bool host)
{
    for (size_t i = 0; i < count; i++) {
        if (report_is_host(parts[i].scopes[DIFF_A]) != host)
            continue;
        report_heading(report, "Difference", parts[i].scopes[DIFF_A]);
        for (size_t p = 0; p < TABLES; p++)
            tables[p]->put(&parts[i]);
    }
}

static void put_parts(struct report *report, const struct diff_part *parts, size_t count)
{
    bool people = report->emit.format == EMIT_TABLE;
    for (int host = 0; host < 2 && people; host++) /* GPUs first, as workers_fold does */
        put_sections(report, parts, count, host);
    for (size_t p = 0; p < TABLES && !people; p++) { /* a section is there even without a row */
        emit_section(&report->emit, tables[p]->key, NULL, EMIT_ROWS, tables[p]->columns,
                     tables[p]->column_count);
        for (size_t i = 0; i < count; i++)
            tables[p]->put(&parts[i]);
    }
}

/* A peak in a step that the other run does not have is no fair comparison. */
static void note_steps(const struct diff_part *part)
{
    const struct diff_phases *phases = &part->phases;
    for (int side = 0; side < DIFF_SIDES; side++) {
        int64_t step = part->diff.moments[side].step;
        if (part->options->moment || step == GROUP_NONE || !phases->common_steps ||
            !phases->own_steps[side] || step < phases->own_first[side])
            continue;
        emit_note(part->emit,
                  "the peak of %c is in step %" PRId64 ", which %c does not have: --steps "
                  "..%" PRId64 " compares what both have",
                  "AB"[side], step, "BA"[side], phases -> steps[phases->common_steps - 1]);
    }
}

static void note_renamed(const struct diff_part *part)
{
    char *const *names = part->diff.renamed;
    if (names[DIFF_A])
        emit_note(part->emit,
                  "renamed script: call sites in %s of B are matched with those in %s of A",
                  names[DIFF_B], names[DIFF_A]);
}

/* A part without the moment is left out: *missing is what was looked for. */
static int read_part(struct diff_part *part, struct report *const reports[DIFF_SIDES], bool *there,
                     struct instant *missing)
{
    const struct option_range *steps = &part->options->common.steps;
    const struct diff_moment moment = {part->options->moment, steps->first, steps->last};
    struct diff_side sides[DIFF_SIDES];
    struct instant moments[DIFF_SIDES];
    int err = 0;
    *there = true;
    for (int i = 0; i < DIFF_SIDES; i++)
        sides[i] = (struct diff_side){reports[i]->db, part->scopes[i]->process.id,
                                      part->scopes[i]->device, 0};
    for (int i = 0; i < DIFF_SIDES && err == 0; i++) {
        err = diff_find_moment(&sides[i], &moment, &moments[i]);
        if (err == ERR_NOTFOUND) {
            *missing = moments[i];
            *there = false;
            report_misses(reports[i], part->scopes[i], missing);
            return 0;
        }
    }
    for (int i = 0; i < DIFF_SIDES && err == 0; i++)
        err = sides[i].err = report_sees_blocks(reports[i], sides[i].process, moments[i].seq);
    if (err == 0)
        err = diff_read(sides, moments, &part->diff);
    if (err == 0)
        err =
            diff_phases_read(sides, steps->first, steps->last, !part->options->all, &part->phases);
    if (sides[DIFF_B].err < 0)
        reports[DIFF_A]->at_fault = reports[DIFF_B];
    return err;
}

/* The first `*count` of the parts are read and there. */
static int read_parts(struct report *const reports[DIFF_SIDES], const struct diff_options *options,
                      const size_t *mates, struct diff_part *parts, size_t *count,
                      struct instant *missing)
{
    bool *rest = mem_alloc(reports[DIFF_A]->scope_count + 1, sizeof *rest);
    int err = rest ? workers_crowd(reports[DIFF_A], rest) : ERR_NOMEM;
    *count = 0;
    for (size_t i = 0; i < reports[DIFF_A]->scope_count && err == 0; i++) {
        struct diff_part *part = &parts[*count];
        bool there;
        if (mates[i] == DIFF_ALONE || rest[i])
            continue;
        *part = (struct diff_part){
            .emit = &reports[DIFF_A]->emit,
            .reports = {reports[DIFF_A], reports[DIFF_B]},
            .scopes = {&reports[DIFF_A]->scopes[i], &reports[DIFF_B]->scopes[mates[i]]},
            .options = options,
        };
        err = read_part(part, reports, &there, missing);
        *count += there;
    }
    mem_free(rest);
    return err;
}

static void say_nothing(struct report *report, const struct report *other,
                        const struct diff_options *options, const struct instant *missing)
{
    if (report_has_missed(report))
        return;
    bool thinned = report_lacks_steps(report) || report_lacks_steps(other);
    if (missing->label[0] && options->moment) {
        report_absent(report, "not both have this moment: %s", missing->label);
    } else if (missing->label[0] && report_has_steps(report->options) && !thinned) {
        report_absent(report, "not both have memory in these steps");
    } else if (missing->label[0]) {
        emit_note(&report->emit, "not both have memory in these steps");
        report_note_driven(report);
    } else if (!report->scope_count || !other->scope_count) {
        report_nothing(report);
    } else {
        emit_note(&report->emit, "there is nothing to compare: no process and device is in both");
    }
}

static int put_all(struct report *a, struct report *b, const struct diff_options *options)
{
    struct report *const reports[DIFF_SIDES] = {a, b};
    struct instant missing = {.step = INSTANT_NONE};
    size_t *mates = NULL, count = 0;
    struct diff_part *parts = mem_alloc(a->scope_count + 1, sizeof *parts);
    int err = parts ? mates_find(a, b, &mates) : ERR_NOMEM;
    if (err == 0)
        err = read_parts(reports, options, mates, parts, &count, &missing);
    if (err == 0) {
        put_parts(a, parts, count);
        emit_close(&a->emit);
        if (count)
            note_renamed(&parts[0]);
        for (size_t i = 0; i < count; i++)
            note_steps(&parts[i]);
        mates_note_alone(a, b, mates);
        if (!count)
            say_nothing(a, b, options, &missing);
        else
            err = report_note_commits(a, b);
    }
    emit_close(&a->emit);
    for (size_t i = 0; parts && i <= a->scope_count; i++) {
        diff_clear(&parts[i].diff);
        diff_phases_clear(&parts[i].phases);
    }
    mem_free(parts);
    mem_free(mates);
    return err;
}

static int cmd_diff(const struct command_call *call)
{
    struct diff_options options = {.common = REPORT_OPTIONS, .top = 12};
    struct report a, b;
    char **arguments;
    int count, code;

    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    if (options.moment && !instant_is_name(options.moment))
        code = command_misused(call->command, "--moment: '%.60s' is no moment", options.moment);
    else
        code = report_begin(&a, call->command, &options.common, arguments[0]);
    if (code == 0)
        code = report_begin_beside(&b, &a, arguments[1]);
    mem_free(arguments);
    if (code)
        return code;
    return report_end(&a, put_all(&a, &b, &options));
}

static const struct option option_table[] = {
    {"moment", 'm', OPT_TEXT, offsetof(struct diff_options, moment), "X",
     "this moment of both instead of the peaks, named\nas in 'tidemark why'", NULL, 0},
    {"all", 'a', OPT_FLAG, offsetof(struct diff_options, all), NULL, "each phase of each step",
     NULL, 0},
    {"top", 'n', OPT_INT, offsetof(struct diff_options, top), "N", "N groups (12)", NULL, 1},
    {0},
};

const struct command command_diff = {
    .name = "diff",
    .group = COMMAND_LOOK,
    .run = cmd_diff,
    .thinned = "phases",
    .summary = "which phase's peak changed between two runs, by kind and call site",
    .arguments = "A B",
    .takes = TAKES_DATABASES,
    .options = option_table,
    .shared = &report_shared,
    .least = 2,
    .most = 2,
    .description =
        "Compares two recordings, from A to B. Processes are matched by their rank, "
        "else by their order; then devices by their name, steps by their number, phases by their "
        "name and their ordinal within the step.\n"
        "\n"
        "Peaks of the phases: the highest inside each phase, over the steps that both have. One "
        "line for each name of a phase, with the step where it changed most; --all shows each. "
        "Phases that only one run has are listed, too.\n"
        "\n"
        "By kind and call site: the live blocks at the peak of each run. A call "
        "site is matched by the program's own frame and the innermost one without their lines, so "
        "an edited program still matches; a script that has another name in B is taken for A's, "
        "and a note says so. The changes add up to the change of allocated; bytes "
        "that a source counts without showing a block are 'unattributed'.\n"
        "\n"
        "In csv and json these are the sections change, phases, by_category and groups.",
    .examples =
        {
            {"tidemark diff before.db after.db", "what the change to the program did"},
            {"tidemark diff a.db b.db --steps 1..9", "without the first step"},
            {"tidemark diff a.db b.db --moment 2/forward", "as forward of step 2 ends"},
            {"tidemark diff a.db b.db --rank 0 --all", "each phase of each step of one rank"},
        },
};
