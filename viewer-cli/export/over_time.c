#include "over_time.h"

#include <inttypes.h>
#include <string.h>

#include "buf.h"
#include "driven.h"
#include "error.h"
#include "loss.h"
#include "query.h"

static const char *const counter_names[COUNTERS] = {"allocated", "reserved", "waiting",
                                                    "device used", "driver bytes"};

const char *over_time_counter_name(enum over_time_counter counter)
{
    return counter_names[counter];
}

/* ---- counters ---- */

static const char points_sql[] =
    "SELECT process, device, at_ns, allocated, reserved, NULL AS waiting FROM timeline"
    " UNION ALL "
    "SELECT process, device, begin_ns, begin_allocated, NULL, NULL FROM phase_table"
    " UNION ALL "
    "SELECT process, device, peak_ns, phase_peak, NULL, NULL FROM phase_table"
    "  WHERE peak_ns IS NOT NULL"
    " UNION ALL "
    "SELECT process, device, end_ns, allocated, reserved, active - allocated FROM phase_table"
    "  WHERE end_ns IS NOT NULL";

static const char samples_sql[] =
    "SELECT s.process, d.device, s.at_ns, s.value FROM sample s"
    "  JOIN device_text d ON d.id = s.device WHERE s.what = 'device used' ORDER BY s.rowid";

static int see_point(const struct over_time *over_time, const struct report_scope *scope,
                     enum over_time_counter counter, int64_t at_ns, int64_t value)
{
    if (!scope || value == OVER_TIME_NONE)
        return 0;
    return over_time->point(over_time->self, scope, counter, at_ns, value);
}

static int walk_points(struct report *report, const struct over_time *over_time)
{
    int64_t process, at_ns, allocated, reserved, waiting;
    const char *device;
    struct query query = query_ask(report->db, points_sql, Q_NOTHING,
                                   Q_OUT(Q_INT(process), Q_TEXT(device), Q_INT(at_ns),
                                         Q_OPT(allocated), Q_OPT(reserved), Q_OPT(waiting)));
    while (query_next(&query)) {
        const struct report_scope *scope = report_scope_called(report, process, device);
        int err = see_point(over_time, scope, COUNTER_ALLOCATED, at_ns, allocated);
        if (err >= 0)
            err = see_point(over_time, scope, COUNTER_RESERVED, at_ns, reserved);
        if (err >= 0)
            err = see_point(over_time, scope, COUNTER_WAITING, at_ns, waiting);
        query_fail(&query, err);
    }
    return query_end(&query);
}

static int walk_samples(struct report *report, const struct over_time *over_time)
{
    int64_t process, at_ns, value;
    const char *device;
    struct query query =
        query_ask(report->db, samples_sql, Q_NOTHING,
                  Q_OUT(Q_INT(process), Q_TEXT(device), Q_INT(at_ns), Q_OPT(value)));
    while (query_next(&query))
        query_fail(&query, see_point(over_time, report_scope_called(report, process, device),
                                     COUNTER_DEVICE_USED, at_ns, value));
    return query_end(&query);
}

static int walk_driven(struct report *report, const struct over_time *over_time,
                       const struct report_scope *scope)
{
    struct driven driven = {0};
    bool is = false;
    int err = driven_is(report->db, scope->process.id, scope->device, &is);
    if (err < 0 || !is)
        return err;
    err = driven_read(report->db, scope->process.id, scope->device, &driven);
    for (size_t i = 0; i < driven.count && err >= 0; i++)
        err = see_point(over_time, scope, COUNTER_DRIVER, driven.points[i].ns,
                        driven.points[i].bytes);
    driven_clear(&driven);
    return err;
}

/* ---- steps and phases ---- */

static const char steps_sql[] =
    "SELECT NULL AS thread, 'step ' || step AS name, 'step' AS kind, step,"
    "  min(begin_ns) AS begin_ns, max(coalesce(end_ns, ?2)) AS end_ns, 1 AS is_step"
    "  FROM phase WHERE process = ?1 AND step IS NOT NULL AND scope = 'process'"
    " GROUP BY step ORDER BY min(begin_seq)";

