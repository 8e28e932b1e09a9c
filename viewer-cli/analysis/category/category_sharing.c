#include "category_sharing.h"

#include "error.h"
#include "query.h"

/* View sharing_site reads all call stacks and the names all of their table, and most runs have
 * nothing of it. Who uses torch.distributed has a rank, which the phases' helper says where the
 * environment does not (python/tidemark/_ranks.py); in what another tool recorded it is not known.
 */
static const char any_sql[] =
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM process WHERE id = ?1"
    "                           AND (rank IS NOT NULL OR world_size IS NOT NULL"
    "                                OR coalesce(live, '') NOT LIKE '%phases%'))"
    "              OR EXISTS (SELECT 1 FROM setting WHERE process = ?1 AND key = 'imported_from')"
    " THEN EXISTS (SELECT 1 FROM string WHERE text LIKE '%torch/distributed/%')"
    " ELSE 0 END AS found";

static const char blocks_sql[] =
    "SELECT a.seq, shared.kind FROM sharing_site shared JOIN allocation a ON a.site = shared.site"
    "  JOIN heap h ON h.id = a.heap"
    " WHERE h.process = ?1"
    "   AND a.seq >= coalesce((SELECT first_seq FROM process WHERE id = ?1), 0)";

int category_sharing_read(struct db *db, int64_t process, struct category_sharing *out)
{
    int64_t found = 0, seq, kind;
    int err = query_read(db, any_sql, Q_IN(process), Q_OUT(Q_INT(found)));
    if (err < 0 || !found)
        return err;
    struct query query = query_ask(db, blocks_sql, Q_IN(process), Q_OUT(Q_INT(seq), Q_INT(kind)));
    while (query_next(&query))
        if (!map_put(&out->blocks, (uint64_t)seq, (uint64_t)kind, NULL))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

void category_sharing_clear(struct category_sharing *sharing)
{
    map_clear(&sharing->blocks);
}

enum sharing_verdict category_sharing_decide(const struct category_sharing *sharing, int64_t seq)
{
    uint64_t kind = sharing->blocks.count ? map_get(&sharing->blocks, (uint64_t)seq) : MAP_NONE;
    return kind == MAP_NONE ? SHARING_NONE : (enum sharing_verdict)kind;
}
