/*
 * What the model is made of that decides which levers apply, and how: sizes of parameters, frozen
 * ones, batch normalization.
 */
#include "error.h"
#include "levers_work.h"
#include "query.h"

static const char batch_norm_sql[] =
    "SELECT DISTINCT s.site FROM string n JOIN frame f ON f.function = n.id"
    "  JOIN site s ON s.frame = f.id"
    " WHERE n.text LIKE '%BatchNorm%.forward' OR n.text = 'batch_norm'";

int levers_batch_norm(struct levers_work *work)
{
    int64_t site;
    struct query query = query_ask(work->db, batch_norm_sql, Q_NOTHING, Q_OUT(Q_INT(site)));
    while (query_next(&query))
        if (!map_put(&work->batch_norm, (uint64_t)site, 1, NULL))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

bool levers_normalizes(const struct levers_work *work, const struct levers_block *block)
{
    return block->site != GROUP_NONE &&
           map_get(&work->batch_norm, (uint64_t)block->site) != MAP_NONE;
}

/* A gradient has its parameter's name. Where no gradient has one, nothing is known to be frozen. */
static const char frozen_sql[] =
    "WITH trained(name) AS (SELECT name FROM tag WHERE category = 2 AND name IS NOT NULL)"
    "SELECT coalesce(sum(a.size), 0) AS frozen FROM tag t JOIN allocation a ON a.tag = t.id"
    "  JOIN heap h ON h.id = a.heap"
    " WHERE t.category = 1 AND h.process = ?1 AND h.device = ?2 AND a.seq <= ?3"
    "   AND (a.free_seq < 0 OR a.free_seq > ?3) AND EXISTS (SELECT 1 FROM trained)"
    "   AND t.name NOT IN trained";

/* A gradient has the size of one. FSDP keeps parts of parameters, and gathers whole ones. */
static bool is_sized_as_parameter(const struct levers_block *block)
{
    return block->purpose == PURPOSE_PARAMETER || block->purpose == PURPOSE_GATHERED;
}

/* And the sizes of parameters. */
int levers_frozen(struct levers_work *work)
{
    const struct levers_step *step = &work->step;
    int64_t frozen = 0;
    for (size_t i = 0; i < step->count; i++)
        if (is_sized_as_parameter(&step->blocks[i]) &&
            !map_put(&work->parameters, (uint64_t)step->blocks[i].asked, 1, NULL))
            return ERR_NOMEM;
    int err =
        query_read(work->db, frozen_sql, Q_IN(work->peak->process, work->peak->device, step->peak),
                   Q_OUT(Q_INT(frozen)));
    work->out->frozen = frozen;
    return err;
}
