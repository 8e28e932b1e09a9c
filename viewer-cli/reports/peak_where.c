/*
 * The tables of a peak: where it was, the ladder, and what was live by kind, by phase and by
 * call site.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "human.h"
#include "ladder_report.h"
#include "peak_parts.h"
#include "phase_text.h"

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
    {"after_step", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {NULL, "most reserved", EMIT_BYTES, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "where", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "reached by", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "live before", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "added", EMIT_TEXT, EMIT_PEOPLE},
};

static void put_where_text(struct emit *emit, const struct peak *peak)
{
    struct buf text = {0};
    char time[HUMAN_MAX], remark[PEAK_REMARK];
    if (peak->step != PEAK_NONE)
        buf_print(&text, "step %" PRId64 ", ", peak->step);
    buf_print(&text, "%s%s, %s after the start (seq %" PRId64 ")",
              peak->phase_path ? peak->phase_path : "no phase", peak_remark(remark, peak),
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
    peak_put_scope(part);
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
    emit_known(emit, peak->after_step);
    emit_known(emit, peak->max_reserved);
    put_where_text(emit, peak);
    put_last(emit, peak);
    put_held(emit, peak->before_bytes, peak->before_blocks, "older than this phase");
    put_held(emit, peak->added_bytes, peak->added_blocks, "allocated in it");
}

/* ---- the ladder ---- */

static void put_ladder(const struct peak_part *part)
{
    ladder_put(part->emit, part->scope, &part->ladder, "From requested to device used", false);
}

void peak_put_ladder_of_driven(const struct peak_part *part)
{
    if (part->driven.shown)
        ladder_put(part->emit, part->scope, &part->driven.ladder, "From requested to device used",
                   true);
}

int peak_read_ladder(struct db *db, struct peak_part *part)
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
    {"category", "kind", EMIT_TEXT, 0},
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
    {NULL, "phase", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME},
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
    {NULL, "call site", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME},
    {"site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"site_short", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

static double share_of(const struct peak_part *part, int64_t bytes)
{
    return part->peak->bytes ? (double)bytes / (double)part->peak->bytes : 0;
}

static void put_amount(const struct peak_part *part, int64_t bytes, int64_t blocks)
{
    peak_put_scope(part);
    emit_int(part->emit, bytes);
    emit_real(part->emit, share_of(part, bytes));
    emit_int(part->emit, blocks);
}

enum { TOP = 10, LEAST_SHARE = 1000 };

/* People see no row below a thousandth unless --top wants more rows than there are without it. */
static bool is_tiny(const struct peak_part *part, int64_t bytes)
{
    return part->emit->format == EMIT_TABLE && part->top <= TOP &&
           bytes < part->peak->bytes / LEAST_SHARE;
}

/* How many rows are shown, of groups that have the largest first; says what the others hold. */
static size_t shown(const struct peak_part *part, const struct groups *groups)
{
    size_t top = (size_t)part->top, count = groups->count < top ? groups->count : top;
    while (count && is_tiny(part, groups->groups[count - 1].bytes))
        count--;
    return count;
}

static void say_rest(const struct peak_part *part, int64_t rest, size_t count, const char *what)
{
    char bytes[HUMAN_MAX], number[HUMAN_MAX];
    if (count)
        emit_line(part->emit, "and %s in %s more %s%s: --top shows %s", human_bytes(bytes, rest),
                  human_count(number, (int64_t)count), what, count == 1 ? "" : "s",
                  count == 1 ? "it" : "them");
}

static void put_rest(const struct peak_part *part, const struct groups *groups, const char *what)
{
    int64_t rest = 0;
    size_t from = shown(part, groups);
    for (size_t i = from; i < groups->count; i++)
        rest += groups->groups[i].bytes;
    say_rest(part, rest, groups->count - from, what);
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
        return "allocated and freed inside one phase: temporaries, and gradients on their way";
    if (category->purpose == PURPOSE_HELD)
        return "allocated in forward or loss, and still live after backward";
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
    EMIT_SECTION(part->emit, "by_category", "By kind of memory", EMIT_ROWS, category_columns);
    int64_t rest = 0;
    size_t left = 0;
    for (size_t i = 0; i < part->peak->category_count; i++) {
        const struct peak_category *category = &part->peak->categories[i];
        if (is_tiny(part, category->bytes)) {
            rest += category->bytes;
            left++;
            continue;
        }
        put_amount(part, category->bytes, category->blocks);
        emit_text(part->emit, purpose_name(category->purpose));
        emit_text(part->emit, category->rule);
        put_bar(part, category->bytes);
    }
    say_rest(part, rest, left, "kind");
    explain_categories(part);
}

static const char *birth_text(const struct group *group)
{
    return group->between ? PHASE_OTHER : group->shown;
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
    else if (group->between)
        buf_text(&name, text);
    if (group->between) /* unlike the kind of memory */
        buf_text(&name, PHASE_BETWEEN_REMARK);
    if (name.count)
        put_buf(part->emit, &name);
    else
        emit_text(part->emit, text);
}

static void put_births(const struct peak_part *part)
{
    const struct groups *groups = &part->peak->births;
    EMIT_SECTION(part->emit, "by_phase", "By the phase that allocated", EMIT_ROWS, birth_columns);
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
    put_rest(part, groups, "phase");
}

static void put_sites(const struct peak_part *part)
{
    const struct groups *groups = &part->peak->sites;
    bool none = groups->count == 1 && groups->groups[0].id == PEAK_NONE;
    if (none && part->emit->format == EMIT_TABLE) {
        emit_heading(part->emit, "By call site");
        emit_line(part->emit, "not known: this recording has no call stacks");
        return;
    }
    EMIT_SECTION(part->emit, "by_site", "By call site", EMIT_ROWS, site_columns);
    for (size_t i = 0; i < shown(part, groups); i++) {
        const struct group *group = &groups->groups[i];
        put_amount(part, group->bytes, group->blocks);
        emit_text(part->emit, group->name);
        emit_text(part->emit, group->shown);
        emit_known(part->emit, group->id);
        emit_text(part->emit, group->shown);
    }
    put_rest(part, groups, "call site");
}

#define TABLE(name, put, columns)                                                                  \
    {                                                                                              \
        name, put, columns, sizeof columns / sizeof *columns                                       \
    }

const struct peak_table peak_tables[PEAK_TABLES] = {
    [PEAK_WHERE] = TABLE("peak", put_where, where_columns),
    [PEAK_FINDINGS] = TABLE("findings", peak_put_findings, peak_finding_columns),
    [PEAK_LEVERS] = TABLE("levers", peak_put_levers, peak_lever_columns),
    [PEAK_LADDER] = TABLE("ladder", put_ladder, ladder_columns),
    [PEAK_KINDS] = TABLE("by_category", put_categories, category_columns),
    [PEAK_PHASES] = TABLE("by_phase", put_births, birth_columns),
    [PEAK_SITES] = TABLE("by_site", put_sites, site_columns),
    [PEAK_BACKWARD] = TABLE("added_by_backward", peak_put_added, peak_added_columns),
    [PEAK_CHANGE] = TABLE("higher_than_step_before", peak_put_change, peak_change_columns),
};
