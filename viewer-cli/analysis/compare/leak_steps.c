#include "leak_steps.h"

#include "error.h"
#include "mem.h"
#include "query.h"
#include "search.h"

static const char begins_sql[] =
    "SELECT step, min(begin_seq) AS begin_seq FROM phase"
    " WHERE process = ?1 AND step IS NOT NULL AND domain IS NULL GROUP BY step ORDER BY 2";

#define EVALUATIONS                                                                                \
    " FROM phase WHERE process = ?1 AND step IS NULL AND domain IS NULL"                           \
    "   AND kind IN ('eval', 'forward_no_grad')"

static const char evaluations_sql[] = "SELECT begin_seq AS seq" EVALUATIONS " AND end_seq <= ?2";

static const char later_sql[] =
    "SELECT min(begin_seq) AS begin_seq, max(end_seq) AS end_seq" EVALUATIONS " AND begin_seq > ?2";

static const char sites_sql[] =
    "SELECT a.site, a.address, a.size, CASE WHEN a.free_seq >= 0 THEN a.free_seq END AS free_seq"
    "  FROM allocation a JOIN heap h ON h.id = a.heap"
    " WHERE a.seq BETWEEN ?2 AND ?3 AND (a.free_seq < 0 OR a.free_seq > ?3) AND h.process = ?1"
    " ORDER BY a.site";

static struct leak_step *find(const struct leak_steps *steps, int64_t seq)
{
    size_t at;
    SEARCH_FIRST(at, 0, steps->count, steps->steps[at].begin_seq <= seq);
    return at ? &steps->steps[at - 1] : NULL;
}

const struct leak_step *leak_step_before(const struct leak_steps *steps, int64_t seq)
{
    return find(steps, seq);
}

const struct leak_later *leak_steps_later(const struct leak_steps *steps, int64_t site,
                                          size_t *count)
{
    size_t first, after;
    SEARCH_FIRST(first, 0, steps->later_count, steps->later[first].site < site);
    SEARCH_FIRST(after, first, steps->later_count, steps->later[after].site <= site);
    *count = after - first;
    return *count ? &steps->later[first] : NULL;
}

bool leak_steps_outlived(const struct leak_steps *steps, const struct living_block *block)
{
    size_t count;
    return (block->free_seq == LIVING_NONE || block->free_seq > steps->later_end) &&
           leak_steps_later(steps, block->site, &count);
}

static int take(struct leak_steps *steps, const struct leak_step *row)
{
    if (!MEM_GROW(steps->steps, steps->cap, steps->count + 1))
        return ERR_NOMEM;
    steps->steps[steps->count++] = *row;
    return 0;
}

static int read_begins(struct db *db, int64_t process, struct leak_steps *out)
{
    struct leak_step row = {0};
    struct query query =
        query_ask(db, begins_sql, Q_IN(process), Q_OUT(Q_INT(row.step), Q_INT(row.begin_seq)));
    while (query_next(&query))
        query_fail(&query, take(out, &row));
    return query_end(&query);
}

static int read_evaluated(struct db *db, int64_t process, int64_t look, struct leak_steps *out)
{
    int64_t seq = 0;
    struct query query = query_ask(db, evaluations_sql, Q_IN(process, look), Q_OUT(Q_INT(seq)));
    while (query_next(&query)) {
        struct leak_step *step = find(out, seq);
        if (step)
            step->evaluated = true;
    }
    return query_end(&query);
}

static int take_later(struct leak_steps *steps, const struct leak_later *row)
{
    struct leak_later later = *row;
    later.site = row->site == QUERY_NONE ? LIVING_NONE : row->site;
    later.free_seq = row->free_seq == QUERY_NONE ? LIVING_NONE : row->free_seq;
    if (!MEM_GROW(steps->later, steps->later_cap, steps->later_count + 1))
        return ERR_NOMEM;
    steps->later[steps->later_count++] = later;
    return 0;
}

static int read_later(struct db *db, int64_t process, int64_t look, struct leak_steps *out)
{
    int64_t begin_seq = QUERY_NONE, end_seq = QUERY_NONE, site, address, size, free_seq;
    int err =
        query_read(db, later_sql, Q_IN(process, look), Q_OUT(Q_OPT(begin_seq), Q_OPT(end_seq)));
    if (err < 0 || begin_seq == QUERY_NONE || end_seq == QUERY_NONE)
        return err;
    out->later_end = end_seq;
    struct query query =
        query_ask(db, sites_sql, Q_IN(process, begin_seq, end_seq),
                  Q_OUT(Q_OPT(site), Q_INT(address), Q_INT(size), Q_OPT(free_seq)));
    while (query_next(&query)) {
        const struct leak_later row = {site, address, size, free_seq};
        query_fail(&query, take_later(out, &row));
    }
    return query_end(&query);
}

int leak_steps_read(struct db *db, int64_t process, int64_t look, struct leak_steps *out)
{
    int err = read_begins(db, process, out);
    if (err >= 0)
        err = read_evaluated(db, process, look, out);
    return err < 0 ? err : read_later(db, process, look, out);
}

void leak_steps_clear(struct leak_steps *steps)
{
    mem_free(steps->steps);
    mem_free(steps->later);
    *steps = (struct leak_steps){0};
}
