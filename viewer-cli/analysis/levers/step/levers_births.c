#include "levers_births.h"

#include <stdlib.h>

#include "error.h"
#include "group.h"
#include "levers_step.h"
#include "mem.h"
#include "query.h"
#include "search.h"

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_likeness(const void *one, const void *other)
{
    const struct levers_birth *a = one, *b = other;
    int order = compare(a->asked, b->asked);
    if (order == 0)
        order = compare(a->site, b->site);
    return order ? order : compare(a->seq, b->seq);
}

int levers_births_read(struct db *db, const struct peak *peak, int64_t begin, int64_t end,
                       struct levers_births *out)
{
    struct levers_birth birth;
    *out = (struct levers_births){0};
    struct query query =
        query_ask(db,
                  "SELECT a.seq, coalesce(a.requested, a.size) AS asked, a.site FROM allocation a"
                  " CROSS JOIN heap h ON h.id = a.heap"
                  " WHERE a.seq BETWEEN ?3 AND ?4 AND h.process = ?1 AND h.device = ?2",
                  Q_IN(peak->process, peak->device, begin, end),
                  Q_OUT(Q_INT(birth.seq), Q_INT(birth.asked), Q_OPT(birth.site)));
    while (query_next(&query)) {
        if (out->count == LEVERS_MOST)
            query_fail(&query, ERR_LIMIT);
        else if (!MEM_GROW(out->births, out->cap, out->count + 1))
            query_fail(&query, ERR_NOMEM);
        else
            out->births[out->count++] = birth;
    }
    int err = query_end(&query);
    if (err == 0 && out->count)
        qsort(out->births, out->count, sizeof *out->births, by_likeness);
    return err;
}

void levers_births_clear(struct levers_births *births)
{
    mem_free(births->births);
    *births = (struct levers_births){0};
}

/* The place of the first one that is not before `wanted`. */
static size_t lower(const struct levers_births *births, const struct levers_birth *wanted)
{
    size_t low;
    SEARCH_FIRST(low, 0, births->count, by_likeness(&births->births[low], wanted) < 0);
    return low;
}

size_t levers_births_like(const struct levers_births *births, int64_t asked, int64_t site,
                          const struct levers_birth **first)
{
    const struct levers_birth begin = {INT64_MIN, asked, site}, end = {INT64_MAX, asked, site};
    size_t from = lower(births, &begin), to = lower(births, &end);
    *first = births->births + from;
    return to - from;
}
