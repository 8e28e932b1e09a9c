#include "thinned.h"

#include "span.h"

static const char sql[] =
    "SELECT coalesce(sum(n), 0), coalesce(min(first_seq), 0), coalesce(max(last_seq), 0)"
    "  FROM thinned WHERE what = ?1 AND process = ?2 AND first_seq <= ?4 AND last_seq >= ?3";

int thinned_read(struct db *db, const char *what, int64_t process, int64_t first_seq,
                 int64_t last_seq, struct thinned *out)
{
    struct db_stmt *stmt = NULL;
    *out = (struct thinned){0};
    int err = db_prepare(db, &stmt, sql);
    if (err < 0)
        return err;
    db_bind_text(stmt, 0, what, -1);
    db_bind_int(stmt, 1, process);
    db_bind_int(stmt, 2, first_seq);
    db_bind_int(stmt, 3, last_seq);
    err = db_step(stmt);
    if (err == DB_ROW)
        *out = (struct thinned){db_column_int(stmt, 0), db_column_int(stmt, 1),
                                db_column_int(stmt, 2)};
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

/* ---- steps ---- */

static const char span_sql[] =
    "SELECT coalesce(min(begin_seq) FILTER (WHERE step = ?2),"
    "                max(coalesce(end_seq, begin_seq)) FILTER (WHERE step < ?2) + 1, 0),"
    "       coalesce(max(coalesce(end_seq, begin_seq)) FILTER (WHERE step = ?3),"
    "                min(begin_seq) FILTER (WHERE step > ?3) - 1, 9223372036854775807)"
    "  FROM phase WHERE process = ?1";

int thinned_span_of_steps(struct db *db, int64_t process, int64_t first, int64_t last,
                          int64_t *first_seq, int64_t *last_seq)
{
    struct db_stmt *stmt = NULL;
    *first_seq = 0;
    *last_seq = INT64_MAX;
    int err = db_prepare(db, &stmt, span_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, process);
    db_bind_int(stmt, 1, first);
    db_bind_int(stmt, 2, last);
    err = db_step(stmt);
    if (err == DB_ROW) {
        *first_seq = db_column_int(stmt, 0);
        *last_seq = db_column_any(stmt, 1);
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

/* ---- times ---- */

static int64_t known(struct db_stmt *stmt, int column)
{
    return db_column_type(stmt, column) == DB_NULL ? THINNED_NONE : db_column_int(stmt, column);
}

struct stretch { /* one row of table thinned, and what is kept beside it */
    int64_t first_seq, last_seq;
    int64_t from_ns;            /* it began then or later */
    int64_t behind_seq, behind; /* an event behind it, and its time; THINNED_NONE */
    int64_t step_before, step_behind;
};

#define OF_PROCESS " heap IN (SELECT id FROM heap WHERE process = ?1)"

/* What begins or ends before it bounds its beginning, and so does the process. */
static const char before_sql[] =
    "SELECT max(coalesce(max(ph.begin_ns) FILTER (WHERE ph.begin_seq <= ?2), p.start_ns),"
    "           coalesce(max(ph.end_ns) FILTER (WHERE ph.end_seq < ?2), p.start_ns), p.start_ns,"
    "           coalesce((SELECT alloc_ns FROM allocation WHERE seq < ?2 AND seq >= " SPAN_FIRST
    "                     AND" OF_PROCESS " ORDER BY seq DESC LIMIT 1), p.start_ns)),"
    "       max(ph.step) FILTER (WHERE ph.end_seq < ?2),"
    "       min(ph.step) FILTER (WHERE ph.begin_seq > ?3)"
    "  FROM process p LEFT JOIN phase ph ON ph.process = p.id AND ph.scope <> 'range'"
    " WHERE p.id = ?1";

/* The first phase behind it, or birth; or the end of the process, which may be its own. */
static const char behind_sql[] =
    "SELECT * FROM (SELECT begin_seq, begin_ns FROM phase"
    "                WHERE process = ?1 AND scope <> 'range' AND begin_seq > ?2 AND begin_seq < ?3"
    "                ORDER BY begin_seq LIMIT 1) UNION ALL "
    "SELECT * FROM (SELECT seq, alloc_ns FROM allocation"
    "                WHERE seq > ?2 AND seq < ?3 AND seq <= " SPAN_LAST " AND" OF_PROCESS
    "                ORDER BY seq LIMIT 1) UNION ALL "
    "SELECT max(last_seq, ?2 + 1), end_ns FROM process"
    " WHERE id = ?1 AND last_seq >= ?2 AND last_seq < ?3 AND end_ns IS NOT NULL LIMIT 1";

static int read_before(struct db *db, int64_t process, struct stretch *stretch)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, before_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, process);
    db_bind_int(stmt, 1, stretch->first_seq);
    db_bind_int(stmt, 2, stretch->last_seq);
    err = db_step(stmt);
    if (err == DB_ROW) {
        stretch->from_ns = known(stmt, 0);
        stretch->step_before = known(stmt, 1);
        stretch->step_behind = known(stmt, 2);
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

static int read_behind(struct db *db, int64_t process, int64_t next_seq, struct stretch *stretch)
{
    struct db_stmt *stmt = NULL;
    stretch->behind_seq = stretch->behind = THINNED_NONE;
    int err = db_prepare(db, &stmt, behind_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, process);
    db_bind_int(stmt, 1, stretch->last_seq);
    db_bind_int(stmt, 2, next_seq > stretch->last_seq ? next_seq : INT64_MAX);
    err = db_step(stmt);
    if (err == DB_ROW) {
        stretch->behind_seq = db_column_int(stmt, 0);
        stretch->behind = db_column_int(stmt, 1);
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

/* True: nothing behind this stretch needs to be looked at. */
static bool judge(const struct stretch *stretch, const struct thinned_births *births, int64_t at_ns,
                  struct thinned_time *out)
{
    int64_t from = stretch->from_ns, until = stretch->behind;
    if (until == THINNED_NONE)
        until = births->next_seq > stretch->last_seq ? births->next_ns : INT64_MAX;
    if (at_ns < from)
        return true;
    out->is = at_ns < until;
    if (out->is) {
        out->from_ns = from;
        out->until_ns = until;
        out->step_before = stretch->step_before;
        out->step_behind = stretch->step_behind;
        out->seq = out->ns = THINNED_NONE;
    } else {
        out->seq = stretch->behind_seq;
        out->ns = until;
    }
    return out->is;
}

int thinned_time_read(struct db *db, int64_t process, const struct thinned_births *births,
                      int64_t at_ns, struct thinned_time *out)
{
    struct db_stmt *stmt = NULL;
    bool over = false;
    *out = (struct thinned_time){.seq = THINNED_NONE, .ns = THINNED_NONE};
    int err = db_prepare(db, &stmt,
                         "SELECT first_seq, last_seq FROM thinned WHERE what = 'blocks' AND n > 0"
                         "   AND process = ?1 AND first_seq <= ?2 AND last_seq >= ?3"
                         " ORDER BY first_seq");
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, process);
    db_bind_int(stmt, 1, births->next_seq == THINNED_NONE ? INT64_MAX : births->next_seq);
    db_bind_int(stmt, 2, births->seq);
    while (!over && err >= 0 && (err = db_step(stmt)) == DB_ROW) {
        struct stretch stretch = {.first_seq = db_column_int(stmt, 0),
                                  .last_seq = db_column_int(stmt, 1)};
        err = read_before(db, process, &stretch);
        if (err >= 0)
            err = read_behind(db, process, births->next_seq, &stretch);
        over = err >= 0 && judge(&stretch, births, at_ns, out);
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}
