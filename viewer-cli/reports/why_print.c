#include "why_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "human.h"

static void put_scope(const struct why_part *part)
{
    emit_int(part->emit, part->scope->process.id);
    emit_text(part->emit, part->scope->device_text);
}

/* ---- the two moments ---- */

static const struct emit_column change_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"quantity", "", EMIT_TEXT, 0},
    {NULL, "change", EMIT_DELTA, EMIT_PEOPLE}, /* the answer first */
    {"before", NULL, EMIT_BYTES, 0},
    {"after", NULL, EMIT_BYTES, 0},
    {"change", NULL, EMIT_DELTA, EMIT_PROGRAMS},
    {"before_moment", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"after_moment", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"before_seq", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"after_seq", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
};

static void put_quantity(const struct why_part *part, const char *name, int64_t before,
                         int64_t after)
{
    const struct why *why = part->why;
    bool known = before != INSTANT_NONE && after != INSTANT_NONE;
    put_scope(part);
    emit_text(part->emit, name);
    emit_known(part->emit, known ? after - before : INSTANT_NONE);
    emit_known(part->emit, before);
    emit_known(part->emit, after);
    emit_known(part->emit, known ? after - before : INSTANT_NONE);
    emit_text(part->emit, why->before.label);
    emit_text(part->emit, why->after.label);
    emit_int(part->emit, why->before.seq);
    emit_int(part->emit, why->after.seq);
}

static int64_t either(int64_t noted, bool known, int64_t summed)
{
    return noted != INSTANT_NONE || !known ? noted : summed;
}

/* For people. */
static void put_larger(const struct why_part *part)
{
    char text[WHY_LARGER_TEXT];
    why_larger_text(text, part->why);
    if (*text && part->emit->format == EMIT_TABLE)
        emit_line(part->emit, "%s", text);
}

static void put_change(const struct why_part *part)
{
    const struct why *why = part->why;
    emit_line(part->emit, "from %s (seq %" PRId64 ")", why->before.label, why->before.seq);
    emit_line(part->emit, "to   %s (seq %" PRId64 ")", why->after.label, why->after.seq);
    EMIT_SECTION(part->emit, "change", NULL, EMIT_ROWS, change_columns);
    put_quantity(part, "allocated", either(why->before.allocated, true, why->before_bytes),
                 either(why->after.allocated, true, why->after_bytes));
    int64_t before = either(why->before.reserved, why->segments_known, why->before_reserved);
    int64_t after = either(why->after.reserved, why->segments_known, why->after_reserved);
    if (part->emit->format != EMIT_TABLE || before != INSTANT_NONE || after != INSTANT_NONE)
        put_quantity(part, "reserved", before, after);
    put_larger(part);
}

/* ---- its groups ---- */

#define AMOUNTS                                                                                    \
    {"change", NULL, EMIT_DELTA, 0}, {"before", NULL, EMIT_BYTES, EMIT_SPARE | EMIT_PAIR},         \
        {"after", NULL, EMIT_BYTES, EMIT_SPARE},                                                   \
        {"before_blocks", NULL, EMIT_COUNT, EMIT_PROGRAMS},                                        \
    {                                                                                              \
        "after_blocks", NULL, EMIT_COUNT, EMIT_PROGRAMS                                            \
    }

static const struct emit_column category_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    AMOUNTS,
    {"category", "kind", EMIT_TEXT, 0},
};

