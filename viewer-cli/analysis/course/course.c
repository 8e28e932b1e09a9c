/*
 * The order of the work: the range, its phases, what happened in it (events where they are few,
 * else buckets of the curve), the axis, and then all of it laid into the columns.
 */
#include "course_parts.h"

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "peak.h"
#include "phase_text.h"
#include "query.h"
#include "span.h"

/* As many numbers of events are read one by one; more, where the curve has less than one bucket for
 * each column. */
#define EXACT_SEQS 400000
#define EXACT_SEQS_MAX 4000000

const char *course_kind_name(enum course_kind kind)
{
    static const char *const names[] = {
        [COURSE_NOTHING] = "no phase",    [COURSE_OTHER] = PHASE_OTHER,
        [COURSE_USER] = "user",           [COURSE_ZERO_GRAD] = "zero_grad",
        [COURSE_FORWARD] = "forward",     [COURSE_LOSS] = "loss",
        [COURSE_BACKWARD] = "backward",   [COURSE_AFTER_BACKWARD] = "after backward",
        [COURSE_OPTIMIZER] = "optimizer", [COURSE_EVAL] = "eval",
        [COURSE_RECOMPUTE] = "recompute", [COURSE_FORWARD_NO_GRAD] = "forward (no grad)",
    };
    return names[kind];
}

/* ---- the range ---- */

static bool has_steps(const struct course_request *request)
{
    return request->first_step != INT64_MIN || request->last_step != INT64_MAX;
}

static const char steps_sql[] =
    "SELECT min(begin_seq) AS first_seq, min(begin_ns) AS from_ns,"
    "       max(coalesce(end_seq, begin_seq)) AS last_seq,"
    "       max(coalesce(end_ns, begin_ns)) AS until_ns, sum(end_seq IS NULL) AS open"
    "  FROM phase WHERE process = ?1 AND step BETWEEN ?3 AND ?4 HAVING count(*) > 0";

/* From the first block to the last thing that is known of the process. The phases that ended last
 * are the newest, by their numbers, and those around them; a step may have been over for long. */
#define HEAPS "(SELECT id FROM heap WHERE process = ?1 AND device = ?2)"
#define NEWEST                                                                                     \
    "WITH RECURSIVE newest(id, parent, end_seq, end_ns) AS ("                                      \
    " SELECT * FROM (SELECT id, parent, end_seq, CASE WHEN step IS NOT NULL THEN end_ns END"       \
    "                  FROM phase WHERE process = ?1 ORDER BY id DESC LIMIT 1000)"                 \
    " UNION SELECT ph.id, ph.parent, ph.end_seq,"                                                  \
    "              CASE WHEN ph.step IS NOT NULL THEN ph.end_ns END"                               \
    "         FROM newest n CROSS JOIN phase ph ON ph.id = n.parent) "
#define LAST_BIRTH(column)                                                                         \
    "coalesce((SELECT " column " FROM allocation WHERE heap IN " HEAPS                             \
    " AND" SPAN_HAS("seq") "          ORDER BY seq DESC LIMIT 1), 0)"
static const char all_sql[] = NEWEST
    "SELECT a.seq AS first_seq, a.alloc_ns AS from_ns,"
    "  max(coalesce((SELECT max(end_seq) FROM newest), 0),"
    "      coalesce((SELECT last_seq FROM process WHERE id = ?1), 0), " LAST_BIRTH(
        "seq") ") AS last_seq,"
               "  max(coalesce((SELECT max(end_ns) FROM newest),"
               "        (SELECT max(end_ns) FROM phase WHERE process = ?1 AND step IS NOT NULL), "
               "0), " LAST_BIRTH("alloc_ns") ") AS until_ns, 0 AS open"
                                             "  FROM allocation a WHERE a.heap IN " HEAPS
                                             " AND" SPAN_HAS("a.seq") " ORDER BY a.seq LIMIT 1";

struct range {
    int64_t first_seq, from_ns, last_seq, until_ns, open;
};

static int ask_range(struct course_work *work, bool steps, struct range *range)
{
    const struct course_request *request = work->request;
    const struct query_value *in =
        steps ? Q_IN(request->process, request->device, request->first_step, request->last_step)
              : Q_IN(request->process, request->device);
    return query_first(work->db, steps ? steps_sql : all_sql, in,
                       Q_OUT(Q_INT(range->first_seq), Q_INT(range->from_ns), Q_INT(range->last_seq),
                             Q_INT(range->until_ns), Q_INT(range->open)));
}

/* Steps that are not over: to the end of what is known. */
static int read_open_end(struct course_work *work)
{
    struct range all;
    int err = ask_range(work, false, &all);
    if (err == DB_ROW) {
        if (all.last_seq > work->out->last_seq)
            work->out->last_seq = all.last_seq;
        if (all.until_ns > work->out->until_ns)
            work->out->until_ns = all.until_ns;
    }
    return err < 0 ? err : 0;
}

