/* Phases, steps, and refused requests. */
#include "course.h"
#include "data.h"
#include "pack.h"
#include "query.h"

/* Steps of which phases are there: one in `each`, and those that are in no step. */
static int64_t stride(int64_t count, int64_t most)
{
    return count / most + 1;
}

struct row {
    int64_t begin_ns, end_ns, begin_seq, end_seq, step, depth, peak_allocated, peak_seq, peak_ns,
        allocated;
    const char *kind, *name;
};

static const char phases_sql[] =
    "SELECT ph.begin_ns, ph.end_ns, ph.begin_seq, ph.end_seq, ph.kind, ph.name, ph.step,"
    "  (WITH RECURSIVE up(id, depth) AS (SELECT ph.parent, 0 UNION ALL"
    "    SELECT p.parent, up.depth + 1 FROM up JOIN phase p ON p.id = up.id"
    "     WHERE up.depth < 16) SELECT max(depth) FROM up) AS depth,"
    "  pd.peak_allocated, pd.peak_seq, pd.peak_ns, pd.allocated"
    "  FROM phase ph LEFT JOIN phase_device pd ON pd.phase = ph.id AND pd.device = ?2"
    " WHERE ph.process = ?1 AND ph.scope = 'process'"
    "   AND (ph.step IS NULL OR ph.step % ?3 = 0) ORDER BY ph.begin_seq, ph.id LIMIT ?4";

static int count_phases(struct data *data, int64_t process, int64_t *count)
{
    return query_read(data->report->db,
                      "SELECT count(*) AS phases FROM phase WHERE process = ?1"
                      " AND scope = 'process'",
                      Q_IN(process), Q_OUT(Q_TO(*count, "phases", QUERY_INT)));
}

static void put_phase(struct data *data, struct buf *out, const struct row *row, int64_t before)
{
    pack_signed(out, row->begin_ns - before);
    pack_known(out, row->end_ns == QUERY_NONE ? PACK_NONE : row->end_ns - row->begin_ns);
    pack_number(out, (uint64_t)row->begin_seq);
    pack_known(out, row->end_seq);
    pack_number(out, course_kind_of(row->kind));
    pack_number(out, lexicon_text(&data->lexicon, row->name));
    pack_known(out, row->step);
    pack_number(out, (uint64_t)row->depth);
    pack_known(out, row->peak_allocated);
    pack_known(out, row->peak_seq);
    pack_known(out, row->peak_ns);
    pack_known(out, row->allocated);
}

int data_phases(struct data *data, const struct report_scope *scope)
{
    struct buf rows = {0};
    struct row row;
    int64_t all = 0, count = 0, before = 0, process = scope->process.id;
    int err = count_phases(data, process, &all);
    if (err < 0)
        return err;
    struct query query =
        query_ask(data->report->db, phases_sql,
                  Q_IN(process, scope->device, stride(all, DATA_PHASES), (int64_t)DATA_PHASES),
                  Q_OUT(Q_INT(row.begin_ns), Q_OPT(row.end_ns), Q_INT(row.begin_seq),
                        Q_OPT(row.end_seq), Q_TEXT(row.kind), Q_TEXT(row.name), Q_OPT(row.step),
                        Q_INT(row.depth), Q_OPT(row.peak_allocated), Q_OPT(row.peak_seq),
                        Q_OPT(row.peak_ns), Q_OPT(row.allocated)));
    for (; query_next(&query); count++) {
        put_phase(data, &rows, &row, before);
        before = row.begin_ns;
    }
    err = query_end(&query);
    pack_number(&data->out, (uint64_t)(all - count));
    pack_number(&data->out, (uint64_t)count);
    buf_add(&data->out, buf_string(&rows), rows.count);
    data->out.broken = data->out.broken || rows.broken;
    buf_clear(&rows);
    return err;
}

/* ---- steps ---- */

static const char steps_sql[] =
    "WITH s AS (SELECT min(ph.step) AS step, min(ph.begin_ns) AS begin_ns, max(ph.end_ns) AS "
    "end_ns,"
    "    max(pd.peak_allocated) AS peak, max(pd.max_reserved) AS reserved, max(ph.id) AS last"
    "    FROM phase ph LEFT JOIN phase_device pd ON pd.phase = ph.id AND pd.device = ?2"
    "   WHERE ph.process = ?1 AND ph.step IS NOT NULL AND ph.scope = 'process'"
    "   GROUP BY ph.step / ?3) "
    "SELECT s.step, s.begin_ns, s.end_ns, s.peak, s.reserved, e.allocated FROM s"
    "  LEFT JOIN phase_device e ON e.phase = s.last AND e.device = ?2 ORDER BY s.step";

int data_steps(struct data *data, const struct report_scope *scope)
{
    struct buf rows = {0};
    int64_t step, begin_ns, end_ns, peak, allocated, reserved, count = 0, all = 0;
    int64_t process = scope->process.id;
    int err = query_read(data->report->db,
                         "SELECT coalesce(max(step) - min(step), 0) AS steps FROM phase"
                         " WHERE process = ?1",
                         Q_IN(process), Q_OUT(Q_TO(all, "steps", QUERY_INT)));
    if (err < 0)
        return err;
    int64_t each = stride(all, DATA_STEPS);
    struct query query = query_ask(data->report->db, steps_sql, Q_IN(process, scope->device, each),
                                   Q_OUT(Q_INT(step), Q_INT(begin_ns), Q_OPT(end_ns), Q_OPT(peak),
                                         Q_OPT(allocated), Q_OPT(reserved)));
    for (; query_next(&query); count++) {
        pack_number(&rows, (uint64_t)step);
        pack_signed(&rows, begin_ns);
        pack_known(&rows, end_ns);
        pack_known(&rows, peak);
        pack_known(&rows, allocated);
        pack_known(&rows, reserved);
    }
    err = query_end(&query);
    pack_number(&data->out, (uint64_t)each);
    pack_number(&data->out, (uint64_t)count);
    buf_add(&data->out, buf_string(&rows), rows.count);
    data->out.broken = data->out.broken || rows.broken;
    buf_clear(&rows);
    return err;
}

/* ---- refused requests ---- */

int data_refusals(struct data *data, const struct report_scope *scope)
{
    struct buf rows = {0};
    int64_t seq, at_ns, asked, site, count = 0;
    struct query query =
        query_ask(data->report->db,
                  "SELECT seq, at_ns, asked, site FROM oom WHERE process = ?1 AND device = ?2"
                  " ORDER BY seq DESC LIMIT 64",
                  Q_IN(scope->process.id, scope->device),
                  Q_OUT(Q_INT(seq), Q_INT(at_ns), Q_INT(asked), Q_OPT(site)));
    for (; query_next(&query); count++) {
        pack_number(&rows, (uint64_t)seq);
        pack_signed(&rows, at_ns);
        pack_number(&rows, (uint64_t)asked);
        pack_number(&rows, lexicon_site(&data->lexicon, site));
    }
    pack_number(&data->out, (uint64_t)count);
    buf_add(&data->out, buf_string(&rows), rows.count);
    data->out.broken = data->out.broken || rows.broken;
    buf_clear(&rows);
    return query_end(&query);
}
