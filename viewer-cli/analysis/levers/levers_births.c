#include "levers_births.h"

#include <stdlib.h>

#include "error.h"
#include "group.h"
#include "levers_step.h"
#include "mem.h"
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
    struct db_stmt *stmt = NULL;
    *out = (struct levers_births){0};
    int err = db_prepare(db, &stmt,
                         "SELECT a.seq, coalesce(a.requested, a.size), a.site FROM allocation a"
                         " CROSS JOIN heap h ON h.id = a.heap"
                         " WHERE a.seq BETWEEN ?3 AND ?4 AND h.process = ?1 AND h.device = ?2");
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, peak->process);
    db_bind_int(stmt, 1, peak->device);
    db_bind_int(stmt, 2, begin);
    db_bind_int(stmt, 3, end);
    while ((err = db_step(stmt)) == DB_ROW) {
        err = out->count == LEVERS_MOST                          ? ERR_LIMIT
              : !MEM_GROW(out->births, out->cap, out->count + 1) ? ERR_NOMEM
                                                                 : DB_ROW;
        if (err < 0)
            break;
        out->births[out->count++] = (struct levers_birth){
            db_column_int(stmt, 0), db_column_int(stmt, 1), column_known(stmt, 2)};
    }
    db_finalize(stmt);
    if (err == DB_DONE && out->count)
        qsort(out->births, out->count, sizeof *out->births, by_likeness);
    return err < 0 ? err : 0;
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
