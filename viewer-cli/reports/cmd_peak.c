/*
 * tidemark peak: where the highest point was, and who held it.
 *
 * Each part is one section. People read one process and device after the other, all parts of it;
 * programs get each section once, with the rows of all of them.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "peak.h"
#include "phase_text.h"
#include "buf.h"
#include "error.h"
#include "human.h"
#include "ladder_report.h"
#include "mem.h"
#include "peak_parts.h"
#include "report.h"
#include "workers.h"

struct peak_options {
    struct report_options common;
    int64_t top;
};

static void put_scope(const struct peak_part *part)
{
    emit_int(part->emit, part->scope->process.id);
    emit_text(part->emit, part->scope->device_text);
}

static void put_buf(struct emit *emit, struct buf *text)
{
    emit_text(emit, buf_string(text));
    emit->out.broken = emit->out.broken || text->broken;
    buf_clear(text);
}

/* ---- where ---- */

static const struct emit_column where_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"step", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"phase", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"at_ns", NULL, EMIT_NS, EMIT_PROGRAMS},
    {"allocated", NULL, EMIT_BYTES, 0},
    {"reserved", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"kind", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"seq", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"phase_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"phase_path", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"live_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"live_blocks", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"before_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"before_blocks", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"added_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"added_blocks", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"last_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"last_site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"last_site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"max_reserved", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {NULL, "most reserved", EMIT_BYTES, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "where", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "reached by", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "alive before", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "added", EMIT_TEXT, EMIT_PEOPLE},
};

static void put_where_text(struct emit *emit, const struct peak *peak)
{
    struct buf text = {0};
    char time[HUMAN_MAX];
    if (peak->step != PEAK_NONE)
        buf_print(&text, "step %" PRId64 ", ", peak->step);
    buf_print(&text, "%s%s, %s after the start (seq %" PRId64 ")",
              peak->phase_path ? peak->phase_path : "no phase", peak_remark(peak),
              human_ns(time, peak->at_ns), peak->seq);
    put_buf(emit, &text);
}

static void put_held(struct emit *emit, int64_t bytes, int64_t blocks, const char *which)
{
    struct buf text = {0};
    char amount[HUMAN_MAX], count[HUMAN_MAX];
    buf_print(&text, "%s in %s block%s %s", human_bytes(amount, bytes), human_count(count, blocks),
              blocks == 1 ? "" : "s", which);
    put_buf(emit, &text);
}

/* The block with which it was reached. */
static void put_last(struct emit *emit, const struct peak *peak)
{
    struct buf text = {0};
    char bytes[HUMAN_MAX];
    if (!peak->last_shown) {
        emit_null(emit);
        return;
    }
    buf_print(&text, "%s for %s", human_bytes(bytes, peak->last_bytes), peak->last_shown);
    put_buf(emit, &text);
}

static void put_where(const struct peak_part *part)
{
    struct emit *emit = part->emit;
    const struct peak *peak = part->peak;
    EMIT_SECTION(emit, "peak", NULL, EMIT_RECORD, where_columns);
    put_scope(part);
    emit_known(emit, peak->step);
    emit_text(emit, peak->phase_name);
    emit_int(emit, peak->at_ns);
    emit_int(emit, peak->allocated);
    emit_known(emit, peak->reserved);
    emit_text(emit, peak->phase_kind);
    emit_int(emit, peak->seq);
    emit_known(emit, peak->phase);
    emit_text(emit, peak->phase_path);
    emit_int(emit, peak->bytes);
    emit_int(emit, peak->blocks);
    emit_int(emit, peak->before_bytes);
    emit_int(emit, peak->before_blocks);
    emit_int(emit, peak->added_bytes);
    emit_int(emit, peak->added_blocks);
    emit_known(emit, peak->last_bytes);
    emit_text(emit, peak->last_shown);
    emit_known(emit, peak->last_site);
    emit_known(emit, peak->max_reserved);
    emit_known(emit, peak->max_reserved);
    put_where_text(emit, peak);
    put_last(emit, peak);
    put_held(emit, peak->before_bytes, peak->before_blocks, "older than this phase");
    put_held(emit, peak->added_bytes, peak->added_blocks, "born in it");
}

/* ---- the ladder ---- */

