/* diff_put_groups.c - what changed, by kind of memory and by call site. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "diff_report.h"
#include "human.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define AMOUNTS                                                                                    \
    {"change", NULL, EMIT_DELTA, 0}, {"a", "A", EMIT_BYTES, EMIT_SPARE | EMIT_PAIR},               \
        {"b", "B", EMIT_BYTES, EMIT_SPARE}, {"a_blocks", NULL, EMIT_COUNT, EMIT_PROGRAMS},         \
    {                                                                                              \
        "b_blocks", NULL, EMIT_COUNT, EMIT_PROGRAMS                                                \
    }

static const struct emit_column category_columns[] = {
    DIFF_SCOPE,
    AMOUNTS,
    {"category", "kind", EMIT_TEXT, 0},
};

static const struct emit_column group_columns[] = {
    DIFF_SCOPE,
    AMOUNTS,
    {NULL, "blocks", EMIT_TEXT, EMIT_PEOPLE},
    {"category", "kind", EMIT_TEXT, EMIT_ABOVE},
    {"site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "call site", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME | EMIT_IF_KNOWN | EMIT_ROOMY},
    {"a_site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"b_site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"a_site_short", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"b_site_short", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

static void put_amounts(const struct diff_part *part, const struct diff_group *group)
{
    diff_put_scope(part);
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

const struct diff_table diff_categories_table = {"by_category", category_columns,
                                                 COUNT(category_columns), put_categories};

const struct diff_table diff_groups_table = {"groups", group_columns, COUNT(group_columns),
                                             put_groups};
