/*
 * What backward added to a peak, and what would lower it.
 */
#include <stdio.h>

#include "human.h"
#include "peak_parts.h"

const struct emit_column peak_lever_columns[PEAK_LEVER_COLUMNS] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"lever", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"at_most", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"reserved_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"text", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "off the peak", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE},
    {NULL, "off reserved", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN | EMIT_NONE},
    {NULL, "by", EMIT_TEXT, EMIT_PEOPLE | EMIT_WRAP},
};

static void put_amount(struct emit *emit, int64_t bytes, bool at_most)
{
    char text[HUMAN_MAX], amount[HUMAN_MAX + 16];
    if (bytes == 0 || bytes == LEVERS_NONE) {
        emit_null(emit);
        return;
    }
    snprintf(amount, sizeof amount, "%s%s", at_most ? "at most " : "", human_bytes(text, bytes));
    emit_text(emit, amount);
}

static void put_lever(const struct peak_part *part, const struct lever *lever)
{
    struct emit *emit = part->emit;
    peak_put_scope(part);
    emit_text(emit, lever_name(lever->kind));
    emit_int(emit, lever->bytes);
    emit_int(emit, lever->at_most);
    peak_put_known(emit, lever->reserved);
    emit_text(emit, lever->site_text);
    peak_put_known(emit, lever->site);
    emit_text(emit, lever->text);
    put_amount(emit, lever->bytes, lever->at_most);
    put_amount(emit, lever->reserved, lever->at_most);
    emit_text(emit, lever->text);
}

static bool any(const struct levers *levers, enum lever_kind kind)
{
    for (size_t i = 0; i < levers->count; i++)
        if (levers->levers[i].kind == kind)
            return true;
    return false;
}

void peak_put_levers(const struct peak_part *part)
{
    const struct levers *levers = &part->levers;
    bool people = part->emit->format == EMIT_TABLE;
    if (people && !levers->count)
        return;
    EMIT_SECTION(part->emit, "levers", "What would lower it", EMIT_ROWS, peak_lever_columns);
    for (size_t i = 0; i < levers->count; i++)
        put_lever(part, &levers->levers[i]);
    if (people && any(levers, LEVER_HELD))
        emit_line(part->emit, "to drop something helps if nothing in backward needs it");
    if (people && any(levers, LEVER_CHECKPOINT))
        emit_line(part->emit,
                  "what is checkpointed is computed again in backward, and takes memory then");
    if (people)
        return;
    if (levers->state == LEVERS_NO_STEP)
        emit_note(part->emit, "levers: the peak is in no step, so those that change a step are "
                              "not looked for");
    else if (levers->state == LEVERS_TOO_LARGE)
        emit_note(part->emit, "levers: the step has too many blocks to look for those that "
                              "change it");
}

/* ---- what backward added ---- */

const struct emit_column peak_added_columns[PEAK_ADDED_COLUMNS] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"bytes", NULL, EMIT_BYTES, 0},
    {"blocks", NULL, EMIT_COUNT, 0},
    {"each", NULL, EMIT_BYTES, 0},
    {"like", "as large as what came of", EMIT_TEXT, EMIT_WRAP | EMIT_NONE},
};

void peak_put_added(const struct peak_part *part)
{
    const struct levers *levers = &part->levers;
    struct emit *emit = part->emit;
    bool people = emit->format == EMIT_TABLE;
    if (people && !levers->added_count)
        return;
    EMIT_SECTION(emit, "added_by_backward", "Added by backward: gradients and temporaries",
                 EMIT_ROWS, peak_added_columns);
    for (size_t i = 0; i < levers->added_count; i++) {
        const struct levers_added *added = &levers->added[i];
        peak_put_scope(part);
        emit_int(emit, added->bytes);
        emit_int(emit, added->blocks);
        emit_int(emit, added->each);
        emit_text(emit, added->like);
    }
}
