/* driven_list.c - the phases of a process on such a device, and its changes over time. */
#include <inttypes.h>
#include <string.h>

#include "peak.h"
#include "buf.h"
#include "driven_report.h"
#include "error.h"
#include "human.h"
#include "map.h"
#include "mem.h"

/* ---- phases ---- */

static const struct emit_column phase_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"step", NULL, EMIT_PLAIN, EMIT_NONE},
    {"phase", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "phase", EMIT_TEXT, EMIT_PEOPLE | EMIT_MIDDLE},
    {"bytes", "from the driver", EMIT_BYTES, 0},
    {"phase_peak", "its peak", EMIT_BYTES, 0},
    {"begin_ns", NULL, EMIT_NS, EMIT_PROGRAMS},
    {"end_ns", NULL, EMIT_NS, EMIT_PROGRAMS},
    {NULL, "time", EMIT_NS, EMIT_PEOPLE | EMIT_NONE},
    {"kind", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"ordinal", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"phase_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"parent_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"depth", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"ended", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

static const char phases_sql[] =
    "SELECT step, name, begin_ns, end_ns, kind, ordinal, id, parent, ended, begin_seq, end_seq"
    "  FROM phase WHERE process = ?1 AND domain IS NULL AND scope <> 'range'"
    "   AND (?2 IS NULL OR step BETWEEN ?2 AND ?3)"
    " ORDER BY begin_seq, id";
enum {
    AT_STEP,
    AT_NAME,
    AT_BEGIN,
    AT_END,
    AT_KIND,
    AT_ORDINAL,
    AT_ID,
    AT_PARENT,
    AT_ENDED,
    AT_BEGIN_SEQ,
    AT_END_SEQ
};

struct phase_list {
    struct report *report;
    const struct report_scope *scope;
    struct driven driven;
    struct map depths; /* phase.id to how many are around it */
    bool all;
    bool open; /* the section is */
    int64_t rows, hidden;
};

static int64_t depth_of(struct phase_list *list, struct db_stmt *row)
{
    uint64_t around = MAP_NONE;
    if (db_column_type(row, AT_PARENT) != DB_NULL)
        around = map_get(&list->depths, (uint64_t)db_column_int(row, AT_PARENT));
    uint64_t depth = around == MAP_NONE ? 0 : around + 1;
    return map_put(&list->depths, (uint64_t)db_column_int(row, AT_ID), depth, NULL) ? (int64_t)depth
                                                                                    : -1;
}

static int64_t or_end(struct db_stmt *row, int at)
{
    return db_column_type(row, at) == DB_NULL ? INT64_MAX : db_column_int(row, at);
}

static void put_name(struct emit *emit, struct db_stmt *row, int64_t depth)
{
    struct buf name = {0};
    for (int64_t i = 0; i < depth && i < 20; i++)
        buf_text(&name, "  ");
    buf_text(&name, db_column_text(row, AT_NAME));
    emit_text(emit, buf_string(&name));
    emit->out.broken = emit->out.broken || name.broken;
    buf_clear(&name);
}

static void put_time(struct emit *emit, struct db_stmt *row)
{
    if (db_column_type(row, AT_END) == DB_NULL)
        emit_null(emit);
    else
        emit_int(emit, db_column_int(row, AT_END) - db_column_int(row, AT_BEGIN));
}

/* Time between phases in which the driver gave and took nothing is not shown to people. */
static bool is_idle(const struct driven *driven, struct db_stmt *row)
{
    int64_t end_seq = or_end(row, AT_END_SEQ), end_ns = or_end(row, AT_END);
    struct driven_point begin =
        driven_at(driven, db_column_int(row, AT_BEGIN_SEQ) - 1, db_column_int(row, AT_BEGIN));
    struct driven_point end = driven_at(driven, end_seq, end_ns);
    return strcmp(db_column_text(row, AT_KIND), "other") == 0 && begin.seq == end.seq &&
           begin.ns == end.ns;
}

static int put_phase(struct phase_list *list, struct db_stmt *row)
{
    struct emit *emit = &list->report->emit;
    const struct driven *driven = &list->driven;
    int64_t end_seq = or_end(row, AT_END_SEQ), end_ns = or_end(row, AT_END);
    int64_t depth = depth_of(list, row);
    if (depth < 0)
        return ERR_NOMEM;
    list->rows++;
    if (emit->format == EMIT_TABLE && !list->all && is_idle(driven, row)) {
        list->hidden++;
        return 0;
    }
    struct driven_point highest = driven_highest(driven, db_column_int(row, AT_BEGIN_SEQ) - 1,
                                                 db_column_int(row, AT_BEGIN), end_seq, end_ns);
    if (!list->open) {
        report_heading(list->report, "Phases", list->scope);
        EMIT_SECTION(emit, "driver_phases", NULL, EMIT_ROWS, phase_columns);
        list->open = true;
    }
    emit_int(emit, list->scope->process.id);
    emit_text(emit, list->scope->device_text);
    report_cells(emit, row, AT_STEP, 2);
    put_name(emit, row, depth);
    emit_int(emit, driven_at(driven, end_seq, end_ns).bytes);
    emit_int(emit, highest.bytes);
    report_cells(emit, row, AT_BEGIN, 2);
    put_time(emit, row);
    report_cells(emit, row, AT_KIND, 4);
    emit_int(emit, depth);
    report_cells(emit, row, AT_ENDED, 1);
    return 0;
}

static int put_highest(struct phase_list *list)
{
    const struct option_range *steps = &list->report->options->steps;
    struct instant instant;
    struct driven_point point;
    char text[HUMAN_MAX];
    int err = driven_find(list->report->db, &list->driven, NULL, steps->first, steps->last,
                          &instant, &point);
    if (err == 0)
        emit_line(&list->report->emit, "highest: %s from the driver, %s",
                  human_bytes(text, point.bytes), instant.label);
    if (err == 0 && list->hidden)
        emit_line(&list->report->emit,
                  "%s stretch%s between phases without driver memory traffic: --all shows %s",
                  human_count(text, list->hidden), list->hidden == 1 ? "" : "es",
                  list->hidden == 1 ? "it" : "them");
    return err == ERR_NOTFOUND ? 0 : err;
}

static int put_phases(struct phase_list *list)
{
    const struct option_range *steps = &list->report->options->steps;
    struct db_stmt *stmt = NULL;
    int err = db_prepare(list->report->db, &stmt, phases_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, list->scope->process.id);
    if (report_has_steps(list->report->options)) {
        db_bind_int(stmt, 1, steps->first);
        db_bind_int(stmt, 2, steps->last);
    } else {
        db_bind_null(stmt, 1);
    }
    while ((err = db_step(stmt)) == DB_ROW)
        if ((err = put_phase(list, stmt)) < 0)
            break;
    db_finalize(stmt);
    return err < 0 || !list->open ? err : put_highest(list);
}

int driven_list_phases(struct report *report, const struct report_scope *scope, bool all, bool *any)
{
    struct phase_list list = {.report = report, .scope = scope, .all = all};
    int err = driven_read(report->db, scope->process.id, scope->device, &list.driven);
    if (err == 0 && list.driven.found)
        err = put_phases(&list);
    *any = *any || list.open;
    map_clear(&list.depths);
    driven_clear(&list.driven);
    return err < 0 ? err : 0;
}

/* ---- over time ---- */

static const struct emit_column timeline_columns[] = {
    {"process", NULL, EMIT_PLAIN, 0},
    {"device", NULL, EMIT_TEXT, 0},
    {"at_ns", "at", EMIT_NS, 0},
    {"bytes", "from the driver", EMIT_BYTES, 0},
    {"pools", "in its pools", EMIT_BYTES, 0},
    {"graphs", "for graphs", EMIT_BYTES, 0},
};

/* The steps asked for, in time; *from > *until: there are none. */
static int read_range(struct report *report, int64_t process, int64_t *from, int64_t *until)
{
    const struct option_range *steps = &report->options->steps;
    struct db_stmt *stmt = NULL;
    *from = INT64_MIN;
    *until = INT64_MAX;
    if (!report_has_steps(report->options))
        return 0;
    int err = db_prepare(report->db, &stmt,
                         "SELECT min(begin_ns), max(coalesce(end_ns, 9223372036854775807))"
                         "  FROM phase WHERE process = ?1 AND step BETWEEN ?2 AND ?3"
                         " HAVING count(*) > 0");
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, process);
    db_bind_int(stmt, 1, steps->first);
    db_bind_int(stmt, 2, steps->last);
    err = db_step(stmt);
    *from = err == DB_ROW ? db_column_int(stmt, 0) : INT64_MAX;
    *until = err == DB_ROW ? db_column_any(stmt, 1) : INT64_MIN;
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

int driven_list_timeline(struct report *report, const struct report_scope *scope, bool *any)
{
    struct driven driven;
    struct emit *emit = &report->emit;
    int64_t from, until;
    bool open = false;
    int err = driven_read(report->db, scope->process.id, scope->device, &driven);
    if (err == 0)
        err = read_range(report, scope->process.id, &from, &until);
    for (size_t i = 0; err == 0 && i < driven.count; i++) {
        const struct driven_point *point = &driven.points[i];
        if (point->ns < from || point->ns > until)
            continue;
        if (!open)
            EMIT_SECTION(emit, "driver_timeline", NULL, EMIT_ROWS, timeline_columns);
        open = *any = true;
        emit_int(emit, scope->process.id);
        emit_text(emit, scope->device_text);
        emit_int(emit, point->ns);
        emit_int(emit, point->bytes);
        emit_int(emit, point->pools);
        emit_int(emit, point->graphs);
    }
    driven_clear(&driven);
    return err;
}