static const struct emit_column group_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    AMOUNTS,
    {NULL, "blocks", EMIT_TEXT, EMIT_PEOPLE},
    {"category", "kind", EMIT_TEXT, EMIT_ABOVE},
    {"site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "module", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME | EMIT_NONE | EMIT_IF_KNOWN | EMIT_ABOVE},
    {NULL, "call site", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME | EMIT_IF_KNOWN | EMIT_ROOMY},
    {"site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"site_short", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"module", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

static void put_amounts(const struct why_part *part, const struct why_group *group)
{
    put_scope(part);
    emit_int(part->emit, why_change(group));
    emit_int(part->emit, group->before_bytes);
    emit_int(part->emit, group->after_bytes);
    emit_int(part->emit, group->before_blocks);
    emit_int(part->emit, group->after_blocks);
}

enum { LEAST_SHARE = 1000 };

/* People see no change below a thousandth of the memory there was, unless --top wants more rows
 * than there are without it. */
static bool is_tiny(const struct why_part *part, const struct why_group *group)
{
    const struct why *why = part->why;
    int64_t most = why->before_bytes > why->after_bytes ? why->before_bytes : why->after_bytes;
    return part->emit->format == EMIT_TABLE && part->top <= WHY_TOP &&
           llabs(why_change(group)) < most / LEAST_SHARE;
}

/* Of kinds that stayed the same people see the bytes, if they are a hundredth: what memory was for.
 */
static void say_same(const struct why_part *part)
{
    const struct why *why = part->why;
    struct buf line = {0};
    char bytes[HUMAN_MAX];
    for (size_t i = 0; i < why->category_count; i++) {
        const struct why_group *category = &why->categories[i];
        if (!why_change(category) && category->after_bytes >= why->after_bytes / 100)
            buf_print(&line, "%s%s %s", line.count ? "; " : "", purpose_name(category->purpose),
                      human_bytes(bytes, category->after_bytes));
    }
    if (line.count)
        emit_line(part->emit, "unchanged: %s", buf_string(&line));
    part->emit->out.broken = part->emit->out.broken || line.broken;
    buf_clear(&line);
}

static bool is_category_shown(const struct why_part *part, const struct why_group *category)
{
    return part->emit->format != EMIT_TABLE || (why_change(category) && !is_tiny(part, category));
}

static void put_categories(const struct why_part *part)
{
    const struct why *why = part->why;
    bool open = part->emit->format != EMIT_TABLE;
    if (open)
        EMIT_SECTION(part->emit, "by_category", NULL, EMIT_ROWS, category_columns);
    for (size_t i = 0; i < why->category_count; i++) {
        if (!is_category_shown(part, &why->categories[i]))
            continue;
        if (!open)
            EMIT_SECTION(part->emit, "by_category", "By kind of memory", EMIT_ROWS,
                         category_columns);
        open = true;
        put_amounts(part, &why->categories[i]);
        emit_text(part->emit, purpose_name(why->categories[i].purpose));
    }
    if (!open)
        emit_heading(part->emit, "By kind of memory");
    if (part->emit->format == EMIT_TABLE)
        say_same(part);
}

/* Groups that did not change come last; people are not shown them. */
static size_t changed(const struct why *why)
{
    size_t count = 0;
    while (count < why->group_count && why_change(&why->groups[count]))
        count++;
    return count;
}

static void put_groups(const struct why_part *part)
{
    const struct why *why = part->why;
    size_t count = changed(why), shown = count < (size_t)part->top ? count : (size_t)part->top;
    while (shown > 1 && is_tiny(part, &why->groups[shown - 1]))
        shown--;
    char bytes[HUMAN_MAX], more[HUMAN_MAX];
    int64_t rest = why->after_bytes - why->before_bytes;
    char blocks[WHY_BLOCKS_TEXT];
    if (part->emit->format == EMIT_TABLE && !count) {
        emit_heading(part->emit, "By kind and call site");
        emit_line(part->emit, "the same call sites hold the same bytes at both moments");
        return;
    }
    EMIT_SECTION(part->emit, "groups", "By kind and call site", EMIT_ROWS, group_columns);
    for (size_t i = 0; i < shown; i++) {
        const struct why_group *group = &why->groups[i];
        rest -= why_change(group);
        put_amounts(part, group);
        emit_text(part->emit, why_blocks_text(blocks, group));
        emit_text(part->emit, purpose_name(group->purpose));
        emit_text(part->emit, group->name);
        emit_text(part->emit, group->module);
        emit_text(part->emit, group->shown);
        emit_known(part->emit, group->site);
        emit_text(part->emit, group->shown);
        emit_text(part->emit, group->module);
    }
    if (shown < count)
        emit_line(part->emit, "and %s in %s more group%s: --top shows them",
                  human_delta(bytes, rest), human_count(more, (int64_t)(count - shown)),
                  count - shown == 1 ? "" : "s");
}

static const struct emit_column segment_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"change", NULL, EMIT_DELTA, 0},
    {"size", "segment size", EMIT_BYTES, 0},
    {"before", NULL, EMIT_COUNT, 0},
    {"after", NULL, EMIT_COUNT, 0},
};

static void put_segments(const struct why_part *part)
{
    const struct why *why = part->why;
    if (part->emit->format == EMIT_TABLE && !why->segment_count)
        return;
    EMIT_SECTION(part->emit, "segments", "Reserved", EMIT_ROWS, segment_columns);
    for (size_t i = 0; i < why->segment_count; i++) {
        const struct why_segments *segments = &why->segments[i];
        put_scope(part);
        emit_int(part->emit, segments->size * (segments->after - segments->before));
        emit_int(part->emit, segments->size);
        emit_int(part->emit, segments->before);
        emit_int(part->emit, segments->after);
    }
}

static const struct {
    const char *key;
    const struct emit_column *columns;
    size_t count;
    void (*put)(const struct why_part *part);
} parts[] = {
    {"change", change_columns, sizeof change_columns / sizeof *change_columns, put_change},
    {"by_category", category_columns, sizeof category_columns / sizeof *category_columns,
     put_categories},
    {"groups", group_columns, sizeof group_columns / sizeof *group_columns, put_groups},
    {"segments", segment_columns, sizeof segment_columns / sizeof *segment_columns, put_segments},
};
enum { PARTS = sizeof parts / sizeof *parts };

void why_print_people(struct report *report, const struct why_part *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        report_heading(report, "Change", all[i].scope);
        for (size_t p = 0; p < PARTS; p++)
            parts[p].put(&all[i]);
    }
}

void why_print_programs(struct report *report, const struct why_part *all, size_t count)
{
    for (size_t p = 0; p < PARTS; p++) {
        emit_section(&report->emit, parts[p].key, NULL, EMIT_ROWS, parts[p].columns,
                     parts[p].count);
        for (size_t i = 0; i < count; i++)
            parts[p].put(&all[i]);
    }
}