/* 1: there is one; 0: nothing is in it. */
static int read_range(struct course_work *work)
{
    struct course *out = work->out;
    struct range range;
    bool steps = has_steps(work->request);
    int err = ask_range(work, steps, &range);
    if (err != DB_ROW)
        return err;
    out->first_seq = range.first_seq;
    out->from_ns = range.from_ns;
    out->last_seq = range.last_seq;
    out->until_ns = range.until_ns;
    if (!steps || range.open <= 0 || work->request->last_step != INT64_MAX)
        return DB_ROW;
    err = read_open_end(work);
    return err < 0 ? err : DB_ROW;
}

/* ---- which source ---- */

/* The statement has the first `count` of the parameters. */

static const char thinned_sql[] =
    "SELECT count(*) AS thinned FROM thinned WHERE coalesce(process, ?1) = ?1 AND n > 0"
    "   AND first_seq <= ?4 AND last_seq >= ?3";

/* Of the finest level. */
static const char buckets_sql[] =
    "SELECT max(n) AS buckets FROM (SELECT count(*) AS n FROM curve c JOIN heap h ON h.id = c.heap"
    " WHERE h.process = ?1 AND h.device = ?2 AND c.quantity = 'allocated'"
    "   AND c.level = (SELECT min(level) FROM curve f"
    "                   WHERE f.heap = c.heap AND f.quantity = 'allocated')"
    "   AND c.bucket BETWEEN (?5 >> c.level) AND (?6 >> c.level) GROUP BY c.heap)";

static int choose_source(struct course_work *work)
{
    struct course *out = work->out;
    const struct course_request *request = work->request;
    int64_t thinned = 0, buckets = 0, seqs = out->last_seq - out->first_seq;
    int err = query_read(work->db, thinned_sql,
                         Q_IN(request->process, request->device, out->first_seq, out->last_seq),
                         Q_OUT(Q_INT(thinned)));
    if (err == 0)
        err = query_read(work->db, buckets_sql,
                         Q_IN(request->process, request->device, out->first_seq, out->last_seq,
                              out->from_ns, out->until_ns),
                         Q_OUT(Q_INT(buckets)));
    if (err < 0)
        return err;
    bool fine = buckets >= (int64_t)work->request->columns;
    out->exact =
        buckets == 0 || (thinned == 0 && (seqs <= EXACT_SEQS || (!fine && seqs <= EXACT_SEQS_MAX)));
    return 0;
}

static int read_source(struct course_work *work)
{
    struct course *out = work->out;
    if (out->exact)
        return course_read_events(work);
    int64_t span = out->until_ns - out->from_ns;
    return course_read_buckets(
        work, work->request->by_events ? 0 : span / (int64_t)work->request->columns);
}

/* ---- the peak ---- */

static void place_peak(struct course *out, const struct peak *peak, unsigned at)
{
    out->peak_at = 0;
    for (unsigned i = 0; i < out->count; i++)
        if (out->columns[i].max > out->columns[out->peak_at].max)
            out->peak_at = i;
    struct course_column *column = &out->columns[out->peak_at];
    out->peak = column->max;
    out->peak_ns = column->from_ns;
    out->peak_seq = out->peak_step = COURSE_NONE;
    if (!peak->found || (out->exact && peak->allocated != out->peak))
        return; /* events were lost, or totals count what was never shown */
    if (peak->allocated < out->peak || at < out->count) {
        for (unsigned i = 0; i < out->count; i++)
            if (out->columns[i].max > peak->allocated)
                out->columns[i].max = peak->allocated;
        out->peak_at = at;
        out->columns[at].max = peak->allocated;
    }
    out->peak = peak->allocated;
    out->peak_ns = peak->at_ns;
    out->peak_seq = peak->seq;
    out->peak_step = peak->step == PEAK_NONE ? COURSE_NONE : peak->step;
}

static int name_peak(struct course *out, const struct peak *peak)
{
    struct buf text = {0};
    char remark[PEAK_REMARK];
    if (!peak->phase_path)
        return 0;
    buf_print(&text, "%s%s", peak->phase_path, peak_remark(remark, peak));
    out->peak_path = text.broken ? NULL : mem_copy(buf_string(&text), text.count);
    buf_clear(&text);
    return out->peak_path ? 0 : ERR_NOMEM;
}

static int mark_peak(struct course_work *work)
{
    struct course *out = work->out;
    struct peak peak;
    int err = peak_find(work->db, work->request->process, work->request->device,
                        work->request->first_step, work->request->last_step, &peak);
    if (err == 0) {
        unsigned at = peak.found ? course_column_at(work, peak.seq, peak.at_ns) : 0;
        place_peak(out, &peak, at);
        if (peak.found && out->peak == peak.allocated)
            err = name_peak(out, &peak);
    }
    peak_clear(&peak);
    return err;
}

