/* phases_read.c - the rows of phases that are listed: see phases_listing.h. */
#include "error.h"
#include "phase_kind.h"
#include "phases_listing.h"
#include "phases_steps.h"

/* Which are asked for, and the seven values that this takes. */
#define ASKED_IN(list, device, seventh)                                                            \
    Q_IN(                                                                                          \
        (list)->scope->process.id, device,                                                         \
        query_if(report_has_steps((list)->report->options), (list)->report->options->steps.first), \
        (list)->report->options->steps.last, (list)->domain, (list)->all, seventh)
#define ASKED                                                                                      \
    " ph.process = ?1"                                                                             \
    "   AND (?3 IS NULL OR ph.step BETWEEN ?3 AND ?4 OR (ph.domain IS NOT NULL AND ph.begin_seq"   \
    "    BETWEEN (SELECT min(begin_seq) FROM phase WHERE process = ?1 AND step BETWEEN ?3 AND ?4)" \
    "        AND (SELECT max(coalesce(end_seq, begin_seq)) FROM phase"                             \
    "              WHERE process = ?1 AND step BETWEEN ?3 AND ?4))"                                \
    "    OR (ph.step IS NULL AND" PHASES_BEHIND_STEPS("ph") "AND" PHASES_EVALUATES(                \
        "ph") "))"                                                                                 \
              "   AND CASE WHEN ?5 IS NOT NULL THEN ph.domain = ?5 ELSE ?6 OR ph.domain IS NULL "  \
              "END"

#define COLUMNS                                                                                    \
    "SELECT t.process, t.device, t.step, t.phase, t.allocated, t.max_allocated, t.reserved,"       \
    "       t.max_reserved, t.fragmentation, t.phase_peak, t.begin_ns, t.end_ns, t.kind,"          \
    "       t.ordinal, t.phase_id, ph.parent, t.allocs, t.frees, t.alloc_bytes, t.ended,"          \
    "       ph.domain, ph.settled," PHASES_EVALUATES("ph") " AS evaluates"
#define OF_SCOPE(more)                                                                             \
    "  JOIN phase_table t ON t.phase_id = ph.id"                                                   \
    " WHERE" ASKED " AND t.device = ?2" more " ORDER BY ph.begin_seq, ph.id"

static const char sql[] = COLUMNS " FROM phase ph" OF_SCOPE(" AND ph.id > ?7");

/* What was settled since; and as the recording has ended, what was not. */
static const char settled_sql[] = COLUMNS " FROM (SELECT id FROM phase WHERE settled > ?7) new"
                                          " CROSS JOIN phase ph ON ph.id = new.id" OF_SCOPE("");
static const char rest_sql[] =
    COLUMNS " FROM (SELECT id FROM phase WHERE settled > ?7 OR settled IS NULL) new"
            " CROSS JOIN phase ph ON ph.id = new.id" OF_SCOPE("");

/* From the newest on, by their numbers: a phase that is inside of another has a higher one. */
static const char newest_sql[] =
    "SELECT ph.id FROM phase ph CROSS JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE" ASKED " AND pd.device = ?2"
    "   AND (?6 OR ph.kind <> 'other' OR pd.allocs > 0 OR pd.frees > 0)"
    " ORDER BY ph.id DESC LIMIT ?7";

/* One phase, if it is asked for. */
static const char parent_sql[] =
    "SELECT ph.parent FROM phase ph CROSS JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE" ASKED " AND pd.device = ?2 AND ph.id = ?7";

/* ---- rows ---- */

static struct query ask(const struct phases_listing *list, struct phases_line *row,
                        const struct query_place *out)
{
    const struct phases_tale *tale = list->tale;
    struct query query =
        query_ask(list->report->db,
                  !tale        ? sql
                  : tale->over ? rest_sql
                               : settled_sql,
                  ASKED_IN(list, list->scope->device_text, tale ? tale->told : list->floor), out);
    row->cells = query.stmt;
    return query;
}

