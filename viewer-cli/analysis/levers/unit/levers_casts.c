#include "levers_casts.h"

#include "error.h"
#include "group.h"
#include "query.h"

static const char autocast_sql[] =
    "SELECT coalesce(sum(key = 'parameter_dtype' AND value = 'float32'), 0) = 1"
    "   AND coalesce(sum(key = 'parameter_dtype' AND value <> 'float32'), 0) = 0"
    "   AND coalesce(sum(key = 'graph_dtype' AND value IN ('bfloat16', 'float16')), 0) > 0 AS casts"
    "  FROM setting WHERE process = ?1";

static uint64_t key_of(int64_t module, int64_t asked)
{
    return (uint64_t)module << 40 ^ (uint64_t)asked;
}

/* Backward makes the gradient of a weight in the module that has it. */
static int find_weights(const struct levers_step *step, struct map *weights)
{
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->purpose == PURPOSE_GRADIENT && block->module != GROUP_NONE &&
            !map_put(weights, key_of(block->module, block->asked), 1, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

/* Of a forward and a weight the first block in the module that has half of the weight's bytes:
 * autocast makes it before it computes. */
static int find_copies(const struct levers_step *step, const struct map *weights,
                       struct levers_casts *out)
{
    struct map seen = {0}; /* weights, to the forward that a copy of theirs was last seen in */
    int err = 0;
    for (size_t i = step->older; i < step->count && err == 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        const struct levers_phase *forward =
            levers_phase_around(&step->phases, LEVERS_FORWARD, block->seq);
        uint64_t key = key_of(block->module, 2 * block->asked);
        if (!forward || block->module == GROUP_NONE || map_get(weights, key) == MAP_NONE ||
            map_get(&seen, key) == (uint64_t)forward->begin)
            continue;
        if (!map_put(&out->blocks, i, i, NULL) ||
            !map_put(&seen, key, (uint64_t)forward->begin, NULL))
            err = ERR_NOMEM;
    }
    map_clear(&seen);
    return err;
}

int levers_casts_read(struct db *db, int64_t process, const struct levers_step *step,
                      struct levers_casts *out)
{
    struct map weights = {0};
    bool casts = false;
    *out = (struct levers_casts){0};
    int err = query_read(db, autocast_sql, Q_IN(process), Q_OUT(Q_INT(casts)));
    if (err == 0 && casts)
        err = find_weights(step, &weights);
    if (err == 0 && casts)
        err = find_copies(step, &weights, out);
    map_clear(&weights);
    return err;
}

void levers_casts_clear(struct levers_casts *casts)
{
    map_clear(&casts->blocks);
    *casts = (struct levers_casts){0};
}

bool levers_is_cast(const struct levers_casts *casts, size_t block)
{
    return map_get(&casts->blocks, block) != MAP_NONE;
}