static void sum_up(struct course *out)
{
    out->reserved_peak = COURSE_NONE;
    for (unsigned i = 0; i < out->count; i++) {
        const struct course_column *column = &out->columns[i];
        if (!column->pause)
            out->kinds[column->kind] = true;
        if (column->reserved_max != COURSE_NONE && column->reserved_max > out->reserved_peak)
            out->reserved_peak = column->reserved_max;
    }
    out->reserved_known = out->reserved_peak != COURSE_NONE;
}

/* ---- all of it ---- */

static int make_columns(struct course_work *work)
{
    struct course *out = work->out;
    int err = course_lay_axis(work);
    if (err < 0)
        return err;
    for (unsigned i = 0; i < out->count; i++) {
        struct course_column *column = &out->columns[i];
        column->from_ns = work->bound_ns[i];
        column->until_ns = work->bound_ns[i + 1];
        column->reserved_min = column->reserved_max = column->step = COURSE_NONE;
    }
    if (out->exact)
        course_lay_events(work);
    else
        err = course_lay_buckets(work);
    if (err == 0)
        err = out->driven ? course_driven_peak(work) : mark_peak(work);
    if (err == 0)
        err = course_lay_phases(work);
    if (err == 0 && out->categories && !out->exact)
        err = course_read_stacks(work);
    sum_up(out);
    return err;
}

static int fill_columns(struct course_work *work)
{
    struct course *out = work->out;
    out->columns = mem_alloc(work->request->columns, sizeof *out->columns);
    if (!out->columns)
        return ERR_NOMEM;
    out->count = work->request->columns;
    return make_columns(work);
}

/* There was no block in the range. */
static int read_driven(struct course_work *work)
{
    const struct course_request *request = work->request;
    struct course *out = work->out;
    int err = driven_read(work->db, request->process, request->device, &work->driven);
    if (err < 0 || !work->driven.found || request->categories)
        return err;
    err = has_steps(request) ? read_range(work) : course_driven_range(work);
    if (err <= 0)
        return err;
    out->driven = out->exact = true;
    if (out->until_ns <= out->from_ns)
        out->until_ns = out->from_ns + 1;
    work->phase_count = 0;
    err = course_read_phases(work);
    if (err == 0)
        err = course_driven_events(work);
    return err < 0 || !work->driven.count ? err : fill_columns(work);
}

static int read_work(struct course_work *work)
{
    int err = read_range(work);
    if (err != DB_ROW)
        return err < 0 ? err : read_driven(work);
    struct course *out = work->out;
    if (out->until_ns <= out->from_ns)
        out->until_ns = out->from_ns + 1;
    err = choose_source(work);
    if (err == 0)
        err = course_read_phases(work);
    if (err == 0)
        err = read_source(work);
    if (err < 0)
        return err;
    return work->event_count || work->bucket_count ? fill_columns(work) : read_driven(work);
}

int course_read(struct db *db, const struct course_request *request, struct course *out)
{
    *out = (struct course){.by_events = request->by_events,
                           .categories = request->categories,
                           .peak_step = COURSE_NONE};
    if (request->columns == 0 || request->columns > COURSE_COLUMNS_MAX)
        return ERR_ARG;
    struct course_work *work = mem_alloc(1, sizeof *work);
    if (!work)
        return ERR_NOMEM;
    work->db = db;
    work->request = request;
    work->out = out;
    int err = read_work(work);
    mem_free(work->phases);
    mem_free(work->events);
    mem_free(work->buckets);
    driven_clear(&work->driven);
    mem_free(work);
    return err < 0 ? err : 0;
}

void course_clear(struct course *course)
{
    mem_free(course->columns);
    mem_free(course->peak_path);
    *course = (struct course){0};
}

static bool column_is_valid(const struct course *course, const struct course_column *column)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < PURPOSES; i++)
        sum += column->bytes[i];
    if (column->min > column->first || column->min > column->last || column->max < column->first ||
        column->max < column->last)
        return false;
    if (column->from_ns > column->until_ns || column->max > course->peak)
        return false;
    return !course->categories || !course->exact || sum == column->max;
}

bool course_is_valid(const struct course *course)
{
    for (unsigned i = 0; i < course->count; i++) {
        const struct course_column *column = &course->columns[i];
        if (!column_is_valid(course, column))
            return false;
        if (i > 0 && (column[-1].until_ns != column->from_ns || column[-1].last != column->first))
            return false;
    }
    return course->count == 0 || course->columns[course->peak_at].max == course->peak;
}
