#include "levers_cache.h"

#include "ensure.h"
#include "error.h"
#include "group.h"
#include "levers_work.h"
#include "mem.h"
#include "query.h"

static const char any_sql[] =
    "SELECT EXISTS (SELECT 1 FROM string WHERE text LIKE '%/transformers/cache_utils.py') AS any";

/* CROSS JOIN: call stacks are read only if there is such a name. */
static const char sites_sql[] =
    "SELECT DISTINCT s.site FROM string p CROSS JOIN frame f ON f.file = p.id"
    "  CROSS JOIN string n ON n.id = f.function CROSS JOIN site s ON s.frame = f.id"
    " WHERE p.text LIKE '%/transformers/cache_utils.py' AND n.text LIKE '%.update'";

int levers_cache_sites(struct db *db, struct levers_cache *out)
{
    int64_t site;
    bool any = false;
    int err = query_once(db, any_sql, Q_OUT(Q_INT(any)));
    if (err < 0 || !any)
        return err;
    struct query query = query_ask(db, sites_sql, Q_NOTHING, Q_OUT(Q_INT(site)));
    while (query_next(&query))
        if (!map_put(&out->sites, (uint64_t)site, 1, NULL))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

/* Where backward is through with what attention made of the block: the next one that it saved. */
static int64_t end_in_backward(const struct levers_step *step, size_t at,
                               const struct levers_phase *backward)
{
    for (size_t i = at + 1; i < step->count && step->blocks[i].seq < backward->begin; i++)
        if (step->blocks[i].purpose == PURPOSE_ACTIVATION &&
            step->blocks[i].end > backward->begin && step->blocks[i].end <= backward->end)
            return step->blocks[i].end;
    return backward->end;
}

static int take(const struct levers_step *step, size_t at, struct levers_cache *out)
{
    const struct levers_block *block = &step->blocks[at];
    const struct levers_phase *backward =
        levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq);
    if (!backward || backward->end == LEVERS_NEVER || block->end <= backward->end ||
        !levers_phase_around(&step->phases, LEVERS_FORWARD, block->seq))
        return 0;
    if (!MEM_GROW(out->blocks, out->cap, out->count + 1))
        return ERR_NOMEM;
    out->blocks[out->count++] = (struct levers_cached){at, end_in_backward(step, at, backward)};
    return 0;
}

static int read_cache(struct db *db, const struct levers_step *step, struct levers_cache *out)
{
    int err = levers_cache_sites(db, out);
    for (size_t i = step->older; i < step->count && err >= 0 && out->sites.count; i++)
        if (step->blocks[i].site != GROUP_NONE && step->blocks[i].purpose == PURPOSE_HELD &&
            map_get(&out->sites, (uint64_t)step->blocks[i].site) != MAP_NONE)
            err = take(step, i, out);
    return err;
}

void levers_cache_clear(struct levers_cache *cache)
{
    mem_free(cache->blocks);
    map_clear(&cache->sites);
    *cache = (struct levers_cache){0};
}

bool levers_cache_is_valid(const struct levers_step *step, const struct levers_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++) {
        const struct levers_cached *cached = &cache->blocks[i];
        if (cached->block >= step->count || (i && cached->block <= cache->blocks[i - 1].block) ||
            cached->end <= step->blocks[cached->block].seq ||
            (cached->end > step->blocks[cached->block].end) != cache->swapped)
            return false;
    }
    return true;
}

int levers_cache_cut(const struct levers_cache *cache, struct levers_edit *edit)
{
    for (size_t i = 0; i < cache->count; i++)
        if (!levers_cut(edit, cache->blocks[i].block, cache->blocks[i].end, LEVERS_NEVER))
            return ERR_NOMEM;
    return 0;
}

void levers_cache_swap(struct levers_step *step, struct levers_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++) {
        struct levers_block *block = &step->blocks[cache->blocks[i].block];
        int64_t end = block->end;
        block->end = cache->blocks[i].end;
        cache->blocks[i].end = end;
        block->purpose = cache->swapped ? PURPOSE_HELD : PURPOSE_ACTIVATION;
    }
    cache->swapped = !cache->swapped;
}

int levers_no_cache(struct levers_work *work)
{
    const struct levers_words words = {
        .kind = LEVER_NO_CACHE,
        .site = LEVERS_NONE,
        .before = "model.config.use_cache = False: training needs no cache of keys and values"};
    struct levers_edit edit = {0};
    int err = read_cache(work->seen.db, &work->seen.step, &work->cache);
    ENSURE_WHOLE(err < 0 || levers_cache_is_valid(&work->seen.step, &work->cache));
    if (err >= 0)
        err = levers_cache_cut(&work->cache, &edit);
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}
