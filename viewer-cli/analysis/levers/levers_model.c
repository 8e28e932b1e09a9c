/*
 * What the model is made of that decides which levers apply, and how: sizes of parameters, frozen
 * ones, batch normalization.
 */
#include "error.h"
#include "levers_work.h"
#include "living.h"
#include "query.h"

/* CROSS JOIN: call stacks are read only if there is such a name. */
static const char batch_norm_sql[] =
    "SELECT DISTINCT s.site FROM string n CROSS JOIN frame f ON f.function = n.id"
    "  CROSS JOIN site s ON s.frame = f.id"
    " WHERE n.text LIKE '%BatchNorm%.forward' OR n.text = 'batch_norm'";

int levers_batch_norm(struct levers_work *work)
{
    int64_t site;
    struct query query = query_ask(work->seen.db, batch_norm_sql, Q_NOTHING, Q_OUT(Q_INT(site)));
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
    "SELECT id FROM tag WHERE category = 1 AND EXISTS (SELECT 1 FROM trained)"
    "   AND name NOT IN trained";

struct frozen {
    struct map tags;
    int64_t bytes;
};

static int read_frozen_tags(struct db *db, struct map *out)
{
    int64_t id;
    struct query query = query_ask(db, frozen_sql, Q_NOTHING, Q_OUT(Q_INT(id)));
    while (query_next(&query))
        if (!map_put(out, (uint64_t)id, 1, NULL))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

static bool add_frozen(void *self, const struct living_block *block)
{
    struct frozen *frozen = self;
    if (block->tag != LIVING_NONE && map_get(&frozen->tags, (uint64_t)block->tag) != MAP_NONE)
        frozen->bytes += block->size;
    return true;
}

static int read_frozen(struct levers_work *work)
{
    const struct peak *peak = work->seen.peak;
    struct frozen frozen = {0};
    int err = read_frozen_tags(work->seen.db, &frozen.tags);
    if (err >= 0 && frozen.tags.count)
        err = living_read(work->seen.db, peak->process, peak->device, work->seen.step.peak,
                          add_frozen, &frozen);
    work->out->frozen = frozen.bytes;
    map_clear(&frozen.tags);
    return err;
}

/* A gradient has the size of one. FSDP keeps parts of parameters, and gathers whole ones. */
static bool is_sized_as_parameter(const struct levers_block *block)
{
    return block->purpose == PURPOSE_PARAMETER || block->purpose == PURPOSE_GATHERED;
}

/* And the sizes of parameters, with how many there are of each at the peak. */
int levers_frozen(struct levers_work *work)
{
    const struct levers_step *step = &work->seen.step;
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!is_sized_as_parameter(block))
            continue;
        uint64_t before = map_get(&work->seen.parameters, (uint64_t)block->asked);
        uint64_t count = (before == MAP_NONE ? 0 : before) + levers_at_peak(step, block);
        if (!map_put(&work->seen.parameters, (uint64_t)block->asked, count, NULL))
            return ERR_NOMEM;
    }
    return read_frozen(work);
}
