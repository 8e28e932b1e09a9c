/*
 * Why a peak is higher than that of the step before: the groups of blocks that it has more or less
 * of, largest first, and their sum.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "category_rules.h"
#include "error.h"
#include "human.h"
#include "mem.h"
#include "peak_parts.h"
#include "query.h"

const struct emit_column peak_change_columns[PEAK_CHANGE_COLUMNS] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"step_before", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"change", NULL, EMIT_DELTA, 0},
    {"before_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"after_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {NULL, "blocks", EMIT_TEXT, EMIT_PEOPLE},
    {"before_blocks", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"after_blocks", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"category", "kind", EMIT_TEXT, 0},
    {"site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "call site", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME | EMIT_IF_KNOWN},
    {"site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"site_short", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

void peak_put_scope(const struct peak_part *part)
{
    emit_int(part->emit, part->scope->process.id);
    emit_text(part->emit, part->scope->device_text);
}

/* Only where it says something. */
static bool keep_phase(const struct peak *peak, const struct peak *before, char **out)
{
    const char *now = peak->phase_path ? peak->phase_path : "";
    const char *then = before->phase_path ? before->phase_path : "";
    if (!*then || strcmp(now, then) == 0)
        return true;
    *out = mem_copy(then, strlen(then));
    return *out != NULL;
}

/* The last step before that one which had memory here; GROUP_NONE. */
static int find_step_before(struct db *db, const struct peak *peak, int64_t *step)
{
    const struct category_rules *rules = category_kept(db, peak->process);
    const struct category_bounds *next = rules ? category_step(rules, peak->step - 1) : NULL;
    int err = 0;
    *step = GROUP_NONE;
    for (int all = !next; all < 2 && err == 0 && *step != peak->step - 1; all++)
        err = query_read(db,
                         "SELECT max(ph.step) AS step FROM phase ph"
                         "  JOIN phase_device pd ON pd.phase = ph.id"
                         " WHERE ph.process = ?1 AND pd.device = ?2 AND ph.step < ?3"
                         "   AND ph.id BETWEEN ?4 AND ?5",
                         Q_IN(peak->process, peak->device, peak->step,
                              all ? INT64_MIN : next->first_id, all ? INT64_MAX : next->last_id),
                         Q_OUT(Q_OPT(*step)));
    return err;
}

static bool is_for_people(const struct peak_part *part)
{
    return part->emit->format == EMIT_TABLE;
}

bool peak_change_is_shown(const struct peak_part *part)
{
    return part->rise >= part->peak->allocated / 100;
}

int peak_change_read(struct db *db, struct peak_part *part)
{
    const struct peak *peak = part->peak;
    struct peak before = {0};
    int err = 0;
    part->step_before = GROUP_NONE;
    if (peak->step != PEAK_NONE)
        err = find_step_before(db, peak, &part->step_before);
    if (err < 0 || part->step_before == GROUP_NONE)
        return err;
    err = peak_find(db, peak->process, peak->device, part->step_before, part->step_before, &before);
    if (err >= 0 && before.found)
        part->rise = peak->allocated - before.allocated;
    /* A hundred thousand blocks are not read for nothing. */
    if (err >= 0 && before.found && (!is_for_people(part) || peak_change_is_shown(part))) {
        const struct instant first = {.seq = before.living_seq,
                                      .allocated = before.allocated,
                                      .reserved = before.reserved,
                                      .step = part->step_before};
        const struct instant second = {.seq = peak->living_seq,
                                       .allocated = peak->allocated,
                                       .reserved = peak->reserved,
                                       .step = peak->step};
        part->changed = true;
        if (!keep_phase(peak, &before, &part->phase_before))
            err = ERR_NOMEM;
        else
            err = why_read(db, peak->process, peak->device, &first, &second, PEAK_CHANGES,
                           &part->change);
    }
    peak_clear(&before);
    return err;
}

void peak_change_clear(struct peak_part *part)
{
    why_clear(&part->change);
    mem_free(part->phase_before);
}

static void put_group(const struct peak_part *part, const struct why_group *group)
{
    struct emit *emit = part->emit;
    char blocks[WHY_BLOCKS_TEXT];
    peak_put_scope(part);
    emit_int(emit, part->step_before);
    emit_int(emit, why_change(group));
    emit_int(emit, group->before_bytes);
    emit_int(emit, group->after_bytes);
    emit_text(emit, why_blocks_text(blocks, group));
    emit_int(emit, group->before_blocks);
    emit_int(emit, group->after_blocks);
    emit_text(emit, purpose_name(group->purpose));
    emit_text(emit, group->name);
    emit_text(emit, group->shown);
    emit_known(emit, group->site);
    emit_text(emit, group->shown);
}

/* The last line: all of it, however much of it was shown. */
static void put_sum(const struct peak_part *part, size_t shown, size_t count, int64_t rest)
{
    char sum[HUMAN_MAX], text[HUMAN_MAX], more[HUMAN_MAX];
    const struct why *why = &part->change;
    if (shown < count)
        emit_line(part->emit, "and %s in %s more group%s: tidemark why %" PRId64 "..%" PRId64,
                  human_delta(text, rest), human_count(more, (int64_t)(count - shown)),
                  count - shown == 1 ? "" : "s", part->step_before, part->peak->step);
    emit_line(part->emit, "%s in all: live tensors, not fragmentation",
              human_delta(sum, why->after_bytes - why->before_bytes));
}

void peak_put_change(const struct peak_part *part)
{
    const struct why *why = &part->change;
    int64_t rest = why->after_bytes - why->before_bytes;
    size_t shown = 0, count = 0;
    char title[160], larger[WHY_LARGER_TEXT];
    bool people = is_for_people(part);
    if (!part->changed || (people && (rest <= 0 || !peak_change_is_shown(part))))
        return;
    while (count < why->group_count && why_change(&why->groups[count]))
        count++;
    snprintf(title, sizeof title, "Higher than the peak of step %" PRId64 "%s%.96s%s by",
             part->step_before, part->phase_before ? ", in " : "",
             part->phase_before ? part->phase_before : "", part->phase_before ? "," : "");
    EMIT_SECTION(part->emit, "higher_than_step_before", title, EMIT_ROWS, peak_change_columns);
    for (; shown < count && shown < PEAK_CHANGES; shown++) {
        int64_t change = why_change(&why->groups[shown]);
        if (people &&
            (change < 0 ? -change : change) < (why->after_bytes - why->before_bytes) / 100)
            break;
        put_group(part, &why->groups[shown]);
        rest -= change;
    }
    if (people)
        put_sum(part, shown, count, rest);
    if (people && *why_larger_text(larger, why))
        emit_line(part->emit, "%s", larger);
}
