#include "phase_ordinal.h"

#include <stddef.h>

#include "batch.h"

void ordinal_clear(struct phase_ordinals *ordinals)
{
    map_clear(&ordinals->in_step);
    map_clear(&ordinals->no_step);
    *ordinals = (struct phase_ordinals){.step = BATCH_NULL};
}

static bool count_one(struct map *map, const struct map *base, uint32_t name, int64_t *ordinal)
{
    uint64_t count = map_get(map, name);
    if (count == MAP_NONE && base)
        count = map_get(base, name);
    *ordinal = count == MAP_NONE ? 0 : (int64_t)count;
    return map_put(map, name, (uint64_t)*ordinal + 1, NULL);
}

bool ordinal_guess(struct phase_ordinals *ordinals, const struct phase_ordinals *base, int64_t step,
                   uint32_t name, int64_t *ordinal)
{
    if (step == BATCH_NULL)
        return count_one(&ordinals->no_step, base ? &base->no_step : NULL, name, ordinal);
    if (step != ordinals->step)
        map_clear(&ordinals->in_step);
    ordinals->step = step;
    bool same = base && base->step == step;
    return count_one(&ordinals->in_step, same ? &base->in_step : NULL, name, ordinal);
}

bool ordinal_take(struct phase_ordinals *ordinals, int64_t step, uint32_t name, int64_t *ordinal)
{
    return ordinal_guess(ordinals, NULL, step, name, ordinal);
}
