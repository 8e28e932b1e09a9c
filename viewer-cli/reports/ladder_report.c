#include "ladder_report.h"

#include <stdio.h>

#include "buf.h"
#include "human.h"

const struct emit_column ladder_columns[LADDER_COLUMNS] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"quantity", "quantity", EMIT_TEXT, 0},
    {"bytes", NULL, EMIT_BYTES, EMIT_NONE},
    {"gap_bytes", "difference", EMIT_DELTA, EMIT_NONE},
    {"gap", "gap", EMIT_TEXT, EMIT_NONE | EMIT_WRAP},
};

static void put_row(struct emit *emit, const struct report_scope *scope, const char *name,
                    const struct ladder_rung *rung)
{
    emit_int(emit, scope->process.id);
    emit_text(emit, scope->device_text);
    emit_text(emit, name);
    emit_known(emit, rung->bytes);
    emit_known(emit, rung->gap);
    emit_text(emit, rung->what[0] ? rung->what : NULL);
}

static void put_part(struct emit *emit, const struct report_scope *scope,
                     const struct ladder_part *part)
{
    emit_int(emit, scope->process.id);
    emit_text(emit, scope->device_text);
    emit_text(emit, part->quantity);
    emit_null(emit);
    emit_int(emit, part->bytes);
    emit_text(emit, part->what);
}

static void put_parts(struct emit *emit, const struct report_scope *scope,
                      const struct ladder *ladder, enum ladder_step under)
{
    for (size_t i = 0; i < ladder->part_count; i++)
        if (ladder->parts[i].under == under)
            put_part(emit, scope, &ladder->parts[i]);
}

static void put_notes(struct emit *emit, const struct report_scope *scope,
                      const struct ladder *ladder)
{
    char text[HUMAN_MAX];
    if (ladder->alone)
        emit_note(emit,
                  "process %lld on %s: no framework's block was seen there; driver memory is "
                  "shown by library",
                  (long long)scope->process.id, scope->device_text);
    if (ladder->managed)
        emit_note(emit,
                  "process %lld on %s: %s of managed memory are in no line: their place is "
                  "not known",
                  (long long)scope->process.id, scope->device_text,
                  human_bytes(text, ladder->managed));
    if (ladder->blind_ns)
        emit_note(emit,
                  "process %lld on %s: CUPTI gap of %s before that moment: driver memory "
                  "of that time is in the unattributed line",
                  (long long)scope->process.id, scope->device_text,
                  human_ns(text, ladder->blind_ns));
}

/* What no source reported is known as of the last sample only. It falls below nothing when others
 * free what the device had in use when it was first observed. */
static struct ladder_rung untold_rung(const struct ladder *ladder)
{
    char text[HUMAN_MAX];
    struct ladder_rung rung = {LADDER_NONE, ladder->unattributed, ""};
    const char *why = ladder->unattributed != LADDER_NONE && ladder->unattributed < 0
                          ? "less than was there at first"
                          : "reported by no source";
    if (ladder->sample_age > 0)
        snprintf(rung.what, sizeof rung.what, "%s; device sampled %s earlier", why,
                 human_ns(text, ladder->sample_age));
    else
        snprintf(rung.what, sizeof rung.what, "%s", why);
    return rung;
}

void ladder_put(struct emit *emit, const struct report_scope *scope, const struct ladder *ladder,
                const char *title, bool whole)
{
    const struct ladder_rung unattributed = {LADDER_NONE, ladder->unattributed,
                                             "allocated, but in no reported block"};
    struct ladder_rung untold = untold_rung(ladder);
    struct buf unknown = {0};
    bool people = emit->format == EMIT_TABLE;
    bool shown = !people || whole || ladder->known > 1 || ladder->part_count;
    bool blank = ladder->told && (!ladder->measured || ladder->once) && !ladder->unattributed;
    if (blank)
        untold = (struct ladder_rung){LADDER_NONE, LADDER_NONE, ""};
    if (shown)
        EMIT_SECTION(emit, "ladder", people ? title : NULL, EMIT_ROWS, ladder_columns);
    for (size_t i = 0; i < LADDER_STEPS; i++) {
        bool known = ladder->rungs[i].bytes != LADDER_NONE;
        const char *name = ladder_rung_text(ladder, (enum ladder_step)i);
        if (!name && people) /* not on the CPU */
            continue;
        if (!name)
            name = ladder_step_text((enum ladder_step)i);
        if (!known)
            buf_print(&unknown, "%s%s", unknown.count ? ", " : "", name);
        if (shown)
            put_parts(emit, scope, ladder, (enum ladder_step)i);
        if (shown && (known || !people))
            put_row(emit, scope, name, &ladder->rungs[i]);
    }
    if (shown && ladder->limit_text)
        put_row(emit, scope, ladder->limit_text, &ladder->limit);
    if (blank)
        buf_print(&unknown, "%sunattributed", unknown.count ? ", " : "");
    if (shown && !(blank && people) && (whole || ladder->unattributed))
        put_row(emit, scope, "unattributed", ladder->told ? &untold : &unattributed);
    if (unknown.count)
        emit_line(emit, "not known from this source: %s", buf_string(&unknown));
    put_notes(emit, scope, ladder);
    emit->out.broken = emit->out.broken || unknown.broken;
    buf_clear(&unknown);
}
