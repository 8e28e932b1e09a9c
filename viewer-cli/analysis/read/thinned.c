#include "thinned.h"

#include "query.h"
#include "span.h"

static const char sql[] =
    "SELECT coalesce(sum(n), 0) AS count, coalesce(min(first_seq), 0) AS first_seq,"
    "       coalesce(max(last_seq), 0) AS last_seq"
    "  FROM thinned WHERE what = ?1 AND process = ?2 AND first_seq <= ?4 AND last_seq >= ?3";

int thinned_read(struct db *db, const char *what, int64_t process, int64_t first_seq,
                 int64_t last_seq, struct thinned *out)
{
    *out = (struct thinned){0};
    return query_read(db, sql, Q_IN(what, process, first_seq, last_seq),
                      Q_OUT(Q_INT(out->count), Q_INT(out->first_seq), Q_INT(out->last_seq)));
}

/* ---- steps ---- */

static const char span_sql[] =
    "SELECT coalesce(min(begin_seq) FILTER (WHERE step = ?2),"
    "                max(coalesce(end_seq, begin_seq)) FILTER (WHERE step < ?2) + 1, 0) AS "
    "first_seq,"
    "       coalesce(max(coalesce(end_seq, begin_seq)) FILTER (WHERE step = ?3),"
    "                min(begin_seq) FILTER (WHERE step > ?3) - 1, 9223372036854775807) AS last_seq"
    "  FROM phase WHERE process = ?1";

int thinned_span_of_steps(struct db *db, int64_t process, int64_t first, int64_t last,
                          int64_t *first_seq, int64_t *last_seq)
{
    *first_seq = 0;
    *last_seq = INT64_MAX;
    return query_read(db, span_sql, Q_IN(process, first, last),
                      Q_OUT(Q_INT(*first_seq), Q_ANY(*last_seq)));
}

/* ---- times ---- */

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
    "                     AND" OF_PROCESS " ORDER BY seq DESC LIMIT 1), p.start_ns)) AS from_ns,"
    "       max(ph.step) FILTER (WHERE ph.end_seq < ?2) AS step_before,"
    "       min(ph.step) FILTER (WHERE ph.begin_seq > ?3) AS step_behind"
    "  FROM process p LEFT JOIN phase ph ON ph.process = p.id AND ph.scope <> 'range'"
    " WHERE p.id = ?1";

/* The first phase behind it, or birth; or the end of the process, which may be its own. */
static const char behind_sql[] =
    "SELECT * FROM (SELECT begin_seq AS behind_seq, begin_ns AS behind FROM phase"
    "                WHERE process = ?1 AND scope <> 'range' AND begin_seq > ?2 AND begin_seq < ?3"
    "                ORDER BY begin_seq LIMIT 1) UNION ALL "
    "SELECT * FROM (SELECT seq, alloc_ns FROM allocation"
    "                WHERE seq > ?2 AND seq < ?3 AND seq <= " SPAN_LAST " AND" OF_PROCESS
    "                ORDER BY seq LIMIT 1) UNION ALL "
    "SELECT max(last_seq, ?2 + 1), end_ns FROM process"
    " WHERE id = ?1 AND last_seq >= ?2 AND last_seq < ?3 AND end_ns IS NOT NULL LIMIT 1";

static int read_before(struct db *db, int64_t process, struct stretch *stretch)
{
    return query_read(
        db, before_sql, Q_IN(process, stretch->first_seq, stretch->last_seq),
        Q_OUT(Q_OPT(stretch->from_ns), Q_OPT(stretch->step_before), Q_OPT(stretch->step_behind)));
}

static int read_behind(struct db *db, int64_t process, int64_t next_seq, struct stretch *stretch)
{
    int64_t until = next_seq > stretch->last_seq ? next_seq : INT64_MAX;
    stretch->behind_seq = stretch->behind = THINNED_NONE;
    return query_read(db, behind_sql, Q_IN(process, stretch->last_seq, until),
                      Q_OUT(Q_INT(stretch->behind_seq), Q_INT(stretch->behind)));
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
    struct stretch stretch = {0};
    bool over = false;
    *out = (struct thinned_time){.seq = THINNED_NONE, .ns = THINNED_NONE};
    struct query query = query_ask(
        db,
        "SELECT first_seq, last_seq FROM thinned WHERE what = 'blocks' AND n > 0"
        "   AND process = ?1 AND first_seq <= ?2 AND last_seq >= ?3 ORDER BY first_seq",
        Q_IN(process, births->next_seq == THINNED_NONE ? INT64_MAX : births->next_seq, births->seq),
        Q_OUT(Q_INT(stretch.first_seq), Q_INT(stretch.last_seq)));
    while (!over && query_next(&query)) {
        int err = read_before(db, process, &stretch);
        if (err == 0)
            err = read_behind(db, process, births->next_seq, &stretch);
        over = err == 0 && judge(&stretch, births, at_ns, out);
        query_fail(&query, err);
    }
    return query_end(&query);
}