static void put_ladder(const struct peak_part *part)
{
    ladder_put(part->emit, part->scope, &part->ladder, "The ladder", false);
}

static void put_ladder_of_driven(const struct peak_part *part)
{
    if (part->driven.shown)
        ladder_put(part->emit, part->scope, &part->driven.ladder, "The ladder", true);
}

static int read_ladder(struct db *db, struct peak_part *part)
{
    const struct peak *peak = part->peak;
    struct ladder_facts facts = {.living = peak->bytes};
    facts.bytes[LADDER_REQUESTED] = peak->requested;
    facts.bytes[LADDER_ALLOCATED] = peak->allocated;
    facts.bytes[LADDER_RESERVED] = peak->reserved;
    int err =
        ladder_read_around(db, peak->process, peak->device, peak->living_seq, peak->at_ns, &facts);
    ladder_make(&facts, &part->ladder);
    return err;
}

/* ---- groupings ---- */

enum { BAR = 24, BAR_ROOM = 78 }; /* columns of a bar that is everything, of a line with one */

static const struct emit_column category_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"bytes", NULL, EMIT_BYTES, 0},
    {"share", NULL, EMIT_RATIO, 0},
    {"blocks", NULL, EMIT_COUNT, 0},
    {"category", NULL, EMIT_TEXT, 0},
    {"rule", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
};

