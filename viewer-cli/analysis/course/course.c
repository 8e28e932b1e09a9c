/*
 * The order of the work: the range, its phases, what happened in it (events where they are few,
 * else buckets of the curve), the axis, and then all of it laid into the columns.
 */
#include "course_parts.h"

#include "error.h"
#include "mem.h"
#include "peak.h"
#include "phase_text.h"
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
        [COURSE_RECOMPUTE] = "recompute",
    };
    return names[kind];
}

/* ---- the range ---- */

static bool has_steps(const struct course_request *request)
{
    return request->first_step != INT64_MIN || request->last_step != INT64_MAX;
}

static const char steps_sql[] =
    "SELECT min(begin_seq), min(begin_ns), max(coalesce(end_seq, begin_seq)),"
    "       max(coalesce(end_ns, begin_ns)), sum(end_seq IS NULL)"
    "  FROM phase WHERE process = ?1 AND step BETWEEN ?3 AND ?4 HAVING count(*) > 0";

/* From the first block to the last thing that is known of the process. The phases that ended last
 * are the newest, by their numbers, and those around them; a step may have been over for long. */
#define NEWEST                                                                                     \
    "WITH RECURSIVE newest(id, parent, end_seq, end_ns) AS ("                                      \
    " SELECT * FROM (SELECT id, parent, end_seq, CASE WHEN step IS NOT NULL THEN end_ns END"       \
    "                  FROM phase WHERE process = ?1 ORDER BY id DESC LIMIT 1000)"                 \
    " UNION SELECT ph.id, ph.parent, ph.end_seq,"                                                  \
    "              CASE WHEN ph.step IS NOT NULL THEN ph.end_ns END"                               \
    "         FROM newest n CROSS JOIN phase ph ON ph.id = n.parent) "
static const char all_sql[] = NEWEST
    "SELECT a.seq, a.alloc_ns,"
    "  max(coalesce((SELECT max(end_seq) FROM newest), 0),"
    "      coalesce((SELECT last_seq FROM process WHERE id = ?1), 0),"
    "      coalesce((SELECT seq FROM allocation WHERE heap IN (SELECT id FROM heap"
    "        WHERE process = ?1 AND device = ?2) AND" SPAN_HAS(
        "seq") "        ORDER BY seq DESC LIMIT 1), 0)),"
               "  max(coalesce((SELECT max(end_ns) FROM newest),"
               "        (SELECT max(end_ns) FROM phase WHERE process = ?1 AND step IS NOT NULL), "
               "0),"
               "      coalesce((SELECT alloc_ns FROM allocation WHERE heap IN (SELECT id FROM heap"
               "        WHERE process = ?1 AND device = ?2) AND" SPAN_HAS(
                   "seq") "        ORDER BY seq DESC LIMIT 1), 0)), 0"
                          "  FROM allocation a"
                          " WHERE a.heap IN (SELECT id FROM heap WHERE process = ?1 AND device = "
                          "?2)"
                          "   AND" SPAN_HAS("a.seq") " ORDER BY a.seq LIMIT 1";

static void bind_range(struct db_stmt *stmt, const struct course_request *request)
{
    db_bind_int(stmt, 0, request->process);
    db_bind_int(stmt, 1, request->device);
    if (!has_steps(request))
        return;
    db_bind_int(stmt, 2, request->first_step);
    db_bind_int(stmt, 3, request->last_step);
}

/* Steps that are not over: to the end of what is known. */
static int read_open_end(struct course_work *work)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(work->db, &stmt, all_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, work->request->process);
    db_bind_int(stmt, 1, work->request->device);
    err = db_step(stmt);
    if (err == DB_ROW) {
        if (db_column_int(stmt, 2) > work->out->last_seq)
            work->out->last_seq = db_column_int(stmt, 2);
        if (db_column_int(stmt, 3) > work->out->until_ns)
            work->out->until_ns = db_column_int(stmt, 3);
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

/* 1: there is one; 0: nothing is in it. */
static int read_range(struct course_work *work)
{
    struct course *out = work->out;
    struct db_stmt *stmt = NULL;
    bool open = false;
    int err = db_prepare(work->db, &stmt, has_steps(work->request) ? steps_sql : all_sql);
    if (err < 0)
        return err;
    bind_range(stmt, work->request);
    err = db_step(stmt);
    if (err == DB_ROW) {
        out->first_seq = db_column_int(stmt, 0);
        out->from_ns = db_column_int(stmt, 1);
        out->last_seq = db_column_int(stmt, 2);
        out->until_ns = db_column_int(stmt, 3);
        open = has_steps(work->request) && db_column_int(stmt, 4) > 0 &&
               work->request->last_step == INT64_MAX;
    }
    db_finalize(stmt);
    if (err == DB_ROW && open) {
        int failed = read_open_end(work);
        err = failed < 0 ? failed : err;
    }
    return err;
}

/* ---- which source ---- */

/* The statement has the first `count` of the parameters. */
static int read_one(struct course_work *work, const char *sql, int count, int64_t *value)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(work->db, &stmt, sql);
    if (err < 0)
        return err;
    const int64_t values[] = {work->request->process, work->request->device, work->out->first_seq,
                              work->out->last_seq,    work->out->from_ns,    work->out->until_ns};
    for (int i = 0; i < count; i++)
        db_bind_int(stmt, i, values[i]);
    err = db_step(stmt);
    *value = err == DB_ROW ? db_column_int(stmt, 0) : 0;
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

static const char thinned_sql[] =
    "SELECT count(*) FROM thinned WHERE coalesce(process, ?1) = ?1 AND n > 0"
    "   AND first_seq <= ?4 AND last_seq >= ?3";

/* Of the finest level. */
static const char buckets_sql[] =
    "SELECT max(n) FROM (SELECT count(*) AS n FROM curve c JOIN heap h ON h.id = c.heap"
    " WHERE h.process = ?1 AND h.device = ?2 AND c.quantity = 'allocated'"
    "   AND c.level = (SELECT min(level) FROM curve f"
    "                   WHERE f.heap = c.heap AND f.quantity = 'allocated')"
    "   AND c.bucket BETWEEN (?5 >> c.level) AND (?6 >> c.level) GROUP BY c.heap)";

static int choose_source(struct course_work *work)
{
    struct course *out = work->out;
    int64_t thinned, buckets, seqs = out->last_seq - out->first_seq;
    int err = read_one(work, thinned_sql, 4, &thinned);
    if (err == 0)
        err = read_one(work, buckets_sql, 6, &buckets);
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

static int mark_peak(struct course_work *work)
{
    struct course *out = work->out;
    struct peak peak;
    int err = peak_find(work->db, work->request->process, work->request->device,
                        work->request->first_step, work->request->last_step, &peak);
    if (err == 0) {
        unsigned at = peak.found ? course_column_at(work, peak.seq, peak.at_ns) : 0;
        place_peak(out, &peak, at);
        if (peak.found && out->peak == peak.allocated) {
            out->peak_path = peak.phase_path;
            peak.phase_path = NULL;
        }
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
