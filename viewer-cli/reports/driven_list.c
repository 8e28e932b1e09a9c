/* driven_list.c - the phases of a process on such a device, and its changes over time. */
#include <inttypes.h>

#include "peak.h"
#include "buf.h"
#include "driven_report.h"
#include "error.h"
#include "human.h"
#include "map.h"
#include "mem.h"
#include "phase_kind.h"
#include "query.h"

/* ---- phases ---- */

static const struct emit_column phase_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"step", NULL, EMIT_PLAIN, EMIT_NONE},
    {"phase", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "phase", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME},
    {"bytes", "from the driver", EMIT_BYTES, 0},
    {"phase_peak", "phase peak", EMIT_BYTES, 0},
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
enum { AT_STEP, AT_BEGIN = 2, AT_KIND = 4, AT_ENDED = 8 };

struct row {
    struct db_stmt *cells; /* all of it */
    const char *name, *kind;
    int64_t id, parent, begin_ns, end_ns, begin_seq, end_seq;
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

static int64_t depth_of(struct phase_list *list, const struct row *row)
{
    uint64_t around = MAP_NONE;
    if (row->parent != QUERY_NONE)
        around = map_get(&list->depths, (uint64_t)row->parent);
    uint64_t depth = around == MAP_NONE ? 0 : around + 1;
    return map_put(&list->depths, (uint64_t)row->id, depth, NULL) ? (int64_t)depth : -1;
}

static int64_t or_end(int64_t at)
{
    return at == QUERY_NONE ? INT64_MAX : at;
}

static void put_name(struct emit *emit, const struct row *row, int64_t depth)
{
    struct buf name = {0};
    for (int64_t i = 0; i < depth && i < 20; i++)
        buf_text(&name, "  ");
    buf_text(&name, row->name);
    emit_text(emit, buf_string(&name));
    emit->out.broken = emit->out.broken || name.broken;
    buf_clear(&name);
}

static void put_time(struct emit *emit, const struct row *row)
{
    if (row->end_ns == QUERY_NONE)
        emit_null(emit);
    else
        emit_int(emit, row->end_ns - row->begin_ns);
}

/* Time between phases in which the driver gave and took nothing is not shown to people. */
static bool is_idle(const struct driven *driven, const struct row *row)
{
    struct driven_point begin = driven_at(driven, row->begin_seq - 1, row->begin_ns);
    struct driven_point end = driven_at(driven, or_end(row->end_seq), or_end(row->end_ns));
    return phase_kind_from(row->kind) == PHASE_KIND_OTHER && begin.seq == end.seq &&
           begin.ns == end.ns;
}

static int put_phase(struct phase_list *list, const struct row *row)
{
    struct emit *emit = &list->report->emit;
    const struct driven *driven = &list->driven;
    int64_t end_seq = or_end(row->end_seq), end_ns = or_end(row->end_ns);
    int64_t depth = depth_of(list, row);
    if (depth < 0)
        return ERR_NOMEM;
    list->rows++;
    if (emit->format == EMIT_TABLE && !list->all && is_idle(driven, row)) {
        list->hidden++;
        return 0;
    }
    struct driven_point highest =
        driven_highest(driven, row->begin_seq - 1, row->begin_ns, end_seq, end_ns);
    if (!list->open) {
        report_heading(list->report, "Phases", list->scope);
        EMIT_SECTION(emit, "driver_phases", NULL, EMIT_ROWS, phase_columns);
        list->open = true;
    }
    emit_int(emit, list->scope->process.id);
    emit_text(emit, list->scope->device_text);
    report_cells(emit, row->cells, AT_STEP, 2);
    put_name(emit, row, depth);
    emit_int(emit, driven_at(driven, end_seq, end_ns).bytes);
    emit_int(emit, highest.bytes);
    report_cells(emit, row->cells, AT_BEGIN, 2);
    put_time(emit, row);
    report_cells(emit, row->cells, AT_KIND, 4);
    emit_int(emit, depth);
    report_cells(emit, row->cells, AT_ENDED, 1);
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
                  "%s gap%s between phases without driver allocations: --all shows %s",
                  human_count(text, list->hidden), list->hidden == 1 ? "" : "s",
                  list->hidden == 1 ? "it" : "them");
    return err == ERR_NOTFOUND ? 0 : err;
}

static int put_phases(struct phase_list *list)
{
    const struct option_range *steps = &list->report->options->steps;
    struct row row;
    struct query query = query_ask(
        list->report->db, phases_sql,
        Q_IN(list->scope->process.id,
             query_if(report_has_steps(list->report->options), steps->first), steps->last),
        Q_OUT(Q_TEXT(row.name), Q_INT(row.begin_ns), Q_OPT(row.end_ns), Q_TEXT(row.kind),
              Q_INT(row.id), Q_OPT(row.parent), Q_INT(row.begin_seq), Q_OPT(row.end_seq), Q_REST));
    row.cells = query.stmt;
    while (query_next(&query))
        query_fail(&query, put_phase(list, &row));
    int err = query_end(&query);
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
    bool some = report_has_steps(report->options);
    *from = some ? INT64_MAX : INT64_MIN;
    *until = some ? INT64_MIN : INT64_MAX;
    if (!some)
        return 0;
    return query_read(report->db,
                      "SELECT min(begin_ns) AS \"from\","
                      " max(coalesce(end_ns, 9223372036854775807)) AS until"
                      "  FROM phase WHERE process = ?1 AND step BETWEEN ?2 AND ?3"
                      " HAVING count(*) > 0",
                      Q_IN(process, steps->first, steps->last), Q_OUT(Q_INT(*from), Q_ANY(*until)));
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
