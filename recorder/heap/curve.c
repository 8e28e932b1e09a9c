#include "curve.h"

#include <assert.h>

#include "mem.h"

struct curve *curve_new(int64_t heap, const char *quantity)
{
    struct curve *curve = mem_alloc(1, sizeof *curve);
    if (curve) {
        curve->heap = heap;
        curve->quantity = quantity;
    }
    return curve;
}

void curve_free(struct curve *curve)
{
    mem_free(curve);
}

static bool bucket_is_valid(const struct curve_bucket *bucket)
{
    return bucket->min <= bucket->first && bucket->min <= bucket->last &&
           bucket->max >= bucket->first && bucket->max >= bucket->last;
}

bool curve_is_valid(const struct curve *curve)
{
    if (!curve->any)
        return true;
    const struct curve_level *base = &curve->levels[curve->base];
    if (!base->used || base->count > CURVE_BUCKETS)
        return false;
    for (unsigned i = curve->base; i < CURVE_LEVELS; i++) {
        const struct curve_level *level = &curve->levels[i];
        if (!level->used)
            continue;
        if (!bucket_is_valid(&level->open) || level->count == 0 ||
            level->open.number != base->open.number >> (i - curve->base))
            return false;
    }
    return true;
}

static void put_row(struct curve *curve, struct batch *batch, unsigned index,
                    const struct curve_bucket *bucket)
{
    struct row_curve row = {
        .heap = curve->heap,
        .quantity = curve->quantity,
        .level = index + CURVE_FIRST_LEVEL,
        .bucket = bucket->number,
        .first = bucket->first,
        .min = bucket->min,
        .max = bucket->max,
        .last = bucket->last,
    };
    if (!batch_put_curve(batch, &row))
        curve->rows_lost++;
}

/* `later` comes after all that is in `bucket`. */
static void merge(struct curve_bucket *bucket, const struct curve_bucket *later)
{
    if (later->min < bucket->min)
        bucket->min = later->min;
    if (later->max > bucket->max)
        bucket->max = later->max;
    bucket->last = later->last;
}

static void fold_into(struct curve_level *level, const struct curve_bucket *below)
{
    assert(bucket_is_valid(below));
    if (level->used) {
        merge(&level->open, below);
        return;
    }
    level->open = *below;
    level->open.number = below->number >> 1;
    level->used = true;
    level->count++;
}

/* The bucket of the base is over, and so are those above it that do not reach to `ns`. */
static void roll(struct curve *curve, struct batch *batch, int64_t ns)
{
    for (unsigned i = curve->base; i < CURVE_LEVELS; i++) {
        struct curve_level *level = &curve->levels[i];
        if (level->open.number == ns >> (i + CURVE_FIRST_LEVEL))
            return;
        put_row(curve, batch, i, &level->open);
        level->used = false;
        if (i + 1 < CURVE_LEVELS)
            fold_into(level + 1, &level->open);
    }
}

static void drop_base(struct curve *curve, struct batch *batch)
{
    struct row_curve_drop row = {
        .heap = curve->heap,
        .quantity = curve->quantity,
        .level = curve->base + CURVE_FIRST_LEVEL,
    };
    assert(curve->base + 1 < CURVE_LEVELS && !curve->levels[curve->base].used);
    if (!batch_put_curve_drop(batch, &row))
        curve->rows_lost++;
    curve->base++;
}

void curve_add(struct curve *curve, struct batch *batch, int64_t ns, int64_t before, int64_t after)
{
    struct curve_level *level = &curve->levels[curve->base];
    curve->changed = true;
    if (!curve->any) {
        curve->any = true;
        curve->first_ns = ns;
    } else if (level->open.number != ns >> (curve->base + CURVE_FIRST_LEVEL)) {
        roll(curve, batch, ns);
        while (!curve->levels[curve->base].used &&
               curve->levels[curve->base].count >= CURVE_BUCKETS && curve->base + 1 < CURVE_LEVELS)
            drop_base(curve, batch);
    }
    level = &curve->levels[curve->base];
    struct curve_bucket event = {.number = ns >> (curve->base + CURVE_FIRST_LEVEL),
                                 .first = before,
                                 .min = before < after ? before : after,
                                 .max = before > after ? before : after,
                                 .last = after};
    if (level->used) {
        merge(&level->open, &event);
        return;
    }
    level->open = event;
    level->used = true;
    level->count++;
}

void curve_flush(struct curve *curve, struct batch *batch)
{
    if (!curve->changed)
        return;
    uint64_t lost = curve->rows_lost;
    struct curve_bucket view = curve->levels[curve->base].open;
    for (unsigned i = curve->base;; i++) {
        put_row(curve, batch, i, &view);
        if (curve->first_ns >> (i + CURVE_FIRST_LEVEL) == view.number || i + 1 == CURVE_LEVELS)
            break;
        struct curve_bucket above = view;
        above.number >>= 1;
        if (curve->levels[i + 1].used) {
            above = curve->levels[i + 1].open;
            merge(&above, &view);
        }
        view = above;
    }
    curve->changed = curve->rows_lost != lost;
}