static const char phases_sql[] =
    "SELECT CASE WHEN scope = 'thread' THEN thread END AS thread, name, kind, step, begin_ns,"
    "  coalesce(end_ns, ?2) AS end_ns, 0 AS is_step"
    "  FROM phase WHERE process = ?1 AND scope IN ('process', 'thread') AND kind <> 'other'"
    " ORDER BY begin_seq, id";

static int walk_slices(struct report *report, const struct over_time *over_time, const char *sql,
                       const struct report_process *process, int64_t last_ns)
{
    struct over_time_slice slice = {.process = process};
    struct query query = query_ask(
        report->db, sql, Q_IN(process->id, last_ns),
        Q_OUT(Q_OPT(slice.thread), Q_TEXT(slice.name), Q_TEXT(slice.kind), Q_OPT(slice.step),
              Q_INT(slice.begin_ns), Q_INT(slice.end_ns), Q_INT(slice.is_step)));
    while (query_next(&query)) {
        if (slice.end_ns < slice.begin_ns)
            slice.end_ns = slice.begin_ns;
        query_fail(&query, over_time->slice(over_time->self, &slice));
    }
    return query_end(&query);
}

/* ---- refusals ---- */

static const char refusals_sql[] =
    "SELECT o.process AS whose, d.device, o.at_ns, o.asked, o.site, o.allocated, o.reserved"
    "  FROM oom o LEFT JOIN device_text d ON d.id = o.device ORDER BY o.seq";

static int walk_refusals(struct report *report, const struct over_time *over_time)
{
    struct over_time_refusal refusal = {0};
    int64_t whose;
    struct query query = query_ask(
        report->db, refusals_sql, Q_NOTHING,
        Q_OUT(Q_INT(whose), Q_NTEXT(refusal.device), Q_INT(refusal.at_ns), Q_INT(refusal.asked),
              Q_OPT(refusal.site), Q_OPT(refusal.allocated), Q_OPT(refusal.reserved)));
    while (query_next(&query)) {
        size_t at = report_scopes_from(report, whose);
        if (at == report->scope_count || report->scopes[at].process.id != whose)
            continue;
        refusal.process = &report->scopes[at].process;
        query_fail(&query, over_time->refusal(over_time->self, &refusal));
    }
    return query_end(&query);
}

int over_time_walk(struct report *report, const struct over_time *over_time)
{
    bool finished;
    int64_t last_ns = 0;
    int err = loss_read_finished(report->db, &finished, &last_ns);
    for (size_t i = 0; i < report->process_count && err >= 0; i++) {
        err = walk_slices(report, over_time, steps_sql, &report->processes[i], last_ns);
        if (err >= 0)
            err = walk_slices(report, over_time, phases_sql, &report->processes[i], last_ns);
    }
    if (err >= 0)
        err = walk_points(report, over_time);
    if (err >= 0)
        err = walk_samples(report, over_time);
    for (size_t i = 0; i < report->scope_count && err >= 0; i++)
        err = walk_driven(report, over_time, &report->scopes[i]);
    return err < 0 ? err : walk_refusals(report, over_time);
}

/* ---- processes ---- */

int over_time_process_name(struct report *report, const struct report_process *process, char **out)
{
    *out = NULL;
    return query_read(
        report->db,
        "SELECT coalesce('rank ' || rank || ': ', '') || coalesce(argv, 'process ' || id)"
        "  || CASE WHEN pid > 0 THEN ' (pid ' || pid || ')' ELSE '' END AS out"
        "  FROM process WHERE id = ?1",
        Q_IN(process->id), Q_OUT(Q_COPY(*out)));
}

int64_t over_time_pid(const struct report *report, const struct report_process *process)
{
    size_t same = 0;
    for (size_t i = 0; i < report->process_count; i++)
        same += report->processes[i].pid == process->pid;
    return process->pid > 0 && same == 1 ? process->pid : process->id;
}
