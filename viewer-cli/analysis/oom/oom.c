#include "oom.h"

#include <stdio.h>

#include "error.h"
#include "mem.h"
#include "query.h"
#include "span.h"

const char *oom_verdict_text(enum oom_verdict verdict)
{
    static const char *const texts[] = {
        "segments are not known from this source",
        "all free bytes together are too few",
        "enough is free, but no hole is large enough",
        "a hole is large enough, but in another stream or pool, or was passed by",
    };
    return texts[verdict];
}

/* A failure that names no device is that of the only one that the process has, or the only one
 * besides the CPU. */
#define PLACE                                                                                      \
    "coalesce(o.device,"                                                                           \
    " (SELECT CASE WHEN count(DISTINCT d.id) = 1 THEN max(d.id) END"                               \
    "    FROM heap h JOIN device d ON d.id = h.device"                                             \
    "   WHERE h.process = o.process AND d.kind <> 'cpu'),"                                         \
    " (SELECT CASE WHEN count(DISTINCT device) = 1 THEN max(device) END"                           \
    "    FROM heap WHERE process = o.process))"

#define FAILURES                                                                                   \
    "WITH mine AS ("                                                                               \
    " SELECT o.seq, o.at_ns, o.asked, o.allocated, o.reserved, o.site,"                            \
    "  (SELECT st.phase FROM stretch st WHERE st.process = o.process AND st.begin_seq <= o.seq"    \
    "    ORDER BY st.begin_seq DESC LIMIT 1) AS phase"                                             \
    "  FROM oom o WHERE o.process = ?1 AND " PLACE " = ?2 AND o.seq <= ?5)"                        \
    "SELECT m.seq, m.at_ns, m.asked, m.allocated, m.reserved, m.site, m.phase AS phase_id,"        \
    "  ph.step, (SELECT total_bytes FROM device WHERE id = ?2) AS total,"                          \
    "  ph.kind = 'other' AS \"between\","                                                          \
    "  (SELECT kind = 'cpu' FROM device WHERE id = ?2) AS on_cpu"                                  \
    "  FROM mine m LEFT JOIN phase ph ON ph.id = m.phase"                                          \
    " WHERE ?3 IS NULL OR ph.step BETWEEN ?3 AND ?4 ORDER BY m.seq"

static const char failures_sql[] = FAILURES;
static const char newest_sql[] = FAILURES " DESC";

static const char last_sql[] =
    "WITH placed AS (SELECT o.seq, o.process, o.asked, " PLACE " AS place FROM oom o"
    "                 WHERE o.seq <= ?1 ORDER BY o.seq DESC LIMIT 1)"
    "SELECT p.process, CASE WHEN t.device IS NOT NULL THEN p.place END AS device,"
    "  coalesce(t.device, 'a device that is not known') AS device_text, p.asked,"
    "  (SELECT count(*) FROM oom) AS failures, (SELECT count(*) FROM process) AS processes"
    "  FROM placed p LEFT JOIN device_text t ON t.id = p.place";

static const char unplaced_sql[] =
    "SELECT count(*) AS count FROM oom o WHERE o.process = ?1 AND " PLACE " IS NULL";

int oom_count_unplaced(struct db *db, int64_t process, int64_t *count)
{
    *count = 0;
    return query_read(db, unplaced_sql, Q_IN(process), Q_OUT(Q_INT(*count)));
}

static enum oom_verdict judge(const struct oom *oom)
{
    if (!oom->frag.known)
        return OOM_UNKNOWN;
    if (oom->frag.free_bytes < oom->asked)
        return OOM_FULL;
    return oom->frag.largest < oom->asked ? OOM_SCATTERED : OOM_ELSEWHERE;
}

struct reading {
    struct db *db;
    int64_t process, device;
    size_t named;
};

/* What is set comes from the failure's own row. */
static int explain(const struct reading *reading, struct oom *oom)
{
    const struct instant instant = {
        .seq = oom->seq,
        .at_ns = oom->at_ns,
        .allocated = oom->allocated,
        .reserved = oom->reserved,
        .phase = oom->phase_id,
        .step = oom->step,
    };
    int err = site_names(reading->db, oom->site, &oom->name, &oom->shown);
    if (err == 0 && oom->phase_id != OOM_NONE)
        err = phase_path(reading->db, oom->phase_id, &oom->phase);
    if (err == 0)
        err = frag_read(reading->db, reading->process, reading->device, &instant, reading->named,
                        &oom->frag);
    if (err == 0 && oom->on_cpu)
        err = host_read(reading->db, reading->process, oom->at_ns, &oom->host);
    if (err == 0 && oom->on_cpu)
        oom->wall = host_wall_of(&oom->host, oom->asked);
    oom->wall_ns = OOM_NONE;
    if (err == 0 && oom->on_cpu)
        err = host_limit_set(reading->db, reading->process, oom->at_ns, oom->wall, &oom->wall_ns);
    if (err == 0 && oom->step != OOM_NONE && oom->site != OOM_NONE)
        err = oom_growth_read(reading->db, reading->process, reading->device, oom->seq, oom->step,
                              oom->site, oom->asked, &oom->growth);
    oom->verdict = judge(oom);
    return err;
}

