/*
 * Whether the run grows, as one line of its peak's report.
 */
#include "peak_parts.h"

int peak_growth_read(struct db *db, struct peak_part *part)
{
    const struct peak *peak = part->peak;
    int err = growth_read(db, peak->process, peak->device, &part->growth);
    return err < 0 ? err
                   : growth_cause_read(db, peak->process, peak->device, &part->growth,
                                       &part->growth_cause);
}

static void put_known(const struct peak_part *part, const char *before, const char *named)
{
    char text[GROWTH_TEXT];
    bool leaks = part->growth.kind == GROWTH_GROWING && !part->growth.calls;
    growth_text(text, &part->growth, &part->growth_cause);
    emit_line(part->emit, "%s%s%s%s", before, text, leaks ? ": tidemark leaks" : "",
              leaks ? named : "");
}

static const char *why_not_judged(const struct peak_part *part)
{
    if (part->growth.thinned)
        return "steps were thinned out";
    /* What counted are calls of a model, and the peak is in no step. */
    return part->growth.calls && part->peak->step == PEAK_NONE ? "no training step was seen"
                                                               : "too few complete steps";
}

static void put(const struct peak_part *part, const char *before, const char *named)
{
    if (part->growth.kind == GROWTH_UNKNOWN)
        emit_line(part->emit, "%snot judged, %s", before, why_not_judged(part));
    else
        put_known(part, before, named);
}

void peak_put_growth_line(const struct peak_part *part, const char *named)
{
    put(part, "growth: ", named);
}

void peak_put_growth(const struct peak_part *part)
{
    emit_heading(part->emit, "Growth");
    put(part, "", "");
}

static const struct emit_column columns[] = {
    {"process", NULL, EMIT_PLAIN, 0},
    {"device", NULL, EMIT_TEXT, 0},
    {"kind", NULL, EMIT_TEXT, 0},
    {"unit", NULL, EMIT_TEXT, 0},
    {"units", NULL, EMIT_PLAIN, 0},
    {"first", NULL, EMIT_PLAIN, 0},
    {"last", NULL, EMIT_PLAIN, 0},
    {"bytes_per_unit", NULL, EMIT_BYTES, 0},
    {"since", NULL, EMIT_PLAIN, 0},
    {"lowest_peak", NULL, EMIT_BYTES, 0},
    {"highest_peak", NULL, EMIT_BYTES, 0},
    {"same_blocks_larger", NULL, EMIT_PLAIN, 0},
    {"cause_bytes_per_unit", NULL, EMIT_BYTES, 0},
    {"cause", NULL, EMIT_TEXT, 0},
    {"sequence_first", NULL, EMIT_PLAIN, 0},
    {"sequence_last", NULL, EMIT_PLAIN, 0},
    {"bytes_per_call_in_sequence", NULL, EMIT_BYTES, 0},
};

static void put_row(struct emit *emit, const struct peak_part *part)
{
    static const char *const kinds[] = {"unknown", "steady", "growing", "varying"};
    const struct growth *growth = &part->growth;
    bool known = growth->kind != GROWTH_UNKNOWN;
    peak_put_scope(part);
    emit_text(emit, kinds[growth->kind]);
    emit_text(emit, growth->calls ? "call" : "step");
    emit_int(emit, growth->units);
    emit_known(emit, known ? growth->first : GROUP_NONE);
    emit_known(emit, known ? growth->last : GROUP_NONE);
    emit_int(emit, growth->per_unit);
    emit_known(emit, growth->since);
    emit_known(emit, known ? growth->lowest : GROUP_NONE);
    emit_known(emit, known ? growth->highest : GROUP_NONE);
    emit_int(emit, part->growth_cause.larger);
    emit_int(emit, part->growth_cause.per_unit);
    emit_text(emit, part->growth_cause.shown);
    bool sequence = growth->sequence.per_call > 0;
    emit_known(emit, sequence ? growth->sequence.first : GROUP_NONE);
    emit_known(emit, sequence ? growth->sequence.last : GROUP_NONE);
    emit_known(emit, sequence ? growth->sequence.per_call : GROUP_NONE);
}

void peak_put_growth_programs(struct report *report, const struct peak_part *all)
{
    EMIT_SECTION(&report->emit, "growth", NULL, EMIT_ROWS, columns);
    for (size_t i = 0; i < report->scope_count; i++)
        if (all[i].peak->found)
            put_row(&report->emit, &all[i]);
}