#define ROW_OUT(row)                                                                               \
    Q_OUT(Q_OPT((row).step), Q_TEXT((row).phase), Q_OPT((row).allocated),                          \
          Q_OPT((row).max_allocated), Q_OPT((row).reserved), Q_OPT((row).max_reserved),            \
          Q_OPT((row).phase_peak), Q_INT((row).begin_ns), Q_OPT((row).end_ns), Q_TEXT((row).kind), \
          Q_INT((row).phase_id), Q_OPT((row).parent), Q_INT((row).allocs), Q_INT((row).frees),     \
          Q_NTEXT((row).ended), Q_NTEXT((row).domain), Q_OPT((row).settled),                       \
          Q_INT((row).evaluates), Q_REST)

int phases_read(struct phases_listing *list,
                int (*take)(struct phases_listing *list, struct phases_line *row))
{
    struct phases_line row;
    const struct query_place *out = ROW_OUT(row);
    struct query query = ask(list, &row, out);
    while (query_next(&query))
        query_fail(&query, take(list, &row));
    return query_end(&query);
}

bool phases_is_gap(const struct phases_line *row)
{
    return phase_kind_from(row->kind) == PHASE_KIND_OTHER;
}

bool phases_is_empty_gap(const struct phases_line *row)
{
    return phases_is_gap(row) && row->allocs == 0 && row->frees == 0;
}

/* ---- how deep ---- */

/* Of a phase that is not in the list: one more than what is around it has; none if it is not asked
 * for. Nothing is around itself, but in a damaged file. */
static int depth_below(struct phases_listing *list, int64_t id, uint64_t *depth)
{
    enum { MOST = 4096 };
    int64_t parent;
    *depth = MAP_NONE;
    struct query query = query_ask(list->report->db, parent_sql,
                                   ASKED_IN(list, list->scope->device, id), Q_OUT(Q_OPT(parent)));
    while (query_next(&query)) {
        *depth += 1; /* the first makes it 0 */
        if (parent == QUERY_NONE || *depth >= MOST)
            break;
        query_again(&query, ASKED_IN(list, list->scope->device, parent));
    }
    return query_end(&query);
}

int64_t phases_depth(struct phases_listing *list, const struct phases_line *row)
{
    uint64_t around = MAP_NONE;
    if (row->parent != QUERY_NONE) {
        around = map_get(&list->depths, (uint64_t)row->parent);
        bool elsewhere = around == MAP_NONE && (list->tale || list->floor >= row->parent);
        int err = elsewhere ? depth_below(list, row->parent, &around) : 0;
        if (err < 0)
            return err;
    }
    uint64_t depth = around == MAP_NONE ? 0 : around + 1;
    if (!map_put(&list->depths, (uint64_t)row->phase_id, depth, NULL))
        return ERR_NOMEM;
    return (int64_t)depth;
}

/* ---- the last ones ---- */

/* Nearly all phases have a higher number than those that began before: so many more are read. */
enum { NEWEST_MORE = 64 };

/* The floor under the last rows, as many as a screen has room for: they are found from the newest
 * on, so that a look costs the same however long the run is. */
static int find_floor(struct phases_listing *list, int64_t room)
{
    int64_t id, count = 0;
    struct query query =
        query_ask(list->report->db, newest_sql,
                  ASKED_IN(list, list->scope->device, room + NEWEST_MORE), Q_OUT(Q_INT(id)));
    for (; query_next(&query); count++)
        list->floor = id - 1;
    list->floor = count < room + NEWEST_MORE ? -1 : list->floor;
    return query_end(&query);
}

static int count(struct phases_listing *list, struct phases_line *row)
{
    list->skip += list->all || !phases_is_empty_gap(row);
    return 0;
}

int phases_find_newest(struct phases_listing *list, int64_t room)
{
    int err = find_floor(list, room);
    if (err < 0)
        return err;
    err = phases_read(list, count);
    list->skip = list->skip > room ? list->skip - room : 0;
    return err;
}
