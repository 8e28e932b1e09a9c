/*
 * driven.c - what the driver gave over time: every birth and end of its memory and every sample of
 * its pools, in the order of time, are added up once. Each run of points knows its highest value,
 * so that the highest of any stretch is found without looking at all of it.
 */
#include "driven.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "query.h"
#include "search.h"

/* ---- whether it is one ---- */

static const char is_sql[] =
    "SELECT NOT EXISTS (SELECT 1 FROM phase ph JOIN phase_device pd"
    "  ON pd.phase = ph.id AND pd.device = ?2 WHERE ph.process = ?1)"
    " AND NOT EXISTS (SELECT 1 FROM phase_sum WHERE process = ?1 AND device = ?2)"
    " AND EXISTS (SELECT 1 FROM driver_memory WHERE process = ?1 AND device = ?2) AS \"is\"";

int driven_is(struct db *db, int64_t process, int64_t device, bool *is)
{
    *is = false;
    return query_read(db, is_sql, Q_IN(process, device), Q_OUT(Q_INT(*is)));
}

/* ---- reading ---- */

enum what { WHAT_MEMORY, WHAT_POOL_PART, WHAT_NODE, WHAT_MANAGED, WHAT_POOLS, WHAT_GRAPHS };

#define WHAT "CASE kind WHEN 'async' THEN 1 WHEN 'graph' THEN 2 WHEN 'managed' THEN 3 ELSE 0 END"
#define COUNTED "kind IN ('device', 'array', 'physical', 'async', 'graph', 'managed')"

static const char changes_sql[] =
    "SELECT ns, seq, what, value FROM ("
    "  SELECT alloc_ns AS ns, seq AS seq, " WHAT " AS what, size AS value FROM driver_memory"
    "   WHERE process = ?1 AND device = ?2 AND " COUNTED
    "  UNION ALL SELECT alloc_ns + life_ns, free_seq, " WHAT ", -size FROM driver_memory"
    "   WHERE process = ?1 AND device = ?2 AND free_seq IS NOT NULL AND " COUNTED
    "  UNION ALL SELECT at_ns, NULL, CASE what WHEN 'pool reserved' THEN 4 ELSE 5 END, value"
    "    FROM sample"
    "   WHERE process = ?1 AND device = ?2 AND what IN ('pool reserved', 'graph reserved'))"
    " ORDER BY ns, seq IS NULL, seq";

struct sums { /* as far as it was read */
    int64_t memory, parts, nodes, managed;
    int64_t pools, graphs; /* of the last sample; DRIVEN_NONE */
};

static bool add_up(struct sums *sums, enum what what, int64_t value)
{
    switch (what) {
    case WHAT_MEMORY:
        sums->memory += value;
        break;
    case WHAT_POOL_PART:
        sums->parts += value;
        break;
    case WHAT_NODE:
        sums->nodes += value;
        break;
    case WHAT_MANAGED:
        sums->managed += value;
        return false;
    case WHAT_POOLS:
        sums->pools = value;
        break;
    case WHAT_GRAPHS:
        sums->graphs = value;
        break;
    }
    return true;
}

/* A sample that says what the last point has: most do, and they are many. */
static bool is_repeated(const struct driven *out, const struct driven_point *point)
{
    const struct driven_point *last = out->count ? &out->points[out->count - 1] : NULL;
    return point->sampled && last && last->bytes == point->bytes && last->pools == point->pools &&
           last->graphs == point->graphs;
}

