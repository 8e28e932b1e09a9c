/* diff_put_phases.c - the two moments of `tidemark diff`, and its phases. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "diff_report.h"
#include "human.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the two moments ---- */

static const struct emit_column change_columns[] = {
    DIFF_SCOPE,
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
    diff_put_scope(part);
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
    DIFF_SCOPE,
    {"change", NULL, EMIT_DELTA, EMIT_NONE},
    {"a", "A", EMIT_BYTES, EMIT_NONE},
    {"b", "B", EMIT_BYTES, EMIT_NONE},
    {"step", NULL, EMIT_PLAIN, EMIT_NONE},
    {"phase", NULL, EMIT_TEXT, EMIT_NAME},
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
    diff_put_scope(part);
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

const struct diff_table diff_change_table = {"change", change_columns, COUNT(change_columns),
                                             put_change};

const struct diff_table diff_phases_table = {"phases", phase_columns, COUNT(phase_columns),
                                             put_phases};
