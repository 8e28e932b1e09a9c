#include "ladder_report.h"

#include "buf.h"

const struct emit_column ladder_columns[LADDER_COLUMNS] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"quantity", "at that moment", EMIT_TEXT, 0},
    {"bytes", NULL, EMIT_BYTES, EMIT_NONE},
    {"gap_bytes", "above the last", EMIT_DELTA, EMIT_NONE},
    {"gap", "which is", EMIT_TEXT, EMIT_NONE | EMIT_WRAP},
};

static void put_known(struct emit *emit, int64_t value)
{
    if (value == LADDER_NONE)
        emit_null(emit);
    else
        emit_int(emit, value);
}

static void put_row(struct emit *emit, const struct report_scope *scope, const char *name,
                    const struct ladder_rung *rung)
{
    emit_int(emit, scope->process.id);
    emit_text(emit, scope->device_text);
    emit_text(emit, name);
    put_known(emit, rung->bytes);
    put_known(emit, rung->gap);
    emit_text(emit, rung->what[0] ? rung->what : NULL);
}

void ladder_put(struct emit *emit, const struct report_scope *scope, const struct ladder *ladder,
                const char *title, bool whole)
{
    const struct ladder_rung unattributed = {LADDER_NONE, ladder->unattributed,
                                             "allocated, but in no block that was seen"};
    struct buf unknown = {0};
    bool people = emit->format == EMIT_TABLE;
    bool shown = !people || whole || ladder->known > 1;
    if (shown)
        EMIT_SECTION(emit, "ladder", people ? title : NULL, EMIT_ROWS, ladder_columns);
    for (size_t i = 0; i < LADDER_STEPS; i++) {
        bool known = ladder->rungs[i].bytes != LADDER_NONE;
        const char *name = ladder_step_text((enum ladder_step)i);
        if (!known)
            buf_print(&unknown, "%s%s", unknown.count ? ", " : "", name);
        if (shown && (known || !people))
            put_row(emit, scope, name, &ladder->rungs[i]);
    }
    if (shown && (whole || ladder->unattributed))
        put_row(emit, scope, "unattributed", &unattributed);
    if (unknown.count)
        emit_line(emit, "not known from this source: %s", buf_string(&unknown));
    emit->out.broken = emit->out.broken || unknown.broken;
    buf_clear(&unknown);
}
