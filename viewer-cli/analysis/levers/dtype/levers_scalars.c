/* levers_scalars.c - see levers_scalars.h. */
#include "levers_scalars.h"

#include "error.h"
#include "mem.h"
#include "query.h"
#include "search.h"

static const char scalars_sql[] =
    "SELECT a.seq FROM allocation a CROSS JOIN heap h ON h.id = a.heap"
    "  CROSS JOIN device d ON d.id = h.device"
    " WHERE a.seq BETWEEN ?2 AND ?3 AND a.size <= 16 AND h.process = ?1 AND d.kind = 'cpu'"
    " ORDER BY a.seq";
_Static_assert(LEVERS_SCALAR == 16, "as the query has it");

int levers_scalars_read(struct levers_seen *seen, struct levers_scalars *out)
{
    int64_t seq;
    *out = (struct levers_scalars){0};
    struct query query =
        query_ask(seen->db, scalars_sql,
                  Q_IN(seen->peak->process, seen->step.begin, seen->step.end), Q_OUT(Q_INT(seq)));
    while (query_next(&query))
        if (MEM_GROW(out->seqs, out->cap, out->count + 1))
            out->seqs[out->count++] = seq;
        else
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

void levers_scalars_clear(struct levers_scalars *scalars)
{
    mem_free(scalars->seqs);
    *scalars = (struct levers_scalars){0};
}

bool levers_with_scalar(const struct levers_scalars *scalars, const struct levers_step *step,
                        size_t at)
{
    size_t before = at, place;
    while (before > 0 && step->blocks[before - 1].asked <= LEVERS_SCALAR)
        before--;
    const int64_t from = before > 0 ? step->blocks[before - 1].seq : step->begin;
    SEARCH_FIRST(place, 0, scalars->count, scalars->seqs[place] <= from);
    return place < scalars->count && scalars->seqs[place] < step->blocks[at].seq;
}
