#include "leak_steps.h"

#include <stdlib.h>

#include "category.h"
#include "error.h"
#include "mem.h"
#include "query.h"
#include "search.h"

static const char evaluations_sql[] = "SELECT begin_seq, end_seq FROM phase"
                                      " WHERE process = ?1 AND step IS NULL AND domain IS NULL"
                                      "   AND kind IN ('eval', 'forward_no_grad')";

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

static int by_begin(const void *one, const void *other)
{
    const struct leak_step *a = one, *b = other;
    return a->begin_seq < b->begin_seq ? -1 : a->begin_seq > b->begin_seq;
}

static int take_begins(const struct category_rules *rules, struct leak_steps *out)
{
    size_t count = category_step_count(rules);
    if (count && !MEM_GROW(out->steps, out->cap, count))
        return ERR_NOMEM;
    for (; out->count < count; out->count++) {
        struct leak_step *step = &out->steps[out->count];
        *step = (struct leak_step){0};
        category_step_begin(rules, out->count, &step->step, &step->begin_seq);
    }
    if (count)
        qsort(out->steps, count, sizeof *out->steps, by_begin);
    return 0;
}

static int read_begins(struct db *db, int64_t process, struct leak_steps *out)
{
    struct category_rules *rules;
    int err = category_load(db, process, &rules);
    if (err < 0)
        return err;
    err = take_begins(rules, out);
    category_free(rules);
    return err;
}

/* From the first evaluation behind the look to the end of the last. */
struct behind {
    int64_t begin_seq, end_seq; /* QUERY_NONE: there is none; none has ended */
};

static void take_evaluation(struct leak_steps *steps, int64_t look, int64_t begin_seq,
                            int64_t end_seq, struct behind *behind)
{
    struct leak_step *step =
        end_seq != QUERY_NONE && end_seq <= look ? find(steps, begin_seq) : NULL;
    if (step)
        step->evaluated = true;
    if (begin_seq <= look)
        return;
    if (behind->begin_seq == QUERY_NONE || begin_seq < behind->begin_seq)
        behind->begin_seq = begin_seq;
    if (end_seq != QUERY_NONE && (behind->end_seq == QUERY_NONE || end_seq > behind->end_seq))
        behind->end_seq = end_seq;
}

static int read_evaluations(struct db *db, int64_t process, int64_t look, struct leak_steps *out,
                            struct behind *behind)
{
    int64_t begin_seq, end_seq;
    struct query query =
        query_ask(db, evaluations_sql, Q_IN(process), Q_OUT(Q_INT(begin_seq), Q_OPT(end_seq)));
    while (query_next(&query))
        take_evaluation(out, look, begin_seq, end_seq, behind);
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

static int read_later(struct db *db, int64_t process, const struct behind *behind,
                      struct leak_steps *out)
{
    int64_t site, address, size, free_seq;
    out->later_end = behind->end_seq;
    struct query query =
        query_ask(db, sites_sql, Q_IN(process, behind->begin_seq, behind->end_seq),
                  Q_OUT(Q_OPT(site), Q_INT(address), Q_INT(size), Q_OPT(free_seq)));
    while (query_next(&query)) {
        const struct leak_later row = {site, address, size, free_seq};
        query_fail(&query, take_later(out, &row));
    }
    return query_end(&query);
}

int leak_steps_read(struct db *db, int64_t process, int64_t look, struct leak_steps *out)
{
    struct behind behind = {QUERY_NONE, QUERY_NONE};
    int err = read_begins(db, process, out);
    if (err >= 0)
        err = read_evaluations(db, process, look, out, &behind);
    if (err < 0 || behind.begin_seq == QUERY_NONE || behind.end_seq == QUERY_NONE)
        return err;
    return read_later(db, process, &behind, out);
}

void leak_steps_clear(struct leak_steps *steps)
{
    mem_free(steps->steps);
    mem_free(steps->later);
    *steps = (struct leak_steps){0};
}