static const struct emit_column birth_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"bytes", NULL, EMIT_BYTES, 0},
    {"share", NULL, EMIT_RATIO, 0},
    {"blocks", NULL, EMIT_COUNT, 0},
    {"step", NULL, EMIT_PLAIN, EMIT_NONE},
    {"phase", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "phase", EMIT_TEXT, EMIT_PEOPLE | EMIT_MIDDLE},
    {"kind", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"phase_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"phase_path", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

static const struct emit_column site_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"bytes", NULL, EMIT_BYTES, 0},
    {"share", NULL, EMIT_RATIO, 0},
    {"blocks", NULL, EMIT_COUNT, 0},
    {"site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "site", EMIT_TEXT, EMIT_PEOPLE | EMIT_MIDDLE},
    {"site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"site_short", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

static double share_of(const struct peak_part *part, int64_t bytes)
{
    return part->peak->bytes ? (double)bytes / (double)part->peak->bytes : 0;
}

static void put_amount(const struct peak_part *part, int64_t bytes, int64_t blocks)
{
    put_scope(part);
    emit_int(part->emit, bytes);
    emit_real(part->emit, share_of(part, bytes));
    emit_int(part->emit, blocks);
}

/* How many rows are shown; says what the others hold. */
static size_t shown(const struct peak_part *part, const struct groups *groups)
{
    size_t top = (size_t)part->top;
    return groups->count < top ? groups->count : top;
}

static void put_rest(const struct peak_part *part, const struct groups *groups, const char *what)
{
    char bytes[HUMAN_MAX], count[HUMAN_MAX];
    int64_t rest = 0;
    size_t from = shown(part, groups);
    for (size_t i = from; i < groups->count; i++)
        rest += groups->groups[i].bytes;
    if (from < groups->count)
        emit_line(part->emit, "and %s in %s more %s: --top shows them", human_bytes(bytes, rest),
                  human_count(count, (int64_t)(groups->count - from)), what);
}

/* On a terminal only, and not on a narrow one. */
static void put_bar(const struct peak_part *part, int64_t bytes)
{
    struct buf bar = {0};
    if (part->emit->width < BAR_ROOM || !part->peak->bytes) {
        emit_null(part->emit);
        return;
    }
    for (int i = 0; i < (int)(share_of(part, bytes) * BAR + 0.5); i++)
        buf_text(&bar, "#");
    put_buf(part->emit, &bar);
}

static const char *category_text(const struct peak_category *category)
{
    if (category->by == RULE_TAG)
        return "named so by the program or its framework";
    if (category->purpose == PURPOSE_WORKSPACE)
        return "asked for and freed inside one phase, such as gradients on their way";
    if (category->purpose == PURPOSE_HELD)
        return "made in forward or loss, and alive when backward is over";
    return category->rule;
}

/* Those whose names do not say it, where they matter; of several rules that which decided most. */
static void explain_categories(const struct peak_part *part)
{
    static const enum purpose explained[] = {PURPOSE_WORKSPACE, PURPOSE_COPY, PURPOSE_LIBRARY,
                                             PURPOSE_HELD, PURPOSE_OTHER};
    for (size_t i = 0; i < sizeof explained / sizeof *explained; i++) {
        struct peak_category category = peak_category(part->peak, explained[i]);
        if (category.blocks && category.bytes >= part->peak->bytes / 20)
            emit_line(part->emit, "%s: %s", purpose_name(category.purpose),
                      category_text(&category));
    }
}

static void put_categories(const struct peak_part *part)
{
    EMIT_SECTION(part->emit, "by_category", "What for", EMIT_ROWS, category_columns);
    for (size_t i = 0; i < part->peak->category_count; i++) {
        const struct peak_category *category = &part->peak->categories[i];
        put_amount(part, category->bytes, category->blocks);
        emit_text(part->emit, purpose_name(category->purpose));
        emit_text(part->emit, category->rule);
        put_bar(part, category->bytes);
    }
    explain_categories(part);
}

static const char *birth_text(const struct group *group)
{
    bool between = group->kind && strcmp(group->kind, PHASE_OTHER) == 0;
    return between ? PHASE_OTHER : group->shown;
}

/* Of several phases of a name in one step, which: as `why` takes it, "forward#1". */
static void put_birth(const struct peak_part *part, const struct groups *groups, size_t at)
{
    const struct group *group = &groups->groups[at];
    const char *text = birth_text(group);
    bool twin = false;
    for (size_t i = 0; i < shown(part, groups) && text && !twin; i++) {
        const char *other = birth_text(&groups->groups[i]);
        twin =
            i != at && other && groups->groups[i].step == group->step && strcmp(other, text) == 0;
    }
    struct buf name = {0};
    if (twin && group->ordinal != GROUP_NONE)
        buf_print(&name, "%s#%" PRId64, text, group->ordinal);
    if (name.count)
        put_buf(part->emit, &name);
    else
        emit_text(part->emit, text);
}

static void put_births(const struct peak_part *part)
{
    const struct groups *groups = &part->peak->births;
    EMIT_SECTION(part->emit, "by_phase", "Born in", EMIT_ROWS, birth_columns);
    for (size_t i = 0; i < shown(part, groups); i++) {
        const struct group *group = &groups->groups[i];
        put_amount(part, group->bytes, group->blocks);
        emit_known(part->emit, group->step);
        emit_text(part->emit, group->name);
        put_birth(part, groups, i);
        emit_text(part->emit, group->kind);
        emit_known(part->emit, group->id);
        emit_text(part->emit, group->shown);
    }
    put_rest(part, groups, "phases");
}

static void put_sites(const struct peak_part *part)
{
    const struct groups *groups = &part->peak->sites;
    bool none = groups->count == 1 && groups->groups[0].id == PEAK_NONE;
    if (none && part->emit->format == EMIT_TABLE) {
        emit_heading(part->emit, "Asked for by");
        emit_line(part->emit, "not known: this recording has no call stacks");
        return;
    }
    EMIT_SECTION(part->emit, "by_site", "Asked for by", EMIT_ROWS, site_columns);
    for (size_t i = 0; i < shown(part, groups); i++) {
        const struct group *group = &groups->groups[i];
        put_amount(part, group->bytes, group->blocks);
        emit_text(part->emit, group->name);
        emit_text(part->emit, group->shown);
        emit_known(part->emit, group->id);
        emit_text(part->emit, group->shown);
    }
    put_rest(part, groups, "sites");
}

/* What one asks first stands on the first screen; below is what it is made of. */
static void (*const parts[])(const struct peak_part *part) = {
    put_where,  peak_put_findings, peak_put_levers, put_ladder,      put_categories,
    put_births, put_sites,         peak_put_added,  peak_put_change,
};
enum { PARTS = sizeof parts / sizeof *parts };

/* ---- the command ---- */

static void note_difference(struct emit *emit, const struct peak *peak)
{
    char seen[HUMAN_MAX], held[HUMAN_MAX];
    if (peak->bytes != peak->allocated)
        emit_note(emit, "the blocks known to live at the peak hold %s of the %s",
                  human_bytes(seen, peak->bytes), human_bytes(held, peak->allocated));
}

static void put_for_people(struct report *report, struct peak_part *all)
{
    for (size_t i = 0; i < report->scope_count; i++) {
        bool found = all[i].peak->found;
        bool refused = all[i].peak->refused;
        bool ended = all[i].ooms.shown && !all[i].went_on;
        if (found || all[i].ooms.shown || all[i].driven.shown)
            report_heading(report, ended ? "Refused request" : "Peak", all[i].scope);
        if (found || all[i].ooms.shown)
            peak_put_killed(&all[i]);
        for (size_t p = 0; p < PARTS; p++) {
            if (found && !(refused && parts[p] == put_where))
                parts[p](&all[i]);
            if (p == 0)
                peak_put_oom(&all[i]);
        }
        if (found)
            peak_put_growth(&all[i]);
        if (found)
            peak_put_running(&all[i]);
        driven_put_peak(report, &all[i].driven);
        put_ladder_of_driven(&all[i]);
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
    static const struct {
        const char *key;
        const struct emit_column *columns;
        size_t count;
    } sections[PARTS] = {
        /* in the order of parts */
        {"peak", where_columns, sizeof where_columns / sizeof *where_columns},
        {"findings", peak_finding_columns, PEAK_FINDING_COLUMNS},
        {"levers", peak_lever_columns, PEAK_LEVER_COLUMNS},
        {"ladder", ladder_columns, sizeof ladder_columns / sizeof *ladder_columns},
        {"by_category", category_columns, sizeof category_columns / sizeof *category_columns},
        {"by_phase", birth_columns, sizeof birth_columns / sizeof *birth_columns},
        {"by_site", site_columns, sizeof site_columns / sizeof *site_columns},
        {"added_by_backward", peak_added_columns, PEAK_ADDED_COLUMNS},
        {"higher_than_step_before", peak_change_columns, PEAK_CHANGE_COLUMNS},
    };
    for (size_t p = 0; p < PARTS; p++) {
        emit_section(&report->emit, sections[p].key, NULL, EMIT_ROWS, sections[p].columns,
                     sections[p].count);
        for (size_t i = 0; i < report->scope_count; i++) {
            if (all[i].peak->found)
                parts[p](&all[i]);
            if (parts[p] == put_ladder)
                put_ladder_of_driven(&all[i]);
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

/* Programs get the highest point in any case, and the refusal in sections of its own. */
static int read_moment(struct report *report, struct peak_part *part, struct peak *peak)
{
    const struct option_range *steps = &report->options->steps;
    int err = peak_oom_read(report, part);
    if (err < 0)
        return err;
    if (part->ooms.shown && !part->went_on && report->emit.format == EMIT_TABLE)
        err = peak_oom_read_moment(report, part, peak);
    if (err < 0 || peak->found)
        return err;
    return peak_read(report->db, part->scope->process.id, part->scope->device, steps->first,
                     steps->last, (size_t)part->top, peak);
}

/* For people: programs have the sites' numbers. */
static int tell_apart(struct report *report, struct peak_part *part, struct peak *peak)
{
    int err = 0;
    if (report->emit.format != EMIT_TABLE)
        return 0;
    if (peak->found)
        err = groups_tell_apart(report->db, &peak->sites, (size_t)part->top);
    if (err >= 0 && part->changed)
        err = why_tell_apart(report->db, &part->change, PEAK_CHANGES);
    if (err >= 0 && part->ooms.shown)
        err = frag_tell_apart(report->db, &part->ooms.failures[0].frag, (size_t)part->top);
    return err;
}

/* Why it is higher than the step before, and what would lower it. */
static int read_causes(const struct report *report, struct peak_part *part)
{
    int err = peak_change_read(report->db, part);
    if (err >= 0)
        err = peak_growth_read(report->db, part);
    if (err >= 0)
        err = peak_inference_read(report->db, part);
    if (err >= 0)
        err = peak_running_read(report->db, part);
    return err < 0 ? err
                   : levers_read(report->db, part->peak,
                                 part->peak->refused || report_has_steps(report->options),
                                 &part->levers);
}

static int put_all(struct report *report, int64_t top)
{
    size_t n = report->scope_count;
    struct peak *peaks = mem_alloc(n, sizeof *peaks);
    struct peak_part *all = mem_alloc(n, sizeof *all);
    int err = peaks && all ? 0 : ERR_NOMEM;
    bool any = false;
    report_needs_steps(report);
    for (size_t i = 0; i < n && err >= 0; i++) {
        const struct report_scope *scope = &report->scopes[i];
        all[i] = (struct peak_part){
            .emit = &report->emit, .scope = scope, .peak = &peaks[i], .top = top};
        err = read_moment(report, &all[i], &peaks[i]);
        if (err >= 0)
            err = host_kill_read(report->db, scope->process.id, &all[i].kill);
        if (err >= 0 && peaks[i].found)
            err = report_sees(report, scope->process.id, peaks[i].seq);
        if (err >= 0 && peaks[i].found)
            err = read_ladder(report->db, &all[i]);
        if (err >= 0 && peaks[i].found)
            err = read_causes(report, &all[i]);
        if (err >= 0)
            err = tell_apart(report, &all[i], &peaks[i]);
        if (err >= 0 && !peaks[i].found)
            err = driven_part_read(report, scope, &all[i].driven);
        any = any || peaks[i].found || all[i].ooms.shown || all[i].driven.shown;
    }
    if (err >= 0 && !any)
        report_nothing(report);
    if (err >= 0 && report->emit.format == EMIT_TABLE)
        put_for_people(report, all);
    else if (err >= 0)
        err = put_for_programs(report, all);
    for (size_t i = 0; i < n && peaks; i++) {
        if (err >= 0 && peaks[i].found)
            note_difference(&report->emit, &peaks[i]);
        peak_clear(&peaks[i]);
    }
    for (size_t i = 0; i < n && all; i++) {
        peak_change_clear(&all[i]);
        levers_clear(&all[i].levers);
        peak_oom_clear(&all[i]);
        growth_cause_clear(&all[i].growth_cause);
        running_clear(&all[i].running);
        driven_part_clear(&all[i].driven);
    }
    mem_free(peaks);
    mem_free(all);
    return err;
}

static int cmd_peak(const struct command_call *call)
{
    struct peak_options options = {.common = REPORT_OPTIONS, .top = 10};
    struct report report;
    int code;

    if (!report_start(&report, call, &options, &code))
        return code;
    int err = workers_fold(&report);
    return report_end(&report, err < 0 ? err : put_all(&report, options.top));
}

static const struct option option_table[] = {
    {"top", 'n', OPT_INT, offsetof(struct peak_options, top), "N",
     "so many phases and call sites (10)", NULL, 1},
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
        "For each process and device: the step, the phase and the moment with the most memory "
        "allocated; what was alive before that phase began and what it added; how far allocated "
        "is from what was requested, reserved and used on the device; and what lived then, by "
        "what it is for, by the phase that it was born in, and by the call that asked for it: "
        "the program's own innermost function, then the library's that it came to. Then its "
        "causes: what backward had added, beside what is as large as that, for a gradient is as "
        "large as what it is the gradient of; and what it has more of than the peak of the step "
        "before. Where an allocation failed, the newest one that did comes first: what was asked "
        "for, what was free, and which settings would have let it through. If the run ended there, "
        "all of the page is about that moment, and a line has the highest point; csv and json keep "
        "to the highest point.\n"
        "\n"
        "Last, what would lower it. Each line is the peak's step gone through once more with that "
        "change, and what its highest point then is below the recorded one. 'At most' stands where "
        "the program would also do other work for it. What takes less than a hundredth off the "
        "peak, or is done already, is not shown. Settings of the allocator change reserved only, "
        "and are tried by replay.\n"
        "\n"
        "Where kernels and copies were recorded, those that ran on the device at that moment "
        "follow.\n"
        "\n"
        "On a device that no framework had a block on, this is about what CUDA's driver gave: when "
        "that was the most, and by which library and call it was asked for.\n"
        "\n"
        "In csv and json these are the sections peak, findings, levers, ladder, by_category, "
        "by_phase, by_site, added_by_backward, higher_than_step_before, oom, oom_heaps, oom_sites, "
        "oom_memory and oom_settings, running where kernels were recorded, and driver_peak and "
        "driver_held where a device had no block; in csv each begins with a line '# NAME'.",
    .examples =
        {
            {"tidemark peak", "the newest recording in this folder"},
            {"tidemark peak run.db --steps 2..", "the peak once training has settled"},
            {"tidemark peak run.db --top 30 --format json", "more rows, for a program"},
        },
};