static bool add_point(struct driven *out, const struct sums *sums, int64_t ns, int64_t seq)
{
    struct driven_point point = {.seq = seq, .ns = ns, .sampled = seq == GROUP_NONE};
    if (point.sampled)
        point.seq = out->count ? out->points[out->count - 1].seq : 0;
    point.pools = sums->pools > sums->parts ? sums->pools : sums->parts;
    point.graphs = sums->graphs == DRIVEN_NONE ? sums->nodes : sums->graphs;
    point.bytes = sums->memory + point.pools + point.graphs;
    if (is_repeated(out, &point))
        return true;
    if (!MEM_GROW(out->points, out->cap, out->count + 1) ||
        !MEM_GROW(out->tops, out->top_cap, out->count / DRIVEN_RUN + 1))
        return false;
    out->points[out->count] = point;
    int64_t *top = &out->tops[out->count / DRIVEN_RUN];
    if (out->count % DRIVEN_RUN == 0 || point.bytes > *top)
        *top = point.bytes;
    out->count++;
    return true;
}

static int read_changes(struct db *db, struct driven *out)
{
    struct sums sums = {.pools = DRIVEN_NONE, .graphs = DRIVEN_NONE};
    int64_t ns, seq, what, value;
    struct query query = query_ask(db, changes_sql, Q_IN(out->process, out->device),
                                   Q_OUT(Q_INT(ns), Q_OPT(seq), Q_INT(what), Q_INT(value)));
    while (query_next(&query)) {
        bool counts = add_up(&sums, (enum what)what, value);
        out->managed = sums.managed > out->managed ? sums.managed : out->managed;
        if (counts && !add_point(out, &sums, ns, seq))
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

int driven_read(struct db *db, int64_t process, int64_t device, struct driven *out)
{
    *out = (struct driven){.process = process, .device = device};
    int err = driven_is(db, process, device, &out->found);
    return err < 0 || !out->found ? err : read_changes(db, out);
}

void driven_clear(struct driven *driven)
{
    mem_free(driven->points);
    mem_free(driven->tops);
    *driven = (struct driven){0};
}

bool driven_is_valid(const struct driven *driven)
{
    int64_t top = 0;
    for (size_t i = 0; i < driven->count; i++) {
        const struct driven_point *point = &driven->points[i];
        if (point->pools < 0 || point->graphs < 0 || point->bytes < point->pools + point->graphs ||
            (i && (point->ns < point[-1].ns || point->seq < point[-1].seq)))
            return false;
        top = i % DRIVEN_RUN == 0 || point->bytes > top ? point->bytes : top;
        if ((i + 1 == driven->count || (i + 1) % DRIVEN_RUN == 0) &&
            top != driven->tops[i / DRIVEN_RUN])
            return false;
    }
    return driven->managed >= 0 && (driven->found || !driven->count);
}

/* ---- at a moment ---- */

/* How many points are at or before it. */
static size_t count_until(const struct driven *driven, int64_t seq, int64_t ns)
{
    size_t at;
    SEARCH_FIRST(at, 0, driven->count,
                 driven->points[at].ns <= ns && driven->points[at].seq <= seq);
    return at;
}

struct driven_point driven_at(const struct driven *driven, int64_t seq, int64_t ns)
{
    size_t count = count_until(driven, seq, ns);
    return count ? driven->points[count - 1] : (struct driven_point){0};
}

struct driven_point driven_highest(const struct driven *driven, int64_t from_seq, int64_t from_ns,
                                   int64_t until_seq, int64_t until_ns)
{
    size_t i = count_until(driven, from_seq, from_ns);
    size_t end = count_until(driven, until_seq, until_ns);
    struct driven_point best = i ? driven->points[i - 1] : (struct driven_point){0};
    best.ns = from_ns;
    best.sampled = true;
    while (i < end) {
        bool whole = i % DRIVEN_RUN == 0 && i + DRIVEN_RUN <= end;
        if (whole && driven->tops[i / DRIVEN_RUN] <= best.bytes) {
            i += DRIVEN_RUN;
            continue;
        }
        if (driven->points[i].bytes > best.bytes)
            best = driven->points[i];
        i++;
    }
    return best;
}

/* ---- instants ---- */

/* The innermost phase: by the numbers of events, or by time where a sample made the point. */
static const char phase_by_seq_sql[] =
    "SELECT ph.id AS phase, ph.step FROM phase ph WHERE ph.id ="
    "  (SELECT phase FROM stretch WHERE process = ?1 AND begin_seq <= ?2"
    "    ORDER BY begin_seq DESC LIMIT 1)";
static const char phase_by_ns_sql[] =
    "SELECT id AS phase, step FROM phase"
    " WHERE process = ?1 AND scope = 'process' AND domain IS NULL AND begin_ns <= ?2"
    "   AND (end_ns IS NULL OR end_ns >= ?2)"
    " ORDER BY begin_ns DESC, id DESC LIMIT 1";

static int find_phase(struct db *db, int64_t process, const struct driven_point *point,
                      struct instant *out)
{
    return query_read(db, point->sampled ? phase_by_ns_sql : phase_by_seq_sql,
                      Q_IN(process, point->sampled ? point->ns : point->seq),
                      Q_OUT(Q_INT(out->phase), Q_OPT(out->step)));
}

static int label_highest(struct db *db, struct instant *out)
{
    char *path = NULL;
    int err = out->phase == INSTANT_NONE ? 0 : phase_path(db, out->phase, &path);
    const char *phase = path ? path : "no phase";
    if (out->step == INSTANT_NONE)
        snprintf(out->label, sizeof out->label, "peak, %s", phase);
    else
        snprintf(out->label, sizeof out->label, "peak of step %" PRId64 ", %s", out->step, phase);
    mem_free(path);
    return err;
}

/* From where to where. A step that is not over reaches to the end of what is known. */
static const char steps_sql[] =
    "SELECT min(begin_seq) - 1 AS from_seq, min(begin_ns) AS from_ns,"
    "  CASE WHEN count(*) = count(end_seq) THEN max(end_seq) END AS until_seq,"
    "  CASE WHEN count(*) = count(end_ns) THEN max(end_ns) END AS until_ns"
    " FROM phase WHERE process = ?1 AND step BETWEEN ?2 AND ?3 HAVING count(*) > 0";

struct range {
    int64_t from_seq, from_ns, until_seq, until_ns;
};

/* Of a row that was looked for. */
static int or_end(int err, int64_t *seq, int64_t *ns)
{
    if (err != DB_ROW)
        return err < 0 ? err : ERR_NOTFOUND;
    *seq = *seq == QUERY_NONE ? INT64_MAX : *seq;
    *ns = *ns == QUERY_NONE ? INT64_MAX : *ns;
    return 0;
}

static int find_range(struct db *db, int64_t process, int64_t first_step, int64_t last_step,
                      struct range *out)
{
    *out = (struct range){-1, 0, INT64_MAX, INT64_MAX};
    if (first_step == INT64_MIN && last_step == INT64_MAX)
        return 0;
    int err = query_first(db, steps_sql, Q_IN(process, first_step, last_step),
                          Q_OUT(Q_INT(out->from_seq), Q_INT(out->from_ns), Q_OPT(out->until_seq),
                                Q_OPT(out->until_ns)));
    return or_end(err, &out->until_seq, &out->until_ns);
}

static int find_highest(struct db *db, const struct driven *driven, int64_t first_step,
                        int64_t last_step, struct instant *out, struct driven_point *point)
{
    struct range range;
    snprintf(out->label, sizeof out->label, "peak");
    int err = find_range(db, driven->process, first_step, last_step, &range);
    if (err < 0)
        return err;
    *point = driven_highest(driven, range.from_seq, range.from_ns, range.until_seq, range.until_ns);
    if (!driven->count)
        return ERR_NOTFOUND;
    out->seq = point->sampled && point->seq < range.from_seq ? range.from_seq : point->seq;
    out->at_ns = point->ns;
    err = find_phase(db, driven->process, point, out);
    return err < 0 ? err : label_highest(db, out);
}

static const char phase_end_sql[] = "SELECT coalesce(end_seq, (SELECT last_seq FROM process WHERE "
                                    "id = ?1)) AS seq, end_ns AS at_ns,"
                                    "       id AS phase FROM phase"
                                    " WHERE process = ?1 AND step = ?2 AND (name = ?3 OR kind = ?3)"
                                    "   AND (?4 IS NULL OR ordinal = ?4)"
                                    " ORDER BY name = ?3 DESC, begin_seq DESC LIMIT 1";

static int find_phase_end(struct db *db, const struct driven *driven,
                          const struct instant_wish *wish, struct instant *out)
{
    bool one = wish->ordinal != INSTANT_NONE;
    size_t used = (size_t)snprintf(out->label, sizeof out->label, "step %" PRId64 ", end of %.*s",
                                   wish->number, (int)wish->phase_bytes, wish->phase);
    if (one && used < sizeof out->label)
        snprintf(out->label + used, sizeof out->label - used, " #%" PRId64, wish->ordinal);
    int err =
        query_first(db, phase_end_sql,
                    Q_IN(driven->process, wish->number, query_part(wish->phase, wish->phase_bytes),
                         query_opt(wish->ordinal)),
                    Q_OUT(Q_OPT(out->seq), Q_OPT(out->at_ns), Q_INT(out->phase)));
    if (err == DB_ROW)
        out->step = wish->number;
    return or_end(err, &out->seq, &out->at_ns);
}

static int find_end(struct db *db, const struct driven *driven, struct instant *out)
{
    snprintf(out->label, sizeof out->label, "the end");
    int err = query_first(db, "SELECT last_seq AS seq, end_ns AS at_ns FROM process WHERE id = ?",
                          Q_IN(driven->process), Q_OUT(Q_OPT(out->seq), Q_OPT(out->at_ns)));
    return or_end(err, &out->seq, &out->at_ns);
}

static int find_time(const struct driven *driven, int64_t ns, const char *text, struct instant *out)
{
    struct driven_point point = driven_at(driven, INT64_MAX, ns);
    bool any = driven->count && driven->points[0].ns <= ns;
    snprintf(out->label, sizeof out->label,
             any ? "%s after the start" : "no driver memory %s after the start", text);
    out->seq = point.seq;
    out->at_ns = ns;
    return any ? 0 : ERR_NOTFOUND;
}

/* What is not over has no last number yet: that of the last point. */
static void settle(const struct driven *driven, struct instant *out, struct driven_point *point)
{
    *point = driven_at(driven, out->seq, out->at_ns);
    if (out->seq == INT64_MAX)
        out->seq = point->seq;
    if (out->at_ns == INT64_MAX)
        out->at_ns = point->ns;
}

int driven_find(struct db *db, const struct driven *driven, const char *text, int64_t first_step,
                int64_t last_step, struct instant *out, struct driven_point *point)
{
    struct instant_wish wish = {.what = WISH_PEAK};
    int err = ERR_ARG;
    *point = (struct driven_point){0};
    *out = (struct instant){.allocated = INSTANT_NONE,
                            .reserved = INSTANT_NONE,
                            .phase = INSTANT_NONE,
                            .step = INSTANT_NONE,
                            .driven = true};
    if (text && !instant_read_wish(text, &wish))
        return ERR_ARG;
    switch (wish.what) {
    case WISH_PEAK:
        return find_highest(db, driven, text ? INT64_MIN : first_step, text ? INT64_MAX : last_step,
                            out, point);
    case WISH_STEP:
        err = find_highest(db, driven, wish.number, wish.number, out, point);
        if (err == ERR_NOTFOUND)
            snprintf(out->label, sizeof out->label, "step %" PRId64, wish.number);
        return err;
    case WISH_END:
        err = find_end(db, driven, out);
        break;
    case WISH_TIME:
        err = find_time(driven, wish.number, text + 1, out);
        break;
    case WISH_PHASE:
        err = find_phase_end(db, driven, &wish, out);
        break;
    }
    if (err == 0)
        settle(driven, out, point);
    return err;
}
