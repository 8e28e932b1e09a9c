#include "oom.h"

#include <stdio.h>

#include "error.h"
#include "mem.h"
#include "span.h"

const char *oom_verdict_text(enum oom_verdict verdict)
{
    static const char *const texts[] = {
        "segments are not known from this source",
        "all free bytes together are too few",
        "enough is free, but no hole is large enough",
        "a hole is large enough, but it is of another stream or pool, or was passed by",
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
    "  FROM oom o WHERE o.process = ?1 AND " PLACE " = ?2)"                                        \
    "SELECT m.seq, m.at_ns, m.asked, m.allocated, m.reserved, m.site, m.phase, ph.step,"           \
    "  (SELECT total_bytes FROM device WHERE id = ?2), ph.kind = 'other'"                          \
    "  FROM mine m LEFT JOIN phase ph ON ph.id = m.phase"                                          \
    " WHERE ?3 IS NULL OR ph.step BETWEEN ?3 AND ?4 ORDER BY m.seq"

static const char failures_sql[] = FAILURES;
static const char newest_sql[] = FAILURES " DESC";

static const char last_sql[] =
    "WITH placed AS (SELECT o.seq, o.process, o.asked, " PLACE " AS place FROM oom o"
    "                 ORDER BY o.seq DESC LIMIT 1)"
    "SELECT p.process, p.place, t.device, p.asked, (SELECT count(*) FROM oom),"
    "  (SELECT count(*) FROM process)"
    "  FROM placed p LEFT JOIN device_text t ON t.id = p.place";

static const char unplaced_sql[] =
    "SELECT count(*) FROM oom o WHERE o.process = ?1 AND " PLACE " IS NULL";

int oom_count_unplaced(struct db *db, int64_t process, int64_t *count)
{
    struct db_stmt *stmt = NULL;
    *count = 0;
    int err = db_prepare(db, &stmt, unplaced_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, process);
    err = db_step(stmt);
    if (err == DB_ROW)
        *count = db_column_int(stmt, 0);
    db_finalize(stmt);
    return err < 0 ? err : 0;
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
    struct db_stmt *site;
};

/* What is set comes from the failure's own row. */
static int explain(const struct reading *reading, int64_t phase, struct oom *oom)
{
    const struct instant instant = {
        .seq = oom->seq,
        .at_ns = oom->at_ns,
        .allocated = oom->allocated,
        .reserved = oom->reserved,
        .phase = phase,
        .step = oom->step,
    };
    int err = site_names(reading->site, oom->site, &oom->name, &oom->shown);
    if (err == 0 && phase != OOM_NONE)
        err = phase_path(reading->db, phase, &oom->phase);
    if (err == 0)
        err = frag_read(reading->db, reading->process, reading->device, &instant, reading->named,
                        &oom->frag);
    oom->verdict = judge(oom);
    return err;
}

static int take_row(const struct reading *reading, struct db_stmt *row, struct ooms *out)
{
    if (!MEM_GROW(out->failures, out->cap, out->shown + 1))
        return ERR_NOMEM;
    struct oom *oom = &out->failures[out->shown++];
    *oom = (struct oom){
        .seq = db_column_int(row, 0),
        .at_ns = db_column_int(row, 1),
        .asked = db_column_int(row, 2),
        .allocated = column_known(row, 3),
        .reserved = column_known(row, 4),
        .site = column_known(row, 5),
        .phase_id = column_known(row, 6),
        .step = column_known(row, 7),
        .total = column_known(row, 8),
        .between = db_column_int(row, 9) != 0,
    };
    return explain(reading, column_known(row, 6), oom);
}

struct request { /* what is asked of the database */
    const char *sql;
    int64_t first_step, last_step;
    size_t most;
};

static void bind(struct db_stmt *stmt, const struct reading *reading, const struct request *request)
{
    db_bind_int(stmt, 0, reading->process);
    db_bind_int(stmt, 1, reading->device);
    db_bind_int(stmt, 3, request->last_step);
    if (request->first_step == INT64_MIN && request->last_step == INT64_MAX)
        db_bind_null(stmt, 2);
    else
        db_bind_int(stmt, 2, request->first_step);
}

static int read_failures(struct reading *reading, const struct request *request, struct ooms *out)
{
    struct db_stmt *stmt = NULL;
    *out = (struct ooms){0};
    int err = site_names_prepare(reading->db, &reading->site);
    if (err == 0)
        err = db_prepare(reading->db, &stmt, request->sql);
    if (err == 0)
        bind(stmt, reading, request);
    while (err >= 0 && (err = db_step(stmt)) == DB_ROW) {
        out->count++;
        if (out->shown < request->most && (err = take_row(reading, stmt, out)) < 0)
            break;
    }
    db_finalize(stmt);
    db_finalize(reading->site);
    return err < 0 ? err : 0;
}

int oom_read(struct db *db, int64_t process, int64_t device, int64_t first_step, int64_t last_step,
             size_t most, size_t named, struct ooms *out)
{
    struct reading reading = {.db = db, .process = process, .device = device, .named = named};
    const struct request request = {failures_sql, first_step, last_step, most};
    return read_failures(&reading, &request, out);
}

int oom_read_newest(struct db *db, int64_t process, int64_t device, int64_t first_step,
                    int64_t last_step, size_t named, struct ooms *out)
{
    struct reading reading = {.db = db, .process = process, .device = device, .named = named};
    const struct request request = {newest_sql, first_step, last_step, 1};
    return read_failures(&reading, &request, out);
}

int oom_find_last(struct db *db, struct oom_place *out)
{
    struct db_stmt *stmt = NULL;
    *out = (struct oom_place){0};
    int err = db_prepare(db, &stmt, last_sql);
    if (err < 0)
        return err;
    err = db_step(stmt);
    if (err == DB_ROW) {
        out->process = db_column_int(stmt, 0);
        out->device = column_known(stmt, 1);
        out->asked = db_column_int(stmt, 3);
        out->failures = db_column_int(stmt, 4);
        out->processes = db_column_int(stmt, 5);
        bool known = db_column_type(stmt, 2) != DB_NULL;
        snprintf(out->device_text, sizeof out->device_text, "%.31s",
                 known ? db_column_text(stmt, 2) : "a device that is not known");
        out->device = known ? out->device : OOM_NONE;
    }
    db_finalize(stmt);
    if (err < 0)
        return err;
    return err == DB_ROW ? 0 : ERR_NOTFOUND;
}

static const char went_on_sql[] =
    "SELECT EXISTS(SELECT 1 FROM allocation a JOIN heap h ON"
    " h.id = a.heap WHERE a.seq > ?2 AND a.seq <= " SPAN_LAST " AND h.process = ?1"
    "  AND h.device = ?3)";

int oom_went_on(struct db *db, int64_t process, int64_t device, int64_t seq, bool *went_on)
{
    struct db_stmt *stmt = NULL;
    *went_on = false;
    int err = db_prepare(db, &stmt, went_on_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, process);
    db_bind_int(stmt, 1, seq);
    db_bind_int(stmt, 2, device);
    err = db_step(stmt);
    if (err == DB_ROW)
        *went_on = db_column_int(stmt, 0) != 0;
    db_finalize(stmt);
    return err < 0 ? err : 0;
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
            (i && oom->seq <= oom[-1].seq))
            return false;
    }
    return (int64_t)ooms->shown <= ooms->count;
}
