/*
 * tidemark diff: two runs beside each other.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "diff.h"
#include "diff_phases.h"
#include "error.h"
#include "human.h"
#include "mates.h"
#include "mem.h"
#include "report.h"
#include "workers.h"

struct diff_options {
    struct report_options common;
    const char *moment;
    int64_t top;
    bool all;
};

struct diff_part { /* a process and a device of A, and its partner in B */
    struct emit *emit;
    const struct report *reports[DIFF_SIDES];
    const struct report_scope *scopes[DIFF_SIDES];
    const struct diff_options *options;
    struct diff diff;
    struct diff_phases phases;
};

static void put_scope(const struct diff_part *part)
{
    emit_int(part->emit, part->scopes[DIFF_A]->process.id);
    emit_text(part->emit, part->scopes[DIFF_A]->device_text);
}

#define SCOPE                                                                                      \
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},                                                  \
    {                                                                                              \
        "device", NULL, EMIT_TEXT, EMIT_PROGRAMS                                                   \
    }

/* ---- the two moments ---- */

static const struct emit_column change_columns[] = {
    SCOPE,
    {"quantity", "", EMIT_TEXT, 0},
    {NULL, "change", EMIT_DELTA, EMIT_PEOPLE}, /* the answer first */
    {"a", "A", EMIT_BYTES, 0},
    {"b", "B", EMIT_BYTES, 0},
    {"change", NULL, EMIT_DELTA, EMIT_PROGRAMS},
    {"a_moment", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"b_moment", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"a_seq", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"b_seq", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"b_database", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"b_process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"b_device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

static void put_quantity(const struct diff_part *part, const char *name, int64_t a, int64_t b)
{
    const struct diff *diff = &part->diff;
    put_scope(part);
    emit_text(part->emit, name);
    emit_known(part->emit, a == GROUP_NONE || b == GROUP_NONE ? GROUP_NONE : b - a);
    emit_known(part->emit, a);
    emit_known(part->emit, b);
    emit_known(part->emit, a == GROUP_NONE || b == GROUP_NONE ? GROUP_NONE : b - a);
    emit_text(part->emit, diff->moments[DIFF_A].label);
    emit_text(part->emit, diff->moments[DIFF_B].label);
    emit_int(part->emit, diff->moments[DIFF_A].seq);
    emit_int(part->emit, diff->moments[DIFF_B].seq);
    emit_text(part->emit, part->reports[DIFF_B]->path);
    emit_int(part->emit, part->scopes[DIFF_B]->process.id);
    emit_text(part->emit, part->scopes[DIFF_B]->device_text);
}

static void say_moment(const struct diff_part *part, int side)
{
    const struct report_scope *a = part->scopes[DIFF_A], *scope = part->scopes[side];
    const struct instant *moment = &part->diff.moments[side];
    char whose[96] = "";
    if (scope->process.id != a->process.id || strcmp(scope->device_text, a->device_text) != 0)
        snprintf(whose, sizeof whose, "process %" PRId64 " on %s, ", scope->process.id,
                 scope->device_text);
    emit_line(part->emit, "%c: %s, %s%s (seq %" PRId64 ")", "AB"[side],
              part -> reports[side] -> path, whose, moment -> label, moment -> seq);
}

static void put_change(const struct diff_part *part)
{
    const struct diff *diff = &part->diff;
    say_moment(part, DIFF_A);
    say_moment(part, DIFF_B);
    EMIT_SECTION(part->emit, "change", NULL, EMIT_ROWS, change_columns);
    put_quantity(part, "allocated", diff->allocated[DIFF_A], diff->allocated[DIFF_B]);
    put_quantity(part, "reserved", diff->moments[DIFF_A].reserved, diff->moments[DIFF_B].reserved);
}

/* ---- the phases ---- */

static const struct emit_column phase_columns[] = {
    SCOPE,
    {"change", NULL, EMIT_DELTA, EMIT_NONE},
    {"a", "A", EMIT_BYTES, EMIT_NONE},
    {"b", "B", EMIT_BYTES, EMIT_NONE},
    {"step", NULL, EMIT_PLAIN, EMIT_NONE},
    {"phase", NULL, EMIT_TEXT, EMIT_MIDDLE},
    {"ordinal", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {NULL, "", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE | EMIT_IF_KNOWN},
    {"compared", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"only_a", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"only_b", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
};

/* Which run has it alone, where one does. */
static void put_alone(struct emit *emit, const struct diff_phase *row)
{
    char text[64] = "";
    for (int side = 0; side < DIFF_SIDES; side++) {
        if (row->alone[side] && row->pairs)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%" PRId64 " only in %c",
                     *text ? ", " : "", row->alone[side], "AB"[side]);
        else if (row->alone[side])
            snprintf(text + strlen(text), sizeof text - strlen(text), "%sonly in %c",
                     *text ? ", " : "", "AB"[side]);
    }
    emit_text(emit, *text ? text : NULL);
}

static void put_phase(const struct diff_part *part, const struct diff_phase *row)
{
    put_scope(part);
    emit_known(part->emit, row->pairs ? row->peak[DIFF_B] - row->peak[DIFF_A] : GROUP_NONE);
    emit_known(part->emit, row->peak[DIFF_A]);
    emit_known(part->emit, row->peak[DIFF_B]);
    emit_known(part->emit, row->step);
    emit_text(part->emit, row->name);
    emit_int(part->emit, row->ordinal);
    put_alone(part->emit, row);
    emit_int(part->emit, row->pairs);
    emit_int(part->emit, row->alone[DIFF_A]);
    emit_int(part->emit, row->alone[DIFF_B]);
}

static void say_steps(const struct diff_part *part)
{
    const struct diff_phases *phases = &part->phases;
    for (int side = 0; side < DIFF_SIDES; side++) {
        if (phases->own_steps[side] == 1)
            emit_line(part->emit, "step %" PRId64 " is only in %c", phases->own_first[side],
                      "AB"[side]);
        else if (phases->own_steps[side])
            emit_line(part->emit,
                      "%" PRId64 " steps from %" PRId64 " to %" PRId64 " are only in %c",
                      phases->own_steps[side], phases->own_first[side], phases->own_last[side],
                      "AB"[side]);
    }
}

static bool is_shown(const struct diff_part *part, const struct diff_phase *row)
{
    if (part->emit->format != EMIT_TABLE)
        return true;
    if (row->quiet)
        return false;
    return part->options->all || !row->pairs || row->peak[DIFF_A] != row->peak[DIFF_B] ||
           row->alone[DIFF_A] || row->alone[DIFF_B];
}

static void put_phases(const struct diff_part *part)
{
    const struct diff_phases *phases = &part->phases;
    char title[96] = "Peaks of the phases", number[HUMAN_MAX];
    size_t same = 0, shown = 0;
    if (phases->folded && phases->common_steps > 1)
        snprintf(title, sizeof title,
                 "Peaks of the phases, each in the step where it changed most, of %s",
                 human_count(number, phases->common_steps));
    for (size_t i = 0; i < phases->count; i++) {
        bool visible = is_shown(part, &phases->rows[i]);
        shown += visible;
        same += !visible && !phases->rows[i].quiet;
    }
    if (part->emit->format != EMIT_TABLE || shown)
        EMIT_SECTION(part->emit, "phases", title, EMIT_ROWS, phase_columns);
    for (size_t i = 0; i < phases->count; i++)
        if (is_shown(part, &phases->rows[i]))
            put_phase(part, &phases->rows[i]);
    if (part->emit->format != EMIT_TABLE)
        return;
    if (same)
        emit_line(part->emit, "%s phase%s with the same peak in both",
                  human_count(number, (int64_t)same), same == 1 ? "" : "s");
    say_steps(part);
}

/* ---- its groups ---- */

#define AMOUNTS                                                                                    \
    {"change", NULL, EMIT_DELTA, 0}, {"a", "A", EMIT_BYTES, EMIT_SPARE | EMIT_PAIR},               \
        {"b", "B", EMIT_BYTES, EMIT_SPARE}, {"a_blocks", NULL, EMIT_COUNT, EMIT_PROGRAMS},         \
    {                                                                                              \
        "b_blocks", NULL, EMIT_COUNT, EMIT_PROGRAMS                                                \
    }

static const struct emit_column category_columns[] = {
    SCOPE,
    AMOUNTS,
    {"category", NULL, EMIT_TEXT, 0},
};

static const struct emit_column group_columns[] = {
    SCOPE,
    AMOUNTS,
    {NULL, "blocks", EMIT_TEXT, EMIT_PEOPLE},
    {"category", NULL, EMIT_TEXT, 0},
    {"site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "call site", EMIT_TEXT, EMIT_PEOPLE | EMIT_MIDDLE | EMIT_IF_KNOWN | EMIT_ROOMY},
    {"a_site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"b_site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"a_site_short", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"b_site_short", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

static void put_amounts(const struct diff_part *part, const struct diff_group *group)
{
    put_scope(part);
    emit_int(part->emit, diff_change(group));
    emit_int(part->emit, group->bytes[DIFF_A]);
    emit_int(part->emit, group->bytes[DIFF_B]);
    emit_int(part->emit, group->blocks[DIFF_A]);
    emit_int(part->emit, group->blocks[DIFF_B]);
}

/* What did not change comes last; people are not shown it. */
static size_t changed(const struct diff_group *groups, size_t count)
{
    size_t n = 0;
    while (n < count && diff_change(&groups[n]))
        n++;
    return n;
}

static void put_categories(const struct diff_part *part)
{
    const struct diff *diff = &part->diff;
    size_t count = diff->category_count;
    if (part->emit->format == EMIT_TABLE)
        count = changed(diff->categories, count);
    if (part->emit->format == EMIT_TABLE && !count)
        return;
    EMIT_SECTION(part->emit, "by_category", "By kind of memory", EMIT_ROWS, category_columns);
    for (size_t i = 0; i < count; i++) {
        put_amounts(part, &diff->categories[i]);
        emit_text(part->emit, diff_category(&diff->categories[i]));
    }
}

static void put_blocks(struct emit *emit, const struct diff_group *group)
{
    char text[64];
    if (group->blocks[DIFF_A] == group->blocks[DIFF_B])
        snprintf(text, sizeof text, "%" PRId64, group->blocks[DIFF_B]);
    else
        snprintf(text, sizeof text, "%" PRId64 " to %" PRId64, group->blocks[DIFF_A],
                 group->blocks[DIFF_B]);
    emit_text(emit, text);
}

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* The same texts but for one number, a line: "f (a.py:10 in A, 14 in B) > g (b.py:3)". */
static bool join_lines(const char *a, const char *b, struct buf *out)
{
    size_t same = 0;
    while (a[same] && a[same] == b[same])
        same++;
    while (same && digits(&a[same - 1]))
        same--;
    size_t in_a = digits(a + same), in_b = digits(b + same);
    if (!in_a || !in_b || same == 0 || a[same - 1] != ':' ||
        strcmp(a + same + in_a, b + same + in_b) != 0)
        return false;
    buf_print(out, "%.*s in A, %.*s in B%s", (int)(same + in_a), a, (int)in_b, b + same,
              b + same + in_b);
    return true;
}

/* With the line of each side: a group has all blocks of a function, which may be at another line in
 * each. Where more than one line differs, without lines. */
static void put_shown(const struct diff_part *part, const struct diff_group *group)
{
    const char *a = group->shown[DIFF_A], *b = group->shown[DIFF_B];
    struct buf text = {0};
    bool both = part->emit->format == EMIT_TABLE && a && b && group->blocks[DIFF_A] &&
                group->blocks[DIFF_B] && !group->several[DIFF_A] && !group->several[DIFF_B];
    if (!both || strcmp(a, b) == 0)
        emit_text(part->emit, diff_group_shown(group));
    else
        emit_text(part->emit, join_lines(a, b, &text) ? buf_string(&text) : group->text);
    part->emit->out.broken = part->emit->out.broken || text.broken;
    buf_clear(&text);
}

static void put_group(const struct diff_part *part, const struct diff_group *group)
{
    put_amounts(part, group);
    put_blocks(part->emit, group);
    emit_text(part->emit, diff_category(group));
    emit_text(part->emit, group->text);
    put_shown(part, group);
    emit_known(part->emit, group->site[DIFF_A]);
    emit_known(part->emit, group->site[DIFF_B]);
    emit_text(part->emit, group->shown[DIFF_A]);
    emit_text(part->emit, group->shown[DIFF_B]);
}

static void put_groups(const struct diff_part *part)
{
    const struct diff *diff = &part->diff;
    size_t top = (size_t)part->options->top, count = changed(diff->groups, diff->group_count);
    size_t shown = count < top ? count : top;
    char bytes[HUMAN_MAX], more[HUMAN_MAX];
    int64_t rest = diff->allocated[DIFF_B] - diff->allocated[DIFF_A];
    if (part->emit->format == EMIT_TABLE && !count) {
        emit_line(part->emit, "the same kinds and call sites hold the same bytes in both");
        return;
    }
    EMIT_SECTION(part->emit, "groups", "By kind and call site", EMIT_ROWS, group_columns);
    for (size_t i = 0; i < shown; i++) {
        rest -= diff_change(&diff->groups[i]);
        put_group(part, &diff->groups[i]);
    }
    if (shown < count)
        emit_line(part->emit, "and %s in %s more group%s: --top shows them",
                  human_delta(bytes, rest), human_count(more, (int64_t)(count - shown)),
                  count - shown == 1 ? "" : "s");
}

/* ---- all of it ---- */

static void (*const put_part[])(const struct diff_part *part) = {put_change, put_phases,
                                                                 put_categories, put_groups};
enum { PUTS = sizeof put_part / sizeof *put_part };

/* So that a section is there also where it has no rows. */
static void open_section(struct emit *emit, size_t which)
{
    switch (which) {
    case 0:
        EMIT_SECTION(emit, "change", NULL, EMIT_ROWS, change_columns);
        break;
    case 1:
        EMIT_SECTION(emit, "phases", NULL, EMIT_ROWS, phase_columns);
        break;
    case 2:
        EMIT_SECTION(emit, "by_category", NULL, EMIT_ROWS, category_columns);
        break;
    default:
        EMIT_SECTION(emit, "groups", NULL, EMIT_ROWS, group_columns);
    }
}

/* Those of one kind of memory. */
static void put_sections(struct report *report, const struct diff_part *parts, size_t count,
                         bool host)
{
    for (size_t i = 0; i < count; i++) {
        if (report_is_host(parts[i].scopes[DIFF_A]) != host)
            continue;
        report_heading(report, "Difference", parts[i].scopes[DIFF_A]);
        for (size_t p = 0; p < PUTS; p++)
            put_part[p](&parts[i]);
    }
}

static void put_parts(struct report *report, const struct diff_part *parts, size_t count)
{
    bool people = report->emit.format == EMIT_TABLE;
    for (int host = 0; host < 2 && people; host++) /* GPUs first, as workers_fold does */
        put_sections(report, parts, count, host);
    for (size_t p = 0; p < PUTS && !people; p++) {
        open_section(&report->emit, p);
        for (size_t i = 0; i < count; i++)
            put_part[p](&parts[i]);
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