static int take_row(const struct reading *reading, const struct oom *row, struct ooms *out)
{
    if (!MEM_GROW(out->failures, out->cap, out->shown + 1))
        return ERR_NOMEM;
    struct oom *oom = &out->failures[out->shown++];
    *oom = *row;
    return explain(reading, oom);
}

struct request { /* what is asked of the database */
    const char *sql;
    int64_t first_step, last_step;
    size_t most;
    int64_t last; /* event */
};

static int read_failures(const struct reading *reading, const struct request *request,
                         struct ooms *out)
{
    bool whole = request->first_step == INT64_MIN && request->last_step == INT64_MAX;
    struct oom row = {0};
    *out = (struct ooms){0};
    struct query query =
        query_ask(reading->db, request->sql,
                  Q_IN(reading->process, reading->device, query_if(!whole, request->first_step),
                       request->last_step, request->last),
                  Q_OUT(Q_INT(row.seq), Q_INT(row.at_ns), Q_INT(row.asked), Q_OPT(row.allocated),
                        Q_OPT(row.reserved), Q_OPT(row.site), Q_OPT(row.phase_id), Q_OPT(row.step),
                        Q_OPT(row.total), Q_INT(row.between), Q_INT(row.on_cpu)));
    for (; query_next(&query); out->count++)
        if (out->shown < request->most)
            query_fail(&query, take_row(reading, &row, out));
    return query_end(&query);
}

int oom_read(struct db *db, int64_t process, int64_t device, int64_t first_step, int64_t last_step,
             size_t most, size_t named, struct ooms *out)
{
    struct reading reading = {.db = db, .process = process, .device = device, .named = named};
    const struct request request = {failures_sql, first_step, last_step, most, INT64_MAX};
    return read_failures(&reading, &request, out);
}

int oom_read_newest(struct db *db, int64_t process, int64_t device, int64_t first_step,
                    int64_t last_step, size_t named, struct ooms *out)
{
    struct reading reading = {.db = db, .process = process, .device = device, .named = named};
    const struct request request = {newest_sql, first_step, last_step, 1, INT64_MAX};
    return read_failures(&reading, &request, out);
}

int oom_read_until(struct db *db, int64_t process, int64_t device, int64_t last, size_t named,
                   struct ooms *out)
{
    struct reading reading = {.db = db, .process = process, .device = device, .named = named};
    const struct request request = {newest_sql, INT64_MIN, INT64_MAX, 1, last};
    return read_failures(&reading, &request, out);
}

int oom_find_last(struct db *db, struct oom_place *out)
{
    return oom_find_until(db, INT64_MAX, out);
}

int oom_find_until(struct db *db, int64_t last, struct oom_place *out)
{
    *out = (struct oom_place){0};
    int err = query_first(db, last_sql, Q_IN(last),
                          Q_OUT(Q_INT(out->process), Q_OPT(out->device), Q_CHARS(out->device_text),
                                Q_INT(out->asked), Q_INT(out->failures), Q_INT(out->processes)));
    return err < 0 ? err : err == DB_ROW ? 0 : ERR_NOTFOUND;
}

static const char went_on_sql[] =
    "SELECT EXISTS(SELECT 1 FROM allocation a JOIN heap h ON"
    " h.id = a.heap WHERE a.seq > ?2 AND a.seq <= " SPAN_LAST " AND h.process = ?1"
    "  AND h.device = ?3) AS went_on";

int oom_went_on(struct db *db, int64_t process, int64_t device, int64_t seq, bool *went_on)
{
    *went_on = false;
    return query_read(db, went_on_sql, Q_IN(process, seq, device), Q_OUT(Q_INT(*went_on)));
}

void ooms_clear(struct ooms *ooms)
{
    for (size_t i = 0; i < ooms->shown; i++) {
        mem_free(ooms->failures[i].phase);
        mem_free(ooms->failures[i].name);
        mem_free(ooms->failures[i].shown);
        frag_clear(&ooms->failures[i].frag);
    }
    mem_free(ooms->failures);
    *ooms = (struct ooms){0};
}

bool ooms_is_valid(const struct ooms *ooms)
{
    for (size_t i = 0; i < ooms->shown; i++) {
        const struct oom *oom = &ooms->failures[i];
        if (oom->verdict != judge(oom) || !frag_is_valid(&oom->frag) ||
            !oom_growth_is_valid(&oom->growth, oom->asked) || (i && oom->seq <= oom[-1].seq))
            return false;
    }
    return (int64_t)ooms->shown <= ooms->count;
}
